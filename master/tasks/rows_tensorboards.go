package tasks

import (
	"context"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/task"
)

// A Board has the experiments and trials that a TensorBoard shows.
type Board struct {
	TaskID        string `db:"task_id"`
	ExperimentIDs []int  `db:"experiment_ids"`
	TrialIDs      []int  `db:"trial_ids"`
}

func insertTensorboard(ctx context.Context, db *database.DB, taskID string, t Board) error {
	return db.Exec(ctx, `INSERT INTO tensorboards (task_id, experiment_ids, trial_ids) VALUES ($1, $2, $3)`,
		taskID, append([]int{}, t.ExperimentIDs...), append([]int{}, t.TrialIDs...))
}

// Boards reads the experiments and trials of TensorBoards, by task.
func Boards(ctx context.Context, db *database.DB, tasks []string) (map[string]Board, error) {
	list, err := database.Rows[Board](ctx, db, `SELECT task_id, experiment_ids, trial_ids FROM tensorboards WHERE task_id = ANY($1)`, tasks)
	return each.Keyed(list, func(t Board) string { return t.TaskID }), err
}

// ShownBy lists the trials that a TensorBoard shows.
func ShownBy(ctx context.Context, db *database.DB, taskID string) ([]task.ShownTrial, error) {
	boards, err := Boards(ctx, db, []string{taskID})
	if err != nil {
		return nil, err
	}
	return ShownTrials(ctx, db, boards[taskID])
}

// ShownTrials lists the trials that a TensorBoard shows, in order: those of its experiments
// and its single trials. It omits deleted ones. Only the first trial of an experiment has its configuration, of which only what
// task.Shown needs.
func ShownTrials(ctx context.Context, db *database.DB, t Board) ([]task.ShownTrial, error) {
	return database.Rows[task.ShownTrial](ctx, db, `
		WITH asked AS (SELECT unnest($1::int[]) AS id UNION SELECT x.experiment_id FROM trials x WHERE x.id = ANY($2)),
		shown AS MATERIALIZED (
			SELECT e.id, e.ended_at, e.owner_id, e.project_id, jsonb_build_object('name', 'shown', 'reproducibility', c.reproducibility, 'checkpoint_storage', c.checkpoint_storage,
				'bind_mounts', (SELECT coalesce(jsonb_agg(b ORDER BY i), '[]') FROM jsonb_array_elements(c.bind_mounts) WITH ORDINALITY m (b, i)
					WHERE c.checkpoint_storage->>'type' = 'directory' AND starts_with(c.checkpoint_storage->>'container_path', b->>'container_path'))) AS config
			FROM asked JOIN experiments e ON e.id = asked.id
			CROSS JOIN LATERAL jsonb_to_record(e.config) c (reproducibility jsonb, checkpoint_storage jsonb, bind_mounts jsonb))
		SELECT e.id AS experiment_id, t.id AS trial_id, e.id = ANY($1) AND e.ended_at IS NULL AS growing, e.owner_id, p.workspace_id,
			CASE WHEN row_number() OVER (PARTITION BY e.id ORDER BY t.id) = 1 THEN e.config END AS config
		FROM shown e JOIN projects p ON p.id = e.project_id
		LEFT JOIN trials t ON t.experiment_id = e.id AND (e.id = ANY($1) OR t.id = ANY($2))
		ORDER BY e.id, t.id`, append([]int{}, t.ExperimentIDs...), append([]int{}, t.TrialIDs...))
}
