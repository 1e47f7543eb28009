"""The configuration of an unmanaged experiment, which a program runs itself."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any, Dict, List, Optional, Union

import determined as det


@dataclasses.dataclass
class Config:
    """An unmanaged experiment and its trial; a trial of the cluster has a configuration already.

    ``external_experiment_id`` and ``external_trial_id`` are names of your choice: a program with
    the same names reports to the same experiment and continues the same trial. Several trials with
    one ``external_experiment_id`` are a search; ``searcher`` then names its metric.

    Example::

        core_v2.init(config=core_v2.Config(name="laptop", hparams={"lr": 0.1}))
        core_v2.train.report_validation_metrics(1, {"loss": 0.5})
        core_v2.close()
    """

    name: Optional[str] = None
    hparams: Optional[Dict[str, Any]] = None
    data: Optional[Dict[str, Any]] = None
    description: Optional[str] = None
    labels: Optional[List[str]] = None
    workspace: Optional[str] = None
    project: Optional[str] = None
    checkpoint_storage: Optional[Union[str, Dict[str, Any]]] = None
    searcher: Optional[Dict[str, Any]] = None
    external_experiment_id: Optional[str] = None
    external_trial_id: Optional[str] = None


@dataclasses.dataclass(init=False)
class DefaultConfig(Config):
    """An older name of ``Config``.

    Example: ``core_v2.init(defaults=core_v2.DefaultConfig(name="laptop"))``
    """

    def __init__(self, **fields: Any) -> None:
        _warn("DefaultConfig is an older name of Config")
        super().__init__(**fields)


@dataclasses.dataclass(init=False)
class UnmanagedConfig(Config):
    """The part of ``Config`` that older programs pass separately.

    Example: ``core_v2.init(unmanaged=core_v2.UnmanagedConfig(external_experiment_id="a"))``
    """

    def __init__(self, **fields: Any) -> None:
        _warn("UnmanagedConfig is an older name of Config")
        super().__init__(**fields)


def _warn(text: str) -> None:
    warnings.warn(f"{text}: use core_v2.Config", FutureWarning, stacklevel=3)


def merge(
    config: Optional[Config],
    defaults: Optional[DefaultConfig],
    unmanaged: Optional[UnmanagedConfig],
) -> Optional[Config]:
    """Return the configuration from the arguments of ``init``.

    A trial of the cluster needs none: then the result is None.
    """
    if config is not None or (defaults is None and unmanaged is None):
        merged = config
    else:
        fields = [part for part in (defaults, unmanaged) if part is not None]
        merged = Config()
        for field in dataclasses.fields(Config):
            values = [getattr(part, field.name) for part in fields]
            setattr(merged, field.name, next((v for v in values if v is not None), None))
    info = det.get_cluster_info()
    if merged is None and (info is None or info.task_type != "TRIAL"):
        raise ValueError("this is no trial of a cluster: give core_v2.init a config")
    if (
        merged is not None
        and merged.external_trial_id is not None
        and merged.external_experiment_id is None
    ):
        raise ValueError("external_trial_id needs external_experiment_id, the experiment's name")
    return merged
