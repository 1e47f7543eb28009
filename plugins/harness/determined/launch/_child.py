"""Runs the program that starts the workers, with signals for it and for them."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import Dict, List, Mapping

from determined import util
from determined.launch import _descendants

WRAP = "determined.launch.wrap_rank"

# The parent of workers ends them at the first three; the others would end the parent alone.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
TELLING = (signal.SIGUSR1, signal.SIGUSR2)

# How long the processes of a failed child may take to end.
ORPHAN_GRACE_SECONDS = 5.0


def run_child(command: List[str], variables: Mapping[str, str]) -> int:
    """Run a program that starts workers; return its exit code as a shell would give it.

    Signals that end a process are sent to the program, which ends its workers; other signals are
    sent to the workers. If the program fails, all its descendants are ended.
    """
    _descendants.adopt_orphans()
    environment: Dict[str, str] = {**os.environ, **variables}
    process = subprocess.Popen(command, env=environment)

    def tell_workers(signum: int, _frame: object) -> None:
        below = _descendants.all_of(process.pid)
        wrappers = [pid for pid in below if WRAP in _descendants.words_of(pid)]
        _descendants.signal_all(wrappers or [process.pid], signum)

    previous = {signum: signal.signal(signum, tell_workers) for signum in TELLING}
    try:
        with util.forward_signals(process, *ENDING):
            _descendants.wait_for_one([process.pid])
            code = exit_code(process.wait())
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)
    if code:
        _descendants.end_all(ORPHAN_GRACE_SECONDS)
    return code


def exit_code(code: int) -> int:
    """Return an exit code as a shell would give it."""
    return code if code >= 0 else 128 - code
