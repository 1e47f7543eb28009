package onward_test

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/search/onward"
)

const space = `
hyperparameters:
  lr: {type: log, base: 10, minval: -4, maxval: 0, count: 3}
  n: {type: int, minval: 1, maxval: 4, count: 2}
`

// TestWhatABranchMayChange names settings of a search that a branch may change, and others with why it may not.
func TestWhatABranchMayChange(t *testing.T) {
	const before = "{name: async_halving, metric: loss, num_rungs: 3, max_trials: 20, max_length: {epochs: 16}, sampler: random}"
	stored := func(searcher, rest string) []byte {
		raw, _, err := expconf.Parse("test.yaml", []byte("searcher: "+searcher+rest))
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{Name: "x", Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Searcher.Revision = expconf.SearchRevision
		b, err := cfg.JSON()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, c := range []struct {
		from, to string
		changes  bool
		words    string
	}{
		{"metric: loss", "metric: loss", false, ""},
		{"max_trials: 20", "max_trials: 30", true, ""},
		{"max_trials: 20", "max_trials: 12", true, ""},
		{"max_trials: 20", "max_trials: 9", true, "less than the 10 trials"},
		{"epochs: 16", "epochs: 64", true, ""},
		{"epochs: 16", "epochs: 15", true, "only become longer"},
		{"epochs: 16", "batches: 1600", true, "counts epochs"},
		{"sampler: random", "sampler: tpe", true, ""},
		{"sampler: random", "sampler: program", true, "proposals of the program"},
		{"sampler: random", "sampler: random, max_concurrent_trials: 3", true, ""},
		{"sampler: random", "sampler: random, budget: {hours: 3}", true, ""},
		{"sampler: random", "sampler: random, stop_when: {gain: 0.01}", true, ""},
		{"sampler: random", "sampler: random, repeat: {best: 1, times: 2}", true, "searcher.repeat cannot change"},
		{"metric: loss", "metric: error", true, "searcher.metric cannot change"},
		{"num_rungs: 3", "num_rungs: 4", true, "judged at their rungs"},
		{"sampler: random", "sampler: random, smaller_is_better: false", true, "searcher.smaller_is_better"},
		{"sampler: random", "sampler: random, learn_from: [3]", true, "searcher.learn_from"},
	} {
		changed, err := onward.Changes(stored(before, space), stored(strings.Replace(before, c.from, c.to, 1), space), 10)
		if c.words == "" && (err != nil || changed != c.changes) || c.words != "" && (err == nil || !strings.Contains(err.Error(), c.words)) {
			t.Errorf("%s → %s: changes %t, %v", c.from, c.to, changed, err)
		}
	}
	if _, err := onward.Changes(stored(before, space), stored(before, strings.Replace(space, "minval: 1,", "minval: 2,", 1)), 10); err == nil || !strings.Contains(err.Error(), "hyperparameters") {
		t.Errorf("another space: %v", err)
	}
}
