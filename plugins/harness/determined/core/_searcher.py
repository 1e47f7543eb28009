"""Searcher operations: how long the search wants a trial to train.

There are two kinds. By default a trial has one operation, which this module makes with the length
``searcher.max_length`` of the configuration, and the search uses the validation metrics. If
the platform sets ``DET_SEARCHER_API=ops``, the master sends operations one after another,
and the trial answers each with its metric.
"""

from __future__ import annotations

import enum
import logging
import os
from typing import Any, Dict, Iterator, Optional

from determined import util
from determined.common import api
from determined.core._backlog import Report
from determined.core._distributed import DistributedContext
from determined.core._reporter import Reporter

logger = logging.getLogger("determined.core")

_NO_LENGTH = (
    "this experiment's configuration has no searcher.max_length, so there are no searcher "
    "operations: add it, or train for a length that the training code decides itself"
)


class Unit(enum.Enum):
    """The unit of a length.

    Example: ``core_context.searcher.get_configured_units() is Unit.BATCHES``
    """

    EPOCHS = "EPOCHS"
    RECORDS = "RECORDS"
    BATCHES = "BATCHES"


_UNITS = {"records": Unit.RECORDS, "epochs": Unit.EPOCHS, "batches": Unit.BATCHES}


def _parse_searcher_max_length(experiment_config: Dict[str, Any]) -> Optional[int]:
    """Return the number in ``searcher.max_length``, in any unit, or None."""
    length = (experiment_config.get("searcher") or {}).get("max_length")
    if isinstance(length, dict):
        length = next(iter(length.values()), None)
    if length is None:
        return None
    if isinstance(length, bool) or not isinstance(length, int):
        raise ValueError(f"searcher.max_length must be a whole number, not {length!r}")
    return length


def _parse_searcher_units(experiment_config: Dict[str, Any]) -> Optional[Unit]:
    """Return the unit of the searcher's lengths, or None if the configuration has none."""
    searcher = experiment_config.get("searcher") or {}
    if "unit" in searcher:
        return _UNITS.get(searcher["unit"])
    length = searcher.get("max_length")
    if isinstance(length, dict) and len(length) == 1:
        return _UNITS.get(next(iter(length)))
    return None


class SearcherOperation:
    """Train until ``length`` in total (not: for that much more), then report the metric.

    Example::

        for op in core_context.searcher.operations():
            for step in range(op.length):
                train(step)
                op.report_progress(step)
            op.report_completed(accuracy)
    """

    def __init__(
        self,
        session: api.BaseSession,
        trial_id: int,
        length: int,
        is_chief: bool,
        reporter: Optional[Reporter] = None,
    ) -> None:
        self._session = session
        self._trial_id = trial_id
        self._length = length
        self._is_chief = is_chief
        self._completed = False
        self._reporter = reporter

    @property
    def length(self) -> int:
        """The total length to train to, in the unit of the configuration."""
        return self._length

    def report_progress(self, length: float) -> None:
        """Report how far training is, in the unit of ``length``; for the chief only."""
        self._check_progress(length)
        fraction = min(1.0, max(0.0, float(length) / self._length)) if self._length else 1.0
        self._post_progress({"progress": fraction, "is_raw": True})

    def report_completed(self, searcher_metric: Any) -> None:
        """End the operation with the metric of the search; for the chief only, and once."""
        self._complete()

    def _post_progress(self, body: Dict[str, Any]) -> None:
        path = f"/api/v1/trials/{self._trial_id}/progress"
        if self._reporter is None:
            self._session.post(path, json=body)
        else:
            self._reporter.submit_latest(Report(path, util.json_encode(body), "progress"))

    def _check_progress(self, length: float) -> None:
        if not self._is_chief:
            raise RuntimeError("only the chief worker may call op.report_progress()")
        if self._completed and length != self._length:
            raise RuntimeError("op.report_progress() was called after op.report_completed()")

    def _complete(self) -> None:
        if not self._is_chief:
            raise RuntimeError("only the chief worker may call op.report_completed()")
        if self._completed:
            raise RuntimeError("op.report_completed() may be called only once")
        self._completed = True


