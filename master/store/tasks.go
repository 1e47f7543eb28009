package store

import (
	"context"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/trial"
)

// A Task is a task with the fields that users see.
type Task struct {
	ID           string     `db:"id"`
	Type         string     `db:"type"`
	JobID        string     `db:"job_id"`
	OwnerID      int        `db:"owner_id"`
	Owner        string     `db:"username"`
	OwnerName    string     `db:"display_name"`
	WorkspaceID  int        `db:"workspace_id"`
	ExperimentID *int       `db:"experiment_id"`
	Name         string     `db:"name"`
	Config       []byte     `db:"config"`
	Context      []byte     `db:"context_hash"` // nil: no code
	CreatedAt    time.Time  `db:"created_at"`
	Pool         string     `db:"pool"`
	Slots        int        `db:"slots"`
	Priority     int        `db:"priority"`
	EndedAt      *time.Time `db:"ended_at"`
	ExitStatus   string     `db:"exit_status"`
	Shown        string     `db:"shown"` // QUEUED, PULLING, STARTING, RUNNING, WAITING, TERMINATING or TERMINATED
	Part         TaskPart   `db:"-"`     // which TaskOrPart has found
	Generic
}

// taskWorkspace is the workspace of task k, also if it is deleted.
const taskWorkspace = `coalesce(k.workspace_id, k.deleted_workspace_id)`

const taskSelect = `
	SELECT k.id, k.type, k.job_id::text, k.owner_id, u.username, u.display_name, ` + taskWorkspace + ` AS workspace_id, k.experiment_id, k.name, k.config, k.context_hash,
		k.created_at, k.pool, k.slots, k.priority, k.ended_at, k.exit_status,
		CASE WHEN k.ended_at IS NOT NULL THEN 'TERMINATED' WHEN k.desired = 'kill' THEN 'TERMINATING'
			ELSE coalesce((SELECT CASE WHEN a.state IN ('PENDING', 'ASSIGNED') THEN 'QUEUED'
					WHEN a.state = 'RUNNING' AND a.is_waiting AND NOT a.is_ready THEN 'WAITING' ELSE a.state END
				FROM allocations a WHERE a.task_id = k.id AND a.state <> 'TERMINATED'), 'QUEUED') END AS shown, ` + genericColumns + `
	FROM tasks k JOIN users u ON u.id = k.owner_id`

// listedTask is taskSelect for lists, which do not show the texts of any length.
var listedTask = strings.NewReplacer("k.name", "left(k.name, 1000) AS name", "k.config", "'{}'::jsonb AS config", "k.submitted", "'' AS submitted").Replace(taskSelect)

// Task reads a task.
func (db *DB) Task(ctx context.Context, id string) (Task, error) {
	return database.Row[Task](ctx, db.DB, "task "+id, taskSelect+` WHERE k.id = $1`, id)
}

// An IdleTask has what decides whether an idle task ends.
type IdleTask struct {
	Type    string `db:"type"`
	Timeout string `db:"timeout"` // idle_timeout of its configuration; "": none
}

// IdleTask reads the IdleTask of a task, without its configuration, which may be large.
func (db *DB) IdleTask(ctx context.Context, id string) (IdleTask, error) {
	return database.Row[IdleTask](ctx, db.DB, "task "+id, `SELECT type, coalesce(idle_timeout, '') AS timeout FROM tasks WHERE id = $1`, id)
}

// TaskFilter chooses tasks. It excludes tasks that ended more than a week ago, and those of workspaces that are being deleted or are deleted.
type TaskFilter struct {
	Type        string
	WorkspaceID int
	UserIDs     []int
	Users       []string
	Sort        string
	Desc        bool
}

var taskSorts = database.Sorts{"": "k.id", "description": "k.name", "start_time": "k.created_at", "workspace": "k.workspace_id"}

