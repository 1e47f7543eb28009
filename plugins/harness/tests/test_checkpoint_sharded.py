"""Checkpoints that several workers store together."""

import contextlib
import json
import os
import pathlib
import threading
from typing import Any, Callable, Dict, Iterator, List, Optional

import pytest

from determined import core
from determined.common import api, storage
from determined.core import _checkpoint
from determined.core._merge import merge_metadata, merge_resources
from tests.conftest import TOKEN
from tests.ranks import errors_of_ranks, run_ranks
from tests.stub_master import DEADLINE, Stub


class Remote(storage.SharedFSStorageManager):
    """Remote storage: workers write to their own folders first."""

    def __init__(self, base_path: str, local: str) -> None:
        super().__init__(base_path)
        self._local_path = local

    def pre_store_path(self, dst: str) -> pathlib.Path:
        path = pathlib.Path(self._local_path) / dst
        path.mkdir(parents=True, exist_ok=True)
        return path

    def post_store_path(
        self, src: storage.base.AnyPath, dst: str, paths: Optional[storage.Paths] = None
    ) -> None:
        super().pre_store_path(dst)
        self.upload(src, dst, paths)

    def upload(
        self, src: storage.base.AnyPath, dst: str, paths: Optional[storage.Paths] = None
    ) -> None:
        storage.SharedFSStorageManager(self._base_path).upload(src, dst, paths)

    def store_path_is_direct_access(self) -> bool:
        return False


Make = Callable[[core.DistributedContext], core.CheckpointContext]


@pytest.fixture
def make(stub: Stub, tmp_path: pathlib.Path) -> Make:
    def make_context(dist: core.DistributedContext, local: str = "") -> core.CheckpointContext:
        manager = storage.SharedFSStorageManager(str(tmp_path / "store"))
        session = api.TaskSession(stub.url, "", TOKEN)
        mode = core.TensorboardMode.MANUAL
        return core.CheckpointContext(dist, manager, session, "5.uuid", "5.uuid.1", mode, None, 7)

    return make_context


def remote(
    stub: Stub, tmp_path: pathlib.Path, dist: core.DistributedContext
) -> core.CheckpointContext:
    manager = Remote(str(tmp_path / "store"), str(tmp_path / f"machine-{dist.cross_rank}"))
    session = api.TaskSession(stub.url, "", TOKEN)
    mode = core.TensorboardMode.MANUAL
    return core.CheckpointContext(dist, manager, session, "5.uuid", "5.uuid.1", mode, None, 7)


def stored(tmp_path: pathlib.Path, storage_id: str) -> Dict[str, str]:
    root = tmp_path / "store" / storage_id
    return {
        name: (root / name).read_text() for name in storage.list_directory(root) if name[-1] != "/"
    }


def check_report(stub: Stub, tmp_path: pathlib.Path, storage_id: str) -> None:
    """The master's list of files is exactly that of the storage."""
    sizes = storage.list_directory(tmp_path / "store" / storage_id)
    assert len(stub.checkpoints) == 1
    reported = stub.checkpoints[storage_id]
    assert reported["resources"] == {name: str(size) for name, size in sizes.items()}
    metadata = json.loads((tmp_path / "store" / storage_id / "metadata.json").read_text())
    assert reported["metadata"] == metadata


def test_upload_is_the_union(stub: Stub, tmp_path: pathlib.Path, make: Make) -> None:
    def work(dist: core.DistributedContext) -> str:
        directory = tmp_path / f"rank-{dist.rank}"
        directory.mkdir()
        (directory / f"shard-{dist.rank}").write_text(f"of {dist.rank}")
        (directory / "same").write_text("everywhere the same")
        (directory / "sub").mkdir()
        metadata = {"steps_completed": 5, "by": {str(dist.rank): True}}
        return make(dist).upload(directory, metadata, shard=True)

    ids = run_ranks(work, 3)
    assert len(set(ids)) == 1
    files = stored(tmp_path, ids[0])
    assert json.loads(files.pop("metadata.json")) == {
        "steps_completed": 5,
        "by": {"0": True, "1": True, "2": True},
    }
    shards = {f"shard-{rank}": f"of {rank}" for rank in range(3)}
    assert files == {**shards, "same": "everywhere the same"}
    check_report(stub, tmp_path, ids[0])


