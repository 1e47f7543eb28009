package nodes

import (
	"context"
	"encoding/json"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// SetEnabled enables or disables a node. With drain, attempts on a disabled node may run
// to their end.
func SetEnabled(ctx context.Context, db *database.DB, id string, enabled, drain bool) error {
	return db.Change(ctx, noNode(id), `UPDATE nodes SET enabled = $2, drain_wanted = $3 WHERE id = $1`, id, enabled, drain)
}

// DisableSlot disables a slot of a node, by its sched.Slot.Key. With drain, the attempt that
// holds the slot may run to its end.
func DisableSlot(ctx context.Context, db *database.DB, node, key string, drain bool) error {
	return db.Change(ctx, noNode(node), `UPDATE nodes SET disabled_slots = disabled_slots || jsonb_build_object($2::text, $3::boolean) WHERE id = $1`, node, key, drain)
}

// EnableSlot enables a slot again.
func EnableSlot(ctx context.Context, db *database.DB, node, key string) error {
	return db.Change(ctx, noNode(node), `UPDATE nodes SET disabled_slots = disabled_slots - $2::text WHERE id = $1`, node, key)
}

func noNode(id string) error { return fault.New(fault.NotFound, "node %s not found", id) }

// A Row is a node of Nomad, with the settings of operators (enabled, drain).
type Row struct {
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

// List lists all nodes by name.
func List(ctx context.Context, db *database.DB) ([]Row, error) {
	return database.Rows[Row](ctx, db, `
		SELECT `+Columns+` FROM nodes ORDER BY name, id`)
}

// Get reads a node; nil if it does not exist.
func Get(ctx context.Context, db *database.DB, id string) (*Row, error) {
	list, err := database.Rows[Row](ctx, db, `SELECT `+Columns+` FROM nodes WHERE id = $1`, id)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// Columns are those of a Row.
const Columns = `id, name, address, node_pool, datacenter, version, status, eligible, draining, drain_deadline, inventory,
	registered_at, seen_at, enabled, drain_wanted, disabled_slots, region`

// RegionOf returns the region of a node; "" for the master's own, and for a node that is not there.
func RegionOf(ctx context.Context, db *database.DB, id string) (string, error) {
	return database.Scalar[string](ctx, db, `SELECT coalesce((SELECT region FROM nodes WHERE id = $1), '')`, id)
}

// A FailureCount is how often in a row attempts of an experiment failed on a node.
type FailureCount struct {
	ExperimentID int    `db:"experiment_id"`
	NodeID       string `db:"node_id"`
	NodeName     string `db:"node_name"`
	Failures     int    `db:"failures"`
	Avoided      bool   `db:"avoided"`
}

// Avoided lists the nodes that an experiment avoids.
func Avoided(ctx context.Context, db *database.DB, experiment int) ([]FailureCount, error) {
	return database.Rows[FailureCount](ctx, db, `
		SELECT experiment_id, node_id, node_name, failures, avoided FROM node_failures
		WHERE experiment_id = $1 AND avoided ORDER BY node_name, node_id`, experiment)
}
