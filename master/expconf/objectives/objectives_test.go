package objectives_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/expconf"
)

const base = "name: x\nentrypoint: x\nhyperparameters: {lr: {type: double, minval: 0, maxval: 1}}\nsearcher:\n  name: random\n  max_trials: 10\n"

func parsed(t *testing.T, text string) expconf.Config {
	t.Helper()
	raw, _, err := expconf.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{})
	if err == nil {
		err = cfg.ValidateSearch()
	}
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// TestFirstMetricLeads: the complete configuration has the first of several metrics where Determined's clients look for the one, and is itself accepted.
func TestFirstMetricLeads(t *testing.T) {
	cfg := parsed(t, base+"  metrics: [{name: accuracy, smaller_is_better: false, at_least: 0.9}, {name: latency, at_most: 20}, {name: memory, at_most: 16, objective: false}]\n")
	if s := cfg.Searcher; s.Metric != "accuracy" || s.SmallerIsBetter {
		t.Errorf("searcher.metric is %q, smaller is better: %v", s.Metric, s.SmallerIsBetter)
	}
	stored, err := cfg.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var shown struct {
		Searcher struct {
			Metric          string `json:"metric"`
			SmallerIsBetter bool   `json:"smaller_is_better"`
			Metrics         []struct {
				Name            string   `json:"name"`
				SmallerIsBetter bool     `json:"smaller_is_better"`
				Objective       bool     `json:"objective"`
				AtMost          *float64 `json:"at_most"`
			} `json:"metrics"`
		} `json:"searcher"`
	}
	if err := json.Unmarshal(stored, &shown); err != nil {
		t.Fatal(err)
	}
	if s := shown.Searcher; s.Metric != "accuracy" || s.SmallerIsBetter || len(s.Metrics) != 3 || !s.Metrics[1].SmallerIsBetter || s.Metrics[2].Objective || *s.Metrics[1].AtMost != 20 {
		t.Errorf("the configuration is shown as %s", stored)
	}
	again := parsed(t, string(stored)) // as a fork sends it
	if a, b := again.Searcher.Metrics, cfg.Searcher.Metrics; len(a) != len(b) || again.Searcher.Metric != "accuracy" {
		t.Errorf("read again: %v", a)
	}
	if read, err := expconf.ParseConfigJSON(stored); err != nil || len(read.Searcher.Metrics) != 3 {
		t.Errorf("the stored configuration: %v, %v", read.Searcher.Metrics, err)
	}
	for _, name := range []string{"random, max_trials: 3", "grid", "adaptive_asha, max_trials: 3", "async_halving, max_trials: 3, num_rungs: 2"} { // as masters read what they have stored
		cfg := parsed(t, "name: x\nentrypoint: e\nhyperparameters: {x: {type: categorical, vals: [1, 2]}}\nsearcher: {metrics: [{name: a}, {name: b}], max_length: {batches: 9}, name: "+name+"}\n")
		text, err := cfg.JSON()
		if err == nil {
			_, err = expconf.ParseConfigJSON(text)
		}
		if err != nil {
			t.Errorf("%s as it is stored: %v", name, err)
		}
	}
	one, err := parsed(t, base+"  metric: loss\n").JSON()
	if err != nil || strings.Contains(string(one), `"metrics"`) {
		t.Errorf("a search with one metric is shown as %s (%v)", one, err)
	}
}

