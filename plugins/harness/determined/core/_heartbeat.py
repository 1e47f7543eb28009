"""Heartbeats of a run.

A trial that the platform started needs none: the platform monitors its task. A run that a user
started elsewhere reports to the master that it is alive, and how it ended.
"""

from __future__ import annotations

import logging
import threading
import types
from typing import Any, Dict, Optional, Type

from determined.common import api

logger = logging.getLogger("determined.core")

_PERIOD_SECONDS = 60.0


class _Heartbeat:
    """Reports to the master that a run is alive, from ``start`` to ``close``."""

    def __init__(self, *, session: api.BaseSession, trial_id: int) -> None:
        self._session = session
        self._trial_id = trial_id

    def start(self) -> _Heartbeat:
        """Begin."""
        return self

    def close(
        self,
        exc_type: Optional[Type[BaseException]] = None,
        exc_val: Optional[BaseException] = None,
        exc_tb: Optional[types.TracebackType] = None,
    ) -> None:
        """Stop; the argument is the exception that ended the run, if any."""

    def __enter__(self) -> _Heartbeat:
        return self.start()

    def __exit__(
        self,
        exc_type: Optional[Type[BaseException]],
        exc_val: Optional[BaseException],
        exc_tb: Optional[types.TracebackType],
    ) -> None:
        self.close(exc_type, exc_val, exc_tb)


class _ManagedTrialHeartbeat(_Heartbeat):
    """Does nothing: the platform monitors the task itself."""


class _UnmanagedTrialHeartbeat(_Heartbeat):
    """Reports once a minute, and the state at the beginning and the end."""

    def __init__(self, *, session: api.BaseSession, trial_id: int) -> None:
        super().__init__(session=session, trial_id=trial_id)
        self._beats = session.with_retry(0)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="determined-heartbeat", daemon=True)

    def start(self) -> _Heartbeat:
        """Report the run as running, and continue."""
        self._patch(self._session, "STATE_RUNNING")
        self._thread.start()
        return self

    def close(
        self,
        exc_type: Optional[Type[BaseException]] = None,
        exc_val: Optional[BaseException] = None,
        exc_tb: Optional[types.TracebackType] = None,
    ) -> None:
        """Report how the run ended."""
        self._stopped.set()
        self._beats.end()
        if self._thread.is_alive():
            self._thread.join(5.0)
        failed = exc_type is not None
        if isinstance(exc_val, SystemExit):
            failed = exc_val.code not in (None, 0)
        if failed:
            logger.error("the run failed: %s", exc_val)
        self._patch(self._session, "STATE_ERROR" if failed else "STATE_COMPLETED")

    def _run(self) -> None:
        while not self._stopped.wait(_PERIOD_SECONDS):
            try:
                self._patch(self._beats, None)
            except Exception as err:
                if not self._stopped.is_set():
                    logger.warning("no master accepted the heartbeat: %s", err)

    def _patch(self, session: api.BaseSession, state: Optional[str]) -> None:
        body: Dict[str, Any] = {"trialId": self._trial_id}
        if state is not None:
            body["state"] = state
        session.patch(f"/api/v1/trials/{self._trial_id}", json=body)
