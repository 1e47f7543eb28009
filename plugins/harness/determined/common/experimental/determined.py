"""The SDK's main class: the objects of one master for one user."""

from __future__ import annotations

import json
import logging
import pathlib
import uuid
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union

from determined.common import api, context
from determined.common.api import authentication, certs
from determined.common.experimental import (
    _names,
    _util,
    checkpoint,
    experiment,
    metrics,
    model,
    trial,
    user,
    workspace,
)

logger = logging.getLogger("determined.client")

_Path = Union[str, pathlib.Path]

_WARNINGS = {
    "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED": (
        "the experiment asks for more slots than the cluster has now; it waits until there are "
        "enough"
    )
}


class Determined:
    """The objects of one cluster, as one user sees them.

    ``master`` is an address; the default is ``DET_MASTER``. Without ``user`` and ``password`` it
    uses an existing session: the session of ``det user login``, or of this task.

    Example::

        cluster = Determined(master="detent.example.com", user="ada", password=password)
        experiment = cluster.create_experiment("const.yaml", ".")
        cluster.get_experiment(experiment.id).wait()
        for found in cluster.list_experiments(labels=["nightly"]):
            print(found.id, found.name)
        trial = cluster.get_trial(7)
        checkpoint = cluster.get_checkpoint(uuid)
        for report in cluster.iter_trials_metrics([7, 8], "validation"):
            print(report.trial_id, report.metrics)

        model = cluster.create_model("digits", labels=["vision"])
        cluster.get_model("digits"), cluster.get_model_by_id(1), cluster.list_models()
        cluster.get_models(), cluster.get_model_labels()

        workspace = cluster.create_workspace("team")
        cluster.get_workspace("team"), cluster.list_workspaces()
        cluster.delete_workspace("team")

        cluster.create_user("bob", admin=False)
        cluster.get_user_by_id(2), cluster.get_user_by_name("bob"), cluster.list_users()
        print(cluster.whoami().username, cluster.get_session_username())
        cluster.logout()

    Older names of ``iter_trials_metrics``::

        cluster.stream_trials_metrics([7], "training")
        cluster.stream_trials_training_metrics([7])
        cluster.stream_trials_validation_metrics([7])
    """

    def __init__(
        self,
        master: Optional[str] = None,
        user: Optional[str] = None,
        password: Optional[str] = None,
        cert_path: Optional[str] = None,
        cert_name: Optional[str] = None,
        noverify: bool = False,
    ) -> None:
        self._master = api.canonicalize_master_url(master or api.get_default_master_url())
        cert = certs.default_load(self._master, cert_path, cert_name, noverify)
        self._session = authentication.login_with_cache(self._master, user, password, cert)

    @classmethod
    def _from_session(cls, session: api.Session) -> Determined:
        """Return an object that uses an existing session."""
        made = cls.__new__(cls)
        made._master = session.master
        made._session = session
        return made

    # Users.

    def create_user(
        self, username: str, admin: bool, password: Optional[str] = None, remote: bool = False
    ) -> user.User:
        """Create a user with a password or, if ``remote``, for an identity provider."""
        if not remote and password is None:
            raise ValueError("a user who is not remote needs a password")
        body: Dict[str, Any] = {
            "user": {"username": username, "admin": admin, "active": True, "remote": remote},
            "isHashed": True,
        }
        if password is not None:
            body["password"] = api.salt_and_hash(password)
        answer = self._session.post("/api/v1/users", json=body).json()
        return user.User._from_wire(answer["user"], self._session)

    def get_user_by_id(self, user_id: int) -> user.User:
        """Return a user by number."""
        answer = self._session.get(f"/api/v1/users/{user_id}").json()
        return user.User._from_wire(answer["user"], self._session)

    def get_user_by_name(self, user_name: str) -> user.User:
        """Return a user by name."""
        answer = self._session.get(f"/api/v1/users/{api.quoted(user_name)}/by-username").json()
        return user.User._from_wire(answer["user"], self._session)

    def whoami(self) -> user.User:
        """Return the user of this session."""
        return user.User._from_wire(self._session.get("/api/v1/me").json()["user"], self._session)

    def get_session_username(self) -> str:
        """Return the name of the user of this session."""
        return self._session.username

    def list_users(self, active: Optional[bool] = None) -> List[user.User]:
        """List all users, or only active or only inactive ones."""
        found = api.read_items(self._session, "/api/v1/users", "users", {"active": active})
        return [user.User._from_wire(item, self._session) for item in found]

    def logout(self) -> None:
        """End this session; its token is invalid from then on."""
        authentication.logout(self._session)

    # Experiments, trials, checkpoints.

    def create_experiment(
        self,
        config: Union[str, pathlib.Path, Mapping[str, Any]],
        model_dir: Optional[_Path] = None,
        includes: Optional[Iterable[_Path]] = None,
        project_id: Optional[int] = None,
        template: Optional[str] = None,
        *,
        parent_id: Optional[int] = None,
    ) -> experiment.Experiment:
        """Create an experiment from its code and a configuration: a file's path, or a map."""
        if isinstance(config, (str, pathlib.Path)):
            text = pathlib.Path(config).read_text(encoding="utf-8")
        elif isinstance(config, Mapping):
            # JSON is YAML too.
            text = json.dumps(dict(config), indent=1)
        else:
            raise ValueError(f"config must be a path or a map, not a {type(config).__name__}")
        code = context.read_optional(
            None if model_dir is None else pathlib.Path(model_dir),
            [pathlib.Path(path) for path in includes or []],
        )
        body = {
            "activate": True,
            "config": text,
            "modelDefinition": code,
            "parentId": parent_id,
            "projectId": project_id,
            "template": template,
        }
        # With this key, a request repeated after a lost answer creates no second experiment.
        key = {"Idempotency-Key": uuid.uuid4().hex}
        answer = self._session.post("/api/v1/experiments", json=body, headers=key).json()
        for warning in answer.get("warnings") or []:
            logger.warning("%s", _WARNINGS.get(warning, warning))
        for remark in answer.get("remarks") or []:
            logger.warning("%s", remark)
        return experiment.Experiment._from_wire(answer["experiment"], self._session)

    def get_experiment(self, experiment_id: Union[int, str]) -> experiment.Experiment:
        """Return an experiment by number."""
        answer = self._session.get(f"/api/v1/experiments/{_number(experiment_id)}").json()
        return experiment.Experiment._from_wire(answer["experiment"], self._session)

    def list_experiments(
        self,
        sort_by: Optional[experiment.ExperimentSortBy] = None,
        order_by: Optional[_util.OrderBy] = None,
        experiment_ids: Optional[List[int]] = None,
        labels: Optional[List[str]] = None,
        users: Optional[List[str]] = None,
        states: Optional[List[experiment.ExperimentState]] = None,
        name: Optional[str] = None,
        project_id: Optional[int] = None,
    ) -> List[experiment.Experiment]:
        """List experiments that match all arguments."""
        params = {
            "sortBy": _util.value_of(sort_by),
            "orderBy": _util.value_of(order_by),
            "experimentIdFilter.incl": experiment_ids,
            "labels": labels,
            "users": users,
            "states": [state.value for state in states] if states else None,
            "name": name,
            "projectId": project_id,
        }
        found = api.read_items(self._session, "/api/v1/experiments", "experiments", params)
        return [experiment.Experiment._from_wire(item, self._session) for item in found]

    def get_trial(self, trial_id: Union[int, str]) -> trial.Trial:
        """Return a trial by number."""
        answer = self._session.get(f"/api/v1/trials/{_number(trial_id)}").json()
        return trial.Trial._from_wire(answer["trial"], self._session)

    def get_checkpoint(self, uuid: str) -> checkpoint.Checkpoint:
        """Return a checkpoint by its uuid."""
        answer = self._session.get(f"/api/v1/checkpoints/{api.quoted(uuid)}").json()
        return checkpoint.Checkpoint._from_wire(answer["checkpoint"], self._session)

    def iter_trials_metrics(
        self, trial_ids: Sequence[int], group: str
    ) -> Iterator[metrics.TrialMetrics]:
        """Yield the metrics of a group that trials reported, in order."""
        return metrics.iter_metrics(self._session, trial_ids, group)

    def stream_trials_metrics(
        self, trial_ids: Sequence[int], group: str
    ) -> Iterator[metrics.TrialMetrics]:
        """Do what ``iter_trials_metrics`` does: an older name."""
        return self.iter_trials_metrics(trial_ids, group)

    def stream_trials_training_metrics(
        self, trial_ids: Sequence[int]
    ) -> Iterator[metrics.TrialMetrics]:
        """Yield the training metrics of trials: an older name."""
        return self.iter_trials_metrics(trial_ids, "training")

    def stream_trials_validation_metrics(
        self, trial_ids: Sequence[int]
    ) -> Iterator[metrics.TrialMetrics]:
        """Yield the validation metrics of trials: an older name."""
        return self.iter_trials_metrics(trial_ids, "validation")

    # Workspaces.

    def get_workspace(self, name: str) -> workspace.Workspace:
        """Return a workspace by name."""
        found = _names.workspace(self._session, name)
        return workspace.Workspace._from_wire(found, self._session)

    def list_workspaces(self) -> List[workspace.Workspace]:
        """List all workspaces."""
        found = api.read_items(self._session, "/api/v1/workspaces", "workspaces")
        return [workspace.Workspace._from_wire(item, self._session) for item in found]

    def create_workspace(self, name: str) -> workspace.Workspace:
        """Create a workspace."""
        answer = self._session.post("/api/v1/workspaces", json={"name": name}).json()
        return workspace.Workspace._from_wire(answer["workspace"], self._session)

    def delete_workspace(self, name: str) -> None:
        """Delete a workspace that is empty."""
        self._session.delete(f"/api/v1/workspaces/{self.get_workspace(name).id}")

    # The model registry.

    def create_model(
        self,
        name: str,
        description: Optional[str] = "",
        metadata: Optional[Dict[str, Any]] = None,
        labels: Optional[List[str]] = None,
        workspace_name: Optional[str] = None,
    ) -> model.Model:
        """Create a model in the registry; its name must be new."""
        return model.Registry(self._session).create(
            name=name,
            description=description,
            metadata=metadata,
            labels=labels,
            workspaceName=workspace_name,
        )

    def get_model(self, identifier: Union[str, int]) -> model.Model:
        """Return a model by its name or its number."""
        return model.Registry(self._session).get(str(identifier))

    def list_models(
        self,
        sort_by: model.ModelSortBy = model.ModelSortBy.NAME,
        order_by: model.AnyOrder = _util.OrderBy.ASCENDING,
        name: Optional[str] = None,
        description: Optional[str] = None,
        model_id: Optional[int] = None,
        workspace_names: Optional[List[str]] = None,
        workspace_ids: Optional[List[int]] = None,
    ) -> List[model.Model]:
        """List models that match all arguments."""
        return model.Registry(self._session).list(
            sortBy=sort_by.value,
            orderBy=order_by.value,
            name=name,
            description=description,
            id=model_id,
            workspaceNames=workspace_names,
            workspaceIds=workspace_ids,
        )

    get_models = list_models

    def get_model_by_id(self, model_id: int) -> model.Model:
        """Return a model by its number: an older name."""
        return self.get_model(model_id)

    def get_model_labels(self) -> List[str]:
        """List the labels that models have, the most used first."""
        return model.Registry(self._session).labels()


def _number(given: Union[int, str]) -> int:
    """Read an id that may be given as text."""
    try:
        return int(given)
    except (TypeError, ValueError):
        raise ValueError(f"the id of an experiment or trial is a number, not {given!r}") from None
