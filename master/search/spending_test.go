package search

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/lifecycle"
)

// TestCostsAreLearned: attempts that each cost 30 and 2 for each unit are on this line, which says what others
// cost; a trial that costs three times as much keeps its factor.
func TestCostsAreLearned(t *testing.T) {
	var c costs
	train := func(trial int, to, factor float64) {
		c.begin(trial, to)
		from := c.trials[trial].units
		c.reached(trial, to)
		c.attemptEnded(trial, factor*(30+2*(to-from)), false)
		c.leave(trial)
	}
	if _, _, known := c.line(); known {
		t.Error("the cost is known before anything was spent")
	}
	for trial := range 8 {
		train(trial, float64(10+10*(trial%3)), 1)
	}
	if cost, known := c.cost(-1, 100, 0); !known || math.Abs(cost-230) > 1e-6 {
		t.Errorf("100 units cost %v, known %t", cost, known)
	}
	for _, to := range []float64{10, 20, 30, 40} {
		train(8, to, 3)
	}
	slow, _ := c.cost(8, 60, 0)
	fast, _ := c.cost(0, 30, 0) // which has trained 10
	if ratio := slow / fast; ratio < 1.5 || ratio > 3.2 {
		t.Errorf("20 units cost %v in a slow trial and %v in a fast one", slow, fast)
	}
	if c.active != 0 || c.factors != 0 || c.gaps != 0 {
		t.Errorf("nothing runs, and %+v", c)
	}
}

// spends is a search whose trials take an hour of one slot for each unit.
type spends struct {
	*Search
	t    *testing.T
	hour float64
}

func (s *spends) tell(kind string, trial int, body any) {
	s.t.Helper()
	if err := s.Apply(event(s.Seq()+1, kind, trial, body)); err != nil {
		s.t.Fatal(err)
	}
}

// run lets trials train for so many hours and end.
func (s *spends) run(hours float64, reason string, trials ...int) {
	s.t.Helper()
	x := Spending{From: s.hour * 3600, To: (s.hour + hours) * 3600}
	for _, trial := range trials {
		x.Ended = append(x.Ended, AttemptSpent{trial, amount{hours * 3600, hours * 3600}})
	}
	s.hour += hours
	s.tell(Spent, 0, x)
	for _, trial := range trials {
		s.tell(Exited, trial, Exit{Reason: reason})
	}
}

func (s *spends) wants(what string, trials int, status lifecycle.SearchStatus) {
	s.t.Helper()
	if got, _ := s.Status(); s.Len() != trials || got != status {
		s.t.Errorf("%s: %d trials and %v, want %d and %v; %s", what, s.Len(), got, trials, status, s.OutlookJSON())
	}
}

// TestWhatFitsBegins: until costs are known, four trials train whole; later as many as the rest suffices for.
func TestWhatFitsBegins(t *testing.T) {
	for _, searcher := range []string{
		"name: random, max_length: {batches: 10}", "name: random, max_length: {epochs: 10}", "name: random",
		"name: grid", "name: random, sampler: program",
	} {
		t.Run(searcher, func(t *testing.T) {
			inner, err := New(configOf(t, "searcher: {"+searcher+", metric: loss, budget: {slot_hours: 71}}\nhyperparameters: {a: {type: int, minval: 0, maxval: 99, count: 100}}"), 1)
			if err != nil {
				t.Fatal(err)
			}
			s := &spends{Search: inner, t: t}
			propose := func() {
				for s.Free() > 0 {
					var list []Proposal
					for i := range s.Free() {
						list = append(list, Proposal{Key: fmt.Sprint(s.Len() + i), HParams: json.RawMessage(`{"a": 1}`)})
					}
					s.tell(Told, 0, Proposals{List: list})
				}
			}
			propose()
			s.wants("at first", 4, lifecycle.Searching)
			s.run(10, lifecycle.ExitDone, 0, 1)
			propose()
			s.wants("20 of 71 hours are spent by two trials, and 20 by those that run", 7, lifecycle.Searching)
			s.run(11, lifecycle.ExitErrored, 2) // 31 are spent, and the others cost 40
			propose()
			s.wants("a failure costs too", 7, lifecycle.Searching)
			s.run(10, lifecycle.ExitDone, 3, 4, 5, 6)
			propose()
			s.wants("at the end", 7, lifecycle.SearchDone)
			if o := s.Outlook().Budget; o.Spent != 71 || !o.Over || s.Planned() != 7 || s.Progress(nil) != 1 {
				t.Errorf("%+v, planned %d, progress %v", *o, s.Planned(), s.Progress(nil))
			}
		})
	}
}

