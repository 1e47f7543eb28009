package metrics_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/rest/resttest"
	"github.com/detent-ml/detent/master/schema/rowtest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// record reads the next record of a stream; nil at its end.
func record(t testing.TB, s *resttest.Stream) any {
	t.Helper()
	line, err := s.Line()
	if errors.Is(err, io.EOF) && line == "" {
		return nil
	}
	var v map[string]any
	if err := errors.Join(err, json.Unmarshal([]byte(line), &v)); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return resttest.At(t, v, "result")
}

// TestMetricStreams: the streams of an ended experiment, with summaries that are up to date and with
// others.
func TestMetricStreams(t *testing.T) {
	r := newRig(t)
	me := r.With("determined")
	a := r.running()
	for i, loss := range []float64{0.75, 0.5, 1} {
		steps := 10 * (i + 1)
		a.reports("validation", steps, fmt.Sprintf(`{"loss":%g,"note":"n"}`, loss))
		a.reports("training", steps+1, `{"lr":0.5}`)
	}
	a.reports("inference", 5, `{"ms":7}`)
	r.over(a.exp)
	exp := fmt.Sprintf("/api/v1/experiments/%d/metrics-stream", a.exp)
	for _, state := range []string{"before the summaries are made", "after"} {
		got := me.Get(fmt.Sprintf("/api/v1/experiments/metrics-stream/metric-names?ids=%d&periodSeconds=1", a.exp)).Records()
		if want := "[map[metricNames:[map[group:inference name:ms] map[group:training name:lr] map[group:validation name:loss] map[group:validation name:note]]" +
			" searcherMetrics:[loss] trainingMetrics:[lr] validationMetrics:[loss note]]]"; fmt.Sprint(got) != want {
			t.Errorf("names, %s: %v", state, got)
		}
		waitFor(t, func() bool { // transactions of other tests on the same server delay the summaries
			_, err := metrics.Summarize(t.Context(), r.DB)
			done, caught := metrics.CaughtUp(t.Context(), r.DB)
			return err == nil && caught == nil && done
		})
	}
	for path, want := range map[string]string{
		"/batches?metricName=loss&metricType=METRIC_TYPE_VALIDATION":                            "[map[batches:[10 20 30]]]",
		"/batches?metricName=lr&group=training":                                                 "[map[batches:[11 21 31]]]",
		"/batches?metricName=none&group=training":                                               "[map[batches:[]]]",
		"/trials-snapshot?metricName=loss&group=validation&batchesProcessed=22&batchesMargin=7": fmt.Sprintf("[map[trials:[map[batchesProcessed:20 hparams:map[lr:0.1] metric:0.5 trialId:%d]]]]", a.trial),
		"/trials-snapshot?metricName=loss&group=validation&batchesProcessed=22":                 "[map[trials:[]]]",
		"/trials-snapshot?metricName=note&group=validation&batchesProcessed=20":                 "[map[trials:[]]]",
	} {
		if got := me.Get(exp + path).Records(); fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", path, got, want)
		}
	}
	sample := me.Get(exp + "/trials-sample?metricName=loss&group=validation&startBatches=15").Records()
	if len(sample) != 1 || fmt.Sprint(resttest.At(t, sample[0], "promotedTrials")) != fmt.Sprint([]int{a.trial}) || fmt.Sprint(resttest.At(t, sample[0], "demotedTrials")) != "[]" ||
		resttest.At(t, sample[0], "trials.0.data.0.batches") != 20.0 || resttest.At(t, sample[0], "trials.0.data.1.values.loss") != 1.0 || resttest.At(t, sample[0], "trials.0.hparams.lr") != 0.1 {
		t.Errorf("sample: %v", sample)
	}
	for path, says := range map[string]string{"/batches?group=training": "metricName", "/batches?metricName=x": "group", "/batches?metricName=x&group=y&periodSeconds=-1": "periodSeconds",
		"/trials-snapshot?metricName=x&group=y&batchesMargin=-1": "batchesMargin", "/trials-sample?metricName=x&group=y&maxTrials=101": "maxTrials"} {
		me.Get(exp+path).Says(400, says)
	}
	me.Get("/api/v1/experiments/metrics-stream/metric-names").Says(400, "ids")
	me.Get("/api/v1/experiments/metrics-stream/metric-names?ids=99").Says(404, "99")
}

