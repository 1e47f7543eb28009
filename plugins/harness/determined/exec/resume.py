"""Keeps a folder of a trial's program across attempts, for programs that report no checkpoints.

``python3 -m determined.exec.resume restore FOLDER`` copies the newest kept folder of the trial
into FOLDER before the program starts; ``save FOLDER`` stores FOLDER as a checkpoint after the
program has ended. The runner starts both for ``resume: {path: ...}`` of the configuration.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import pathlib
import sys
import uuid
from typing import Any, Dict, List, Optional

import determined as det
from determined.common import api, storage
from determined.core import DummyDistributedContext, TensorboardMode
from determined.core._checkpoint import CheckpointContext
from determined.core._context import _checkpoint_sources, _task_session, shared_fs_path

__all__ = ["main"]

logger = logging.getLogger("determined.resume")

# The metadata that marks a checkpoint as a kept folder; its value is the path.
KEPT = "resume"

# What was restored, as a file in the run directory: an unchanged folder is not stored again.
_RESTORED = "resume.json"


class _Folders(CheckpointContext):
    """The kept folders of a trial. Their checkpoints have the files of the program alone."""

    def __init__(self, info: det.ClusterInfo, session: api.BaseSession) -> None:
        configured = info.trial._config.get("checkpoint_storage") or {}
        super().__init__(
            DummyDistributedContext(),
            storage.build(configured, container_path=shared_fs_path()),
            session,
            info.task_id,
            info.allocation_id,
            TensorboardMode.MANUAL,
            None,
            None,
            sources=_checkpoint_sources(),
        )
        self._info = info

    def newest(self) -> Optional[str]:
        """Return the newest kept folder: of the trial, else that from which the trial starts."""
        trial = self._info.trial.trial_id
        answer = self._session.get(f"/api/v1/trials/{trial}/checkpoints").json()
        kept: List[Dict[str, Any]] = [
            checkpoint
            for checkpoint in answer.get("checkpoints") or []
            if checkpoint.get("state") == "STATE_COMPLETED"
            and KEPT in (checkpoint.get("metadata") or {})
        ]
        if kept:
            newest: str = max(kept, key=lambda checkpoint: checkpoint["reportTime"])["uuid"]
            return newest
        first = self._info.latest_checkpoint
        if first is not None and KEPT in self.get_metadata(first):
            return first
        return None

    def keep(self, folder: str) -> str:
        """Store the folder as a checkpoint at the trial's last reported step; return its id."""
        trial = self._info.trial.trial_id
        answer = self._session.get(f"/api/v1/trials/{trial}").json()
        steps = int((answer.get("trial") or {}).get("totalBatchesProcessed") or 0)
        storage_id = str(uuid.uuid4())
        resources = storage.list_directory(folder)
        self._storage_manager.upload(src=folder, dst=storage_id)
        self._report_checkpoint(storage_id, resources, {"steps_completed": steps, KEPT: folder})
        return storage_id


def main(argv: Optional[List[str]] = None) -> int:
    """Run the command line.

    Example: ``main(["save", "/run/determined/workdir/out"])``
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["restore", "save"])
    parser.add_argument("folder")
    args = parser.parse_args(argv)
    info = det.get_cluster_info()
    if info is None or info.task_type != "TRIAL":
        print("determined.exec.resume keeps folders of trials: this is none", file=sys.stderr)
        return 1
    logging.basicConfig(level=logging.INFO, format="%(levelname)s: %(message)s")
    session = _task_session(info)
    try:
        folders = _Folders(info, session)
        if args.action == "restore":
            restore(folders, args.folder)
        else:
            save(folders, args.folder)
    finally:
        session.close()
    return 0


def restore(folders: _Folders, folder: str) -> None:
    """Copy the newest kept folder; files of other names stay."""
    newest = folders.newest()
    if newest is None:
        logger.info("%s begins empty: the trial has not kept it yet", folder)
        return
    folders.download(newest, folder)
    _note().write_text(json.dumps(_state(folder)), encoding="utf-8")
    logger.info("restored %s from checkpoint %s", folder, newest)


def save(folders: _Folders, folder: str) -> None:
    """Store the folder, unless it is empty or has not changed since it was restored."""
    state = _state(folder)
    if not state:
        logger.info("%s is not kept: it is empty or does not exist", folder)
        return
    if _note().exists() and json.loads(_note().read_text(encoding="utf-8")) == state:
        logger.info("%s has not changed since it was restored", folder)
        return
    logger.info("kept %s as checkpoint %s", folder, folders.keep(folder))


def _note() -> pathlib.Path:
    return pathlib.Path(os.environ["DET_RUN_DIR"]) / _RESTORED


def _state(folder: str) -> Dict[str, List[int]]:
    """Map each file to its size and to the time of its last change."""
    state = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.is_file():
            found = path.stat()
            state[str(path.relative_to(folder))] = [found.st_size, found.st_mtime_ns]
    return state


if __name__ == "__main__":
    sys.exit(main())
