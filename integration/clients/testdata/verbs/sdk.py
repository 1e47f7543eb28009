"""Calls each public method of Determined's SDK and checks what it returns; prints the methods that it has not called.

It runs in the folder that record.py has filled, on a cluster where nobody else works.
"""

import importlib
import inspect
import pathlib
import sys
import time
import warnings

import called
from determined import errors as det_errors
from determined.common.api import errors
from determined.experimental import client

warnings.simplefilter("ignore")
bound = called.bound()
modules = [
    importlib.import_module("determined.common.experimental." + name)
    for name in "determined experiment trial checkpoint._checkpoint model project workspace user resource_pool".split()
]
classes = [
    value
    for module in modules
    for name, value in vars(module).items()
    if inspect.isclass(value) and value.__module__ == module.__name__ and not name.startswith("_")
]
left = called.methods([*classes, client], __file__)


def until(ready):
    end = time.monotonic() + 120
    while not ready():
        assert time.monotonic() < end, inspect.getsource(ready)
        time.sleep(0.1)


def refused(error, call, *args, **named):
    """Calls what must fail. A method whose failure is its answer counts as called."""
    try:
        call(*args, **named)
    except error as err:
        left.discard(call.__qualname__ if "." in call.__qualname__ else "client." + call.__name__)
        return str(err)
    raise AssertionError(f"{call} did not fail")


def same(got, want):
    assert got == want, f"{got!r} is not {want!r}"


# Users, by an admin and by themselves.
admin = client.Determined(user="admin", password="")
client.login(user="determined", password="")
det = client.Determined()
same(admin.get_session_username(), "admin")
same(client.get_session_username(), "determined")
name = f"ada-{time.time_ns()}"
ada = admin.create_user(name, admin=False, password="Passw0rd")
same(admin.get_user_by_id(ada.user_id).username, name)
same(det.get_user_by_name(name).user_id, ada.user_id)
same(det.whoami().username, "determined")
same(client.whoami().admin, False)
same(client.get_user_by_id(ada.user_id).username, client.get_user_by_name(name).username)
ada.rename(name + "2")
ada.change_display_name("Ada " + name)
ada.link_with_agent(agent_uid=1, agent_gid=1, agent_user="daemon", agent_group="daemon")
ada.deactivate()
ada.reload()
same((ada.username, ada.display_name, ada.active), (name + "2", "Ada " + name, False))
same((ada.agent_uid, ada.agent_gid, ada.agent_user, ada.agent_group), (1, 1, "daemon", "daemon"))
assert name + "2" not in [u.username for u in det.list_users(active=True)]
assert name + "2" in [u.username for u in client.list_users()]
ada.activate()
ada.change_password("Passw0rd2")
same(client.Determined(user=name + "2", password="Passw0rd2").whoami().active, True)
refused(errors.ForbiddenException, client.create_user, "eve", admin=False, password="Passw0rd")

# Workspaces, projects and pools.
space = det.create_workspace("sdk")
same(client.create_workspace("sdk2").name, "sdk2")
same(client.get_workspace("sdk").id, det.get_workspace("SDK").id)
assert {"sdk", "sdk2"} <= {w.name for w in det.list_workspaces()}
same(len(client.list_workspaces()), len(det.list_workspaces()))
client.delete_workspace("sdk2")
refused(errors.NotFoundException, det.delete_workspace, "sdk2")
refused(errors.NotFoundException, det.get_workspace, "sdk2")
space.reload()
pool = [p for p in admin.get_workspace("sdk").list_pools() if p.name == "spare"][0]
pool.add_bindings(["sdk"])
pool.add_bindings(["Uncategorized"])
same(pool.list_workspaces(), [None, None])  # the SDK does not load the names
pool.remove_bindings(["Uncategorized"])
pool.replace_bindings(["sdk"])
same(len(pool.list_workspaces()), 1)
same(sorted(p.name for p in space.list_pools()), ["default", "spare"])
project = space.create_project("curves", description="of loss")
space.create_project("gone")
space.delete_project("gone")
same([p.name for p in space.list_projects()], ["curves"])
project.set_name("slopes")
project.set_description("of the loss")
project.set_key("SLO")
project.add_note("first", "what was seen")
project.add_note("second", "more")
project.remove_note("second")
project.archive()
same(space.get_project("slopes").archived, True)
project.unarchive()
project.reload()
same((project.name, project.description, project.key, project.archived), ("slopes", "of the loss", "SLO", False))
same(project.notes, [{"name": "first", "contents": "what was seen"}])

