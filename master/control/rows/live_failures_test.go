package rows

import (
	"testing"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

func TestNodeFailures(t *testing.T) {
	w := newWorld(t)
	e, other := w.Experiment(rowtest.LossSearcher), w.Experiment(rowtest.LossSearcher)
	w.Exec(`UPDATE experiments SET state = 'ACTIVE'`)
	fails := func(experiment int, id, name string, failures int, avoided bool) nodes.FailureCount {
		return nodes.FailureCount{ExperimentID: experiment, NodeID: id, NodeName: name, Failures: failures, Avoided: avoided}
	}
	write := func(list ...nodes.FailureCount) {
		t.Helper()
		if err := w.DB.Tx(t.Context(), func(tx *database.DB) error { return ApplyChanges(t.Context(), tx, &Changes{Failures: list}) }); err != nil {
			t.Fatal(err)
		}
	}
	write(fails(e, "id1", "n1", 2, false), fails(e, "id2", "n2", 3, true), fails(other, "id1", "n1", 1, false),
		fails(99, "id1", "n1", 1, false)) // gone meanwhile
	write(fails(e, "id1", "n1-renamed", 3, true), fails(other, "id1", "n1", 0, false))
	live, err := LoadLive(t.Context(), w.DB, Known{})
	if err != nil || len(live.Failures) != 2 || live.Failures[0] != (fails(e, "id1", "n1-renamed", 3, true)) {
		t.Errorf("the loop sees %+v, %v", live.Failures, err)
	}
	if list, err := nodes.Avoided(t.Context(), w.DB, e); err != nil || len(list) != 2 {
		t.Errorf("avoided are %+v, %v", list, err)
	}
	w.Exec(`UPDATE experiments SET state = 'CANCELED', ended_at = now() WHERE id = $1`, e)
	if live, err = LoadLive(t.Context(), w.DB, Known{}); err != nil || len(live.Failures) != 0 {
		t.Errorf("of an ended experiment: %+v, %v", live.Failures, err)
	}
}
