"""Starts a program once per slot of this node, with the variables that PyTorch reads.

``python3 -m determined.launch.torch_distributed python3 train.py ARGUMENTS`` runs a script,
``... --trial module:Class`` a trial class. Options of torchrun come first and end with ``--``:
``... --max_restarts 2 -- python3 train.py``.

If this Python has PyTorch, ``torch.distributed.run`` starts the workers and accepts all of its
options. Without PyTorch this launcher starts the workers, one per slot, with the same variables. In
both cases each line of output begins with the rank of its worker. If a worker fails, the other
workers and all their processes are ended.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from typing import Dict, List, NamedTuple, Optional, Set

from determined.launch import _descendants
from determined.launch._child import (
    ENDING,
    ORPHAN_GRACE_SECONDS,
    TELLING,
    WRAP,
    Ends,
    ends,
    exit_code,
    run_child,
)
from determined.launch._packages import has_file
from determined.launch._place import Place, here, network, port
from determined.launch._words import command_of, split_options

__all__ = ["main"]

_USAGE = (
    "usage: python3 -m determined.launch.torch_distributed [[OPTIONS OF TORCHRUN ...] --] "
    "(--trial module:Class | COMMAND ...)"
)

# How long workers may take to end after one of them has failed.
GRACE_SECONDS = 30.0


class Arguments(NamedTuple):
    """The parsed command line: options for torchrun, and the workers' command."""

    options: List[str]
    command: List[str]


def parse(argv: List[str]) -> Arguments:
    """Parse the command line; ValueError names the mistake."""
    options, rest = split_options(argv, "torchrun")
    return Arguments(options, command_of(rest, "torchrun"))


def has_torch() -> bool:
    """Return whether this Python has PyTorch, without the seconds that importing it takes."""
    return has_file("torch", "distributed/run.py")


def _port(place: Place) -> int:
    """Return the port of the workers' store: the platform's port, else a free one."""
    if os.environ.get("C10D_PORT") or len(place.slots) > 1:
        return port()
    # Two jobs on one machine must not connect to each other.
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free: int = probe.getsockname()[1]
        return free


def shared_environment(place: Place) -> Dict[str, str]:
    """Return the variables of all workers, in addition to those of torchrun."""
    return {
        "DET_CHIEF_IP": place.chief_address,
        "USE_TORCH_DISTRIBUTED": "True",
        **network(place),
    }


def environment(place: Place, local_rank: int, port: int) -> Dict[str, str]:
    """Return the variables of one worker, as torchrun sets them."""
    before = sum(place.slots[: place.node])
    local = place.slots[place.node]
    variables = {
        "RANK": str(before + local_rank),
        "LOCAL_RANK": str(local_rank),
        "WORLD_SIZE": str(place.size),
        "LOCAL_WORLD_SIZE": str(local),
        "GROUP_RANK": str(place.node),
        "GROUP_WORLD_SIZE": str(len(place.slots)),
        "ROLE_NAME": "default",
        "ROLE_RANK": str(before + local_rank),
        "ROLE_WORLD_SIZE": str(place.size),
        "MASTER_ADDR": place.chief_address,
        "MASTER_PORT": str(port),
        "TORCHELASTIC_RUN_ID": os.environ.get("DET_ALLOCATION_ID") or "none",
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0",
        # Rank 0 serves the store, because there is no agent of torchrun.
        "TORCHELASTIC_USE_AGENT_STORE": "False",
        **shared_environment(place),
    }
    if local > 1 and "OMP_NUM_THREADS" not in os.environ:
        # Otherwise each worker starts a thread per core of the machine.
        variables["OMP_NUM_THREADS"] = "1"
    return variables


def torchrun(arguments: Arguments, place: Place, port: int) -> List[str]:
    """Return the command of torchrun; the user's options come last and override."""
    return [
        sys.executable, "-m", "torch.distributed.run",
        "--nnodes", str(len(place.slots)),
        "--nproc_per_node", str(place.slots[place.node]),
        "--node_rank", str(place.node),
        "--max_restarts", "0",
        "--rdzv_id", os.environ.get("DET_ALLOCATION_ID") or "none",
        "--master_addr", place.chief_address,
        "--master_port", str(port),
        *arguments.options,
        "--module", WRAP, "RANK", "--", *arguments.command,
    ]  # fmt: skip


def run(arguments: Arguments, place: Place) -> int:
    """Run the workers of this node, and return the exit code of the first that failed."""
    if has_torch():
        return _run_torchrun(arguments, place)
    if arguments.options:
        raise ValueError(
            f"options of torchrun ({' '.join(arguments.options)}) need PyTorch, and "
            f"{sys.executable} has none"
        )
    _descendants.adopt_orphans()
    where = _port(place)
    with ends() as found:
        workers = Workers(found)
        try:
            for local_rank in range(place.slots[place.node]):
                workers.start(arguments.command, environment(place, local_rank, where))
            return found.result(workers.wait())
        except BaseException:
            _descendants.end_all(ORPHAN_GRACE_SECONDS)
            raise


def _run_torchrun(arguments: Arguments, place: Place) -> int:
    command = torchrun(arguments, place, _port(place))
    return run_child(command, shared_environment(place))


class Workers:
    """The workers of this node, started without torchrun."""

    def __init__(self, found: Ends) -> None:
        self._ends = found
        self._processes: Dict[int, subprocess.Popen[bytes]] = {}
        self._running: Set[int] = set()
        for signum in (*ENDING, *TELLING):
            signal.signal(signum, self._forward)

    def start(self, command: List[str], variables: Dict[str, str]) -> None:
        """Start one."""
        wrapped = [sys.executable, "-m", WRAP, variables["RANK"], "--", *command]
        # In a session of its own: a signal for the group of this process is passed on once.
        process = subprocess.Popen(
            wrapped,
            env={**os.environ, **variables, **self._ends.variables},
            start_new_session=True,
        )
        self._processes[process.pid] = process
        self._running.add(process.pid)

    def _forward(self, signum: int, _frame: object) -> None:
        self._ends.tell(signum)
        # wrap_rank forwards the signal to the program.
        _descendants.signal_all(sorted(self._running), signum)

    def wait(self) -> int:
        """Wait until all have ended, or until one fails and the others are ended."""
        while self._running:
            code = self._collect(_descendants.wait_for_one(self._running))
            if code:
                self._end()
                return code
        return 0

    def _collect(self, pid: int) -> int:
        code = self._processes[pid].wait()
        self._running.discard(pid)
        return exit_code(code)

    def _end(self) -> None:
        """End all remaining processes: with SIGTERM, then with SIGKILL."""
        _descendants.signal_all(sorted(self._running), signal.SIGTERM)
        orphans = set(_descendants.children_of(os.getpid())) - self._running
        _descendants.signal_all(sorted(orphans), signal.SIGTERM)
        deadline = time.monotonic() + GRACE_SECONDS
        while self._running and time.monotonic() < deadline:
            for pid in sorted(self._running):
                if self._processes[pid].poll() is not None:
                    self._running.discard(pid)
            time.sleep(0.05)
        _descendants.end_all(max(0.0, min(ORPHAN_GRACE_SECONDS, deadline - time.monotonic())))


def main(argv: Optional[List[str]] = None) -> int:
    """Run the command line.

    Example: ``sys.exit(main(["--max_restarts", "2", "--", "python3", "train.py"]))``
    """
    try:
        arguments = parse(sys.argv[1:] if argv is None else argv)
        return run(arguments, here())
    except ValueError as err:
        print(f"{err}\n{_USAGE}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
