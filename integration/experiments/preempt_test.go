package experiments

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// A signalled is a program that knows only signals, and none of Detent's packages. It says after which step it begins, and which step it
// has saved in which time; the file "reached" has its last step, and it ends when there is a file "stop".
type signalled struct {
	name       string
	files      map[string]string
	entrypoint string // without the folder, which is its last argument
	config     string
	python     string // a Python environment; "": the system's
	slots      int
	memory     string // of all its slots; "": what the pool gives them
	times      int    // how often it is preempted
	thorough   int    // how often just nightly preempts it
}

// saving saves into a folder that its runner keeps.
const saving = "preemption: {signal: %s, grace: 60s, always: true}\nresume: {path: out}\n"

var signalledPrograms = []signalled{
	{name: "a shell script", files: map[string]string{"count.sh": counter}, entrypoint: "sh count.sh", config: fmt.Sprintf(saving, "SIGTERM"), times: 3, thorough: 40},
	{name: "Python at SIGUSR1", files: rig.Script(wakes), entrypoint: "python3 train.py", config: fmt.Sprintf(saving, "SIGUSR1"), memory: "512M", thorough: 20},
	{name: "two ranks of determined.launch at SIGUSR1", files: rig.Script(wakes), entrypoint: "python3 -m determined.launch.torch_distributed -- python3 train.py",
		config: fmt.Sprintf(saving, "SIGUSR1"), slots: 2, memory: "1G", times: 1},
	{name: "two ranks of determined.launch with PyTorch at SIGUSR1", files: rig.Script(wakes), entrypoint: "python3 -m determined.launch.torch_distributed -- python3 train.py",
		config: fmt.Sprintf(saving, "SIGUSR1"), slots: 2, python: "torch", memory: "3G", thorough: 8},
	{name: "two ranks of torchrun at SIGTERM", files: rig.Script(wakes), entrypoint: "torchrun --nproc_per_node 2 train.py",
		config: fmt.Sprintf(saving, "SIGTERM"), slots: 2, python: "torch", memory: "3G", thorough: 8},
	{name: "Transformers' Trainer", files: rig.Script(trainer), entrypoint: "python3 train.py", config: "preemption: {signal: SIGTERM}\nresume: {path: out}\n", python: "torch", memory: "2G", thorough: 12},
	{name: "Lightning", files: rig.Script(lightning), entrypoint: "python3 train.py", config: "preemption: {signal: SIGTERM}\nresume: {path: out}\n", python: "torch", memory: "2G", thorough: 12},
	{name: "Transformers' Trainer with 110 million weights", files: rig.Script(trainer), entrypoint: "python3 train.py 10500", config: fmt.Sprintf(saving, "SIGTERM"), python: "torch", memory: "6G", thorough: 4},
	{name: "Lightning with 110 million weights", files: rig.Script(lightning), entrypoint: "python3 train.py 10500", config: fmt.Sprintf(saving, "SIGTERM"), python: "torch", memory: "6G", thorough: 4},
}

const counter = `
exec 2>/dev/null
mkdir -p out
n=$(cat out/count || echo 0)
save() {
	began=$(date +%s%N)
	echo $n > out/new && mv out/new out/count
	echo "saved $n in $((($(date +%s%N)-began)/1000)) us"
}
trap 'save; exit 0' TERM
echo "begins after $n"
while [ ! -e $1/stop ]; do
	echo $((n+1)) > $1/part && mv $1/part $1/reached # before the trap can save the step
	n=$((n+1))
	sleep 0.1
done
`

// wakes saves after the step in which it gets a signal, as NeMo and others do that Slurm wakes before the end of their time.
const wakes = `
import os, pathlib, signal, sys, time, zlib

rank, folder, out = os.environ.get("RANK", "0"), pathlib.Path(sys.argv[1]), pathlib.Path("out")
asked = []
for name in ("SIGUSR1", "SIGTERM"):
    signal.signal(getattr(signal, name), lambda number, _: asked.append(number))
out.mkdir(exist_ok=True)
step = int.from_bytes((out / "state").read_bytes()[:8], "big") if (out / "state").exists() else 0
weights = os.urandom(1 << 20) * 48
if rank == "0":
    print("begins after", step, flush=True)
while not (folder / "stop").exists():
    time.sleep(0.1)
    step += 1
    if rank == "0":
        (folder / "part").write_text(str(step))
        os.replace(folder / "part", folder / "reached")
    if asked:
        if len(asked) > 1:
            print("it got the signals", asked, flush=True)
        if rank == "0":
            began = time.perf_counter()
            with open(out / "new", "wb") as file:
                file.write(step.to_bytes(8, "big") + zlib.compress(weights))
                file.flush()
                os.fsync(file.fileno())
            os.replace(out / "new", out / "state")
            print("saved", step, "in", round((time.perf_counter() - began) * 1e6), "us", flush=True)
        sys.exit(0)
`

