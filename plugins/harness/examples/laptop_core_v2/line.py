"""A training in plain Python that no cluster starts: it fits a line, and reports to the master."""

import json
import random

from determined.experimental import core_v2

STEPS, SAVE = 100, 20


def config(experiment, trial, learning_rate):
    """Name the experiment and the trial; a program that uses the same names continues the trial."""
    return core_v2.Config(
        name="laptop",
        hparams={"learning_rate": learning_rate},
        searcher={"name": "single", "metric": "loss"},
        external_experiment_id=experiment,
        external_trial_id=trial,
    )


def noisy_points():
    rng = random.Random(1)
    return [(x / 50, 3 * x / 50 + 1 + rng.gauss(0, 0.1)) for x in range(100)]


def loss_of(points, slope, offset):
    return sum((slope * x + offset - y) ** 2 for x, y in points) / len(points)


def train(core_context, stop_at=STEPS):
    """Fit the line from the latest checkpoint on, if the trial has one; return the loss."""
    points = noisy_points()
    slope, offset, step = 0.0, 0.0, 0
    info = core_context.info
    if info.latest_checkpoint is not None:
        with core_context.checkpoint.restore_path(info.latest_checkpoint) as path:
            slope, offset, step = json.loads((path / "state.json").read_text())
    print("training from step", step, flush=True)
    rate = info.trial.hparams["learning_rate"]
    while step < stop_at:
        errors = [slope * x + offset - y for x, y in points]
        slope -= rate * sum(e * x for e, (x, _) in zip(errors, points)) / len(points)
        offset -= rate * sum(errors) / len(points)
        step += 1
        if step % SAVE == 0:
            loss = loss_of(points, slope, offset)
            core_context.train.report_validation_metrics(step, {"loss": loss})
            core_context.train.report_progress(step / STEPS)
            with core_context.checkpoint.store_path({"steps_completed": step}) as (path, _):
                (path / "state.json").write_text(json.dumps([slope, offset, step]))
    return loss_of(points, slope, offset)
