package checkpoints

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/task"
)

// A sweep is a garbage collection that removes what programs uploaded and never reported: a
// program uploads the files of a checkpoint and then reports it, and its node may end in
// between. An experiment is swept once after each of its ends.

// BySweep is the reason of a sweep.
const BySweep = "sweep"

// SweepAfter is the time from the end of an experiment to its sweep. Files that are stored
// later than half of it after the end are not the experiment's, so each file that a sweep
// removes has that age at least.
const SweepAfter = 48 * time.Hour

// Unswept is an experiment that has ended and was not swept since.
type Unswept struct {
	ID       int             `db:"id"`
	State    string          `db:"state"`
	Pool     string          `db:"pool"`
	Priority int             `db:"priority"`
	Config   json.RawMessage `db:"config"`
	Since    *time.Time      `db:"since"`   // its first attempt started; nil: none has
	Until    time.Time       `db:"until"`   // half of SweepAfter after its end
	Unclean  bool            `db:"unclean"` // an attempt that started did not complete
}

// UnsweptExperiments lists experiments to decide about. Owners take turns. Of experiments whose
// checkpoints are in a folder that others use too, it lists those of whose time no attempt
// and no unmanaged trial is left, so that nobody can report a file of that time.
func UnsweptExperiments(ctx context.Context, db *database.DB, limit int) ([]Unswept, error) {
	return database.Rows[Unswept](ctx, db, `
		WITH others AS (SELECT coalesce(least(
				(SELECT min(coalesce(a.assigned_at, a.queued_at)) FROM allocations a JOIN tasks k ON k.id = a.task_id
					WHERE a.state NOT IN ('PENDING', 'TERMINATED') AND k.type <> 'CHECKPOINT_GC'),
				(SELECT min(t.started_at) FROM trials t JOIN experiments u ON u.id = t.experiment_id WHERE u.unmanaged AND t.ended_at IS NULL)
			), 'infinity') AS since),
		due AS (SELECT id, ended_at, row_number() OVER (PARTITION BY owner_id ORDER BY ended_at, id) AS turn FROM experiments e
			WHERE ended_at IS NOT NULL AND NOT unmanaged AND (swept_at IS NULL OR swept_at < ended_at) AND ended_at <= now() - $2::interval
				AND state IN ('COMPLETED', 'CANCELED', 'ERROR') AND desired <> 'deleted' AND NOT `+ExperimentLives+` AND NOT `+GCRunning+`
				AND (ended_at + $2::interval / 2 < (SELECT since FROM others) OR storage_type IN ('s3', 'gcs'))
			ORDER BY turn, ended_at, id LIMIT $1)
		SELECT e.id, e.state, e.pool, e.priority, e.config, r.since, e.ended_at + $2::interval / 2 AS until, coalesce(r.unclean, false) AS unclean
		FROM due JOIN experiments e ON e.id = due.id CROSS JOIN LATERAL (
			SELECT min(a.started_at) AS since, bool_or(a.outcome <> 'completed' AND a.started_at IS NOT NULL) AS unclean
			FROM tasks k JOIN allocations a ON a.task_id = k.id WHERE k.experiment_id = e.id AND k.type = 'TRIAL') r
		ORDER BY due.turn, due.ended_at, due.id`, limit, SweepAfter)
}

// RecentSweeps counts the sweeps that have not ended, and those that began in the last hour.
func RecentSweeps(ctx context.Context, db *database.DB) (int, error) {
	return database.Scalar[int](ctx, db, `SELECT count(*) FROM collections c JOIN tasks k ON k.id = c.task_id
		WHERE c.reason = 'sweep' AND (k.ended_at IS NULL AND k.desired <> 'kill' OR k.created_at > now() - interval '1 hour')`)
}

// EndOldSweeps kills sweeps that have not ended after a day, so that a sweep that waits for a
// node, or whose storage does not answer, delays neither others nor the deletion of its experiment.
func EndOldSweeps(ctx context.Context, db *database.DB) error {
	return db.Exec(ctx, `UPDATE tasks k SET desired = 'kill', kill_reason = 'the sweep took longer than a day' FROM collections c
		WHERE c.task_id = k.id AND c.reason = 'sweep' AND k.ended_at IS NULL AND k.desired <> 'kill' AND k.created_at < now() - interval '1 day'`)
}

// Strays returns those of these folders of a storage that a sweep may remove: no row of the
// cluster names them. It fails if a trial of the sweep's experiment may run again.
func Strays(ctx context.Context, db *database.DB, sweep string, ids []string) ([]string, error) {
	lives, err := database.Scalars[bool](ctx, db, `SELECT `+ExperimentLives+` OR EXISTS (SELECT FROM tasks k JOIN allocations a ON a.task_id = k.id
				WHERE k.experiment_id = e.id AND k.type = 'TRIAL' AND a.state <> 'TERMINATED')
		FROM collections c JOIN experiments e ON e.id = c.experiment_id WHERE c.task_id = $1 AND c.reason = 'sweep'`, sweep)
	switch {
	case err != nil:
		return nil, err
	case len(lives) == 0:
		return nil, fault.New(fault.Invalid, "task %s is no sweep", fault.Clip(sweep))
	case lives[0]:
		return nil, fault.New(fault.Conflict, "the experiment goes on; it is swept after its next end")
	}
	return database.Scalars[string](ctx, db, `
		SELECT DISTINCT u.id::text AS id FROM unnest($1::uuid[]) AS u (id) WHERE u.id NOT IN (
			SELECT uuid FROM checkpoints WHERE uuid = ANY($1::uuid[])
			UNION ALL SELECT warm_start FROM trials WHERE warm_start = ANY($1::uuid[])
			UNION ALL SELECT warm_start FROM experiments WHERE warm_start = ANY($1::uuid[])
			UNION ALL SELECT id FROM cluster) ORDER BY id`, append([]string{}, ids...))
}

// sweepLeft returns what a sweep that is not done may remove; nil for other garbage collections.
func sweepLeft(ctx context.Context, db *database.DB, id string) (*task.Sweep, error) {
	list, err := database.Rows[task.Sweep](ctx, db, `SELECT sweep_since AS since, sweep_until AS until FROM collections WHERE task_id = $1 AND reason = 'sweep' AND events_at IS NULL`, id)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// recordSweep stores that the leader has decided about a sweep of an experiment.
func recordSweep(ctx context.Context, db *database.DB, c NewGC) error {
	if c.Sweep != nil && !c.Sweep.Since.Before(c.Sweep.Until) {
		return fmt.Errorf("experiment %d: a sweep of files from %s to %s", c.ExperimentID, c.Sweep.Since, c.Sweep.Until)
	}
	return db.Exec(ctx, `UPDATE experiments SET swept_at = now() WHERE id = $1`, c.ExperimentID)
}
