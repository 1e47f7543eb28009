package experiments

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// counter is a script without any package. It counts steps, continues after the number in its file, and ends when a file "stop"
// exists. Its first argument is the folder; the others are shell code that runs at its start and after each step.
const counter = `
exec 2>/dev/null
folder=$1 start=$2 each=$3
n=$(cat $folder/count || echo 0)
save() { echo $n > $folder/new && mv $folder/new $folder/count; }
eval "$start"
echo "begins after $n"
while [ ! -e $folder/stop ]; do
	n=$((n+1))
	echo $n > $folder/part && mv $folder/part $folder/reached
	eval "$each"
	sleep 0.1
done
echo "ends after $n"
`

// A counting is an experiment that runs the script.
type counting struct {
	r      *rig.Rig
	id     int
	folder string
	began  int // how often its script began
}

func (r signalRig) count(t *testing.T, config, start, each string) *counting {
	t.Helper()
	folder := t.TempDir()
	id := r.Submit(t, fmt.Sprintf("name: counts\nentrypoint: [sh, count.sh, %s, %q, %q]\nsearcher: {name: single, metric: loss, max_length: 1}\nmax_restarts: 0\n%s", folder, start, each, config),
		map[string]string{"count.sh": counter})
	return &counting{r: r.Rig, id: id, folder: folder}
}

type signalRig struct{ *rig.Rig }

// number reads a number that the script has written.
func (c *counting) number(t *testing.T, name string) (n int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return rig.Number(t, strings.TrimSpace(string(text)))
}

// begins waits until the script has begun once more and has counted, and returns where it began.
func (c *counting) begins(t *testing.T) (after int) {
	t.Helper()
	c.began++
	var lines []string
	rig.Eventually(t, fmt.Sprintf("experiment %d begins time %d", c.id, c.began), func() (bool, error) {
		lines = nil
		for line := range strings.Lines(c.r.Log(t, c.id)) {
			if _, n, ok := strings.Cut(line, "begins after "); ok {
				lines = append(lines, strings.TrimSpace(n))
			}
		}
		return len(lines) >= c.began, fmt.Errorf("it began after %v", lines)
	})
	after = rig.Number(t, lines[c.began-1])
	rig.Eventually(t, "it counts on", func() (bool, error) { return c.number(t, "reached") > after, nil })
	return after
}

// free waits until no attempt of the experiment holds slots.
func (c *counting) free(t *testing.T) {
	t.Helper()
	task := c.r.Trial(t, c.id).TaskID
	rig.Eventually(t, fmt.Sprintf("the slots of experiment %d are free", c.id), func() (bool, error) {
		tasks, err := c.r.Client.Tasks(t.Context())
		for id, a := range tasks {
			if a.TaskID == task && len(a.Resources) > 0 {
				return false, fmt.Errorf("attempt %s runs", id)
			}
		}
		return true, err
	})
}

func (c *counting) pause(t *testing.T) {
	t.Helper()
	if err := client.Act(t.Context(), c.r.Client, v1.PauseExperiment, c.id); err != nil {
		t.Fatal(err)
	}
}

func (c *counting) activate(t *testing.T) {
	t.Helper()
	if err := client.Act(t.Context(), c.r.Client, v1.ActivateExperiment, c.id); err != nil {
		t.Fatal(err)
	}
}

// ends lets the script end, and checks the outcomes of the attempts: the last completed its trial, which no preemption
// counts as a restart of.
func (c *counting) ends(t *testing.T, outcomes ...string) {
	t.Helper()
	rig.Write(t, c.folder, "stop", "")
	c.r.WaitState(t, c.id, v1.ExperimentStateCompleted)
	trial := c.r.Trial(t, c.id)
	resp, err := client.Send(t.Context(), c.r.Client, v1.ListTaskAttempts, v1.GetListRequest{}, trial.TaskID)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(resp.Attempts, func(a, b v1.Attempt) int { return a.Run - b.Run })
	var got []string
	for _, a := range resp.Attempts {
		got = append(got, fmt.Sprintf("%s: %s", a.Outcome, a.ExitReason))
	}
	if want := append(outcomes, "completed: "); !slices.Equal(got, want) || trial.Restarts != 0 {
		t.Errorf("experiment %d had the attempts %q and %d restarts, want %q; its log:\n%s", c.id, got, trial.Restarts, want, c.r.Log(t, c.id))
	}
}