def test_upload_of_one_folder_by_all(stub: Stub, tmp_path: pathlib.Path, make: Make) -> None:
    directory = tmp_path / "together"
    directory.mkdir()
    (directory / "model").write_text("m")

    def work(dist: core.DistributedContext) -> str:
        # The chief has no files, so another worker uploads.
        mine = None if dist.rank == 0 else directory
        return make(dist).upload(mine, {"steps_completed": 1}, shard=True)

    ids = run_ranks(work, 3)
    assert set(stored(tmp_path, ids[0])) == {"model", "metadata.json"}
    check_report(stub, tmp_path, ids[0])


def test_upload_with_selectors(stub: Stub, tmp_path: pathlib.Path, make: Make) -> None:
    directory = tmp_path / "together"
    directory.mkdir()
    for rank in range(3):
        (directory / f"shard-{rank}").write_text(str(rank))

    def work(dist: core.DistributedContext) -> str:
        return make(dist).upload(
            directory,
            {"steps_completed": 1},
            shard=True,
            selector=lambda path: dist.rank < 2 and path == f"shard-{dist.rank}",
        )

    ids = run_ranks(work, 3)
    assert set(stored(tmp_path, ids[0])) == {"shard-0", "shard-1", "metadata.json"}
    check_report(stub, tmp_path, ids[0])


def test_conflicts_are_refused_everywhere(stub: Stub, tmp_path: pathlib.Path, make: Make) -> None:
    def work(dist: core.DistributedContext) -> None:
        directory = tmp_path / f"rank-{dist.rank}"
        directory.mkdir()
        if dist.rank == 2:
            (directory / "thing").mkdir()
        else:
            (directory / "thing").write_text("file")
        (directory / "model").write_text(f"{min(dist.rank, 1)}")
        make(dist).upload(directory, {"steps_completed": 1}, shard=True)

    errors = errors_of_ranks(work, 3)
    assert all("refusing to upload with files conflicts" in str(err) for err in errors)
    assert "model uploaded by ranks [0, 1, 2]" in str(errors[0])
    assert "thing uploaded by ranks [0, 1, 2]" in str(errors[0])
    assert not stub.checkpoints


def test_metadata_conflicts(stub: Stub, tmp_path: pathlib.Path, make: Make) -> None:
    def work(dist: core.DistributedContext) -> None:
        directory = tmp_path / f"rank-{dist.rank}"
        directory.mkdir()
        make(dist).upload(directory, {"steps_completed": dist.rank}, shard=True)

    errors = errors_of_ranks(work, 2)
    assert "/steps_completed uploaded by ranks [0, 1]" in str(errors[0])
    assert "refusing to upload with metadata conflicts" in str(errors[1])
    assert not stub.checkpoints


def test_upload_of_nothing(make: Make) -> None:
    def work(dist: core.DistributedContext) -> None:
        make(dist).upload(None, {"steps_completed": 1}, shard=True)

    assert all("uploads nothing" in str(err) for err in errors_of_ranks(work, 2))


def test_workers_may_not_store_alone(make: Make, tmp_path: pathlib.Path) -> None:
    def work(dist: core.DistributedContext) -> None:
        if dist.rank == 1:
            make(dist).upload(tmp_path, {"steps_completed": 1})

    assert "only rank 0 may" in str(errors_of_ranks(work, 2)[1])


