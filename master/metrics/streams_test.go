package metrics_test

import (
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/metrics"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A stream of names knows a limited number of names to be sent.
func TestNamesThatAStreamKnows(t *testing.T) {
	w := newWorld(t)
	exp := w.experiment(lossSearcher)
	if err := w.writer().Report(t.Context(), metrics.Report{TrialID: w.trial(exp, 0, 1), RunID: 1, Group: "training", Steps: step(1), Metrics: raw(`{"lr":0.5}`)}); err != nil {
		t.Fatal(err)
	}
	d := metrics.Deps{DB: w.db.DB, Searches: w.db.SearchesOf}
	seen := map[v1.MetricIdentifier]bool{}
	names := func() string {
		t.Helper()
		got, err := d.NewNames(t.Context(), []int{exp}, seen)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(got.(v1.ExpMetricNamesResponse).MetricNames)
	}
	if first, again := names(), names(); first != "[{training lr}]" || again != "[]" {
		t.Errorf("first %s, then %s", first, again)
	}
	for i := range metrics.MaxNamesKnown {
		seen[v1.MetricIdentifier{Group: "training", Name: fmt.Sprint(i)}] = true
	}
	if got := names(); got != "[{training lr}]" || len(seen) > 10 {
		t.Errorf("at the limit: %s, %d names known", got, len(seen))
	}
}
