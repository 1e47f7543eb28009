"""Tests that every kind of object storage must pass, with a real store of each kind."""

import itertools
import os
import pathlib
from typing import Any, Callable, Dict, Iterator, List

import pytest

from determined import core, errors
from determined.common import api, storage
from tests.conftest import TOKEN
from tests.object_stores import KINDS, ObjectStore
from tests.ranks import run_ranks
from tests.stub_master import Stub
from tests.test_storage import TREE, fill


@pytest.fixture(scope="module", params=sorted(KINDS))
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ObjectStore]:
    one = KINDS[request.param](tmp_path_factory.mktemp(request.param))
    try:
        one.wait()
        yield one
    finally:
        one.stop()


_prefixes = itertools.count()


@pytest.fixture
def prefix() -> str:
    """A prefix that no other test uses."""
    return f"team/{next(_prefixes)}"


@pytest.fixture
def config(store: ObjectStore, prefix: str, monkeypatch: pytest.MonkeyPatch) -> Dict[str, Any]:
    for name, value in store.environment().items():
        monkeypatch.setenv(name, value)
    return {**store.config(prefix), "save_trial_best": 1}


@pytest.fixture
def keys(store: ObjectStore, prefix: str) -> Callable[[], List[str]]:
    """What is under the prefix."""
    return lambda: store.keys(prefix)


def sharded(stub: Stub, config: Dict[str, Any], dist: core.DistributedContext) -> Any:
    session = api.TaskSession(stub.url, "", TOKEN)
    manager = storage.build(config, container_path=None)
    mode = core.TensorboardMode.MANUAL
    return core.CheckpointContext(dist, manager, session, "5.uuid", "5.uuid.1", mode, None, 7)


def test_stores_and_gives_back(
    config: Dict[str, Any], prefix: str, keys: Callable[[], List[str]], tmp_path: pathlib.Path
) -> None:
    manager = storage.build(config, container_path=None)
    assert str(manager).endswith(prefix) and "Key" not in str(manager)
    assert not manager.store_path_is_direct_access()
    storage.validate_manager(manager)
    assert keys() == []
    source = tmp_path / "source"
    source.mkdir()
    fill(source)
    manager.upload(source, "one")
    assert keys() == sorted(f"one/{name}" for name in TREE)
    with manager.restore_path("one") as path:
        assert storage.list_directory(path) == TREE
        copy = path
    assert not copy.exists()
    manager.download("one", tmp_path / "target")
    assert storage.list_directory(tmp_path / "target") == TREE
    assert (tmp_path / "target" / "sub" / "deep" / "b.txt").read_text() == "bb"
    assert manager.delete("one", ["**/*"]) == {}
    assert keys() == []
    with pytest.raises(
        errors.CheckpointNotFound, match=f"checkpoint one is not in {config['type']} storage"
    ):
        manager.download("one", tmp_path / "nowhere")
    assert manager.delete("one", ["**/*"]) == {}


def test_one_beside_another_is_left_alone(
    config: Dict[str, Any], keys: Callable[[], List[str]], tmp_path: pathlib.Path
) -> None:
    manager = storage.build(config, container_path=None)
    for name in ("one", "one-more"):
        with manager.store_path(name) as path:
            (path / "x").write_text(name)
    assert list(tmp_path.iterdir()) == []  # nothing is left where they were written
    assert manager.delete("one", ["**/*"]) == {}
    assert keys() == ["one-more/x"]


def test_large_files_go_in_parts(config: Dict[str, Any], tmp_path: pathlib.Path) -> None:
    manager = storage.build(config, container_path=None)
    contents = os.urandom(20 << 20)
    with manager.store_path("big") as path:
        (path / "weights").write_bytes(contents)
    manager.download("big", tmp_path / "target")
    assert (tmp_path / "target" / "weights").read_bytes() == contents