# An experiment, its trial and what the trial reported.
exp = client.create_experiment("one.yaml", "code", project_id=project.id)
first = exp.await_first_trial()
same(exp.wait(interval=0.2), client.ExperimentState.COMPLETED)
exp.reload()
same((exp.project_id, exp.workspace_id, exp.progress), (project.id, space.id, 1.0))
same([e.id for e in project.list_experiments()], [exp.id])
same([e.id for e in det.list_experiments(project_id=project.id)], [exp.id])
same([e.id for e in client.list_experiments(experiment_ids=[exp.id])], [exp.id])
same(det.get_experiment(exp.id).name, client.get_experiment(exp.id).name)
exp.set_name("by the SDK")
exp.set_description("described")
exp.set_notes("noted")
exp.add_label("a")
exp.set_labels({"b", "c"})
exp.remove_label("c")
exp.archive()
same(client.get_experiment(exp.id).archived, True)
exp.unarchive()
exp.reload()
same((exp.name, exp.description, exp.notes, exp.labels, exp.archived), ("by the SDK", "described", "noted", {"b"}, False))
exp.move_to_project("Uncategorized", "Uncategorized")
same(client.get_experiment(exp.id).project_id, 1)
exp.move_to_project("sdk", "slopes")
assert (pathlib.Path(exp.download_code("down")).exists()), exp.download_code("down2")
refused((KeyError, ValueError), exp.get_pachyderm_config)
for list_of in (exp.get_trials, exp.list_trials, exp.iter_trials):
    same([t.id for t in list_of()], [first.id])
trial = det.get_trial(first.id)
same(client.get_trial(first.id).hparams, {"lr": 0.5})
trial.reload()
same((trial.state, trial.experiment_id), (client.TrialState.COMPLETED, exp.id))
same(trial.get_experiment().id, exp.id)
assert any("trained" in line for line in trial.iter_logs())
assert "trained" in "".join(trial.logs(follow=True))
assert "Scheduling" in list(trial.logs(head=1))[0]
training, validation = {1: 1.0, 2: 0.5, 3: 1 / 3}, {1: 1, 2: 0, 3: 1}
for metrics in (
    trial.stream_metrics("training"),
    trial.iter_metrics("training"),
    trial.stream_training_metrics(),
    det.stream_trials_metrics([trial.id], "training"),
    det.iter_trials_metrics([trial.id], "training"),
    det.stream_trials_training_metrics([trial.id]),
    client.stream_trials_metrics([trial.id], "training"),
    client.iter_trials_metrics([trial.id], "training"),
    client.stream_trials_training_metrics([trial.id]),
):
    same({m.steps_completed: m.metrics["loss"] for m in metrics}, training)
for metrics in (
    trial.stream_validation_metrics(),
    det.stream_trials_validation_metrics([trial.id]),
    client.stream_trials_validation_metrics([trial.id]),
):
    same({m.steps_completed: m.metrics["loss"] for m in metrics}, validation)

# Checkpoints, of which the policy keeps the best and the latest.
until(lambda: [c.state for c in exp.list_checkpoints()].count(client.CheckpointState.COMPLETED) == 2)
best = exp.top_checkpoint()
same(best.metadata["steps_completed"], 2)
same([c.uuid for c in exp.top_n_checkpoints(1)], [best.uuid])
same(exp.list_checkpoints(sort_by="loss", order_by=client.OrderBy.ASC, max_results=1)[0].uuid, best.uuid)
same(trial.top_checkpoint().uuid, best.uuid)
same(trial.select_checkpoint(best=True).uuid, best.uuid)
latest = trial.select_checkpoint(latest=True)
same(trial.list_checkpoints(client.CheckpointSortBy.BATCH_NUMBER, client.OrderBy.DESC)[0].uuid, latest.uuid)
same({c.uuid for c in trial.get_checkpoints()}, {c.uuid for c in trial.list_checkpoints()})
checkpoint = det.get_checkpoint(best.uuid)
same(client.get_checkpoint(best.uuid).training.trial_id, trial.id)
same(checkpoint.training.validation_metrics["avgMetrics"]["loss"], 0)
checkpoint.add_metadata({"note": "good", "dropped": 1})
checkpoint.remove_metadata(["dropped"])
checkpoint.reload()
same(checkpoint.metadata, {"steps_completed": 2, "note": "good"})
for mode in client.DownloadMode:
    path = pathlib.Path(checkpoint.download(f"sdk-by-{mode.value}", mode=mode))
    same((path / "weights").read_text(), "weights of 2")
