"""Delivers reports to the master from a thread of its own, in order, through outages.

Training calls ``submit`` and continues. The thread sends one report after another; while no
master answers it tries again without limit, and the reports wait in a ``Backlog``. The thread sends
a report until the master acknowledges it, so a report may arrive twice: each report names its
subject (trial, run, group, step), and the master recognises the second one.

If the master answers with an error, the report is dropped, and the next call from training raises
the error. Errors for background reports are stored separately, so they hide no error of training.
"""

from __future__ import annotations

import atexit
import collections
import logging
import os
import threading
import time
from typing import Deque, Dict, Optional, Tuple

from determined.common import api
from determined.common.api import errors
from determined.core._backlog import Backlog, Report

logger = logging.getLogger("determined.core")

# At the end of a task, reports still arrive after an outage of up to ten minutes.
FLUSH_SECONDS = 600.0

# How long training waits for the acknowledgement of a checkpoint before it continues without.
ACKNOWLEDGE_SECONDS = 10.0

# An outage is logged when it begins, and then at this interval.
_REMIND_SECONDS = 60.0


class Reporter:
    """An ordered stream of reports over one session.

    There are three kinds of call: ``submit`` queues a report; ``submit_latest`` replaces the queued
    report of the same name, for values of which only the last matters; ``submit_and_wait`` queues a
    report and waits for its acknowledgement for a limited time.
    """

    def __init__(
        self,
        session: api.BaseSession,
        backlog: Optional[Backlog] = None,
        retry: Optional[api.RetryPolicy] = None,
        flush_seconds: Optional[float] = None,
        acknowledge_seconds: Optional[float] = None,
    ) -> None:
        self._session = session.with_retry(0)
        self._backlog = Backlog() if backlog is None else backlog
        self._retry = retry or api.RetryPolicy(total=None, backoff_factor=0.1, max_pause=5.0)
        self._flush_seconds = _setting("DET_FLUSH_SECONDS", flush_seconds, FLUSH_SECONDS)
        self._acknowledge_seconds = _setting(
            "DET_ACKNOWLEDGE_SECONDS", acknowledge_seconds, ACKNOWLEDGE_SECONDS
        )
        self._changed = threading.Condition()
        self._latest: Dict[str, Report] = {}
        self._refusals: Deque[Exception] = collections.deque()
        self._background_refusal: Optional[Exception] = None
        self._broken: Optional[Exception] = None
        self._accepted = 0
        self._settled = 0
        self._sent_latest = False
        self._stopping = False
        self._abandoned = False
        self._thread: Optional[threading.Thread] = None

    def start(self) -> None:
        """Start to deliver."""
        with self._changed:
            self._start_locked()

    def _start_locked(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name="determined-reporter", daemon=True
            )
            self._thread.start()
            # For scripts that end without leaving their context.
            atexit.register(self._close_at_exit)

    def submit(self, report: Report) -> int:
        """Queue a report and return its number; wait while the queue is full."""
        if not report.background:
            self.raise_refusal()
        with self._changed:
            self._check_open(report)
            self._start_locked()
            warned = False
            while not self._backlog.append(report):
                if not warned:
                    logger.warning(
                        "%d reports wait for a master that does not answer, and there is no "
                        "room for more: training pauses",
                        len(self._backlog),
                    )
                    warned = True
                self._changed.wait(1.0)
                self._check_open(report)
            self._accepted += 1
            self._changed.notify_all()
            return self._accepted

    def _check_open(self, report: Report) -> None:
        if self._stopping:
            raise RuntimeError(f"cannot report {report.what}: the core context is closed")
        if self._broken is not None:
            raise RuntimeError(
                f"cannot report {report.what}: reports are not delivered any more, because of "
                f"{type(self._broken).__name__}: {self._broken}"
            ) from self._broken

    def submit_latest(self, report: Report) -> None:
        """Queue a report in place of an undelivered one with the same path."""
        self.raise_refusal()
        with self._changed:
            self._check_open(report)
            self._start_locked()
            self._latest[report.path] = report
            self._changed.notify_all()

    def submit_and_wait(self, report: Report) -> bool:
        """Queue a report, and wait until the master has accepted it and all earlier reports.

        Returns False if no master answers in time: the report stays queued. Raises the master's
        error, if it answers with one.
        """
        number = self.submit(report)
        deadline = time.monotonic() + self._acknowledge_seconds
        with self._changed:
            while self._settled < number:
                if self._broken is not None:
                    self._check_open(report)
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(left)
        self.raise_refusal()
        return True

    def raise_refusal(self) -> None:
        """Raise the oldest error of the master that was not raised yet."""
        with self._changed:
            if not self._refusals:
                return
            refusal = self._refusals.popleft()
        raise refusal

    @property
    def background_refusal(self) -> Optional[Exception]:
        """The master's error for a background report, or None."""
        with self._changed:
            return self._background_refusal

    def close(self) -> None:
        """Deliver queued reports, for a limited time, and end the thread.

        Raises the master's errors; MasterNotFoundException if reports remain.
        """
        atexit.unregister(self._close_at_exit)
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            self._join(thread)
        self._session.end()
        with self._changed:
            left = len(self._backlog) + len(self._latest)
            kept = self._backlog.keep()
        if left:
            logger.error("%d reports were not delivered to the master; kept in %s", left, kept)
        self.raise_refusal()
        if left and self._broken is not None:
            raise RuntimeError(
                f"{left} reports were not delivered, because of {type(self._broken).__name__}: "
                f"{self._broken}" + (f"; they are kept in {kept}" if kept else "")
            ) from self._broken
        if left:
            raise errors.MasterNotFoundException(
                f"no master answered for {self._flush_seconds:g} s at the end of the task: {left} "
                f"reports were not delivered" + (f" and are kept in {kept}" if kept else "")
            )

    def _join(self, thread: threading.Thread) -> None:
        deadline = time.monotonic() + self._flush_seconds
        while thread.is_alive():
            left = deadline - time.monotonic()
            if left <= 0:
                break
            thread.join(min(left, 10.0))
            if thread.is_alive():
                with self._changed:
                    waiting = len(self._backlog) + len(self._latest)
                logger.info("waiting for the master to accept %d reports", waiting)
        with self._changed:
            self._abandoned = True
            self._changed.notify_all()
        self._session.end()
        thread.join(5.0)

    def _close_at_exit(self) -> None:
        try:
            self.close()
        except Exception as err:
            logger.error("%s", err)

    def _run(self) -> None:
        """Deliver; if an error ends the thread, raise it in training, which would else wait."""
        try:
            self._deliver()
        except Exception as err:
            logger.exception("reports are not delivered any more")
            with self._changed:
                self._broken = err
                self._changed.notify_all()

    def _deliver(self) -> None:
        """Send one report after another until stopped and empty, or abandoned."""
        attempts = 0
        quiet_since = reminded = 0.0
        while True:
            turn = self._next()
            if turn is None:
                return
            report, is_latest = turn
            failure = self._send(report)
            now = time.monotonic()
            if failure is None:
                if attempts:
                    logger.info("a master answers again after %.0f s", now - quiet_since)
                attempts = 0
                self._settle(report, is_latest)
                continue
            attempts += 1
            if attempts == 1:
                quiet_since = reminded = now
                logger.warning("%s; reports wait until one does", failure)
            elif now - reminded >= _REMIND_SECONDS:
                reminded = now
                logger.warning("still no answer after %.0f s: %s", now - quiet_since, failure)
            with self._changed:
                self._changed.wait_for(lambda: self._abandoned, timeout=self._retry.pause(attempts))

    def _next(self) -> Optional[Tuple[Report, bool]]:
        """Wait for a report to send, and return whether it is a latest value; None at the end.

        Latest values and queued reports take turns, so that neither kind delays the other.
        """
        with self._changed:
            while not (self._stopping or self._latest or len(self._backlog)):
                self._changed.wait()
            if self._abandoned:
                return None
            queued = self._backlog.peek()
            self._count_lost()
            latest = next(iter(self._latest.values()), None)
            if latest is not None and (queued is None or not self._sent_latest):
                return latest, True
            return None if queued is None else (queued, False)

    def _count_lost(self) -> None:
        lost = self._backlog.pop_lost()
        if lost:
            self._settled += lost
            self._refusals.append(
                OSError(f"{lost} reports waited on disk and cannot be read there any more")
            )
            self._changed.notify_all()

    def _send(self, report: Report) -> Optional[Exception]:
        """Send a report; return the failure if no master answered, else None."""
        try:
            self._session.post(report.path, data=report.body)
        except errors.MasterNotFoundException as err:
            return err
        except errors.APIException as err:
            if err.status_code in self._retry.status_forcelist or err.status_code == 429:
                return err
            self._refuse(report, err)
        except Exception as err:
            self._refuse(report, err)
        return None

    def _refuse(self, report: Report, err: Exception) -> None:
        logger.error("the master rejected the report of %s: %s", report.what, err)
        with self._changed:
            if report.background:
                self._background_refusal = err
            else:
                self._refusals.append(err)

    def _settle(self, report: Report, is_latest: bool) -> None:
        with self._changed:
            self._sent_latest = is_latest
            if is_latest:
                # Training may have replaced the value while it was sent.
                if self._latest.get(report.path) is report:
                    del self._latest[report.path]
            else:
                self._backlog.pop()
                self._settled += 1
            self._changed.notify_all()


def _setting(name: str, given: Optional[float], default: float) -> float:
    if given is not None:
        return given
    text = os.environ.get(name)
    if not text:
        return default
    try:
        return float(text)
    except ValueError as err:
        raise ValueError(f"{name} must be a number of seconds, not {text!r}") from err
