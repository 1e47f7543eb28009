"""The package deepspeed, and the connection of its workers."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, Optional

from determined import core
from determined._env import EnvContext
from determined.pytorch._base_context import slot_device


def package() -> Any:
    """Return the package; ImportError says what to install."""
    try:
        return importlib.import_module("deepspeed")
    except ImportError as err:
        raise ImportError(
            "determined.pytorch.deepspeed needs DeepSpeed. Install deepspeed: pip install deepspeed"
        ) from err


def is_pipeline(engine: Any) -> bool:
    """Return whether a model engine trains a pipeline of stages."""
    # An engine exists only where the package is imported.
    found = sys.modules.get("deepspeed")
    return found is not None and isinstance(engine, found.PipelineEngine)


def device(local_rank: int) -> Any:
    """Return the device of this worker, of whatever kind DeepSpeed has found."""
    found = sys.modules.get("deepspeed")
    if found is None:
        return slot_device(local_rank)
    accelerator = found.accelerator.get_accelerator()
    # A worker may see its own device alone, regardless of its rank.
    index = local_rank % max(1, accelerator.device_count())
    name = accelerator.device_name(index)
    # On CPUs there is nothing to choose from.
    if name != accelerator.device_name():
        accelerator.set_device(index)
    torch = importlib.import_module("torch")
    return torch.device(name)


def launched(env: EnvContext) -> Optional[core.DistributedContext]:
    """Return this worker's ranks among the workers that a launcher has started."""
    if "LOCAL_SIZE" in os.environ:
        return core.DistributedContext.from_deepspeed()
    if "LOCAL_WORLD_SIZE" in os.environ:
        return core.DistributedContext.from_torch_distributed()
    if len(env.slot_ids) > 1:
        raise ValueError(
            f"the trial has {len(env.slot_ids)} slots, but one process; start the script with "
            "python3 -m determined.launch.deepspeed"
        )
    return None


def join(size: int) -> None:
    """Let DeepSpeed connect the workers, before a trial builds engines.

    A script that does so itself, in its own way, sets DET_MANUAL_INIT_DISTRIBUTED.
    """
    deepspeed = package()
    if os.environ.get("DET_MANUAL_INIT_DISTRIBUTED"):
        return
    alone = size < 2 and "RANK" not in os.environ
    if alone:
        # No launcher has started this process. Engines ask for these variables.
        os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1")
    if deepspeed.comm.is_initialized():
        return
    # A worker without neighbours takes any free port.
    place = {"init_method": "tcp://127.0.0.1:0", "rank": 0, "world_size": 1} if alone else {}
    deepspeed.init_distributed(auto_mpi_discovery="RANK" not in os.environ, **place)
