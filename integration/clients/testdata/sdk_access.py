"""Calls the SDK as each user, and prints which calls are allowed: a line of JSON."""

import json
import os
import sys
import tempfile

from determined.common.api import errors
from determined.experimental import Determined

CONFIG = {
    "name": "made",
    "entrypoint": "true",
    "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 1}},
    "max_restarts": 0,
}


def calls(d, it):
    exp = lambda: d.get_experiment(it["experiment"])
    trial = lambda: d.get_trial(it["trial"])
    checkpoint = lambda: d.get_checkpoint(it["checkpoint"])
    model = lambda: d.get_model(it["model"])
    space = lambda: d.get_workspace(it["workspace"])

    def twice(thing, first, second):
        getattr(thing, first)()
        getattr(thing, second)()

    def downloaded(mode):
        with tempfile.TemporaryDirectory() as into:
            checkpoint().download(os.path.join(into, "there"), mode=mode)

    def version():
        found = model().get_version()
        if found is None:
            raise AssertionError("the model has no version")
        return found

    created = []

    def create():
        created.append(d.create_experiment(dict(CONFIG, workspace=it["workspace"], project=it["project"])))

    # Each returns nothing, or whether a list has the object.
    return {
        "list_experiments": lambda: it["experiment"] in [e.id for e in d.list_experiments()],
        "get_experiment": lambda: exp() and None,
        "Experiment.list_trials": lambda: exp().list_trials() and None,
        "Experiment.list_checkpoints": lambda: exp().list_checkpoints() and None,
        "Experiment.download_code": lambda: exp().download_code(tempfile.mkdtemp()) and None,
        "Experiment.set_description": lambda: exp().set_description("x"),
        "Experiment.add_label": lambda: exp().add_label("x"),
        "Experiment.archive, unarchive": lambda: twice(exp(), "archive", "unarchive"),
        "get_trial": lambda: trial() and None,
        "Trial.iter_logs": lambda: list(trial().iter_logs()) and None,
        "Trial.iter_logs(follow)": lambda: list(trial().iter_logs(follow=True)) and None,
        "Trial.iter_metrics": lambda: list(trial().iter_metrics("validation")) and None,
        "stream_trials_metrics": lambda: list(d.stream_trials_metrics([it["trial"]], "training")) and None,
        "Trial.list_checkpoints": lambda: trial().list_checkpoints() and None,
        "get_checkpoint": lambda: checkpoint() and None,
        "Checkpoint.get_metrics": lambda: list(checkpoint().get_metrics()) and None,
        "Checkpoint.add_metadata": lambda: checkpoint().add_metadata({"by": "somebody"}),
        "list_models": lambda: it["model"] in [m.name for m in d.list_models()],
        "get_model": lambda: model() and None,
        "Model.get_version": lambda: version() and None,
        "Model.set_description": lambda: model().set_description("x"),
        "Model.register_version": lambda: model().register_version(it["checkpoint"]) and None,
        "ModelVersion.set_notes": lambda: version().set_notes("x"),
        "list_workspaces": lambda: it["workspace"] in [w.name for w in d.list_workspaces()],
        "get_workspace": lambda: space() and None,
        "Workspace.list_projects": lambda: it["project"] in [p.name for p in space().list_projects()],
        "Workspace.get_project": lambda: space().get_project(it["project"]) and None,
        "Workspace.create_project": lambda: space().create_project(f"p-{d.get_session_username()}") and None,
        "Project.set_description": lambda: space().get_project(it["project"]).set_description("x"),
        "create_experiment": create,
        "Experiment.kill of one's own": lambda: created[0].kill() if created else False,
        "create_workspace": lambda: d.create_workspace(f"w-{d.get_session_username()}") and None,
        "create_user": lambda: d.create_user(f"u-{d.get_session_username()}", admin=False, password="a long password") and None,
        "list_users": lambda: "owner" in [u.username for u in d.list_users()],
    }


def cell(call):
    try:
        return "-" if call() is False else "y"
    except errors.NotFoundException:
        return "-"
    except errors.ForbiddenException:
        return "n"
    except errors.APIException as err:
        if err.status_code in (403, 404):
            return "n" if err.status_code == 403 else "-"
        return f"?{err.status_code} {err.message}"
    except errors.StreamException as err:
        return "-" if err.status_code == 404 else "n" if err.status_code == 403 else f"?{err}"


given = json.load(sys.stdin)
table = {}
for user in given["users"]:
    d = Determined(given["master"], user=user, password="")
    for name, call in calls(d, given["objects"]).items():
        table.setdefault(name, {})[user] = cell(call)
print(json.dumps(table))
