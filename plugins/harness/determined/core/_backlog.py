"""A queue of reports in memory and on disk, with limits for both.

Reports wait in memory, and in a file when the memory limit is reached. While the file has
reports, newer reports are appended to the file, so the order does not change. If a process ends
before the master has received all its reports, the file remains: it has one report per line, as
``{"path": …, "body": …, "what": …}``, in order, so that users can read it and send the reports.

If the disk is full, ``append`` rejects the whole report. If the disk fails, the backlog skips and
counts the reports that it cannot read; the other reports are not affected.
"""

from __future__ import annotations

import collections
import contextlib
import json
import logging
import os
import pathlib
import tempfile
from typing import IO, Deque, NamedTuple, Optional

logger = logging.getLogger("determined.core")

MEMORY_BYTES = 8 << 20
DISK_BYTES = 256 << 20


class Report(NamedTuple):
    """One POST to the master: its path, its encoded body, and what it is, for messages.

    A background report does not come from the training loop, so its errors are not raised there.
    """

    path: str
    body: str
    what: str
    background: bool = False


class Backlog:
    """A bounded queue. Only one thread may use it at a time; the caller must ensure that."""

    def __init__(
        self,
        directory: Optional[pathlib.Path] = None,
        memory_bytes: int = MEMORY_BYTES,
        disk_bytes: int = DISK_BYTES,
    ) -> None:
        self._directory = directory or default_directory()
        self._memory_bytes = memory_bytes
        self._disk_bytes = disk_bytes
        self._memory: Deque[Report] = collections.deque()
        self._in_memory = 0
        self._file: Optional[IO[bytes]] = None
        self._path: Optional[pathlib.Path] = None
        self._read_at = 0
        self._write_at = 0
        self._on_disk = 0
        self._head: Optional[Report] = None
        self._head_bytes = 0
        self._lost = 0

    def __len__(self) -> int:
        return len(self._memory) + self._on_disk

    @property
    def file(self) -> Optional[pathlib.Path]:
        """The file that holds reports now, if any."""
        return self._path

    def append(self, report: Report) -> bool:
        """Append a report; return False, without a change, if the queue is full.

        A report that is larger than the limit is accepted if it is the only one.
        """
        size = len(report.path) + len(report.body)
        if self._on_disk == 0 and (
            not self._memory or self._in_memory + size <= self._memory_bytes
        ):
            self._memory.append(report)
            self._in_memory += size
            return True
        return self._append_to_file(report)

    def peek(self) -> Optional[Report]:
        """Return the first report without removing it; None if there is none."""
        if self._memory:
            return self._memory[0]
        if self._on_disk == 0:
            return None
        while self._head is None and self._on_disk:
            self._read_head()
        return self._head

    def _read_head(self) -> None:
        """Read the first report on disk; count unreadable reports as lost."""
        assert self._file is not None
        try:
            self._file.seek(self._read_at)
            line = self._file.readline()
        except OSError as err:
            self._lose_file(err)
            return
        if not line.endswith(b"\n"):
            self._lose_file("the last line is incomplete")
            return
        try:
            self._head = Report(**json.loads(line))
            self._head_bytes = len(line)
        except (ValueError, TypeError) as err:
            logger.error("a report in %s cannot be read and is lost: %s", self._path, err)
            self._lost += 1
            self._skip(len(line))

    def _lose_file(self, reason: object) -> None:
        """Give up the reports on disk. The file remains: users may be able to read more of it."""
        logger.error(
            "%d reports in %s cannot be read and are lost: %s", self._on_disk, self._path, reason
        )
        self._lost += self._on_disk
        self._on_disk = 0
        self._path = None
        self._remove_file()

    def _skip(self, count: int) -> None:
        self._read_at += count
        self._on_disk -= 1
        if self._on_disk == 0:
            self._remove_file()

    def pop_lost(self) -> int:
        """Return how many reports were lost on disk since the last call."""
        lost, self._lost = self._lost, 0
        return lost

    def pop(self) -> None:
        """Drop the first report."""
        if self._memory:
            report = self._memory.popleft()
            self._in_memory -= len(report.path) + len(report.body)
            return
        if self.peek() is None:
            raise IndexError("the backlog is empty")
        self._head = None
        self._skip(self._head_bytes)

    def _append_to_file(self, report: Report) -> bool:
        line = json.dumps(report._asdict()).encode() + b"\n"
        # The limit applies to the size of the file, which includes reports that were sent already.
        if self._on_disk > 0 and self._write_at + len(line) > self._disk_bytes:
            return False
        try:
            if self._file is None:
                self._open_file()
            assert self._file is not None
            self._file.seek(self._write_at)
            _write_all(self._file, line)
        except OSError as err:
            # The incomplete report begins at _write_at: remove it, so that nobody reads it.
            if self._file is not None:
                with contextlib.suppress(OSError):
                    self._file.truncate(self._write_at)
            logger.warning("cannot store reports in %s: %s", self._directory, err)
            if self._on_disk == 0:
                self._remove_file()
            return False
        self._write_at += len(line)
        self._on_disk += 1
        return True

    def _open_file(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        fd, name = tempfile.mkstemp(prefix="reports-", suffix=".jsonl", dir=str(self._directory))
        self._file = os.fdopen(fd, "w+b", buffering=0)
        self._path = pathlib.Path(name)
        self._read_at = self._write_at = 0

    def _remove_file(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()
        self._file = self._path = None
        self._read_at = self._write_at = 0

    def keep(self) -> Optional[pathlib.Path]:
        """Write all remaining reports into one file and return it; None if there are none."""
        if not len(self):
            return None
        waiting = list(self._memory)
        name = ""
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            fd, name = tempfile.mkstemp(
                prefix="undelivered-", suffix=".jsonl", dir=str(self._directory)
            )
            with os.fdopen(fd, "wb") as out:
                for report in waiting:
                    out.write(json.dumps(report._asdict()).encode() + b"\n")
                if self._file is not None:
                    self._file.seek(self._read_at)
                    while True:
                        chunk = self._file.read(1 << 20)
                        if not chunk:
                            break
                        out.write(chunk)
        except OSError as err:
            logger.error("cannot keep %d undelivered reports: %s", len(self), err)
            if name:
                with contextlib.suppress(OSError):
                    os.unlink(name)
            return self._path
        self._remove_file()
        return pathlib.Path(name)


def _write_all(file: IO[bytes], data: bytes) -> None:
    """Write all of data: a nearly full disk writes only a part first, without an error."""
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


def default_directory() -> pathlib.Path:
    """Return the folder for reports on disk: in the allocation, where it survives the task."""
    chosen = os.environ.get("DET_BACKLOG_DIR")
    if chosen:
        return pathlib.Path(chosen)
    allocation = os.environ.get("NOMAD_ALLOC_DIR")
    if allocation and os.access(allocation, os.W_OK):
        return pathlib.Path(allocation) / "data" / "determined-reports"
    return pathlib.Path(tempfile.gettempdir()) / "determined-reports"
