"""A stored data set, read by the number of a record."""

from __future__ import annotations

import mmap
import operator
import os
import pathlib
import struct
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from determined.data import _build
from determined.data._errors import DamagedData
from determined.data._lock import Lock
from determined.data._records import decode
from determined.data._stream import Stream


class Dataset:
    """Records on local disk, in the order of their source.

    It is a sequence, and a map-style dataset for PyTorch. While it is open, no process evicts it.
    Several threads may read it; it may be used after a fork, and pickled for another process.

    Example::

        dataset = data.Store().open("digits", "1", make_records)
        image, label = dataset[17]
        for record in dataset:
            ...
        print(dataset.id, dataset.version, dataset.nbytes, dataset.path)
    """

    def __init__(
        self,
        folder: pathlib.Path,
        meta: Dict[str, Any],
        lock: Lock,
        copy: bool,
        reopen: Tuple[Callable[..., Any], Tuple[Any, ...]],
    ) -> None:
        self._folder = folder
        self._meta = meta
        self._lock = lock
        self._copy = copy
        self._reopen = reopen
        self._length: int = meta["records"]
        self._index = _map(folder / _build.INDEX, self._length * _build.ENTRY.size)
        self._records = _map(folder / _build.RECORDS, meta["bytes"])
        # A record is checked the first time that this process reads it.
        self._checked = bytearray(self._length)
        self._closed = False

    @property
    def id(self) -> str:
        """The data set's name."""
        return str(self._meta["id"])

    @property
    def version(self) -> str:
        """The version of its contents."""
        return str(self._meta["version"])

    @property
    def nbytes(self) -> int:
        """Its size on disk, in bytes."""
        return int(self._meta["bytes"]) + self._length * _build.ENTRY.size

    @property
    def path(self) -> pathlib.Path:
        """Its folder."""
        return self._folder

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, number: int) -> Any:
        number = operator.index(number)
        if number < 0:
            number += self._length
        if self._closed:
            raise ValueError(f"{self} is closed")
        if not 0 <= number < self._length:
            raise IndexError(f"{self} has {self._length} records, and no record {number}")
        try:
            return decode(self._contents(number), self._copy)
        except (ValueError, IndexError, TypeError, struct.error) as err:
            raise self._damaged(number, str(err)) from err

    def __getitems__(self, numbers: List[int]) -> List[Any]:
        """Return several records; PyTorch's loaders call this for a batch.

        Example::

            first, last = dataset.__getitems__([0, -1])
        """
        return [self[number] for number in numbers]

    def __iter__(self) -> Iterator[Any]:
        return map(self.__getitem__, range(self._length))

    def __str__(self) -> str:
        return f"data set {self.id} version {self.version}"

    def __reduce__(self) -> Tuple[Callable[..., Any], Tuple[Any, ...]]:
        return self._reopen

    def __enter__(self) -> Dataset:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def stream(
        self,
        start_offset: int = 0,
        shuffle: bool = False,
        skip_shuffle_at_epoch_end: bool = False,
        shuffle_seed: Optional[int] = None,
        shard_rank: int = 0,
        num_shards: int = 1,
        drop_shard_remainder: bool = False,
    ) -> Stream:
        """Return a stream of the records that one rank reads, epoch after epoch.

        Args:
            start_offset: how many records this rank has read before.
            shuffle: whether each epoch has an order of its own, which follows from the seed.
            skip_shuffle_at_epoch_end: keep the order of the first epoch.
            shuffle_seed: the seed, the same on all ranks; None: the trial's, or 0 off a cluster.
            shard_rank: this rank.
            num_shards: how many ranks there are.
            drop_shard_remainder: leave out the last few records of an epoch, so that all ranks read
                equally many. Ranks that exchange gradients need it. Otherwise the first ranks may
                read one record more.

        Example::

            stream = dataset.stream(shuffle=True, shard_rank=rank, num_shards=size)
            for epoch in range(10):
                for record in stream:
                    ...
        """
        return Stream(
            self,
            start_offset=start_offset,
            shuffle=shuffle,
            skip_shuffle_at_epoch_end=skip_shuffle_at_epoch_end,
            shuffle_seed=shuffle_seed,
            shard_rank=shard_rank,
            num_shards=num_shards,
            drop_shard_remainder=drop_shard_remainder,
        )

    def verify(self) -> int:
        """Check every record against its checksum, and return how many there are.

        Example::

            dataset.verify()
        """
        for number in range(self._length):
            self._checked[number] = 0
            self._contents(number)
        return self._length

    def close(self) -> None:
        """Stop using the data set, so that it may be evicted.

        Example::

            dataset.close()
        """
        self._closed = True
        # If arrays still use the mapped files, the last array releases them.
        self._index = self._records = memoryview(b"")
        self._lock.touch()
        self._lock.close()

    def _contents(self, number: int) -> memoryview:
        entry = _build.ENTRY
        start, length, expected = entry.unpack_from(self._index, number * entry.size)
        if start + length > len(self._records):
            raise self._damaged(number, "its index entry leads outside")
        found = self._records[start : start + length]
        if not self._checked[number]:
            if _build.checksum(found, number) != expected:
                raise self._damaged(number, "its checksum does not match")
            self._checked[number] = 1
        return found

    def _damaged(self, number: int, why: str) -> DamagedData:
        words = "and the data set will be built again when it is next opened with a source"
        try:
            (self._folder / _build.DAMAGED).touch()
        except OSError as err:
            words = f"and the folder cannot be marked ({err}): remove it"
        return DamagedData(
            f"record {number} of {self} in {self._folder} is damaged ({why}), {words}. If this "
            "repeats, check the disk"
        )


def open_meta(folder: pathlib.Path) -> Optional[Dict[str, Any]]:
    """Return the facts about a complete data set; None if it is not complete.

    ValueError says that it is damaged.
    """
    meta = _build.read_json(folder / _build.META)
    if meta is None:
        return None
    if (folder / _build.DAMAGED).exists():
        raise ValueError("a process found a damaged record")
    for name, size in (
        (_build.RECORDS, meta["bytes"]),
        (_build.INDEX, meta["records"] * _build.ENTRY.size),
    ):
        try:
            found = (folder / name).stat().st_size
        except FileNotFoundError:
            raise ValueError(f"its file {name} is missing") from None
        if found != size:
            raise ValueError(f"its file {name} has {found} bytes, not {size}")
    return meta


def _map(path: pathlib.Path, size: int) -> memoryview:
    if size == 0:
        return memoryview(b"")
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        return memoryview(mmap.mmap(fd, size, access=mmap.ACCESS_READ))
    finally:
        os.close(fd)
