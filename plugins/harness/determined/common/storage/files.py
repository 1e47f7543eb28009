"""Files in storage that are no checkpoints, such as TensorBoard's.

Unlike checkpoints, these files grow: a writer stores a file again each time that it has grown, and
a reader continues at its last position.
"""

from __future__ import annotations

import abc
import os
import pathlib
import posixpath
import shutil
import time
from typing import Dict, Iterator, NamedTuple, Union

from determined import util

__all__ = ["FileState", "Files", "FolderFiles"]

CHUNK_BYTES = 1 << 20


class FileState(NamedTuple):
    """A file's size, and a mark that changes whenever its contents do.

    Example: ``grown = files.list()["events"].size > start``
    """

    size: int
    version: str


class Files(abc.ABC):
    """The files below one folder of storage, named by their paths in it.

    Example::

        files = manager.files("tensorboard/experiment/5")
        files.store(pathlib.Path("events.out"), "trial/7/events.out")
        for name, state in files.list().items():
            contents = b"".join(files.read(name, start=0))
        files.delete()
    """

    @abc.abstractmethod
    def list(self) -> Dict[str, FileState]:
        """Return all files; none where the folder does not exist."""

    @abc.abstractmethod
    def read(self, name: str, start: int = 0) -> Iterator[bytes]:
        """Yield the contents of a file from an offset on; FileNotFoundError if it is gone."""

    @abc.abstractmethod
    def store(self, source: pathlib.Path, name: str) -> None:
        """Store a file under a name; readers see either the previous or the new contents."""

    @abc.abstractmethod
    def delete(self) -> None:
        """Delete all files."""


def checked_name(name: str) -> str:
    """Return the path of a file below its folder; ValueError if it leads out of it."""
    normal = posixpath.normpath(name)
    if posixpath.isabs(normal) or normal in (".", "..") or normal.startswith("../"):
        raise ValueError(f"{name!r} leads out of its folder")
    return normal


def make_open_folders(path: Union[str, os.PathLike[str]]) -> None:
    """Make a folder and those above it, open to all users; existing folders do not change.

    It does not change the umask, because that would affect all threads of the process.
    """
    folder = pathlib.Path(path)
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for folder in reversed(missing):
        try:
            folder.mkdir()
        except FileExistsError:
            if not folder.is_dir():
                raise
            continue  # another worker was faster, and opens it
        folder.chmod(0o777)


class FolderFiles(Files):
    """Files below a folder of a mounted file system.

    Example:

        >>> import tempfile
        >>> FolderFiles(pathlib.Path(tempfile.mkdtemp())).list()
        {}
    """

    def __init__(self, root: pathlib.Path) -> None:
        self._root = root

    def __str__(self) -> str:
        return str(self._root)

    def list(self) -> Dict[str, FileState]:
        """Return all files except those that are being stored."""
        found = {}
        for current, _, names in os.walk(self._root):
            for name in names:
                path = pathlib.Path(current, name)
                if name.startswith("."):
                    continue
                try:
                    state = path.stat()
                except FileNotFoundError:
                    continue
                relative = path.relative_to(self._root).as_posix()
                found[relative] = FileState(state.st_size, f"{state.st_mtime_ns}/{state.st_size}")
        return found

    def read(self, name: str, start: int = 0) -> Iterator[bytes]:
        """Yield the contents of a file from an offset on."""
        with (self._root / checked_name(name)).open("rb") as source:
            source.seek(start)
            while True:
                chunk = source.read(CHUNK_BYTES)
                if not chunk:
                    return
                yield chunk

    def store(self, source: pathlib.Path, name: str) -> None:
        """Copy a file atomically."""
        target = self._root / checked_name(name)
        # Tasks of other users create their own folders beside these.
        make_open_folders(self._root)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.{time.monotonic_ns()}")
        shutil.copyfile(source, partial)
        os.replace(partial, target)

    def delete(self) -> None:
        """Delete the folder."""
        if self._root.exists():
            util.rmtree_nfs_safe(self._root)
