"""``core.init``: makes the contexts, for a task of a cluster or for another machine."""

from __future__ import annotations

import faulthandler
import json
import logging
import os
import pathlib
import signal
import sys
import threading
import types
from typing import Any, Dict, Optional, Type, Union

from determined import _info, tensorboard
from determined.common import api, constants, storage
from determined.common.api import _retry, certs
from determined.core._checkpoint import CheckpointContext, DummyCheckpointContext
from determined.core._distributed import DistributedContext, DummyDistributedContext
from determined.core._experimental import DummyExperimentalCoreContext, ExperimentalCoreContext
from determined.core._heartbeat import _Heartbeat
from determined.core._log_shipper import LogShipper
from determined.core._metrics import _DummyMetricsContext, _MetricsContext
from determined.core._preempt import DummyPreemptContext, PreemptContext, PreemptMode
from determined.core._profiler import DummyProfilerContext, ProfilerContext
from determined.core._reporter import Reporter
from determined.core._searcher import (
    DummySearcherContext,
    SearcherContext,
    SearcherContextMissing,
    _build_searcher,
)
from determined.core._tensorboard_mode import TensorboardMode
from determined.core._train import DummyTrainContext, EarlyExitReason, TrainContext
from determined.errors import InvalidHP

logger = logging.getLogger("determined.core")

_Storage = Optional[Union[str, Dict[str, Any]]]

_ALERT_LEVELS = {
    "debug": "LOG_LEVEL_DEBUG",
    "info": "LOG_LEVEL_INFO",
    "warn": "LOG_LEVEL_WARNING",
    "error": "LOG_LEVEL_ERROR",
}


