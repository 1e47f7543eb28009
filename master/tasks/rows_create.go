package tasks

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/contexts"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// New is a task to create that is not a trial.
type New struct {
	ID           string
	Type         string
	OwnerID      int
	SessionEpoch int // session epoch of the user who creates it
	WorkspaceID  int
	Name         string
	Config       []byte // complete, JSON
	Context      []byte
	Pool         string
	Slots        int
	Priority     int
	Shell        *ShellKeys  // if it is a shell
	Tensorboard  *Board      // if it is a TensorBoard
	Generic      *NewGeneric // if it is a generic task
	CreationKey  *string     // recognises a repeated request; nil for none
}

// Create inserts a task with its first attempt, and returns its id. The loop runs the
// attempt and creates later ones. If the owner has a task with the same CreationKey,
// Create returns the id of that task.
func Create(ctx context.Context, db *database.DB, n New) (string, error) {
	id := n.ID
	err := db.Tx(ctx, func(tx *database.DB) error {
		if err := lockOwner(ctx, tx, n.OwnerID); err != nil {
			return err
		}
		err := contexts.Lock(ctx, tx, n.Context)
		if err != nil {
			return err
		}
		if n.Generic == nil {
			n.Generic = &NewGeneric{}
		}
		if err := lockParent(ctx, tx, n.Generic.ParentID); err != nil {
			return err
		}
		id, err = database.Scalar[string](ctx, tx, `
			INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, name, config, context_hash, pool, slots, priority, creation_key, session_epoch,
				parent_id, forked_from, no_pause, submitted)
			VALUES (@id, @type, gen_random_uuid(), @owner, @workspace, @name, @config, @context, @pool, @slots, @priority, @key, @epoch,
				@parent, @fork, @nopause, @submitted)
			ON CONFLICT (owner_id, creation_key) WHERE creation_key IS NOT NULL DO NOTHING
			RETURNING id`,
			database.Args{"id": n.ID, "type": n.Type, "owner": n.OwnerID, "workspace": n.WorkspaceID, "name": n.Name,
				"config": string(n.Config), "context": n.Context, "pool": n.Pool, "slots": n.Slots, "priority": n.Priority, "key": n.CreationKey,
				"epoch": n.SessionEpoch, "parent": n.Generic.ParentID, "fork": n.Generic.ForkedFrom, "nopause": n.Generic.NoPause,
				"submitted": string(n.Generic.Submitted)})
		if n.CreationKey != nil && fault.Is(err, fault.NotFound) {
			id, err = database.Scalar[string](ctx, tx, `SELECT id FROM tasks WHERE owner_id = $1 AND creation_key = $2 AND type = $3`, n.OwnerID, *n.CreationKey, n.Type)
			return database.Missing(err, fault.New(fault.Conflict, "the Idempotency-Key of this request was used for another kind of task"))
		}
		if err == nil {
			err = checkLive(ctx, tx, id, n.OwnerID)
		}
		if err == nil { // so that lists and the queue show the task at once
			s := &database.Statements{}
			QueueAttempt(s, NewAttempt{ID: n.ID + ".1", TaskID: n.ID, RunID: 1, Pool: n.Pool, Slots: n.Slots, Priority: n.Priority})
			err = s.Send(ctx, tx)
		}
		if err == nil && n.Shell != nil {
			err = insertShellKeys(ctx, tx, n.ID, *n.Shell)
		}
		if err == nil && n.Tensorboard != nil {
			err = insertTensorboard(ctx, tx, n.ID, *n.Tensorboard)
		}
		return err
	})
	return id, err
}

// A NewAttempt is an attempt to queue. It gets the priority that its task has when it is
// stored: a user may have changed it since the plan was made.
type NewAttempt struct {
	ID        string
	TaskID    string
	RunID     int
	Pool      string
	Slots     int
	Priority  int
	NotBefore *time.Time
	Exclude   []string
}

// QueueAttempt adds the statement that inserts an attempt.
func QueueAttempt(b *database.Statements, a NewAttempt) {
	if a.Exclude == nil {
		a.Exclude = []string{}
	}
	b.QueueOne("attempt "+a.ID, `
		WITH t AS (UPDATE tasks SET queued_at = coalesce(queued_at, now()) WHERE id = $2 RETURNING id, priority, queued_at)
		INSERT INTO allocations (id, task_id, run_id, pool, slots, priority, not_before, exclude, queued_at)
		SELECT $1, t.id, $3, $4, $5, t.priority, $6, $7, t.queued_at FROM t`,
		a.ID, a.TaskID, a.RunID, a.Pool, a.Slots, a.NotBefore, a.Exclude)
}

// The control loop keeps each task that has not ended in memory, with the environment.nomad of its configuration,
// which may have a megabyte. Trials count as memory for searches instead; these limits are for the tasks that a
// user starts one by one.
const (
	maxLiveTasks = 5000    // commands, notebooks, shells, TensorBoards and generic tasks of a user that have not ended
	maxLiveNomad = 8 << 20 // bytes of their environment.nomad together
)

// checkLive fails if the new task, which is stored already, is one too many of its owner. The row of the user is
// locked, so that requests at the same time count each other's tasks.
func checkLive(ctx context.Context, tx *database.DB, id string, owner int) error {
	const live = ` FROM tasks WHERE ended_at IS NULL AND owner_id = $1 AND type NOT IN ('TRIAL', 'CHECKPOINT_GC')`
	n, err := database.Scalar[int](ctx, tx, `SELECT count(*)`+live, owner)
	if err != nil {
		return err
	}
	if n > maxLiveTasks {
		return fault.New(fault.TooMany, "you have %d commands, notebooks, shells, TensorBoards and generic tasks that have not ended, and the limit is %d; "+
			"wait until some end, or kill some (det task list)", n-1, maxLiveTasks)
	}
	const nomad = `coalesce(octet_length(nomad::text), 0)`
	own, err := database.Scalar[int](ctx, tx, `SELECT `+nomad+` FROM tasks WHERE id = $1`, id)
	if err != nil || own == 0 {
		return err
	}
	all, err := database.Scalar[int](ctx, tx, `SELECT sum(`+nomad+`)`+live, owner)
	if err == nil && all > maxLiveNomad {
		err = fault.New(fault.TooMany, "environment.nomad of this task has %d bytes, and with those of your tasks that have not ended %d bytes; the limit is %d; "+
			"make it shorter, or wait until tasks end or kill some (det task list)", own, all, maxLiveNomad)
	}
	return err
}

// lockOwner keeps other requests of a user from counting the user's tasks until the transaction ends.
func lockOwner(ctx context.Context, tx *database.DB, owner int) error {
	return tx.Exec(ctx, `SELECT FROM users WHERE id = $1 FOR NO KEY UPDATE`, owner)
}
