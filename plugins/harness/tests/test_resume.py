import os
import pathlib
import socket

import pytest

from determined import core
from determined.common import api, storage
from determined.exec import resume
from tests.conftest import MakeTask
from tests.stub_master import Stub


@pytest.fixture
def run_dir(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "run"
    folder.mkdir()
    monkeypatch.setenv("DET_RUN_DIR", str(folder))
    return folder


def kept_of(stub: Stub) -> str:
    newest: str = list(stub.checkpoints)[-1]
    return newest


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
    # The master knows it by this field, and by its own clock.
    assert kept["kept"] is True
    assert "reportTime" not in kept
    stored = shared / "team" / kept["uuid"]
    assert (stored / "sub" / "state").read_bytes() == b"0123456789"
    # Nobody asked whether the attempt is preempted: the program may know only signals.
    assert not stub.sent("GET", "/signals/preemption")

    second = tmp_path / "second" / "out"
    before = len(stub.requests)
    assert resume.main(["restore", str(second), kept["uuid"]]) == 0
    assert len(stub.requests) == before
    assert (second / "sub" / "state").read_bytes() == b"0123456789"
    assert (second / "metadata.json").read_text() == "of the program"
    # An attempt that changed nothing stores no copy; one that changed a file stores one.
    assert resume.main(["save", str(second)]) == 0
    assert len(stub.checkpoints) == 1
    (second / "sub" / "state").write_bytes(b"9876543210")
    os.utime(second / "sub" / "state", ns=(1, 1))
    assert resume.main(["save", str(second)]) == 0
    assert len(stub.checkpoints) == 2
    assert resume.main(["restore", str(second), kept_of(stub)]) == 0
    assert (second / "sub" / "state").read_bytes() == b"9876543210"


def test_a_folder_is_kept_at_the_last_reported_step(
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
    (kept,) = stub.checkpoints.values()
    assert kept["metadata"]["steps_completed"] == 7


# A pipe without a writer blocked the copy, a dangling link failed it, and a link out of the folder
# stored what it led to.
def test_only_regular_files_of_the_folder_are_kept(
    stub: Stub,
    make_task: MakeTask,
    run_dir: pathlib.Path,
    tmp_path: pathlib.Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    shared = make_task()
    out, secret = tmp_path / "out", tmp_path / "secret"
    (out / "sub").mkdir(parents=True)
    secret.mkdir()
    (secret / "key").write_text("of somebody else")
    (out / "sub" / "state").write_text("kept")
    (out / "last").symlink_to("sub/state")
    (out / "dangling").symlink_to("nowhere")
    (out / "loop").symlink_to("loop")
    (out / "leak").symlink_to(secret / "key")
    (out / "folder").symlink_to(secret)
    os.mkfifo(out / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(out / "socket"))
        assert resume.main(["save", str(out)]) == 0
    (kept,) = stub.checkpoints.values()
    assert kept["resources"] == {"sub/": "0", "sub/state": "4", "last": "4"}
    stored = shared / "team" / kept["uuid"]
    assert sorted(p.name for p in stored.rglob("*")) == ["last", "state", "sub"]
    assert (stored / "last").read_text() == "kept"
    for name in ("dangling", "loop", "leak", "folder", "pipe", "socket"):
        assert f"not kept: {name} is " in caplog.text
    again = tmp_path / "again"
    assert resume.main(["restore", str(again), kept["uuid"]]) == 0
    assert (again / "last").read_text() == "kept"


def test_the_limits_of_the_master_hold_before_the_upload(
    stub: Stub,
    make_task: MakeTask,
    run_dir: pathlib.Path,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shared = make_task()
    out = tmp_path / "out"
    out.mkdir()
    for name in ("a" * 8, "b" * 8, "c" * 8):
        (out / name).write_text(name)
    monkeypatch.setattr(resume, "_MAX_FILES", 2)
    assert resume.main(["save", str(out)]) == 1
    assert "has 3 files and folders; 2 can be kept" in capsys.readouterr().err
    monkeypatch.setattr(resume, "_MAX_FILES", 3)
    monkeypatch.setattr(resume, "_MAX_NAMES", 23)
    assert resume.main(["save", str(out)]) == 1
    assert "have 24 bytes" in capsys.readouterr().err
    assert not stub.checkpoints
    assert not (shared / "team").exists()


def test_a_failed_upload_leaves_no_files(
    stub: Stub,
    make_task: MakeTask,
    run_dir: pathlib.Path,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shared = make_task()
    out = tmp_path / "out"
    out.mkdir()
    (out / "state").write_text("kept")
    stub.refusals["/api/v1/checkpoints"] = (409, {"error": {"message": "the run has ended"}})
    with pytest.raises(api.errors.APIException, match="the run has ended"):
        resume.main(["save", str(out)])
    assert not list((shared / "team").iterdir())
    stub.refusals.clear()

    whole = storage.SharedFSStorageManager.upload

    def part(self: storage.SharedFSStorageManager, *args: object, **named: object) -> None:
        whole(self, *args, **named)  # type: ignore[arg-type]
        raise OSError("no space left")

    monkeypatch.setattr(storage.SharedFSStorageManager, "upload", part)
    with pytest.raises(OSError, match="no space left"):
        resume.main(["save", str(out)])
    assert not list((shared / "team").iterdir())
    assert not stub.checkpoints


def test_folders_of_others_are_refused(
    stub: Stub,
    make_task: MakeTask,
    run_dir: pathlib.Path,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shared = make_task()
    (shared / "team" / "inner").mkdir(parents=True)
    (run_dir / "info").mkdir()
    (run_dir / "workdir" / "out").mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(shared)
    a_file = tmp_path / "file"
    a_file.write_text("no folder")
    refused = [
        shared,
        shared / "team",
        shared / "team" / "inner",
        shared.parent,
        link,
        link / "new",
        run_dir,
        run_dir / "info",
        run_dir / "workdir",
        pathlib.Path("/proc/self/task"),
        pathlib.Path("/dev/shm/out"),
        pathlib.Path("/sys"),
        pathlib.Path("/"),
        a_file,
    ]
    for folder in refused:
        for action in ("restore", "save"):
            assert resume.main([action, str(folder)]) == 1, folder
            assert "resume.path" in capsys.readouterr().err
    assert resume.main(["save", str(run_dir / "workdir" / "out")]) == 0
    assert not stub.checkpoints


def test_nothing_is_kept_of_an_empty_folder(
    stub: Stub,
    make_task: MakeTask,
    run_dir: pathlib.Path,
    tmp_path: pathlib.Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    make_task()
    assert resume.main(["save", str(tmp_path / "missing")]) == 0
    assert "nothing to keep: the program has made no folder" in caplog.text
    (tmp_path / "empty").mkdir()
    assert resume.main(["save", str(tmp_path / "empty")]) == 0
    assert not stub.checkpoints


def test_only_in_trials(capsys: pytest.CaptureFixture[str]) -> None:
    assert resume.main(["save", "out"]) == 1
    assert "this is none" in capsys.readouterr().err
