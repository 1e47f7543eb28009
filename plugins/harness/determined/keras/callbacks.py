"""Callbacks for Keras trial classes, which keep their state through checkpoints.

A trial class is not trained epoch by epoch: the configuration decides when training pauses for
validations and checkpoints. ``on_epoch_end`` is called if ``records_per_epoch`` is set, with
empty logs. These callbacks act after a validation, Keras's own after an epoch.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from determined import tensorboard
from determined.keras import _backend
from determined.keras._callback import flush_writers

_callbacks = _backend.keras().callbacks
_Base: Any = _callbacks.Callback
_Stopping: Any = _callbacks.EarlyStopping
_Plateau: Any = _callbacks.ReduceLROnPlateau
_Board: Any = _callbacks.TensorBoard


class Callback(_Base):  # type: ignore[misc]
    """A Keras callback with the further hooks that a trial class has.

    Example::

        class Best(keras.callbacks.Callback):
            best = math.inf

            def on_test_end(self, logs=None):
                self.best = min(self.best, logs["loss"])

            def get_state(self):
                return self.best

            def load_state(self, state):
                self.best = state
    """

    def on_train_workload_begin(
        self,
        total_batches_trained: int,
        batches_requested: Optional[int],
        logs: Dict[str, Any],
    ) -> None:
        """Called before a piece of training, at most ``scheduling_unit`` batches long."""

    def on_train_workload_end(self, total_batches_trained: int, logs: Dict[str, Any]) -> None:
        """Called after a piece of training, with its metrics."""

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        """Called when a checkpoint is written, so that files can be added to it."""

    def get_state(self) -> Any:
        """Return the state of this callback for a checkpoint; it must be picklable."""
        return None

    def load_state(self, state: Any) -> None:
        """Restore the state that ``get_state`` returned."""


class _AfterValidation(Callback):
    """Acts after a validation, where its Keras class acts after an epoch."""

    _kept: Tuple[str, ...] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._validations = 0

    def on_epoch_end(self, epoch: int, logs: Optional[Dict[str, Any]] = None) -> None:
        """Do nothing."""

    def on_test_end(self, logs: Optional[Dict[str, Any]] = None) -> None:
        """Act on the validation."""
        values = {f"val_{name}": value for name, value in (logs or {}).items()}
        super().on_epoch_end(self._validations, values)
        self._validations += 1

    def get_state(self) -> Any:
        """Return the state about earlier validations."""
        names = ("_validations", *self._kept)
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    def load_state(self, state: Any) -> None:
        """Restore the state about earlier validations."""
        for name, value in state.items():
            setattr(self, name, value)


class EarlyStopping(_AfterValidation, _Stopping):  # type: ignore[misc]
    """Keras's EarlyStopping, which uses validations instead of epochs.

    Example: ``keras.callbacks.EarlyStopping(monitor="val_loss", patience=3)``
    """

    _kept = ("wait", "stopped_epoch", "best", "best_weights", "best_epoch")


class ReduceLROnPlateau(_AfterValidation, _Plateau):  # type: ignore[misc]
    """Keras's ReduceLROnPlateau, which uses validations instead of epochs.

    Example: ``keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5)``
    """

    _kept = ("wait", "best", "cooldown_counter")


class TensorBoard(Callback, _Board):  # type: ignore[misc]
    """Keras's TensorBoard callback, which writes to the folder of the platform's TensorBoard.

    A ``log_dir`` has no effect.

    Example: ``keras.callbacks.TensorBoard(histogram_freq=1)``
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["log_dir"] = str(tensorboard.get_base_path({}))
        # It is Keras's first argument.
        rest: List[Any] = list(args[1:])
        if rest:
            raise TypeError("TensorBoard takes its arguments by name")
        super().__init__(**kwargs)

    def on_train_workload_end(self, total_batches_trained: int, logs: Dict[str, Any]) -> None:
        """Flush the written points."""
        flush_writers(self)
