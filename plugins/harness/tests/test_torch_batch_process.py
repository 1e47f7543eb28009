"""Batch inference with one worker and with two."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import time
from typing import Any, Dict, List, Optional, Set

import pytest

pytest.importorskip("torch")

import torch

from determined.pytorch import experimental
from tests.conftest import MakeTask
from tests.stub_master import DEADLINE, Stub

RECORDS = 23


class Records(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return RECORDS

    def __getitem__(self, index: int) -> Any:
        return torch.tensor(float(index))


class Notes(experimental.TorchBatchProcessor):
    """Writes each record to the output; preempts the trial at a given batch."""

    stub: Optional[Stub] = None
    preempt_at: Optional[int] = None

    def __init__(self, context: experimental.TorchBatchProcessorContext) -> None:
        self.context = context
        self.model = context.prepare_model_for_inference(torch.nn.Identity())
        self.total = context.wrap_reducer(sum, name="total", for_training=False)
        self.events: List[str] = []

    def process_batch(self, batch: Any, batch_idx: int) -> None:
        rank = self.context.get_distributed_rank()
        for value in self.model(self.context.to_device(batch)):
            self.total.update(float(value))
            with self.context.upload_path() as path:
                (path / str(int(value))).write_text(f"{rank} {batch_idx}")
        if self.stub is not None and batch_idx == self.preempt_at:
            self.stub.change(preempt=True)
            preempt = self.context._core_context.preempt
            deadline = time.monotonic() + DEADLINE
            while not preempt.should_preempt():
                assert time.monotonic() < deadline, "the trial never hears of it"
                time.sleep(0.01)

    def on_checkpoint_start(self) -> None:
        self.context.report_metrics("events", 1, {"checkpoint": True})

    def on_finish(self) -> None:
        self.context.report_metrics("events", 2, {"finish": True})


def output(shared: pathlib.Path) -> Dict[int, List[int]]:
    """Each record with the rank and the batch that it was processed in."""
    found = {}
    for path in shared.glob("team/*/rank_*/*"):
        found[int(path.name)] = [int(word) for word in path.read_text().split()]
    return found


def steps(stub: Stub) -> List[int]:
    return sorted(found["metadata"]["steps_completed"] for found in stub.checkpoints.values())


def test_one_worker(stub: Stub, make_task: MakeTask) -> None:
    shared = make_task()
    experimental.torch_batch_process(Notes, Records(), batch_size=3)
    assert output(shared) == {record: [0, record // 3] for record in range(RECORDS)}
    assert steps(stub) == [5, 8]
    assert stub.values("validation", 8) == {"total": sum(range(RECORDS))}
    assert stub.values("events", 2) == {"finish": True}
    assert stub.sent("POST", "/progress")[-1].json["progress"] == 1


def test_preempted_and_resumed(
    stub: Stub, make_task: MakeTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No record is processed twice, and both runs write to one place."""
    shared = make_task()
    monkeypatch.setattr(Notes, "stub", stub)
    monkeypatch.setattr(Notes, "preempt_at", 2)
    experimental.torch_batch_process(Notes, Records(), batch_size=3, checkpoint_interval=2)
    assert set(output(shared)) == set(range(12))
    assert steps(stub) == [2, 4]
    assert stub.values("validation", 4) == {"total": sum(range(12))}
    assert not [key for key in stub.metrics if key[1:] == ("events", "2")]
    latest = max(stub.checkpoints, key=lambda u: stub.checkpoints[u]["metadata"]["steps_completed"])
    stub.change(preempt=False)
    monkeypatch.setattr(Notes, "preempt_at", None)
    make_task(DET_LATEST_CHECKPOINT=latest, DET_STEPS_COMPLETED="4")
    experimental.torch_batch_process(Notes, Records(), batch_size=3, checkpoint_interval=2)
    assert output(shared) == {record: [0, record // 3] for record in range(RECORDS)}
    assert len(list(shared.glob("team/*/rank_0"))) == 1
    assert stub.values("validation", 8) == {"total": sum(range(12, RECORDS))}


def test_output_of_a_block_that_fails(stub: Stub, make_task: MakeTask) -> None:
    """No part of that block is stored, and what was stored before stays."""
    shared = make_task()

    class Breaks(Notes):
        def process_batch(self, batch: Any, batch_idx: int) -> None:
            with self.context.upload_path() as path:
                (path / "deep").mkdir()
                (path / "deep" / str(batch_idx)).write_text("x")
                if batch_idx == 1:
                    raise KeyError("a bug")

    with pytest.raises(KeyError):
        experimental.torch_batch_process(Breaks, Records())
    assert [path.name for path in shared.glob("team/*/rank_0/deep/*")] == ["0"]


def test_bounded(stub: Stub, make_task: MakeTask) -> None:
    shared = make_task()
    options = {"batch_size": 4, "shuffle": False}
    experimental.torch_batch_process(Notes, Records(), max_batches=2, dataloader_kwargs=options)
    assert set(output(shared)) == set(range(8))
    assert steps(stub) == [2]


def test_wrong_arguments(make_task: MakeTask) -> None:
    make_task()
    wrong: Set[Any] = set()
    for options, message in (
        ({"dataloader_kwargs": {"shuffle": True}}, "may not shuffle"),
        ({"dataloader_kwargs": {"sampler": wrong}}, "may not have sampler"),
        ({"dataloader_kwargs": {"batch_size": 1}, "batch_size": 2}, "not both"),
        ({"checkpoint_interval": 0}, "positive number"),
    ):
        with pytest.raises(ValueError, match=message):
            experimental.torch_batch_process(Notes, Records(), **options)
    with pytest.raises(TypeError, match="needs a length"):
        experimental.torch_batch_process(Notes, iter([1]))


def test_two_workers(tmp_path: pathlib.Path, stub: Stub, make_task: MakeTask) -> None:
    """Two workers share eight batches of three; the last one is short."""
    shared = make_task(DET_SLOT_IDS="[0,1]")
    script = tmp_path / "predict.py"
    script.write_text(
        "from determined.pytorch import experimental\n"
        "from tests.test_torch_batch_process import Notes, Records\n"
        "class Quiet(Notes):\n"
        "    def on_checkpoint_start(self): pass\n"
        "    def on_finish(self): pass\n"
        "experimental.torch_batch_process(Quiet, Records(), batch_size=3, checkpoint_interval=3)\n"
    )
    root = pathlib.Path(__file__).parent.parent
    launcher = [sys.executable, "-m", "determined.launch.torch_distributed"]
    done = subprocess.run(
        [*launcher, sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = output(shared)
    assert set(found) == set(range(RECORDS))
    assert {rank for rank, _ in found.values()} == {0, 1}
    assert {batch for _, batch in found.values()} == {0, 1, 2, 3}
    assert steps(stub) == [3, 4]
    assert stub.values("validation", 4) == {"total": sum(range(RECORDS))}
