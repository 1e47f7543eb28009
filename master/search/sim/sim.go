// Package sim simulates a search in virtual time: workers "train" trials, and trials
// report, wait, resume and end as on a cluster, but the metrics come from learning curves.
// `det preview-search --simulate` and the benchmarks use it. It is pure, so the same
// search and curves give the same result, without the time of a real training.
//
// sim.go has the simulation, curves.go the curves: recorded from networks that were really
// trained, or synthetic.
package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/expconf/objectives"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/search"
)

// Curves gives the metrics of trials.
type Curves interface {
	// At returns the metric after a part of the whole training, from 0 to 1.
	At(hparams map[string]any, seed int64, part float64) float64
}

// Options describes the simulated cluster. Lengths of training are in the searcher's unit,
// and one unit of time is the time in which a worker trains one unit.
type Options struct {
	Workers int            // trials that can run at once
	Every   int64          // length of training between two reports of a trial
	Budget  int64          // time after which the simulation ends; 0: when the search ends
	Earlier search.Earlier // what a search with learn_from learns
	Costs   Costs
	Others  map[string]Curves // of a search with several metrics: those of all but the first, by their names
	// Report is called for each report of a search with several metrics, if it is set.
	Report func(time, trained int64, trial int, values map[string]float64)
}

// Costs is what trainings cost, if the search has a budget.
type Costs struct {
	Pace  float64                              // seconds in which a worker trains one unit
	Slots int                                  // of each trial
	Start float64                              // seconds that each attempt takes before it trains
	Speed func(hparams map[string]any) float64 // how many times longer each unit of a trial takes; nil: 1
}

// Result is the result of a simulation.
type Result struct {
	Trials  []Trial
	Trace   []Point               // one for each new best result
	Time    int64                 // when the search or the budget ended
	Trained int64                 // length of training of all trials together
	Events  int                   // applied to the search
	Slots   float64               // slot-seconds, if the search has a budget
	Seconds float64               // in which at least one trial trained, if the search has a budget
	Done    bool                  // the search ended before the budget
	Front   []search.FrontResult  // of a search with several metrics
	Repeats *search.RepeatOutlook // of a search that trained its best configurations again
	Gains   []Gain                // what the search said about further trials
}

// Gain is what the search said about further trials, and its best result at that time.
type Gain struct {
	search.GainOutlook
	Best float64
}

// Trial is the result of one trial.
type Trial struct {
	HParams map[string]any
	Seed    int64
	Trained int64  // length of training
	Began   int64  // length of the training that its checkpoint had when it began: of a copy in pbt
	Ended   string // reason of its exit; "" if the budget ended first
	Waits   int    // how often it waited at a rung
}

// Point is a new best result.
type Point struct {
	Time    int64
	Trained int64 // length of training of all trials until then
	Trial   int
	At      int64 // length of training of this trial, with that of the checkpoint with which it began
	Tried   int   // trials that had run, and did not run then
	Metric  float64
}

// Limits of a simulation: its running time grows with the square of the number of trials.
const (
	maxTrials  = 10_000
	maxWorkers = 10_000
	maxUnits   = 1 << 60 // length of training of all trials together
)

// Run runs a search to its end.
func Run(cfg expconf.Config, seed int64, curves Curves, o Options) (*Result, error) {
	if err := search.Check(cfg); err != nil {
		return nil, err
	}
	full, _ := cfg.Searcher.FullLength()
	if full < 1 {
		return nil, fmt.Errorf("cannot simulate the searcher %s without a length: set max_length", cfg.Searcher.Name)
	}
	if o.Workers < 1 || o.Workers > maxWorkers || o.Every < 1 {
		return nil, fmt.Errorf("a simulation has from 1 to %d workers, and at least one unit between reports", maxWorkers)
	}
	if cfg.Searcher.Budget != nil && !(o.Costs.Pace > 0) {
		return nil, fmt.Errorf("cannot simulate a search with a budget without the time that a unit of training takes")
	}
	planned := 0
	for _, share := range search.Preview(cfg) {
		planned += share.Trials
	}
	switch {
	case planned > maxTrials:
		return nil, fmt.Errorf("the search plans %d trials; at most %d are simulated", planned, maxTrials)
	case float64(planned)*float64(full) > maxUnits:
		return nil, fmt.Errorf("%d trials of length %d take too long to simulate; use a larger unit of length", planned, full)
	}
	s, err := search.New(cfg, seed)
	if err != nil {
		return nil, err
	}
	if _, err := s.Begin(o.Earlier); err != nil {
		return nil, err
	}
	w := &world{Options: o, s: s, curves: curves, full: full, out: &Result{}}
	if list := cfg.Searcher.Metrics; len(list) > 0 {
		w.others = list[1:]
		for _, m := range w.others {
			if o.Others[m.Name] == nil {
				return nil, fmt.Errorf("cannot simulate a search with several metrics without the curves of %q", m.Name)
			}
		}
		w.first = list[0].Name
	}
	err = w.run()
	w.out.Front = s.Front()
	w.out.Repeats = s.Outlook().Repeats
	return w.out, err
}

