"""S3 storage against a real object store: SeaweedFS, which DETENT_WEED names."""

import itertools
import json
import os
import pathlib
import socket
import subprocess
import time
import urllib.request
from typing import Any, Dict, Iterator

import pytest

from determined import core, errors
from determined.common import api, storage
from tests.conftest import TOKEN
from tests.ranks import errors_of_ranks, run_ranks
from tests.stub_master import Stub
from tests.test_storage import TREE, fill

boto3 = pytest.importorskip("boto3")

KEYS = {"access_key": "AKIATESTTESTTEST", "secret_key": "secret-of-the-test"}
BUCKET = "checkpoints"


def free_ports(count: int) -> "list[int]":
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    weed = os.environ.get("DETENT_WEED")
    if not weed:
        pytest.skip("DETENT_WEED names no SeaweedFS; just harness-test does")
    folder = tmp_path_factory.mktemp("weed")
    (folder / "data").mkdir()
    identity = {
        "name": "test",
        "credentials": [{"accessKey": KEYS["access_key"], "secretKey": KEYS["secret_key"]}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    names = ["master", "volume", "filer", "s3"]
    ports = free_ports(2 * len(names))
    flags = [f"-{name}.port={ports[i]}" for i, name in enumerate(names)]
    flags += [f"-{name}.port.grpc={ports[i + len(names)]}" for i, name in enumerate(names)]
    command = [
        weed, "server", f"-dir={folder / 'data'}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
        "-master.telemetry=false", "-master.volumeSizeLimitMB=64", "-volume.max=0",
        "-volume.preStopSeconds=0", "-filer", f"-filer.localSocket={folder / 'filer.sock'}",
        "-s3", f"-s3.config={folder / 's3.json'}", "-s3.port.iceberg=0",
        f"-s3.localSocket={folder / 's3.sock'}", *flags,
    ]  # fmt: skip
    url = f"http://127.0.0.1:{ports[3]}"
    with (folder / "log").open("wb") as log, subprocess.Popen(
        command, stdout=log, stderr=log, cwd=folder
    ) as server:
        try:
            wait_for(url, server, folder / "log")
            make_bucket(url)
            yield url
        finally:
            server.kill()  # its data goes with it


def wait_for(url: str, server: "subprocess.Popen[bytes]", log: pathlib.Path) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(url + "/status", timeout=5).close()
            return
        except OSError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(log.read_text(errors="replace")[-3000:]) from None
            time.sleep(0.05)


def make_bucket(url: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            client(url).create_bucket(Bucket=BUCKET)
            return
        except Exception:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def client(url: str) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=url,
        aws_access_key_id=KEYS["access_key"],
        aws_secret_access_key=KEYS["secret_key"],
        region_name="us-east-1",
    )


def sharded(stub: Stub, config: Dict[str, Any], dist: core.DistributedContext) -> Any:
    session = api.TaskSession(stub.url, "", TOKEN)
    manager = storage.build(config, container_path=None)
    mode = core.TensorboardMode.MANUAL
    return core.CheckpointContext(dist, manager, session, "5.uuid", "5.uuid.1", mode, None, 7)


def test_two_workers_of_a_node_share_a_folder(stub: Stub, tmp_path: pathlib.Path) -> None:
    """No store is needed for this: the block raises before anything is uploaded."""
    nobody = {"type": "s3", "bucket": BUCKET, "endpoint_url": "http://127.0.0.1:9", **KEYS}
    folders = []

    def work(dist: core.DistributedContext) -> None:
        with sharded(stub, nobody, dist).store_path({"steps_completed": 1}, shard=True) as (
            path,
            _,
        ):
            folders.append(path)
            assert path.is_dir()
            dist.allgather(None)
            raise ZeroDivisionError

    errors = errors_of_ranks(work, 2)
    assert [type(err) for err in errors] == [ZeroDivisionError] * 2
    assert len(set(folders)) == 1 and not folders[0].exists()


_prefixes = itertools.count()


@pytest.fixture
def config(endpoint: str) -> Dict[str, Any]:
    """A storage that no other test uses."""
    prefix = f"team/{next(_prefixes)}"
    place = {"bucket": BUCKET, "prefix": prefix, "endpoint_url": endpoint, "save_trial_best": 1}
    return {"type": "s3", **place, **KEYS}


def keys_in(config: Dict[str, Any], prefix: str = "") -> "list[str]":
    found = client(config["endpoint_url"]).list_objects_v2(
        Bucket=BUCKET, Prefix=f"{config['prefix']}/{prefix}"
    )
    return sorted(item["Key"][len(config["prefix"]) + 1 :] for item in found.get("Contents", []))


def test_stores_and_gives_back(config: Dict[str, Any], tmp_path: pathlib.Path) -> None:
    manager = storage.build(config, container_path=None)
    assert str(manager) == f"s3://{BUCKET}/{config['prefix']}"
    assert not manager.store_path_is_direct_access()
    storage.validate_manager(manager)
    assert keys_in(config) == []
    source = tmp_path / "source"
    source.mkdir()
    fill(source)
    manager.upload(source, "one")
    assert keys_in(config) == sorted(f"one/{name}" for name in TREE)
    with manager.restore_path("one") as path:
        assert storage.list_directory(path) == TREE
        copy = path
    assert not copy.exists()
    manager.download("one", tmp_path / "target")
    assert storage.list_directory(tmp_path / "target") == TREE
    assert (tmp_path / "target" / "sub" / "deep" / "b.txt").read_text() == "bb"
    assert manager.delete("one", ["**/*"]) == {}
    assert keys_in(config) == []
    with pytest.raises(errors.CheckpointNotFound, match="checkpoint one is not in s3 storage"):
        manager.download("one", tmp_path / "nowhere")
    assert manager.delete("one", ["**/*"]) == {}


def test_one_beside_another_is_left_alone(config: Dict[str, Any], tmp_path: pathlib.Path) -> None:
    manager = storage.build(config, container_path=None)
    for name in ("one", "one-more"):
        with manager.store_path(name) as path:
            (path / "x").write_text(name)
    assert list(tmp_path.iterdir()) == []  # nothing is left where they were written
    assert manager.delete("one", ["**/*"]) == {}
    assert keys_in(config) == ["one-more/x"]


def test_large_files_go_in_parts(config: Dict[str, Any], tmp_path: pathlib.Path) -> None:
    manager = storage.build(config, container_path=None)
    contents = os.urandom(20 << 20)
    with manager.store_path("big") as path:
        (path / "weights").write_bytes(contents)
    manager.download("big", tmp_path / "target")
    assert (tmp_path / "target" / "weights").read_bytes() == contents


def test_partial_upload_and_download(config: Dict[str, Any], tmp_path: pathlib.Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    fill(source)
    manager = storage.build(config, container_path=None)
    manager.upload(source, "one", paths={"sub/deep/b.txt", "model.bin"})
    assert keys_in(config) == ["one/model.bin", "one/sub/deep/b.txt"]
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
    config: Dict[str, Any], tmp_path: pathlib.Path, globs: "list[str]", gone: "list[str]"
) -> None:
    """What a glob means is the same as in a folder."""
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
    assert keys_in(config) == sorted(f"one/{name}" for name in remaining)


@pytest.mark.parametrize("storage_id", ["", ".", "..", "a/b", "../x"])
def test_ids_stay_inside(config: Dict[str, Any], storage_id: str) -> None:
    manager = storage.build(config, container_path=None)
    with pytest.raises(ValueError, match="one name without slashes"):
        manager.delete(storage_id, ["**/*"])
    with pytest.raises(ValueError, match="one name without slashes"):
        manager.pre_store_path(storage_id)


def test_unfinished_checkpoint_is_not_stored(
    config: Dict[str, Any], tmp_path: pathlib.Path
) -> None:
    manager = storage.build(config, container_path=None)
    with pytest.raises(KeyError), manager.store_path("one") as path:
        (path / "half").write_text("half")
        raise KeyError("out of memory")
    assert list(tmp_path.iterdir()) == []
    assert keys_in(config) == []


def test_files_that_grow(config: Dict[str, Any], tmp_path: pathlib.Path) -> None:
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
    assert keys_in(config) == ["c/tensorboard/trial/1/train/events.1"]
    files.delete()
    assert files.list() == {}


def test_keys_of_the_task_go_before_those_of_the_environment(
    config: Dict[str, Any], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a user has in the environment is for data; checkpoints have keys of their own."""
    helper = tmp_path / "keys"
    said = {
        "Version": 1,
        "AccessKeyId": KEYS["access_key"],
        "SecretAccessKey": KEYS["secret_key"],
        "Expiration": "2999-01-01T00:00:00Z",
    }
    helper.write_text(f"#!/bin/sh\necho '{json.dumps(said)}'\n")
    helper.chmod(0o755)
    settings = tmp_path / "aws-config"
    settings.write_text(f"[default]\ncredential_process = {helper}\nregion = us-east-1\n")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "else")
    own = {k: v for k, v in config.items() if k not in KEYS}
    with pytest.raises(Exception, match=r"Forbidden|AccessDenied|InvalidAccessKeyId"):
        storage.validate_manager(storage.build(own, container_path=None))
    monkeypatch.setenv("DET_AWS_CONFIG_FILE", str(settings))
    storage.validate_manager(storage.build(own, container_path=None))


def test_without_boto3_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "boto3", None)
    with pytest.raises(ImportError, match="needs the package boto3"):
        storage.build({"type": "s3", "bucket": "b"}, container_path=None)


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
