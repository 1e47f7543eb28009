"""Builds the trial of a checkpoint again, anywhere."""

from __future__ import annotations

import pathlib
from typing import Any, Dict, Optional, Type, Union

from determined import core
from determined._env import EnvContext
from determined._import import import_from_path
from determined._trial import trial_class_from_entrypoint
from determined.pytorch import _checkpoint
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._trial import PyTorchTrial


class CheckpointLoadContext(PyTorchTrialContext):
    """A context to make a trial with outside of training; models stay as they are.

    Example::

        trial = Digits(pytorch.CheckpointLoadContext(hparams={"lr": 0.1}))
    """

    def __init__(
        self, hparams: Optional[Dict[str, Any]] = None, exp_conf: Optional[Dict[str, Any]] = None
    ) -> None:
        env = EnvContext(experiment_config=exp_conf or {}, hparams=hparams or {})
        super().__init__(core._dummy_init(), env, hparams)


def load_trial_from_checkpoint_path(
    path: Union[str, pathlib.Path],
    trial_class: Optional[Type[PyTorchTrial]] = None,
    trial_kwargs: Optional[Dict[str, Any]] = None,
    torch_load_kwargs: Optional[Dict[str, Any]] = None,
    **kwargs: Any,
) -> PyTorchTrial:
    """Return the trial of a downloaded checkpoint, with its weights.

    The class comes from the code in the checkpoint, unless ``trial_class`` is given, which a class
    of a script (of the module ``__main__``) needs. It is made with a ``CheckpointLoadContext`` and
    ``trial_kwargs``; ``torch_load_kwargs`` go to ``torch.load``, as other arguments do.

    Example::

        path = client.get_checkpoint(uuid).download()
        model = pytorch.load_trial_from_checkpoint_path(path).model
    """
    folder = pathlib.Path(path)
    known = _checkpoint.read_load_data(folder)
    config, hparams = known.get("experiment_config"), known.get("hparams")
    spec = str(known["trial_cls_spec"])
    arguments = dict(trial_kwargs or {})
    arguments.setdefault("context", CheckpointLoadContext(hparams=hparams, exp_conf=config))
    if trial_class is not None:
        trial = trial_class(**arguments)
    else:
        if spec.startswith("__main__:"):
            raise ValueError(
                f"the checkpoint in {folder} is of {spec.partition(':')[2]}, a class of a script, "
                "which cannot be imported: give the class as trial_class"
            )
        with import_from_path(folder / "code"):
            found: Any = trial_class_from_entrypoint(spec)
            if not issubclass(found, PyTorchTrial):
                raise TypeError(
                    f"the checkpoint in {folder} is of {spec}, which is no PyTorchTrial"
                )
            trial = found(**arguments)
    state = _checkpoint.read(folder, **{**kwargs, **(torch_load_kwargs or {})})
    _checkpoint.restore_models(arguments["context"], state)
    return trial
