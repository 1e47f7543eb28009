"""Builds the model of a checkpoint again, anywhere."""

from __future__ import annotations

import json
import pathlib
from typing import Any, Dict, List, Optional, Tuple, Union

from determined import core
from determined._env import EnvContext
from determined._import import import_from_path
from determined._trial import trial_class_from_entrypoint
from determined.keras import _backend, _state
from determined.keras._context import TFKerasTrialContext
from determined.keras._trial import TFKerasTrial


def load_model_from_checkpoint_path(
    path: Union[str, pathlib.Path], tags: Optional[List[str]] = None
) -> Any:
    """Return the model of a TFKerasTrial's checkpoint that was downloaded to a folder.

    The code in the checkpoint builds it, as it was built for training. ``tags`` exists for older
    scripts and has no effect.

    Example::

        path = client.get_experiment(5).top_checkpoint().download()
        model = keras.load_model_from_checkpoint_path(path)
        model.predict(flowers)
    """
    folder = pathlib.Path(path)
    what = f"the checkpoint in {folder}"
    wanted = _state.wanted_generation(folder)
    entrypoint, config, hparams = _description(folder)
    if wanted is not None:
        _backend.require(wanted, what)
    code = folder / "code"
    if not code.is_dir():
        raise FileNotFoundError(f"{what} has no code to build its model with: {code} is missing")
    env = EnvContext.from_config(config, hparams)
    with import_from_path(code):
        found = trial_class_from_entrypoint(entrypoint)
        if not issubclass(found, TFKerasTrial):
            raise TypeError(f"{what} is of {entrypoint}, which is no TFKerasTrial")
        context = TFKerasTrialContext(core._dummy_init(), env)
        trial = found(context)
        built = trial.build_model()
        model = context.model if built is None else built
    _state.load_weights(model, folder, what)
    return model


def _description(folder: pathlib.Path) -> Tuple[str, Dict[str, Any], Dict[str, Any]]:
    """Return the entrypoint, the configuration and the hyperparameters of a checkpoint."""
    path = folder / _state.LOAD_DATA
    if path.exists():
        known = json.loads(path.read_text(encoding="utf-8"))
        if known.get("trial_type") != "TFKerasTrial":
            raise ValueError(
                f"{path} is a checkpoint of a {known.get('trial_type')}, not of a TFKerasTrial"
            )
        return known["trial_cls_spec"], known["experiment_config"], known["hparams"]
    # The oldest releases of Determined kept it with the metadata.
    path = folder / "metadata.json"
    if path.exists():
        known = json.loads(path.read_text(encoding="utf-8"))
        if "experiment_config" in known:
            config = known["experiment_config"]
            return config["entrypoint"], config, known["hparams"]
    raise FileNotFoundError(
        f"{folder} has no {_state.LOAD_DATA}: it is no checkpoint of a TFKerasTrial; one that "
        "DeterminedCallback wrote is read with model.load_weights()"
    )
