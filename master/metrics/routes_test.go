package metrics_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/rest/resttest"
)

func TestMetricsByAPI(t *testing.T) {
	r := newRig(t)
	a := r.running()
	me := a.Client
	report := func(group string, step int, metrics string) resttest.Answer {
		return me.Post(a.path("/metrics"), fmt.Sprintf(`{"group":%q,"metrics":{"trialId":%d,"trialRunId":1,"stepsCompleted":%d,"reportTime":null,
			"metrics":{"avgMetrics":%s,"batchMetrics":null}}}`, group, a.trial, step, metrics))
	}
	if b := report("training", 1, `{"loss":1.5,"nan":"NaN"}`).OK().Body; string(b) != "{}" {
		t.Errorf("the answer is %s", b)
	}
	report("training", 1, `{"nan":"NaN","loss":1.50}`).OK()
	report("training", 1, `{"loss":2}`).Says(400, `"loss"`, "1.5")
	report("validation", 1, `{"loss":0.5}`).OK()
	me.Post(a.path("/validation_metrics"), `{"trialRunId":1,"stepsCompleted":2,"metrics":{"avgMetrics":{"loss":0.25}}}`).OK()
	me.Post(a.path("/metrics"), `{"group":"cpu","metrics":{"trialRunId":1,"reportTime":"2026-01-02T03:04:05.5+00:00","metrics":{"avgMetrics":{"node-0":{"cpu_util":5}}}}}`).OK()
	me.Post(a.path("/metrics"), `{"group":"training","metrics":{"trialRunId":0,"stepsCompleted":3,"metrics":{"avgMetrics":{}}}}`).Says(409, "run 0", "run 1")
	me.Post(a.path("/metrics"), `{"group":"training","metrics":{"trialId":77,"trialRunId":1,"metrics":{}}}`).Says(400, "77")
	me.Post(a.path("/metrics"), `{"group":"training","metrics":{"trialRunId":1,"metrics":{"avgMetrics":[1]}}}`).Says(400, "avgMetrics", "an object")
	me.Post(a.path("/metrics"), `not json`).Says(400, "not JSON")
	for _, c := range []struct{ path, want string }{
		{"training_metrics?trialIds=%d", `{"result":{"metrics":[{"archived":false,"endTime":"T","group":"training","id":N,"metrics":{"avg_metrics":{"nan": "NaN", "loss": 1.5}},"totalBatches":1,"trialId":1,"trialRunId":1}]}}`},
		{"trial_metrics?trialIds=%d&group=cpu", `{"result":{"metrics":[{"archived":false,"endTime":"T","group":"cpu","id":N,"metrics":{"avg_metrics":{"node-0": {"cpu_util": 5}}},"totalBatches":0,"trialId":1,"trialRunId":1}]}}`},
	} {
		got := string(me.Get("/api/v1/trials/metrics/" + fmt.Sprintf(c.path, a.trial)).OK().Body)
		if masked := maskReport(got); masked != c.want+"\n" {
			t.Errorf("%s:\n%s\nwant\n%s", c.path, masked, c.want)
		}
	}
	if got := string(me.Get(fmt.Sprintf("/api/v1/trials/metrics/validation_metrics?trialIds=%d", a.trial)).OK().Body); strings.Count(got, `{"validation_metrics":{"loss"`) != 2 {
		t.Error(got)
	}
	me.Get("/api/v1/trials/metrics/trial_metrics").Says(400, "trialIds")
	me.Get("/api/v1/trials/metrics/trial_metrics?trialIds=99").Says(404, "trial 99")

	series := me.Get(fmt.Sprintf("/api/v1/trials/time-series?trialIds=%d&metricIds=validation.loss&startBatches=2", a.trial)).OK().Tree()
	data := resttest.At(t, series, "trials.0.metrics.0").(map[string]any)
	if data["group"] != "validation" || data["type"] != "METRIC_TYPE_VALIDATION" || resttest.At(t, data, "data.0.batches") != 2.0 || resttest.At(t, data, "data.0.values.loss") != 0.25 {
		t.Errorf("%v", data)
	}
	series = me.Get(fmt.Sprintf("/api/v1/trials/time-series?trialIds=%d&metricIds=training.loss&metricIds=training.nan&metricIds=training.other", a.trial)).OK().Tree()
	if got := fmt.Sprint(resttest.At(t, series, "trials.0.metrics.0.data.0.values")); got != "map[loss:1.5 nan:NaN]" {
		t.Errorf("values that are NaN, and that are not there: %s", got)
	}
	me.Get(fmt.Sprintf("/api/v1/trials/time-series?trialIds=%d&metricIds=loss", a.trial)).Says(400, "group.name")
	filtered := me.Get(fmt.Sprintf("/api/v1/trials/time-series?trialIds=%d&metricNames=loss&metricType=METRIC_TYPE_VALIDATION&timeSeriesFilter.name=batches&timeSeriesFilter.integerRange.lte=1", a.trial)).OK().Tree()
	if n := len(resttest.At(t, filtered, "trials.0.metrics.0.data").([]any)); n != 1 {
		t.Errorf("%d points", n)
	}
}

// TestStepsOfASeries: the filter of newer clients selects steps exactly, also with fractions, with both
// upper bounds, and where no step is left; endBatches holds beside it.
func TestStepsOfASeries(t *testing.T) {
	r := newRig(t)
	a := r.running()
	for step := range 4 {
		a.reports("validation", step, fmt.Sprintf(`{"loss":%d}`, step))
	}
	me := a.Client
	series := func(query string) resttest.Answer {
		return me.Get(fmt.Sprintf("/api/v1/trials/time-series?trialIds=%d&metricIds=validation.loss&timeSeriesFilter.name=batches&%s", a.trial, query))
	}
	const whole, parts = "timeSeriesFilter.integerRange.", "timeSeriesFilter.doubleRange."
	for query, want := range map[string]string{
		whole + "gt=1": "[2 3]", whole + "gte=1": "[1 2 3]", whole + "lt=1": "[0]", whole + "lte=1": "[0 1]",
		whole + "lt=0": "[]", whole + "lte=-1": "[]", whole + "gt=2147483647": "[]",
		parts + "gt=0.5": "[1 2 3]", parts + "gte=1.5": "[2 3]", parts + "lt=1.5": "[0 1]", parts + "lte=1.5": "[0 1]", parts + "gt=-0.5": "[0 1 2 3]",
		whole + "lt=3&" + whole + "lte=1": "[0 1]", whole + "lt=2&" + whole + "lte=3": "[0 1]",
		"endBatches=1&" + whole + "lte=3": "[0 1]", "startBatches=2&" + whole + "gt=0": "[2 3]", "endBatches=0": "[0 1 2 3]",
	} {
		got := []any{}
		for _, p := range resttest.At(t, series(query).OK().Tree(), "trials.0.metrics.0.data").([]any) {
			got = append(got, resttest.At(t, p, "batches"))
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: steps %v, want %s", query, got, want)
		}
	}
	for _, wrong := range []string{"NaN", "Inf", "1e99", "x"} {
		series(parts+"lt="+wrong).Says(400, "timeSeriesFilter.doubleRange.lt", "number")
	}
}

func maskReport(s string) string {
	for _, m := range []struct{ from, to, mask string }{{`"endTime":"`, `"`, "T"}, {`"id":`, ",", "N"}} {
		if i := strings.Index(s, m.from); i >= 0 {
			begin := i + len(m.from)
			end := begin + strings.Index(s[begin:], m.to)
			s = s[:begin] + m.mask + s[end:]
		}
	}
	return s
}
