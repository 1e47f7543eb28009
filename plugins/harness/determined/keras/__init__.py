"""Keras on the cluster.

``DeterminedCallback`` is for scripts that call ``model.fit``; ``TFKerasTrial`` for trial classes,
the older way. Both work with Keras 2 (``tf_keras``, or TensorFlow before 2.16) and Keras 3.
Modules that need TensorFlow are imported when they are first used, so that this package can choose
the version of Keras.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, List

from determined.keras._context import TFKerasExperimentalContext, TFKerasTrialContext
from determined.keras._data import ArrayLikeAdapter, SequenceAdapter
from determined.keras._load import load_model_from_checkpoint_path
from determined.keras._trial import TFKerasTrial

if TYPE_CHECKING:
    from determined.keras import callbacks
    from determined.keras._callback import DeterminedCallback, TensorBoard
    from determined.keras.callbacks import TensorBoard as TFKerasTensorBoard

# What a data loader may return; a name for annotations.
InputData = Any
ArrayLike = Any

_LAZY = {
    "DeterminedCallback": "determined.keras._callback",
    "TFKerasTensorBoard": "determined.keras.callbacks",
    "TensorBoard": "determined.keras._callback",
    "callbacks": "determined.keras.callbacks",
}

__all__ = [
    "ArrayLike",
    "ArrayLikeAdapter",
    "DeterminedCallback",
    "InputData",
    "SequenceAdapter",
    "TFKerasExperimentalContext",
    "TFKerasTensorBoard",
    "TFKerasTrial",
    "TFKerasTrialContext",
    "TensorBoard",
    "callbacks",
    "load_model_from_checkpoint_path",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(_LAZY[name])
    if name == "callbacks":
        return module
    # An older name of callbacks.TensorBoard.
    return getattr(module, name.replace("TFKerasTensorBoard", "TensorBoard"))


def __dir__() -> List[str]:
    return sorted(__all__)
