package control

import (
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/store"
)

// TestAPlanIsStoredInParts tests that a plan with very many bundles is stored in several
// transactions, and that a bundle is left out if it needs a failed bundle of an earlier one.
func TestAPlanIsStoredInParts(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	const bundles, stale = 2*maxTogether + 10, 5
	plan := &Plan{}
	for i := range bundles {
		plan.Bundles = append(plan.Bundles, store.Bundle{Key: fmt.Sprint(i),
			Changes: store.Changes{Queue: []store.Work{{Kind: store.WorkGC, Subject: fmt.Sprint(i), Parent: "x"}}}})
	}
	plan.Bundles[stale].Experiments = []store.ExperimentChange{{ID: e, Saw: "COMPLETED", State: "COMPLETED"}}
	needing := &plan.Bundles[bundles-1]
	needing.Needs = []string{fmt.Sprint(stale)}
	made, err := b.term.apply(t.Context(), plan)
	if err != nil || len(made.Queue) != bundles-2 {
		t.Fatalf("%d of %d changes were made: %v", len(made.Queue), bundles, err)
	}
	if n := b.int(`SELECT count(*) FROM work`); n != bundles-2 {
		t.Errorf("%d of %d changes were stored", n, bundles)
	}
	if n := b.int(`SELECT count(*) FROM work WHERE about IN ('5', $1)`, needing.Key); n != 0 {
		t.Error("a stale bundle, or one that depends on it, was stored")
	}
	if xacts := b.int(`SELECT count(DISTINCT xmin::text) FROM work`); xacts != 3 {
		t.Errorf("the plan was stored in %d transactions, want 3", xacts)
	}
}

// TestManyFreeSlotsAreFilledInPasses tests that a cycle makes at most maxPlacements
// placements, and that the next cycle makes the others.
func TestManyFreeSlotsAreFilledInPasses(t *testing.T) {
	const trials = maxPlacements + 40
	names := make([]string, trials/8+1)
	for i := range names {
		names[i] = fmt.Sprintf("n%d", i)
	}
	b := newBench(t, names...)
	b.term.nomad, b.term.async = &unsteadyNomad{fakeNomad: b.nomad}, true
	b.term.cfg.Pools[0].Slots.PerNode = 8
	b.watched()
	b.crowd(trials, 0)
	for pass, want := range []int{maxPlacements, trials} {
		b.watched()
		if n := b.int(`SELECT count(*) FROM allocations WHERE state <> 'PENDING'`); n != want {
			t.Fatalf("after pass %d, %d attempts have slots, not %d", pass+1, n, want)
		}
	}
}
