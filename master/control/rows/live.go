package rows

import (
	"context"
	"encoding/json"
	"time"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/reservations"
	"github.com/detent-ml/detent/master/workspaces"
)

// This file has the rows of the loop's snapshot: of all experiments, trials, tasks and
// attempts that may still change.

// LiveExperiment is an experiment that has not ended, that a user asked to continue after
// its end, or that is to be deleted.
type LiveExperiment struct {
	ID             int                    `db:"id"`
	OwnerID        int                    `db:"owner_id"`
	ProjectID      int                    `db:"project_id"`
	JobID          string                 `db:"job_id"`
	Name           string                 `db:"name"`
	State          string                 `db:"state"`
	Desired        string                 `db:"desired"`
	Unmanaged      bool                   `db:"unmanaged"`
	Config         json.RawMessage        `db:"config"`
	ContextHash    []byte                 `db:"context_hash"`
	Seed           int64                  `db:"seed"`
	Pool           string                 `db:"pool"`
	SlotsPerTrial  int                    `db:"slots_per_trial"`
	MaxSlots       *int                   `db:"max_slots"`
	Weight         float64                `db:"weight"`
	Priority       int                    `db:"priority"`
	Progress       *float64               `db:"progress"`
	BestTrialID    *int                   `db:"best_trial_id"`
	BestMetric     *float64               `db:"best_metric"`
	Error          string                 `db:"error"`
	Trials         int                    `db:"trials"` // number of its trials, ended or not; 0 if unmanaged, because it has no search
	DeleteRequests int                    `db:"delete_requests"`
	DeleteFailed   int                    `db:"delete_failed"`
	Files          checkpoints.FilesState `db:"files"`     // if it is being deleted
	FilesWhy       string                 `db:"files_why"` // why its files could not be removed
	Continues      int                    `db:"continues"`
	Continued      int                    `db:"continued"`     // requests to continue that were carried out; if less than Continues, it is to continue
	SearchConfig   json.RawMessage        `db:"search_config"` // the configuration with which its search began, if that is not Config
	WarmStart      *string                `db:"warm_start"`    // the checkpoint that its trials start from
	QueueTime      *time.Time             `db:"queue_time"`    // its time in the queue, if a user moved it; else nil
	Memory         int64                  `db:"memory"`        // maximum memory of its search, in bytes
	HasBudget      bool                   `db:"has_budget"`    // its search has a budget, and needs to know what its attempts cost
	Outlook        json.RawMessage        `db:"outlook"`       // see search.Outlook; nil: none
	// Unread means that this load has read neither the configuration nor the search's
	// events, because Known.Choose left the experiment out. Config then has only the fields
	// that running trials need.
	Unread bool `db:"-"`
}

// LiveTrial is a trial that has not ended, or any trial of an experiment that is to continue.
type LiveTrial struct {
	ID           int      `db:"id"`
	ExperimentID int      `db:"experiment_id"`
	Number       int      `db:"number"`
	TaskID       string   `db:"task_id"`
	State        string   `db:"state"`
	Restarts     int      `db:"restarts"`
	RunID        int      `db:"run_id"`
	StopWanted   bool     `db:"stop_wanted"`
	KillWanted   bool     `db:"kill_wanted"`
	Held         bool     `db:"held"`
	Target       *int64   `db:"target"`
	EarlyExit    *string  `db:"early_exit"`
	Progress     *float64 `db:"progress"`
	Unstarted    int      `db:"unstarted"`
	Ended        bool     `db:"ended"`
	HeldSeconds  float64  `db:"held_seconds"` // for which its ended attempts held their places

	QueuedAt *time.Time `db:"queued_at"` // when its first attempt was queued
}

