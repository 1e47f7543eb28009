package search

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/detent-ml/detent/master/lifecycle"
)

// A repeated search is a search with its events, which are applied again at the end.
type repeatedSearch struct {
	*Search
	t      *testing.T
	again  *Search
	events []Event
}

func repeatedOf(t *testing.T, searcher string) *repeatedSearch {
	t.Helper()
	cfg := configOf(t, "searcher: {metric: loss, "+searcher+"}\nhyperparameters: {x: {type: int, minval: 1, maxval: 9, count: 6}}")
	s, err := New(cfg, 5)
	if err != nil {
		t.Fatal(err)
	}
	again, err := New(cfg, 5)
	if err != nil {
		t.Fatal(err)
	}
	return &repeatedSearch{Search: s, t: t, again: again}
}

func (s *repeatedSearch) tell(kind string, trial int, body any) {
	s.t.Helper()
	e := event(s.Seq()+1, kind, trial, body)
	if err := s.Apply(e); err != nil {
		s.t.Fatal(err)
	}
	s.events = append(s.events, e)
}

func (s *repeatedSearch) report(trial int, steps int, loss float64) {
	s.t.Helper()
	s.tell(Validated, trial, Validation{Metric: &loss, Steps: steps})
}

// replays applies the events again: another master knows the same search.
func (s *repeatedSearch) replays() {
	s.t.Helper()
	for _, e := range s.events {
		if err := s.again.Apply(e); err != nil {
			s.t.Fatal(err)
		}
	}
	if a, b := describeSearch(s.Search), describeSearch(s.again); a != b || s.OutlookJSON() != s.again.OutlookJSON() {
		s.t.Errorf("applied again, the search is\n%s\ninstead of\n%s", b, a)
	}
}

// TestTheMeanOfRepeatsDecides, not the result that a configuration was chosen for: repeats have the hyperparameters of the best trials and other seeds,
// count among max_trials, and begin when all others have ended, no more at once than max_concurrent_trials.
func TestTheMeanOfRepeatsDecides(t *testing.T) {
	s := repeatedOf(t, "name: random, max_trials: 10, max_concurrent_trials: 2, repeat: {best: 2, times: 2}")
	results := []float64{0.5, 0.3, 0.9, 0.4, 0.8, 0.7}
	if s.Len() != 2 || s.Planned() != 10 {
		t.Fatalf("it begins with %d trials of %d", s.Len(), s.Planned())
	}
	for i, v := range results {
		s.report(i, 8, v)
		s.tell(Exited, i, Exit{lifecycle.ExitDone})
	}
	if s.Len() != 8 || s.Planned() != 10 || s.Outlook().Repeats.Decided {
		t.Fatalf("it has %d trials of %d: %s", s.Len(), s.Planned(), s.OutlookJSON())
	}
	for i, of := range []int{1, 3} { // the best two
		x := 6 + i
		if !reflect.DeepEqual(s.HParams(x), s.HParams(of)) || s.Trial(x).Seed == s.Trial(of).Seed || s.Trial(x).Target != 0 {
			t.Errorf("trial %d is %+v with %v, and trial %d %v", x, s.Trial(x), s.HParams(x), of, s.HParams(of))
		}
	}
	// That of trial 1 was lucky; one of its repeats is the best result of all, and the other one bad.
	for i, v := range map[int]float64{6: 0.2, 7: 0.35} {
		s.report(i, 8, v)
	}
	if trial, best := s.Best(); trial != 1 || *best != 0.3 {
		t.Errorf("before the end of the repeats the best is %v of trial %d", *best, trial)
	}
	s.tell(Exited, 6, Exit{lifecycle.ExitDone})
	s.tell(Exited, 7, Exit{lifecycle.ExitDone})
	s.report(8, 8, 0.8)
	s.report(9, 8, 0.41)
	s.report(9, 9, 0.37)
	s.tell(Exited, 8, Exit{lifecycle.ExitDone})
	if status, _ := s.Status(); status != lifecycle.Searching {
		t.Errorf("with a repeat that runs it is %v", status)
	}
	s.tell(Exited, 9, Exit{lifecycle.ExitDone})
	if status, _ := s.Status(); status != lifecycle.SearchDone || s.Len() != 10 || s.MayGrow() {
		t.Errorf("it is %v with %d trials", status, s.Len())
	}
	if trial, best := s.Best(); trial != 7 || *best != 0.35 {
		t.Errorf("the best is %v of trial %d", *best, trial)
	}
	o := s.Outlook().Repeats
	if !o.Decided || len(o.List) != 2 || o.List[0].Of != 3 || o.List[1].Of != 1 || fmt.Sprint(o.List[0].Trials, o.List[1].Trials) != "[7 9] [6 8]" ||
		math.Abs(*o.List[0].Mean-0.36) > 1e-9 || math.Abs(*o.List[0].Deviation-0.01*math.Sqrt2) > 1e-9 || math.Abs(*o.List[1].Mean-0.5) > 1e-9 {
		t.Errorf("the outlook is %s", s.OutlookJSON())
	}
	s.replays()
}

