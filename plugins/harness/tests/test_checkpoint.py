import json
import pathlib

import pytest

from determined import core, errors
from determined.common import storage
from tests.conftest import CONFIG, MakeTask
from tests.stub_master import Stub, error


def test_store_restore_report(stub: Stub, make_task: MakeTask) -> None:
    shared = make_task()
    with core.init() as context:
        metadata = {"steps_completed": 10, "k": "v"}
        with context.checkpoint.store_path(metadata) as (path, storage_id):
            assert path == shared / "team" / storage_id
            (path / "model.bin").write_bytes(b"0123456789")
            (path / "sub").mkdir()
        with context.checkpoint.restore_path(storage_id) as path:
            assert (path / "model.bin").read_bytes() == b"0123456789"
            assert json.loads((path / "metadata.json").read_text()) == metadata
            size = str((path / "metadata.json").stat().st_size)
        assert context.checkpoint.get_metadata(storage_id) == metadata
        reported = dict(stub.checkpoints[storage_id])
        assert reported.pop("reportTime").endswith("+00:00")
        assert reported == {
            "uuid": storage_id,
            "taskId": "5.uuid",
            "allocationId": "5.uuid.1",
            "state": "STATE_COMPLETED",
            "metadata": metadata,
            "resources": {"model.bin": "10", "sub/": "0", "metadata.json": size},
            "training": {},
            "storageId": 7,
        }
        context.checkpoint.delete(storage_id)
        assert not (shared / "team" / storage_id).exists()
        (patch,) = stub.sent("PATCH", "/checkpoints")
        assert patch.json == {"checkpoints": [{"uuid": storage_id, "resources": {"resources": {}}}]}
        with pytest.raises(errors.CheckpointNotFound), context.checkpoint.restore_path(storage_id):
            pass
    (start,) = stub.sent("POST", "/runs/start")
    assert start.json == {"runId": 12, "checkpointStorage": CONFIG["checkpoint_storage"]}


def test_checkpoint_is_reported_after_its_metrics(stub: Stub, make_task: MakeTask) -> None:
    make_task()
    with core.init() as context:
        for step in range(1, 101):
            context.train.report_training_metrics(step, {"loss": 1.0})
        with context.checkpoint.store_path({"steps_completed": 100}):
            pass
        # When the block has ended, the master has the checkpoint and its metrics.
        assert len(stub.checkpoints) == 1
        assert stub.steps("training") == list(range(1, 101))
    paths = [r.path for r in stub.requests if r.path.endswith(("/metrics", "/checkpoints"))]
    assert paths.index("/api/v1/checkpoints") == 100


def test_outage_holds_the_report_of_a_checkpoint(
    stub: Stub, make_task: MakeTask, caplog: pytest.LogCaptureFixture
) -> None:
    make_task(DET_ACKNOWLEDGE_SECONDS="0.05")
    with core.init() as context:
        context.train.report_training_metrics(5, {"loss": 1.0})
        stub.wait_for(lambda: stub.steps("training"))
        stub.stop()
        with context.checkpoint.store_path({"steps_completed": 5}) as (_, storage_id):
            pass
        assert "its report waits until a master answers" in caplog.text
        stub.start()
    assert list(stub.checkpoints) == [storage_id]


def test_refused_checkpoint_is_an_error(stub: Stub, make_task: MakeTask) -> None:
    make_task()
    stub.change(refusals={"checkpoints": error(409, "Aborted", "of an older run")})
    with core.init() as context, pytest.raises(Exception, match="of an older run"):
        with context.checkpoint.store_path({"steps_completed": 5}):
            pass


def test_failed_save_is_not_reported(stub: Stub, make_task: MakeTask) -> None:
    shared = make_task()
    with core.init() as context, pytest.raises(KeyError):
        with context.checkpoint.store_path({"steps_completed": 5}) as (path, _):
            (path / "half").write_text("half")
            raise KeyError("out of memory")
    assert not stub.checkpoints
    assert list((shared / "team").glob("*/half")) == []


def test_steps_completed_is_demanded_before_the_work(stub: Stub, make_task: MakeTask) -> None:
    make_task()
    with core.init() as context:
        with pytest.raises(ValueError, match="must hold 'steps_completed'"):
            with context.checkpoint.store_path({"epoch": 1}):
                pytest.fail("the block ran")
        with pytest.raises(ValueError, match="must hold 'steps_completed'"):
            context.checkpoint.upload("/nowhere")


