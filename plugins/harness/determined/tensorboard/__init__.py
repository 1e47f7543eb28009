"""TensorBoard's files: their local folder, and their copies in checkpoint storage.

The platform's TensorBoard task reads them from storage, below
``<cluster>/tensorboard/experiment/<experiment>/trial/<trial>``.
"""

from determined.tensorboard._build import build, get_base_path, get_sync_path
from determined.tensorboard._events import EventWriter
from determined.tensorboard._manager import SharedFSTensorboardManager, TensorboardManager
from determined.tensorboard._writers import BatchMetricWriter, MetricWriter

__all__ = [
    "BatchMetricWriter",
    "EventWriter",
    "MetricWriter",
    "SharedFSTensorboardManager",
    "TensorboardManager",
    "build",
    "get_base_path",
    "get_sync_path",
]