type world struct {
	Options
	s      *search.Search
	curves Curves
	full   int64
	out    *Result
	first  string          // of several metrics; "": there is one
	others objectives.List // without the first
	queue  []int           // trials that wait for a worker, first come, first served
	state  []int8          // of each trial: one of the constants below
	next   []float64       // of each running trial: the time of its next report
	busy   []int           // running trials
	now    float64
	begun  []float64 // of each running trial: when its attempt began
	ended  []int     // trials whose attempts have ended, which the search does not know yet
}

const (
	unseen int8 = iota
	queued
	running
	waiting
	ended
)

func (w *world) run() error {
	if err := w.look(); err != nil {
		return err
	}
	for {
		w.start()
		if err := w.pay(); err != nil {
			return err
		}
		if len(w.busy) == 0 {
			w.out.Done = len(w.queue) == 0
			break
		}
		trial := w.earliest()
		if at := w.next[trial]; w.Budget > 0 && at > float64(w.Budget) {
			w.now = float64(w.Budget)
			break
		}
		if err := w.report(trial); err != nil {
			return err
		}
	}
	w.out.Time = int64(math.Ceil(w.now))
	return nil
}

// propose plays the program that proposes hyperparameters (sampler: program): it proposes what `sampler: random` draws.
func (w *world) propose() error {
	for w.s.Free() > 0 {
		before := w.s.Len()
		var body search.Proposals
		for i := range min(w.s.Free(), w.s.Room()) {
			number := w.s.Len() + i
			hparams, err := json.Marshal(w.s.Drawn(number))
			if err != nil {
				return err
			}
			body.List = append(body.List, search.Proposal{Key: fmt.Sprint(number), HParams: hparams})
		}
		if err := w.tell(search.Told, 0, body); err != nil {
			return err
		}
		if w.s.Len() == before {
			return fmt.Errorf("the search accepts none of the hyperparameters that sampler: random draws")
		}
	}
	return nil
}

// start assigns idle workers to queued trials.
func (w *world) start() {
	for len(w.busy) < w.Workers && len(w.queue) > 0 {
		trial := w.queue[0]
		w.queue = w.queue[1:]
		if w.state[trial] != queued {
			continue
		}
		w.state[trial] = running
		w.begun[trial] = w.now
		w.next[trial] = w.now + w.duration(trial)
		if w.s.HasBudget() {
			w.next[trial] += w.Costs.Start / w.Costs.Pace
		}
		w.busy = append(w.busy, trial)
	}
}

// step is the time until a trial's next report.
func (w *world) step(trial int) int64 {
	return max(1, min(w.Every, w.limit(trial)-w.out.Trials[trial].Trained))
}

// duration is how long the step takes.
func (w *world) duration(trial int) float64 {
	d := float64(w.step(trial))
	if w.Costs.Speed != nil {
		d *= w.Costs.Speed(w.out.Trials[trial].HParams)
	}
	return d
}

// pay tells the search what its attempts have cost, if it has a budget.
func (w *world) pay() error {
	if !w.s.HasBudget() {
		return nil
	}
	x := search.SpentUntil(w.clock(w.now))
	for _, trial := range w.busy {
		x.Add(trial, w.Costs.Slots, w.clock(w.begun[trial]), false)
	}
	for _, trial := range w.ended {
		x.Add(trial, w.Costs.Slots, w.clock(w.begun[trial]), true)
	}
	if !w.s.Due(x) {
		return nil
	}
	w.ended = nil
	return w.tell(search.Spent, 0, x)
}

// clock is a time as events have it.
func (w *world) clock(at float64) time.Time {
	return time.UnixMicro(int64(at * w.Costs.Pace * 1e6))
}

// limit is the length to which a trial trains now.
func (w *world) limit(trial int) int64 {
	if t := w.s.Trial(trial).Target; t > 0 {
		return t
	}
	return w.full
}

func (w *world) earliest() int {
	best := w.busy[0]
	for _, t := range w.busy[1:] {
		if w.next[t] < w.next[best] {
			best = t
		}
	}
	return best
}

