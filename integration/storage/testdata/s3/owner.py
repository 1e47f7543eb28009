"""Stores a checkpoint, and says where it is."""

import os

from determined import core

with core.init() as context:
    with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
        (path / "weights").write_bytes(b"the weights of somebody " * 1000)
        (path / "deep").mkdir()
        (path / "deep" / "state").write_text(os.environ["DET_USER"])
    context.train.report_validation_metrics(steps_completed=1, metrics={"loss": 0.5})
    print("stored", uuid)
