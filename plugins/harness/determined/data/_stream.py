"""The records of a data set in the order in which one rank reads them; streams can resume."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional, Protocol, Tuple

from determined._info import get_cluster_info
from determined.data._order import Shard


class Records(Protocol):
    """The part of ``data.Dataset`` that a stream uses."""

    @property
    def id(self) -> str:
        """The name."""

    @property
    def version(self) -> str:
        """The version of the contents."""

    def __len__(self) -> int: ...

    def __getitem__(self, number: int) -> Any: ...


class Stream:
    """The records that one rank reads, in their order. ``Dataset.stream`` makes it.

    Each iteration reads to the end of an epoch; the next iteration is the next epoch. After a
    loop that is left early, the next one continues at the same record. All ranks read at the same
    pace, so the state of one rank, such as the chief, is valid for all.

    Example::

        stream = dataset.stream(shuffle=True, shard_rank=rank, num_shards=size)
        stream.load_state_dict(state)
        for batch in stream.batches(32):
            ...
            save(stream.state_dict())
    """

    def __init__(
        self,
        dataset: Records,
        start_offset: int = 0,
        shuffle: bool = False,
        skip_shuffle_at_epoch_end: bool = False,
        shuffle_seed: Optional[int] = None,
        shard_rank: int = 0,
        num_shards: int = 1,
        drop_shard_remainder: bool = False,
    ) -> None:
        if num_shards < 1 or not 0 <= shard_rank < num_shards:
            raise ValueError(
                f"shard_rank must be at least 0 and less than num_shards: they are {shard_rank} "
                f"and {num_shards}"
            )
        self.dataset = dataset
        self.shard = Shard(
            len(dataset),
            shuffle,
            _seed(shuffle_seed) if shuffle else 0,
            not skip_shuffle_at_epoch_end,
            shard_rank,
            num_shards,
            drop_shard_remainder,
        )
        if self.shard.length() == 0:
            raise ValueError(
                f"{dataset} has {len(dataset)} records, which leaves none for rank {shard_rank} of "
                f"{num_shards}"
            )
        if start_offset < 0:
            raise ValueError(f"start_offset counts records, so it cannot be {start_offset}")
        self._epoch, self._taken = divmod(start_offset, len(self))
        # The position in the epoch at which the ranks began to read.
        self._start = 0

    def __len__(self) -> int:
        return self.shard.length()

    @property
    def epoch(self) -> int:
        """The epoch that is read now; the first is 0.

        Example: ``print(stream.epoch)``
        """
        return self._epoch

    def numbers(self) -> Iterator[int]:
        """Yield the numbers of the records from here to the end of the epoch.

        This does not move the stream: the reader of these records calls ``advance``.

        Example::

            order = list(stream.numbers())
        """
        return self.shard.numbers(self._epoch, self._start, self._taken)

    def resume_point(self) -> Tuple[int, int]:
        """Return the ranks' start in the epoch, and the number of records that this one read since.

        Example::

            start, skip = stream.resume_point()
        """
        return self._start, self._taken

    def remaining(self) -> int:
        """Return how many records of the epoch this rank has not read.

        Example::

            batches = stream.remaining() // 32
        """
        return max(0, self.shard.length(self._start) - self._taken)

    def advance(self, records: int) -> None:
        """Record that this rank has read records; at the end of the epoch begin the next.

        Example::

            stream.advance(32)
        """
        self._taken += records
        if self.remaining() == 0:
            self._next_epoch()

    def _next_epoch(self) -> None:
        self._epoch, self._start, self._taken = self._epoch + 1, 0, 0

    def _continue_at(self, epoch: int, position: int) -> None:
        """Continue in the epoch, or in the next one if no rank has anything left in it."""
        self._epoch, self._start, self._taken = epoch, position, 0
        left = self.shard.records - position
        if left < (self.shard.size if self.shard.drop else 1):
            self._next_epoch()

    def __iter__(self) -> Iterator[Any]:
        if self.remaining() == 0:
            # Other ranks read the last records of this epoch.
            self._next_epoch()
            return
        for number in self.numbers():
            record = self.dataset[number]
            self.advance(1)
            yield record

    def batches(self, size: int, drop_last: bool = False) -> Iterator[List[Any]]:
        """Yield the epoch's records in lists of a size; the last one may be smaller.

        Example::

            for batch in stream.batches(32):
                images = np.stack([image for image, label in batch])
        """
        if size < 1:
            raise ValueError(f"a batch has at least one record, not {size}")
        numbers = self.numbers()
        left = self.remaining()
        if left == 0:
            self._next_epoch()
        while left:
            count = min(size, left)
            if drop_last and count < size:
                self.advance(count)
                return
            batch = [self.dataset[next(numbers)] for _ in range(count)]
            self.advance(count)
            left -= count
            yield batch

    def seek(self, records: int) -> None:
        """Continue at the position at which all ranks together have read ``records`` records.

        Example::

            stream.seek(steps_completed * global_batch_size)
        """
        if records < 0:
            raise ValueError(f"{records} records cannot have been read")
        self._continue_at(*divmod(records, self.shard.per_epoch()))

    def state_dict(self) -> Dict[str, Any]:
        """Return the position of the ranks, as plain values for a checkpoint.

        Example::

            json.dump(stream.state_dict(), file)
        """
        return {**self._identity(), "epoch": self._epoch, "position": self._position()}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Continue at the position of the state, also with another number of ranks.

        Example::

            stream.load_state_dict(json.load(file))
        """
        for name, value in self._identity().items():
            if state.get(name) != value:
                raise ValueError(
                    f"the state does not fit this stream of {self.dataset}: its {name} is "
                    f"{state.get(name)!r}, and the stream's is {value!r}"
                )
        self._continue_at(int(state["epoch"]), int(state["position"]))

    def _identity(self) -> Dict[str, Any]:
        return {
            "dataset": self.dataset.id,
            "version": self.dataset.version,
            "records": self.shard.records,
            "shuffle": self.shard.shuffle,
            "seed": self.shard.seed,
            "reshuffle": self.shard.reshuffle,
        }

    def _position(self) -> int:
        return min(self._start + self._taken * self.shard.size, self.shard.records)


def _seed(given: Optional[int]) -> int:
    if given is not None:
        return int(given)
    info = get_cluster_info()
    return info.trial.trial_seed if info is not None and info.task_type == "TRIAL" else 0
