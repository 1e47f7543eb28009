"""The calls with which exporters of other trackers bring a run to MLflow: found by its name, else created, then filled in one go.

It prints what the server has afterwards. Somebody runs it twice, and the second time must add nothing.
"""

import json
import os
import sys
import tempfile

import mlflow
from mlflow import MlflowClient
from mlflow.entities import Metric

mlflow.set_tracking_uri(sys.argv[1])
client = MlflowClient()
name = "an organisation/a project/an experiment"
found = mlflow.get_experiment_by_name(name)
experiment = found.experiment_id if found else mlflow.create_experiment(name)
runs = mlflow.search_runs(
    experiment_ids=[experiment], filter_string="attributes.run_name = 'RUN-17'", output_format="list", max_results=1
)
if runs:
    run = runs[0].info.run_id
else:
    with mlflow.start_run(experiment_id=experiment, run_name="RUN-17") as made:
        run = made.info.run_id
with mlflow.start_run(run_id=run):
    mlflow.log_params({f"sys/config {i}": str(i / 3) for i in range(250)})
    for series in ("train/loss", "monitoring/cpu"):
        points = [Metric(key=series, value=1 / (i + 1), step=i * 1000, timestamp=1_700_000_000_000 + i * 500) for i in range(2500)]
        client.log_batch(run_id=run, metrics=points)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.bin")
        with open(path, "wb") as f:
            f.write(bytes(1000))
        mlflow.log_artifact(path, artifact_path="artifacts/best model")
    mlflow.log_text("1; a\n2; b", artifact_file="monitoring/stdout/series.txt", run_id=run)
got = client.get_run(run)
print(json.dumps([
    "the run", len(mlflow.search_runs([experiment], output_format="list")), len(got.data.params), got.data.metrics, got.info.status,
    len(client.get_metric_history(run, "train/loss")), sorted(f.path for f in client.list_artifacts(run)),
    [f.path for f in client.list_artifacts(run, "artifacts/best model")],
]))
