package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// resumable trains to its length from wherever it was, a checkpoint for each step;
// where it is told to, it fails on the way.
const resumable = `
import pathlib
import determined
from determined import core

info = determined.get_cluster_info()
hparams = info.trial.hparams
with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as ctx:
    step = 0
    if info.latest_checkpoint:
        with ctx.checkpoint.restore_path(info.latest_checkpoint) as path:
            step = int((path / "step").read_text())
    print("run", info.trial._trial_run_id, "begins after", step, flush=True)
    for op in ctx.searcher.operations():
        while step < op.length:
            step += 1
            ctx.train.report_training_metrics(step, {"loss": 1.0 / step})
            with ctx.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
                (pathlib.Path(path) / "step").write_text(str(step))
            if step == hparams.get("fail_at"):
                raise SystemExit("fails as it was told")
        ctx.train.report_validation_metrics(step, {"loss": 1.0 / step})
        op.report_completed(1.0 / step)
    print("ends after", step, flush=True)
`

// TestContinueAndStartFrom: by Determined's own command line, an experiment that
// failed goes on in the same trial, with what was wrong put right; then longer; and
// another one starts where it ended.
func TestContinueAndStartFrom(t *testing.T) {
	r := start(t)
	u := r.person(t, "determined", "")
	id, out := u.create(t, "continued", resumable, "--config", "hyperparameters.fail_at=2", "-f")
	holds(t, "what they follow", out, "run 1 begins after 0", "fails as it was told")
	r.waitEnd(t, id, v1.ExperimentStateError)
	before := r.experiment(t, id)

	out = u.det(t, "experiment", "continue", itoa(id), "--config", "hyperparameters.fail_at=0", "-f")
	holds(t, "what they follow", out, "Continued experiment "+itoa(id), "run 2 begins after 2", "ends after 5")
	r.waitEnd(t, id, v1.ExperimentStateCompleted)
	trial := r.trial(t, id)

	longer := filepath.Join(u.home, "longer.yaml")
	if err := os.WriteFile(longer, []byte("name: longer\nsearcher: {name: single, max_length: {batches: 7}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	u.det(t, "experiment", "continue", itoa(id), "--config-file", longer)
	r.waitEnd(t, id, v1.ExperimentStateCompleted)
	after := r.experiment(t, id)
	if again := r.trial(t, id); again.ID != trial.ID || again.TotalBatchesProcessed != 7 || after.Name != "longer" ||
		!after.StartTime.Equal(before.StartTime) || !after.EndTime.After(*before.EndTime) || strings.Contains(after.OriginalConfig, "longer") {
		t.Errorf("it is %+v of %+v", again, after)
	}
	holds(t, "its log", r.log(t, id), "run 3 begins after 5", "ends after 7")
	steps := map[int]int{}
	for m, err := range r.client.TrialMetrics(t.Context(), "training", trial.ID) {
		if err != nil {
			t.Fatal(err)
		}
		steps[m.TotalBatches]++
	}
	if len(steps) != 7 {
		t.Errorf("its steps are %v", steps)
	}

	from, out := u.create(t, "started-from", resumable, "--config", fmt.Sprintf("searcher.source_trial_id=%d", trial.ID), "--config", "searcher.max_length.batches=9", "-f")
	holds(t, "what starts from it", out, "run 1 begins after 7", "ends after 9")
	r.waitEnd(t, from, v1.ExperimentStateCompleted)
	if w := r.trial(t, from).WarmStartCheckpointUUID; w == "" {
		t.Error("it does not say what it started from")
	}
	r.forks(t, from)
	theirRefusals(t, r, u, id)
}

// forks makes a copy of an experiment as pages do: with its text and without its code.
func (r *rig) forks(t *testing.T, parent int) {
	text, active := r.experiment(t, parent).OriginalConfig, true
	made, err := r.client.CreateExperiment(t.Context(), v1.CreateExperimentRequest{Config: &text, ParentID: &parent, Activate: &active}, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := made.Experiment.ID
	if by := made.Experiment.ForkedFrom; by == nil || *by != parent {
		t.Errorf("it is forked from %v", by)
	}
	r.waitEnd(t, id, v1.ExperimentStateCompleted)
	holds(t, "its log", r.log(t, id), "run 1 begins after 7", "ends after 9")
}

// theirRefusals: what cannot be done is said in words.
func theirRefusals(t *testing.T, r *rig, u theirs, id int) {
	config, dir := u.experiment(t, "refused", resumable)
	for _, x := range []struct {
		args []string
		says string
	}{
		{[]string{"experiment", "continue", itoa(id), "--config", "searcher.name=random", "--config", "searcher.max_trials=2"}, "override config must have single searcher type got 'random' instead"},
		{[]string{"experiment", "continue", itoa(id), "--config", "project=x", "--config", "workspace=y"}, "in override config cannot be specified"},
		{[]string{"experiment", "continue", "2147483647"}, "not found"},
		{[]string{"experiment", "create", config, dir, "--config", "searcher.source_trial_id=2147483647"}, "trial 2147483647 not found"},
		{[]string{"experiment", "create", config, dir, "--config", "searcher.source_checkpoint_uuid=11111111-2222-4333-8444-555555555555"}, "no checkpoint found with UUID"},
	} {
		if _, stderr, code := u.run(t, "", u.client(), x.args...); code != 1 || !strings.Contains(stderr, x.says) {
			t.Errorf("their det %v: exit %d\n%s", x.args, code, stderr)
		}
	}
}

// waitEnd waits until an experiment has ended, and looks how.
func (r *rig) waitEnd(t testing.TB, id int, want v1.ExperimentState) {
	t.Helper()
	eventually(t, fmt.Sprintf("experiment %d ends", id), func() (bool, error) {
		e, err := r.client.Experiment(t.Context(), id)
		if err != nil || !terminal(e.Experiment.State) {
			return false, err
		}
		if e.Experiment.State != want {
			t.Fatalf("experiment %d ended in %s, want %s; its log:\n%s", id, e.Experiment.State, want, r.log(t, id))
		}
		return true, nil
	})
}

func (r *rig) experiment(t testing.TB, id int) v1.Experiment {
	t.Helper()
	e, err := r.client.Experiment(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return e.Experiment
}

// patient trains until there is a file "stop", and makes room when it is asked to.
const patient = `
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
        time.sleep(0.05)
    ctx.train.report_validation_metrics(step + 1, {"loss": 1.0})
`

// TestChangesWhileItRuns: by Determined's own command line, a search is given less
// and more room, its node and a slot are taken from it, it changes its pool, and
// nothing of that costs it more than the way.
func TestChangesWhileItRuns(t *testing.T) {
	r := start(t)
	u := r.person(t, "determined", "")
	admin := r.person(t, "admin", "")
	folder := t.TempDir()
	id := r.submit(t, head("changed")+fmt.Sprintf(`
searcher: {name: random, metric: loss, max_trials: 2, max_length: {batches: 10}}
hyperparameters: {folder: %s}
resources: {slots_per_trial: 2}`, folder), script(patient))
	r.waitTrials(t, id, "RUNNING", "RUNNING")

	u.det(t, "experiment", "set", "max-slots", itoa(id), "3")
	r.waitTrials(t, id, "QUEUED", "RUNNING")
	u.det(t, "experiment", "set", "max-slots", itoa(id), "4")
	r.waitTrials(t, id, "RUNNING", "RUNNING")

	const node = "integration" // the one of the pool default
	defer admin.det(t, "agent", "enable", node)
	if _, stderr, code := u.run(t, "", u.client(), "agent", "disable", node); code != 1 || !strings.Contains(stderr, "admin") {
		t.Errorf("somebody who is no admin disabled a node: exit %d\n%s", code, stderr)
	}
	holds(t, "disable --drain", admin.det(t, "agent", "disable", node, "--drain"), "Tasks still in progress on draining nodes.")
	if a := find(u.table(t, "agent", "list"), "Agent ID", node); a["Enabled"] != "False" || a["Draining"] != "True" {
		t.Errorf("the node is %v", a)
	}
	r.waitTrials(t, id, "RUNNING", "RUNNING") // they may run to their end
	holds(t, "ours", r.ours(t, "-u", "admin", "agent", "disable", "--all"), "Disabled agent "+node)
	r.waitTrials(t, id, "QUEUED", "QUEUED")
	r.ours(t, "-u", "admin", "agent", "enable", node)
	r.waitTrials(t, id, "RUNNING", "RUNNING")

	slot := find(u.table(t, "slot", "list"), "Agent ID", node)
	defer admin.det(t, "slot", "enable", node, slot["Slot ID"])
	admin.det(t, "slot", "disable", node, slot["Slot ID"])
	r.waitTrials(t, id, "QUEUED", "RUNNING")

	job := r.experiment(t, id).JobID
	u.det(t, "job", "update", job, "--resource-pool", "gpu")
	r.waitTrials(t, id, "QUEUED", "QUEUED")
	if j := find(u.table(t, "job", "list", "-p", "gpu"), "ID", job); j["State"] != "STATE_QUEUED" || j["Slots (acquired/needed)"] != "0/4" {
		t.Errorf("in the other pool's queue it is %v", j)
	}
	holds(t, "ours", r.ours(t, "-u", "admin", "slot", "enable", node, slot["Slot ID"]), "Enabled slot 0 of agent "+node)
	u.det(t, "job", "update-batch", job+".resource-pool=default", job+".priority=7")
	r.waitTrials(t, id, "RUNNING", "RUNNING")
	if j := find(u.table(t, "job", "list"), "ID", job); j["Priority"] != "7" {
		t.Errorf("in the queue it is %v", j)
	}

	if err := os.WriteFile(filepath.Join(folder, "stop"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r.waitEnd(t, id, v1.ExperimentStateCompleted)
	for _, trial := range r.trials(t, id) {
		if trial.Restarts != 0 {
			t.Errorf("trial %d was restarted %d times: nothing of it was its fault", trial.ID, trial.Restarts)
		}
	}
}

// head is a configuration but for its searcher.
func head(name string) string {
	return "\nname: " + name + "\nentrypoint: python3 train.py\nmax_restarts: 0\n"
}

func find(rows []map[string]string, column, value string) map[string]string {
	if i := slices.IndexFunc(rows, func(m map[string]string) bool { return m[column] == value }); i >= 0 {
		return rows[i]
	}
	return nil
}

func (r *rig) trials(t testing.TB, id int) []v1.Trial {
	t.Helper()
	list, err := client.Collect(r.client.Trials(t.Context(), id, client.Page{}))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// waitTrials waits until the trials of an experiment are in these states, in any order.
func (r *rig) waitTrials(t testing.TB, id int, want ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("the trials of experiment %d are %v", id, want), func() (bool, error) {
		var states, why []string
		for _, x := range r.trials(t, id) {
			states = append(states, strings.TrimPrefix(string(x.State), "STATE_"))
			why = append(why, x.WaitingReason)
		}
		slices.Sort(states)
		return slices.Equal(states, want), fmt.Errorf("they are %v: %q", states, why)
	})
}

// TestASearchContinuesAndQueues: of a search the trials go on that were killed; jobs
// that wait change places.
func TestASearchContinuesAndQueues(t *testing.T) {
	r := start(t)
	u := r.person(t, "determined", "")
	folder := t.TempDir()
	search := func(name, searcher string) int {
		return r.submit(t, head(name)+fmt.Sprintf("searcher: %s\nhyperparameters: {folder: %s}\nresources: {slots_per_trial: 2}\n", searcher, folder), script(patient))
	}
	id := search("searched", "{name: random, metric: loss, max_trials: 2, max_length: {batches: 10}}")
	r.waitTrials(t, id, "RUNNING", "RUNNING")
	if _, stderr, code := u.run(t, "", u.client(), "experiment", "continue", itoa(id)); code != 1 || !strings.Contains(stderr, "experiment in non terminal state 'ACTIVE', try again later") {
		t.Errorf("a running one was continued: exit %d\n%s", code, stderr)
	}
	const alone = "{name: single, metric: loss, max_length: {batches: 10}}"
	b, c, d := search("b", alone), search("c", alone), search("d", alone)
	for _, x := range []int{b, c, d} {
		r.waitTrials(t, x, "QUEUED")
	}
	jobs := map[int]string{}
	for _, x := range []int{b, c, d} {
		jobs[x] = r.experiment(t, x).JobID
	}
	r.waitQueue(t, jobs[b], jobs[c], jobs[d])
	r.ours(t, "job", "update", jobs[d], "--ahead-of", jobs[b])
	r.waitQueue(t, jobs[d], jobs[b], jobs[c])
	r.ours(t, "job", "update-batch", jobs[b]+".priority=43", jobs[b]+".priority=42")
	r.ours(t, "job", "update", jobs[b], "--behind-of", jobs[c])
	r.waitQueue(t, jobs[d], jobs[c], jobs[b])
	u.det(t, "job", "update", jobs[b], "--priority", "3")
	r.waitQueue(t, jobs[b], jobs[d], jobs[c])
	for _, x := range []int{b, c, d} {
		u.det(t, "experiment", "kill", itoa(x))
	}

	u.det(t, "trial", "kill", itoa(r.trials(t, id)[0].ID))
	if err := os.WriteFile(filepath.Join(folder, "stop"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r.waitEnd(t, id, v1.ExperimentStateCompleted)
	holds(t, "ours", r.ours(t, "experiment", "continue", itoa(id), "-f"), "Continued experiment "+itoa(id), "begins after")
	r.waitEnd(t, id, v1.ExperimentStateCompleted)
	r.waitTrials(t, id, "COMPLETED", "COMPLETED")
	if _, stderr, code := u.run(t, "", u.client(), "experiment", "continue", itoa(id)); code != 1 || !strings.Contains(stderr, "experiment has been completed, cannot continue this experiment") {
		t.Errorf("one with nothing left to do was continued: exit %d\n%s", code, stderr)
	}
}

// ours runs our own command line, which must succeed, and returns what it printed.
func (r *rig) ours(t testing.TB, args ...string) string {
	t.Helper()
	out, err := r.det(t, args...)
	if err != nil {
		t.Fatalf("det %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// waitQueue waits until these jobs wait in this order.
func (r *rig) waitQueue(t testing.TB, want ...string) {
	t.Helper()
	eventually(t, "the queue changes", func() (bool, error) {
		out, err := r.det(t, "job", "list", "--json")
		if err != nil {
			return false, fmt.Errorf("%w: %s", err, out)
		}
		var list struct {
			Jobs []struct {
				Full struct {
					JobID   string `json:"jobId"`
					Summary struct {
						State     string `json:"state"`
						JobsAhead int    `json:"jobsAhead"`
					} `json:"summary"`
				} `json:"full"`
			} `json:"jobs"`
		}
		if err := json.Unmarshal([]byte(out), &list); err != nil {
			return false, err
		}
		var queue []string
		for _, j := range list.Jobs {
			if j.Full.Summary.State == "STATE_QUEUED" {
				if j.Full.Summary.JobsAhead != len(queue) {
					return false, fmt.Errorf("job %d says that %d are ahead", len(queue), j.Full.Summary.JobsAhead)
				}
				queue = append(queue, j.Full.JobID)
			}
		}
		return slices.Equal(queue, want), fmt.Errorf("it is %v", queue)
	})
}