checkpoint.write_metadata_file("metadata-of-it.json")
assert "good" in pathlib.Path("metadata-of-it.json").read_text()
same(list(checkpoint.get_metrics("inference")), [])
refused(ValueError, checkpoint.get_pachyderm_commit)

# The registry of models.
model = det.create_model("sdk", "of the SDK", {"k": 1}, ["x"], "sdk")
same(client.create_model("sdk other").name, "sdk other")
same(det.get_model("sdk").model_id, client.get_model(model.model_id).model_id)
same(det.get_model_by_id(model.model_id).name, client.get_model_by_id(model.model_id).name)
for list_of in (det.get_models, det.list_models, client.get_models, client.list_models):
    same([m.name for m in list_of(name="sdk")], ["sdk", "sdk other"])
same(det.get_model_labels(), client.get_model_labels())
version = model.register_version(best.uuid)
same((version.model_version, model.get_version().checkpoint.uuid, model.get_version(1).model_version), (1, best.uuid, 1))
same([v.model_version for v in model.get_versions()], [v.model_version for v in model.list_versions()])
version.set_name("first")
version.set_notes("how")
version.reload()
same((version.name, version.notes), ("first", "how"))
same((list(version.get_metrics("inference")), list(version.iter_metrics())), ([], []))
model.add_metadata({"l": 2})
model.remove_metadata(["k"])
model.set_labels(["y"])
model.set_description("new")
model.archive()
same(client.get_model("sdk").archived, True)
model.unarchive()
model.move_to_workspace("Uncategorized")
model.reload()
same((model.metadata, model.labels, model.description, model.workspace_id, model.archived), ({"l": 2}, ["y"], "new", 1, False))
refused(Exception, checkpoint.delete)
version.delete()
model.delete()
client.get_model("sdk other").delete()
refused(errors.NotFoundException, det.get_model, "sdk")

# The ends of checkpoints, trials and experiments.
checkpoint.remove_files(["weight*"])
until(lambda: client.get_checkpoint(best.uuid).state == client.CheckpointState.PARTIALLY_DELETED)
checkpoint.delete()
until(lambda: client.get_checkpoint(best.uuid).state == client.CheckpointState.DELETED)
exp.delete_tensorboard_files()
sleeper = det.create_experiment({**exp.config, "name": "sleeper", "entrypoint": "sleep 1000", "project": "", "workspace": ""}, "code")
sleeper.pause()
until(lambda: sleeper.reload() or sleeper.state == client.ExperimentState.PAUSED)
refused(ValueError, sleeper.wait)
sleeper.activate()
sleeper.await_first_trial().kill()
same(sleeper.wait(interval=0.2), client.ExperimentState.CANCELED)
sleeper.kill()
sleeper.cancel()
for one in (sleeper, exp):
    one.delete()
until(lambda: not det.list_experiments(experiment_ids=[sleeper.id, exp.id]))
space.delete_project("slopes")
det.delete_workspace("sdk")

# What only Determined's paid edition has.
for of in (det, client):
    refused(det_errors.EnterpriseOnlyError, of.list_oauth_clients)
    refused(det_errors.EnterpriseOnlyError, of.add_oauth_client, domain="https://example.com", name="n")
    refused(det_errors.EnterpriseOnlyError, of.remove_oauth_client, client_id="1")

admin.logout()
client.logout()
refused(errors.UnauthenticatedException, admin.list_users)
if left:
    sys.exit("not called: " + ", ".join(sorted(left)))
print("\n".join(sorted(bound)))
