package search

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
)

// TestABranchWithoutAChangeDecidesAlike applies a history to a search and to its branch from a random event on, which changes nothing.
// They want the same after each event.
func TestABranchWithoutAChangeDecidesAlike(t *testing.T) {
	for i, k := range kinds {
		if i == 10 || i == 12 { // several metrics take long, and one kind has them
			continue
		}
		t.Run(k.searcher, func(t *testing.T) {
			cfg := configOf(t, "searcher: "+k.searcher+space)
			rapid.Check(t, func(r *rapid.T) {
				s, branch := begin(r, cfg), begin(r, cfg)
				cut := int64(rapid.IntRange(1, 60).Draw(r, "cut"))
				steps, shift := map[int]int{}, int64(0)
				for {
					e, more := next(r, s, steps)
					if !more {
						break
					}
					apply(r, s, e)
					e.Seq += shift
					apply(r, branch, e)
					if s.Seq() == cut {
						apply(r, branch, event(cut+1, Branched, 0, Branching{Experiment: 1, Event: cut}))
						shift = 1
					}
					if a, b := s.Wanted(), branch.Wanted(); !slices.EqualFunc(a, b, func(a, b Trial) bool { a.From, b.From = nil, nil; return a == b }) {
						r.Fatalf("after event %d:\n%v\nthe branch:\n%v", s.Seq(), a, b)
					}
				}
				if a, b := describeSearch(s), describeSearch(branch); a != b {
					r.Fatalf("the search:\n%s\nthe branch:\n%s", a, b)
				}
			})
		})
	}
}

// TestPromisesOfBranches branches searches at random moments, also after their end, with more trials, longer trainings, another sampler and another number of
// workers. They must keep the new limits, end, and be the same when their events are applied again.
func TestPromisesOfBranches(t *testing.T) {
	list := append(kinds[:12:12], kinds[13], kinds[14])
	list[0].searcher, list[0].trials, list[0].workers = "{name: random, metric: loss, max_trials: 14, max_concurrent_trials: 3, max_length: {batches: 8}, repeat: {best: 2, times: 2}}", 14, 3
	for i, k := range list {
		if i == 10 || strings.Contains(k.searcher, "progressive") {
			continue
		}
		t.Run(k.searcher, func(t *testing.T) {
			cfg := configOf(t, "searcher: "+k.searcher+space)
			rapid.Check(t, func(r *rapid.T) {
				s := begin(r, cfg)
				var history []Event
				steps, invalid := map[int]int{}, 0
				happen := func(e Event) {
					if err := s.Apply(e); err != nil {
						r.Fatal(err)
					}
					if history = append(history, e); string(e.Body) == `{"reason":"invalid_hp"}` {
						invalid++
					}
				}
				trials, workers := k.trials, k.workers
				cuts := []int{rapid.IntRange(1, 100).Draw(r, "cut"), rapid.IntRange(101, 300).Draw(r, "cut")}
				for {
					e, more := next(r, s, steps)
					if s.repeats != nil && s.repeats.begun {
						cuts = nil
					}
					if len(cuts) > 0 && s.Seq() > 0 && (!more || len(history) >= cuts[0]) {
						cuts = cuts[1:]
						now := other(r, &cfg)
						if trials = k.trials; now.Searcher.MaxTrials > 0 {
							trials = now.Searcher.MaxTrials
						}
						before := wantsToRun(s)
						happen(event(s.Seq()+1, Branched, 0, branching(r, now, s.Seq())))
						workers = max(before, now.Searcher.MaxConcurrentTrials)
						if now.Searcher.MaxConcurrentTrials == 0 {
							workers = max(before, trials)
						}
						cfg = now
						continue
					}
					if !more {
						break
					}
					happen(e)
					if n := s.Len() - invalid; n > trials {
						r.Fatalf("%d trials, %d are allowed", n, trials)
					}
					if n := wantsToRun(s); n > workers {
						r.Fatalf("%d trials are wanted to run, %d are allowed", n, workers)
					}
					if len(history) > 5000 {
						r.Fatal("the search does not end")
					}
				}
				if v, _ := s.Status(); v == lifecycle.Searching {
					r.Fatal("all trials have ended, but the search has not")
				}
				cfg = configOf(t, "searcher: "+k.searcher+space)
				again := begin(r, cfg)
				for _, e := range history {
					if err := again.Apply(e); err != nil {
						r.Fatal(err)
					}
				}
				if a, b := describeSearch(s), describeSearch(again); a != b {
					r.Fatalf("first:\n%s\nagain:\n%s", a, b)
				}
			})
		})
	}
}

// other draws other settings of a search.
func other(r *rapid.T, cfg *expconf.Config) expconf.Config {
	now := *cfg
	if now.Searcher.MaxTrials > 0 {
		now.Searcher.MaxTrials += rapid.IntRange(0, 10).Draw(r, "more trials")
	}
	if rapid.Bool().Draw(r, "longer") {
		length := *now.Searcher.MaxLength
		length.Units *= int64(rapid.IntRange(2, 8).Draw(r, "times"))
		now.Searcher.MaxLength = &length
	}
	if now.Searcher.MaxConcurrentTrials > 0 {
		now.Searcher.MaxConcurrentTrials = rapid.IntRange(2, 8).Draw(r, "workers")
	}
	if now.Searcher.Sampler != "" {
		now.Searcher.Sampler = rapid.SampledFrom([]string{"random", expconf.TPE}).Draw(r, "sampler")
	}
	return now
}