class Context:
    """The interface of training code to the platform; ``init`` makes it.

    ``checkpoint``, ``distributed``, ``preempt``, ``searcher``, ``train``, ``profiler`` and
    ``experimental`` are the contexts for these subjects; ``info`` describes the task, None off the
    cluster. Train inside ``with core.init() as core_context``: the end of the block delivers queued
    reports.

    Example::

        with core.init() as core_context:                # start() and close() without a block
            core_context.train.report_progress(0.5)
            core_context.alert(title="digits", description="the loss is not falling", level="warn")

        core_context = core.init()
        core_context.start()
        core_context.close()
    """

    def __init__(
        self,
        checkpoint: CheckpointContext,
        _session: Optional[api.BaseSession] = None,
        distributed: Optional[DistributedContext] = None,
        preempt: Optional[PreemptContext] = None,
        train: Optional[TrainContext] = None,
        searcher: Optional[SearcherContext] = None,
        info: Optional[_info.ClusterInfo] = None,
        experimental: Optional[ExperimentalCoreContext] = None,
        profiler: Optional[ProfilerContext] = None,
        _metrics: Optional[_MetricsContext] = None,
        _tensorboard_manager: Optional[tensorboard.TensorboardManager] = None,
        _tbd_writer: Optional[tensorboard.BatchMetricWriter] = None,
        _heartbeat: Optional[_Heartbeat] = None,
        _log_shipper: Optional[LogShipper] = None,
    ) -> None:
        self.checkpoint = checkpoint
        self.distributed = distributed or DummyDistributedContext()
        self.preempt = preempt or DummyPreemptContext(self.distributed)
        self.train = train or DummyTrainContext()
        self.searcher = searcher or SearcherContextMissing()
        self.info = info
        self.experimental = experimental or DummyExperimentalCoreContext()
        self.profiler = profiler or DummyProfilerContext()
        self._session = _session
        self._metrics = _metrics or _DummyMetricsContext()
        self._tensorboard_manager = _tensorboard_manager
        self._tbd_writer = _tbd_writer
        self._heartbeat = _heartbeat
        self._log_shipper = _log_shipper

    def start(self) -> None:
        """Start the threads that ask about preemption and deliver reports."""
        self.preempt.start()
        self._metrics.start()
        if self._tensorboard_manager is not None:
            self._tensorboard_manager.start()
        if self._heartbeat is not None:
            self._heartbeat.start()
        if self._log_shipper is not None:
            self._log_shipper.start()
        if self.info is not None and self.info.task_type == "TRIAL":
            profiling = self.info.trial._config.get("profiling") or {}
            if profiling.get("enabled"):
                self.profiler.on()

    def __enter__(self) -> Context:
        self.start()
        return self

    def alert(
        self,
        title: Optional[str] = None,
        description: Optional[str] = None,
        level: Optional[str] = "info",
    ) -> None:
        """Send a message to the webhooks that listen for this experiment.

        level is one of debug, info, warn and error.
        """
        if self._session is None or self.info is None or self.info.task_type != "TRIAL":
            raise ValueError("alert() works in trials on a cluster only")
        if (level or "info") not in _ALERT_LEVELS:
            raise ValueError(f"level must be one of {', '.join(_ALERT_LEVELS)}, not {level!r}")
        data = {
            "title": title or "",
            "description": description or "",
            "level": _ALERT_LEVELS[level or "info"],
        }
        body = {
            "data": data,
            "experimentId": self.info.trial.experiment_id,
            "trialId": self.info.trial.trial_id,
        }
        self._session.post("/api/v1/webhooks/custom", json=body)

    def close(
        self,
        exc_type: Optional[Type[BaseException]] = None,
        exc_val: Optional[BaseException] = None,
        exc_tb: Optional[types.TracebackType] = None,
    ) -> None:
        """Deliver queued reports, and end the threads that ``start`` began.

        An error in one part does not keep the others from being closed. The first error is raised,
        unless training itself failed: then these errors are logged, so that training's error is
        the one that the user sees.
        """
        first: Optional[Exception] = None
        for close in (
            self.profiler._close,
            self.preempt.close,
            self._metrics.close,
            self._close_tensorboard,
            self._close_log_shipper,
            lambda: self._close_heartbeat(exc_type, exc_val, exc_tb),
            self.distributed.close,
            self._close_session,
        ):
            try:
                close()
            except Exception as err:
                if first is None and exc_type is None:
                    first = err
                else:
                    logger.error("%s", err)
        if first is not None:
            raise first

    def _close_tensorboard(self) -> None:
        if self._tbd_writer is not None:
            self._tbd_writer.close()
        if self._tensorboard_manager is not None:
            self._tensorboard_manager.close()

    def _close_log_shipper(self) -> None:
        if self._log_shipper is not None:
            self._log_shipper.close()

    def _close_heartbeat(
        self,
        exc_type: Optional[Type[BaseException]],
        exc_val: Optional[BaseException],
        exc_tb: Optional[types.TracebackType],
    ) -> None:
        if self._heartbeat is not None:
            self._heartbeat.close(exc_type, exc_val, exc_tb)

    def _close_session(self) -> None:
        if self._session is not None:
            self._session.close()

    def __exit__(
        self,
        exc_type: Optional[Type[BaseException]],
        exc_val: Optional[BaseException],
        exc_tb: Optional[types.TracebackType],
    ) -> None:
        self.close(exc_type, exc_val, exc_tb)
        if isinstance(exc_val, InvalidHP):
            self.train.report_early_exit(EarlyExitReason.INVALID_HP)
            logger.info("invalid hyperparameters end this trial: %s", exc_val)
            raise SystemExit(0)


