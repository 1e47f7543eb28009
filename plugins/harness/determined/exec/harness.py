"""Trains the trial class that ``entrypoint: module:Class`` names.

``python3 -m determined.exec.harness module:Class`` is what a launcher starts for each worker.
"""

from __future__ import annotations

import argparse
import faulthandler
import logging
import os
import sys
from typing import List, Optional

import determined as det
from determined import core
from determined._env import EnvContext
from determined._trial import train_class, trial_class_from_entrypoint
from determined.keras import _backend

__all__ = ["main"]

logger = logging.getLogger("determined")

# Interval at which a trial with debug: true prints its stacks.
STACKS_SECONDS = 30


def main(argv: Optional[List[str]] = None) -> int:
    """Run the command line.

    Example: ``main(["train:Digits"])``
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train_entrypoint", metavar="module:Class")
    entrypoint = parser.parse_args(argv).train_entrypoint
    info = det.get_cluster_info()
    if info is None or info.task_type != "TRIAL":
        print(
            "determined.exec.harness trains a trial class on a cluster, and this task is "
            "not a trial: "
            "submit the class as the entrypoint of an experiment",
            file=sys.stderr,
        )
        return 2
    debug = info.trial._debug
    logging.basicConfig(level=logging.DEBUG if debug else logging.INFO, format=det.LOG_FORMAT)
    if debug:
        faulthandler.dump_traceback_later(STACKS_SECONDS, repeat=True)
    # The submitted code is in the working directory.
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    _backend.prefer_keras_2()
    trial_class = trial_class_from_entrypoint(entrypoint)
    with core.init(distributed=_workers()) as core_context:
        train_class(trial_class, core_context, EnvContext.from_info(info))
    if debug:
        faulthandler.cancel_dump_traceback_later()
    return 0


def _workers() -> Optional[core.DistributedContext]:
    """Return this worker's ranks among the workers that a launcher has started."""
    if "RANK" not in os.environ:
        return None
    if "USE_DEEPSPEED" in os.environ:
        return core.DistributedContext.from_deepspeed()
    return core.DistributedContext.from_torch_distributed()


if __name__ == "__main__":
    sys.exit(main())
