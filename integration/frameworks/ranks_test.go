package frameworks

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

// ranksBatches is the length of the trainings: three epochs and a half of 12 batches.
const ranksBatches = 42

// ranksScript trains with batches of 16 records, however many workers share them. Each worker prints the
// records of each batch and, at the end, a digest of the weights. In its first run the worker of the rank
// dies_at_rank ends itself in the middle of the second epoch. While the folder of gates has a file named 2-31,
// the workers of the second run wait before batch 31.
const ranksScript = `
import hashlib, os, pathlib, signal, time
import torch
import determined
from determined import pytorch

class Data(torch.utils.data.Dataset):
    def __init__(self, size):
        generator = torch.Generator().manual_seed(1)
        self.x = torch.randn(size, 6, generator=generator)
        self.y = torch.sin(self.x).sum(1)
    def __len__(self):
        return len(self.x)
    def __getitem__(self, index):
        return self.x[index], self.y[index], index

class Sine(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        context.experimental.use_reproducible_sums()
        net = torch.nn.Sequential(torch.nn.Linear(6, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
        self.model = context.wrap_model(net)
        self.optimizer = context.wrap_optimizer(torch.optim.Adam(self.model.parameters(), 0.01))
        self.rank, self.size = context.distributed.rank, context.distributed.size
        self.run = determined.get_cluster_info().trial._trial_run_id
        self.dies = self.run == 1 and self.rank == context.get_hparam("dies_at_rank")
        self.gates = pathlib.Path(context.get_hparam("gates"))
    def train_batch(self, batch, epoch_idx, batch_idx):
        x, y, index = batch
        if self.dies and batch_idx == 19:
            os.kill(os.getpid(), signal.SIGKILL)
        gate = self.gates / f"{self.run}-{batch_idx}"
        if gate.exists():
            print(f"rank {self.rank} of run {self.run} waits before batch {batch_idx}", flush=True)
        while gate.exists():
            time.sleep(0.05)
        loss = ((self.model(x).squeeze(1) - y) ** 2).mean()
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        print(f"batch {batch_idx} of {self.size}: {sorted(index.tolist())}", flush=True)
        return {"loss": loss}
    def evaluate_batch(self, batch):
        x, y, _ = batch
        return {"val_loss": ((self.model(x).squeeze(1) - y) ** 2).mean()}
    def build_training_data_loader(self):
        return pytorch.DataLoader(Data(192), batch_size=16 // self.size, shuffle=True)
    def build_validation_data_loader(self):
        return pytorch.DataLoader(Data(32), batch_size=4)

with pytorch.init(hparams=determined.get_cluster_info().trial.hparams) as context:
    trial = Sine(context)
    pytorch.Trainer(trial, context).fit(
        max_length=pytorch.Batch(%d), validation_period=pytorch.Epoch(1), reporting_period=pytorch.Batch(1),
        checkpoint_period=pytorch.Batch(5), latest_checkpoint=determined.get_cluster_info().latest_checkpoint)
    digest = hashlib.sha256()
    for weight in trial.model.parameters():
        digest.update(weight.detach().numpy().tobytes())
    print(f"rank {trial.rank} of {trial.size} on {determined.get_cluster_info().agent_id}: weights {digest.hexdigest()}", flush=True)
`

type ranksOptions struct {
	pool        string
	slots, dies int // dies -1: no worker ends itself
	restarts    int
	priority    int    // 0: the default
	gates       string // the folder of gates; "": none
}

func submitRanks(t *testing.T, r *rig.Rig, o ranksOptions) int {
	t.Helper()
	return r.Submit(t, fmt.Sprintf(`
name: ranks
entrypoint: python3 -m determined.launch.torch_distributed -- python3 train.py
hyperparameters: {dies_at_rank: %d, gates: %q}
searcher: {name: single, metric: val_loss}
resources: {resource_pool: %s, slots_per_trial: %d, priority: %d, equal_parts: true}
reproducibility: {experiment_seed: 7}
max_restarts: %d
`, o.dies, cmp.Or(o.gates, "/nonexistent"), o.pool, o.slots, cmp.Or(o.priority, 42), o.restarts), rig.Script(fmt.Sprintf(ranksScript, ranksBatches)))
}

