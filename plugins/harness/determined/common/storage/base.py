"""The interface of every kind of checkpoint storage."""

from __future__ import annotations

import abc
import contextlib
import os
import pathlib
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Set, Union

from determined.common.storage.files import Files

__all__ = ["StorageManager", "list_directory"]

# Paths inside a checkpoint, relative to its root; a directory ends with a slash.
Paths = Set[str]

# Returns whether to read a path inside a checkpoint.
Selector = Callable[[str], bool]

AnyPath = Union[str, "os.PathLike[str]"]


class StorageManager(abc.ABC):
    """A storage of checkpoints, with a folder for each storage id.

    A manager either provides folders of the storage itself (``store_path_is_direct_access``), so
    that user code writes directly into storage, or copies a local folder there afterwards.

    Example::

        manager = storage.build(config["checkpoint_storage"], container_path=None)
        with manager.store_path(uuid) as path:                 # stored when the block ends
            (path / "weights").write_bytes(weights)
        with manager.restore_path(uuid, selector=lambda name: name == "weights") as path:
            weights = (path / "weights").read_bytes()
        manager.upload("folder", uuid, paths=["weights"])
        manager.download(uuid, "folder")
        manager.delete(uuid, ["optimizer/**"])
        files = manager.files("tensorboard")                   # files that are no checkpoints

    A kind of storage defines these, and ``from_config`` reads its part of a configuration::

        class Mine(storage.StorageManager):
            @classmethod
            def from_config(cls, config, container_path): ...

            def pre_store_path(self, dst): ...                  # the folder to write to
            def post_store_path(self, src, dst, paths=None): ...     # store it
            def abandon_store_path(self, src, dst): ...              # or forget it
            def store_path_is_direct_access(self): ...               # is it storage itself?
    """

    def __init__(self, base_path: str) -> None:
        if not isinstance(base_path, str) or not base_path:
            raise ValueError(f"base_path must be a path, not {base_path!r}")
        self._base_path = base_path

    def __str__(self) -> str:
        return f"{type(self).__name__}({self._base_path})"

    @classmethod
    @abc.abstractmethod
    def from_config(
        cls, config: Mapping[str, Any], container_path: Optional[str]
    ) -> StorageManager:
        """Build a manager from the fields of ``checkpoint_storage`` except its type."""

    @abc.abstractmethod
    def pre_store_path(self, dst: str) -> pathlib.Path:
        """Prepare a folder for user code to fill."""

    @abc.abstractmethod
    def post_store_path(self, src: AnyPath, dst: str, paths: Optional[Paths] = None) -> None:
        """Store the files that user code wrote into the folder of ``pre_store_path``."""

    @abc.abstractmethod
    def abandon_store_path(self, src: AnyPath, dst: str) -> None:
        """Remove the incomplete files of user code."""

    @abc.abstractmethod
    def store_path_is_direct_access(self) -> bool:
        """Return whether ``pre_store_path`` provides a folder of the storage itself."""

    @abc.abstractmethod
    def restore_path(
        self, src: str, selector: Optional[Selector] = None
    ) -> contextlib.AbstractContextManager[pathlib.Path]:
        """Provide a folder with the checkpoint until the block ends."""

    @abc.abstractmethod
    def upload(self, src: AnyPath, dst: str, paths: Optional[Paths] = None) -> None:
        """Copy a folder, or the given paths of it, into storage."""

    @abc.abstractmethod
    def download(self, src: str, dst: AnyPath, selector: Optional[Selector] = None) -> None:
        """Copy a checkpoint, or the selected paths of it, into a folder.

        The selector gets directories with a slash at their end. The directories above a
        selected path are always created.
        """

    @abc.abstractmethod
    def delete(self, tgt: str, globs: List[str]) -> Dict[str, int]:
        """Delete the files that the globs match; return the remaining files with their sizes."""

    def files(self, path: str) -> Files:
        """Return the files below a folder of this storage that are no checkpoints."""
        raise TypeError(f"{self} keeps checkpoints only: no files below {path}")

    @contextlib.contextmanager
    def store_path(self, dst: str) -> Iterator[pathlib.Path]:
        """Provide a folder to fill, and store it when the block ends without an error."""
        path = self.pre_store_path(dst)
        try:
            yield path
        except BaseException:
            self.abandon_store_path(path, dst)
            raise
        self.post_store_path(path, dst)

    def _list_directory(self, root: AnyPath) -> Dict[str, int]:
        return list_directory(root)


def list_directory(root: AnyPath) -> Dict[str, int]:
    """Map every path below root to its size; a directory ends with a slash and has size 0.

    Example: ``sizes = list_directory("checkpoint")``
    """
    root = os.fspath(root)
    if not os.path.exists(root):
        raise FileNotFoundError(root)
    if not os.path.isdir(root):
        raise NotADirectoryError(root)
    found = {}
    for current, directories, files in os.walk(root):
        for name in directories:
            found[os.path.relpath(os.path.join(current, name), root) + "/"] = 0
        for name in files:
            path = os.path.join(current, name)
            found[os.path.relpath(path, root)] = os.path.getsize(path)
    return found


def checked_id(storage_id: str) -> str:
    """Return storage_id if it is a plain name, so that no id reaches outside its storage."""
    if not storage_id or storage_id in (".", "..") or "/" in storage_id or os.sep in storage_id:
        raise ValueError(f"a storage id is one name without slashes, not {storage_id!r}")
    return storage_id
