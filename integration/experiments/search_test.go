package experiments

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/v1"
)

// searched knows nothing of Detent: it logs to MLflow by its REST interface, and saves at SIGTERM. At its rung it waits for the signal.
const searched = `
import json, os, pathlib, signal, sys, time, urllib.request

x, out = float(os.environ["DET_HPARAM_x"]), pathlib.Path("out", "step")
began = step = int(out.read_text()) if out.exists() else 0

def save(*_):
    out.parent.mkdir(exist_ok=True)
    out.write_text(str(step))
    print("saved step", step, flush=True)
    sys.exit(0)

signal.signal(signal.SIGTERM, save)
print("begins after step", step, flush=True)
while step < 8:
    step += 1
    body = {"run_id": os.environ["MLFLOW_RUN_ID"], "key": "loss", "value": x / step, "step": step, "timestamp": int(time.time() * 1000)}
    headers = {"Authorization": "Bearer " + os.environ["MLFLOW_TRACKING_TOKEN"], "Content-Type": "application/json"}
    url = os.environ["MLFLOW_TRACKING_URI"] + "/api/2.0/mlflow/runs/log-metric"
    urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).read()
    while step == 4 and began < 4:
        time.sleep(0.1)
`

// endless reports until it is preempted.
const endless = `
import time
from determined import core

with core.init() as ctx:
    step = 0
    while not ctx.preempt.should_preempt():
        step += 1
        time.sleep(0.2)
        ctx.train.report_validation_metrics(steps_completed=step, metrics={"loss": 1 / step})
`

// lucky reports one result, which its hyperparameter decides.
const lucky = `
import json, os, time, urllib.request

body = {"run_id": os.environ["MLFLOW_RUN_ID"], "key": "loss", "value": 1 + float(os.environ["DET_HPARAM_x"]), "step": 1, "timestamp": int(time.time() * 1000)}
headers = {"Authorization": "Bearer " + os.environ["MLFLOW_TRACKING_TOKEN"], "Content-Type": "application/json"}
url = os.environ["MLFLOW_TRACKING_URI"] + "/api/2.0/mlflow/runs/log-metric"
urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).read()
`

// compromises reports two metrics, of which one is better the worse the other is, and saves a checkpoint at each rung.
const compromises = `
from determined import core
import determined as det

x = det.get_cluster_info().trial.hparams["x"]
with core.init() as ctx:
    for step in range(1, 9):
        ctx.train.report_validation_metrics(steps_completed=step, metrics={"loss": x + 1 / step, "ms": 100 * (1 - x), "other": 1})
        if step in (4, 8):
            with ctx.checkpoint.store_path({"steps_completed": step}) as (path, _):
                path.joinpath("weights").write_text(str(x))
        if ctx.preempt.should_preempt():
            break
`

