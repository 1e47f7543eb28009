package experiments

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// searched trains for each length that the search requests, and stores a checkpoint after each.
const searched = `
import determined
from determined import core

info = determined.get_cluster_info()
x = info.trial.hparams["x"]
with core.init() as ctx:
    step = 0
    if info.latest_checkpoint:
        with ctx.checkpoint.restore_path(info.latest_checkpoint) as path:
            step = int((path / "step").read_text())
        print("resumed at", step)
    for op in ctx.searcher.operations():
        while step < op.length:
            step += 1
            ctx.train.report_training_metrics(steps_completed=step, metrics={"loss": x / step})
        ctx.train.report_validation_metrics(steps_completed=step, metrics={"loss": x / step})
        with ctx.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
            (path / "step").write_text(str(step))
        op.report_completed(x / step)
        print("trained to", step)
`

// endless reports until it is preempted.
const endless = `
import time
from determined import core

with core.init() as ctx:
    step = 0
    while not ctx.preempt.should_preempt():
        step += 1
        time.sleep(0.05)
        ctx.train.report_validation_metrics(steps_completed=step, metrics={"loss": 1 / step})
`

// TestASearchCallsTheBestBack: of four trials the better ones continue from their rung. The others
// wait there with a checkpoint and without slots until the search stops them. Beside it, a training without an end
// ends when its budget is spent.
func TestASearchCallsTheBestBack(t *testing.T) {
	r := rig.Start(t)
	spends := r.Submit(t, `
name: budget
entrypoint: python3 train.py
hyperparameters: {}
searcher: {name: single, metric: loss, budget: {slot_hours: 0.002}}
`, rig.Script(endless))
	defer wasSpent(t, r, spends)
	id := r.Submit(t, `
name: search
entrypoint: python3 train.py
max_restarts: 0
hyperparameters: {x: {type: double, minval: 0, maxval: 1}}
searcher: {name: async_halving, metric: loss, num_rungs: 2, divisor: 2, max_trials: 4, max_concurrent_trials: 2, max_length: {batches: 8}}
`, rig.Script(searched))
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	trials, err := client.List(t.Context(), r.Client, v1.ListTrials, client.Page{}, nil, id)
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for _, x := range trials {
		switch {
		case x.State != "STATE_COMPLETED":
			t.Errorf("trial %d is %s: %s", x.ID, x.State, x.Error)
		case x.TotalBatchesProcessed == 8:
			whole++
		case x.TotalBatchesProcessed != 4:
			t.Errorf("trial %d trained for %d batches", x.ID, x.TotalBatchesProcessed)
		}
	}
	if len(trials) != 4 || whole == 0 || whole == 4 {
		t.Errorf("%d of %d trials trained whole", whole, len(trials))
	}
}

// wasSpent waits until an experiment has spent its budget, and compares what it says with the usage record.
func wasSpent(t *testing.T, r *rig.Rig, id int) {
	t.Helper()
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	e, err := client.Call(t.Context(), r.Client, v1.GetExperiment, id)
	if err != nil {
		t.Fatal(err)
	}
	used := rig.Value[float64](t, r, `SELECT (sum(slots * extract(epoch FROM ended_at - started_at)) / 3600)::float8 FROM usage WHERE experiment_id = $1`, id)
	b := e.Outlook.Budget
	if b == nil || !b.Over || used < 0.002 || math.Abs(b.Spent-used) > 0.0011 { // which is rounded to thousandths
		t.Errorf("the search has spent %+v, and the usage record says %v slot-hours", b, used)
	}
	if out, err := r.Det(t, "experiment", "describe", strconv.Itoa(id)); err != nil || !strings.Contains(out, "of 0.002 slot-hours are spent") {
		t.Errorf("det experiment describe: %v\n%s", err, out)
	}
}
