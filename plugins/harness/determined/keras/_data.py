"""The types of data that trial classes provide, converted to batches.

Arrays and Keras Sequences are read by index, in an order that follows from the trial's seed and
the number of the epoch, so a trial that continues from a checkpoint reads on where it stopped.
A ``tf.data.Dataset`` has no position: it starts again. ``determined.data.tensorflow.Batches`` makes
one that begins where training was.
"""

from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import logging
import math
import random
from typing import Any, Deque, Iterator, List, NamedTuple, Optional, Tuple

from determined import errors

logger = logging.getLogger("determined.keras")

_FORMS = (
    "a tuple (x, y) or (x, y, sample_weights) of NumPy arrays, of lists or of maps of them; a "
    "tf.data.Dataset; a keras.utils.Sequence; or determined.data.tensorflow.Batches"
)


class Batch(NamedTuple):
    """One batch: inputs, labels and weights."""

    x: Any
    y: Any = None
    sample_weight: Any = None

    @classmethod
    def of(cls, item: Any) -> Batch:
        """Split an item of a data set or a Sequence into inputs, labels and weights."""
        if isinstance(item, (tuple, list)) and len(item) <= 3:
            return cls(*item)
        return cls(item)

    @property
    def size(self) -> int:
        """The number of records in the batch."""
        return _length(self.x)


def _is_arrays(data: Any) -> bool:
    if isinstance(data, dict):
        return bool(data) and all(_is_array(value) for value in data.values())
    if isinstance(data, (list, tuple)):
        return bool(data) and all(_is_array(value) for value in data)
    return _is_array(data)


def _is_array(data: Any) -> bool:
    return hasattr(data, "shape") and hasattr(data, "__getitem__")


def _length(data: Any) -> int:
    if isinstance(data, dict):
        return _length(next(iter(data.values())))
    if isinstance(data, (list, tuple)):
        return _length(data[0])
    return len(data)


