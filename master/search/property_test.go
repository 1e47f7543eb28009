package search

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
)

// kinds has a configuration of every searcher, with its maximum number of trials (without
// those with invalid hyperparameters) and of running trials.
var kinds = []struct {
	searcher string
	trials   int
	workers  int
}{
	{"{name: single, metric: loss, max_length: {batches: 8}}", 1, 1},
	{"{name: random, metric: loss, max_trials: 9, max_concurrent_trials: 3, max_length: {batches: 8}}", 9, 3},
	{"{name: random, metric: loss, max_trials: 20, max_concurrent_trials: 3, max_length: {batches: 8}, sampler: tpe}", 20, 3},
	{"{name: grid, metric: loss, max_concurrent_trials: 4, max_length: {batches: 8}}", 12, 4},
	{"{name: async_halving, metric: loss, num_rungs: 3, divisor: 2, max_trials: 12, max_concurrent_trials: 4, max_length: {batches: 8}, stop_once: true}", 12, 4},
	{"{name: async_halving, metric: loss, num_rungs: 3, divisor: 2, max_trials: 12, max_concurrent_trials: 4, max_length: {batches: 8}}", 12, 4},
	{"{name: async_halving, metric: loss, num_rungs: 4, divisor: 2, max_trials: 24, max_concurrent_trials: 4, max_length: {batches: 8}, sampler: tpe}", 24, 4},
	{"{name: async_halving, metric: loss, num_rungs: 4, divisor: 2, max_trials: 20, max_concurrent_trials: 4, max_length: {batches: 8}, progressive: true}", 20, 4},
	{"{name: adaptive_asha, metric: loss, mode: conservative, divisor: 2, max_trials: 14, max_concurrent_trials: 5, max_length: {batches: 8}}", 14, 5},
	{"{name: adaptive_asha, metric: loss, divisor: 3, max_trials: 14, max_concurrent_trials: 0, max_length: {batches: 9}, stop_once: true}", 14, 14},
	{"{name: random, metrics: [{name: loss}, {name: ms, at_most: 1.5}], max_trials: 20, max_concurrent_trials: 3, max_length: {batches: 8}}", 20, 3},
	{"{name: async_halving, metrics: [{name: loss}, {name: ms, at_most: 1.5}], num_rungs: 3, divisor: 2, max_trials: 24, max_concurrent_trials: 4, max_length: {batches: 8}, stop_once: true}", 24, 4},
	{"{name: adaptive_asha, metrics: [{name: loss}, {name: ms, at_most: 1.5}], divisor: 2, max_trials: 24, max_concurrent_trials: 4, max_length: {batches: 8}}", 24, 4},
	{"{name: random, metric: loss, max_trials: 20, max_concurrent_trials: 3, max_length: {batches: 8}, stop_when: {gain: 0, trials: 1, probability: 0.1}}", 20, 3},
	{"{name: async_halving, metric: loss, num_rungs: 2, divisor: 2, max_trials: 60, max_concurrent_trials: 4, max_length: {batches: 4}, stop_when: {gain: 0.1, trials: 2, probability: 0.3}}", 60, 4},
	{"{name: pbt, metric: loss, population_size: 5, num_rounds: 3, length_per_round: {batches: 3}, replace_function: {truncate_fraction: 0.4}, explore_function: {resample_probability: 0.3, perturb_factor: 0.2}}", 9, 5},
}

const space = `
hyperparameters:
  lr: {type: log, base: 10, minval: -4, maxval: 0, count: 3}
  n: {type: int, minval: 1, maxval: 4, count: 2}
  g: {kind: {type: categorical, vals: [x, y]}}
`

// wantsToRun counts the trials that the search wants to run.
func wantsToRun(s *Search) int {
	n := 0
	for i, w := range s.Wanted() {
		if !w.Stop && !w.Hold && w.Fail == "" && s.trialSet.trials[i].exited == "" {
			n++
		}
	}
	return n
}