// TestRunningTrialsStopAtTheirNextReport when the budget is spent, and a continued experiment goes on with what it has spent.
func TestRunningTrialsStopAtTheirNextReport(t *testing.T) {
	const yaml = "searcher: {name: single, metric: loss, max_length: {batches: 100}, budget: {hours: 5}}\nhyperparameters: {a: 1}"
	inner, err := New(configOf(t, yaml), 1)
	if err != nil {
		t.Fatal(err)
	}
	s := &spends{Search: inner, t: t}
	report := func(step int) { s.tell(Validated, 0, Validation{Metric: new(1.0), Steps: step, Run: 1}) }
	report(1)
	s.tell(Spent, 0, Spending{From: 0, To: 4 * 3600, Live: 1, Running: amount{4 * 3600, 0}})
	report(2)
	if s.Trial(0).Stop || s.Over() {
		t.Error("the trial stops with an hour left")
	}
	x := SpentUntil(time.Unix(5.1*3600, 0))
	x.Add(0, 0, time.Unix(0, 0), false)
	if !s.Due(x) {
		t.Error("that the budget is spent is no event")
	}
	s.tell(Spent, 0, x)
	if s.Trial(0).Stop || !s.Over() {
		t.Error("the trial does not train to its next report")
	}
	report(3)
	if !s.Trial(0).Stop || s.Trial(0).Trained {
		t.Errorf("the trial trains on: %+v", s.Trial(0))
	}
	s.hour = 5.1
	s.run(0.1, lifecycle.ExitStopped, 0)
	s.wants("at its end", 1, lifecycle.SearchDone)

	cfg, err := configOf(t, strings.Replace(yaml, "hours: 5", "hours: 8", 1)).JSON()
	if err != nil {
		t.Fatal(err)
	}
	body, err := NewContinuation(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.tell(Continued, 0, body)
	s.wants("continued", 1, lifecycle.Searching)
	if o := s.Outlook().Budget; o.Limit != 8 || o.Spent != 5.2 || o.Over {
		t.Errorf("continued: %+v", *o)
	}
	s.hour = 100 // nothing was placed meanwhile
	s.run(2.9, lifecycle.ExitStopped, 0)
	if o := s.Outlook().Budget; o.Spent != 8.1 || !o.Over {
		t.Errorf("spent again: %+v", *o)
	}
}

// TestTheSameSpendingGivesTheSameSearch: a search of random events with a budget is the same when it reads them again, whatever they are.
func TestTheSameSpendingGivesTheSameSearch(t *testing.T) {
	for _, searcher := range []string{
		"name: adaptive_asha, max_length: {batches: 64}", "name: adaptive_asha, max_length: {batches: 64}, stop_once: true", "name: async_halving, num_rungs: 3, max_length: {batches: 64}",
		"name: pbt, population_size: 4, num_rounds: 50, length_per_round: {batches: 4}, replace_function: {truncate_fraction: 0.25}, explore_function: {resample_probability: 0.2, perturb_factor: 0.2}",
		"name: random, max_length: {batches: 64}, sampler: tpe",
	} {
		for seed := range uint64(20) {
			cfg := configOf(t, "searcher: {"+searcher+", metric: loss, budget: {slot_hours: 30}}\nhyperparameters: {a: {type: double, minval: 0, maxval: 1}}")
			s, err := New(cfg, 1)
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(seed, 1))
			var history []Event
			tell := func(kind string, trial int, body any) {
				e := event(s.Seq()+1, kind, trial, body)
				history = append(history, e)
				if err := s.Apply(e); err != nil {
					t.Fatal(err)
				}
			}
			steps, now := map[int]int{}, 0.0
			for range 3000 {
				if status, _ := s.Status(); status != lifecycle.Searching {
					break
				}
				trial, hours := rng.IntN(s.Len()), rng.Float64()
				now += hours
				cost := func() { // its attempt ends
					tell(Spent, 0, Spending{From: (now - hours) * 3600, To: now * 3600, Ended: []AttemptSpent{{trial, amount{hours * 3600, hours * 3600}}}})
				}
				switch w := s.Trial(trial); {
				case w.Ended, w.Hold && w.Suspended:
				case w.Stop:
					cost()
					tell(Exited, trial, Exit{Reason: lifecycle.ExitStopped})
				case w.Hold:
					cost()
					tell(Suspended, trial, struct{}{})
				case rng.IntN(20) == 0:
					cost()
					tell(Exited, trial, Exit{Reason: []string{lifecycle.ExitErrored, lifecycle.ExitInvalidHP, lifecycle.ExitDone}[rng.IntN(3)]})
				case rng.IntN(20) == 0:
					cost() // preempted
				default:
					steps[trial] += 1 + rng.IntN(8)
					tell(Validated, trial, Validation{Metric: new(rng.Float64()), Steps: steps[trial], Run: 1})
				}
			}
			if status, _ := s.Status(); status != lifecycle.SearchDone {
				t.Errorf("%s, seed %d: it does not end: %v, %s", searcher, seed, status, s.OutlookJSON())
			}
			again, err := New(cfg, 1)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range history {
				if err := again.Apply(e); err != nil {
					t.Fatal(err)
				}
			}
			if a, b := describeSearch(s)+s.OutlookJSON(), describeSearch(again)+again.OutlookJSON(); a != b {
				t.Errorf("%s, seed %d: first:\n%s\nagain:\n%s", searcher, seed, a, b)
			}
			p := s.trialSet.spending
			if p.active != 0 || p.gaps != 0 {
				t.Errorf("%s, seed %d: nothing runs, and the costs are %+v", searcher, seed, p.costs)
			}
		}
	}
}
