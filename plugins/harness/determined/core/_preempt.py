"""Asks the master whether this task is preempted, and acknowledges the preemption."""

from __future__ import annotations

import contextlib
import datetime
import enum
import logging
import threading
from typing import Any, Optional, Tuple

from determined.common import api, util
from determined.core._distributed import DistributedContext

logger = logging.getLogger("determined.core")

# How long the master may delay the answer "no" to a request.
LONGPOLL_SECONDS = 60

# Additional time for the answer to arrive.
_GRACE_SECONDS = 10


class _PreemptionWatcher(threading.Thread):
    """Keeps one request open at the master: should this task stop?

    ``should_preempt`` returns at once, except the first time: then it waits until the master
    has answered or the request has failed.
    """

    def __init__(self, session: api.BaseSession, allocation_id: str) -> None:
        super().__init__(name="determined-preemption", daemon=True)
        self._session = session.with_retry(0)
        self._path = f"/api/v1/allocations/{allocation_id}/signals/preemption"
        self._retry = api.RetryPolicy(total=None, backoff_factor=0.25)
        self._preempt = False
        self.deadline: Optional[datetime.datetime] = None
        self._asked = threading.Event()
        self._closing = threading.Event()

    def _ask(self, hold: int) -> bool:
        response = self._session.get(
            self._path, params={"timeout_seconds": hold}, timeout=hold + _GRACE_SECONDS
        )
        answer = response.json()
        until = answer.get("deadline")  # Determined's master sends none
        if isinstance(until, str):
            with contextlib.suppress(ValueError):  # the preemption matters more
                self.deadline = util.parse_protobuf_timestamp(until)
        return answer["preempt"] is True

    def run(self) -> None:
        """Ask once at once, then wait for a yes."""
        hold = 0
        failures = 0
        while not self._preempt and not self._closing.is_set():
            try:
                self._preempt = self._ask(hold)
                failures = 0
                hold = LONGPOLL_SECONDS
            except Exception as err:
                failures += 1
                if not self._closing.is_set():
                    level = logging.WARNING if failures == 1 else logging.DEBUG
                    logger.log(level, "cannot ask about preemption, asking again: %s", err)
            self._asked.set()
            if failures:
                self._closing.wait(self._retry.pause(failures))
        self._asked.set()

    def should_preempt(self) -> bool:
        """Return whether the master has asked this task to stop."""
        self._asked.wait()
        return self._preempt

    def close(self) -> None:
        """Stop asking."""
        self._closing.set()
        self._session.end()
        if self.is_alive():
            self.join(5.0)

    def __enter__(self) -> _PreemptionWatcher:
        self.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class PreemptMode(enum.Enum):
    """Which workers ask whether to stop.

    ``WorkersAskChief``: all workers call ``should_preempt`` at the same steps, the chief asks the
    master, and all get its answer, so all stop at the same step. ``ChiefOnly``: only the chief may
    call it, and the training code informs the other workers. ``WorkersAskMaster``: each worker asks
    the master, and some may get the answer a little earlier than others.

    Example: ``core.init(preempt_mode=core.PreemptMode.ChiefOnly)``
    """

    WorkersAskChief = "WORKERS_ASK_CHIEF"
    ChiefOnly = "CHIEF_ONLY"
    WorkersAskMaster = "WORKERS_ASK_MASTER"


