package search

import (
	"testing"
)

// TestTheModelLooksAtOneLength tests that the model divides trials by their results at one
// length: the longest with enough results. Each trial counts once.
func TestTheModelLooksAtOneLength(t *testing.T) {
	cfg := configOf(t, `
searcher: {name: random, metric: loss, max_trials: 9, max_length: {batches: 8}, sampler: tpe}
hyperparameters: {x: {type: double, minval: 0, maxval: 1}}`)
	m := newModel(plain(cfg.Hyperparameters), 1)
	at := func(trial int) map[string]any { return map[string]any{"x": float64(trial) / 100} }
	learn := func(level float64, metrics map[int]float64) {
		for trial, metric := range metrics {
			m.learn(trial, at(trial), level, Result{Metric: metric})
		}
	}
	is := func(when string, list []*observed, want ...int) {
		t.Helper()
		have := map[*observed]bool{}
		for _, o := range list {
			have[o] = true
		}
		if len(have) != len(want) || len(list) != len(want) {
			t.Errorf("%s: %d trials, each once, want %v", when, len(list), want)
		}
		for _, trial := range want {
			if !have[m.of[trial]] {
				t.Errorf("%s: trial %d is missing of %v", when, trial, want)
			}
		}
	}
	learn(1, map[int]float64{0: 0.9, 1: 0.8, 2: 0.7, 3: 0.6, 4: 0.5})
	if good, others := m.divide(); good != nil || others != nil {
		t.Errorf("with %d of %d results there are %d good ones and %d others", 5, m.enough(), len(good), len(others))
	}
	learn(1, map[int]float64{5: 0.4, 6: 0.3, 7: 0.2})
	good, others := m.divide()
	is("good, after the first length", good, 7, 6, 5)
	is("others, after the first length", others, 4, 3, 2, 1, 0)

	// The first trials that trained on were not the best, and five results are too few to use.
	learn(4, map[int]float64{0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4, 4: 0.5})
	good, _ = m.divide()
	is("good, as few trained on", good, 7, 6, 5)
	learn(4, map[int]float64{5: 0.15})
	good, others = m.divide()
	is("good, after the second length", good, 0, 5, 1)
	is("others, after the second length", others, 2, 3, 4, 6, 7)
}
