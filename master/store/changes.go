package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/trial"
	"github.com/detent-ml/detent/master/webhook"
)

// ErrStale means that a row has changed since the plan read it. Its bundle is not stored;
// the next cycle decides again.
var ErrStale = fault.New(fault.Conflict, "a row has changed since the plan was made")

// Changes are the rows that a bundle writes. Each change has the state that the plan read
// (Saw), and either all changes are stored or none.
type Changes struct {
	Experiments    []ExperimentChange
	Queue          []Work
	NewTrials      []NewTrial
	Trials         []TrialChange
	Reopened       []ReopenedTrial
	Tasks          []TaskChange
	NewAllocations []NewAllocation
	Allocations    []AllocationChange
	Placements     []Placement
	Events         []NewEvent
	Failures       []NodeFailures
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
	Continued  *int // the number of the request to continue that this change carries out; nil: none
}

// NewTrial is a trial that the search wants, with its task and, unless it is idle, its
// first attempt.
type NewTrial = trial.Row

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

// NewAllocation is an attempt to queue. It gets the priority that its task has when it is
// stored: a user may have changed it since the plan was made.
type NewAllocation struct {
	ID        string
	TaskID    string
	RunID     int
	Pool      string
	Slots     int
	Priority  int
	NotBefore *time.Time
	Exclude   []string
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
}

// Placement assigns nodes and slots to an attempt.
type Placement struct {
	AllocationID string
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
}

// NewEvent is an event for a search.
type NewEvent struct {
	ExperimentID int
	Trial        int
	Kind         string
	Body         json.RawMessage
}

func queueExperiment(b *statements, e ExperimentChange) {
	b.guarded(fmt.Sprintf("experiment %d", e.ID), `
		UPDATE experiments SET state = $3,
			error = CASE WHEN $11 = '' THEN $4 ELSE $4 || coalesce((SELECT $11 || t.error FROM trials t
				WHERE t.experiment_id = $1 AND t.error <> '' ORDER BY t.ended_at DESC NULLS LAST, t.id DESC LIMIT 1), '') END,
			ended_at = CASE WHEN $5 THEN coalesce(ended_at, now()) WHEN $9::int IS NULL THEN ended_at END,
			progress = CASE WHEN $10::int > 0 THEN (SELECT coalesce(sum(CASE WHEN t.state = 'COMPLETED' THEN 1 ELSE least(coalesce(t.progress, 0), 1) END), 0) / greatest($10, count(*))
					FROM trials t WHERE t.experiment_id = $1)
				ELSE coalesce($6, CASE WHEN $9 IS NULL THEN progress ELSE 0 END) END,
			best_metric = coalesce($8, CASE WHEN $9 IS NULL THEN best_metric END),
			best_trial_id = coalesce((SELECT id FROM trials WHERE experiment_id = $1 AND number = $7), CASE WHEN $9 IS NULL OR searcher = 'single' THEN best_trial_id END),
			continued = coalesce($9, continued), gc_applied = CASE WHEN $5 AND $2 <> $3 THEN NULL ELSE gc_applied END,
			delete_failed = CASE WHEN $3 = 'DELETE_FAILED' THEN delete_requests ELSE delete_failed END
		WHERE id = $1 AND state = $2`, e.ID, e.Saw, e.State, e.Error, e.Ended, e.Progress, e.BestTrial, e.BestMetric, e.Continued, e.Planned, e.OfTrial)
	webhook.QueueStateChange(b.queue, e.ID, e.Saw, e.State)
}

func queueReopened(b *statements, t ReopenedTrial) {
	b.guarded(fmt.Sprintf("trial %d", t.ID), `
		UPDATE trials SET state = CASE WHEN $3 THEN 'PAUSED' ELSE 'ACTIVE' END, ended_at = NULL, restarts = 0, error = '',
			stop_wanted = false, held = $3, target = $4, hparams = $2
		WHERE id = $1 AND ended_at IS NOT NULL`, t.ID, t.HParams, t.Held, t.Target)
	b.guarded("part of task "+t.TaskID, `
		INSERT INTO task_parts (task_id, n, first_run, first_line, ended_before, exit_before)
		SELECT k.id, 1 + `+trial.NewestPart("k.id")+`, t.run_id + 1, coalesce(l.next, 1), k.ended_at, k.exit_status
		FROM tasks k JOIN trials t ON t.task_id = k.id LEFT JOIN log_tasks l ON l.task_id = k.id WHERE k.id = $1 AND k.ended_at IS NOT NULL`, t.TaskID)
	b.guarded("task "+t.TaskID, `
		UPDATE tasks SET ended_at = NULL, exit_status = '', unstarted = 0, queued_at = NULL WHERE id = $1 AND ended_at IS NOT NULL`, t.TaskID)
	b.queue(`DELETE FROM log_matches WHERE task_id = $1`, t.TaskID) // like its restarts
}

// nextTrial is the id of a new trial.
const nextTrial = `nextval(pg_get_serial_sequence('trials', 'id'))::int`

