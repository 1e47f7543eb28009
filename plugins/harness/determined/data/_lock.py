"""Locks between the processes of a node, which are released when a process is killed.

A lock is ``flock`` on a file in the folder of a data set: many readers, or one builder. The kernel
releases it when the last process closes the file, so nothing has to be cleaned up. If the folder
is moved away while a process waits for its lock, the process detects this and tries again.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import pathlib
from typing import Optional

logger = logging.getLogger("determined.data")

FILE = "lock"


class Lock:
    """A held lock. ``close`` or the end of the process releases it.

    ``LOCK_UN`` is never called: a process forked from this one shares the lock, and keeps it.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def close(self) -> None:
        """Release the lock; in a forked process, only its share."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self.close()

    def is_of(self, folder: pathlib.Path) -> bool:
        """Return whether the folder is still the locked one, not a replacement."""
        try:
            there = os.stat(folder / FILE)
        except FileNotFoundError:
            return False
        return os.path.samestat(os.fstat(self._fd), there)

    def touch(self) -> None:
        """Record that the data set was used now."""
        with contextlib.suppress(OSError):  # the folder may be read-only
            os.utime(self._fd)


def acquire(
    folder: pathlib.Path, exclusive: bool, wait: bool = True, reason: str = ""
) -> Optional[Lock]:
    """Lock a folder; None if it was moved away, or is locked and ``wait`` is false."""
    try:
        fd = _open(folder / FILE)
    except FileNotFoundError:
        return None
    lock = Lock(fd)
    kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
    try:
        try:
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                lock.close()
                return None
            if reason:
                logger.info("%s", reason)
            fcntl.flock(fd, kind)
        if lock.is_of(folder):
            return lock
    except BaseException:
        lock.close()
        raise
    lock.close()
    return None


def _open(path: pathlib.Path) -> int:
    flags = os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags | os.O_RDWR | os.O_CREAT, 0o660)
    except OSError as err:
        if err.errno not in (errno.EROFS, errno.EACCES):
            raise
        return os.open(path, flags | os.O_RDONLY)