// LiveTask is a task that is not a trial and has not ended. A paused task is one only until
// its attempt has ended.
type LiveTask struct {
	ID         string `db:"id"`
	Type       string `db:"type"`
	JobID      string `db:"job_id"`
	Owner      string `db:"owner"`     // name of its user
	Workspace  string `db:"workspace"` // its name
	Desired    string `db:"desired"`
	KillReason string `db:"kill_reason"`
	Pool       string `db:"pool"`
	Slots      int    `db:"slots"`
	Priority   int    `db:"priority"`
	Unstarted  int    `db:"unstarted"`
	Runs       int    `db:"runs"` // number of attempts so far

	QueueTime *time.Time `db:"queue_time"` // its time in the queue, if a user moved it; else nil
	QueuedAt  *time.Time `db:"queued_at"`  // when its first attempt was queued

	Nomad json.RawMessage `db:"nomad"` // environment.nomad of its configuration; nil if not set
	GPU   json.RawMessage `db:"gpu"`   // resources.gpu of its configuration; nil if not set
	// resources.cpus and resources.memory of its configuration; 0 if not set.
	CPUs   float64 `db:"cpus"`
	Memory int64   `db:"memory"`
	// Several: its configuration has resources.is_single_node: false.
	Several bool `db:"several"`
	// MaxRuntime is resources.max_runtime of its configuration; "" if not set. HeldSeconds: see LiveTrial.
	MaxRuntime  string  `db:"max_runtime"`
	HeldSeconds float64 `db:"held_seconds"`
	// Secrets: its configuration mounts secrets of Vault.
	Secrets bool `db:"secrets"`
}

// LiveAllocation is an attempt that has not ended.
type LiveAllocation struct {
	ID             string     `db:"id"`
	TaskID         string     `db:"task_id"`
	RunID          int        `db:"run_id"`
	Pool           string     `db:"pool"`
	Slots          int        `db:"slots"`
	Priority       int        `db:"priority"`
	QueuedAt       time.Time  `db:"queued_at"`
	NotBefore      *time.Time `db:"not_before"`
	Exclude        []string   `db:"exclude"`
	State          string     `db:"state"`
	WaitingReason  string     `db:"waiting_reason"`
	PreemptAt      *time.Time `db:"preempt_at"`
	PreemptAckedAt *time.Time `db:"preempt_acked_at"`
	PreemptAskedAt *time.Time `db:"preempt_asked_at"`
	PreemptReason  string     `db:"preempt_reason"`
	// PreemptSignalledAt is when it was decided that a signal preempts it.
	PreemptSignalledAt *time.Time   `db:"preempt_signalled_at"`
	KillAt             *time.Time   `db:"kill_at"`
	StoppedAt          *time.Time   `db:"stopped_at"` // when Nomad accepted the stop of its job
	KillReason         string       `db:"kill_reason"`
	KillCause          string       `db:"kill_cause"`
	AssignedAt         *time.Time   `db:"assigned_at"`
	StartedAt          *time.Time   `db:"started_at"`
	SubmittedAt        *time.Time   `db:"submitted_at"`
	TriedAt            *time.Time   `db:"tried_at"` // when its first submission was tried
	SubmitError        string       `db:"submit_error"`
	NoRoom             bool         `db:"no_room"`
	RefusedWhy         string       `db:"refused_why"`
	WarnedAt           *time.Time   `db:"warned_at"`  // when its log was told that the limit of its time is near
	LentUntil          *time.Time   `db:"lent_until"` // it holds slots that were lent until then; nil: it does not
	Members            []LiveMember `db:"-"`
}

// LiveMember is a member of an attempt that has not ended.
type LiveMember struct {
	AllocationID   string     `db:"allocation_id"`
	Rank           int        `db:"rank"`
	NodeID         string     `db:"node_id"`
	NodeName       string     `db:"node_name"`
	SlotIDs        []int      `db:"slot_ids"`
	Devices        []string   `db:"devices"`
	MHz            int        `db:"mhz"` // as Nomad counts its processors and its memory; 0 if an earlier release placed it
	MemoryMB       int        `db:"memory_mb"`
	NomadAllocID   string     `db:"nomad_alloc_id"`
	NomadStatus    string     `db:"nomad_status"`
	NomadDetail    string     `db:"nomad_detail"`
	NomadIndex     int64      `db:"nomad_index"`
	NomadEndedAt   *time.Time `db:"nomad_ended_at"`
	NomadExit      *int       `db:"nomad_exit"`
	Pulling        bool       `db:"pulling"`
	Started        bool       `db:"started"`
	StartedAt      *time.Time `db:"started_at"`
	Replaced       bool       `db:"replaced"`
	ClaimedAt      *time.Time `db:"claimed_at"`
	Daemon         bool       `db:"daemon"`
	ExitedAt       *time.Time `db:"exited_at"`
	ExitCode       *int       `db:"exit_code"`
	ExitReason     string     `db:"exit_reason"`
	Stopped        bool       `db:"stopped"`
	Unfit          bool       `db:"unfit"`
	Preempted      string     `db:"preempted"`
	LeftoverReadAt *time.Time `db:"leftover_read_at"`
}

