"""Stores four checkpoints with losses 3, 1, 2 and 4, and a file for TensorBoard."""

from determined import core

with core.init() as context:
    for steps, loss in enumerate([3.0, 1.0, 2.0, 4.0], start=1):
        context.train.report_validation_metrics(steps_completed=steps, metrics={"loss": loss})
        with context.checkpoint.store_path({"steps_completed": steps}) as (path, uuid):
            (path / "model.bin").write_bytes(b"m" * 1000)
            (path / "sub").mkdir()
            (path / "sub" / "optimizer.bin").write_bytes(b"o" * 500)
            (path / "sub" / "state.txt").write_text("state")
        print("stored", uuid)
    (context.train.get_tensorboard_path() / "events.out.tfevents.1").write_bytes(b"e" * 100)
