package onward_test

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/search/onward"
)

// TestSuccessor: the new search learns from the old one and makes the rest of its trials.
func TestSuccessor(t *testing.T) {
	const old = `{"name": "x", "reproducibility": {"experiment_seed": 1}, "entrypoint": "e", "hyperparameters": {"lr": {"type": "double", "minval": 0, "maxval": 1e-7}},
		"searcher": {"name": "adaptive_asha", "metric": "loss", "max_trials": 20, "max_length": {"batches": 64}, "revision": 1, "sampler": "random"}}`
	got, err := onward.Successor([]byte(old), 12, 7)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := expconf.ParseConfigJSON(got)
	if err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	if s := cfg.Searcher; s.MaxTrials != 13 || len(s.LearnFrom) != 1 || s.LearnFrom[0] != 12 || s.Sampler != expconf.TPE {
		t.Errorf("the new search is %+v", s)
	}
	if !strings.Contains(string(got), "1e-7") {
		t.Errorf("a number has lost its digits: %s", got)
	}
	for config, want := range map[string]string{
		strings.ReplaceAll(old, "20", "7"):                 "has tried all of its 7 trials",
		strings.ReplaceAll(old, "adaptive_asha", "grid"):   `of the kind "grid"`,
		strings.ReplaceAll(old, "adaptive_asha", "single"): "without --new-search",
		`{"searcher": {"name": "random"}}`:                 "no searcher.max_trials",
		`[`:                                                "cannot be read",
	} {
		if got, err := onward.Successor([]byte(config), 12, 7); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s became %s, %v; want %q", config, got, err, want)
		}
	}
}
