"""The logger that reports what a LightningModule logs."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Tuple

from determined import core
from determined.lightning import _package

_lightning: Any = _package.find()

# Lightning counts epochs beside every metric.
_EPOCH = "epoch"


class DeterminedLogger(_lightning.loggers.Logger):
    """Reports metrics to the cluster: pass it as ``logger`` to Lightning's ``Trainer``.

    A metric whose name begins with ``validation_prefix`` is reported as one of validation, with
    ``batches`` and ``epochs`` beside it, which a search may use as its ``time_metric``. All others
    are metrics of training.

    Example::

        logger = DeterminedLogger(core_context)
        trainer = lightning.Trainer(logger=logger)
        logger.log_hyperparams({"lr": 0.1}), logger.log_metrics({"loss": 0.5}, step=1)
        print(logger.name, logger.version)
    """

    def __init__(self, core_context: core.Context, validation_prefix: str = "val") -> None:
        super().__init__()
        self._train = core_context.train
        self._chief = core_context.distributed.rank == 0
        self._validation_prefix = validation_prefix

    @property
    def name(self) -> str:
        """The name of the logger."""
        return "determined"

    @property
    def version(self) -> str:
        """The version of the logger; a trial has one."""
        return ""

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """Do nothing: the master knows the hyperparameters of a trial."""

    def log_metrics(self, metrics: Mapping[str, Any], step: Optional[int] = None) -> None:
        """Report metrics behind a step, which Lightning counts from 0."""
        if self._chief:
            report(self._train, metrics, step, self._validation_prefix)


def report(
    train: core.TrainContext, metrics: Mapping[str, Any], step: Optional[int], prefix: str
) -> None:
    """Report what Lightning logs, as training and as validation."""
    steps_completed = 0 if step is None else step + 1
    training, validation = split(metrics, prefix)
    if training:
        train.report_training_metrics(steps_completed, training)
    if validation:
        validation["batches"] = steps_completed
        if _EPOCH in metrics:
            validation["epochs"] = metrics[_EPOCH] + 1
        train.report_validation_metrics(steps_completed, validation)


def split(metrics: Mapping[str, Any], prefix: str) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """Return the metrics of training and those of validation."""
    training = {
        name: value
        for name, value in metrics.items()
        if name != _EPOCH and not name.startswith(prefix)
    }
    validation = {name: value for name, value in metrics.items() if name.startswith(prefix)}
    if training and _EPOCH in metrics:
        training[_EPOCH] = metrics[_EPOCH]
    return training, validation
