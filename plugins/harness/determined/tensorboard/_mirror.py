"""Copies TensorBoard's files continuously from storage into a local folder.

TensorBoard keeps a file open and reads appended data. A writer replaces its file in storage
each time that it grows, so the mirror appends the new part to the local copy.
"""

from __future__ import annotations

import json
import logging
import pathlib
import threading
from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from determined.common import storage
from determined.common.storage.files import checked_name

logger = logging.getLogger("determined.tensorboard")

# Listing some kinds of storage is slow, or billed by request.
LOOK_SECONDS = 5.0


class Source(NamedTuple):
    """The files of one trial, and the name that TensorBoard shows for them."""

    name: str
    storage: Mapping[str, Any]
    path: str


def parse_sources(text: str) -> List[Source]:
    """Read the list that the platform gives to the task; ValueError says what is wrong."""
    try:
        listed = json.loads(text)
    except ValueError as err:
        raise ValueError(f"DET_TENSORBOARD_SOURCES is not JSON: {err}") from err
    if not isinstance(listed, list):
        raise ValueError("DET_TENSORBOARD_SOURCES must be a list of name, storage and path")
    sources = []
    for item in listed:
        missing = [key for key in Source._fields if key not in item]
        if missing:
            raise ValueError(f"a source of DET_TENSORBOARD_SOURCES lacks {', '.join(missing)}")
        sources.append(Source(checked_name(item["name"]), item["storage"], item["path"]))
    return sources


class Mirror:
    """Copies of the files of several sources, each in a folder of its name below ``root``."""

    def __init__(
        self,
        sources: List[Source],
        root: pathlib.Path,
        container_path: Optional[str] = None,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self._sources = sources
        self._root = root
        self._container_path = container_path
        self._look_seconds = look_seconds
        self._opened: Dict[str, storage.Files] = {}
        self._versions: Dict[pathlib.Path, str] = {}
        self._troubles: Dict[str, str] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="determined-mirror", daemon=True)

    @property
    def files(self) -> int:
        """The number of copied files."""
        with self._lock:
            return len(self._versions)

    @property
    def troubles(self) -> Dict[str, str]:
        """The errors of sources that cannot be read, by name."""
        with self._lock:
            return dict(self._troubles)

    def start(self) -> None:
        """Begin to copy."""
        self._thread.start()

    def close(self) -> None:
        """Stop copying."""
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        said = ""
        while True:
            self.look()
            # Scripts search logs for these lines, which are Determined's.
            words = "TensorBoard contains metrics" if self.files else "TensorBoard waits on metrics"
            if words != said:
                print(words, flush=True)
                said = words
            if self._closing.wait(self._look_seconds):
                return

    def look(self) -> None:
        """Copy the new data of every source."""
        for source in self._sources:
            if self._closing.is_set():
                return
            try:
                self._look_at(source)
                trouble = None
            except Exception as err:
                trouble = f"{type(err).__name__}: {err}"
            self._note(source.name, trouble)

    def _note(self, name: str, trouble: Optional[str]) -> None:
        with self._lock:
            before = self._troubles.pop(name, None)
            if trouble is not None:
                self._troubles[name] = trouble
        if trouble is not None and trouble != before:
            logger.warning("%s cannot be read, trying again: %s", name, trouble)
        if trouble is None and before is not None:
            logger.info("%s can be read again", name)

    def _look_at(self, source: Source) -> None:
        files = self._opened.get(source.name)
        if files is None:
            manager = storage.build(source.storage, self._container_path)
            files = self._opened[source.name] = manager.files(source.path)
        for name, state in sorted(files.list().items()):
            target = self._root / source.name / checked_name(name)
            if self._versions.get(target) == state.version:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            self._update(files, name, state, target)
            with self._lock:
                self._versions[target] = state.version

    def _update(
        self, files: storage.Files, name: str, state: storage.FileState, target: pathlib.Path
    ) -> None:
        """Append the new data of a file; if the file became shorter, copy it from the beginning."""
        here = target.stat().st_size if target.exists() else 0
        if here > state.size:
            here = 0
        with target.open("r+b" if here else "wb") as out:
            out.seek(here)
            for chunk in files.read(name, here):
                out.write(chunk)
