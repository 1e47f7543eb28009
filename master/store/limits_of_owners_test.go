package store

import (
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/fault"
)

// TestLimitsOfOneOwner: what the whole cluster has a limited number of, one user does not use up with many workspaces.
func TestLimitsOfOneOwner(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	mine := w.int(`INSERT INTO users (username) VALUES ('mine') RETURNING id`)
	w.exec(`INSERT INTO workspaces (name, owner_id) SELECT 'w' || n, $1 FROM generate_series(1, 10) n`, mine)
	last := w.int(`SELECT max(id) FROM workspaces`)
	other := w.int(`INSERT INTO workspaces (name, owner_id) VALUES ('others', 1) RETURNING id`)
	eight, one := 8, 1

	w.exec(`INSERT INTO users (username) SELECT 'u' || n FROM generate_series(1, 100) n`)
	w.exec(`INSERT INTO quotas (workspace_id, user_id, measure, period, hard)
		SELECT w.id, u.id, 'slots', '', 1 FROM workspaces w, users u WHERE w.owner_id = $1 AND u.username LIKE 'u%' AND w.id <> $2 LIMIT $3`, mine, last, maxQuotasOfOwner)
	if _, err := w.db.SetQuota(ctx, Quota{WorkspaceID: &last, UserID: &one, Measure: MeasureSlots, Hard: &eight}, admitAll); !fault.Is(err, fault.TooMany) {
		t.Errorf("one quota too many of an owner: %v", err)
	}
	if _, err := w.db.SetQuota(ctx, Quota{WorkspaceID: &other, UserID: &one, Measure: MeasureSlots, Hard: &eight}, admitAll); err != nil {
		t.Errorf("a quota of another owner: %v", err)
	}

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