def test_partial_upload_and_download(
    config: Dict[str, Any], keys: Callable[[], List[str]], tmp_path: pathlib.Path
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    fill(source)
    manager = storage.build(config, container_path=None)
    manager.upload(source, "one", paths={"sub/deep/b.txt", "model.bin"})
    assert keys() == ["one/model.bin", "one/sub/deep/b.txt"]
    manager.download("one", tmp_path / "target", selector=lambda path: path.endswith("b.txt"))
    assert storage.list_directory(tmp_path / "target") == {
        "sub/": 0,
        "sub/deep/": 0,
        "sub/deep/b.txt": 2,
    }


@pytest.mark.parametrize(
    ("globs", "gone"),
    [
        (["sub/*.txt"], ["sub/a.txt"]),
        (["*.bin", "nothing*"], ["model.bin"]),
        (["sub/**/*.txt"], ["sub/a.txt", "sub/deep/b.txt"]),
        (["sub"], ["sub/", "sub/a.txt", "sub/deep/", "sub/deep/b.txt"]),
        (["sub/dee?"], ["sub/deep/", "sub/deep/b.txt"]),
        (["model.[a-c]in"], ["model.bin"]),
        (["model.[!b]in", "*.txt", "../*"], []),
        (["*"], list(TREE)),
    ],
)
def test_partial_delete(
    config: Dict[str, Any],
    keys: Callable[[], List[str]],
    tmp_path: pathlib.Path,
    globs: List[str],
    gone: List[str],
) -> None:
    """A glob has the same meaning as in a folder."""
    source = tmp_path / "source"
    source.mkdir()
    fill(source)
    manager = storage.build(config, container_path=None)
    folder = storage.from_string(str(tmp_path / "store"))
    for one in (manager, folder):
        one.upload(source, "one")
    remaining = {name: size for name, size in TREE.items() if name not in gone}
    assert manager.delete("one", globs) == remaining
    assert folder.delete("one", globs) == remaining
    assert keys() == sorted(f"one/{name}" for name in remaining)


@pytest.mark.parametrize("storage_id", ["", ".", "..", "a/b", "../x"])
def test_ids_stay_inside(config: Dict[str, Any], storage_id: str) -> None:
    manager = storage.build(config, container_path=None)
    with pytest.raises(ValueError, match="one name without slashes"):
        manager.delete(storage_id, ["**/*"])
    with pytest.raises(ValueError, match="one name without slashes"):
        manager.pre_store_path(storage_id)


def test_unfinished_checkpoint_is_not_stored(
    config: Dict[str, Any], keys: Callable[[], List[str]], tmp_path: pathlib.Path
) -> None:
    manager = storage.build(config, container_path=None)
    with pytest.raises(KeyError), manager.store_path("one") as path:
        (path / "half").write_text("half")
        raise KeyError("out of memory")
    assert list(tmp_path.iterdir()) == []
    assert keys() == []


def test_files_that_grow(
    config: Dict[str, Any], keys: Callable[[], List[str]], tmp_path: pathlib.Path
) -> None:
    files = storage.build(config, container_path=None).files("c/tensorboard/trial/1")
    assert files.list() == {}
    source = tmp_path / "events"
    source.write_bytes(b"one")
    files.store(source, "train/events.1")
    before = files.list()
    assert {name: state.size for name, state in before.items()} == {"train/events.1": 3}
    source.write_bytes(b"onetwo")
    files.store(source, "train/events.1")
    assert files.list()["train/events.1"].version != before["train/events.1"].version
    assert b"".join(files.read("train/events.1", start=3)) == b"two"
    assert b"".join(files.read("train/events.1")) == b"onetwo"
    assert b"".join(files.read("train/events.1", start=6)) == b""
    with pytest.raises(FileNotFoundError):
        list(files.read("train/events.2"))
    assert keys() == ["c/tensorboard/trial/1/train/events.1"]
    files.delete()
    assert files.list() == {}


def test_sharded_checkpoints(stub: Stub, config: Dict[str, Any], tmp_path: pathlib.Path) -> None:
    """Two workers of a node, then one on each of two, store one checkpoint together."""
    manager = storage.build(config, container_path=None)
    for local_size in (2, 1):

        def work(dist: core.DistributedContext) -> str:
            context = sharded(stub, config, dist)
            # Each node has a folder of its own; here both nodes are one machine.
            context._storage_manager._base_path = str(tmp_path / f"node-{dist.cross_rank}")
            with context.store_path({"steps_completed": 1}, shard=True) as (path, storage_id):
                (path / f"shard-{dist.rank}").write_text(str(dist.rank))
                dist.allgather(None)
            dist.allgather(None)
            assert not path.exists()
            found: str = storage_id
            return found

        ids = run_ranks(work, 2, local_size=local_size)
        target = tmp_path / f"target-{local_size}"
        manager.download(ids[0], target)
        assert set(storage.list_directory(target)) == {"shard-0", "shard-1", "metadata.json"}
        assert set(stub.checkpoints[ids[0]]["resources"]) == {"shard-0", "shard-1", "metadata.json"}


def test_files_of_a_folder_with_odd_names(
    config: Dict[str, Any], keys: Callable[[], List[str]], tmp_path: pathlib.Path
) -> None:
    names = ["a b.txt", "100%.bin", "\u00fcber/h#sh?.txt", "plus+and&=.x", "q'uote\".y"]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    manager = storage.build(config, container_path=None)
    manager.upload(tmp_path, "one", paths=set(names))
    assert keys() == sorted(f"one/{name}" for name in names)
    manager.download("one", tmp_path / "target")
    assert {name: (tmp_path / "target" / name).read_text() for name in names} == {
        name: name for name in names
    }
    assert manager.delete("one", ["**/*"]) == {}
    assert keys() == []


def test_long_uploads_and_downloads_say_how_far_they_are(
    config: Dict[str, Any],
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("determined.common.storage.objects.Progress.__init__.__defaults__", (0.0,))
    manager = storage.build(config, container_path=None)
    with caplog.at_level("INFO", logger="determined.common.storage"):
        with manager.store_path("big") as path:
            (path / "weights").write_bytes(bytes(20 << 20))
        manager.download("big", tmp_path / "target")
    said = [record.getMessage() for record in caplog.records]
    for doing in ("uploading", "downloading"):
        lines = [line for line in said if line.startswith(f"{doing} checkpoint big")]
        assert lines and lines[-1].endswith("20.0 MiB of 20.0 MiB"), said


def test_an_overwritten_object_is_downloaded_anew(
    config: Dict[str, Any], tmp_path: pathlib.Path
) -> None:
    manager = storage.build(config, container_path=None)
    for contents in ("first", "second, which is longer"):
        (tmp_path / "x").write_text(contents)
        manager.upload(tmp_path, "one", paths={"x"})
        manager.download("one", tmp_path / "target")
        assert (tmp_path / "target" / "x").read_text() == contents
