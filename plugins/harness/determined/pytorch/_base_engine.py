"""The base class of engines for PyTorch: data, callbacks, metrics of several workers."""

from __future__ import annotations

import contextlib
import logging
from typing import Any, Callable, ClassVar, Dict, Iterator, List, Optional, Sequence, Type

import torch

from determined._info import trial_origins
from determined._version import API_VERSION
from determined.pytorch import _checkpoint, _metrics
from determined.pytorch._base_context import TorchTrialContext
from determined.pytorch._chief import on_chief
from determined.pytorch._data import DataLoader

logger = logging.getLogger("determined.pytorch")

# How often the chief tells the other workers that it is still busy.
BUSY_SECONDS = 60.0


class TorchEngine:
    """The part of training that knows PyTorch.

    A subclass trains and evaluates on this worker's data in ``_train_batch`` and
    ``_evaluate_batches``, and writes and reads checkpoints.
    """

    # Whether every worker writes its part of a checkpoint; else the chief writes all of it.
    sharded: ClassVar[bool] = False
    # How many batches of its data loader a worker trains on in a step.
    _loads_per_step = 1
    # Whether this worker's metrics count.
    _reports = True
    epoch_length: int

    def __init__(self, context: TorchTrialContext, trial: Any) -> None:
        self._context = context
        self._dist = context.distributed
        self._trial = trial
        self._callbacks = trial.build_callbacks() or {}
        self._training: Any = None
        self._validation: Any = None
        self._batches: Iterator[Any] = iter(())
        self._rng: Optional[Dict[str, Any]] = None
        self._shuffle_seed: Optional[int] = None

    # Data.

    def _built(self, what: str) -> Any:
        """Return a data loader of the trial's."""
        loader = getattr(self._trial, f"build_{what}_data_loader")()
        if not isinstance(loader, DataLoader) and self._context._data_checks:
            raise RuntimeError(
                f"build_{what}_data_loader() must return a determined.pytorch.DataLoader, which "
                "can shard and resume; to return another, which does both itself, call "
                f"{self._context._disables_data_checks} in __init__()"
            )
        return loader

    def _shard(self, loader: Any, repeat: bool = False, skip: int = 0) -> Any:
        """Return this worker's share of a data loader."""
        if not isinstance(loader, DataLoader):
            return loader
        replicas, rank = self._share()
        return loader.get_data_loader(repeat=repeat, skip=skip, num_replicas=replicas, rank=rank)

    def _share(self) -> Sequence[int]:
        """Return among how many workers data is divided, and which share is this one's."""
        return self._dist.size, self._dist.rank

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
            skip *= self._loads_per_step
            self._batches = iter(self._shard(self._training, repeat=True, skip=skip))
        elif self._training is not None:
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
        metrics = self._train_batch(epoch, batch_idx)
        if context.profiler is not None:
            context.profiler.step()
        if context.is_epoch_end():
            self.tell("on_training_epoch_end", epoch)
        return metrics

    def _train_batch(self, epoch: int, batch_idx: int) -> Dict[str, Any]:
        raise NotImplementedError

    def training_metrics(self, batches: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
        """Return the metrics of each batch, averaged over all workers."""
        mine = [_metrics.all_to_numpy(batch) for batch in batches]
        if self._dist.size < 2:
            return mine
        found = self._dist.allgather(mine if self._reports else None)
        return _metrics.averages_over_workers(found)

    def reduced_training_metrics(self) -> Dict[str, Any]:
        """Return the metrics of custom reducers, and reset them."""
        metrics = self._context.reduce_metrics(for_training=True)
        self._context.reset_reducers()
        return _metrics.all_to_numpy(metrics)

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
            metrics = self._evaluate(only_one)
        metrics = {**metrics, **context.reduce_metrics(for_training=False)}
        metrics = _metrics.all_to_numpy(metrics)
        context.reset_reducers()
        self.tell("on_validation_end", metrics)
        for model, was_training in zip(context.models, training):
            model.train(was_training)
        return metrics

    def _evaluate(self, only_one: bool) -> Dict[str, Any]:
        raise NotImplementedError

    def _evaluate_full(self) -> Dict[str, Any]:
        """Let the chief alone evaluate all of the data."""
        loader = self._validation
        whole = loader.get_data_loader() if isinstance(loader, DataLoader) else loader

        def evaluate() -> Dict[str, Any]:
            return _metrics.all_to_numpy(self._trial.evaluate_full_dataset(data_loader=whole))

        return on_chief(self._dist, evaluate, BUSY_SECONDS)

    def _reduce(self, outputs: List[Dict[str, Any]]) -> Dict[str, Any]:
        """Reduce the outputs of this worker's batches, together with those of the other workers."""
        everywhere = [output for worker in self._dist.allgather(outputs) for output in worker]
        return _metrics.reduce_outputs(everywhere, self._trial.evaluation_reducer())

    # Checkpoints and callbacks.

    def metadata(self) -> Dict[str, Any]:
        """Return the metadata of a checkpoint."""
        return {
            "determined_version": API_VERSION,
            "framework": f"torch-{torch.__version__}",
            "format": "pickle",
        }

    def _shuffles_of(self, state: Dict[str, Any], trial_state: Optional[Dict[str, Any]]) -> None:
        """Restore the order of the data from a checkpoint, if the same trial has written it."""
        # Another trial's data is in an order of its own.
        own = [self._context.get_trial_id(), *trial_origins()]
        if trial_state and int(trial_state.get("trial_id", -1)) in own:
            self._shuffle_seed = state.get("shuffle_seed")

    def tell(self, hook: str, *args: Any, **kwargs: Any) -> None:
        """Call a method of all callbacks."""
        if hook == "on_trial_shutdown" and self._context.profiler is not None:
            with contextlib.suppress(RuntimeError):
                self._context.profiler.stop()
        for callback in self._callbacks.values():
            getattr(callback, hook)(*args, **kwargs)


def defines(trial: Any, base: Type[Any], method: str) -> bool:
    """Return whether a trial's class has a method of its own."""
    found: Callable[..., Any] = getattr(type(trial), method)
    return found is not getattr(base, method)


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
