"""Writes and reads checkpoints of PyTorch trials.

state_dict.pth    the state of models, optimizers, schedulers, callbacks, scaler and random numbers
trial_state.pkl   how far training was, and for which trial
load_data.json    what it takes to build the trial again, with
code/             the training code
"""

from __future__ import annotations

import json
import pathlib
import pickle
import random
from typing import Any, Dict, List, Mapping, Optional

import numpy as np
import torch

from determined import util
from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._context import PyTorchTrialContext

STATE = "state_dict.pth"
TRIAL_STATE = "trial_state.pkl"
LOAD_DATA = "load_data.json"

# Where older releases kept them.
_OLD_STATES = ("determined/state_dict.pth", "pedl/state_dict.pth", "checkpoint.pt")
_OLD_TRIAL_STATE = "workload_sequencer.pkl"


def save(
    path: pathlib.Path,
    context: PyTorchTrialContext,
    callbacks: Mapping[str, PyTorchCallback],
    trial_state: Dict[str, Any],
    shuffle_seed: int,
    trial_cls_spec: str,
    is_trainer: bool,
) -> None:
    """Write a checkpoint into a folder."""
    path.mkdir(parents=True, exist_ok=True)
    util.write_user_code(path, context.env.on_cluster)
    state: Dict[str, Any] = {
        "models_state_dict": [_plain(model).state_dict() for model in context.models],
        "optimizers_state_dict": [optimizer.state_dict() for optimizer in context.optimizers],
        "lr_schedulers_state_dict": [one.state_dict() for one in context.lr_schedulers],
        "callbacks": {name: callback.state_dict() for name, callback in callbacks.items()},
        "rng_state": rng_state(),
        "shuffle_seed": shuffle_seed,
    }
    if context._scaler is not None:
        state["scaler_state_dict"] = context._scaler.state_dict()
    for callback in callbacks.values():
        callback.on_checkpoint_save_start(state)
    torch.save(state, str(path / STATE))
    (path / TRIAL_STATE).write_bytes(pickle.dumps(trial_state))
    load_data = {
        "trial_type": "PyTorchTrial",
        "experiment_config": context.env.experiment_config or None,
        "hparams": context._hparams,
        "trial_cls_spec": trial_cls_spec,
        "is_trainer": is_trainer,
    }
    (path / LOAD_DATA).write_text(util.json_encode(load_data), encoding="utf-8")
    for callback in callbacks.values():
        callback.on_checkpoint_end(str(path))
        callback.on_checkpoint_write_end(str(path))


def read(path: pathlib.Path, **torch_load_kwargs: Any) -> Dict[str, Any]:
    """Return the state that a checkpoint holds, on the CPU unless said otherwise."""
    known = [path / name for name in (STATE, *_OLD_STATES) if (path / name).exists()]
    if not known:
        raise ValueError(f"{path} is no checkpoint of a PyTorchTrial: it has no {STATE}")
    # The state of callbacks is whatever they return, which only a full unpickler reads.
    options = {"map_location": "cpu", "weights_only": False, **torch_load_kwargs}
    state: Dict[str, Any] = torch.load(str(known[0]), **options)
    for old, new in (
        ("model_state_dict", "models_state_dict"),
        ("optimizer_state_dict", "optimizers_state_dict"),
        ("lr_scheduler", "lr_schedulers_state_dict"),
        ("lr_scheduler_state_dict", "lr_schedulers_state_dict"),
    ):
        if old in state and new not in state:
            state[new] = [state.pop(old)]
    return state


def read_trial_state(path: pathlib.Path) -> Optional[Dict[str, Any]]:
    """Return the position of training, or None if the checkpoint has none."""
    for name in (TRIAL_STATE, _OLD_TRIAL_STATE):
        if (path / name).exists():
            found: Any = pickle.loads((path / name).read_bytes())
            return dict(found) if isinstance(found, Mapping) else dict(vars(found))
    return None


