"""The model registry: models and their versions."""

from __future__ import annotations

import datetime
import enum
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Union

from determined import errors
from determined.common import api
from determined.common.api import errors as api_errors
from determined.common.experimental import _util, checkpoint, metrics

__all__ = ["Model", "ModelOrderBy", "ModelSortBy", "ModelVersion"]


class ModelSortBy(enum.Enum):
    """The keys by which a list of models can be sorted.

    Example: ``client.list_models(sort_by=ModelSortBy.LAST_UPDATED_TIME)``
    """

    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    NAME = "SORT_BY_NAME"
    DESCRIPTION = "SORT_BY_DESCRIPTION"
    CREATION_TIME = "SORT_BY_CREATION_TIME"
    LAST_UPDATED_TIME = "SORT_BY_LAST_UPDATED_TIME"
    NUM_VERSIONS = "SORT_BY_NUM_VERSIONS"
    WORKSPACE = "SORT_BY_WORKSPACE"


class ModelOrderBy(enum.Enum):
    """An older name of ``OrderBy``: the direction of a sorted list of models.

    Example: ``client.list_models(order_by=ModelOrderBy.DESCENDING)``
    """

    ASC = "ORDER_BY_ASC"
    ASCENDING = "ORDER_BY_ASC"
    DESC = "ORDER_BY_DESC"
    DESCENDING = "ORDER_BY_DESC"


AnyOrder = Union[_util.OrderBy, ModelOrderBy]


class ModelVersion:
    """A checkpoint that was registered as a version of a model.

    ``checkpoint`` is the checkpoint, with its files and metrics. ``reload`` updates the fields.

    Example::

        version = client.get_model("digits").get_version()
        path = version.checkpoint.download()
        version.set_name("2026-11"), version.set_notes("trained with more data")
        version.set_comment("for the tills"), version.set_labels(["vision"])
        version.set_metadata({"rows": 60000})
        for report in version.iter_metrics("inference"):
            print(report.metrics)
        version.delete()
        version.reload()
    """

    def __init__(self, session: api.BaseSession, model_version: int, model_name: str) -> None:
        self._session = session
        self.model_version = model_version
        self.model_name = model_name
        self.model_version_id: Optional[int] = None
        self.model_id: Optional[int] = None
        self.checkpoint: Optional[checkpoint.Checkpoint] = None
        self.metadata: Optional[Dict[str, Any]] = None
        self.name: Optional[str] = None
        self.comment: Optional[str] = None
        self.notes: Optional[str] = None
        self.labels: Optional[List[str]] = None
        self.username: Optional[str] = None
        self.creation_time: Optional[datetime.datetime] = None

    def __repr__(self) -> str:
        return f"ModelVersion(model={self.model_name!r}, version={self.model_version})"

    @classmethod
    def _from_wire(cls, fields: Mapping[str, Any], session: api.BaseSession) -> ModelVersion:
        owner = fields.get("model") or {}
        version = cls(session, int(fields["version"]), owner.get("name") or "")
        version._hydrate(fields)
        return version

    def _hydrate(self, fields: Mapping[str, Any]) -> None:
        self.model_version_id = _util.whole(fields.get("id"))
        self.model_id = _util.whole((fields.get("model") or {}).get("id"))
        if fields.get("checkpoint"):
            self.checkpoint = checkpoint.Checkpoint._from_wire(fields["checkpoint"], self._session)
        self.metadata = fields.get("metadata") or {}
        self.name = fields.get("name")
        self.comment = fields.get("comment") or ""
        self.notes = fields.get("notes") or ""
        self.labels = list(fields.get("labels") or [])
        self.username = fields.get("username")
        self.creation_time = _util.timestamp(fields.get("creationTime"))

    @property
    def _path(self) -> str:
        return f"/api/v1/models/{api.quoted(self.model_name)}/versions/{self.model_version}"

    def reload(self) -> None:
        """Read the fields from the master again."""
        self._hydrate(self._session.get(self._path).json()["modelVersion"])

    def _patch(self, **fields: Any) -> None:
        self._hydrate(self._session.patch(self._path, json=fields).json()["modelVersion"])

    def set_name(self, name: str) -> None:
        """Replace the name of this version."""
        self._patch(name=name)

    def set_notes(self, notes: str) -> None:
        """Replace the notes of this version."""
        self._patch(notes=notes)

    def set_comment(self, comment: str) -> None:
        """Replace the comment about this version."""
        self._patch(comment=comment)

    def set_labels(self, labels: List[str]) -> None:
        """Replace all labels of this version."""
        self._patch(labels=list(labels))

    def set_metadata(self, metadata: Dict[str, Any]) -> None:
        """Replace the metadata of this version; those of its checkpoint stay."""
        self._patch(metadata=metadata)

    def delete(self) -> None:
        """Remove this version from the registry; its checkpoint stays."""
        self._session.delete(self._path)

    def iter_metrics(self, group: Optional[str] = None) -> Iterator[metrics.TrialMetrics]:
        """Yield the metrics of tasks that reported that they use this version."""
        params = {
            "trialSourceInfoType": "TRIAL_SOURCE_INFO_TYPE_INFERENCE",
            "metricGroup": group,
        }
        answer = self._session.get(f"{self._path}/metrics", params=params).json()
        for report in answer.get("metrics") or []:
            yield metrics.TrialMetrics._from_wire(report)

    get_metrics = iter_metrics


