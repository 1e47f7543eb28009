"""Trains until the keys to its checkpoints have been replaced often enough, and somebody says so."""

import json
import os
import time
import urllib.request

import boto3
from determined import core

WANTED = int(os.environ["KEYS"])
LABEL = os.environ.get("LABEL")
seen = []


def enough():
    """Return whether the experiment has the label by which it is told to end."""
    if not LABEL:
        return True
    request = urllib.request.Request(
        f"{os.environ['DET_MASTER']}/api/v1/experiments/{os.environ['DET_EXPERIMENT_ID']}",
        headers={"Authorization": f"Bearer {os.environ['DET_USER_TOKEN']}"},
    )
    with urllib.request.urlopen(request) as answer:
        return LABEL in json.load(answer)["experiment"]["labels"]


# The unmodified package would look for TensorFlow or PyTorch to write event files with.
with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as context:
    step = 0
    deadline = time.monotonic() + 600
    while len(seen) < WANTED or not enough():
        if time.monotonic() > deadline:
            raise SystemExit(f"{len(seen)} keys were seen, and nobody said that this is enough")
        step += 1
        context.train.report_training_metrics(steps_completed=step, metrics={"loss": 1 / step})
        with context.checkpoint.store_path({"steps_completed": step}) as (path, _):
            (path / "weights").write_text(str(step))
        key = boto3.session.Session().get_credentials().get_frozen_credentials().access_key
        if key not in seen:
            seen.append(key)
            print(f"key number {len(seen)} at step {step}", flush=True)
        time.sleep(0.5)
    context.train.report_validation_metrics(steps_completed=step, metrics={"loss": 1 / step})
    print(f"went through {len(seen)} keys in {step} steps")
