package api

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/metrics"
)

// history gives a trial reports and checkpoints: losses by step, and for some of
// the steps a checkpoint.
func (r *rig) history(trial int, task string) {
	r.t.Helper()
	ctx := context.Background()
	w := newMetricWriter(r.db, r.bus, 0)
	for i, loss := range []float64{0.9, 0.3, 0.5} {
		step := 10 * (i + 1)
		for _, group := range []string{"training", "validation"} {
			err := w.Report(ctx, metrics.Report{TrialID: trial, RunID: 1, Group: group, Steps: &step,
				Metrics: json.RawMessage(fmt.Sprintf(`{"loss":%g}`, loss)), Batches: json.RawMessage(`[{"b":1}]`)})
			if err != nil {
				r.t.Fatal(err)
			}
		}
		if step == 10 {
			continue
		}
		err := checkpoints.Add(ctx, r.db, checkpoints.New{UUID: fmt.Sprintf("00000000-0000-4000-8000-%08d%04d", trial, step), TaskID: task, AllocationID: task + ".1", RunID: 1,
			State: "COMPLETED", Steps: step, Resources: map[string]int64{"model.bin": int64(step)}, Metadata: json.RawMessage(fmt.Sprintf(`{"steps_completed":%d}`, step))})
		if err != nil {
			r.t.Fatal(err)
		}
	}
	w.Wait()
	waitFor(r.t, func() bool {
		_, err := metrics.Summarize(ctx, r.db)
		if err != nil {
			r.t.Fatal(err)
		}
		done, err := metrics.CaughtUp(ctx, r.db)
		return err == nil && done
	})
}

func TestTrials(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	id := me.create(yaml(), `"activate":true`)
	trial, task := r.trial(id, 0)
	r.apply(rows.Changes{Trials: []rows.TrialChange{{ID: trial, Saw: "ACTIVE", State: "ACTIVE", RunID: 1}}})
	r.history(trial, task)
	empty, _ := r.trial(id, 1)
	path := fmt.Sprintf("/api/v1/trials/%d", trial)
	got := me.get(path).ok().tree()
	for k, want := range map[string]any{"trial.experimentId": float64(id), "trial.hparams.lr": 0.1, "trial.totalBatchesProcessed": 30.0, "trial.searcherMetricValue": 0.3,
		"trial.bestValidation.totalBatches": 20.0, "trial.latestValidation.metrics.avgMetrics.loss": 0.5, "trial.bestCheckpoint.totalBatches": 20.0,
		"trial.checkpointCount": 2.0, "trial.totalCheckpointSize": "50", "trial.taskId": task, "trial.summaryMetrics.validation_metrics.loss.min": 0.3,
		"trial.bestCheckpoint.state": "STATE_COMPLETED"} {
		if at(t, got, k) != want {
			t.Errorf("%s = %v, want %v", k, at(t, got, k), want)
		}
	}
	for query, want := range map[string]string{
		"": fmt.Sprint(trial, empty), "limit=1": fmt.Sprint(trial), "orderBy=ORDER_BY_DESC": fmt.Sprint(empty, trial),
		"sortBy=SORT_BY_BATCHES_PROCESSED&orderBy=ORDER_BY_DESC&limit=1":        fmt.Sprint(trial),
		"sortBy=SORT_BY_BEST_VALIDATION_METRIC&orderBy=ORDER_BY_DESC&limit=1":   fmt.Sprint(trial),
		"sortBy=SORT_BY_LATEST_VALIDATION_METRIC&orderBy=ORDER_BY_DESC&limit=1": fmt.Sprint(trial),
		"sortBy=SORT_BY_CHECKPOINT_SIZE&orderBy=ORDER_BY_DESC&limit=1":          fmt.Sprint(trial),
		"states=STATE_ACTIVE": fmt.Sprint(trial, empty), "states=STATE_COMPLETED": "",
	} {
		list := me.get(fmt.Sprintf("/api/v1/experiments/%d/trials?%s", id, query)).ok().tree()
		ids := ""
		for _, x := range list["trials"].([]any) {
			ids += fmt.Sprint(" ", at(t, x, "id"))
		}
		if want != "" {
			want = " " + want
		}
		if ids != want {
			t.Errorf("%s: %q, want %q", query, ids, want)
		}
	}
	me.get("/api/v1/experiments/99/trials").says(404, "99")
	me.get("/api/v1/trials/99").says(404, "99")
	me.post(path+"/kill", "").ok()
	if s := at(t, me.get(path).ok().tree(), "trial.state"); s != "STATE_STOPPING_KILLED" {
		t.Errorf("killed: %v", s)
	}
	r.user("admin").post(path+"/kill", "").ok()
}

