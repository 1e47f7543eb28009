"""Checkpoints in any kind of object storage.

A checkpoint is written into a local folder and uploaded when it is complete; it is downloaded
before it is read. Each kind implements how one object is sent, fetched, listed and deleted; this
module implements the rest.
"""

from __future__ import annotations

import abc
import contextlib
import itertools
import logging
import math
import os
import pathlib
import posixpath
import re
import shutil
import tempfile
import threading
import time
from concurrent import futures
from typing import Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Set

from determined import errors
from determined.common.storage.base import (
    AnyPath,
    Paths,
    Selector,
    StorageManager,
    checked_id,
    list_directory,
)
from determined.common.storage.files import Files, FileState, checked_name

__all__ = ["ObjectFiles", "ObjectStorageManager"]

logger = logging.getLogger("determined.common.storage")

# Number of files that are sent or fetched in parallel.
WORKERS = 8

# How often a long upload or download logs its progress.
SAY_SECONDS = 10.0

# Called with the number of bytes transferred since the last call.
Count = Callable[[int], object]


class Stored(NamedTuple):
    """An object: its key, its size, and a mark that changes whenever its contents do."""

    key: str
    size: int
    version: str


class Progress:
    """Logs from time to time how many bytes of a checkpoint are transferred."""

    def __init__(self, doing: str, total: int, say_seconds: float = SAY_SECONDS) -> None:
        self._doing = doing
        self._total = total
        self._say_seconds = say_seconds
        self._said = time.monotonic()
        self._done = 0
        self._lock = threading.Lock()

    def __call__(self, count: int) -> None:
        """Count transferred bytes."""
        with self._lock:
            self._done += count
            now = time.monotonic()
            if now - self._said < self._say_seconds:
                return
            self._said = now
            done = min(self._done, self._total)  # repeated parts count again
        logger.info("%s: %s of %s", self._doing, _size(done), _size(self._total))


