"""Writes a data set: the records, their index, and at the end the file that marks it complete.

``records`` has the records one after another, ``index`` an entry for each: its offset, its
length and its checksum. The writer syncs the files in steps; after each step the file
``progress`` names the position at which a build can resume. ``meta`` is written at the end,
atomically.
"""

from __future__ import annotations

import collections
import concurrent.futures
import json
import logging
import os
import pathlib
import struct
import time
import zlib
from typing import IO, Any, Callable, Deque, Dict, Iterable, Iterator, Optional, Tuple

from determined.data._records import ALIGNMENT, encode

logger = logging.getLogger("determined.data")

FORMAT = 1
ENTRY = struct.Struct("<QQI")
RECORDS, INDEX, META, PROGRESS, DAMAGED = "records", "index", "meta", "progress", "damaged"

# An interrupted build loses at most this much.
STEP_BYTES = 64 << 20
_BUFFER_BYTES = 1 << 20
_LOG_SECONDS = 30.0


def checksum(record: Any, number: int) -> int:
    """Return the checksum of a record, which depends also on the record's position."""
    return zlib.crc32(record, number & 0xFFFFFFFF)


def write_json(path: pathlib.Path, contents: Dict[str, Any]) -> None:
    """Write a file atomically and durably."""
    text = json.dumps(contents, sort_keys=True)
    sealed = json.dumps({"contents": contents, "checksum": zlib.crc32(text.encode())})
    partial = path.with_name(path.name + ".partial")
    with partial.open("w", encoding="utf-8") as out:
        out.write(sealed)
        out.flush()
        os.fsync(out.fileno())
    os.replace(partial, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_json(path: pathlib.Path) -> Optional[Dict[str, Any]]:
    """Return what ``write_json`` wrote; None if there is no file; ValueError if it is damaged."""
    try:
        sealed = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    if not isinstance(sealed, dict) or not isinstance(sealed.get("contents"), dict):
        raise ValueError(f"{path} is damaged")
    contents: Dict[str, Any] = sealed["contents"]
    if zlib.crc32(json.dumps(contents, sort_keys=True).encode()) != sealed.get("checksum"):
        raise ValueError(f"{path} is damaged")
    return contents


class Build:
    """One attempt to write a data set into a folder that is locked for it.

    ``make_room(size)`` is called before the data set grows, and returns its maximum size.
    """

    def __init__(
        self,
        folder: pathlib.Path,
        names: Dict[str, str],
        make_room: Callable[[int], int],
    ) -> None:
        self._folder = folder
        self._names = names
        self._make_room = make_room
        self._allowed = 0
        self._durable = 0
        self._count = 0
        self._size = 0

    def run(self, source: Any) -> None:
        """Write all records of a source; continue where a killed build of that source stopped."""
        source = _made(source)
        mark = _fingerprint(source)
        self._count, self._size = self._resumable(mark)
        self._durable = self._bytes()
        what = "{id} version {version}".format(**self._names)
        if self._count:
            logger.info("resuming the build of %s at record %d", what, self._count)
        else:
            logger.info("building %s in %s", what, self._folder)
        started = logged = time.monotonic()
        with self._open(RECORDS, self._size) as data, self._open(
            INDEX, self._count * ENTRY.size
        ) as index:
            for record in read_source(source, self._count):
                self._append(record, data, index)
                if self._bytes() - self._durable >= STEP_BYTES:
                    self._save_progress(mark, data, index)
                    if time.monotonic() - logged > _LOG_SECONDS:
                        logged = time.monotonic()
                        logger.info("%s: %d records, %d bytes", what, self._count, self._size)
            _to_disk(data, index)
        write_json(
            self._folder / META,
            {**self._names, "format": FORMAT, "records": self._count, "bytes": self._size},
        )
        (self._folder / PROGRESS).unlink(missing_ok=True)
        seconds = time.monotonic() - started
        logger.info("built %s: %d records, %d bytes, %.1fs", what, self._count, self._size, seconds)

    def _bytes(self) -> int:
        return self._size + self._count * ENTRY.size

    def _resumable(self, mark: Optional[str]) -> Tuple[int, int]:
        """Return the number of records and bytes that an interrupted build has stored."""
        try:
            found = read_json(self._folder / PROGRESS)
        except ValueError:
            return 0, 0
        if mark is None or found is None or found.get("source") != mark:
            return 0, 0
        for name, size in ((RECORDS, found["bytes"]), (INDEX, found["records"] * ENTRY.size)):
            path = self._folder / name
            if not os.access(path, os.W_OK) or path.stat().st_size < size:
                return 0, 0
        return found["records"], found["bytes"]

    def _open(self, name: str, size: int) -> IO[bytes]:
        """Open a file to continue after its first bytes; the bytes after them were not synced."""
        if size == 0:
            # Another account of the group may have created them.
            for old in (PROGRESS, name):
                (self._folder / old).unlink(missing_ok=True)
        opened = os.fdopen(
            os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o660),
            "wb",
            _BUFFER_BYTES,
        )
        opened.truncate(size)
        opened.seek(size)
        return opened

    def _append(self, record: Any, data: IO[bytes], index: IO[bytes]) -> None:
        try:
            encoded = encode(record)
        except TypeError as err:
            raise TypeError(f"record {self._count}: {err}") from err
        padding = -len(encoded) % ALIGNMENT
        grown = self._bytes() + len(encoded) + padding + ENTRY.size
        if grown > self._allowed:
            self._allowed = self._make_room(grown)
        data.write(encoded)
        data.write(bytes(padding))
        index.write(ENTRY.pack(self._size, len(encoded), checksum(encoded, self._count)))
        self._size += len(encoded) + padding
        self._count += 1

    def _save_progress(self, mark: Optional[str], data: IO[bytes], index: IO[bytes]) -> None:
        self._durable = self._bytes()
        if mark is None:
            return
        _to_disk(data, index)
        write_json(
            self._folder / PROGRESS,
            {"source": mark, "records": self._count, "bytes": self._size},
        )


