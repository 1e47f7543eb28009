package experiments

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// resumable continues from its checkpoint, trains to its length with a checkpoint for each step, and
// fails at a step if its hyperparameters say so.
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

// TestContinueAndStartFrom: with Determined's own command line, a failed experiment continues in the
// same trial with a corrected configuration, then with a longer one; and another experiment starts
// from its last checkpoint.
func TestContinueAndStartFrom(t *testing.T) {
	r := rig.Start(t)
	u := r.Person(t, "determined", "")
	id, out := u.Create(t, "continued", resumable, "--config", "hyperparameters.fail_at=2", "-f")
	rig.Holds(t, "what they follow", out, "run 1 begins after 0", "fails as it was told")
	waitEnd(t, r, id, v1.ExperimentStateError)
	before := r.Experiment(t, id)

	out = u.Det(t, "experiment", "continue", strconv.Itoa(id), "--config", "hyperparameters.fail_at=0", "-f")
	rig.Holds(t, "what they follow", out, "Continued experiment "+strconv.Itoa(id), "run 2 begins after 2", "ends after 5")
	waitEnd(t, r, id, v1.ExperimentStateCompleted)
	trial := r.Trial(t, id)

	longer := filepath.Join(u.Home, "longer.yaml")
	if err := os.WriteFile(longer, []byte("name: longer\nsearcher: {name: single, max_length: {batches: 7}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	u.Det(t, "experiment", "continue", strconv.Itoa(id), "--config-file", longer)
	waitEnd(t, r, id, v1.ExperimentStateCompleted)
	after := r.Experiment(t, id)
	if again := r.Trial(t, id); again.ID != trial.ID || again.TotalBatchesProcessed != 7 || after.Name != "longer" ||
		!after.StartTime.Equal(before.StartTime) || !after.EndTime.After(*before.EndTime) || strings.Contains(after.OriginalConfig, "longer") {
		t.Errorf("the continued trial is %+v, the experiment %+v", again, after)
	}
	rig.Holds(t, "its log", r.Log(t, id), "run 3 begins after 5", "ends after 7")
	itsTasks(t, r, r.Trial(t, id))
	steps := map[int]int{}
	for m, err := range r.Client.TrialMetrics(t.Context(), "training", trial.ID) {
		if err != nil {
			t.Fatal(err)
		}
		steps[m.TotalBatches]++
	}
	if len(steps) != 7 {
		t.Errorf("the trial's steps are %v", steps)
	}

	from, out := u.Create(t, "started-from", resumable, "--config", fmt.Sprintf("searcher.source_trial_id=%d", trial.ID), "--config", "searcher.max_length.batches=9", "-f")
	rig.Holds(t, "what starts from it", out, "run 1 begins after 7", "ends after 9")
	waitEnd(t, r, from, v1.ExperimentStateCompleted)
	if w := r.Trial(t, from).WarmStartCheckpointUUID; w == "" {
		t.Error("the trial has no checkpoint from which it started")
	}
	forks(t, r, from)
	theirRefusals(t, r, u, id)
}

// itsTasks tests that each continuation of a trial has a task with its own attempt, end and log.
func itsTasks(t *testing.T, r *rig.Rig, trial v1.Trial) {
	first := trial.TaskIDs[0]
	if want := []string{first, first + "-1", first + "-2"}; !slices.Equal(trial.TaskIDs, want) || trial.TaskID != want[2] {
		t.Errorf("its tasks are %v, the newest %s", trial.TaskIDs, trial.TaskID)
	}
	var end time.Time
	for i, id := range trial.TaskIDs {
		k, err := r.Client.Task(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if len(k.Allocations) != 1 || k.EndTime == nil || !k.StartTime.After(end) {
			t.Fatalf("task %s is %+v, after one that ended at %v", id, k, end)
		}
		end = *k.EndTime
		log, err := r.Det(t, "task", "logs", id) // Determined's own det takes it for a part of a UUID
		if err != nil {
			t.Fatalf("%v\n%s", err, log)
		}
		for run := 1; run <= len(trial.TaskIDs); run++ {
			if words := fmt.Sprintf("run %d begins", run); strings.Contains(log, words) != (run == i+1) {
				t.Errorf("the log of %s: %q is there: %v", id, words, run != i+1)
			}
		}
	}
}

// forks makes a copy of an experiment as pages do: with its text and without its code.
func forks(t *testing.T, r *rig.Rig, parent int) {
	text, active := r.Experiment(t, parent).OriginalConfig, true
	made, err := r.Client.CreateExperiment(t.Context(), v1.CreateExperimentRequest{Config: &text, ParentID: &parent, Activate: &active}, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := made.Experiment.ID
	if by := made.Experiment.ForkedFrom; by == nil || *by != parent {
		t.Errorf("the fork's origin is %v", by)
	}
	waitEnd(t, r, id, v1.ExperimentStateCompleted)
	rig.Holds(t, "its log", r.Log(t, id), "run 1 begins after 7", "ends after 9")
}

// theirRefusals tests the errors of requests that the master rejects.
func theirRefusals(t *testing.T, r *rig.Rig, u rig.Person, id int) {
	config, dir := u.Experiment(t, "refused", resumable)
	for _, x := range []struct {
		args []string
		says string
	}{
		{[]string{"experiment", "continue", strconv.Itoa(id), "--config", "searcher.name=random", "--config", "searcher.max_trials=2"}, "override config must have single searcher type got 'random' instead"},
		{[]string{"experiment", "continue", strconv.Itoa(id), "--config", "project=x", "--config", "workspace=y"}, "in override config cannot be specified"},
		{[]string{"experiment", "continue", "2147483647"}, "not found"},
		{[]string{"experiment", "create", config, dir, "--config", "searcher.source_trial_id=2147483647"}, "trial 2147483647 not found"},
		{[]string{"experiment", "create", config, dir, "--config", "searcher.source_checkpoint_uuid=11111111-2222-4333-8444-555555555555"}, "no checkpoint found with UUID"},
	} {
		if _, stderr, code := u.Run(t, "", u.Client(), x.args...); code != 1 || !strings.Contains(stderr, x.says) {
			t.Errorf("Determined's det %v: exit %d\n%s", x.args, code, stderr)
		}
	}
}

// waitEnd waits until an experiment has ended, and checks its final state.
func waitEnd(t testing.TB, r *rig.Rig, id int, want v1.ExperimentState) {
	t.Helper()
	rig.Eventually(t, fmt.Sprintf("experiment %d ends", id), func() (bool, error) {
		e, err := client.Call(t.Context(), r.Client, v1.GetExperiment, id)
		if err != nil || !rig.Terminal(e.Experiment.State) {
			return false, err
		}
		if e.Experiment.State != want {
			t.Fatalf("experiment %d ended in %s, want %s; its log:\n%s", id, e.Experiment.State, want, r.Log(t, id))
		}
		return true, nil
	})
}

// TestChangesWhileItRuns: with Determined's own command line, the maximum number of slots of a search
// changes, a node and a slot are disabled, and the search moves to another pool; no trial loses more
// than the steps since its last checkpoint.
func TestChangesWhileItRuns(t *testing.T) {
	r := rig.Start(t)
	u := r.Person(t, "determined", "")
	admin := r.Person(t, "admin", "")
	folder := t.TempDir()
	id := r.Submit(t, rig.Head("changed")+fmt.Sprintf(`
searcher: {name: random, metric: loss, max_trials: 2, max_length: {batches: 10}}
hyperparameters: {folder: %s}
resources: {slots_per_trial: 2}`, folder), rig.Script(rig.Patient))
	r.WaitTrials(t, id, "RUNNING", "RUNNING")

	u.Det(t, "experiment", "set", "max-slots", strconv.Itoa(id), "3")
	r.WaitTrials(t, id, "QUEUED", "RUNNING")
	u.Det(t, "experiment", "set", "max-slots", strconv.Itoa(id), "4")
	r.WaitTrials(t, id, "RUNNING", "RUNNING")

	const node = "integration" // the one of the pool default
	defer admin.Det(t, "agent", "enable", node)
	if _, stderr, code := u.Run(t, "", u.Client(), "agent", "disable", node); code != 1 || !strings.Contains(stderr, "admin") {
		t.Errorf("somebody who is no admin disabled a node: exit %d\n%s", code, stderr)
	}
	rig.Holds(t, "disable --drain", admin.Det(t, "agent", "disable", node, "--drain"), "Tasks still in progress on draining nodes.")
	if a := find(u.Table(t, "agent", "list"), "Agent ID", node); a["Enabled"] != "False" || a["Draining"] != "True" {
		t.Errorf("the node is %v", a)
	}
	r.WaitTrials(t, id, "RUNNING", "RUNNING") // they may run to their end
	rig.Holds(t, "ours", ours(t, r, "-u", "admin", "agent", "disable", "--all"), "Disabled agent "+node)
	r.WaitTrials(t, id, "QUEUED", "QUEUED")
	ours(t, r, "-u", "admin", "agent", "enable", node)
	r.WaitTrials(t, id, "RUNNING", "RUNNING")

	slot := find(u.Table(t, "slot", "list"), "Agent ID", node)
	defer admin.Det(t, "slot", "enable", node, slot["Slot ID"])
	admin.Det(t, "slot", "disable", node, slot["Slot ID"])
	r.WaitTrials(t, id, "QUEUED", "RUNNING")

	job := r.Experiment(t, id).JobID
	u.Det(t, "job", "update", job, "--resource-pool", "gpu")
	r.WaitTrials(t, id, "QUEUED", "QUEUED")
	if j := find(u.Table(t, "job", "list", "-p", "gpu"), "ID", job); j["State"] != "STATE_QUEUED" || j["Slots (acquired/needed)"] != "0/4" {
		t.Errorf("in the other pool's queue it is %v", j)
	}
	rig.Holds(t, "ours", ours(t, r, "-u", "admin", "slot", "enable", node, slot["Slot ID"]), "Enabled slot 0 of agent "+node)
	u.Det(t, "job", "update-batch", job+".resource-pool=default", job+".priority=7")
	r.WaitTrials(t, id, "RUNNING", "RUNNING")
	if j := find(u.Table(t, "job", "list"), "ID", job); j["Priority"] != "7" {
		t.Errorf("in the queue it is %v", j)
	}

	if err := os.WriteFile(filepath.Join(folder, "stop"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	waitEnd(t, r, id, v1.ExperimentStateCompleted)
	for _, trial := range r.Trials(t, id) {
		if trial.Restarts != 0 {
			t.Errorf("trial %d was restarted %d times: nothing of it was its fault", trial.ID, trial.Restarts)
		}
	}
}

func find(rows []map[string]string, column, value string) map[string]string {
	if i := slices.IndexFunc(rows, func(m map[string]string) bool { return m[column] == value }); i >= 0 {
		return rows[i]
	}
	return nil
}

// TestASearchContinuesAndQueues: the killed trials of a search continue; waiting jobs change their
// order in the queue.
func TestASearchContinuesAndQueues(t *testing.T) {
	r := rig.Start(t)
	u := r.Person(t, "determined", "")
	folder := t.TempDir()
	search := func(name, searcher string) int {
		return r.Submit(t, rig.Head(name)+fmt.Sprintf("searcher: %s\nhyperparameters: {folder: %s}\nresources: {slots_per_trial: 2}\n", searcher, folder), rig.Script(rig.Patient))
	}
	id := search("searched", "{name: random, metric: loss, max_trials: 2, max_length: {batches: 10}}")
	r.WaitTrials(t, id, "RUNNING", "RUNNING")
	if _, stderr, code := u.Run(t, "", u.Client(), "experiment", "continue", strconv.Itoa(id)); code != 1 || !strings.Contains(stderr, "experiment in non terminal state 'ACTIVE', try again later") {
		t.Errorf("a running one was continued: exit %d\n%s", code, stderr)
	}
	const alone = "{name: single, metric: loss, max_length: {batches: 10}}"
	b, c, d := search("b", alone), search("c", alone), search("d", alone)
	for _, x := range []int{b, c, d} {
		r.WaitTrials(t, x, "QUEUED")
	}
	jobs := map[int]string{}
	for _, x := range []int{b, c, d} {
		jobs[x] = r.Experiment(t, x).JobID
	}
	waitQueue(t, r, jobs[b], jobs[c], jobs[d])
	ours(t, r, "job", "update", jobs[d], "--ahead-of", jobs[b])
	waitQueue(t, r, jobs[d], jobs[b], jobs[c])
	ours(t, r, "job", "update-batch", jobs[b]+".priority=43", jobs[b]+".priority=42")
	ours(t, r, "job", "update", jobs[b], "--behind-of", jobs[c])
	waitQueue(t, r, jobs[d], jobs[c], jobs[b])
	u.Det(t, "job", "update", jobs[b], "--priority", "3")
	waitQueue(t, r, jobs[b], jobs[d], jobs[c])
	rig.Eventually(t, "the master says what it knows of the starts", func() (bool, error) {
		list := ours(t, r, "job", "list", "--csv")
		return strings.Count(list, "not known: running tasks have no known end, such as experiment") >= 3, fmt.Errorf("the queue:\n%s", list)
	})
	for _, x := range []int{b, c, d} {
		u.Det(t, "experiment", "kill", strconv.Itoa(x))
	}

	u.Det(t, "trial", "kill", strconv.Itoa(r.Trials(t, id)[0].ID))
	if err := os.WriteFile(filepath.Join(folder, "stop"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	waitEnd(t, r, id, v1.ExperimentStateCompleted)
	rig.Holds(t, "ours", ours(t, r, "experiment", "continue", strconv.Itoa(id), "-f"), "Continued experiment "+strconv.Itoa(id), "begins after")
	waitEnd(t, r, id, v1.ExperimentStateCompleted)
	r.WaitTrials(t, id, "COMPLETED", "COMPLETED")
	if _, stderr, code := u.Run(t, "", u.Client(), "experiment", "continue", strconv.Itoa(id)); code != 1 || !strings.Contains(stderr, "experiment has been completed, cannot continue this experiment") {
		t.Errorf("one with nothing left to do was continued: exit %d\n%s", code, stderr)
	}
}

// ours runs our own command line, which must succeed, and returns what it printed.
func ours(t testing.TB, r *rig.Rig, args ...string) string {
	t.Helper()
	out, err := r.Det(t, args...)
	if err != nil {
		t.Fatalf("det %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// waitQueue waits until these jobs are in the queue in this order.
func waitQueue(t testing.TB, r *rig.Rig, want ...string) {
	t.Helper()
	rig.Eventually(t, "the queue changes", func() (bool, error) {
		out, err := r.Det(t, "job", "list", "--json")
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
					return false, fmt.Errorf("job %d has %d jobs ahead", len(queue), j.Full.Summary.JobsAhead)
				}
				queue = append(queue, j.Full.JobID)
			}
		}
		return slices.Equal(queue, want), fmt.Errorf("the queue is %v", queue)
	})
}
