package nodes

import (
	"context"
	"encoding/json"

	"github.com/detent-ml/detent/master/database"
)

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