// Live is one consistent snapshot.
type Live struct {
	Now         time.Time // the database's time
	Alarm       string
	Trust       bool              // an operator has confirmed Nomad's state (det master trust-nomad)
	Regions     map[string]Region // besides the master's own, whose alarm and trust are above
	Experiments []LiveExperiment
	Trials      []LiveTrial
	Tasks       []LiveTask
	Allocations []LiveAllocation
	Nodes       []nodes.Row
	Events      []experiments.SearchEvent // after those that Known.Seen names
	Workspaces  map[int]string            // names, by the projects of Experiments
	Owners      map[int]string            // names of the owners of Experiments
	Last        map[int]int64             // experiments that Known.Choose chose → their last event in the database; Events may end before it
	Later       map[int]bool              // experiments that Known.Choose chose and that this load did not read
	Matches     []LiveMatch               // matches of log policies with an action
	Failures    []nodes.FailureCount
	Bindings    []workspaces.Binding
	Quotas      []queue.Quota
	Reserved    reservations.Live
	DueGCs      []Work // experiments whose policy is to be applied to their checkpoints
}

// These queries read rows by ids, which LiveCache chooses. Each row comes with its version.
const (
	// runningConfig is the part of a configuration that the loop needs for running trials.
	runningConfig = `jsonb_build_object('max_restarts', e.max_restarts, 'preemption_timeout', e.preemption_timeout, 'preemption', e.preemption, 'resume', e.resume,
		'resources', jsonb_build_object('max_runtime', e.max_runtime))`

	experimentRows = `
	SELECT e.xmin AS row_version, e.id, e.owner_id, e.project_id, e.job_id::text, left(e.name, 1000) AS name, e.state, e.desired, e.unmanaged,
		CASE WHEN e.id = ANY($2) THEN '{}'::jsonb ELSE ` + runningConfig + ` END AS config, NULL::jsonb AS search_config, e.memory,
		e.context_hash, e.seed, e.pool, e.slots_per_trial, e.max_slots, e.weight, e.priority, e.progress,
		e.best_trial_id, e.best_metric, e.error, e.continues, e.continued, e.warm_start::text, e.queue_time, coalesce(jsonb_typeof(e.search_budget) = 'object', false) AS has_budget, e.outlook,
		CASE WHEN e.unmanaged THEN 0 ELSE (SELECT count(*) FROM trials t WHERE t.experiment_id = e.id) END AS trials, e.delete_requests, e.delete_failed,
		coalesce(CASE WHEN f.files = 'unplanned' AND ` + checkpoints.GCQueued + ` THEN 'removing' ELSE f.files END, CASE WHEN e.state <> 'DELETING' OR ` + checkpoints.GCRunning + ` OR ` + checkpoints.GCQueued + ` THEN 'removing' ELSE 'unplanned' END) AS files, coalesce(f.why, '') AS files_why
	FROM experiments e
	` + checkpoints.DeletedFiles + `
	WHERE e.id = ANY($1)`

	liveTrialSelect = `
	SELECT t.xmin AS row_version, k.xmin AS task_row_version, t.id, t.experiment_id, t.number, t.task_id, t.state, t.restarts, t.run_id, t.stop_wanted,
		t.kill_wanted, t.held, t.target, t.early_exit, t.progress, k.unstarted, t.ended_at IS NOT NULL AS ended, k.held_seconds, k.queued_at
	FROM trials t JOIN tasks k ON k.id = t.task_id`
	trialRows = liveTrialSelect + ` WHERE t.id = ANY($1)`
	// All trials of experiments that are to continue after their end.
	continuingTrials = liveTrialSelect + ` JOIN experiments e ON e.id = t.experiment_id
	WHERE e.continues > e.continued AND e.state IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETE_FAILED')`

	liveTasks = `
	SELECT k.id, k.type, k.job_id::text, u.username AS owner, w.name AS workspace, k.desired, k.kill_reason, k.pool, k.slots, k.priority, k.unstarted, k.queue_time, k.queued_at,
		CASE WHEN k.type <> 'CHECKPOINT_GC' THEN k.nomad END AS nomad,
		CASE WHEN k.type <> 'CHECKPOINT_GC' THEN k.gpu END AS gpu,
		CASE WHEN k.type <> 'CHECKPOINT_GC' THEN k.cpus ELSE 0 END AS cpus, CASE WHEN k.type <> 'CHECKPOINT_GC' THEN k.memory ELSE 0 END AS memory,
		k.type <> 'CHECKPOINT_GC' AND k.several AS several,
		k.type <> 'CHECKPOINT_GC' AND k.mounts_secrets AS secrets,
		coalesce(k.max_runtime, '') AS max_runtime, k.held_seconds,
		(SELECT count(*) FROM allocations a WHERE a.task_id = k.id) AS runs
	FROM tasks k JOIN users u ON u.id = k.owner_id JOIN workspaces w ON w.id = k.workspace_id
	WHERE k.ended_at IS NULL AND k.type <> 'TRIAL'
		AND (k.desired <> 'pause' OR EXISTS (SELECT FROM allocations a WHERE a.task_id = k.id AND a.state <> 'TERMINATED'))
	ORDER BY k.created_at, k.id`

	allocationRows = `
	SELECT xmin AS row_version, id, task_id, run_id, pool, slots, priority, queued_at, not_before, exclude, state, waiting_reason, preempt_at,
		preempt_acked_at, preempt_asked_at, preempt_signalled_at, preempt_reason, stopped_at, kill_at, kill_reason, kill_cause, assigned_at, started_at, submitted_at, tried_at, submit_error, no_room,
		refused_why, warned_at, lent_until
	FROM allocations WHERE id = ANY($1)`

	memberRows = `
	SELECT m.xmin AS row_version, m.allocation_id, m.rank, m.node_id, m.node_name, m.slot_ids, m.devices, m.mhz, m.memory_mb, m.nomad_alloc_id, m.nomad_status, m.nomad_detail, m.nomad_index,
		m.nomad_ended_at, m.nomad_exit, m.pulling, m.started, m.started_at, m.replaced, m.claimed_at, m.daemon, m.exited_at, m.exit_code, m.exit_reason, m.stopped, m.unfit, m.preempted, m.leftover_read_at
	FROM members m WHERE m.allocation_id = ANY($1) ORDER BY m.allocation_id, m.rank`
)

