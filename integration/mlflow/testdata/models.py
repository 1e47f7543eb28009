"""Models by MLflow's own client: what runs log, the registry, aliases, stages, and what autologging does. It fails at the first difference."""

import sys
import warnings

warnings.filterwarnings("ignore")

import mlflow
import numpy
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

uri, prefix = sys.argv[1], sys.argv[2]
mlflow.set_tracking_uri(uri)
client = MlflowClient(uri)
experiment = mlflow.set_experiment("models of " + prefix).experiment_id


def same(got, want):
    assert got == want, f"{got!r}, want {want!r}"


def failing(code, call):
    try:
        call()
    except MlflowException as err:
        same(err.error_code, code)
    else:
        raise AssertionError("no error")


from sklearn.linear_model import LinearRegression

x = numpy.arange(20).reshape(10, 2).astype(float)
y = x.sum(axis=1)
name = f"{prefix} line"

# A model that a run logs.
with mlflow.start_run() as run:
    fitted = LinearRegression().fit(x, y)
    info = mlflow.sklearn.log_model(fitted, name="line", registered_model_name=name, params={"depth": 3}, tags={"team": "a"}, pip_requirements=["scikit-learn"])
    mlflow.log_metric("loss", 0.25, step=3, model_id=info.model_id)
logged = mlflow.get_logged_model(info.model_id)
same([logged.name, str(logged.status), logged.source_run_id, logged.params["depth"], logged.tags["team"]], ["line", "READY", run.info.run_id, "3", "a"])
same([m.model_id for m in client.get_run(run.info.run_id).outputs.model_outputs], [info.model_id])
same({m.key: m.value for m in logged.metrics}["loss"], 0.25)
for where in [info.model_uri, f"runs:/{run.info.run_id}/line", f"models:/{name}/1", f"models:/{name}/latest"]:
    same(mlflow.sklearn.load_model(where).predict(x).round(3).tolist(), y.tolist())
files = [f.path for f in client.list_logged_model_artifacts(info.model_id)]
assert "MLmodel" in files, files
same([m.model_id for m in mlflow.search_logged_models([experiment], output_format="list")], [info.model_id])
for text, found in [("name = 'line'", 1), ("name = 'other'", 0), ("params.depth = '3'", 1), ("tags.team = 'b'", 0), ("metrics.loss < 1", 1), ("metrics.loss > 1", 0),
                    (f"source_run_id = '{run.info.run_id}'", 1), ("name LIKE 'li%' AND tags.team = 'a'", 1)]:
    same([text, len(client.search_logged_models([experiment], filter_string=text))], [text, found])
client.set_logged_model_tags(info.model_id, {"team": "b", "note": "x"})
client.delete_logged_model_tag(info.model_id, "note")
same({k: v for k, v in client.get_logged_model(info.model_id).tags.items() if not k.startswith("mlflow.")}, {"team": "b"})
failing("RESOURCE_DOES_NOT_EXIST", lambda: client.get_logged_model("m-" + "0" * 32))

# Metrics of a single model, also by data set.
with mlflow.start_run() as several:
    models = [client.create_logged_model(experiment, name=f"try {i}", source_run_id=several.info.run_id) for i in range(2)]
    for i, model in enumerate(models):
        for step in range(2):
            client.log_metric(several.info.run_id, "score", i + step / 4, step=step, model_id=model.model_id, timestamp=1_700_000_000_000 + 10 * i + step)
    client.log_metric(several.info.run_id, "score", 7, step=9, model_id=models[0].model_id, timestamp=1_700_000_000_100, dataset_name="test", dataset_digest="abc")
found = client.get_logged_model(models[1].model_id).metrics
same(max((m.step, m.value, m.run_id, m.model_id) for m in found if m.key == "score"), (1, 1.25, several.info.run_id, models[1].model_id))
ids = {m.model_id: i for i, m in enumerate(models)}


def tried(**args):
    return [ids[m.model_id] for m in client.search_logged_models([experiment], filter_string=args.pop("filter", "name LIKE 'try%'"), **args)]


same(tried(order_by=[{"field_name": "metrics.score", "ascending": True}]), [1, 0])
same(tried(order_by=[{"field_name": "metrics.score", "ascending": False}]), [0, 1])
same(tried(filter="name LIKE 'try%' AND metrics.score > 6"), [0])
same(tried(datasets=[{"dataset_name": "test", "dataset_digest": "abc"}]), [0])
same(tried(datasets=[{"dataset_name": "test", "dataset_digest": "other"}]), [])
same(tried(filter="metrics.score < 6", datasets=[{"dataset_name": "test"}]), [])

# The registry.
same([v.version for v in client.search_model_versions(f"name = '{name}'")], ["1"])
first = client.get_model_version(name, "1")
same([first.status, first.current_stage, first.run_id], ["READY", "None", run.info.run_id])
with mlflow.start_run() as second:
    again = mlflow.sklearn.log_model(LinearRegression().fit(x, 2 * y), name="line", pip_requirements=["scikit-learn"])
