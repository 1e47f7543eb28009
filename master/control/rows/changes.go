package rows

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/queue/recording"
	"github.com/detent-ml/detent/master/tasks"
	"github.com/detent-ml/detent/master/trial"
	"github.com/detent-ml/detent/master/webhook"
)

// Changes are the rows that a bundle writes. Each change has the state that the plan read
// (Saw), and either all changes are stored or none.
type Changes struct {
	Experiments    []ExperimentChange
	Queue          []Work
	NewTrials      []trial.Row
	Trials         []TrialChange
	Reopened       []ReopenedTrial
	Tasks          []TaskChange
	NewAllocations []tasks.NewAttempt
	Allocations    []AllocationChange
	Placements     []Placement
	Events         []experiments.NewEvent
	Failures       []nodes.FailureCount
	Recorded       []recording.Frame // a record of plans, not a change
}

// Empty reports whether there are no changes.
func (c *Changes) Empty() bool {
	return len(c.Experiments)+len(c.Queue)+len(c.NewTrials)+len(c.Trials)+len(c.Reopened)+len(c.Tasks)+
		len(c.NewAllocations)+len(c.Allocations)+len(c.Placements)+len(c.Events)+len(c.Failures) == 0
}

// ExperimentChange changes an experiment's state. BestTrial is a trial's number.
type ExperimentChange struct {
	ID         int
	Saw        string
	State      string
	Error      string
	OfTrial    string // not empty: these words and the error of the trial that failed last follow Error
	Ended      bool
	Progress   *float64
	Planned    int // trials, if the experiment ends without completing: its progress is the mean of theirs
	BestTrial  *int
	BestMetric *float64
	Outlook    string // JSON, see search.Outlook; "": it has not changed
	Continued  *int   // the number of the request to continue that this change carries out; nil: none
}

// TrialChange changes a trial's state.
type TrialChange struct {
	ID         int
	Saw        string
	State      string
	Restarts   int
	RunID      int
	StopWanted bool
	Held       bool
	Target     *int64
	Error      string
	Ended      bool
}

// ReopenedTrial is a trial that runs again after its end. The columns that the API writes
// (requests of users, and what the trial reported about its end) were reset by the request
// to continue.
type ReopenedTrial struct {
	ID      int
	TaskID  string
	HParams json.RawMessage
	Held    bool
	Target  *int64
}

// TaskChange changes a task's state.
type TaskChange struct {
	ID         string
	Unstarted  int
	Ended      bool
	ExitStatus string
}

// AllocationChange changes an attempt's state. A nil pointer leaves its column unchanged.
type AllocationChange struct {
	ID         string
	Saw        string
	State      string
	Preempt    *string // the reason for a preemption
	Kill       *string
	KillCause  string
	Started    bool
	Ended      bool
	Unstarted  bool     // no member has started its program
	Claimed    int      // with Unstarted: how many members' runners have claimed; if another has since, the change is stale
	Unhealthy  string   // its unhealthy devices, for its log; not stored in the row
	Final      []string // why its trial does not restart, lines for its log; not stored in the row
	Outcome    string
	ExitCode   *int
	ExitReason string
	Waiting    *string
	Pool       *string // the pool to wait in from now on
	Warn       string  // a line for its log: the limit of its time is near; only that it was written is stored in the row
}

// Placement assigns nodes and slots to an attempt.
type Placement struct {
	AllocationID string
	LentUntil    *time.Time // its slots are lent until then; nil: they are not
	Members      []PlacedMember
}

// PlacedMember is the part of a placement on one node.
type PlacedMember struct {
	Rank     int
	NodeID   string
	NodeName string
	SlotIDs  []int
	Devices  []string // ids of the slots' devices; empty if the slots are cores
	Model    string   // of the devices
	MHz      int      // as Nomad counts its processors and its memory; 0 if its node does not say what it has
	MemoryMB int
}

