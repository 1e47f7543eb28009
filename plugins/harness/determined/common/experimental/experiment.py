"""Experiments: their state, their changes and their results."""

from __future__ import annotations

import base64
import dataclasses
import enum
import pathlib
import sys
import time
from typing import Any, Dict, Iterator, List, Mapping, Optional, Set, Union

from determined.common import api
from determined.common.experimental import _names, _util, checkpoint, trial
from determined.common.experimental.search import Search


class ExperimentState(enum.Enum):
    """The state of an experiment.

    Example: ``experiment.wait() is ExperimentState.COMPLETED``
    """

    UNSPECIFIED = "STATE_UNSPECIFIED"
    ACTIVE = "STATE_ACTIVE"
    PAUSED = "STATE_PAUSED"
    STOPPING_COMPLETED = "STATE_STOPPING_COMPLETED"
    STOPPING_CANCELED = "STATE_STOPPING_CANCELED"
    STOPPING_ERROR = "STATE_STOPPING_ERROR"
    COMPLETED = "STATE_COMPLETED"
    CANCELED = "STATE_CANCELED"
    ERROR = "STATE_ERROR"
    DELETED = "STATE_DELETED"
    DELETING = "STATE_DELETING"
    DELETE_FAILED = "STATE_DELETE_FAILED"
    STOPPING_KILLED = "STATE_STOPPING_KILLED"
    QUEUED = "STATE_QUEUED"
    PULLING = "STATE_PULLING"
    STARTING = "STATE_STARTING"
    RUNNING = "STATE_RUNNING"


TERMINAL_STATES = frozenset(
    {
        ExperimentState.COMPLETED,
        ExperimentState.CANCELED,
        ExperimentState.DELETED,
        ExperimentState.ERROR,
    }
)


class ExperimentSortBy(enum.Enum):
    """The keys by which a list of experiments can be sorted.

    Example: ``client.list_experiments(sort_by=ExperimentSortBy.START_TIME)``
    """

    ID = "SORT_BY_ID"
    DESCRIPTION = "SORT_BY_DESCRIPTION"
    START_TIME = "SORT_BY_START_TIME"
    END_TIME = "SORT_BY_END_TIME"
    STATE = "SORT_BY_STATE"
    NUM_TRIALS = "SORT_BY_NUM_TRIALS"
    PROGRESS = "SORT_BY_PROGRESS"
    USER = "SORT_BY_USER"
    NAME = "SORT_BY_NAME"
    FORKED_FROM = "SORT_BY_FORKED_FROM"
    RESOURCE_POOL = "SORT_BY_RESOURCE_POOL"
    PROJECT_ID = "SORT_BY_PROJECT_ID"
    CHECKPOINT_SIZE = "SORT_BY_CHECKPOINT_SIZE"
    CHECKPOINT_COUNT = "SORT_BY_CHECKPOINT_COUNT"
    SEARCHER_METRIC_VAL = "SORT_BY_SEARCHER_METRIC_VAL"


# Its older name.
ExperimentOrderBy = _util.OrderBy


@dataclasses.dataclass(frozen=True)
class FrontPoint:
    """A result on the Pareto front of a search with several metrics: a validation of a trial.

    Example::

        for point in experiment.front():
            print(point.trial_id, point.steps_completed, point.metrics)
    """

    trial_id: int
    steps_completed: int
    metrics: Dict[str, float]


@dataclasses.dataclass(frozen=True)
class RepeatedConfiguration:
    """A configuration that a search has trained again with other seeds (``searcher.repeat``).

    Example::

        best = experiment.repeats()[0]
        print(best.trial_id, best.trial_ids, best.results, best.mean, best.deviation)
    """

    trial_id: int
    trial_ids: List[int]
    results: int
    mean: Optional[float]
    deviation: Optional[float]


