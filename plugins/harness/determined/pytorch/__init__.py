"""PyTorch on the cluster: trial classes, and the Trainer that trains them.

A ``PyTorchTrial`` says what to do with a batch. ``Trainer.fit`` trains it from a script, and
``entrypoint: module:Class`` without one. Reports, checkpoints, preemption, several slots and exact
resumption are the loop's matter (``_loop``), which drives PyTorch through an engine (``_engine``).
"""

try:
    import torch  # noqa: F401
except ImportError as err:
    raise ImportError("determined.pytorch needs PyTorch. Install torch: pip install torch") from err

from determined.pytorch import samplers
from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._data import (
    DataLoader,
    TorchData,
    adapt_batch_sampler,
    data_length,
    to_device,
)
from determined.pytorch._experimental import PyTorchExperimentalContext
from determined.pytorch._load import CheckpointLoadContext, load_trial_from_checkpoint_path
from determined.pytorch._lr_scheduler import LRScheduler
from determined.pytorch._reducer import (
    MetricReducer,
    Reducer,
    _PyTorchReducerContext,
    _simple_reduce_metrics,
    _SimpleReducer,
)
from determined.pytorch._trainer import Trainer, init
from determined.pytorch._trial import PyTorchTrial
from determined.pytorch._units import Batch, Epoch, TrainUnit

__all__ = [
    "Batch",
    "CheckpointLoadContext",
    "DataLoader",
    "Epoch",
    "LRScheduler",
    "MetricReducer",
    "PyTorchCallback",
    "PyTorchExperimentalContext",
    "PyTorchTrial",
    "PyTorchTrialContext",
    "Reducer",
    "TorchData",
    "TrainUnit",
    "Trainer",
    "_PyTorchReducerContext",
    "_SimpleReducer",
    "_simple_reduce_metrics",
    "adapt_batch_sampler",
    "data_length",
    "init",
    "load_trial_from_checkpoint_path",
    "samplers",
    "to_device",
]