func TestWorkloads(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	id := me.create(yaml())
	trial, task := r.trial(id, 0)
	r.history(trial, task)
	for query, want := range map[string]string{
		"limit=500&offset=0": "t10 v10 t20 v20 c20 t30 v30 c30", "limit=3&offset=1": "v10 t20 v20",
		"filter=FILTER_OPTION_CHECKPOINT": "c20 c30", "filter=FILTER_OPTION_VALIDATION": "v10 v20 v30",
		"filter=FILTER_OPTION_CHECKPOINT_OR_VALIDATION&orderBy=ORDER_BY_DESC": "c30 v30 c20 v20 v10",
		"metricType=METRIC_TYPE_TRAINING":                                     "t10 t20 t30", "group=validation&sortKey=loss": "v20 v30 v10",
		"metricType=METRIC_TYPE_VALIDATION&sortKey=loss&orderBy=ORDER_BY_DESC": "v10 v30 v20",
		"metricType=METRIC_TYPE_PROFILING":                                     "",
	} {
		got := me.get(fmt.Sprintf("/api/v1/trials/%d/workloads?%s", trial, query)).ok().tree()
		line := ""
		for _, w := range got["workloads"].([]any) {
			for kind, x := range w.(map[string]any) {
				line += fmt.Sprintf(" %c%v", kind[0], at(t, x, "totalBatches"))
			}
		}
		if want != "" {
			want = " " + want
		}
		if line != want {
			t.Errorf("%s:%s, want%s", query, line, want)
		}
	}
	with := me.get(fmt.Sprintf("/api/v1/trials/%d/workloads?filter=FILTER_OPTION_VALIDATION&includeBatchMetrics=true&limit=1", trial)).ok().tree()
	if at(t, with, "workloads.0.validation.metrics.batchMetrics.0.b") != 1.0 {
		t.Errorf("with batches: %v", with)
	}
	me.get(fmt.Sprintf("/api/v1/trials/%d/workloads?filter=NONSENSE", trial)).says(400, "filter")
}

func TestCheckpoints(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	id := me.create(yaml())
	trial, task := r.trial(id, 0)
	r.history(trial, task)
	for _, path := range []string{fmt.Sprintf("/api/v1/experiments/%d/checkpoints", id), fmt.Sprintf("/api/v1/trials/%d/checkpoints", trial)} {
		got := me.get(path + "?sortByAttr=SORT_BY_SEARCHER_METRIC").ok().tree()
		for k, want := range map[string]any{"checkpoints.0.training.trialId": float64(trial), "checkpoints.0.training.experimentId": float64(id),
			"checkpoints.0.training.searcherMetric": 0.3, "checkpoints.0.training.validationMetrics.avgMetrics.loss": 0.3,
			"checkpoints.0.training.hparams.lr": 0.1, "checkpoints.0.training.experimentConfig.checkpoint_storage.type": "shared_fs",
			"checkpoints.0.metadata.steps_completed": 20.0, "checkpoints.0.state": "STATE_COMPLETED", "checkpoints.0.taskId": task, "pagination.total": 2.0} {
			if at(t, got, k) != want {
				t.Errorf("%s: %s = %v, want %v", path, k, at(t, got, k), want)
			}
		}
		if r := at(t, got, "checkpoints.0.resources").(map[string]any); r["model.bin"] != "20" {
			t.Errorf("resources are %v", r)
		}
		for query, first := range map[string]float64{"sortByAttr=SORT_BY_SEARCHER_METRIC&orderBy=ORDER_BY_DESC": 30, "sortByMetric=loss": 20,
			"sortByMetric=loss&orderBy=ORDER_BY_DESC": 30, "sortByAttr=SORT_BY_BATCH_NUMBER": 20, "sortByAttr=SORT_BY_BATCH_NUMBER&orderBy=ORDER_BY_DESC": 30,
			"sortByAttr=SORT_BY_UUID&limit=1&offset=1": 30, "sortByAttr=SORT_BY_END_TIME&states=STATE_COMPLETED&limit=1": -1} {
			steps := at(t, me.get(path+"?"+query).ok().tree(), "checkpoints.0.metadata.steps_completed")
			if first > 0 && steps != first {
				t.Errorf("%s: first is of step %v, want %v", query, steps, first)
			}
		}
		if n := at(t, me.get(path+"?states=STATE_DELETED").ok().tree(), "pagination.total"); n != 0.0 {
			t.Errorf("%v deleted checkpoints", n)
		}
		me.get(path+"?sortByAttr=NONSENSE").says(400, "sortByAttr")
	}
	e := me.get(fmt.Sprintf("/api/v1/experiments/%d", id)).ok().tree()
	if at(t, e, "experiment.checkpointCount") != 2.0 || at(t, e, "experiment.checkpointSize") != "50" {
		t.Errorf("sums: %v", e)
	}
	h := me.get(fmt.Sprintf("/api/v1/experiments/%d/validation-history", id)).ok().tree()
	if n := len(h["validationHistory"].([]any)); n == 0 {
		t.Errorf("history: %v", h)
	}
	best := me.get(fmt.Sprintf("/api/v1/experiments/%d/searcher/best_searcher_validation_metric", id)).ok().tree()
	if best["metric"] != 0.3 {
		t.Errorf("best: %v", best)
	}
	me.get("/api/v1/experiments/99/checkpoints").says(404, "99")
}