// TestRanksLearnTheSame: one worker, two on a node (just nightly: four too), and two on each of two nodes train with the same
// batches: their losses differ by rounding alone. A training over two nodes, one of whose workers is killed in
// the middle of an epoch, resumes with the next batch and ends with the same weights, bit by bit.
func TestRanksLearnTheSame(t *testing.T) {
	turn.First(t)
	t.Parallel()
	needsMounts(t)
	python := rig.PythonOf(t, "torch")
	r, dir := rig.NewOwn(t, "ranks")
	config := fmt.Sprintf(`
cluster_name: ranks
checkpoint_storage: {type: shared_fs, host_path: %s/checkpoints}
task_container_defaults:
  environment_variables: ["PATH=%s:/usr/local/bin:/usr/bin:/bin", "PYTHONPATH=%s", OMP_NUM_THREADS=1]
resource_pools:
  - {name: default, driver: raw_exec, slots: cpu, slots_per_node: 4, memory_mb_per_slot: 768}
  - {name: pairs, node_pool: pairs, driver: raw_exec, slots: cpu, slots_per_node: 2, memory_mb_per_slot: 768}
`, dir, python, rig.Lean(t))
	r.StartCluster(t, dir, local.Options{Name: "ranks", Master: local.Master{Config: config}})
	for _, name := range []string{"left", "right"} {
		if err := r.AddClient(t.Context(), local.Client{Name: name, Pool: "pairs"}); err != nil {
			t.Fatal(err)
		}
	}
	submit := func(pool string, slots, dies int) int {
		return submitRanks(t, r, ranksOptions{pool: pool, slots: slots, dies: dies, restarts: 1})
	}
	// The four workers of a training over two nodes take both; the default pool's node has four slots.
	over, two := submit("pairs", 4, -1), submit("default", 2, -1)
	one, killed := submit("default", 1, -1), submit("pairs", 4, 3)
	others, workers := map[string]int{"two workers": two, "two workers on each of two nodes": over}, map[int]int{two: 2, over: 4}
	if rig.Thorough() {
		four := submit("default", 4, -1)
		others["four workers"], workers[four] = four, 4
	}
	want := readRanks(t, r, one, 1)
	for what, id := range others {
		found := readRanks(t, r, id, workers[id])
		for i, batch := range found.batches {
			if !slices.Equal(batch, want.batches[i]) {
				t.Errorf("%s: batch %d has the records %v, and one worker's %v", what, i, batch, want.batches[i])
			}
		}
		for i, loss := range found.losses {
			if math.Abs(loss-want.losses[i]) > 1e-5*want.losses[i] {
				t.Errorf("%s: the loss after batch %d is %v, and one worker's %v", what, i, loss, want.losses[i])
			}
		}
	}
	whole, resumed := readRanks(t, r, over, 4), readRanks(t, r, killed, 4)
	if len(whole.nodes) != 2 || len(resumed.nodes) != 2 {
		t.Errorf("the trainings over two nodes ran on %v and %v", whole.nodes, resumed.nodes)
	}
	if a, b := r.Trial(t, over).Restarts, r.Trial(t, killed).Restarts; a != 0 || b != 1 {
		t.Errorf("the training over two nodes has %d restarts, and the one whose worker was killed %d", a, b)
	}
	rig.Holds(t, "the log", r.Log(t, killed), "attempt 2 begins (restart 1 of 1) from checkpoint", "at 15 steps; attempt 1 failed: ")
	sameRun(t, resumed, whole)
}

// sameRun: a disturbed training trained with the same records as an undisturbed one, and has the same losses and
// weights, bit by bit.
func sameRun(t *testing.T, disturbed, undisturbed ranksRun) {
	t.Helper()
	if disturbed.weights != undisturbed.weights {
		t.Errorf("the weights of the disturbed training: %s; of the undisturbed one: %s", disturbed.weights, undisturbed.weights)
	}
	for i, batch := range disturbed.batches {
		if !slices.Equal(batch, undisturbed.batches[i]) || disturbed.losses[i] != undisturbed.losses[i] {
			t.Errorf("disturbed, batch %d is %v with loss %v; undisturbed %v with %v", i, batch, disturbed.losses[i], undisturbed.batches[i], undisturbed.losses[i])
		}
	}
	if !slices.Equal(disturbed.validations, undisturbed.validations) {
		t.Errorf("disturbed, the validations are %v; undisturbed %v", disturbed.validations, undisturbed.validations)
	}
}

