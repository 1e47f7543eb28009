package search

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/search/front"
)

// checkFront compares the front of a search with that of all its validations.
func checkFront(r *rapid.T, s *Search, history []Event) {
	if s.goals == nil {
		return
	}
	var points []front.Point
	for _, e := range history {
		v, err := readValidation(e.Body)
		if loss, ok := v.Values["loss"].(float64); e.Kind == Validated && err == nil && ok && keeps(v) {
			points = append(points, front.Point{Values: []float64{loss, v.Values["ms"].(float64)}})
		}
	}
	want := map[string]bool{}
	for i, rank := range front.Sort(points).Ranks {
		if rank == 0 {
			want[fmt.Sprint(points[i].Values)] = true
		}
	}
	for _, x := range s.Front() {
		if !want[fmt.Sprint(x.Values)] {
			r.Fatalf("%v of trial %d is not on the front", x.Values, x.Trial)
		}
	}
	if n := len(s.Front()); n != len(want) {
		r.Fatalf("the front has %d results, want %d", n, len(want))
	}
}

// several is a search with two metrics in a test, whose trials report by hand.
type several struct {
	t *testing.T
	*Search
}

func severalOf(t *testing.T, searcher string) several {
	t.Helper()
	s, err := New(configOf(t, "searcher: "+searcher+"\nhyperparameters: {x: {type: double, minval: 0, maxval: 1}}\n"), 7)
	if err != nil {
		t.Fatal(err)
	}
	return several{t, s}
}

func (s several) tell(kind string, trial int, body any) {
	s.t.Helper()
	if err := s.Apply(event(s.Seq()+1, kind, trial, body)); err != nil {
		s.t.Fatal(err)
	}
}

// report is a validation after so many batches; values are the text of a JSON object.
func (s several) report(trial, steps int, values string) {
	s.t.Helper()
	v := Validation{Steps: steps}
	if err := json.Unmarshal([]byte(values), &v.Values); err != nil {
		s.t.Fatal(err)
	}
	s.tell(Validated, trial, v)
}

