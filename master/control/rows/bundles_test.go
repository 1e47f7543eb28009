package rows

import (
	"errors"
	"testing"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/tasks"
)

// TestAnAttemptEndsAsItWasSeen tests that an attempt ends as one that has not started only if as
// many members are claimed as the plan saw, and that the bundle counts as stale otherwise, although
// the database then rejects the next attempt, too.
func TestAnAttemptEndsAsItWasSeen(t *testing.T) {
	w := newWorld(t)
	exp := w.Experiment(rowtest.LossSearcher)
	for i, x := range []struct {
		claimed, saw int
		ends         bool
	}{{0, 0, true}, {1, 0, false}, {1, 1, true}, {0, 1, false}} {
		trial := w.Trial(exp, i, 0)
		id, task := w.Attempt(trial, 1, 1), w.TaskOf(trial)
		if x.claimed > 0 {
			w.Exec(`UPDATE members SET claimed_at = now() WHERE allocation_id = $1`, id)
		}
		bundle := Bundle{Key: "k", Changes: Changes{
			Allocations: []AllocationChange{{ID: id, Saw: "ASSIGNED", State: "TERMINATED", Ended: true, Unstarted: true, Claimed: x.saw,
				Outcome: "unplaced", ExitReason: "it did not start"}},
			NewAllocations: []tasks.NewAttempt{{ID: task + ".2", TaskID: task, RunID: 2, Pool: "default", Slots: 1}}}}
		var failures map[string]error
		if err := w.DB.Tx(t.Context(), func(tx *database.DB) (err error) {
			failures, err = ApplyBundles(t.Context(), tx, []Bundle{bundle})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		cause := failures["k"]
		if x.ends != (cause == nil) || cause != nil && !errors.Is(cause, database.ErrStale) {
			t.Errorf("%d claimed, %d seen: %v", x.claimed, x.saw, cause)
		}
	}
}