func queueExperiment(b *database.Statements, e ExperimentChange) {
	b.QueueOne(fmt.Sprintf("experiment %d", e.ID), `
		UPDATE experiments SET state = $3,
			error = CASE WHEN $11 = '' THEN $4 ELSE $4 || coalesce((SELECT $11 || t.error FROM trials t
				WHERE t.experiment_id = $1 AND t.error <> '' ORDER BY t.ended_at DESC NULLS LAST, t.id DESC LIMIT 1), '') END,
			ended_at = CASE WHEN $5 THEN coalesce(ended_at, now()) WHEN $9::int IS NULL THEN ended_at END,
			progress = CASE WHEN $10::int > 0 THEN (SELECT coalesce(sum(CASE WHEN t.state = 'COMPLETED' THEN 1 ELSE least(coalesce(t.progress, 0), 1) END), 0) / greatest($10, count(*))
					FROM trials t WHERE t.experiment_id = $1)
				ELSE coalesce($6, CASE WHEN $9 IS NULL THEN progress ELSE 0 END) END,
			best_metric = coalesce($8, CASE WHEN $9 IS NULL THEN best_metric END),
			best_trial_id = coalesce((SELECT id FROM trials WHERE experiment_id = $1 AND number = $7), CASE WHEN $9 IS NULL OR searcher = 'single' THEN best_trial_id END),
			outlook = coalesce(nullif($12, '')::json, outlook), continued = coalesce($9, continued), gc_applied = CASE WHEN $5 AND $2 <> $3 THEN NULL ELSE gc_applied END,
			delete_failed = CASE WHEN $3 = 'DELETE_FAILED' THEN delete_requests ELSE delete_failed END
		WHERE id = $1 AND state = $2`, e.ID, e.Saw, e.State, e.Error, e.Ended, e.Progress, e.BestTrial, e.BestMetric, e.Continued, e.Planned, e.OfTrial, e.Outlook)
	webhook.QueueStateChange(b.Queue, e.ID, e.Saw, e.State)
}

func queueReopened(b *database.Statements, t ReopenedTrial) {
	b.QueueOne(fmt.Sprintf("trial %d", t.ID), `
		UPDATE trials n SET state = CASE WHEN $3 THEN 'PAUSED' ELSE 'ACTIVE' END, ended_at = NULL, restarts = 0, error = '',
			stop_wanted = false, held = $3, target = $4, hparams = $2,
			warm_start = CASE WHEN n.origin_until IS NULL THEN n.warm_start ELSE coalesce((`+checkpoints.StartOf("n")+`), n.warm_start) END
		WHERE n.id = $1 AND n.ended_at IS NOT NULL`, t.ID, t.HParams, t.Held, t.Target)
	b.QueueOne("part of task "+t.TaskID, `
		INSERT INTO task_parts (task_id, n, first_run, first_line, ended_before, exit_before)
		SELECT k.id, 1 + `+trial.NewestPart("k.id")+`, t.run_id + 1, coalesce(l.next, 1), k.ended_at, k.exit_status
		FROM tasks k JOIN trials t ON t.task_id = k.id LEFT JOIN log_tasks l ON l.task_id = k.id WHERE k.id = $1 AND k.ended_at IS NOT NULL`, t.TaskID)
	b.QueueOne("task "+t.TaskID, `
		UPDATE tasks SET ended_at = NULL, exit_status = '', unstarted = 0, queued_at = NULL, held_seconds = 0 WHERE id = $1 AND ended_at IS NOT NULL`, t.TaskID)
	b.Queue(`DELETE FROM log_matches WHERE task_id = $1`, t.TaskID) // like its restarts
}

func queueTrial(b *database.Statements, t TrialChange) {
	b.QueueOne(fmt.Sprintf("trial %d", t.ID), `
		UPDATE trials SET state = $3, restarts = $4, run_id = $5, stop_wanted = $6, error = $7, ended_at = CASE WHEN $8 THEN now() END,
			held = $9, target = $10
		WHERE id = $1 AND state = $2`, t.ID, t.Saw, t.State, t.Restarts, t.RunID, t.StopWanted, t.Error, t.Ended, t.Held, t.Target)
}

func queueAllocation(b *database.Statements, a AllocationChange) {
	if a.Unstarted {
		// A claim locks the row. Lock it before the UPDATE: an UPDATE that waits for the
		// lock would have checked for claims before it waited.
		b.Queue("SELECT FROM allocations WHERE id = $1 FOR NO KEY UPDATE", a.ID)
	}
	b.QueueOne("attempt "+a.ID, `
		UPDATE allocations SET state = $3,
			preempt_at = CASE WHEN $4::text IS NULL THEN preempt_at ELSE coalesce(preempt_at, now()) END,
			preempt_reason = coalesce($4, preempt_reason),
			kill_at = CASE WHEN $5::text IS NULL THEN kill_at ELSE coalesce(kill_at, now()) END,
			kill_reason = CASE WHEN $5::text IS NULL OR kill_at IS NOT NULL THEN kill_reason ELSE $5 END,
			kill_cause = CASE WHEN $5::text IS NULL OR kill_at IS NOT NULL THEN kill_cause ELSE $6 END,
			started_at = CASE WHEN $7 THEN coalesce(started_at, now()) ELSE started_at END,
			ended_at = CASE WHEN $8 THEN now() END,
			outcome = nullif($9, ''), exit_code = $10, exit_reason = $11,
			waiting_reason = coalesce($12, waiting_reason), pool = coalesce($14, pool),
			warned_at = CASE WHEN $16 THEN coalesce(warned_at, now()) ELSE warned_at END
		WHERE id = $1 AND state = $2 AND NOT ($13 AND $15 <> (
			SELECT count(*) FROM members m WHERE m.allocation_id = $1 AND m.claimed_at IS NOT NULL))`, a.ID, a.Saw, a.State, a.Preempt,
		a.Kill, a.KillCause, a.Started, a.Ended, a.Outcome, a.ExitCode, a.ExitReason, a.Waiting, a.Unstarted, a.Pool, a.Claimed, a.Warn != "")
	if a.Kill != nil {
		queueForAttempt(b, WorkStop, a.ID, "(a.tried_at IS NOT NULL OR a.submitted_at IS NOT NULL) AND a.stopped_at IS NULL")
	}
	if a.Ended { // delete the session with which the program acts for its owner, and the data of its all-gathers
		b.Queue("DELETE FROM sessions WHERE allocation_id = $1", a.ID)
		b.Queue("DELETE FROM gathers WHERE allocation_id = $1", a.ID)
		b.Queue(queue.RecordUsage, a.ID)
		b.Queue(`UPDATE tasks k SET held_seconds = held_seconds + extract(epoch FROM a.ended_at - a.assigned_at)
			FROM allocations a WHERE a.id = $1 AND k.id = a.task_id AND a.assigned_at IS NOT NULL`, a.ID)
	}
}