def init(
    *,
    distributed: Optional[DistributedContext] = None,
    checkpoint_storage: _Storage = None,
    preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    tensorboard_mode: TensorboardMode = TensorboardMode.AUTO,
) -> Context:
    """Return the context for this process; use it as ``with core.init() as core_context``.

    ``distributed`` is required if a trial has more than one slot. ``checkpoint_storage``
    replaces the configured storage: a path, or a map as in the configuration (except
    ``shared_fs``, because the platform decides where a task sees its folder).

    Off the cluster the same code runs with contexts that log reports instead of sending them, and
    checkpoints are stored in ``checkpoint_storage``, else in a folder of the user.

    Example:

        >>> from determined import core
        >>> with core.init() as core_context:          # off the cluster: reports go to the log
        ...     core_context.train.report_training_metrics(1, {"loss": 0.5})
        ...     core_context.preempt.should_preempt()
        False
    """
    info = _info.get_cluster_info()
    if info is None:
        return _dummy_init(
            distributed=distributed,
            checkpoint_storage=checkpoint_storage,
            preempt_mode=preempt_mode,
        )
    if distributed is None and (len(info.container_addrs) > 1 or len(info.slot_ids) > 1):
        raise ValueError(
            f"this task has {sum(info.container_slot_counts)} slots on "
            f"{len(info.container_addrs)} nodes: pass a DistributedContext to core.init(), for "
            "example DistributedContext.from_torch_distributed()"
        )
    distributed = distributed or DummyDistributedContext()
    _dump_stacks_on_sigusr1()
    if info.task_type == "TRIAL":
        return _trial_init(info, distributed, checkpoint_storage, preempt_mode, tensorboard_mode)
    return Context(
        checkpoint=DummyCheckpointContext(distributed, _local_storage(checkpoint_storage)),
        distributed=distributed,
        preempt=DummyPreemptContext(distributed, preempt_mode),
        info=info,
        _session=_task_session(info),
    )


def _trial_init(
    info: _info.ClusterInfo,
    distributed: DistributedContext,
    checkpoint_storage: _Storage,
    preempt_mode: PreemptMode,
    tensorboard_mode: TensorboardMode,
) -> Context:
    trial = info.trial
    session = _task_session(info)
    configured: Dict[str, Any] = trial._config.get("checkpoint_storage") or {}
    if not configured:
        raise ValueError("this trial's configuration has no checkpoint_storage")
    manager = _given_storage(checkpoint_storage)
    if manager is None:
        manager = storage.build(configured, container_path=shared_fs_path())
    board = tensorboard.build(
        info.cluster_id,
        str(trial.experiment_id),
        str(trial.trial_id),
        configured,
        container_path=shared_fs_path(),
        # In automatic mode only the chief's files are kept.
        sync_on_close=tensorboard_mode == TensorboardMode.AUTO and distributed.rank == 0,
    )
    writer = None
    if tensorboard_mode == TensorboardMode.AUTO and distributed.rank == 0:
        writer = tensorboard.BatchMetricWriter(tensorboard.EventWriter(board.base_path))
    reporter = Reporter(session)
    metrics = _MetricsContext(session, trial.trial_id, trial._trial_run_id, reporter)
    return Context(
        _session=session,
        distributed=distributed,
        checkpoint=CheckpointContext(
            distributed,
            manager,
            session,
            info.task_id,
            info.allocation_id,
            tensorboard_mode,
            board,
            _prepare_run(session, distributed, trial.trial_id, checkpoint_storage or configured),
            reporter,
            _checkpoint_sources(),
        ),
        preempt=PreemptContext(session, info.allocation_id, distributed, preempt_mode),
        train=TrainContext(
            session,
            trial.trial_id,
            trial.experiment_id,
            metrics,
            distributed,
            tensorboard_mode,
            board,
            writer,
            reporter,
        ),
        searcher=_build_searcher(
            session, distributed, trial.trial_id, info.allocation_id, trial._config, reporter
        ),
        info=info,
        experimental=ExperimentalCoreContext(session, trial.trial_id),
        profiler=ProfilerContext(info.agent_id, metrics, distributed),
        _metrics=metrics,
        _tensorboard_manager=board,
        _tbd_writer=writer,
    )


def _dummy_init(
    *,
    distributed: Optional[DistributedContext] = None,
    checkpoint_storage: _Storage = None,
    tensorboard_path: Optional[pathlib.Path] = None,
    preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
) -> Context:
    """Return the context for a process off the cluster."""
    distributed = distributed or DummyDistributedContext()
    _dump_stacks_on_sigusr1()
    return Context(
        checkpoint=DummyCheckpointContext(distributed, _local_storage(checkpoint_storage)),
        distributed=distributed,
        preempt=DummyPreemptContext(distributed, preempt_mode),
        train=DummyTrainContext(tensorboard_path),
        searcher=DummySearcherContext(distributed),
    )