// LoadLive reads everything that may still change, in one snapshot.
func LoadLive(ctx context.Context, db *database.DB, known Known) (*Live, error) {
	return NewLiveCache(db).Load(ctx, known)
}

// LiveMatch is a match whose policy has an action for the trial's next attempts.
type LiveMatch struct {
	TaskID   string `db:"task_id"`
	NodeID   string `db:"node_id"`
	NodeName string `db:"node_name"`
	Policy   string `db:"policy"`
	Pattern  string `db:"pattern"`
	Action   string `db:"action"`
	Line     string `db:"line"`
}

// liveMatches reads the matches of trials that may still run. If an experiment was
// continued after its end, only matches since then count.
const liveMatches = `
	SELECT m.task_id, m.node_id, m.node_name, left(m.policy, 300) AS policy, left(m.pattern, 300) AS pattern, m.action, left(m.line, 300) AS line
	FROM log_matches m JOIN trials t ON t.task_id = m.task_id JOIN experiments e ON e.id = t.experiment_id
	WHERE t.ended_at IS NULL AND m.action <> '' AND m.counts AND (e.continued_at IS NULL OR m.at > e.continued_at) ORDER BY m.id`

const liveFailures = `
	SELECT f.experiment_id, f.node_id, f.node_name, f.failures, f.avoided
	FROM node_failures f JOIN experiments e ON e.id = f.experiment_id
	WHERE f.failures > 0 AND e.state NOT IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETE_FAILED')
	ORDER BY f.experiment_id, f.node_name, f.node_id`

// queueFailures stores a count, unless the experiment has been deleted.
func queueFailures(b *database.Statements, f nodes.FailureCount) {
	b.Queue(`
		INSERT INTO node_failures (experiment_id, node_id, node_name, failures, avoided)
		SELECT id, $2, $3, $4, $5 FROM experiments WHERE id = $1
		ON CONFLICT (experiment_id, node_id) DO UPDATE SET node_name = excluded.node_name, failures = excluded.failures,
			avoided = excluded.avoided, at = now()`, f.ExperimentID, f.NodeID, f.NodeName, f.Failures, f.Avoided)
}
