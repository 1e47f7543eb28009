package store

import "context"

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
}

// hasLeftover says whether there may be something to read of member m: only the Nomad
// allocation that passed the gate is trusted.
const hasLeftover = `m.nomad_ended_at IS NOT NULL AND m.left_read_at IS NULL AND m.claimed_by <> '' AND m.claimed_by = m.nomad_alloc_id
	AND m.token_hash IS NOT NULL AND m.nomad_status IN ('complete', 'failed') AND NOT (m.exited_at IS NOT NULL AND m.logs_done)`

// QueueLeftoverReads queues work for these attempts that reads what their runners have
// not reported.
func (db *DB) QueueLeftoverReads(ctx context.Context, ids []string) error {
	_, err := db.exec(ctx, `
		INSERT INTO work (kind, about, whose, owner_id)
		SELECT 'read', a.id, `+parentOfAttempt+`, k.owner_id FROM allocations a JOIN tasks k ON k.id = a.task_id
		WHERE a.id = ANY($1) AND EXISTS (SELECT FROM members m WHERE m.allocation_id = a.id AND `+hasLeftover+`)
		ON CONFLICT DO NOTHING`, ids)
	return err
}

// LeftoverMembers lists the members of an attempt of which something is still to be read.
func (db *DB) LeftoverMembers(ctx context.Context, allocation string) ([]LeftoverMember, error) {
	return rows[LeftoverMember](ctx, db, `
		SELECT m.allocation_id, m.rank, a.task_id, m.node_name, m.claimed_by, m.token_hash, m.exited_at IS NOT NULL AS exited
		FROM members m JOIN allocations a ON a.id = m.allocation_id
		WHERE m.allocation_id = $1 AND `+hasLeftover+` ORDER BY m.rank`, allocation)
}

// MarkLeftoverRead stores that nothing more is to be read of a member.
func (db *DB) MarkLeftoverRead(ctx context.Context, allocation string, rank int) error {
	_, err := db.exec(ctx, `UPDATE members SET left_read_at = coalesce(left_read_at, now()) WHERE allocation_id = $1 AND rank = $2`, allocation, rank)
	return err
}
