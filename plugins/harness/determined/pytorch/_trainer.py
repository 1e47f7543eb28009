"""``pytorch.init`` and ``Trainer``: training from a script, on the cluster or off it."""

from __future__ import annotations

import contextlib
import logging
import os
from typing import Any, Dict, Iterator, Optional, Type

from determined import core
from determined._env import EnvContext
from determined.pytorch._base_trainer import (
    TorchTrainer,
    environment,
    plan_of_config,
    run,
    seed_all,
)
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._engine import PyTorchEngine
from determined.pytorch._trial import PyTorchTrial

logger = logging.getLogger("determined.pytorch")


@contextlib.contextmanager
def init(
    *,
    hparams: Optional[Dict[str, Any]] = None,
    exp_conf: Optional[Dict[str, Any]] = None,
    distributed: Optional[core.DistributedContext] = None,
    aggregation_frequency: int = 1,
    enable_tensorboard_logging: bool = True,
) -> Iterator[PyTorchTrialContext]:
    """Provide the context for a trial and its Trainer, for as long as the block runs.

    Example::

        with pytorch.init(hparams={"lr": 0.1}) as context:
            trainer = pytorch.Trainer(Digits(context), context)
            trainer.fit(max_length=pytorch.Epoch(3), validation_period=pytorch.Epoch(1))
    """
    env = environment(hparams, exp_conf)
    if distributed is None and int(os.environ.get("WORLD_SIZE") or 1) > 1:
        distributed = core.DistributedContext.from_torch_distributed()
    modes = core.TensorboardMode
    mode = modes.AUTO if enable_tensorboard_logging else modes.MANUAL
    with core.init(distributed=distributed, tensorboard_mode=mode) as core_context:
        yield PyTorchTrialContext(
            core_context, env, hparams, aggregation_frequency, enable_tensorboard_logging
        )


class Trainer(TorchTrainer):
    """Trains a trial; make it inside ``pytorch.init()``.

    Example::

        trainer = pytorch.Trainer(trial, context)
        trainer.fit(max_length=pytorch.Epoch(10))
    """

    _trial_class = PyTorchTrial
    _context: PyTorchTrialContext

    def __init__(self, trial: PyTorchTrial, context: PyTorchTrialContext) -> None:
        super().__init__(trial, context)

    def _engine(self) -> PyTorchEngine:
        return PyTorchEngine(self._context, self._trial, is_trainer=True)

    def configure_profiler(
        self,
        sync_timings: bool = True,
        enabled: bool = False,
        begin_on_batch: int = 0,
        end_after_batch: Optional[int] = None,
    ) -> None:
        """Do nothing but warn: ``fit(profiling_enabled=True)`` replaced it.

        Example: ``trainer.fit(max_length=pytorch.Epoch(1), profiling_enabled=True)``
        """
        logger.warning(
            "Trainer.configure_profiler() has no effect: use fit(profiling_enabled=True)"
        )


def train_class(
    trial_class: Type[PyTorchTrial], core_context: core.Context, env: EnvContext
) -> None:
    """Train the class that an entrypoint names, as the configuration says."""
    seed_all(env.trial_seed)
    optimizations = env.experiment_config.get("optimizations") or {}
    aggregation = int(optimizations.get("aggregation_frequency") or 1)
    context = PyTorchTrialContext(core_context, env, env.hparams, aggregation)
    engine = PyTorchEngine(context, trial_class(context), is_trainer=False)
    run(context, engine, plan_of_config(context))
