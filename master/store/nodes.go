package store

import (
	"context"

	"github.com/detent-ml/detent/master/fault"
)

// SetNodeEnabled stores whether a node takes new work, and of one that does not, whether
// what runs there may run to its end (drain).
func (db *DB) SetNodeEnabled(ctx context.Context, id string, enabled, drain bool) error {
	n, err := db.exec(ctx, `UPDATE nodes SET enabled = $2, drain_wanted = $3 WHERE id = $1`, id, enabled, drain)
	return oneNode(n, err, id)
}

// DisableSlot disables a slot of a node, by its sched.Slot.Key. With drain, what runs
// there may run to its end.
func (db *DB) DisableSlot(ctx context.Context, node, key string, drain bool) error {
	n, err := db.exec(ctx, `UPDATE nodes SET slots_off = slots_off || jsonb_build_object($2::text, $3::boolean) WHERE id = $1`, node, key, drain)
	return oneNode(n, err, node)
}

// EnableSlot enables it again.
func (db *DB) EnableSlot(ctx context.Context, node, key string) error {
	n, err := db.exec(ctx, `UPDATE nodes SET slots_off = slots_off - $2::text WHERE id = $1`, node, key)
	return oneNode(n, err, node)
}

func oneNode(n int64, err error, id string) error {
	if err == nil && n == 0 {
		return fault.New(fault.NotFound, "node %s not found", id)
	}
	return err
}
