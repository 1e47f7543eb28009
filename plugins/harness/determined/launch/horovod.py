"""Starts a program once per slot of this node with ``horovodrun``.

``python3 -m determined.launch.horovod python3 train.py ARGUMENTS`` runs a script,
``... --trial module:Class`` a trial class. Options of ``horovodrun`` come first and end with
``--``; they override the values that this launcher sets. Each line of output begins with the rank
of its worker.

``horovodrun`` reaches other nodes with SSH, which the tasks of a trial do not have here: this
launcher fails in a trial on several nodes. Horovod is no longer developed; use
``determined.launch.torch_distributed`` or ``determined.launch.tensorflow``.
"""

from __future__ import annotations

import shutil
import sys
from typing import Any, Dict, List, NamedTuple, Optional

import determined as det
from determined.launch._child import WRAP, run_child
from determined.launch._packages import demand_package
from determined.launch._place import Place, here
from determined.launch._words import command_of, split_options

__all__ = ["main"]

_USAGE = (
    "usage: python3 -m determined.launch.horovod [[OPTIONS OF HOROVODRUN ...] --] "
    "(--trial module:Class | COMMAND ...)"
)
_INSTEAD = "determined.launch.torch_distributed or determined.launch.tensorflow"

# The variables with the rank of a worker, by the transport of Horovod.
_RANK = "HOROVOD_RANK,OMPI_COMM_WORLD_RANK,PMI_RANK"

_START_SECONDS = 1200
_GLOO_SECONDS = 240


class Arguments(NamedTuple):
    """The parsed command line: options for horovodrun, and the workers' command."""

    options: List[str]
    command: List[str]
    plain_for_one: bool


def parse(argv: List[str]) -> Arguments:
    """Parse the command line; ValueError names the mistake."""
    words = list(argv)
    # Old configurations name this launcher: a single worker then runs without Horovod.
    plain = "--autohorovod" in words
    if plain:
        words.remove("--autohorovod")
    options, rest = split_options(words, "horovodrun")
    return Arguments(options, command_of(rest, "horovodrun"), plain)


def tuning(optimizations: Dict[str, Any]) -> List[str]:
    """Return the options for the ``optimizations`` of a configuration."""
    fixed = ["--cache-capacity", "1024", "--no-hierarchical-allreduce"]
    fixed.append("--no-hierarchical-allgather")
    if optimizations.get("auto_tune_tensor_fusion"):
        return ["--autotune", *fixed]
    fusion = optimizations.get("tensor_fusion_threshold", 64)
    cycle = optimizations.get("tensor_fusion_cycle_time", 1)
    return ["--fusion-threshold-mb", str(fusion), "--cycle-time-ms", str(cycle), *fixed]


def horovodrun(arguments: Arguments, slots: int) -> List[str]:
    """Return the command of horovodrun; the user's options come last and override."""
    info = det.get_cluster_info()
    trial = info.trial if info is not None and info.task_type == "TRIAL" else None
    debug = trial is not None and trial._debug
    return [
        "horovodrun",
        "-np", str(slots),
        "-H", f"localhost:{slots}",
        "--start-timeout", str(_START_SECONDS),
        "--gloo-timeout-seconds", str(_GLOO_SECONDS),
        *tuning((trial._config.get("optimizations") if trial is not None else None) or {}),
        *(["--verbose"] if debug else []),
        *arguments.options,
        "--",
        sys.executable, "-m", WRAP, _RANK, "--", *arguments.command,
    ]  # fmt: skip


def run(arguments: Arguments, place: Place) -> int:
    """Run the workers, and return the exit code of horovodrun."""
    if len(place.slots) > 1:
        raise ValueError(
            f"this trial has {len(place.slots)} nodes, and horovodrun reaches other nodes with "
            f"SSH, which its tasks do not have: use {_INSTEAD}, or slots of one node"
        )
    variables = {"DET_CHIEF_IP": place.chief_address}
    slots = place.slots[0]
    if slots == 1 and arguments.plain_for_one:
        return run_child(arguments.command, variables)
    demand_package("horovod", "runner", "determined.launch.horovod", _INSTEAD)
    if shutil.which("horovodrun") is None:
        raise ValueError("the package horovod is there, but its program horovodrun is not on PATH")
    return run_child(horovodrun(arguments, slots), {**variables, "USE_HOROVOD": "1"})


def main(argv: Optional[List[str]] = None) -> int:
    """Run the command line.

    Example: ``sys.exit(main(["--verbose", "--", "python3", "train.py"]))``
    """
    try:
        arguments = parse(sys.argv[1:] if argv is None else argv)
        return run(arguments, here())
    except ValueError as err:
        print(f"{err}\n{_USAGE}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
