"""``init`` and ``Trainer``: DeepSpeed from a script, on the cluster or off it."""

from __future__ import annotations

import contextlib
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
from determined.pytorch.deepspeed import _package
from determined.pytorch.deepspeed._context import DeepSpeedTrialContext
from determined.pytorch.deepspeed._engine import DeepSpeedTrialEngine
from determined.pytorch.deepspeed._trial import DeepSpeedTrial


@contextlib.contextmanager
def init(
    *,
    hparams: Optional[Dict[str, Any]] = None,
    exp_conf: Optional[Dict[str, Any]] = None,
    distributed: Optional[core.DistributedContext] = None,
    enable_tensorboard_logging: bool = True,
) -> Iterator[DeepSpeedTrialContext]:
    """Provide the context for a trial and its Trainer, for as long as the block runs.

    It also connects DeepSpeed's workers, unless DET_MANUAL_INIT_DISTRIBUTED is set. A script
    without a launcher is the only worker.

    Example::

        from determined.pytorch import deepspeed as det_ds

        with det_ds.init(hparams={"lr": 0.1}) as context:
            trainer = det_ds.Trainer(Digits(context), context)
            trainer.fit(max_length=pytorch.Epoch(3), validation_period=pytorch.Epoch(1))
    """
    env = environment(hparams, exp_conf)
    if distributed is None:
        distributed = _package.launched(env)
    _package.join(distributed.size if distributed is not None else 1)
    modes = core.TensorboardMode
    mode = modes.AUTO if enable_tensorboard_logging else modes.MANUAL
    with core.init(distributed=distributed, tensorboard_mode=mode) as core_context:
        yield DeepSpeedTrialContext(core_context, env, hparams, enable_tensorboard_logging)


class Trainer(TorchTrainer):
    """Trains a DeepSpeed trial; make it inside ``init()`` of this package.

    Example::

        trainer = det_ds.Trainer(trial, context)
        trainer.fit(max_length=pytorch.Epoch(10))
    """

    _trial_class = DeepSpeedTrial
    _context: DeepSpeedTrialContext

    def __init__(self, trial: DeepSpeedTrial, context: DeepSpeedTrialContext) -> None:
        super().__init__(trial, context)

    def _engine(self) -> DeepSpeedTrialEngine:
        return DeepSpeedTrialEngine(self._context, self._trial)


def train_class(
    trial_class: Type[DeepSpeedTrial], core_context: core.Context, env: EnvContext
) -> None:
    """Train the class that an entrypoint names, as the configuration says."""
    _package.join(core_context.distributed.size)
    seed_all(env.trial_seed)
    context = DeepSpeedTrialContext(core_context, env, env.hparams)
    engine = DeepSpeedTrialEngine(context, trial_class(context))
    run(context, engine, plan_of_config(context))
