package experiments

import (
	"testing"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// manyRows gives a trial three checkpoints, those of its models, with more files, uploads and metrics than a part of a deletion may have.
func (w *world) manyRows(trial int) {
	w.T.Helper()
	w.Exec(`INSERT INTO checkpoints (uuid, task_id, trial_id, state) SELECT gen_random_uuid(), task_id, id, 'COMPLETED' FROM trials, generate_series(1, 3) WHERE id = $1`, trial)
	w.Exec(`INSERT INTO mlflow_models (id, trial_id, checkpoint, name) SELECT 'm-' || replace(uuid::text, '-', ''), trial_id, uuid, 'model' FROM checkpoints WHERE trial_id = $1`, trial)
	w.Exec(`INSERT INTO logged_files (checkpoint, name, size) SELECT uuid, n::text, 1 FROM checkpoints, generate_series(1, 7000) n WHERE trial_id = $1`, trial)
	w.Exec(`INSERT INTO logged_uploads (checkpoint, name, parts, store, finished) SELECT uuid, n::text, 1, CASE WHEN n <= 100 THEN 'id' ELSE '' END, n <= 10 FROM checkpoints, generate_series(1, 7000) n WHERE trial_id = $1`, trial)
	w.Exec(`INSERT INTO mlflow_model_metrics (model_id, name, value, step, at, run) SELECT id, n::text, 1, 0, now(), $1 FROM mlflow_models, generate_series(1, 7000) n WHERE trial_id = $1`, trial)
	w.Exec(`INSERT INTO newest_values (trial_id, metric, value) SELECT $1, n, 1 FROM generate_series(1, 21000) n`, trial)
}

// TestDeletedInParts: no transaction of a deletion deletes more rows of a table than a part may have, neither by a cascade.
func TestDeletedInParts(t *testing.T) {
	w := newWorld(t)
	exp, other := w.Experiment(rowtest.LossSearcher), w.Experiment(rowtest.LossSearcher)
	w.manyRows(w.Trial(exp, 0, 1))
	w.manyRows(w.Trial(other, 0, 1))
	w.Exec(`UPDATE experiments SET state = 'DELETING', desired = 'deleted' WHERE id = $1`, exp)
	left := map[string]int{"logged_files": 42000, "logged_uploads": 42000, "mlflow_model_metrics": 42000, "newest_values": 42000}
	for done, parts := false, 0; !done; parts++ {
		err := w.DB.Tx(t.Context(), func(tx *database.DB) (err error) {
			done, err = DeleteRows(t.Context(), tx, exp)
			return err
		})
		if err != nil || parts > 20 {
			t.Fatalf("part %d: %v", parts, err)
		}
		for table, before := range left {
			n := w.Int(`SELECT count(*) FROM ` + table)
			if before-n > deleteMetricsBatch {
				t.Errorf("part %d deletes %d rows of %s", parts, before-n, table)
			}
			left[table] = n
		}
	}
	for table, n := range left {
		if n != 21000 {
			t.Errorf("%s has %d rows, want those of the other experiment", table, n)
		}
	}
	// The parts of files that were not complete are still in their storage.
	if n := w.Int(`SELECT count(*) FROM abandoned_uploads a JOIN experiments e ON e.id = $1 AND e.owner_id = a.owner_id
		AND a.config = jsonb_build_object('name', 'x', 'reproducibility', jsonb_build_object('experiment_seed', 0), 'checkpoint_storage', e.config -> 'checkpoint_storage') WHERE a.store = 'id'`, other); n != 270 || w.Int(`SELECT count(*) FROM abandoned_uploads`) != n {
		t.Errorf("%d uploads are abandoned, want 270", n)
	}
}