def test_upload_and_download(stub: Stub, make_task: MakeTask, tmp_path: pathlib.Path) -> None:
    make_task()
    source = tmp_path / "source"
    source.mkdir()
    (source / "keep.bin").write_bytes(b"123")
    (source / "skip.tmp").write_bytes(b"4")
    with core.init() as context:
        storage_id = context.checkpoint.upload(
            source, {"steps_completed": 1}, selector=lambda path: not path.endswith(".tmp")
        )
        resources = stub.checkpoints[storage_id]["resources"]
        assert set(resources) == {"keep.bin", "metadata.json"}
        context.checkpoint.download(storage_id, tmp_path / "all")
        assert set(storage.list_directory(tmp_path / "all")) == {"keep.bin", "metadata.json"}
        context.checkpoint.download(
            storage_id, tmp_path / "some", selector=lambda path: path == "keep.bin"
        )
        assert set(storage.list_directory(tmp_path / "some")) == {"keep.bin"}
        mode = core.DownloadMode.NoSharedDownload
        context.checkpoint.download(storage_id, tmp_path / "alone", mode)
        assert set(storage.list_directory(tmp_path / "alone")) == {"keep.bin", "metadata.json"}
        with pytest.raises(RuntimeError, match="with shard=True only"):
            context.checkpoint.upload(None)


def test_directory_storage(stub: Stub, make_task: MakeTask, tmp_path: pathlib.Path) -> None:
    place = tmp_path / "own"
    make_task({**CONFIG, "checkpoint_storage": {"type": "directory", "container_path": str(place)}})
    with core.init() as context:
        with context.checkpoint.store_path({"steps_completed": 1}) as (path, storage_id):
            assert path == place / storage_id


def test_storage_named_by_the_code(stub: Stub, make_task: MakeTask, tmp_path: pathlib.Path) -> None:
    make_task()
    with core.init(checkpoint_storage=str(tmp_path / "own")) as context:
        with context.checkpoint.store_path({"steps_completed": 1}) as (path, storage_id):
            assert path == tmp_path / "own" / storage_id
    (start,) = stub.sent("POST", "/runs/start")
    assert start.json["checkpointStorage"]["host_path"] == str(tmp_path / "own")
    with pytest.raises(ValueError, match="takes no map of type shared_fs"):
        core.init(checkpoint_storage={"type": "shared_fs", "host_path": "/x"})


def test_storage_without_a_harness_for_it(stub: Stub, make_task: MakeTask) -> None:
    make_task({**CONFIG, "checkpoint_storage": {"type": "hdfs", "hdfs_url": "u"}})
    with pytest.raises(TypeError, match="'hdfs' is not supported by this release"):
        core.init()


def test_off_the_cluster(tmp_path: pathlib.Path) -> None:
    with core.init(checkpoint_storage=str(tmp_path / "own")) as context:
        with context.checkpoint.store_path({"steps_completed": 3}) as (path, storage_id):
            (path / "x").write_text("x")
        assert context.checkpoint.get_metadata(storage_id) == {"steps_completed": 3}
        with context.checkpoint.restore_path(storage_id) as path:
            assert (path / "x").read_text() == "x"
        context.checkpoint.delete(storage_id)
        assert list((tmp_path / "own").iterdir()) == []


def test_source_of_another_experiment(stub: Stub, make_task: MakeTask) -> None:
    """The files come from the storage that the master names, otherwise from the task's storage."""
    elsewhere = {"type": "shared_fs", "host_path": "/data", "storage_path": "other"}
    shared = make_task(DET_CHECKPOINT_SOURCES=json.dumps({"c0ffee": elsewhere}))
    (shared / "other" / "c0ffee").mkdir(parents=True)
    (shared / "other" / "c0ffee" / "model.bin").write_bytes(b"theirs")
    with core.init() as context:
        with context.checkpoint.restore_path("c0ffee") as path:
            assert (path / "model.bin").read_bytes() == b"theirs"
        context.checkpoint.download("c0ffee", shared / "copy")
        assert (shared / "copy" / "model.bin").read_bytes() == b"theirs"
        with context.checkpoint.store_path({"steps_completed": 1}) as (path, storage_id):
            assert path == shared / "team" / storage_id
        with pytest.raises(errors.CheckpointNotFound):
            with context.checkpoint.restore_path("decaf"):
                pass
