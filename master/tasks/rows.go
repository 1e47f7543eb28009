package tasks

import (
	"context"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
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
	Part         Part       `db:"-"`     // which GetOrPart has found
	GenericFields
}

// Workspace is the workspace, in SQL, of task k, also if it is deleted.
const Workspace = `coalesce(k.workspace_id, k.deleted_workspace_id)`

const taskSelect = `
	SELECT k.id, k.type, k.job_id::text, k.owner_id, u.username, u.display_name, ` + Workspace + ` AS workspace_id, k.experiment_id, k.name, k.config, k.context_hash,
		k.created_at, k.pool, k.slots, k.priority, k.ended_at, k.exit_status,
		CASE WHEN k.ended_at IS NOT NULL THEN 'TERMINATED' WHEN k.desired = 'kill' THEN 'TERMINATING'
			ELSE coalesce((SELECT CASE WHEN a.state IN ('PENDING', 'ASSIGNED') THEN 'QUEUED'
					WHEN a.state = 'RUNNING' AND a.is_waiting AND NOT a.is_ready THEN 'WAITING' ELSE a.state END
				FROM allocations a WHERE a.task_id = k.id AND a.state <> 'TERMINATED'), 'QUEUED') END AS shown, ` + genericColumns + `
	FROM tasks k JOIN users u ON u.id = k.owner_id`

// listedTask is taskSelect for lists, which do not show the texts of any length.
var listedTask = strings.NewReplacer("k.name", "left(k.name, 1000) AS name", "k.config", "'{}'::jsonb AS config", "k.submitted", "'' AS submitted").Replace(taskSelect)

// Get reads a task.
func Get(ctx context.Context, db *database.DB, id string) (Task, error) {
	return database.Row[Task](ctx, db, "task "+id, taskSelect+` WHERE k.id = $1`, id)
}

// An IdleLimit decides whether an idle task ends.
type IdleLimit struct {
	Type    string `db:"type"`
	Timeout string `db:"timeout"` // idle_timeout of its configuration; "": none
}

// IdleLimitOf reads the IdleLimit of a task, without its configuration, which may be large.
func IdleLimitOf(ctx context.Context, db *database.DB, id string) (IdleLimit, error) {
	return database.Row[IdleLimit](ctx, db, "task "+id, `SELECT type, coalesce(idle_timeout, '') AS timeout FROM tasks WHERE id = $1`, id)
}

// A Filter chooses tasks. It excludes tasks that ended more than a week ago, and those of workspaces that are being deleted or are deleted.
type Filter struct {
	Type        string
	WorkspaceID int
	UserIDs     []int
	Users       []string
	Sort        string
	Desc        bool
}

var sorts = database.Sorts{"": "k.id", "description": "k.name", "start_time": "k.created_at", "workspace": "k.workspace_id"}

// List lists the tasks that the filter chooses, without their configurations, and with the beginnings of long names.
func List(ctx context.Context, db *database.DB, in auth.Scope, f Filter) ([]Task, error) {
	order, err := sorts.Order(f.Sort, f.Desc, "k.id")
	if err != nil {
		return nil, err
	}
	var c database.Conditions
	c.When(!in.All, "k.workspace_id = ANY(@scope::int[])", "scope", in.Only())
	c.When(true, "k.type = @type AND k.workspace_id IS NOT NULL AND NOT EXISTS (SELECT FROM workspaces d WHERE d.id = k.workspace_id AND d.deleting_at IS NOT NULL)", "type", f.Type)
	c.When(true, "(k.ended_at IS NULL OR k.ended_at > now() - @since::interval)", "since", 7*24*time.Hour)
	c.When(f.WorkspaceID != 0, "k.workspace_id = @workspace", "workspace", f.WorkspaceID)
	c.When(len(f.UserIDs) > 0, "k.owner_id = ANY(@owners::int[])", "owners", f.UserIDs)
	c.When(len(f.Users) > 0, "u.username = ANY(@users::text[])", "users", f.Users)
	return database.Rows[Task](ctx, db, listedTask+c.Where()+order, c.Args)
}

// Kill requests the end of a task that is not a trial. The first reason counts.
func Kill(ctx context.Context, db *database.DB, id, reason string) error {
	return db.Exec(ctx, `
		UPDATE tasks SET desired = 'kill', kill_reason = CASE WHEN desired = 'kill' THEN kill_reason ELSE $2 END
		WHERE id = $1 AND type <> 'TRIAL' AND ended_at IS NULL`, id, reason)
}

// Prioritize changes the priority of a task that is not a trial.
func Prioritize(ctx context.Context, db *database.DB, id string, priority int) error {
	return db.Tx(ctx, func(tx *database.DB) error { return PrioritizeIn(ctx, tx, id, priority) })
}

// PrioritizeIn is Prioritize within a transaction.
func PrioritizeIn(ctx context.Context, tx *database.DB, id string, priority int) error {
	if err := tx.Change(ctx, fault.New(fault.Invalid, "task %s has ended; its priority cannot be changed", id), `UPDATE tasks SET priority = $2 WHERE id = $1 AND type <> 'TRIAL' AND ended_at IS NULL`, id, priority); err != nil {
		return err
	}
	return PrioritizeAttempts(ctx, tx, []string{id}, priority)
}

// PrioritizeAttempts sets a new priority for the live attempts of tasks, so that queued attempts
// move in the queue.
func PrioritizeAttempts(ctx context.Context, tx *database.DB, tasks []string, priority int) error {
	return tx.Exec(ctx, `UPDATE allocations SET priority = $2 WHERE task_id = ANY($1) AND state <> 'TERMINATED'`, tasks, priority)
}

// Counts counts the tasks of each type that have not ended.
func Counts(ctx context.Context, db *database.DB, in auth.Scope) (map[string]int, error) {
	return database.Map[string, int](ctx, db, `SELECT type, count(*) FROM tasks WHERE ended_at IS NULL
		AND ($1::int[] IS NULL OR workspace_id = ANY($1)) GROUP BY type`, in.Only())
}

// CallsOf is the owner, for the database, of the calls of a user's tasks.
func CallsOf(user string) string { return "tasks of " + user }
