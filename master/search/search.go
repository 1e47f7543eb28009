package search

import (
	"encoding/json"
	"fmt"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/search/front"
)

// Kinds of events.
const (
	Validated = "validated"
	Exited    = "exited"
	Suspended = "left"      // the last attempt of a trial has ended because the search wants the trial to wait
	Spent     = "spent"     // what the attempts of its trials have cost, if the search has a budget; Trial is not used
	Told      = "told"      // the program of a custom searcher has posted operations, or the program of a sampler proposals; Trial is not used
	Learned   = "learned"   // what the search learns from earlier experiments, as its first event; Trial is not used
	Continued = "continued" // the experiment continues after its end; Trial is not used
	Branched  = "branched"  // the events before are those of another experiment, from which this one branches; Trial is not used
)

// An Event is one input of a search.
type Event struct {
	Seq   int64           // 1 for the first event of the experiment
	Kind  string          // one of the constants above
	Trial int             // the trial's number in this experiment, from 0
	Body  json.RawMessage // Validation, Exit, Spending, Operations, Proposals, Earlier, Continuation or Branching, by the kind
}

// Validation is the body of a Validated event.
type Validation struct {
	Metric *float64 `json:"metric"`           // value of searcher.metric; nil if the report lacks it or it is not finite
	Steps  int      `json:"steps"`            // steps_completed of the report
	Time   *float64 `json:"time,omitempty"`   // value of time_metric, or of the metric named like the unit of length
	Run    int      `json:"run"`              // run id of the attempt that reported
	Unfit  string   `json:"unfit,omitempty"`  // the metric as reported, if it is not a finite number
	Length int64    `json:"length,omitempty"` // the length that the program says it has trained to

	// Values has those of searcher.metrics that the report has: numbers, and as texts those that are no finite numbers; empty: it has none of them.
	// nil: the search has one metric, or a master of a release that did not know several stored the report.
	Values map[string]any `json:"values,omitzero"`
}

// Exit is the body of an Exited event. Reason is one of the lifecycle.Exit constants.
type Exit struct {
	Reason string `json:"reason"`
}

// A Trial is what the search wants of a trial. If several of Fail, Stop and Hold are set,
// Fail applies before Stop, and Stop before Hold.
type Trial struct {
	Number    int    // from 0; Search.HParams returns the trial's hyperparameters
	Seed      int64  // random seed for the training code
	Stop      bool   // the trial has trained long enough and must end
	Trained   bool   // with Stop: it has trained to the end
	Hold      bool   // the trial waits with a checkpoint, and without slots, until Hold is false again
	Suspended bool   // with Hold: the search has the event that the trial's last attempt ended
	Fail      string // why the search cannot judge the trial, which therefore ends as failed; else ""
	Target    int64  // the length to which it trains now, in the searcher's unit; 0: the training code decides
	From      *int   // the trial whose newest checkpoint it starts from; nil: it starts without a checkpoint
	Ended     bool   // the trial has ended and must not run again
}

// A Method is the algorithm of a searcher: how it reacts to events.
type Method interface {
	// Start creates the first trials, before any event.
	Start(r *TrialSet)
	// Validated is called for each result of a trial that should run or wait.
	Validated(r *TrialSet, trial int, v Result)
	// Exited is called once for each trial that ended.
	Exited(r *TrialSet, trial int, reason string)
	// Planned is the number of trials that the search will create, as far as it is known.
	Planned(r *TrialSet) int
}

// Waiter is a Method that must know when the last attempt of a waiting trial has ended.
type Waiter interface {
	Suspended(r *TrialSet, trial int)
}

// A Result is a validation as methods see it: a smaller Metric is better, and NaN or an
// infinite metric has become +Inf, the worst.
type Result struct {
	Metric float64
	Point  *front.Point // of a search with several metrics, which Metric is then only the first of; nil: it has one
	At     float64      // length of the training, in the searcher's unit
	Length int64        // see Validation
}

