package rows

import (
	"context"

	"github.com/detent-ml/detent/master/database"
)

// LeftoverMember is a member that has ended according to Nomad and whose runner has not
// reported everything: the master reads the rest from its node.
type LeftoverMember struct {
	AllocationID string `db:"allocation_id"`
	Rank         int    `db:"rank"`
	TaskID       string `db:"task_id"`
	NodeName     string `db:"node_name"`
	NomadAllocID string `db:"claimed_by"`
	TokenHash    []byte `db:"token_hash"`
	Exited       bool   `db:"exited"`
	NomadDetail  string `db:"nomad_detail"` // what Nomad says about the end
}

// hasLeftover is true if member m may have left files on its node. Only the Nomad
// allocation that claimed the member is trusted.
const hasLeftover = `m.nomad_ended_at IS NOT NULL AND m.leftover_read_at IS NULL AND m.claimed_by <> '' AND m.claimed_by = m.nomad_alloc_id
	AND m.token_hash IS NOT NULL AND m.nomad_status IN ('complete', 'failed') AND NOT (m.exited_at IS NOT NULL AND m.logs_done)`

// QueueLeftoverReads queues the reading of leftovers of these attempts.
func QueueLeftoverReads(ctx context.Context, db *database.DB, ids []string) error {
	return db.Exec(ctx, `
		INSERT INTO work (kind, subject, parent, owner_id)
		SELECT 'read', a.id, `+parentOfAttempt+`, k.owner_id FROM allocations a JOIN tasks k ON k.id = a.task_id
		WHERE a.id = ANY($1) AND EXISTS (SELECT FROM members m WHERE m.allocation_id = a.id AND `+hasLeftover+`)
		ON CONFLICT DO NOTHING`, ids)
}

// LeftoverMembers lists the members of an attempt whose leftovers have not been read.
func LeftoverMembers(ctx context.Context, db *database.DB, allocation string) ([]LeftoverMember, error) {
	return database.Rows[LeftoverMember](ctx, db, `
		SELECT m.allocation_id, m.rank, a.task_id, m.node_name, m.claimed_by, m.token_hash, m.exited_at IS NOT NULL AS exited, m.nomad_detail
		FROM members m JOIN allocations a ON a.id = m.allocation_id
		WHERE m.allocation_id = $1 AND `+hasLeftover+` ORDER BY m.rank`, allocation)
}

// MarkLeftoverRead stores that the leftovers of a member have been read.
func MarkLeftoverRead(ctx context.Context, db *database.DB, allocation string, rank int) error {
	return db.Exec(ctx, `UPDATE members SET leftover_read_at = coalesce(leftover_read_at, now()) WHERE allocation_id = $1 AND rank = $2`, allocation, rank)
}
