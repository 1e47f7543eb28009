"""Writes and reads checkpoints of DeepSpeed trials.

model0/, model1/ …           the state of each model engine, written by DeepSpeed on every worker
det_state_dict_rank0.pth …   the state of callbacks and of random numbers, for each worker
trial_state.pkl              how far training was, and for which trial
load_data.json, code/        the configuration and the training code
"""

from __future__ import annotations

import logging
import pathlib
import pickle
from typing import Any, Dict, Mapping, Optional

import torch

from determined import util
from determined.pytorch import _checkpoint
from determined.pytorch._callback import PyTorchCallback
from determined.pytorch.deepspeed._context import DeepSpeedTrialContext

logger = logging.getLogger("determined.pytorch")


def _name(rank: int) -> str:
    return f"det_state_dict_rank{rank}.pth"


def write_of_trial(
    path: pathlib.Path, context: DeepSpeedTrialContext, trial_state: Dict[str, Any]
) -> None:
    """Write the part of a checkpoint that is the same for all workers."""
    (path / _checkpoint.TRIAL_STATE).write_bytes(pickle.dumps(trial_state))
    load_data = {
        "trial_type": "DeepSpeedTrial",
        "experiment_config": context.env.experiment_config or None,
        "hparams": context._hparams,
    }
    (path / _checkpoint.LOAD_DATA).write_text(util.json_encode(load_data), encoding="utf-8")


def write_of_rank(
    path: pathlib.Path,
    rank: int,
    callbacks: Mapping[str, PyTorchCallback],
    shuffle_seed: Optional[int],
) -> None:
    """Write this worker's own part of a checkpoint."""
    state: Dict[str, Any] = {
        "callbacks": {name: callback.state_dict() for name, callback in callbacks.items()},
        "rng_state": _checkpoint.rng_state(),
        "shuffle_seed": shuffle_seed,
    }
    for callback in callbacks.values():
        callback.on_checkpoint_save_start(state)
    torch.save(state, str(path / _name(rank)))


def read_of_rank(path: pathlib.Path, rank: int) -> Dict[str, Any]:
    """Return the part that this rank has written, or rank 0's if there were fewer workers."""
    mine, first = path / _name(rank), path / _name(0)
    if not first.exists():
        raise ValueError(f"{path} is no checkpoint of a DeepSpeedTrial: it has no {first.name}")
    if not mine.exists():
        logger.warning(
            "the checkpoint was written by fewer workers: rank %d begins with the random numbers "
            "and callbacks of rank 0",
            rank,
        )
        mine = first
    # The state of callbacks is whatever they return, which only a full unpickler reads.
    state: Dict[str, Any] = torch.load(str(mine), map_location="cpu", weights_only=False)
    return state
