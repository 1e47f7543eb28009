"""Classifies irises: a Core API script in pure Python that obeys its configuration.

It reads ``max_length`` through the searcher's operations, and ``scheduling_unit``,
``min_validation_period`` and ``min_checkpoint_period`` from the merged configuration, each in
batches, records or epochs. The data is in a folder that ``bind_mounts`` names, or beside this
file. Off the cluster: ``python3 train.py``.
"""

import argparse
import csv
import logging
import pathlib

from network import Network

import determined as det
from determined import core

SPECIES = ("setosa", "versicolor", "virginica")
FILE = "iris.csv"

# The settings of const.yaml, for runs outside a cluster.
DEFAULTS = {
    "hyperparameters": {
        "learning_rate": 1.0e-4,
        "learning_rate_decay": 1.0e-6,
        "layer1_dense_size": 16,
        "global_batch_size": 30,
    },
    "searcher": {"max_length": {"batches": 5000}},
    "scheduling_unit": 100,
    "min_validation_period": {"batches": 1000},
}


def find_data(config):
    """Return the data file: in a mounted folder, else beside this file."""
    here = pathlib.Path(__file__).parent
    mounted = [pathlib.Path(mount["container_path"]) for mount in config.get("bind_mounts") or []]
    for folder in [*mounted, here]:
        if (folder / FILE).exists():
            return folder / FILE
    raise FileNotFoundError(f"{FILE} is in none of: {', '.join(map(str, [*mounted, here]))}")


def load(path):
    """Return records and labels for training and for validation, a fifth of each species."""
    with path.open(newline="", encoding="ascii") as lines:
        rows = list(csv.reader(lines))[1:]
    numbers = [[float(value) for value in row[:4]] for row in rows]
    means = [sum(column) / len(column) for column in zip(*numbers)]
    spreads = [
        (sum((value - mean) ** 2 for value in column) / len(column)) ** 0.5
        for column, mean in zip(zip(*numbers), means)
    ]
    train, validation = ([], []), ([], [])
    for index, (record, row) in enumerate(zip(numbers, rows)):
        records, labels = validation if index % 5 == 4 else train
        records.append([(v - mean) / spread for v, mean, spread in zip(record, means, spreads)])
        labels.append(SPECIES.index(row[4]))
    return train, validation


def in_batches(count, unit, batch_size, records_per_epoch):
    """Turn a count of batches, records or epochs into batches."""
    if unit == "batches":
        return count
    if unit == "epochs":
        count *= records_per_epoch
    return max(1, -(-count // batch_size))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batches", type=int, help="train for so many batches off the cluster")
    parser.add_argument("--checkpoints", help="where checkpoints go off the cluster")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    info = det.get_cluster_info()
    if info is None:
        with core.init(checkpoint_storage=arguments.checkpoints) as core_context:
            trial = Trial(core_context, DEFAULTS, DEFAULTS["hyperparameters"], seed=1)
            trial.train_to(arguments.batches or trial.batches("max_length", DEFAULTS["searcher"]))
        return
    with core.init() as core_context:
        trial = Trial(core_context, info.trial._config, info.trial.hparams, info.trial.trial_seed)
        if info.latest_checkpoint is not None:
            trial.restore(info.latest_checkpoint)
        unit = core_context.searcher.get_configured_units()
        for operation in core_context.searcher.operations():
            unit_name = unit.value.lower() if unit is not None else "batches"
            accuracy = trial.train_to(trial.convert(operation.length, unit_name))
            if accuracy is None:
                return
            operation.report_completed(accuracy)


class Trial:
    """One training, with the periods that its configuration asks for."""

    def __init__(self, core_context, config, hparams, seed):
        self.core = core_context
        self.batch_size = hparams["global_batch_size"]
        self.train, self.validation = load(find_data(config))
        self.records_per_epoch = config.get("records_per_epoch") or len(self.train[0])
        self.unit = self.batches("scheduling_unit", config) or 100
        self.validate_every = self.batches("min_validation_period", config)
        self.save_every = self.batches("min_checkpoint_period", config)
        sizes = (4, hparams["layer1_dense_size"], len(SPECIES))
        self.network = Network(
            sizes, hparams["learning_rate"], hparams["learning_rate_decay"], seed
        )
        self.saved_at = None
        logging.info(
            "reporting every %d batches, validating every %s, saving every %s",
            self.unit,
            self.validate_every or "time training ends",
            self.save_every or "time training ends",
        )

    def batches(self, name, config):
        """Return a length of the configuration in batches; 0 where it is not set."""
        length = config.get(name) or 0
        if not isinstance(length, dict):
            return int(length)
        unit, count = next(iter(length.items()), ("batches", 0))
        return self.convert(count, unit) if count else 0

    def convert(self, count, unit):
        """Turn a count of batches, records or epochs into batches."""
        return in_batches(count, unit, self.batch_size, self.records_per_epoch)

    def restore(self, storage_id):
        """Continue from a checkpoint."""
        with self.core.checkpoint.restore_path(storage_id) as path:
            self.network.load(path / "network.json")
        self.saved_at = self.network.batches
        logging.info("continuing from checkpoint %s at batch %d", storage_id, self.network.batches)

    def save(self):
        """Store a checkpoint, unless one of this batch is stored already."""
        if self.saved_at == self.network.batches:
            return
        metadata = {"steps_completed": self.network.batches}
        with self.core.checkpoint.store_path(metadata) as (path, _):
            self.network.save(path / "network.json")
        self.saved_at = self.network.batches

    def train_to(self, length):
        """Train up to length batches; return the last accuracy, or None after a preemption."""
        network = self.network
        accuracy = None
        while network.batches < length:
            before = network.batches
            until = min(length, (before // self.unit + 1) * self.unit)
            self.train_unit(until)
            self.core.train.report_progress(network.batches / length)
            if self.due(before, self.validate_every, length):
                accuracy = self.validate()
            if self.due(before, self.save_every, length):
                self.save()
            if network.batches < length and self.core.preempt.should_preempt():
                self.save()
                logging.info("stopping at batch %d; the trial resumes later", network.batches)
                return None
        if accuracy is None:
            # The last run was stopped after its last batch: only the accuracy is missing.
            accuracy = network.evaluate(*self.validation)[1]
        return accuracy

    def due(self, before, every, length):
        """Return whether training passed a multiple of every, or its end."""
        now = self.network.batches
        return now == length or (every > 0 and now // every > before // every)

    def train_unit(self, until):
        """Train up to a batch, and report the average."""
        scores = []
        while self.network.batches < until:
            scores.append(self.network.train_batch(*self.train, self.batch_size))
        loss, accuracy = (sum(column) / len(column) for column in zip(*scores))
        self.core.train.report_training_metrics(
            until, {"loss": loss, "categorical_accuracy": accuracy}
        )

    def validate(self):
        """Validate, report, and return the accuracy."""
        loss, accuracy = self.network.evaluate(*self.validation)
        self.core.train.report_validation_metrics(
            self.network.batches, {"val_loss": loss, "val_categorical_accuracy": accuracy}
        )
        return accuracy


if __name__ == "__main__":
    main()
