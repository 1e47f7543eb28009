"""Starts a program once per slot of this node, with the variables that PyTorch reads.

``python3 -m determined.launch.torch_distributed [--] python3 train.py ARGUMENTS`` runs a script,
``... -- --trial module:Class`` a trial class. A trial of one slot runs it as it is. Each worker
finds RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, GROUP_RANK, GROUP_WORLD_SIZE, MASTER_ADDR,
MASTER_PORT and DET_CHIEF_IP, as under torchrun, and its output carries its rank. When one fails
the others are ended.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import Dict, List, NamedTuple, Optional, Tuple

import determined as det
from determined import util

_USAGE = (
    "usage: python3 -m determined.launch.torch_distributed [--] "
    "(--trial module:Class | COMMAND ...)"
)

# How long workers may take to end when one of them has failed.
GRACE_SECONDS = 30.0


class Place(NamedTuple):
    """This node among those of the trial."""

    chief: str
    node: int
    slots: List[int]

    @property
    def size(self) -> int:
        """How many workers there are on all nodes."""
        return sum(self.slots)


def parse(argv: List[str]) -> List[str]:
    """Return the command to run in each worker; ValueError says what is wrong."""
    rest = list(argv)
    if rest[:1] == ["--"]:
        rest.pop(0)
    if rest[:1] == ["--trial"]:
        if len(rest) != 2:
            raise ValueError("--trial takes one argument, module:Class")
        return [sys.executable, "-m", "determined.exec.harness", rest[1]]
    if not rest:
        raise ValueError("there is nothing to run")
    if rest[0].startswith("-"):
        raise ValueError(f"{rest[0]}: options of torchrun are not supported")
    return rest


def place_of(info: det.ClusterInfo) -> Place:
    """Return where this node is; a node without slots has one worker all the same."""
    slots = [max(1, count) for count in info.container_slot_counts]
    return Place(info.container_addrs[0], info.container_rank, slots)


def environment(place: Place, local_rank: int) -> Dict[str, str]:
    """Return the variables of one worker."""
    before = sum(place.slots[: place.node])
    one_node = len(place.slots) == 1
    chief = "127.0.0.1" if one_node else place.chief
    return {
        "RANK": str(before + local_rank),
        "LOCAL_RANK": str(local_rank),
        "WORLD_SIZE": str(place.size),
        "LOCAL_WORLD_SIZE": str(place.slots[place.node]),
        "GROUP_RANK": str(place.node),
        "GROUP_WORLD_SIZE": str(len(place.slots)),
        "MASTER_ADDR": chief,
        "MASTER_PORT": os.environ.get("C10D_PORT", "29400"),
        "DET_CHIEF_IP": chief,
    }


def run(command: List[str], place: Place) -> int:
    """Run the workers of this node, and return the exit code of the first that failed."""
    if place.size == 1:
        process = subprocess.Popen(command)
        with util.forward_signals(process):
            return _code(process.wait())
    workers = [_start(command, place, rank) for rank in range(place.slots[place.node])]
    return _supervise(workers)


def _start(command: List[str], place: Place, local_rank: int) -> subprocess.Popen[bytes]:
    variables = environment(place, local_rank)
    wrapped = [sys.executable, "-m", "determined.launch.wrap_rank", variables["RANK"], "--"]
    return subprocess.Popen([*wrapped, *command], env={**os.environ, **variables})


def _supervise(workers: List[subprocess.Popen[bytes]]) -> int:
    ended: List[Tuple[int, int]] = []
    changed = threading.Condition()

    def wait_for(index: int) -> None:
        code = workers[index].wait()
        with changed:
            ended.append((index, _code(code)))
            changed.notify_all()

    def forward(signum: int, _frame: object) -> None:
        for worker in workers:
            worker.send_signal(signum)

    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(signum, forward)
    threads = [
        threading.Thread(target=wait_for, args=(index,), daemon=True)
        for index in range(len(workers))
    ]
    for thread in threads:
        thread.start()

    def over() -> bool:
        return len(ended) == len(workers) or any(code for _, code in ended)

    with changed:
        changed.wait_for(over)
        failed = next((code for _, code in ended if code), 0)
    if failed:
        _end(workers)
    for thread in threads:
        thread.join()
    return failed


def _end(workers: List[subprocess.Popen[bytes]]) -> None:
    """End what still runs: kindly, then not."""
    for worker in workers:
        if worker.poll() is None:
            worker.terminate()
    for worker in workers:
        try:
            worker.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            worker.kill()


def _code(code: int) -> int:
    """Return an exit code as a shell would give it."""
    return code if code >= 0 else 128 - code


def main(argv: Optional[List[str]] = None) -> int:
    """Run the command line."""
    try:
        command = parse(sys.argv[1:] if argv is None else argv)
    except ValueError as err:
        print(f"{err}\n{_USAGE}", file=sys.stderr)
        return 2
    info = det.get_cluster_info()
    place = place_of(info) if info is not None else Place("127.0.0.1", 0, [1])
    try:
        return run(command, place)
    except OSError as err:
        print(f"cannot run {command[0]}: {err}", file=sys.stderr)
        return 127


if __name__ == "__main__":
    sys.exit(main())
