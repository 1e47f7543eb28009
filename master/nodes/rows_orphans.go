package nodes

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
)

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
