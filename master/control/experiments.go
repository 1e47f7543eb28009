package control

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/attempts/leftover"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/tasks"
	"github.com/detent-ml/detent/master/trial"
)

// An experimentPass decides about experiments with their trials.
type experimentPass struct {
	*attemptPass
	rated    *ratings
	newBytes int                      // size of the hyperparameters of the trials that this cycle creates
	remains  map[remainsKey]remaining // results of remainingNodes in this cycle
}

// experimentBundle decides about one experiment. If that fails, the experiment ends as
// broken; if that fails as well, its attempts are killed.
func (d *experimentPass) experimentBundle(e *Experiment) {
	how := d.p.Handling[e.group()]
	for ; how < handleLater; how++ {
		err := d.bundle(e.group(), func() error { return d.handle(e, how) })
		if err == nil {
			return
		}
		d.plan.Faults = append(d.plan.Faults, Fault{e.group(), err})
		d.rated.counts.forget(d.p, e.ID)
		if how == handleNormally && e.Broken == "" {
			broken := *e
			broken.Broken, broken.Search = unhandled(err), nil
			e = &broken
		}
	}
}

// unhandled is the reason that users see.
func unhandled(err error) string {
	return fmt.Sprintf("the master could not handle it: %.500s", strings.SplitN(err.Error(), "\n", 2)[0])
}

func (d *experimentPass) handle(e *Experiment, how handling) error {
	if how == handleByKilling && !lifecycle.State(e.State).Terminal() && e.State != string(lifecycle.Deleting) && e.State != string(lifecycle.DeleteFailed) {
		return d.endByKilling(e)
	}
	return d.experiment(e)
}

// endByKilling kills the attempts of an experiment and ends it, without its search.
func (d *experimentPass) endByKilling(e *Experiment) error {
	why := cmp.Or(e.Broken, cmp.Or(e.Error, "the master could not handle this experiment; the master's log has the reason"))
	live := 0
	for _, t := range e.Trials {
		if t == nil || t.Ended {
			continue
		}
		if a := d.p.Allocations[t.TaskID]; a != nil && d.advance(a, preemption{}, lifecycle.ActionKill, why) == nil {
			live++
			continue
		}
		d.out.Trials = append(d.out.Trials, rows.TrialChange{ID: t.ID, Saw: t.State, State: string(lifecycle.Errored), Restarts: t.Restarts, RunID: t.RunID,
			StopWanted: t.StopWanted, Error: why, Ended: true})
		d.exit(e, t.Number, lifecycle.ExitErrored)
		d.endTask(t.TaskID, lifecycle.TrialStep{State: lifecycle.Errored, Error: why})
	}
	c := rows.ExperimentChange{ID: e.ID, Saw: e.State, State: string(lifecycle.StoppingError), Error: why}
	if live == 0 {
		c.State, c.Ended = string(lifecycle.Errored), true
	}
	if c.State != e.State || c.Error != e.Error {
		d.out.Experiments = append(d.out.Experiments, c)
	}
	return nil
}

