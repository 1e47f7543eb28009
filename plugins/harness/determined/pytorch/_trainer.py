"""``pytorch.init`` and ``Trainer``: training from a script, on the cluster or off it."""

from __future__ import annotations

import contextlib
import logging
import os
import random
from typing import Any, Dict, Iterator, Optional, Type

import numpy as np
import torch

import determined as det
from determined import core
from determined._env import EnvContext
from determined.pytorch import _units
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._engine import PyTorchEngine
from determined.pytorch._loop import DEFAULT_REPORTING_PERIOD, Loop, Plan
from determined.pytorch._trial import PyTorchTrial
from determined.pytorch._units import Batch, TrainUnit

logger = logging.getLogger("determined.pytorch")

POLICIES = ("best", "all", "none")


@contextlib.contextmanager
def init(
    *,
    hparams: Optional[Dict[str, Any]] = None,
    exp_conf: Optional[Dict[str, Any]] = None,
    distributed: Optional[core.DistributedContext] = None,
    aggregation_frequency: int = 1,
    enable_tensorboard_logging: bool = True,
) -> Iterator[PyTorchTrialContext]:
    """Give out the context for a trial and its Trainer, for as long as the block runs.

    Example::

        with pytorch.init(hparams={"lr": 0.1}) as context:
            trainer = pytorch.Trainer(Digits(context), context)
            trainer.fit(max_length=pytorch.Epoch(3), validation_period=pytorch.Epoch(1))
    """
    info = det.get_cluster_info()
    on_cluster = info is not None and info.task_type == "TRIAL"
    if info is not None and on_cluster:
        env = EnvContext.from_info(info)
        seed_all(env.trial_seed)
        if exp_conf is not None:
            env.experiment_config = exp_conf
    else:
        env = EnvContext(experiment_config=exp_conf or {}, hparams=hparams or {})
        env.managed_training = True
    if distributed is None and int(os.environ.get("WORLD_SIZE") or 1) > 1:
        distributed = core.DistributedContext.from_torch_distributed()
    modes = core.TensorboardMode
    mode = modes.AUTO if enable_tensorboard_logging else modes.MANUAL
    with core.init(distributed=distributed, tensorboard_mode=mode) as core_context:
        yield PyTorchTrialContext(
            core_context, env, hparams, aggregation_frequency, enable_tensorboard_logging
        )


class Trainer:
    """Trains a trial; make it inside ``pytorch.init()``.

    Example::

        trainer = pytorch.Trainer(trial, context)
        trainer.fit(max_length=pytorch.Epoch(10))
    """

    def __init__(self, trial: PyTorchTrial, context: PyTorchTrialContext) -> None:
        if not isinstance(trial, PyTorchTrial):
            raise TypeError(f"trial is a PyTorchTrial, not a {type(trial).__name__}")
        self._trial = trial
        self._context = context

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

    def fit(
        self,
        checkpoint_period: Optional[TrainUnit] = None,
        validation_period: Optional[TrainUnit] = None,
        max_length: Optional[TrainUnit] = None,
        reporting_period: TrainUnit = DEFAULT_REPORTING_PERIOD,
        checkpoint_policy: str = "best",
        latest_checkpoint: Optional[str] = None,
        step_zero_validation: bool = False,
        test_mode: bool = False,
        profiling_enabled: bool = False,
    ) -> None:
        """Train to ``max_length``, from ``latest_checkpoint`` on.

        Validation and a checkpoint come at the end too. ``checkpoint_policy`` says which
        validations are followed by a checkpoint: ``best`` (of the experiment, by
        ``searcher.metric``), ``all`` or ``none``; off the cluster ``best`` means ``all``. On the
        cluster ``max_length`` may be left to ``searcher.max_length``. ``test_mode`` trains and
        validates one batch.

        Example::

            info = det.get_cluster_info()
            trainer.fit(
                max_length=pytorch.Epoch(10),
                validation_period=pytorch.Epoch(1),
                checkpoint_period=pytorch.Batch(1000),
                latest_checkpoint=info.latest_checkpoint if info else None,
            )
        """
        context = self._context
        env = context.env
        if checkpoint_policy not in POLICIES:
            raise ValueError(
                f"checkpoint_policy is one of {', '.join(POLICIES)}, not {checkpoint_policy!r}"
            )
        if max_length is None and not env.on_cluster:
            raise ValueError("off the cluster Trainer.fit() needs max_length")
        if checkpoint_policy == "best" and not env.on_cluster:
            logger.info("off the cluster checkpoint_policy best means all")
            checkpoint_policy = "all"
        if profiling_enabled:
            context._core.profiler.on()
        sizes = context._batch_sizes
        if max_length is None:
            max_length = _units.max_length_of(env.experiment_config, sizes[1] if sizes else None)
        searcher = env.experiment_config.get("searcher") or {}
        plan = Plan(
            max_length=max_length,
            reporting_period=reporting_period,
            validation_period=validation_period,
            checkpoint_period=checkpoint_period,
            checkpoint_policy=checkpoint_policy,
            step_zero_validation=step_zero_validation,
            test_mode=test_mode,
            searcher_metric=searcher.get("metric"),
            smaller_is_better=bool(searcher.get("smaller_is_better", True)),
            latest_checkpoint=latest_checkpoint,
            steps_completed=env.steps_completed if env.on_cluster else None,
            trial_id=context.get_trial_id(),
        )
        run(context, self._trial, plan, is_trainer=True)


def run(context: PyTorchTrialContext, trial: PyTorchTrial, plan: Plan, is_trainer: bool) -> None:
    """Train a trial by a plan."""
    engine = PyTorchEngine(context, trial, is_trainer)
    Loop(context._core, engine, plan, context.get_stop_requested).run()
    if context._writer is not None:
        context._writer.close()


def train_class(
    trial_class: Type[PyTorchTrial], core_context: core.Context, env: EnvContext
) -> None:
    """Train the class that an entrypoint names, as the configuration says."""
    seed_all(env.trial_seed)
    config = env.experiment_config
    optimizations = config.get("optimizations") or {}
    aggregation = int(optimizations.get("aggregation_frequency") or 1)
    context = PyTorchTrialContext(core_context, env, env.hparams, aggregation)
    size = context._batch_sizes[1] if context._batch_sizes else None
    searcher = config.get("searcher") or {}

    def period(name: str) -> Optional[TrainUnit]:
        return _units.from_config(config.get(name), size, name)

    plan = Plan(
        max_length=_units.max_length_of(config, size),
        reporting_period=Batch(int(config.get("scheduling_unit") or 100)),
        validation_period=period("min_validation_period"),
        checkpoint_period=period("min_checkpoint_period"),
        checkpoint_policy=config.get("checkpoint_policy") or "best",
        step_zero_validation=bool(config.get("perform_initial_validation")),
        searcher_metric=searcher.get("metric"),
        smaller_is_better=bool(searcher.get("smaller_is_better", True)),
        latest_checkpoint=env.latest_checkpoint,
        steps_completed=env.steps_completed,
        trial_id=context.get_trial_id(),
    )
    run(context, trial_class(context), plan, is_trainer=False)


def seed_all(seed: int) -> None:
    """Seed every generator of random numbers that a trial may draw from, alike on all workers."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