def _to_disk(*files: IO[bytes]) -> None:
    for file in files:
        file.flush()
        os.fsync(file.fileno())


def _made(source: Any) -> Any:
    """Return the result of a function without arguments; return other sources unchanged."""
    kinds = ("__iter__", "__getitem__", "as_numpy_iterator")
    if callable(source) and not any(hasattr(source, kind) for kind in kinds):
        return source()
    return source


def _fingerprint(source: Any) -> Optional[str]:
    """Return a fingerprint of the source if a build from it can be resumed, else None."""
    mark = getattr(source, "fingerprint", None)
    if not callable(mark) or not hasattr(source, "__getitem__") or not hasattr(source, "__len__"):
        return None
    found = mark()
    return None if found is None else str(found)


def read_source(source: Any, start: int = 0) -> Iterator[Any]:
    """Yield the records of a sequence, an iterable or a ``tf.data.Dataset``, from a number on."""
    if isinstance(source, (str, bytes, dict)):
        raise TypeError(
            f"a source of records is a sequence, an iterable or a function that returns one, not "
            f"{type(source).__name__}"
        )
    if hasattr(source, "as_numpy_iterator"):
        source = source.as_numpy_iterator()
    if hasattr(source, "__getitem__") and hasattr(source, "__len__"):
        return _read_ahead(source, start, getattr(source, "workers", 0))
    if isinstance(source, collections.abc.Iterable):
        return iter(source)
    raise TypeError(
        f"{type(source).__name__} is no source of records: give a sequence, an iterable, or a "
        "function without arguments that returns one"
    )


def _read_ahead(source: Any, start: int, workers: int) -> Iterator[Any]:
    """Yield items in order, while ``workers`` threads read the next ones."""
    numbers: Iterable[int] = range(start, len(source))
    if workers < 1:
        for number in numbers:
            yield source[number]
        return
    waiting: Deque[concurrent.futures.Future[Any]] = collections.deque()
    with concurrent.futures.ThreadPoolExecutor(workers, "determined-data") as pool:
        try:
            for number in numbers:
                waiting.append(pool.submit(source.__getitem__, number))
                if len(waiting) > 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
