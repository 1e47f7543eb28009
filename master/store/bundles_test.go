package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/trial"
)

// TestPartsOfABatch tests that statements are sent in order, in batches of at most
// maxBatchBytes, and that a larger statement is sent alone.
func TestPartsOfABatch(t *testing.T) {
	s := &statements{}
	for i := range 200 {
		size := 64 << 10
		if i == 100 {
			size = maxBatchBytes + 1
		}
		queueNewTrial(s, trial.Row{ExperimentID: 1, Number: i, TaskID: fmt.Sprint(i), HParams: json.RawMessage(`"` + strings.Repeat("x", size) + `"`)})
	}
	parts, sent := s.parts(), 0
	for _, part := range parts {
		bytes := 0
		for _, q := range part.QueuedQueries {
			if q != s.QueuedQueries[sent] {
				t.Fatalf("statement %d is not the one that was queued there", sent)
			}
			sent++
			for _, arg := range q.Arguments {
				bytes += sizeOf(arg)
			}
		}
		if bytes > maxBatchBytes && part.Len() > 1 {
			t.Errorf("%d statements with %d bytes are sent at once", part.Len(), bytes)
		}
	}
	if sent != len(s.QueuedQueries) || len(parts) < 4 || len(parts) > 7 {
		t.Errorf("%d of %d statements in %d parts", sent, len(s.QueuedQueries), len(parts))
	}
	if none := (&statements{}).parts(); len(none) != 0 {
		t.Errorf("no statements make %d parts, want none", len(none))
	}
}

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
