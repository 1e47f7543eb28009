"""Trains a Keras trial class: one loop that reads top to bottom.

    until the length of the search is reached:
        train a piece: up to scheduling_unit, or to the next validation, checkpoint or the end
        report it, and the progress
        validate if min_validation_period is reached; save if this validation is the best
        save if min_checkpoint_period is reached
        save and end if the trial is preempted
    save and validate if the last step has no checkpoint or validation

With several workers each runs this loop in step: they train on batches of their own and average
gradients; the chief validates, saves and reports for all.
"""

from __future__ import annotations

import contextlib
import logging
import pathlib
import time
from typing import Any, Dict, Iterator, Optional, Type

from determined import core, util
from determined import errors as det_errors
from determined._env import EnvContext
from determined._lengths import Lengths
from determined._version import API_VERSION
from determined.keras import _average, _backend, _collectives, _data, _state
from determined.keras._context import TFKerasTrialContext
from determined.keras._trial import TFKerasTrial

logger = logging.getLogger("determined.keras")

DEFAULT_SCHEDULING_UNIT = 100


class _ShouldExit(Exception):
    """Ends the loop: save if the last step has no checkpoint, and end."""


def train_class(
    trial_class: Type[TFKerasTrial], core_context: core.Context, env: EnvContext
) -> None:
    """Make a trial of the class and train it to its end, or until it is preempted."""
    gpus = _backend.tensorflow().config.list_physical_devices("GPU")
    # RuntimeError: user code has initialized the GPUs already, with settings of its own.
    with contextlib.suppress(RuntimeError):
        if core_context.distributed.local_size > 1 and gpus:
            gpus = [gpus[core_context.distributed.local_rank % len(gpus)]]
            _backend.tensorflow().config.set_visible_devices(gpus, "GPU")
        for gpu in gpus:
            _backend.tensorflow().config.experimental.set_memory_growth(gpu, True)
    optimizations = env.experiment_config.get("optimizations") or {}
    if (optimizations.get("aggregation_frequency") or 1) > 1:
        logger.warning(
            "optimizations.aggregation_frequency has no effect: each batch is applied by itself"
        )
    collectives = _collectives.start(core_context.distributed)
    _state.seed_all(env.trial_seed)
    context = TFKerasTrialContext(core_context, env)
    trial = trial_class(context)
    Trainer(core_context, context, trial, collectives).run()


