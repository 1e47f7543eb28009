"""The example of the data store: it builds once, and resumes in the middle of an epoch."""

import json
import pathlib

import pytest

import determined as det
from tests.conftest import CONFIG, MakeTask
from tests.stub_master import Stub
from tests.test_examples import run, start_over

pytest.importorskip("numpy")

WAVES = pathlib.Path(det.__file__).parent.parent / "examples" / "waves_data"
HPARAMS = json.dumps({"global_batch_size": 32, "learning_rate": 0.3, "epochs": 3})


def test_waves_learns_and_makes_its_data_once(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DET_DATA_DIR", str(tmp_path / "store"))
    monkeypatch.setenv("DET_DATA_LIMIT", "100 MB")
    first = run(WAVES, "train.py")
    assert first.count("making") == 2
    reports = [line for line in first.splitlines() if "report_validation_metrics" in line]
    assert len(reports) == 8
    assert float(reports[-1].rsplit("'accuracy': ", 1)[1].rstrip("})")) > 0.9
    again = run(WAVES, "train.py")
    assert "making" not in again
    assert [line.rsplit("accuracy", 1)[1] for line in reports] == [
        line.rsplit("accuracy", 1)[1]
        for line in again.splitlines()
        if "report_validation_metrics" in line
    ]


def test_waves_resumes_in_the_middle_of_an_epoch(
    stub: Stub, make_task: MakeTask, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Epochs have 63 batches; the trial is preempted after 20, and then again 20 later."""
    monkeypatch.setenv("DET_DATA_DIR", str(tmp_path / "store"))
    monkeypatch.setenv("DET_DATA_LIMIT", "100 MB")
    make_task(CONFIG, DET_HPARAMS=HPARAMS)
    run(WAVES, "train.py")
    assert stub.steps("validation") == [63, 126, 189]
    whole = {key[1:]: values for key, values in stub.metrics.items()}
    start_over(stub)
    checkpoint = None
    for number in range(3):
        stub.change(preempt=number < 2)
        make_task(
            CONFIG,
            DET_HPARAMS=HPARAMS,
            DET_LATEST_CHECKPOINT=checkpoint,
            DET_TRIAL_RUN_ID=str(number + 1),
        )
        assert "making" not in run(WAVES, "train.py")
        (checkpoint,) = [
            name
            for name, stored in stub.checkpoints.items()
            if stored["metadata"]["steps_completed"] == (20, 40, 189)[number]
        ]
    assert {key[1:]: values for key, values in stub.metrics.items()} == whole
