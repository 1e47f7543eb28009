"""The order of records: equal on all ranks, disjoint parts, and the same after a resumption."""

from __future__ import annotations

import itertools
import json
import pathlib
import random
import sys
from typing import Any, Dict, Iterator, List

import pytest

from determined import data
from determined.data._order import Permutation, Shard, permutation
from tests.conftest import MakeTask


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dict[int, data.Dataset]]:
    """Data sets of several lengths, in which each record is its own number."""
    store = data.Store(tmp_path_factory.mktemp("store"))
    made = {count: store.open("numbers", str(count), range(count)) for count in (1, 2, 7, 20, 33)}
    yield made
    for dataset in made.values():
        dataset.close()


@pytest.mark.parametrize("count", [1, 2, 3, 5, 64, 4097, 5000, 12345])
def test_an_order_has_each_number_once(count: int) -> None:
    for key in ("1/0", "1/1", "2/0"):
        for order in (permutation(count, key), Permutation(count, key)):
            assert sorted(order[at] for at in range(count)) == list(range(count))


@pytest.mark.parametrize("count", [5, 4097, 1_000_003, 10**12, (1 << 62) - 1])
def test_many_positions_at_once_are_the_same_order(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With NumPy and without it."""
    np = pytest.importorskip("numpy")
    order = Permutation(count, "3/1")
    for positions in (range(0, min(count, 10_000), 3), range(max(0, count - 500), count)):
        assert np is sys.modules["numpy"]
        found = list(order.each(positions))
        assert found == [order[at] for at in positions]
        with monkeypatch.context() as without:
            without.delitem(sys.modules, "numpy")
            assert list(order.each(positions)) == found


def test_orders_differ_by_seed_and_epoch() -> None:
    orders = [
        tuple(Shard(5000, True, seed, True, 0, 1, False).numbers(epoch))
        for seed in (0, 1)
        for epoch in (0, 1)
    ]
    assert len(set(orders)) == 4
    # Two random orders have about one number in the same place.
    for one, other in itertools.combinations(orders, 2):
        assert sum(a == b for a, b in zip(one, other)) < 12


def test_a_computed_order_looks_random() -> None:
    """The distances of neighbours are those of a random order."""
    count = 20_000
    order = [Permutation(count, "9/0")[at] for at in range(count)]
    mean = (count - 1) / 2
    spread = sum((number - mean) ** 2 for number in order)
    for lag in (1, 2, 141, 142):
        pairs = zip(order, order[lag:])
        assert abs(sum((a - mean) * (b - mean) for a, b in pairs) / spread) < 0.04
    at_start = order[: count // 10]
    assert 0.4 < sum(number < count / 2 for number in at_start) / len(at_start) < 0.6


def test_orders_are_those_of_earlier_releases() -> None:
    """A checkpoint may be resumed with another release, so an order must never change."""
    small = permutation(8, "7/0")
    assert [small[at] for at in range(8)] == ORDER_OF_8
    large = Permutation(1_000_003, "7/0")
    assert [large[at] for at in range(5)] == ORDER_OF_MANY


ORDER_OF_8 = [2, 4, 5, 7, 1, 6, 0, 3]
ORDER_OF_MANY = [16502, 702274, 598237, 339391, 758681]


def all_ranks(dataset: data.Dataset, size: int, **options: Any) -> List[data.Stream]:
    return [dataset.stream(shard_rank=rank, num_shards=size, **options) for rank in range(size)]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("shuffle", [False, True])
def test_shards_are_disjoint_and_whole(
    datasets: Dict[int, data.Dataset], size: int, shuffle: bool
) -> None:
    dataset = datasets[33]
    kept = [list(one) for one in all_ranks(dataset, size, shuffle=shuffle, shuffle_seed=5)]
    assert sorted(itertools.chain(*kept)) == list(range(33))
    assert max(map(len, kept)) - min(map(len, kept)) == (33 % size != 0)
    options: Dict[str, Any] = {"shuffle": shuffle, "shuffle_seed": 5, "drop_shard_remainder": True}
    equal = [list(one) for one in all_ranks(dataset, size, **options)]
    assert {len(one) for one in equal} == {33 // size}
    assert len(set(itertools.chain(*equal))) == 33 - 33 % size


def test_too_few_records_for_the_ranks(datasets: Dict[int, data.Dataset]) -> None:
    with pytest.raises(ValueError, match="leaves none for rank 0 of 3"):
        datasets[2].stream(num_shards=3, drop_shard_remainder=True)
    with pytest.raises(ValueError, match="less than num_shards"):
        datasets[2].stream(shard_rank=2, num_shards=2)


def test_the_same_order_in_every_epoch_if_asked(datasets: Dict[int, data.Dataset]) -> None:
    again = datasets[20].stream(shuffle=True, shuffle_seed=1, skip_shuffle_at_epoch_end=True)
    first, second = list(again), list(again)
    assert first == second != list(range(20))
    other = datasets[20].stream(shuffle=True, shuffle_seed=1)
    assert list(other) == first != list(other)
    assert other.epoch == 2


def epochs_of(stream: data.Stream, size: int, drop_last: bool, epochs: int) -> List[Any]:
    return [(stream.epoch, b) for _ in range(epochs) for b in stream.batches(size, drop_last)]


@pytest.mark.parametrize("trial", range(60))
def test_a_stream_resumes_with_the_very_next_batch(
    datasets: Dict[int, data.Dataset], trial: int
) -> None:
    """After any batch, a stopped and resumed run has the batches of a run without a stop."""
    rng = random.Random(trial)
    dataset = datasets[rng.choice([7, 20, 33])]
    size, batch = rng.randint(1, 4), rng.randint(1, 6)
    options: Dict[str, Any] = {
        "shuffle": rng.random() < 0.8,
        "shuffle_seed": rng.randrange(100),
        "skip_shuffle_at_epoch_end": rng.random() < 0.2,
        "drop_shard_remainder": True,
    }
    drop_last = rng.random() < 0.3 and batch <= len(dataset) // size
    whole = [epochs_of(one, batch, drop_last, 3) for one in all_ranks(dataset, size, **options)]
    stop = rng.randrange(1, len(whole[0]))
    taken = []
    for rank, stream in enumerate(all_ranks(dataset, size, **options)):
        endless = (b for _ in range(3) for b in stream.batches(batch, drop_last))
        seen = [next(endless) for _ in range(stop)]
        assert seen == [b for _, b in whole[rank][:stop]]
        taken.append(sum(map(len, seen)))
    state = json.loads(json.dumps(stream.state_dict()))
    if stop < len(whole[0]) - 1 and not drop_last:
        # Stop again, a batch later.
        stream = dataset.stream(num_shards=size, **options)
        stream.load_state_dict(state)
        assert next(stream.batches(batch)) == whole[0][stop][1]
        again = dataset.stream(num_shards=size, **options)
        again.load_state_dict(stream.state_dict())
        assert next(again.batches(batch)) == whole[0][stop + 1][1]
    for rank, stream in enumerate(all_ranks(dataset, size, **options)):
        rest = [b for _, b in whole[rank][stop:]]
        stream.load_state_dict(state)
        assert [b for _, b in epochs_of(stream, batch, drop_last, 3)][: len(rest)] == rest
        if drop_last:
            continue  # records that a dropped last batch had count too
        sought = all_ranks(dataset, size, **options)[rank]
        sought.seek(sum(taken))
        assert [b for _, b in epochs_of(sought, batch, drop_last, 3)][: len(rest)] == rest
        begun = dataset.stream(
            start_offset=taken[rank], shard_rank=rank, num_shards=size, **options
        )
        assert [b for _, b in epochs_of(begun, batch, drop_last, 3)][: len(rest)] == rest


@pytest.mark.parametrize("drop", [False, True])
def test_another_number_of_ranks_reads_what_is_left(
    datasets: Dict[int, data.Dataset], drop: bool
) -> None:
    dataset = datasets[33]
    options: Dict[str, Any] = {"shuffle": True, "shuffle_seed": 3, "drop_shard_remainder": drop}
    for before, after, batches in itertools.product((1, 2, 4), (1, 2, 3, 5), (1, 2, 3)):
        seen: List[int] = []
        for stream in all_ranks(dataset, before, **options):
            rounds = stream.batches(2)
            seen += itertools.chain(*(next(rounds) for _ in range(batches)))
        state = stream.state_dict()
        rest: List[int] = []
        for stream in all_ranks(dataset, after, **options):
            stream.load_state_dict(state)
            assert stream.epoch == 0
            rest += stream
            assert stream.epoch == 1
        left = 33 - len(seen)
        assert len(rest) == (left - left % after if drop else left)
        assert len(set(seen + rest)) == len(seen) + len(rest)


def test_ranks_that_have_nothing_left_end_the_epoch_with_the_others(
    datasets: Dict[int, data.Dataset],
) -> None:
    """32 of 33 records were read: rank 0 reads the last one, the others none, and all continue."""
    for stream in all_ranks(datasets[33], 4):
        stream.seek(32)
        assert list(stream) == ([32] if stream.shard.rank == 0 else [])
        assert list(stream)[:2] == [stream.shard.rank, stream.shard.rank + 4]
        stream.seek(32)
        assert len(list(stream.batches(3))) == (stream.shard.rank == 0)
        assert stream.epoch == 1


def test_an_iteration_that_is_left_goes_on(datasets: Dict[int, data.Dataset]) -> None:
    stream = datasets[7].stream()
    assert list(itertools.islice(stream, 3)) == [0, 1, 2]
    assert stream.state_dict()["position"] == 3
    assert list(stream) == [3, 4, 5, 6]


def test_a_state_of_other_data_is_refused(datasets: Dict[int, data.Dataset]) -> None:
    state = datasets[7].stream(shuffle=True, shuffle_seed=1).state_dict()
    for other, words in (
        (datasets[20].stream(shuffle=True, shuffle_seed=1), "its version is '7'"),
        (datasets[7].stream(shuffle=True, shuffle_seed=2), "its seed is 1, and the stream's is 2"),
        (datasets[7].stream(), "its shuffle is True"),
    ):
        with pytest.raises(ValueError, match=words):
            other.load_state_dict(state)


def test_the_seed_is_the_trials(datasets: Dict[int, data.Dataset], make_task: MakeTask) -> None:
    outside = list(datasets[20].stream(shuffle=True))
    assert outside == list(datasets[20].stream(shuffle=True, shuffle_seed=0))
    make_task()
    inside = list(datasets[20].stream(shuffle=True))
    assert inside == list(datasets[20].stream(shuffle=True, shuffle_seed=42)) != outside


def test_a_stream_takes_no_memory_for_its_order(tmp_path: pathlib.Path) -> None:
    """With 10**12 records, the first and the last of an epoch are found at once."""
    shard = Shard(10**12, True, 1, True, 3, 64, True)
    assert 0 <= next(shard.numbers(7)) < 10**12
    assert len(list(shard.numbers(7, start=10**12 - 640))) == 10
