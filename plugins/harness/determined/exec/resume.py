"""Keeps a folder of a trial's program across attempts, for programs that report no checkpoints.

``python3 -m determined.exec.resume restore FOLDER [CHECKPOINT]`` copies a kept folder into FOLDER
before the program starts; ``save FOLDER`` stores FOLDER as a checkpoint after the program has
ended. The runner starts both for ``resume: {path: ...}`` of the configuration, and the master says
which checkpoint is the newest kept folder of the trial.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import pathlib
import stat
import sys
import uuid
from typing import Any, Dict, List, NamedTuple, Optional

import determined as det
from determined.common import api, storage
from determined.common.api import errors
from determined.common.storage.shared import SharedFSStorageManager
from determined.core import DummyDistributedContext, TensorboardMode
from determined.core._checkpoint import CheckpointContext
from determined.core._context import _checkpoint_sources, _task_session, shared_fs_path

__all__ = ["main"]

logger = logging.getLogger("determined.resume")

# What was restored, as a file in the run directory: an unchanged folder is not stored again.
_RESTORED = "resume.json"

# The master's limits of a checkpoint (master/checkpoints/bounds.go).
_MAX_FILES = 100_000
_MAX_NAMES = 4 << 20
_MAX_NAME = 4096

# Folders that are never kept, nor anything in them.
_SYSTEM = ("/proc", "/sys", "/dev")

# How many skipped paths the log names.
_NAMED = 20


class _NotKept(Exception):
    """The folder cannot be kept or restored; the message says why."""


class _Contents(NamedTuple):
    """What is kept of a folder: files and folders with their sizes, and why others are not."""

    # As a checkpoint names them: a folder ends with a slash.
    resources: Dict[str, int]
    # The size and the time of the last change of each file.
    state: Dict[str, List[int]]
    skipped: List[str]


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

    def places(self) -> List[str]:
        """Return the folders that this task sees of checkpoint storages."""
        manager = self._storage_manager
        own = [manager._base_path] if isinstance(manager, SharedFSStorageManager) else []
        return [*own, shared_fs_path()]

    def keep(self, folder: str, contents: _Contents) -> str:
        """Store the folder as a checkpoint at the trial's last reported step; return its id."""
        trial = self._info.trial.trial_id
        answer = self._session.get(f"/api/v1/trials/{trial}").json()
        steps = int((answer.get("trial") or {}).get("totalBatchesProcessed") or 0)
        storage_id = str(uuid.uuid4())
        try:
            self._storage_manager.upload(src=folder, dst=storage_id, paths=set(contents.resources))
        except BaseException:
            self._discard(storage_id)
            raise
        try:
            self._report_kept(storage_id, contents.resources, steps, folder)
        except errors.APIException as refusal:
            # Other errors may hide that the master has stored the report.
            if refusal.status_code < 500:
                self._discard(storage_id)
            raise
        return storage_id

    def _report_kept(
        self, storage_id: str, resources: Dict[str, int], steps: int, folder: str
    ) -> None:
        body = {
            "uuid": storage_id,
            "taskId": self._task_id,
            "allocationId": self._allocation_id,
            "state": "STATE_COMPLETED",
            "metadata": {"steps_completed": steps, "resume": folder},
            # A size may be too large for a JSON number.
            "resources": {name: str(size) for name, size in resources.items()},
            "training": {},
            "kept": True,
        }
        self._session.post("/api/v1/checkpoints", json=body)

    def _discard(self, storage_id: str) -> None:
        """Remove the files of a checkpoint that was not reported."""
        try:
            self._storage_manager.delete(storage_id, ["**/*"])
        except Exception as error:
            logger.warning(
                "the files of %s, which is no checkpoint, stay until a sweep: %s",
                storage_id,
                error,
            )


