"""Object stores that tests start: SeaweedFS for S3, fake-gcs-server, Azurite.

Each is started once, when the first test asks for it, and named by a variable; just harness-test
sets them.
"""

import abc
import base64
import json
import os
import pathlib
import socket
import subprocess
import time
from typing import Any, Callable, ClassVar, Dict, List

import pytest

BUCKET = "checkpoints"


def free_ports(count: int) -> List[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def program(variable: str, what: str) -> str:
    path = os.environ.get(variable)
    if not path:
        pytest.skip(f"{variable} names no {what}; just harness-test does")
    return path


class ObjectStore(abc.ABC):
    """A running store with a bucket."""

    kind = ""

    def __init__(self, folder: pathlib.Path) -> None:
        self._log = folder / "log"
        self._port = 0
        with self._log.open("wb") as log:
            command = self.command(folder)
            env = {**os.environ, **self.variables()}
            self._server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=env)

    def wait(self) -> None:
        """Wait until the store has a bucket."""
        self._until(self.make_bucket)

    def _until(self, works: Callable[[], object]) -> None:
        deadline = time.monotonic() + 60
        while True:
            try:
                works()
                return
            except Exception as err:
                if self._server.poll() is not None or time.monotonic() > deadline:
                    raise AssertionError(f"{err}\n{self._log.read_text()[-3000:]}") from None
                time.sleep(0.1)

    def stop(self) -> None:
        self._server.kill()  # its data goes with it
        self._server.wait()

    def variables(self) -> Dict[str, str]:
        """Return the environment variables of the program."""
        return {}

    def environment(self) -> Dict[str, str]:
        """Return the environment variables with which a task can use the store."""
        return {}

    @abc.abstractmethod
    def command(self, folder: pathlib.Path) -> List[str]:
        """Return the command that starts the store."""

    @abc.abstractmethod
    def make_bucket(self) -> None:
        """Make the bucket; raise an error while the store is not up."""

    @abc.abstractmethod
    def config(self, prefix: str) -> Dict[str, Any]:
        """Return a checkpoint_storage below a prefix."""

    @abc.abstractmethod
    def keys(self, prefix: str) -> List[str]:
        """Return the keys under a prefix, relative to it."""