// TestMetricStreamsFollow an experiment until it has ended: each record has what is new, and the
// best trials change.
func TestMetricStreamsFollow(t *testing.T) {
	r := newRig(t)
	me := r.With("determined")
	a := r.running()
	other := r.Trial(a.exp, 1, 1)
	value := func(trial int, loss float64) {
		t.Helper()
		r.Exec(`INSERT INTO trial_summaries (trial_id, summary) VALUES ($1, jsonb_build_object('validation_metrics', jsonb_build_object('loss',
			jsonb_build_object('type', 'number', 'min', $2::float8, 'max', $2::float8)))) ON CONFLICT (trial_id) DO UPDATE SET summary = EXCLUDED.summary`, trial, loss)
	}
	a.reports("validation", 10, `{"loss":1}`)
	value(a.trial, 1)
	exp := fmt.Sprintf("/api/v1/experiments/%d/metrics-stream", a.exp)
	batches := me.Open(exp + "/batches?metricName=loss&group=validation&periodSeconds=1")
	sample := me.Open(exp + "/trials-sample?metricName=loss&group=validation&maxTrials=1&periodSeconds=1")
	if got := fmt.Sprint(resttest.At(t, record(t, batches), "batches")); got != "[10]" {
		t.Errorf("first: %s", got)
	}
	if got := fmt.Sprint(resttest.At(t, record(t, sample), "promotedTrials")); got != fmt.Sprint([]int{a.trial}) {
		t.Errorf("promoted first: %s", got)
	}
	a.reports("validation", 20, `{"loss":0.9}`)
	value(other, 0.5)
	r.over(a.exp)
	var steps, promoted, demoted, hparams string
	for got := record(t, batches); got != nil; got = record(t, batches) {
		steps += fmt.Sprint(resttest.At(t, got, "batches"))
	}
	for got := record(t, sample); got != nil; got = record(t, sample) {
		promoted += fmt.Sprint(resttest.At(t, got, "promotedTrials"))
		demoted += fmt.Sprint(resttest.At(t, got, "demotedTrials"))
		for _, k := range resttest.At(t, got, "trials").([]any) {
			hparams += fmt.Sprintf("%v:%v ", resttest.At(t, k, "trialId"), resttest.At(t, k, "hparams") != nil)
		}
	}
	if !strings.Contains(steps, "[20]") || strings.Contains(steps, "10") {
		t.Errorf("then: %s", steps)
	}
	if !strings.Contains(promoted, fmt.Sprint([]int{other})) || !strings.Contains(demoted, fmt.Sprint([]int{a.trial})) {
		t.Errorf("promoted %s, demoted %s", promoted, demoted)
	}
	if want := fmt.Sprintf("%d:true ", other); !strings.HasPrefix(hparams, fmt.Sprintf("%d:false ", a.trial)) && !strings.HasPrefix(hparams, want) ||
		strings.Count(hparams, "true") != 1 || !strings.Contains(hparams, want) {
		t.Errorf("hyperparameters of trials: %s", hparams)
	}
}

func TestProfiler(t *testing.T) {
	r := newRig(t)
	me := r.With("determined")
	a := r.running()
	a.reports("cpu", "2026-11-20T10:00:00Z", `{"n1":{"cpu_util_simple":50}}`)
	a.reports("cpu", "2026-11-20T10:00:10Z", `{"n1":{"cpu_util_simple":60}}`)
	a.reports("gpu", "2026-11-20T10:00:00Z", `{"n1":{"GPU-1":{"gpu_util":1},"GPU-2":{"gpu_util":"NaN"}}}`)
	a.reports("training", 3, `{"n1":{"loss":1}}`)
	path := a.path("/profiler")
	r.over(a.exp)
	if got, want := fmt.Sprint(me.Get(path+"/available_series?follow=true").Records()), fmt.Sprintf("[map[labels:[map[agentId:n1 gpuUuid: metricType:PROFILER_METRIC_TYPE_SYSTEM name:cpu_util_simple trialId:%d]"+
		" map[agentId:n1 gpuUuid:GPU-1 metricType:PROFILER_METRIC_TYPE_SYSTEM name:gpu_util trialId:%[1]d]]]]", a.trial); got != want {
		t.Errorf("series: %s, want %s", got, want)
	}
	cpu := me.Get(path + "/metrics?labels.name=cpu_util_simple&follow=true").Records()
	if len(cpu) != 1 || fmt.Sprint(resttest.At(t, cpu[0], "batch.values")) != "[50 60]" || fmt.Sprint(resttest.At(t, cpu[0], "batch.timestamps")) != "[2026-11-20T10:00:00Z 2026-11-20T10:00:10Z]" ||
		fmt.Sprint(resttest.At(t, cpu[0], "batch.batches")) != "[0 0]" || resttest.At(t, cpu[0], "batch.labels.agentId") != "n1" {
		t.Errorf("cpu: %v", cpu)
	}
	for query, want := range map[string]int{"labels.name=gpu_util": 1, "labels.name=gpu_util&labels.gpuUuid=GPU-1": 1, "labels.name=gpu_util&labels.gpuUuid=GPU-2": 0,
		"labels.name=cpu_util_simple&labels.agentId=n2": 0, "labels.name=loss": 0, "": 2, "sample=true": 2, "labels.gpuUuid=GPU-1": 1,
		"labels.name=gpu_util&labels.metricType=PROFILER_METRIC_TYPE_SYSTEM": 1, "labels.name=gpu_util&labels.metricType=PROFILER_METRIC_TYPE_TIMING": 0} {
		if got := me.Get(path + "/metrics?" + query).Records(); len(got) != want {
			t.Errorf("%s: %v", query, got)
		}
	}
	me.Get(path+"/metrics?sample=some").Says(400, "sample")
	me.Post("/api/v1/trials/profiler/metrics", `{"batches":[]}`).Says(501, "/metrics, with one of the groups cpu, disk, gpu")
}

// A stream of names knows a limited number of names to be sent.
func TestNamesThatAStreamKnows(t *testing.T) {
	w := newWorld(t)
	exp := w.Experiment(rowtest.LossSearcher)
	if err := w.writer().Report(t.Context(), metrics.Report{TrialID: w.Trial(exp, 0, 1), RunID: 1, Group: "training", Steps: step(1), Metrics: raw(`{"lr":0.5}`)}); err != nil {
		t.Fatal(err)
	}
	d := metrics.Deps{DB: w.DB, Searches: func(ctx context.Context, ids []int) ([]metrics.Search, error) {
		return experiments.SearchesOf(ctx, w.DB, ids)
	}}
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
