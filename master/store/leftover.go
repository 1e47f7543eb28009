package store

import "context"

// LeftMember is a member that is over in Nomad's eyes and whose runner has not
// reported everything: what it has left is to be read on its node.
type LeftMember struct {
	AllocationID string `db:"allocation_id"`
	Rank         int    `db:"rank"`
	TaskID       string `db:"task_id"`
	NodeName     string `db:"node_name"`
	NomadAllocID string `db:"claimed_by"`
	TokenHash    []byte `db:"token_hash"`
	Exited       bool   `db:"exited"`
}

// isLeft says of member m that there may be something to read. Only of the Nomad
// allocation that passed the gate is anything believed.
const isLeft = `m.nomad_ended_at IS NOT NULL AND m.left_read_at IS NULL AND m.claimed_by <> '' AND m.claimed_by = m.nomad_alloc_id
	AND m.token_hash IS NOT NULL AND m.nomad_status IN ('complete', 'failed') AND NOT (m.exited_at IS NOT NULL AND m.logs_done)`

// QueueReads has what these attempts have left read, where something is missing.
func (db *DB) QueueReads(ctx context.Context, ids []string) error {
	_, err := db.exec(ctx, `
		INSERT INTO work (kind, about, whose, owner_id)
		SELECT 'read', a.id, `+whoseAttempt+`, k.owner_id FROM allocations a JOIN tasks k ON k.id = a.task_id
		WHERE a.id = ANY($1) AND EXISTS (SELECT FROM members m WHERE m.allocation_id = a.id AND `+isLeft+`)
		ON CONFLICT DO NOTHING`, ids)
	return err
}

// LeftMembers lists the members of an attempt of which something is to be read.
func (db *DB) LeftMembers(ctx context.Context, allocation string) ([]LeftMember, error) {
	return rows[LeftMember](ctx, db, `
		SELECT m.allocation_id, m.rank, a.task_id, m.node_name, m.claimed_by, m.token_hash, m.exited_at IS NOT NULL AS exited
		FROM members m JOIN allocations a ON a.id = m.allocation_id
		WHERE m.allocation_id = $1 AND `+isLeft+` ORDER BY m.rank`, allocation)
}

// LeftRead notes that nothing more is read of what a member has left.
func (db *DB) LeftRead(ctx context.Context, allocation string, rank int) error {
	_, err := db.exec(ctx, `UPDATE members SET left_read_at = coalesce(left_read_at, now()) WHERE allocation_id = $1 AND rank = $2`, allocation, rank)
	return err
}
