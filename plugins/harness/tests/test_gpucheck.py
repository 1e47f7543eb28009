"""The checks of a machine with GPUs: what they conclude from what they see, and how it is shown."""

from __future__ import annotations

import io
import pathlib
import stat
import subprocess
import sys
import zipfile
from typing import Any, Dict, List

import pytest

from gpucheck import cluster as clusters
from gpucheck import machine as machines
from gpucheck.checks import Checks
from gpucheck.report import Failure, Report, Skip, table

IDS = ["GPU-1a", "GPU-2b"]


class Clock:
    """A clock that goes on with each look."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        self.at += 1
        return self.at


def machine(**python: Any) -> machines.Machine:
    """Return a machine with two GPUs that det-gpu and PyTorch know."""
    gpus: List[Dict[str, Any]] = [
        {"id": id, "model": "NVIDIA H200", "memory_mib": 143771, "bus_id": f"0:{id}:0"}
        for id in IDS
    ]
    seen = [{"name": "NVIDIA H200", "bytes": 150_000_000_000, "uuid": id[4:]} for id in IDS]
    packages = {"torch": "2.11", "cuda": "13.0", "nccl": "2.28", "gpus": seen, **python}
    return machines.Machine({"driver": "580.1", "devices": gpus}, "", packages)


class Told(clusters.Cluster):
    """A cluster whose programs print what a test says, in this order."""

    def __init__(self, results: List[Dict[str, Any]], slots: List[Dict[str, Any]]) -> None:
        super().__init__(pathlib.Path("/pack"), pathlib.Path("/work"), "python3")
        self.results, self.rows = results, slots
        self.asked: List[Any] = []

    def slots(self) -> List[Dict[str, Any]]:
        return self.rows

    def train(
        self, name: str, entrypoint: str, slots: int, seconds: float, metric: str = "loss"
    ) -> Dict[str, Any]:
        self.asked.append((name, slots))
        return self.results.pop(0)


SLOTS = [{"uuid": id, "enabled": True, "health": "healthy", "device": "NVIDIA H200"} for id in IDS]


def checks(
    of: machines.Machine, *results: Dict[str, Any], slots: Any = None, processors: bool = False
) -> Checks:
    told = Told(list(results), SLOTS if slots is None else slots)
    return Checks(Report(io.StringIO(), 500), of, told, processors)


def test_lines_and_exit_status() -> None:
    out = io.StringIO()
    report = Report(out, 14, Clock())

    def fail() -> str:
        raise Failure("it smells of smoke")

    def skip() -> str:
        raise Skip("no PyTorch")

    def mistake() -> str:
        nothing: Dict[str, str] = {}
        return nothing["x"]

    assert report.check("one", lambda: "two GPUs") and report.end() == 0
    assert not report.check("two", fail) and report.check("three", skip)
    assert not report.check("four", mistake)
    assert not report.check("five", lambda: "there was no time")
    assert report.check("six", lambda: "this is done all the same", always=True)
    assert report.end() == 1
    assert out.getvalue().splitlines() == [
        "passed   one                2.0 s  two GPUs",
        "1 passed, 0 failed, 0 skipped",
        "failed   two                2.0 s  it smells of smoke",
        "skipped  three              2.0 s  no PyTorch",
        "failed   four               2.0 s  KeyError: 'x'",
        "failed   five               2.0 s  the time for all checks is over",
        "passed   six                2.0 s  this is done all the same",
        "2 passed, 3 failed, 1 skipped",
    ]


def test_nothing_passed_is_no_success() -> None:
    report = Report(io.StringIO(), 8)
    assert report.end() == 1


def test_table() -> None:
    facts = {**machine().facts(), "bare": "4.000 ms", "ours": "4.010 ms", "more": "+0.25%"}
    rows = table(facts).splitlines()
    assert rows[2].startswith(
        "| 2 GPUs: 2 x NVIDIA H200 | 143771 MiB | 580.1 | 13.0 | 2.11 | 2.28 | - | 4.000 ms |"
    )
    assert len({row.count("|") for row in rows}) == 1
    none = machines.Machine({}, "no driver", {"torch": "2.11"})
    assert table(none.facts()).splitlines()[2].startswith("| simulated | - | - | - | 2.11 |")


def test_probe() -> None:
    assert "2 x NVIDIA H200, driver 580.1, healthy, 0 link groups" in checks(machine()).probe()
    sick = machine()
    sick.gpus[1]["unfit"] = "it fell off the bus"
    with pytest.raises(Failure, match="GPU-2b is out of use: it fell off the bus"):
        checks(sick).probe()
    unknown = machine()
    unknown.gpus[0]["memory_mib"] = 0
    with pytest.raises(Failure, match="GPU-1a"):
        checks(unknown).probe()
    with pytest.raises(Skip, match=r"no driver; the cluster simulates GPUs"):
        checks(machines.Machine({}, "no driver", {})).probe()


def test_pytorch_sees_the_same() -> None:
    assert "NCCL 2.28" in checks(machine()).pytorch()
    with pytest.raises(Failure, match="PyTorch finds no GPU"):
        checks(machine(gpus=[])).pytorch()
    assert "on processors" in checks(machine(gpus=[]), processors=True).pytorch()
    other = [{"name": "NVIDIA H200", "bytes": 150_000_000_000, "uuid": "9z"}]
    with pytest.raises(Failure, match="det-gpu lists .'1a', '2b'., and PyTorch has .'9z'."):
        checks(machine(gpus=other)).pytorch()
    small = [{"name": "NVIDIA H200", "bytes": 80_000_000_000, "uuid": id[4:]} for id in IDS]
    with pytest.raises(Failure, match="no GPU like PyTorch's NVIDIA H200 of 76294 MiB"):
        checks(machine(gpus=small)).pytorch()


def test_slots() -> None:
    assert checks(machine()).slots() == "2 slots of NVIDIA H200"
    with pytest.raises(Failure, match="the master has .'GPU-1a'."):
        checks(machine(), slots=SLOTS[:1]).slots()
    sick = [SLOTS[0], {**SLOTS[1], "health": "memory errors"}]
    with pytest.raises(Failure, match="GPU-2b cannot be used: memory errors"):
        checks(machine(), slots=sick).slots()


def test_a_trial_sees_its_gpu_alone() -> None:
    good: Dict[str, Any] = {
        "told": ["GPU-2b"],
        "visible": "GPU-2b",
        "device": "cuda",
        "count": 1,
        "uuid": "2b",
        "error": 0.0,
    }
    assert "GPU-2b alone" in checks(machine(), good).trial()
    for wrong, words in (
        ({"told": ["GPU-3c"], "visible": "GPU-3c"}, "no slot of the master"),
        ({"visible": "GPU-1a"}, "CUDA_VISIBLE_DEVICES is GPU-1a"),
        ({"visible": ""}, "CUDA_VISIBLE_DEVICES is "),
        ({"count": 2}, "PyTorch sees 2 GPUs"),
        ({"uuid": "1a"}, "the program has"),
        ({"error": 0.5}, "a product of matrices is wrong by 0.5"),
    ):
        with pytest.raises(Failure, match=words):
            checks(machine(), {**good, **wrong}).trial()


def test_ddp_uses_all_gpus() -> None:
    good = {"device": "cuda", "backend": "nccl", "size": 2, "sum": 1.0, "same": True}
    good.update(first=1.0, last=0.1)
    assert "2 workers over nccl" in checks(machine(), good).ddp()
    for wrong, words in (
        ({"backend": "gloo"}, "2 workers over nccl were wanted"),
        ({"same": False}, "different weights"),
        ({"last": 0.9}, "the loss went from 1 to 0.9 only"),
        ({"device": "cpu"}, "trained on cpu, and not on cuda"),
    ):
        with pytest.raises(Failure, match=words):
            checks(machine(), {**good, **wrong}).ddp()


def test_steps_are_judged_on_gpus_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def one(ours: float, kind: str, **how: Any) -> Checks:
        found = [{"device": kind, "ms": ours + extra} for extra in (0.0, 0.5, 0.2)]
        made = checks(machine(), *found, **how)
        times = iter((5.0, 4.0, 4.2))
        monkeypatch.setattr(made, "bare_steps", lambda slots: next(times))
        return made

    good = one(4.01, "cuda")
    assert good.steps() == "4.010 ms, +0.25% of 4.000 ms under torchrun alone"
    assert good.facts["more"] == "+0.25%"
    with pytest.raises(Failure, match="0.5% is the most"):
        one(4.03, "cuda").steps()
    assert "decides nothing" in one(8.0, "cpu", processors=True).steps()


def test_what_a_program_printed() -> None:
    log = '[1] [rank=0] || GPUCHECK {"ms": 1}\nx\n[2] || GPUCHECK {"ms": 2}\nend\n'
    assert clusters.result(log) == {"ms": 2}
    with pytest.raises(Failure, match="printed no result: a / b"):
        clusters.result("a\n b\n")


def test_wheels_are_beside_the_machines_own(tmp_path: pathlib.Path) -> None:
    """Without wheels the Python is this one; with them a script that finds their packages too."""
    assert clusters.python_of(tmp_path, tmp_path) == sys.executable
    (tmp_path / "wheels").mkdir()
    wheel = tmp_path / "wheels" / "lacking-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("lacking.py", "WORD = 'found'\n")
        info = "lacking-1.0.dist-info"
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: lacking\nVersion: 1.0\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    python = clusters.python_of(tmp_path, tmp_path)
    text = "import lacking, json, sys; print(lacking.WORD, sys.argv[1])"
    said = subprocess.run([python, "-c", text, "a b"], check=True, capture_output=True, text=True)
    assert said.stdout == "found a b\n"
    wheel.write_bytes(b"not a wheel")
    with pytest.raises(Failure, match="the wheels of the pack cannot be installed"):
        clusters.python_of(tmp_path, tmp_path)


def test_det_is_stopped_in_time(tmp_path: pathlib.Path) -> None:
    """A det that hangs, or fails, is a line of the report with what it said."""
    (tmp_path / "bin").mkdir()
    det = tmp_path / "bin" / "det"
    det.write_text(
        '#!/bin/sh\n[ "$1" = hang ] && exec sleep 60\necho "no $1 here $DET_USER"; exit 3\n'
    )
    det.chmod(det.stat().st_mode | stat.S_IXUSR)
    cluster = clusters.Cluster(tmp_path, tmp_path, "python3")
    cluster.env["DET_USER"] = "ann"
    with pytest.raises(Failure, match="det hang did not end within 1 s"):
        cluster.det("hang", seconds=0.2)
    log = tmp_path / "log"
    with pytest.raises(Failure, match="det slot list: no slot here ann"):
        cluster.det("slot", "list", seconds=20, log=log)
    assert log.read_text() == "no slot here ann\n"
