package rows

import (
	"testing"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// TestTheLoopAgainstAClaim tests a claim during which the loop wants to end the attempt because
// no runner has claimed it. The loop's statement begins before the claim is committed, and
// waits for its lock; then it must see the claim. (In READ COMMITTED, a statement that has
// waited for a lock does not read other tables again.) The claim waits for its owner's row, which it
// needs for the session of the task.
func TestTheLoopAgainstAClaim(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	exp := w.Experiment(rowtest.LossSearcher)
	loop, other := w.Open(2), w.Open(1)
	for i := range 5 {
		id := w.Attempt(w.Trial(exp, i, 0), 1, 1)
		claimed, ended := make(chan error, 1), make(chan error, 1)
		if err := other.Tx(ctx, func(tx *database.DB) error {
			if err := tx.Exec(ctx, `SELECT FROM users FOR UPDATE`); err != nil {
				return err
			}
			go func() {
				_, err := attempts.Accept(ctx, w.DB, rowtest.Claim(id, 0, "n"))
				claimed <- err
			}()
			w.WaitBlocked(1)
			go func() {
				ended <- loop.Tx(ctx, func(tx *database.DB) error {
					return ApplyChanges(ctx, tx, &Changes{Allocations: []AllocationChange{{ID: id, Saw: "ASSIGNED", State: "TERMINATED",
						Ended: true, Unstarted: true, Outcome: "unplaced", ExitReason: "it did not start"}}})
				})
			}()
			w.WaitBlocked(2)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := <-claimed; err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err == nil {
			t.Error("the loop ended an attempt that was claimed")
		}
		if n := w.Int(`SELECT count(*) FROM allocations a JOIN members m ON m.allocation_id = a.id
			WHERE a.id = $1 AND a.state = 'TERMINATED' AND m.claimed_at IS NOT NULL`, id); n > 0 {
			t.Errorf("%s ended as an unclaimed attempt, but a member has claimed it", id)
		}
	}
}

// TestAnEndedAttemptKeepsNoGathers: the data of the all-gathers of an attempt are deleted at its end.
func TestAnEndedAttemptKeepsNoGathers(t *testing.T) {
	w := newWorld(t)
	id := w.Attempt(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1), 1, 2)
	if _, _, err := attempts.Gather(t.Context(), w.DB, attempts.Round{AllocationID: id, Purpose: "data"}, "0", 2, 100, []byte(`{}`)); err != nil || w.Int(`SELECT count(*) FROM gathers`) != 1 {
		t.Fatal(err)
	}
	err := w.DB.Tx(t.Context(), func(tx *database.DB) error {
		return ApplyChanges(t.Context(), tx, &Changes{Allocations: []AllocationChange{{ID: id, Saw: "ASSIGNED", State: "TERMINATED", Ended: true, Outcome: "killed"}}})
	})
	if n := w.Int(`SELECT count(*) FROM gathers`); err != nil || n != 0 {
		t.Errorf("at the end there are %d: %v", n, err)
	}
}
