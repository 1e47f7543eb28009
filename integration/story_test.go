package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// config is a small experiment of one trial; more is added to it.
func config(more string) string {
	return `
name: story
entrypoint: python3 train.py
searcher: {name: single, metric: loss, max_length: {batches: 10}}
max_restarts: 0
` + more
}

// TestFromCreateToBestCheckpoint is the thread: a script that uses the core API
// reports, checkpoints and ends, and everything can be read back.
func TestFromCreateToBestCheckpoint(t *testing.T) {
	r := start(t)
	id := r.submit(t, config("hyperparameters: {lr: 0.5}"), script(`
from determined import core
import pathlib
with core.init() as ctx:
    for step in range(1, 6):
        ctx.train.report_training_metrics(steps_completed=step, metrics={"loss": 1.0 / step})
        ctx.train.report_validation_metrics(steps_completed=step, metrics={"loss": abs(3 - step)})
        with ctx.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
            (pathlib.Path(path) / "weights").write_text(str(step))
    print("trained")
`))
	r.waitState(t, id, v1.ExperimentStateCompleted)
	if log := r.log(t, id); !strings.Contains(log, "trained") {
		t.Errorf("its log lacks what it printed:\n%s", log)
	}
	trial := r.trial(t, id)
	reports, err := client.Collect(r.client.TrialMetrics(t.Context(), "validation", trial.ID))
	if err != nil || len(reports) != 5 {
		t.Errorf("%d validations: %v", len(reports), err)
	}
	if trial.BestValidation == nil || trial.BestValidation.TotalBatches != 3 {
		t.Errorf("its best validation is %+v", trial.BestValidation)
	}
	out, err := r.det(t, "experiment", "list-checkpoints", "--best", "1", itoa(id), "--json")
	if err != nil || !strings.Contains(out, `"steps_completed": 3`) && !strings.Contains(out, `"steps_completed":3`) {
		t.Errorf("the best checkpoint: %v\n%s", err, out)
	}
}

// waitLog waits until the experiment's trial has written a text.
func (r *rig) waitLog(t testing.TB, id int, text string) {
	t.Helper()
	eventually(t, fmt.Sprintf("experiment %d writes %q", id, text), func() (bool, error) {
		log := r.log(t, id)
		return strings.Contains(log, text), fmt.Errorf("it wrote:\n%s", log)
	})
}