def test_store_path_in_place(stub: Stub, tmp_path: pathlib.Path, make: Make) -> None:
    def work(dist: core.DistributedContext) -> str:
        metadata = {"steps_completed": 5} if dist.rank == 0 else {f"rank{dist.rank}": 1}
        with make(dist).store_path(metadata, shard=True) as (path, storage_id):
            (path / f"shard-{dist.rank}").write_text("x")
        return storage_id

    ids = run_ranks(work, 3)
    expected = {"shard-0", "shard-1", "shard-2", "metadata.json"}
    assert set(stored(tmp_path, ids[0])) == expected
    check_report(stub, tmp_path, ids[0])
    assert stub.checkpoints[ids[0]]["metadata"] == {"steps_completed": 5, "rank1": 1, "rank2": 1}


def test_identical_files_are_read_as_rarely_as_possible(
    stub: Stub, tmp_path: pathlib.Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One file that all workers share is not compared; copies are read once each."""
    read: List[str] = []
    digest = _checkpoint._digest

    def counted(path: str) -> str:
        read.append(path)
        return digest(path)

    monkeypatch.setattr(_checkpoint, "_digest", counted)
    together = tmp_path / "together"
    together.mkdir()
    (together / "model").write_text("m")

    def one_folder(dist: core.DistributedContext) -> str:
        return make(dist).upload(
            together, {"steps_completed": 1}, shard=True, selector=lambda path: path == "model"
        )

    ids = run_ranks(one_folder, 4)
    assert set(stored(tmp_path, ids[0])) == {"model", "metadata.json"}
    assert read == []

    def copies(dist: core.DistributedContext) -> str:
        # Two workers have one folder, the third another.
        directory = tmp_path / f"copy-{min(dist.rank, 1)}"
        directory.mkdir(exist_ok=True)
        (directory / "model").write_text("m")
        dist.allgather(None)
        return make(dist).upload(
            directory, {"steps_completed": 1}, shard=True, selector=lambda path: path == "model"
        )

    run_ranks(copies, 3)
    assert sorted(read) == [str(tmp_path / f"copy-{number}" / "model") for number in range(2)]
    read.clear()

    def other_sizes(dist: core.DistributedContext) -> None:
        directory = tmp_path / f"size-{dist.rank}"
        directory.mkdir()
        (directory / "model").write_text("m" * (dist.rank + 1))
        make(dist).upload(directory, {"steps_completed": 1}, shard=True)

    errors = errors_of_ranks(other_sizes, 2)
    assert all("files conflicts" in str(err) for err in errors)
    assert read == []


@pytest.mark.parametrize("in_place", [True, False], ids=["in place", "elsewhere"])
@pytest.mark.parametrize("when", ["in the block", "in the metadata"])
def test_nothing_is_left_of_a_block_that_raises(
    stub: Stub, tmp_path: pathlib.Path, make: Make, in_place: bool, when: str
) -> None:
    def work(dist: core.DistributedContext) -> None:
        context = make(dist) if in_place else remote(stub, tmp_path, dist)
        metadata = {"steps_completed": dist.rank if when == "in the metadata" else 1}
        with context.store_path(metadata, shard=True) as (path, _):
            (path / f"shard-{dist.rank}").write_text("x")
            dist.allgather(None)
            if when == "in the block":
                raise ZeroDivisionError(f"of rank {dist.rank}")

    errors = errors_of_ranks(work, 2)
    expected = ZeroDivisionError if when == "in the block" else RuntimeError
    assert all(isinstance(err, expected) for err in errors), errors
    for folder in ("store", "machine-0"):
        assert not (tmp_path / folder).exists() or not os.listdir(tmp_path / folder)
    assert not stub.checkpoints


def test_store_path_elsewhere(stub: Stub, tmp_path: pathlib.Path) -> None:
    """Two machines of two workers each; a machine's workers share a folder."""

    def work(dist: core.DistributedContext) -> str:
        context = remote(stub, tmp_path, dist)
        with context.store_path({"steps_completed": 5}, shard=True) as (path, storage_id):
            (path / f"shard-{dist.rank}").write_text(str(dist.rank))
            (path / "same").write_text("s")
        return storage_id

    ids = run_ranks(work, 4, local_size=2)
    assert len(set(ids)) == 1
    shards = {f"shard-{rank}" for rank in range(4)}
    assert set(stored(tmp_path, ids[0])) == {*shards, "same", "metadata.json"}
    check_report(stub, tmp_path, ids[0])


def test_shared_download_asks_storage_once_per_machine(
    stub: Stub, tmp_path: pathlib.Path, make: Make
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name in "abcd":
        (source / name).write_text(name)
    manager = storage.SharedFSStorageManager(str(tmp_path / "store"))
    manager.upload(source, "one")

    def work(dist: core.DistributedContext) -> List[str]:
        target = tmp_path / f"machine-{dist.cross_rank}"
        # The last worker downloads all files to its machine; the workers of machine 0 a file each.
        selector = None if dist.rank == 3 else (lambda path: path == "abcd"[dist.rank])
        make(dist).download("one", target, selector=selector)
        return sorted(os.listdir(target))

    assert run_ranks(work, 4, local_size=2) == [["a", "b"]] * 2 + [["a", "b", "c", "d"]] * 2


def test_missing_checkpoint_is_an_error_on_every_worker(make: Make, tmp_path: pathlib.Path) -> None:
    (tmp_path / "store").mkdir()

    def work(dist: core.DistributedContext) -> None:
        with make(dist).restore_path("missing"):
            pass

    for err in errors_of_ranks(work, 3):
        assert "checkpoint missing is not in shared_fs storage" in str(err)


def test_restored_path_lasts_until_the_slowest_is_done(tmp_path: pathlib.Path, stub: Stub) -> None:
    leaving = [threading.Event(), threading.Event()]

    class Temporary(storage.SharedFSStorageManager):
        @contextlib.contextmanager
        def restore_path(
            self, src: str, selector: Optional[storage.Selector] = None
        ) -> Iterator[pathlib.Path]:
            path = tmp_path / "fetched"
            path.mkdir()
            (path / "x").write_text("x")
            yield path
            (path / "x").unlink()
            path.rmdir()

    def work(dist: core.DistributedContext) -> Any:
        session = api.TaskSession(stub.url, "", TOKEN)
        mode = core.TensorboardMode.MANUAL
        context = core.CheckpointContext(
            dist, Temporary(str(tmp_path)), session, "t", "a", mode, None, None
        )
        with context.restore_path("one") as path:
            if dist.rank < 2:
                leaving[dist.rank].set()
            else:
                assert all(event.wait(DEADLINE) for event in leaving)
                assert (path / "x").read_text() == "x"
            return str(path)

    assert run_ranks(work, 3) == [str(tmp_path / "fetched")] * 3
    assert not (tmp_path / "fetched").exists()


@pytest.mark.parametrize(
    ("parts", "merged", "conflicts"),
    [
        ([{"a": 1}, {"b": 2}], {"a": 1, "b": 2}, {}),
        ([{"a": 1}, {"a": 1}], {"a": 1}, {}),
        ([{"a": {"c": 1}}, {"a": {"d": 1}}], {"a": {"c": 1, "d": 1}}, {}),
        ([{"a": [1]}, {"a": [1]}, {"a": [2]}], None, {"/a": [0, 1, 2]}),
        ([{"a": {"c": 1}}, {"b": 1}, {"a": 1}], None, {"/a": [0, 2]}),
        ([{"a": 1}, {"a": {"c": 1}}], None, {"/a": [0, 1]}),
        ([{"a": {"c": 1}}, {"a": {"c": 2}}], None, {"/a/c": [0, 1]}),
    ],
)
def test_merge_metadata(parts: Any, merged: Any, conflicts: Any) -> None:
    before = json.dumps(parts)
    got, found = merge_metadata(parts)
    assert found == conflicts
    if not conflicts:
        assert got == merged
    assert json.dumps(parts) == before


def test_merge_resources() -> None:
    merged, conflicts = merge_resources([{"d/": 0, "f": 1, "x/": 0}, {"d/": 0, "g": 2, "x": 1}])
    assert merged == {"d/": 0, "f": 1, "x/": 0, "g": 2, "x": 1}
    assert conflicts == {"x": [0, 1]}
