package store

import "testing"

func TestNodeFailures(t *testing.T) {
	w := newWorld(t)
	e, other := w.experiment(lossSearcher), w.experiment(lossSearcher)
	w.exec(`UPDATE experiments SET state = 'ACTIVE'`)
	write := func(list ...NodeFailures) {
		t.Helper()
		if err := w.db.Tx(t.Context(), func(tx *DB) error { return tx.ApplyChanges(t.Context(), &Changes{Failures: list}) }); err != nil {
			t.Fatal(err)
		}
	}
	write(NodeFailures{e, "id1", "n1", 2, false}, NodeFailures{e, "id2", "n2", 3, true}, NodeFailures{other, "id1", "n1", 1, false},
		NodeFailures{99, "id1", "n1", 1, false}) // gone meanwhile
	write(NodeFailures{e, "id1", "n1-renamed", 3, true}, NodeFailures{other, "id1", "n1", 0, false})
	live, err := w.db.LoadLive(t.Context(), Known{})
	if err != nil || len(live.Failures) != 2 || live.Failures[0] != (NodeFailures{e, "id1", "n1-renamed", 3, true}) {
		t.Errorf("the loop sees %+v, %v", live.Failures, err)
	}
	if list, err := w.db.AvoidedNodes(t.Context(), e); err != nil || len(list) != 2 {
		t.Errorf("avoided are %+v, %v", list, err)
	}
	w.exec(`UPDATE experiments SET state = 'CANCELED', ended_at = now() WHERE id = $1`, e)
	if live, err = w.db.LoadLive(t.Context(), Known{}); err != nil || len(live.Failures) != 0 {
		t.Errorf("of an ended experiment: %+v, %v", live.Failures, err)
	}
}
