"""Facts about this task, from its container or its environment.

The platform writes ``cluster.json``, ``trial.json``, ``rendezvous.json`` and ``resources.json``
into ``/run/determined/info`` (``$DET_RUN_DIR/info`` if that is set). If these files are missing,
or another task has left them there, this module reads the ``DET_*`` variables instead.
"""

from __future__ import annotations

import json
import logging
import os
import pathlib
from typing import Any, Dict, List, Mapping, Optional

from determined import constants, gpu
from determined.common import api

logger = logging.getLogger("determined")

# Variables that every task has; the platform sets all of them or none.
_REQUIRED = (
    "DET_MASTER",
    "DET_CLUSTER_ID",
    "DET_AGENT_ID",
    "DET_SLOT_IDS",
    "DET_TASK_ID",
    "DET_ALLOCATION_ID",
    "DET_SESSION_TOKEN",
    "DET_TASK_TYPE",
)


def _info_path(name: str) -> pathlib.Path:
    return pathlib.Path(os.environ.get("DET_RUN_DIR") or constants.DEFAULT_RUN_DIR) / "info" / name


def _read(name: str) -> Optional[Dict[str, Any]]:
    path = _info_path(name)
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        found = json.loads(text)
    except ValueError as err:
        raise RuntimeError(f"{path} is not JSON: {err}") from err
    if not isinstance(found, dict):
        raise RuntimeError(f"{path} must hold a JSON object, not a {type(found).__name__}")
    return found


def _write(name: str, fields: Mapping[str, Any]) -> None:
    path = _info_path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(fields), encoding="utf-8")


def _env_json(key: str, kind: type) -> Any:
    try:
        value = json.loads(os.environ[key])
    except ValueError as err:
        raise RuntimeError(f"{key} is not JSON: {err}") from err
    if not isinstance(value, kind):
        raise RuntimeError(f"{key} must be a JSON {kind.__name__}, not {os.environ[key]!r}")
    return value


class RendezvousInfo:
    """The addresses of this task's nodes, and the rank of this node.

    Example::

        info = det.get_cluster_info()
        chief, rank = info.container_addrs[0], info.container_rank
    """

    def __init__(
        self, container_addrs: List[str], container_rank: int, container_slot_counts: List[int]
    ) -> None:
        self.container_addrs = container_addrs
        self.container_rank = container_rank
        self.container_slot_counts = container_slot_counts

    @classmethod
    def _from_fields(cls, fields: Mapping[str, Any]) -> RendezvousInfo:
        addrs = list(fields["container_addrs"])
        counts = fields.get("container_slot_counts") or [1] * len(addrs)
        return cls(addrs, int(fields["container_rank"]), list(counts))

    @classmethod
    def _from_file(cls) -> Optional[RendezvousInfo]:
        fields = _read("rendezvous.json")
        return None if fields is None else cls._from_fields(fields)

    def _to_file(self) -> None:
        _write("rendezvous.json", vars(self))


def trial_origins() -> List[int]:
    """Return the trials that this task's trial goes on with, in a branch of an experiment."""
    return [int(x) for x in os.environ.get("DET_TRIAL_ORIGINS", "").split(",") if x.isdigit()]


class TrialInfo:
    """The trial that this task runs.

    ``trial_id``, ``experiment_id``, ``trial_seed`` and ``hparams`` are for user code. Names
    with an underscore are for libraries, and may change with the platform.

    Example::

        trial = det.get_cluster_info().trial
        torch.manual_seed(trial.trial_seed)
        print(trial.experiment_id, trial.trial_id, trial.hparams)
        restarts = saved["trial_id"] in [trial.trial_id, *trial.origins]
    """

    def __init__(
        self,
        trial_id: int,
        experiment_id: int,
        trial_seed: int,
        hparams: Dict[str, Any],
        config: Dict[str, Any],
        steps_completed: int,
        trial_run_id: int,
        debug: bool,
        inter_node_network_interface: Optional[str],
    ) -> None:
        self.trial_id = trial_id
        self.experiment_id = experiment_id
        self.trial_seed = trial_seed
        self.hparams = hparams
        self._config = config
        self._steps_completed = steps_completed
        self._trial_run_id = trial_run_id
        self._debug = debug
        self._inter_node_network_interface = inter_node_network_interface

    @property
    def origins(self) -> List[int]:
        """The trials that this one goes on with, if its experiment is a branch of another one.

        Their checkpoints are like its own: a program that compares the trial in a checkpoint with
        ``trial_id``, to learn whether it restarts, accepts these as well.
        """
        return trial_origins()

    @classmethod
    def _from_fields(cls, fields: Mapping[str, Any]) -> TrialInfo:
        config = fields.get("config") or {}
        return cls(
            trial_id=int(fields["trial_id"]),
            experiment_id=int(fields["experiment_id"]),
            trial_seed=int(fields.get("trial_seed") or 0),
            hparams=fields.get("hparams") or {},
            config=config,
            steps_completed=int(fields.get("steps_completed") or 0),
            trial_run_id=int(fields.get("trial_run_id") or 0),
            debug=bool(fields.get("debug", config.get("debug", False))),
            inter_node_network_interface=fields.get("inter_node_network_interface") or None,
        )

    @classmethod
    def _from_env(cls) -> TrialInfo:
        required = ("DET_TRIAL_ID", "DET_EXPERIMENT_ID", "DET_EXPERIMENT_CONFIG", "DET_HPARAMS")
        _demand(required)
        return cls._from_fields(
            {
                "trial_id": os.environ["DET_TRIAL_ID"],
                "experiment_id": os.environ["DET_EXPERIMENT_ID"],
                "trial_seed": os.environ.get("DET_TRIAL_SEED"),
                "hparams": _env_json("DET_HPARAMS", dict),
                "config": _env_json("DET_EXPERIMENT_CONFIG", dict),
                "steps_completed": os.environ.get("DET_STEPS_COMPLETED"),
                "trial_run_id": os.environ.get("DET_TRIAL_RUN_ID"),
                "inter_node_network_interface": os.environ.get("DET_INTER_NODE_NETWORK_INTERFACE"),
            }
        )

    @classmethod
    def _from_file(cls) -> Optional[TrialInfo]:
        fields = _read("trial.json")
        return None if fields is None else cls._from_fields(fields)

    def _to_file(self) -> None:
        _write("trial.json", {key.lstrip("_"): value for key, value in vars(self).items()})


