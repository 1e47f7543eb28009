package expconf

import (
	"strings"
	"testing"
)

// TestSources: whoever names earlier experiments gets the sampler that learns from them, or what prevents it with its place.
func TestSources(t *testing.T) {
	const space = "\nentrypoint: e\nhyperparameters: {x: {type: double, minval: 0, maxval: 1}}\n"
	for searcher, want := range map[string]string{
		"{name: random, metric: m, max_trials: 9, learn_from: [12, 15]}":                               "",
		"{name: adaptive_asha, metric: m, max_trials: 9, max_length: 9, learn_from: [12]}":             "",
		"{name: async_halving, metric: m, max_trials: 9, num_rungs: 2, max_length: 9, learn_from: []}": "",
		"{name: random, metric: m, max_trials: 9, learn_from: [12, 3, 12]}":                            "test.yaml:1:72: searcher.learn_from[2]: names experiment 12 twice",
		"{name: random, metric: m, max_trials: 9, learn_from: [12, 0]}":                                "searcher.learn_from[1]: must be at least 1, found 0",
		"{name: random, metric: m, max_trials: 9, learn_from: [x]}":                                    "searcher.learn_from[0]: expected an integer",
		"{name: random, metric: m, max_trials: 9, learn_from: 12}":                                     "searcher.learn_from: expected a list",
		"{name: random, metric: m, max_trials: 9, learn_from: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]}":    "searcher.learn_from: has 11 experiments; at most 10 are allowed",
		"{name: random, metric: m, max_trials: 9, sampler: random, learn_from: [1]}":                   "searcher.learn_from: requires the sampler tpe",
		"{name: random, metric: m, max_trials: 90000, sampler: tpe, learn_from: [1]}":                  "the sampler tpe plans at most 10000 trials",
		"{name: adaptive_asha, metric: m, max_trials: 90000, max_length: 9, learn_from: [1]}":          "searcher.learn_from: requires the sampler tpe",
		"{name: random, metric: m, max_trials: 9, revision: 1, sampler: tpe, learn_from: [1]}":         "searcher.learn_from: requires revision 2",
		"{name: grid, metric: m, learn_from: [1]}":                                                     "learn_from is not a field of the grid searcher",
		"{name: single, metric: m, learn_from: [1]}":                                                   "learn_from is not a field of the single searcher",
	} {
		raw, _, err := Parse("test.yaml", []byte("searcher: "+searcher+space))
		var c Config
		if err == nil {
			c, err = Complete(raw, cluster())
		}
		if err == nil {
			err = c.Validate()
		}
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %s", searcher, err, want)
		case want == "" && err != nil:
			t.Errorf("%s: %v", searcher, err)
		case want == "" && c.Searcher.Sampler != TPE:
			t.Errorf("%s: the sampler is %s", searcher, c.Searcher.Sampler)
		}
	}
}

// TestTheListOfTheConfigurationReplacesThatOfTheTemplate, as lists do.
func TestTheListOfTheConfigurationReplacesThatOfTheTemplate(t *testing.T) {
	raw := func(list string) Raw {
		raw, _, err := Parse("x", []byte("searcher: {name: random, metric: m, max_trials: 9, learn_from: "+list+"}\nentrypoint: e\n"))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	if c := Merge(raw("[3]"), raw("[1, 2]")); len(c.Searcher.LearnFrom) != 1 || c.Searcher.LearnFrom[0] != 3 {
		t.Errorf("it learns from %v", c.Searcher.LearnFrom)
	}
	if c := Merge(raw("[]"), raw("[1, 2]")); len(c.Searcher.LearnFrom) != 0 {
		t.Errorf("it learns from %v", c.Searcher.LearnFrom)
	}
}
