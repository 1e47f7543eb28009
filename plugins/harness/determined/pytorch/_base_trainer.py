"""The part of training that scripts and entrypoints share, for all kinds of trials."""

from __future__ import annotations

import logging
import random
from typing import Any, ClassVar, Dict, Optional, Type

import numpy as np
import torch

import determined as det
from determined._env import EnvContext
from determined.pytorch import _units
from determined.pytorch._base_context import TorchTrialContext
from determined.pytorch._loop import DEFAULT_REPORTING_PERIOD, Engine, Loop, Plan
from determined.pytorch._units import Batch, TrainUnit

logger = logging.getLogger("determined.pytorch")

POLICIES = ("best", "all", "none")


class TorchTrainer:
    """Trains a trial inside the context that made it."""

    _trial_class: ClassVar[Type[Any]]

    def __init__(self, trial: Any, context: TorchTrialContext) -> None:
        if not isinstance(trial, self._trial_class):
            raise TypeError(
                f"trial is a {self._trial_class.__name__}, not a {type(trial).__name__}"
            )
        self._trial = trial
        self._context = context

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
        env = self._context.env
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
            self._context._core.profiler.on()
        if max_length is None:
            max_length = _units.max_length_of(env.experiment_config, _global_size(self._context))
        plan = Plan(
            max_length=max_length,
            reporting_period=reporting_period,
            validation_period=validation_period,
            checkpoint_period=checkpoint_period,
            checkpoint_policy=checkpoint_policy,
            step_zero_validation=step_zero_validation,
            test_mode=test_mode,
            latest_checkpoint=latest_checkpoint,
            steps_completed=env.steps_completed if env.on_cluster else None,
            trial_id=self._context.get_trial_id(),
            **_searched(env),
        )
        run(self._context, self._engine(), plan)

    def _engine(self) -> Engine:
        """Return the engine that trains the trial."""
        raise NotImplementedError


def run(context: TorchTrialContext, engine: Engine, plan: Plan) -> None:
    """Train a trial by a plan."""
    Loop(context._core, engine, plan, context.get_stop_requested).run()
    context._close()


def environment(
    hparams: Optional[Dict[str, Any]], exp_conf: Optional[Dict[str, Any]]
) -> EnvContext:
    """Return what surrounds a script's trial; on the cluster, seed its random numbers."""
    info = det.get_cluster_info()
    if info is None or info.task_type != "TRIAL":
        return EnvContext(
            experiment_config=exp_conf or {}, hparams=hparams or {}, managed_training=True
        )
    env = EnvContext.from_info(info)
    seed_all(env.trial_seed)
    if exp_conf is not None:
        env.experiment_config = exp_conf
    return env


def plan_of_config(context: TorchTrialContext) -> Plan:
    """Return the plan of the configuration: length, and periods of validations and others."""
    env = context.env
    config = env.experiment_config
    size = _global_size(context)

    def period(name: str) -> Optional[TrainUnit]:
        return _units.from_config(config.get(name), size, name)

    return Plan(
        max_length=_units.max_length_of(config, size),
        reporting_period=Batch(int(config.get("scheduling_unit") or 100)),
        validation_period=period("min_validation_period"),
        checkpoint_period=period("min_checkpoint_period"),
        checkpoint_policy=config.get("checkpoint_policy") or "best",
        step_zero_validation=bool(config.get("perform_initial_validation")),
        latest_checkpoint=env.latest_checkpoint,
        steps_completed=env.steps_completed,
        trial_id=context.get_trial_id(),
        **_searched(env),
    )


def _searched(env: EnvContext) -> Dict[str, Any]:
    """Return the metric by which the search compares trials."""
    searcher = env.experiment_config.get("searcher") or {}
    return {
        "searcher_metric": searcher.get("metric"),
        "smaller_is_better": bool(searcher.get("smaller_is_better", True)),
    }


def _global_size(context: TorchTrialContext) -> Optional[int]:
    return context._batch_sizes[1] if context._batch_sizes else None


def seed_all(seed: int) -> None:
    """Seed every generator of random numbers that a trial may draw from, alike on all workers."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
