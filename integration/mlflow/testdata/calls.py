"""The calls of MLflow's own client to a tracking server, and what they answer, one line for each.

Both servers get the same calls; the test compares the lines. Numbers of runs and experiments, times and addresses, which servers
choose, are replaced by words.
"""

import json
import math
import sys
import tempfile
import time
import uuid

import mlflow
from mlflow import MlflowClient
from mlflow.entities import Metric, Param, RunTag, ViewType

uri, prefix = sys.argv[1], sys.argv[2]
mlflow.set_tracking_uri(uri)
client = MlflowClient(uri)
known = {}


def word(value, kind):
    of_kind = known.setdefault(kind, {})
    return of_kind.setdefault(value, f"{kind} {len(of_kind) + 1}")


def shown(value):
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(k): shown(v) for k, v in sorted(value.items())}
    if isinstance(value, (list, tuple)):
        return [shown(v) for v in value]
    return value


def say(what, value):
    print(json.dumps([what, shown(value)], sort_keys=True))


def failing(what, call):
    try:
        call()
    except mlflow.MlflowException as err:
        say(what, err.error_code)
    else:
        say(what, "no error")


def run_of(run):
    git = ("mlflow.source.git.branch", "mlflow.source.git.commit")
    tags = {k: v for k, v in run.data.tags.items() if k not in git}
    return {
        "run": word(run.info.run_id, "run"),
        "experiment": word(run.info.experiment_id, "experiment"),
        "status": run.info.status,
        "named": run.info.run_name == tags.pop("mlflow.runName"),
        "stage": run.info.lifecycle_stage,
        "ended": run.info.end_time is not None,
        "metrics": run.data.metrics,
        "params": run.data.params,
        "tags": tags,
        "inputs": [[i.dataset.name, i.dataset.digest] for i in run.inputs.dataset_inputs],
    }


# Experiments.
name = f"{prefix} birds"
say("no such experiment", client.get_experiment_by_name(name))
birds = client.create_experiment(name, tags={"team": "a"})
word(birds, "experiment")
failing("the same name", lambda: client.create_experiment(name))
failing("no experiment", lambda: client.get_experiment("99999999"))
experiment = client.get_experiment(birds)
say("experiment", [experiment.name == name, experiment.lifecycle_stage, experiment.tags])
client.set_experiment_tag(birds, "note", "x")
say("tags", client.get_experiment_by_name(name).tags)
client.delete_experiment_tag(birds, "note")
say("tags again", client.get_experiment_by_name(name).tags)
say("search experiments", [e.name == name for e in client.search_experiments(filter_string=f"name = '{name}'")])
say("search by tag", [e.name == name for e in client.search_experiments(filter_string=f"tags.team = 'a' AND name LIKE '{prefix}%'")])

# A run by the fluent interface.
mlflow.set_experiment(experiment_id=birds)
with mlflow.start_run(run_name="first") as run:
    first = run.info.run_id
    mlflow.log_param("lr", 0.01)
    mlflow.log_params({"model": "mlp", "layers": [1, 2], "none": None, "on": True})
    mlflow.set_tag("kind", "test")
    mlflow.set_tags({"a": 1, "b": "two"})
    for step in range(5):
        mlflow.log_metric("loss", 1 / (step + 1), step=step)
        mlflow.log_metrics({"accuracy": step / 5, "precision/top": 0.5}, step=step)
    mlflow.log_metric("nan", float("nan"), step=1)
    for value in (3.0, 2.0, 1.0):
        mlflow.log_metric("unstepped", value)
        time.sleep(0.005)
    say("active", run_of(client.get_run(first)))
    failing("another value of a parameter", lambda: mlflow.log_param("lr", 0.02))
    mlflow.log_param("lr", 0.01)
say("finished", run_of(client.get_run(first)))
client.log_metric(first, "inf", float("inf"), step=1)
say("an infinite value", client.get_run(first).data.metrics["inf"])
say("history", sorted([m.step, m.value] for m in client.get_metric_history(first, "loss")))
say("history without steps", [[m.step, m.value] for m in client.get_metric_history(first, "unstepped")][0])
say("values without steps", sorted(m.value for m in client.get_metric_history(first, "unstepped")))
say("no history", client.get_metric_history(first, "nothing"))

# A run that fails, and one by the client's own calls.
try:
    with mlflow.start_run(run_name="broken") as run:
        failed = run.info.run_id
        mlflow.log_metric("loss", 5.0, step=1)
        raise ValueError("broken")
except ValueError:
    pass
say("failed", client.get_run(failed).info.status)

