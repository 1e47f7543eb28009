package runs

import (
	"context"

	"github.com/detent-ml/detent/master/database"
)

// Kill requests the end of runs, but for those that have ended.
func Kill(ctx context.Context, db *database.DB, ids []int) error {
	return db.Exec(ctx, `UPDATE trials SET kill_wanted = true WHERE id = ANY($1) AND ended_at IS NULL`, ids)
}

// Archive archives runs that have ended, or unarchives them, and returns those that it has
// changed. The experiments of the runs stay what they are.
func Archive(ctx context.Context, db *database.DB, ids []int, archived bool) ([]int, error) {
	return database.Scalars[int](ctx, db, `UPDATE trials SET archived = $2 WHERE id = ANY($1) AND ended_at IS NOT NULL RETURNING id`, ids, archived)
}

// WholeExperiments lists the experiments of which the ids name every trial.
func WholeExperiments(ctx context.Context, db *database.DB, runs []int) ([]int, error) {
	return database.Scalars[int](ctx, db, `SELECT DISTINCT t.experiment_id FROM trials t WHERE t.id = ANY($1)
		AND NOT EXISTS (SELECT FROM trials other WHERE other.experiment_id = t.experiment_id AND NOT other.id = ANY($1))`, runs)
}