class Experiment:
    """One experiment. Its fields have the values of the last answer; ``reload`` updates them.

    Example::

        experiment = client.create_experiment("adaptive.yaml", "model_def")
        print("experiment", experiment.id)
        trial = experiment.await_first_trial()
        if experiment.wait() is client.ExperimentState.COMPLETED:
            best = experiment.top_checkpoint().download()
            for checkpoint in experiment.top_n_checkpoints(3):
                print(checkpoint.uuid)
        for trial in experiment.iter_trials(sort_by=client.TrialSortBy.ID, limit=10):
            print(trial.id, trial.hparams)
        experiment.list_trials(), experiment.list_checkpoints(max_results=5)
        experiment.get_trials(), experiment.get_checkpoints()      # older names

        experiment.set_name("digits"), experiment.set_description("three layers")
        experiment.set_notes("# What I found")
        experiment.add_label("nightly"), experiment.remove_label("nightly")
        experiment.set_labels({"vision", "nightly"})
        experiment.move_to_project("team", "vision")

        experiment.pause(), experiment.activate()
        experiment.cancel(), experiment.kill()
        experiment.archive(), experiment.unarchive()
        experiment.download_code("code"), experiment.get_pachyderm_config()
        news = experiment.search().news()              # with sampler: program
        points = experiment.front()                    # of a search with several metrics
        again = experiment.repeats()                   # of a search with searcher.repeat
        experiment.delete_tensorboard_files()
        experiment.delete()
        experiment.reload()
    """

    def __init__(self, experiment_id: int, session: api.BaseSession) -> None:
        self._id = experiment_id
        self._session = session
        self.config: Optional[Dict[str, Any]] = None
        self.state: Optional[ExperimentState] = None
        self.labels: Optional[Set[str]] = None
        self.archived: Optional[bool] = None
        self.name: Optional[str] = None
        self.progress: Optional[float] = None
        self.description: Optional[str] = None
        self.notes: Optional[str] = None
        self.project_id: Optional[int] = None
        self.workspace_id: Optional[int] = None

    def __repr__(self) -> str:
        return f"Experiment(id={self._id})"

    @classmethod
    def _from_wire(cls, fields: Mapping[str, Any], session: api.BaseSession) -> Experiment:
        experiment = cls(int(fields["id"]), session)
        experiment._hydrate(fields)
        return experiment

    def _hydrate(self, fields: Mapping[str, Any]) -> None:
        self.config = fields.get("config") or {}
        self.state = ExperimentState(fields.get("state") or "STATE_UNSPECIFIED")
        self.archived = bool(fields.get("archived"))
        self.name = fields.get("name")
        self.progress = fields.get("progress")
        self.description = fields.get("description")
        self.notes = fields.get("notes")
        self.labels = set(fields["labels"]) if fields.get("labels") else None
        self.project_id = _util.whole(fields.get("projectId"))
        self.workspace_id = _util.whole(fields.get("workspaceId"))

    @property
    def id(self) -> int:
        """The number of this experiment."""
        return self._id

    @property
    def _path(self) -> str:
        return f"/api/v1/experiments/{self._id}"

    def reload(self) -> None:
        """Read the fields from the master again."""
        self._hydrate(self._session.get(self._path).json()["experiment"])

    def get_pachyderm_config(self) -> Dict[str, Any]:
        """Return ``integrations.pachyderm`` of the configuration."""
        if not self.config:
            self.reload()
        found = ((self.config or {}).get("integrations") or {}).get("pachyderm")
        if not found:
            raise ValueError(f"the configuration of experiment {self.id} has no Pachyderm")
        return dict(found)

    def _patch(self, **fields: Any) -> Dict[str, Any]:
        answer = self._session.patch(self._path, json={"id": self._id, **fields}).json()
        changed: Dict[str, Any] = answer.get("experiment") or {}
        return changed

    def set_name(self, name: str) -> None:
        """Replace the name."""
        self.name = self._patch(name=name).get("name")

    def set_description(self, description: str) -> None:
        """Replace the description."""
        self.description = self._patch(description=description).get("description")

    def set_notes(self, notes: str) -> None:
        """Replace the notes."""
        self.notes = self._patch(notes=notes).get("notes")

    def add_label(self, label: str) -> None:
        """Add a label, if the experiment does not have it."""
        answer = self._session.put(f"{self._path}/labels/{api.quoted(label)}").json()
        self.labels = set(answer.get("labels") or [])

    def remove_label(self, label: str) -> None:
        """Remove a label, if the experiment has it."""
        answer = self._session.delete(f"{self._path}/labels/{api.quoted(label)}").json()
        self.labels = set(answer.get("labels") or [])

    def set_labels(self, labels: Set[str]) -> None:
        """Replace all labels."""
        changed = self._patch(labels=sorted(labels))
        self.labels = set(changed["labels"]) if changed.get("labels") else None

    def activate(self) -> None:
        """Let a paused experiment continue."""
        self._session.post(f"{self._path}/activate")

    def pause(self) -> None:
        """Ask the trials to save and stop; they can continue later."""
        self._session.post(f"{self._path}/pause")

    def cancel(self) -> None:
        """Ask the trials to save and stop for good."""
        self._session.post(f"{self._path}/cancel")

    def kill(self) -> None:
        """End the trials at once."""
        self._session.post(f"{self._path}/kill")

    def archive(self) -> None:
        """Archive the experiment."""
        self._session.post(f"{self._path}/archive")
        self.archived = True

    def unarchive(self) -> None:
        """Unarchive the experiment."""
        self._session.post(f"{self._path}/unarchive")
        self.archived = False

    def delete(self) -> None:
        """Delete the experiment and all that belongs to it."""
        self._session.delete(self._path)

    def move_to_project(self, workspace_name: str, project_name: str) -> None:
        """Move the experiment to another project."""
        workspace_id = int(_names.workspace(self._session, workspace_name)["id"])
        project = _names.project(self._session, workspace_id, workspace_name, project_name)
        project_id = int(project["id"])
        body = {"experimentId": self._id, "destinationProjectId": project_id}
        self._session.post(f"{self._path}/move", json=body)
        self.project_id, self.workspace_id = project_id, workspace_id

    def download_code(self, output_dir: Optional[str] = None) -> str:
        """Write the submitted code to ``exp-<id>_model_def.tar.gz``; return that path."""
        answer = self._session.get(f"{self._path}/model_def").json()
        directory = pathlib.Path(output_dir or ".").expanduser()
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"exp-{self._id}_model_def.tar.gz"
        path.write_bytes(base64.b64decode(answer["b64Tgz"]))
        return str(path)

    def iter_trials(
        self,
        sort_by: trial.TrialSortBy = trial.TrialSortBy.ID,
        order_by: _util.OrderBy = _util.OrderBy.ASCENDING,
        limit: Optional[int] = None,
    ) -> Iterator[trial.Trial]:
        """Yield the trials; each request to the master returns up to ``limit`` of them."""
        params = {"sortBy": sort_by.value, "orderBy": order_by.value}
        path = f"{self._path}/trials"
        for item in api.read_items(self._session, path, "trials", params, page_size=limit):
            yield trial.Trial._from_wire(item, self._session)

    def list_trials(
        self,
        sort_by: trial.TrialSortBy = trial.TrialSortBy.ID,
        order_by: _util.OrderBy = _util.OrderBy.ASCENDING,
    ) -> List[trial.Trial]:
        """List the trials."""
        return list(self.iter_trials(sort_by, order_by))

    get_trials = list_trials

    def await_first_trial(self, interval: float = 0.1) -> trial.Trial:
        """Wait until there is a trial; RuntimeError when the experiment ends without one."""
        while True:
            # The state is read first, so a trial that is created between the two requests is found.
            self.reload()
            first = next(self.iter_trials(trial.TrialSortBy.START_TIME, limit=1), None)
            if first is not None:
                return first
            if self.state in TERMINAL_STATES:
                raise RuntimeError(
                    f"experiment {self._id} ended before it had a trial: {self.state}"
                )
            time.sleep(interval)

    def wait(self, interval: float = 5.0) -> ExperimentState:
        """Wait until the experiment has ended, and return its state; ValueError if it is paused."""
        started = time.monotonic()
        said = 0
        while True:
            self.reload()
            assert self.state is not None
            if self.state in TERMINAL_STATES:
                return self.state
            if self.state == ExperimentState.PAUSED:
                raise ValueError(f"experiment {self._id} is paused; activate it first")
            time.sleep(interval)
            minutes = int((time.monotonic() - started) // 60)
            if minutes > said:
                said = minutes
                print(f"waiting for experiment {self._id} for {minutes} min", file=sys.stderr)

    def search(self) -> Search:
        """Return the search, for a program that proposes its trials (``sampler: program``)."""
        self.reload()
        return Search(self._id, self.config or {}, self._session)

    def front(self) -> List[FrontPoint]:
        """List the results on the front of a search with several metrics (``searcher.metrics``).

        At most 50 are listed; the first ones are spread over the whole front. The list of
        checkpoints has the same order: ``list_checkpoints()`` begins with those of the front.
        """
        outlook = self._session.get(self._path).json().get("outlook") or {}
        found = outlook.get("front")
        if found is None:
            raise ValueError(
                f"experiment {self._id} has no front: its searcher compares one metric"
            )
        return [
            FrontPoint(
                trial_id=int(point["trialId"]),
                steps_completed=int(point["stepsCompleted"]),
                metrics=dict(zip(found["metrics"], map(float, point["values"]))),
            )
            for point in found.get("points") or []
        ]

    def repeats(self) -> List[RepeatedConfiguration]:
        """List the configurations that the search has trained again (``searcher.repeat``).

        The best is the first, by the mean of its repeats. The list is empty until the search
        trains them. When all repeats have ended, the list of checkpoints begins with theirs, in
        the same order.
        """
        outlook = self._session.get(self._path).json().get("outlook") or {}
        found = outlook.get("repeats") or {}
        return [
            RepeatedConfiguration(
                trial_id=int(item["trialId"]),
                trial_ids=[int(trial) for trial in item.get("trialIds") or []],
                results=int(item["results"]),
                mean=item.get("mean"),
                deviation=item.get("deviation"),
            )
            for item in found.get("configurations") or []
        ]

    def list_checkpoints(
        self,
        sort_by: Union[str, checkpoint.CheckpointSortBy, None] = None,
        order_by: Optional[_util.OrderBy] = None,
        max_results: Optional[int] = None,
    ) -> List[checkpoint.Checkpoint]:
        """List the complete checkpoints, by default the best first.

        ``sort_by`` names a validation metric or an attribute, and belongs with ``order_by``.
        """
        path = f"{self._path}/checkpoints"
        return checkpoint.list_sorted(self._session, path, sort_by, order_by, max_results)

    def get_checkpoints(
        self,
        sort_by: Union[str, checkpoint.CheckpointSortBy, None] = None,
        order_by: Optional[_util.OrderBy] = None,
    ) -> List[checkpoint.Checkpoint]:
        """List the complete checkpoints; an older name of ``list_checkpoints``."""
        return self.list_checkpoints(sort_by, order_by)

    def top_checkpoint(
        self, sort_by: Optional[str] = None, smaller_is_better: Optional[bool] = None
    ) -> checkpoint.Checkpoint:
        """Return the best checkpoint, by the searcher's metric or the one that is named.

        With several metrics it is the first one on their front: the best in the first metric.
        """
        order_by = checkpoint.order_of(sort_by, smaller_is_better, self._known_config)
        found = self.list_checkpoints(sort_by, order_by, max_results=1)
        if not found:
            raise AssertionError(f"experiment {self._id} has no checkpoint yet")
        return found[0]

    def top_n_checkpoints(
        self,
        limit: int,
        sort_by: Optional[str] = None,
        smaller_is_better: Optional[bool] = None,
    ) -> List[checkpoint.Checkpoint]:
        """Return the best checkpoints of as many different trials, the best first."""
        order_by = checkpoint.order_of(sort_by, smaller_is_better, self._known_config)
        found = self.list_checkpoints(sort_by, order_by)
        if not found:
            raise AssertionError(f"experiment {self._id} has no checkpoint yet")
        best: Dict[Optional[int], checkpoint.Checkpoint] = {}
        for item in found:
            best.setdefault(item.training.trial_id if item.training else None, item)
        return list(best.values())[: max(0, limit)]

    def _known_config(self) -> Optional[Dict[str, Any]]:
        if self.config is None:
            self.reload()
        return self.config

    def delete_tensorboard_files(self) -> None:
        """Delete this experiment's TensorBoard files."""
        self._session.delete(f"{self._path}/tensorboard-files")


class ExperimentReference(Experiment):
    """The older name of ``Experiment``, for old imports; the SDK itself returns ``Experiment``.

    Example: ``from determined.common.experimental import ExperimentReference``
    """
