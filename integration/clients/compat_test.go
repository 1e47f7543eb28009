package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// theirTraining uses all of their Core API that a single worker has.
const theirTraining = `
import pathlib
import determined
from determined import core

info = determined.get_cluster_info()
print("harness", determined.__version__, "with", info.trial.hparams, "after", info.latest_checkpoint)
with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as ctx:
    ctx.train.set_metadata({"data": {"rows": 150}, "tags": ["a", "b"]})
    print("metadata", ctx.train.get_metadata())
    for op in ctx.searcher.operations():
        print("to", op.length, ctx.searcher.get_configured_units())
        for step in range(1, op.length + 1):
            ctx.train.report_training_metrics(step, {"loss": 1.0 / step})
            ctx.train.report_validation_metrics(step, {"loss": abs(3 - step), "none": float("nan")})
            ctx.train.report_progress(step / op.length)
            with ctx.checkpoint.store_path({"steps_completed": step, "by": "them"}) as (path, uuid):
                (pathlib.Path(path) / "weights").write_text("weights of %d" % step)
        op.report_progress(op.length)
        op.report_completed(0)
    ctx.train.report_metrics("inference", 5, {"seen": 512})
    print("best", ctx.train.get_experiment_best_validation())
print("trained")
`

// TestUnmodifiedClient: a day with Determined's own command line and a training
// that imports its package, neither of them changed.
func TestUnmodifiedClient(t *testing.T) {
	r := rig.Start(t)
	u := r.Person(t, "determined", "")
	id, out := u.Create(t, "theirs", theirTraining, "--follow-first-trial")
	rig.Holds(t, "what they follow", out, "Following first trial", "harness 0.38.1 with {'lr': 0.5} after None",
		"metadata {'data': {'rows': 150}, 'tags': ['a', 'b']}", "to 5 Unit.BATCHES", "trained", "Trial log stream ended")
	u.Det(t, "experiment", "wait", strconv.Itoa(id))
	number := strconv.Itoa(id)
	t.Run("experiment", func(t *testing.T) { theirExperiment(t, u, number) })
	t.Run("trial", func(t *testing.T) { theirTrial(t, u, number) })
	t.Run("checkpoint", func(t *testing.T) { theirCheckpoint(t, u, number) })
	t.Run("models", func(t *testing.T) { theirModels(t, u, number) })
	t.Run("changes", func(t *testing.T) { theirChanges(t, u, number) })
	t.Run("cluster", func(t *testing.T) { theirCluster(t, u) })
}

func theirExperiment(t *testing.T, u rig.Person, id string) {
	var mine map[string]string
	for _, e := range u.Table(t, "experiment", "list") {
		if e["ID"] == id {
			mine = e
		}
	}
	if mine["State"] != "COMPLETED" || mine["Owner"] != "determined" || mine["Name"] != "theirs" || mine["Progress"] != "100.0%" || mine["Resource Pool"] != "default" {
		t.Errorf("in the list it is %v", mine)
	}
	rig.Holds(t, "describe", u.Det(t, "experiment", "describe", id, "--metrics"), "Experiment ID", "COMPLETED", "Validation Metric: loss", "Training Metric: loss")
	rig.Holds(t, "config", u.Det(t, "experiment", "config", id), "name: theirs", "batches: 5", "lr:")
	trials := u.Table(t, "experiment", "list-trials", id)
	if len(trials) != 1 || trials[0]["State"] != "COMPLETED" || trials[0]["# of Batches"] != "5" || !strings.Contains(trials[0]["H-Params"], `"lr": 0.5`) {
		t.Errorf("the experiment's trials are %v", trials)
	}
	if list := u.Table(t, "experiment", "list-checkpoints", id); len(list) != 5 {
		t.Errorf("%d checkpoints, 5 were stored: %v", len(list), list)
	}
	best := u.Table(t, "experiment", "list-checkpoints", "--best", "2", id)
	if len(best) != 2 || best[0]["# of Batches"] != "3" || best[0]["Validation Metric"] != "0" && best[0]["Validation Metric"] != "0.0" || best[0]["State"] != "COMPLETED" {
		t.Errorf("the experiment's best two checkpoints are %v", best)
	}
	into := filepath.Join(u.Home, "code")
	if err := os.Mkdir(into, 0o755); err != nil {
		t.Fatal(err)
	}
	u.Det(t, "experiment", "download-model-def", id, "--output-dir", into)
	if files, err := filepath.Glob(filepath.Join(into, "*")); err != nil || len(files) != 1 {
		t.Errorf("the code came down as %v: %v", files, err)
	}
}

