package experiments

import (
	"context"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// An experiment may have more rows than one transaction of the leader can delete within its
// time limit. So DeleteRows deletes them in parts: first its tasks with their rows, last the
// experiment itself. These constants limit a part.
const (
	deleteTasksBatch   = 50
	deleteMetricsBatch = 20_000
	deleteChunksBatch  = 500 // of logs
	deleteOthersBatch  = 5_000
)

// DeleteRows deletes a part of the rows of an experiment, in the leader's transaction. done is
// true after the last part.
func DeleteRows(ctx context.Context, db *database.DB, experiment int) (done bool, err error) {
	state, err := database.Scalar[string](ctx, db, `SELECT state FROM experiments WHERE id = $1 FOR UPDATE`, experiment)
	if fault.Is(err, fault.NotFound) {
		return true, nil
	}
	if err != nil || state != "DELETING" {
		return err == nil, err
	}
	tasks, err := database.Scalars[string](ctx, db, `SELECT id FROM tasks WHERE experiment_id = $1 ORDER BY id LIMIT $2`, experiment, deleteTasksBatch)
	if err != nil {
		return false, err
	}
	if len(tasks) > 0 {
		return false, deleteTaskRows(ctx, db, tasks)
	}
	full, err := deletePart(ctx, db, `DELETE FROM search_events WHERE ctid = ANY(ARRAY(
		SELECT ctid FROM search_events WHERE experiment_id = $1 LIMIT $2))`, experiment, deleteOthersBatch)
	if err != nil || full {
		return false, err
	}
	err = db.Exec(ctx, `DELETE FROM experiments WHERE id = $1 AND state = 'DELETING'`, experiment)
	return err == nil, err
}

// deleteTaskRows deletes tasks whose remaining rows are few enough for one transaction.
func deleteTaskRows(ctx context.Context, db *database.DB, tasks []string) error {
	for _, part := range []struct {
		sql   string
		limit int
	}{
		{`DELETE FROM metrics WHERE ctid = ANY(ARRAY(SELECT m.ctid FROM trials t JOIN metrics m ON m.trial_id = t.id
			WHERE t.task_id = ANY($1) LIMIT $2))`, deleteMetricsBatch},
		{`DELETE FROM log_chunks c USING (SELECT x.tableoid, x.ctid FROM log_tasks l JOIN log_chunks x ON x.log_task = l.id
			WHERE l.task_id = ANY($1) LIMIT $2) o WHERE c.tableoid = o.tableoid AND c.ctid = o.ctid`, deleteChunksBatch},
		{`DELETE FROM gathers WHERE ctid = ANY(ARRAY(SELECT g.ctid FROM allocations a JOIN gathers g ON g.allocation_id = a.id
			WHERE a.task_id = ANY($1) LIMIT $2))`, deleteOthersBatch},
		{`DELETE FROM removals WHERE ctid = ANY(ARRAY(SELECT ctid FROM removals WHERE task_id = ANY($1) LIMIT $2))`, deleteOthersBatch},
		// What a cascade would delete with a checkpoint or a trial may be thousands of rows of each.
		{`DELETE FROM mlflow_model_metrics WHERE ctid = ANY(ARRAY(SELECT x.ctid FROM trials t JOIN mlflow_models m ON m.trial_id = t.id
			JOIN mlflow_model_metrics x ON x.model_id = m.id WHERE t.task_id = ANY($1) LIMIT $2))`, deleteMetricsBatch},
		{`DELETE FROM logged_files WHERE ctid = ANY(ARRAY(SELECT f.ctid FROM checkpoints k JOIN logged_files f ON f.checkpoint = k.uuid
			WHERE k.task_id = ANY($1) LIMIT $2))`, deleteMetricsBatch},
		// A chore removes the parts of files that were not complete from their storage.
		{`WITH part AS MATERIALIZED (SELECT u.ctid FROM checkpoints k JOIN logged_uploads u ON u.checkpoint = k.uuid WHERE k.task_id = ANY($1) LIMIT $2),
			-- A configuration may be large, and is read once.
			place AS MATERIALIZED (SELECT e.id, e.owner_id, jsonb_build_object('name', 'x', 'reproducibility', jsonb_build_object('experiment_seed', 0), 'checkpoint_storage', e.config -> 'checkpoint_storage') AS config
				FROM experiments e WHERE e.id IN (SELECT experiment_id FROM trials WHERE task_id = ANY($1)) AND EXISTS (SELECT FROM part)),
			abandoned AS (INSERT INTO abandoned_uploads (id, checkpoint, name, parts, store, size, late, owner_id, config, storage)
				SELECT u.id, u.checkpoint, u.name, u.parts, u.store, CASE WHEN NOT u.finished THEN u.size END, u.late, e.owner_id, e.config, s.config
				FROM part JOIN logged_uploads u ON u.ctid = part.ctid JOIN checkpoints k ON k.uuid = u.checkpoint JOIN trials t ON t.id = k.trial_id
				JOIN place e ON e.id = t.experiment_id LEFT JOIN storage_backends s ON s.id = k.storage_id WHERE (NOT u.finished OR u.late) AND u.store <> '')
			DELETE FROM logged_uploads WHERE ctid = ANY(ARRAY(SELECT ctid FROM part))`, deleteOthersBatch},
		{`DELETE FROM newest_values WHERE ctid = ANY(ARRAY(SELECT v.ctid FROM trials t JOIN newest_values v ON v.trial_id = t.id
			WHERE t.task_id = ANY($1) LIMIT $2))`, deleteMetricsBatch},
		{`DELETE FROM checkpoints WHERE ctid = ANY(ARRAY(SELECT ctid FROM checkpoints WHERE task_id = ANY($1) LIMIT $2))`, deleteOthersBatch},
		{`DELETE FROM log_matches WHERE ctid = ANY(ARRAY(SELECT ctid FROM log_matches WHERE task_id = ANY($1) LIMIT $2))`, deleteOthersBatch},
		{`DELETE FROM allocations WHERE ctid = ANY(ARRAY(SELECT ctid FROM allocations WHERE task_id = ANY($1) LIMIT $2))`, deleteOthersBatch},
	} {
		if full, err := deletePart(ctx, db, part.sql, tasks, part.limit); err != nil || full {
			return err
		}
	}
	return db.Exec(ctx, `DELETE FROM tasks WHERE id = ANY($1)`, tasks)
}

// deletePart executes a DELETE; full is true if it deleted as many rows as its limit allows.
func deletePart(ctx context.Context, db *database.DB, sql string, of any, limit int) (full bool, err error) {
	n, err := db.Affect(ctx, sql, of, limit)
	return n >= int64(limit), err
}
