"""Turns metrics into idempotent reports."""

from __future__ import annotations

import datetime
import logging
import operator
from typing import Any, Dict, List, Optional

from determined import util
from determined.common import api
from determined.core._backlog import Report
from determined.core._reporter import Reporter

logger = logging.getLogger("determined.core")


class _MetricsContext:
    """Reports metrics of one run of a trial, in order, from a background thread.

    A report names its trial, run, group and step (its time, if there is no step), so the
    master recognises a report that it already has.
    """

    def __init__(
        self,
        session: api.BaseSession,
        trial_id: int,
        run_id: int,
        reporter: Optional[Reporter] = None,
    ) -> None:
        self._trial_id = trial_id
        self._run_id = run_id
        self._reporter = reporter or Reporter(session)

    def report(
        self,
        group: str,
        metrics: Dict[str, Any],
        steps_completed: Optional[int] = None,
        batch_metrics: Optional[List[Dict[str, Any]]] = None,
        report_time: Optional[datetime.datetime] = None,
        background: bool = False,
    ) -> None:
        """Queue one report; raise the master's error for an earlier report.

        A background report raises nothing: ``background_refusal`` returns the master's error.
        """
        if not group or "." in group:
            raise ValueError(f"a metrics group is a name without a dot, not {group!r}")
        time = report_time or datetime.datetime.now(datetime.timezone.utc)
        batches = None
        if batch_metrics is not None:
            batches = [serializable(batch, group) for batch in batch_metrics]
        body = {
            "group": group,
            "metrics": {
                "trialId": self._trial_id,
                "trialRunId": self._run_id,
                "stepsCompleted": None if steps_completed is None else whole(steps_completed),
                "reportTime": time.isoformat(),
                "metrics": {"avgMetrics": serializable(metrics, group), "batchMetrics": batches},
            },
        }
        what = f"{group} metrics"
        if steps_completed is not None:
            what += f" at step {steps_completed}"
        path = f"/api/v1/trials/{self._trial_id}/metrics"
        self._reporter.submit(Report(path, util.json_encode(body), what, background))

    @property
    def background_refusal(self) -> Optional[Exception]:
        """The master's error for a background report, or None."""
        return self._reporter.background_refusal

    def start(self) -> None:
        """Start to deliver."""
        self._reporter.start()

    def close(self) -> None:
        """Deliver queued reports, for a limited time."""
        self._reporter.close()


class _DummyMetricsContext(_MetricsContext):
    """Reports nothing."""

    def __init__(self) -> None:
        pass

    def report(
        self,
        group: str,
        metrics: Dict[str, Any],
        steps_completed: Optional[int] = None,
        batch_metrics: Optional[List[Dict[str, Any]]] = None,
        report_time: Optional[datetime.datetime] = None,
        background: bool = False,
    ) -> None:
        """Do nothing."""

    def start(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def whole(steps: Any) -> int:
    """Return steps as an int: Python's own, an array library's, or a float without a fraction."""
    if isinstance(steps, float) and steps.is_integer():
        return int(steps)
    try:
        return operator.index(steps)
    except TypeError:
        raise TypeError(f"steps_completed must be a whole number, not {steps!r}") from None


def serializable(metrics: Dict[str, Any], group: str) -> Dict[str, Any]:
    """Return the JSON form of metrics; leave out values without one, with a warning."""
    kept = {}
    dropped = []
    for name, value in metrics.items():
        try:
            if isinstance(value, (bytes, bytearray)):
                raise TypeError("bytes are no metric")
            kept[str(name)] = util.jsonable(value)
        except (TypeError, ValueError, RecursionError):
            dropped.append(f"{name} ({type(value).__name__})")
    if dropped:
        logger.warning(
            "%s metrics without a JSON form are not reported: %s", group, ", ".join(dropped)
        )
    return kept
