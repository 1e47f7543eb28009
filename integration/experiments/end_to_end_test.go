package experiments

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
)

// TestFromCreateToBestCheckpoint: a script with the core API reports metrics, stores checkpoints and
// exits, and det prints all of it.
func TestFromCreateToBestCheckpoint(t *testing.T) {
	r := rig.Start(t)
	id := r.Submit(t, rig.Config("hyperparameters: {lr: 0.5}"), rig.Script(`
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
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	if log := r.Log(t, id); !strings.Contains(log, "trained") {
		t.Errorf("the trial's log lacks the program's output:\n%s", log)
	}
	trial := r.Trial(t, id)
	reports, err := client.Collect(r.Client.TrialMetrics(t.Context(), "validation", trial.ID))
	if err != nil || len(reports) != 5 {
		t.Errorf("%d validations: %v", len(reports), err)
	}
	if trial.BestValidation == nil || trial.BestValidation.TotalBatches != 3 {
		t.Errorf("the trial's best validation is %+v", trial.BestValidation)
	}
	out, err := r.Det(t, "experiment", "list-checkpoints", "--best", "1", strconv.Itoa(id), "--json")
	if err != nil || !strings.Contains(out, `"steps_completed": 3`) && !strings.Contains(out, `"steps_completed":3`) {
		t.Errorf("the best checkpoint: %v\n%s", err, out)
	}
}

// TestPauseKeepsProgress: a paused trial holds no slot. After its activation it continues where it
// stopped, as its second run, without a missing or repeated step.
func TestPauseKeepsProgress(t *testing.T) {
	r := rig.Start(t)
	id := r.Submit(t, rig.Config("checkpoint_policy: none"), rig.Script(rig.Pausable))
	r.WaitLog(t, id, "begins after 0")
	if err := client.Act(t.Context(), r.Client, v1.PauseExperiment, id); err != nil {
		t.Fatal(err)
	}
	r.WaitLog(t, id, "makes room after")
	rig.Eventually(t, "its slot is free", func() (bool, error) {
		tasks, err := r.Client.Tasks(t.Context())
		return len(tasks) == 0, err
	})
	r.WaitState(t, id, v1.ExperimentStatePaused)
	stopped := rig.First(t, `makes room after (\d+)`, r.Log(t, id))
	if err := client.Act(t.Context(), r.Client, v1.ActivateExperiment, id); err != nil {
		t.Fatal(err)
	}
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	log := r.Log(t, id)
	rig.Holds(t, "the log", log, fmt.Sprintf("begins after %d\n", stopped), "ends after")
	trial := r.Trial(t, id)
	if trial.Restarts != 0 {
		t.Errorf("a pause counts as %d failures", trial.Restarts)
	}
	if got := r.Steps(t, "training", trial.ID); !slices.Equal(got, rig.Multiples(1, max(stopped, 3))) {
		t.Errorf("training was reported at %v", got)
	}
	if trial.LatestValidation == nil || trial.LatestValidation.TotalBatches != max(stopped, 3)+1 {
		t.Errorf("the trial's latest validation is %+v", trial.LatestValidation)
	}
}

// TestCancelAndKill: a canceled trial can still store a checkpoint. A killed trial ends with all its
// processes, even if the program ignores signals.
func TestCancelAndKill(t *testing.T) {
	r := rig.Start(t)
	id := r.Submit(t, rig.Config(""), rig.Script(rig.Pausable))
	r.WaitLog(t, id, "begins after 0")
	if err := client.Act(t.Context(), r.Client, v1.CancelExperiment, id); err != nil {
		t.Fatal(err)
	}
	r.WaitState(t, id, v1.ExperimentStateCanceled)
	rig.Holds(t, "the canceled trial's log", r.Log(t, id), "makes room after")
	if trial := r.Trial(t, id); trial.CheckpointCount != 1 || trial.State != v1.TrialStateCanceled {
		t.Errorf("canceled, the trial is %s with %d checkpoints", trial.State, trial.CheckpointCount)
	}

	beats := filepath.Join(t.TempDir(), "beats")
	id = r.Submit(t, rig.Config(""), rig.Script(fmt.Sprintf(`
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
	r.WaitLog(t, id, "deaf")
	r.End(t, id)
	if trial := r.Trial(t, id); trial.State != v1.TrialStateCanceled {
		t.Errorf("killed, the trial is %s", trial.State)
	}
	// Nomad gives a killed attempt some time to end; after that no process may remain.
	last := int64(-1)
	rig.Eventually(t, "its last process is gone", func() (bool, error) {
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

// beating reports whether a process of this machine has a text in its arguments.
func beating(text string) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), text) {
			return true
		}
	}
	return false
}

// flaky fails this many times and then succeeds. It counts in a file outside of the task.
func flaky(t *testing.T, failures int) map[string]string {
	return rig.Script(fmt.Sprintf(`
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

// TestRestarts: a failed trial restarts at most max_restarts times.
func TestRestarts(t *testing.T) {
	r := rig.Start(t)
	restarts := func(n int) string {
		return strings.Replace(rig.Config(""), "max_restarts: 0", "max_restarts: "+strconv.Itoa(n), 1)
	}
	id := r.Submit(t, restarts(2), flaky(t, 2))
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	if trial := r.Trial(t, id); trial.Restarts != 2 || trial.State != v1.TrialStateCompleted {
		t.Errorf("after two failures the trial is %s with %d restarts", trial.State, trial.Restarts)
	}
	rig.Holds(t, "the log", r.Log(t, id), "exit code 10", "exit code 11", "run 2 ends well")

	id = r.Submit(t, restarts(1), flaky(t, 5))
	rig.Eventually(t, "it is given up", func() (bool, error) {
		e, err := client.Call(t.Context(), r.Client, v1.GetExperiment, id)
		return err == nil && e.Experiment.State == v1.ExperimentStateError, err
	})
	trial := r.Trial(t, id)
	if trial.State != v1.TrialStateError || trial.Restarts != 1 || trial.Error != "exit code 11" {
		t.Errorf("given up, the trial is %s with %d restarts: %s", trial.State, trial.Restarts, trial.Error)
	}
	if log := r.Log(t, id); strings.Contains(log, "exit code 12") {
		t.Errorf("the trial ran a third time:\n%s", log)
	}
}

// TestCommands: the output of a command by stream, and its exit status.
func TestCommands(t *testing.T) {
	r := rig.Start(t)
	stdout, stderr, code := r.Run(t, nil, "command", "run", "sh", "-c", "echo to stdout; echo to stderr >&2; exit 7")
	id := regexp.MustCompile(`id: ([0-9a-f-]{36})`).FindStringSubmatch(stdout)
	if code != 1 || id == nil {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	rig.Holds(t, "its log", stdout, "to stdout", "to stderr", "exit code 7")
	rig.Holds(t, "the verdict", stderr, "ended with status 7")
	for std, text := range map[string]string{"stdout": "to stdout\n", "stderr": "to stderr\n"} {
		var lines []string
		for rec, err := range r.Client.TaskLogs(t.Context(), id[1], client.LogQuery{Stdtypes: []string{std}, Sources: []string{"task"}}) {
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, rec.Message)
		}
		if len(lines) != 1 || !strings.HasSuffix(lines[0], " || "+text) {
			t.Errorf("the command's %s was %q", std, lines)
		}
	}
	task, err := r.Client.Task(t.Context(), id[1])
	if err != nil || len(task.Allocations) != 1 || task.Allocations[0].StatusCode == nil || *task.Allocations[0].StatusCode != 7 {
		t.Errorf("the task is %+v: %v", task, err)
	}
	if _, stderr, code := r.Run(t, nil, "command", "run", "true"); code != 0 || stderr != "" {
		t.Errorf("a command that succeeds: exit %d\n%s", code, stderr)
	}

	dir := t.TempDir()
	rig.Write(t, dir, "data.txt", "sent along")
	stdout, _, code = r.Run(t, nil, "command", "run", "--context", dir, "cat", "data.txt")
	if code != 0 || !strings.Contains(stdout, "|| sent along") {
		t.Errorf("a command with files: exit %d\n%s", code, stdout)
	}

	stdout, _, _ = r.Run(t, nil, "command", "run", "--detach", "sleep", "1000")
	sleeper := strings.TrimSpace(stdout)
	rig.Eventually(t, "it runs", func() (bool, error) {
		k, err := client.Call(t.Context(), r.Client, v1.GetCommand, sleeper)
		return err == nil && k.Command.State == v1.TaskStateRunning, err
	})
	if _, stderr, code := r.Run(t, nil, "command", "kill", sleeper); code != 0 {
		t.Errorf("kill: exit %d\n%s", code, stderr)
	}
	rig.Eventually(t, "it is over", func() (bool, error) {
		k, err := client.Call(t.Context(), r.Client, v1.GetCommand, sleeper)
		return err == nil && k.Command.State == v1.TaskStateTerminated, err
	})
}

// TestLabelArchiveDelete: an ended experiment can be labeled, archived and deleted; one that has not
// ended cannot be deleted.
func TestLabelArchiveDelete(t *testing.T) {
	r := rig.Start(t)
	id := r.Submit(t, rig.Config("labels: [first]"), rig.Script(`
from determined import core
with core.init() as ctx:
    ctx.train.report_validation_metrics(1, {"loss": 1.0})
`))
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	if resp, err := client.Call(t.Context(), r.Client, v1.AddExperimentLabel, id, "second/with a slash"); err != nil || !slices.Equal(resp.Labels, []string{"first", "second/with a slash"}) {
		t.Errorf("labels are %q: %v", resp.Labels, err)
	}
	if labels, err := client.Call(t.Context(), r.Client, v1.RemoveExperimentLabel, id, "first"); err != nil || !slices.Equal(labels.Labels, []string{"second/with a slash"}) {
		t.Errorf("labels are %q: %v", labels.Labels, err)
	}
	listed := func(q v1.GetExperimentsRequest) bool {
		list, err := client.List(t.Context(), r.Client, v1.ListExperiments, client.Page{}, &q)
		if err != nil {
			t.Error(err)
		}
		return slices.ContainsFunc(list, func(e v1.Experiment) bool { return e.ID == id })
	}
	if !listed(v1.GetExperimentsRequest{Labels: []string{"second/with a slash"}}) || listed(v1.GetExperimentsRequest{Labels: []string{"first"}}) {
		t.Error("the list does not go by its labels")
	}
	yes, no := true, false
	if err := client.Act(t.Context(), r.Client, v1.ArchiveExperiment, id); err != nil {
		t.Error(err)
	}
	if listed(v1.GetExperimentsRequest{Archived: &no}) || !listed(v1.GetExperimentsRequest{Archived: &yes}) {
		t.Error("archived, it is listed with the others")
	}
	trial := r.Trial(t, id)
	running := r.Submit(t, rig.Config(""), rig.Script(rig.Waiting))
	r.WaitLog(t, running, "begins")
	if err := client.Act(t.Context(), r.Client, v1.DeleteExperiment, running); !fault.Is(err, fault.Invalid) {
		t.Errorf("what runs is deleted: %v", err)
	}
	r.End(t, running)
	if err := client.Act(t.Context(), r.Client, v1.DeleteExperiment, id); err != nil {
		t.Fatal(err)
	}
	rig.Eventually(t, "it is gone", func() (bool, error) {
		_, err := client.Call(t.Context(), r.Client, v1.GetExperiment, id)
		return fault.Is(err, fault.NotFound), err
	})
	if _, err := r.Client.Trial(t.Context(), trial.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("the trial still exists: %v", err)
	}
	if listed(v1.GetExperimentsRequest{}) {
		t.Error("the list contains the experiment")
	}
}

// TestTwoNodesTrainTogether: a trial with more slots than a node has runs on two nodes; its members
// find each other, and its workers communicate.
func TestTwoNodesTrainTogether(t *testing.T) {
	r := rig.Start(t)
	if err := r.AddClient(t.Context(), local.Client{Name: "second"}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.RemoveClient(context.WithoutCancel(t.Context()), "second"); err != nil {
			t.Error(err)
		}
	}()
	id := r.Submit(t, rig.Config("resources: {slots_per_trial: 8}"), rig.Script(`
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
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	trial := r.Trial(t, id)
	allocation := trial.TaskID + ".1"
	hears := regexp.MustCompile(`rank (\d) of 2 hears \[\(0, '([a-z-]+)', 4, '(\S+)'\), \(1, '([a-z-]+)', 4, '(\S+)'\)\]`)
	said := hears.FindAllStringSubmatch(r.Log(t, id), -1)
	if len(said) != 2 || said[0][1] == said[1][1] {
		t.Fatalf("not both were heard:\n%s", r.Log(t, id))
	}
	for _, m := range said {
		if m[2] == m[4] || m[3] != allocation || m[5] != allocation {
			t.Errorf("rank %s heard of %q", m[1], m[2:])
		}
	}
	for rank, node := range []string{said[0][2], said[0][4]} {
		var b strings.Builder
		for rec, err := range r.Client.TrialLogs(t.Context(), trial.ID, client.LogQuery{Agents: []string{node}}) {
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(rec.Message)
		}
		if log := b.String(); !strings.Contains(log, fmt.Sprintf("rank %d of 2", rank)) || strings.Contains(log, fmt.Sprintf("rank %d of 2", 1-rank)) {
			t.Errorf("the log of node %s is not that of rank %d:\n%s", node, rank, log)
		}
	}
	checkpoints, err := client.List(t.Context(), r.Client, v1.ListTrialCheckpoints, client.Page{}, nil, trial.ID)
	if err != nil || len(checkpoints) != 1 {
		t.Fatalf("%d checkpoints: %v", len(checkpoints), err)
	}
	for _, name := range []string{"shard-0", "shard-1"} {
		if _, ok := checkpoints[0].Resources[name]; !ok {
			t.Errorf("the checkpoint lacks %s: %v", name, checkpoints[0].Resources)
		}
	}
}

// TestUnequalPartsTrainTogether: 7 slots on nodes of 4 are 4 + 3. The ranks of the workers are in order
// of the nodes, each worker knows how many are on its own node, and all compute the same sums.
func TestUnequalPartsTrainTogether(t *testing.T) {
	r := rig.Start(t)
	if err := r.AddClient(t.Context(), local.Client{Name: "other"}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.RemoveClient(context.WithoutCancel(t.Context()), "other"); err != nil {
			t.Error(err)
		}
	}()
	id := r.Submit(t, strings.Replace(rig.Config("resources: {slots_per_trial: 7}"), "python3 train.py",
		"python3 -m determined.launch.torch_distributed python3 train.py", 1), rig.Script(`
import determined
from determined import core

info = determined.get_cluster_info()
distributed = core.DistributedContext.from_torch_distributed()
d = distributed
with core.init(distributed=distributed) as ctx:
    added = sum(d.allgather(10 ** d.rank))
    here = sum(d.allgather_local(1))
    ranks = d.gather((d.rank, d.cross_rank, d.local_rank, d.local_size, len(info.slot_ids)))
    assert here == d.local_size == len(info.slot_ids) == info.container_slot_counts[d.cross_rank], (here, d.local_size, info.slot_ids)
    assert (d.size, d.cross_size, sum(info.container_slot_counts)) == (7, 2, 7)
    with ctx.checkpoint.store_path({"steps_completed": 1}, shard=True) as (path, uuid):
        (path / f"shard-{d.rank}").write_text(str(added))
    if d.rank == 0:
        print("counts", info.container_slot_counts, "ranks", ranks, flush=True)
        ctx.train.report_validation_metrics(1, {"loss": float(added)})
`))
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	rig.Holds(t, "the log", r.Log(t, id), "counts [4, 3] ranks [(0, 0, 0, 4, 4), (1, 0, 1, 4, 4), (2, 0, 2, 4, 4), (3, 0, 3, 4, 4), (4, 1, 0, 3, 3), (5, 1, 1, 3, 3), (6, 1, 2, 3, 3)]")
	trial := r.Trial(t, id)
	if trial.BestValidation == nil || !strings.Contains(string(trial.BestValidation.Metrics.AvgMetrics), "1111111") {
		t.Errorf("the workers added up %+v", trial.BestValidation)
	}
	checkpoint := r.OnlyCheckpoint(t, id)
	for rank := range 7 {
		if _, ok := checkpoint.Resources[fmt.Sprintf("shard-%d", rank)]; !ok {
			t.Errorf("the checkpoint lacks the shard of rank %d: %v", rank, checkpoint.Resources)
		}
	}
	if out, err := r.Det(t, "trial", "describe", strconv.Itoa(trial.ID)); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	// 9 slots are more than both nodes have.
	never := r.Submit(t, rig.Config("resources: {slots_per_trial: 9}"), rig.Script("pass"))
	rig.Eventually(t, "it says why it waits", func() (bool, error) {
		out, err := r.Det(t, "job", "list", "--json")
		return strings.Contains(out, "needs 9 slots; pool default has 8"), err
	})
	r.End(t, never)
}
