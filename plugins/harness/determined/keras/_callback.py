"""Training with ``model.fit`` on a cluster: a callback in place of a training loop."""

from __future__ import annotations

import contextlib
import logging
import os
import pathlib
import pickle
import tempfile
from typing import Any, Dict, Optional, Tuple, Union

from determined import core, util
from determined._info import get_cluster_info
from determined.keras import _backend, _state

logger = logging.getLogger("determined.keras")

_callbacks = _backend.keras().callbacks
_Progress: Any = _callbacks.ProgbarLogger
_Board: Any = _callbacks.TensorBoard

MODEL = "model_checkpoint"
STATE = "callback_state"

# Keys in the logs of a batch that are no metrics.
_NO_METRICS = ("batch", "size")


class DeterminedCallback(_Progress):  # type: ignore[misc]
    """Reports metrics, stores checkpoints, handles preemption and resumes, in ``model.fit``.

    - Metrics are reported after each epoch, or every ``train_metrics_report_period`` batches.
    - A checkpoint is stored every ``checkpoint_epochs`` epochs (0: only when training ends or
      is preempted). ``save_model`` and ``load_model`` write and read the model; by default they
      write the weights to ``model_checkpoint`` (with Keras 3 ``model_checkpoint.weights.h5``).
    - After each epoch the callback asks whether the trial is preempted.
    - ``checkpoint`` is the checkpoint to start from, on the cluster
      ``det.get_cluster_info().latest_checkpoint``. If it has the same ``continue_id``, usually the
      trial's number, training continues with the next epoch, else with epoch 0 and its weights.

    The ``initial_epoch`` of ``fit`` has no effect, and log lines replace the progress bar. Leave
    out Keras's own BackupAndRestore and ModelCheckpoint.

    Example::

        with core.init() as core_context:
            info = det.get_cluster_info()
            callback = DeterminedCallback(
                core_context,
                checkpoint=info.latest_checkpoint if info else None,
                continue_id=info.trial.trial_id if info else "local",
            )
            model.fit(dataset, epochs=5, verbose=2, callbacks=[callback])

    A class of your own may write other files; Keras calls ``set_params``::

        class Mine(DeterminedCallback):
            def save_model(self, model, path, distributed):
                model.save(path + ".keras")

            def load_model(self, model, path, distributed):
                model.load_weights(path + ".keras")

            def set_params(self, params):
                super().set_params({**params, "verbose": 0})
    """

    # It is a ProgbarLogger only so that Keras adds no other.

    _chief_worker_only = False
    _supports_tf_logs = False

    def __init__(
        self,
        core_context: core.Context,
        checkpoint: Optional[str],
        continue_id: Union[int, str],
        *,
        train_metrics_report_period: Union[int, str] = "epoch",
        checkpoint_epochs: int = 1,
    ) -> None:
        _callbacks.Callback.__init__(self)
        if train_metrics_report_period != "epoch" and (
            not isinstance(train_metrics_report_period, int) or train_metrics_report_period < 1
        ):
            raise ValueError(
                "train_metrics_report_period is 'epoch' or a number of batches, not "
                f"{train_metrics_report_period!r}"
            )
        self._core = core_context
        self._checkpoint = checkpoint
        self._continue_id = continue_id
        self._report_period = train_metrics_report_period
        self._checkpoint_epochs = checkpoint_epochs
        self._is_chief = core_context.distributed.rank == 0
        self._is_verbose = False
        self._save_user_code = True
        self._steps_completed = 0
        self._epoch = 0
        self._trained_epoch: Optional[int] = None
        self._saved_epoch: Optional[int] = None
        self._validated_at: Optional[int] = None
        self._restored = contextlib.ExitStack()

    # The progress bar's own methods.

    def set_params(self, params: Dict[str, Any]) -> None:
        """Take the arguments of ``fit``."""
        _callbacks.Callback.set_params(self, params)
        self._is_verbose = bool(params.get("verbose", 0))

    def on_predict_begin(self, logs: Optional[Dict[str, Any]] = None) -> None:
        """Do nothing."""

    def on_predict_batch_end(self, batch: int, logs: Optional[Dict[str, Any]] = None) -> None:
        """Do nothing."""

    def on_predict_end(self, logs: Optional[Dict[str, Any]] = None) -> None:
        """Do nothing."""

    def on_test_batch_end(self, batch: int, logs: Optional[Dict[str, Any]] = None) -> None:
        """Do nothing."""

    def _implements_train_batch_hooks(self) -> bool:
        return True

    def _implements_test_batch_hooks(self) -> bool:
        return False

    def _implements_predict_batch_hooks(self) -> bool:
        return False

    # Training.

    def on_train_begin(self, logs: Optional[Dict[str, Any]] = None) -> None:
        """Restore the checkpoint that training begins with."""
        if self._checkpoint is None:
            return
        self._status("restoring")
        path = self._restored.enter_context(self._core.checkpoint.restore_path(self._checkpoint))
        self.load_model(self.model, str(path / MODEL), self._core.distributed)
        self._load_state(path)

    def on_epoch_begin(self, epoch: int, logs: Optional[Dict[str, Any]] = None) -> None:
        """Store the epoch."""
        self._epoch = epoch
        self._status("training")

    def on_train_batch_begin(self, batch: int, logs: Optional[Dict[str, Any]] = None) -> None:
        """Do nothing."""

    def on_train_batch_end(self, batch: int, logs: Optional[Dict[str, Any]] = None) -> None:
        """Count the batch, and report if a report is due."""
        self._steps_completed += 1
        # Some weights are read from the checkpoint only when the model first runs.
        self._restored.close()
        if isinstance(self._report_period, int) and (
            self._steps_completed % self._report_period == 0
        ):
            self._report("training", logs or {})

    def on_epoch_end(self, epoch: int, logs: Optional[Dict[str, Any]] = None) -> None:
        """Report, save if a checkpoint is due, and stop if the trial is preempted."""
        if self._report_period == "epoch":
            training = {k: v for k, v in (logs or {}).items() if not k.startswith("val_")}
            self._report("training", training)
        epochs = (self.params or {}).get("epochs")
        if self._is_chief and epochs:
            self._core.train.report_progress(min(1.0, (epoch + 1) / epochs))
        if self._is_chief and self._is_verbose:
            print(f"epoch {epoch + 1} of {epochs}, {self._steps_completed} batches: {logs}")
        self._trained_epoch = epoch
        if self._checkpoint_epochs > 0 and (epoch + 1) % self._checkpoint_epochs == 0:
            self._save(epoch)
        if self._core.preempt.should_preempt():
            self.model.stop_training = True

    def on_test_begin(self, logs: Optional[Dict[str, Any]] = None) -> None:
        """Report the status: validating."""
        self._status("validating")

    def on_test_end(self, logs: Optional[Dict[str, Any]] = None) -> None:
        """Report the metrics of the validation."""
        if self._validated_at == self._steps_completed:
            return
        self._validated_at = self._steps_completed
        self._report("validation", logs or {})

    def on_train_end(self, logs: Optional[Dict[str, Any]] = None) -> None:
        """Save a checkpoint if the last step has none."""
        if self._trained_epoch is not None and self._trained_epoch != self._saved_epoch:
            self._save(self._trained_epoch)
        self._restored.close()
        self._status("finishing")

    # Its parts.

    def _status(self, words: str) -> None:
        if self._is_chief:
            self._core.train.set_status(words)

    def _report(self, group: str, logs: Dict[str, Any]) -> None:
        if not self._is_chief:
            return
        metrics = {name: value for name, value in logs.items() if name not in _NO_METRICS}
        metrics.setdefault("epochs", self._epoch + 1)
        metrics.setdefault("batches", self._steps_completed)
        if group == "training":
            self._core.train.report_training_metrics(self._steps_completed, metrics)
        else:
            self._core.train.report_validation_metrics(self._steps_completed, metrics)

    def _save(self, epoch: int) -> None:
        self._status("checkpointing")
        metadata = {"steps_completed": self._steps_completed}
        # All workers take part: some strategies read shared variables when they save.
        with self._core.checkpoint.store_path(metadata, shard=True) as (path, _):
            self.save_model(self.model, str(path / MODEL), self._core.distributed)
            if self._is_chief:
                state = {
                    "epoch": epoch,
                    "steps_completed": self._steps_completed,
                    "continue_id": self._continue_id,
                    "training_length": None,
                    "validation_length": None,
                }
                (path / STATE).write_bytes(pickle.dumps(state))
                if self._save_user_code:
                    util.write_user_code(path, on_cluster=get_cluster_info() is not None)
        self._saved_epoch = epoch

    def _load_state(self, path: pathlib.Path) -> None:
        file = path / STATE
        if not file.exists():
            return
        state = pickle.loads(file.read_bytes())
        if state["continue_id"] != self._continue_id:
            return
        self._steps_completed = state["steps_completed"]
        _start_at(self.model, int(state["epoch"]) + 1)

    def save_model(self, model: Any, path: str, distributed: core.DistributedContext) -> None:
        """Write the model; override it together with ``load_model`` to write other files."""
        if distributed.rank == 0:
            model.save_weights(path + _suffix())
            return
        # The other workers must also save, but their files are not needed.
        with tempfile.TemporaryDirectory(prefix="determined-") as elsewhere:
            model.save_weights(os.path.join(elsewhere, MODEL + _suffix()))

    def load_model(self, model: Any, path: str, distributed: core.DistributedContext) -> None:
        """Read the model that ``save_model`` wrote."""
        if _backend.generation() == 3 and getattr(model, "optimizer", None) is not None:
            # Layers that are not built yet are left out.
            _state.build_optimizer(model.optimizer, model)
        with_suffix = path + _suffix()
        model.load_weights(with_suffix if os.path.exists(with_suffix) else path)