func queuePlacement(b *database.Statements, p Placement) {
	queueForAttempt(b, WorkSubmit, p.AllocationID, "a.state = 'PENDING'")
	b.QueueOne("attempt "+p.AllocationID, `
		UPDATE allocations SET state = 'ASSIGNED', assigned_at = now(), waiting_reason = '', lent_until = $2 WHERE id = $1 AND state = 'PENDING'`, p.AllocationID, p.LentUntil)
	for _, m := range p.Members {
		b.QueueOne("member of "+p.AllocationID, `
			INSERT INTO members (allocation_id, rank, node_id, node_name, slot_ids, devices, model, mhz, memory_mb) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			p.AllocationID, m.Rank, m.NodeID, m.NodeName, append([]int{}, m.SlotIDs...), append([]string{}, m.Devices...), m.Model, m.MHz, m.MemoryMB)
	}
	b.Queue(queue.RecordUsage, p.AllocationID)
}

// queueEvents adds a bundle's events. It locks the counter row of the experiment. Bundles
// are in the order of experiments, so masters lock these rows in the same order as
// experiments.AppendEvents does.
func queueEvents(b *database.Statements, events []experiments.NewEvent) {
	byExperiment := each.Group(events, func(e experiments.NewEvent) int { return e.ExperimentID })
	for _, id := range sortedKeys(byExperiment) {
		list := byExperiment[id]
		kinds, trials, bodies := make([]string, len(list)), make([]int, len(list)), make([]string, len(list))
		for i, e := range list {
			kinds[i], trials[i], bodies[i] = e.Kind, e.Trial, string(e.Body)
		}
		b.Queue(`
			WITH c AS (
				INSERT INTO search_counters AS c (experiment_id, next) VALUES ($1, 1 + $2::bigint)
				ON CONFLICT (experiment_id) DO UPDATE SET next = c.next + excluded.next - 1 RETURNING next)
			INSERT INTO search_events (experiment_id, seq, kind, trial, body)
			SELECT $1, c.next - $2::bigint + u.n - 1, u.kind, u.trial, u.body::jsonb
			FROM c, unnest($3::text[], $4::int[], $5::text[]) WITH ORDINALITY AS u(kind, trial, body, n)`, id, len(list), kinds, trials, bodies)
	}
}

// MergeChanges merges the changes of all bundles, except those with a key in left.
func MergeChanges(bundles []Bundle, left map[string]error) *Changes {
	all := &Changes{}
	for i := range bundles {
		b := &bundles[i]
		if _, out := left[b.Key]; out {
			continue
		}
		all.Experiments = append(all.Experiments, b.Experiments...)
		all.Queue = append(all.Queue, b.Queue...)
		all.NewTrials = append(all.NewTrials, b.NewTrials...)
		all.Trials = append(all.Trials, b.Trials...)
		all.Reopened = append(all.Reopened, b.Reopened...)
		all.Tasks = append(all.Tasks, b.Tasks...)
		all.NewAllocations = append(all.NewAllocations, b.NewAllocations...)
		all.Allocations = append(all.Allocations, b.Allocations...)
		all.Placements = append(all.Placements, b.Placements...)
		all.Events = append(all.Events, b.Events...)
		all.Failures = append(all.Failures, b.Failures...)
		all.Recorded = append(all.Recorded, b.Recorded...)
	}
	return all
}
