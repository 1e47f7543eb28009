"""Reports of training to the platform: metrics, progress, status."""

from __future__ import annotations

import enum
import logging
import pathlib
import tempfile
from typing import Any, Callable, Dict, List, Optional

from determined import tensorboard, util
from determined.common import api
from determined.common.api import errors
from determined.core._backlog import Report
from determined.core._distributed import DistributedContext
from determined.core._metrics import _MetricsContext, whole
from determined.core._reporter import Reporter
from determined.core._tensorboard_mode import TensorboardMode

logger = logging.getLogger("determined.core")

TRAINING = "training"
VALIDATION = "validation"


class EarlyExitReason(enum.Enum):
    """Why a trial ends early.

    Example: ``core_context.train.report_early_exit(EarlyExitReason.USER_REQUESTED_STOP)``
    """

    INVALID_HP = "EXITED_REASON_INVALID_HP"
    # Rarely needed: a trial that is finished can exit with 0.
    USER_REQUESTED_STOP = "EXITED_REASON_USER_REQUESTED_STOP"


# Another name that some training code uses.
ExitedReason = EarlyExitReason


class TrainContext:
    """Reports of a trial.

    Metrics, progress and status are queued and delivered in the background, in order, also after
    outages of the master. If the master rejects a report, the next call raises its error.

    Example::

        train = core_context.train
        train.set_status("reading the data")
        train.report_training_metrics(10, {"loss": 0.5})
        train.report_validation_metrics(10, {"accuracy": 0.9})
        train.report_metrics("inference", 10, {"seen": 512})
        train.report_progress(10 / 100)
        best = train.get_experiment_best_validation()

        writer = SummaryWriter(train.get_tensorboard_path())
        train.upload_tensorboard_files(lambda path: path.suffix != ".tmp")      # in MANUAL mode

        train.set_metadata({"data": "2026-11"})
        print(train.get_metadata())
        train.report_early_exit(core.EarlyExitReason.INVALID_HP)
    """

    def __init__(
        self,
        session: api.BaseSession,
        trial_id: int,
        exp_id: int,
        metrics: _MetricsContext,
        distributed: DistributedContext,
        tensorboard_mode: TensorboardMode,
        tensorboard_manager: Optional[tensorboard.TensorboardManager],
        tbd_writer: Optional[tensorboard.BatchMetricWriter],
        reporter: Optional[Reporter] = None,
    ) -> None:
        if tensorboard_mode != TensorboardMode.MANUAL and tensorboard_manager is None:
            raise ValueError("TensorboardMode.AUTO needs a TensorBoard manager")
        self._session = session
        self._trial_id = trial_id
        self._exp_id = exp_id
        self._metrics = metrics
        self._distributed = distributed
        self._tensorboard_mode = tensorboard_mode
        self._tensorboard_manager = tensorboard_manager
        self._tbd_writer = tbd_writer
        self._reporter = reporter

    def set_status(self, status: str) -> None:
        """Show a short text about the trial's current work."""
        logger.debug("set_status(%s)", status)
        self._post_latest("runner/metadata", {"state": status}, "status")

    def report_progress(self, progress: float) -> None:
        """Show how far training is, from 0 to 1."""
        fraction = float(progress)
        if not 0 <= fraction <= 1:
            raise ValueError(f"progress must be from 0 to 1, not {progress}")
        logger.debug("report_progress(%s)", fraction)
        self._post_latest("progress", {"progress": fraction, "is_raw": True}, "progress")

    def _post_latest(self, name: str, body: Dict[str, Any], what: str) -> None:
        path = f"/api/v1/trials/{self._trial_id}/{name}"
        if self._reporter is None:
            self._session.post(path, json=body)
        else:
            self._reporter.submit_latest(Report(path, util.json_encode(body), what))

    def report_training_metrics(
        self,
        steps_completed: int,
        metrics: Dict[str, Any],
        batch_metrics: Optional[List[Dict[str, Any]]] = None,
    ) -> None:
        """Report training metrics; ``batch_metrics`` optionally has the metrics of each batch."""
        self._log_report("report_training_metrics", steps_completed, metrics)
        self._report_trial_metrics(TRAINING, steps_completed, metrics, batch_metrics)

    def report_validation_metrics(self, steps_completed: int, metrics: Dict[str, Any]) -> None:
        """Report validation metrics, by which a hyperparameter search compares trials."""
        self._log_report("report_validation_metrics", steps_completed, metrics)
        self._report_trial_metrics(VALIDATION, steps_completed, metrics)

    def report_metrics(self, group: str, steps_completed: int, metrics: Dict[str, Any]) -> None:
        """Report metrics of any group.

        A group is a name without a dot. The master merges two reports of one group and step; they
        must not have different values of one metric.
        """
        self._log_report(f"report_metrics({group})", steps_completed, metrics)
        self._report_trial_metrics(group, steps_completed, metrics)

    def _log_report(self, what: str, steps_completed: int, metrics: Dict[str, Any]) -> None:
        logger.info("%s: steps_completed=%s, metrics=%s", what, steps_completed, metrics)

    def _report_trial_metrics(
        self,
        group: str,
        steps_completed: int,
        metrics: Dict[str, Any],
        batch_metrics: Optional[List[Dict[str, Any]]] = None,
    ) -> None:
        steps_completed = whole(steps_completed)
        if group == VALIDATION:
            empty = [name for name, value in metrics.items() if value is None]
            if empty:
                raise RuntimeError(
                    f"validation metrics without a value: {', '.join(empty)}. Does the function "
                    "that computes them return it?"
                )
        self._metrics.report(
            group=group,
            steps_completed=steps_completed,
            metrics=metrics,
            batch_metrics=batch_metrics,
        )
        if self._tensorboard_mode == TensorboardMode.AUTO:
            self._draw(group, steps_completed, metrics, batch_metrics)

    def _draw(
        self,
        group: str,
        steps_completed: int,
        metrics: Dict[str, Any],
        batch_metrics: Optional[List[Dict[str, Any]]],
    ) -> None:
        """Add metrics to TensorBoard; errors there must not end training."""
        if self._tbd_writer is None or self._tensorboard_manager is None:
            return
        try:
            if group == TRAINING:
                self._tbd_writer.on_train_step_end(steps_completed, metrics, batch_metrics)
            elif group == VALIDATION:
                self._tbd_writer.on_validation_step_end(steps_completed, metrics)
        except Exception as err:
            logger.warning("cannot write TensorBoard's files: %s", err)
        self._tensorboard_manager.sync()

    def get_tensorboard_path(self) -> pathlib.Path:
        """Return the folder for TensorBoard's files."""
        if self._tensorboard_manager is None:
            raise ValueError("there is no TensorBoard folder without a TensorBoard manager")
        return self._tensorboard_manager.base_path

    def upload_tensorboard_files(
        self,
        selector: Callable[[pathlib.Path], bool] = lambda _: True,
        mangler: Callable[[pathlib.Path, int], pathlib.Path] = lambda p, __: p,
    ) -> None:
        """Store TensorBoard's files, in MANUAL mode.

        ``selector`` chooses files; ``mangler`` renames them, given a path and this worker's rank.
        """
        if self._tensorboard_mode == TensorboardMode.AUTO:
            raise RuntimeError("upload_tensorboard_files is for TensorboardMode.MANUAL")
        if self._tensorboard_manager is None:
            raise ValueError("there is no TensorBoard folder without a TensorBoard manager")
        self._tensorboard_manager.sync(selector, mangler, self._distributed.rank)

    def set_metadata(self, metadata: Dict[str, Any]) -> Optional[Dict[str, Any]]:
        """Replace this run's metadata, and return what is stored."""
        path = f"/api/v1/runs/{self._trial_id}/metadata"
        body = {"runId": self._trial_id, "metadata": metadata}
        stored: Optional[Dict[str, Any]] = self._session.post(path, json=body).json()["metadata"]
        return stored

    def get_metadata(self) -> Optional[Dict[str, Any]]:
        """Return this run's metadata."""
        answer = self._session.get(f"/api/v1/runs/{self._trial_id}/metadata").json()
        stored: Optional[Dict[str, Any]] = answer.get("metadata")
        return stored

    def report_early_exit(self, reason: EarlyExitReason) -> None:
        """Report that this trial ends early, and why."""
        value = EarlyExitReason(reason).value
        logger.info("report_early_exit(%s)", value)
        try:
            self._session.post(
                f"/api/v1/trials/{self._trial_id}/early_exit", json={"reason": value}
            )
        except errors.APIException as err:
            if err.status_code != 400:
                raise
            logger.warning("an early exit was reported before; the first reason stays")

    def get_experiment_best_validation(self) -> Optional[float]:
        """Return the best value of the searcher's metric in the experiment, or None if none yet."""
        path = f"/api/v1/experiments/{self._exp_id}/searcher/best_searcher_validation_metric"
        try:
            return float(self._session.get(path).json()["metric"])
        except errors.NotFoundException:
            return None

    def _get_last_validation(self) -> Optional[int]:
        answer = self._session.get(f"/api/v1/trials/{self._trial_id}").json()
        last = answer["trial"].get("latestValidation") or {}
        steps: Optional[int] = last.get("totalBatches")
        return steps