class PreemptContext:
    """Tells the task when to save a checkpoint and end; the trial resumes later.

    Example::

        with core.init() as core_context:
            for batch in batches:
                train(batch)
                if core_context.preempt.should_preempt():
                    save()
                    break

    By hand, with ``PreemptMode.ChiefOnly``::

        preempt.start()
        if preempt.should_preempt(auto_ack=False):
            save()
            preempt.acknowledge_preemption_signal()
        preempt.close()
    """

    def __init__(
        self,
        session: api.BaseSession,
        allocation_id: str,
        dist: DistributedContext,
        preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    ) -> None:
        self._session = session
        self._allocation_id = allocation_id
        self._dist = dist
        self._preempt_mode = PreemptMode(preempt_mode)
        self._started = False
        self._ack_sent = False
        self._deadline: Optional[datetime.datetime] = None
        self._watcher: Optional[_PreemptionWatcher] = None
        if dist.rank == 0 or self._preempt_mode == PreemptMode.WorkersAskMaster:
            self._watcher = _PreemptionWatcher(session, allocation_id)

    def start(self) -> PreemptContext:
        """Start to ask the master."""
        if self._started:
            raise RuntimeError("PreemptContext.start() may be called only once")
        self._started = True
        if self._watcher is not None:
            self._watcher.start()
        return self

    def close(self) -> None:
        """Stop listening."""
        if self._watcher is not None:
            self._watcher.close()

    def __enter__(self) -> PreemptContext:
        return self.start()

    def __exit__(self, *_: Any) -> None:
        self.close()

    def should_preempt(self, auto_ack: bool = True) -> bool:
        """Return whether to save and stop now.

        The first True acknowledges the preemption to the master: an exit with 0 then means that
        the trial is not finished and must resume. With ``auto_ack=False`` the program calls
        ``acknowledge_preemption_signal`` itself. ``PreemptMode`` decides which workers may call
        this method. If all call it, each call costs a message to and from every worker, so call it
        every few batches instead of every batch.
        """
        self._check_call()
        if self._watcher is None:
            answer: Tuple[bool, Optional[datetime.datetime]] = self._dist.broadcast(None)
            self._deadline = answer[1]
            return answer[0]
        preempt: bool = self._watcher.should_preempt()
        self._deadline = self._watcher.deadline if preempt else None
        if self._preempt_mode == PreemptMode.WorkersAskChief:
            preempt, self._deadline = self._dist.broadcast((preempt, self._deadline))
        if preempt and auto_ack and not self._ack_sent:
            self.acknowledge_preemption_signal()
        return preempt

    @property
    def deadline(self) -> Optional[datetime.datetime]:
        """When the first machine of this attempt goes away, in UTC; None if no time is known.

        The time is known only after ``should_preempt`` has returned True, on the workers that
        called it, to the second, and does not change afterwards.

        Example::

            if core_context.preempt.should_preempt():
                until = core_context.preempt.deadline
                now = datetime.datetime.now(datetime.timezone.utc)
                if until is None or until - now > datetime.timedelta(minutes=2):
                    finish_epoch()
                save()
        """
        return self._deadline

    def _check_call(self) -> None:
        if not self._started:
            raise RuntimeError("call PreemptContext.start() before should_preempt()")
        if self._dist.rank != 0 and self._preempt_mode == PreemptMode.ChiefOnly:
            raise RuntimeError(
                "should_preempt() was called by the worker of rank "
                f"{self._dist.rank}, but preempt_mode=ChiefOnly reserves it for rank 0"
            )

    def acknowledge_preemption_signal(self) -> None:
        """Tell the master that the task will stop before its training is finished.

        Without this call an exit with 0 means that training is finished, and the trial does not
        resume.
        """
        self._session.post(f"/api/v1/allocations/{self._allocation_id}/signals/ack_preemption")
        self._ack_sent = True


class DummyPreemptContext(PreemptContext):
    """Never asks to stop; has the same rules for calls, so it finds mistakes off the cluster too.

    Example:

        >>> from determined import core
        >>> with core.init() as core_context:
        ...     core_context.preempt.should_preempt()
        False
    """

    def __init__(
        self,
        dist: DistributedContext,
        preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    ) -> None:
        self._dist = dist
        self._preempt_mode = PreemptMode(preempt_mode)
        self._started = False
        self._ack_sent = False
        self._deadline = None
        self._watcher = None

    def should_preempt(self, auto_ack: bool = True) -> bool:
        """Return False; in the mode ``WorkersAskChief``, wait for the other workers."""
        self._check_call()
        if self._preempt_mode == PreemptMode.WorkersAskChief:
            self._dist.broadcast(False if self._dist.rank == 0 else None)
        return False

    def acknowledge_preemption_signal(self) -> None:
        """Do nothing."""
