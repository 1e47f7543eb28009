package sim

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"testing"
)

// TestABudgetIsSpentAndNotExceeded: every searcher spends its budget to the end, and exceeds it by less than what its workers train up to their
// next report. Attempts take time to start, and some trials train three times slower than others.
func TestABudgetIsSpentAndNotExceeded(t *testing.T) {
	slow := func(hparams map[string]any) float64 {
		if hparams["kind"] == "y" {
			return 3
		}
		return 1
	}
	const full, workers = 160, 4
	costs := Costs{Pace: 10, Slots: 2, Start: 30, Speed: slow}
	for _, searcher := range []string{
		"name: random",
		"name: random, sampler: tpe, max_concurrent_trials: 4",
		"name: random, sampler: program",
		"name: adaptive_asha",
		"name: adaptive_asha, bracket_rungs: [2, 4], max_concurrent_trials: 4",
		"name: adaptive_asha, progressive: true",
		"name: adaptive_asha, sampler: program",
		"name: adaptive_asha, stop_once: true",
		"name: adaptive_asha, repeat: {best: 2, times: 2}",
		"name: async_halving, num_rungs: 3",
		"name: async_halving, num_rungs: 3, sampler: random, stop_once: true",
		"name: pbt, population_size: 4, num_rounds: 1000, length_per_round: 16, replace_function: {truncate_fraction: 0.25}, explore_function: {resample_probability: 0.5, perturb_factor: 0.2}",
	} {
		length := fmt.Sprintf(", max_length: %d", full)
		if searcher[6:9] == "pbt" {
			length = ""
		}
		for _, trainings := range []float64{2, 12, 40} {
			for _, by := range []string{"slot_hours", "hours"} {
				seconds := trainings * full * costs.Pace // of one worker, at the speed of most
				limit := seconds * float64(costs.Slots)
				if by == "hours" {
					limit = seconds / workers
				}
				t.Run(fmt.Sprintf("%s, %v trainings in %s", searcher, trainings, by), func(t *testing.T) {
					cfg := configOf(t, fmt.Sprintf("%s%s, budget: {%s: %v}", searcher, length, by, strconv.FormatFloat(limit/3600, 'g', -1, 64)))
					o := Options{Workers: workers, Every: full / 40, Costs: costs}
					r, err := Run(cfg, 1, Shape{Seed: 1}, o)
					if err != nil {
						t.Fatal(err)
					}
					if again, err := Run(cfg, 1, Shape{Seed: 1}, o); err != nil || !reflect.DeepEqual(r, again) {
						t.Errorf("the second run has another result (%v)", err)
					}
					spent, report := r.Slots, 3*float64(o.Every)*costs.Pace+costs.Start
					most := limit + workers*report*float64(costs.Slots)
					if by == "hours" {
						spent, most = r.Seconds, limit+report
					}
					whole := 0
					for _, x := range r.Trials {
						if x.Trained == full {
							whole++
						}
					}
					t.Logf("%3.0f %% spent, %d trials, %d of them whole, best %.4g", 100*spent/limit, len(r.Trials), whole, last(r).Metric)
					if !r.Done || spent > most || spent < 0.9*limit && trainings > 2 && (by == "slot_hours" || searcher[6:12] != "random") {
						t.Errorf("done %t, spent %.0f of %.0f (at most %.0f)", r.Done, spent, limit, most)
					}
				})
			}
		}
	}
}

func last(r *Result) Point {
	if len(r.Trace) == 0 {
		return Point{Metric: math.NaN()}
	}
	return r.Trace[len(r.Trace)-1]
}