version = mlflow.register_model(f"runs:/{second.info.run_id}/line", name, tags={"kind": "double"})
same([version.version, version.run_id, version.tags], ["2", second.info.run_id, {"kind": "double"}])
client.set_registered_model_alias(name, "champion", "1")
client.set_registered_model_alias(name, "challenger", 2)
same(client.get_model_version_by_alias(name, "champion").version, "1")
same(sorted(client.get_registered_model(name).aliases.items()), [("challenger", "2"), ("champion", "1")])
same(client.get_model_version(name, "1").aliases, ["champion"])
same(mlflow.sklearn.load_model(f"models:/{name}@challenger").predict(x).round(3).tolist(), (2 * y).tolist())
client.set_registered_model_alias(name, "champion", "2")
same(client.get_model_version_by_alias(name, "champion").version, "2")
client.delete_registered_model_alias(name, "challenger")
failing("INVALID_PARAMETER_VALUE", lambda: client.get_model_version_by_alias(name, "challenger"))
client.update_registered_model(name, "draws lines")
client.set_registered_model_tag(name, "team", "a")
client.set_registered_model_tag(name, "gone", "a")
client.delete_registered_model_tag(name, "gone")
model = client.get_registered_model(name)
same([model.description, model.tags], ["draws lines", {"team": "a"}])
client.update_model_version(name, "1", "the first")
client.set_model_version_tag(name, "1", "checked", "yes")
first = client.get_model_version(name, "1")
same([first.description, first.tags], ["the first", {"checked": "yes", "team": "a"}])
client.delete_model_version_tag(name, "1", "checked")
client.transition_model_version_stage(name, "1", "Production")
client.transition_model_version_stage(name, "2", "Production", archive_existing_versions=True)
same([client.get_model_version(name, v).current_stage for v in "12"], ["Archived", "Production"])
same(sorted((v.current_stage, v.version) for v in client.get_latest_versions(name)), [("Archived", "1"), ("Production", "2")])
same([v.version for v in client.get_latest_versions(name, ["Production"])], ["2"])
assert client.get_model_version_download_uri(name, "1").startswith("mlflow-artifacts:/")
same([m.name for m in client.search_registered_models(f"name = '{name}'")], [name])
same([m.name for m in client.search_registered_models("tags.team = 'a'") if m.name.startswith(prefix)], [name])
same([v.version for v in client.search_model_versions(f"name = '{name}'", order_by=["version_number ASC"])], ["1", "2"])
same([v.version for v in client.search_model_versions(f"run_id = '{second.info.run_id}'")], ["2"])
failing("RESOURCE_ALREADY_EXISTS", lambda: client.create_registered_model(name))
failing("RESOURCE_DOES_NOT_EXIST", lambda: client.get_registered_model(name + " 3"))
failing("RESOURCE_DOES_NOT_EXIST", lambda: client.get_model_version(name, "7"))
if len(sys.argv) > 3:  # MLflow's server accepts it
    failing("INVALID_PARAMETER_VALUE", lambda: client.create_model_version(name, "s3://elsewhere/model"))
client.rename_registered_model(name, name + " 2")
same([v.version for v in client.search_model_versions(f"name = '{name} 2'", order_by=["version_number ASC"])], ["1", "2"])
client.rename_registered_model(name + " 2", name)

# Files of a run as a version.
with mlflow.start_run() as third:
    mlflow.log_text("weights", "weights/a.txt")
plain = client.create_registered_model(f"{prefix} plain", {"x": "1"}, "of files").name
made = client.create_model_version(plain, third.info.artifact_uri + "/weights", third.info.run_id)
back = mlflow.artifacts.download_artifacts(f"models:/{plain}/{made.version}")
with open(back + "/a.txt") as f:
    same(f.read(), "weights")
client.delete_model_version(plain, made.version)
failing("RESOURCE_DOES_NOT_EXIST", lambda: client.get_model_version(plain, made.version))
client.delete_registered_model(plain)

# A model without a run.
outside = mlflow.sklearn.log_model(fitted, name="alone", pip_requirements=["scikit-learn"])
same(mlflow.sklearn.load_model(outside.model_uri).predict(x).round(3).tolist(), y.tolist())
client.delete_logged_model(outside.model_id)
failing("RESOURCE_DOES_NOT_EXIST", lambda: client.get_logged_model(outside.model_id))

# Autologging.
# Which packages a model needs, the client finds out by loading it in another process, for seconds; the server only stores the list.
mlflow.models.infer_pip_requirements = lambda *args, fallback, **more: fallback
mlflow.sklearn.autolog(silent=True)
with mlflow.start_run() as automatic:
    LinearRegression().fit(x, y)
mlflow.sklearn.autolog(disable=True)
found = client.get_run(automatic.info.run_id)
assert "training_r2_score" in found.data.metrics and "fit_intercept" in found.data.params, found.data
same(len(found.outputs.model_outputs), 1)
import xgboost

mlflow.xgboost.autolog(silent=True)
with mlflow.start_run() as boosted:
    data = xgboost.DMatrix(x, y)
    xgboost.train({"max_depth": 2}, data, num_boost_round=5, evals=[(data, "train")], verbose_eval=False)
mlflow.xgboost.autolog(disable=True)
found = client.get_run(boosted.info.run_id)
same(len(client.get_metric_history(boosted.info.run_id, "train-rmse")), 5)
same(len(found.outputs.model_outputs), 1)
mlflow.xgboost.load_model(f"models:/{found.outputs.model_outputs[0].model_id}")

if len(sys.argv) > 3:  # a version that another client has registered, and its file
    path = mlflow.artifacts.download_artifacts(f"models:/{sys.argv[3]}/1")
    with open(path + "/weights.bin") as f:
        same(f.read(), "native")
    native = client.get_registered_model(sys.argv[3])
    same([native.tags, native.latest_versions[0].version], [{"from": "det"}, "1"])
print("model", name)
