package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/detent-ml/detent/master/database"
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

// NodeRow is a node of Nomad, with the settings of operators (enabled, drain).
type NodeRow struct {
	ID            string          `db:"id"`
	Name          string          `db:"name"`
	Address       string          `db:"address"`
	NodePool      string          `db:"node_pool"`
	Datacenter    string          `db:"datacenter"`
	Region        string          `db:"region"` // of Nomad; "": the master's own
	Version       string          `db:"version"`
	Status        string          `db:"status"`
	Eligible      bool            `db:"eligible"`
	Draining      bool            `db:"draining"`
	DrainDeadline *time.Time      `db:"drain_deadline"`
	Inventory     json.RawMessage `db:"inventory"` // cluster.Node
	RegisteredAt  time.Time       `db:"registered_at"`
	SeenAt        time.Time       `db:"seen_at"`
	Enabled       bool            `db:"enabled"`
	DrainWanted   bool            `db:"drain_wanted"`
	DisabledSlots map[string]bool `db:"disabled_slots"` // disabled slots, by sched.Slot.Key; true: a running attempt may finish (drain)
}

// Nodes lists all nodes by name.
func (db *DB) Nodes(ctx context.Context) ([]NodeRow, error) {
	return database.Rows[NodeRow](ctx, db.DB, `
		SELECT `+NodeColumns+` FROM nodes ORDER BY name, id`)
}

// node reads a node; nil if it does not exist.
func (db *DB) node(ctx context.Context, id string) (*NodeRow, error) {
	list, err := database.Rows[NodeRow](ctx, db.DB, `SELECT `+NodeColumns+` FROM nodes WHERE id = $1`, id)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// NodeColumns are those of a NodeRow.
const NodeColumns = `id, name, address, node_pool, datacenter, version, status, eligible, draining, drain_deadline, inventory,
	registered_at, seen_at, enabled, drain_wanted, disabled_slots, region`

// NodeFailures counts how often in a row attempts of an experiment failed on a node.
type NodeFailures struct {
	ExperimentID int    `db:"experiment_id"`
	NodeID       string `db:"node_id"`
	NodeName     string `db:"node_name"`
	Failures     int    `db:"failures"`
	Avoided      bool   `db:"avoided"`
}

// AvoidedNodes lists the nodes that an experiment avoids.
func (db *DB) AvoidedNodes(ctx context.Context, experiment int) ([]NodeFailures, error) {
	return database.Rows[NodeFailures](ctx, db.DB, `
		SELECT experiment_id, node_id, node_name, failures, avoided FROM node_failures
		WHERE experiment_id = $1 AND avoided ORDER BY node_name, node_id`, experiment)
}