def _task_session(info: _info.ClusterInfo) -> api.Session:
    """Return a session with this task's token, which repeats requests while no master answers."""
    cert = certs.from_names(
        info.master_cert_file or os.environ.get("DET_MASTER_CERT_FILE"),
        info.master_cert_name or os.environ.get("DET_MASTER_CERT_NAME"),
    )
    session = api.TaskSession(
        info.master_url, os.environ.get("DET_USER", ""), info.session_token, cert
    )
    return session.with_retry(_retry.task_policy())


def _prepare_run(
    session: api.BaseSession,
    distributed: DistributedContext,
    run_id: int,
    checkpoint_storage: _Storage,
) -> Optional[int]:
    """Announce this run and its storage to the master; return the master's id of the storage.

    Only the chief reports checkpoints, so only the chief calls the master.
    """
    if distributed.rank != 0:
        return None
    if isinstance(checkpoint_storage, str):
        checkpoint_storage = storage.shortcut_to_config(checkpoint_storage)
    body = {"runId": run_id, "checkpointStorage": checkpoint_storage}
    storage_id = session.post("/api/v1/runs/start", json=body).json().get("storageId")
    return None if storage_id is None else int(storage_id)


def _checkpoint_sources() -> Dict[str, storage.StorageManager]:
    """Return the storage of checkpoints of other experiments from which this trial may start."""
    told: Dict[str, Any] = json.loads(os.environ.get("DET_CHECKPOINT_SOURCES") or "{}")
    return {
        storage_id: storage.build(config, container_path=shared_fs_path())
        for storage_id, config in told.items()
    }


def shared_fs_path() -> str:
    """Return the path at which this task sees the folder of a ``shared_fs`` storage."""
    return os.environ.get("DET_SHARED_FS_PATH") or constants.SHARED_FS_CONTAINER_PATH


def _given_storage(checkpoint_storage: _Storage) -> Optional[storage.StorageManager]:
    """Return the storage that training code names, or None if it names none."""
    if checkpoint_storage is None:
        return None
    if isinstance(checkpoint_storage, str):
        return storage.from_string(checkpoint_storage)
    if isinstance(checkpoint_storage, dict):
        if checkpoint_storage.get("type") == "shared_fs":
            raise ValueError(
                "core.init(checkpoint_storage=...) takes no map of type shared_fs: give a path, "
                "or set checkpoint_storage in the experiment's configuration"
            )
        return storage.build(checkpoint_storage, container_path=None)
    raise TypeError(
        f"checkpoint_storage must be a path or a map, not {type(checkpoint_storage).__name__}"
    )


def _local_storage(checkpoint_storage: _Storage) -> storage.StorageManager:
    """Return the storage that training code names, else a folder of the user."""
    manager = _given_storage(checkpoint_storage)
    if manager is None:
        path = user_folder()
        logger.info("no checkpoint_storage given: checkpoints go to %s", path)
        manager = storage.SharedFSStorageManager(path)
    return manager


def user_folder() -> str:
    """Return this user's folder for checkpoints without a configured storage."""
    if sys.platform == "darwin":
        base = pathlib.Path.home() / "Library" / "Application Support"
    else:
        base = pathlib.Path(
            os.environ.get("XDG_DATA_HOME") or pathlib.Path.home() / ".local" / "share"
        )
    return str(base / "determined")


def _dump_stacks_on_sigusr1() -> None:
    """Print what every thread is doing when the process gets SIGUSR1."""
    on_main_thread = threading.current_thread() is threading.main_thread()
    if hasattr(signal, "SIGUSR1") and on_main_thread:
        try:
            # By default the signal would end the process.
            faulthandler.register(signal.SIGUSR1, chain=callable(signal.getsignal(signal.SIGUSR1)))
        except (OSError, ValueError, RuntimeError) as err:
            # In some notebooks stderr is no file.
            logger.debug("no stack dumps on SIGUSR1: %s", err)
