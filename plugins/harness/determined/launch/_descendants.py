"""The descendants of this process: finds them in /proc, adopts and ends them.

A killed worker leaves its own processes behind: the user's program, its data loaders.
Linux gives orphans to the nearest ancestor that is a subreaper, so a launcher that is one finds
all its descendants, also those in other sessions and process groups.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import signal
import time
from typing import Callable, Collection, Dict, Iterator, List

_PR_SET_CHILD_SUBREAPER = 36

_LOOK_SECONDS = 0.05

# How long a killed process may take to end.
KILL_SECONDS = 10.0


def adopt_orphans() -> bool:
    """Ask the kernel for the orphans among our descendants; return whether it supports this."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        return bool(libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def children_of(pid: int) -> List[int]:
    """List the children of a process that have not ended."""
    return _family().get(pid, [])


def all_of(pid: int) -> List[int]:
    """List every descendant of a process that has not ended."""
    family = _family()
    found: List[int] = []
    look = [pid]
    while look:
        below = family.get(look.pop(), [])
        found.extend(below)
        look.extend(below)
    return found


def _family() -> Dict[int, List[int]]:
    """Map every process to its live children."""
    family: Dict[int, List[int]] = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # The name of the program, in parentheses, may hold spaces and parentheses itself.
            text = (entry / "stat").read_text("utf-8", "replace").rpartition(")")[2]
            state, parent = text.split()[:2]
        except (OSError, ValueError):
            continue
        if state not in ("Z", "X"):
            family.setdefault(int(parent), []).append(int(entry.name))
    return family


def words_of(pid: int) -> List[str]:
    """Return the words of a process's command line; none if it has ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace").split("\0")
    except OSError:
        return []


def signal_all(pids: List[int], signum: int) -> None:
    """Send a signal to processes, some of which may have ended."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signum)


def end_all(grace: float) -> None:
    """End every descendant of this process: SIGTERM, and after the grace SIGKILL.

    A process that the kernel cannot end, for example because of a broken GPU's driver, is left.
    """
    signal_all(all_of(os.getpid()), signal.SIGTERM)
    killing = time.monotonic() + grace
    leaving = killing + KILL_SECONDS
    while all_of(os.getpid()) and time.monotonic() < leaving:
        if time.monotonic() >= killing:
            # A killed process may have started another one at the same moment.
            signal_all(all_of(os.getpid()), signal.SIGKILL)
        reap()
        time.sleep(_LOOK_SECONDS)
    reap()


def reap() -> None:
    """Collect children that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def wait_for_one(pids: Collection[int]) -> int:
    """Wait until one of our children ends and return it uncollected; collect adopted ones.

    Handlers of signals run meanwhile, in the main thread.
    """
    with _woken_by_signals() as sleep:
        while True:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            if ended is None:
                sleep()
            elif ended.si_pid in pids:
                return ended.si_pid
            else:
                os.waitpid(ended.si_pid, 0)


@contextlib.contextmanager
def _woken_by_signals() -> Iterator[Callable[[], None]]:
    """Yield a function that waits for a signal, or for one that has come since its last call.

    Python runs a handler when the main thread runs Python code. A signal that comes right before a
    blocking system call, or that the kernel gives to another thread, does not end the call, so
    its handler would wait for the end of a child that waits for the signal.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    handler = signal.signal(signal.SIGCHLD, lambda _signum, _frame: None)

    def sleep() -> None:
        os.read(reader, 4096)

    try:
        yield sleep
    finally:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL if handler is None else handler)
        signal.set_wakeup_fd(before)
        os.close(reader)
        os.close(writer)
