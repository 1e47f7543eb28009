"""The SDK as functions, for scripts and notebooks that use one master.

    from determined.experimental import client

    client.login(master="cluster.example.com:8080", user="ada", password="...")
    checkpoint = client.get_experiment(5).top_checkpoint()
    path = checkpoint.download()

Without ``login`` the first call uses an existing session: the session of ``det user login``
or, in a notebook or another task of the cluster, the session of the task's owner. To use several
masters, make objects of ``Determined``, which has these functions as methods.
"""

from __future__ import annotations

import pathlib
import threading
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union

from determined.common import api
from determined.common.experimental import (
    Checkpoint,
    CheckpointSortBy,
    CheckpointState,
    Determined,
    DownloadMode,
    Experiment,
    ExperimentOrderBy,
    ExperimentSortBy,
    ExperimentState,
    FrontPoint,
    Hyperparameter,
    LogLevel,
    Model,
    ModelOrderBy,
    ModelSortBy,
    ModelVersion,
    News,
    OrderBy,
    Project,
    ProposalError,
    ProposedTrial,
    RepeatedConfiguration,
    ResourcePool,
    Search,
    SearchResult,
    TrainingMetrics,
    Trial,
    TrialMetrics,
    TrialOrderBy,
    TrialReference,
    TrialSortBy,
    TrialState,
    User,
    ValidationMetrics,
    Workspace,
)

__all__ = [
    "Checkpoint",
    "CheckpointSortBy",
    "CheckpointState",
    "Determined",
    "DownloadMode",
    "Experiment",
    "ExperimentOrderBy",
    "ExperimentSortBy",
    "ExperimentState",
    "FrontPoint",
    "Hyperparameter",
    "LogLevel",
    "Model",
    "ModelOrderBy",
    "ModelSortBy",
    "ModelVersion",
    "News",
    "OrderBy",
    "Project",
    "ProposalError",
    "ProposedTrial",
    "RepeatedConfiguration",
    "ResourcePool",
    "Search",
    "SearchResult",
    "TrainingMetrics",
    "Trial",
    "TrialMetrics",
    "TrialOrderBy",
    "TrialReference",
    "TrialSortBy",
    "TrialState",
    "User",
    "ValidationMetrics",
    "Workspace",
    "create_experiment",
    "create_model",
    "create_user",
    "create_workspace",
    "delete_workspace",
    "get_checkpoint",
    "get_experiment",
    "get_model",
    "get_model_by_id",
    "get_model_labels",
    "get_models",
    "get_session_username",
    "get_trial",
    "get_user_by_id",
    "get_user_by_name",
    "get_workspace",
    "iter_trials_metrics",
    "list_experiments",
    "list_models",
    "list_users",
    "list_workspaces",
    "login",
    "logout",
    "stream_trials_metrics",
    "stream_trials_training_metrics",
    "stream_trials_validation_metrics",
    "whoami",
]