class _ServerSearcherOperation(SearcherOperation):
    """An operation that the master sent and waits for."""

    def report_progress(self, length: float) -> None:
        """Report how far training is, in the unit of ``length``; for the chief only."""
        self._check_progress(length)
        self._post_progress({"progress": float(length)})

    def report_completed(self, searcher_metric: Any) -> None:
        """Hand the metric to the search; for the chief only, and once."""
        self._complete()
        self._session.post(
            f"/api/v1/trials/{self._trial_id}/searcher/completed_operation",
            json={"op": {"length": self._length}, "searcherMetric": searcher_metric},
        )


class SearcherMode(enum.Enum):
    """Which workers iterate over the operations: all at the same time, or the chief alone.

    Example: ``core_context.searcher.operations(core.SearcherMode.ChiefOnly)``
    """

    WorkersAskChief = "WORKERS_ASK_CHIEF"
    # The spelling is part of the interface: older code passes it as a string.
    ChiefOnly = "CHEIF_ONLY"


class SearcherContext:
    """The operations of this trial.

    Example::

        for op in core_context.searcher.operations():
            train_up_to(op.length)                         # in get_configured_units()
            op.report_completed(accuracy)
        if core_context.searcher.get_configured_units() is core.Unit.EPOCHS:
            print("lengths are in epochs")

    With ``operations(auto_ack=False)`` the program acknowledges the end itself::

        core_context.searcher.acknowledge_out_of_ops()
    """

    def __init__(
        self,
        session: api.BaseSession,
        dist: DistributedContext,
        trial_id: int,
        max_length: int,
        units: Optional[Unit] = None,
        reporter: Optional[Reporter] = None,
    ) -> None:
        self._session = session
        self._dist = dist
        self._trial_id = trial_id
        self._length = max_length
        self._units = units
        self._reporter = reporter

    def operations(
        self,
        searcher_mode: SearcherMode = SearcherMode.WorkersAskChief,
        auto_ack: bool = True,
    ) -> Iterator[SearcherOperation]:
        """Iterate over the operations; each must be completed before the next."""
        return self._operations(searcher_mode, auto_ack)

    def _operations(
        self,
        searcher_mode: SearcherMode = SearcherMode.WorkersAskChief,
        auto_ack: bool = True,
    ) -> Iterator[SearcherOperation]:
        mode = SearcherMode(searcher_mode)
        if self._dist.rank == 0:
            yield from self._chief_operations(mode, auto_ack)
            return
        if mode != SearcherMode.WorkersAskChief:
            raise RuntimeError(
                f"searcher.operations() was called by the worker of rank {self._dist.rank}, but "
                "searcher_mode=ChiefOnly reserves it for rank 0"
            )
        while True:
            length = self._dist.broadcast(None)
            if length is None:
                return
            yield self._operation(length, is_chief=False)

    def _chief_operations(self, mode: SearcherMode, auto_ack: bool) -> Iterator[SearcherOperation]:
        for length in self._lengths():
            operation = self._operation(length, is_chief=True)
            if mode == SearcherMode.WorkersAskChief:
                self._dist.broadcast(length)
            yield operation
            if not operation._completed:
                raise RuntimeError("op.report_completed() must be called on each operation")
        if mode == SearcherMode.WorkersAskChief:
            self._dist.broadcast(None)
        if auto_ack:
            self.acknowledge_out_of_ops()

    def _lengths(self) -> Iterator[int]:
        """The lengths to train to, one after another."""
        yield self._length

    def _operation(self, length: int, is_chief: bool) -> SearcherOperation:
        return SearcherOperation(self._session, self._trial_id, length, is_chief, self._reporter)

    def acknowledge_out_of_ops(self) -> None:
        """Do nothing: a trial ends after its only operation without an acknowledgement."""

    def get_configured_units(self) -> Optional[Unit]:
        """Return the unit of lengths; None if the configuration has a number without a unit."""
        return self._units