def _size(count: float) -> str:
    """Return a number of bytes as people read it."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


class ObjectStorageManager(StorageManager):
    """A prefix of a bucket. Checkpoints are copied there from a local folder, and back.

    Example::

        class Mine(ObjectStorageManager):
            def objects(self, root): ...                  # list what is stored under a key
            def put_file(self, path, key, count): ...     # send a file, calling count(bytes)
            def put_bytes(self, contents, key): ...
            def get_file(self, key, path, count): ...
            def read(self, key, start): ...
            def remove(self, keys): ...
            def access(self): ...                         # whether the bucket can be reached
    """

    # The name of this kind in messages.
    kind = ""

    def __init__(self, prefix: Optional[str] = None, temp_dir: Optional[str] = None) -> None:
        super().__init__(temp_dir or tempfile.gettempdir())
        self._prefix = posixpath.normpath(posixpath.join("/", prefix or "")).strip("/")

    # Implemented by each kind.

    @abc.abstractmethod
    def objects(self, root: str) -> Iterator[Stored]:
        """Yield the objects under a key."""

    @abc.abstractmethod
    def put_file(self, path: str, key: str, count: Count) -> None:
        """Upload a file, in parts if it is large, with checksums if the store supports them."""

    @abc.abstractmethod
    def put_bytes(self, contents: bytes, key: str) -> None:
        """Store an object; replace an existing one."""

    @abc.abstractmethod
    def get_file(self, key: str, path: str, count: Count) -> None:
        """Download an object."""

    @abc.abstractmethod
    def read(self, key: str, start: int) -> Iterator[bytes]:
        """Yield the contents of an object from an offset on; FileNotFoundError if it is gone."""

    @abc.abstractmethod
    def remove(self, keys: List[str]) -> None:
        """Delete objects; one that is gone is no error."""

    @contextlib.contextmanager
    def access(self) -> Iterator[None]:
        """Turn the store's errors of the sign-in into NoDirectStorageAccess."""
        yield

    # Implemented here.

    def pre_store_path(self, dst: str) -> pathlib.Path:
        """Make a local folder to fill; the workers of one machine share it."""
        path = pathlib.Path(self._base_path, checked_id(dst))
        path.mkdir(parents=True, exist_ok=True)
        return path

    def post_store_path(self, src: AnyPath, dst: str, paths: Optional[Paths] = None) -> None:
        """Upload the local folder, and remove it."""
        try:
            self.upload(src, dst, paths)
        finally:
            shutil.rmtree(src, ignore_errors=True)

    def abandon_store_path(self, src: AnyPath, dst: str) -> None:
        """Remove the local folder; no part of it is in storage."""
        shutil.rmtree(src, ignore_errors=True)

    def store_path_is_direct_access(self) -> bool:
        """Say no."""
        return False

    @contextlib.contextmanager
    def restore_path(self, src: str, selector: Optional[Selector] = None) -> Iterator[pathlib.Path]:
        """Provide a local copy, which is removed at the end."""
        folder = tempfile.mkdtemp(prefix=f"{checked_id(src)}-", dir=self._base_path)
        try:
            self.download(src, folder, selector)
            yield pathlib.Path(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def upload(self, src: AnyPath, dst: str, paths: Optional[Paths] = None) -> None:
        """Upload a folder, or the given paths of it. Directories are kept, also empty ones."""
        root = self._root(dst)
        found = sorted(list_directory(src) if paths is None else paths)
        files = [os.path.join(src, name) for name in found if not name.endswith("/")]
        total = sum(os.path.getsize(path) for path in files)
        progress = Progress(f"uploading checkpoint {dst} to {self}", total)

        def put(name: str) -> None:
            if name.endswith("/"):
                self.put_bytes(b"", root + name)
            else:
                self.put_file(os.path.join(src, name), root + name, progress)

        # Directories before their contents: a store with folders creates the folders of a key
        # itself, and if both happen at the same time SeaweedFS loses the key of the directory.
        def depth(name: str) -> float:
            return name.count("/") if name.endswith("/") else math.inf

        with self.access():
            for _, level in itertools.groupby(sorted(found, key=depth), key=depth):
                together(put, list(level))

    def download(self, src: str, dst: AnyPath, selector: Optional[Selector] = None) -> None:
        """Download a checkpoint, or the selected paths of it."""
        root = self._root(src)
        with self.access():
            stored = self._list(root)
        if not stored:
            raise errors.CheckpointNotFound(
                f"checkpoint {src} is not in {self.kind} storage at {self}"
            )
        os.makedirs(dst, exist_ok=True)
        wanted = []
        for name in sorted(stored):
            if selector is not None and not selector(name):
                continue
            target = os.path.join(dst, checked_name(name))
            if name.endswith("/"):
                os.makedirs(target, exist_ok=True)
            else:
                os.makedirs(os.path.dirname(target), exist_ok=True)
                wanted.append(name)
        total = sum(stored[name] for name in wanted)
        progress = Progress(f"downloading checkpoint {src} from {self}", total)

        def get(name: str) -> None:
            self.get_file(root + name, os.path.join(dst, name), progress)

        with self.access():
            together(get, wanted)

    def delete(self, tgt: str, globs: List[str]) -> Dict[str, int]:
        """Delete the files that the globs match; return the remaining files."""
        root = self._root(tgt)
        stored = self._list(root)
        if "**/*" in globs:
            doomed = set(stored)
        else:
            matches = [_matcher(pattern) for pattern in globs]
            doomed = {name for name in stored if any(match(name) for match in matches)}
        remaining = {name: size for name, size in stored.items() if name not in doomed}
        if all(name.endswith("/") for name in remaining):
            doomed, remaining = set(stored), {}
        self.remove([root + name for name in sorted(doomed)])
        return remaining

    def files(self, path: str) -> ObjectFiles:
        """Return the files below a folder of this storage that are no checkpoints."""
        return ObjectFiles(self, posixpath.join(self._prefix, checked_name(path)).lstrip("/") + "/")

    def _root(self, storage_id: str) -> str:
        return posixpath.join(self._prefix, checked_id(storage_id)).lstrip("/") + "/"

    def _list(self, root: str) -> Dict[str, int]:
        """Return the objects under a key, and their directories."""
        found: Dict[str, int] = {}
        for item in self.objects(root):
            name = item.key[len(root) :]
            if not name:
                continue
            found[name] = item.size
            parent = posixpath.dirname(name.rstrip("/"))
            while parent:
                found.setdefault(parent + "/", 0)
                parent = posixpath.dirname(parent)
        return found


class ObjectFiles(Files):
    """Files below a key.

    Example: ``files = storage.build({"type": "s3", "bucket": "b"}, None).files("tensorboard")``
    """

    def __init__(self, manager: ObjectStorageManager, root: str) -> None:
        self._manager = manager
        self._root = root

    def __str__(self) -> str:
        return f"{self._manager}: {self._root}"

    def list(self) -> Dict[str, FileState]:
        """Return all files."""
        return {
            item.key[len(self._root) :]: FileState(item.size, item.version)
            for item in self._manager.objects(self._root)
            if not item.key.endswith("/")
        }

    def read(self, name: str, start: int = 0) -> Iterator[bytes]:
        """Yield the contents of a file from an offset on."""
        return self._manager.read(self._root + checked_name(name), start)

    def store(self, source: pathlib.Path, name: str) -> None:
        """Store a file under a name; an existing file is replaced at once."""
        # Whole in memory: a file that grows while it is sent would not have the length that was
        # announced for it.
        self._manager.put_bytes(source.read_bytes(), self._root + checked_name(name))

    def delete(self) -> None:
        """Delete all files."""
        self._manager.remove([item.key for item in self._manager.objects(self._root)])


def refuse_unknown(kind: str, config: Mapping[str, object], known: Set[str]) -> None:
    """Raise ValueError if a configuration has fields that its kind of storage does not know."""
    unknown = sorted(set(config) - known)
    if unknown:
        raise ValueError(
            f"checkpoint_storage of type {kind} has unknown fields: {', '.join(unknown)}; it "
            f"takes {', '.join(sorted(known))}"
        )


def together(work: Callable[[str], None], names: List[str]) -> None:
    """Call work for each name, several in parallel; the first error ends it."""
    with futures.ThreadPoolExecutor(max_workers=WORKERS) as pool:
        running = [pool.submit(work, name) for name in names]
        try:
            for one in futures.as_completed(running):
                one.result()
        except BaseException:
            for one in running:
                one.cancel()
            raise


def _matcher(pattern: str) -> Callable[[str], bool]:
    """Return whether a path matches a glob as in a file system.

    A star does not cross a slash and two of them do; a match that is a directory takes all that is
    in it along.
    """
    parts = []
    for part in pattern.rstrip("/").split("/"):
        if part == "**":
            parts.append("(?:[^/.][^/]*/)*")
            continue
        hidden = "" if part.startswith(".") else r"(?!\.)"
        parts.append(hidden + _translate(part) + "/")
    if pattern.rstrip("/").endswith("**"):
        parts.append("[^/.][^/]*/")
    return re.compile("".join(parts)[:-1] + "(?:/.*)?$", re.DOTALL).match  # type: ignore[return-value]


def _translate(part: str) -> str:
    """Turn one name of a glob into a regular expression that does not cross a slash."""
    out, at = "", 0
    while at < len(part):
        char = part[at]
        at += 1
        end = part.find("]", at + 1) if char == "[" else -1
        if char == "*":
            out += "[^/]*"
        elif char == "?":
            out += "[^/]"
        elif end > 0:
            inside = part[at:end].replace("\\", r"\\")
            out += f"[^{inside[1:]}]" if inside.startswith("!") else f"[{inside}]"
            at = end + 1
        else:
            out += re.escape(char)
    return out
