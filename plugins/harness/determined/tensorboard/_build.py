"""Chooses the TensorBoard manager that fits checkpoint storage."""

from __future__ import annotations

import os
import pathlib
import tempfile
from typing import Any, Mapping, Optional, Union

from determined.common import storage
from determined.tensorboard._manager import TensorboardManager


def get_sync_path(cluster_id: str, experiment_id: str, trial_id: str) -> pathlib.Path:
    """Return the path of a trial's files in checkpoint storage.

    Example:

        >>> get_sync_path("c", "5", "7").as_posix()
        'c/tensorboard/experiment/5/trial/7'
    """
    return pathlib.Path(cluster_id, "tensorboard", "experiment", experiment_id, "trial", trial_id)


def get_base_path(checkpoint_config: Mapping[str, Any]) -> pathlib.Path:
    """Return the local folder for the files of this process.

    On the cluster it is in the task's folder, which is removed with the task.

    Example: ``folder = get_base_path({})``
    """
    base = checkpoint_config.get("base_path") or os.environ.get("DET_RUN_DIR", "")
    if not base or not os.path.isdir(base):
        base = tempfile.gettempdir()
    allocation = os.environ.get("DET_ALLOCATION_ID", "")
    rank = os.environ.get("HOROVOD_RANK") or os.environ.get("RANK") or "0"
    return pathlib.Path(base) / f"tensorboard-{allocation}-{rank}"


def build(
    cluster_id: str,
    experiment_id: str,
    trial_id: str,
    checkpoint_config: Union[Mapping[str, Any], str],
    container_path: Optional[str] = None,
    sync_on_close: bool = True,
) -> TensorboardManager:
    """Return the manager for a trial's files, beside its checkpoints.

    Example::

        with tensorboard.build("cluster", "5", "7", "s3://bucket/team") as manager:
            write_events(manager.base_path)
            manager.sync()
    """
    if isinstance(checkpoint_config, str):
        checkpoint_config = storage.shortcut_to_config(checkpoint_config)
    path = get_sync_path(cluster_id, experiment_id, trial_id)
    manager = storage.build(checkpoint_config, container_path)
    return TensorboardManager(
        manager.files(path.as_posix()), get_base_path(checkpoint_config), path, sync_on_close
    )