class Model:
    """A model of the registry. ``reload`` updates its fields.

    Example::

        model = client.create_model("digits")
        version = model.register_version(checkpoint.uuid)
        newest = model.get_version()
        first = model.get_version(1)
        for version in model.list_versions(order_by=client.OrderBy.DESC):
            print(version.model_version, version.checkpoint.uuid)
        model.add_metadata({"team": "vision"}), model.remove_metadata(["team"])
        model.set_labels(["vision"]), model.set_description("digits of a till")
        model.set_notes("# How it was trained")
        model.move_to_workspace("team")
        model.archive(), model.unarchive()
        model.delete()
        model.reload()
    """

    def __init__(self, session: api.BaseSession, name: str) -> None:
        self._session = session
        self.name = name
        self.model_id: Optional[int] = None
        self.description: Optional[str] = None
        self.creation_time: Optional[datetime.datetime] = None
        self.last_updated_time: Optional[datetime.datetime] = None
        self.metadata: Optional[Dict[str, Any]] = None
        self.labels: Optional[List[str]] = None
        self.notes: Optional[str] = None
        self.username: Optional[str] = None
        self.workspace_id: Optional[int] = None
        self.archived: Optional[bool] = None

    def __repr__(self) -> str:
        return f"Model(id={self.model_id}, name={self.name!r})"

    @classmethod
    def _from_wire(cls, fields: Mapping[str, Any], session: api.BaseSession) -> Model:
        model = cls(session, fields["name"])
        model._hydrate(fields)
        return model

    def _hydrate(self, fields: Mapping[str, Any]) -> None:
        self.model_id = _util.whole(fields.get("id"))
        self.name = fields.get("name") or self.name
        self.description = fields.get("description") or ""
        self.notes = fields.get("notes") or ""
        self.creation_time = _util.timestamp(fields.get("creationTime"))
        self.last_updated_time = _util.timestamp(fields.get("lastUpdatedTime"))
        self.metadata = fields.get("metadata") or {}
        self.labels = list(fields.get("labels") or [])
        self.username = fields.get("username")
        self.workspace_id = _util.whole(fields.get("workspaceId"))
        self.archived = bool(fields.get("archived"))

    @property
    def _path(self) -> str:
        return f"/api/v1/models/{api.quoted(self.name)}"

    def reload(self) -> None:
        """Read the fields from the master again."""
        self._hydrate(self._session.get(self._path).json()["model"])

    def get_version(self, version: int = -1) -> Optional[ModelVersion]:
        """Return a version by its number, or the newest; None if there is none."""
        if version == -1:
            params = {"limit": 1, "sortBy": "SORT_BY_VERSION", "orderBy": _util.OrderBy.DESC.value}
            newest = self._session.get(f"{self._path}/versions", params=params).json()
            found = newest.get("modelVersions") or []
            return ModelVersion._from_wire(found[0], self._session) if found else None
        answer = self._session.get(f"{self._path}/versions/{version}").json()
        return ModelVersion._from_wire(answer["modelVersion"], self._session)

    def list_versions(self, order_by: AnyOrder = _util.OrderBy.DESC) -> List[ModelVersion]:
        """List the versions, the newest first."""
        params = {"sortBy": "SORT_BY_VERSION", "orderBy": order_by.value}
        path = f"{self._path}/versions"
        found = api.read_items(self._session, path, "modelVersions", params)
        return [ModelVersion._from_wire(item, self._session) for item in found]

    get_versions = list_versions

    def register_version(
        self,
        checkpoint_uuid: str,
        *,
        name: Optional[str] = None,
        comment: Optional[str] = None,
        notes: Optional[str] = None,
        labels: Optional[List[str]] = None,
        metadata: Optional[Dict[str, Any]] = None,
    ) -> ModelVersion:
        """Register a checkpoint as the next version. From then on its files stay.

        Determined's client accepts only the checkpoint.
        """
        given = {
            "name": name,
            "comment": comment,
            "notes": notes,
            "labels": labels,
            "metadata": metadata,
        }
        body: Dict[str, Any] = {"checkpointUuid": checkpoint_uuid, "modelName": self.name}
        body.update({field: value for field, value in given.items() if value is not None})
        answer = self._session.post(f"{self._path}/versions", json=body).json()
        return ModelVersion._from_wire(answer["modelVersion"], self._session)

    def _patch(self, **fields: Any) -> None:
        self._hydrate(self._session.patch(self._path, json=fields).json()["model"])

    def add_metadata(self, metadata: Dict[str, Any]) -> None:
        """Add metadata to this model."""
        self._patch(metadata={**self._known_metadata(), **metadata})

    def remove_metadata(self, keys: List[str]) -> None:
        """Remove metadata."""
        if isinstance(keys, str) or not isinstance(keys, Iterable):
            raise ValueError(f"remove_metadata() takes a list of keys, not {keys!r}")
        taken = set(keys)
        kept = {key: value for key, value in self._known_metadata().items() if key not in taken}
        self._patch(metadata=kept)

    def _known_metadata(self) -> Dict[str, Any]:
        if self.metadata is None:
            self.reload()
        return self.metadata or {}

    def set_labels(self, labels: List[str]) -> None:
        """Replace all labels."""
        if isinstance(labels, str) or not isinstance(labels, Iterable):
            raise ValueError(f"set_labels() takes a list of labels, not {labels!r}")
        self._patch(labels=list(labels))

    def set_notes(self, notes: str) -> None:
        """Replace the notes."""
        self._patch(notes=notes)

    def set_description(self, description: str) -> None:
        """Replace the description."""
        self._patch(description=description)

    def move_to_workspace(self, workspace_name: str) -> None:
        """Move this model to another workspace."""
        self._patch(workspaceName=workspace_name)

    def archive(self) -> None:
        """Archive this model."""
        self._session.post(f"{self._path}/archive")
        self.archived = True

    def unarchive(self) -> None:
        """Unarchive this model."""
        self._session.post(f"{self._path}/unarchive")
        self.archived = False

    def delete(self) -> None:
        """Delete this model and its versions; their checkpoints stay."""
        self._session.delete(self._path)


