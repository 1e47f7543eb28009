import os
import pathlib
import threading
from typing import Any, Dict, List

import pytest

from determined import errors
from determined.common import storage


def fill(directory: pathlib.Path) -> None:
    (directory / "sub" / "deep").mkdir(parents=True)
    (directory / "empty").mkdir()
    (directory / "model.bin").write_bytes(b"0123456789")
    (directory / "sub" / "a.txt").write_text("a")
    (directory / "sub" / "deep" / "b.txt").write_text("bb")


TREE = {
    "sub/": 0,
    "empty/": 0,
    "sub/deep/": 0,
    "model.bin": 10,
    "sub/a.txt": 1,
    "sub/deep/b.txt": 2,
}


def managers(tmp_path: pathlib.Path) -> "list[storage.StorageManager]":
    (tmp_path / "mounted").mkdir()
    shared = {
        "type": "shared_fs",
        "host_path": "/host",
        "storage_path": "team",
        "save_trial_best": 1,
    }
    return [
        storage.build(shared, container_path=str(tmp_path / "mounted")),
        storage.build({"type": "directory", "container_path": str(tmp_path / "own")}, None),
        storage.from_string(str(tmp_path / "path")),
        storage.from_string(f"file://{tmp_path / 'uri'}"),
    ]


def test_every_manager_stores_and_gives_back(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    fill(source)
    for manager in managers(tmp_path):
        storage.validate_manager(manager)
        manager.upload(source, "one")
        with manager.restore_path("one") as path:
            assert storage.list_directory(path) == TREE
        target = (
            tmp_path / f"target-{type(manager).__name__}-{manager._base_path.replace('/', '-')}"
        )
        manager.download("one", target)
        assert storage.list_directory(target) == TREE
        assert manager.delete("one", ["**/*"]) == {}
        with pytest.raises(errors.CheckpointNotFound, match="checkpoint one is not in"):
            manager.download("one", tmp_path / "nowhere")
        assert manager.delete("one", ["**/*"]) == {}


def test_partial_upload_and_download(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    fill(source)
    manager = storage.from_string(str(tmp_path / "store"))
    manager.upload(source, "one", paths={"sub/deep/b.txt", "model.bin"})
    stored = {"sub/": 0, "sub/deep/": 0, "sub/deep/b.txt": 2, "model.bin": 10}
    assert storage.list_directory(tmp_path / "store" / "one") == stored
    manager.download("one", tmp_path / "target", selector=lambda path: path.endswith("b.txt"))
    wanted = {"sub/": 0, "sub/deep/": 0, "sub/deep/b.txt": 2}
    assert storage.list_directory(tmp_path / "target") == wanted


def test_links_that_lead_out_are_not_followed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "secret").write_text("of this machine")
    store = tmp_path / "store"
    (store / "one").mkdir(parents=True)
    (store / "one" / "model.bin").write_text("m")
    (store / "one" / "same").symlink_to("model.bin")
    manager = storage.from_string(str(store))
    manager.download("one", tmp_path / "whole")
    assert (tmp_path / "whole" / "same").read_text() == "m"
    (store / "one" / "sub").mkdir()
    (store / "one" / "sub" / "up").symlink_to("../model.bin")
    manager.download("one", tmp_path / "whole")
    assert (tmp_path / "whole" / "sub" / "up").read_text() == "m"
    refused = {
        "out": "../../secret",
        "away": str(tmp_path / "secret"),
        "sub": "..",  # its copy would not end
        "chain": "through/secret",
    }
    for name, to in refused.items():
        (store / name).mkdir()
        (store / name / "link").symlink_to(to)
    (store / "chain" / "through").symlink_to(tmp_path)
    (store / "pipe").mkdir()
    os.mkfifo(store / "pipe" / "model.bin")
    (store / "itself").symlink_to(tmp_path)
    for name in [*refused, "pipe", "itself"]:
        with pytest.raises((ValueError, OSError)):
            manager.download(name, tmp_path / "target")
    assert not list((tmp_path / "target").iterdir())


def test_partial_delete(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    fill(source)
    outside = tmp_path / "store" / "outside.txt"
    manager = storage.from_string(str(tmp_path / "store"))
    manager.upload(source, "one")
    outside.write_text("stays")
    remaining = manager.delete("one", ["sub/*.txt", "../*.txt"])
    assert outside.exists()
    assert remaining == {k: v for k, v in TREE.items() if k != "sub/a.txt"}
    assert manager.delete("one", ["*"]) == {}
    assert not (tmp_path / "store" / "one").exists()


def test_unfinished_checkpoint_is_removed(tmp_path: pathlib.Path) -> None:
    manager = storage.from_string(str(tmp_path / "store"))
    with pytest.raises(KeyError), manager.store_path("one") as path:
        (path / "half").write_text("half")
        raise KeyError("out of memory")
    assert list((tmp_path / "store").iterdir()) == []


@pytest.mark.parametrize("storage_id", ["", ".", "..", "a/b", "/etc", "../x"])
def test_ids_stay_inside(tmp_path: pathlib.Path, storage_id: str) -> None:
    manager = storage.from_string(str(tmp_path / "store"))
    with pytest.raises(ValueError, match="one name without slashes"):
        manager.delete(storage_id, ["**/*"])
    with pytest.raises(ValueError, match="one name without slashes"):
        manager.pre_store_path(storage_id)


def test_base_is_open_to_other_users(tmp_path: pathlib.Path) -> None:
    manager = storage.from_string(str(tmp_path / "a" / "store"))
    manager.pre_store_path("one")
    assert os.stat(tmp_path / "a" / "store").st_mode & 0o777 == 0o777


@pytest.mark.parametrize(
    ("storage_path", "expected"),
    [
        (None, "/in/task"),
        ("team", "/in/task/team"),
        ("/host/team", "/in/task/team"),
        ("a/../b", "/in/task/b"),
        ("..", None),
        ("/elsewhere", None),
        ("/hostile", None),
    ],
)
def test_full_storage_path(storage_path: Any, expected: Any) -> None:
    if expected is not None:
        assert storage.full_storage_path("/host", storage_path, "/in/task") == expected
    else:
        with pytest.raises(ValueError, match="must lie below host_path"):
            storage.full_storage_path("/host", storage_path, "/in/task")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "must name a kind of storage"),
        ({"type": "hdfs", "hdfs_url": "u"}, "'hdfs' is not supported by this release"),
        ({"type": "gcs"}, "needs a bucket"),
        ({"type": "gcs", "bucket": "b", "access_key": "a"}, "unknown fields: access_key"),
        ({"type": "azure"}, "needs a container"),
        ({"type": "azure", "container": "c"}, "either connection_string or account_url"),
        (
            {"type": "azure", "container": "c", "connection_string": "x", "account_url": "u"},
            "either connection_string or account_url",
        ),
        (
            {"type": "azure", "container": "c", "connection_string": "x", "credential": "u"},
            "takes no credential with a connection_string",
        ),
        ({"type": "azure", "container": "c", "bucket": "b"}, "unknown fields: bucket"),
        ({"type": "s3"}, "needs a bucket"),
        ({"type": "s3", "bucket": "b", "access_key": "a"}, "together, or neither"),
        ({"type": "s3", "bucket": "b", "host_path": "/h"}, "unknown fields: host_path"),
        ({"type": "shared_fs"}, "needs a host_path"),
        ({"type": "shared_fs", "host_path": "relative"}, "must be an absolute path"),
        ({"type": "shared_fs", "host_path": "/h", "bucket": "b"}, "unknown fields: bucket"),
        ({"type": "directory"}, "needs a container_path"),
        ({"type": "directory", "container_path": "/x", "host_path": "/h"}, "unknown fields"),
    ],
)
def test_bad_configurations(config: Dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        storage.build(config, container_path=None)


def test_missing_mount_is_named(tmp_path: pathlib.Path) -> None:
    config = {"type": "shared_fs", "host_path": "/host"}
    with pytest.raises(ValueError, match="should be mounted at .* but that is no directory"):
        storage.build(config, container_path=str(tmp_path / "missing"))


@pytest.mark.parametrize("shortcut", ["ftp://host/path", "file://host/path", "s3://b/p?x=1"])
def test_bad_shortcuts(shortcut: str) -> None:
    with pytest.raises(ValueError, match="checkpoint_storage"):
        storage.shortcut_to_config(shortcut)


def test_shortcuts() -> None:
    assert storage.shortcut_to_config("/a") == {"type": "shared_fs", "host_path": "/a"}
    bucket = {"type": "s3", "bucket": "b", "prefix": "p/q"}
    assert storage.shortcut_to_config("s3://b/p/q") == bucket
    assert storage.shortcut_to_config("gs://b") == {"type": "gcs", "bucket": "b", "prefix": ""}


def test_shared_folders_are_open_whatever_the_umask(tmp_path: pathlib.Path) -> None:
    """Tasks of other users write there too; a process has one umask for all threads."""
    (tmp_path / "there").mkdir(mode=0o750)
    seen: List[int] = []
    stopped = threading.Event()

    def watch() -> None:
        # A umask is read by setting it; another thread changes it, as user code may.
        while not stopped.is_set():
            folder = tmp_path / "of-user-code"
            folder.mkdir(exist_ok=True)
            seen.append(folder.stat().st_mode & 0o777)
            folder.rmdir()

    previous = os.umask(0o077)
    thread = threading.Thread(target=watch)
    thread.start()
    try:
        for number in range(300):
            base = tmp_path / "there" / str(number)
            storage.SharedFSStorageManager(str(base / "b" / "c")).pre_store_path("one")
            storage.FolderFiles(base / "files").store(pathlib.Path(__file__), "x/y")
    finally:
        stopped.set()
        thread.join()  # before the umask changes, or its last folder is another's
        os.umask(previous)
    assert set(seen) == {0o700}

    def mode(path: pathlib.Path) -> int:
        return path.stat().st_mode & 0o777

    base = tmp_path / "there" / "0"
    assert [mode(base / part) for part in ("", "b", "b/c", "files")] == [0o777] * 4
    assert mode(base / "b" / "c" / "one") == 0o700
    assert mode(tmp_path / "there") == 0o750
