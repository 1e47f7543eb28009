"""Reported metrics, as the SDK returns them."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

from determined.common import api
from determined.common.experimental import _util

__all__ = ["TrainingMetrics", "TrialMetrics", "ValidationMetrics"]


@dataclasses.dataclass
class TrialMetrics:
    """One report: the ``metrics`` of a ``group`` after ``steps_completed`` steps.

    Example::

        for report in client.get_trial(7).iter_metrics("validation"):
            print(report.steps_completed, report.metrics, report.total_batches)
    """

    trial_id: int
    trial_run_id: int
    steps_completed: int
    end_time: Optional[datetime.datetime]
    metrics: Dict[str, Any]
    group: str
    batch_metrics: Optional[List[Dict[str, Any]]] = None

    @classmethod
    def _from_wire(cls, report: Mapping[str, Any]) -> TrialMetrics:
        values = report.get("metrics") or {}
        for key in ("avg_metrics", "avgMetrics", "validation_metrics", "validationMetrics"):
            if values.get(key) is not None:
                found = values[key]
                break
        else:
            found = {}
        return cls(
            trial_id=int(report["trialId"]),
            trial_run_id=int(report.get("trialRunId") or 0),
            steps_completed=int(report.get("totalBatches") or 0),
            end_time=_util.timestamp(report.get("endTime")),
            metrics=found,
            group=report.get("group") or "",
            batch_metrics=values.get("batch_metrics") or values.get("batchMetrics"),
        )

    @property
    def total_batches(self) -> int:
        """The older name of ``steps_completed``."""
        return self.steps_completed

    @total_batches.setter
    def total_batches(self, value: int) -> None:
        self.steps_completed = value


class TrainingMetrics(TrialMetrics):
    """A report of training.

    Example: ``[report.metrics for report in trial.stream_training_metrics()]``
    """


class ValidationMetrics(TrialMetrics):
    """A report of validation.

    Example: ``[report.metrics for report in trial.stream_validation_metrics()]``
    """


def iter_metrics(
    session: api.BaseSession, trial_ids: Sequence[int], group: str
) -> Iterator[TrialMetrics]:
    """Yield the reports of trials, of one group or (with "") of all."""
    kinds = {"training": TrainingMetrics, "validation": ValidationMetrics}
    kind = kinds.get(group, TrialMetrics)
    params = {"trialIds": list(trial_ids), "group": group}
    for page in session.stream("/api/v1/trials/metrics/trial_metrics", params=params):
        for report in page.get("metrics") or []:
            yield kind._from_wire(report)