// experiment decides about one experiment and its trials.
func (d *experimentPass) experiment(e *Experiment) error {
	if e.continuing() {
		if e.Unread && needsSearch(&e.LiveExperiment) { // only the search knows which trials continue
			return nil
		}
		return d.continueExperiment(e)
	}
	status, why := d.searchStatus(e)
	state := lifecycle.State(e.State)
	files, stuck := deletion(e)
	step := lifecycle.Experiment{State: state, Desired: lifecycle.Desired(e.Desired), Search: status, Why: cmp.Or(stuck, why, e.lasting()),
		Live: len(e.Trials), Unmanaged: e.Unmanaged, Files: files, Again: e.DeleteRequests > e.DeleteFailed}.Step()
	if step.Remove {
		d.out.Queue = append(d.out.Queue, rows.DeleteWork(e.ID, e.OwnerID))
		return nil
	}
	if e.Files == checkpoints.FilesUnplanned && state == lifecycle.Deleting {
		d.out.Queue = append(d.out.Queue, rows.GCWork(e.ID, e.OwnerID))
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
	d.spending(e)
	if state == lifecycle.Active && e.Search != nil && e.Broken == "" {
		made, err := d.newTrials(e, live)
		if err != nil {
			return err
		}
		live += made
	}
	if state.Stopping() && live == 0 { // the last trial ended in this cycle
		again := lifecycle.Experiment{State: state, Desired: lifecycle.Desired(e.Desired), Why: cmp.Or(step.Error, e.lasting())}.Step()
		if again.State != "" {
			state = again.State
		}
	}
	why = cmp.Or(step.Error, e.lasting())
	if state == lifecycle.Active || state == lifecycle.Paused {
		why = cmp.Or(why, e.Aside, e.starved(state))
	}
	ofTrial := ""
	if step.Error != "" && status == lifecycle.SearchFailed && e.Search.AllFailed() {
		ofTrial = ": "
		if e.Search.Len() > 1 {
			ofTrial = "; the last of them: "
		}
	}
	d.experimentChange(e, state, why, ofTrial)
	d.out.Failures = d.rated.counts.changes(e.ID)
	return nil
}

// lasting is the experiment's error, unless it only says that the experiment is set aside or waits
// for proposals, which passes.
func (e *Experiment) lasting() string {
	if strings.HasPrefix(e.Error, asideWord) || strings.HasPrefix(e.Error, starvedWord) {
		return ""
	}
	return e.Error
}

// starvedWord is the beginning of the error of an experiment that waits for its user's program. By
// this word the loop recognizes the error, to remove it later.
const starvedWord = "waits for proposals: "

// starved says that an experiment waits, without slots, for a program that proposes hyperparameters; "" if it does not.
func (e *Experiment) starved(state lifecycle.State) string {
	if state != lifecycle.Active || e.Search == nil || e.Broken != "" || !e.Search.Starved() {
		return ""
	}
	return starvedWord + "a program of yours proposes the hyperparameters of its trials (sampler: program), and has proposed none that the search could try now"
}

func (d *experimentPass) searchStatus(e *Experiment) (lifecycle.SearchStatus, string) {
	if e.Broken != "" {
		return lifecycle.SearchBroken, e.Broken
	}
	if e.Search == nil || e.Trials == nil && e.LiveExperiment.Trials == 0 && e.Search.Len() > 0 {
		return lifecycle.Searching, ""
	}
	return e.Search.Status()
}

// noOutlook is that of a search that has nothing to say.
const noOutlook = "{}"

// experimentChange adds a change when anything differs from the row.
func (d *experimentPass) experimentChange(e *Experiment, state lifecycle.State, why, ofTrial string) {
	c := rows.ExperimentChange{ID: e.ID, Saw: e.State, State: string(state), Error: why, OfTrial: ofTrial, Ended: state.Terminal()}
	changed := c.State != e.State || why != e.Error
	if e.Search != nil && !state.Terminal() || e.Search != nil && c.State != e.State {
		if state == lifecycle.Errored || state == lifecycle.Canceled { // the statement computes the progress from what the trials have reached
			c.Planned = max(e.Search.Planned(), 1)
		} else if p, begun := d.progress(e, state); begun && !state.Stopping() && (e.Progress == nil || math.Abs(p-*e.Progress) >= 0.005 || p == 1 && *e.Progress != 1) {
			c.Progress, changed = &p, true
		}
		o := e.Search.OutlookJSON()
		said := o != string(e.Outlook) && (o != noOutlook || len(e.Outlook) > 0)
		if said {
			c.Outlook, changed = o, true
		}
		// When repeats decide, another trial may be the best with an equal metric; then the outlook changes too.
		if trial, metric := e.Search.Best(); metric != nil && (e.BestMetric == nil || *e.BestMetric != *metric || said && e.Search.Repeated()) {
			c.BestTrial, c.BestMetric, changed = &trial, metric, true
		}
	}
	if changed {
		d.out.Experiments = append(d.out.Experiments, c)
	}
}

// progress returns how far an experiment is. Until a trial has reported its progress it has none,
// as in Determined: begun is false.
func (d *experimentPass) progress(e *Experiment, state lifecycle.State) (p float64, begun bool) {
	if state == lifecycle.Done {
		return 1, true
	}
	trials := map[int]float64{}
	for _, t := range e.Trials {
		if t.Progress != nil {
			trials[t.Number] = *t.Progress
		}
	}
	p = e.Search.Progress(trials)
	return p, e.Progress != nil || len(trials) > 0 || p > 0
}

// Limits on the trials that the loop creates for one experiment. Later cycles create the
// other trials that its search wants.
const (
	maxNewTrials  = 200   // in one cycle
	maxLiveTrials = 5_000 // trials that have not ended
	// A cycle creates trials with at most trial.MaxBytes of hyperparameters. One experiment
	// may use 1/newTrialsShare of the bytes that the experiments before it have left.
	newTrialsShare = 8
	// Each experiment may create one trial of up to smallTrial bytes in each cycle, even if
	// other experiments have used all bytes.
	smallTrial = 1 << 10
)

// newTrials creates the trials that the search wants and that have no row yet, each with
// its first attempt. live is the number of trials that have not ended.
func (d *experimentPass) newTrials(e *Experiment, live int) (int, error) {
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
		if !t.Idle { // an idle trial gets its first attempt when its search releases it
			d.enqueue(e, tasks.NewAttempt{ID: t.TaskID + ".1", TaskID: t.TaskID, RunID: 1})
		}
		d.out.NewTrials = append(d.out.NewTrials, t)
		made++
	}
	return made, nil
}

