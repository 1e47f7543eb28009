"""Writes reported metrics as curves, and the interface of writers of curves."""

from __future__ import annotations

import abc
from typing import Any, Dict, List, Optional

from determined import util


class MetricWriter(abc.ABC):
    """Writes points of curves to TensorBoard's files.

    Example: ``writer.add_scalar("loss", 0.5, step)``
    """

    @abc.abstractmethod
    def add_scalar(self, name: str, value: Any, step: int) -> None:
        """Add a point; example: as in the class."""

    @abc.abstractmethod
    def reset(self) -> None:
        """End the file; the next point begins another; example: ``writer.reset()``."""

    @abc.abstractmethod
    def flush(self) -> None:
        """Make what was added visible to readers; example: ``writer.flush()``."""

    def close(self) -> None:
        """End the file; example: ``writer.close()``."""
        self.reset()


class BatchMetricWriter:
    """Writes the reported metrics that are single numbers as curves, below ``Determined/``.

    Example: ``BatchMetricWriter(TorchWriter()).on_train_step_end(10, {"loss": 0.5})``
    """

    def __init__(self, writer: MetricWriter) -> None:
        self.writer = writer

    def on_train_step_end(
        self,
        steps_completed: int,
        metrics: Dict[str, Any],
        batch_metrics: Optional[List[Dict[str, Any]]] = None,
    ) -> None:
        """Draw training metrics; those given for each batch are drawn batch by batch."""
        drawn = set()
        for index, batch in enumerate(batch_metrics or []):
            step = steps_completed - len(batch_metrics or []) + index
            for name, value in batch.items():
                self._draw(name, value, step)
                drawn.add(name)
        for name, value in metrics.items():
            if name not in drawn:
                self._draw(name, value, steps_completed)
        self.writer.flush()

    def on_validation_step_end(self, steps_completed: int, metrics: Dict[str, Any]) -> None:
        """Draw validation metrics, under names that begin with ``val``."""
        for name, value in metrics.items():
            self._draw(name if name.startswith("val") else f"val_{name}", value, steps_completed)
        self.writer.flush()

    def close(self) -> None:
        """End the file.

        Example: ``drawer.close()``
        """
        self.writer.close()

    def _draw(self, name: str, value: Any, step: int) -> None:
        if util.is_numerical_scalar(value):
            self.writer.add_scalar(f"Determined/{name}", float(value), step)
