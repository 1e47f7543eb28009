package sim

import (
	"reflect"
	"testing"
)

// TestASearchStopsWhenNothingIsGained: it ends with fewer trials, which all end as they would have ended without the rule, and says why. Its best
// result is hardly worse than that of the whole search.
func TestASearchStopsWhenNothingIsGained(t *testing.T) {
	const rule = ", stop_when: {gain: 0.01, trials: 10, probability: 0.1}"
	for _, searcher := range []string{
		"name: random, max_trials: 400, max_length: 40, max_concurrent_trials: 4",
		"name: random, max_trials: 400, max_length: 40, sampler: program",
		"name: adaptive_asha, max_trials: 400, max_length: 64, sampler: random",
		"name: adaptive_asha, max_trials: 400, max_length: 64, bracket_rungs: [2, 3]",
		"name: adaptive_asha, max_trials: 400, max_length: 64, sampler: program",
		"name: async_halving, num_rungs: 3, max_trials: 400, max_length: 64, stop_once: true",
	} {
		t.Run(searcher, func(t *testing.T) {
			o := Options{Workers: 4, Every: 4}
			run := func(searcher string) *Result {
				t.Helper()
				r, err := Run(configOf(t, searcher), 3, Shape{Seed: 1}, o)
				if err != nil || !r.Done || len(r.Gains) == 0 {
					t.Fatal(err, r)
				}
				return r
			}
			whole, r := run(searcher), run(searcher+rule)
			if again := run(searcher + rule); !reflect.DeepEqual(r, again) {
				t.Error("the second run has another result")
			}
			g := r.Gains[len(r.Gains)-1]
			if len(whole.Trials) != 400 || whole.Gains[len(whole.Gains)-1].Stopped || len(r.Trials) >= 400 || r.Trained >= whole.Trained || !g.Stopped || g.Enough > 0.1 {
				t.Errorf("it stopped with %d trials at %+v; the whole search has %d", len(r.Trials), g, len(whole.Trials))
			}
			for i, x := range r.Trials {
				if x.Ended == "" {
					t.Errorf("trial %d has not ended: %+v", i, x)
				}
			}
			if with, without := last(r).Metric, last(whole).Metric; with > without*1.1 {
				t.Errorf("it found %v, and the whole search %v", with, without)
			}
			t.Logf("%d trials, %d trained: %.4g; the whole search %d: %.4g", len(r.Trials), r.Trained, last(r).Metric, whole.Trained, last(whole).Metric)
		})
	}
}

// TestWhichSearchesMakeNoEstimate: the points of a grid come in their order, and a population has no further trials.
func TestWhichSearchesMakeNoEstimate(t *testing.T) {
	for _, searcher := range []string{
		"name: pbt, population_size: 20, num_rounds: 3, length_per_round: 10, replace_function: {truncate_fraction: 0.2}, explore_function: {resample_probability: 0.5, perturb_factor: 0.2}",
		"name: single, max_length: 100",
		"name: random, max_trials: 7, max_length: 10", // too few
	} {
		if r, err := Run(configOf(t, searcher), 1, Shape{Seed: 1}, Options{Workers: 4, Every: 10}); err != nil || len(r.Gains) > 0 {
			t.Errorf("%s: %v %+v", searcher, err, r)
		}
	}
}
