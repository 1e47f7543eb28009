package attempts

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/tasks"
	"github.com/detent-ml/detent/master/trial"
)

// A Past is an attempt with its history.
type Past struct {
	ID            string     `db:"id"`
	TaskID        string     `db:"task_id"`
	Part          int        `db:"part"` // of the task
	TrialID       *int       `db:"trial_id"`
	Run           int        `db:"run_id"`
	Pool          string     `db:"pool"`
	Slots         int        `db:"slots"`
	State         string     `db:"state"`
	Outcome       *string    `db:"outcome"`
	QueuedAt      time.Time  `db:"queued_at"` // when this attempt began to wait
	AssignedAt    *time.Time `db:"assigned_at"`
	StartedAt     *time.Time `db:"started_at"`
	EndedAt       *time.Time `db:"ended_at"`
	PreemptAt     *time.Time `db:"preempt_at"`
	PreemptReason string     `db:"preempt_reason"`
	KillAt        *time.Time `db:"kill_at"`
	KillReason    string     `db:"kill_reason"`
	ExitCode      *int       `db:"exit_code"`
	ExitReason    string     `db:"exit_reason"`
	Waiting       string     `db:"waiting_reason"`
	Submitted     bool       `db:"submitted"`
}

// Filter chooses attempts: of one task, of the trials of an experiment, or on one node.
type Filter struct {
	Task       string
	Part       tasks.Part // of the task
	Experiment int
	Trial      int        // of the experiment; 0: all
	Node       string     // id
	In         auth.Scope // of attempts on a node
}

const pastAttemptsOf = ` FROM allocations a JOIN tasks k ON k.id = a.task_id LEFT JOIN trials t ON t.task_id = k.id`

func (f Filter) conditions() database.Conditions {
	var c database.Conditions
	switch {
	case f.Node != "":
		c.When(true, "a.id IN (SELECT allocation_id FROM members WHERE node_id = @node)", "node", f.Node)
		c.When(!f.In.All, "k.workspace_id = ANY(@scope::int[])", "scope", f.In.Only())
	case f.Task != "":
		c.When(true, "a.task_id = @task", "task", f.Task)
		c.When(true, trial.HoldsRun("@from", "@to"), "from", f.Part.FromRun)
		c.Args["to"] = f.Part.ToRun
	default:
		c.When(true, "t.experiment_id = @experiment", "experiment", f.Experiment)
		c.When(f.Trial != 0, "t.id = @trial", "trial", f.Trial)
	}
	return c
}

// count counts the attempts that List lists.
func count(ctx context.Context, db *database.DB, f Filter) (int, error) {
	c := f.conditions()
	return database.Scalar[int](ctx, db, `SELECT count(*)`+pastAttemptsOf+c.Where(), c.Args)
}

// attemptQueued is SQL for when an attempt began to wait: allocations.queued_at is that of its task.
const attemptQueued = `greatest(a.queued_at, a.created_at)`

// preemptReason is SQL for why an attempt was preempted. If the search never called the trial back, that became its end.
const preemptReason = `CASE WHEN t.ended_at IS NOT NULL AND a.run_id = t.run_id AND a.preempt_reason = '` + lifecycle.WhyHeld + `' THEN '` + lifecycle.WhyStopped + `' ELSE a.preempt_reason END`

// List lists attempts, the newest first.
func List(ctx context.Context, db *database.DB, f Filter, offset, limit int) ([]Past, error) {
	c := f.conditions()
	c.Args["offset"], c.Args["limit"] = offset, limit
	return database.Rows[Past](ctx, db, `SELECT a.id, a.task_id, `+trial.PartOfRun("a.task_id", "a.run_id")+` AS part, t.id AS trial_id, a.run_id, a.pool, a.slots, a.state, a.outcome, `+attemptQueued+` AS queued_at, a.assigned_at,
		a.started_at, a.ended_at, a.preempt_at, `+preemptReason+` AS preempt_reason, a.kill_at, a.kill_reason, a.exit_code, a.exit_reason,
		CASE WHEN a.state = 'TERMINATED' THEN '' ELSE `+tasks.WaitingReason+` END AS waiting_reason, a.submitted_at IS NOT NULL AS submitted`+pastAttemptsOf+c.Where()+`
		ORDER BY queued_at DESC, a.task_id DESC, a.run_id DESC OFFSET @offset LIMIT @limit`, c.Args)
}

// A pastMember is the part of an attempt on one node.
type pastMember struct {
	AllocationID string     `db:"allocation_id"`
	Rank         int        `db:"rank"`
	Node         string     `db:"node_name"`
	SlotIDs      []int      `db:"slot_ids"`
	NomadAllocID string     `db:"nomad_alloc_id"`
	EndedAt      *time.Time `db:"ended_at"`
	ExitCode     *int       `db:"exit_code"`
	ExitReason   string     `db:"exit_reason"`
}

// pastMembers lists the members of attempts by rank.
func pastMembers(ctx context.Context, db *database.DB, attempts []string) (map[string][]pastMember, error) {
	list, err := database.Rows[pastMember](ctx, db, `
		SELECT allocation_id, rank, node_name, slot_ids, nomad_alloc_id, coalesce(exited_at, nomad_ended_at) AS ended_at,
			coalesce(exit_code, nomad_exit) AS exit_code, CASE WHEN exit_reason <> '' THEN exit_reason ELSE nomad_detail END AS exit_reason
		FROM members WHERE allocation_id = ANY($1) ORDER BY allocation_id, rank`, attempts)
	return each.Group(list, func(m pastMember) string { return m.AllocationID }), err
}
