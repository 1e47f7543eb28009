"""Builds by several processes, which are killed at random points."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import pathlib
import random
import signal
import sys
from typing import Any, Callable, Iterator, List, Optional

import pytest

from determined import data
from determined.data import _build
from determined.data._lock import acquire
from tests.stub_master import DEADLINE

# Several processes run at once under a tracer, perhaps on a busy machine.
PATIENCE = 4 * DEADLINE
COUNT = 40
RECORDS = [(number, os.urandom(50)) for number in range(COUNT)]


class Resumable:
    """A sequence with a fingerprint, which records the numbers of the records that are read."""

    def __init__(self, log: pathlib.Path, mark: str = "v") -> None:
        self._log = log
        self._mark = mark

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, number: int) -> Any:
        note(self._log, str(number))
        return RECORDS[number]

    def fingerprint(self) -> str:
        return self._mark


def note(log: pathlib.Path, line: str) -> None:
    with log.open("a") as out:
        out.write(line + "\n")


def generator(log: pathlib.Path) -> Callable[[], Iterator[Any]]:
    def make() -> Iterator[Any]:
        note(log, "begun")
        yield from RECORDS

    return make


def die_at(line: int) -> None:
    """Kill this process when it has run this number of lines of the data layer."""
    left = [line]

    def trace(frame: Any, event: str, _: Any) -> Any:
        if "determined/data/" not in frame.f_code.co_filename:
            return None
        left[0] -= 1
        if left[0] <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)


def read(folder: pathlib.Path, source: Any, fatal: Optional[int], step: int) -> None:
    """Open the data set in a process, which is killed during this, or reads all records."""
    _build.STEP_BYTES = step
    if fatal is not None:
        die_at(fatal)
    dataset = data.Store(folder).open("raced", "1", source)
    sys.settrace(None)
    assert [dataset[number] for number in range(COUNT)] == RECORDS
    dataset.close()


def start(*arguments: Any) -> Any:
    process = multiprocessing.get_context("fork").Process(target=read, args=arguments)
    process.start()
    return process


def wait(processes: List[Any]) -> List[int]:
    for process in processes:
        process.join(PATIENCE)
        if process.is_alive():
            process.kill()
            process.join()
            raise AssertionError("a process waits for ever")
    return [process.exitcode for process in processes]


def lines_of_a_build(folder: pathlib.Path, source: Any) -> int:
    """Return how many lines of the data layer run when one process builds alone."""
    seen = [0]

    def trace(frame: Any, event: str, _: Any) -> Any:
        if "determined/data/" not in frame.f_code.co_filename:
            return None
        seen[0] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        data.Store(folder).open("raced", "1", source).close()
    finally:
        sys.settrace(before)
    return seen[0]


def test_ranks_that_open_at_once_build_once(tmp_path: pathlib.Path) -> None:
    log = tmp_path / "log"
    processes = [start(tmp_path / "store", generator(log), None, 500) for _ in range(6)]
    assert wait(processes) == [0] * 6
    assert log.read_text() == "begun\n"


@pytest.mark.parametrize("resumable", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_killed_builders(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, seed: int, resumable: bool
) -> None:
    """Three processes build at once and are killed at random lines; then one completes."""
    monkeypatch.setattr(_build, "STEP_BYTES", 500)
    rng = random.Random(seed)
    log, folder = tmp_path / "log", tmp_path / "store"
    source = Resumable(log) if resumable else generator(log)
    lines = lines_of_a_build(tmp_path / "alone", source)
    codes: List[int] = []
    for _ in range(3):
        fatal = [rng.randrange(1, lines) for _ in range(3)]
        codes += wait([start(folder, source, line, 500) for line in fatal])
    # A process that found the data set complete ran fewer lines, and was not killed.
    assert set(codes) <= {0, -signal.SIGKILL} and -signal.SIGKILL in codes
    assert wait([start(folder, source, None, 500) for _ in range(2)]) == [0, 0]
    (stored,) = data.Store(folder).datasets()
    assert stored.whole and stored.records == COUNT


def test_an_interrupted_build_is_resumed(tmp_path: pathlib.Path) -> None:
    """The source is not read again for stored records, and the rest is read once."""
    log, folder = tmp_path / "log", tmp_path / "store"

    class Dies(Resumable):
        def __getitem__(self, number: int) -> Any:
            if number == 30:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().__getitem__(number)

    assert wait([start(folder, lambda: Dies(log), None, 500)]) == [-signal.SIGKILL]
    first = log.read_text().split()
    assert first == [str(number) for number in range(30)]
    log.unlink()
    assert wait([start(folder, Resumable(log), None, 500)]) == [0]
    second = log.read_text().split()
    assert 20 < int(second[0]) <= 30
    assert second == [str(number) for number in range(int(second[0]), COUNT)]


@pytest.mark.parametrize("other", ["mark", "progress", "records"])
def test_a_build_of_something_else_is_begun_again(tmp_path: pathlib.Path, other: str) -> None:
    """If the source or the files have changed, no part of the earlier build is used."""
    log, folder = tmp_path / "log", tmp_path / "store"

    class Dies(Resumable):
        def __getitem__(self, number: int) -> Any:
            if number == 30:
                os.kill(os.getpid(), signal.SIGKILL)
            return (number, b"of another source")

    mark = "other" if other == "mark" else "v"
    assert wait([start(folder, Dies(log, mark), None, 200)]) == [-signal.SIGKILL]
    (progress,) = folder.glob("*/" + _build.PROGRESS)
    if other == "progress":
        progress.write_text(progress.read_text().replace('"records": ', '"records": 1'))
    if other == "records":
        os.truncate(progress.with_name(_build.RECORDS), 10)
    assert wait([start(folder, Resumable(log), None, 200)]) == [0]
    assert log.read_text().split()[0] == "0"


def test_nothing_of_a_larger_build_is_left(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "store"
    with pytest.raises(ZeroDivisionError):
        data.Store(folder).open("a", "1", (1 // (n < 40) and b"x" * 5000 for n in range(41)))
    with data.Store(folder).open("a", "1", [b"y"]) as dataset:
        assert list(dataset) == [b"y"]
        assert dataset.path.joinpath(_build.RECORDS).stat().st_size < 100


def test_a_lock_of_a_folder_that_was_moved_away_is_no_lock(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    held = acquire(folder, exclusive=False)
    assert held is not None
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(acquire, folder, True)
        assert acquire(folder, exclusive=True, wait=False) is None
        folder.rename(tmp_path / "elsewhere")
        held.close()
        assert waiting.result(PATIENCE) is None
    folder.mkdir()
    (folder / "lock").touch()
    again = acquire(folder, exclusive=True)
    assert again is not None and again.is_of(folder)
    again.close()


def test_a_builder_that_is_killed_lets_the_next_one_build(tmp_path: pathlib.Path) -> None:
    """A process waits for the builder, which is killed; the waiting process builds."""
    log, folder = tmp_path / "log", tmp_path / "store"
    ready, release = multiprocessing.get_context("fork").Pipe()

    def stuck() -> Iterator[Any]:
        yield RECORDS[0]
        ready.send("building")
        while True:
            signal.pause()

    builder = start(folder, stuck, None, 500)
    try:
        assert release.poll(PATIENCE) and release.recv() == "building"
        waiting = [start(folder, generator(log), None, 500) for _ in range(2)]
    finally:
        builder.kill()
    assert wait([builder]) == [-signal.SIGKILL]
    assert wait(waiting) == [0, 0]
    assert log.read_text() == "begun\n"


def test_readers_keep_their_data_set_from_being_evicted(tmp_path: pathlib.Path) -> None:
    """After a reader was killed, its data set can be evicted."""
    folder = tmp_path / "store"
    store = data.Store(folder, limit=12_000)
    store.open("read", "1", [b"x" * 8000]).close()
    ready, release = multiprocessing.get_context("fork").Pipe()

    def hold() -> None:
        data.Store(folder).fetch("read", "1")[0]
        kept = data.Store(folder).fetch("read", "1")
        ready.send(len(kept))
        while True:
            signal.pause()

    reader = multiprocessing.get_context("fork").Process(target=hold)
    reader.start()
    try:
        assert release.poll(PATIENCE) and release.recv() == 1
        with pytest.raises(data.StoreFull):
            store.open("new", "1", [b"y" * 8000])
    finally:
        reader.kill()
        reader.join()
    store.open("new", "1", [b"y" * 8000]).close()
    assert [stored.id for stored in store.datasets()] == ["new"]


def test_a_fork_shares_the_lock(tmp_path: pathlib.Path) -> None:
    """When a worker process of a loader ends, its parent still holds the lock."""
    store = data.Store(tmp_path / "store")
    dataset = store.open("read", "1", RECORDS)

    def work() -> None:
        assert dataset[3] == RECORDS[3]
        dataset.close()

    worker = multiprocessing.get_context("fork").Process(target=work)
    worker.start()
    assert wait([worker]) == [0]
    with pytest.raises(data.InUse):
        store.remove("read", "1")
    dataset.close()
    assert store.remove("read", "1")


def test_removals_that_were_interrupted_are_finished(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Processes build and evict in too small a store, and are killed on the way."""
    folder = tmp_path / "store"

    def churn(seed: int, fatal: int) -> None:
        rng = random.Random(seed)
        store = data.Store(folder, limit=20_000)
        die_at(fatal)
        for _ in range(6):
            name = rng.choice("abcdef")
            try:
                with store.open(name, "1", [name.encode() * 5000]) as dataset:
                    assert dataset[0] == name.encode() * 5000
            except data.StoreFull:
                pass  # all that is there was in use just now

    rng = random.Random(5)
    for round_ in range(6):
        processes = [
            multiprocessing.get_context("fork").Process(
                target=churn, args=(round_ * 10 + one, rng.randrange(100, 2500))
            )
            for one in range(3)
        ]
        for process in processes:
            process.start()
        assert set(wait(processes)) <= {0, -signal.SIGKILL}
    store = data.Store(folder, limit=20_000)
    store.open("last", "1", [b"z" * 5000]).close()
    assert sum(stored.nbytes for stored in store.datasets()) <= 20_000
    assert not list(folder.glob(".removed-*"))
    for stored in store.datasets():
        if stored.whole:
            with store.fetch(stored.id, stored.version) as dataset:
                dataset.verify()
