package checkpoints

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/task"
)

// Remaining reads what a garbage collection has not removed yet.
func Remaining(ctx context.Context, db *database.DB, id string) (task.Remaining, error) {
	events, err := database.Scalar[bool](ctx, db, `SELECT events AND events_at IS NULL FROM collections WHERE task_id = $1`, id)
	if err != nil {
		return task.Remaining{}, err
	}
	list, err := database.Rows[task.Remainder](ctx, db, `
		SELECT r.checkpoint::text AS uuid, r.globs, k.logged_files + (SELECT count(*) FROM jsonb_object_keys(k.resources) AS name WHERE name NOT LIKE '%/') AS known
		FROM removals r JOIN checkpoints k ON k.uuid = r.checkpoint WHERE r.task_id = $1 AND r.at IS NULL ORDER BY r.checkpoint`, id)
	if err != nil {
		return task.Remaining{}, err
	}
	sweep, err := sweepLeft(ctx, db, id)
	return task.Remaining{Checkpoints: list, Events: events, Sweep: sweep}, err
}

// A RemovalReport is the report of a garbage collection about one checkpoint, about
// TensorBoard's files, or about a whole sweep.
type RemovalReport struct {
	UUID  string // "" for TensorBoard's files and for a sweep
	Files int64
	Bytes int64
	// Left has the remaining files and their sizes; nil if the task could not list them.
	Left  map[string]int64
	Error string // "" if all files were removed
}

// RecordRemoval stores a report, with the remaining files of the checkpoint. A repeated
// report changes nothing.
func RecordRemoval(ctx context.Context, db *database.DB, task string, f RemovalReport) error {
	return db.Tx(ctx, func(tx *database.DB) error {
		var n int64
		var err error
		if f.UUID == "" {
			n, err = tx.Affect(ctx, `UPDATE collections SET events_at = CASE WHEN $4 = '' THEN now() END, events_files = `+database.Clamped("events_files::numeric + $2")+`,
				events_bytes = `+database.Clamped("events_bytes::numeric + $3")+`, events_error = $4 WHERE task_id = $1 AND (events OR reason = 'sweep') AND events_at IS NULL`, task, f.Files, f.Bytes, f.Error)
		} else {
			n, err = tx.Affect(ctx, `UPDATE removals SET at = CASE WHEN $5 = '' THEN now() END, files = `+database.Clamped("files::numeric + $3")+`,
				bytes = `+database.Clamped("bytes::numeric + $4")+`, error = $5
				WHERE task_id = $1 AND checkpoint = $2 AND at IS NULL`, task, f.UUID, f.Files, f.Bytes, f.Error)
		}
		if err != nil || n == 0 || f.Left == nil || f.UUID == "" {
			return database.BadData(err)
		}
		return setFiles(ctx, tx, []Files{{UUID: f.UUID, Resources: f.Left}})
	})
}

// A CheckpointRemoval is one removal as users see it.
type CheckpointRemoval struct {
	TaskID     string     `db:"task_id"`
	Checkpoint string     `db:"checkpoint"`
	Reason     string     `db:"reason"`
	Globs      []string   `db:"globs"`
	At         *time.Time `db:"at"`
	Files      int64      `db:"files"`
	Bytes      int64      `db:"bytes"`
	Error      string     `db:"error"`
	Ended      bool       `db:"ended"`
}

// RemovalsOf lists what was removed of a checkpoint, or is being removed, oldest first.
func RemovalsOf(ctx context.Context, db *database.DB, checkpoint string) ([]CheckpointRemoval, error) {
	return database.Rows[CheckpointRemoval](ctx, db, `
		SELECT r.task_id, r.checkpoint::text, c.reason, r.globs, r.at, r.files, r.bytes, r.error, k.ended_at IS NOT NULL AS ended
		FROM removals r JOIN collections c ON c.task_id = r.task_id JOIN tasks k ON k.id = r.task_id
		WHERE r.checkpoint = $1 ORDER BY k.created_at, r.task_id`, checkpoint)
}

// RemovedOf is the total of an experiment's removed files, TensorBoard's among them.
type RemovedTotal struct {
	Checkpoints int   `db:"checkpoints"` // with removed files
	Files       int64 `db:"files"`
	Bytes       int64 `db:"bytes"`
}

// RemovedOf adds up the removals of an experiment.
func RemovedOf(ctx context.Context, db *database.DB, experiment int) (RemovedTotal, error) {
	return database.Row[RemovedTotal](ctx, db, "experiment", `
		SELECT coalesce(sum(r.checkpoints), 0)::bigint AS checkpoints, `+database.SumOf("r.files + c.events_files")+` AS files,
			`+database.SumOf("r.bytes + c.events_bytes")+` AS bytes
		FROM collections c CROSS JOIN LATERAL (SELECT count(DISTINCT x.checkpoint) FILTER (WHERE x.files > 0) AS checkpoints,
			coalesce(sum(x.files), 0) AS files, coalesce(sum(x.bytes), 0) AS bytes FROM removals x WHERE x.task_id = c.task_id) r
		WHERE c.experiment_id = $1`, experiment)
}
