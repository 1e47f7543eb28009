package search

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

const learning = `
entrypoint: e
searcher: {name: random, metric: m, max_trials: 40, max_concurrent_trials: 4, learn_from: [12], constraints: ["a + b < 1.5"]}
hyperparameters:
  a: {type: double, minval: 0, maxval: 1}
  b: {type: double, minval: 0, maxval: 1}
  n: {type: int, minval: 1, maxval: 64}
  net: {kind: {type: categorical, vals: [x, [1, 2], null]}, width: 128}
  c: {type: double, minval: 0, maxval: 1, when: {net.kind: x}}
`

// pastOf is a past trial with hyperparameters in JSON, and a result of a whole training.
func pastOf(t testing.TB, hparams string, metric float64) PastTrial {
	t.Helper()
	return PastTrial{HParams: json.RawMessage(hparams), Results: [Lengths]*float64{Lengths - 1: &metric}}
}

// TestWhichEarlierTrialsCount: those whose values lie in the space. What a trial lacks, and what has no effect here, says nothing.
func TestWhichEarlierTrialsCount(t *testing.T) {
	c, err := NewCollector(configOf(t, learning))
	if err != nil {
		t.Fatal(err)
	}
	list := []PastTrial{
		pastOf(t, `{"a": 0.5, "b": 0.25, "n": 8, "net": {"kind": [1, 2], "width": 128}, "c": 0.75}`, 0.5),
		pastOf(t, `{"a": 0.5, "c": 0.5, "other": 3}`, 0.25),
		pastOf(t, `{"a": 1e-300, "net": {"kind": null}, "c": 7}`, math.NaN()),
		pastOf(t, `{"n": 64, "net": {"kind": "x"}, "c": 1}`, 0.25),
		pastOf(t, `{"a": 0.9, "b": 0.9}`, 0.1),
		pastOf(t, `{"a": 0.5, "net": {"width": 64}}`, 0.1),
		pastOf(t, `{"a": 0.5, "net": {"width": 64}, "n": 1}`, 0.1),
		pastOf(t, `{"a": "0.5"}`, 0.1),
		pastOf(t, `{"n": 2.5}`, 0.1),
		pastOf(t, `{"n": 1e999}`, 0.1),
		pastOf(t, `{"a": null}`, 0.1),
		pastOf(t, `{"net": {"kind": [1]}}`, 0.1),
		pastOf(t, `{"a": 1.01}`, 0.1),
		pastOf(t, `{"c": 2, "net": {"kind": "x"}}`, 0.1),
		pastOf(t, `{"c": 2, "net": 7}`, 0.1),
		pastOf(t, `{}`, 0.1),
		pastOf(t, `{"net": {"width": 128}}`, 0.1),
	}
	remark := c.Add(12, list)
	if want := "searcher.learn_from: of 17 trials of experiment 12 this search learns from 4; the others are outside of its space, most often because of a (3)"; remark != want {
		t.Errorf("it says %q, want %q", remark, want)
	}
	got := text(c.Earlier())
	want := `{"names":["a","b","c","n","net.kind"],"experiments":[{"id":12,"trials":[` +
		`{"values":"0.5 0.25 - 8 1","results":[null,null,null,2]},{"values":"0.5 - 0.5 - -","results":[null,null,null,0]},` +
		`{"values":"1e-300 - - - 2","results":[null,null,null,-1]},{"values":"- - 1 64 0","results":[null,null,null,0]}]}]}`
	if got != want {
		t.Errorf("it learns %s, want %s", got, want)
	}
	for list, want := range map[string]string{
		"":             "experiment 13 has no trial with a result, so this search learns nothing from it",
		`{"other": 1}`: "the trials of experiment 13 have none of the hyperparameters that vary in this search, so it learns nothing from them",
		`{"a": 1}`:     "this search learns from 1 trial of experiment 13",
	} {
		var trials []PastTrial
		if list != "" {
			trials = append(trials, pastOf(t, list, 1))
		}
		if got := c.Add(13, trials); got != "searcher.learn_from: "+want {
			t.Errorf("it says %q", got)
		}
	}
}