func theirTrial(t *testing.T, u rig.Person, id string) {
	trial := u.Table(t, "experiment", "list-trials", id)[0]["Trial ID"]
	if followed := u.Det(t, "trial", "logs", "-f", trial); followed != u.Det(t, "experiment", "logs", id) {
		t.Errorf("the trial's log is not the experiment's:\n%s", followed)
	}
	tail := u.Det(t, "trial", "logs", "--tail", "2", trial)
	rig.Holds(t, "the log's end", tail, "trained", "resources exited successfully with a zero exit code")
	if strings.Contains(tail, "harness 0.38.1") {
		t.Errorf("the log's end begins with its beginning:\n%s", tail)
	}
	var line struct {
		Log     string `json:"log"`
		Message string `json:"message"`
		TrialID int    `json:"trialId"`
		Stdtype string `json:"stdtype"`
	}
	head := u.Det(t, "trial", "logs", "--head", "1", "--json", trial)
	if err := json.NewDecoder(strings.NewReader(head)).Decode(&line); err != nil || !strings.HasPrefix(line.Log, "Scheduling Trial "+trial) || strconv.Itoa(line.TrialID) != trial {
		t.Errorf("the log's first line is %+v: %v", line, err)
	}
	if out := u.Det(t, "trial", "logs", "--level", "INFO", trial); strings.Contains(out, "harness 0.38.1") {
		t.Errorf("lines without a level are among those of level INFO:\n%s", out)
	}
	rig.Holds(t, "describe", u.Det(t, "trial", "describe", "--metrics", trial), "# of Batches", `"loss"`, `"by": "them"`, "COMPLETED")
}

func theirCheckpoint(t *testing.T, u rig.Person, id string) {
	best := u.Table(t, "experiment", "list-checkpoints", "--best", "1", id)[0]["UUID"]
	rig.Holds(t, "describe", u.Det(t, "checkpoint", "describe", best), best, `"steps_completed": 3`, `"by": "them"`)
	for _, mode := range []string{"master", "direct", "auto"} {
		into := filepath.Join(u.Home, "by-"+mode)
		u.Det(t, "checkpoint", "download", "--mode", mode, "--output-dir", into, best)
		weights, err := os.ReadFile(filepath.Join(into, "weights"))
		if err != nil || string(weights) != "weights of 3" {
			t.Errorf("downloaded with mode %s the weights are %q: %v", mode, weights, err)
		}
	}
}

// theirModels: their command line and their SDK on the model registry.
func theirModels(t *testing.T, u rig.Person, id string) {
	best := u.Table(t, "experiment", "list-checkpoints", "--best", "1", id)[0]["UUID"]
	rig.Holds(t, "create", u.Det(t, "model", "create", "theirs [['b'], x]", "--description", "what for"), "theirs [['b'], x]", "what for")
	rig.Holds(t, "register-version", u.Det(t, "model", "register-version", "theirs [['b'], x]", best), best, "Version #", `"steps_completed": 3`)
	rig.Holds(t, "list", u.Det(t, "model", "list", "--sort-by", "name"), "theirs [['b'], x]", "Last Updated Time")
	rig.Holds(t, "describe", u.Det(t, "model", "describe", "theirs [['b'], x]"), best)
	rig.Holds(t, "list-versions", u.Det(t, "model", "list-versions", "--json", "theirs [['b'], x]"), `"version": 1`, best)
	u.Det(t, "workspace", "create", "registry")
	u.Det(t, "model", "move", "theirs [['b'], x]", "-w", "registry")
	if stdout, stderr, code := u.Run(t, "", u.Python, "-c", theirRegistry, best); code != 0 || !strings.Contains(stdout, "all is well") {
		t.Errorf("Determined's SDK: exit %d\n%s%s", code, stdout, stderr)
	}
	u.Det(t, "model", "delete", "theirs [['b'], x]")
	u.Det(t, "workspace", "delete", "registry", "--yes")
}