// next draws a possible event of a trial that has not ended; false if all have ended.
func next(r *rapid.T, s *Search, steps map[int]int) (Event, bool) {
	var live []int
	for i, t := range s.trialSet.trials {
		if t.exited == "" {
			live = append(live, i)
		}
	}
	if len(live) == 0 {
		return Event{}, false
	}
	trial := rapid.SampledFrom(live).Draw(r, "trial")
	w, seq := s.Trial(trial), s.Seq()+1
	switch what := rapid.IntRange(0, 19).Draw(r, "what"); {
	case w.Fail != "":
		return event(seq, Exited, trial, Exit{Reason: lifecycle.ExitErrored}), true
	case w.Stop && what < 12:
		return event(seq, Exited, trial, Exit{Reason: lifecycle.ExitStopped}), true
	case w.Hold && !w.Suspended && what < 12:
		return event(seq, Suspended, trial, struct{}{}), true
	case what == 12:
		return event(seq, Exited, trial, Exit{Reason: rapid.SampledFrom([]string{lifecycle.ExitDone, lifecycle.ExitErrored,
			lifecycle.ExitInvalidHP, lifecycle.ExitCanceled}).Draw(r, "reason")}), true
	case what == 13:
		v := Validation{Unfit: "NaN", Steps: steps[trial]}
		if s.goals != nil {
			v.Values = map[string]any{"loss": 0.0, "ms": "NaN"}
		}
		return event(seq, Validated, trial, v), true
	}
	steps[trial] += rapid.IntRange(1, 5).Draw(r, "steps")
	m := float64(rapid.IntRange(0, 20).Draw(r, "metric")) / 10 // with ties
	v := Validation{Metric: &m, Steps: steps[trial]}
	if s.goals != nil {
		v.Values = map[string]any{"loss": m, "ms": float64(rapid.IntRange(0, 20).Draw(r, "ms")) / 10}
	}
	return event(seq, Validated, trial, v), true
}

// keeps reports whether a validation keeps the bounds of a search with several metrics.
func keeps(v Validation) bool {
	ms, several := v.Values["ms"].(float64)
	return len(v.Values) == 0 || several && ms <= 1.5
}

// TestPromises applies random events in random order. A search must not exceed its numbers of
// trials and of running trials, must not revoke a stop, must know the best result, and must
// end; and applying its events again, from any prefix on, must give the same search.
func TestPromises(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.searcher, func(t *testing.T) {
			cfg := configOf(t, "searcher: "+k.searcher+space)
			rapid.Check(t, func(r *rapid.T) {
				s, prefix := begin(r, cfg), begin(r, cfg)
				cut := rapid.IntRange(0, 60).Draw(r, "cut")
				var history []Event
				steps, invalid, least := map[int]int{}, 0, math.Inf(1)
				for {
					e, more := next(r, s, steps)
					if !more {
						break
					}
					apply(r, s, e)
					if history = append(history, e); len(history) <= cut {
						apply(r, prefix, e)
					}
					if x, err := readValidation(e.Body); e.Kind == Validated && err == nil && x.Metric != nil && keeps(x) {
						least = min(least, *x.Metric)
					}
					if string(e.Body) == `{"reason":"invalid_hp"}` {
						invalid++
					}
					if n := s.Len() - invalid; n > k.trials {
						r.Fatalf("%d trials, %d are allowed", n, k.trials)
					}
					if n := wantsToRun(s); n > k.workers {
						r.Fatalf("%d trials are wanted to run, %d are allowed", n, k.workers)
					}
					if _, best := s.Best(); best == nil && !math.IsInf(least, 1) || best != nil && *best != least {
						r.Fatalf("the best is %v, there was %v", best, least)
					}
					if p := s.Progress(nil); p < 0 || p > 1 {
						r.Fatalf("progress %v", p)
					}
					if len(history) > 5000 {
						r.Fatal("the search does not end")
					}
				}
				if v, _ := s.Status(); v == lifecycle.Searching {
					r.Fatal("all trials have ended, but the search has not")
				}
				checkFront(r, s, history)
				again := begin(r, cfg)
				for i, e := range history {
					apply(r, again, e)
					if i >= cut {
						apply(r, prefix, e)
					}
				}
				if a, b, c := describeSearch(s), describeSearch(again), describeSearch(prefix); a != b || a != c {
					r.Fatalf("first:\n%s\nagain:\n%s\nfrom a prefix on:\n%s", a, b, c)
				}
			})
		})
	}
}

func begin(r rapid.TB, cfg expconf.Config) *Search {
	s, err := New(cfg, 5)
	if err != nil {
		r.Fatal(err)
	}
	return s
}

