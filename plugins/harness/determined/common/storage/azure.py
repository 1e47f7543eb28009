"""Checkpoints in Azure's Blob Storage, with Microsoft's own library.

The credentials are in the configuration (a connection string, an account's key, a shared access
signature), or in the environment: a task of a cluster with a secret in Vault uses the
secret, other programs use the variables of Azure's command line.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
import urllib.parse
from typing import Any, Dict, Iterator, List, Mapping, Optional

from determined import errors
from determined.common.storage.files import CHUNK_BYTES
from determined.common.storage.objects import (
    Count,
    ObjectStorageManager,
    Stored,
    refuse_unknown,
    together,
)

# A larger file is sent in blocks of this size, each with its checksum; a blob has at most
# 50,000 blocks.
_BLOCK_BYTES = 8 << 20
_BLOCKS = 40_000

# The domains of Azure's storage, in all its clouds.
_AZURE = (
    ".core.windows.net",
    ".storage.azure.net",
    ".core.chinacloudapi.cn",
    ".core.usgovcloudapi.net",
)

# Azure's library logs each of its requests.
logging.getLogger("azure.core.pipeline.policies.http_logging_policy").setLevel(logging.WARNING)


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as err:
        raise ImportError(
            "checkpoint_storage of type azure needs the package azure-storage-blob, which is not "
            "installed where this runs; install it (pip install azure-storage-blob), or choose an "
            "image that has it"
        ) from err


def _found(account_url: str) -> Dict[str, str]:
    """Return the credentials for an account if the configuration has none."""
    own = os.environ.get("DET_AZURE_CREDENTIALS_FILE")
    if own:
        with open(own, encoding="utf-8") as file:
            secret: Dict[str, str] = json.load(file)
        return secret
    connection = os.environ.get("AZURE_STORAGE_CONNECTION_STRING")
    if connection:
        return {"connection_string": connection}
    account, named = _account_of(account_url), os.environ.get("AZURE_STORAGE_ACCOUNT")
    if not account or (named and named != account):
        return {}
    credential = os.environ.get("AZURE_STORAGE_KEY")
    if not credential and named:  # a token does not say whose it is
        credential = os.environ.get("AZURE_STORAGE_SAS_TOKEN")
    return {"credential": credential} if credential else {}


def _account_of(account_url: str) -> str:
    """Return the account at Azure, or at an emulator on this machine, that an address names.

    Whoever wrote the configuration of a checkpoint chose its address. Credentials of the
    environment go to no other host: even a signature is of use to it.
    """
    address = urllib.parse.urlsplit(account_url)
    host = (address.hostname or "").lower()
    if host in ("127.0.0.1", "::1", "localhost"):
        return address.path.strip("/")
    if address.scheme == "https" and host.endswith(_AZURE):
        return host.partition(".")[0]
    return ""


class AzureStorageManager(ObjectStorageManager):
    """A container of an account. Checkpoints are copied there from a local folder, and back.

    Example: ``storage.build({"type": "azure", "container": "checkpoints"}, None)``
    """

    kind = "azure"

    def __init__(
        self,
        container: str,
        connection_string: Optional[str] = None,
        account_url: Optional[str] = None,
        credential: Optional[str] = None,
        temp_dir: Optional[str] = None,
    ) -> None:
        name, _, prefix = container.strip("/").partition("/")
        super().__init__(prefix, temp_dir)
        self.container = name
        self._account = (connection_string, account_url, credential)
        self.client = self._service(_BLOCK_BYTES)
        self._blobs = self.client.get_container_client(name)

    def __str__(self) -> str:
        # The address of an account may contain a token.
        return f"{self._blobs.url.split('?')[0]}/{self._prefix}".rstrip("/")

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], container_path: Optional[str] = None
    ) -> AzureStorageManager:
        """Build a manager from ``container``, and ``connection_string`` or ``account_url``."""
        known = {"container", "connection_string", "account_url", "credential"}
        refuse_unknown(cls.kind, config, known)
        if not config.get("container"):
            raise ValueError("checkpoint_storage of type azure needs a container")
        if ("connection_string" in config) == ("account_url" in config):
            raise ValueError(
                "checkpoint_storage of type azure takes either connection_string or account_url"
            )
        if "connection_string" in config and "credential" in config:
            raise ValueError(
                "checkpoint_storage of type azure takes no credential with a connection_string, "
                "which contains its own"
            )
        return cls(**config)

    def _service(self, block: int) -> Any:
        """Return a client that sends files in blocks of a size."""
        make = _module("azure.storage.blob").BlobServiceClient
        connection, account_url, credential = self._account
        sizes = {"max_single_put_size": block, "max_block_size": block}
        if account_url and not credential and "?" not in account_url:
            found = _found(account_url)
            credential = found.get("credential")
            connection = connection or (None if credential else found.get("connection_string"))
        if not connection:
            return make(account_url, credential, **sizes)
        client = make.from_connection_string(connection, **sizes)
        if account_url and client.url.rstrip("/") != account_url.rstrip("/"):
            raise errors.NoDirectStorageAccess(
                f"the connection string that was found for Azure is that of {client.url}, and the "
                f"checkpoints are in {account_url}"
            )
        return client

    @contextlib.contextmanager
    def access(self) -> Iterator[None]:
        """Turn errors of the sign-in into NoDirectStorageAccess."""
        exceptions = _module("azure.core.exceptions")
        try:
            yield
        except exceptions.HttpResponseError as err:
            if err.status_code not in (401, 403):
                raise
            raise errors.NoDirectStorageAccess(
                f"cannot sign in to {self}, or may not use it: {_code(err)}"
            ) from err

    def upload(self, src: Any, dst: str, paths: Optional[Any] = None) -> None:
        """Upload a folder, or the given paths of it; create the container if it does not exist."""
        try:
            super().upload(src, dst, paths)
        except _module("azure.core.exceptions").ResourceNotFoundError as err:
            if _code(err) != "ContainerNotFound":
                raise
            with contextlib.suppress(_module("azure.core.exceptions").ResourceExistsError):
                self._blobs.create_container()
            super().upload(src, dst, paths)

    def objects(self, root: str) -> Iterator[Stored]:
        """Yield the objects under a key."""
        try:
            for blob in self._blobs.list_blobs(name_starts_with=root):
                yield Stored(blob.name, blob.size, f"{blob.etag}")
        except _module("azure.core.exceptions").ResourceNotFoundError:
            return  # there is no container yet

    def put_file(self, path: str, key: str, count: Count) -> None:
        """Upload a file, in blocks if it is large; Azure compares the checksum of each."""
        blobs, size = self._blobs, os.path.getsize(path)
        if size > _BLOCK_BYTES * _BLOCKS:
            client = self._service(size // _BLOCKS + 1)
            blobs = client.get_container_client(self.container)
        with open(path, "rb") as file:
            blobs.upload_blob(
                key,
                file,
                length=size,
                overwrite=True,
                validate_content=True,
                progress_hook=_each_time(count),
            )

    def put_bytes(self, contents: bytes, key: str) -> None:
        """Store a blob; replace an existing one."""
        self._blobs.upload_blob(key, contents, overwrite=True, validate_content=True)

    def get_file(self, key: str, path: str, count: Count) -> None:
        """Download a blob, and compare the checksum of each of its parts."""
        blob = self._blobs.download_blob(
            key, validate_content=True, progress_hook=_each_time(count)
        )
        with open(path, "wb") as file:
            blob.readinto(file)

    def read(self, key: str, start: int) -> Iterator[bytes]:
        """Yield the contents of a blob from an offset on."""
        exceptions = _module("azure.core.exceptions")
        try:
            parts = self._blobs.download_blob(key, offset=start or None).chunks()
        except exceptions.ResourceNotFoundError as err:
            raise FileNotFoundError(f"{self._blobs.url.split('?')[0]}/{key}") from err
        except exceptions.HttpResponseError as err:
            if err.status_code == 416:
                return  # nothing was added
            raise
        for part in parts:
            for at in range(0, len(part), CHUNK_BYTES):
                yield part[at : at + CHUNK_BYTES]

    def remove(self, keys: List[str]) -> None:
        """Delete blobs, several in parallel."""
        missing = _module("azure.core.exceptions").ResourceNotFoundError

        def delete(key: str) -> None:
            with contextlib.suppress(missing):
                self._blobs.delete_blob(key, delete_snapshots="include")

        with self.access():
            together(delete, keys)


def _each_time(count: Count) -> Any:
    """Return a hook that gets the total number of bytes, and counts the newly added ones."""
    before = 0

    def hook(current: int, total: Optional[int]) -> None:
        nonlocal before
        added, before = current - before, current
        count(added)

    return hook


def _code(err: Any) -> str:
    """Return the code of one of Azure's errors, or its text."""
    code = getattr(err, "error_code", None)
    return str(getattr(code, "value", code) or getattr(err, "reason", None) or err)
