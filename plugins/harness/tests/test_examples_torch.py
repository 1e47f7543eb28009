"""Examples that need PyTorch, outside a cluster; integration/frameworks runs all in one."""

from __future__ import annotations

import json
from typing import Any, Dict

import pytest

pytest.importorskip("torch")

from tests.conftest import CONFIG, MakeTask
from tests.stub_master import Stub
from tests.test_examples import ROOT, run, start_over

SENTENCES = ROOT / "examples" / "sentences_core_ddp"
HPARAMS = json.dumps({"global_batch_size": 16, "lr": 0.003, "width": 16, "layers": 1})


def sentences(make_task: MakeTask, **more: Any) -> str:
    make_task(CONFIG, DET_HPARAMS=HPARAMS, **more)
    return run(SENTENCES, "train.py", env={"OMP_NUM_THREADS": "1"})


def reported(stub: Stub) -> Dict[Any, Any]:
    return {key[1:]: values for key, values in stub.metrics.items()}


@pytest.mark.nightly
def test_the_language_model_goes_on_exactly(stub: Stub, make_task: MakeTask) -> None:
    """A run that is preempted and continued reports exactly the numbers of a run that is not."""
    assert "the model writes: " in sentences(make_task)
    assert stub.steps("training") == list(range(20, 301, 20))
    assert stub.steps("validation") == [100, 200, 300]
    whole = reported(stub)

    start_over(stub)
    stub.change(preempt=True)
    assert "the trial resumes later" in sentences(make_task)
    (checkpoint,) = stub.checkpoints
    stopped = stub.checkpoints[checkpoint]["metadata"]["steps_completed"]
    stub.change(preempt=False)
    out = sentences(make_task, DET_LATEST_CHECKPOINT=checkpoint, DET_TRIAL_RUN_ID="2")
    assert f"continuing from checkpoint {checkpoint} at step {stopped}" in out
    assert reported(stub) == whole
