"""The data sets of a node: built once, shared by processes, and evicted when space is needed.

Each data set is a folder with a lock in it (``_lock``). Its readers share the lock, its builder
holds it alone. The lock is the only record of use, so a process that dies leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import os
import pathlib
import re
import secrets
import shutil
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple, Union

from determined.data import _build
from determined.data._dataset import Dataset, open_meta
from determined.data._errors import InUse, NotStored, StoreFull
from determined.data._folder import AnyPath, store_folder
from determined.data._lock import FILE, Lock, acquire

logger = logging.getLogger("determined.data")

# The part of the disk that stays free if the store has no limit of its own.
_FREE_SHARE = 0.05
_TRASH = ".removed-"
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_UNITS.update({f"{unit}i": 1 << (10 * power) for power, unit in enumerate("kmgt", 1)})


class Stored(NamedTuple):
    """A data set in a store, as ``Store.datasets`` lists it.

    Example: ``print([stored.id for stored in data.Store().datasets()])``
    """

    id: str
    version: str
    records: int
    nbytes: int
    whole: bool
    last_used: float


class Store:
    """Data sets on local disk.

    Args:
        folder: their folder. By default ``DET_DATA_DIR``, else the folder of the allocation, else
            ``~/.cache/determined/data``.
        limit: their maximum size, in bytes or as in ``"200 GB"``. By default ``DET_DATA_LIMIT``;
            without both, a twentieth of the disk stays free. If there is no space, the store
            evicts the least recently used data sets that are not in use.
        copy: whether arrays are copies. With False, arrays are read-only views of the mapped file.

    Example::

        store = data.Store()
        dataset = store.open("digits", "1", make_records)
    """

    def __init__(
        self,
        folder: Optional[AnyPath] = None,
        limit: Union[int, str, None] = None,
        copy: bool = True,
    ) -> None:
        self.folder = store_folder(folder)
        given = os.environ.get("DET_DATA_LIMIT") if limit is None else limit
        self.limit = None if given is None else parse_size(given)
        self._copy = copy

    def open(self, dataset_id: str, version: str, source: Any = None) -> Dataset:
        """Return a data set, built from the source if this node does not have it.

        If several processes open the same data set, one of them builds it and the others wait. If
        the builder is killed, another process continues the build if the source has a fingerprint
        (``data.folder`` and ``data.bucket``), or else builds from the beginning.

        Args:
            dataset_id: the data set's name.
            version: the version of its contents. Change it if the source returns other records.
            source: a sequence, an iterable, a ``tf.data.Dataset``, or a function without arguments
                that returns one of these. It is read only if the data set must be built.

        Example::

            dataset = store.open("digits", "1", lambda: ((image, label) for image, label in pairs))
        """
        place, what = self._place(dataset_id, version), f"{dataset_id} version {version}"
        while True:
            dataset = self._open_whole(place, what)
            if dataset is not None:
                return dataset
            if source is None:
                raise NotStored(f"{what} is not stored in {self.folder}, and no source was given")
            self._make(place)
            lock = acquire(place, exclusive=True, reason=f"waiting for the builder of {what}")
            if lock is None:
                continue
            with contextlib.closing(lock):
                # The process that held the lock before may have built it.
                if not (place / _build.META).exists():
                    names = {"id": str(dataset_id), "version": str(version)}
                    self._build(place, names, source)

    def fetch(self, dataset_id: str, dataset_version: str) -> Dataset:
        """Return a data set that is stored; NotStored if it is not.

        Example::

            dataset = store.fetch("digits", "1")
        """
        return self.open(dataset_id, dataset_version)

    def submit(self, data: Any, dataset_id: str, dataset_version: str) -> None:
        """Store a data set in place of an existing one; InUse if that one is in use.

        Example::

            store.submit(tf.data.Dataset.range(10), "range", "1")
        """
        self.remove(dataset_id, dataset_version)
        self.open(dataset_id, dataset_version, data).close()

    def cacheable(
        self, dataset_id: str, dataset_version: str
    ) -> Callable[[Callable[..., Any]], Callable[..., Dataset]]:
        """Turn a function that yields records into one that returns the stored data set.

        The function runs only if the data set is not stored yet.

        Example::

            @store.cacheable("digits", "1")
            def digits():
                for image, label in read_slowly():
                    yield image, label

            dataset = digits()
        """

        def decorate(make: Callable[..., Any]) -> Callable[..., Dataset]:
            @functools.wraps(make)
            def stored(*args: Any, **kwargs: Any) -> Dataset:
                return self.open(dataset_id, dataset_version, lambda: make(*args, **kwargs))

            return stored

        return decorate

    def datasets(self) -> List[Stored]:
        """Return the stored data sets, the least recently used first.

        Example::

            for stored in store.datasets():
                print(stored.id, stored.version, stored.nbytes)
        """
        found = []
        for folder, used in self._by_use():
            meta = None
            with contextlib.suppress(ValueError, OSError):
                meta = open_meta(folder)
            names = meta or {"id": folder.name, "version": "", "records": 0}
            found.append(
                Stored(
                    names["id"], names["version"], names["records"],
                    _size(folder), meta is not None, used,
                )
            )  # fmt: skip
        return found

    def remove(self, dataset_id: str, version: str) -> bool:
        """Remove a data set, and return whether it existed; InUse if a process uses it.

        Example::

            store.remove("digits", "1")
        """
        place = self._place(dataset_id, version)
        with self._locked():
            if not place.exists():
                return False
            if not self._evict(place):
                raise InUse(
                    f"{dataset_id} version {version} in {place} is in use: a process reads or "
                    "builds it"
                )
        return True

    # Implementation.

    def _make(self, place: pathlib.Path) -> None:
        """Make the folder of a data set, for the accounts that may write to the store."""
        with contextlib.suppress(FileExistsError):
            place.mkdir(mode=0o700)
            place.chmod(self.folder.stat().st_mode & 0o770)

    def _place(self, dataset_id: str, version: str) -> pathlib.Path:
        names = [str(dataset_id), str(version)]
        for name, what in zip(names, ("dataset_id", "version")):
            if not name or len(name) > 200:
                raise ValueError(f"{what} must have 1 to 200 characters, and is {name!r}")
        readable = re.sub(r"[^A-Za-z0-9._]+", "-", "-".join(names))[:60].lstrip(".")
        digest = hashlib.sha256("\0".join([*names, str(_build.FORMAT)]).encode()).hexdigest()
        return self.folder / f"{readable}-{digest[:16]}"

    def _open_whole(self, place: pathlib.Path, what: str) -> Optional[Dataset]:
        """Wait for the builder, and return the data set if it is complete; remove it if damaged."""
        if not place.exists():
            return None
        lock = acquire(place, exclusive=False, reason=f"waiting for the builder of {what}")
        if lock is None:
            return None
        try:
            meta = open_meta(place)
            if meta is not None:
                lock.touch()
                # Its arguments are strings: a process that is spawned opens the folder again.
                reopen = (_reopen, (str(self.folder), meta["id"], meta["version"], self._copy))
                return Dataset(place, meta, lock, self._copy, reopen)
        except ValueError as err:
            logger.warning("%s in %s is damaged and is removed: %s", what, place, err)
            self._put_away(place, lock)
        except BaseException:
            lock.close()
            raise
        lock.close()
        return None

    def _put_away(self, place: pathlib.Path, lock: Lock) -> None:
        """Remove a damaged data set. Processes that read it keep the files that they have open."""
        with self._locked():
            if lock.is_of(place):
                _remove(place)

    def _build(self, place: pathlib.Path, names: Dict[str, str], source: Any) -> None:
        try:
            _build.Build(place, names, functools.partial(self._make_room, place)).run(source)
        except StoreFull:
            # A build that cannot be completed must use no space.
            with self._locked():
                _remove(place)
            raise

    def _make_room(self, place: pathlib.Path, wanted: int) -> int:
        """Evict until a data set may grow to a size; return the size that it may grow to."""
        with self._locked():
            while True:
                room = self._room(place)
                if room >= wanted:
                    return min(room, wanted + _build.STEP_BYTES)
                if not self._evict_oldest(place):
                    break
        raise StoreFull(
            f"{self._bound()}, and {place.name} needs {wanted:,} bytes or more, where "
            f"{max(0, room):,} are left. What else is stored is in use: raise the limit, or remove "
            "data sets"
        )

    def _bound(self) -> str:
        if self.limit is None:
            return f"a twentieth of the disk of {self.folder} must stay free"
        return f"the limit of {self.folder} is {self.limit:,} bytes"

    def _room(self, place: pathlib.Path) -> int:
        """Return the maximum size of a data set beside the other stored data sets."""
        if self.limit is not None:
            others = sum(_size(folder) for folder, _ in self._by_use() if folder != place)
            return self.limit - others
        disk = os.statvfs(self.folder)
        free = (disk.f_bavail - int(disk.f_blocks * _FREE_SHARE)) * disk.f_frsize
        return _size(place) + free

    def _by_use(self) -> List[Tuple[pathlib.Path, float]]:
        """Return the folders of data sets with the times of their last use, the oldest first."""
        found = []
        for folder in self.folder.iterdir():
            if not folder.name.startswith("."):
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    found.append((folder, (folder / FILE).stat().st_mtime))
        return sorted(found, key=lambda one: one[1])

    def _evict_oldest(self, keep: pathlib.Path) -> bool:
        for folder, _ in self._by_use():
            if folder != keep and self._evict(folder):
                logger.info("removed %s to make room", folder)
                return True
        return False

    def _evict(self, folder: pathlib.Path) -> bool:
        """Remove a data set if nobody uses it."""
        lock = acquire(folder, exclusive=True, wait=False)
        if lock is None:
            return False
        with contextlib.closing(lock):
            _remove(folder)
        return True

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Let one process at a time remove data sets; complete removals of killed processes."""
        lock = acquire(self.folder, exclusive=True)
        if lock is None:
            raise FileNotFoundError(f"the folder {self.folder} was removed")
        with contextlib.closing(lock):
            for folder in self.folder.glob(_TRASH + "*"):
                shutil.rmtree(folder, ignore_errors=True)
            yield


def _reopen(folder: str, dataset_id: str, version: str, copy: bool) -> Dataset:
    return Store(folder, copy=copy).fetch(dataset_id, version)


def _remove(folder: pathlib.Path) -> None:
    """Rename a folder, then delete it, so that no process sees a part of it."""
    trash = folder.with_name(_TRASH + secrets.token_hex(8))
    os.rename(folder, trash)
    shutil.rmtree(trash, ignore_errors=True)


def _size(folder: pathlib.Path) -> int:
    total = 0
    for name in (_build.RECORDS, _build.INDEX):
        with contextlib.suppress(FileNotFoundError):
            total += (folder / name).stat().st_size
    return total


def parse_size(given: Union[int, str]) -> int:
    """Return a number of bytes; units are kB, MB, GB and TB, or KiB, MiB, GiB and TiB."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?) *([kmgt]?i?)b?", str(given).strip().lower())
    if match is None or match.group(2) not in _UNITS:
        raise ValueError(f"the limit of a store is a size like 200 GB, not {given!r}")
    return int(float(match.group(1)) * _UNITS[match.group(2)])