// Tasks lists the tasks that the filter chooses, without their configurations, and with the beginnings of long names.
func (db *DB) Tasks(ctx context.Context, in auth.Scope, f TaskFilter) ([]Task, error) {
	order, err := taskSorts.Order(f.Sort, f.Desc, "k.id")
	if err != nil {
		return nil, err
	}
	var c database.Conditions
	inWorkspaces(&c, in, "k.workspace_id")
	c.When(true, "k.type = @type AND k.workspace_id IS NOT NULL AND NOT EXISTS (SELECT FROM workspaces d WHERE d.id = k.workspace_id AND d.deleting_at IS NOT NULL)", "type", f.Type)
	c.When(true, "(k.ended_at IS NULL OR k.ended_at > now() - @since::interval)", "since", 7*24*time.Hour)
	c.When(f.WorkspaceID != 0, "k.workspace_id = @workspace", "workspace", f.WorkspaceID)
	c.When(len(f.UserIDs) > 0, "k.owner_id = ANY(@owners::int[])", "owners", f.UserIDs)
	c.When(len(f.Users) > 0, "u.username = ANY(@users::text[])", "users", f.Users)
	return database.Rows[Task](ctx, db.DB, listedTask+c.Where()+order, c.Args)
}

// NewTask is a task to create that is not a trial.
type NewTask struct {
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
	Shell        *ShellKeys   // if it is a shell
	Tensorboard  *Tensorboard // if it is a TensorBoard
	Generic      *NewGeneric  // if it is a generic task
	CreationKey  *string      // recognises a repeated request; nil for none
}