// A ranksRun has the output of a training's workers, and the losses of its trial.
type ranksRun struct {
	batches [][]int // the records of each batch, of all workers together
	losses  []float64
	weights string // a digest, equal on all workers
	nodes   []string
	placed  []string // the node of each rank
	// validations are "12: 0.5" and so on, by batches.
	validations []string
}

var (
	ranksBatch   = regexp.MustCompile(`batch (\d+) of (\d+): \[([\d, ]+)\]`)
	ranksWeights = regexp.MustCompile(`rank (\d+) of (\d+) on (\S+): weights ([0-9a-f]{64})`)
)

func readRanks(t *testing.T, r *rig.Rig, id, size int) ranksRun {
	t.Helper()
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	log := r.Log(t, id)
	run := ranksRun{batches: make([][]int, ranksBatches)}
	seen := make([]map[int]bool, ranksBatches) // after a restart some batches are trained a second time
	for _, m := range ranksBatch.FindAllStringSubmatch(log, -1) {
		i := rig.Number(t, m[1])
		if i >= ranksBatches || rig.Number(t, m[2]) != size {
			t.Fatalf("experiment %d printed %q", id, m[0])
		}
		if seen[i] == nil {
			seen[i] = map[int]bool{}
		}
		for _, record := range strings.Split(m[3], ", ") {
			seen[i][rig.Number(t, record)] = true
		}
	}
	for i, records := range seen {
		for record := range records {
			run.batches[i] = append(run.batches[i], record)
		}
		slices.Sort(run.batches[i])
		if len(run.batches[i]) != 16 {
			t.Errorf("experiment %d: the workers saw %d records in batch %d: %v", id, len(run.batches[i]), i, run.batches[i])
		}
	}
	run.placed = make([]string, size)
	last := map[string]string{} // by rank
	for _, m := range ranksWeights.FindAllStringSubmatch(log, -1) {
		last[m[1]], run.weights = m[4], m[4]
		run.placed[rig.Number(t, m[1])] = m[3]
		if !slices.Contains(run.nodes, m[3]) {
			run.nodes = append(run.nodes, m[3])
		}
	}
	if len(last) != size {
		t.Fatalf("experiment %d: %d of %d workers printed their weights:\n%s", id, len(last), size, log)
	}
	for rank, weights := range last {
		if weights != run.weights {
			t.Errorf("experiment %d: rank %s has other weights than the others", id, rank)
		}
	}
	reports, err := client.Collect(r.Client.TrialMetrics(t.Context(), "training", r.Trial(t, id).ID))
	if err != nil {
		t.Fatal(err)
	}
	for _, report := range reports {
		var m struct {
			Average struct{ Loss float64 } `json:"avg_metrics"`
		}
		if err := report.Metrics.Into(&m); err != nil || report.TotalBatches != len(run.losses)+1 {
			t.Fatalf("experiment %d reported %s after %d batches: %v", id, report.Metrics, len(run.losses), err)
		}
		run.losses = append(run.losses, m.Average.Loss)
	}
	if len(run.losses) != ranksBatches {
		t.Fatalf("experiment %d reported %d losses", id, len(run.losses))
	}
	if reports, err = client.Collect(r.Client.TrialMetrics(t.Context(), "validation", r.Trial(t, id).ID)); err != nil || len(reports) == 0 {
		t.Fatalf("experiment %d reported %d validations: %v", id, len(reports), err)
	}
	for _, report := range reports {
		var m struct {
			Average struct {
				Loss float64 `json:"val_loss"`
			} `json:"validation_metrics"`
		}
		if err := report.Metrics.Into(&m); err != nil || m.Average.Loss == 0 {
			t.Fatalf("experiment %d reported the validation %s: %v", id, report.Metrics, err)
		}
		run.validations = append(run.validations, fmt.Sprintf("%d: %v", report.TotalBatches, m.Average.Loss))
	}
	return run
}
