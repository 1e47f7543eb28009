"""A logger that begins a run by itself, in a trial and elsewhere."""

from __future__ import annotations

from typing import Any, Mapping, Optional

from determined import experimental
from determined.experimental import core_v2
from determined.lightning import _logger, _package

_lightning: Any = _package.find()


class DetLogger(_lightning.loggers.Logger):
    """Reports metrics through ``core_v2``, which the first metric begins and the end closes.

    The arguments are those of ``core_v2.init``.

    Example::

        logger = DetLogger(config=core_v2.Config(name="digits", external_experiment_id="digits-1"))
        trainer = lightning.Trainer(logger=logger)
        logger.log_hyperparams({"lr": 0.1}), logger.log_metrics({"loss": 0.5}, step=1)
        print(logger.name, logger.version, logger.experiment)
        logger.finalize("success")
    """

    def __init__(
        self,
        *,
        defaults: Optional[core_v2.DefaultConfig] = None,
        unmanaged: Optional[core_v2.UnmanagedConfig] = None,
        config: Optional[core_v2.Config] = None,
        client: Optional[experimental.Determined] = None,
    ) -> None:
        super().__init__()
        self._options = {
            "defaults": defaults,
            "unmanaged": unmanaged,
            "config": config,
            "client": client,
        }
        self._begun = False

    @property
    def experiment(self) -> None:
        """Begin the run, if it has not begun."""
        if not self._begun and _lightning.utilities.rank_zero_only.rank == 0:
            core_v2.init(**self._options)
            self._begun = True

    @property
    def name(self) -> str:
        """The name of the logger."""
        return "DetLogger"

    @property
    def version(self) -> str:
        """The version of the logger."""
        return "0.1"

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """Do nothing: hyperparameters belong in the configuration."""

    def log_metrics(self, metrics: Mapping[str, Any], step: Optional[int] = None) -> None:
        """Report metrics behind a step, which Lightning counts from 0."""
        _ = self.experiment
        if self._begun and core_v2.train is not None:
            _logger.report(core_v2.train, metrics, step, "val")

    def finalize(self, status: str) -> None:
        """End the run."""
        if self._begun:
            self._begun = False
            core_v2.close()