// CreateTask inserts a task with its first attempt, and returns its id. The loop runs the
// attempt and creates later ones. If the owner has a task with the same CreationKey,
// CreateTask returns the id of that task.
func (db *DB) CreateTask(ctx context.Context, n NewTask) (string, error) {
	id := n.ID
	err := db.Tx(ctx, func(tx *DB) error {
		if err := tx.lockOwner(ctx, n.OwnerID); err != nil {
			return err
		}
		err := tx.lockContext(ctx, n.Context)
		if err != nil {
			return err
		}
		if n.Generic == nil {
			n.Generic = &NewGeneric{}
		}
		if err := tx.lockParent(ctx, n.Generic.ParentID); err != nil {
			return err
		}
		id, err = database.Scalar[string](ctx, tx.DB, `
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
			id, err = database.Scalar[string](ctx, tx.DB, `SELECT id FROM tasks WHERE owner_id = $1 AND creation_key = $2 AND type = $3`, n.OwnerID, *n.CreationKey, n.Type)
			return database.Missing(err, fault.New(fault.Conflict, "the Idempotency-Key of this request was used for another kind of task"))
		}
		if err == nil {
			err = tx.checkLiveTasks(ctx, id, n.OwnerID)
		}
		if err == nil { // so that lists and the queue show the task at once
			s := &database.Statements{}
			QueueNewAllocation(s, NewAllocation{ID: n.ID + ".1", TaskID: n.ID, RunID: 1, Pool: n.Pool, Slots: n.Slots, Priority: n.Priority})
			err = s.Send(ctx, tx.DB)
		}
		if err == nil && n.Shell != nil {
			err = tx.insertShellKeys(ctx, n.ID, *n.Shell)
		}
		if err == nil && n.Tensorboard != nil {
			err = tx.insertTensorboard(ctx, n.ID, *n.Tensorboard)
		}
		return err
	})
	return id, err
}

// KillTask requests the end of a task that is not a trial. The first reason counts.
func (db *DB) KillTask(ctx context.Context, id, reason string) error {
	_, err := db.Exec(ctx, `
		UPDATE tasks SET desired = 'kill', kill_reason = CASE WHEN desired = 'kill' THEN kill_reason ELSE $2 END
		WHERE id = $1 AND type <> 'TRIAL' AND ended_at IS NULL`, id, reason)
	return err
}

// SetTaskPriority changes the priority of a task that is not a trial.
func (db *DB) SetTaskPriority(ctx context.Context, id string, priority int) error {
	return db.DB.Tx(ctx, func(tx *database.DB) error { return PrioritizeTask(ctx, tx, id, priority) })
}

// PrioritizeTask is SetTaskPriority within a transaction.
func PrioritizeTask(ctx context.Context, tx *database.DB, id string, priority int) error {
	if err := tx.Change(ctx, fault.New(fault.Invalid, "task %s has ended; its priority cannot be changed", id), `UPDATE tasks SET priority = $2 WHERE id = $1 AND type <> 'TRIAL' AND ended_at IS NULL`, id, priority); err != nil {
		return err
	}
	return reprioritize(ctx, tx, []string{id}, priority)
}

// TaskCounts counts the tasks of each type that have not ended.
func (db *DB) TaskCounts(ctx context.Context, in auth.Scope) (map[string]int, error) {
	type count struct {
		Type string `db:"type"`
		N    int    `db:"n"`
	}
	list, err := database.Rows[count](ctx, db.DB, `SELECT type, count(*) AS n FROM tasks WHERE ended_at IS NULL
		AND ($1::int[] IS NULL OR workspace_id = ANY($1)) GROUP BY type`, in.Only())
	counts := make(map[string]int, len(list))
	for _, c := range list {
		counts[c.Type] = c.N
	}
	return counts, err
}

// An Attempt is an attempt with the fields that users see.
type Attempt struct {
	ID           string     `db:"id"`
	TaskID       string     `db:"task_id"`
	Part         int        `db:"part"` // of the task
	TaskName     string     `db:"task_name"`
	TaskType     string     `db:"task_type"`
	OwnerID      int        `db:"owner_id"`
	WorkspaceID  int        `db:"workspace_id"`
	ExperimentID *int       `db:"experiment_id"`
	TrialID      *int       `db:"trial_id"`
	Pool         string     `db:"pool"`
	Slots        int        `db:"slots"`
	Priority     int        `db:"priority"`
	State        string     `db:"state"`
	QueuedAt     time.Time  `db:"queued_at"`
	StartedAt    *time.Time `db:"started_at"`
	EndedAt      *time.Time `db:"ended_at"`
	ExitCode     *int       `db:"exit_code"`
	ExitReason   string     `db:"exit_reason"`
	Ready        bool       `db:"is_ready"`
	Waiting      string     `db:"waiting_reason"`
	ProxyAddress string     `db:"proxy_address"`
}

var attemptSelect = `
	SELECT a.id, a.task_id, ` + trial.PartOfRun("a.task_id", "a.run_id") + ` AS part, k.name AS task_name, k.type AS task_type, k.owner_id, ` + taskWorkspace + ` AS workspace_id, k.experiment_id,
		(SELECT t.id FROM trials t WHERE t.task_id = k.id) AS trial_id, a.pool, a.slots, a.priority, a.state, a.queued_at, a.started_at, a.ended_at,
		a.exit_code, a.exit_reason, a.is_ready, ` + waitingReason + ` AS waiting_reason, a.proxy_address
	FROM allocations a JOIN tasks k ON k.id = a.task_id`

// Attempts lists the attempts of a part of a task, the newest first.
func (db *DB) Attempts(ctx context.Context, task string, p TaskPart) ([]Attempt, error) {
	return database.Rows[Attempt](ctx, db.DB, attemptSelect+` WHERE a.task_id = $1 AND `+trial.HoldsRun("$2", "$3")+` ORDER BY a.run_id DESC`, task, p.FromRun, p.ToRun)
}

// Attempt reads an attempt.
func (db *DB) Attempt(ctx context.Context, id string) (Attempt, error) {
	return database.Row[Attempt](ctx, db.DB, "allocation "+id, attemptSelect+` WHERE a.id = $1`, id)
}

// LiveAttempts lists the attempts that have not ended.
func (db *DB) LiveAttempts(ctx context.Context, in auth.Scope) ([]Attempt, error) {
	return database.Rows[Attempt](ctx, db.DB, attemptSelect+` WHERE a.state <> 'TERMINATED'
		AND ($1::int[] IS NULL OR k.workspace_id = ANY($1)) ORDER BY a.queued_at, a.id`, in.Only())
}

// waitingReason is why attempt a waits: in the queue, or because Nomad has not accepted its
// job yet.
const waitingReason = `CASE WHEN a.state = 'ASSIGNED' AND a.submitted_at IS NULL AND a.submit_error <> ''
	THEN 'Nomad has not accepted the job yet: ' || a.submit_error ELSE a.waiting_reason END`

// TasksOf is the owner of the calls of a user's tasks.
func TasksOf(user string) string { return "tasks of " + user }
