"""Programs that know only signals, as they are: what docs/signals.md says of frameworks."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import signal
import subprocess
import sys
from typing import Tuple

import pytest

from determined.exec import resume
from tests.conftest import MakeTask
from tests.stub_master import Stub

# Each script sends the signal to itself in a step, so the test does not depend on time.
TRAINER = """
import os, signal, sys, torch, transformers, transformers.trainer_jit_checkpoint

transformers.trainer_jit_checkpoint.CheckpointManager.__init__.__defaults__ = (0,)  # seconds

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Linear(1, 1)

    def forward(self, x, labels):
        return {"loss": ((self.w(x) - labels) ** 2).mean()}

class Preempted(transformers.TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        print("step", state.global_step, flush=True)
        if sys.argv[1] == str(state.global_step):
            os.kill(os.getpid(), signal.SIGTERM)

data = [{"x": [float(i)], "labels": [0.0]} for i in range(16)]
args = transformers.TrainingArguments(
    "out", max_steps=6, per_device_train_batch_size=2, save_strategy="no", report_to=[],
    use_cpu=True, disable_tqdm=True, enable_jit_checkpoint=True, logging_strategy="no",
)
trainer = transformers.Trainer(Model(), args, train_dataset=data, callbacks=[Preempted()])
trainer.train(resume_from_checkpoint=os.path.isdir("out") and bool(os.listdir("out")))
"""

LIGHTNING = """
import os, signal, sys, torch
import pytorch_lightning as pl
from pytorch_lightning.callbacks import OnExceptionCheckpoint

class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Linear(1, 1)

    def training_step(self, batch, i):
        print("step", self.global_step + 1, flush=True)
        if sys.argv[1] == str(self.global_step + 1):
            os.kill(os.getpid(), signal.SIGTERM)
        return (self.w(batch) ** 2).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

data = torch.utils.data.DataLoader(torch.ones(16, 1), batch_size=2)
last = "out/on_exception.ckpt"
pl.Trainer(
    max_steps=6, callbacks=[OnExceptionCheckpoint("out")], logger=False, accelerator="cpu",
    enable_progress_bar=False, enable_model_summary=False,
).fit(Model(), data, ckpt_path=last if os.path.exists(last) else None)
"""


def run(script: str, folder: pathlib.Path, preempted_at: int) -> Tuple[int, str]:
    """Run a script, which gets SIGTERM in a step; return its exit code and its output."""
    folder.mkdir(exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": "", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, "-c", script, str(preempted_at)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("framework", "script"),
    [
        ("transformers", TRAINER),
        pytest.param("pytorch_lightning", LIGHTNING, marks=pytest.mark.nightly),
    ],
)
def test_frameworks_are_preempted_and_continue(
    framework: str,
    script: str,
    stub: Stub,
    make_task: MakeTask,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: pathlib.Path,
) -> None:
    if importlib.util.find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed")
    make_task()
    (tmp_path / "run").mkdir()
    monkeypatch.setenv("DET_RUN_DIR", str(tmp_path / "run"))
    code, out = run(script, tmp_path / "first", preempted_at=3)
    assert code in (0, -signal.SIGTERM, 128 + signal.SIGTERM), out
    last = int(out.rsplit("step ", 1)[1].split()[0])
    assert last < 6, out
    assert resume.main(["save", str(tmp_path / "first" / "out")]) == 0
    kept: str = list(stub.checkpoints)[-1]
    assert resume.main(["restore", str(tmp_path / "second" / "out"), kept]) == 0
    code, out = run(script, tmp_path / "second", preempted_at=0)
    assert code == 0, out
    steps = [int(line.split()[1]) for line in out.splitlines() if line.startswith("step ")]
    # At most one step is lost.
    assert steps[0] in (last, last + 1) and steps[-1] == 6, out
