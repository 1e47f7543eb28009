"""Starts a program once per slot of this node, through DeepSpeed's own launcher.

``python3 -m determined.launch.deepspeed python3 train.py ARGUMENTS`` runs a script,
``... --trial module:Class`` a trial class. Options of ``deepspeed.launcher.launch`` come first and
end with ``--``.

DeepSpeed's command ``deepspeed`` reaches other nodes with SSH. Here the platform starts this
launcher on every node, so each one starts DeepSpeed's launcher for its own workers. Each line of
output begins with the rank of its worker. If a worker fails, the other workers and all their
processes are ended.
"""

from __future__ import annotations

import base64
import json
import os
import pathlib
import sys
import tempfile
from typing import Dict, List, NamedTuple, Optional

import determined as det
from determined.launch._child import WRAP, run_child
from determined.launch._packages import demand_package
from determined.launch._place import Place, here, network, port
from determined.launch._words import command_of, split_options

__all__ = ["main"]

_USAGE = (
    "usage: python3 -m determined.launch.deepspeed [[OPTIONS OF deepspeed.launcher.launch ...] --] "
    "(--trial module:Class | COMMAND ...)"
)


class Arguments(NamedTuple):
    """The parsed command line: options for DeepSpeed's launcher, and the workers' command."""

    options: List[str]
    command: List[str]


def parse(argv: List[str]) -> Arguments:
    """Parse the command line; ValueError names the mistake."""
    options, rest = split_options(argv, "deepspeed.launcher.launch")
    return Arguments(options, command_of(rest, "deepspeed.launcher.launch"))


def world(place: Place) -> str:
    """Return the slots of every node as DeepSpeed's launcher reads them.

    DeepSpeed makes the devices of its worker visible by these names, so the devices of this node
    keep the names that the platform has given to this task.
    """
    # Nodes are identified by their numbers, because two nodes may have the same address.
    slots: Dict[str, List[object]] = {
        f"node-{node}": list(range(count)) for node, count in enumerate(place.slots)
    }
    visible = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    if len(visible) == place.slots[place.node]:
        slots[f"node-{place.node}"] = list(visible)
    return base64.urlsafe_b64encode(json.dumps(slots).encode()).decode()


def write_hostfile(info: det.ClusterInfo) -> str:
    """Write the file of nodes and slots that some training code reads, and return its path."""
    folder = pathlib.Path(tempfile.gettempdir())
    path = folder / f"hostfile-{info.allocation_id}-{info.container_rank}.txt"
    nodes = zip(info.container_addrs, info.container_slot_counts)
    path.write_text("".join(f"{address} slots={slots}\n" for address, slots in nodes))
    return str(path)


def environment(place: Place) -> Dict[str, str]:
    """Return the variables of all workers, in addition to those of DeepSpeed's launcher."""
    variables = {"DET_CHIEF_IP": place.chief_address, "USE_DEEPSPEED": "1"}
    info = det.get_cluster_info()
    if info is not None and len(place.slots) > 1:
        variables["DET_DEEPSPEED_HOSTFILE_PATH"] = write_hostfile(info)
        variables.update(network(place))
    if place.slots[place.node] > 1 and "OMP_NUM_THREADS" not in os.environ:
        # Otherwise each worker starts a thread per core of the machine.
        variables["OMP_NUM_THREADS"] = "1"
    return variables


def launcher(arguments: Arguments, place: Place) -> List[str]:
    """Return the command of DeepSpeed's launcher; the user's options come last and override."""
    return [
        sys.executable, "-m", "deepspeed.launcher.launch",
        f"--world_info={world(place)}",
        f"--node_rank={place.node}",
        f"--master_addr={place.chief_address}",
        f"--master_port={port()}",
        "--no_python", "--no_local_rank",
        *arguments.options,
        sys.executable, "-m", WRAP, "RANK", "--", *arguments.command,
    ]  # fmt: skip


def main(argv: Optional[List[str]] = None) -> int:
    """Run the command line.

    Example: ``sys.exit(main(["--trial", "train:Digits"]))``
    """
    try:
        arguments = parse(sys.argv[1:] if argv is None else argv)
        demand_package(
            "deepspeed",
            "launcher/launch.py",
            "determined.launch.deepspeed",
            "determined.launch.torch_distributed, which starts PyTorch's workers",
        )
    except ValueError as err:
        print(f"{err}\n{_USAGE}", file=sys.stderr)
        return 2
    place = here()
    return run_child(launcher(arguments, place), environment(place))


if __name__ == "__main__":
    sys.exit(main())
