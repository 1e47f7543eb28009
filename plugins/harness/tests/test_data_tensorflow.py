"""Stored data sets as tf.data pipelines, and in Keras trials."""

from __future__ import annotations

import itertools
import pathlib
from typing import Any, Iterator, List

import pytest

tf = pytest.importorskip("tensorflow")

import numpy as np  # noqa: E402

from determined import data  # noqa: E402
from determined.data.tensorflow import Batches, make_tf_dataset  # noqa: E402
from determined.keras import _data  # noqa: E402
from tests.conftest import MakeTask  # noqa: E402
from tests.stub_master import Stub  # noqa: E402
from tests.test_keras import Small, X, Y, newest, train, weights  # noqa: E402

COUNT = 30


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> data.Store:
    return data.Store(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def dataset(store: data.Store) -> Iterator[data.Dataset]:
    with store.open("pairs", "1", ((np.full(3, n, "f4"), n) for n in range(COUNT))) as found:
        yield found


def values(records: Any) -> List[int]:
    return [int(label) for _, label in records.as_numpy_iterator()]


def test_yogadls_walkthrough(store: data.Store) -> None:
    """The example of yogadl's documentation, with this store."""
    store.submit(tf.data.Dataset.range(10), "range", "1.0")
    stream = store.fetch("range", "1.0").stream(start_offset=5, shuffle=True, shuffle_seed=777)
    batches = list(make_tf_dataset(stream).repeat(3).batch(5).as_numpy_iterator())
    assert [len(batch) for batch in batches] == [5] * 5
    for epoch in (batches[1:3], batches[3:5]):
        assert sorted(itertools.chain(*epoch)) == list(range(10))
    assert list(batches[1]) + list(batches[2]) != list(batches[3]) + list(batches[4])

    @store.cacheable("range", "2.0")
    def make_records() -> Any:
        return tf.data.Dataset.range(10).map(lambda x: 2 * x)

    assert list(make_tf_dataset(make_records().stream()).as_numpy_iterator()) == [
        2 * number for number in range(10)
    ]


def test_types_and_shapes(store: data.Store) -> None:
    records = [
        {"image": np.zeros((size, 4, 1), "u1"), "name": "n", "raw": b"r", "parts": [1, (2.0, True)]}
        for size in (2, 3)
    ]
    with store.open("mixed", "1", records) as dataset:
        spec = make_tf_dataset(dataset.stream()).element_spec
        assert spec["image"].shape.as_list() == [None, 4, 1] and spec["image"].dtype == tf.uint8
        assert spec["name"].dtype == spec["raw"].dtype == tf.string
        assert [part.dtype for part in tf.nest.flatten(spec["parts"])] == [
            tf.int64, tf.float32, tf.bool,
        ]  # fmt: skip
        assert len(list(make_tf_dataset(dataset.stream()))) == 2
    with store.open("odd", "1", [1, "x"]) as dataset:
        with pytest.raises(TypeError, match="record 1 is .*string"):
            make_tf_dataset(dataset.stream())
    with store.open("none", "1", [(1, None)]) as dataset:
        with pytest.raises(TypeError, match="NoneType"):
            make_tf_dataset(dataset.stream())


def test_epochs_differ_and_are_found_again(dataset: data.Dataset) -> None:
    stream = dataset.stream(shuffle=True, shuffle_seed=4)
    endless = make_tf_dataset(stream)
    assert endless.cardinality() == COUNT
    whole = values(endless.repeat(3))
    assert whole == [n for epoch in range(3) for n in dataset_order(dataset)(epoch)]
    for start in (0, 7, COUNT, 2 * COUNT + 1):
        resumed = dataset.stream(shuffle=True, shuffle_seed=4, start_offset=start)
        assert values(make_tf_dataset(resumed).repeat().take(3 * COUNT - start)) == whole[start:]


def dataset_order(dataset: data.Dataset) -> Any:
    shard = dataset.stream(shuffle=True, shuffle_seed=4).shard
    return lambda epoch: list(shard.numbers(epoch))


@pytest.mark.parametrize("size", [1, 2])
def test_a_keras_trial_resumes_in_the_middle_of_an_epoch(dataset: data.Dataset, size: int) -> None:
    """Every batch after a stop is bit for bit the batch of a run that was not stopped."""
    batches = Batches(dataset, 4, transform=lambda records: records.map(lambda x, y: (x * 2, y)))
    settings = _data.FitSettings()
    assert _data.adapt(batches, 4, settings) is batches
    assert _data.records_in(batches, 4) == COUNT

    def train(done: int, rank: int, count: int) -> List[_data.Batch]:
        found = _data.training_batches(batches, settings, 11, done, rank, size)
        return list(itertools.islice(found, count))

    whole = [train(0, rank, 20) for rank in range(size)]
    for rank in range(size):
        for batch in whole[rank]:
            assert (
                batch.size == 4
                and (batch.x[:, 0] == 2 * tf.cast(batch.y, tf.float32)).numpy().all()
            )
        for done in (1, 5, 7, 8, 19):
            for one, other in zip(train(done, rank, 20 - done), whole[rank][done:]):
                assert one.x.numpy().tobytes() == other.x.numpy().tobytes()
                assert one.y.numpy().tolist() == other.y.numpy().tolist()
    per_rank = COUNT // size
    first = [int(n) for one in whole for b in one for n in b.y.numpy()][: per_rank // 4 * 4]
    assert len(set(first)) == len(first)


def test_keras_itself_reads_it(dataset: data.Dataset, tmp_path: pathlib.Path) -> None:
    keras = tf.keras
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    stream = dataset.stream(shuffle=True, shuffle_seed=4, drop_shard_remainder=True)
    model.fit(make_tf_dataset(stream).batch(10), epochs=2, verbose=0)
    assert len(model.predict(make_tf_dataset(dataset.stream()).batch(10), verbose=0)) == COUNT


class Stored(Small):
    """The small model over a data set of the store."""

    folder = ""

    def build_training_data_loader(self) -> Any:
        dataset = data.Store(self.folder).open("x and y", "1", zip(X, Y))
        return Batches(dataset, self.context.get_per_slot_batch_size())

    def build_validation_data_loader(self) -> Any:
        dataset = data.Store(self.folder).open("x and y", "1", zip(X, Y))
        return make_tf_dataset(dataset.stream()).batch(20)


def test_a_whole_trial_is_preempted_in_an_epoch(
    stub: Stub, make_task: MakeTask, tmp_path: pathlib.Path
) -> None:
    """Epochs have 5 batches; a stop after batch 7 changes nothing in the weights at the end."""
    Stored.folder = str(tmp_path / "store")
    # Two trainings in one process begin alike only if Keras's own generator does: once a program
    # has seeded that one, it draws the first weights, and continues where it was.
    tf.keras.utils.set_random_seed(1)
    whole = weights(train(make_task, Stored) / newest(stub))
    stub.change(metrics={}, order=[], checkpoints={}, requests=[], preempt=True)
    tf.keras.utils.set_random_seed(1)
    train(make_task, Stored, scheduling_unit=7, min_validation_period={"batches": 100})
    assert [c["metadata"]["steps_completed"] for c in stub.checkpoints.values()] == [7]
    stub.change(preempt=False)
    folder = train(
        make_task, Stored, checkpoint=newest(stub), DET_TRIAL_RUN_ID="2", DET_STEPS_COMPLETED="7"
    )
    for one, other in zip(weights(folder / newest(stub)), whole):
        assert np.array_equal(one, other)