class Trainer:
    """The training of one trial."""

    def __init__(
        self,
        core_context: core.Context,
        context: TFKerasTrialContext,
        trial: TFKerasTrial,
        collectives: Optional[_collectives.Collectives] = None,
    ) -> None:
        self._collectives = collectives
        self._core = core_context
        self._dist = core_context.distributed
        self._chief = self._dist.rank == 0
        self._context = context
        self._trial = trial
        self._config = context.env.experiment_config
        self._searcher: Dict[str, Any] = self._config.get("searcher") or {}
        size = context.get_per_slot_batch_size()
        self._training_data = _data.adapt(trial.build_training_data_loader(), size, context._fit)
        self._validation_data = _data.adapt(trial.build_validation_data_loader(), size)
        self._model = self._build_model()
        self._lengths = Lengths(
            context.get_global_batch_size(),
            self._config.get("records_per_epoch") or _data.records_in(self._training_data, size),
        )
        # Epochs are counted only if the configuration has records_per_epoch.
        self._epoch_length = Lengths(
            context.get_global_batch_size(), self._config.get("records_per_epoch")
        ).batches_per_epoch
        self._unit = int(self._config.get("scheduling_unit") or DEFAULT_SCHEDULING_UNIT)
        self._validation_period = self._lengths.period(self._config, "min_validation_period")
        self._checkpoint_period = self._lengths.period(self._config, "min_checkpoint_period")
        self._policy = self._config.get("checkpoint_policy") or "best"
        self._user_callbacks = list(trial.keras_callbacks() or [])
        self._callbacks = self._callback_list()
        self.steps = 0
        self._last_validation: Optional[int] = None
        self._last_checkpoint: Optional[int] = None
        self._metric: Optional[float] = None
        self._best_earlier: Optional[float] = None

    def _build_model(self) -> Any:
        built = self._trial.build_model()
        if self._context.model is None:
            self._context.wrap_model(built)
        model = self._context.model
        if model is None or getattr(model, "optimizer", None) is None:
            raise det_errors.InvalidModelException(
                f"{type(self._trial).__name__}.build_model must return a compiled model: wrap it "
                "with context.wrap_model(model), then call model.compile(...)"
            )
        model.stop_training = False
        return model

    def _callback_list(self) -> Any:
        made = _backend.keras().callbacks.CallbackList(
            self._user_callbacks, add_history=False, add_progbar=False, model=self._model
        )
        made.set_params({"verbose": 0, "epochs": None, "steps": None})
        return made

    # The loop.

    def run(self) -> None:
        """Train until the search needs no more training, or until the trial is preempted."""
        # Callbacks reset their state when training begins, so they are restored afterwards.
        self._callbacks.on_train_begin({})
        if self._context.env.latest_checkpoint is not None:
            self._restore(self._context.env.latest_checkpoint)
        self._synchronize_workers()
        batches = _data.training_batches(
            self._training_data,
            self._context._fit,
            self._context.get_trial_seed(),
            self.steps,
            self._dist.rank,
            self._dist.size,
        )
        try:
            self._run_operations(batches)
        except _ShouldExit:
            self._checkpoint_unless_current()
        self._callbacks.on_train_end({})

    def _synchronize_workers(self) -> None:
        """Copy the chief's weights to all workers, and average gradients from then on."""
        if self._dist.size < 2:
            return
        self._model.set_weights(self._dist.broadcast(self._model.get_weights()))
        _average.share_gradients(
            self._model, self._context._optimizers(), self._dist, self._collectives
        )

    def _run_operations(self, batches: Iterator[_data.Batch]) -> None:
        initial = self._config.get("perform_initial_validation")
        if initial and self.steps == 0 and self._last_validation is None:
            self._validate()
        for operation in self._core.searcher.operations():
            length = self._length_of(operation)
            while self.steps < length:
                self._train_piece(batches, self._piece(length))
                self._report_progress(operation, length)
                self._exit_if_requested()
                if self._due(self._validation_period, self._last_validation):
                    self._validate()
                    self._checkpoint_by_policy()
                    self._exit_if_requested()
                if self._due(self._checkpoint_period, self._last_checkpoint):
                    self._checkpoint_unless_current()
                    self._exit_if_requested()
            self._checkpoint_unless_current()
            if self._last_validation != self.steps:
                self._validate()
            if self._metric is None:
                # An earlier process has completed the training.
                return
            if self._chief:
                operation.report_completed(self._metric)

    def _length_of(self, operation: core.SearcherOperation) -> int:
        unit = self._core.searcher.get_configured_units()
        if unit is None:
            logger.warning("searcher.max_length has no unit; it counts epochs")
            unit = core.Unit.EPOCHS
        return self._lengths.batches(operation.length, unit.value.lower(), "searcher.max_length")

    def _piece(self, length: int) -> int:
        """Return the number of batches until the next report, validation or checkpoint."""
        wanted = [self._unit, length - self.steps]
        for period, last in (
            (self._validation_period, self._last_validation),
            (self._checkpoint_period, self._last_checkpoint),
        ):
            if period is not None:
                wanted.append((last or 0) + period - self.steps)
        return max(1, min(wanted))

    def _due(self, period: Optional[int], last: Optional[int]) -> bool:
        return period is not None and self.steps >= (last or 0) + period

    def _exit_if_requested(self) -> None:
        asked = self._context.get_stop_requested() or bool(self._model.stop_training)
        if any(self._dist.allgather(asked)):
            logger.info("the trial ends early, at batch %d", self.steps)
            raise _ShouldExit
        if self._core.preempt.should_preempt():
            logger.info("stopping at batch %d; the trial resumes later", self.steps)
            raise _ShouldExit

    def _report_progress(self, operation: core.SearcherOperation, length: int) -> None:
        if self._chief:
            operation.report_progress(operation.length * min(1.0, self.steps / length))

    # The parts of the loop.

    def _train_piece(self, batches: Iterator[_data.Batch], count: int) -> None:
        """Train ``count`` batches, and report Keras's averages over them."""
        self._status("training")
        started = time.monotonic()
        self._model.reset_metrics()
        self._call_hooks("on_train_workload_begin", self.steps, count, {})
        logs: Dict[str, Any] = {}
        records = 0
        for _ in range(count):
            batch = next(batches)
            records += batch.size
            logs = self._train_batch(batch)
        logs = self._mean(logs)
        metrics = {**logs, **self._counters(logs)}
        self._call_hooks("on_train_workload_end", self.steps, metrics)
        if self._chief:
            self._core.train.report_training_metrics(self.steps, metrics)
        if self._chief and self._context._fit.verbose:
            seconds = max(time.monotonic() - started, 1e-9)
            logger.info(
                "trained: %d records in %d batches, %.0f records/s",
                records * self._dist.size,
                count,
                records * self._dist.size / seconds,
            )

    def _status(self, words: str) -> None:
        if self._chief:
            self._core.train.set_status(words)

    def _mean(self, logs: Dict[str, Any]) -> Dict[str, Any]:
        """Return the average of the workers' values; other values are the chief's."""
        if self._dist.size < 2:
            return logs
        everywhere = self._dist.allgather(logs)
        return {
            name: sum(other[name] for other in everywhere) / len(everywhere)
            if util.is_numerical_scalar(value)
            else value
            for name, value in everywhere[0].items()
        }

    def _train_batch(self, batch: _data.Batch) -> Dict[str, Any]:
        epoch, index = divmod(self.steps, self._epoch_length or (self.steps + 1))
        if self._epoch_length and index == 0:
            self._callbacks.on_epoch_begin(epoch, {})
        self._callbacks.on_train_batch_begin(self.steps, {})
        with _metrics_kept(self._model):
            logs: Dict[str, Any] = self._model.train_on_batch(
                batch.x,
                batch.y,
                sample_weight=batch.sample_weight,
                class_weight=self._context._fit.class_weight,
                return_dict=True,
            )
        self.steps += 1
        self._callbacks.on_train_batch_end(self.steps - 1, dict(logs))
        if self._epoch_length and self.steps % self._epoch_length == 0:
            self._callbacks.on_epoch_end(epoch, {})
        return {name: _plain(value) for name, value in logs.items()}

    def _counters(self, given: Dict[str, Any]) -> Dict[str, Any]:
        counters: Dict[str, Any] = {"batches": self.steps}
        if self._lengths.batches_per_epoch:
            counters["epochs"] = self.steps // self._lengths.batches_per_epoch
        return {name: value for name, value in counters.items() if name not in given}

    def _validate(self) -> None:
        """Validate, report, and store the metric of the search."""
        self._status("validating")
        started = time.monotonic()
        found = self._validated()
        metrics = {f"val_{name}": value for name, value in found.items()}
        self._best_earlier = self._dist.broadcast(self._best_before() if self._chief else None)
        self._metric = self._searcher_metric(metrics)
        self._last_validation = self.steps
        if not self._chief:
            return
        self._core.train.report_validation_metrics(
            self.steps, {**metrics, **self._counters(metrics)}
        )
        logger.info("validated at batch %d in %.1fs", self.steps, time.monotonic() - started)

    def _validated(self) -> Dict[str, Any]:
        """Return the metrics of the validation, the same on every worker."""
        if self._dist.size < 2:
            return self._evaluate(self._callbacks)
        if _data.is_dataset(self._validation_data):
            # Each worker evaluates its own shard of the data.
            found = self._mean(self._evaluate(None))
        else:
            found = self._dist.broadcast(self._evaluate(None) if self._chief else None)
        # Callbacks must act on the same metrics on every worker.
        self._callbacks.on_test_begin({})
        self._callbacks.on_test_end(dict(found))
        return found

    def _evaluate(self, callbacks: Any) -> Dict[str, Any]:
        data = self._validation_data
        more: Dict[str, Any] = {}
        arrays: Dict[str, Any] = {"x": data}
        if isinstance(data, _data.ArrayLikeAdapter):
            arrays = {"x": data.x, "y": data.y, "sample_weight": data.sample_weight}
            more["batch_size"] = data.batch_size
        elif _data.is_dataset(data):
            more["steps"] = self._context._fit.validation_steps
        found: Dict[str, Any] = self._model.evaluate(
            **arrays, **more, callbacks=callbacks, verbose=0, return_dict=True
        )
        return {name: _plain(value) for name, value in found.items()}

    def _searcher_metric(self, metrics: Dict[str, Any]) -> float:
        name = self._searcher.get("metric")
        if name not in metrics:
            raise det_errors.InvalidExperimentException(
                f"searcher.metric is {name!r}, but validation has {', '.join(sorted(metrics))}"
            )
        value = metrics[name]
        if not util.is_numerical_scalar(value):
            raise det_errors.InvalidExperimentException(
                f"searcher.metric {name!r} must be a number, not {value!r}"
            )
        return float(value)

    def _best_before(self) -> Optional[float]:
        """Return the best metric of the experiment before this validation.

        The master may not have received the last validation of this process yet.
        """
        if self._policy != "best" or self._last_checkpoint == self.steps:
            return None
        reported = self._core.train.get_experiment_best_validation()
        known = [reported, self._best_earlier, self._metric]
        values = [value for value in known if value is not None]
        return (min(values) if self._smaller_is_better else max(values)) if values else None

    @property
    def _smaller_is_better(self) -> bool:
        return bool(self._searcher.get("smaller_is_better", True))

    def _checkpoint_by_policy(self) -> None:
        if self._metric is None:
            return
        better = self._best_earlier is None
        if self._best_earlier is not None:
            ahead = self._best_earlier - self._metric
            better = ahead > 0 if self._smaller_is_better else ahead < 0
        if self._policy == "all" or (self._policy == "best" and better):
            self._checkpoint_unless_current()

    # Checkpoints.

    def _checkpoint_unless_current(self) -> None:
        if self._last_checkpoint == self.steps:
            return
        self._status("checkpointing")
        self._last_checkpoint = self.steps
        if not self._chief:
            return
        metadata = {
            "determined_version": API_VERSION,
            "steps_completed": self.steps,
            "framework": f"tensorflow-{_backend.tensorflow().__version__}",
            "format": "saved_weights",
        }
        with self._core.checkpoint.store_path(metadata) as (path, _):
            states = [
                callback.get_state() if hasattr(callback, "get_state") else None
                for callback in self._user_callbacks
            ]
            _state.save(path, self._context, states, self._progress(), self._class_name())
            self._call_hooks("on_checkpoint_end", str(path))

    def _progress(self) -> Dict[str, Any]:
        return {
            "trial_id": self._trial_id(),
            "steps_completed": self.steps,
            "last_validation": self._last_validation,
            "last_checkpoint": self._last_checkpoint,
        }

    def _trial_id(self) -> int:
        return int(self._context.env.det_trial_id or 0)

    def _class_name(self) -> str:
        trial_class = type(self._trial)
        return f"{trial_class.__module__}:{trial_class.__qualname__}"

    def _restore(self, storage_id: str) -> None:
        self._status("restoring")
        with self._core.checkpoint.restore_path(storage_id) as path:
            found = _state.load(
                pathlib.Path(path), self._context, self._user_callbacks, self._trial_id()
            )
        if found is None:
            logger.info("training begins with the weights of checkpoint %s", storage_id)
            return
        self.steps = int(found["steps_completed"])
        self._last_checkpoint = self.steps
        self._last_validation = found.get("last_validation")
        # The validation of this checkpoint may have been reported after the checkpoint was written.
        known = self._core.train._get_last_validation() if self._chief else None
        if self._dist.broadcast(known) == self.steps:
            self._last_validation = self.steps
        logger.info("continuing from checkpoint %s at batch %d", storage_id, self.steps)

    def _call_hooks(self, hook: str, *args: Any) -> None:
        """Call a hook on the callbacks that define it."""
        for callback in self._user_callbacks:
            call = getattr(callback, hook, None)
            if callable(call):
                call(*args)


@contextlib.contextmanager
def _metrics_kept(model: Any) -> Iterator[None]:
    """Let a model continue to average its metrics over the batches of a block.

    ``train_on_batch`` resets the metrics at each batch; Keras 3 has no argument to prevent it.
    """
    vars(model)["reset_metrics"] = lambda: None
    try:
        yield
    finally:
        del vars(model)["reset_metrics"]


def _plain(value: Any) -> Any:
    """Convert a number of any library to a float of Python; return other values unchanged."""
    if util.is_numerical_scalar(value):
        return float(value)
    return value.numpy() if hasattr(value, "numpy") else value