def read_load_data(path: pathlib.Path) -> Dict[str, Any]:
    """Return how to build the trial of a checkpoint."""
    if (path / LOAD_DATA).exists():
        found: Dict[str, Any] = json.loads((path / LOAD_DATA).read_text(encoding="utf-8"))
        if found.get("trial_type") != "PyTorchTrial":
            raise ValueError(f"{path} is of a {found.get('trial_type')}, not of a PyTorchTrial")
        return found
    # The oldest releases kept it with the metadata.
    metadata = path / "metadata.json"
    if metadata.exists():
        known = json.loads(metadata.read_text(encoding="utf-8"))
        if "experiment_config" in known:
            config = known["experiment_config"]
            return {
                "experiment_config": config,
                "hparams": known.get("hparams"),
                "trial_cls_spec": config.get("entrypoint"),
                "is_trainer": False,
            }
    raise FileNotFoundError(f"{path} has no {LOAD_DATA}: it is no checkpoint of a PyTorchTrial")


def restore_models(
    context: PyTorchTrialContext, state: Dict[str, Any], strict: bool = True
) -> None:
    """Load the weights of models, whether or not they were written by one of several workers."""
    _each("models", context.models, state.get("models_state_dict", []))
    for model, weights in zip(context.models, state.get("models_state_dict", [])):
        module = _plain(model)
        module.load_state_dict(_named_like(module.state_dict(), weights), strict=strict)


def restore(
    context: PyTorchTrialContext, callbacks: Mapping[str, PyTorchCallback], state: Dict[str, Any]
) -> None:
    """Load everything but the state of random numbers, which comes last."""
    for callback in callbacks.values():
        callback.on_checkpoint_load_start(state)
    restore_models(context, state)
    for what, targets in (
        ("optimizers", context.optimizers),
        ("lr_schedulers", context.lr_schedulers),
    ):
        states = state.get(f"{what}_state_dict", [])
        _each(what, targets, states)
        for target, found in zip(targets, states):
            target.load_state_dict(found)
    if context._scaler is not None and "scaler_state_dict" in state:
        context._scaler.load_state_dict(state["scaler_state_dict"])
    for name, callback in callbacks.items():
        if name in state.get("callbacks", {}):
            callback.load_state_dict(state["callbacks"][name])


def _each(what: str, targets: List[Any], states: List[Any]) -> None:
    if len(targets) != len(states):
        raise ValueError(
            f"the checkpoint has {len(states)} {what}, but the trial has {len(targets)}"
        )


def _plain(model: Any) -> Any:
    """Return the user's own module."""
    return model.module if isinstance(model, torch.nn.parallel.DistributedDataParallel) else model


def _named_like(wanted: Mapping[str, Any], weights: Dict[str, Any]) -> Dict[str, Any]:
    """Return weights without the prefix that DistributedDataParallel puts before their names."""
    prefix = "module."
    if not weights or not all(name.startswith(prefix) for name in weights):
        return weights
    if all(name.startswith(prefix) for name in wanted):
        return weights
    return {name[len(prefix) :]: value for name, value in weights.items()}


def rng_state() -> Dict[str, Any]:
    state = {
        "cpu_rng_state": torch.random.get_rng_state(),
        "np_rng_state": np.random.get_state(),
        "random_rng_state": random.getstate(),
    }
    if torch.cuda.is_available():
        state["gpu_rng_state"] = torch.cuda.get_rng_state()
    return state


def restore_rng(state: Mapping[str, Any]) -> None:
    """Restore the state of generators of random numbers."""
    if "cpu_rng_state" in state:
        torch.random.set_rng_state(state["cpu_rng_state"])
    if "np_rng_state" in state:
        np.random.set_state(state["np_rng_state"])
    if "random_rng_state" in state:
        random.setstate(state["random_rng_state"])
    if "gpu_rng_state" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["gpu_rng_state"])