// TestRepeatsTrainToTheEnd, also those of trials that a rung has stopped.
func TestRepeatsTrainToTheEnd(t *testing.T) {
	s := repeatedOf(t, "name: async_halving, smaller_is_better: false, num_rungs: 2, divisor: 2, max_length: {batches: 8}, max_trials: 6, max_concurrent_trials: 1, stop_once: true, sampler: random, repeat: {best: 2, times: 1}")
	for i := 0; i < 4; i++ {
		s.report(i, 4, float64(10-i))
		if !s.Trial(i).Stop {
			s.report(i, 8, float64(10-i))
		}
		s.tell(Exited, i, Exit{lifecycle.ExitStopped})
	}
	if s.Len() != 5 || s.Trial(4).Target != 8 || s.Trial(4).Stop {
		t.Fatalf("%d trials: %+v", s.Len(), s.Wanted())
	}
	s.report(4, 4, 3)
	s.report(4, 8, 2)
	if x := s.Trial(4); !x.Stop || !x.Trained {
		t.Errorf("at its end it is %+v", x)
	}
	s.tell(Exited, 4, Exit{lifecycle.ExitStopped})
	if s.Len() != 6 {
		t.Fatalf("%d trials", s.Len())
	}
	s.report(5, 8, 6)
	s.tell(Exited, 5, Exit{lifecycle.ExitStopped})
	if trial, best := s.Best(); trial != 5 || *best != 6 || *s.Outlook().Repeats.List[0].Mean != 6 || s.Outlook().Repeats.List[0].Deviation != nil {
		t.Errorf("the best is %v of trial %d: %s", *best, trial, s.OutlookJSON())
	}
	s.replays()
}

// TestRepeatsThatFail rank behind, and the same configuration is not repeated twice.
func TestRepeatsThatFail(t *testing.T) {
	s := repeatedOf(t, "name: grid, max_concurrent_trials: 0, repeat: {best: 3, times: 2}")
	for i := range 6 {
		s.report(i, 1, float64(1+i))
		s.tell(Exited, i, Exit{map[bool]string{true: lifecycle.ExitErrored, false: lifecycle.ExitDone}[i == 0]}) // the best one failed
	}
	if s.Len() != 12 {
		t.Fatalf("%d trials", s.Len())
	}
	for i := 6; i < 12; i++ {
		of := 1 + (i-6)%3
		if !reflect.DeepEqual(s.HParams(i), s.HParams(of)) {
			t.Errorf("trial %d has %v, and trial %d %v", i, s.HParams(i), of, s.HParams(of))
		}
		if s.report(i, 1, float64(of)); i == 6 { // of the best configuration
			s.tell(Exited, i, Exit{lifecycle.ExitErrored})
			continue
		}
		s.tell(Exited, i, Exit{lifecycle.ExitDone})
	}
	list := s.Outlook().Repeats.List
	if status, _ := s.Status(); status != lifecycle.SearchDone || list[0].Of != 2 || list[1].Of != 3 || list[2].Of != 1 || list[2].Results != 1 {
		t.Errorf("%v %s", status, s.OutlookJSON())
	}
	s.replays()

	// Of nine draws from six values some are the same.
	s = repeatedOf(t, "name: random, max_trials: 29, repeat: {best: 9, times: 1}")
	for i := 0; i < 20; i++ {
		s.report(i, 1, 1)
		s.tell(Exited, i, Exit{lifecycle.ExitDone})
	}
	seen := map[string]bool{}
	for i := 20; i < s.Len(); i++ {
		seen[text(s.HParams(i))] = true
	}
	if len(seen) != s.Len()-20 || len(seen) < 2 || len(seen) > 9 || s.Planned() != s.Len() {
		t.Errorf("%d repeats of %d configurations, %d planned", s.Len()-20, len(seen), s.Planned())
	}

	// Nothing is repeated of a search without a result.
	s = repeatedOf(t, "name: random, max_trials: 8, max_concurrent_trials: 0, repeat: {best: 2, times: 3}")
	s.tell(Exited, 0, Exit{lifecycle.ExitErrored})
	s.tell(Exited, 1, Exit{lifecycle.ExitDone})
	if status, _ := s.Status(); status != lifecycle.SearchDone || s.Len() != 2 || s.Outlook().Repeats != nil {
		t.Errorf("%v with %d trials: %s", status, s.Len(), s.OutlookJSON())
	}
}