const trainer = `
import os, pathlib, sys, time, torch, transformers

folder = pathlib.Path(sys.argv[-1])
width = int(sys.argv[1]) if len(sys.argv) > 2 else 1000

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Sequential(torch.nn.Linear(1, width), torch.nn.Linear(width, width), torch.nn.Linear(width, 1))

    def forward(self, x, labels):
        return {"loss": ((self.w(x) - labels) ** 2).mean()}

class Steps(transformers.TrainerCallback):
    begun = False

    def on_step_begin(self, args, state, control, **kwargs):
        if not self.begun:
            print("begins after", state.global_step, flush=True)
        self.begun = True

    def on_step_end(self, args, state, control, **kwargs):
        (folder / "part").write_text(str(state.global_step))
        os.replace(folder / "part", folder / "reached")
        control.should_training_stop = control.should_training_stop or (folder / "stop").exists()
        time.sleep(0.1)

class Timed(transformers.Trainer):
    def _save_checkpoint(self, *args, **kwargs):
        began = time.perf_counter()
        super()._save_checkpoint(*args, **kwargs)
        print("saved", self.state.global_step, "in", round((time.perf_counter() - began) * 1e6), "us", flush=True)

data = [{"x": [float(i)], "labels": [0.0]} for i in range(16)]
args = transformers.TrainingArguments(
    "out", max_steps=100000, per_device_train_batch_size=2, save_strategy="no", save_total_limit=1, report_to=[],
    use_cpu=True, disable_tqdm=True, enable_jit_checkpoint=True, logging_strategy="no",
)
started = os.path.isdir("out") and any(name.startswith("checkpoint-") for name in os.listdir("out"))
Timed(Model(), args, train_dataset=data, callbacks=[Steps()]).train(resume_from_checkpoint=started)
`

const lightning = `
import os, pathlib, sys, time, torch
import pytorch_lightning as pl
from pytorch_lightning.callbacks import OnExceptionCheckpoint

folder, last = pathlib.Path(sys.argv[-1]), "out/on_exception.ckpt"
width = int(sys.argv[1]) if len(sys.argv) > 2 else 1000

class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Sequential(torch.nn.Linear(1, width), torch.nn.Linear(width, width), torch.nn.Linear(width, 1))

    def training_step(self, batch, i):
        return (self.w(batch) ** 2).mean()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-5)

class Steps(pl.Callback):
    begun = False

    def on_train_batch_start(self, trainer, module, batch, i):
        if not self.begun:
            print("begins after", trainer.global_step, flush=True)
        self.begun = True

    def on_train_batch_end(self, trainer, module, outputs, batch, i):
        (folder / "part").write_text(str(trainer.global_step))
        os.replace(folder / "part", folder / "reached")
        trainer.should_stop = trainer.should_stop or (folder / "stop").exists()
        time.sleep(0.1)

class Timed(OnExceptionCheckpoint):
    def on_exception(self, trainer, *args):
        began = time.perf_counter()
        super().on_exception(trainer, *args)
        print("saved", trainer.global_step, "in", round((time.perf_counter() - began) * 1e6), "us", flush=True)

data = torch.utils.data.DataLoader(torch.ones(16, 1), batch_size=2)
pl.Trainer(
    max_steps=100000, callbacks=[Steps(), Timed("out")], logger=False, accelerator="cpu",
    enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=True,
).fit(Model(), data, ckpt_path=last if os.path.exists(last) else None)
`

// A preemptee is the trial of such a program.
type preemptee struct {
	*rig.Rig
	id     int
	task   string
	folder string
	began  int // how often its program began
}

func submitSignalled(t *testing.T, r *rig.Rig, p signalled) *preemptee {
	t.Helper()
	folder := t.TempDir()
	config := fmt.Sprintf("name: %q\nentrypoint: %s %s\nsearcher: {name: single, metric: loss, max_length: 1}\nmax_restarts: 0\n%s", p.name, p.entrypoint, folder, p.config)
	if p.python != "" {
		config += fmt.Sprintf("environment: {environment_variables: [\"PATH=%s:/usr/local/bin:/usr/bin:/bin\", OMP_NUM_THREADS=1]}\n", rig.PythonOf(t, p.python))
	}
	config += fmt.Sprintf("resources: {slots_per_trial: %d", max(1, p.slots))
	if p.memory != "" {
		config += ", memory: " + p.memory
	}
	id := r.Submit(t, config+"}\n", p.files)
	return &preemptee{Rig: r, id: id, task: r.Trial(t, id).TaskID, folder: folder}
}

