package store

import (
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/fault"
)

// TestLimitsOfOneOwner: what the whole cluster has a limited number of, one user does not use up.
func TestLimitsOfOneOwner(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	experiment := w.experiment(lossSearcher)
	owner := w.int(`SELECT owner_id FROM experiments WHERE id = $1`, experiment)
	w.exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, experiment_id, name, pool, slots, priority)
		SELECT 'gc' || n, 'CHECKPOINT_GC', gen_random_uuid(), $1, 1, $2, '', 'default', 0, 1 FROM generate_series(1, $3) n`, owner, experiment, maxLiveRemovals)
	gc := NewGC{TaskID: GCTaskID(experiment), ExperimentID: experiment, Reason: ByRequest, Events: true, Pool: "default", Priority: 42, Live: true}
	if _, err := w.db.CreateGC(ctx, gc); !fault.Is(err, fault.TooMany) {
		t.Errorf("one removal too many of an owner: %v", err)
	}
	w.exec(`UPDATE tasks SET ended_at = now() WHERE id = 'gc1'`)
	if made, err := w.db.CreateGC(ctx, gc); err != nil || !made {
		t.Error(fmt.Sprint("a removal after another has ended: ", made, err))
	}
}
