package store

import (
	"context"
	"encoding/json"
)

// A Tensorboard is what one shows: whole experiments, and single trials.
type Tensorboard struct {
	TaskID        string `db:"task_id"`
	ExperimentIDs []int  `db:"experiment_ids"`
	TrialIDs      []int  `db:"trial_ids"`
}

func (db *DB) keepTensorboard(ctx context.Context, task string, t Tensorboard) error {
	_, err := db.exec(ctx, `INSERT INTO tensorboards (task_id, experiment_ids, trial_ids) VALUES ($1, $2, $3)`,
		task, append([]int{}, t.ExperimentIDs...), append([]int{}, t.TrialIDs...))
	return err
}

// Tensorboards reads what TensorBoards show, by task.
func (db *DB) Tensorboards(ctx context.Context, tasks []string) (map[string]Tensorboard, error) {
	list, err := rows[Tensorboard](ctx, db, `SELECT task_id, experiment_ids, trial_ids FROM tensorboards WHERE task_id = ANY($1)`, tasks)
	found := make(map[string]Tensorboard, len(list))
	for _, t := range list {
		found[t.TaskID] = t
	}
	return found, err
}

// A ShownTrial is a trial that a TensorBoard shows, with what says where its
// files lie. An experiment that has no trials yet has a row without one.
type ShownTrial struct {
	ExperimentID int             `db:"experiment_id"`
	TrialID      *int            `db:"trial_id"`
	Growing      bool            `db:"growing"` // its whole experiment is shown, which may have more trials later
	Config       json.RawMessage `db:"config"`
}

// ShownTrials lists the trials of experiments and those that are named one by
// one, in their order. What has been deleted is left out.
func (db *DB) ShownTrials(ctx context.Context, t Tensorboard) ([]ShownTrial, error) {
	return rows[ShownTrial](ctx, db, `
		SELECT e.id AS experiment_id, t.id AS trial_id, e.id = ANY($1) AND e.ended_at IS NULL AS growing, e.config
		FROM experiments e LEFT JOIN trials t ON t.experiment_id = e.id
		WHERE e.id = ANY($1) OR t.id = ANY($2)
		ORDER BY e.id, t.id`, append([]int{}, t.ExperimentIDs...), append([]int{}, t.TrialIDs...))
}