// TestProblems: what is wrong is said with its line and column.
func TestProblems(t *testing.T) {
	loss := "  metrics: [{name: loss}, {name: ms}]\n"
	for text, want := range map[string]string{
		"  metric: acc\n" + loss:              `test.yaml:7:11: searcher.metric: is not the first of metrics, "loss"; omit metric, which is the first of metrics`,
		"  smaller_is_better: false\n" + loss: "test.yaml:7:22: searcher.smaller_is_better: differs from that of the first of metrics",
		"  metrics: [{name: a, smaller_is_better: false}]\n  metric: a\n  smaller_is_better: true\n": "test.yaml:9:22: searcher.smaller_is_better: differs",
		"  metrics: [{name: a}, {name: b}, {name: c}, {name: d}, {name: e}]\n":                       "searcher.metrics: has 5 metrics; at most 4 are allowed",
		"  metrics: [{name: a}, {name: a}]\n":                                                        `test.yaml:7:31: searcher.metrics[1].name: names "a" twice`,
		"  metrics: [{name: a}, {smaller_is_better: true}]\n":                                        "searcher.metrics[1].name: is required",
		"  metrics: [{name: a}, {name: b, at_most: 1, at_least: 2}]\n":                               "test.yaml:7:56: searcher.metrics[1].at_least: is above at_most",
		"  metrics: [{name: a}, {name: b, objective: false}]\n":                                      "searcher.metrics[1].objective: is false, and the metric has no bounds",
		"  metrics: [{name: a, objective: false, at_most: 1}]\n":                                     "searcher.metrics[0].objective: must be true",
		"  metrics: [{name: a, at_most: 1e301}]\n":                                                   "searcher.metrics[0].at_most: is too large",
		"  metrics: [{name: a, at_must: 1}]\n":                                                       "searcher.metrics[0].at_must: unknown field; did you mean at_most?",
		"  metrics: [{name: a, at_most: .nan}]\n":                                                    "searcher.metrics[0].at_most: expected a finite number",
		"  metrics: [loss, ms]\n":                                                                    "test.yaml:7:13: searcher.metrics[0]: expected a mapping",
		"  metrics: loss\n":                                                                          "searcher.metrics: expected a list",
		"  metrics: [{name: a}, ~]\n":                                                                "searcher.metrics[1]: is empty",
		"  learn_from: [3]\n  sampler: tpe\n" + loss:                                                 "searcher.learn_from: is not possible with several metrics",
		"  sampler: program\n" + loss:                                                                "searcher.sampler: program is not possible with several metrics",
		"  revision: 1\n" + loss:                                                                     "searcher.metrics: requires revision 2",
		strings.Repeat(" ", 2) + "metrics: [{name: " + strings.Repeat("x", 257) + "}]\n":             "searcher.metrics[0].name: has 257 characters",
	} {
		raw, _, err := expconf.Parse("test.yaml", []byte(base+text))
		if err == nil {
			cfg, _ := expconf.Complete(raw, expconf.ClusterDefaults{})
			err = cfg.ValidateSearch()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for name, other := range map[string]string{
		"single": "metrics: [{name: a}]", "pbt": "metrics: [{name: a}]", "custom": "metrics: [{name: a}]",
		"adaptive_asha": "metrics: [{name: a}], max_length: {batches: 9}, max_trials: 1001", "async_halving": "metrics: [{name: a}], progressive: true, num_rungs: 2, max_length: {batches: 9}, max_trials: 9",
	} {
		raw, _, err := expconf.Parse("test.yaml", []byte("name: x\nentrypoint: x\nsearcher: {name: "+name+", "+other+"}\n"))
		if err == nil {
			cfg, _ := expconf.Complete(raw, expconf.ClusterDefaults{})
			err = cfg.ValidateSearch()
		}
		if want := map[string]string{"adaptive_asha": "at most 1000 trials, found 1001", "async_halving": "searcher.progressive: is not possible with several metrics"}[name]; err == nil ||
			!strings.Contains(err.Error(), want) || want == "" && !strings.Contains(err.Error(), "metrics is not a field of the "+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestJudge: values become distances from bounds, and objectives of which smaller is better.
func TestJudge(t *testing.T) {
	l := parsed(t, base+"  metrics: [{name: accuracy, smaller_is_better: false, at_least: 0.5}, {name: ms, at_most: 20}, {name: gb, at_most: 0, at_least: -2, objective: false}]\n").Searcher.Metrics
	for _, c := range []struct {
		values    []float64
		objective []float64
		violation float64
	}{
		{[]float64{0.5, 20, 0}, []float64{-0.5, 20}, 0},
		{[]float64{0.25, 20, 0}, []float64{-0.25, 20}, 0.5},
		{[]float64{1, 30, 0}, []float64{-1, 30}, 0.5},
		{[]float64{1, 30, 0.25}, []float64{-1, 30}, 0.75},
		{[]float64{1, 0, -3}, []float64{-1, 0}, 0.5},
	} {
		if wanted, violation := l.Judge(c.values); !slices.Equal(wanted, c.objective) || violation != c.violation {
			t.Errorf("%v: %v, %v", c.values, wanted, violation)
		}
	}
	if _, violation := l.Judge([]float64{math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64}); !(violation > 0) {
		t.Errorf("the largest numbers break the bounds by %v", violation)
	}
	for text, want := range map[string]bool{
		`{"accuracy": 0.5, "ms": 1, "gb": -1, "other": "x"}`: true, `{"accuracy": 0.5, "ms": 1}`: false, `{"accuracy": 0.5, "ms": 1, "gb": "NaN"}`: false,
		`{"accuracy": 0.5, "ms": null, "gb": 0}`: false, `{"accuracy": 1e999, "ms": 1, "gb": 0}`: false,
	} {
		var values map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &values); err != nil {
			t.Fatal(err)
		}
		if _, ok := l.Read(values); ok != want {
			t.Errorf("%s: %v", text, ok)
		}
	}
	if b := l[2].Bounds(); b != "at least -2, at most 0" || !l.Bounded() {
		t.Errorf("bounds are %q", b)
	}
}