// states says of each trial what the search wants: runs, waits, stops or fails.
func (s several) states() string {
	var words []string
	for _, w := range s.Wanted() {
		word := "runs"
		switch {
		case w.Fail != "":
			word = "fails"
		case w.Stop:
			word = "stops"
		case w.Hold:
			word = "waits"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

const twoRungs = "{name: async_halving, metrics: [{name: loss}, {name: ms, at_most: 20}], num_rungs: 2, divisor: 2, max_trials: 4, max_concurrent_trials: 4, " +
	"max_length: {batches: 8}, sampler: random, stop_once: true}"

// TestARungComparesByTheFront: trials train on that are among the first of the front; those that break a bound come behind.
func TestARungComparesByTheFront(t *testing.T) {
	s := severalOf(t, twoRungs)
	s.report(0, 4, `{"loss": 0.5, "ms": 10}`)
	s.report(1, 4, `{"loss": 0.1, "ms": 30}`) // the smallest loss, which takes too long
	s.report(2, 4, `{"loss": 0.6, "ms": 11}`) // worse in both
	s.report(3, 4, `{"loss": 0.9, "ms": 5}`)  // on the front
	if got := s.states(); got != "runs stops stops runs" {
		t.Errorf("with trials that stop: %s", got)
	}
	if trial, metric := s.Best(); trial != 0 || *metric != 0.5 {
		t.Errorf("the best is trial %d with %v: not the smallest loss that keeps the bounds", trial, *metric)
	}
	if got := fmt.Sprint(s.Front()); got != "[{0 4 [0.5 10]} {3 4 [0.9 5]}]" {
		t.Errorf("the front is %s", got)
	}
	o := s.Outlook().Front
	if o.Results != 4 || o.Keeping != 3 || o.Total != 2 || fmt.Sprint(o.Bounds, o.Metrics) != "[ms at most 20] [loss ms]" {
		t.Errorf("the outlook: %+v", o)
	}

	// Trials that wait: the search promotes the first two of four, and the one with the smallest violation before one with a larger one.
	s = severalOf(t, strings.Replace(twoRungs, ", stop_once: true", "", 1))
	s.report(0, 4, `{"loss": 0.1, "ms": 40}`)
	s.report(1, 4, `{"loss": 0.9, "ms": 30}`)
	if got := s.states(); got != "waits runs runs runs" {
		t.Errorf("all break the bound: %s", got)
	}
	s.report(2, 4, `{"loss": 0.8, "ms": 20}`)
	s.report(3, 4, `{"loss": 0.7, "ms": 20}`)
	if got := s.states(); got != "stops runs runs runs" {
		t.Errorf("with trials that wait: %s", got)
	}
}

// TestReportsOfSeveralMetrics: a report counts as a whole.
func TestReportsOfSeveralMetrics(t *testing.T) {
	s := severalOf(t, twoRungs)
	s.report(0, 2, `{"loss": 0.5}`)
	s.report(1, 2, `{"loss": 0.5, "ms": "fast"}`)
	s.report(2, 4, `{"loss": "Infinity", "ms": 1}`)
	s.report(3, 4, `{"loss": 0.5, "ms": 100}`)
	if got := s.states(); got != "fails fails runs runs" { // the first at a rung always trains on; one that diverged ranks behind what breaks a bound
		t.Errorf("%s", got)
	}
	for trial, want := range []string{`its validation at step 2 lacks the metric "ms", which searcher.metrics names`, `the metric "ms" of its validation at step 2 is fast, not a number`} {
		if got := s.Trial(trial).Fail; got != want {
			t.Errorf("trial %d fails because %s", trial, got)
		}
	}
	if len(s.Front()) != 0 || s.Outlook().Front.Keeping != 0 || s.Outlook().Front.Results != 1 {
		t.Errorf("the front has %v, the outlook says %+v", s.Front(), s.Outlook().Front)
	}
	if _, metric := s.Best(); metric != nil {
		t.Errorf("a result that breaks its bounds is the best: %v", *metric)
	}

	// A program of an old harness completes a length with one metric; the others are those of its newest validation.
	s = severalOf(t, twoRungs)
	s.report(0, 3, `{"loss": 0.5, "ms": 1}`)
	m := 0.5
	s.tell(Validated, 0, Validation{Metric: &m, Length: 4})
	if x := s.method.(*tournament).brackets[0].entries[0]; x.rung != 1 || s.Trial(0).Fail != "" {
		t.Errorf("a completed length: %+v, %s", x, s.Trial(0).Fail)
	}
}

// TestReportsOfAnEarlierMaster: while masters of two releases run, the earlier one stores validations without the metrics. They do not count, and no
// trial fails because of them; one that has none of the metrics does.
func TestReportsOfAnEarlierMaster(t *testing.T) {
	s := severalOf(t, twoRungs)
	m := 0.5
	s.tell(Validated, 0, Validation{Metric: &m, Steps: 4})
	s.report(1, 4, `{}`)
	s.report(2, 4, `{"loss": 0.5, "ms": 1}`)
	if got := s.states(); got != "runs fails runs runs" || len(s.Front()) != 1 || s.Outlook().Front.Results != 1 {
		t.Errorf("%s, and the front has %v", got, s.Front())
	}
	if b, err := json.Marshal(Validation{Steps: 2, Values: map[string]any{}}); err != nil || string(b) != `{"metric":null,"steps":2,"run":0,"values":{}}` {
		t.Errorf("a report without the metrics is stored as %s (%v)", b, err)
	}
}

// TestEventsOfSeveralMetrics: the form of what is stored, which later releases must read.
func TestEventsOfSeveralMetrics(t *testing.T) {
	const body = `{"metric": 0.25, "steps": 4, "run": 1, "values": {"loss": 0.25, "ms": "NaN", "gb": 1e3}}`
	v, err := readValidation(json.RawMessage(body))
	if err != nil || *v.Metric != 0.25 || v.Values["loss"] != 0.25 || v.Values["ms"] != "NaN" || v.Values["gb"] != 1000.0 {
		t.Errorf("%+v, %v", v, err)
	}
	m := 1.5
	if b, err := json.Marshal(Validation{Metric: &m, Steps: 2, Run: 1}); err != nil || string(b) != `{"metric":1.5,"steps":2,"run":1}` {
		t.Errorf("a validation with one metric is stored as %s (%v)", b, err)
	}
}

// tradeOff runs a search with two metrics, whose front is where x is from 0.25 to 0.75 and y and z have one value, and returns the volume of its
// front.
func tradeOff(t *testing.T, sampler string, seed int64) float64 {
	t.Helper()
	cfg := configOf(t, "searcher: {name: random, metrics: [{name: a}, {name: b}], max_trials: 60, max_concurrent_trials: 1, sampler: "+sampler+"}\n"+
		"hyperparameters: {x: {type: double, minval: 0, maxval: 1}, y: {type: double, minval: 0, maxval: 1}, z: {type: double, minval: 0, maxval: 1}}\n")
	s, err := New(cfg, seed)
	if err != nil {
		t.Fatal(err)
	}
	var values [][]float64
	for i := range cfg.Searcher.MaxTrials {
		hp := s.HParams(i)
		x, y, z := hp["x"].(float64), hp["y"].(float64), hp["z"].(float64)
		far := 4 * ((y-0.3)*(y-0.3) + (z-0.6)*(z-0.6))
		a, b := (x-0.25)*(x-0.25)+far, (x-0.75)*(x-0.75)+far
		values = append(values, []float64{a, b})
		for _, e := range []Event{event(0, Validated, i, Validation{Metric: &a, Steps: 8, Values: map[string]any{"a": a, "b": b}}), event(0, Exited, i, Exit{Reason: lifecycle.ExitDone})} {
			e.Seq = s.Seq() + 1
			if err := s.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	v, err := front.Volume(values, []float64{0.5, 0.5})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestTheSamplerFindsTheFront: with the same number of trials, the front of sampler tpe dominates more than that of random draws.
func TestTheSamplerFindsTheFront(t *testing.T) {
	random, tpe := 0.0, 0.0
	for seed := range int64(10) {
		random += tradeOff(t, "random", seed)
		tpe += tradeOff(t, "tpe", seed)
	}
	t.Logf("mean volume: %.4f with random draws, %.4f with tpe", random/10, tpe/10)
	if tpe < 1.02*random {
		t.Errorf("the fronts of tpe have the volume %.4f, and those of random draws %.4f", tpe/10, random/10)
	}
}

// TestTheEstimateOfSeveralMetrics tests the estimate of the memory with four metrics, all trials on the front.
func TestTheEstimateOfSeveralMetrics(t *testing.T) {
	cfg := configOf(t, "searcher: {name: async_halving, metrics: [{name: a}, {name: b}, {name: c}, {name: d}], max_trials: 200, num_rungs: 5, max_length: 1000, "+
		"max_concurrent_trials: 0, stop_once: true}\nhyperparameters: {x: {type: double, minval: 0, maxval: 1}}\n")
	before := heap()
	list := make([]*Search, 2)
	for i := range list {
		s, err := New(cfg, 7)
		if err != nil {
			t.Fatal(err)
		}
		list[i] = s
		for trial := 0; trial < s.Len(); trial++ {
			x := float64(trial)
			for _, at := range []float64{4, 16, 62, 250, 1000} {
				v := Validation{Metric: &x, Time: &at, Values: map[string]any{"a": x, "b": -x, "c": math.Mod(x, 7), "d": math.Mod(x, 11)}}
				if err := s.Apply(event(s.Seq()+1, Validated, trial, v)); err != nil {
					t.Fatal(err)
				}
			}
			s.OutlookJSON()
		}
	}
	withinEstimate(t, heap()-before, list[0].Memory()*int64(len(list)))
	runtime.KeepAlive(list)
}

// TestAReorderedListKeepsItsTies: of equal results the oldest stays first, or the newest comes first, as with one metric.
func TestAReorderedListKeepsItsTies(t *testing.T) {
	for newest, want := range map[bool][]int{false: {0, 1, 2, 3}, true: {3, 2, 1, 0}} {
		var list []int
		for i := range 4 {
			var at int
			list, at = inserted(list, i, newest, func(int) front.Point { return front.Point{Values: []float64{1, 1}} })
			if list[at] != i {
				t.Errorf("%d is not at %d of %v", i, at, list)
			}
		}
		if !slices.Equal(list, want) {
			t.Errorf("newest first is %v: %v", newest, list)
		}
	}
}

// BenchmarkSeveral applies the results of a search with as many trials as are allowed, all of which are on the front.
func BenchmarkSeveral(b *testing.B) {
	for _, metrics := range []int{2, 4} {
		names := strings.Join([]string{"{name: m0}", "{name: m1}", "{name: m2}", "{name: m3}"}[:metrics], ", ")
		cfg := configOf(b, "searcher: {name: async_halving, metrics: ["+names+"], num_rungs: 3, max_trials: 1000, max_concurrent_trials: 8, max_length: {batches: 16}, stop_once: true}\n"+
			"hyperparameters: {x: {type: double, minval: 0, maxval: 1}, y: {type: double, minval: 0, maxval: 1}}\n")
		b.Run(fmt.Sprint(metrics), func(b *testing.B) {
			n := 0
			for b.Loop() {
				s, err := New(cfg, 7)
				if err != nil {
					b.Fatal(err)
				}
				for trial := 0; trial < s.Len(); trial++ {
					v := Validation{Values: map[string]any{}}
					sum := 0.0
					for m := 1; m < metrics; m++ {
						x := math.Mod(float64(trial)*[]float64{0, 0.618034, 0.414214, 0.732051}[m], 1)
						v.Values[fmt.Sprint("m", m)] = x
						sum += x
					}
					v.Values["m0"] = -sum
					for _, at := range []int{1, 4, 16} {
						if s.Trial(trial).Stop {
							break
						}
						v.Steps = at
						if err := s.Apply(event(s.Seq()+1, Validated, trial, v)); err != nil {
							b.Fatal(err)
						}
						n++
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n), "µs/report")
		})
	}
}
