package search

import (
	"testing"

	"github.com/detent-ml/detent/master/expconf"
)

// TestRungsDoNotDependOnTheUnit tests that the rungs of adaptive_asha are at the same parts of a
// training whatever its length counts, and that a configuration can say how many there are.
func TestRungsDoNotDependOnTheUnit(t *testing.T) {
	for yaml, want := range map[string]int{
		"max_length: {epochs: 50}":                           4,
		"max_length: {batches: 5000}":                        4,
		"max_length: {records: 3000000}":                     4,
		"max_length: {epochs: 8}":                            3,
		"max_length: {epochs: 4}":                            2,
		"max_length: {epochs: 1}":                            1,
		"max_length: {batches: 5000}, divisor: 2":            7,
		"max_length: {batches: 5000}, divisor: 8":            3,
		"max_length: {batches: 5000}, divisor: 1.000001":     7,
		"max_length: {batches: 5000}, max_rungs: 2":          2,
		"max_length: {batches: 5000}, max_rungs: 6":          6,
		"max_length: {epochs: 50}, max_rungs: 5":             3,
		"max_length: {batches: 5000}, revision: 1":           5,
		"max_length: {epochs: 50}, bracket_rungs: [2, 5, 3]": 5,
	} {
		c := configOf(t, "searcher: {name: adaptive_asha, metric: loss, max_trials: 5000, "+yaml+"}").Searcher
		if got := adaptiveRungs(c)[0]; got != want {
			t.Errorf("%s: %d rungs, want %d", yaml, got, want)
		}
	}
}

// TestTheSamplerOfASearch tests which searches learn without a word about the sampler.
func TestTheSamplerOfASearch(t *testing.T) {
	for searcher, want := range map[string]string{
		"name: adaptive_asha, max_trials: 10, max_length: 10":                   expconf.TPE,
		"name: async_halving, num_rungs: 2, max_trials: 10, max_length: 10":     expconf.TPE,
		"name: adaptive_asha, max_trials: 10, max_length: 10, sampler: random":  expconf.Uniform,
		"name: adaptive_asha, max_trials: 50000, max_length: 10":                expconf.Uniform,
		"name: adaptive_asha, max_trials: 10, max_length: 10, revision: 1":      expconf.Uniform,
		"name: random, max_trials: 10":                                          expconf.Uniform,
		"name: random, max_trials: 10, sampler: tpe":                            expconf.TPE,
		"name: async_halving, num_rungs: 2, max_trials: 100000, max_length: 10": expconf.Uniform,
	} {
		cfg := configOf(t, "searcher: {metric: loss, "+searcher+"}\nhyperparameters: {x: {type: double, minval: 0, maxval: 1}}")
		if s, err := New(cfg, 1); err != nil || cfg.Searcher.Sampler != want || (s.trialSet.model != nil) != (want == expconf.TPE) {
			t.Errorf("%s: the sampler %q (%v), want %q", searcher, cfg.Searcher.Sampler, err, want)
		}
	}
}

// TestALengthThatMisleadsHasNoVote tests the weights of the lengths in the model, and that a
// running trial counts as a poor one.
func TestALengthThatMisleadsHasNoVote(t *testing.T) {
	cfg := configOf(t, "searcher: {name: random, metric: loss, max_trials: 9, sampler: tpe}\nhyperparameters: {x: {type: double, minval: 0, maxval: 1}}")
	for name, test := range map[string]struct {
		early     func(float64) float64
		contrasts int
	}{
		"early results show the order":    {func(v float64) float64 { return v }, 2},
		"early results reverse the order": {func(v float64) float64 { return -v }, 1},
	} {
		m := newModel(plain(cfg.Hyperparameters), expconf.SearchRevision)
		for i := range 12 {
			hparams := map[string]any{"x": float64(i) / 12}
			m.begin(i, hparams, ofItself)
			m.learn(i, hparams, 1, Result{Metric: test.early(float64(i))})
			m.learn(i, hparams, 4, Result{Metric: float64(i)})
		}
		list := m.contrasts()
		if len(list) != test.contrasts {
			t.Errorf("%s: %d lengths have a vote, want %d", name, len(list), test.contrasts)
		}
		before := vote(list, []float64{0.05})
		m.begin(12, map[string]any{"x": 0.05}, ofItself)
		if after := vote(m.contrasts(), []float64{0.05}); after >= before {
			t.Errorf("%s: beside a running trial, a point has the vote %.2f, without it %.2f", name, after, before)
		}
	}
}
