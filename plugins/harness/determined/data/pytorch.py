"""Stored data sets in PyTorch.

A ``data.Dataset`` can be used as a map-style dataset: give it to ``determined.pytorch.DataLoader``
or to ``torch.utils.data.DataLoader``. In a loop of your own, ``DataLoader`` here shards, shuffles
and resumes.

Example::

    from determined.data.pytorch import DataLoader

    stream = dataset.stream(
        shuffle=True, shard_rank=rank, num_shards=size, drop_shard_remainder=True
    )
    loader = DataLoader(stream, batch_size=32, num_workers=4)
    loader.load_state_dict(state)
    for images, labels in loader:
        ...
        save(loader.state_dict())
"""

from __future__ import annotations

import itertools
from typing import Any, Dict, Iterator, List

try:
    from torch.utils import data
except ImportError as err:
    raise ImportError(
        "determined.data.pytorch needs PyTorch. Install torch: pip install torch"
    ) from err

from determined.data._stream import Stream


class Sampler(data.Sampler):
    """The numbers of the records of a stream; each iteration is the next epoch.

    Example::

        sampler = Sampler(dataset.stream(shuffle=True))
        loader = determined.pytorch.DataLoader(dataset, batch_size=32, sampler=sampler)
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def __len__(self) -> int:
        return len(self._stream)

    def __iter__(self) -> Iterator[int]:
        numbers = self._stream.numbers()
        self._stream.advance(self._stream.remaining())
        return numbers


class _Batches(data.Sampler):
    """The numbers of the records of each batch from here to the end of the epoch."""

    def __init__(self, stream: Stream, size: int, drop_last: bool) -> None:
        self._stream = stream
        self.batch_size = size
        self.drop_last = drop_last

    def __len__(self) -> int:
        left = len(self._stream)
        return left // self.batch_size if self.drop_last else -(-left // self.batch_size)

    def __iter__(self) -> Iterator[List[int]]:
        # Taken now: a loader with workers asks long before the batches are read.
        return self._cut(self._stream.numbers())

    def _cut(self, numbers: Iterator[int]) -> Iterator[List[int]]:
        while True:
            batch = list(itertools.islice(numbers, self.batch_size))
            if not batch or (self.drop_last and len(batch) < self.batch_size):
                return
            yield batch


class DataLoader(data.DataLoader):
    """A ``torch.utils.data.DataLoader`` that knows which batches were returned.

    Its state counts the batches that the loop has received, not those that workers have
    prepared. Each iteration ends with the epoch, and the next one is the next epoch. ``options``
    are those of PyTorch's loader, except those that select records or their order.

    Example::

        loader = DataLoader(dataset.stream(shuffle=True), batch_size=32, num_workers=4)
    """

    def __init__(
        self, stream: Stream, batch_size: int = 1, drop_last: bool = False, **options: Any
    ) -> None:
        taken = sorted({"shuffle", "sampler", "batch_sampler"} & set(options))
        if taken:
            raise TypeError(f"the stream decides which records come when: leave out {taken[0]}")
        if batch_size < 1:
            raise ValueError(f"a batch has at least one record, not {batch_size}")
        self.stream = stream
        super().__init__(
            stream.dataset, batch_sampler=_Batches(stream, batch_size, drop_last), **options
        )

    def __iter__(self) -> Any:
        left = self.stream.remaining()
        if left == 0:
            self.stream.advance(0)
            return
        sampler = self.batch_sampler
        for batch in super().__iter__():
            count = min(sampler.batch_size, left)
            left -= count
            self.stream.advance(count)
            yield batch
        if left:
            self.stream.advance(left)

    def state_dict(self) -> Dict[str, Any]:
        """Return where the ranks are, for a checkpoint.

        Example::

            torch.save({"model": model.state_dict(), "data": loader.state_dict()}, path)
        """
        return self.stream.state_dict()

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Continue where the state was taken.

        Example::

            loader.load_state_dict(torch.load(path)["data"])
        """
        self.stream.load_state_dict(state)
