package sim

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/expconf"
)

func configOf(t *testing.T, searcher string) expconf.Config {
	t.Helper()
	raw, _, err := expconf.Parse("test.yaml", []byte("searcher: {metric: loss, "+searcher+"}\nhyperparameters: {lr: {type: log, base: 10, minval: -4, maxval: 0}, n: {type: int, minval: 1, maxval: 64}, kind: {type: categorical, vals: [x, y]}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// TestEverySearcherComesToItsEnd, twice alike, within its trials and workers.
func TestEverySearcherComesToItsEnd(t *testing.T) {
	for searcher, want := range map[string]struct {
		trials  int
		trained int64 // at most
		waits   bool
	}{
		"name: single, max_length: 100":                                                                       {1, 100, false},
		"name: random, max_trials: 7, max_length: 100":                                                        {7, 700, false},
		"name: random, max_trials: 30, max_concurrent_trials: 2, max_length: 100, sampler: tpe":               {30, 3000, false},
		"name: adaptive_asha, max_trials: 6, max_length: {batches: 5000}":                                     {6, 18750, true},
		"name: async_halving, num_rungs: 3, max_trials: 64, max_length: 160, sampler: random":                 {64, 64*10 + 16*30 + 8*120, true},
		"name: async_halving, num_rungs: 3, max_trials: 64, max_length: 160":                                  {64, 2 * (64*10 + 16*30 + 8*120), true},
		"name: async_halving, num_rungs: 3, max_trials: 64, max_length: 160, stop_once: true":                 {64, 64 * 160, false},
		"name: async_halving, num_rungs: 3, max_trials: 64, max_length: 160, progressive: true, sampler: tpe": {64, 64 * 160, true},
		"name: async_halving, num_rungs: 3, max_trials: 64, time_metric: epochs, max_time: 160":               {64, 64 * 160, false},
		"name: adaptive_asha, max_trials: 64, max_length: 160, sampler: program":                              {64, 64 * 160, true},
		"name: random, max_trials: 30, max_concurrent_trials: 2, max_length: 100, sampler: program":           {30, 3000, false},
		"name: pbt, population_size: 5, num_rounds: 3, length_per_round: 10, replace_function: {truncate_fraction: 0.2}, explore_function: {resample_probability: 0.5, perturb_factor: 0.2}": {7, 150, true},
	} {
		t.Run(searcher, func(t *testing.T) {
			cfg := configOf(t, searcher)
			full, _ := cfg.Searcher.FullLength()
			o := Options{Workers: 3, Every: max(1, full/40)}
			r, err := Run(cfg, 1, Shape{Seed: 1}, o)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Run(cfg, 1, Shape{Seed: 1}, o)
			if err != nil || !reflect.DeepEqual(r, again) {
				t.Errorf("the second run has another result (%v)", err)
			}
			waits := 0
			for i, x := range r.Trials {
				waits += x.Waits
				if x.Ended == "" || x.Trained == 0 {
					t.Errorf("trial %d: %+v", i, x)
				}
			}
			if !r.Done || len(r.Trials) != want.trials || r.Trained > want.trained || waits > 0 != want.waits {
				t.Errorf("done %t, %d trials, %d trained, %d waits; want %+v", r.Done, len(r.Trials), r.Trained, waits, want)
			}
			if r.Time*3 < r.Trained || len(r.Trace) == 0 {
				t.Errorf("3 workers trained %d in %d", r.Trained, r.Time)
			}
		})
	}
}

func TestABudgetEndsARun(t *testing.T) {
	r, err := Run(configOf(t, "name: random, max_trials: 1000, max_length: 100"), 1, Shape{}, Options{Workers: 2, Every: 1, Budget: 250})
	if err != nil || r.Done || r.Time != 250 || r.Trained != 500 {
		t.Errorf("%+v %v", r, err)
	}
}

func TestWhatCannotBeSimulated(t *testing.T) {
	cfg := configOf(t, "name: random, max_trials: 3")
	if _, err := Run(cfg, 1, Shape{}, Options{Workers: 2, Every: 1}); err == nil || !strings.Contains(err.Error(), "max_length") {
		t.Errorf("without a length: %v", err)
	}
	if _, err := Run(configOf(t, "name: single, max_length: 3"), 1, Shape{}, Options{Every: 1}); err == nil {
		t.Error("no workers were accepted")
	}
}

func packed(text string) *bytes.Buffer {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprint(z, text)
	z.Close()
	return &b
}

func TestTables(t *testing.T) {
	head := `{"name":"x","metric":"error","epochs":2,"axes":[{"name":"a","type":"int","values":[1,2]},{"name":"b","type":"categorical","values":["p","q"]}]}` + "\n"
	table, err := ReadTable(packed(head + "\xff\xff\x00\x80\xff\xff\x00\x40\xff\xff\x00\x20\xff\x0f\x00\x10"))
	if err != nil {
		t.Fatal(err)
	}
	if n := table.Settings(); n != 4 {
		t.Errorf("%d settings", n)
	}
	if got := table.At(map[string]any{"a": int64(1), "b": "p"}, 0, 0.5); got != 1 {
		t.Errorf("after the first epoch it is %v", got)
	}
	if got := table.At(map[string]any{"a": int64(0), "b": "q"}, 0, 1); got != 0x4000/65535.0 {
		t.Errorf("at the end it is %v", got)
	}
	if got := table.Best(); got != 0x0fff/65535.0 {
		t.Errorf("the best is %v", got)
	}
	if s := table.Space(); s["a"].Maxval != 1 || len(s["b"].Vals) != 2 {
		t.Errorf("%v", s)
	}
	for _, wrong := range []string{"", "{}\n", "no\n", head, `{"epochs":1000000,"axes":[{"values":[1,2,3]},{"values":[1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9]}]}` + "\n"} {
		if _, err := ReadTable(packed(wrong)); err == nil {
			t.Errorf("%q was read as a table", wrong)
		}
	}
	if _, err := ReadTable(strings.NewReader("plain")); err == nil {
		t.Error("uncompressed data was read as a table")
	}
}

// TestRunIsBounded: a search that would be simulated for days is refused.
func TestRunIsBounded(t *testing.T) {
	for _, test := range []struct {
		searcher string
		workers  int
		want     string
	}{
		{"name: random, max_trials: 100000, max_length: 10", 4, "plans 100000 trials; at most 10000 are simulated"},
		{"name: random, max_trials: 10000, max_length: 1000000000000000", 4, "too long to simulate"},
		{"name: random, max_trials: 10, max_length: 10", 1 << 30, "from 1 to 10000 workers"},
		{"name: async_halving, max_trials: 10, max_length: 10, num_rungs: 1000000", 4, "searcher.num_rungs: must be from 1 to 100"},
	} {
		raw, _, err := expconf.Parse("x", []byte("entrypoint: e\nsearcher: {metric: m, "+test.searcher+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{Name: "x"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Run(cfg, 1, Shape{Seed: 1}, Options{Workers: test.workers, Every: 1}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s with %d workers: %v", test.searcher, test.workers, err)
		}
	}
}

// byPart is a curve that shows which part of a training a trial has reached.
type byPart struct{}

func (byPart) At(_ map[string]any, _ int64, part float64) float64 { return 1 - part }

// TestCopiesContinueTheirOriginal tests that a copy in pbt has the training of its original's checkpoint: at the
// end of each round, all trials have reached the same part of a training.
func TestCopiesContinueTheirOriginal(t *testing.T) {
	cfg := configOf(t, "name: pbt, population_size: 4, num_rounds: 3, length_per_round: 10, replace_function: {truncate_fraction: 0.5}, explore_function: {resample_probability: 0, perturb_factor: 0.2}")
	r, err := Run(cfg, 1, byPart{}, Options{Workers: 4, Every: 5})
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for i, x := range r.Trials {
		if x.Began+x.Trained == 30 {
			whole++
		}
		if x.Began != 0 && x.Began != 10 && x.Began != 20 {
			t.Errorf("trial %d began with the training of %d", i, x.Began)
		}
	}
	if last := r.Trace[len(r.Trace)-1]; whole != 4 || last.Metric != 0 || last.At != 30 {
		t.Errorf("%d of %d trials have a whole training; the best result is %+v", whole, len(r.Trials), last)
	}
}

// early is a curve whose first reports show the order of the trials, or reverse it.
type early struct{ reversed bool }

func (c early) At(hparams map[string]any, _ int64, part float64) float64 {
	v := float64(hparams["n"].(int64)) / 64
	if part < 0.02 && c.reversed {
		v = 1 - v
	}
	return v + 1 - part
}

// passers returns the part of the trials with poor results at the first rung that passed it, in the second half of a
// search.
func passers(t *testing.T, searcher string, c early) float64 {
	t.Helper()
	cfg := configOf(t, "max_trials: 400, max_concurrent_trials: 1, max_length: {batches: 640}, sampler: random, "+searcher)
	r, err := Run(cfg, 1, c, Options{Workers: 1, Every: 10, Budget: 20 * 640})
	if err != nil {
		t.Fatal(err)
	}
	passed, poor := 0.0, 0.0
	for _, x := range r.Trials[len(r.Trials)/2:] {
		if c.At(x.HParams, 0, 0) > 1.5 {
			if poor++; x.Trained > 10 {
				passed++
			}
		}
	}
	return passed / poor
}

// TestAMisleadingRungIsNoticed tests that more trials pass the first rung if it reverses the order
// of the trials than if it shows the order, and none where the configuration asks for brackets.
func TestAMisleadingRungIsNoticed(t *testing.T) {
	same, reversed := passers(t, "name: adaptive_asha", early{}), passers(t, "name: adaptive_asha", early{reversed: true})
	if same == 0 || reversed < 1.3*same {
		t.Errorf("%.2f of the poor trials pass a rung that shows the order, and %.2f pass one that reverses it", same, reversed)
	}
	for _, searcher := range []string{"name: adaptive_asha, mode: aggressive", "name: adaptive_asha, bracket_rungs: [4]", "name: async_halving, num_rungs: 4",
		"name: adaptive_asha, max_rungs: 4, revision: 1, mode: aggressive"} {
		if n := passers(t, searcher, early{reversed: true}); n > 0 {
			t.Errorf("%s: %.2f of the poor trials pass", searcher, n)
		}
	}
}