// reached is the last step of the program.
func (p *preemptee) reached(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.folder, "reached"))
	if err != nil {
		t.Fatal(err)
	}
	return rig.Number(t, strings.TrimSpace(string(text)))
}

var (
	beginsAfter = regexp.MustCompile(`begins after (\d+)\n`)
	savedIn     = regexp.MustCompile(`saved (\d+) in (\d+) us\n`)
)

// begins waits until the program has begun once more and has made two steps, and returns after which step it began.
func (p *preemptee) begins(t *testing.T) (after int) {
	t.Helper()
	p.began++
	var lines [][]string
	rig.Eventually(t, fmt.Sprintf("the program of experiment %d begins time %d", p.id, p.began), func() (bool, error) {
		log := p.Log(t, p.id)
		lines = beginsAfter.FindAllStringSubmatch(log, -1)
		return len(lines) >= p.began, fmt.Errorf("its log has:\n%s", log)
	})
	after = rig.Number(t, lines[p.began-1][1])
	rig.Eventually(t, "it makes steps", func() (bool, error) {
		_, err := os.Stat(filepath.Join(p.folder, "reached"))
		return err == nil && p.reached(t) >= after+2, err
	})
	return after
}

// freed waits until the newest attempt has ended, and returns how long after its preemption it held its slots.
func (p *preemptee) freed(t *testing.T) time.Duration {
	t.Helper()
	attempt := fmt.Sprintf("%s.%d", p.task, p.began)
	rig.Eventually(t, fmt.Sprintf("the slots of attempt %s are free", attempt), func() (bool, error) {
		return rig.Value[bool](t, p.Rig, `SELECT state = 'TERMINATED' FROM allocations WHERE id = $1`, attempt), nil
	})
	return time.Duration(rig.Value[float64](t, p.Rig, `SELECT extract(epoch FROM ended_at - preempt_at)::float8 FROM allocations WHERE id = $1`, attempt) * float64(time.Second))
}

func (p *preemptee) act(t *testing.T, action v1.Endpoint[v1.None, v1.Empty]) {
	t.Helper()
	if err := client.Act(t.Context(), p.Client, action, p.id); err != nil {
		t.Fatal(err)
	}
}

