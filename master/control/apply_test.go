package control

import (
	"fmt"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/control/rows"
)

// TestAPlanIsStoredInParts tests that a plan with very many bundles is stored in several
// transactions, and that a bundle is left out if it needs a failed bundle of an earlier one.
func TestAPlanIsStoredInParts(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment("")
	const bundles, stale = 2*maxTogether + 10, 5
	plan := &Plan{}
	for i := range bundles {
		plan.Bundles = append(plan.Bundles, rows.Bundle{Key: fmt.Sprint(i),
			Changes: rows.Changes{Queue: []rows.Work{{Kind: rows.WorkGC, Subject: fmt.Sprint(i), Parent: "x"}}}})
	}
	plan.Bundles[stale].Experiments = []rows.ExperimentChange{{ID: e, Saw: "COMPLETED", State: "COMPLETED"}}
	needing := &plan.Bundles[bundles-1]
	needing.Needs = []string{fmt.Sprint(stale)}
	made, err := b.term.apply(t.Context(), plan)
	if err != nil || len(made.Queue) != bundles-2 {
		t.Fatalf("%d of %d changes were made: %v", len(made.Queue), bundles, err)
	}
	if n := b.int(`SELECT count(*) FROM work`); n != bundles-2 {
		t.Errorf("%d of %d changes were stored", n, bundles)
	}
	if n := b.int(`SELECT count(*) FROM work WHERE subject IN ('5', $1)`, needing.Key); n != 0 {
		t.Error("a stale bundle, or one that depends on it, was stored")
	}
	if xacts := b.int(`SELECT count(DISTINCT xmin::text) FROM work`); xacts != 3 {
		t.Errorf("the plan was stored in %d transactions, want 3", xacts)
	}
}

// TestFewerTogether: a transaction that does not end in time takes nothing with it for ever. The next ones store less, and so what others
// want is stored, too.
func TestFewerTogether(t *testing.T) {
	b := newBench(t, "n1")
	// Each row of the work takes so long that a transaction with all of them ends by its time: the test's trigger says so at the eleventh.
	b.exec(`CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF (SELECT count(*) FROM work WHERE xmin = pg_current_xact_id()::xid) > 10 THEN RAISE EXCEPTION 'too slow' USING ERRCODE = '57P03'; END IF;
		RETURN NEW; END $$`)
	b.exec(`CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON work DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()`)
	plan := func() *Plan {
		p := &Plan{}
		for i := range 40 {
			if key := fmt.Sprint(i); b.int(`SELECT count(*) FROM work WHERE subject = $1`, key) == 0 {
				p.Bundles = append(p.Bundles, rows.Bundle{Key: key, Changes: rows.Changes{Queue: []rows.Work{{Kind: rows.WorkGC, Subject: key, Parent: "x"}}}})
			}
		}
		return p
	}
	tries := 0
	for ; b.int(`SELECT count(*) FROM work`) < 40 && tries < 40; tries++ {
		_, _ = b.term.apply(t.Context(), plan())
	}
	if n := b.int(`SELECT count(*) FROM work`); n != 40 {
		t.Errorf("after %d tries %d of 40 changes are stored, %d together", tries, n, b.term.together.size())
	}
	b.exec(`DROP TRIGGER slow ON work; DELETE FROM work`)
	for range 12 {
		if _, err := b.term.apply(t.Context(), plan()); err != nil {
			t.Fatal(err)
		}
		b.exec(`DELETE FROM work`)
	}
	if n := b.term.together.size(); n != maxTogether {
		t.Errorf("afterwards %d are stored together", n)
	}
}

// TestABundleWhoseTransactionIsSlow tests that a bundle whose transaction does not end in time, although none of its statements is slow, is
// set aside and tried again later, so that the others are stored.
func TestABundleWhoseTransactionIsSlow(t *testing.T) {
	b := newBench(t, "n1")
	b.exec(`CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'too slow' USING ERRCODE = '57P03'; END $$`)
	// The trigger runs at the commit: no statement of the bundle fails, and the whole transaction does, as at its time limit.
	b.exec(`CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON work DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.subject = '0') EXECUTE FUNCTION slow()`)
	apply := func() error {
		p := &Plan{}
		for i := range 3 {
			if key := fmt.Sprint(i); b.int(`SELECT count(*) FROM work WHERE subject = $1`, key) == 0 {
				p.Bundles = append(p.Bundles, rows.Bundle{Key: key, Changes: rows.Changes{Queue: []rows.Work{{Kind: rows.WorkGC, Subject: key, Parent: "x"}}}})
			}
		}
		_, err := b.term.apply(t.Context(), p)
		return err
	}
	b.term.together = 1
	if err := apply(); err == nil {
		t.Fatal("the slow bundle is stored")
	}
	s := b.term.backoffs["0"]
	if s == nil || !s.slow || s.level != handleNormally {
		t.Fatalf("the bundle's backoff is %+v", s)
	}
	s.until = time.Now().Add(time.Hour)
	if err := apply(); err != nil || b.int(`SELECT count(*) FROM work`) != 2 {
		t.Fatalf("the others are not stored: %v", err)
	}
	s.until = time.Time{} // again: it waits for longer
	if err := apply(); err == nil || s.tries != 2 || s.until.IsZero() {
		t.Fatalf("after the second try: %+v, %v", s, err)
	}
	b.exec(`DROP TRIGGER slow ON work`)
	b.atOnce()
	if err := apply(); err != nil || b.int(`SELECT count(*) FROM work`) != 3 || len(b.term.backoffs) != 0 {
		t.Errorf("in the end: %v, %v", err, b.term.backoffs)
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
