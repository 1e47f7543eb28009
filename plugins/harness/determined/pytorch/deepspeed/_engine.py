"""Trains, evaluates, saves and loads a DeepSpeedTrial, as the loop asks."""

from __future__ import annotations

import logging
import pathlib
import time
from typing import Any, Dict, List, Optional, Sequence

import torch

from determined import errors, util
from determined.pytorch import _checkpoint as _torch_checkpoint
from determined.pytorch import _metrics
from determined.pytorch._base_engine import TorchEngine, defines
from determined.pytorch.deepspeed import _checkpoint, _package
from determined.pytorch.deepspeed._context import DeepSpeedTrialContext
from determined.pytorch.deepspeed._trial import DeepSpeedTrial

logger = logging.getLogger("determined.pytorch")


class DeepSpeedTrialEngine(TorchEngine):
    """Hands iterators of micro batches to a DeepSpeedTrial."""

    sharded = True
    _context: DeepSpeedTrialContext

    def __init__(self, context: DeepSpeedTrialContext, trial: DeepSpeedTrial) -> None:
        if not context.models:
            raise errors.InvalidExperimentException(
                "wrap at least one model engine with context.wrap_model_engine()"
            )
        super().__init__(context, trial)
        self._full = _evaluates_full_dataset(trial)
        self._loads_per_step = context.get_num_micro_batches_per_slot()
        self._reports = context._mpu.should_report_metrics
        if context._mpu.should_build_data_loader:
            self._training = self._built("training")
            self._validation = self._built("validation")
        loads = self._least(self._training)
        self.epoch_length = loads // self._loads_per_step
        if self.epoch_length < 1:
            raise ValueError(
                f"the training data has {loads} micro batches for each worker, and a step takes "
                f"{self._loads_per_step}"
            )
        context._epoch_length = self.epoch_length
        self._validations = 0 if self._full else self._validation_length()

    def _least(self, loader: Any) -> int:
        """Return how many micro batches each worker has at least, of those that read any."""
        mine = None if loader is None else _length(self._shard(loader))
        known: List[int] = [length for length in self._dist.allgather(mine) if length is not None]
        if not known:
            raise ValueError("no worker builds a data loader: check the object passed to set_mpu()")
        if min(known) < max(known):
            logger.warning(
                "workers have different shares of the data: %d to %d micro batches; each uses %d",
                min(known),
                max(known),
                min(known),
            )
        return min(known)

    def _validation_length(self) -> int:
        """Return how often ``evaluate_batch`` is called."""
        loads = self._least(self._validation)
        if not self._context.use_pipeline_parallel:
            return loads
        calls, rest = divmod(loads, self._loads_per_step)
        if calls < 1:
            raise errors.InvalidExperimentException(
                f"the validation data has {loads} micro batches for each worker, and the pipeline "
                f"takes {self._loads_per_step} at once"
            )
        if rest:
            logger.warning("validation leaves out %d micro batches of each worker", rest)
        return calls

    def _share(self) -> Sequence[int]:
        mpu = self._context._mpu
        return mpu.data_parallel_world_size, mpu.data_parallel_rank

    # Training.

    def _train_batch(self, epoch: int, batch_idx: int) -> Dict[str, Any]:
        context = self._context
        at_once = context.use_pipeline_parallel or context._manual_grad_accumulation
        found = []
        for _ in range(1 if at_once else self._loads_per_step):
            metrics = self._trial.train_batch(self._iterator(), epoch, batch_idx)
            if self._reports:
                found.append(_metrics.named(metrics, "train_batch"))
        self._check_steps()
        return _means(found)

    def _iterator(self) -> Any:
        return None if self._training is None else self._batches

    def _check_steps(self) -> None:
        engine = self._context.models[0]
        if not _package.is_pipeline(engine) and engine.micro_steps % self._loads_per_step:
            raise errors.InvalidExperimentException(
                f"train_batch() has trained on {engine.micro_steps} micro batches, which is no "
                f"multiple of gradient_accumulation_steps, {self._loads_per_step}: a call must "
                "train on one micro batch, or, after disable_auto_grad_accumulation(), on all"
            )

    # Validation.

    def _evaluate(self, only_one: bool) -> Dict[str, Any]:
        return self._evaluate_full() if self._full else self._evaluate_batches(only_one)

    def _evaluate_batches(self, only_one: bool) -> Dict[str, Any]:
        started = time.monotonic()
        outputs: List[Dict[str, Any]] = []
        with_index = util.has_param(self._trial.evaluate_batch, "batch_idx", 2)
        self.tell("on_validation_epoch_start")
        batches = None if self._validation is None else iter(self._shard(self._validation))
        count = 1 if only_one else self._validations
        for index in range(count):
            metrics = self._trial.evaluate_batch(batches, *([index] if with_index else []))
            if self._reports:
                outputs.append(_metrics.all_to_numpy(_metrics.named(metrics, "evaluate_batch")))
        self.tell("on_validation_epoch_end", outputs)
        reduced = self._reduce(outputs)
        logger.info("validated: %d batches in %.3fs", count, time.monotonic() - started)
        return reduced

    # Checkpoints.

    def save(self, path: pathlib.Path, state: Dict[str, Any]) -> None:
        """Write this worker's part of a checkpoint."""
        path.mkdir(parents=True, exist_ok=True)
        context = self._context
        if self._dist.rank == 0:
            util.write_user_code(path, context.env.on_cluster)
            _checkpoint.write_of_trial(path, context, state)
        _checkpoint.write_of_rank(path, self._dist.rank, self._callbacks, self._shuffle_seed)
        self._trial.save(context, path)
        for callback in self._callbacks.values():
            callback.on_checkpoint_end(str(path))
            callback.on_checkpoint_write_end(str(path))

    def load(self, path: pathlib.Path) -> Optional[Dict[str, Any]]:
        """Read a checkpoint."""
        state = _checkpoint.read_of_rank(path, self._dist.rank)
        for callback in self._callbacks.values():
            callback.on_checkpoint_load_start(state)
        self._trial.load(self._context, path)
        for name, callback in self._callbacks.items():
            if name in state.get("callbacks", {}):
                callback.load_state_dict(state["callbacks"][name])
        self._rng = state.get("rng_state")
        trial_state = _torch_checkpoint.read_trial_state(path)
        self._shuffles_of(state, trial_state)
        return trial_state


def _evaluates_full_dataset(trial: DeepSpeedTrial) -> bool:
    if defines(trial, DeepSpeedTrial, "evaluate_batch"):
        return False
    if defines(trial, DeepSpeedTrial, "evaluate_full_dataset"):
        return True
    raise ValueError(
        f"{type(trial).__name__} must define evaluate_batch() or evaluate_full_dataset()"
    )


def _length(loader: Any) -> int:
    """Return how many batches a data loader has in an epoch."""
    # DeepSpeed's RepeatingLoader has no length, but wraps a loader that has one.
    return len(loader if hasattr(loader, "__len__") else loader.loader)


def _means(found: List[Dict[str, Any]]) -> Dict[str, Any]:
    """Return the average of each metric over micro batches; what is no number is the last's."""
    if len(found) < 2:
        return found[0] if found else {}
    means = {}
    for name in found[-1]:
        values = [metrics[name] for metrics in found if name in metrics]
        numbers = all(
            isinstance(value, torch.Tensor) or util.is_numerical_scalar(value) for value in values
        )
        means[name] = sum(values[1:], values[0]) / len(values) if numbers else values[-1]
    return means
