"""Stored data sets in TensorFlow and Keras: ``tf.data`` pipelines that start in the middle.

Example::

    stream = dataset.stream(shuffle=True, start_offset=steps * batch_size)
    records = make_tf_dataset(stream).repeat().batch(batch_size)
"""

from __future__ import annotations

import itertools
from typing import Any, Callable, Iterator, Optional

try:
    import tensorflow as tf
except ImportError as err:
    raise ImportError(
        "determined.data.tensorflow needs TensorFlow. Install tensorflow: pip install tensorflow"
    ) from err

from determined.data._dataset import Dataset
from determined.data._stream import Records, Stream

# So many records tell the shapes of all.
_LOOKED_AT = 64


def make_tf_dataset(stream: Stream, output_signature: Any = None) -> Any:
    """Return the records of a stream as a ``tf.data.Dataset``.

    Its first iteration starts where the stream is, and each further one, as ``repeat`` makes them,
    is the next epoch. The stream itself stays where it is, because ``tf.data`` reads ahead.

    Args:
        stream: what to read.
        output_signature: of a record, as ``tf.data.Dataset.from_generator`` takes it. Without it
            types and shapes are those of a sample of the records; where the sample differs in the
            size of a dimension, that dimension is open.

    Example::

        records = make_tf_dataset(dataset.stream()).batch(32).prefetch(2)
    """
    signature = _signature(stream.dataset) if output_signature is None else output_signature
    dataset, shard, epoch = stream.dataset, stream.shard, stream.epoch
    first = stream.resume_point()
    passes = itertools.count()

    def read() -> Iterator[Any]:
        number = next(passes)
        start, skip = first if number == 0 else (0, 0)
        for record in shard.numbers(epoch + number, start, skip):
            yield _plain(dataset[record])

    records = tf.data.Dataset.from_generator(read, output_signature=signature)
    if first != (0, 0):
        return records
    return records.apply(tf.data.experimental.assert_cardinality(len(stream)))


class Batches:
    """Training data for a ``TFKerasTrial`` that resumes in the middle of an epoch.

    Return it from ``build_training_data_loader``: the trial then shards it by rank, shuffles it by
    the trial's seed, and starts it where training was.

    Args:
        dataset: what to read.
        batch_size: how many records each worker reads at once.
        shuffle: whether each epoch has an order of its own.
        transform: makes a pipeline of a pipeline of single records, for example
            ``lambda records: records.map(augment, num_parallel_calls=4)``. It must give one record
            for each that it takes.
        output_signature: see ``make_tf_dataset``.

    Example::

        def build_training_data_loader(self):
            return data.tensorflow.Batches(digits(), self.context.get_per_slot_batch_size())
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int,
        shuffle: bool = True,
        transform: Optional[Callable[[Any], Any]] = None,
        output_signature: Any = None,
    ) -> None:
        self._dataset = dataset
        self._batch_size = batch_size
        self._shuffle = shuffle
        self._transform = transform
        self._signature = output_signature

    @property
    def records(self) -> int:
        """How many records the data set has.

        Example: ``print(batches.records)``
        """
        return len(self._dataset)

    def batches_from(self, done: int, seed: int, rank: int = 0, size: int = 1) -> Any:
        """Return endless batches for one worker that has trained so many of them.

        Example::

            for images, labels in batches.batches_from(done=100, seed=7):
                ...
        """
        stream = self._dataset.stream(
            start_offset=done * self._batch_size,
            shuffle=self._shuffle,
            shuffle_seed=seed,
            shard_rank=rank,
            num_shards=size,
            drop_shard_remainder=True,
        )
        records = make_tf_dataset(stream, self._signature).repeat()
        if self._transform is not None:
            records = self._transform(records)
        return records.batch(self._batch_size).prefetch(2)


def _plain(record: Any) -> Any:
    """Return a record as ``tf.data`` takes it: a list would become a tensor."""
    if isinstance(record, (tuple, list)):
        return tuple(_plain(value) for value in record)
    if isinstance(record, dict):
        return {name: _plain(value) for name, value in record.items()}
    return record


def _signature(dataset: Records) -> Any:
    """Return the types of a data set's records, and the shapes that all of a sample have."""
    count = min(_LOOKED_AT, len(dataset))
    found: Any = None
    for at in range(count):
        number = at * (len(dataset) - 1) // max(1, count - 1)
        spec = tf.nest.map_structure(_spec, _plain(dataset[number]))
        try:
            found = spec if found is None else tf.nest.map_structure(_both, found, spec)
        except (TypeError, ValueError) as err:
            raise TypeError(
                f"the records of {dataset} differ, so tf.data cannot read them together: record "
                f"{number} is {spec}, those before it are {found}"
            ) from err
    return found


def _spec(value: Any) -> Any:
    kinds = {bool: tf.bool, int: tf.int64, float: tf.float32, str: tf.string, bytes: tf.string}
    if type(value) in kinds:
        return tf.TensorSpec((), kinds[type(value)])
    if not hasattr(value, "dtype"):
        raise TypeError(f"tf.data cannot read {type(value).__name__}, which a record contains")
    return tf.TensorSpec(value.shape, tf.as_dtype(value.dtype))


def _both(one: Any, other: Any) -> Any:
    """Return the spec that describes both."""
    if one.dtype != other.dtype or one.shape.rank != other.shape.rank:
        raise TypeError(f"{one} and {other}")
    shape = [a if a == b else None for a, b in zip(one.shape, other.shape)]
    return tf.TensorSpec(shape, one.dtype)
