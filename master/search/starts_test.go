package search

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/lifecycle"
)

// TestSearchesBeginWhereAsked: the first trials have the values of the starting points, and draw what these lack.
func TestSearchesBeginWhereAsked(t *testing.T) {
	const starts = `start_with: [{optimizer: sgd, momentum: 0.3, net.depth: 3, net: {width: 100}, lr_min: 0.01}, {lr_max: 0.002, size: 4}, {}]`
	for _, searcher := range []string{
		"name: random, max_trials: 8",
		"name: random, max_trials: 8, sampler: tpe, max_concurrent_trials: 2",
		"name: async_halving, max_trials: 9, num_rungs: 3, max_length: 64",
		"name: adaptive_asha, max_trials: 9, max_length: 64, bracket_rungs: [1, 2]",
		"name: pbt, population_size: 5, num_rounds: 3, length_per_round: 1, replace_function: {truncate_fraction: 0.5}, explore_function: {resample_probability: 0.2, perturb_factor: 0.2}",
	} {
		cfg := configOf(t, "entrypoint: e\nsearcher: {metric: m, "+searcher+", "+richConstraints+", "+starts+"}"+richSpace)
		s, err := New(cfg, 7)
		if err != nil {
			t.Fatalf("%s: %v", searcher, err)
		}
		train(t, s)
		for i := range s.Len() {
			checkTrial(t, cfg, s.HParams(i))
		}
		if hp := s.HParams(0); text(hp["net"]) != `{"depth":3,"width":100}` || hp["momentum"] != 0.3 || hp["lr_min"] != 0.01 || hp["optimizer"] != "sgd" {
			t.Errorf("%s: the first trial has %s", searcher, text(hp))
		}
		if hp := s.HParams(1); hp["lr_max"] != 0.002 || hp["size"] != int64(4) {
			t.Errorf("%s: the second trial has %s", searcher, text(hp))
		}
		if n := cfg.Searcher.MaxTrials; n > 0 && s.Len() != n {
			t.Errorf("%s: %d trials", searcher, s.Len())
		}
	}
	err := Check(configOf(t, `
entrypoint: e
searcher: {name: random, metric: m, max_trials: 5, constraints: ["a < b"], start_with: [{a: 0.5}, {a: 1}, {a: 0.1, b: 0.05}]}
hyperparameters: {a: {type: double, minval: 0, maxval: 1}, b: {type: double, minval: 0, maxval: 1}}`))
	if want := "test.yaml:3:99: searcher.start_with[1]: does not fulfil searcher.constraints[0], or (almost) no values of the other hyperparameters do"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestAStartWithFewCompletionsStays: where nearly no draw completes a starting point, its trial has it nevertheless.
func TestAStartWithFewCompletionsStays(t *testing.T) {
	cfg := configOf(t, `
entrypoint: e
searcher: {name: random, metric: m, max_trials: 1, constraints: ["a + b < 0.5001"], start_with: [{a: 0.5}]}
hyperparameters: {a: {type: double, minval: 0, maxval: 1}, b: {type: double, minval: 0, maxval: 1}}
`)
	for seed := range int64(40) {
		s, err := New(cfg, seed)
		if err != nil {
			t.Fatal(err)
		}
		if hp := s.HParams(0); hp["a"] != 0.5 {
			t.Fatalf("seed %d: %v", seed, hp)
		}
		checkTrial(t, cfg, s.HParams(0))
	}
}

// learned runs a search one trial after another, and returns the losses.
func learned(t *testing.T, yaml string, seed int64, loss func(hp map[string]any) float64) (losses []float64, s *Search) {
	t.Helper()
	return learnedFrom(t, yaml, seed, Earlier{}, loss)
}

func learnedFrom(t *testing.T, yaml string, seed int64, earlier Earlier, loss func(hp map[string]any) float64) (losses []float64, s *Search) {
	t.Helper()
	cfg := configOf(t, yaml)
	s, err := New(cfg, seed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(earlier); err != nil {
		t.Fatal(err)
	}
	for i := range cfg.Searcher.MaxTrials {
		checkTrial(t, cfg, s.HParams(i))
		x := loss(s.HParams(i))
		losses = append(losses, x)
		for _, e := range []Event{event(0, Validated, i, Validation{Metric: &x, Steps: 8}), event(0, Exited, i, Exit{Reason: lifecycle.ExitDone})} {
			e.Seq = s.Seq() + 1
			if err := s.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	return losses, s
}

// TestPriors: a good prior makes the first trials better, and a wrong one fades.
func TestPriors(t *testing.T) {
	const doc = `
entrypoint: e
searcher: {name: random, metric: loss, max_trials: 90, max_concurrent_trials: 1}
hyperparameters:
  lr: {type: log, base: 10, minval: -4, maxval: 0%s}
  n: {type: int, minval: 1, maxval: 64%s}
  kind: {type: categorical, vals: [u, v, w]%s}
  other: {type: double, minval: 0, maxval: 1, when: {kind: v}}
`
	loss := func(hp map[string]any) float64 {
		v := math.Abs(math.Log10(hp["lr"].(float64))+1)/4 + math.Abs(float64(hp["n"].(int64))-8)/64
		if hp["kind"] != "v" {
			v++
		}
		return v
	}
	mean := func(lr, n, kind string) (first, last float64) {
		const seeds = 10
		for seed := range seeds {
			losses, s := learned(t, fmt.Sprintf(doc, lr, n, kind), int64(seed), loss)
			for i, v := range losses {
				if i < 10 {
					first += v / 10 / seeds
				} else if i >= 60 {
					last += v / 30 / seeds
				}
			}
			if hp := s.HParams(0); lr != "" && text(hp["lr"]) != strings.TrimPrefix(lr, ", prior: ") {
				t.Errorf("the first trial has %s", text(hp))
			}
		}
		return first, last
	}
	none, lastOfNone := mean(", prior: 0.1", "", "") // so that all use the sampler tpe
	good, lastOfGood := mean(", prior: 0.1", ", prior: 8", ", prior: v")
	wrong, lastOfWrong := mean(", prior: 0.0001", ", prior: 64", ", prior: u")
	t.Logf("the first ten: %.2f, good %.2f, wrong %.2f; the last thirty: %.2f, good %.2f, wrong %.2f", none, good, wrong, lastOfNone, lastOfGood, lastOfWrong)
	if good > 0.8*none || lastOfWrong > 1.2*lastOfNone {
		t.Error("a prior does not help where it is good, or costs too much where it is wrong")
	}
}