func apply(r rapid.TB, s *Search, e Event) {
	stopped := map[int]bool{}
	for _, w := range s.Wanted() {
		stopped[w.Number] = w.Stop
	}
	if err := s.Apply(e); err != nil {
		r.Fatal(err)
	}
	for _, w := range s.Wanted() {
		if stopped[w.Number] && !w.Stop {
			r.Fatalf("trial %d runs again after its stop", w.Number)
		}
	}
}

// TestOrderOfUnrelatedReports tests that the order of events in different brackets, and of
// reports before the first rung, does not matter.
func TestOrderOfUnrelatedReports(t *testing.T) {
	cfg := configOf(t, `
searcher: {name: adaptive_asha, metric: loss, divisor: 2, max_trials: 7, max_concurrent_trials: 0, max_length: {batches: 8}}`+space)
	rapid.Check(t, func(r *rapid.T) {
		type result struct {
			trial, steps int
			metric       float64
		}
		one := begin(r, cfg)
		of := one.method.(*tournament).of
		lists := map[int][]result{}
		for trial := range one.Len() {
			key := of[trial]
			for _, steps := range []int{1, 2, 4, 8} {
				lists[key] = append(lists[key], result{trial, steps, rapid.Float64Range(0, 1).Draw(r, "metric")})
			}
		}
		// Two orders that are the same within each bracket.
		fold := func(name string) *Search {
			s := begin(r, cfg)
			at := map[int]int{}
			for {
				var open []int
				for k := range len(lists) {
					if at[k] < len(lists[k]) {
						open = append(open, k)
					}
				}
				if len(open) == 0 {
					return s
				}
				k := rapid.SampledFrom(open).Draw(r, name)
				x := lists[k][at[k]]
				at[k]++
				apply(r, s, event(s.Seq()+1, Validated, x.trial, Validation{Metric: &x.metric, Steps: x.steps}))
			}
		}
		a, b := fold("first"), fold("second")
		for i := range a.Len() {
			if wantedOf(a.Trial(i)) != wantedOf(b.Trial(i)) {
				r.Fatalf("trial %d %s in one order and %s in the other", i, wantedOf(a.Trial(i)), wantedOf(b.Trial(i)))
			}
		}
	})
}

// TestTheModelStaysInItsSpace tests that the sampler tpe proposes values within their bounds
// and of the right types, and that its proposals approach good values.
func TestTheModelStaysInItsSpace(t *testing.T) {
	cfg := configOf(t, `
searcher: {name: random, metric: loss, max_trials: 120, max_concurrent_trials: 1, max_length: {batches: 8}, sampler: tpe}
hyperparameters:
  lr: {type: log, base: 10, minval: -4, maxval: 0}
  d: {type: double, minval: -1, maxval: 1}
  n: {type: int, minval: 1, maxval: 64}
  g: {kind: {type: categorical, vals: [x, [1, 2], null]}, fixed: 3, empty: {}}`)
	s, err := New(cfg, 3)
	if err != nil {
		t.Fatal(err)
	}
	far := func(hp map[string]any) float64 {
		kind := 0.0
		if text(hp["g"].(map[string]any)["kind"]) != "[1,2]" {
			kind = 1
		}
		return math.Abs(math.Log10(hp["lr"].(float64))+1) + math.Abs(hp["d"].(float64)-0.5) + math.Abs(float64(hp["n"].(int64))-8)/64 + kind
	}
	early, late := 0.0, 0.0
	for i := range 120 {
		hp := s.HParams(i)
		g := hp["g"].(map[string]any)
		if lr, d, n := hp["lr"].(float64), hp["d"].(float64), hp["n"].(int64); lr < 1e-4 || lr > 1 || d < -1 || d > 1 || n < 1 || n > 64 || g["fixed"] == nil || g["empty"] == nil {
			t.Fatalf("trial %d is out of its space: %v", i, hp)
		}
		loss := far(hp)
		if i < 20 {
			early += loss / 20
		} else if i >= 80 {
			late += loss / 40
		}
		for _, e := range []Event{event(0, Validated, i, Validation{Metric: &loss, Steps: 8}), event(0, Exited, i, Exit{Reason: lifecycle.ExitDone})} {
			e.Seq = s.Seq() + 1
			if err := s.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if late > 0.75*early {
		t.Errorf("the first draws are off by %.2f on average, the last by %.2f", early, late)
	}
}
