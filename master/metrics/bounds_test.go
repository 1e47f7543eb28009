package metrics_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/metrics/report"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// named is a report with a number of names, which begin with a prefix.
func named(prefix string, names int) string {
	b := strings.Builder{}
	for i := range names {
		fmt.Fprintf(&b, `,"%s%d":1`, prefix, i)
	}
	return "{" + b.String()[1:] + "}"
}

// Reports have bounds, and the reports of one key have them together. Reports as honest programs send them are stored.
func TestBoundsOfReports(t *testing.T) {
	w := newWorld(t)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	m := w.writer()
	long := strings.Repeat("n", report.MaxName)
	for _, c := range []struct {
		name    string
		step    int
		metrics string
		batches string
		words   []string // of the error; none: the report is stored
	}{
		{"the metrics of many layers", 1, named("layer.", report.MaxNames), "", nil},
		{"the same again", 1, named("layer.", report.MaxNames), "", nil},
		{"one name more at the same step", 1, `{"x": 1}`, "", []string{"step 1", "10001 names", "10000 are allowed"}},
		{"a long value", 9, `{"long": "` + strings.Repeat("x", 5<<20) + `"}`, "", nil},
		{"the long value again, with another", 9, `{"loss": 1, "long": "` + strings.Repeat("x", 5<<20) + `"}`, "", nil},
		{"many names at once", 2, named("x", 700_000), "", []string{"700000 names", "10000 are allowed"}},
		{"a long name", 3, `{"` + long + `": {"` + long + `n": 1}, "y": ["a", "` + long + `nn"]}`, "", nil},
		{"a longer name", 4, `{"a": 1, "` + long + `n": 1}`, "", []string{"name", "1001 bytes", "1000 are allowed"}},
		{"a name of escapes", 5, `{"` + strings.Repeat(`\u00e9`, report.MaxName/2) + `": 1}`, "", nil},
		{"a long list", 6, `{"list": [` + strings.Repeat("0.25,", 1_000_000) + `1]}`, "", nil},
		{"numbers that are long when they are written out", 7, `{"list": [` + strings.Repeat("1e308,", 100_000) + `1]}`, "", []string{"trial", "bytes", "8388608 are allowed"}},
		{"small numbers, in batches", 8, `{"a": 1}`, `[{"list": [` + strings.Repeat("1e-300,", 100_000) + `1]}]`, []string{"batchMetrics", "8388608 are allowed"}},
		{"a long list at the same step", 6, `{"more": [` + strings.Repeat("0.25,", 1_000_000) + `1]}`, "", []string{"step 6", "bytes together", "8388608 are allowed"}},
		{"batches at the same step", 6, `{}`, `[{"list": [` + strings.Repeat("0.25,", 1_000_000) + `1]}]`, []string{"step 6", "bytes together", "8388608 are allowed"}},
		{"a little at the same step", 6, `{"loss": 1}`, "", nil},
	} {
		err := m.Report(t.Context(), metrics.Report{TrialID: trial, RunID: 1, Group: "training", Steps: step(c.step), Metrics: raw(c.metrics), Batches: raw(c.batches)})
		if len(c.words) == 0 && err != nil || len(c.words) > 0 && !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %.300v", c.name, err)
			continue
		}
		for _, word := range c.words {
			if !strings.Contains(err.Error(), word) || len(err.Error()) > 500 {
				t.Errorf("%s: %.600q does not say %q", c.name, err, word)
			}
		}
	}
	if got := w.Text(`SELECT string_agg(steps::text, ' ' ORDER BY steps) FROM metrics`); got != "1 3 5 6 9" {
		t.Errorf("the steps %s are stored", got)
	}
	if n := w.Int(`SELECT max(octet_length(avg::text)) FROM metrics`); n > report.MaxText {
		t.Errorf("a row has %d bytes", n)
	}
}

// measure computes at least what PostgreSQL writes.
func TestMeasuredText(t *testing.T) {
	w := newWorld(t)
	for _, text := range []string{`{}`, `{"a":1,"b":[1,2,{"c":null}],"d":{"e":true,"f":"x,y:z"}}`, `{"a":1e308,"b":-1.25e-300,"c":12E3}`, ` { "a" : [ ] , "é\n\"" : "\u00e9" } `} {
		if got, want := report.Measure([]byte(text)).Text, w.Int(`SELECT octet_length($1::text::jsonb::text)`, text); got < want || got > want+20 {
			t.Errorf("%s: %d bytes, PostgreSQL writes %d", text, got, want)
		}
	}
	if m := report.Measure([]byte(`{"a":{"x":1,"y":2},"b":["s","t"],"cc":3}`)); m.Names != 3 || string(m.Longest) != `"cc"` {
		t.Errorf("%d names, the longest %s", m.Names, m.Longest)
	}
}

// A report with more names than one may have is rejected before it joins a batch.
func TestCheckOfManyNames(t *testing.T) {
	if err := (&metrics.Report{Group: "training", Metrics: raw(named("x", report.MaxNames+1))}).Check(); !fault.Is(err, fault.Invalid) {
		t.Error(err)
	}
}
