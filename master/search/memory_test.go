package search

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

// withinEstimate compares the memory that a function allocates with its estimate. An estimate
// must not be far too high either: the master would reject searches that fit.
func withinEstimate(t *testing.T, took int, estimate int64) {
	t.Helper()
	t.Logf("the search takes %d KiB, the estimate is %d KiB", took>>10, estimate>>10)
	if int64(took) > estimate {
		t.Errorf("the search takes %d bytes, and the estimate is %d", took, estimate)
	}
	if took > 1<<20 && estimate > 8*int64(took) { // smaller values are not distinguishable from other allocations
		t.Errorf("the estimate of %d bytes is far above the %d that it takes", estimate, took)
	}
}

// TestTheEstimateOfMemory tests that no search uses more memory than Memory returns at its
// beginning, however its trials end.
func TestTheEstimateOfMemory(t *testing.T) {
	turn.Second(t)
	doubles := strings.Join(numbered(10, "  h%d: {type: double, minval: 0, maxval: 1}\n"), "")
	for name, test := range map[string]string{
		"single":        "{metric: m, name: single, max_length: 5}\nhyperparameters: {x: 1}\n",
		"random":        "{metric: m, name: random, max_trials: 5000, max_concurrent_trials: 0}\nhyperparameters:\n" + doubles,
		"grid":          "{metric: m, name: grid}\nhyperparameters:\n" + strings.Join(numbered(3, "  h%d: {type: double, minval: 0, maxval: 1, count: 15}\n"), ""),
		"async_halving": "{metric: m, name: async_halving, max_trials: 5000, num_rungs: 5, max_length: 1000, max_concurrent_trials: 0, stop_once: true}\nhyperparameters:\n" + doubles,
		"adaptive_asha": "{metric: m, name: adaptive_asha, max_trials: 5000, max_rungs: 20, max_length: 1000000000000, max_concurrent_trials: 0}\nhyperparameters:\n" + doubles,
		"tpe":           "{metric: m, name: random, sampler: tpe, max_trials: 3000, max_concurrent_trials: 0}\nhyperparameters:\n" + doubles,
		"tpe of lists":  "{metric: m, name: random, sampler: tpe, max_trials: 2000, max_concurrent_trials: 0}\nhyperparameters:\n" + strings.Join(numbered(10, "  h%d: {type: int, minval: 0, maxval: 1000000}\n"), ""),
		"pbt": "{metric: m, name: pbt, population_size: 1000, num_rounds: 9, length_per_round: 1, replace_function: {truncate_fraction: 0.5}, " +
			"explore_function: {resample_probability: 0.5, perturb_factor: 0.2}}\nhyperparameters:\n" + doubles,
		"constants":    "{metric: m, name: grid}\nhyperparameters:\n" + strings.Join(numbered(2000, "  h%d: 1\n"), ""),
		"axes of tpe":  "{metric: m, name: random, sampler: tpe, max_trials: 1}\nhyperparameters:\n" + strings.Join(numbered(1500, "  h%d: {type: double, minval: 0, maxval: 1}\n"), ""),
		"many values":  "{metric: m, name: grid}\nhyperparameters:\n  h: {type: categorical, vals: [" + strings.Join(numbered(9000, "%d"), ", ") + "]}\n",
		"lists":        "{metric: m, name: single, max_length: 5}\nhyperparameters:\n  h: {type: const, val: [" + strings.Join(numbered(15000, "[]"), ", ") + "]}\n",
		"maps":         "{metric: m, name: single, max_length: 5}\nhyperparameters:\n  h: {type: const, val: [" + strings.Join(numbered(4000, "{a: {}}"), ", ") + "]}\n",
		"wide maps":    "{metric: m, name: single, max_length: 5}\nhyperparameters:\n  h: {type: const, val: {" + strings.Join(numbered(4000, "k%d: 1.5"), ", ") + "}}\n",
		"long strings": "{metric: m, name: single, max_length: 5}\nhyperparameters: {h: " + strings.Repeat("x", 60<<10) + "}\n",
	} {
		t.Run(name, func(t *testing.T) {
			b, err := configOf(t, "entrypoint: e\nsearcher: "+test).JSON()
			if err != nil {
				t.Fatal(err)
			}
			before := heap()
			list := make([]*Search, 3)
			for i := range list {
				cfg, err := expconf.ParseConfigJSON(b)
				if err != nil {
					t.Fatal(err)
				}
				if list[i], err = New(cfg, 7); err != nil {
					t.Fatal(err)
				}
			}
			estimate := list[0].Memory()
			for _, s := range list {
				train(t, s)
			}
			took := heap() - before
			withinEstimate(t, took, estimate*int64(len(list)))
			runtime.KeepAlive(list)
		})
	}
}

// numbered returns n texts; a verb in the format is replaced by their number.
func numbered(n int, text string) []string {
	list := make([]string, n)
	for i := range list {
		if list[i] = text; strings.Contains(text, "%") {
			list[i] = fmt.Sprintf(text, i)
		}
	}
	return list
}

// TestTheEstimateOfProgressiveSearches tests the estimate if every trial makes maxCurve reports.
func TestTheEstimateOfProgressiveSearches(t *testing.T) {
	cfg := configOf(t, "entrypoint: e\nsearcher: {metric: m, name: async_halving, progressive: true, max_trials: 200, num_rungs: 5, max_length: 1000000, max_concurrent_trials: 200}\n")
	before := heap()
	s, err := New(cfg, 7)
	if err != nil {
		t.Fatal(err)
	}
	for trial := range 200 {
		for at := range 1100 {
			m, units := float64(at%7), float64(at)/1000
			if err := s.Apply(event(s.Seq()+1, Validated, trial, Validation{Metric: &m, Time: &units})); err != nil {
				t.Fatal(err)
			}
		}
	}
	withinEstimate(t, heap()-before, s.Memory())
	runtime.KeepAlive(s)
}

// TestTheEstimateOfOperations tests the estimate of the operations of a custom search's
// program, with all unanswered events.
func TestTheEstimateOfOperations(t *testing.T) {
	for name, test := range map[string]struct {
		trials  int
		hparams string
	}{
		"many small": {20_000, `{}`},
		"few large":  {200, `{"x": "` + strings.Repeat("x", 60<<10) + `"}`},
		"some":       {5_000, `{"x": 1, "y": [1, 2, 3], "z": {"a": "b"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			before := heap()
			s, err := New(configOf(t, "entrypoint: e\nsearcher: {name: custom, metric: m}\n"), 7)
			if err != nil {
				t.Fatal(err)
			}
			estimate := s.Memory()
			tell := func(kind string, trial int, body any) {
				if err := s.Apply(event(s.Seq()+1, kind, trial, body)); err != nil {
					t.Fatal(err)
				}
			}
			for i := range test.trials {
				id := fmt.Sprintf("trial-%d", i)
				ops := Operations{List: []Operation{{Create: &Create{Name: id, HParams: json.RawMessage(test.hparams)}}, {Train: &Train{Name: id, Length: 5}}}}
				estimate += ops.Memory()
				tell(Told, 0, ops)
				m, at := 1.0, 5.0
				tell(Validated, i, Validation{Metric: &m, Time: &at})
				tell(Exited, i, Exit{Reason: lifecycle.ExitErrored})
			}
			withinEstimate(t, heap()-before, estimate)
			runtime.KeepAlive(s)
		})
	}
}