// trial decides about one trial: first whether its attempt has ended, then what the user
// and the search want of the trial.
func (d *experimentPass) trial(e *Experiment, row *rows.LiveTrial, experiment lifecycle.State) (ended bool) {
	w := wanted(e, row)
	attempt := d.p.Allocations[row.TaskID]
	if e.Search != nil && e.Search.Over() && (attempt == nil || attempt.AssignedAt == nil) {
		w.Stop = true // the budget is spent: what holds no slots begins no more
	}
	if attempt != nil && attempt.State == string(lifecycle.Pending) && w.Fail == "" {
		w.Fail = d.noNodesLeft(e, row.TaskID, false)
	}
	limit := d.p.trialLimit(e, row, attempt)
	t := lifecycle.Trial{Expired: limit.Reached(d.p.Now), State: lifecycle.State(row.State), Restarts: row.Restarts, MaxRestarts: e.Config.MaxRestarts,
		Unstarted: row.Unstarted, KillWanted: row.KillWanted, EarlyExit: optional.Value(row.EarlyExit), StopWanted: w.Stop, Trained: w.Trained, Held: w.Hold, Fail: w.Fail}
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
		if out, because := d.eviction(attempt, true); out == lifecycle.ActionKill && action != out || action == lifecycle.ActionNone {
			action, why = out, because
		}
		if t.Expired != "" && action != lifecycle.ActionKill && limit.Overdue(d.p.Now) {
			action, why = lifecycle.ActionKill, t.Expired
		}
		d.warn(attempt, limit, "this trial will be asked to store a checkpoint and to exit")
		end = d.advance(attempt, preemptionOf(e, attempt), action, why)
		if end != nil {
			if t.Expired != "" && attempt.PreemptAt == nil && end.Outcome == lifecycle.Completed { // it has done its work in time
				t.Expired, t.State = "", lifecycle.State(row.State)
			}
			d.p.noteLeft(e, attempt)
			d.count(e, t, attempt, *end)
			t.NoRetry, t.NoNodes = d.noRetry(row.TaskID), d.noNodesLeft(e, row.TaskID, true)
			step = lifecycle.AfterExit(t, *end)
			if t.NoRetry != "" && end.Outcome == lifecycle.Failed && step.State == lifecycle.Errored {
				d.move(attempt).Final = d.noRetryLines(row.TaskID)
			}
			d.unstarted(row.TaskID, row.Unstarted, *end)
			if step.Exit == lifecycle.ExitDone {
				d.p.noteTook(e, row, attempt)
			}
		}
	}
	c := rows.TrialChange{ID: row.ID, Saw: row.State, State: string(step.State), Restarts: step.Restarts, RunID: row.RunID,
		StopWanted: t.StopWanted, Held: t.Held, Target: optional.NonZero(w.Target), Error: step.Error, Ended: step.State.Terminal()}
	if !c.Ended && attempt == nil && w.Hold && !w.Suspended {
		d.addEvent(e, row.Number, search.Suspended, struct{}{})
	}
	if c.Ended {
		d.exit(e, row.Number, step.Exit)
		d.endTask(row.TaskID, step)
	} else if step.Again && experiment == lifecycle.Active && !e.Unread { // if unread, the search may not want the trial any more
		c.RunID = d.retry(e, row, attempt, end)
	}
	if c.State != row.State || c.Restarts != row.Restarts || c.RunID != row.RunID || c.StopWanted != row.StopWanted ||
		c.Held != row.Held || optional.Value(c.Target) != optional.Value(row.Target) {
		d.out.Trials = append(d.out.Trials, c)
	}
	return c.Ended
}

// wanted returns what the search wants of a trial. If the search is broken or not in
// memory, it is what the row says.
func wanted(e *Experiment, row *rows.LiveTrial) search.Trial {
	w := search.Trial{Stop: row.StopWanted, Hold: row.Held, Suspended: true, Target: optional.Value(row.Target)}
	if e.Search != nil && e.Broken == "" && row.Number < e.Search.Len() {
		w = e.Search.Trial(row.Number)
		w.Stop = w.Stop || row.StopWanted
	}
	return w
}

// signalMargin is how much longer than the grace after a signal the master waits: the runner learns of the preemption
// later than the master, and the runner itself kills a program that ignores the signal.
const signalMargin = 30 * time.Second