class ResourcesInfo:
    """The devices that the platform assigned to this task.

    Example:

        >>> from determined import ResourcesInfo
        >>> ResourcesInfo(["GPU-1"]).gpu_uuids
        ['GPU-1']
    """

    def __init__(self, gpu_uuids: List[str]) -> None:
        self._gpu_uuids = gpu_uuids

    @property
    def gpu_uuids(self) -> List[str]:
        """The UUIDs of this task's GPUs."""
        return self._gpu_uuids

    @classmethod
    def _by_inspection(cls) -> ResourcesInfo:
        return cls(gpu.get_gpu_uuids())

    @classmethod
    def _from_file(cls) -> Optional[ResourcesInfo]:
        fields = _read("resources.json")
        return None if fields is None else cls(list(fields.get("gpu_uuids") or []))

    def _to_file(self) -> None:
        _write("resources.json", {"gpu_uuids": self._gpu_uuids})


class ClusterInfo:
    """The task that this process runs in, and the cluster around it.

    ``task_type`` is one of ``TRIAL``, ``NOTEBOOK``, ``SHELL``, ``COMMAND``, ``TENSORBOARD``,
    ``CHECKPOINT_GC`` and ``GENERIC``; later releases may add others. Off the cluster there is no
    such object, so code that needs it runs only on a cluster.

    Example::

        info = det.get_cluster_info()
        if info is not None:
            lr = info.trial.hparams["lr"]
            source = info.user_data["source"]         # the data section of the configuration
            start = info.latest_checkpoint            # None at the first start
            print(info.container_rank, "of", info.container_addrs, info.container_slot_counts)
            print("GPUs of this node:", info.gpu_uuids)
    """

    def __init__(
        self,
        master_url: str,
        cluster_id: str,
        agent_id: str,
        slot_ids: List[int],
        task_id: str,
        allocation_id: str,
        session_token: str,
        task_type: str,
        master_cert_name: Optional[str] = None,
        master_cert_file: Optional[str] = None,
        latest_checkpoint: Optional[str] = None,
        trial_info: Optional[TrialInfo] = None,
        rendezvous_info: Optional[RendezvousInfo] = None,
        resources_info: Optional[ResourcesInfo] = None,
    ) -> None:
        self.master_url = api.canonicalize_master_url(master_url)
        self.cluster_id = cluster_id
        self.agent_id = agent_id
        self.slot_ids = slot_ids
        self.task_id = task_id
        self.allocation_id = allocation_id
        self.session_token = session_token
        self.task_type = task_type
        self.master_cert_name = master_cert_name
        self.master_cert_file = master_cert_file
        self._latest_checkpoint = latest_checkpoint or None
        self._trial_info = trial_info
        self._rendezvous_info = rendezvous_info
        self._resources_info = resources_info

    @classmethod
    def _from_env(cls) -> ClusterInfo:
        """Build the info from the environment, and from the info files that exist."""
        _demand(_REQUIRED)
        task_type = os.environ["DET_TASK_TYPE"]
        return cls(
            master_url=os.environ["DET_MASTER"],
            cluster_id=os.environ["DET_CLUSTER_ID"],
            agent_id=os.environ["DET_AGENT_ID"],
            slot_ids=_env_json("DET_SLOT_IDS", list),
            task_id=os.environ["DET_TASK_ID"],
            allocation_id=os.environ["DET_ALLOCATION_ID"],
            session_token=os.environ["DET_SESSION_TOKEN"],
            task_type=task_type,
            master_cert_name=os.environ.get("DET_MASTER_CERT_NAME"),
            master_cert_file=os.environ.get("DET_MASTER_CERT_FILE"),
            latest_checkpoint=os.environ.get("DET_LATEST_CHECKPOINT"),
            trial_info=TrialInfo._from_env() if task_type == "TRIAL" else None,
        )

    @classmethod
    def _from_file(cls) -> Optional[ClusterInfo]:
        fields = _read("cluster.json")
        if fields is None:
            return None
        return cls(
            master_url=fields["master_url"],
            cluster_id=fields["cluster_id"],
            agent_id=fields["agent_id"],
            slot_ids=list(fields.get("slot_ids") or []),
            task_id=fields["task_id"],
            allocation_id=fields["allocation_id"],
            session_token=fields["session_token"],
            task_type=fields["task_type"],
            master_cert_name=fields.get("master_cert_name"),
            master_cert_file=fields.get("master_cert_file"),
            latest_checkpoint=fields.get("latest_checkpoint"),
            trial_info=TrialInfo._from_file(),
            rendezvous_info=RendezvousInfo._from_file(),
            resources_info=ResourcesInfo._from_file(),
        )

    def _to_file(self) -> None:
        skip = ("_trial_info", "_rendezvous_info", "_resources_info")
        fields = {k.lstrip("_"): v for k, v in vars(self).items() if k not in skip}
        _write("cluster.json", fields)

    @property
    def latest_checkpoint(self) -> Optional[str]:
        """The checkpoint to continue from; None at a trial's first start, and in other tasks."""
        return self._latest_checkpoint if self.task_type == "TRIAL" else None

    @property
    def user_data(self) -> Dict[str, Any]:
        """The ``data`` field of the experiment configuration; empty in tasks that are no trials."""
        if self.task_type != "TRIAL":
            return {}
        data = self.trial._config.get("data")
        return data if isinstance(data, dict) else {}

    @property
    def trial(self) -> TrialInfo:
        """The trial of this task; other tasks raise RuntimeError."""
        if self.task_type != "TRIAL":
            raise RuntimeError(
                f"only a task of type TRIAL has a trial; this one is of type {self.task_type}"
            )
        if self._trial_info is None:
            raise RuntimeError(f"this is a trial, but {_info_path('trial.json')} is missing")
        return self._trial_info

    @property
    def container_addrs(self) -> List[str]:
        """The addresses of this task's nodes, in the order of their ranks."""
        return self._rendezvous().container_addrs

    @property
    def container_slot_counts(self) -> List[int]:
        """The slots on each of this task's nodes, in the order of their ranks."""
        return self._rendezvous().container_slot_counts

    @property
    def container_rank(self) -> int:
        """The rank of this node among the nodes of the task."""
        return self._rendezvous().container_rank

    @property
    def gpu_uuids(self) -> List[str]:
        """The UUIDs of this task's GPUs."""
        if self._resources_info is None:
            self._resources_info = ResourcesInfo._by_inspection()
        return self._resources_info.gpu_uuids

    def _rendezvous(self) -> RendezvousInfo:
        """Return the addresses of the members; a task on one node has only its own."""
        if self._rendezvous_info is not None and self.task_type == "TRIAL":
            return self._rendezvous_info
        if self.task_type == "TRIAL":
            resources = self.trial._config.get("resources") or {}
            wanted = resources.get("slots_per_trial") or 1
            if wanted > max(1, len(self.slot_ids)):
                raise RuntimeError(
                    f"this trial has {wanted} slots, {len(self.slot_ids)} of them on this node, "
                    f"but {_info_path('rendezvous.json')}, which lists the other nodes, "
                    "is missing"
                )
        return RendezvousInfo(["127.0.0.1"], 0, [len(self.slot_ids)])


def _demand(keys: tuple[str, ...]) -> None:
    missing = [key for key in keys if key not in os.environ]
    if missing:
        raise RuntimeError(
            f"DET_ALLOCATION_ID is set, as in a task of a cluster, but the environment lacks "
            f"{', '.join(missing)}"
        )


def get_cluster_info() -> Optional[ClusterInfo]:
    """Return facts about the task that this process runs in, or None off the cluster.

    Example:

        >>> import determined as det
        >>> det.get_cluster_info() is None      # off the cluster
        True
    """
    info = ClusterInfo._from_file()
    allocation = os.environ.get("DET_ALLOCATION_ID")
    if not allocation:
        return info
    if info is None or info.allocation_id != allocation:
        if info is not None:
            logger.warning(
                "%s describes allocation %s, but this is allocation %s: using the environment",
                _info_path("cluster.json"),
                info.allocation_id,
                allocation,
            )
        from_env = ClusterInfo._from_env()
        if info is None:
            from_env._rendezvous_info = RendezvousInfo._from_file()
            from_env._resources_info = ResourcesInfo._from_file()
        return from_env
    return info