def _slice(data: Any, start: int, end: int) -> Any:
    if isinstance(data, dict):
        return {name: value[start:end] for name, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [value[start:end] for value in data]
    return data[start:end]


class ArrayLikeAdapter:
    """Batches of arrays; the last batch may be smaller.

    Example: ``ArrayLikeAdapter(images, labels, batch_size=32)``
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        batch_size: int,
        sample_weights: Any = None,
        drop_leftovers: bool = False,
    ) -> None:
        for data in (x, y):
            if not _is_arrays(data):
                raise errors.InvalidDataTypeException(type(data), f"a data loader returns {_FORMS}")
        self.records = _length(x)
        if self.records != _length(y):
            raise ValueError(f"x has {self.records} records, but y has {_length(y)}")
        if sample_weights is not None and _length(sample_weights) != self.records:
            raise ValueError(
                f"x has {self.records} records, but sample_weights has {_length(sample_weights)}"
            )
        if self.records < batch_size:
            raise ValueError(
                f"the data has {self.records} records, less than a batch: {batch_size}"
            )
        self.x, self.y, self.sample_weight = x, y, sample_weights
        self.batch_size = batch_size
        self.drop_leftovers = drop_leftovers

    def __len__(self) -> int:
        batches = self.records / self.batch_size
        return math.floor(batches) if self.drop_leftovers else math.ceil(batches)

    def __getitem__(self, index: int) -> Tuple[Any, ...]:
        start = index * self.batch_size
        end = min(start + self.batch_size, self.records)
        batch = (_slice(self.x, start, end), _slice(self.y, start, end))
        if self.sample_weight is None:
            return batch
        return (*batch, _slice(self.sample_weight, start, end))


class SequenceAdapter:
    """A Sequence with how it is to be read; ``context.configure_fit`` says the same.

    Example: ``SequenceAdapter(sequence, workers=2, use_multiprocessing=False)``
    """

    def __init__(
        self,
        sequence: Any,
        use_multiprocessing: bool = False,
        workers: int = 1,
        max_queue_size: int = 10,
    ) -> None:
        self.sequence = sequence
        self.use_multiprocessing = use_multiprocessing
        self.workers = workers
        self.max_queue_size = max_queue_size


@dataclasses.dataclass
class FitSettings:
    """How data is read and a model is trained, as ``configure_fit`` says."""

    verbose: bool = True
    class_weight: Any = None
    workers: int = 1
    use_multiprocessing: bool = False
    max_queue_size: int = 10
    shuffle: bool = True
    validation_steps: Optional[int] = None


def adapt(data: Any, batch_size: int, settings: Optional[FitSettings] = None) -> Any:
    """Convert the result of a data loader to a data set, or to a sequence with an index."""
    if isinstance(data, SequenceAdapter):
        if settings is not None:
            settings.workers = data.workers
            settings.use_multiprocessing = data.use_multiprocessing
            settings.max_queue_size = data.max_queue_size
        return data.sequence
    if isinstance(data, tuple) and len(data) in (2, 3):
        return ArrayLikeAdapter(data[0], data[1], batch_size, *data[2:])
    if is_dataset(data) or is_indexed(data) or is_positioned(data):
        return data
    raise errors.InvalidDataTypeException(type(data), f"a data loader returns {_FORMS}")


def is_dataset(data: Any) -> bool:
    """Return whether data has the methods of a ``tf.data.Dataset``."""
    return hasattr(data, "repeat") and hasattr(data, "element_spec")


def is_positioned(data: Any) -> bool:
    """Return whether data has the methods to start at any batch."""
    return hasattr(data, "batches_from")


def is_indexed(data: Any) -> bool:
    """Return whether data has the methods of a Keras Sequence."""
    if isinstance(data, (str, bytes, tuple, list, dict)) or _is_arrays(data):
        return False
    return hasattr(data, "__len__") and hasattr(data, "__getitem__")


def records_in(data: Any, batch_size: int) -> Optional[int]:
    """Return the number of records of all data, or None if it is unknown."""
    if isinstance(data, ArrayLikeAdapter):
        return data.records
    if is_positioned(data):
        return int(data.records)
    if is_indexed(data):
        return len(data) * batch_size
    return None


def training_batches(
    data: Any, settings: FitSettings, seed: int, done: int, rank: int = 0, size: int = 1
) -> Iterator[Batch]:
    """Yield a worker's batches without end, starting after the first ``done`` of them.

    The workers of a trial take turns in one order of all batches.
    """
    if is_positioned(data):
        for item in data.batches_from(done, seed, rank, size):
            yield Batch.of(item)
        return
    if is_dataset(data):
        if done:
            logger.warning(
                "a tf.data.Dataset has no position: training continues at batch %d with the "
                "beginning of its data",
                done,
            )
        for item in data.repeat():
            yield Batch.of(item)
        return
    if settings.use_multiprocessing:
        logger.info("threads make the batches; use_multiprocessing has no other effect")
    epoch, first = divmod(done * size + rank, max(1, len(data)))
    while True:
        # A Sequence may have another length after each pass.
        order = list(range(len(data)))
        if not order:
            raise ValueError("there is no training data: the Sequence is empty")
        if settings.shuffle:
            random.Random(f"{seed}/{epoch}").shuffle(order)
        mine = order[first::size]
        for item in _ahead(data, mine, settings.workers, settings.max_queue_size):
            yield Batch.of(item)
        if hasattr(data, "on_epoch_end"):
            data.on_epoch_end()
        epoch, first = epoch + 1, first + len(mine) * size - len(order)


def _ahead(data: Any, order: List[int], workers: int, queue_size: int) -> Iterator[Any]:
    """Yield items in order, while threads prepare the next ones."""
    if workers < 1:
        for index in order:
            yield data[index]
        return
    waiting: Deque[concurrent.futures.Future[Any]] = collections.deque()
    with concurrent.futures.ThreadPoolExecutor(workers, "determined-batches") as pool:
        try:
            for index in order:
                waiting.append(pool.submit(data.__getitem__, index))
                if len(waiting) > max(1, queue_size):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
