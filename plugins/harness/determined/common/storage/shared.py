"""Checkpoints on a file system that every node mounts."""

from __future__ import annotations

import contextlib
import glob
import logging
import os
import pathlib
import shutil
from typing import Any, Dict, Iterator, List, Mapping, Optional

from determined import errors, util
from determined.common.storage._copy import copy_checkpoint
from determined.common.storage.base import (
    AnyPath,
    Paths,
    Selector,
    StorageManager,
    checked_id,
    list_directory,
)
from determined.common.storage.files import FolderFiles, checked_name, make_open_folders

logger = logging.getLogger("determined.common.storage")


def full_storage_path(
    host_path: str, storage_path: Optional[str] = None, container_path: Optional[str] = None
) -> str:
    """Return the path at which this process sees storage_path, a folder below host_path.

    A task sees the folder host_path at container_path; other processes (None) use host_path.

    Example:

        >>> full_storage_path("/nfs", "team")
        '/nfs/team'
    """
    if not os.path.isabs(host_path):
        raise ValueError(
            f"checkpoint_storage.host_path must be an absolute path, not {host_path!r}"
        )
    root = host_path if container_path is None else container_path
    if not storage_path:
        return root
    relative = os.path.relpath(os.path.normpath(os.path.join(host_path, storage_path)), host_path)
    if relative == ".." or relative.startswith("../"):
        raise ValueError(
            f"checkpoint_storage.storage_path {storage_path!r} must lie below "
            f"host_path {host_path!r}"
        )
    return os.path.normpath(os.path.join(root, relative))


class SharedFSStorageManager(StorageManager):
    """A folder that user code writes to and reads from without a copy in between.

    Example: ``storage.build({"type": "shared_fs", "host_path": "/nfs/checkpoints"}, None)``
    """

    # The name of this kind in messages, and the field that has its path.
    _kind = "shared_fs"
    _place = "checkpoint_storage.host_path"

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], container_path: Optional[str]
    ) -> SharedFSStorageManager:
        """Build a manager from ``host_path`` and ``storage_path``."""
        # The old names of storage_path still appear in stored configurations; container_path
        # and propagation concern the mount, which is the platform's.
        known = {
            "host_path",
            "storage_path",
            "checkpoint_path",
            "tensorboard_path",
            "container_path",
            "propagation",
        }
        _refuse_unknown(cls._kind, config, known)
        if "host_path" not in config:
            raise ValueError("checkpoint_storage of type shared_fs needs a host_path")
        storage_path = (
            config.get("storage_path")
            or config.get("tensorboard_path")
            or config.get("checkpoint_path")
        )
        if container_path is not None and not os.path.isdir(container_path):
            raise ValueError(
                f"checkpoint_storage.host_path {config['host_path']!r} should be mounted at "
                f"{container_path} in this task, but that is no directory"
            )
        return cls(full_storage_path(config["host_path"], storage_path, container_path))

    def files(self, path: str) -> FolderFiles:
        """Return the files below a folder of this storage that are no checkpoints."""
        return FolderFiles(pathlib.Path(self._base_path, checked_name(path)))

    def pre_store_path(self, dst: str) -> pathlib.Path:
        """Make the checkpoint's own folder in storage."""
        # Tasks of other users store their checkpoints beside this one, so the base is open to
        # all; an administrator who wants other permissions creates it beforehand.
        if not os.path.isdir(self._base_path):
            make_open_folders(self._base_path)
        path = self._path(dst)
        path.mkdir(exist_ok=True)
        return path

    def post_store_path(self, src: AnyPath, dst: str, paths: Optional[Paths] = None) -> None:
        """Do nothing: user code has written directly into storage."""

    def abandon_store_path(self, src: AnyPath, dst: str) -> None:
        """Remove the unfinished checkpoint."""
        util.rmtree_nfs_safe(src, ignore_errors=True)

    def store_path_is_direct_access(self) -> bool:
        """Say yes."""
        return True

    @contextlib.contextmanager
    def restore_path(self, src: str, selector: Optional[Selector] = None) -> Iterator[pathlib.Path]:
        """Provide the checkpoint's own folder."""
        if selector is not None:
            logger.warning(
                "the selector is ignored: checkpoints in %s storage are read in place, whole",
                self._kind,
            )
        yield self._existing(src)

    def upload(self, src: AnyPath, dst: str, paths: Optional[Paths] = None) -> None:
        """Copy into the checkpoint's folder."""
        self.pre_store_path(dst)
        wanted = None if paths is None else paths.__contains__
        _copy_tree(os.fspath(src), str(self._path(dst)), wanted)

    def download(self, src: str, dst: AnyPath, selector: Optional[Selector] = None) -> None:
        """Copy out of the checkpoint's folder."""
        os.makedirs(dst, exist_ok=True)
        copy_checkpoint(str(self._existing(src)), os.fspath(dst), selector)

    def delete(self, tgt: str, globs: List[str]) -> Dict[str, int]:
        """Delete the files that the globs match, and the folder if it is empty then."""
        path = self._path(tgt)
        if not path.exists():
            logger.info("nothing to delete: %s does not exist", path)
            return {}
        if not path.is_dir():
            raise errors.CheckpointNotFound(f"{path} is no checkpoint: it is not a directory")
        if "**/*" in globs:
            util.rmtree_nfs_safe(path)
            return {}
        self._delete_matches(str(path), globs)
        remaining = list_directory(path)
        if not remaining:
            util.rmtree_nfs_safe(path)
        return remaining

    def _delete_matches(self, root: str, globs: List[str]) -> None:
        matches = []
        for pattern in globs:
            for found in glob.glob(os.path.join(glob.escape(root), pattern), recursive=True):
                match = os.path.normpath(found)
                if match != root and os.path.commonpath([root, match]) == root:
                    matches.append(match)
                else:
                    logger.warning("%r is outside of the checkpoint; not deleted", match)
        # Files before the directories that hold them.
        for match in sorted(set(matches), reverse=True):
            if os.path.isdir(match) and not os.path.islink(match):
                util.rmtree_nfs_safe(match)
            elif os.path.lexists(match):
                os.remove(match)

    def _path(self, storage_id: str) -> pathlib.Path:
        return pathlib.Path(self._base_path) / checked_id(storage_id)

    def _existing(self, storage_id: str) -> pathlib.Path:
        if not os.path.isdir(self._base_path):
            raise errors.CheckpointNotFound(
                f"the storage directory {self._base_path} does not exist: check {self._place}"
            )
        path = self._path(storage_id)
        if not path.is_dir():
            raise errors.CheckpointNotFound(
                f"checkpoint {storage_id} is not in {self._kind} storage at {self._base_path}"
            )
        return path


def _copy_tree(src: str, dst: str, wanted: Optional[Selector]) -> None:
    """Copy the selected paths below src into dst, which exists."""
    for current, directories, files in os.walk(src):
        relative = os.path.relpath(current, src)
        here = "" if relative == "." else relative
        for name in sorted(directories):
            path = os.path.join(here, name)
            if wanted is None or wanted(path + "/"):
                os.makedirs(os.path.join(dst, path), exist_ok=True)
        for name in sorted(files):
            path = os.path.join(here, name)
            if wanted is None or wanted(path):
                target = os.path.join(dst, path)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy2(os.path.join(current, name), target)


def _refuse_unknown(kind: str, config: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(set(config) - known)
    if unknown:
        raise ValueError(
            f"checkpoint_storage of type {kind} has unknown fields: {', '.join(unknown)}; it "
            f"takes {', '.join(sorted(known))}"
        )
