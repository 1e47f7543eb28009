"""Starts a program once per slot of this node, with the variables that PyTorch reads.

``python3 -m determined.launch.torch_distributed python3 train.py ARGUMENTS`` runs a script,
``... --trial module:Class`` a trial class. Options of torchrun come first and end with ``--``:
``... --max_restarts 2 -- python3 train.py``.

Where this Python has PyTorch, ``torch.distributed.run`` starts the workers and takes all of its
options. Without PyTorch the workers are started here, one per slot, with the same variables. In
both cases each line of output carries the rank of its worker, and when one worker fails the
others are ended, with every process that any of them has left.
"""

from __future__ import annotations

import importlib.util
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
from typing import Dict, List, NamedTuple, Optional, Set

import determined as det
from determined import util
from determined.launch import _descendants

_USAGE = (
    "usage: python3 -m determined.launch.torch_distributed [[OPTIONS OF TORCHRUN ...] --] "
    "(--trial module:Class | COMMAND ...)"
)

# How long workers may take to end when one of them has failed.
GRACE_SECONDS = 30.0

# torchrun has its own grace for workers; what it leaves is orphans.
ORPHAN_GRACE_SECONDS = 5.0

_WRAP = "determined.launch.wrap_rank"

# torchrun ends workers at these; the others would end torchrun alone.
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TELLING = (signal.SIGUSR1, signal.SIGUSR2)


class Arguments(NamedTuple):
    """What the command line says: options for torchrun, and what each worker runs."""

    options: List[str]
    command: List[str]


class Place(NamedTuple):
    """This node among those of the trial."""

    chief: str
    node: int
    slots: List[int]

    @property
    def size(self) -> int:
        """How many workers there are on all nodes."""
        return sum(self.slots)


def parse(argv: List[str]) -> Arguments:
    """Read the command line; ValueError says what is wrong."""
    options: List[str] = []
    rest = list(argv)
    if rest and rest[0].startswith("-") and not _names_trial(rest[0]):
        if "--" not in rest:
            raise ValueError(f"options of torchrun, such as {rest[0]}, must end with --")
        end = rest.index("--")
        options, rest = rest[:end], rest[end + 1 :]
    if rest and _names_trial(rest[0]):
        return Arguments(options, _trial(rest))
    if not rest:
        raise ValueError("there is nothing to run")
    if rest[0].startswith("-"):
        raise ValueError(f"{rest[0]}: options of torchrun must stand before --")
    return Arguments(options, rest)


def _names_trial(word: str) -> bool:
    return word == "--trial" or word.startswith("--trial=")


def _trial(words: List[str]) -> List[str]:
    """Return the command that trains the trial class of ``--trial``."""
    names = words[1:] if words[0] == "--trial" else [words[0].partition("=")[2], *words[1:]]
    if len(names) != 1 or not names[0]:
        raise ValueError("--trial takes one argument, module:Class, and nothing may follow it")
    return [sys.executable, "-m", "determined.exec.harness", names[0]]


def place_of(info: det.ClusterInfo) -> Place:
    """Return where this node is; a node without slots has one worker all the same."""
    slots = [max(1, count) for count in info.container_slot_counts]
    return Place(info.container_addrs[0], info.container_rank, slots)


def has_torch() -> bool:
    """Say whether this Python has PyTorch, without the seconds that importing it takes."""
    spec = importlib.util.find_spec("torch")
    if spec is None:
        return False
    folders = spec.submodule_search_locations or []
    return any(pathlib.Path(folder, "distributed", "run.py").exists() for folder in folders)


def _chief(place: Place) -> str:
    return "127.0.0.1" if len(place.slots) == 1 else place.chief