// theirRegistry uses all of their SDK's registry; its argument is a checkpoint.
const theirRegistry = `
import sys
from determined.common.api import errors
from determined.experimental import client

uuid = sys.argv[1]
cluster = client.Determined()
name = "theirs [['b'], x]"
model = client.get_model(name)
assert model.workspace_id != 1 and model.username == "determined", model
assert client.get_model(model.model_id).name == name
first = model.get_version()
assert first.model_version == 1 and first.checkpoint.uuid == uuid, first
first.set_name("first")
first.set_notes("how")
first.reload()
assert (first.name, first.notes) == ("first", "how")
second = model.register_version(uuid)
assert [v.model_version for v in model.list_versions()] == [2, 1]
assert [v.model_version for v in model.list_versions(client.OrderBy.ASC)] == [1, 2]
assert second.checkpoint.training.validation_metrics["avgMetrics"]["loss"] == 0
second.delete()
model.add_metadata({"a": {"b": [1]}, "c": 2})
model.remove_metadata(["c"])
model.set_labels(["x", "y"])
model.set_description("new")
model.reload()
assert model.metadata == {"a": {"b": [1]}} and model.labels == ["x", "y"] and model.description == "new"
assert cluster.get_model_labels() == ["x", "y"]
other = cluster.create_model("other", metadata={"k": 1}, labels=["y"], workspace_name="registry")
assert cluster.get_model_labels() == ["y", "x"]
assert [m.name for m in cluster.list_models(sort_by=client.ModelSortBy.NAME, order_by=client.OrderBy.DESC)] == [name, "other"]
assert [m.name for m in cluster.list_models(name="OTH", workspace_names=["registry"])] == ["other"]
other.archive()
try:
    other.set_description("no")
    raise AssertionError("an archived model was changed")
except errors.APIException as e:
    assert "archived" in str(e), e
other.unarchive()
other.move_to_workspace("Uncategorized")
other.delete()
try:
    client.get_model("other")
    raise AssertionError("a deleted model is there")
except errors.NotFoundException:
    pass
checkpoint = client.get_checkpoint(uuid)
try:
    checkpoint.delete()
    raise AssertionError("a registered checkpoint was deleted")
except Exception as e:
    assert "model registry" in str(e), e
assert list(first.iter_metrics("inference")) == []
print("all is well")
`

func theirChanges(t *testing.T, u rig.Person, id string) {
	u.Det(t, "experiment", "label", "add", id, "kept")
	u.Det(t, "experiment", "label", "add", id, "dropped")
	u.Det(t, "experiment", "label", "remove", id, "dropped")
	u.Det(t, "experiment", "set", "name", id, "renamed")
	u.Det(t, "experiment", "set", "description", id, "what it is for")
	var described []struct {
		Experiment struct{ Name, Description string }
	}
	out := u.Det(t, "experiment", "describe", "--json", id)
	if err := json.Unmarshal([]byte(out), &described); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if len(described) != 1 || described[0].Experiment.Name != "renamed" || described[0].Experiment.Description != "what it is for" {
		t.Errorf("the experiment is %+v", described)
	}
	rig.Holds(t, "describe", u.Det(t, "experiment", "describe", id), "kept")
	if strings.Contains(u.Det(t, "experiment", "describe", id), "dropped") {
		t.Error("the removed label is still shown")
	}
	u.Det(t, "experiment", "archive", id)
	for _, e := range u.Table(t, "experiment", "list") {
		if e["ID"] == id {
			t.Errorf("archived, it is in the list: %v", e)
		}
	}
	u.Det(t, "experiment", "unarchive", id)
}

