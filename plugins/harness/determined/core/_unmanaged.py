"""The context of a run outside of the cluster: it reports with its user's session."""

from __future__ import annotations

import pathlib
import tempfile
from typing import Any, Dict, Optional, Union

from determined import _info, tensorboard
from determined.common import api, storage
from determined.common.api import _retry
from determined.core import _context
from determined.core._checkpoint import CheckpointContext
from determined.core._distributed import DistributedContext
from determined.core._experimental import ExperimentalCoreContext
from determined.core._heartbeat import _UnmanagedTrialHeartbeat
from determined.core._log_shipper import LogShipper
from determined.core._metrics import _MetricsContext
from determined.core._preempt import DummyPreemptContext, PreemptMode
from determined.core._profiler import ProfilerContext
from determined.core._reporter import Reporter
from determined.core._searcher import _build_searcher
from determined.core._tensorboard_mode import TensorboardMode
from determined.core._train import TrainContext


def storage_config(given: Optional[Union[str, Dict[str, Any]]]) -> Dict[str, Any]:
    """Return the configuration of checkpoint storage: as given, else a folder of the user."""
    if isinstance(given, dict):
        return given
    return storage.shortcut_to_config(given or _context.user_folder(), on_cluster=False)


def make(
    info: _info.ClusterInfo,
    session: api.Session,
    distributed: DistributedContext,
    checkpoint_storage: Dict[str, Any],
    preempt_mode: PreemptMode,
    tensorboard_mode: TensorboardMode,
) -> _context.Context:
    """Return the context of a run; its end reports how the run ended."""
    trial = info.trial
    session = session.with_retry(_retry.task_policy())
    # This process uses the storage's own path: it has no mount of a task.
    manager = storage.build(checkpoint_storage, container_path=None)
    chief = distributed.rank == 0
    board = _board(info, manager, chief and tensorboard_mode == TensorboardMode.AUTO)
    writer = None
    if tensorboard_mode == TensorboardMode.AUTO and chief:
        writer = tensorboard.BatchMetricWriter(tensorboard.EventWriter(board.base_path))
    reporter = Reporter(session)
    metrics = _MetricsContext(session, trial.trial_id, trial._trial_run_id, reporter)
    storage_id = _context._prepare_run(session, distributed, trial.trial_id, checkpoint_storage)
    _context._dump_stacks_on_sigusr1()
    return _context.Context(
        _session=session,
        info=info,
        distributed=distributed,
        checkpoint=CheckpointContext(
            distributed,
            manager,
            session,
            info.task_id,
            None,
            tensorboard_mode,
            board,
            storage_id,
            reporter,
        ),
        # The run has no slots, so nobody preempts it.
        preempt=DummyPreemptContext(distributed, preempt_mode),
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
        experimental=ExperimentalCoreContext(session, trial.trial_id),
        profiler=ProfilerContext(info.agent_id, metrics, distributed),
        _metrics=metrics,
        _tensorboard_manager=board,
        _tbd_writer=writer,
        _heartbeat=_heartbeat(session, trial.trial_id) if chief else None,
        _log_shipper=LogShipper(session, info.task_id, distributed.rank),
    )


def _heartbeat(session: api.Session, trial_id: int) -> _UnmanagedTrialHeartbeat:
    return _UnmanagedTrialHeartbeat(session=session, trial_id=trial_id)


def _board(
    info: _info.ClusterInfo, manager: storage.StorageManager, sync_on_close: bool
) -> tensorboard.TensorboardManager:
    """Return the manager of TensorBoard's files, which are in a folder of this run."""
    trial = info.trial
    path = pathlib.Path(
        info.cluster_id,
        "tensorboard",
        "experiment",
        str(trial.experiment_id),
        "trial",
        str(trial.trial_id),
    )
    base = pathlib.Path(tempfile.mkdtemp(prefix=f"determined-tensorboard-{trial.trial_id}-"))
    return tensorboard.TensorboardManager(manager.files(path.as_posix()), base, path, sync_on_close)
