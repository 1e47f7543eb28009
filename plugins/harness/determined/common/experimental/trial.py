"""Trials: their state, logs, metrics and checkpoints."""

from __future__ import annotations

import datetime
import enum
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Union

from determined.common import api
from determined.common.experimental import _util, checkpoint, metrics

if TYPE_CHECKING:
    from determined.common.experimental import experiment


class LogLevel(enum.Enum):
    """The level of a log line.

    Example: ``trial.iter_logs(min_level=LogLevel.WARNING)``
    """

    TRACE = "LOG_LEVEL_TRACE"
    DEBUG = "LOG_LEVEL_DEBUG"
    INFO = "LOG_LEVEL_INFO"
    WARNING = "LOG_LEVEL_WARNING"
    ERROR = "LOG_LEVEL_ERROR"
    CRITICAL = "LOG_LEVEL_CRITICAL"


class TrialState(enum.Enum):
    """The state of a trial.

    Example: ``trial.state is TrialState.COMPLETED``
    """

    UNSPECIFIED = "STATE_UNSPECIFIED"
    ACTIVE = "STATE_ACTIVE"
    PAUSED = "STATE_PAUSED"
    STOPPING_CANCELED = "STATE_STOPPING_CANCELED"
    STOPPING_KILLED = "STATE_STOPPING_KILLED"
    STOPPING_COMPLETED = "STATE_STOPPING_COMPLETED"
    STOPPING_ERROR = "STATE_STOPPING_ERROR"
    CANCELED = "STATE_CANCELED"
    COMPLETED = "STATE_COMPLETED"
    ERROR = "STATE_ERROR"
    QUEUED = "STATE_QUEUED"
    PULLING = "STATE_PULLING"
    STARTING = "STATE_STARTING"
    RUNNING = "STATE_RUNNING"


class TrialSortBy(enum.Enum):
    """The keys by which a list of trials can be sorted.

    Example: ``experiment.iter_trials(sort_by=TrialSortBy.START_TIME)``
    """

    ID = "SORT_BY_ID"
    START_TIME = "SORT_BY_START_TIME"
    END_TIME = "SORT_BY_END_TIME"
    STATE = "SORT_BY_STATE"
    BEST_VALIDATION_METRIC = "SORT_BY_BEST_VALIDATION_METRIC"
    LATEST_VALIDATION_METRIC = "SORT_BY_LATEST_VALIDATION_METRIC"
    BATCHES_PROCESSED = "SORT_BY_BATCHES_PROCESSED"
    DURATION = "SORT_BY_DURATION"
    RESTARTS = "SORT_BY_RESTARTS"
    CHECKPOINT_SIZE = "SORT_BY_CHECKPOINT_SIZE"
    LOG_RETENTION_DAYS = "SORT_BY_LOG_RETENTION_DAYS"


# Its older name.
TrialOrderBy = _util.OrderBy


