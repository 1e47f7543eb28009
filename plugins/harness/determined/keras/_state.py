"""Writes and reads checkpoints of Keras trials.

determined-keras-model-weights.*       the weights, of Keras 2, in TensorFlow's format
determined-keras-model.weights.h5      the weights, of Keras 3
determined-keras-optimizer-weights.npz the optimizers' state, an array per variable
determined-callbacks.v1.pkl            what stateful callbacks keep
rng_state.pkl                          the generators of random numbers
trainer_state.json                     how far training was, and for which trial
load_data.json, code/                  what it takes to build the model again
"""

from __future__ import annotations

import importlib
import json
import logging
import pathlib
import pickle
import random
import warnings
from typing import Any, Dict, List, Optional

from determined import util
from determined.keras import _backend
from determined.keras._context import TFKerasTrialContext

logger = logging.getLogger("determined.keras")

WEIGHTS_2 = "determined-keras-model-weights"
WEIGHTS_3 = "determined-keras-model.weights.h5"
# Written by the oldest releases of Determined.
WEIGHTS_OLD = "determined-keras-model.h5"
OPTIMIZERS = "determined-keras-optimizer-weights.npz"
CALLBACKS = "determined-callbacks.v1.pkl"
RNG = "rng_state.pkl"
TRAINER = "trainer_state.json"
LOAD_DATA = "load_data.json"


def save(
    path: pathlib.Path,
    context: TFKerasTrialContext,
    callbacks: List[Any],
    trainer: Dict[str, Any],
    trial_cls_spec: str,
) -> None:
    """Write a checkpoint into a folder."""
    path.mkdir(parents=True, exist_ok=True)
    save_weights(context.model, path)
    _save_optimizers(context._optimizers(), path / OPTIMIZERS)
    (path / CALLBACKS).write_bytes(pickle.dumps(callbacks))
    (path / RNG).write_bytes(pickle.dumps(_rng_state()))
    (path / TRAINER).write_text(json.dumps(trainer), encoding="utf-8")
    util.write_user_code(path, context.env.on_cluster)
    load_data = {
        "trial_type": "TFKerasTrial",
        "experiment_config": context.env.experiment_config,
        "hparams": context.env.hparams,
        "trial_cls_spec": trial_cls_spec,
    }
    (path / LOAD_DATA).write_text(util.json_encode(load_data), encoding="utf-8")


def save_weights(model: Any, path: pathlib.Path) -> None:
    """Write the weights of a model, in the form of the Keras in use."""
    if _backend.generation() == 2:
        # Subclassed models cannot be written in the other format of Keras 2.
        model.save_weights(str(path / WEIGHTS_2), save_format="tf")
    else:
        model.save_weights(str(path / WEIGHTS_3))


def wanted_generation(path: pathlib.Path) -> Optional[int]:
    """Return the version of Keras that wrote the weights below path; None if both can read them."""
    if (path / WEIGHTS_3).exists():
        return 3
    if (path / f"{WEIGHTS_2}.index").exists():
        return 2
    if (path / WEIGHTS_OLD).exists():
        return None
    raise FileNotFoundError(
        f"{path} is no checkpoint of a Keras trial: it has neither {WEIGHTS_3}, nor "
        f"{WEIGHTS_2}.index, nor {WEIGHTS_OLD}"
    )


def load_weights(model: Any, path: pathlib.Path, what: str) -> None:
    """Read weights into a model of the same shape."""
    wanted = wanted_generation(path)
    if wanted is not None:
        _backend.require(wanted, what)
    name = {3: WEIGHTS_3, 2: WEIGHTS_2, None: WEIGHTS_OLD}[wanted]
    # The optimizer's part of it is read elsewhere, or not needed.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Skipping variable loading for optimizer")
        status = model.load_weights(str(path / name))
    if hasattr(status, "expect_partial"):
        status.expect_partial()


def load(
    path: pathlib.Path, context: TFKerasTrialContext, callbacks: List[Any], trial_id: int
) -> Optional[Dict[str, Any]]:
    """Read a checkpoint into the model, its optimizers and its callbacks.

    Return the position of training; None if the checkpoint belongs to another trial or has no
    position: then training begins with its weights and counts from 0.
    """
    load_weights(context.model, path, f"checkpoint {path.name}")
    _load_optimizers(context, path / OPTIMIZERS)
    trainer = _read_json(path / TRAINER)
    if trainer is None or int(trainer.get("trial_id", -1)) != trial_id:
        return None
    states = pickle.loads((path / CALLBACKS).read_bytes())
    if len(states) == len(callbacks):
        for callback, state in zip(callbacks, states):
            if state is not None:
                callback.load_state(state)
    else:
        logger.warning(
            "the checkpoint has the state of %d callbacks, but there are %d: they start without it",
            len(states),
            len(callbacks),
        )
    _set_rng_state(pickle.loads((path / RNG).read_bytes()))
    return trainer


def _read_json(path: pathlib.Path) -> Optional[Dict[str, Any]]:
    if not path.exists():
        return None
    found: Dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _variables(optimizer: Any) -> List[Any]:
    # A method in the oldest kind of optimizer, a list in the others.
    found = optimizer.variables
    return list(found() if callable(found) else found)


def build_optimizer(optimizer: Any, model: Any) -> None:
    """Make an optimizer's variables, which it would else make at its first step."""
    for name in ("build", "_create_all_weights"):
        make = getattr(optimizer, name, None)
        if callable(make):
            make(model.trainable_variables)
            return


def _save_optimizers(optimizers: List[Any], path: pathlib.Path) -> None:
    numpy = importlib.import_module("numpy")
    arrays = {}
    for which, optimizer in enumerate(optimizers):
        for number, variable in enumerate(_variables(optimizer)):
            arrays[f"{which}/{number:05d}"] = _to_numpy(variable)
    with path.open("wb") as out:
        numpy.savez(out, **arrays)


def _to_numpy(variable: Any) -> Any:
    return variable.numpy() if hasattr(variable, "numpy") else variable.value


def _load_optimizers(context: TFKerasTrialContext, path: pathlib.Path) -> None:
    if not path.exists():
        logger.warning("the checkpoint has no state of optimizers: they start without it")
        return
    numpy = importlib.import_module("numpy")
    with numpy.load(path, allow_pickle=False) as arrays:
        for which, optimizer in enumerate(context._optimizers()):
            build_optimizer(optimizer, context.model)
            variables = _variables(optimizer)
            saved = [arrays[name] for name in sorted(arrays.files) if name.startswith(f"{which}/")]
            if [tuple(v.shape) for v in variables] != [tuple(a.shape) for a in saved]:
                logger.warning(
                    "optimizer %d has other variables than when the checkpoint was written: it "
                    "starts without its state",
                    which,
                )
                continue
            for variable, value in zip(variables, saved):
                variable.assign(value)


def _rng_state() -> Dict[str, Any]:
    return {
        "python": random.getstate(),
        "numpy": importlib.import_module("numpy").random.get_state(),
    }


def _set_rng_state(state: Dict[str, Any]) -> None:
    random.setstate(state["python"])
    importlib.import_module("numpy").random.set_state(state["numpy"])


def seed_all(seed: int) -> None:
    """Seed every generator of random numbers that a model may draw from."""
    random.seed(seed)
    importlib.import_module("numpy").random.seed(seed)
    _backend.tensorflow().random.set_seed(seed)
