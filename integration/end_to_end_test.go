package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
)

// config is a small experiment of one trial; more is added to it.
func config(more string) string {
	return `
name: story
entrypoint: python3 train.py
searcher: {name: single, metric: loss, max_length: {batches: 10}}
max_restarts: 0
` + more
}

// TestFromCreateToBestCheckpoint is the thread: a script that uses the core API
// reports, checkpoints and ends, and everything can be read back.
func TestFromCreateToBestCheckpoint(t *testing.T) {
	r := start(t)
	id := r.submit(t, config("hyperparameters: {lr: 0.5}"), script(`
from determined import core
import pathlib
with core.init() as ctx:
    for step in range(1, 6):
        ctx.train.report_training_metrics(steps_completed=step, metrics={"loss": 1.0 / step})
        ctx.train.report_validation_metrics(steps_completed=step, metrics={"loss": abs(3 - step)})
        with ctx.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
            (pathlib.Path(path) / "weights").write_text(str(step))
    print("trained")
`))
	r.waitState(t, id, v1.ExperimentStateCompleted)
	if log := r.log(t, id); !strings.Contains(log, "trained") {
		t.Errorf("its log lacks what it printed:\n%s", log)
	}
	trial := r.trial(t, id)
	reports, err := client.Collect(r.client.TrialMetrics(t.Context(), "validation", trial.ID))
	if err != nil || len(reports) != 5 {
		t.Errorf("%d validations: %v", len(reports), err)
	}
	if trial.BestValidation == nil || trial.BestValidation.TotalBatches != 3 {
		t.Errorf("its best validation is %+v", trial.BestValidation)
	}
	out, err := r.det(t, "experiment", "list-checkpoints", "--best", "1", itoa(id), "--json")
	if err != nil || !strings.Contains(out, `"steps_completed": 3`) && !strings.Contains(out, `"steps_completed":3`) {
		t.Errorf("the best checkpoint: %v\n%s", err, out)
	}
}

// waitLog waits until the experiment's trial has written a text.
func (r *rig) waitLog(t testing.TB, id int, text string) {
	t.Helper()
	eventually(t, fmt.Sprintf("experiment %d writes %q", id, text), func() (bool, error) {
		log := r.log(t, id)
		return strings.Contains(log, text), fmt.Errorf("it wrote:\n%s", log)
	})
}

// pausable trains a step at a time until it is asked to make room, and goes on
// from its checkpoint when it is started again; the second time it ends by itself.
const pausable = `
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

// TestPauseKeepsProgress: paused, a trial holds no slot; activated, it goes on
// where it stopped, as its second run, and no step is missing or doubled.
func TestPauseKeepsProgress(t *testing.T) {
	r := start(t)
	id := r.submit(t, config("checkpoint_policy: none"), script(pausable))
	r.waitLog(t, id, "begins after 0")
	if err := r.client.PauseExperiment(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	r.waitLog(t, id, "makes room after")
	eventually(t, "its slot is free", func() (bool, error) {
		tasks, err := r.client.Tasks(t.Context())
		return len(tasks) == 0, err
	})
	r.waitState(t, id, v1.ExperimentStatePaused)
	stopped := first(t, `makes room after (\d+)`, r.log(t, id))
	if err := r.client.ActivateExperiment(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	r.waitState(t, id, v1.ExperimentStateCompleted)
	log := r.log(t, id)
	holds(t, "the log", log, fmt.Sprintf("begins after %d\n", stopped), "ends after")
	trial := r.trial(t, id)
	if trial.Restarts != 0 {
		t.Errorf("a pause counts as %d failures", trial.Restarts)
	}
	if got := r.steps(t, "training", trial.ID); !slices.Equal(got, every(1, max(stopped, 3))) {
		t.Errorf("training was reported at %v", got)
	}
	if trial.LatestValidation == nil || trial.LatestValidation.TotalBatches != max(stopped, 3)+1 {
		t.Errorf("its latest validation is %+v", trial.LatestValidation)
	}
}

// TestCancelAndKill: canceled, a trial may still store a checkpoint; killed, one
// that hears nothing is ended all the same, with all its processes.
func TestCancelAndKill(t *testing.T) {
	r := start(t)
	id := r.submit(t, config(""), script(pausable))
	r.waitLog(t, id, "begins after 0")
	if err := r.client.CancelExperiment(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	r.waitState(t, id, v1.ExperimentStateCanceled)
	holds(t, "the canceled trial's log", r.log(t, id), "makes room after")
	if trial := r.trial(t, id); trial.CheckpointCount != 1 || trial.State != v1.TrialStateCanceled {
		t.Errorf("canceled, the trial is %s with %d checkpoints", trial.State, trial.CheckpointCount)
	}

	beats := filepath.Join(t.TempDir(), "beats")
	id = r.submit(t, config(""), script(fmt.Sprintf(`
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    open(%q, "a").write("x")
    time.sleep(0.05)
