"""Writes the offline run of the tests with W&B's own client: python3 make.py FOLDER, with the package wandb 0.31.
The result is FOLDER/wandb/offline-run-*/run-shapes01.wandb."""

import os
import sys

os.environ["WANDB_MODE"] = "offline"
os.environ["WANDB_DISABLE_GIT"] = "true"

import wandb  # noqa: E402  the variables come first

quiet = wandb.Settings(
    x_disable_stats=True, x_disable_meta=True, console="off", disable_git=True, save_code=False, host="laptop"
)
run = wandb.init(
    project="shapes", entity="vision", name="small-net", group="first", id="shapes01", job_type="train", tags=["a", "b"],
    notes="as in the paper", config={"lr": 0.01, "net": {"width": 32, "act": "relu"}, "layers": [1, 2]},
    dir=sys.argv[1], settings=quiet,
)
for step in range(1, 41):
    logged = {"loss": 1 / step, "text": "x"}
    if step % 2 == 0:
        logged["val/accuracy"] = step / 40
    run.log(logged)
run.log({"nan": float("nan"), "inf": float("inf"), "histogram": wandb.Histogram([1, 2, 3]), "flag": True, "count": 3,
         "nest": {"a": 1.5, "b": {"c": 2}}}, step=50)
run.log({"long": "y" * 40_000}, step=51)  # a record in several blocks
run.log({"loss": 0.5}, step=52)
run.config.update({"seed": 7})
run.summary["best"] = 0.5
run.finish()
