package control

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/trial"
)

// Decide is the whole of the loop's judgement: what should change, given what
// is. It does no I/O and keeps nothing.
//
// The order is the order of consequence: what Nomad and the runners say ends
// attempts, ends of attempts move trials, requests of users and searches move experiments
// and, through them, trials; what then wants to run is queued, and the scheduler
// gives places to what is in the queue, new requests included.
//
// What goes wrong with one experiment, task or pool stays with it.
func Decide(p *Snapshot) *Plan {
	d := &decider{p: p, plan: &Plan{}, byKey: map[string]int{}, moves: map[string]*move{}, counts: countsOf(p)}
	for _, e := range p.Experiments {
		d.experimentBundle(e)
	}
	for _, t := range p.Tasks {
		d.taskBundle(t)
	}
	for _, w := range p.Collect {
		b := d.of("files of experiment " + w.Subject)
		b.Queue = append(b.Queue, w)
	}
	if !p.Frozen {
		d.schedule()
	}
	d.finish()
	return d.plan
}

type decider struct {
	p          *Snapshot
	plan       *Plan
	byKey      map[string]int // bundles of the plan
	placements []placement
	key        string         // of the bundle that is being made
	out        *store.Changes // what it changes so far
	fresh      []string       // the moves that it has begun
	moves      map[string]*move
	queue      []queued // attempts made in this pass, for the scheduler
	counts     nodeCounts
	newBytes   int                       // that the hyperparameters of the trials take that are made in this pass
	outOfUse   map[string]*store.NodeRow // nodes of which something is, by id
	remains    map[remainsKey]remaining  // what remainingNodes has found in this pass
	// shares are what attempts hold, by node; with several pools.
	shares map[string][]share
}

// experiment moves one experiment and its trials.
func (d *decider) experiment(e *Experiment) error {
	if e.continuing() {
		if e.Unread && needsSearch(&e.LiveExperiment) { // which trials go on only its search knows
			return nil
		}
		return d.continueExperiment(e)
	}
	status, why := d.searchStatus(e)
	state := lifecycle.State(e.State)
	files, stuck := deletion(e)
	step := lifecycle.Experiment{State: state, Desired: lifecycle.Desired(e.Desired), Search: status, Why: cmp.Or(stuck, why, e.lasting()),
		Live: len(e.Trials), Unmanaged: e.Unmanaged, Files: files, Again: e.DeleteRequests > e.DeletesFailed}.Step()
	if step.Remove {
		d.out.Queue = append(d.out.Queue, store.EraseWork(e.ID, e.OwnerID))
		return nil
	}
	if e.Files == store.FilesUnplanned && state == lifecycle.Deleting {
		d.out.Queue = append(d.out.Queue, store.GCWork(e.ID, e.OwnerID))
	}
	if step.State != "" {
		state = step.State
	}
	live := 0
	for _, t := range e.Trials {
		if ended := d.trial(e, t, state); !ended {
			live++
		}
	}
	if state == lifecycle.Active && e.Search != nil && e.Broken == "" {
		made, err := d.newTrials(e, live)
		if err != nil {
			return err
		}
		live += made
	}
	if state.Stopping() && live == 0 { // the last trial ended in this pass
		again := lifecycle.Experiment{State: state, Desired: lifecycle.Desired(e.Desired), Why: cmp.Or(step.Error, e.lasting())}.Step()
		if again.State != "" {
			state = again.State
		}
	}
	why = cmp.Or(step.Error, e.lasting())
	if state == lifecycle.Active || state == lifecycle.Paused {
		why = cmp.Or(why, e.Aside)
	}
	d.experimentChange(e, state, why)
	d.out.Failures = d.counts.changes(e.ID)
	return nil
}

// lasting is the error of an experiment that stays. That it is set aside passes.
func (e *Experiment) lasting() string {
	if strings.HasPrefix(e.Error, asideWord) {
		return ""
	}
	return e.Error
}

func (d *decider) searchStatus(e *Experiment) (lifecycle.SearchStatus, string) {
	if e.Broken != "" {
		return lifecycle.SearchBroken, e.Broken
	}
	if e.Search == nil || e.Trials == nil && e.LiveExperiment.Trials == 0 && e.Search.Len() > 0 {
		return lifecycle.Searching, ""
	}
	return e.Search.Status()
}

