"""The environment of a trial class: its configuration, hyperparameters and slots."""

from __future__ import annotations

import dataclasses
import random
from typing import Any, Dict, List, Mapping, Optional

from determined._info import ClusterInfo


@dataclasses.dataclass
class EnvContext:
    """The trial around a trial class, on a cluster or in a debugger.

    ``managed_training`` is false if the class only builds its model and does not train.

    Example:

        >>> from determined import EnvContext
        >>> env = EnvContext.from_config({"hyperparameters": {"lr": 0.1}})     # in a debugger
        >>> env.hparams, env.on_cluster
        ({'lr': 0.1}, False)

    On the cluster, where ``TrialContext.env`` is one::

        env = EnvContext.from_info(det.get_cluster_info())
    """

    experiment_config: Dict[str, Any]
    hparams: Dict[str, Any]
    latest_checkpoint: Optional[str] = None
    steps_completed: int = 0
    trial_seed: int = 0
    trial_run_id: int = 0
    det_trial_id: str = ""
    det_experiment_id: str = ""
    det_agent_id: str = ""
    det_cluster_id: str = ""
    allocation_id: str = ""
    master_url: str = ""
    master_cert_file: Optional[str] = None
    master_cert_name: Optional[str] = None
    slot_ids: List[int] = dataclasses.field(default_factory=list)
    use_gpu: bool = False
    container_gpus: List[str] = dataclasses.field(default_factory=list)
    debug: bool = False
    managed_training: bool = False
    test_mode: bool = False
    on_cluster: bool = False

    @classmethod
    def from_info(cls, info: ClusterInfo) -> EnvContext:
        """Return the environment of a trial on the cluster."""
        trial = info.trial
        return cls(
            experiment_config=trial._config,
            hparams=trial.hparams,
            latest_checkpoint=info.latest_checkpoint,
            steps_completed=trial._steps_completed,
            trial_seed=trial.trial_seed,
            trial_run_id=trial._trial_run_id,
            det_trial_id=str(trial.trial_id),
            det_experiment_id=str(trial.experiment_id),
            det_agent_id=info.agent_id,
            det_cluster_id=info.cluster_id,
            allocation_id=info.allocation_id,
            master_url=info.master_url,
            master_cert_file=info.master_cert_file,
            master_cert_name=info.master_cert_name,
            slot_ids=info.slot_ids,
            use_gpu=bool(info.gpu_uuids),
            container_gpus=info.gpu_uuids,
            debug=trial._debug,
            managed_training=True,
            on_cluster=True,
        )

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], hparams: Optional[Mapping[str, Any]] = None
    ) -> EnvContext:
        """Return an environment to try a trial class off the cluster; the config has its values."""
        if hparams is None:
            declared = config.get("hyperparameters") or {}
            hparams = {name: sample(value) for name, value in declared.items()}
        seed = (config.get("reproducibility") or {}).get("experiment_seed") or 0
        return cls(experiment_config=dict(config), hparams=dict(hparams), trial_seed=int(seed))


def sample(declared: Any) -> Any:
    """Return a value for a hyperparameter as the configuration declares it."""
    if not isinstance(declared, Mapping):
        return declared
    kind = declared.get("type")
    if not isinstance(kind, str):
        return {name: sample(value) for name, value in declared.items()}
    if kind == "const":
        return declared["val"]
    if kind == "categorical":
        return random.choice(list(declared["vals"]))
    low, high = declared.get("minval"), declared.get("maxval")
    if low is None or high is None:
        raise ValueError(f"a hyperparameter of type {kind} needs minval and maxval: {declared}")
    if kind == "int":
        return random.randrange(int(low), max(int(low) + 1, int(high)))
    if kind == "log":
        return float(declared.get("base", 10)) ** random.uniform(low, high)
    if kind == "double":
        return random.uniform(low, high)
    raise ValueError(f"there is no hyperparameter of type {kind!r}")
