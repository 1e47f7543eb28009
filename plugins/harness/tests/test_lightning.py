"""The callback and the loggers with Lightning's own Trainer."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import time
from typing import Any, Dict, List, Optional

import pytest

pytest.importorskip("pytorch_lightning")

import pytorch_lightning
import torch

from determined import core
from determined.experimental import core_v2
from determined.lightning import DeterminedCallback, DeterminedLogger
from determined.lightning.experimental import DetLogger
from tests.conftest import MakeTask
from tests.stub_master import DEADLINE, Stub
from tests.test_core_v2 import client, config, states

__all__ = ["DeterminedCallback", "DeterminedLogger", "Line", "client", "data", "trainer"]

BATCHES = 4


class Line(pytorch_lightning.LightningModule):
    """Learns a straight line."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.preempt_at: Optional[int] = None
        self.stub: Optional[Stub] = None
        self.core_context: Optional[core.Context] = None

    def training_step(self, batch: Any, _: int) -> Any:
        loss = ((self.layer(batch[0]) - batch[1]) ** 2).mean()
        self.log("train_loss", loss)
        if self.global_step + 1 == self.preempt_at:
            self._preempt()
        return loss

    def _preempt(self) -> None:
        assert self.stub is not None and self.core_context is not None
        self.stub.change(preempt=True)
        deadline = time.monotonic() + DEADLINE
        while not self.core_context.preempt.should_preempt():
            assert time.monotonic() < deadline, "the trial never hears of it"
            time.sleep(0.01)

    def validation_step(self, batch: Any, _: int) -> None:
        self.log("val_loss", ((self.layer(batch[0]) - batch[1]) ** 2).mean())

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def data() -> Any:
    x = torch.arange(8.0).reshape(8, 1) / 8
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, 2 * x), batch_size=2)


def trainer(folder: pathlib.Path, **more: Any) -> Any:
    quiet = {"enable_progress_bar": False, "enable_model_summary": False}
    chosen: Dict[str, Any] = {
        "max_epochs": 2,
        "accelerator": "cpu",
        "devices": 1,
        "log_every_n_steps": 1,
        "num_sanity_val_steps": 0,
        "enable_checkpointing": False,
        "default_root_dir": str(folder),
        **quiet,
        **more,
    }
    return pytorch_lightning.Trainer(**chosen)


def train(folder: pathlib.Path, stub: Stub, preempt_at: Optional[int] = None, **more: Any) -> Line:
    pytorch_lightning.seed_everything(3)
    model = Line()
    with core.init() as core_context:
        model.preempt_at, model.stub, model.core_context = preempt_at, stub, core_context
        callback = DeterminedCallback(core_context, preempt_batches=1)
        loop = trainer(folder, callbacks=[callback], logger=DeterminedLogger(core_context), **more)
        loop.fit(model, data(), data(), ckpt_path=callback.latest_checkpoint())
    return model


def steps_of_checkpoints(stub: Stub) -> List[int]:
    return sorted(found["metadata"]["steps_completed"] for found in stub.checkpoints.values())


def test_reports_and_checkpoints(tmp_path: pathlib.Path, stub: Stub, make_task: MakeTask) -> None:
    make_task()
    train(tmp_path, stub)
    assert stub.steps("training") == list(range(1, 2 * BATCHES + 1))
    assert stub.steps("validation") == [BATCHES, 2 * BATCHES]
    assert stub.values("validation", 8)["batches"] == 8
    assert stub.values("validation", 8)["epochs"] == 2
    assert "train_loss" in stub.values("training", 3) and "val_loss" in stub.values("validation", 4)
    assert steps_of_checkpoints(stub) == [BATCHES, 2 * BATCHES]
    assert stub.sent("POST", "/progress")[-1].json["progress"] == 1


@pytest.mark.parametrize("min_epochs", [None, 2])
def test_preemption_and_resumption(
    tmp_path: pathlib.Path, stub: Stub, make_task: MakeTask, min_epochs: Optional[int]
) -> None:
    """After a preemption at an epoch's end, the final weights are those without a preemption."""
    make_task()
    whole = train(tmp_path, stub)
    stub.metrics.clear()
    stub.order.clear()
    stub.checkpoints.clear()
    train(tmp_path, stub, preempt_at=BATCHES, min_epochs=min_epochs)
    assert stub.steps("training") == [1, 2, 3, 4]
    assert stub.steps("validation") == []
    assert steps_of_checkpoints(stub) == [BATCHES]
    (uuid,) = stub.checkpoints
    stub.change(preempt=False)
    make_task(DET_LATEST_CHECKPOINT=uuid)
    resumed = train(tmp_path, stub)
    assert stub.steps("training") == list(range(1, 9))
    assert stub.steps("validation")[-1] == 8
    for name, weight in whole.state_dict().items():
        assert weight.equal(resumed.state_dict()[name])


def test_preempted_inside_an_epoch(tmp_path: pathlib.Path, stub: Stub, make_task: MakeTask) -> None:
    make_task()
    train(tmp_path, stub, preempt_at=2)
    assert stub.steps("training") == [1, 2] and steps_of_checkpoints(stub) == [2]
    (uuid,) = stub.checkpoints
    stub.change(preempt=False)
    make_task(DET_LATEST_CHECKPOINT=uuid)
    train(tmp_path, stub)
    assert stub.steps("training") == list(range(1, 9))
    assert stub.steps("validation") == [4, 8]


def test_off_the_cluster(tmp_path: pathlib.Path, stub: Stub) -> None:
    train(tmp_path, stub)
    assert not stub.requests


def test_a_logger_by_itself(tmp_path: pathlib.Path, stub: Stub, client: Any) -> None:
    logger = DetLogger(config=config(tmp_path), client=client)
    trainer(tmp_path, logger=logger, max_epochs=1).fit(Line(), data(), data())
    assert states(stub) == ["STATE_RUNNING", "STATE_COMPLETED"]
    assert stub.steps("training") == [1, 2, 3, 4] and stub.steps("validation") == [4]
    assert core_v2.train is None


def test_two_ranks(tmp_path: pathlib.Path, stub: Stub, make_task: MakeTask) -> None:
    """Lightning finds the workers that our launcher has started."""
    make_task(DET_SLOT_IDS="[0,1]")
    script = tmp_path / "train.py"
    script.write_text(
        "import pathlib, sys\n"
        "from determined import core\n"
        "from tests.test_lightning import *\n"
        "distributed = core.DistributedContext.from_torch_distributed()\n"
        "with core.init(distributed=distributed) as core_context:\n"
        "    callback = DeterminedCallback(core_context, preempt_batches=1)\n"
        "    loop = trainer(pathlib.Path(sys.argv[1]), callbacks=[callback], devices=2,\n"
        "                   strategy='ddp', logger=DeterminedLogger(core_context))\n"
        "    loop.fit(Line(), data(), data())\n"
    )
    root = pathlib.Path(__file__).parent.parent
    launcher = [sys.executable, "-m", "determined.launch.torch_distributed"]
    done = subprocess.run(
        [*launcher, sys.executable, str(script), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert stub.steps("training") == [1, 2, 3, 4]
    assert stub.steps("validation") == [2, 4]
    assert steps_of_checkpoints(stub) == [2, 4]