// experimentChange adds a change when anything differs from the row.
func (d *decider) experimentChange(e *Experiment, state lifecycle.State, why string) {
	c := store.ExperimentChange{ID: e.ID, Saw: e.State, State: string(state), Error: why, Ended: state.Terminal()}
	changed := c.State != e.State || why != e.Error
	if e.Search != nil && !state.Terminal() || e.Search != nil && c.State != e.State {
		if state == lifecycle.Errored || state == lifecycle.Canceled { // a trial that failed counts as what it reached
			c.Planned = max(e.Search.Planned(), 1)
		} else if p := d.progress(e, state); !state.Stopping() && (e.Progress == nil || abs(p-*e.Progress) >= 0.005 || p == 1 && *e.Progress != 1) {
			c.Progress, changed = &p, true
		}
		trial, metric := e.Search.Best()
		if metric != nil && (e.BestMetric == nil || *e.BestMetric != *metric) {
			c.BestTrial, c.BestMetric, changed = &trial, metric, true
		}
	}
	if changed {
		d.out.Experiments = append(d.out.Experiments, c)
	}
}

func (d *decider) progress(e *Experiment, state lifecycle.State) float64 {
	if state == lifecycle.Done {
		return 1
	}
	trials := map[int]float64{}
	for _, t := range e.Trials {
		if t.Progress != nil {
			trials[t.Number] = *t.Progress
		}
	}
	return e.Search.Progress(trials)
}

// Bounds on what one experiment may have the loop make: so many trials in a pass, and
// so many that have not ended. What its search wants beyond that is made later.
const (
	maxNewTrials  = 200
	maxLiveTrials = 5_000
	// newTrialsShare is which part of the bytes that are left to a pass (of
	// trial.MaxBytes for all experiments) one experiment may take: the others come
	// after it.
	newTrialsShare = 8
	// smallTrial is a trial so small that each experiment may make one in a pass,
	// whatever the others take.
	smallTrial = 1 << 10
)

// newTrials makes the trials that the search wants and that are not there yet,
// each with its first attempt. live is how many of those that are there have not
// ended.
func (d *decider) newTrials(e *Experiment, live int) (int, error) {
	made, bytes := 0, 0
	left := trial.MaxBytes - d.newBytes
	for number := e.LiveExperiment.Trials; number < e.Search.Len() && made < min(maxNewTrials, maxLiveTrials-live); number++ {
		t, err := trial.New(trial.Owner{ID: e.ID, JobID: e.JobID, WarmStart: e.WarmStart}, e.Search, number)
		if err != nil {
			return made, err
		}
		size := len(t.HParams)
		first := made == 0 && (size <= smallTrial || d.newBytes == 0 || size <= left)
		if !first && bytes+size > left/newTrialsShare {
			break
		}
		bytes += size
		d.newBytes += size
		if !t.Idle { // else its first attempt is made when it is called
			d.enqueue(e, store.NewAllocation{ID: t.TaskID + ".1", TaskID: t.TaskID, RunID: 1})
		}
		d.out.NewTrials = append(d.out.NewTrials, t)
		made++
	}
	return made, nil
}

// trial moves one trial: its attempt's end first, then what is wanted of it.
func (d *decider) trial(e *Experiment, row *store.LiveTrial, experiment lifecycle.State) (ended bool) {
	w := wanted(e, row)
	attempt := d.p.Allocations[row.TaskID]
	if attempt != nil && attempt.State == string(lifecycle.Pending) && w.Fail == "" {
		w.Fail = d.noNodesLeft(e, row.TaskID, false)
	}
	t := lifecycle.Trial{State: lifecycle.State(row.State), Restarts: row.Restarts, MaxRestarts: e.Config.MaxRestarts,
		Unstarted: row.Unstarted, KillWanted: row.KillWanted, EarlyExit: optional.Value(row.EarlyExit), StopWanted: w.Stop, Held: w.Hold, Fail: w.Fail}
	state, action, why := lifecycle.Follow(t, experiment)
	t.State = state
	step := lifecycle.TrialStep{State: state, Restarts: t.Restarts}
	var end *lifecycle.Step
	if attempt == nil {
		step = lifecycle.WithoutAttempt(t)
	} else {
		if moved := d.follow(attempt, e.Pool); moved && action == lifecycle.ActionNone {
			action, why = lifecycle.ActionPreempt, "it moves to pool "+e.Pool
		}
		if out := d.evictionReason(attempt, true); out != "" && action == lifecycle.ActionNone {
			action, why = lifecycle.ActionPreempt, out
		}
		end = d.advance(attempt, preemptWait(e), action, why)
		if end != nil {
			d.count(e, t, attempt, *end)
			t.NoRetry, t.NoNodes = d.noRetry(row.TaskID), d.noNodesLeft(e, row.TaskID, true)
			step = lifecycle.AfterExit(t, *end)
			d.unstarted(row.TaskID, row.Unstarted, *end)
		}
	}
	c := store.TrialChange{ID: row.ID, Saw: row.State, State: string(step.State), Restarts: step.Restarts, RunID: row.RunID,
		StopWanted: t.StopWanted, Held: t.Held, Target: target(w), Error: step.Error, Ended: step.State.Terminal()}
	if !c.Ended && attempt == nil && w.Hold && !w.Suspended {
		d.addEvent(e, row.Number, search.Suspended, struct{}{})
	}
	if c.Ended {
		d.exit(e, row.Number, step.Exit)
		d.endTask(row.TaskID, step)
	} else if step.Again && experiment == lifecycle.Active && !e.Unread { // else its search may not want it any more
		c.RunID = d.retry(e, row, attempt, end)
	}
	if c.State != row.State || c.Restarts != row.Restarts || c.RunID != row.RunID || c.StopWanted != row.StopWanted ||
		c.Held != row.Held || optional.Value(c.Target) != optional.Value(row.Target) {
		d.out.Trials = append(d.out.Trials, c)
	}
	return c.Ended
}

