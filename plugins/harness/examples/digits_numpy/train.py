"""Trains the digits network: the Core API in one loop.

On a cluster it is an experiment (``det experiment create digits.yaml .``), and everything comes
from its configuration. Off the cluster the same file runs as it is: ``python3 train.py``.
"""

import os

# One thread per trial: the network is small, and sums in one order make a run repeatable.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import logging

import model

import determined as det
from determined import core

# The settings of digits.yaml, for runs outside a cluster.
DEFAULTS = {
    "hyperparameters": {
        "learning_rate": 0.015,
        "momentum": 0.5,
        "hidden_size": 256,
        "global_batch_size": 128,
    },
    "searcher": {"max_length": {"batches": 10000}},
    "scheduling_unit": 100,
    "min_validation_period": {"batches": 500},
    "min_checkpoint_period": {"batches": 2500},
}


def in_batches(length, batch_size, records_per_epoch):
    """Turn a length of the configuration (a number, or one with a unit) into batches."""
    if not isinstance(length, dict):
        return int(length or 0)
    unit, count = next(iter(length.items()), ("batches", 0))
    if unit == "epochs":
        count *= records_per_epoch
    return count if unit == "batches" else -(-count // batch_size)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batches", type=int, help="train for so many batches")
    parser.add_argument("--checkpoints", help="where checkpoints go off the cluster")
    parser.add_argument("--resume", help="the checkpoint to go on from, off the cluster")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)

    info = det.get_cluster_info()
    if info is not None:
        config, hparams = info.trial._config, info.trial.hparams
        seed, latest = info.trial.trial_seed, info.latest_checkpoint
    else:
        config, hparams = DEFAULTS, DEFAULTS["hyperparameters"]
        seed, latest = 1, arguments.resume
    storage = arguments.checkpoints if info is None else None
    with core.init(checkpoint_storage=storage) as core_context:
        train(core_context, config, hparams, seed, latest, arguments.batches)


def train(core_context, config, hparams, seed, latest, batches=None):
    """Train up to the configured length, from the latest checkpoint if there is one."""
    pictures, labels = model.load("train")
    test = model.load("test")
    batch_size = hparams["global_batch_size"]

    def period(name, default=0):
        return in_batches(config.get(name) or default, batch_size, len(pictures))

    length = batches or in_batches(config["searcher"]["max_length"], batch_size, len(pictures))
    unit = period("scheduling_unit", 100)
    validate_every = period("min_validation_period") or length
    save_every = period("min_checkpoint_period") or length

    network = model.Network(
        hparams["hidden_size"], hparams["learning_rate"], hparams["momentum"], seed
    )
    saved_at = None
    if latest is not None:
        with core_context.checkpoint.restore_path(latest) as path:
            network.load(path)
        saved_at = network.batches
        logging.info("continuing from checkpoint %s at batch %d", latest, network.batches)

    def save():
        nonlocal saved_at
        if saved_at == network.batches:
            return
        metadata = {"steps_completed": network.batches}
        with core_context.checkpoint.store_path(metadata) as (path, _):
            network.save(path)
        saved_at = network.batches

    def due(before, every):
        """Return whether training passed a multiple of every after batch before, or ended."""
        return network.batches == length or network.batches // every > before // every

    core_context.train.set_status("training")
    while network.batches < length:
        before = network.batches
        # To the next multiple, so that a resumed run reports at the same steps.
        until = min(length, (before // unit + 1) * unit)
        scores = []
        while network.batches < until:
            scores.append(network.train_batch(pictures, labels, batch_size))
        loss, accuracy = (sum(column) / len(column) for column in zip(*scores))
        core_context.train.report_training_metrics(
            network.batches, {"loss": loss, "accuracy": accuracy}
        )
        core_context.train.report_progress(network.batches / length)
        if due(before, validate_every):
            loss, accuracy = network.evaluate(*test)
            core_context.train.report_validation_metrics(
                network.batches, {"validation_loss": loss, "validation_accuracy": accuracy}
            )
        if due(before, save_every):
            save()
        if network.batches < length and core_context.preempt.should_preempt():
            save()
            logging.info("stopping at batch %d; the trial resumes later", network.batches)
            return
    core_context.train.set_status("done")


if __name__ == "__main__":
    main()
