package store

import (
	"context"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// The control loop keeps each task that has not ended in memory, with the environment.nomad of its configuration,
// which may have a megabyte. Trials count as memory for searches instead; these limits are for the tasks that a
// user starts one by one.
const (
	maxLiveTasks = 5000    // commands, notebooks, shells, TensorBoards and generic tasks of a user that have not ended
	maxLiveNomad = 8 << 20 // bytes of their environment.nomad together
	// maxLiveRemovals is the number of tasks that remove files, of the experiments of a user, that have not ended when
	// somebody asks for another one. What policies and deletions remove is limited by the experiments.
	maxLiveRemovals = 5000
)

// checkLiveTasks fails if the new task, which is stored already, is one too many of its owner. The row of the user is
// locked, so that requests at the same time count each other's tasks.
func (tx *DB) checkLiveTasks(ctx context.Context, id string, owner int) error {
	const live = ` FROM tasks WHERE ended_at IS NULL AND owner_id = $1 AND type NOT IN ('TRIAL', 'CHECKPOINT_GC')`
	n, err := database.Scalar[int](ctx, tx.DB, `SELECT count(*)`+live, owner)
	if err != nil {
		return err
	}
	if n > maxLiveTasks {
		return fault.New(fault.TooMany, "you have %d commands, notebooks, shells, TensorBoards and generic tasks that have not ended, and the limit is %d; "+
			"wait until some end, or kill some (det task list)", n-1, maxLiveTasks)
	}
	const nomad = `coalesce(octet_length(nomad::text), 0)`
	own, err := database.Scalar[int](ctx, tx.DB, `SELECT `+nomad+` FROM tasks WHERE id = $1`, id)
	if err != nil || own == 0 {
		return err
	}
	all, err := database.Scalar[int](ctx, tx.DB, `SELECT sum(`+nomad+`)`+live, owner)
	if err == nil && all > maxLiveNomad {
		err = fault.New(fault.TooMany, "environment.nomad of this task has %d bytes, and with those of your tasks that have not ended %d bytes; the limit is %d; "+
			"make it shorter, or wait until tasks end or kill some (det task list)", own, all, maxLiveNomad)
	}
	return err
}

// checkLiveRemovals fails if too many tasks remove files of experiments with the same owner.
func (tx *DB) checkLiveRemovals(ctx context.Context, experiment int) error {
	n, err := database.Scalar[int](ctx, tx.DB, `SELECT count(*) FROM tasks WHERE ended_at IS NULL AND type = 'CHECKPOINT_GC'
		AND owner_id = (SELECT owner_id FROM experiments WHERE id = $1)`, experiment)
	if err == nil && n >= maxLiveRemovals {
		err = fault.New(fault.TooMany, "%d tasks that remove files of the experiments of this user have not ended, and the limit is %d; try again when some have", n, maxLiveRemovals)
	}
	return err
}

// lockOwner keeps other requests of a user from counting the user's tasks until the transaction ends.
func (tx *DB) lockOwner(ctx context.Context, owner int) error {
	_, err := tx.Exec(ctx, `SELECT FROM users WHERE id = $1 FOR NO KEY UPDATE`, owner)
	return err
}
