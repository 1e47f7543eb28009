"""The order of records in an epoch: pure functions of seed, epoch and position.

A shuffled epoch is a permutation that is computed for each position, so an order needs no
memory for any number of records, every rank computes the same order, and training resumes
within an epoch at once.
"""

from __future__ import annotations

import hashlib
import math
import random
import struct
import sys
from typing import Any, Iterator, List, NamedTuple, Sequence, Union

# Four rounds are enough for many rows and columns. With few records, not all orders would be
# equally likely, so the order of few records is a shuffled list.
_ROUNDS = 4
_LISTED = 1 << 12
# Number of positions that NumPy permutes in one call.
_BLOCK = 4096


class Permutation:
    """A permutation of the numbers below ``count``, determined by a key.

    A number is a row and a column in a square of at least ``count`` cells. Each round adds to the
    row an amount that depends on the column, then to the column an amount that depends on the
    row. Every step is invertible, so different numbers have different results. A result of
    ``count`` or more is permuted again until it is smaller.
    """

    def __init__(self, count: int, key: str) -> None:
        self._count = count
        self._rows = math.isqrt(max(count - 1, 0)) + 1
        self._columns = -(-count // self._rows)
        digest = hashlib.blake2b(key.encode(), digest_size=16 * _ROUNDS).digest()
        words = struct.unpack(f"<{4 * _ROUNDS}I", digest)
        # Of the product of a number and a large odd one the upper bits depend on all bits of both.
        self._keys = [
            (words[at], words[at + 1] | 1, words[at + 2], words[at + 3] | 1)
            for at in range(0, len(words), 4)
        ]

    def __getitem__(self, position: int) -> int:
        rows, columns = self._rows, self._columns
        while True:
            row, column = divmod(position, columns)
            for first, factor, second, other in self._keys:
                row = (row + ((column ^ first) * factor >> 24)) % rows
                column = (column + ((row ^ second) * other >> 24)) % columns
            position = row * columns + column
            if position < self._count:
                return position

    def each(self, positions: range) -> Iterator[int]:
        """Yield the numbers at positions, in large steps if the program already uses NumPy."""
        np = sys.modules.get("numpy")
        if np is None:
            yield from map(self.__getitem__, positions)
            return
        at = 0
        while at < len(positions):
            # The first few one by one: a loop that resumes waits for its first batch only.
            part = positions[at : at + (_BLOCK if at else 64)]
            at += len(part)
            yield from self._block(np.arange(part.start, part.stop, part.step, dtype="u8"))

    def _block(self, found: Any) -> List[int]:
        """Return the numbers at an array of positions, by the same steps as for one."""
        rows, columns = self._rows, self._columns
        outside: Any = slice(None)
        while True:
            row, column = found[outside] // columns, found[outside] % columns
            for first, factor, second, other in self._keys:
                row = (row + ((column ^ first) * factor >> 24)) % rows
                column = (column + ((row ^ second) * other >> 24)) % columns
            found[outside] = row * columns + column
            outside = found >= self._count
            if not outside.any():
                numbers: List[int] = found.tolist()
                return numbers


def permutation(count: int, key: str) -> Union[Permutation, Sequence[int]]:
    """Return an order of the numbers below count; the key determines it on every machine."""
    if count > _LISTED:
        return Permutation(count, key)
    # Python guarantees that random() does not change between versions, but not shuffle().
    draw = random.Random(key).random
    return sorted(range(count), key=lambda _: draw())


class Shard(NamedTuple):
    """The part of ``records`` records that one rank reads.

    The ranks take turns in one order of all records: position 0 belongs to rank 0, position 1 to
    rank 1. They start at ``start`` in the epoch, which is not 0 if training resumes. With ``drop``
    all ranks read equally many records, and the remaining last records are left out; without it
    the first ranks may read one more.
    """

    records: int
    shuffle: bool
    seed: int
    reshuffle: bool
    rank: int
    size: int
    drop: bool

    def length(self, start: int = 0) -> int:
        """Return how many records this rank reads of an epoch, from a position on."""
        left = max(0, self.records - start)
        return left // self.size if self.drop else (left + self.size - 1 - self.rank) // self.size

    def per_epoch(self) -> int:
        """Return how many records all ranks together read in an epoch."""
        return self.records - self.records % self.size if self.drop else self.records

    def numbers(self, epoch: int, start: int = 0, skip: int = 0) -> Iterator[int]:
        """Yield the numbers of this rank's records in an epoch, in order."""
        first = start + self.rank + skip * self.size
        positions = range(first, start + self.rank + self.length(start) * self.size, self.size)
        if not self.shuffle:
            return iter(positions)
        key = f"{self.seed}/{epoch if self.reshuffle else 0}"
        order = permutation(self.records, key)
        return (
            order.each(positions)
            if isinstance(order, Permutation)
            else map(order.__getitem__, positions)
        )