// TestASearchCallsTheBestBack: of three trials the best continues from its rung. The others wait there without slots until the search stops
// them. Their program knows only signals. A branch from the end of the search has a trial more, and calls the second one back. Beside it, a training without an end ends when its budget is spent, a search with two metrics finds
// its front, and a search that gains nothing ends and trains its best configuration again.
func TestASearchCallsTheBestBack(t *testing.T) {
	r := rig.Start(t)
	spends := r.Submit(t, `
name: budget
entrypoint: python3 train.py
hyperparameters: {}
searcher: {name: single, metric: loss, budget: {slot_hours: 0.002}}
`, rig.Script(endless))
	defer wasSpent(t, r, spends)
	several := r.Submit(t, `
name: several
entrypoint: python3 train.py
max_restarts: 0
checkpoint_storage: {save_experiment_best: 2, save_trial_best: 0, save_trial_latest: 0}
hyperparameters: {x: {type: double, minval: 0, maxval: 1}}
searcher: {name: async_halving, metrics: [{name: loss}, {name: ms, at_most: 80}], num_rungs: 2, divisor: 2, max_trials: 4, max_concurrent_trials: 1, max_length: {batches: 8},
  stop_once: true, sampler: random, start_with: [{x: 0.5}, {x: 0.9}, {x: 0.1}, {x: 0.4}]}
`, rig.Script(compromises))
	defer foundItsFront(t, r, several)
	lucky := r.Submit(t, `
name: lucky
entrypoint: python3 train.py
hyperparameters: {x: {type: double, minval: 0, maxval: 1}}
searcher: {name: random, metric: loss, max_trials: 40, max_concurrent_trials: 2, stop_when: {gain: 1, trials: 1}, repeat: {best: 1, times: 2}}
`, rig.Script(lucky))
	defer trainedTheBestAgain(t, r, lucky)
	id := r.Submit(t, `
name: search
entrypoint: python3 train.py
max_restarts: 0
hyperparameters: {x: {type: double, minval: 0, maxval: 1}}
reproducibility: {experiment_seed: 2}
searcher: {name: async_halving, metric: loss, num_rungs: 2, divisor: 2, max_trials: 3, max_concurrent_trials: 1, max_length: {batches: 8}, sampler: random, start_with: [{x: 0.1}, {x: 0.5}, {x: 0.9}]}
preemption: {signal: SIGTERM, always: true}
resume: {path: out}
`, rig.Script(searched))
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	trials, err := client.List(t.Context(), r.Client, v1.ListTrials, client.Page{}, nil, id)
	if err != nil || len(trials) != 3 {
		t.Fatal(len(trials), err)
	}
	for _, x := range trials {
		whole := strings.Contains(string(x.HParams), "0.1")
		if want := map[bool]int{true: 8, false: 4}[whole]; x.State != "STATE_COMPLETED" || x.TotalBatchesProcessed != want {
			t.Errorf("trial %d with %s trained for %d batches, want %d, and is %s: %s", x.ID, x.HParams, x.TotalBatchesProcessed, want, x.State, x.Error)
		}
		if end := rig.Value[string](t, r, `SELECT outcome || ': ' || preempt_reason FROM allocations WHERE id = $1`, x.TaskID+".1"); end != "preempted: "+lifecycle.WhyHeld && (whole || end != "preempted: "+lifecycle.WhyStopped) {
			t.Errorf("the first attempt of trial %d was %q", x.ID, end)
		}
		var log string
		for line, err := range r.Client.TrialLogs(t.Context(), x.ID, client.LogQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			log += line.Message
		}
		want := "[begins after step 0 saved step 4]"
		if whole {
			want = "[begins after step 0 saved step 4 begins after step 4]"
		}
		if got := fmt.Sprint(regexp.MustCompile(`(?:begins after|saved) step \d`).FindAllString(log, -1)); got != want {
			t.Errorf("the log of trial %d has %s, want %s:\n%s", x.ID, got, want, log)
		}
	}
	goesOnInABranch(t, r, id)
}

// goesOnInABranch branches the search at its end. The new trial is worse than the second one, which goes on from what its program had saved in
// the other experiment; nothing else of the past runs.
func goesOnInABranch(t *testing.T, r *rig.Rig, of int) {
	t.Helper()
	out, err := r.Det(t, "experiment", "branch", strconv.Itoa(of), "--at", "end", "--set", "searcher.max_trials=4")
	found := regexp.MustCompile(`Created experiment (\d+), a branch of experiment \d+ at event \d+`).FindStringSubmatch(out)
	if err != nil || found == nil {
		t.Fatalf("%v: %s", err, out)
	}
	id, _ := strconv.Atoi(found[1])
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	trials, err := client.List(t.Context(), r.Client, v1.ListTrials, client.Page{}, nil, id)
	if err != nil || len(trials) != 4 {
		t.Fatal(len(trials), err)
	}
	for n, attempts := range []int{0, 1, 0, 1} {
		x := trials[n]
		if got := rig.Value[int](t, r, `SELECT count(*)::int FROM allocations WHERE task_id = (SELECT task_id FROM trials WHERE id = $1)`, x.ID); got != attempts || x.State != "STATE_COMPLETED" {
			t.Errorf("trial %d of the branch has %d attempts, want %d, and is %s: %s", n, got, attempts, x.State, x.Error)
		}
	}
	if x := trials[1]; x.TotalBatchesProcessed != 8 || x.OriginTrialID == nil || rig.Value[int](t, r, `SELECT min(steps)::int FROM metrics WHERE trial_id = $1 AND run_id > 0`, x.ID) != 5 {
		t.Errorf("the second trial did not go on from step 4: %+v", x)
	}
	if x := trials[0]; x.TotalBatchesProcessed != 8 || x.BestValidation == nil {
		t.Errorf("the first trial lacks what it reported: %+v", x)
	}
}