def _suffix() -> str:
    # Keras 3 writes weights in one format only, and requires its file name extension.
    return "" if _backend.generation() == 2 else ".weights.h5"


class _Resume:
    """Gives Keras 2 the number of the next epoch."""

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch

    def maybe_load_initial_epoch_from_ckpt(self, *_: Any, **__: Any) -> int:
        """Return the epoch; releases before 2.12 call this method."""
        return self._epoch

    def maybe_load_initial_counters_from_ckpt(self, *_: Any, **__: Any) -> Tuple[int, int]:
        """Return the epoch and the batch in it."""
        return self._epoch, 0


def _start_at(model: Any, epoch: int) -> None:
    """Let ``fit``, which is about to begin, begin with an epoch other than the first."""
    if _backend.generation() == 2:
        model._training_state = _Resume(epoch)
    else:
        model._initial_epoch = epoch


class TensorBoard(_Board):  # type: ignore[misc]
    """Keras's TensorBoard callback, which writes to the folder of the platform's TensorBoard.

    Example: ``model.fit(dataset, callbacks=[callback, keras.TensorBoard(core_context)])``
    """

    def __init__(self, core_context: core.Context, *args: Any, **kwargs: Any) -> None:
        given = kwargs.pop("log_dir", args[0] if args else None)
        if given is not None:
            logger.warning("log_dir=%s has no effect: TensorBoard's files go to storage", given)
        super().__init__(str(core_context.train.get_tensorboard_path()), *args[1:], **kwargs)

    def on_epoch_end(self, epoch: int, logs: Optional[Dict[str, Any]] = None) -> None:
        """Write points, and flush them at once."""
        super().on_epoch_end(epoch, logs)
        flush_writers(self)


def flush_writers(callback: Any) -> None:
    """Flush the writers of Keras's TensorBoard callback."""
    for writer in (getattr(callback, "_writers", None) or {}).values():
        writer.flush()