// theirCluster tests commands, and what Determined's client shows of the cluster.
func theirCluster(t *testing.T, u rig.Person) {
	out := u.Det(t, "command", "run", "echo", "hello from a command")
	rig.Holds(t, "the command", out, "Launched command", "|| hello from a command")
	out = u.Det(t, "command", "run", "--detach", "sleep", "1000")
	id := strings.TrimSpace(out)
	running := func(column, value string) func() (bool, error) {
		return func() (bool, error) {
			for _, c := range u.Table(t, "command", "list") {
				if c["id"] == id {
					return c[column] == value, fmt.Errorf("the row is %v", c)
				}
			}
			return false, errors.New("it is not in the list")
		}
	}
	rig.Eventually(t, "the command runs", running("state", "RUNNING"))
	var allocation string
	for _, task := range u.Table(t, "task", "list") {
		if task["Task ID"] == id {
			allocation = task["Allocation ID"]
		}
	}
	if allocation != id+".1" {
		t.Errorf("the task list has the command's attempt as %q", allocation)
	}
	jobs := u.Table(t, "job", "list")
	if len(jobs) == 0 || jobs[len(jobs)-1]["Type"] != "TYPE_COMMAND" || jobs[len(jobs)-1]["User"] != "determined" {
		t.Errorf("the jobs are %v", jobs)
	}
	u.Det(t, "command", "kill", id)
	rig.Eventually(t, "the command ends", running("state", "TERMINATED"))

	agents := u.Table(t, "agent", "list")
	if len(agents) == 0 || agents[0]["Slots"] != "4" || agents[0]["Enabled"] != "True" || agents[0]["Resource Pool"] != "default" {
		t.Errorf("the agents are %v", agents)
	}
	if slots := u.Table(t, "slot", "list"); len(slots) < 4 || slots[0]["Type"] != "cpu" {
		t.Errorf("the slots are %v", slots)
	}
	rig.Holds(t, "version", u.Det(t, "version"), "cluster_name: integration", "version: 0.38.1")
	rig.Holds(t, "whoami", u.Det(t, "user", "whoami"), "'determined'")
	rig.Holds(t, "master info", u.Det(t, "master", "info"), "clusterName: integration")
	rig.Holds(t, "workspaces", u.Det(t, "workspace", "list"), "Uncategorized")
}

// theirEndless trains until it is preempted; started again, it ends after a step.
const theirEndless = `
import pathlib, time
import determined
from determined import core

latest = determined.get_cluster_info().latest_checkpoint
with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as ctx:
    step = 0
    if latest:
        with ctx.checkpoint.restore_path(latest) as path:
            step = int((path / "step").read_text())
        print("goes on after", step, "with", ctx.train.get_metadata())
    else:
        ctx.train.set_metadata({"begun": True})
        print("user code starts")
    while True:
        step += 1
        ctx.train.report_training_metrics(step, {"loss": 1.0 / step})
        if latest:
            ctx.train.report_validation_metrics(step, {"loss": 0.0})
            break
        if ctx.preempt.should_preempt():
            with ctx.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
                (pathlib.Path(path) / "step").write_text(str(step))
            break
        time.sleep(0.02)
print("ends after", step)
`

// TestUnmodifiedHarnessMakesRoom: paused, a training with Determined's package stores a checkpoint;
// activated, it continues from there. Then a user kills another one.
func TestUnmodifiedHarnessMakesRoom(t *testing.T) {
	r := rig.Start(t)
	u := r.Person(t, "determined", "")
	id, _ := u.Create(t, "pausing", theirEndless)
	r.WaitLog(t, id, "user code starts")
	u.Det(t, "experiment", "pause", strconv.Itoa(id))
	rig.Eventually(t, "the attempt has ended", func() (bool, error) {
		e, err := client.Call(t.Context(), r.Client, v1.GetExperiment, id)
		if err != nil || e.Experiment.State != v1.ExperimentStatePaused {
			return false, err
		}
		tasks, err := r.Client.Tasks(t.Context())
		return len(tasks) == 0, err
	})
	log := r.Log(t, id)
	stopped := rig.First(t, `ends after (\d+)`, log)
	u.Det(t, "experiment", "activate", strconv.Itoa(id))
	u.Det(t, "experiment", "wait", "--polling-interval", "1", strconv.Itoa(id))
	log = r.Log(t, id)
	rig.Holds(t, "the log", log, fmt.Sprintf("goes on after %d with {'begun': True}", stopped), fmt.Sprintf("ends after %d", stopped+1))
	if n := strings.Count(log, "user code starts"); n != 1 {
		t.Errorf("the program began %d times:\n%s", n, log)
	}

	id, _ = u.Create(t, "killed", theirEndless)
	r.WaitLog(t, id, "user code starts")
	u.Det(t, "experiment", "kill", strconv.Itoa(id))
	r.WaitState(t, id, v1.ExperimentStateCanceled)
	_, _, code := u.Run(t, "", u.Client(), "experiment", "wait", strconv.Itoa(id))
	if code != 1 {
		t.Errorf("Determined's det experiment wait of a killed experiment ended with %d", code)
	}
}