// Search is the state of one experiment's search.
type Search struct {
	method   Method
	trialSet TrialSet
	seq      int64  // number of the last applied event
	broken   string // why the search cannot continue; else ""
	learns   bool   // from earlier experiments
	awaits   bool   // what it learns from them: it has no trials before the Learned event

	repeats     *repeats
	goals       *goals  // nil: the search has one metric
	name        string  // searcher.metric
	sign        float64 // -1 if a larger metric is better, else 1
	judged      bool    // the method needs the metric and the length of each validation
	lengthGauge lengthGauge
	full        int64 // the length of a whole training; 0: the program decides
	bestTrial   int
	bestMetric  *float64
	outlook     struct { // as JSON, after the event with this number
		seq  int64
		text string
	}
}

// New returns a search before its first event.
func New(cfg expconf.Config, seed int64) (*Search, error) {
	if err := cfg.ValidateSearch(); err != nil {
		return nil, err
	}
	d, err := newDomain(cfg)
	if err != nil {
		return nil, err
	}
	s := &Search{name: cfg.Searcher.Metric, sign: signOf(cfg), lengthGauge: newGauge(cfg), trialSet: TrialSet{seed: seed, domain: d}}
	if cfg.Searcher.Sampler == expconf.TPE {
		s.trialSet.model = newModel(d, cfg.Searcher.Revision)
	}
	c := cfg.Searcher
	s.full, _ = c.FullLength()
	c.MaxTrials -= c.Repeat.Trials()
	s.repeats = newRepeats(c, s.sign)
	s.goals = newGoals(c.Metrics)
	s.trialSet.several = s.goals != nil
	if c.ByProgram() {
		s.trialSet.program, s.trialSet.layout = newProgram(d.space), newLayout(d)
	}
	switch c.Name {
	case expconf.Single:
		s.method = single{}
	case expconf.Random:
		s.method = &random{trials: c.MaxTrials, workers: atOnce(c.MaxConcurrentTrials)}
	case expconf.Grid:
		p, err := pointsOf(cfg, d)
		if err != nil {
			return nil, err
		}
		s.method = &grid{points: p, workers: atOnce(c.MaxConcurrentTrials)}
	case expconf.AsyncHalving:
		s.method = newTournament(c, []int{c.NumRungs})
	case expconf.AdaptiveASHA:
		s.method = newTournament(c, adaptiveRungs(c))
	case expconf.PBT:
		s.method = newPopulation(c)
	case expconf.Custom:
		s.method = newOutside(s.sign)
	default:
		return nil, fmt.Errorf("searcher %q cannot be run", c.Name)
	}
	switch c.Name {
	case expconf.AsyncHalving, expconf.AdaptiveASHA, expconf.PBT, expconf.Custom:
		s.judged = true
	}
	s.learns = len(c.LearnFrom) > 0
	s.trialSet.spending = newSpending(c)
	s.trialSet.prospects = newProspects(c, s.trialSet.model != nil || c.ByProgram())
	if s.awaits = s.learns; !s.awaits {
		s.method.Start(&s.trialSet)
	}
	return s, nil
}

// Seq returns the number of the last applied event.
func (s *Search) Seq() int64 { return s.seq }

// Apply applies one event. The caller must apply events in the order of their numbers,
// without gaps; otherwise Apply fails, because a search that skips an event decides
// differently from the same search on another master.
func (s *Search) Apply(e Event) error {
	if e.Seq != s.seq+1 {
		return fmt.Errorf("search event %d follows event %d: an event is missing or repeated", e.Seq, s.seq)
	}
	s.seq = e.Seq
	s.trialSet.program.at(e.Seq)
	if s.awaits && e.Kind != Learned {
		return fmt.Errorf("search event %d comes before what the search learns from earlier experiments", e.Seq)
	}
	defer s.goOn()
	switch e.Kind {
	case Learned:
		return s.learned(e)
	case Spent:
		return s.spend(e)
	case Told:
		if s.ByProgram() {
			return s.proposed(e)
		}
		return s.told(e)
	case Continued:
		return s.continued(e)
	case Branched:
		return s.branched(e)
	}
	t := s.trialSet.get(e.Trial)
	if t == nil {
		return fmt.Errorf("search event %d is about trial %d, which does not exist", e.Seq, e.Trial)
	}
	switch e.Kind {
	case Validated:
		v, err := readValidation(e.Body)
		if err != nil {
			return fmt.Errorf("search event %d: %w", e.Seq, err)
		}
		s.validated(t, e.Trial, v)
	case Exited:
		var x Exit
		if err := json.Unmarshal(e.Body, &x); err != nil {
			return fmt.Errorf("search event %d: %w", e.Seq, err)
		}
		s.exited(t, e.Trial, x.Reason)
	case Suspended:
		if w, ok := s.method.(Waiter); t.hold && !t.suspended && t.exited == "" {
			t.suspended = true
			s.trialSet.leave(e.Trial)
			if ok {
				w.Suspended(&s.trialSet, e.Trial)
			}
		}
	default:
		return fmt.Errorf("search event %d is of an unknown kind, %q", e.Seq, e.Kind)
	}
	return nil
}

