package tasks

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/trial"
)

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
}

var attemptSelect = `
	SELECT a.id, a.task_id, ` + trial.PartOfRun("a.task_id", "a.run_id") + ` AS part, k.name AS task_name, k.type AS task_type, k.owner_id, ` + Workspace + ` AS workspace_id, k.experiment_id,
		(SELECT t.id FROM trials t WHERE t.task_id = k.id) AS trial_id, a.pool, a.slots, a.priority, a.state, a.queued_at, a.started_at, a.ended_at,
		a.exit_code, a.exit_reason, a.is_ready, ` + WaitingReason + ` AS waiting_reason
	FROM allocations a JOIN tasks k ON k.id = a.task_id`

// Attempts lists the attempts of a part of a task, the newest first.
func Attempts(ctx context.Context, db *database.DB, task string, p Part) ([]Attempt, error) {
	return database.Rows[Attempt](ctx, db, attemptSelect+` WHERE a.task_id = $1 AND `+trial.HoldsRun("$2", "$3")+` ORDER BY a.run_id DESC`, task, p.FromRun, p.ToRun)
}

// GetAttempt reads an attempt.
func GetAttempt(ctx context.Context, db *database.DB, id string) (Attempt, error) {
	return database.Row[Attempt](ctx, db, "allocation "+id, attemptSelect+` WHERE a.id = $1`, id)
}

// LiveAttempts lists the attempts that have not ended.
func LiveAttempts(ctx context.Context, db *database.DB, in auth.Scope) ([]Attempt, error) {
	return database.Rows[Attempt](ctx, db, attemptSelect+` WHERE a.state <> 'TERMINATED'
		AND ($1::int[] IS NULL OR k.workspace_id = ANY($1)) ORDER BY a.queued_at, a.id`, in.Only())
}

// WaitingReason is why, in SQL, attempt a waits: in the queue, or because Nomad has not accepted its
// job yet.
const WaitingReason = `CASE WHEN a.state = 'ASSIGNED' AND a.submitted_at IS NULL AND a.submit_error <> ''
	THEN 'Nomad has not accepted the job yet: ' || a.submit_error ELSE a.waiting_reason END`

// maxPortsListed is the number of ports in a list of all attempts: a task may have a hundred, and a user thousands of tasks.
const maxPortsListed = 20_000

// LivePorts are the ports of attempts that have begun and not ended, by attempt; of very many, those of each owner's newest.
// Before that nobody can open them.
func LivePorts(ctx context.Context, db *database.DB, in auth.Scope) (map[string]expconf.ProxyPorts, error) {
	return database.Map[string, expconf.ProxyPorts](ctx, db, `
		SELECT id, ports FROM (
			SELECT id, ports, sum(jsonb_array_length(ports)) OVER (ORDER BY own, id) AS listed FROM (
			SELECT id, ports, sum(jsonb_array_length(ports)) OVER (PARTITION BY owner_id ORDER BY claimed_at DESC, id) AS own FROM (
				SELECT a.id, k.owner_id, m.claimed_at, CASE WHEN k.type = 'TRIAL' THEN e.proxy_ports ELSE k.proxy_ports END AS ports
				FROM allocations a JOIN members m ON m.allocation_id = a.id AND m.rank = 0 AND m.claimed_at IS NOT NULL
				JOIN tasks k ON k.id = a.task_id LEFT JOIN experiments e ON e.id = k.experiment_id
				WHERE a.state <> 'TERMINATED' AND k.type <> 'CHECKPOINT_GC' AND ($1::int[] IS NULL OR k.workspace_id = ANY($1))) live
			WHERE jsonb_typeof(ports) = 'array' AND ports <> '[]') of_owner) numbered
		WHERE listed <= $2`, in.Only(), maxPortsListed)
}