// TestUnmodifiedHarnessEndsEarly: early ends that are no failures do not count as failures.
func TestUnmodifiedHarnessEndsEarly(t *testing.T) {
	r := rig.Start(t)
	u := r.Person(t, "determined", "")
	for _, test := range []struct{ name, code string }{
		{"invalid", `ctx.train.report_early_exit(core.EarlyExitReason.INVALID_HP)`},
		{"raised", `raise determined.InvalidHP("lr is too large")`},
	} {
		id, out := u.Create(t, test.name, "import determined\nfrom determined import core\n"+
			"with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as ctx:\n    "+test.code+"\n", "-f")
		if state := r.WaitState(t, id, v1.ExperimentStateCompleted); state != v1.ExperimentStateCompleted {
			t.Errorf("%s: it is %s:\n%s", test.name, state, out)
		}
	}
	config, dir := u.Experiment(t, "failing", "raise SystemExit(7)")
	out := u.Det(t, "experiment", "create", config, dir, "-f")
	id := rig.First(t, `Created experiment (\d+)`, out)
	rig.Holds(t, "the log of a failure", out, "exit code 7")
	_, _, code := u.Run(t, "", u.Client(), "experiment", "wait", strconv.Itoa(id))
	if code != 1 {
		t.Errorf("Determined's det experiment wait of a failed experiment ended with %d", code)
	}
}

// theirScript is a notebook's day with their SDK.
const theirScript = `
import json, pathlib, sys
from determined.experimental import client

python, code, out = sys.argv[1:4]
client.login(user="determined", password="")
config = {
    "name": "by the SDK", "entrypoint": "python3 train.py", "hyperparameters": {"lr": 0.5}, "max_restarts": 0,
    "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 5}},
    "environment": {"environment_variables": [
        "PATH=%s:/usr/local/bin:/usr/bin:/bin" % pathlib.Path(python).parent, "DET_USE_INSTALLED_HARNESS=1"]},
}
exp = client.create_experiment(config, code)
assert exp.wait(interval=0.2) == client.ExperimentState.COMPLETED
exp.add_label("sdk")
exp.set_name("renamed by the SDK")
top = exp.top_checkpoint()
assert top.metadata["steps_completed"] == 3, top.metadata
assert len(exp.list_checkpoints()) == 5
path = top.download(out)
assert (pathlib.Path(path) / "weights").read_text() == "weights of 3"
top.add_metadata({"note": "good"})
assert client.get_checkpoint(top.uuid).metadata["note"] == "good"
(trial,) = exp.list_trials()
assert client.get_trial(trial.id).hparams == {"lr": 0.5}, client.get_trial(trial.id).hparams
got = {m.steps_completed: m.metrics["loss"] for m in trial.iter_metrics("validation")}
assert got == {1: 2, 2: 1, 3: 0, 4: 1, 5: 2}, got
assert [m.steps_completed for m in trial.iter_metrics("training")] == [1, 2, 3, 4, 5]
assert [m.metrics for m in client.iter_trials_metrics([trial.id], "inference")] == [{"seen": 512}]
assert any("trained" in line for line in trial.iter_logs(follow=False))
assert trial.select_checkpoint(latest=True).metadata["steps_completed"] == 5
(found,) = [e for e in client.list_experiments(labels=["sdk"]) if e.id == exp.id]
assert found.name == "renamed by the SDK" and found.labels == {"sdk"}, (found.name, found.labels)
exp.archive()
exp.unarchive()
assert client.whoami().username == "determined"
print(json.dumps({"experiment": exp.id}))
`