class Registry:
    """The models of one master, whose release may have no registry."""

    def __init__(self, session: api.BaseSession) -> None:
        self._session = session

    def _checked(self, err: api_errors.NotFoundException) -> Exception:
        """Return the error, or another one if the master has no registry at all."""
        try:
            self._session.get("/api/v1/models", params={"limit": 1})
        except api_errors.NotFoundException:
            return errors.EnterpriseOnlyError(
                f"the master at {self._session.master} has no model registry; "
                "keep the checkpoint's uuid, or note something with add_metadata()"
            )
        return err

    def create(self, **fields: Any) -> Model:
        """Create a model."""
        try:
            answer = self._session.post("/api/v1/models", json=fields).json()
        except api_errors.NotFoundException as err:
            raise self._checked(err) from err
        return Model._from_wire(answer["model"], self._session)

    def get(self, identifier: str) -> Model:
        """Return a model by its name or its number."""
        try:
            answer = self._session.get(f"/api/v1/models/{api.quoted(identifier)}").json()
        except api_errors.NotFoundException as err:
            raise self._checked(err) from err
        return Model._from_wire(answer["model"], self._session)

    def list(self, **params: Any) -> List[Model]:
        """List models."""
        try:
            found = list(api.read_items(self._session, "/api/v1/models", "models", params))
        except api_errors.NotFoundException as err:
            raise self._checked(err) from err
        return [Model._from_wire(item, self._session) for item in found]

    def labels(self) -> List[str]:
        """List the labels in use, the most used first."""
        try:
            answer = self._session.get("/api/v1/model/labels").json()
        except api_errors.NotFoundException as err:
            raise self._checked(err) from err
        return list(answer.get("labels") or [])
