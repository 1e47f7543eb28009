"""Checkpoints: their storage, their contents, and their download."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import logging
import pathlib
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Union

from determined import errors
from determined.common import api
from determined.common.experimental import _download, _util, metrics

__all__ = [
    "Checkpoint",
    "CheckpointSortBy",
    "CheckpointState",
    "CheckpointTrainingMetadata",
    "DownloadMode",
    "ModelFramework",
]

logger = logging.getLogger("determined.client")


class DownloadMode(enum.Enum):
    """How a checkpoint is downloaded: from storage, through the master, or whichever works.

    Example: ``checkpoint.download(mode=DownloadMode.MASTER)``
    """

    DIRECT = "direct"
    MASTER = "master"
    AUTO = "auto"

    def __str__(self) -> str:
        return self.value


class ModelFramework(enum.Enum):
    """The framework of a checkpoint of the oldest releases of Determined.

    Example: ``print(ModelFramework.PYTORCH.name)``
    """

    PYTORCH = 1
    TENSORFLOW = 2


class CheckpointState(enum.Enum):
    """The state of a checkpoint.

    Example: ``checkpoint.state is CheckpointState.COMPLETED``
    """

    UNSPECIFIED = "STATE_UNSPECIFIED"
    ACTIVE = "STATE_ACTIVE"
    COMPLETED = "STATE_COMPLETED"
    ERROR = "STATE_ERROR"
    DELETED = "STATE_DELETED"
    PARTIALLY_DELETED = "STATE_PARTIALLY_DELETED"


class CheckpointSortBy(enum.Enum):
    """The keys by which a list of checkpoints can be sorted.

    Example: ``experiment.list_checkpoints(sort_by=CheckpointSortBy.BATCH_NUMBER)``
    """

    UUID = "SORT_BY_UUID"
    TRIAL_ID = "SORT_BY_TRIAL_ID"
    BATCH_NUMBER = "SORT_BY_BATCH_NUMBER"
    END_TIME = "SORT_BY_END_TIME"
    STATE = "SORT_BY_STATE"
    SEARCHER_METRIC = "SORT_BY_SEARCHER_METRIC"


# Its older name.
CheckpointOrderBy = _util.OrderBy


@dataclasses.dataclass
class CheckpointTrainingMetadata:
    """The training that a checkpoint comes from.

    Example::

        training = client.get_checkpoint(uuid).training
        print(training.trial_id, training.hparams, training.validation_metrics)
    """

    experiment_config: Dict[str, Any]
    experiment_id: int
    trial_id: int
    hparams: Dict[str, Any]
    validation_metrics: Dict[str, Any]

    @classmethod
    def _from_wire(cls, fields: Mapping[str, Any]) -> Optional[CheckpointTrainingMetadata]:
        if not fields.get("trialId"):
            return None
        return cls(
            experiment_config=fields.get("experimentConfig") or {},
            experiment_id=int(fields.get("experimentId") or 0),
            trial_id=int(fields["trialId"]),
            hparams=fields.get("hparams") or {},
            validation_metrics=fields.get("validationMetrics") or {},
        )


class Checkpoint:
    """One checkpoint. Its fields have the values of the last answer; ``reload`` updates them.

    ``resources`` maps its files to their sizes, ``metadata`` is the user's metadata, and
    ``training`` describes the trial that wrote it.

    Example::

        checkpoint = client.get_checkpoint(uuid)
        path = checkpoint.download("best", mode=client.DownloadMode.AUTO)
        checkpoint.write_metadata_file("best/metadata.json")
        checkpoint.add_metadata({"reviewed": True})
        checkpoint.remove_metadata(["reviewed"])
        for report in checkpoint.get_metrics("validation"):
            print(report.steps_completed, report.metrics)
        print(checkpoint.get_pachyderm_commit())
        checkpoint.remove_files(["optimizer/**"])
        checkpoint.delete()                           # the master removes its files
        checkpoint.reload()
    """

    def __init__(self, session: api.BaseSession, uuid: str) -> None:
        self._session = session
        self.uuid = uuid
        self.task_id: Optional[str] = None
        self.allocation_id: Optional[str] = None
        self.report_time: Optional[datetime.datetime] = None
        self.resources: Optional[Dict[str, int]] = None
        self.metadata: Optional[Dict[str, Any]] = None
        self.state: Optional[CheckpointState] = None
        self.training: Optional[CheckpointTrainingMetadata] = None

    def __repr__(self) -> str:
        trial = f", trial_id={self.training.trial_id}" if self.training else ""
        return f"Checkpoint(uuid={self.uuid}, task_id={self.task_id}{trial})"

    @classmethod
    def _from_wire(cls, fields: Mapping[str, Any], session: api.BaseSession) -> Checkpoint:
        checkpoint = cls(session, fields["uuid"])
        checkpoint._hydrate(fields)
        return checkpoint

    def _hydrate(self, fields: Mapping[str, Any]) -> None:
        self.task_id = fields.get("taskId")
        self.allocation_id = fields.get("allocationId")
        self.report_time = _util.timestamp(fields.get("reportTime"))
        self.resources = {name: int(size) for name, size in (fields.get("resources") or {}).items()}
        self.metadata = fields.get("metadata") or {}
        self.state = CheckpointState(fields.get("state") or "STATE_UNSPECIFIED")
        self.training = CheckpointTrainingMetadata._from_wire(fields.get("training") or {})

    @property
    def _path(self) -> str:
        return f"/api/v1/checkpoints/{self.uuid}"

    def reload(self) -> None:
        """Read the fields from the master again."""
        self._hydrate(self._session.get(self._path).json()["checkpoint"])

    def get_pachyderm_commit(self) -> str:
        """Return the commit in Pachyderm of the data that the trial was trained with."""
        if self.training is None:
            self.reload()
        config = self.training.experiment_config if self.training else {}
        pachyderm = (config.get("integrations") or {}).get("pachyderm") or {}
        commit = (pachyderm.get("dataset") or {}).get("commit")
        if not commit:
            raise ValueError(f"the configuration of checkpoint {self.uuid} has no Pachyderm")
        return str(commit)

    def download(
        self, path: Optional[str] = None, mode: Union[DownloadMode, str] = DownloadMode.AUTO
    ) -> str:
        """Download the files, and return the path of their folder.

        The folder is ``path``, else ``checkpoints/<uuid>`` in the working directory. If the folder
        already has a checkpoint, it is not changed.
        """
        if self.state is None:
            self.reload()
        if self.state not in (CheckpointState.COMPLETED, CheckpointState.PARTIALLY_DELETED):
            raise errors.CheckpointStateException(
                f"checkpoint {self.uuid} is {self._state_name()}; only one that is COMPLETED or "
                "PARTIALLY_DELETED can be downloaded"
            )
        target = pathlib.Path("checkpoints", self.uuid) if path is None else pathlib.Path(path)
        if not _download.is_whole(target):
            self._fetch(target, DownloadMode(mode))
        metadata_path = target / _download.METADATA_FILE
        if not metadata_path.exists():
            self.write_metadata_file(str(metadata_path))
        return str(target)

    def _fetch(self, target: pathlib.Path, mode: DownloadMode) -> None:
        if mode == DownloadMode.MASTER:
            _download.through_master(self._session, self.uuid, target)
            return
        config = self.training.experiment_config if self.training else {}
        storage_config = config.get("checkpoint_storage")
        if not storage_config:
            if mode == DownloadMode.DIRECT:
                raise errors.NoDirectStorageAccess(
                    f"the master does not say in which storage checkpoint {self.uuid} lies; "
                    "download it through the master"
                )
            _download.through_master(self._session, self.uuid, target)
        elif mode == DownloadMode.DIRECT:
            _download.direct(self.uuid, storage_config, target)
        else:
            _download.auto(self._session, self.uuid, storage_config, target)

    def _state_name(self) -> str:
        return self.state.name if self.state is not None else "unknown"

    def write_metadata_file(self, path: str) -> None:
        """Write the metadata of this checkpoint to a file."""
        with open(path, "w", encoding="utf-8") as out:
            json.dump(self.metadata, out, indent=2)

    def _put_metadata(self, metadata: Dict[str, Any]) -> None:
        change = {
            "uuid": self.uuid,
            "metadata": metadata,
            "resources": {},
            "training": {},
            "state": CheckpointState.UNSPECIFIED.value,
        }
        self._session.post(f"{self._path}/metadata", json={"checkpoint": change})
        self.metadata = metadata

    def add_metadata(self, metadata: Dict[str, Any]) -> None:
        """Add metadata to this checkpoint, in the master but not in its files."""
        self._put_metadata({**self._known_metadata(), **metadata})

    def remove_metadata(self, keys: List[str]) -> None:
        """Remove metadata, in the master but not in the files."""
        kept = {key: value for key, value in self._known_metadata().items() if key not in keys}
        self._put_metadata(kept)

    def _known_metadata(self) -> Dict[str, Any]:
        if self.metadata is None:
            self.reload()
        return self.metadata or {}

    def delete(self) -> None:
        """Ask the master to delete this checkpoint with its files, which it does later."""
        self._session.delete("/api/v1/checkpoints", json={"checkpointUuids": [self.uuid]})
        logger.info("checkpoint %s is being deleted", self.uuid)

    def remove_files(self, globs: List[str]) -> None:
        """Ask the master to delete the files that globs match, which it does later.

        With an empty list the master deletes nothing, and updates its list of the files that exist.
        """
        body = {"checkpointUuids": [self.uuid], "checkpointGlobs": globs}
        self._session.post("/api/v1/checkpoints/rm", json=body)
        logger.info("files of checkpoint %s are being deleted: %s", self.uuid, globs)

    def get_metrics(self, group: Optional[str] = None) -> Iterator[metrics.TrialMetrics]:
        """Yield the metrics of tasks that reported that they use this checkpoint."""
        params = {
            "trialSourceInfoType": "TRIAL_SOURCE_INFO_TYPE_INFERENCE",
            "metricGroup": group,
        }
        answer = self._session.get(f"{self._path}/metrics", params=params).json()
        for report in answer.get("metrics") or []:
            yield metrics.TrialMetrics._from_wire(report)

    iter_metrics = get_metrics


def list_sorted(
    session: api.BaseSession,
    path: str,
    sort_by: Union[str, CheckpointSortBy, None],
    order_by: Optional[_util.OrderBy],
    max_results: Optional[int],
) -> List[Checkpoint]:
    """List the complete checkpoints of an experiment or a trial.

    ``sort_by`` names a validation metric or an attribute; without it and ``order_by`` they are
    sorted by the searcher's metric, the best first.
    """
    if (sort_by is None) != (order_by is None):
        raise ValueError("pass both sort_by and order_by, or neither")
    if sort_by is not None and not isinstance(sort_by, (str, CheckpointSortBy)):
        raise ValueError(
            "sort_by must be a CheckpointSortBy or the name of a metric, "
            f"not a {type(sort_by).__name__}"
        )
    params: Dict[str, Any] = {
        "states": [CheckpointState.COMPLETED.value],
        "orderBy": _util.value_of(order_by),
    }
    if isinstance(sort_by, str):
        params["sortByMetric"] = sort_by
    else:
        params["sortByAttr"] = (sort_by or CheckpointSortBy.SEARCHER_METRIC).value
    found = api.read_items(session, path, "checkpoints", params, max_results)
    return [Checkpoint._from_wire(item, session) for item in found]


def order_of(
    sort_by: Optional[str],
    smaller_is_better: Optional[bool],
    config: Callable[[], Optional[Mapping[str, Any]]],
) -> Optional[_util.OrderBy]:
    """Return the order in which the best checkpoints are first; None if the searcher decides.

    If the caller names no order, a named metric has the order of the searcher's metric.
    """
    if sort_by is None:
        return None
    if smaller_is_better is None:
        searcher = (config() or {}).get("searcher") or {}
        smaller_is_better = bool(searcher.get("smaller_is_better", True))
    return _util.OrderBy.ASC if smaller_is_better else _util.OrderBy.DESC