func queueNewTrial(b *statements, t NewTrial) {
	b.guarded("task "+t.TaskID, `
		INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, experiment_id, name, context_hash, pool, slots, priority, session_epoch)
		SELECT $2, 'TRIAL', e.job_id, e.owner_id, p.workspace_id, e.id, $3, e.context_hash, e.pool, e.slots_per_trial, e.priority, e.session_epoch
		FROM experiments e JOIN projects p ON p.id = e.project_id WHERE e.id = $1`, t.ExperimentID, t.TaskID, t.Name)
	b.guarded(fmt.Sprintf("trial %d of experiment %d", t.Number, t.ExperimentID), `
		INSERT INTO trials (id, experiment_id, number, task_id, hparams, seed, state, warm_start, run_id, held, target) OVERRIDING SYSTEM VALUE
		VALUES (coalesce($12, `+nextTrial+`), $1, $2, $3, $4, $5, CASE WHEN $11 THEN 'PAUSED' ELSE 'ACTIVE' END,
			coalesce($6::uuid, (SELECT c.uuid FROM checkpoints c JOIN trials o ON o.id = c.trial_id
			WHERE o.experiment_id = $1 AND o.number = $10 AND c.state = 'COMPLETED' ORDER BY c.steps DESC, c.reported_at DESC LIMIT 1)),
			CASE WHEN $7 THEN 0 ELSE 1 END, $8, $9)`,
		t.ExperimentID, t.Number, t.TaskID, t.HParams, t.Seed, t.WarmStart, t.Idle, t.Held, t.Target, t.From, t.Paused, t.ID)
	if t.Number == 0 && t.ID == nil { // the only trial of an experiment is its best from the beginning, as in Determined
		b.queue(`UPDATE experiments e SET best_trial_id = t.id FROM trials t
			WHERE e.id = $1 AND e.searcher = 'single' AND e.best_trial_id IS NULL AND t.experiment_id = e.id AND t.number = 0`, t.ExperimentID)
	}
}

func queueTrial(b *statements, t TrialChange) {
	b.guarded(fmt.Sprintf("trial %d", t.ID), `
		UPDATE trials SET state = $3, restarts = $4, run_id = $5, stop_wanted = $6, error = $7, ended_at = CASE WHEN $8 THEN now() END,
			held = $9, target = $10
		WHERE id = $1 AND state = $2`, t.ID, t.Saw, t.State, t.Restarts, t.RunID, t.StopWanted, t.Error, t.Ended, t.Held, t.Target)
}

func queueAllocation(b *statements, a AllocationChange) {
	if a.Unstarted {
		// A claim locks the row. Lock it before the UPDATE: an UPDATE that waits for the
		// lock would have checked for claims before it waited.
		b.queue("SELECT FROM allocations WHERE id = $1 FOR NO KEY UPDATE", a.ID)
	}
	b.guarded("attempt "+a.ID, `
		UPDATE allocations SET state = $3,
			preempt_at = CASE WHEN $4::text IS NULL THEN preempt_at ELSE coalesce(preempt_at, now()) END,
			preempt_reason = coalesce($4, preempt_reason),
			kill_at = CASE WHEN $5::text IS NULL THEN kill_at ELSE coalesce(kill_at, now()) END,
			kill_reason = CASE WHEN $5::text IS NULL OR kill_at IS NOT NULL THEN kill_reason ELSE $5 END,
			kill_cause = CASE WHEN $5::text IS NULL OR kill_at IS NOT NULL THEN kill_cause ELSE $6 END,
			started_at = CASE WHEN $7 THEN coalesce(started_at, now()) ELSE started_at END,
			ended_at = CASE WHEN $8 THEN now() END,
			outcome = nullif($9, ''), exit_code = $10, exit_reason = $11,
			waiting_reason = coalesce($12, waiting_reason), pool = coalesce($14, pool)
		WHERE id = $1 AND state = $2 AND NOT ($13 AND $15 <> (
			SELECT count(*) FROM members m WHERE m.allocation_id = $1 AND m.claimed_at IS NOT NULL))`, a.ID, a.Saw, a.State, a.Preempt,
		a.Kill, a.KillCause, a.Started, a.Ended, a.Outcome, a.ExitCode, a.ExitReason, a.Waiting, a.Unstarted, a.Pool, a.Claimed)
	if a.Kill != nil {
		queueForAttempt(b, WorkStop, a.ID, "(a.tried_at IS NOT NULL OR a.submitted_at IS NOT NULL) AND a.stopped_at IS NULL")
	}
	if a.Ended { // delete the session with which the program acts for its owner, and the data of its all-gathers
		b.queue("DELETE FROM sessions WHERE allocation_id = $1", a.ID)
		b.queue("DELETE FROM gathers WHERE allocation_id = $1", a.ID)
		b.queue(recordUsage, a.ID)
	}
}

func queueNewAllocation(b *statements, a NewAllocation) {
	if a.Exclude == nil {
		a.Exclude = []string{}
	}
	b.guarded("attempt "+a.ID, `
		WITH t AS (UPDATE tasks SET queued_at = coalesce(queued_at, now()) WHERE id = $2 RETURNING id, priority, queued_at)
		INSERT INTO allocations (id, task_id, run_id, pool, slots, priority, not_before, exclude, queued_at)
		SELECT $1, t.id, $3, $4, $5, t.priority, $6, $7, t.queued_at FROM t`,
		a.ID, a.TaskID, a.RunID, a.Pool, a.Slots, a.NotBefore, a.Exclude)
}

