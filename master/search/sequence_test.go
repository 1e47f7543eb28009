package search

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"
)

// TestSequencesStay tests that searches over spaces of Determined's kind draw what earlier builds drew: a search that began with
// one of them reads its events again, and must find its own trials. If a digest changes on purpose, raise expconf.SearchRevision.
func TestSequencesStay(t *testing.T) {
	const space = `
hyperparameters:
  lr: {type: log, base: 10, minval: -4, maxval: 0, count: 3}
  d: {type: double, minval: -1, maxval: 1, count: 2}
  n: {type: int, minval: 1, maxval: 64, count: 2}
  g: {kind: {type: categorical, vals: [x, [1, 2], null]}, fixed: 3, empty: {}}`
	for searcher, want := range map[string]string{
		"name: random, max_trials: 60":                                         "60 005a93fc081f",
		"name: random, max_trials: 60, sampler: tpe, max_concurrent_trials: 4": "60 3749cb439e32",
		"name: random, max_trials: 60, sampler: tpe, revision: 1":              "60 1bdb498d6569",
		"name: grid": "36 87f6e17d1dcd",
		"name: async_halving, max_trials: 60, num_rungs: 3, max_length: 64":         "60 ff454050d3e2",
		"name: adaptive_asha, max_trials: 90, max_length: 64":                       "90 fcc8a370748a",
		"name: adaptive_asha, max_trials: 90, max_length: 64, bracket_rungs: [2,3]": "90 c9439222dd07",
		"name: pbt, population_size: 10, num_rounds: 7, length_per_round: 1, replace_function: {truncate_fraction: 0.5}, explore_function: {resample_probability: 0.2, perturb_factor: 0.5}": "40 d338baf0bbfa",
	} {
		s, err := New(configOf(t, "entrypoint: e\nsearcher: {metric: m, "+searcher+"}"+space), 7)
		if err != nil {
			t.Fatal(err)
		}
		train(t, s)
		sum := sha256.New()
		for i := range s.Len() {
			if err := json.NewEncoder(sum).Encode(s.HParams(i)); err != nil {
				t.Fatal(err)
			}
		}
		if got := fmt.Sprintf("%d %x", s.Len(), sum.Sum(nil)[:6]); got != want {
			t.Errorf("%s draws %q, drew %q", searcher, got, want)
		}
	}
}
