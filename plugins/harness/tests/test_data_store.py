"""The store: built once, checked, bounded, and trusted only if no other user could write to it."""

from __future__ import annotations

import logging
import os
import pathlib
import pickle
from typing import Any, Callable, Iterator, List, Tuple

import pytest

from determined import data
from determined.data import _build, _store
from determined.data._folder import store_folder


@pytest.fixture
def store(tmp_path: pathlib.Path) -> data.Store:
    return data.Store(tmp_path / "store")


def items(count: int, size: int = 100) -> List[Tuple[int, bytes]]:
    return [(number, bytes([number % 256]) * size) for number in range(count)]


class Counted:
    """A source that counts how often it is read."""

    def __init__(self, records: Any) -> None:
        self.records = records
        self.times = 0

    def __call__(self) -> Any:
        self.times += 1
        return iter(self.records)


def test_a_data_set_is_built_once(store: data.Store) -> None:
    source = Counted(items(10))
    for _ in range(3):
        with store.open("items", "1", source) as dataset:
            assert list(dataset) == items(10)
            assert (len(dataset), dataset[-1], dataset.id, dataset.version) == (
                10,
                items(10)[9],
                "items",
                "1",
            )
            assert dataset.verify() == 10
            with pytest.raises(IndexError, match="no record 10"):
                dataset[10]
    assert source.times == 1
    with store.open("items", "2", source):
        assert source.times == 2
    assert [(one.id, one.version, one.records, one.whole) for one in store.datasets()] == [
        ("items", "1", 10, True),
        ("items", "2", 10, True),
    ]


def test_names_that_look_alike_are_apart(store: data.Store) -> None:
    names = [("a/b", "1"), ("a-b", "1"), ("a", "b-1"), ("..", "1"), (".x", "1"), ("ä" * 200, "1")]
    for number, (name, version) in enumerate(names):
        store.open(name, version, [number]).close()
    assert [store.fetch(*one)[0] for one in names] == list(range(len(names)))
    assert {path.parent for path in store.folder.glob("**/" + _build.META)} == {
        store.fetch(*one).path for one in names
    }
    for wrong in ("", "x" * 201):
        with pytest.raises(ValueError, match="1 to 200 characters"):
            store.fetch(wrong, "1")


def test_cacheable_as_yogadl_has_it(store: data.Store) -> None:
    calls = []

    @store.cacheable("range", "1.0")
    def make_records(count: int) -> Iterator[int]:
        """Make them."""
        calls.append(count)
        yield from range(count)

    assert make_records.__doc__ == "Make them."
    assert list(make_records(5).stream(start_offset=2)) == [2, 3, 4]
    assert list(make_records(5)) == [0, 1, 2, 3, 4] and calls == [5]
    with pytest.raises(data.InUse, match="range version 1.0"):
        kept = make_records(5)
        store.submit(range(3), "range", "1.0")
    kept.close()


def test_submit_and_fetch(store: data.Store) -> None:
    with pytest.raises(data.NotStored, match="range version 1"):
        store.fetch("range", "1")
    store.submit(range(3), "range", "1")
    store.submit((number for number in range(4)), "range", "1")
    with store.fetch("range", "1") as dataset:
        assert list(dataset) == [0, 1, 2, 3]
    assert store.remove("range", "1") and not store.remove("range", "1")
    assert store.datasets() == []


def test_an_empty_data_set(store: data.Store) -> None:
    with store.open("empty", "1", []) as dataset:
        assert len(dataset) == 0 and list(dataset) == []
        with pytest.raises(ValueError, match="0 records"):
            dataset.stream()