bare = client.create_run(birds, tags={"mlflow.user": "somebody"}, run_name="bare").info.run_id
now = int(time.time() * 1000)
client.log_batch(
    bare,
    metrics=[Metric("loss", 10.0 - i, now + i, i) for i in range(10)] + [Metric("x", 1.5, now, 3)],
    params=[Param("lr", "0.1"), Param("depth", "7")],
    tags=[RunTag("a", "3")],
)
say("batch", {k: v for k, v in run_of(client.get_run(bare)).items() if k not in ("tags",)})
say("latest", client.get_run(bare).data.metrics["loss"])
client.log_metric(bare, "loss", 0.5, timestamp=now + 100, step=9)
say("a second value of a step", client.get_run(bare).data.metrics["loss"])
client.set_tag(bare, "late", "yes")
client.delete_tag(bare, "late")
say("tags of a run", "late" in client.get_run(bare).data.tags)
failing("no such tag", lambda: client.delete_tag(bare, "late"))
client.update_run(bare, status="FINISHED", name="renamed")
say("renamed", [client.get_run(bare).info.run_name, client.get_run(bare).info.status])
client.set_terminated(bare, status="KILLED")
say("killed", client.get_run(bare).info.status)

# Continue a run, and a nested one.
with mlflow.start_run(run_id=first):
    mlflow.log_metric("loss", 0.05, step=7)
    say("runs again", client.get_run(first).info.status)
    with mlflow.start_run(nested=True, run_name="child") as child:
        mlflow.log_metric("loss", 0.3, step=0)
say("parent", client.get_run(child.info.run_id).data.tags["mlflow.parentRunId"] == first)

# Data sets.
import numpy
data = mlflow.data.from_numpy(numpy.zeros((3, 2)), source="nowhere.csv", name="zeros")
with mlflow.start_run(run_id=bare):
    mlflow.log_input(data, context="training")
    mlflow.log_input(data, context="training")
say("data sets", run_of(client.get_run(bare))["inputs"])

# Searches.
def search(filter="", order=None, view=ViewType.ACTIVE_ONLY, most=100):
    runs = client.search_runs([birds], filter, view, most, order)
    return [word(r.info.run_id, "run") for r in runs]


for text in [
    "", "metrics.loss < 1", "metrics.loss >= 5", "metrics.`precision/top` = 0.5", "params.lr = '0.01'", "params.lr != '0.01'", "params.model LIKE 'm%'",
    "params.model ILIKE 'M%'", "tags.kind = 'test'", "tag.a = '3'", "attributes.status = 'FINISHED'", "status = 'FAILED'", "run_name = 'renamed'",
    "attributes.run_name LIKE '%i%'", "tags.`mlflow.parentRunId` IS NULL", "params.depth IS NOT NULL", "metrics.loss < 1 AND params.lr = '0.01'",
    "start_time > 0", "end_time > {later}", "metrics.nothing > 0", "run_id IN ('{first}', '{bare}')", "attributes.run_id = '{first}'",
    "dataset.name = 'zeros'", "datasets.name = 'ones'",
]:
    say("search " + text, sorted(search(text.format(first=first, bare=bare, later=now * 10))))
for order in [["metrics.loss ASC"], ["metrics.loss DESC"], ["params.lr"], ["attributes.run_name DESC"], ["start_time ASC"], ["tags.a DESC", "start_time"]]:
    say("order " + str(order), search(order=order))
for text in ["metrics.loss", "metrics.loss = 'a'", "params.lr = 1", "nothing.x = 1", "metrics.loss < 1 OR metrics.loss > 2", "attributes.nothing = 'a'"]:
    failing("wrong " + text, lambda: search(text))
pages, token = [], None
while True:
    page = client.search_runs([birds], order_by=["start_time ASC"], max_results=2, page_token=token)
    pages.append([word(r.info.run_id, "run") for r in page])
    token = page.token
    if not token:
        break
say("pages", pages)

# Deletion.
client.delete_run(failed)
say("deleted run", client.get_run(failed).info.lifecycle_stage)
say("without it", search())
say("deleted ones", search(view=ViewType.DELETED_ONLY))
client.restore_run(failed)
say("restored", client.get_run(failed).info.lifecycle_stage)
failing("no such run", lambda: client.get_run(uuid.uuid4().hex))
failing("no such run to log to", lambda: client.log_metric("4294967296", "a", 1))
failing("a metric without a name", lambda: client.log_metric(bare, "", 1))
client.log_batch(bare, params=[Param(f"p{i}", "1") for i in range(101)])
say("many parameters", len(client.get_run(bare).data.params))
client.rename_experiment(birds, name + " 2")
say("renamed experiment", client.get_experiment(birds).name == name + " 2")
client.delete_experiment(birds)
say("deleted experiment", client.get_experiment(birds).lifecycle_stage)
failing("a run in it", lambda: client.create_run(birds))
client.restore_experiment(birds)
say("restored experiment", client.get_experiment(birds).lifecycle_stage)