// TestPromisesOfRepeats applies random events in random order, as TestPromises does.
func TestPromisesOfRepeats(t *testing.T) {
	for _, k := range []struct {
		searcher        string
		trials, workers int
	}{
		{"{name: random, metric: loss, max_trials: 9, max_concurrent_trials: 3, max_length: {batches: 8}, repeat: {best: 2, times: 2}}", 9, 3},
		{"{name: grid, metric: loss, max_concurrent_trials: 4, max_length: {batches: 8}, repeat: {best: 3, times: 2}}", 18, 4},
		{"{name: async_halving, metric: loss, num_rungs: 3, divisor: 2, max_trials: 16, max_concurrent_trials: 4, max_length: {batches: 8}, repeat: {best: 2, times: 3}}", 16, 4},
		{"{name: async_halving, metric: loss, num_rungs: 2, divisor: 2, max_trials: 40, max_concurrent_trials: 4, max_length: {batches: 4}, stop_once: true, stop_when: {gain: 0.1, trials: 2, probability: 0.3}, repeat: {best: 2, times: 2}}", 40, 4},
	} {
		t.Run(k.searcher, func(t *testing.T) {
			cfg := configOf(t, "searcher: "+k.searcher+space)
			rapid.Check(t, func(r *rapid.T) {
				s, prefix := begin(r, cfg), begin(r, cfg)
				var history []Event
				steps, invalid := map[int]int{}, 0
				for {
					e, more := next(r, s, steps)
					if !more {
						break
					}
					apply(r, s, e)
					history = append(history, e)
					if string(e.Body) == `{"reason":"invalid_hp"}` {
						invalid++
					}
					if n := s.Len() - invalid; n > k.trials {
						r.Fatalf("%d trials, %d are allowed", n, k.trials)
					}
					if n := wantsToRun(s); n > k.workers {
						r.Fatalf("%d trials are wanted to run, %d are allowed", n, k.workers)
					}
					if len(history) > 5000 {
						r.Fatal("the search does not end")
					}
				}
				if status, _ := s.Status(); status == lifecycle.Searching || s.MayGrow() {
					r.Fatalf("with all trials ended it is %v", status)
				}
				if o := s.Outlook().Repeats; o != nil {
					if trial, best := s.Best(); o.List[0].Results > 0 && (trial < o.List[0].Trials[0] || *best < *o.List[0].Mean-20) || !o.Decided {
						r.Fatalf("the best is trial %d: %s", trial, s.OutlookJSON())
					}
				}
				for _, e := range history {
					apply(r, prefix, e)
				}
				if a, b := describeSearch(s), describeSearch(prefix); a != b || s.OutlookJSON() != prefix.OutlookJSON() {
					r.Fatalf("applied again, the search is\n%s\ninstead of\n%s", b, a)
				}
			})
		})
	}
}
