package store

import (
	"context"

	"github.com/detent-ml/detent/master/task"
)

// A Tensorboard has the experiments and trials that a TensorBoard shows.
type Tensorboard struct {
	TaskID        string `db:"task_id"`
	ExperimentIDs []int  `db:"experiment_ids"`
	TrialIDs      []int  `db:"trial_ids"`
}

func (db *DB) insertTensorboard(ctx context.Context, taskID string, t Tensorboard) error {
	_, err := db.exec(ctx, `INSERT INTO tensorboards (task_id, experiment_ids, trial_ids) VALUES ($1, $2, $3)`,
		taskID, append([]int{}, t.ExperimentIDs...), append([]int{}, t.TrialIDs...))
	return err
}

// Tensorboards reads the experiments and trials of TensorBoards, by task.
func (db *DB) Tensorboards(ctx context.Context, tasks []string) (map[string]Tensorboard, error) {
	list, err := rows[Tensorboard](ctx, db, `SELECT task_id, experiment_ids, trial_ids FROM tensorboards WHERE task_id = ANY($1)`, tasks)
	found := make(map[string]Tensorboard, len(list))
	for _, t := range list {
		found[t.TaskID] = t
	}
	return found, err
}

// shownBy lists the trials that a TensorBoard shows.
func (db *DB) shownBy(ctx context.Context, taskID string) ([]task.ShownTrial, error) {
	boards, err := db.Tensorboards(ctx, []string{taskID})
	if err != nil {
		return nil, err
	}
	return db.ShownTrials(ctx, boards[taskID])
}

// ShownTrials lists the trials that a TensorBoard shows, in order: those of its experiments
// and its single trials. It omits deleted ones.
func (db *DB) ShownTrials(ctx context.Context, t Tensorboard) ([]task.ShownTrial, error) {
	return rows[task.ShownTrial](ctx, db, `
		SELECT e.id AS experiment_id, t.id AS trial_id, e.id = ANY($1) AND e.ended_at IS NULL AS growing, e.config, e.owner_id, p.workspace_id
		FROM experiments e JOIN projects p ON p.id = e.project_id LEFT JOIN trials t ON t.experiment_id = e.id
		WHERE e.id = ANY($1) OR t.id = ANY($2)
		ORDER BY e.id, t.id`, append([]int{}, t.ExperimentIDs...), append([]int{}, t.TrialIDs...))
}
