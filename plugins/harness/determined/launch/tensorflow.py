"""Starts a program once per node, with the variable that TensorFlow's strategies read.

``python3 -m determined.launch.tensorflow python3 train.py ARGUMENTS``. One process of TensorFlow
uses all GPUs of its node, so a task on one node needs nothing more. On several nodes TF_CONFIG
names the workers for ``MultiWorkerMirroredStrategy``, and each line of output begins with the
rank of its node. That strategy needs the same number of GPUs on each node: set
``resources.equal_parts``. ``core.DistributedContext.from_tf_config()`` also reads TF_CONFIG.
"""

from __future__ import annotations

import json
import sys
from typing import Dict, List, NamedTuple, Optional

import determined as det
from determined.launch._child import WRAP, run_child
from determined.launch._place import here, port

__all__ = ["main"]

_USAGE = "usage: python3 -m determined.launch.tensorflow [--port PORT] [--] COMMAND ..."


class Arguments(NamedTuple):
    """The parsed command line: the port of TensorFlow's own traffic, and the command."""

    port: int
    command: List[str]


def parse(argv: List[str]) -> Arguments:
    """Parse the command line; ValueError names the mistake."""
    rest, chosen = list(argv), port()
    while rest and rest[0].startswith("-") and rest[0] != "--":
        name, _, value = rest.pop(0).partition("=")
        if name != "--port":
            raise ValueError(f"there is no option {name}")
        if not value and rest:
            value = rest.pop(0)
        if not value.isdigit():
            raise ValueError(f"--port takes a number, not {value!r}")
        chosen = int(value)
    if rest and rest[0] == "--":
        rest.pop(0)
    if not rest:
        raise ValueError("there is nothing to run")
    return Arguments(chosen, rest)


def tf_config(addresses: List[str], rank: int, workers_port: int) -> str:
    """Return TF_CONFIG for the worker of one node: every node has one."""
    workers = [f"{address}:{workers_port}" for address in addresses]
    task = {"type": "worker", "index": rank}
    return json.dumps({"cluster": {"worker": workers}, "task": task})


def _demand_equal_parts(info: det.ClusterInfo) -> None:
    """Raise an error for nodes with which MultiWorkerMirroredStrategy would compute wrongly."""
    counts = info.container_slot_counts
    if len(set(counts)) > 1 and info.gpu_uuids:
        raise ValueError(
            f"the nodes of this trial have {' + '.join(map(str, counts))} GPUs, and TensorFlow's "
            "MultiWorkerMirroredStrategy needs equally many on each: set resources.equal_parts to "
            "true in the configuration"
        )


def run(arguments: Arguments) -> int:
    """Run the worker of this node, and return its exit code."""
    variables: Dict[str, str] = {"DET_CHIEF_IP": here().chief_address}
    info = det.get_cluster_info()
    if info is None or len(info.container_addrs) == 1:
        return run_child(arguments.command, variables)
    _demand_equal_parts(info)
    rank = info.container_rank
    variables["TF_CONFIG"] = tf_config(info.container_addrs, rank, arguments.port)
    return run_child([sys.executable, "-m", WRAP, str(rank), "--", *arguments.command], variables)


def main(argv: Optional[List[str]] = None) -> int:
    """Run the command line.

    Example: ``sys.exit(main(["--", "python3", "train.py"]))``
    """
    try:
        arguments = parse(sys.argv[1:] if argv is None else argv)
    except ValueError as err:
        print(f"{err}\n{_USAGE}", file=sys.stderr)
        return 2
    try:
        return run(arguments)
    except ValueError as err:
        print(err, file=sys.stderr)
        return 2
    except OSError as err:
        print(f"cannot run {arguments.command[0]}: {err}", file=sys.stderr)
        return 127


if __name__ == "__main__":
    sys.exit(main())
