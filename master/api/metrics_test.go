package api

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/experiments"
)

// TestAMisspeltMetric: the experiment and the trial's log say that the searcher's metric
// was never reported, which ones were, and which one was probably meant.
func TestAMisspeltMetric(t *testing.T) {
	r := newRig(t)
	a := r.running(strings.Replace(yaml(), "metric: loss", "metric: val_los", 1), 1)
	warnings := func() string {
		return fmt.Sprint(r.user("determined").get(fmt.Sprintf("/api/v1/experiments/%d", a.exp)).ok().tree()["remarks"])
	}
	if got := warnings(); got != "[]" && got != "<nil>" {
		t.Errorf("before any report: %s", got)
	}
	for step := range 3 {
		a.ranks[0].post(a.trialPath("/validation_metrics"), fmt.Sprintf(`{"trialRunId":1,"stepsCompleted":%d,"metrics":{"avgMetrics":{"val_loss":0.25,"accuracy":0.5}}}`, step+1)).ok()
	}
	const want = `searcher.metric "val_los" was never reported; the validation metrics are accuracy, val_loss. Did you mean "val_loss"?`
	if got := warnings(); got != "["+want+"]" {
		t.Errorf("%s, want %s", got, want)
	}
	log := string(r.user("determined").get(fmt.Sprintf("/api/v1/trials/%d/logs", a.trial)).ok().body)
	if n := strings.Count(log, `"log":"searcher.metric`); n != 1 {
		t.Errorf("the log has the warning %d times: %s", n, log)
	}
	good := r.running(yaml(), 1)
	good.ranks[0].post(good.trialPath("/validation_metrics"), `{"trialRunId":1,"stepsCompleted":1,"metrics":{"avgMetrics":{"loss":"NaN"}}}`).ok()
	if got := r.user("determined").get(fmt.Sprintf("/api/v1/experiments/%d", good.exp)).ok().tree()["remarks"]; len(fmt.Sprint(got)) > 5 {
		t.Errorf("a metric that is there: %v", got)
	}
}

func TestRunsAndProgress(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 1)
	me := a.ranks[0]
	start := func(storage string) any {
		return me.post("/api/v1/runs/start", fmt.Sprintf(`{"runId":%d,"checkpointStorage":%s}`, a.trial, storage)).ok().tree()["storageId"]
	}
	one := start(`{"type":"shared_fs","host_path":"/a","save_trial_best":1}`)
	if one == nil || start(`{"host_path":"/a","type":"shared_fs","save_trial_best":5}`) != one || start(`{"type":"shared_fs","host_path":"/b"}`) == one {
		t.Errorf("numbers of storages: %v", one)
	}
	if start("null") != nil {
		t.Error("no storage has a number")
	}
	me.post("/api/v1/runs/start", fmt.Sprintf(`{"runId":%d,"checkpointStorage":{"host_path":"/a"}}`, a.trial)).says(400, "type")

	meta := fmt.Sprintf("/api/v1/runs/%d/metadata", a.trial)
	if got := me.post(meta, fmt.Sprintf(`{"runId":%d,"metadata":{"a":1}}`, a.trial)).ok().body; string(got) != `{"metadata":{"a":1}}` {
		t.Errorf("%s", got)
	}
	me.post(meta, `{"metadata":{"b":{"c":[1,"x"]}}}`).ok()
	if got := me.get(meta).ok().body; string(got) != `{"metadata":{"b": {"c": [1, "x"]}}}` {
		t.Errorf("%s", got)
	}

	progress := func() any { return trialProgress(t, r, a.trial) }
	for _, c := range []struct {
		body string
		want float64
	}{{`{"progress":0.42,"is_raw":true}`, 0.42}, {`{"progress":50}`, 0.5}, {"25.0", 0.25}, {`{"progress":7,"isRaw":true}`, 1}} {
		me.post(a.trialPath("/progress"), c.body).ok()
		if got := progress(); got != c.want {
			t.Errorf("%s: %v, want %v", c.body, got, c.want)
		}
	}
	me.post(a.trialPath("/progress"), `{"progress":"x"}`).says(400, "a number")
	me.post(a.trialPath("/runner/metadata"), `{"state":"training"}`).ok()
	if got := at(t, me.get(a.trialPath("")).ok().tree(), "trial.runnerState"); got != "training" {
		t.Errorf("%v", got)
	}
	me.post(a.trialPath("/early_exit"), `{"reason":"EXITED_REASON_NONSENSE"}`).says(400, "EXITED_REASON_INVALID_HP")
	me.post(a.trialPath("/early_exit"), `{"reason":"EXITED_REASON_INVALID_HP"}`).ok()
	me.post(a.trialPath("/early_exit"), `{"reason":"EXITED_REASON_INVALID_HP"}`).ok()
	me.post(a.trialPath("/early_exit"), `{"reason":"EXITED_REASON_USER_REQUESTED_STOP"}`).says(400, "INVALID_HP")

	op := me.get(a.trialPath("/searcher/operation")).ok().tree()
	if at(t, op, "op.validateAfter.length") != "100" || op["completed"] != false {
		t.Errorf("%v", op)
	}
	me.post(a.trialPath("/searcher/completed_operation"), `{"op":{"length":99},"searcherMetric":0.5}`).says(400, "100")
	me.post(a.trialPath("/searcher/completed_operation"), `{"op":{"length":100},"searcherMetric":0.5}`).ok()
	if op := me.get(a.trialPath("/searcher/operation")).ok().tree(); op["completed"] != true {
		t.Errorf("%v", op)
	}
}

func trialProgress(t *testing.T, r *rig, id int) float64 {
	t.Helper()
	tr, err := experiments.GetTrial(context.Background(), r.db, id)
	if err != nil || tr.Progress == nil {
		t.Fatal(tr, err)
	}
	return *tr.Progress
}

func TestBestMetric(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 1)
	me := a.ranks[0]
	for step, loss := range []float64{0.5, 0.25} {
		a.reports("validation", step, fmt.Sprintf(`{"loss":%g}`, loss))
	}
	if got := me.get(fmt.Sprintf("/api/v1/experiments/%d/searcher/best_searcher_validation_metric", a.exp)).ok().tree()["metric"]; got != 0.25 {
		t.Errorf("the best is %v", got)
	}
}
