import collections
import json
import os
import pathlib
import random
import subprocess
import sys
from typing import Deque, List

import pytest

from determined.core._backlog import Backlog, Report, default_directory


def report(number: int, size: int = 10) -> Report:
    return Report("/path", json.dumps({"n": number, "x": "y" * size}), f"report {number}")


def drain(backlog: Backlog) -> List[int]:
    numbers: List[int] = []
    while True:
        first = backlog.peek()
        if first is None:
            return numbers
        assert backlog.peek() == first
        numbers.append(int(first.what.split()[1]))
        backlog.pop()


def test_order_through_memory_and_file(tmp_path: pathlib.Path) -> None:
    backlog = Backlog(tmp_path / "backlog", memory_bytes=200)
    for number in range(20):
        assert backlog.append(report(number))
    assert backlog.file is not None and backlog.file.exists()
    assert len(backlog) == 20
    kept = backlog.file
    assert drain(backlog) == list(range(20))
    assert len(backlog) == 0 and not kept.exists() and backlog.file is None
    with pytest.raises(IndexError):
        backlog.pop()


def test_any_order_of_calls_keeps_first_in_first_out(tmp_path: pathlib.Path) -> None:
    for seed in range(20):
        rng = random.Random(seed)
        backlog = Backlog(
            tmp_path / "backlog", memory_bytes=rng.choice([0, 100, 400]), disk_bytes=2000
        )
        model: Deque[Report] = collections.deque()
        for number in range(400):
            if rng.random() < 0.55:
                new = report(number, rng.randrange(40))
                if backlog.append(new):
                    model.append(new)
                else:
                    assert model, f"seed {seed}: an empty backlog refused a report"
            elif model:
                assert backlog.peek() == model.popleft(), f"seed {seed}"
                backlog.pop()
            assert len(backlog) == len(model), f"seed {seed}"


def test_bounds(tmp_path: pathlib.Path) -> None:
    backlog = Backlog(tmp_path, memory_bytes=100, disk_bytes=500)
    number = 0
    while backlog.append(report(number)):
        number += 1
        assert number < 100
    assert backlog.file is not None
    assert backlog.file.stat().st_size <= 500
    assert drain(backlog) == list(range(number))
    assert backlog.append(report(0))


def test_one_report_beyond_all_bounds(tmp_path: pathlib.Path) -> None:
    backlog = Backlog(tmp_path, memory_bytes=10, disk_bytes=10)
    assert backlog.append(report(0, 1000))
    assert backlog.append(report(1, 1000))
    assert not backlog.append(report(2, 1000))
    assert drain(backlog) == [0, 1]


def test_unwritable_disk_is_a_full_backlog(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("not a directory")
    backlog = Backlog(in_the_way, memory_bytes=100)
    number = 0
    while backlog.append(report(number)):
        number += 1
        assert number < 100
    assert "cannot store reports in" in caplog.text
    assert drain(backlog) == list(range(number))


NEARLY_FULL = """
import resource, sys
from determined.core._backlog import Backlog
from tests.test_backlog import drain, report
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
backlog = Backlog(None, memory_bytes=0)
number = 0
for turn in range(2):
    while backlog.append(report(number, 90)):
        number += 1
    # Only a part of the last record was written, so it is not read.
    assert len(backlog) >= 10
    assert not backlog.append(report(-1, 90))
    for _ in range(10):
        assert backlog.peek() is not None
        backlog.pop()
assert drain(backlog) == list(range(20, number))
assert backlog.pop_lost() == 0
"""


def test_a_disk_that_takes_a_part(tmp_path: pathlib.Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NEARLY_FULL],
        env={**os.environ, "PYTHONPATH": "."},
        cwd=pathlib.Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_what_cannot_be_read_is_counted(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    backlog = Backlog(tmp_path, memory_bytes=0)
    for number in range(6):
        assert backlog.append(report(number))
    assert backlog.file is not None
    lines = backlog.file.read_bytes().splitlines(keepends=True)
    # The first report waits in memory. Two bad lines, and a file that was cut.
    lines[1] = b"x" * (len(lines[1]) - 1) + b"\n"
    lines[3] = b"[]" + b" " * (len(lines[3]) - 3) + b"\n"
    backlog.file.write_bytes(b"".join(lines)[:-5])
    assert drain(backlog) == [0, 1, 3]
    assert backlog.pop_lost() == 3 and backlog.pop_lost() == 0
    assert "cannot be read and is lost" in caplog.text
    assert backlog.append(report(7)) and backlog.append(report(8))
    assert drain(backlog) == [7, 8]


def test_keep(tmp_path: pathlib.Path) -> None:
    backlog = Backlog(tmp_path, memory_bytes=150)
    assert backlog.keep() is None
    for number in range(10):
        assert backlog.append(report(number))
    backlog.pop()
    kept = backlog.keep()
    assert kept is not None
    lines = [json.loads(line) for line in kept.read_text().splitlines()]
    assert [line["what"] for line in lines] == [f"report {number}" for number in range(1, 10)]
    assert {line["path"] for line in lines} == {"/path"}
    assert list(tmp_path.iterdir()) == [kept]


def test_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    assert default_directory() == tmp_path / "backlog"
    monkeypatch.delenv("DET_BACKLOG_DIR")
    monkeypatch.setenv("NOMAD_ALLOC_DIR", str(tmp_path))
    assert default_directory() == tmp_path / "data" / "determined-reports"