func (w *world) report(trial int) error {
	t := &w.out.Trials[trial]
	step := w.step(trial)
	w.out.Slots += float64(len(w.busy)*w.Costs.Slots) * (w.next[trial] - w.now) * w.Costs.Pace
	w.out.Seconds += (w.next[trial] - w.now) * w.Costs.Pace
	w.now = w.next[trial]
	t.Trained += step
	w.out.Trained += step
	part := min(1, float64(t.Began+t.Trained)/float64(w.full))
	metric := w.curves.At(t.HParams, t.Seed, part)
	at := float64(t.Trained)
	if err := w.pay(); err != nil {
		return err
	}
	v := search.Validation{Metric: &metric, Steps: int(t.Trained), Time: &at, Run: 1}
	if w.first != "" {
		v.Values = w.values(trial, metric, part)
	}
	if err := w.tell(search.Validated, trial, v); err != nil {
		return err
	}
	if best, m := w.s.Best(); m != nil {
		if n := len(w.out.Trace); n == 0 || w.out.Trace[n-1].Trial != best || w.out.Trace[n-1].Metric != *m {
			w.out.Trace = append(w.out.Trace, Point{int64(w.now), w.out.Trained, best, w.out.Trials[best].Began + w.out.Trials[best].Trained, w.s.Tried(), *m})
		}
		if g := w.s.Outlook().Gain; g != nil && (len(w.out.Gains) == 0 || w.out.Gains[len(w.out.Gains)-1].GainOutlook != *g) {
			w.out.Gains = append(w.out.Gains, Gain{*g, *m})
		}
	}
	if w.state[trial] == running && t.Trained >= w.full && w.s.Trial(trial).Target == 0 {
		if err := w.end(trial, lifecycle.ExitDone); err != nil {
			return err
		}
	}
	if w.state[trial] == running {
		w.next[trial] = w.now + w.duration(trial)
	}
	return w.look()
}

// values returns the metrics of a report of a search with several.
func (w *world) values(trial int, first, part float64) map[string]any {
	t := &w.out.Trials[trial]
	numbers := map[string]float64{w.first: first}
	for _, m := range w.others {
		numbers[m.Name] = w.Others[m.Name].At(t.HParams, t.Seed, part)
	}
	if w.Report != nil {
		w.Report(int64(w.now), w.out.Trained, trial, numbers)
	}
	return each.Map(slices.Collect(maps.Keys(numbers)), func(name string) (string, any) { return name, numbers[name] })
}

// look carries out what the search wants of its trials, until nothing changes.
func (w *world) look() error {
	for again := true; again; {
		again = false
		if err := w.propose(); err != nil {
			return err
		}
		for i := range w.s.Len() {
			if i == len(w.state) {
				t := w.s.Trial(i)
				w.state, w.next = append(w.state, unseen), append(w.next, 0)
				w.begun = append(w.begun, 0)
				began := int64(0)
				if t.From != nil {
					began = w.out.Trials[*t.From].Began + w.out.Trials[*t.From].Trained
				}
				w.out.Trials = append(w.out.Trials, Trial{HParams: w.s.HParams(i), Seed: t.Seed, Began: began})
			}
			changed, err := w.follow(i)
			if err != nil {
				return err
			}
			again = again || changed
		}
	}
	return nil
}

func (w *world) follow(i int) (changed bool, err error) {
	if w.state[i] == ended {
		return false, nil
	}
	switch t := w.s.Trial(i); {
	case t.Stop, w.s.Over() && (w.state[i] == queued || w.state[i] == unseen): // as on a cluster, nothing starts when the budget is spent
		return true, w.end(i, lifecycle.ExitStopped)
	case t.Hold && w.state[i] != waiting:
		if err := w.leave(i); err != nil {
			return false, err
		}
		w.state[i] = waiting
		w.out.Trials[i].Waits++
		return true, w.tell(search.Suspended, i, struct{}{})
	case !t.Hold && (w.state[i] == waiting || w.state[i] == unseen):
		w.state[i] = queued
		w.queue = append(w.queue, i)
	}
	return false, nil
}

func (w *world) end(i int, reason string) error {
	if err := w.leave(i); err != nil {
		return err
	}
	w.state[i] = ended
	w.out.Trials[i].Ended = reason
	return w.tell(search.Exited, i, search.Exit{Reason: reason})
}

// leave frees the worker of a trial.
func (w *world) leave(trial int) error {
	i := slices.Index(w.busy, trial)
	if i < 0 {
		return nil
	}
	w.busy = slices.Delete(w.busy, i, i+1)
	w.ended = append(w.ended, trial)
	return w.pay()
}

func (w *world) tell(kind string, trial int, body any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	w.out.Events++
	return w.s.Apply(search.Event{Seq: w.s.Seq() + 1, Kind: kind, Trial: trial, Body: b})
}