class _Current:
    """The session that the functions share; the first call creates it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: Optional[Determined] = None

    def set(self, made: Optional[Determined]) -> None:
        with self._lock:
            self._made = made

    def get(self) -> Determined:
        with self._lock:
            if self._made is None:
                self._made = Determined()
            return self._made


_current = _Current()


def _get_singleton_session() -> api.Session:
    return _current.get()._session


def login(
    master: Optional[str] = None,
    user: Optional[str] = None,
    password: Optional[str] = None,
    cert_path: Optional[str] = None,
    cert_name: Optional[str] = None,
    noverify: bool = False,
) -> None:
    """Sign in; later calls use this user and this master.

    Defaults: the master is ``DET_MASTER``, user and password are ``DET_USER`` and
    ``DET_PASS``, else the session of ``det user login`` or of this task is used.

    Example: ``client.login(master="detent.example.com", user="ada", password=password)``
    """
    _current.set(Determined(master, user, password, cert_path, cert_name, noverify))


def logout() -> None:
    """End the session; its token is invalid from then on.

    Example: ``client.logout()``
    """
    _current.get().logout()
    _current.set(None)


def create_experiment(
    config: Union[str, pathlib.Path, Mapping[str, Any]],
    model_dir: Union[str, pathlib.Path, None] = None,
    includes: Optional[Iterable[Union[str, pathlib.Path]]] = None,
    project_id: Optional[int] = None,
    template: Optional[str] = None,
    *,
    parent_id: Optional[int] = None,
) -> Experiment:
    """Create an experiment from its code and a configuration: a file's path, or a map.

    Example: ``experiment = client.create_experiment("const.yaml", "model_def")``
    """
    return _current.get().create_experiment(
        config, model_dir, includes, project_id, template, parent_id=parent_id
    )


def get_experiment(experiment_id: Union[int, str]) -> Experiment:
    """Return an experiment by number.

    Example: ``best = client.get_experiment(5).top_checkpoint()``
    """
    return _current.get().get_experiment(experiment_id)


def list_experiments(
    sort_by: Optional[ExperimentSortBy] = None,
    order_by: Optional[OrderBy] = None,
    experiment_ids: Optional[List[int]] = None,
    labels: Optional[List[str]] = None,
    users: Optional[List[str]] = None,
    states: Optional[List[ExperimentState]] = None,
    name: Optional[str] = None,
    project_id: Optional[int] = None,
) -> List[Experiment]:
    """List experiments that match all arguments.

    Example::

        for experiment in client.list_experiments(labels=["nightly"], name="digits"):
            print(experiment.id, experiment.state)
    """
    return _current.get().list_experiments(
        sort_by, order_by, experiment_ids, labels, users, states, name, project_id
    )


def get_trial(trial_id: Union[int, str]) -> Trial:
    """Return a trial by number.

    Example: ``hparams = client.get_trial(7).hparams``
    """
    return _current.get().get_trial(trial_id)


def get_checkpoint(uuid: str) -> Checkpoint:
    """Return a checkpoint by its uuid.

    Example: ``path = client.get_checkpoint(uuid).download()``
    """
    return _current.get().get_checkpoint(uuid)


def create_user(
    username: str, admin: bool, password: Optional[str] = None, remote: bool = False
) -> User:
    """Create a user.

    Example: ``user = client.create_user("bob", admin=False, password=password)``
    """
    return _current.get().create_user(username, admin, password, remote)


def get_user_by_id(user_id: int) -> User:
    """Return a user by number.

    Example: ``user = client.get_user_by_id(2)``
    """
    return _current.get().get_user_by_id(user_id)


def get_user_by_name(user_name: str) -> User:
    """Return a user by name.

    Example: ``user = client.get_user_by_name("bob")``
    """
    return _current.get().get_user_by_name(user_name)


def get_session_username() -> str:
    """Return the name of the user who is signed in.

    Example: ``print(client.get_session_username())``
    """
    return _current.get().get_session_username()


def whoami() -> User:
    """Return the user who is signed in.

    Example: ``print(client.whoami().username)``
    """
    return _current.get().whoami()


def list_users(active: Optional[bool] = None) -> List[User]:
    """List users.

    Example: ``names = [user.username for user in client.list_users(active=True)]``
    """
    return _current.get().list_users(active)


def get_workspace(name: str) -> Workspace:
    """Return a workspace by name.

    Example: ``projects = client.get_workspace("team").list_projects()``
    """
    return _current.get().get_workspace(name)


def list_workspaces() -> List[Workspace]:
    """List all workspaces.

    Example: ``names = [workspace.name for workspace in client.list_workspaces()]``
    """
    return _current.get().list_workspaces()


def create_workspace(name: str) -> Workspace:
    """Create a workspace.

    Example: ``workspace = client.create_workspace("team")``
    """
    return _current.get().create_workspace(name)


def delete_workspace(name: str) -> None:
    """Delete a workspace that is empty.

    Example: ``client.delete_workspace("team")``
    """
    _current.get().delete_workspace(name)


def create_model(
    name: str,
    description: Optional[str] = "",
    metadata: Optional[Dict[str, Any]] = None,
    labels: Optional[List[str]] = None,
    workspace_name: Optional[str] = None,
) -> Model:
    """Create a model in the registry.

    Example: ``model = client.create_model("digits", labels=["vision"], workspace_name="team")``
    """
    return _current.get().create_model(name, description, metadata, labels, workspace_name)


def get_model(identifier: Union[str, int]) -> Model:
    """Return a model by its name or its number.

    Example: ``version = client.get_model("digits").get_version()``
    """
    return _current.get().get_model(identifier)


def get_model_by_id(model_id: int) -> Model:
    """Return a model by its number.

    Example: ``model = client.get_model_by_id(1)``
    """
    return _current.get().get_model(model_id)


def list_models(
    sort_by: ModelSortBy = ModelSortBy.NAME,
    order_by: OrderBy = OrderBy.ASCENDING,
    name: Optional[str] = None,
    description: Optional[str] = None,
    model_id: Optional[int] = None,
    workspace_names: Optional[List[str]] = None,
    workspace_ids: Optional[List[int]] = None,
) -> List[Model]:
    """List models that match all arguments.

    Example: ``names = [model.name for model in client.list_models()]``
    """
    return _current.get().list_models(
        sort_by, order_by, name, description, model_id, workspace_names, workspace_ids
    )


get_models = list_models


def get_model_labels() -> List[str]:
    """List the labels that models have.

    Example: ``print(client.get_model_labels())``
    """
    return _current.get().get_model_labels()


def iter_trials_metrics(trial_ids: Sequence[int], group: str) -> Iterator[TrialMetrics]:
    """Yield the metrics of a group that trials reported, in order.

    Example::

        for report in client.iter_trials_metrics([7, 8], "validation"):
            print(report.trial_id, report.steps_completed, report.metrics)
    """
    return _current.get().iter_trials_metrics(trial_ids, group)


stream_trials_metrics = iter_trials_metrics


def stream_trials_training_metrics(trial_ids: Sequence[int]) -> Iterator[TrialMetrics]:
    """Yield the training metrics of trials.

    Example: ``reports = list(client.stream_trials_training_metrics([7]))``
    """
    return iter_trials_metrics(trial_ids, "training")


def stream_trials_validation_metrics(trial_ids: Sequence[int]) -> Iterator[TrialMetrics]:
    """Yield the validation metrics of trials.

    Example: ``reports = list(client.stream_trials_validation_metrics([7]))``
    """
    return iter_trials_metrics(trial_ids, "validation")
