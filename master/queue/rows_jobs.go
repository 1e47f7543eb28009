package queue

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/tasks"
)

// A Job is an entry of a pool's queue: an experiment with its trials, or a task.
type Job struct {
	ID           string    `db:"job_id"`
	Type         string    `db:"type"` // type of its tasks; TRIAL for an experiment
	ExperimentID *int      `db:"experiment_id"`
	TaskID       string    `db:"task_id"`
	Name         string    `db:"name"` // its beginning, if it is very long: a queue has thousands of jobs
	OwnerID      int       `db:"owner_id"`
	Owner        string    `db:"username"`
	WorkspaceID  int       `db:"workspace_id"`
	Pool         string    `db:"pool"`
	Requested    int       `db:"requested"`
	Allocated    int       `db:"allocated"`
	Attempts     int       `db:"attempts"`
	Placed       int       `db:"placed"`
	Priority     int       `db:"priority"`
	Weight       float64   `db:"weight"`
	Progress     *float64  `db:"progress"`
	SubmittedAt  time.Time `db:"submitted_at"`
	QueuedAt     time.Time `db:"queued_at"` // orders the jobs of one priority in the queue
	Ahead        int       `db:"ahead"`     // number of queued jobs of its pool before it
	Waiting      string    `db:"waiting"`   // why its first waiting attempt waits
}

// Scheduled reports whether any attempt of the job is placed.
func (j Job) Scheduled() bool { return j.Placed > 0 }

// maxJobsBytes limits the queue as a whole; a usual job has some 400 bytes.
const maxJobsBytes = 64 << 20

// Jobs lists the jobs with live attempts: first the placed ones, then the queue in the
// scheduler's order. An empty pool means all pools. Ahead also counts jobs outside of the
// scope.
func Jobs(ctx context.Context, db *database.DB, in auth.Scope, pool string) ([]Job, error) {
	ctx = database.LimitReads(ctx, maxJobsBytes) // every page of the queue needs all of it
	return database.Rows[Job](ctx, db, `
		WITH live AS (
			SELECT k.job_id, min(k.type) AS type, min(k.experiment_id) FILTER (WHERE k.type = 'TRIAL') AS experiment_id, min(k.id) AS task_id, min(a.pool) AS pool,
				sum(a.slots) AS requested, coalesce(sum(a.slots) FILTER (WHERE a.state <> 'PENDING'), 0) AS allocated,
				count(*) AS attempts, count(*) FILTER (WHERE a.state <> 'PENDING') AS placed, min(a.priority) AS priority, min(a.queued_at) AS queued_at, min(a.id) AS first,
				coalesce((array_agg(a.waiting_reason ORDER BY a.queued_at, a.id) FILTER (WHERE a.state = 'PENDING' AND a.waiting_reason <> ''))[1], '') AS waiting
			FROM allocations a JOIN tasks k ON k.id = a.task_id WHERE a.state <> 'TERMINATED' GROUP BY k.job_id),
		queue AS (
			SELECT l.job_id::text, l.type, l.experiment_id, l.task_id, left(coalesce(e.name, k.name), 1000) AS name, k.owner_id, u.username, k.workspace_id,
				l.pool, l.requested, l.allocated, l.attempts, l.placed, l.priority, l.waiting, coalesce(e.weight, 1) AS weight, e.progress,
				coalesce(e.started_at, k.created_at) AS submitted_at, coalesce(e.queue_time, k.queue_time, l.queued_at) AS queued_at, l.first,
				CASE WHEN l.placed > 0 THEN 0 ELSE (row_number() OVER (PARTITION BY l.pool, l.placed > 0 ORDER BY l.priority, coalesce(e.queue_time, k.queue_time, l.queued_at), l.first) - 1) END AS ahead
			FROM live l JOIN tasks k ON k.id = l.task_id JOIN users u ON u.id = k.owner_id
			LEFT JOIN experiments e ON e.id = l.experiment_id
			WHERE $1 = '' OR l.pool = $1)
		SELECT job_id, type, experiment_id, task_id, name, owner_id, username, workspace_id, pool, requested, allocated, attempts, placed,
			priority, waiting, weight, progress, submitted_at, queued_at, ahead
		FROM queue WHERE $2::int[] IS NULL OR workspace_id = ANY($2)
		ORDER BY pool, placed > 0 DESC, priority, queued_at, first`, pool, in.Only())
}

// A jobRef is the experiment or task with a job's id.
type jobRef struct {
	ExperimentID *int   `db:"experiment_id"`
	TaskID       string `db:"task_id"`
	OwnerID      int    `db:"owner_id"`
	WorkspaceID  int    `db:"workspace_id"`
}

// refOf finds an experiment or a task by its job's id.
func refOf(ctx context.Context, db *database.DB, id string) (jobRef, error) {
	ref, err := database.Row[jobRef](ctx, db, "job "+id, `
		SELECT e.id AS experiment_id, '' AS task_id, e.owner_id, p.workspace_id
		FROM experiments e JOIN projects p ON p.id = e.project_id WHERE e.job_id::text = $1
		UNION ALL
		SELECT NULL, k.id, k.owner_id, `+tasks.Workspace+` FROM tasks k WHERE k.job_id::text = $1 AND k.type <> 'TRIAL'`, id)
	return ref, database.Missing(err, fault.New(fault.NotFound, "job %s not found", id))
}