// wanted is what the search wants of a trial. A search that broke wants nothing
// new: its experiment ends.
func wanted(e *Experiment, row *store.LiveTrial) search.Trial {
	w := search.Trial{Stop: row.StopWanted, Hold: row.Held, Suspended: true, Target: optional.Value(row.Target)}
	if e.Search != nil && e.Broken == "" && row.Number < e.Search.Len() {
		w = e.Search.Trial(row.Number)
		w.Stop = w.Stop || row.StopWanted
	}
	return w
}

// target is how long a trial trains for now; nil when its search does not say.
func target(w search.Trial) *int64 {
	if w.Target == 0 {
		return nil
	}
	return &w.Target
}

func preemptWait(e *Experiment) time.Duration {
	return time.Duration(e.Config.PreemptionSeconds()) * time.Second
}

// retry queues the next attempt of a trial.
func (d *decider) retry(e *Experiment, row *store.LiveTrial, last *store.LiveAllocation, end *lifecycle.Step) int {
	run := row.RunID + 1
	if last != nil {
		run = last.RunID + 1
	}
	a := store.NewAllocation{ID: row.TaskID + "." + strconv.Itoa(run), TaskID: row.TaskID, RunID: run}
	if end != nil {
		a.Exclude = end.Avoid
		a.NotBefore = d.notBefore(*end, row.Unstarted)
	}
	d.enqueue(e, a)
	d.queue[len(d.queue)-1].since = row.QueuedAt
	return run
}

// notBefore is when a successor may start: after a lost attempt has surely
// ended, and with growing patience when attempts do not even start.
func (d *decider) notBefore(end lifecycle.Step, unstarted int) *time.Time {
	at := end.NotBefore
	if end.Unstarted && end.Outcome == lifecycle.Unplaced {
		if t := d.p.Now.Add(time.Second << min(unstarted, 6)); t.After(at) {
			at = t
		}
	}
	if at.IsZero() {
		return nil
	}
	return &at
}

func (d *decider) enqueue(e *Experiment, a store.NewAllocation) {
	a.Pool, a.Slots, a.Priority = e.Pool, e.SlotsPerTrial, e.Priority
	d.out.NewAllocations = append(d.out.NewAllocations, a)
	d.queue = append(d.queue, queued{NewAllocation: a, group: e.group(), maxSlots: e.MaxSlots, queueTime: e.QueueTime, single: e.singleNode(), preemptible: true, secrets: d.p.needsSecrets(e),
		avoid: d.avoidance(e, a.TaskID)})
}

// exit tells the search that a trial ended.
func (d *decider) exit(e *Experiment, number int, reason string) {
	if !e.Unmanaged {
		d.addEvent(e, number, search.Exited, search.Exit{Reason: reason})
	}
}

func (d *decider) addEvent(e *Experiment, number int, kind string, what any) {
	body, err := json.Marshal(what)
	if err != nil {
		panic("control: an event did not encode: " + err.Error())
	}
	d.out.Events = append(d.out.Events, store.NewEvent{ExperimentID: e.ID, Trial: number, Kind: kind, Body: body})
}

func (d *decider) endTask(id string, step lifecycle.TrialStep) {
	status := cmp.Or(step.Error, string(step.State))
	for i := range d.out.Tasks {
		if d.out.Tasks[i].ID == id {
			d.out.Tasks[i].Ended, d.out.Tasks[i].ExitStatus = true, status
			return
		}
	}
	d.out.Tasks = append(d.out.Tasks, store.TaskChange{ID: id, Ended: true, ExitStatus: status})
}

// unstarted counts attempts in a row that never reached their program.
func (d *decider) unstarted(task string, before int, end lifecycle.Step) {
	n := 0
	if end.Unstarted && end.Outcome != lifecycle.Killed {
		n = before + 1
	}
	if n != before {
		d.out.Tasks = append(d.out.Tasks, store.TaskChange{ID: task, Unstarted: n})
	}
}