// TestProgramsThatKnowOnlySignals: shell scripts that know nothing of Detent are preempted and continue from what they stored.
func TestProgramsThatKnowOnlySignals(t *testing.T) {
	r := signalRig{rig.Start(t)}
	times := 3
	if rig.Thorough() {
		times = 100
	}
	// One saves when it gets its signal, at once, and exits with code 0, one saves every step and knows no signal, one ignores signals.
	saves := r.count(t, "preemption: {signal: SIGUSR1, grace: 60s, always: true}", `trap 'save; echo saved $n; exit 0' USR1`, "")
	dies := r.count(t, "resources: {slots_per_trial: 0}", "", "save")
	ignores := r.count(t, "preemption: {grace: 1s}\nresources: {slots_per_trial: 0}", `trap "" TERM`, "save")
	kept := r.keepsFolder(t)
	var ends []string
	var freed []time.Duration
	for i := range times {
		saves.begins(t)
		asked := time.Now()
		if i == 1 { // without room it is preempted as it is by a pause
			r.slots(t, saves.id, 0)
		} else {
			saves.pause(t)
		}
		saves.free(t)
		freed = append(freed, time.Since(asked))
		if reached := saves.number(t, "reached"); reached-saves.number(t, "count") > 1 {
			t.Errorf("preemption %d: it had reached step %d, and saved step %d", i, reached, saves.number(t, "count"))
		}
		if i == 1 {
			r.slots(t, saves.id, 1)
		} else {
			saves.activate(t)
		}
		ends = append(ends, "preempted: it was preempted by SIGUSR1, and exited with exit code 0")
	}
	slices.Sort(freed)
	t.Logf("%d preemptions; from the request until the slots were free: median %s, longest %s", times, freed[times/2], freed[times-1])
	for _, c := range []*counting{dies, ignores} {
		c.begins(t)
		c.pause(t)
	}
	for _, c := range []*counting{dies, ignores} {
		c.free(t)
		reached := c.number(t, "reached")
		c.activate(t)
		if after := c.begins(t); reached-after > 1 {
			t.Errorf("experiment %d had reached step %d, and begins again after step %d", c.id, reached, after)
		}
	}
	dies.ends(t, "preempted: it was preempted by SIGTERM, and exited with exit code 143")
	ignores.ends(t, "killed: the program did not exit within 1s of SIGTERM, which preempted it")
	kept.continues(t)
	if after := saves.begins(t); after != saves.number(t, "count") {
		t.Errorf("it begins after step %d, and saved step %d", after, saves.number(t, "count"))
	}
	saves.ends(t, ends...)
}

// slots changes the limit of an experiment.
func (r signalRig) slots(t *testing.T, id, most int) {
	t.Helper()
	if out, err := r.Det(t, "experiment", "set", "max-slots", fmt.Sprint(id), fmt.Sprint(most)); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// keepsFolder submits a script that keeps its numbers in its working directory, which ends with each attempt; its folder is kept.
func (r signalRig) keepsFolder(t *testing.T) *counting {
	t.Helper()
	folder := t.TempDir()
	script := strings.NewReplacer("$folder/count", "out/count", "$folder/new", "out/new").Replace(counter)
	id := r.Submit(t, fmt.Sprintf(`name: keeps
entrypoint: [sh, count.sh, %s, "mkdir -p out", save]
searcher: {name: single, metric: loss, max_length: 1}
max_restarts: 0
resources: {slots_per_trial: 0}
preemption: {signal: SIGTERM}
resume: {path: out}
`, folder), map[string]string{"count.sh": script})
	return &counting{r: r.Rig, id: id, folder: folder}
}

// continues preempts the trial whose folder is kept, and checks its checkpoints.
func (c *counting) continues(t *testing.T) {
	t.Helper()
	var ends []string
	c.begins(t)
	for range 2 {
		c.pause(t)
		c.free(t)
		reached := c.number(t, "reached")
		c.activate(t)
		if after := c.begins(t); reached-after > 1 {
			t.Errorf("it had reached step %d, and begins again after step %d; its log:\n%s", reached, after, c.r.Log(t, c.id))
		}
		ends = append(ends, "preempted: it was preempted by SIGTERM, and exited with exit code 143")
	}
	c.ends(t, ends...)
	rig.Eventually(t, "two of the three copies are collected", func() (bool, error) {
		var states []string
		list, err := client.List(t.Context(), c.r.Client, v1.ListTrialCheckpoints, client.Page{}, nil, c.r.Trial(t, c.id).ID)
		for _, k := range list {
			states = append(states, strings.TrimPrefix(string(k.State), "STATE_"))
		}
		slices.Sort(states)
		return slices.Equal(states, []string{"COMPLETED", "DELETED", "DELETED"}), fmt.Errorf("the checkpoints are %v (%w)", states, err)
	})
}