class DummyTrainContext(TrainContext):
    """Reports to the log.

    Example:

        >>> from determined import core
        >>> train = core.DummyTrainContext()
        >>> train.report_validation_metrics(1, {"loss": 0.5})          # a line of the log
        >>> train.set_metadata({"a": 1})
        {'a': 1}
    """

    def __init__(self, tensorboard_path: Optional[pathlib.Path] = None) -> None:
        self._tbd_directory = tensorboard_path
        self._metadata: Optional[Dict[str, Any]] = None

    def set_status(self, status: str) -> None:
        """Log the status."""
        logger.info("status: %s", status)

    def report_progress(self, progress: float) -> None:
        """Log the progress."""
        logger.info("progress: %s", progress)

    def _report_trial_metrics(
        self,
        group: str,
        steps_completed: int,
        metrics: Dict[str, Any],
        batch_metrics: Optional[List[Dict[str, Any]]] = None,
    ) -> None:
        """Do nothing: the caller has logged them."""

    def get_tensorboard_path(self) -> pathlib.Path:
        """Return the folder given to the context, or a new temporary one."""
        if self._tbd_directory is None:
            self._tbd_directory = pathlib.Path(tempfile.mkdtemp(prefix="tensorboard-"))
        return self._tbd_directory

    def upload_tensorboard_files(
        self,
        selector: Callable[[pathlib.Path], bool] = lambda _: True,
        mangler: Callable[[pathlib.Path, int], pathlib.Path] = lambda p, __: p,
    ) -> None:
        """Do nothing."""

    def set_metadata(self, metadata: Dict[str, Any]) -> Optional[Dict[str, Any]]:
        """Store metadata in this process only."""
        self._metadata = dict(metadata)
        return self._metadata

    def get_metadata(self) -> Optional[Dict[str, Any]]:
        """Return the metadata of the last ``set_metadata``."""
        return self._metadata

    def report_early_exit(self, reason: EarlyExitReason) -> None:
        """Log the reason."""
        logger.info("early exit: %s", EarlyExitReason(reason).value)

    def get_experiment_best_validation(self) -> Optional[float]:
        """Return None."""
        return None

    def _get_last_validation(self) -> Optional[int]:
        return None
