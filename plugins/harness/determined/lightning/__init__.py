"""Lightning on the cluster: a callback for checkpoints and preemption, a logger for metrics."""

from determined.lightning._callback import DeterminedCallback
from determined.lightning._logger import DeterminedLogger

__all__ = ["DeterminedCallback", "DeterminedLogger"]