def main(argv: Optional[List[str]] = None) -> int:
    """Run the command line.

    Example: ``main(["save", "/run/determined/workdir/out"])``
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["restore", "save"])
    parser.add_argument("folder")
    parser.add_argument("checkpoint", nargs="?")
    args = parser.parse_args(argv)
    info = det.get_cluster_info()
    if info is None or info.task_type != "TRIAL":
        print("determined.exec.resume keeps folders of trials: this is none", file=sys.stderr)
        return 1
    logging.basicConfig(level=logging.INFO, format="%(levelname)s: %(message)s")
    session = _task_session(info)
    try:
        folders = _Folders(info, session)
        _check_place(args.folder, folders.places())
        if args.action == "restore":
            restore(folders, args.folder, args.checkpoint)
        else:
            save(folders, args.folder)
    except _NotKept as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        session.close()
    return 0


def restore(folders: _Folders, folder: str, checkpoint: Optional[str]) -> None:
    """Copy the checkpoint; files of other names stay."""
    if checkpoint is None:
        logger.info("%s begins empty: the trial has not kept it yet", folder)
        return
    folders.download(checkpoint, folder)
    _note().write_text(json.dumps(_contents(folder).state), encoding="utf-8")
    logger.info("restored %s from checkpoint %s", folder, checkpoint)


def save(folders: _Folders, folder: str) -> None:
    """Store the folder, unless it is empty or has not changed since it was restored."""
    if not os.path.lexists(folder):
        logger.warning("nothing to keep: the program has made no folder %s", folder)
        return
    contents = _contents(folder)
    for line in contents.skipped[:_NAMED]:
        logger.warning("not kept: %s", line)
    if len(contents.skipped) > _NAMED:
        logger.warning("not kept: %d more", len(contents.skipped) - _NAMED)
    if not contents.state:
        logger.info("nothing to keep: %s has no files", folder)
        return
    if _note().exists() and json.loads(_note().read_text(encoding="utf-8")) == contents.state:
        logger.info("%s has not changed since it was restored", folder)
        return
    _check_limits(folder, contents.resources)
    logger.info("kept %s as checkpoint %s", folder, folders.keep(folder, contents))


def _note() -> pathlib.Path:
    return pathlib.Path(os.environ["DET_RUN_DIR"]) / _RESTORED


def _inside(path: str, folder: str) -> bool:
    return os.path.commonpath([path, folder]) == folder


def _check_place(folder: str, stores: List[str]) -> None:
    """Refuse folders that are not the program's own: the storage, those of the runner and of Linux.

    A kept folder is read whole, and restored over what is there.
    """
    real = os.path.realpath(folder)
    if os.path.lexists(folder) and not os.path.isdir(real):
        raise _NotKept(f"resume.path must be a folder: {folder} is none")
    run = os.path.realpath(os.environ["DET_RUN_DIR"])
    work = os.path.join(run, "workdir")
    if _inside(real, run) and (real == work or not _inside(real, work)):
        raise _NotKept(f"resume.path: {folder} belongs to the runner, in {run}; name another")
    refused = [run, *_SYSTEM, *map(os.path.realpath, stores)]
    for other in refused:
        if _inside(other, real) or (other != run and _inside(real, other)):
            raise _NotKept(
                f"resume.path: {folder} is {real}, which contains or lies in {other}; name another"
            )


def _check_limits(folder: str, resources: Dict[str, int]) -> None:
    """Refuse what the master would refuse after the upload."""
    names = [len(name.encode("utf-8", "surrogateescape")) for name in resources]
    if len(names) > _MAX_FILES:
        raise _NotKept(
            f"{folder} has {len(names)} files and folders; {_MAX_FILES} can be kept: put them "
            "into archives"
        )
    if sum(names) > _MAX_NAMES or max(names) > _MAX_NAME:
        raise _NotKept(
            f"the names of the files in {folder} have {sum(names)} bytes, the longest "
            f"{max(names)}; {_MAX_NAMES} and {_MAX_NAME} can be kept: put them into archives"
        )


def _contents(folder: str) -> _Contents:
    """List what is kept of a folder: regular files, and links to regular files in it.

    Of a link the contents are stored. Nothing else can be copied: a pipe has no end, and what a
    link out of the folder leads to is not the program's.
    """
    found = _Contents({}, {}, [])
    root = os.path.realpath(folder)
    for current, directories, files in os.walk(root, onerror=_fail):
        for name in list(directories):
            path = os.path.join(current, name)
            relative = os.path.relpath(path, root)
            if os.path.islink(path):
                found.skipped.append(f"{relative} is a link to a folder")
                directories.remove(name)
            else:
                _add(found, relative + "/", 0)
        for name in files:
            path = os.path.join(current, name)
            relative = os.path.relpath(path, root)
            why, state = _regular(path, root)
            if state is None:
                found.skipped.append(f"{relative} is {why}")
            elif _add(found, relative, state.st_size):
                found.state[relative] = [state.st_size, state.st_mtime_ns]
    return found


def _fail(error: OSError) -> None:
    raise _NotKept(f"a part of the folder cannot be read: {error}")


def _add(found: _Contents, relative: str, size: int) -> bool:
    try:
        relative.encode("utf-8")
    except UnicodeEncodeError:
        found.skipped.append(f"{relative!r} has a name that is no UTF-8")
        return False
    found.resources[relative] = size
    return True


def _regular(path: str, root: str) -> Any:
    """Return why a file is not kept, and the state of one that is."""
    if os.path.islink(path) and not _inside(os.path.realpath(path), root):
        return "a link that leads out of the folder", None
    try:
        state = os.stat(path)
    except OSError:
        return "a link that leads nowhere", None
    if not stat.S_ISREG(state.st_mode):
        return "no regular file", None
    return "", state


if __name__ == "__main__":
    sys.exit(main())
