package store

import (
	"context"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// maxLiveRemovals is the number of tasks that remove files, of the experiments of a user, that have not ended when
// somebody asks for another one. What policies and deletions remove is limited by the experiments.
const maxLiveRemovals = 5000

// checkLiveRemovals fails if too many tasks remove files of experiments with the same owner.
func (tx *DB) checkLiveRemovals(ctx context.Context, experiment int) error {
	n, err := database.Scalar[int](ctx, tx.DB, `SELECT count(*) FROM tasks WHERE ended_at IS NULL AND type = 'CHECKPOINT_GC'
		AND owner_id = (SELECT owner_id FROM experiments WHERE id = $1)`, experiment)
	if err == nil && n >= maxLiveRemovals {
		err = fault.New(fault.TooMany, "%d tasks that remove files of the experiments of this user have not ended, and the limit is %d; try again when some have", n, maxLiveRemovals)
	}
	return err
}
