package store

import (
	"context"

	"github.com/detent-ml/detent/master/database"
)

// ClusterID returns the cluster's id, which was generated with the schema.
func (db *DB) ClusterID(ctx context.Context) (string, error) {
	return database.Scalar[string](ctx, db.DB, `SELECT id::text FROM cluster`)
}

// A PoolUse is the number of a pool's attempts in one state, and of their slots.
type PoolUse struct {
	Pool     string `db:"pool"`
	State    string `db:"state"`
	Attempts int    `db:"attempts"`
	Slots    int    `db:"slots"`
}

// PoolUse counts the live attempts.
func (db *DB) PoolUse(ctx context.Context) ([]PoolUse, error) {
	return database.Rows[PoolUse](ctx, db.DB, `
		SELECT pool, state, count(*) AS attempts, coalesce(sum(slots), 0) AS slots
		FROM allocations WHERE state <> 'TERMINATED' GROUP BY pool, state ORDER BY pool, state`)
}

// A PoolLoad has the slots that the live attempts of a pool hold and wait for.
type PoolLoad struct {
	Pool      string `db:"pool"`
	Slots     int    `db:"slots"` // held
	Aux       int    `db:"aux"`   // placed attempts without slots
	Queued    int    `db:"queued"`
	Scheduled int    `db:"scheduled"`
}

// PoolLoad reads the load of all pools.
func (db *DB) PoolLoad(ctx context.Context) ([]PoolLoad, error) {
	return database.Rows[PoolLoad](ctx, db.DB, `
		SELECT pool, coalesce(sum(slots) FILTER (WHERE state <> 'PENDING'), 0) AS slots,
			count(*) FILTER (WHERE state <> 'PENDING' AND slots = 0) AS aux,
			count(*) FILTER (WHERE state = 'PENDING') AS queued, count(*) FILTER (WHERE state <> 'PENDING') AS scheduled
		FROM allocations WHERE state <> 'TERMINATED' GROUP BY pool`)
}
