package rows

import (
	"context"
	"encoding/json"
	"time"

	"github.com/detent-ml/detent/master/attempts/leftover"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/nodes"
)

// RecordOrphans stores those of these jobs whose attempts have no row, and returns the new
// ones. jobs are all live jobs of this cluster in a region of Nomad.
func RecordOrphans(ctx context.Context, db *database.DB, region string, jobs []nodes.Orphan) ([]nodes.Orphan, error) {
	list, err := json.Marshal(jobs)
	if err != nil {
		return nil, err
	}
	if err := db.Exec(ctx, `
		DELETE FROM orphans o WHERE EXISTS (SELECT 1 FROM allocations a WHERE a.id = o.allocation_id)
			OR o.region = $2 AND NOT EXISTS (SELECT 1 FROM jsonb_to_recordset($1) AS j(allocation_id text) WHERE j.allocation_id = o.allocation_id)`, list, region); err != nil {
		return nil, err
	}
	return database.Rows[nodes.Orphan](ctx, db, `
		INSERT INTO orphans (allocation_id, job_id, submitted_at, region)
		SELECT DISTINCT ON (j.allocation_id) j.allocation_id, j.job_id, j.submitted_at, $2
		FROM jsonb_to_recordset($1) AS j(allocation_id text, job_id text, submitted_at timestamptz)
		WHERE NOT EXISTS (SELECT 1 FROM allocations a WHERE a.id = j.allocation_id)
		ORDER BY j.allocation_id
		ON CONFLICT (allocation_id) DO NOTHING
		RETURNING allocation_id, job_id, submitted_at, seen_at`, list, region)
}

// OrphansIn lists the orphans of a region of Nomad that were first seen at least `known` ago, the
// oldest first.
func OrphansIn(ctx context.Context, db *database.DB, region string, known time.Duration, limit int) ([]nodes.Orphan, error) {
	return database.Rows[nodes.Orphan](ctx, db, `SELECT allocation_id, job_id, submitted_at, seen_at FROM orphans
		WHERE region = $3 AND seen_at <= now() - $1::interval ORDER BY seen_at, allocation_id LIMIT $2`, known, limit, region)
}

// EndedWithRunningJobs lists attempts that ended at least `ended` ago and whose jobs still
// run processes: by Nomad's last state of their members, or because alive names them. If
// log lines of an attempt are missing, it is listed only after this master has led for as
// long (led), because before that no master may have been able to receive the lines.
func EndedWithRunningJobs(ctx context.Context, db *database.DB, alive []string, ended, led time.Duration, limit int) ([]string, error) {
	if err := db.Exec(ctx, `
		UPDATE allocations a SET stopped_at = now()
		WHERE a.kill_at IS NULL AND a.stopped_at IS NULL AND a.submitted_at IS NOT NULL AND a.ended_at < now() - $1::interval
			AND NOT EXISTS (SELECT 1 FROM members m WHERE m.allocation_id = a.id AND m.nomad_ended_at IS NULL)`, ended); err != nil {
		return nil, err
	}
	return database.Scalars[string](ctx, db, `
		SELECT id FROM (
			SELECT id, ended_at FROM allocations WHERE kill_at IS NULL AND stopped_at IS NULL AND submitted_at IS NOT NULL AND ended_at < now() - $1::interval
			UNION SELECT id, ended_at FROM allocations WHERE id = ANY($5) AND ended_at < now() - $1::interval) a
		WHERE $3::interval >= $1::interval OR ended_at < now() - $4::interval
			OR NOT EXISTS (SELECT 1 FROM members m WHERE m.allocation_id = a.id AND m.claimed_at IS NOT NULL AND NOT m.logs_done)
		ORDER BY ended_at LIMIT $2`, ended, limit, led, leftover.Hold+ended, alive)
}
