package store

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
)

// A QueuedDay is how long attempts that left a pool's queue on a day (UTC) had waited there on average.
type QueuedDay struct {
	Pool    string    `db:"pool"`
	Day     time.Time `db:"day"`
	Seconds float64   `db:"seconds"`
}

// QueuedDays reads the days of the last month on which attempts left a queue, oldest first. It reads all attempts: ask seldom.
func (db *DB) QueuedDays(ctx context.Context) ([]QueuedDay, error) {
	return database.Rows[QueuedDay](ctx, db.DB, `
		SELECT pool, (assigned_at AT TIME ZONE 'UTC')::date AS day, avg(greatest(extract(epoch FROM assigned_at - queued_at), 0))::float8 AS seconds
		FROM allocations WHERE assigned_at >= date_trunc('day', now(), 'UTC') - interval '29 days'
		GROUP BY 1, 2 ORDER BY 1, 2`)
}