// preemptionOf returns how an attempt of a trial is preempted. The time of one that may get a signal begins with the signal. While
// the whole configuration has not been read, the longer time holds.
func preemptionOf(e *Experiment, a *rows.LiveAllocation) preemption {
	asks := time.Duration(e.Config.PreemptionSeconds()) * time.Second
	signals := e.Config.PreemptionGrace() + signalMargin
	if a.PreemptSignalledAt != nil && a.PreemptAt != nil {
		signals += a.PreemptSignalledAt.Sub(*a.PreemptAt)
	}
	p := preemption{wait: signals, bySignal: e.Config.AlwaysSignals() || a.PreemptSignalledAt != nil}
	spared := a.PreemptAskedAt != nil || a.PreemptAckedAt != nil || a.PreemptReason == lifecycle.WhyTrained
	switch {
	case e.Unread:
		p.wait = max(asks, signals)
	case !p.bySignal && spared:
		p.wait = asks
	}
	if e.Config.Resume != nil {
		p.wait += leftover.Keep // after the program's end, its runner stores its folder
	}
	return p
}

// retry queues the next attempt of a trial.
func (d *experimentPass) retry(e *Experiment, row *rows.LiveTrial, last *rows.LiveAllocation, end *lifecycle.Step) int {
	run := row.RunID + 1
	if last != nil {
		run = last.RunID + 1
	}
	a := tasks.NewAttempt{ID: row.TaskID + "." + strconv.Itoa(run), TaskID: row.TaskID, RunID: run}
	if end != nil {
		a.Exclude = end.Avoid
		a.NotBefore = d.notBefore(*end, row.Unstarted, row.Restarts)
	}
	d.enqueueAfter(e, a, row)
	d.queue[len(d.queue)-1].queuedAt = row.QueuedAt
	return run
}

func (d *experimentPass) enqueue(e *Experiment, a tasks.NewAttempt) {
	d.enqueueAfter(e, a, &rows.LiveTrial{})
}

// enqueueAfter queues an attempt of a trial that has had others.
func (d *experimentPass) enqueueAfter(e *Experiment, a tasks.NewAttempt, t *rows.LiveTrial) {
	a.Pool, a.Slots, a.Priority = e.Pool, e.SlotsPerTrial, e.Priority
	d.out.NewAllocations = append(d.out.NewAllocations, a)
	of := d.rated.ownerOf(e)
	of.avoid = d.rated.avoidance(e, a.TaskID)
	of.limit = d.p.trialLimit(e, t, nil)
	d.queue = append(d.queue, queued{NewAttempt: a, owner: of})
}

// exit adds an event: the search learns that a trial ended.
func (d *experimentPass) exit(e *Experiment, number int, reason string) {
	if !e.Unmanaged {
		d.addEvent(e, number, search.Exited, search.Exit{Reason: reason})
	}
}

func (d *experimentPass) addEvent(e *Experiment, number int, kind string, what any) {
	body, err := json.Marshal(what)
	if err != nil {
		panic("control: an event did not encode: " + err.Error())
	}
	d.out.Events = append(d.out.Events, experiments.NewEvent{ExperimentID: e.ID, Trial: number, Kind: kind, Body: body})
}

// spending tells the search of an experiment with a budget what the attempts of its trials cost: when attempts end, in the bundle
// that ends them, and while they run whenever the search wants to know. The costs are those of the usage record: an
// attempt costs from its placement to its end. It comes before the other events of this cycle, so that the search knows
// what was spent when it decides what follows an exit.
func (d *experimentPass) spending(e *Experiment) {
	if !e.HasBudget || e.Unmanaged {
		return
	}
	x := search.SpentUntil(d.p.Now)
	for _, t := range e.Trials {
		if a := d.p.Allocations[t.TaskID]; a != nil && a.AssignedAt != nil {
			m := d.moves[a.ID]
			x.Add(t.Number, a.Slots, *a.AssignedAt, m != nil && m.Ended)
		}
	}
	if len(x.Ended) > 0 || e.Search != nil && e.Broken == "" && e.Search.Due(x) {
		others := d.out.Events
		d.out.Events = nil
		d.addEvent(e, 0, search.Spent, x)
		d.out.Events = append(d.out.Events, others...)
	}
}

func (d *experimentPass) endTask(id string, step lifecycle.TrialStep) {
	status := cmp.Or(step.Error, string(step.State))
	for i := range d.out.Tasks {
		if d.out.Tasks[i].ID == id {
			d.out.Tasks[i].Ended, d.out.Tasks[i].ExitStatus = true, status
			return
		}
	}
	d.out.Tasks = append(d.out.Tasks, rows.TaskChange{ID: id, Ended: true, ExitStatus: status})
}

// unstarted counts the attempts in a row whose program never started.
func (d *experimentPass) unstarted(task string, before int, end lifecycle.Step) {
	n := 0
	if end.Unstarted && end.Outcome != lifecycle.Killed {
		n = before + 1
	}
	if n != before {
		d.out.Tasks = append(d.out.Tasks, rows.TaskChange{ID: task, Unstarted: n})
	}
}
