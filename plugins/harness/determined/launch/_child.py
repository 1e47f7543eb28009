"""Runs the program that starts the workers, with signals for it and for them."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import tempfile
from typing import Dict, Iterator, List, Mapping

from determined.launch import _descendants

WRAP = "determined.launch.wrap_rank"

# The parent of workers ends them at the first three; the others would end the parent alone.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
TELLING = (signal.SIGUSR1, signal.SIGUSR2)

# The folder in which each worker's wrapper notes how its program ended.
ENDS = "DET_LAUNCH_ENDS"

# How long the processes of a failed child may take to end.
ORPHAN_GRACE_SECONDS = 5.0


class Ends:
    """How the workers of this node ended, and which signals they have got before.

    A platform preempts a training by a signal: the workers save, and exit. torchrun and DeepSpeed
    exit with code 1 for everything that ends at a signal, and end the other workers when one does,
    which may still save. So a wrapper whose program ends by a signal that it has passed on ends
    with code 0, and notes how its program ended.
    """

    def __init__(self, folder: str) -> None:
        self.variables: Dict[str, str] = {ENDS: folder}
        self._folder = pathlib.Path(folder)
        self._told: List[int] = []

    def tell(self, signum: int) -> bool:
        """Note that the workers get a signal; return whether they had got one that ends them."""
        again = any(earlier in ENDING for earlier in self._told)
        self._told.append(signum)
        return again

    def result(self, code: int) -> int:
        """Return the exit code of the launcher, from that of the workers' parent."""
        by_signal = {128 + signum for signum in self._told}
        codes = [int(path.read_text()) for path in self._folder.glob("*.code")]
        if not self._told or any(code and code not in by_signal for code in codes):
            return code
        if code == 0:
            return max((code for code in codes if code), default=0)
        # The parent, or a wrapper before its program, has ended by the signal.
        return 128 + self._told[-1]


@contextlib.contextmanager
def ends() -> Iterator[Ends]:
    """Yield the ends of the workers that are started in the block."""
    with tempfile.TemporaryDirectory(prefix="det-launch-") as folder:
        yield Ends(folder)


def note_end(folder: str, code: int) -> None:
    """Note how the program of a wrapper ended; the launcher of this node reads it."""
    path = pathlib.Path(folder, f"{os.getpid()}.part")
    # The launcher may have ended, and removed the folder.
    with contextlib.suppress(OSError):
        path.write_text(str(code))
        path.rename(path.with_suffix(".code"))


def run_child(command: List[str], variables: Mapping[str, str]) -> int:
    """Run a program that starts workers; return its exit code as a shell would give it.

    Signals are sent to the workers, and to the program if it has started none; a second one that
    ends is sent to both. Workers have as long as they need after the first. If the program fails,
    all its descendants are ended.
    """
    _descendants.adopt_orphans()
    with ends() as found:
        environment: Dict[str, str] = {**os.environ, **variables, **found.variables}
        # In a session of its own, so that a signal for the group of this process does not reach it.
        process = subprocess.Popen(command, env=environment, start_new_session=True)

        def tell_workers(signum: int, _frame: object) -> None:
            below = _descendants.all_of(process.pid)
            wrappers = [pid for pid in below if WRAP in _descendants.words_of(pid)]
            if found.tell(signum) and signum in ENDING:
                wrappers.append(process.pid)
            _descendants.signal_all(wrappers or [process.pid], signum)

        handled = (*ENDING, *TELLING)
        previous = {signum: signal.signal(signum, tell_workers) for signum in handled}
        try:
            _descendants.wait_for_one([process.pid])
            code = exit_code(process.wait())
        finally:
            for signum, handler in previous.items():
                signal.signal(signum, handler)
        if code:
            _descendants.end_all(ORPHAN_GRACE_SECONDS)
        return found.result(code) if WRAP in command else code


def exit_code(code: int) -> int:
    """Return an exit code as a shell would give it."""
    return code if code >= 0 else 128 - code
