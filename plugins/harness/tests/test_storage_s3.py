"""The parts specific to S3: keys of the task, and the error without boto3."""

import json
import pathlib
from typing import Any, Dict, Iterator

import pytest

from determined import core
from determined.common import api, storage
from tests.conftest import TOKEN
from tests.object_stores import BUCKET, SeaweedFS
from tests.ranks import errors_of_ranks
from tests.stub_master import Stub

KEYS = SeaweedFS.secrets


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    store = SeaweedFS(tmp_path_factory.mktemp("weed"))
    try:
        store.wait()
        yield store.url
    finally:
        store.stop()


@pytest.fixture
def config(endpoint: str) -> Dict[str, Any]:
    place = {"bucket": BUCKET, "prefix": "team", "endpoint_url": endpoint}
    return {"type": "s3", **place, **KEYS}


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


def test_keys_of_the_task_go_before_those_of_the_environment(
    config: Dict[str, Any], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys in the user's environment are for data; checkpoints have keys of their own."""
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