class SeaweedFS(ObjectStore):
    kind = "s3"
    secrets: ClassVar[Dict[str, str]] = {
        "access_key": "AKIATESTTESTTEST",
        "secret_key": "secret-of-the-test",
    }

    def command(self, folder: pathlib.Path) -> List[str]:
        weed = program("DETENT_WEED", "SeaweedFS")
        (folder / "data").mkdir()
        keys = {"accessKey": self.secrets["access_key"], "secretKey": self.secrets["secret_key"]}
        actions = ["Admin", "Read", "Write", "List", "Tagging"]
        identity = {"name": "test", "credentials": [keys], "actions": actions}
        (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
        names = ["master", "volume", "filer", "s3"]
        ports = free_ports(2 * len(names))
        self._port = ports[3]
        flags = [f"-{name}.port={ports[i]}" for i, name in enumerate(names)]
        flags += [f"-{name}.port.grpc={ports[i + len(names)]}" for i, name in enumerate(names)]
        return [
            weed, "server", f"-dir={folder / 'data'}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
            "-master.telemetry=false", "-master.volumeSizeLimitMB=64", "-volume.max=0",
            "-volume.preStopSeconds=0", "-filer", f"-filer.localSocket={folder / 'filer.sock'}",
            "-s3", f"-s3.config={folder / 's3.json'}", "-s3.port.iceberg=0",
            f"-s3.localSocket={folder / 's3.sock'}", *flags,
        ]  # fmt: skip

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def client(self) -> Any:
        return s3_client(self.url)

    def make_bucket(self) -> None:
        self.client().create_bucket(Bucket=BUCKET)

    def config(self, prefix: str) -> Dict[str, Any]:
        place = {"bucket": BUCKET, "prefix": prefix, "endpoint_url": self.url}
        return {"type": "s3", **place, **self.secrets}

    def keys(self, prefix: str) -> List[str]:
        found = self.client().list_objects_v2(Bucket=BUCKET, Prefix=f"{prefix}/")
        return sorted(item["Key"][len(prefix) + 1 :] for item in found.get("Contents", []))


def s3_client(url: str) -> Any:
    boto3 = pytest.importorskip("boto3")
    settings = pytest.importorskip("botocore.config")
    return boto3.client(
        "s3",
        endpoint_url=url,
        aws_access_key_id=SeaweedFS.secrets["access_key"],
        aws_secret_access_key=SeaweedFS.secrets["secret_key"],
        region_name="us-east-1",
        # On a busy machine the store sometimes answers 500, also several times.
        config=settings.Config(retries={"total_max_attempts": 10, "mode": "standard"}),
    )


class FakeGCS(ObjectStore):
    kind = "gcs"

    def command(self, folder: pathlib.Path) -> List[str]:
        server = program("DETENT_FAKE_GCS", "fake-gcs-server")
        pytest.importorskip("google.cloud.storage")
        self._port = free_ports(1)[0]
        return [
            server, "-scheme=http", "-host=127.0.0.1", f"-port={self._port}", "-backend=memory",
            f"-external-url={self.url}", f"-public-host=127.0.0.1:{self._port}",
        ]  # fmt: skip

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def environment(self) -> Dict[str, str]:
        return {"STORAGE_EMULATOR_HOST": self.url}

    def client(self) -> Any:
        google = pytest.importorskip("google.cloud.storage")
        credentials = pytest.importorskip("google.auth.credentials").AnonymousCredentials()
        options = {"api_endpoint": self.url}
        return google.Client(project="test", credentials=credentials, client_options=options)

    def make_bucket(self) -> None:
        self.client().create_bucket(BUCKET, timeout=5, retry=None)

    def config(self, prefix: str) -> Dict[str, Any]:
        return {"type": "gcs", "bucket": BUCKET, "prefix": prefix}

    def keys(self, prefix: str) -> List[str]:
        blobs = self.client().list_blobs(BUCKET, prefix=f"{prefix}/")
        return sorted(blob.name[len(prefix) + 1 :] for blob in blobs)


class Azurite(ObjectStore):
    kind = "azure"
    account = "tests"
    key = base64.b64encode(b"the key of the tests").decode()

    def command(self, folder: pathlib.Path) -> List[str]:
        script = program("DETENT_AZURITE", "Azurite")
        pytest.importorskip("azure.storage.blob")
        self._port = free_ports(1)[0]
        return [
            "node", script, "--blobHost", "127.0.0.1", "--blobPort", f"{self._port}", "--silent",
            "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry",
        ]  # fmt: skip

    def variables(self) -> Dict[str, str]:
        return {"AZURITE_ACCOUNTS": f"{self.account}:{self.key}"}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/{self.account}"

    @property
    def connection_string(self) -> str:
        return f"AccountName={self.account};AccountKey={self.key};BlobEndpoint={self.url};"

    def client(self) -> Any:
        blob = pytest.importorskip("azure.storage.blob")
        service = blob.BlobServiceClient.from_connection_string(
            self.connection_string, retry_total=0
        )
        return service.get_container_client(BUCKET)

    def make_bucket(self) -> None:
        self.client().create_container()

    def config(self, prefix: str) -> Dict[str, Any]:
        container = f"{BUCKET}/{prefix}"
        return {
            "type": "azure",
            "container": container,
            "connection_string": self.connection_string,
        }

    def keys(self, prefix: str) -> List[str]:
        blobs = self.client().list_blobs(name_starts_with=f"{prefix}/")
        return sorted(blob.name[len(prefix) + 1 :] for blob in blobs)


KINDS = {store.kind: store for store in (SeaweedFS, FakeGCS, Azurite)}