// TestWhatIsLearnedIsLimited: however many trials the earlier experiments have, and a small experiment is not crowded out.
func TestWhatIsLearnedIsLimited(t *testing.T) {
	for axes, most := range map[int]int{3: MaxEarlierTrials, 100: maxEarlierValues / 100, 1500: 16} {
		cfg := configOf(t, "entrypoint: e\nsearcher: {name: random, metric: m, max_trials: 1, learn_from: [1, 2, 3]}\nhyperparameters:\n"+
			strings.Join(numbered(axes, "  h%d: {type: double, minval: 0, maxval: 1}\n"), ""))
		c, err := NewCollector(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for id, n := range []int{3 * MaxEarlierTrials, 1, 3 * MaxEarlierTrials} {
			var list []PastTrial
			for i := range n {
				list = append(list, pastOf(t, `{"h0": 0.5, "h1": 0.123456789012345678}`, float64(i)))
			}
			c.Add(id, list)
		}
		e := c.Earlier()
		var counts []int
		sum := 0
		for _, x := range e.Experiments {
			counts = append(counts, len(x.Trials))
			sum += len(x.Trials)
		}
		if sum != most || counts[1] != 1 || counts[0]-counts[2] > 1 || counts[2]-counts[0] > 1 {
			t.Errorf("with %d hyperparameters %v trials count, want %d", axes, counts, most)
		}
		s, err := New(cfg, 1)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		body, err := s.Begin(e)
		if err != nil || len(body) > 1<<20 {
			t.Errorf("%d bytes: %v", len(body), err)
		}
		t.Logf("%d hyperparameters: %d bytes, read in %v", axes, len(body), time.Since(began))
	}
}

// TestASearchWaitsForWhatItLearns: it has no trials before, and takes it once, as its first event.
func TestASearchWaitsForWhatItLearns(t *testing.T) {
	cfg := configOf(t, learning)
	begin := func() *Search {
		s, err := New(cfg, 7)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := begin()
	if status, _ := s.Status(); s.Len() != 0 || status != lifecycle.Searching || !s.MayGrow() || s.Progress(nil) != 0 {
		t.Errorf("before it begins it has %d trials and is %v", s.Len(), status)
	}
	for body, want := range map[string]string{
		`{}`:                    "",
		`{"names": ["gone"]}`:   "",
		`{"experiments": [{}]}`: "",
		`7`:                     "cannot unmarshal",
		`{"names": ["a"], "experiments": [{"id": 3, "trials": [{"values": ""}]}]}`:                 "experiment 3: a trial has 0 values of 1 hyperparameters",
		`{"names": ["a"], "experiments": [{"id": 3, "trials": [{"values": "7"}]}]}`:                "a cannot be 7",
		`{"names": ["a"], "experiments": [{"id": 3, "trials": [{"values": "NaN"}]}]}`:              "a cannot be NaN",
		`{"names": ["a"], "experiments": [{"id": 3, "trials": [{"values": "x"}]}]}`:                "invalid syntax",
		`{"names": ["net.kind"], "experiments": [{"id": 3, "trials": [{"values": "3"}]}]}`:         "net.kind has no value 3",
		`{"names": ["net.kind"], "experiments": [{"id": 3, "trials": [{"values": "-1"}]}]}`:        "net.kind has no value -1",
		`{"names": ["a", "a"], "experiments": [{"id": 3, "trials": [{"values": "0.5 0.5"}]}]}`:     "",
		`{"names": ["a"], "experiments": [{"trials": [{"values": "0.5", "results": [1,2,3,4]}]}]}`: "",
	} {
		s := begin()
		err := s.Apply(Event{Seq: 1, Kind: Learned, Body: json.RawMessage(body)})
		if want == "" && (err != nil || s.Len() != 4) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, %d trials", body, err, s.Len())
		}
	}
	if err := s.Apply(event(1, Exited, 0, Exit{})); err == nil || !strings.Contains(err.Error(), "comes before what the search learns") {
		t.Errorf("another event comes first: %v", err)
	}
	s = begin()
	if _, err := s.Begin(Earlier{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(event(2, Learned, 0, Earlier{})); err == nil {
		t.Error("it learns twice")
	}
	plain, err := New(configOf(t, strings.Replace(learning, "learn_from: [12]", "sampler: tpe", 1)), 7)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := plain.Begin(Earlier{}); body != nil || err != nil || plain.Seq() != 0 {
		t.Errorf("a search that learns nothing begins with %s, %v", body, err)
	}
}

// lossOf is smallest at one point of the space of TestLessons.
func lossOf(hp map[string]any) float64 {
	v := math.Abs(math.Log10(hp["lr"].(float64))+1)/4 + math.Abs(float64(hp["n"].(int64))-8)/64
	if hp["kind"] != "v" {
		v++
	}
	return v
}

// TestLessons: a good lesson makes the first trials better, and one that misleads costs little.
func TestLessons(t *testing.T) {
	const doc = `
entrypoint: e
searcher: {name: random, metric: loss, max_trials: 90, max_concurrent_trials: 1%s}
hyperparameters:
  lr: {type: log, base: 10, minval: -4, maxval: 0}
  n: {type: int, minval: 1, maxval: 64}
  kind: {type: categorical, vals: [u, v, w]}
  other: {type: double, minval: 0, maxval: 1, when: {kind: v}}
`
	mean := func(learns bool, loss func(hp map[string]any) float64) (first, last float64) {
		const seeds = 10
		for seed := range int64(seeds) {
			yaml := fmt.Sprintf(doc, ", sampler: tpe")
			var earlier Earlier
			if learns {
				_, s := learned(t, yaml, seed+100, loss)
				var list []PastTrial
				for i := range s.Len() {
					x := loss(s.HParams(i))
					hp := s.HParams(i)
					delete(hp, "other")
					list = append(list, PastTrial{HParams: json.RawMessage(text(hp)), Results: [Lengths]*float64{Lengths - 1: &x}})
				}
				yaml = fmt.Sprintf(doc, ", learn_from: [1]")
				c, err := NewCollector(configOf(t, yaml))
				if err != nil {
					t.Fatal(err)
				}
				c.Add(1, list)
				earlier = c.Earlier()
			}
			losses, _ := learnedFrom(t, yaml, seed, earlier, lossOf)
			for i, v := range losses {
				if i < 10 {
					first += v / 10 / seeds
				} else if i >= 60 {
					last += v / 30 / seeds
				}
			}
		}
		return first, last
	}
	none, lastOfNone := mean(false, nil)
	good, lastOfGood := mean(true, lossOf)
	wrong, lastOfWrong := mean(true, func(hp map[string]any) float64 { return -lossOf(hp) })
	other, lastOfOther := mean(true, func(hp map[string]any) float64 {
		hp["lr"], hp["n"] = 0.001/hp["lr"].(float64)*0.1, 65-hp["n"].(int64)
		return lossOf(hp)
	})
	t.Logf("the first ten: %.2f, good %.2f, wrong %.2f, other %.2f; the last thirty: %.2f, good %.2f, wrong %.2f, other %.2f",
		none, good, wrong, other, lastOfNone, lastOfGood, lastOfWrong, lastOfOther)
	if good > 0.8*none || lastOfGood > 1.2*lastOfNone || lastOfWrong > 1.3*lastOfNone || lastOfOther > 1.3*lastOfNone {
		t.Error("a lesson does not help where it is good, or costs too much where it is wrong")
	}
}

// earlierOf has random trials of a space, with random results, and some that lack hyperparameters.
func earlierOf(t testing.TB, cfg expconf.Config, trials int, seed uint64) Earlier {
	t.Helper()
	c, err := NewCollector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	for id := range cfg.Searcher.LearnFrom {
		var list []PastTrial
		for range trials {
			p, hparams := PastTrial{}, c.sample(rng)
			for _, name := range cfg.Hyperparameters.Names() {
				if rng.Float64() < 0.2 {
					delete(hparams, name)
				}
			}
			p.HParams = json.RawMessage(text(hparams))
			for length := range 1 + rng.IntN(Lengths) {
				v := rng.Float64()
				if v < 0.1 {
					v = math.NaN()
				}
				p.Results[length] = &v
			}
			list = append(list, p)
		}
		c.Add(id+1, list)
	}
	return c.Earlier()
}

// TestLearningSearches: whatever a search learns, its trials are in its space and as many as planned, and the same events give the
// same search.
func TestLearningSearches(t *testing.T) {
	for _, searcher := range []string{
		"name: random, max_trials: 60, max_concurrent_trials: 5",
		"name: async_halving, max_trials: 60, num_rungs: 3, max_length: 64",
		"name: adaptive_asha, max_trials: 60, max_length: 64, max_concurrent_trials: 7",
		"name: adaptive_asha, max_trials: 60, max_length: 64, bracket_rungs: [2, 3], smaller_is_better: false",
	} {
		for seed := range uint64(4) {
			cfg := configOf(t, "entrypoint: e\nsearcher: {metric: m, learn_from: [1, 2, 3], "+searcher+", "+richConstraints+"}"+richSpace)
			first, err := New(cfg, int64(seed))
			if err != nil {
				t.Fatal(err)
			}
			earlier := earlierOf(t, cfg, 20*int(seed), seed)
			body, err := first.Begin(earlier)
			if err != nil {
				t.Fatal(err)
			}
			train(t, first)
			if first.Len() != 60 {
				t.Errorf("%s: %d trials", searcher, first.Len())
			}
			js, err := cfg.JSON()
			if err != nil {
				t.Fatal(err)
			}
			stored, err := expconf.ParseConfigJSON(js)
			if err != nil {
				t.Fatal(err)
			}
			again, err := New(stored, int64(seed))
			if err != nil {
				t.Fatal(err)
			}
			if err := again.Apply(Event{Seq: 1, Kind: Learned, Body: body}); err != nil {
				t.Fatal(err)
			}
			train(t, again)
			for i := range first.Len() {
				checkTrial(t, cfg, first.HParams(i))
				if text(first.HParams(i)) != text(again.HParams(i)) {
					t.Fatalf("%s: trial %d is %s, and %s when the search is read again", searcher, i, text(first.HParams(i)), text(again.HParams(i)))
				}
			}
		}
	}
}

// TestTheBestEarlierTrialComesFirst: after the starting points, and with exactly its values.
func TestTheBestEarlierTrialComesFirst(t *testing.T) {
	cfg := configOf(t, `
entrypoint: e
searcher: {name: random, metric: m, smaller_is_better: false, max_trials: 9, learn_from: [1, 2], start_with: [{x: 0.5}]}
hyperparameters: {x: {type: log, base: 10, minval: -5, maxval: 0}, y: {type: double, minval: 0, maxval: 1}}`)
	c, err := NewCollector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.Add(1, []PastTrial{pastOf(t, `{"x": 0.001, "y": 0.3}`, 7), pastOf(t, `{"x": 0.01, "y": 0.1}`, 6), pastOf(t, `{"x": 0.1, "y": 0.1}`, math.Inf(1))})
	c.Add(2, []PastTrial{pastOf(t, `{"x": 0.0007}`, 0.2)})
	s, err := New(cfg, 7)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(c.Earlier()); err != nil {
		t.Fatal(err)
	}
	if a, b, c := s.HParams(0), text(s.HParams(1)), s.HParams(2); a["x"] != 0.5 || b != `{"x":0.001,"y":0.3}` || c["x"] != 0.0007 {
		t.Errorf("it begins with %v, %s, %v", a, b, c)
	}
}

// TestTheMemoryOfLessons: the estimate covers the most that a search can learn.
func TestTheMemoryOfLessons(t *testing.T) {
	turn.Second(t)
	for _, axes := range []int{2, 25, 250} {
		cfg := configOf(t, "entrypoint: e\nsearcher: {name: random, metric: m, max_trials: 500, learn_from: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}\nhyperparameters:\n"+
			strings.Join(numbered(axes, "  h%d: {type: double, minval: 0, maxval: 1}\n"), ""))
		e := earlierOf(t, cfg, MaxEarlierTrials/10, 1)
		before := heap()
		list := make([]*Search, 3)
		for i := range list {
			var err error
			if list[i], err = New(cfg, 7); err != nil {
				t.Fatal(err)
			}
			if _, err := list[i].Begin(e); err != nil {
				t.Fatal(err)
			}
			train(t, list[i])
		}
		withinEstimate(t, heap()-before, list[0].Memory()*int64(len(list)))
		runtime.KeepAlive(list)
		runtime.KeepAlive(e)
	}
}

// BenchmarkProposeFromLessons is a proposal of a search that learns from ten experiments.
func BenchmarkProposeFromLessons(b *testing.B) {
	cfg := configOf(b, "entrypoint: e\nsearcher: {name: random, metric: m, max_trials: 10000, learn_from: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}\nhyperparameters:\n"+
		strings.Join(numbered(10, "  h%d: {type: double, minval: 0, maxval: 1}\n"), ""))
	e := earlierOf(b, cfg, MaxEarlierTrials/10, 1)
	var s *Search
	n := 0
	for b.Loop() {
		if s == nil || n == 100 {
			var err error
			if s, err = New(cfg, 7); err != nil {
				b.Fatal(err)
			}
			if _, err := s.Begin(e); err != nil {
				b.Fatal(err)
			}
			n = 0
		}
		x := math.Mod(float64(n)*0.618, 1)
		for _, e := range []Event{event(0, Validated, n, Validation{Metric: &x, Steps: 8}), event(0, Exited, n, Exit{Reason: lifecycle.ExitDone})} {
			e.Seq = s.Seq() + 1
			if err := s.Apply(e); err != nil {
				b.Fatal(err)
			}
		}
		n++
	}
}