// foundItsFront waits until a search with two metrics has ended. Its trial with the smallest loss breaks the bound.
func foundItsFront(t *testing.T, r *rig.Rig, id int) {
	t.Helper()
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	e, err := client.Call(t.Context(), r.Client, v1.GetExperiment, id)
	if err != nil {
		t.Fatal(err)
	}
	trials, err := client.List(t.Context(), r.Client, v1.ListTrials, client.Page{}, nil, id)
	if err != nil || len(trials) != 4 {
		t.Fatal(len(trials), err)
	}
	of := map[int]string{}
	for _, x := range trials {
		of[x.ID] = string(x.HParams)
		if x.State != "STATE_COMPLETED" {
			t.Errorf("trial %d is %s: %s", x.ID, x.State, x.Error)
		}
	}
	f := e.Outlook.Front
	if f == nil || f.Results != 4 || f.Keeping != 3 || f.Total != len(f.Points) || f.Total < 2 {
		t.Fatalf("the front: %+v", f)
	}
	for _, p := range f.Points {
		if strings.Contains(of[p.TrialID], "0.1") || len(p.Values) != 2 || p.Values[1] > 80 {
			t.Errorf("trial %d with %s is on the front: %+v", p.TrialID, of[p.TrialID], p)
		}
	}
	if best := e.Experiment.BestTrialID; best == nil || *best != f.Points[0].TrialID {
		t.Errorf("the best trial is %v, and the front begins with %+v", best, f.Points[0])
	}
	if out, err := r.Det(t, "experiment", "describe", strconv.Itoa(id)); err != nil || !strings.Contains(out, fmt.Sprintf("Front of experiment %d:", id)) || !strings.Contains(out, "of 4 trials, 3 found one that keeps the bounds (ms at most 80)") {
		t.Errorf("det experiment describe: %v\n%s", err, out)
	}
}

// trainedTheBestAgain waits until a search has ended that may have 40 trials, and of which the first eight results say that no further one is twice as good.
func trainedTheBestAgain(t *testing.T, r *rig.Rig, id int) {
	t.Helper()
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	e, err := client.Call(t.Context(), r.Client, v1.GetExperiment, id)
	if err != nil {
		t.Fatal(err)
	}
	trials, err := client.List(t.Context(), r.Client, v1.ListTrials, client.Page{}, nil, id)
	if err != nil || len(trials) < 10 || len(trials) > 13 { // some begin until the search knows
		t.Fatal(len(trials), err)
	}
	hparams := map[int]string{}
	for _, x := range trials {
		hparams[x.ID] = string(x.HParams)
		if x.State != "STATE_COMPLETED" {
			t.Errorf("trial %d is %s: %s", x.ID, x.State, x.Error)
		}
	}
	g, again := e.Outlook.Gain, e.Outlook.Repeats
	if g == nil || !g.Stopped || g.Of < 8 || again == nil || !again.Decided || len(again.Configurations) != 1 || len(again.Configurations[0].TrialIDs) != 2 {
		t.Fatalf("the search says %+v and %+v", g, again)
	}
	best := again.Configurations[0]
	for _, repeat := range best.TrialIDs {
		if hparams[repeat] != hparams[best.TrialID] || repeat == best.TrialID {
			t.Errorf("trial %d has %s, and trial %d %s", repeat, hparams[repeat], best.TrialID, hparams[best.TrialID])
		}
	}
	metric := e.Experiment.BestTrialSearcherMetric
	if id := e.Experiment.BestTrialID; id == nil || *id != best.TrialIDs[0] || metric == nil || best.Mean == nil || *best.Mean != *metric || *best.Deviation != 0 {
		t.Errorf("the best trial is %v with %v, and the repeats %+v", id, metric, best)
	}
	seeds := rig.Value[int](t, r, `SELECT count(DISTINCT seed)::int FROM trials WHERE experiment_id = $1`, id)
	if out, err := r.Det(t, "experiment", "describe", strconv.Itoa(id)); err != nil || seeds != len(trials) || !strings.Contains(out, "the search created no further trials") ||
		!strings.Contains(out, "Configurations of experiment") || !strings.Contains(out, fmt.Sprintf("that of trial %d is the best", best.TrialID)) {
		t.Errorf("%d seeds of %d trials; det experiment describe: %v\n%s", seeds, len(trials), err, out)
	}
}

// wasSpent waits until an experiment has spent its budget, and compares what it says with the usage record.
func wasSpent(t *testing.T, r *rig.Rig, id int) {
	t.Helper()
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	e, err := client.Call(t.Context(), r.Client, v1.GetExperiment, id)
	if err != nil {
		t.Fatal(err)
	}
	used := rig.Value[float64](t, r, `SELECT (sum(slots * extract(epoch FROM ended_at - started_at)) / 3600)::float8 FROM usage WHERE experiment_id = $1`, id)
	b := e.Outlook.Budget
	if b == nil || !b.Over || used < 0.002 || math.Abs(b.Spent-used) > 0.0011 { // which is rounded to thousandths
		t.Errorf("the search has spent %+v, and the usage record says %v slot-hours", b, used)
	}
	if out, err := r.Det(t, "experiment", "describe", strconv.Itoa(id)); err != nil || !strings.Contains(out, "of 0.002 slot-hours are spent") {
		t.Errorf("det experiment describe: %v\n%s", err, out)
	}
}