// TestUnmodifiedSDK: the calls of notebooks and scripts to determined.experimental.client.
func TestUnmodifiedSDK(t *testing.T) {
	r := rig.Start(t)
	u := rig.Person{R: r, Python: rig.DeterminedPython(t), Home: t.TempDir()}
	_, code := u.Experiment(t, "sdk", theirTraining)
	stdout, stderr, exit := u.Run(t, "", u.Python, "-c", theirScript, u.Python, code, filepath.Join(u.Home, "out"))
	if exit != 0 {
		t.Fatalf("exit %d\n%s%s", exit, stdout, stderr)
	}
	id := rig.First(t, `"experiment": (\d+)`, stdout)
	if e, err := client.Call(t.Context(), r.Client, v1.GetExperiment, id); err != nil || e.Experiment.Name != "renamed by the SDK" {
		t.Errorf("the experiment is %+v: %v", e, err)
	}
}

// TestUnmodifiedClientManagesUsers: an admin makes a user, who chooses a password.
func TestUnmodifiedClientManagesUsers(t *testing.T) {
	r := rig.Start(t)
	admin := r.Person(t, "admin", "")
	admin.Det(t, "user", "create", "grace", "--password", "Passw0rd")
	grace := r.Person(t, "grace", "Passw0rd")
	if _, stderr, code := grace.Run(t, "Sw0rdfish\nSw0rdfish\n", grace.Client(), "user", "change-password"); code != 0 {
		t.Fatalf("change-password: exit %d\n%s", code, stderr)
	}
	rig.Holds(t, "whoami", grace.Det(t, "user", "whoami"), "'grace'")
	// With a session of yesterday, which may be stolen, the client prints what to do; after a new
	// sign-in it changes the password. The SDK sends the same.
	if _, err := rig.Query(t, r, pgx.RowTo[int64], `UPDATE sessions SET created_at = now() - interval '1 day'
		WHERE user_id = (SELECT id FROM users WHERE username = 'grace') RETURNING id`); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := grace.Run(t, "Sw0rdfish2\nSw0rdfish2\n", grace.Client(), "user", "change-password")
	if code != 1 || !strings.Contains(stderr, "sign in again with det user login") {
		t.Errorf("change-password with a session of yesterday: exit %d\n%s", code, stderr)
	}
	if _, stderr, code = grace.Run(t, "Sw0rdfish\n", grace.Client(), "user", "login", "grace"); code != 0 {
		t.Fatalf("user login: exit %d\n%s", code, stderr)
	}
	const change = `from determined.experimental import client; client.login(); client.get_user_by_name("grace").change_password("Sw0rdfish2")`
	if _, stderr, code = grace.Run(t, "", grace.Python, "-c", change); code != 0 {
		t.Fatalf("User.change_password: exit %d\n%s", code, stderr)
	}
	if _, stderr, code = grace.Run(t, "Sw0rdfish\nSw0rdfish\n", grace.Client(), "user", "change-password"); code != 0 {
		t.Fatalf("change-password: exit %d\n%s", code, stderr)
	}
	other := rig.Person{R: r, Python: grace.Python, Home: t.TempDir()}
	_, stderr, code = other.Run(t, "Passw0rd\n", other.Client(), "user", "login", "grace")
	if code != 1 || !strings.Contains(stderr, "Invalid username/password combination") {
		t.Errorf("the old password: exit %d\n%s", code, stderr)
	}
	r.Person(t, "grace", "Sw0rdfish")
	_, stderr, code = grace.Run(t, "", grace.Client(), "user", "create", "heidi", "--password", "Passw0rd")
	if code != 1 || !strings.Contains(stderr, "admin") {
		t.Errorf("somebody who is no admin made a user: exit %d\n%s", code, stderr)
	}
	admin.Det(t, "user", "deactivate", "grace")
	if _, _, code = other.Run(t, "Sw0rdfish\n", other.Client(), "user", "login", "grace"); code != 1 {
		t.Errorf("a user that is not active signed in: exit %d", code)
	}
	var known bool
	for _, user := range strings.Split(admin.Det(t, "user", "list", "--all"), "\n") {
		known = known || strings.Contains(user, "grace") && strings.Contains(user, "False")
	}
	if !known {
		t.Error("the list of all users lacks grace")
	}
	grace.Run(t, "", grace.Client(), "user", "logout")
}
