"""A program of a trial that knows MLflow and nothing of Detent: its second attempt computes another value of a parameter."""

import os
import sys

import mlflow
from mlflow import MlflowClient

attempt = int(os.environ["DET_TRIAL_RUN_ID"])
trial, project = os.environ["DET_TRIAL_ID"], os.environ["MLFLOW_EXPERIMENT_ID"]

experiment = mlflow.set_experiment("whatever the author called it")
assert experiment.experiment_id == project, (experiment, project)
with mlflow.start_run(run_name="the author's name") as run:
    assert run.info.run_id == trial, (run.info.run_id, trial)
    mlflow.log_params({"output_dir": f"/tmp/{attempt}", "epochs": 3})
    mlflow.set_tag("attempt", attempt)
    for step in range(1, 4):
        mlflow.log_metrics({"train_loss": 1 / step, "error": attempt * 10 + step}, step=step)
    mlflow.log_metric("system/cpu", 50, step=1)
    with mlflow.start_run(nested=True, run_name="fold") as fold:
        assert fold.info.run_id != trial
        mlflow.log_metric("error", 7.0, step=1)
        mlflow.log_param("fold", 1)
    if attempt == 1:
        sys.stdout.flush()
        os._exit(1)
# A logger that creates its run itself, as Lightning's does.
client = MlflowClient()
own = client.create_run(client.create_experiment("lightning"), run_name="lightning")
assert own.info.run_id == trial, own.info
client.set_terminated(trial, status="FAILED")
assert client.get_run(trial).info.status == "RUNNING", client.get_run(trial).info
try:
    client.log_metric("1", "error", 1.0)  # somebody else's
except mlflow.MlflowException as err:
    assert err.error_code == "PERMISSION_DENIED", err
else:
    raise AssertionError("a trial's program reported about another run")
