import os
import pathlib

import pytest

from determined import core
from determined.exec import resume
from tests.conftest import MakeTask
from tests.stub_master import Stub


@pytest.fixture
def run_dir(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "run"
    folder.mkdir()
    monkeypatch.setenv("DET_RUN_DIR", str(folder))
    return folder


def test_folder_is_kept_across_attempts(
    stub: Stub, make_task: MakeTask, run_dir: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    shared = make_task()
    first = tmp_path / "first" / "out"
    assert resume.main(["restore", str(first)]) == 0
    assert not first.exists()
    (first / "sub").mkdir(parents=True)
    (first / "sub" / "state").write_bytes(b"0123456789")
    (first / "metadata.json").write_text("of the program")
    assert resume.main(["save", str(first)]) == 0
    (kept,) = stub.checkpoints.values()
    assert kept["metadata"] == {"steps_completed": 0, "resume": str(first)}
    assert kept["resources"] == {"sub/": "0", "sub/state": "10", "metadata.json": "14"}
    assert (kept["state"], kept["allocationId"]) == ("STATE_COMPLETED", "5.uuid.1")
    stored = shared / "team" / kept["uuid"]
    assert (stored / "sub" / "state").read_bytes() == b"0123456789"
    # Nobody asked whether the attempt is preempted: the program may know only signals.
    assert not stub.sent("GET", "/signals/preemption")

    second = tmp_path / "second" / "out"
    assert resume.main(["restore", str(second)]) == 0
    assert (second / "sub" / "state").read_bytes() == b"0123456789"
    assert (second / "metadata.json").read_text() == "of the program"
    # An attempt that changed nothing stores no copy; one that changed a file stores one.
    assert resume.main(["save", str(second)]) == 0
    assert len(stub.checkpoints) == 1
    (second / "sub" / "state").write_bytes(b"9876543210")
    os.utime(second / "sub" / "state", ns=(1, 1))
    assert resume.main(["save", str(second)]) == 0
    assert len(stub.checkpoints) == 2
    assert resume.main(["restore", str(second)]) == 0
    assert (second / "sub" / "state").read_bytes() == b"9876543210"


def test_other_checkpoints_are_not_restored(
    stub: Stub, make_task: MakeTask, run_dir: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    make_task()
    out = tmp_path / "out"
    out.mkdir()
    (out / "state").write_text("kept")
    with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as context:
        context.train.report_training_metrics(7, {"loss": 1.0})
        stub.wait_for(lambda: stub.steps("training") == [7])
        assert resume.main(["save", str(out)]) == 0
        with context.checkpoint.store_path({"steps_completed": 9}) as (path, reported):
            (path / "model").write_text("reported")
    (kept,) = (c for c in stub.checkpoints.values() if c["uuid"] != reported)
    assert kept["metadata"]["steps_completed"] == 7
    make_task(DET_LATEST_CHECKPOINT=reported)
    for state in ("STATE_COMPLETED", "STATE_DELETED"):
        kept["state"] = state
        again = tmp_path / state
        assert resume.main(["restore", str(again)]) == 0
        assert again.exists() == (state == "STATE_COMPLETED")
        assert not (again / "model").exists()


def test_starts_from_the_folder_of_another_trial(
    stub: Stub, make_task: MakeTask, run_dir: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    make_task()
    out = tmp_path / "out"
    out.mkdir()
    (out / "state").write_text("theirs")
    assert resume.main(["save", str(out)]) == 0
    (theirs,) = stub.checkpoints
    stub.list_checkpoints = lambda *_: (200, {"checkpoints": []})  # type: ignore[method-assign]
    make_task(DET_LATEST_CHECKPOINT=theirs)
    assert resume.main(["restore", str(tmp_path / "mine")]) == 0
    assert (tmp_path / "mine" / "state").read_text() == "theirs"


def test_nothing_is_kept_of_an_empty_folder(
    stub: Stub, make_task: MakeTask, run_dir: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    make_task()
    assert resume.main(["save", str(tmp_path / "missing")]) == 0
    assert not stub.checkpoints


def test_only_in_trials(capsys: pytest.CaptureFixture[str]) -> None:
    assert resume.main(["save", "out"]) == 1
    assert "this is none" in capsys.readouterr().err
