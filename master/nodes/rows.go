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

// Alarm returns why the loop does not trust the state of Nomad, of any region; "" if it does.
func Alarm(ctx context.Context, db *database.DB) (string, error) {
	return database.Scalar[string](ctx, db, `
		SELECT concat_ws('; ', NULLIF(alarm, ''), (SELECT string_agg('Nomad region ' || name || ': ' || alarm, '; ' ORDER BY name) FROM regions WHERE alarm <> ''))
		FROM cluster`)
}

// Trust stores that an operator has confirmed the loss: jobs that Nomad lacks are lost, in the
// master's own region and in the others that have an alarm.
func Trust(ctx context.Context, db *database.DB) error {
	return db.Tx(ctx, func(tx *database.DB) error {
		if err := tx.Exec(ctx, "UPDATE cluster SET trust = true"); err != nil {
			return err
		}
		return tx.Exec(ctx, "UPDATE regions SET trust = true WHERE alarm <> ''")
	})
}

// OrphanGrace is how long an orphan may run before the loop stops it. Its row may return
// while operators restore a database.
const OrphanGrace = time.Hour

// An Orphan is a job in Nomad with this cluster's id whose attempt has no row.
type Orphan struct {
	AllocationID string    `db:"allocation_id" json:"allocation_id"` // from the job's metadata
	JobID        string    `db:"job_id" json:"job_id"`
	SubmittedAt  time.Time `db:"submitted_at" json:"submitted_at"`
	SeenAt       time.Time `db:"seen_at" json:"seen_at"` // first
}

// Orphans lists the orphans of all regions that were first seen at least `known` ago, the oldest first.
func Orphans(ctx context.Context, db *database.DB, known time.Duration, limit int) ([]Orphan, error) {
	return database.Rows[Orphan](ctx, db, `SELECT allocation_id, job_id, submitted_at, seen_at FROM orphans
		WHERE seen_at <= now() - $1::interval ORDER BY seen_at, allocation_id LIMIT $2`, known, limit)
}

// PoolJobs stores the jobs of pools that operators wrote, as Nomad parsed them.
type PoolJobs struct{ *database.DB }

// SavePoolJob stores the job of a pool as Nomad parsed it. Jobs that no master has read
// for half a year are deleted.
func (db PoolJobs) SavePoolJob(ctx context.Context, sum string, parsed json.RawMessage) error {
	return db.Exec(ctx, `
		WITH old AS (DELETE FROM pool_jobs WHERE used_at < now() - interval '180 days' AND sum <> $1)
		INSERT INTO pool_jobs (sum, parsed) VALUES ($1, $2)
		ON CONFLICT (sum) DO UPDATE SET parsed = excluded.parsed, used_at = now()`, sum, parsed)
}

// PoolJob reads the job of a pool as Nomad last parsed it; nil if Nomad never did. sum is
// the hash of the job's source.
func (db PoolJobs) PoolJob(ctx context.Context, sum string) (json.RawMessage, error) {
	found, err := database.Scalars[json.RawMessage](ctx, db.DB, `UPDATE pool_jobs SET used_at = now() WHERE sum = $1 RETURNING parsed`, sum)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}
