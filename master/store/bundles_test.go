package store

import (
	"errors"
	"testing"
)

// TestAnAttemptEndsAsItWasSeen tests that an attempt ends as one that has not started only if as
// many members are claimed as the plan saw, and that the bundle counts as stale otherwise, although
// the database then rejects the next attempt, too.
func TestAnAttemptEndsAsItWasSeen(t *testing.T) {
	w := newWorld(t)
	exp := w.experiment(lossSearcher)
	for i, x := range []struct {
		claimed, saw int
		ends         bool
	}{{0, 0, true}, {1, 0, false}, {1, 1, true}, {0, 1, false}} {
		trial := w.trial(exp, i, 0)
		id, task := w.attempt(trial, 1, 1), w.taskOf(trial)
		if x.claimed > 0 {
			w.exec(`UPDATE members SET claimed_at = now() WHERE allocation_id = $1`, id)
		}
		bundle := Bundle{Key: "k", Changes: Changes{
			Allocations: []AllocationChange{{ID: id, Saw: "ASSIGNED", State: "TERMINATED", Ended: true, Unstarted: true, Claimed: x.saw,
				Outcome: "unplaced", ExitReason: "it did not start"}},
			NewAllocations: []NewAllocation{{ID: task + ".2", TaskID: task, RunID: 2, Pool: "default", Slots: 1}}}}
		var failures map[string]error
		if err := w.db.Tx(t.Context(), func(tx *DB) (err error) {
			failures, err = tx.ApplyBundles(t.Context(), []Bundle{bundle})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		cause := failures["k"]
		if x.ends != (cause == nil) || cause != nil && !errors.Is(cause, ErrStale) {
			t.Errorf("%d claimed, %d seen: %v", x.claimed, x.saw, cause)
		}
	}
}