// goOn is called after each event.
func (s *Search) goOn() {
	s.consider()
	s.economize()
	s.repeat()
}

// validated applies a result. Results of trials that were told to end are ignored, except
// that a late result may still be the best one.
func (s *Search) validated(t *entry, trial int, v Validation) {
	switch {
	case s.goals != nil:
		v = s.goals.whole(trial, v)
		if v.Values == nil && v.Length == 0 { // it says nothing about the trial
			return
		}
		s.note(trial, v)
	case v.Metric != nil && s.repeats.owns(trial):
		s.repeats.note(trial, s.sign**v.Metric)
	case v.Metric != nil:
		s.rank(trial, *v.Metric)
		s.repeats.note(trial, s.sign**v.Metric)
		s.trialSet.prospects.result(trial, s.sign**v.Metric)
	}
	if t.exited != "" || t.stop || t.fail != "" {
		return
	}
	s.spentAt(trial, v)
	defer s.stopIfSpent(trial)
	r, why := s.judge(v)
	if why == "" && s.judged {
		if r.At, why = s.lengthGauge.at(v, func() map[string]any { return s.trialSet.hparams(trial) }); why == "" {
			r.Length = v.Length
			s.hear(trial, r)
			return
		}
	}
	switch {
	case why != "" && s.judged:
		t.fail = why
	case why == "":
		s.hear(trial, r)
	}
}

// hear passes a result on to the method, or to the repeats.
func (s *Search) hear(trial int, r Result) {
	if s.repeats.owns(trial) {
		s.repeats.validated(&s.trialSet, trial, r)
		return
	}
	s.method.Validated(&s.trialSet, trial, r)
}

func (s *Search) exited(t *entry, trial int, reason string) {
	if t.exited != "" {
		return
	}
	t.exited = reason
	if reason == lifecycle.ExitStopped && s.Over() && !t.stop {
		t.cut = true
	}
	if reason != lifecycle.ExitInvalidHP {
		s.trialSet.prospects.halted(t, reason == lifecycle.ExitDone)
	}
	s.trialSet.leave(trial)
	if p := s.trialSet.spending; p != nil && reason == lifecycle.ExitDone {
		p.completed(trial, p.full)
	}
	s.trialSet.ended++
	switch reason {
	case lifecycle.ExitErrored:
		s.trialSet.failed++
	case lifecycle.ExitCanceled:
		s.trialSet.canceled++
	}
	if s.repeats.owns(trial) {
		s.trialSet.resumeNext(trial)
		return
	}
	s.method.Exited(&s.trialSet, trial, reason)
}

// rank remembers the best result; of equal results, the first.
func (s *Search) rank(trial int, metric float64) {
	if s.bestMetric == nil || s.sign*metric < s.sign**s.bestMetric {
		s.bestTrial, s.bestMetric = trial, &metric
	}
}

// Best returns the trial with the best result of the searcher's metric, and this
// result; nil if no trial has a result.
func (s *Search) Best() (trial int, metric *float64) { return s.bestTrial, s.bestMetric }

// Len returns the number of trials that should exist.
func (s *Search) Len() int { return len(s.trialSet.trials) }