class Trial:
    """One trial. Its fields have the values of the last answer; ``reload`` updates them.

    Example::

        trial = client.get_trial(7)
        for line in trial.iter_logs(follow=True):
            print(line, end="")
        for report in trial.iter_metrics("validation"):
            print(report.steps_completed, report.metrics)
        best = trial.top_checkpoint()
        trial.select_checkpoint(latest=True)          # the older way to say it
        for checkpoint in trial.list_checkpoints():
            print(checkpoint.uuid)
        trial.get_checkpoints(), trial.get_experiment()
        trial.stream_training_metrics(), trial.stream_validation_metrics()
        trial.logs()
        trial.kill()
        trial.reload()
    """

    def __init__(self, trial_id: int, session: api.BaseSession) -> None:
        self.id = trial_id
        self._session = session
        self.experiment_id: Optional[int] = None
        self.hparams: Optional[Dict[str, Any]] = None
        self.summary_metrics: Optional[Dict[str, Any]] = None
        self.state: Optional[TrialState] = None

    def __repr__(self) -> str:
        return f"Trial(id={self.id})"

    @classmethod
    def _from_wire(cls, fields: Mapping[str, Any], session: api.BaseSession) -> Trial:
        trial = cls(int(fields["id"]), session)
        trial._hydrate(fields)
        return trial

    def _hydrate(self, fields: Mapping[str, Any]) -> None:
        self.experiment_id = _util.whole(fields.get("experimentId"))
        self.hparams = fields.get("hparams") or {}
        self.state = TrialState(fields.get("state") or "STATE_UNSPECIFIED")
        self.summary_metrics = fields.get("summaryMetrics")

    @property
    def _path(self) -> str:
        return f"/api/v1/trials/{self.id}"

    def reload(self) -> None:
        """Read the fields from the master again."""
        self._hydrate(self._session.get(self._path).json()["trial"])

    def kill(self) -> None:
        """End this trial at once."""
        self._session.post(f"{self._path}/kill")

    def get_experiment(self) -> experiment.Experiment:
        """Return the experiment that this trial belongs to."""
        # The two modules need each other.
        from determined.common.experimental import experiment  # noqa: PLC0415

        if self.experiment_id is None:
            self.reload()
        answer = self._session.get(f"/api/v1/experiments/{self.experiment_id}").json()
        return experiment.Experiment._from_wire(answer["experiment"], self._session)

    def iter_logs(
        self,
        follow: bool = False,
        *,
        head: Optional[int] = None,
        tail: Optional[int] = None,
        container_ids: Optional[List[str]] = None,
        rank_ids: Optional[List[int]] = None,
        stdtypes: Optional[List[str]] = None,
        min_level: Optional[LogLevel] = None,
        timestamp_before: Union[str, int, None] = None,
        timestamp_after: Union[str, int, None] = None,
        sources: Optional[List[str]] = None,
        search_text: Optional[str] = None,
    ) -> Iterator[str]:
        """Yield lines of the log, oldest first.

        ``follow`` waits for new lines until the trial ends; ``head`` and ``tail`` limit their
        number. A time is a string as in RFC 3339, or the number of seconds since 1970.
        """
        if sum((follow, head is not None, tail is not None)) > 1:
            raise ValueError("follow, head and tail exclude each other")
        for name, count in (("head", head), ("tail", tail)):
            if count is not None and count < 0:
                raise ValueError(f"{name} must not be negative, but is {count}")
        if head == 0 or tail == 0:
            return
        levels = list(LogLevel)
        params = {
            "follow": follow,
            "limit": tail if head is None else head,
            "orderBy": "ORDER_BY_DESC" if tail is not None else None,
            "containerIds": container_ids,
            "rankIds": rank_ids,
            "stdtypes": stdtypes,
            "levels": min_level and [it.value for it in levels[levels.index(min_level) :]],
            "timestampBefore": _moment(timestamp_before),
            "timestampAfter": _moment(timestamp_after),
            "sources": sources,
            "searchText": search_text,
        }
        records = self._session.stream(f"{self._path}/logs", params=params)
        if tail is not None:
            records = iter(list(records)[::-1])
        for record in records:
            yield record["message"]

    logs = iter_logs

    def iter_metrics(self, group: str) -> Iterator[metrics.TrialMetrics]:
        """Yield the metrics of a group that this trial reported, in order."""
        return metrics.iter_metrics(self._session, [self.id], group)

    stream_metrics = iter_metrics

    def stream_training_metrics(self) -> Iterator[metrics.TrialMetrics]:
        """Yield the training metrics of this trial."""
        return self.iter_metrics("training")

    def stream_validation_metrics(self) -> Iterator[metrics.TrialMetrics]:
        """Yield the validation metrics of this trial."""
        return self.iter_metrics("validation")

    def list_checkpoints(
        self,
        sort_by: Union[str, checkpoint.CheckpointSortBy, None] = None,
        order_by: Optional[_util.OrderBy] = None,
        max_results: Optional[int] = None,
    ) -> List[checkpoint.Checkpoint]:
        """List the complete checkpoints of this trial, by default the best first.

        ``sort_by`` names a validation metric or an attribute, and belongs with ``order_by``.
        """
        path = f"{self._path}/checkpoints"
        return checkpoint.list_sorted(self._session, path, sort_by, order_by, max_results)

    def get_checkpoints(
        self,
        sort_by: Union[str, checkpoint.CheckpointSortBy, None] = None,
        order_by: Optional[_util.OrderBy] = None,
    ) -> List[checkpoint.Checkpoint]:
        """List the complete checkpoints of this trial; an older name of ``list_checkpoints``."""
        return self.list_checkpoints(sort_by, order_by)

    def top_checkpoint(
        self, sort_by: Optional[str] = None, smaller_is_better: Optional[bool] = None
    ) -> checkpoint.Checkpoint:
        """Return the best checkpoint, by the searcher's metric or the one that is named."""
        order_by = checkpoint.order_of(
            sort_by, smaller_is_better, lambda: self.get_experiment().config
        )
        found = self.list_checkpoints(sort_by, order_by, max_results=1)
        if not found:
            raise ValueError(f"trial {self.id} has no checkpoint yet")
        return found[0]

    def select_checkpoint(
        self,
        latest: bool = False,
        best: bool = False,
        uuid: Optional[str] = None,
        sort_by: Optional[str] = None,
        smaller_is_better: Optional[bool] = None,
    ) -> checkpoint.Checkpoint:
        """Return the latest, the best, or the named checkpoint of this trial."""
        if sum((latest, best, uuid is not None)) != 1:
            raise ValueError("give exactly one of latest, best and uuid")
        if sort_by is not None and not best:
            raise ValueError("sort_by requires best")
        if best:
            return self.top_checkpoint(sort_by, smaller_is_better)
        newest = checkpoint.CheckpointSortBy.END_TIME
        found = self.list_checkpoints(newest, _util.OrderBy.DESC, 1 if latest else None)
        for item in found:
            if uuid is None or item.uuid == uuid:
                return item
        what = "no checkpoint yet" if uuid is None else f"no complete checkpoint {uuid}"
        raise ValueError(f"trial {self.id} has {what}")


class TrialReference(Trial):
    """The older name of ``Trial``, for old imports; the SDK itself returns ``Trial``.

    Example: ``from determined.common.experimental import TrialReference``
    """


def _moment(when: Union[str, int, None]) -> Optional[str]:
    if when is None:
        return None
    if isinstance(when, int):
        return datetime.datetime.fromtimestamp(when, datetime.timezone.utc).isoformat()
    if not isinstance(when, str):
        raise ValueError(f"a time is a string or a number, not a {type(when).__name__}")
    return when
