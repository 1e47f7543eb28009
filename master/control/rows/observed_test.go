package rows

import (
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// TestFactsAboutLockedMembers: the leader waits for no member that somebody has locked, and gets the fact back.
func TestFactsAboutLockedMembers(t *testing.T) {
	w := newWorld(t)
	id := w.Attempt(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1), 1, 3)
	var facts []MemberFact
	for rank := range 3 {
		facts = append(facts, MemberFact{AllocationID: id, Rank: rank, NomadAllocID: fmt.Sprint("x", rank), Status: "running", Started: true, Index: 7})
	}
	status := func(rank int) string {
		return w.Text(`SELECT nomad_status FROM members WHERE allocation_id = $1 AND rank = $2`, id, rank)
	}
	err := w.DB.Tx(t.Context(), func(tx *database.DB) error {
		if err := tx.Exec(t.Context(), `SELECT 1 FROM members WHERE allocation_id = $1 AND rank = 1 FOR UPDATE`, id); err != nil {
			return err
		}
		left, err := RecordFacts(t.Context(), w.DB, facts)
		if err != nil || len(left) != 1 || left[0] != facts[1] {
			t.Errorf("left over: %+v, %v", left, err)
		}
		if err := RecordGone(t.Context(), w.DB, []string{id}); err != nil {
			t.Error(err)
		}
		if got := status(0) + " " + status(1) + " " + status(2); got != "gone  gone" {
			t.Errorf("the members are %q", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if left, err := RecordFacts(t.Context(), w.DB, facts); err != nil || len(left) != 0 || status(1) != "running" || status(0) != "gone" {
		t.Errorf("left over: %+v, %v; the members are %s and %s", left, err, status(1), status(0))
	}
}
