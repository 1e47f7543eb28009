package store

import (
	"context"

	"github.com/detent-ml/detent/master/fault"
)

// SetNodeEnabled enables or disables a node. With drain, attempts on a disabled node may run
// to their end.
func (db *DB) SetNodeEnabled(ctx context.Context, id string, enabled, drain bool) error {
	return db.Change(ctx, noNode(id), `UPDATE nodes SET enabled = $2, drain_wanted = $3 WHERE id = $1`, id, enabled, drain)
}

// DisableSlot disables a slot of a node, by its sched.Slot.Key. With drain, the attempt that
// holds the slot may run to its end.
func (db *DB) DisableSlot(ctx context.Context, node, key string, drain bool) error {
	return db.Change(ctx, noNode(node), `UPDATE nodes SET disabled_slots = disabled_slots || jsonb_build_object($2::text, $3::boolean) WHERE id = $1`, node, key, drain)
}

// EnableSlot enables a slot again.
func (db *DB) EnableSlot(ctx context.Context, node, key string) error {
	return db.Change(ctx, noNode(node), `UPDATE nodes SET disabled_slots = disabled_slots - $2::text WHERE id = $1`, node, key)
}

func noNode(id string) error { return fault.New(fault.NotFound, "node %s not found", id) }
