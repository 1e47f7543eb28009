package attempts_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// TestKeptFoldersAreNoCheckpoints: the master chooses the folder that a runner restores, by the attempts and not by clocks or metadata, and no
// program is offered it as its checkpoint.
func TestKeptFoldersAreNoCheckpoints(t *testing.T) {
	w := rowtest.New(t)
	exp := w.Experiment(rowtest.LossSearcher)
	trial := w.Trial(exp, 0, 0)
	id := func(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-0000000000%02d", n) }
	add := func(trial, n, run, steps int, kept bool) {
		t.Helper()
		late := time.Date(2099, 1, 1, 0, 0, -n, 0, time.UTC) // clocks of nodes: the first is the latest
		err := checkpoints.Add(t.Context(), w.DB, checkpoints.New{UUID: id(n), TaskID: w.TaskOf(trial), AllocationID: fmt.Sprint(w.TaskOf(trial), ".", run), RunID: run,
			State: "COMPLETED", Steps: steps, ReportedAt: &late, Kept: kept, Metadata: fmt.Appendf(nil, `{"steps_completed": %d, "resume": "/out"}`, steps)})
		if err != nil {
			t.Fatal(err)
		}
	}
	accept := func(trial, run int) (checkpoint, folder string, warm bool) {
		t.Helper()
		got, err := attempts.Accept(t.Context(), w.DB, rowtest.Claim(w.Attempt(trial, run, 1), 0, "n"))
		if err != nil {
			t.Fatal(err)
		}
		return optional.Value(got.Checkpoint), optional.Value(got.Begins.Folder), got.Begins.Warm
	}
	expect := func(what string, trial, run int, checkpoint, folder string, warm bool) {
		t.Helper()
		if c, f, is := accept(trial, run); c != checkpoint || f != folder || is != warm {
			t.Errorf("%s: checkpoint %q, folder %q, %t; want %q, %q, %t", what, c, f, is, checkpoint, folder, warm)
		}
	}
	w.Attempt(trial, 1, 1)
	add(trial, 1, 1, 20, false)
	add(trial, 2, 1, 30, true)
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, reported_at, steps, position, avg) SELECT $1, 1, 'training', now(), i, i, '{"loss": 1}' FROM generate_series(1, 40) i`, trial)
	expect("after the first attempt", trial, 2, id(1), id(2), false)
	if n := w.Int(`SELECT count(*) FROM metrics WHERE trial_id = $1 AND NOT archived`, trial); n != 30 {
		t.Errorf("%d reports stay, those up to the folder's 30 steps", n)
	}
	add(trial, 3, 2, 10, true) // fewer steps, and an older clock: the program began anew
	expect("after the second", trial, 3, id(1), id(3), false)
	w.Exec(`UPDATE checkpoints SET state = 'PARTIALLY_DELETED' WHERE uuid = $1`, id(3))
	expect("without some of its files", trial, 4, id(1), id(2), false)

	child := w.Trial(exp, 1, 0)
	w.Exec(`UPDATE trials SET warm_start = $2 WHERE id = $1`, child, id(1))
	expect("a copy of the trial", child, 1, "", id(2), false)
	other := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 0)
	w.Exec(`UPDATE trials SET warm_start = $2 WHERE id = $1`, other, id(1))
	expect("from a checkpoint of another experiment", other, 1, "", "", false)
	w.Exec(`UPDATE trials SET warm_start = $2 WHERE id = $1`, other, id(2))
	expect("from a folder of another experiment", other, 2, "", id(2), true)
	add(other, 4, 2, 1, true)
	expect("then from its own", other, 3, "", id(4), true)
}