def test_what_is_no_source(store: data.Store) -> None:
    for wrong in ("text", {"a": 1}, 5):
        with pytest.raises(TypeError, match="source of records"):
            store.open("wrong", "1", wrong)
    with pytest.raises(TypeError, match=r"record 1: a record cannot contain builtins\.set"):
        store.open("wrong", "1", [1, {2}])
    with pytest.raises(ZeroDivisionError):
        store.open("wrong", "1", (1 // number for number in (1, 0)))
    # No part of these files is read as data.
    with store.open("wrong", "1", [1, 2, 3]) as dataset:
        assert list(dataset) == [1, 2, 3]


def test_a_closed_data_set_says_so(store: data.Store) -> None:
    dataset = store.open("items", "1", items(2))
    dataset.close()
    dataset.close()
    with pytest.raises(ValueError, match="closed"):
        dataset[0]


def test_pickled_for_another_process(store: data.Store) -> None:
    with store.open("items", "1", items(5)) as dataset:
        with pickle.loads(pickle.dumps(dataset)) as again:
            assert list(again) == items(5) and again.path == dataset.path


def test_arrays_lie_on_the_file_if_wanted(tmp_path: pathlib.Path) -> None:
    np = pytest.importorskip("numpy")
    store = data.Store(tmp_path / "store", copy=False)
    dataset = store.open("arrays", "1", [np.full(5, number) for number in range(3)])
    kept = dataset[2]
    assert not kept.flags.writeable and kept.base is not None
    dataset.close()
    assert kept.tolist() == [2] * 5


# Damaged files.


def flip(path: pathlib.Path, at: int) -> None:
    contents = bytearray(path.read_bytes())
    contents[at] ^= 1
    path.write_bytes(contents)


@pytest.mark.parametrize(
    ("file", "at"), [(_build.RECORDS, 700), (_build.INDEX, 3 * 20), (_build.INDEX, 3 * 20 + 17)]
)
def test_a_damaged_record_is_found_and_the_data_set_built_again(
    store: data.Store, caplog: pytest.LogCaptureFixture, file: str, at: int
) -> None:
    source = Counted(items(10, 200))
    path = store.open("items", "1", source).path
    flip(path / file, at)
    dataset = store.open("items", "1", source)
    assert dataset[0] == items(1, 200)[0]
    with pytest.raises(data.DamagedData, match=r"record [23] of .* is damaged .* built again"):
        dataset.verify()
    assert source.times == 1
    with caplog.at_level(logging.WARNING, "determined.data"):
        again = store.open("items", "1", source)
    assert "is damaged and is removed" in caplog.text
    assert list(again) == items(10, 200) and source.times == 2
    # A process that had opened the data set still reads the old files.
    assert dataset[9] == items(10, 200)[9]


def break_meta(path: pathlib.Path) -> None:
    text = (path / _build.META).read_text()
    (path / _build.META).write_text(text.replace('"records": 10', '"records": 11'))


@pytest.mark.parametrize(
    "damage",
    [
        break_meta,
        lambda path: (path / _build.META).write_bytes(b"\xff\0"),
        lambda path: (path / _build.META).write_text("[]"),
        lambda path: os.truncate(path / _build.RECORDS, 100),
        lambda path: (path / _build.INDEX).unlink(),
    ],
)
def test_damaged_files_are_found_when_opened(
    store: data.Store, damage: Callable[[pathlib.Path], None]
) -> None:
    source = Counted(items(10))
    with store.open("items", "1", source) as dataset:
        path = dataset.path
    damage(path)
    with store.open("items", "1", source) as dataset:
        assert list(dataset) == items(10) and source.times == 2


# Space.


def test_the_least_recently_used_goes_first(tmp_path: pathlib.Path) -> None:
    one = 10 * (128 + 20)
    store = data.Store(tmp_path / "store", limit=3 * one)
    for name in "abc":
        store.open(name, "1", items(10, 80)).close()
    use_at(store, a=300, b=100, c=200)
    store.open("d", "1", items(10, 80)).close()
    use_at(store, d=400)
    assert [stored.id for stored in store.datasets()] == ["c", "a", "d"]
    with store.fetch("c", "1"):
        store.open("e", "1", items(10, 80)).close()
    assert sorted(stored.id for stored in store.datasets()) == ["c", "d", "e"]


def use_at(store: data.Store, **times: int) -> None:
    for name, seconds in times.items():
        os.utime(store._place(name, "1") / "lock", (seconds, seconds))


def test_what_is_in_use_stays(tmp_path: pathlib.Path) -> None:
    store = data.Store(tmp_path / "store", limit="10 kB")
    with store.open("a", "1", items(40)) as used:
        with pytest.raises(data.StoreFull, match="the limit of .* is 10,000 bytes") as caught:
            store.open("b", "1", items(40))
        assert "in use" in str(caught.value)
        assert list(used) == items(40)
        assert [stored.id for stored in store.datasets()] == ["a"]
    with store.open("b", "1", items(40)) as dataset:
        assert len(dataset) == 40
    assert [stored.id for stored in store.datasets()] == ["b"]
    with pytest.raises(data.StoreFull):
        store.open("c", "1", items(400))
    assert store.datasets() == []


def test_a_build_that_was_given_up_is_evicted_too(tmp_path: pathlib.Path) -> None:
    store = data.Store(tmp_path / "store", limit=10_000)
    with pytest.raises(ZeroDivisionError):
        store.open("half", "1", (1 // (number < 40) and b"x" * 100 for number in range(50)))
    (half,) = store.datasets()
    assert not half.whole and half.nbytes > 4000
    store.open("b", "1", items(40)).close()
    assert [stored.id for stored in store.datasets()] == ["b"]


def test_a_full_disk(store: data.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_store, "_FREE_SHARE", 1.0)
    with pytest.raises(data.StoreFull, match="a twentieth of the disk"):
        store.open("a", "1", items(1))


@pytest.mark.parametrize(
    ("text", "size"),
    [("200", 200), ("1.5 kB", 1500), ("2GiB", 2 << 30), ("3 tb", 3 * 10**12), (17, 17)],
)
def test_sizes(text: Any, size: int, tmp_path: pathlib.Path) -> None:
    assert data.Store(tmp_path, limit=text).limit == size


def test_wrong_sizes(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DET_DATA_LIMIT", "much")
    with pytest.raises(ValueError, match="200 GB, not 'much'"):
        data.Store(tmp_path)


# The folder of the store.


def test_the_default_folders(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert store_folder() == tmp_path / "cache" / "determined" / "data"
    allocation = tmp_path / "alloc"
    (allocation / "data").mkdir(parents=True)
    (allocation / "data").chmod(0o777)  # as Nomad makes it
    monkeypatch.setenv("NOMAD_ALLOC_DIR", str(allocation))
    assert store_folder() == allocation / "data" / "determined-data"
    assert store_folder().stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("DET_DATA_DIR", str(tmp_path / "node"))
    assert store_folder() == tmp_path / "node"
    assert store_folder(tmp_path / "mine") == tmp_path / "mine"


def test_a_folder_for_everybody(tmp_path: pathlib.Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    scratch.chmod(0o777)
    with pytest.raises(PermissionError, match=r"sticky bit \(chmod \+t"):
        data.Store(scratch)
    scratch.chmod(0o1777)
    own = scratch / f"uid-{os.geteuid()}"
    assert data.Store(scratch).folder == own
    assert own.stat().st_mode & 0o777 == 0o700
    own.chmod(0o777)
    with pytest.raises(PermissionError, match="somebody else"):
        data.Store(scratch)


def test_a_link_in_a_folder_for_everybody(tmp_path: pathlib.Path) -> None:
    scratch, elsewhere = tmp_path / "scratch", tmp_path / "elsewhere"
    scratch.mkdir()
    elsewhere.mkdir()
    scratch.chmod(0o1777)
    (scratch / f"uid-{os.geteuid()}").symlink_to(elsewhere)
    with pytest.raises(PermissionError, match="somebody else"):
        data.Store(scratch)


def test_a_folder_of_another_account(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    if os.geteuid() == 0:
        os.chown(folder, 12345, -1)
        owner = 12345
    else:
        owner = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(PermissionError, match=f"belongs to the account {owner}"):
        data.Store(folder)


def test_a_lock_that_is_a_link_is_not_followed(store: data.Store, tmp_path: pathlib.Path) -> None:
    with store.open("a", "1", [1]) as dataset:
        place = dataset.path
    (place / "lock").unlink()
    (place / "lock").symlink_to(tmp_path / "target")
    with pytest.raises(OSError):
        store.open("a", "1", [1])
    assert not (tmp_path / "target").exists()
