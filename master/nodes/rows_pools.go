package nodes

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
)

// A PoolUse is the number of a pool's attempts in one state, and of their slots.
type PoolUse struct {
	Pool     string `db:"pool"`
	State    string `db:"state"`
	Attempts int    `db:"attempts"`
	Slots    int    `db:"slots"`
}

// PoolUses counts the live attempts.
func PoolUses(ctx context.Context, db *database.DB) ([]PoolUse, error) {
	return database.Rows[PoolUse](ctx, db, `
		SELECT pool, state, count(*) AS attempts, coalesce(sum(slots), 0) AS slots
		FROM allocations WHERE state <> 'TERMINATED' GROUP BY pool, state ORDER BY pool, state`)
}

// A poolLoad has the slots that the live attempts of a pool hold and wait for.
type poolLoad struct {
	Pool      string `db:"pool"`
	Slots     int    `db:"slots"` // held
	Aux       int    `db:"aux"`   // placed attempts without slots
	Queued    int    `db:"queued"`
	Scheduled int    `db:"scheduled"`
}

// poolLoads reads the load of all pools.
func poolLoads(ctx context.Context, db *database.DB) ([]poolLoad, error) {
	return database.Rows[poolLoad](ctx, db, `
		SELECT pool, coalesce(sum(slots) FILTER (WHERE state <> 'PENDING'), 0) AS slots,
			count(*) FILTER (WHERE state <> 'PENDING' AND slots = 0) AS aux,
			count(*) FILTER (WHERE state = 'PENDING') AS queued, count(*) FILTER (WHERE state <> 'PENDING') AS scheduled
		FROM allocations WHERE state <> 'TERMINATED' GROUP BY pool`)
}

// A Holding has the slots that a member of a live attempt holds on a node.
type Holding struct {
	AllocationID string   `db:"allocation_id"`
	TaskID       string   `db:"task_id"`
	Pool         string   `db:"pool"`
	Rank         int      `db:"rank"`
	NodeID       string   `db:"node_id"`
	NodeName     string   `db:"node_name"`
	SlotIDs      []int    `db:"slot_ids"`
	Devices      []string `db:"devices"`
	NomadAllocID string   `db:"nomad_alloc_id"`
	State        string   `db:"state"`
	Exited       bool     `db:"exited"`
}

// Holdings lists what live attempts hold.
func Holdings(ctx context.Context, db *database.DB, in auth.Scope) ([]Holding, error) {
	return database.Rows[Holding](ctx, db, `
		SELECT m.allocation_id, a.task_id, a.pool, m.rank, m.node_id, m.node_name, m.slot_ids, m.devices, m.nomad_alloc_id, a.state,
			m.exited_at IS NOT NULL AS exited
		FROM members m JOIN allocations a ON a.id = m.allocation_id
		WHERE a.state <> 'TERMINATED'
			AND ($1::int[] IS NULL OR a.task_id IN (SELECT id FROM tasks WHERE workspace_id = ANY($1))) ORDER BY m.allocation_id, m.rank`, in.Only())
}
