"""Sends the output of a program to the log of its trial.

The platform reads the output of its tasks. A program that runs elsewhere sends its own output:
while a shipper runs, ``sys.stdout`` and ``sys.stderr`` still write to their original places, and a
thread also sends each line to the master, one batch a second.
"""

from __future__ import annotations

import collections
import datetime
import logging
import os
import sys
import threading
from typing import Any, Deque, Dict, List, TextIO

from determined.common import api
from determined.common.api import errors

logger = logging.getLogger("determined.core")

# Lines that wait for a master. If there are more, the oldest are dropped.
MAX_WAITING = 10_000
BATCH = 1000

# A line that is longer is sent in pieces.
MAX_LINE = 16 << 10

_FLUSH_SECONDS = 1.0
_RETRY_SECONDS = 5.0

# How long the end of a program waits until a master has accepted the last lines.
CLOSE_SECONDS = 30.0


class LogShipper:
    """Sends the lines of this process to the log of a task, from ``start`` to ``close``."""

    def __init__(self, session: api.BaseSession, task_id: str, rank: int) -> None:
        self._session = session.with_retry(0)
        self._task_id = task_id
        self._rank = rank
        self._changed = threading.Condition()
        self._waiting: Deque[Dict[str, Any]] = collections.deque()
        self._dropped = 0
        self._stopping = False
        self._abandoned = threading.Event()
        self._thread = threading.Thread(target=self._run, name="determined-logs", daemon=True)
        self._copies: List[_Copy] = []

    def start(self) -> None:
        """Start to copy the output."""
        sys.stdout = _Copy(sys.stdout, self, "stdout")
        sys.stderr = _Copy(sys.stderr, self, "stderr")
        self._copies = [sys.stdout, sys.stderr]
        self._thread.start()

    def close(self) -> None:
        """Send the remaining lines, and restore the original outputs."""
        if not self._copies:
            return
        stdout, stderr = self._copies
        self._copies = []
        stdout.finish()
        stderr.finish()
        # If other code has replaced our copy since, it stays; our copy then only passes on.
        if sys.stdout is stdout:
            sys.stdout = stdout.original
        if sys.stderr is stderr:
            sys.stderr = stderr.original
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._thread.join(CLOSE_SECONDS)
        if self._thread.is_alive():
            self._abandoned.set()
            self._session.end()
            logger.warning("the last lines of the log were not sent: no master accepted them")
        self._session.close()

    def add(self, line: str, stdtype: str) -> None:
        """Queue one line."""
        now = datetime.datetime.now(datetime.timezone.utc).isoformat()
        with self._changed:
            if self._stopping:
                return
            for start in range(0, max(1, len(line)), MAX_LINE):
                record = {
                    "taskId": self._task_id,
                    "timestamp": now,
                    "stdtype": stdtype,
                    "rankId": self._rank,
                    "log": line[start : start + MAX_LINE] + "\n",
                }
                self._waiting.append(record)
            while len(self._waiting) > MAX_WAITING:
                self._waiting.popleft()
                self._dropped += 1
            self._changed.notify_all()

    def _run(self) -> None:
        while not self._abandoned.is_set():
            with self._changed:
                self._changed.wait_for(lambda: self._stopping or bool(self._waiting))
                if not self._stopping:
                    # Lines that follow in the same moment go together.
                    self._changed.wait_for(lambda: self._stopping, _FLUSH_SECONDS)
                batch = self._take()
                if not batch and self._stopping:
                    return
            self._send(batch)

    def _take(self) -> List[Dict[str, Any]]:
        batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
        if batch and self._dropped:
            lost = f"[{self._dropped} lines were dropped: no master accepted them]\n"
            batch.insert(0, {**batch[0], "log": lost})
            self._dropped = 0
        return batch

    def _send(self, batch: List[Dict[str, Any]]) -> None:
        """Send until a master accepts the batch, or rejects it for good."""
        while batch and not self._abandoned.is_set():
            try:
                self._session.post("/api/v1/task/logs", json={"logs": batch})
                return
            except errors.MasterNotFoundException:
                pass
            except errors.BadRequestException as err:
                status = getattr(err, "status_code", 400)
                if status < 500 and status != 429:
                    logger.debug("the master refused %d lines of the log: %s", len(batch), err)
                    return
            if self._abandoned.wait(_RETRY_SECONDS):
                return


class _Copy:
    """An output that writes to its original place, and passes each complete line to a shipper."""

    def __init__(self, original: TextIO, shipper: LogShipper, stdtype: str) -> None:
        self.original = original
        self._shipper = shipper
        self._stdtype = stdtype
        self._lock = threading.Lock()
        self._held = ""
        # A forked child has no thread that would send its lines.
        self._process = os.getpid()

    def write(self, text: str) -> int:
        written = self.original.write(text)
        if os.getpid() == self._process:
            with self._lock:
                *lines, self._held = (self._held + text).split("\n")
            for line in lines:
                # Of a progress bar only the last state is sent.
                self._shipper.add(line.rstrip("\r").rpartition("\r")[2], self._stdtype)
        return written

    def writelines(self, lines: List[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        self.original.flush()

    def finish(self) -> None:
        """Pass on the last line if it has no line break."""
        with self._lock:
            held, self._held = self._held, ""
        if held:
            self._shipper.add(held, self._stdtype)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)
