"""Trains on records that are computed once per node, and resumes within an epoch."""

import json
import logging

import numpy as np
import waves

import determined as det
from determined import core, data

DEFAULTS = {"global_batch_size": 32, "learning_rate": 0.3, "epochs": 8}
REPORT_EVERY = 20


def main(core_context, hparams, seed, latest):
    store = data.Store()
    with store.open("waves", "1", lambda: waves.make(2000, seed=1)) as training, store.open(
        "waves for validation", "1", lambda: waves.make(400, seed=2)
    ) as validation:
        stream = training.stream(shuffle=True, shuffle_seed=seed)
        train(core_context, hparams, waves.Network(seed), stream, validation, latest)


def train(core_context, hparams, network, stream, validation, latest):
    steps = 0
    if latest is not None:
        with core_context.checkpoint.restore_path(latest) as path:
            state = json.loads((path / "state.json").read_text())
            steps = state["steps"]
            stream.load_state_dict(state["data"])
            network.weights = dict(np.load(path / "network.npz"))

    def save():
        with core_context.checkpoint.store_path({"steps_completed": steps}) as (path, _):
            state = {"steps": steps, "data": stream.state_dict()}
            (path / "state.json").write_text(json.dumps(state))
            np.savez(path / "network.npz", **network.weights)

    while stream.epoch < hparams["epochs"]:
        for records in stream.batches(hparams["global_batch_size"]):
            loss = network.train(*waves.stack(records), hparams["learning_rate"])
            steps += 1
            if steps % REPORT_EVERY == 0:
                core_context.train.report_training_metrics(steps, {"loss": loss})
                if core_context.preempt.should_preempt():
                    save()
                    logging.info("stopping in epoch %d; the trial resumes later", stream.epoch)
                    return
        accuracy = network.accuracy(*waves.stack(list(validation)))
        core_context.train.report_validation_metrics(steps, {"accuracy": accuracy})
        core_context.train.report_progress(stream.epoch / hparams["epochs"])
    save()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    info = det.get_cluster_info()
    with core.init() as context:
        if info is None:
            main(context, DEFAULTS, seed=1, latest=None)
        else:
            main(context, info.trial.hparams, info.trial.trial_seed, info.latest_checkpoint)
