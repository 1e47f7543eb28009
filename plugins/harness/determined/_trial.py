"""Trial classes: training code that is passed as a class instead of a script.

``entrypoint: module:Class`` names a trial class. ``determined.exec.harness`` imports the class,
makes its context, and trains it.
"""

from __future__ import annotations

import abc
import importlib
import logging
import pathlib
import sys
from typing import Any, ClassVar, Dict, Optional, Type, TypeVar

from determined import core, errors, util
from determined._env import EnvContext

logger = logging.getLogger("determined")

T = TypeVar("T", bound="TrialContext")


class TrialContext:
    """The configuration, hyperparameters and folders of a trial, for its trial class.

    Example::

        context = Context.from_config({"hyperparameters": {"lr": 0.1}, "data": {"source": "/data"}})
        context.get_hparam("lr") == context.get_hparams()["lr"]
        context.get_data_config()["source"]
        context.get_experiment_config()["hyperparameters"]
        context.get_experiment_id(), context.get_trial_id(), context.get_trial_seed()
        context.get_initial_batch()                  # more than 0 in a trial that resumes
        writer = SummaryWriter(context.get_tensorboard_path())
        context.set_stop_requested(True)             # ends training at the next boundary
        context.get_stop_requested()
    """

    def __init__(self, core_context: core.Context, env: EnvContext) -> None:
        self._core = core_context
        self.env = env
        self.distributed = core_context.distributed
        self._stop_requested = False

    @classmethod
    def from_config(cls: Type[T], config: Dict[str, Any]) -> T:
        """Return a context to try a trial class with, off the cluster."""
        return cls(core._dummy_init(), EnvContext.from_config(config))

    def get_experiment_config(self) -> Dict[str, Any]:
        """Return the merged configuration of the experiment."""
        return self.env.experiment_config

    def get_data_config(self) -> Dict[str, Any]:
        """Return the ``data`` section of the configuration."""
        return self.env.experiment_config.get("data") or {}

    def get_experiment_id(self) -> int:
        """Return the number of the experiment."""
        return int(self.env.det_experiment_id)

    def get_trial_id(self) -> int:
        """Return the number of the trial."""
        return int(self.env.det_trial_id)

    def get_trial_seed(self) -> int:
        """Return the seed of the trial."""
        return self.env.trial_seed

    def get_hparams(self) -> Dict[str, Any]:
        """Return the hyperparameters of the trial."""
        return self.env.hparams

    def get_hparam(self, name: str) -> Any:
        """Return one hyperparameter of the trial."""
        if name not in self.env.hparams:
            raise ValueError(
                f"there is no hyperparameter {name!r}; 'hyperparameters' of the configuration "
                f"has {', '.join(sorted(self.env.hparams)) or 'none'}"
            )
        return self.env.hparams[name]

    def get_stop_requested(self) -> bool:
        """Return whether the trial is to end early."""
        return self._stop_requested

    def set_stop_requested(self, stop_requested: bool) -> None:
        """Ask for the trial to end early: it saves and completes after the current step."""
        if not isinstance(stop_requested, bool):
            raise TypeError(f"stop_requested is a bool, not a {type(stop_requested).__name__}")
        if stop_requested and not self._stop_requested:
            logger.info("the trial requested to stop after this step")
        self._stop_requested = stop_requested

    def get_initial_batch(self) -> int:
        """Return the number of batches that earlier processes trained this trial for."""
        return self.env.steps_completed

    def get_tensorboard_path(self) -> pathlib.Path:
        """Return the folder for TensorBoard's files."""
        return self._core.train.get_tensorboard_path()


class LegacyTrial(abc.ABC):
    """The base of all trial classes.

    Example::

        class Digits(pytorch.PyTorchTrial):
            def __init__(self, context):
                self.context = context
    """

    trial_context_class: ClassVar[Type[TrialContext]] = TrialContext
    # The module whose train_class() trains trials of this kind. It is imported only to train,
    # because it imports the framework and this very class.
    _trainer: ClassVar[str]

    @abc.abstractmethod
    def __init__(self, context: Any) -> None:
        """Store the context, from which a trial reads its hyperparameters."""


def trial_class_from_entrypoint(entrypoint: str) -> Type[LegacyTrial]:
    """Import the class that ``module:Class`` names; a class may be nested."""
    module, _, name = entrypoint.partition(":")
    # Two checkpoints may each have a module of that name.
    sys.modules.pop(module, None)
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        if not hasattr(found, part):
            raise AttributeError(f"entrypoint {entrypoint}: {module} has no {name}")
        found = getattr(found, part)
    if not isinstance(found, type) or not issubclass(found, LegacyTrial):
        raise TypeError(
            f"entrypoint {entrypoint} is not a trial class; a trial class is a subclass of "
            "determined.keras.TFKerasTrial, determined.pytorch.PyTorchTrial or "
            "determined.pytorch.deepspeed.DeepSpeedTrial"
        )
    return found


def train_class(
    trial_class: Type[LegacyTrial], core_context: core.Context, env: EnvContext
) -> None:
    """Make a trial of a class and train it to its end, or until it is preempted."""
    importlib.import_module(trial_class._trainer).train_class(trial_class, core_context, env)


def batch_sizes(
    hparams: Dict[str, Any], slots: int, configured: Optional[str] = None
) -> tuple[int, int]:
    """Return the batch size of a slot, and of all slots together."""
    try:
        return util.calculate_batch_sizes(hparams, slots, configured or "a trial class")
    except errors.InvalidExperimentException as err:
        raise ValueError(str(err)) from err
