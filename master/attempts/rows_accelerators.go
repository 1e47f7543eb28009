package attempts

import (
	"context"
	"encoding/json"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/tasks"
	"github.com/detent-ml/detent/master/trial"
)

// reportedAccelerators is what a member of an attempt reported about its node's accelerators.
type reportedAccelerators struct {
	AllocationID string `db:"id"`
	Pool         string `db:"pool"`
	NodeName     string `db:"node_name"`
	Data         []byte `db:"data"`
}

// acceleratorsOf lists what the members of the attempts of a part of a task reported, up to 1000 of them.
func acceleratorsOf(ctx context.Context, db *database.DB, task string, p tasks.Part) ([]reportedAccelerators, error) {
	return database.Rows[reportedAccelerators](ctx, db, `
		SELECT a.id, a.pool, coalesce(m.node_name, '') AS node_name, x.value AS data
		FROM allocations a CROSS JOIN LATERAL jsonb_each(coalesce(a.accelerators, '{}')) x
		LEFT JOIN members m ON m.allocation_id = a.id AND m.rank::text = x.key
		WHERE a.task_id = $1 AND `+trial.HoldsRun("$2", "$3")+` ORDER BY a.run_id, m.rank LIMIT 1000`, task, p.FromRun, p.ToRun)
}

// addAccelerators stores the accelerators that a member found on its node. The key is the
// member's rank, so the number of entries is limited whatever node names members report.
func addAccelerators(ctx context.Context, db *database.DB, allocation string, rank int, data json.RawMessage) error {
	return update(ctx, db, allocation,
		"accelerators = coalesce(accelerators, '{}') || jsonb_build_object($2::int::text, $3::jsonb)", rank, data)
}
