"""Copies TensorBoard's files from their local folder into checkpoint storage."""

from __future__ import annotations

import logging
import pathlib
import threading
from typing import Any, Callable, Dict, Optional, Tuple

from determined.common import storage

logger = logging.getLogger("determined.tensorboard")

PathSelector = Callable[[pathlib.Path], bool]
PathMangler = Callable[[pathlib.Path, int], pathlib.Path]

# Minimum interval between copies of a file: storage may be slow, or billed by request.
SYNC_SECONDS = 1.0


def _every(_path: pathlib.Path) -> bool:
    return True


def _unchanged(path: pathlib.Path, _rank: int) -> pathlib.Path:
    return path


class TensorboardManager:
    """Files below ``base_path``, kept in storage below ``sync_path``.

    ``sync`` requests a copy of changed files and returns; a thread copies. The thread logs
    failures and tries again at the next change, so they never end training.

    Example::

        manager = tensorboard.build("cluster", "5", "7", "/nfs/checkpoints")
        manager.start()
        manager.sync(selector=lambda path: path.suffix != ".tmp")
        manager.close()
        manager.delete()
    """

    def __init__(
        self,
        files: storage.Files,
        base_path: pathlib.Path,
        sync_path: pathlib.Path,
        sync_on_close: bool = True,
    ) -> None:
        self._files = files
        self.base_path = base_path
        self.sync_path = sync_path
        self._sync_on_close = sync_on_close
        self._copied: Dict[pathlib.Path, Tuple[int, int]] = {}
        self._changed = threading.Condition()
        self._wanted: Optional[Tuple[PathSelector, PathMangler, int]] = None
        self._closing = False
        self._thread: Optional[threading.Thread] = None

    def delete(self) -> None:
        """Delete all files from storage."""
        self._files.delete()

    def start(self) -> None:
        """Start the thread that copies."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name="determined-tensorboard", daemon=True
            )
            self._thread.start()

    def sync(
        self,
        selector: PathSelector = _every,
        mangler: PathMangler = _unchanged,
        rank: int = 0,
    ) -> None:
        """Request a copy of changed and selected files, under the mangler's names."""
        with self._changed:
            self._wanted = (selector, mangler, rank)
            self._changed.notify_all()

    def close(self) -> None:
        """Copy the remaining files, and end the thread."""
        with self._changed:
            if self._sync_on_close and self._wanted is None:
                self._wanted = (_every, _unchanged, 0)
            self._closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
        elif self._wanted is not None:
            self._copy(*self._wanted)

    def __enter__(self) -> TensorboardManager:
        self.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closing or self._wanted is not None)
                wanted, self._wanted = self._wanted, None
            if wanted is None:
                return
            self._copy(*wanted)
            with self._changed:
                self._changed.wait_for(lambda: self._closing, timeout=SYNC_SECONDS)

    def _copy(self, selector: PathSelector, mangler: PathMangler, rank: int) -> None:
        try:
            for path, version in self._changed_files(selector).items():
                name = mangler(path.relative_to(self.base_path), rank)
                self._files.store(path, name.as_posix())
                self._copied[path] = version
        except Exception as err:
            logger.warning("cannot store TensorBoard files, trying again later: %s", err)

    def _changed_files(self, selector: PathSelector) -> Dict[pathlib.Path, Tuple[int, int]]:
        changed = {}
        if not self.base_path.exists():
            return {}
        for path in sorted(self.base_path.rglob("*")):
            if not path.is_file() or not selector(path):
                continue
            state = path.stat()
            version = (state.st_mtime_ns, state.st_size)
            if self._copied.get(path) != version:
                changed[path] = version
        return changed


class SharedFSTensorboardManager(TensorboardManager):
    """Storage that is a folder.

    Example: ``SharedFSTensorboardManager("/nfs", pathlib.Path("events"), pathlib.Path("trial/7"))``
    """

    def __init__(
        self,
        storage_path: str,
        base_path: pathlib.Path,
        sync_path: pathlib.Path,
        sync_on_close: bool = True,
    ) -> None:
        files = storage.FolderFiles(pathlib.Path(storage_path) / sync_path)
        super().__init__(files, base_path, sync_path, sync_on_close)