def _port(place: Place) -> int:
    """Return where the workers' store listens: the platform's port, else a free one."""
    given = os.environ.get("C10D_PORT")
    if given or len(place.slots) > 1:
        return int(given or "29400")
    # Two jobs on one machine must not meet.
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def shared_environment(place: Place) -> Dict[str, str]:
    """Return the variables that all workers have beside those that torchrun sets."""
    return {"DET_CHIEF_IP": _chief(place), "USE_TORCH_DISTRIBUTED": "True"}


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
        "MASTER_ADDR": _chief(place),
        "MASTER_PORT": str(port),
        "TORCHELASTIC_RUN_ID": os.environ.get("DET_ALLOCATION_ID") or "none",
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0",
        # Rank 0 keeps the store: no agent of torchrun's does.
        "TORCHELASTIC_USE_AGENT_STORE": "False",
        **shared_environment(place),
    }
    if local > 1 and "OMP_NUM_THREADS" not in os.environ:
        # Each worker would else start a thread per core of the machine.
        variables["OMP_NUM_THREADS"] = "1"
    return variables


def torchrun(arguments: Arguments, place: Place, port: int) -> List[str]:
    """Return the command of torchrun; later options of the user's win over those before."""
    return [
        sys.executable, "-m", "torch.distributed.run",
        "--nnodes", str(len(place.slots)),
        "--nproc_per_node", str(place.slots[place.node]),
        "--node_rank", str(place.node),
        "--max_restarts", "0",
        "--rdzv_id", os.environ.get("DET_ALLOCATION_ID") or "none",
        "--master_addr", _chief(place),
        "--master_port", str(port),
        *arguments.options,
        "--module", _WRAP, "RANK", "--", *arguments.command,
    ]  # fmt: skip


def run(arguments: Arguments, place: Place) -> int:
    """Run the workers of this node, and return the exit code of the first that failed."""
    _descendants.adopt_orphans()
    if has_torch():
        return _run_torchrun(arguments, place)
    if arguments.options:
        raise ValueError(
            f"options of torchrun ({' '.join(arguments.options)}) need PyTorch, and "
            f"{sys.executable} has none"
        )
    port = _port(place)
    workers = Workers()
    try:
        for local_rank in range(place.slots[place.node]):
            workers.start(arguments.command, environment(place, local_rank, port))
        return workers.wait()
    except BaseException:
        _descendants.end_all(ORPHAN_GRACE_SECONDS)
        raise


def _run_torchrun(arguments: Arguments, place: Place) -> int:
    command = torchrun(arguments, place, _port(place))
    process = subprocess.Popen(command, env={**os.environ, **shared_environment(place)})

    def tell_workers(signum: int, _frame: object) -> None:
        below = _descendants.children_of(process.pid)
        _descendants.signal_all([p for p in below if _WRAP in _descendants.command_of(p)], signum)

    previous = {signum: signal.signal(signum, tell_workers) for signum in _TELLING}
    try:
        with util.forward_signals(process, *_ENDING):
            _descendants.wait_for_one([process.pid])
            code = _code(process.wait())
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)
    if code:
        _descendants.end_all(ORPHAN_GRACE_SECONDS)
    return code


class Workers:
    """The workers of this node, where they are started here."""

    def __init__(self) -> None:
        self._processes: Dict[int, subprocess.Popen[bytes]] = {}
        self._running: Set[int] = set()
        for signum in (*_ENDING, *_TELLING):
            signal.signal(signum, self._forward)

    def start(self, command: List[str], variables: Dict[str, str]) -> None:
        """Start one."""
        wrapped = [sys.executable, "-m", _WRAP, variables["RANK"], "--", *command]
        process = subprocess.Popen(wrapped, env={**os.environ, **variables})
        self._processes[process.pid] = process
        self._running.add(process.pid)

    def _forward(self, signum: int, _frame: object) -> None:
        # wrap_rank hands it on to the program.
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
        return _code(code)

    def _end(self) -> None:
        """End what still runs: kindly, then not; with every process that any has left."""
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


def _code(code: int) -> int:
    """Return an exit code as a shell would give it."""
    return code if code >= 0 else 128 - code


def main(argv: Optional[List[str]] = None) -> int:
    """Run the command line."""
    try:
        arguments = parse(sys.argv[1:] if argv is None else argv)
        info = det.get_cluster_info()
        place = place_of(info) if info is not None else Place("127.0.0.1", 0, [1])
        return run(arguments, place)
    except ValueError as err:
        print(f"{err}\n{_USAGE}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