func branching(r interface{ Fatal(...any) }, cfg expconf.Config, at int64) Branching {
	b, err := cfg.JSON()
	if err != nil {
		r.Fatal(err)
	}
	part, err := NewContinuation(b)
	if err != nil {
		r.Fatal(err)
	}
	return Branching{Experiment: 1, Event: at, Config: part.Config}
}

// race runs a search to its end: each trial reports at each length, a smaller number is better.
func race(t *testing.T, s *Search, metric func(trial, at int) float64) {
	t.Helper()
	steps := map[int]int{}
	for range 10_000 {
		trial := -1
		for n := range s.Len() {
			w := s.Trial(n)
			if !w.Ended && (w.Stop || !w.Hold || !w.Suspended) {
				trial = n
				break
			}
		}
		if trial < 0 {
			return
		}
		w := s.Trial(trial)
		var e Event
		switch {
		case w.Stop:
			e = event(s.Seq()+1, Exited, trial, Exit{Reason: lifecycle.ExitStopped})
		case w.Hold:
			e = event(s.Seq()+1, Suspended, trial, struct{}{})
		default:
			steps[trial]++
			m := metric(trial, steps[trial])
			e = event(s.Seq()+1, Validated, trial, Validation{Metric: &m, Steps: max(steps[trial], int(s.trialSet.trials[trial].target))})
		}
		if err := s.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the search does not end")
}

// TestAHalvingSearchGoesOn: a search that has ended goes on with more trials, and the trials that waited at a rung are called back where they are
// among the best; and with a longer training, to which the best of those that had trained to the end train on.
func TestAHalvingSearchGoesOn(t *testing.T) {
	yaml := "searcher: {name: async_halving, metric: loss, num_rungs: 3, divisor: 2, max_trials: %d, max_concurrent_trials: 2, max_length: {batches: %d}, sampler: random%s}" + space
	for name, c := range map[string]struct {
		stop           string
		trials, length int
	}{"more trials": {"", 24, 8}, "longer": {"", 8, 32}, "both, and trials that stop": {", stop_once: true", 12, 16}} {
		t.Run(name, func(t *testing.T) {
			s, err := New(configOf(t, fmt.Sprintf(yaml, 8, 8, c.stop)), 7)
			if err != nil {
				t.Fatal(err)
			}
			better := func(trial, _ int) float64 { return float64(100 + trial) } // the first are the best
			race(t, s, better)
			trained := map[int]int64{}
			for n := range s.Len() {
				if w := s.Trial(n); w.Trained {
					trained[n] = w.Target
				}
			}
			at := s.Seq()
			if err := s.Apply(event(at+1, Branched, 0, branching(t, configOf(t, fmt.Sprintf(yaml, c.trials, c.length, c.stop)), at))); err != nil {
				t.Fatal(err)
			}
			if v, _ := s.Status(); v != lifecycle.Searching {
				t.Fatal("the branch has nothing to do")
			}
			race(t, s, better)
			if s.Len() != c.trials {
				t.Errorf("%d trials, want %d", s.Len(), c.trials)
			}
			longest := 0
			for n := range s.Len() {
				if w := s.Trial(n); w.Trained && w.Target == int64(c.length) {
					longest++
					if _, before := trained[n]; c.length > 8 && n < 8 && !before {
						t.Errorf("trial %d trained on to %d, and had not trained to 8", n, c.length)
					}
				}
			}
			if longest == 0 || c.length > 8 && longest > len(trained) {
				t.Errorf("%d trials have trained to %d, and %d to 8 before", longest, c.length, len(trained))
			}
		})
	}
}

// TestABranchHasABudgetOfItsOwn: the budget of a search is spent, and a branch spends its own: trials that the budget ended go on.
func TestABranchHasABudgetOfItsOwn(t *testing.T) {
	for name, searcher := range map[string]string{
		"random":  "{name: random, metric: loss, max_trials: 20, max_concurrent_trials: 2, max_length: {batches: 8}, budget: {slot_hours: 10}}",
		"halving": "{name: async_halving, metric: loss, num_rungs: 2, divisor: 2, max_trials: 40, max_concurrent_trials: 2, max_length: {batches: 8}, budget: {slot_hours: 10}}",
	} {
		t.Run(name, func(t *testing.T) {
			cfg := configOf(t, "searcher: "+searcher+space)
			s, err := New(cfg, 7)
			if err != nil {
				t.Fatal(err)
			}
			spend := func(hours float64) {
				x := SpentUntil(time.Unix(1_000_000, 0))
				x.Running = amount{hours * 3600, hours * 3600}
				x.Live = 2
				if err := s.Apply(event(s.Seq()+1, Spent, 0, x)); err != nil {
					t.Fatal(err)
				}
			}
			m := 0.5
			spend(11)
			for n := range s.Len() {
				if w := s.Trial(n); !w.Ended && !w.Hold && !w.Stop {
					_ = s.Apply(event(s.Seq()+1, Validated, n, Validation{Metric: &m, Steps: 1}))
				}
			}
			if !s.Over() {
				t.Fatal("the budget is not spent")
			}
			for n := range s.Len() {
				if !s.Trial(n).Ended {
					_ = s.Apply(event(s.Seq()+1, Exited, n, Exit{Reason: lifecycle.ExitStopped}))
				}
			}
			if v, _ := s.Status(); v == lifecycle.Searching {
				t.Fatal("the search has not ended")
			}
			if err := s.Apply(event(s.Seq()+1, Branched, 0, Branching{Experiment: 1, Event: s.Seq()})); err != nil {
				t.Fatal(err)
			}
			if s.Over() || s.trialSet.spending.spent() != 0 || wantsToRun(s) != 2 {
				t.Errorf("spent %v, over %t, %d trials are wanted to run", s.trialSet.spending.spent(), s.Over(), wantsToRun(s))
			}
		})
	}
}

// TestEventsInWords describes the events of a small search.
func TestEventsInWords(t *testing.T) {
	s, err := New(configOf(t, "searcher: {name: async_halving, metric: loss, num_rungs: 2, divisor: 2, max_trials: 3, max_concurrent_trials: 2, max_length: {epochs: 4}, sampler: random}"+space), 7)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	say := func(m Moment) {
		got = append(got, fmt.Sprintf("%d %s: %s (%d)", m.Seq, m.What, strings.Join(m.Decided, "; "), m.Trials))
	}
	say(s.Beginning())
	one, two, epochs := 0.25, 0.5, 2.0
	for _, e := range []Event{
		event(1, Validated, 0, Validation{Metric: &two, Steps: 20, Time: &epochs}),
		event(2, Suspended, 0, struct{}{}),
		event(3, Validated, 1, Validation{Metric: &one, Steps: 20, Time: &epochs}),
		event(4, Exited, 2, Exit{Reason: lifecycle.ExitErrored}),
		{Seq: 5, Kind: Branched, Body: json.RawMessage(`{"experiment": 12, "event": 4}`)},
	} {
		m, err := s.Tell(e)
		if err != nil {
			t.Fatal(err)
		}
		say(m)
	}
	want := []string{
		"0 the search begins: trials 0 to 1 begin (2)",
		"1 trial 0 reported loss 0.5 at 2 epochs: trial 0 waits; trial 2 begins to 2 epochs (3)",
		"2 trial 0 has left its slots and waits:  (3)",
		"3 trial 1 reported loss 0.25 at 2 epochs: trial 1 trains on to 4 epochs (3)",
		"4 trial 2 ended: errored: trial 0 stops (3)",
		"5 the experiment branched from experiment 12 at its event 4, without a change of the search:  (3)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestABranchOfASearchThatWasStopped: without stop_when, or with a weaker one, the branch of a search that nothing would have gained creates its other trials; and
// when the best are trained again, the settings stay.
func TestABranchOfASearchThatWasStopped(t *testing.T) {
	const text = "searcher: {name: random, metric: loss, max_trials: 30, max_concurrent_trials: 1, max_length: {batches: 8}, sampler: random, stop_when: {gain: 0.1, trials: 1, probability: 0.9}"
	finish := func(s *Search) { // the first trial is the best
		for i := 0; i < s.Len(); i++ {
			if !s.Trial(i).Ended {
				apply(t, s, event(s.Seq()+1, Validated, i, Validation{Metric: new(1 + float64(i)/10), Steps: 8}))
				apply(t, s, event(s.Seq()+1, Exited, i, Exit{Reason: lifecycle.ExitDone}))
			}
		}
	}
	cfg := configOf(t, text+"}"+space)
	s := begin(t, cfg)
	finish(s)
	stopped := s.Len()
	if status, _ := s.Status(); status != lifecycle.SearchDone || stopped >= 30 {
		t.Fatalf("the search is %v with %d trials", status, stopped)
	}
	cfg.Searcher.StopWhen = nil
	apply(t, s, event(s.Seq()+1, Branched, 0, branching(t, cfg, s.Seq())))
	finish(s)
	if status, _ := s.Status(); status != lifecycle.SearchDone || s.Len() != 30 {
		t.Errorf("the branch is %v with %d trials, and stopped with %d before", status, s.Len(), stopped)
	}

	cfg = configOf(t, text+", repeat: {best: 1, times: 2}}"+space)
	s = begin(t, cfg)
	finish(s)
	cfg.Searcher.MaxTrials = 40
	if err := s.Apply(event(s.Seq()+1, Branched, 0, branching(t, cfg, s.Seq()))); err == nil || !strings.Contains(err.Error(), "branch at an earlier event") {
		t.Errorf("other settings while the best are trained again: %v", err)
	}
}