// maxSlots changes the limit of the experiment.
func (p *preemptee) maxSlots(t *testing.T, most int) {
	t.Helper()
	if out, err := p.Det(t, "experiment", "set", "max-slots", strconv.Itoa(p.id), strconv.Itoa(most)); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// ends lets the program end, and returns the outcomes of the attempts: the last completed its trial, and no preemption counts as
// a restart.
func (p *preemptee) ends(t *testing.T) (outcomes []string) {
	t.Helper()
	rig.Write(t, p.folder, "stop", "")
	p.WaitState(t, p.id, v1.ExperimentStateCompleted)
	resp, err := client.Send(t.Context(), p.Client, v1.ListTaskAttempts, v1.GetListRequest{}, p.task)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(resp.Attempts, func(a, b v1.Attempt) int { return cmp.Compare(a.Run, b.Run) })
	for _, a := range resp.Attempts {
		outcomes = append(outcomes, fmt.Sprintf("%s: %s", a.Outcome, a.ExitReason))
	}
	if last := outcomes[len(outcomes)-1]; last != "completed: " || p.Trial(t, p.id).Restarts != 0 {
		t.Errorf("experiment %d had the attempts %q and %d restarts; its log:\n%s", p.id, outcomes, p.Trial(t, p.id).Restarts, p.Log(t, p.id))
	}
	return outcomes
}

// A preempted is what one preemption cost.
type preempted struct {
	lost        int // steps
	freed, save time.Duration
}

// preempt preempts the program once by a pause, or by a lower limit of slots, and lets it continue.
func (p *preemptee) preempt(t *testing.T, byLimit bool) (one preempted) {
	t.Helper()
	if byLimit {
		p.maxSlots(t, 0)
	} else {
		p.act(t, v1.PauseExperiment)
	}
	one.freed = p.freed(t)
	reached := p.reached(t)
	if byLimit {
		p.maxSlots(t, 2)
	} else {
		p.act(t, v1.ActivateExperiment)
	}
	one.lost = reached - p.begins(t)
	saves := savedIn.FindAllStringSubmatch(p.Log(t, p.id), -1)
	if len(saves) != p.began-1 {
		t.Fatalf("the program has saved %d times, and began %d times; its log:\n%s", len(saves), p.began, p.Log(t, p.id))
	}
	one.save = time.Duration(rig.Number(t, saves[len(saves)-1][2])) * time.Microsecond
	return one
}

// figures says what the preemptions of one kind of program cost.
func figures(t *testing.T, name string, all []preempted) {
	t.Helper()
	lost, over := 0, 0
	var freed, saves, rest []time.Duration
	for _, one := range all {
		lost = max(lost, one.lost)
		freed, saves, rest = append(freed, one.freed), append(saves, one.save), append(rest, one.freed-one.save)
		if one.freed > 2*one.save {
			over++
		}
	}
	for _, list := range [][]time.Duration{freed, saves, rest} {
		slices.Sort(list)
	}
	middle := len(all) / 2
	round := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
	t.Logf("%s: %d preemptions, %d steps lost at most; slots free after %s (longest %s); a save took %s (longest %s); ratio %.2f; the rest took %s (longest %s); %d took longer than two saves", name, len(all), lost,
		round(freed[middle]), round(freed[len(all)-1]), round(saves[middle]), round(saves[len(all)-1]), float64(freed[middle])/float64(saves[middle]), round(rest[middle]), round(rest[len(all)-1]), over)
}

// TestProgramsThatKnowOnlySignals: programs that know nothing of Detent are preempted again and again, and continue each time with at most
// one step lost. just nightly preempts them a hundred times.
func TestProgramsThatKnowOnlySignals(t *testing.T) {
	r := rig.Start(t)
	total := 0
	for _, p := range signalledPrograms {
		times := p.times
		if rig.Thorough() {
			times = p.thorough
		}
		if times == 0 {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			trial := submitSignalled(t, r, p)
			trial.begins(t)
			var all []preempted
			for i := range times {
				one := trial.preempt(t, i%10 == 1)
				if one.lost > 1 || one.lost < 0 {
					t.Errorf("preemption %d lost %d steps", i+1, one.lost)
				}
				all = append(all, one)
			}
			figures(t, p.name, all)
			for i, end := range trial.ends(t)[:times] {
				if !strings.HasPrefix(end, "preempted: it was preempted by SIG") {
					t.Errorf("preemption %d: %s", i+1, end)
				}
			}
			if log := trial.Log(t, trial.id); strings.Contains(log, "it got the signals") {
				t.Errorf("a program got its signal twice:\n%s", log)
			}
			total += times
		})
	}
	t.Logf("%d preemptions", total)
}

// careless saves each step, and knows no signal, or ignores the usual one.
const careless = `
exec 2>/dev/null
eval "$2"
n=$(cat $1/reached || echo 0)
echo "begins after $n"
while [ ! -e $1/stop ]; do
	n=$((n+1))
	echo $n > $1/part && mv $1/part $1/reached
	sleep 0.1
done
`

// TestProgramsThatPromiseNothing: a program whose configuration names no signal gets SIGTERM, and is killed if it ignores it.
func TestProgramsThatPromiseNothing(t *testing.T) {
	r := rig.Start(t)
	submit := func(config, start string) *preemptee {
		folder := t.TempDir()
		id := r.Submit(t, fmt.Sprintf("name: careless\nentrypoint: [sh, count.sh, %s, %q]\nsearcher: {name: single, metric: loss, max_length: 1}\nmax_restarts: 0\nresources: {slots_per_trial: 0}\n%s", folder, start, config),
			map[string]string{"count.sh": careless})
		return &preemptee{Rig: r, id: id, task: r.Trial(t, id).TaskID, folder: folder}
	}
	dies, ignores := submit("", ""), submit("preemption: {grace: 1s}\n", `trap "" TERM`)
	for _, p := range []*preemptee{dies, ignores} {
		p.begins(t)
		p.act(t, v1.PauseExperiment)
	}
	for p, want := range map[*preemptee]string{
		dies:    "preempted: it was preempted by SIGTERM, and exited with exit code 143",
		ignores: "killed: the program did not exit within 1s of SIGTERM, which preempted it",
	} {
		p.freed(t)
		p.act(t, v1.ActivateExperiment)
		p.begins(t)
		if got := p.ends(t); len(got) != 2 || got[0] != want {
			t.Errorf("experiment %d had the attempts %q, want %q first", p.id, got, want)
		}
	}
}
