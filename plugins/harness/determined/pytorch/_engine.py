"""Trains, evaluates, saves and loads a PyTorchTrial, as the loop asks."""

from __future__ import annotations

import contextlib
import inspect
import logging
import pathlib
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import torch

from determined import core
from determined._version import API_VERSION
from determined.pytorch import _checkpoint
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._data import DataLoader
from determined.pytorch._reducer import Reducer, _simple_reduce_metrics
from determined.pytorch._trial import PyTorchTrial

logger = logging.getLogger("determined.pytorch")

# How often the chief tells the others that it still works alone.
BUSY_SECONDS = 60.0


class PyTorchEngine:
    """The part of training that knows PyTorch."""

    def __init__(self, context: PyTorchTrialContext, trial: PyTorchTrial, is_trainer: bool) -> None:
        if not context.models:
            raise ValueError("wrap at least one model with context.wrap_model()")
        if not context.optimizers:
            raise ValueError("wrap at least one optimizer with context.wrap_optimizer()")
        self._context = context
        self._dist = context.distributed
        self._trial = trial
        self._is_trainer = is_trainer
        self._full = _evaluates_full_dataset(trial)
        self._callbacks = trial.build_callbacks() or {}
        self._training = self._checked(trial.build_training_data_loader(), "training")
        self._validation = self._checked(trial.build_validation_data_loader(), "validation")
        self._batches: Iterator[Any] = iter(())
        self._rng: Optional[Dict[str, Any]] = None
        self._shuffle_seed: Optional[int] = None
        # Batches are sharded, so an epoch is what the chief has of them, and the same for all.
        self.epoch_length: int = self._dist.broadcast(len(self._shard(self._training)))
        if self.epoch_length < 1:
            raise ValueError("the training data has less than one batch for each slot")
        context._epoch_length = self.epoch_length

    def _checked(self, loader: Any, what: str) -> Any:
        if isinstance(loader, DataLoader):
            return loader
        if self._context.experimental._data_checks:
            raise RuntimeError(
                f"build_{what}_data_loader() must return a determined.pytorch.DataLoader, which "
                "can shard and resume; to return another, which does both itself, call "
                "context.experimental.disable_dataset_reproducibility_checks() in __init__()"
            )
        return loader

    def _shard(self, loader: Any, repeat: bool = False, skip: int = 0) -> Any:
        if not isinstance(loader, DataLoader):
            return loader
        return loader.get_data_loader(
            repeat=repeat, skip=skip, num_replicas=self._dist.size, rank=self._dist.rank
        )

    # Training.

    def start(self, skip: int) -> None:
        """Begin to read the data, after so many batches."""
        for model in self._context.models:
            model.train()
        self._context.reset_reducers()
        before = torch.random.get_rng_state()
        # The same numbers as PyTorch draws for an iterator and its first shuffle.
        _, drawn = _draw(), _draw()
        torch.random.set_rng_state(before)
        if self._shuffle_seed is None:
            self._shuffle_seed = drawn
        self._shuffle_seed = self._dist.broadcast(self._shuffle_seed)
        if isinstance(self._training, DataLoader):
            self._training._seed_shuffle(self._shuffle_seed)
            self._batches = iter(self._shard(self._training, repeat=True, skip=skip))
        else:
            self._batches = _for_ever(self._training)
        if getattr(self._training, "_shuffles_itself", False):
            _draw()
        # What is drawn to make an iterator was drawn before the checkpoint too.
        if self._rng is not None:
            _checkpoint.restore_rng(self._rng)
        if self._context.profiler is not None:
            self._context.profiler.start()

    def train_step(self, batch_idx: int) -> Dict[str, Any]:
        """Train on the next batch."""
        context = self._context
        context._batch_idx = batch_idx
        epoch = context.current_train_epoch()
        if context.is_epoch_start():
            self.tell("on_training_epoch_start", epoch)
        batch = self._on_device(next(self._batches))
        with context._no_sync():
            metrics = self._trial.train_batch(batch=batch, epoch_idx=epoch, batch_idx=batch_idx)
        context._after_batch()
        if context.profiler is not None:
            context.profiler.step()
        if context.is_epoch_end():
            self.tell("on_training_epoch_end", epoch)
        if isinstance(metrics, torch.Tensor):
            metrics = {"loss": metrics}
        if not isinstance(metrics, dict):
            raise TypeError(
                "train_batch() must return a tensor or a map of metrics, "
                f"not {type(metrics).__name__}"
            )
        # Kept on the device until a report is due: moving them would wait for it.
        return {
            name: value.detach() if isinstance(value, torch.Tensor) else value
            for name, value in metrics.items()
        }

    def _on_device(self, batch: Any) -> Any:
        automatic = self._context.experimental._auto_to_device
        return self._context.to_device(batch) if automatic else batch

    def training_metrics(self, batches: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
        """Return the metrics of each batch, averaged over all workers."""
        mine = [{name: _to_numpy(value) for name, value in batch.items()} for batch in batches]
        if self._dist.size < 2:
            return mine
        together = []
        for of_workers in zip(*self._dist.allgather(mine)):
            names = of_workers[0].keys()
            values = {name: [metrics[name] for metrics in of_workers] for name in names}
            together.append(
                {name: _reduce(Reducer.AVG, found, "training") for name, found in values.items()}
            )
        return together

    def reduced_training_metrics(self) -> Dict[str, Any]:
        """Return the metrics of custom reducers, and reset them."""
        metrics = self._context.reduce_metrics(for_training=True)
        self._context.reset_reducers()
        return {name: _to_numpy(value) for name, value in metrics.items()}

    # Validation.

    def evaluate(self, only_one: bool) -> Dict[str, Any]:
        """Return the metrics of validation, the same on all workers."""
        context = self._context
        context.reset_reducers()
        training = [model.training for model in context.models]
        for model in context.models:
            model.eval()
        self.tell("on_validation_start")
        with torch.no_grad():
            metrics = self._evaluate_full() if self._full else self._evaluate_batches(only_one)
        metrics = {**metrics, **context.reduce_metrics(for_training=False)}
        metrics = {name: _to_numpy(value) for name, value in metrics.items()}
        context.reset_reducers()
        self.tell("on_validation_end", metrics)
        for model, was_training in zip(context.models, training):
            model.train(was_training)
        return metrics

    def _evaluate_full(self) -> Dict[str, Any]:
        loader = self._validation
        whole = loader.get_data_loader() if isinstance(loader, DataLoader) else loader

        def evaluate() -> Dict[str, Any]:
            found = self._trial.evaluate_full_dataset(data_loader=whole)
            return {name: _to_numpy(value) for name, value in found.items()}

        return on_chief(self._dist, evaluate, BUSY_SECONDS)

    def _evaluate_batches(self, only_one: bool) -> Dict[str, Any]:
        started, records, outputs = time.monotonic(), 0, []
        with_index = "batch_idx" in inspect.signature(self._trial.evaluate_batch).parameters
        self.tell("on_validation_epoch_start")
        for index, found in enumerate(self._shard(self._validation)):
            batch = self._on_device(found)
            more = {"batch_idx": index} if with_index else {}
            metrics = self._trial.evaluate_batch(batch=batch, **more)
            outputs.append({name: _to_numpy(value) for name, value in metrics.items()})
            records += self._trial.get_batch_length(batch)
            if only_one:
                break
        self.tell("on_validation_epoch_end", outputs)
        everywhere = [output for worker in self._dist.allgather(outputs) for output in worker]
        records = sum(self._dist.allgather(records))
        seconds = max(time.monotonic() - started, 1e-9)
        logger.info(
            "validated: %d records in %.3fs (%.1f records/s)", records, seconds, records / seconds
        )
        names = everywhere[0].keys() if everywhere else ()
        reducers = self._reducers(list(names))
        return {
            name: _reduce(reducers[name], [output[name] for output in everywhere], "validation")
            for name in names
        }

    def _reducers(self, names: List[str]) -> Dict[str, Reducer]:
        given = self._trial.evaluation_reducer()
        if isinstance(given, Reducer):
            return {name: given for name in names}
        missing = sorted(set(names) ^ set(given))
        if missing:
            raise ValueError(
                "evaluation_reducer() and evaluate_batch() must name the same metrics; only one of "
                f"them names {', '.join(missing)}"
            )
        return given

    # Checkpoints.

    def metadata(self) -> Dict[str, Any]:
        """Return what a checkpoint is described with."""
        return {
            "determined_version": API_VERSION,
            "framework": f"torch-{torch.__version__}",
            "format": "pickle",
        }

    def save(self, path: pathlib.Path, state: Dict[str, Any]) -> None:
        """Write a checkpoint."""
        trial_class = type(self._trial)
        assert self._shuffle_seed is not None
        _checkpoint.save(
            path,
            self._context,
            self._callbacks,
            state,
            self._shuffle_seed,
            f"{trial_class.__module__}:{trial_class.__qualname__}",
            self._is_trainer,
        )

    def load(self, path: pathlib.Path) -> Optional[Dict[str, Any]]:
        """Read a checkpoint."""
        state = _checkpoint.read(path)
        _checkpoint.restore(self._context, self._callbacks, state)
        self._rng = state.get("rng_state")
        trial_state = _checkpoint.read_trial_state(path)
        # Another trial's data is in an order of its own.
        if trial_state and int(trial_state.get("trial_id", -1)) == self._context.get_trial_id():
            self._shuffle_seed = state.get("shuffle_seed")
        return trial_state

    def tell(self, hook: str, *args: Any, **kwargs: Any) -> None:
        """Call a method of all callbacks."""
        if hook == "on_trial_shutdown" and self._context.profiler is not None:
            with contextlib.suppress(RuntimeError):
                self._context.profiler.stop()
        for callback in self._callbacks.values():
            getattr(callback, hook)(*args, **kwargs)


def _evaluates_full_dataset(trial: PyTorchTrial) -> bool:
    own = [
        name
        for name in ("evaluate_batch", "evaluate_full_dataset")
        if getattr(type(trial), name) is not getattr(PyTorchTrial, name)
    ]
    if len(own) != 1:
        raise ValueError(
            f"{type(trial).__name__} must define exactly one of evaluate_batch() and "
            f"evaluate_full_dataset(); it defines {'both' if own else 'neither'}"
        )
    return own[0] == "evaluate_full_dataset"


def _draw() -> int:
    return int(torch.empty((), dtype=torch.int64).random_().item())


def _for_ever(loader: Any) -> Iterator[Any]:
    while True:
        empty = True
        for batch in loader:
            empty = False
            yield batch
        if empty:
            raise ValueError("the training data is empty")


def _to_numpy(value: Any) -> Any:
    return value.detach().float().cpu().numpy() if _half(value) else _wide(value)


def _half(value: Any) -> bool:
    # NumPy has no bfloat16.
    return isinstance(value, torch.Tensor) and value.dtype == torch.bfloat16


def _wide(value: Any) -> Any:
    return value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else value


def _reduce(reducer: Reducer, values: List[Any], what: str) -> Any:
    try:
        return _simple_reduce_metrics(reducer, values)
    except (TypeError, ValueError) as err:
        raise ValueError(
            f"{what} metrics must be numbers to be reduced by {reducer.name}, not {values[0]!r}: "
            "use context.wrap_reducer() for others"
        ) from err


def on_chief(
    dist: core.DistributedContext, work: Callable[[], Dict[str, Any]], busy_seconds: float
) -> Dict[str, Any]:
    """Do work on the chief alone, however long it takes, and return its result everywhere.

    A worker that hears nothing from the chief gives up after a while, so the chief tells the others
    all the time that it is busy. An error of the work is raised everywhere.
    """
    if dist.size < 2:
        return work()
    if dist.rank == 0:
        return _work_and_tell(dist, work, busy_seconds)
    while True:
        over, result, error = dist.broadcast(None)
        if error is not None:
            raise RuntimeError(f"the chief failed: {error}")
        if over:
            found: Dict[str, Any] = result
            return found


def _work_and_tell(
    dist: core.DistributedContext, work: Callable[[], Dict[str, Any]], busy_seconds: float
) -> Dict[str, Any]:
    over = threading.Event()

    def tell() -> None:
        while not over.wait(busy_seconds):
            dist.broadcast((False, None, None))

    teller = threading.Thread(target=tell, name="determined-busy", daemon=True)
    teller.start()
    outcome: Tuple[bool, Any, Optional[str]] = (True, None, "it was interrupted")
    try:
        result = work()
        outcome = (True, result, None)
    except Exception as err:
        outcome = (True, None, f"{type(err).__name__}: {err}")
        raise
    finally:
        over.set()
        teller.join()
        dist.broadcast(outcome)
    return result