"""])
while not os.path.exists(%q):
    time.sleep(0.05)
print("deaf", flush=True)
time.sleep(1000)
`, beats, beats)))
	r.waitLog(t, id, "deaf")
	r.end(t, id)
	if trial := r.trial(t, id); trial.State != v1.TrialStateCanceled {
		t.Errorf("killed, the trial is %s", trial.State)
	}
	// A killed attempt has as long to end as Nomad gives it; then nothing is left.
	last := int64(-1)
	eventually(t, "its last process is gone", func() (bool, error) {
		info, err := os.Stat(beats)
		if err != nil {
			return false, err
		}
		still := info.Size() == last
		last = info.Size()
		if still {
			return !beating(beats), nil
		}
		return false, fmt.Errorf("%d beats", last)
	})
}

// beating is whether some process of the machine has a text in its arguments.
func beating(text string) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), text) {
			return true
		}
	}
	return false
}

// flaky fails so many times, and then ends well. Its count lies outside of the task.
func flaky(t *testing.T, failures int) map[string]string {
	return script(fmt.Sprintf(`
import os
path, failures = %q, %d
runs = os.path.getsize(path) if os.path.exists(path) else 0
with open(path, "a") as f:
    f.write("x")
if runs < failures:
    raise SystemExit(10 + runs)
print("run", runs, "ends well")
`, filepath.Join(t.TempDir(), "runs"), failures))
}

// TestRestarts: failures are tried again max_restarts times, and not more often.
func TestRestarts(t *testing.T) {
	r := start(t)
	restarts := func(n int) string {
		return strings.Replace(config(""), "max_restarts: 0", "max_restarts: "+itoa(n), 1)
	}
	id := r.submit(t, restarts(2), flaky(t, 2))
	r.waitState(t, id, v1.ExperimentStateCompleted)
	if trial := r.trial(t, id); trial.Restarts != 2 || trial.State != v1.TrialStateCompleted {
		t.Errorf("after two failures the trial is %s with %d restarts", trial.State, trial.Restarts)
	}
	holds(t, "the log", r.log(t, id), "exit code 10", "exit code 11", "run 2 ends well")

	id = r.submit(t, restarts(1), flaky(t, 5))
	eventually(t, "it is given up", func() (bool, error) {
		e, err := r.client.Experiment(t.Context(), id)
		return err == nil && e.Experiment.State == v1.ExperimentStateError, err
	})
	trial := r.trial(t, id)
	if trial.State != v1.TrialStateError || trial.Restarts != 1 || trial.Error != "exit code 11" {
		t.Errorf("given up, the trial is %s with %d restarts: %s", trial.State, trial.Restarts, trial.Error)
	}
	if log := r.log(t, id); strings.Contains(log, "exit code 12") {
		t.Errorf("it was tried a third time:\n%s", log)
	}
}

// TestCommands: a program without an experiment, its output by stream, its status.
func TestCommands(t *testing.T) {
	r := start(t)
	stdout, stderr, code := r.run(t, nil, "command", "run", "sh", "-c", "echo to stdout; echo to stderr >&2; exit 7")
	id := regexp.MustCompile(`id: ([0-9a-f-]{36})`).FindStringSubmatch(stdout)
	if code != 1 || id == nil {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	holds(t, "its log", stdout, "to stdout", "to stderr", "exit code 7")
	holds(t, "the verdict", stderr, "ended with status 7")
	for std, text := range map[string]string{"stdout": "to stdout\n", "stderr": "to stderr\n"} {
		var lines []string
		for rec, err := range r.client.TaskLogs(t.Context(), id[1], client.LogQuery{Stdtypes: []string{std}, Sources: []string{"task"}}) {
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, rec.Message)
		}
		if len(lines) != 1 || !strings.HasSuffix(lines[0], " || "+text) {
			t.Errorf("its %s was %q", std, lines)
		}
	}
	task, err := r.client.Task(t.Context(), id[1])
	if err != nil || len(task.Allocations) != 1 || task.Allocations[0].StatusCode == nil || *task.Allocations[0].StatusCode != 7 {
		t.Errorf("the task is %+v: %v", task, err)
	}
	if _, stderr, code := r.run(t, nil, "command", "run", "true"); code != 0 || stderr != "" {
		t.Errorf("a command that succeeds: exit %d\n%s", code, stderr)
	}

	dir := t.TempDir()
	write(t, dir, "data.txt", "sent along")
	stdout, _, code = r.run(t, nil, "command", "run", "--context", dir, "cat", "data.txt")
	if code != 0 || !strings.Contains(stdout, "|| sent along") {
		t.Errorf("a command with files: exit %d\n%s", code, stdout)
	}

	stdout, _, _ = r.run(t, nil, "command", "run", "--detach", "sleep", "1000")
	sleeper := strings.TrimSpace(stdout)
	eventually(t, "it runs", func() (bool, error) {
		k, err := r.client.Command(t.Context(), sleeper)
		return err == nil && k.Command.State == v1.TaskStateRunning, err
	})
	if _, stderr, code := r.run(t, nil, "command", "kill", sleeper); code != 0 {
		t.Errorf("kill: exit %d\n%s", code, stderr)
	}
	eventually(t, "it is over", func() (bool, error) {
		k, err := r.client.Command(t.Context(), sleeper)
		return err == nil && k.Command.State == v1.TaskStateTerminated, err
	})
}

// TestLabelArchiveDelete: what is over can be marked, put away and removed; what
// is not over cannot be removed.
func TestLabelArchiveDelete(t *testing.T) {
	r := start(t)
	id := r.submit(t, config("labels: [first]"), script(`
from determined import core
with core.init() as ctx:
    ctx.train.report_validation_metrics(1, {"loss": 1.0})
`))
	r.waitState(t, id, v1.ExperimentStateCompleted)
	if labels, err := r.client.AddLabel(t.Context(), id, "second/with a slash"); err != nil || !slices.Equal(labels, []string{"first", "second/with a slash"}) {
		t.Errorf("labels are %q: %v", labels, err)
	}
	if labels, err := r.client.RemoveLabel(t.Context(), id, "first"); err != nil || !slices.Equal(labels, []string{"second/with a slash"}) {
		t.Errorf("labels are %q: %v", labels, err)
	}
	listed := func(q client.ExperimentQuery) bool {
		list, err := client.Collect(r.client.Experiments(t.Context(), q))
		if err != nil {
			t.Error(err)
		}
		return slices.ContainsFunc(list, func(e v1.Experiment) bool { return e.ID == id })
	}
	if !listed(client.ExperimentQuery{Labels: []string{"second/with a slash"}}) || listed(client.ExperimentQuery{Labels: []string{"first"}}) {
		t.Error("the list does not go by its labels")
	}
	yes, no := true, false
	if err := r.client.ArchiveExperiment(t.Context(), id); err != nil {
		t.Error(err)
	}
	if listed(client.ExperimentQuery{Archived: &no}) || !listed(client.ExperimentQuery{Archived: &yes}) {
		t.Error("archived, it is listed with the others")
	}
	trial := r.trial(t, id)
	running := r.submit(t, config(""), script(waiting))
	r.waitLog(t, running, "begins")
	if err := r.client.DeleteExperiment(t.Context(), running); !fault.Is(err, fault.Invalid) {
		t.Errorf("what runs is deleted: %v", err)
	}
	r.end(t, running)
	if err := r.client.DeleteExperiment(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is gone", func() (bool, error) {
		_, err := r.client.Experiment(t.Context(), id)
		return fault.Is(err, fault.NotFound), err
	})
	if _, err := r.client.Trial(t.Context(), trial.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("its trial is left: %v", err)
	}
	if listed(client.ExperimentQuery{}) {
		t.Error("it is in the list")
	}
}

// TestTwoNodesTrainTogether: a trial of more slots than a node has gets a member
// on each of two nodes; they find each other, and their workers talk.
func TestTwoNodesTrainTogether(t *testing.T) {
	r := start(t)
	if err := r.AddClient(t.Context(), local.Client{Name: "second"}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.RemoveClient(context.WithoutCancel(t.Context()), "second"); err != nil {
			t.Error(err)
		}
	}()
	id := r.submit(t, config("resources: {slots_per_trial: 8}"), script(`
import os
import determined
from determined import core

info = determined.get_cluster_info()
rank, size = info.container_rank, len(info.container_addrs)
distributed = core.DistributedContext(
    rank=rank, size=size, local_rank=0, local_size=1, cross_rank=rank, cross_size=size, chief_ip=info.container_addrs[0])
assert os.environ["DET_COMM_KEY"] != os.environ["DET_SESSION_TOKEN"]
with core.init(distributed=distributed) as ctx:
    everybody = distributed.allgather((rank, info.agent_id, len(info.slot_ids), os.environ["DET_ALLOCATION_ID"]))
    print("rank", rank, "of", size, "hears", sorted(everybody), flush=True)
    with ctx.checkpoint.store_path({"steps_completed": 1}, shard=True) as (path, uuid):
        (path / f"shard-{rank}").write_text(info.agent_id)
    if rank == 0:
        ctx.train.report_validation_metrics(1, {"loss": float(len(everybody))})
`))
	r.waitState(t, id, v1.ExperimentStateCompleted)
	trial := r.trial(t, id)
	allocation := trial.TaskID + ".1"
	hears := regexp.MustCompile(`rank (\d) of 2 hears \[\(0, '([a-z-]+)', 4, '(\S+)'\), \(1, '([a-z-]+)', 4, '(\S+)'\)\]`)
	said := hears.FindAllStringSubmatch(r.log(t, id), -1)
	if len(said) != 2 || said[0][1] == said[1][1] {
		t.Fatalf("not both were heard:\n%s", r.log(t, id))
	}
	for _, m := range said {
		if m[2] == m[4] || m[3] != allocation || m[5] != allocation {
			t.Errorf("rank %s heard of %q", m[1], m[2:])
		}
	}
	for rank, node := range []string{said[0][2], said[0][4]} {
		var b strings.Builder
		for rec, err := range r.client.TrialLogs(t.Context(), trial.ID, client.LogQuery{Agents: []string{node}}) {
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(rec.Message)
		}
		if log := b.String(); !strings.Contains(log, fmt.Sprintf("rank %d of 2", rank)) || strings.Contains(log, fmt.Sprintf("rank %d of 2", 1-rank)) {
			t.Errorf("the log of node %s is not that of rank %d:\n%s", node, rank, log)
		}
	}
	checkpoints, err := client.Collect(r.client.TrialCheckpoints(t.Context(), trial.ID, client.CheckpointQuery{}))
	if err != nil || len(checkpoints) != 1 {
		t.Fatalf("%d checkpoints: %v", len(checkpoints), err)
	}
	for _, name := range []string{"shard-0", "shard-1"} {
		if _, ok := checkpoints[0].Resources[name]; !ok {
			t.Errorf("the checkpoint lacks %s: %v", name, checkpoints[0].Resources)
		}
	}
}
