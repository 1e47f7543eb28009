"""Samplers that repeat, shard, shuffle and skip other samplers, so that training resumes exactly.

Each comes for samplers of records and for samplers of batches, which differ in nothing but their
base class.
They are stacked in this order: shuffle, repeat, shard by rank, skip what was trained before.

Example::

    sampler = samplers.ReproducibleShuffleSampler(SequentialSampler(dataset), seed=17)
    sampler = samplers.DistributedSampler(samplers.RepeatSampler(sampler), num_workers=4, rank=1)
"""

from __future__ import annotations

import itertools
from typing import Any, Iterator, List

import torch
from torch.utils.data import BatchSampler, Sampler


def _repeat(source: Any) -> Iterator[Any]:
    while True:
        empty = True
        for item in source:
            empty = False
            yield item
        if empty:
            return


def _share(total: int, workers: int, rank: int) -> int:
    """Return how many of total a worker gets, when they take turns."""
    return (total + workers - 1 - rank) // workers


class RepeatSampler(Sampler):
    """Goes through a sampler for ever; ``len()`` is still one pass.

    Example::

        endless = RepeatSampler(SequentialSampler(dataset))
    """

    def __init__(self, sampler: Any) -> None:
        self._sampler = sampler

    def __len__(self) -> int:
        return len(self._sampler)

    def __iter__(self) -> Iterator[Any]:
        return _repeat(self._sampler)


class RepeatBatchSampler(BatchSampler):
    """Goes through a batch sampler for ever; ``len()`` is still one pass.

    Example::

        endless = RepeatBatchSampler(BatchSampler(sampler, 32, drop_last=False))
    """

    def __init__(self, batch_sampler: Any) -> None:
        self.batch_sampler = batch_sampler

    def __len__(self) -> int:
        return len(self.batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        return _repeat(self.batch_sampler)


class DistributedSampler(Sampler):
    """Gives a worker every ``num_workers``-th record, from its rank on.

    Example::

        mine = DistributedSampler(sampler, num_workers=4, rank=1)
    """

    def __init__(self, sampler: Any, num_workers: int, rank: int) -> None:
        self._sampler = sampler
        self._num_workers = num_workers
        self._rank = rank

    def __len__(self) -> int:
        return _share(len(self._sampler), self._num_workers, self._rank)

    def __iter__(self) -> Iterator[Any]:
        return itertools.islice(self._sampler, self._rank, None, self._num_workers)


class DistributedBatchSampler(BatchSampler):
    """Gives a worker every ``num_workers``-th batch, from its rank on.

    Batches stay whole: the batch size is that of one worker.

    Example::

        mine = DistributedBatchSampler(batch_sampler, num_workers=4, rank=1)
    """

    def __init__(self, batch_sampler: Any, num_workers: int, rank: int) -> None:
        self.batch_sampler = batch_sampler
        self.num_workers = num_workers
        self.rank = rank

    def __len__(self) -> int:
        return _share(len(self.batch_sampler), self.num_workers, self.rank)

    def __iter__(self) -> Iterator[Any]:
        return itertools.islice(self.batch_sampler, self.rank, None, self.num_workers)


class SkipSampler(Sampler):
    """Leaves out the first records; ``len()`` is that of a whole pass.

    Example::

        rest = SkipSampler(sampler, skip=1000)
    """

    def __init__(self, sampler: Any, skip: int) -> None:
        self._sampler = sampler
        self._skip = skip

    def __len__(self) -> int:
        return len(self._sampler)

    def __iter__(self) -> Iterator[Any]:
        return itertools.islice(self._sampler, self._skip, None)


class SkipBatchSampler(BatchSampler):
    """Leaves out the first batches; ``len()`` is that of a whole pass.

    Example::

        rest = SkipBatchSampler(batch_sampler, skip=31)
    """

    def __init__(self, batch_sampler: Any, skip: int) -> None:
        self.batch_sampler = batch_sampler
        self.length = len(batch_sampler)
        self.skip = skip

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Any]:
        return itertools.islice(self.batch_sampler, self.skip, None)


def _shuffled(source: Any, generator: Any) -> Iterator[Any]:
    items: List[Any] = list(source)
    return (items[index] for index in torch.randperm(len(items), generator=generator).tolist())


class ReproducibleShuffleSampler(Sampler):
    """Shuffles a finite sampler; its generator continues from pass to pass, from the same seed.

    Example::

        shuffled = ReproducibleShuffleSampler(SequentialSampler(dataset), seed=17)
    """

    def __init__(self, sampler: Any, seed: int) -> None:
        self._sampler = sampler
        self._generator = torch.Generator()
        self._generator.manual_seed(seed)

    def __len__(self) -> int:
        return len(self._sampler)

    def __iter__(self) -> Iterator[Any]:
        return _shuffled(self._sampler, self._generator)


class ReproducibleShuffleBatchSampler(Sampler):
    """Shuffles the order of whole batches; otherwise like ``ReproducibleShuffleSampler``.

    Example::

        shuffled = ReproducibleShuffleBatchSampler(batch_sampler, seed=17)
    """

    def __init__(self, batch_sampler: Any, seed: int) -> None:
        self._batch_sampler = batch_sampler
        self._generator = torch.Generator()
        self._generator.manual_seed(seed)

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        return _shuffled(self._batch_sampler, self._generator)