class _ServerSearcherContext(SearcherContext):
    """The operations that the master sends."""

    def __init__(
        self,
        session: api.BaseSession,
        dist: DistributedContext,
        trial_id: int,
        allocation_id: str,
        units: Optional[Unit] = None,
        reporter: Optional[Reporter] = None,
    ) -> None:
        super().__init__(session, dist, trial_id, 0, units, reporter)
        self._allocation_id = allocation_id

    def _lengths(self) -> Iterator[int]:
        path = f"/api/v1/trials/{self._trial_id}/searcher/operation"
        while True:
            answer = self._session.get(path).json()
            operation = answer.get("op")
            if answer.get("completed") or not operation:
                return
            # A 64-bit number travels as a string.
            yield int(operation["validateAfter"]["length"])

    def _operation(self, length: int, is_chief: bool) -> SearcherOperation:
        return _ServerSearcherOperation(
            self._session, self._trial_id, length, is_chief, self._reporter
        )

    def acknowledge_out_of_ops(self) -> None:
        """Tell the master that this trial ends because it has no operation for now."""
        self._session.post(f"/api/v1/allocations/{self._allocation_id}/signals/ack_preemption")


class SearcherContextMissing(SearcherContext):
    """Takes the place of operations if the configuration has no length; use raises an error.

    Example: ``core_context.searcher.get_configured_units()``
    """

    def __init__(self) -> None:
        pass

    def operations(
        self,
        searcher_mode: SearcherMode = SearcherMode.WorkersAskChief,
        auto_ack: bool = True,
    ) -> Iterator[SearcherOperation]:
        """Raise ValueError."""
        raise ValueError(_NO_LENGTH)

    def acknowledge_out_of_ops(self) -> None:
        """Raise ValueError."""
        raise ValueError(_NO_LENGTH)

    def get_configured_units(self) -> Optional[Unit]:
        """Raise ValueError."""
        raise ValueError(_NO_LENGTH)


class DummySearcherOperation(SearcherOperation):
    """An operation that reports to the log.

    Example: ``next(core.init().searcher.operations()).report_completed(0.9)``
    """

    def __init__(self, length: int, is_chief: bool) -> None:
        self._length = length
        self._is_chief = is_chief
        self._completed = False

    def report_progress(self, length: float) -> None:
        """Log how far training is."""
        self._check_progress(length)
        logger.info("progress report: %s/%s", length, self._length)

    def report_completed(self, searcher_metric: Any) -> None:
        """Log the metric."""
        self._complete()
        logger.info("operation completed: searcher_metric=%s", util.json_encode(searcher_metric))


class DummySearcherContext(SearcherContext):
    """One short operation, to try training code off the cluster.

    Example:

        >>> from determined import core
        >>> dummy = core.DummySearcherContext(core.DummyDistributedContext(), length=5)
        >>> for op in dummy.operations():
        ...     op.report_completed(0.9)
        ...     print(op.length)
        5
    """

    def __init__(self, dist: DistributedContext, length: int = 1) -> None:
        self._dist = dist
        self._length = length
        self._units = None

    def _operation(self, length: int, is_chief: bool) -> SearcherOperation:
        return DummySearcherOperation(length, is_chief)


def _build_searcher(
    session: api.BaseSession,
    dist: DistributedContext,
    trial_id: int,
    allocation_id: str,
    config: Dict[str, Any],
    reporter: Optional[Reporter] = None,
) -> Optional[SearcherContext]:
    """Return the searcher context for the platform and the configuration."""
    units = _parse_searcher_units(config)
    if os.environ.get("DET_SEARCHER_API") == "ops":
        return _ServerSearcherContext(session, dist, trial_id, allocation_id, units, reporter)
    length = _parse_searcher_max_length(config)
    if not length:
        return None
    return SearcherContext(session, dist, trial_id, length, units, reporter)