func queuePlacement(b *statements, p Placement) {
	queueForAttempt(b, WorkSubmit, p.AllocationID, "a.state = 'PENDING'")
	b.guarded("attempt "+p.AllocationID, `
		UPDATE allocations SET state = 'ASSIGNED', assigned_at = now(), waiting_reason = '' WHERE id = $1 AND state = 'PENDING'`, p.AllocationID)
	for _, m := range p.Members {
		b.guarded("member of "+p.AllocationID, `
			INSERT INTO members (allocation_id, rank, node_id, node_name, slot_ids, devices, model) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			p.AllocationID, m.Rank, m.NodeID, m.NodeName, append([]int{}, m.SlotIDs...), append([]string{}, m.Devices...), m.Model)
	}
	b.queue(recordUsage, p.AllocationID)
}

// queueEvents adds a bundle's events. It locks the counter row of the experiment. Bundles
// are in the order of experiments, so masters lock these rows in the same order as
// AppendEvents does.
func queueEvents(b *statements, events []NewEvent) {
	byExperiment := map[int][]NewEvent{}
	for _, e := range events {
		byExperiment[e.ExperimentID] = append(byExperiment[e.ExperimentID], e)
	}
	for _, id := range sortedKeys(byExperiment) {
		list := byExperiment[id]
		kinds, trials, bodies := make([]string, len(list)), make([]int, len(list)), make([]string, len(list))
		for i, e := range list {
			kinds[i], trials[i], bodies[i] = e.Kind, e.Trial, string(e.Body)
		}
		b.queue(`
			WITH c AS (
				INSERT INTO search_counters AS c (experiment_id, next) VALUES ($1, 1 + $2::bigint)
				ON CONFLICT (experiment_id) DO UPDATE SET next = c.next + excluded.next - 1 RETURNING next)
			INSERT INTO search_events (experiment_id, seq, kind, trial, body)
			SELECT $1, c.next - $2::bigint + u.n - 1, u.kind, u.trial, u.body::jsonb
			FROM c, unnest($3::text[], $4::int[], $5::text[]) WITH ORDINALITY AS u(kind, trial, body, n)`, id, len(list), kinds, trials, bodies)
	}
}

// AppendEvents adds events to their searches, numbered without gaps. It locks the counter
// row of each experiment until the commit, so that numbers become visible in order, and
// locks these rows in the order of ids, so that two writers cannot deadlock.
func AppendEvents(ctx context.Context, db *database.DB, events []NewEvent) error {
	if len(events) == 0 {
		return nil
	}
	perExperiment := map[int]int{}
	for _, e := range events {
		perExperiment[e.ExperimentID]++
	}
	ids := sortedKeys(perExperiment)
	counts := make([]int, len(ids))
	for i, id := range ids {
		counts[i] = perExperiment[id]
	}
	type counter struct {
		ID   int   `db:"experiment_id"`
		Next int64 `db:"next"`
	}
	counters, err := database.Rows[counter](ctx, db, `
		INSERT INTO search_counters AS c (experiment_id, next)
		SELECT id, 1 + n FROM unnest($1::int[], $2::bigint[]) AS u(id, n) ORDER BY id
		ON CONFLICT (experiment_id) DO UPDATE SET next = c.next + excluded.next - 1
		RETURNING experiment_id, next`, ids, counts)
	if err != nil {
		return err
	}
	next := map[int]int64{}
	for _, c := range counters {
		next[c.ID] = c.Next - int64(perExperiment[c.ID])
	}
	n := len(events)
	experiments, seqs, kinds, trials, bodies := make([]int, n), make([]int64, n), make([]string, n), make([]int, n), make([]string, n)
	for i, e := range events {
		experiments[i], seqs[i], kinds[i], trials[i], bodies[i] = e.ExperimentID, next[e.ExperimentID], e.Kind, e.Trial, string(e.Body)
		next[e.ExperimentID]++
	}
	_, err = db.Exec(ctx, `
		INSERT INTO search_events (experiment_id, seq, kind, trial, body)
		SELECT e, s, k, t, b::jsonb FROM unnest($1::int[], $2::bigint[], $3::text[], $4::int[], $5::text[]) AS u(e, s, k, t, b)`,
		experiments, seqs, kinds, trials, bodies)
	return err
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
	}
	return all
}

// AppendValidations adds validations of trials to their searches, as AppendEvents.
func AppendValidations(ctx context.Context, db *database.DB, list []metrics.Validated) error {
	events := make([]NewEvent, len(list))
	for i, v := range list {
		body, err := json.Marshal(v.Validation)
		if err != nil {
			return err
		}
		events[i] = NewEvent{ExperimentID: v.ExperimentID, Trial: v.Trial, Kind: search.Validated, Body: body}
	}
	return AppendEvents(ctx, db, events)
}