// Trial returns what the search wants of the trial with this number.
func (s *Search) Trial(number int) Trial {
	t := s.trialSet.trials[number]
	return Trial{Number: number, Seed: t.seed, Stop: t.stop, Trained: t.trained, Hold: t.hold, Suspended: t.suspended, Fail: t.fail,
		Target: t.target, From: t.from, Ended: t.exited != ""}
}

// ExitOf returns how a trial has ended, one of the lifecycle.Exit constants; "" before its end.
func (s *Search) ExitOf(number int) string {
	t := s.trialSet.trials[number]
	if t.exited == "" {
		return ""
	}
	return s.ending(number, t.exited)
}

// HParams returns the hyperparameters of a trial.
func (s *Search) HParams(number int) map[string]any { return s.trialSet.hparams(number) }

// Wanted lists the trials that should exist, by number.
func (s *Search) Wanted() []Trial {
	list := make([]Trial, s.Len())
	for i := range list {
		list[i] = s.Trial(i)
	}
	return list
}

// Status returns how the search ended, and why if it failed; Searching while a trial has not ended.
func (s *Search) Status() (lifecycle.SearchStatus, string) {
	if s.broken != "" {
		return lifecycle.SearchBroken, s.broken
	}
	r := &s.trialSet
	if r.ended < len(r.trials) || s.Free() > 0 || s.awaits {
		return lifecycle.Searching, ""
	}
	if o, ok := s.method.(*outside); ok {
		if done, status, why := o.status(); !done || status != "" {
			return status, why
		}
	}
	switch n := len(r.trials); {
	case s.AllFailed():
		return lifecycle.SearchFailed, failure(n)
	case n > 0 && r.canceled == n:
		return lifecycle.SearchCancel, ""
	}
	return lifecycle.SearchDone, ""
}

// AllFailed reports whether the search has failed because all its trials failed.
func (s *Search) AllFailed() bool {
	r := &s.trialSet
	return len(r.trials) > 0 && r.failed == len(r.trials)
}

func failure(trials int) string {
	if trials == 1 {
		return "its trial failed"
	}
	return fmt.Sprintf("all of its %d trials failed", trials)
}

// Planned returns how many trials the search will have created at its end.
func (s *Search) Planned() int {
	if s.Repeated() || s.repeats != nil && !s.repeats.begun && s.Len() > 0 && s.triedAll() { // all failed, so nothing is repeated
		return s.Len()
	}
	return max(s.repeats.planned(s.plannedOfMethod()), s.Len())
}

// plannedOfMethod is Planned without repeats.
func (s *Search) plannedOfMethod() int {
	if s.Over() || s.trialSet.prospects.done() {
		return s.Len()
	}
	if p := s.trialSet.program; p != nil && p.last {
		return max(s.Len(), min(s.method.Planned(&s.trialSet), s.Len()+len(p.queue)))
	}
	return max(s.method.Planned(&s.trialSet), s.Len())
}

// MayGrow reports whether the search may create further trials.
func (s *Search) MayGrow() bool {
	_, byProgram := s.method.(*outside)
	return byProgram || s.Planned() > s.Len()
}

// Progress returns the progress of the search, from 0 to 1. trials maps the numbers of
// live trials to the progress that they report; a missing trial has progress 0. A trial
// that has ended counts as 1, and a trial that the search has yet to create as 0. A search with a budget has come at
// least as far as it has spent its budget.
func (s *Search) Progress(trials map[int]float64) (progress float64) {
	if o, ok := s.method.(*outside); ok && o.progress != nil {
		return min(max(*o.progress, 0), 1)
	}
	planned := s.Planned()
	if planned == 0 {
		return 1
	}
	if p := s.trialSet.spending; p != nil && !p.over {
		defer func() { progress = max(progress, min(p.spent()/p.limit, 0.99)) }()
	}
	sum := float64(s.trialSet.ended)
	for number, fraction := range trials {
		if t := s.trialSet.get(number); t != nil && t.exited == "" {
			sum += min(max(fraction, 0), 1)
		}
	}
	return min(sum/float64(planned), 1)
}
