package rig

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// Experiment reads an experiment from the API.
func (r *Rig) Experiment(t testing.TB, id int) v1.Experiment {
	t.Helper()
	e, err := client.Call(t.Context(), r.Client, v1.GetExperiment, id)
	if err != nil {
		t.Fatal(err)
	}
	return e.Experiment
}

// Patient is a program that trains until a file "stop" exists, and that stores a checkpoint
// and exits when it is preempted.
const Patient = `
import pathlib, time
import determined
from determined import core

info = determined.get_cluster_info()
folder = pathlib.Path(info.trial.hparams["folder"])
with core.init(
    distributed=core.DummyDistributedContext(), tensorboard_mode=core.TensorboardMode.MANUAL
) as ctx:
    step = 0
    if info.latest_checkpoint:
        with ctx.checkpoint.restore_path(info.latest_checkpoint) as path:
            step = int((path / "step").read_text())
    print("begins after", step, flush=True)
    while not (folder / "stop").exists():
        step += 1
        ctx.train.report_training_metrics(step, {"loss": 1.0})
        if ctx.preempt.should_preempt():
            with ctx.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
                (path / "step").write_text(str(step))
            raise SystemExit(0)
        time.sleep(0.2)
    ctx.train.report_validation_metrics(step + 1, {"loss": 1.0})
`

// Head returns a configuration without a searcher.
func Head(name string) string {
	return "\nname: " + name + "\nentrypoint: python3 train.py\nmax_restarts: 0\n"
}

// Trials lists the trials of an experiment.
func (r *Rig) Trials(t testing.TB, id int) []v1.Trial {
	t.Helper()
	list, err := client.List(t.Context(), r.Client, v1.ListTrials, client.Page{}, nil, id)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// WaitTrials waits until the trials of an experiment are in these states, in any order.
func (r *Rig) WaitTrials(t testing.TB, id int, want ...string) {
	t.Helper()
	Eventually(t, fmt.Sprintf("the trials of experiment %d are %v", id, want), func() (bool, error) {
		var states, why []string
		for _, x := range r.Trials(t, id) {
			states = append(states, strings.TrimPrefix(string(x.State), "STATE_"))
			why = append(why, x.WaitingReason)
		}
		slices.Sort(states)
		return slices.Equal(states, want), fmt.Errorf("the trials are %v: %q", states, why)
	})
}

// Config returns the configuration of a small experiment with one trial; more is appended.
func Config(more string) string {
	return `
name: end-to-end
entrypoint: python3 train.py
searcher: {name: single, metric: loss, max_length: {batches: 10}}
max_restarts: 0
` + more
}

// WaitLog waits until the experiment's trial has written a text.
func (r *Rig) WaitLog(t testing.TB, id int, text string) {
	t.Helper()
	Eventually(t, fmt.Sprintf("experiment %d writes %q", id, text), func() (bool, error) {
		log := r.Log(t, id)
		return strings.Contains(log, text), fmt.Errorf("the log has:\n%s", log)
	})
}

// Pausable is a program that trains until it is preempted, and continues from its checkpoint
// when it is started again; the second run ends by itself.
const Pausable = `
import pathlib, time
import determined
from determined import core

latest = determined.get_cluster_info().latest_checkpoint
with core.init() as ctx:
    step = 0
    if latest:
        with ctx.checkpoint.restore_path(latest) as path:
            step = int((path / "step").read_text())
    print("begins after", step, flush=True)
    while not latest or step < 3:
        step += 1
        ctx.train.report_training_metrics(step, {"loss": 1.0 / step})
        if ctx.preempt.should_preempt():
            with ctx.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
                (path / "step").write_text(str(step))
            print("makes room after", step, flush=True)
            break
        time.sleep(0.02)
    else:
        step += 1
        ctx.train.report_validation_metrics(step, {"loss": 0.5})
        print("ends after", step, flush=True)
`

// Waiting is a script that prints where its secrets are, and runs until it is asked to stop.
const Waiting = `
import json, os, time
from determined import core
with core.init() as ctx:
    if "SECRETS" in os.environ:
        with open(os.environ["SECRETS"] + ".part", "w") as f:
            json.dump({k: os.environ[k] for k in ("DET_SESSION_TOKEN", "DET_USER_TOKEN", "DET_COMM_KEY") if k in os.environ}, f)
        os.rename(os.environ["SECRETS"] + ".part", os.environ["SECRETS"])
    print("begins", flush=True)
    while not ctx.preempt.should_preempt():
        time.sleep(0.05)
`

// Allocation returns the id of the running attempt of an experiment's only trial.
func (r *Rig) Allocation(t testing.TB, experiment int) string {
	t.Helper()
	task := r.Trial(t, experiment).TaskID
	var id string
	Eventually(t, "an attempt of "+task, func() (bool, error) {
		tasks, err := r.Client.Tasks(t.Context())
		for _, a := range tasks {
			if a.TaskID == task {
				id = a.AllocationID
			}
		}
		return id != "", err
	})
	return id
}

// End kills an experiment and waits for its end.
func (r *Rig) End(t testing.TB, id int) {
	t.Helper()
	if err := client.Act(t.Context(), r.Client, v1.KillExperiment, id); err != nil {
		t.Fatal(err)
	}
	r.WaitState(t, id, v1.ExperimentStateCanceled)
}

// Steps returns the steps at which a trial reported metrics of a group.
func (r *Rig) Steps(t testing.TB, group string, trial int) []int {
	t.Helper()
	reports, err := client.Collect(r.Client.TrialMetrics(t.Context(), group, trial))
	if err != nil {
		t.Fatal(err)
	}
	var at []int
	for _, m := range reports {
		at = append(at, m.TotalBatches)
	}
	return at
}

// Multiples returns the multiples of n up to last.
func Multiples(n, last int) []int {
	var all []int
	for i := n; i <= last; i += n {
		all = append(all, i)
	}
	return all
}
