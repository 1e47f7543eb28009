"""Checkpoints in S3, and in other stores with its API.

Keys come from the configuration, or from the same sources as for AWS's own tools. In a task of a
cluster with Vault these are the task's own keys, which Nomad renews.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import posixpath
from typing import Any, Dict, Iterator, List, Mapping, Optional

from determined.common.storage.files import CHUNK_BYTES
from determined.common.storage.objects import (
    WORKERS,
    Count,
    ObjectStorageManager,
    Stored,
    refuse_unknown,
)

# Maximum number of keys in one request to delete.
_DELETE_AT_ONCE = 1000


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as err:
        raise ImportError(
            "checkpoint_storage of type s3 needs the package boto3, which is not installed where "
            "this runs; install it (pip install boto3), or choose an image that has it"
        ) from err


def _session(access_key: Optional[str], task_keys: bool) -> Any:
    """Return a session of boto3 that finds the task's own keys, where the task has some.

    With an ``access_key``, or for the user's data, it is the usual session.
    """
    boto3 = _module("boto3")
    config = os.environ.get("DET_AWS_CONFIG_FILE")
    if access_key is not None or not config or not task_keys:
        return boto3.session.Session()
    # The task's own keys: other keys in the user's environment are for data, not for
    # checkpoints. If a profile is named, botocore ignores keys in the environment.
    own = _module("botocore.session").Session(profile="default")
    own.set_config_variable("config_file", config)
    own.set_config_variable("credentials_file", os.devnull)
    return boto3.session.Session(botocore_session=own)


def _settings(endpoint_url: Optional[str]) -> Any:
    """Return settings that also work with stores that are not Amazon's."""
    config = _module("botocore.config").Config
    common: Dict[str, Any] = {
        "max_pool_connections": 2 * WORKERS,
        "retries": {"mode": "standard", "max_attempts": 5},
    }
    if endpoint_url:
        common["s3"] = {"addressing_style": "path"}
    try:
        return config(
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            **common,
        )
    except TypeError:  # an older botocore, without these two options
        return config(**common)


class S3StorageManager(ObjectStorageManager):
    """A prefix of a bucket. Checkpoints are copied there from a local folder, and back.

    Example: ``storage.build({"type": "s3", "bucket": "checkpoints", "prefix": "team"}, None)``
    """

    kind = "s3"

    def __init__(
        self,
        bucket: str,
        access_key: Optional[str] = None,
        secret_key: Optional[str] = None,
        endpoint_url: Optional[str] = None,
        prefix: Optional[str] = None,
        temp_dir: Optional[str] = None,
        task_keys: bool = True,
    ) -> None:
        # task_keys is false for data: the user's keys open it, not the task's keys for checkpoints.
        super().__init__(prefix, temp_dir)
        self._bucket = bucket
        self._client = _session(access_key, task_keys).client(
            "s3",
            endpoint_url=endpoint_url,
            aws_access_key_id=access_key,
            aws_secret_access_key=secret_key,
            config=_settings(endpoint_url),
        )

    def __str__(self) -> str:
        return f"s3://{posixpath.join(self._bucket, self._prefix)}"

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], container_path: Optional[str] = None
    ) -> S3StorageManager:
        """Build a manager from ``bucket``, ``prefix``, ``endpoint_url`` and keys."""
        known = {"bucket", "access_key", "secret_key", "endpoint_url", "prefix"}
        refuse_unknown(cls.kind, config, known)
        if not config.get("bucket"):
            raise ValueError("checkpoint_storage of type s3 needs a bucket")
        if ("access_key" in config) != ("secret_key" in config):
            raise ValueError(
                "checkpoint_storage of type s3 takes access_key and secret_key together, or neither"
            )
        return cls(**config)

    def objects(self, root: str) -> Iterator[Stored]:
        """Yield the objects under a key."""
        pages = self._client.get_paginator("list_objects_v2")
        for page in pages.paginate(Bucket=self._bucket, Prefix=root):
            for item in page.get("Contents", []):
                yield Stored(item["Key"], item["Size"], f"{item['ETag']}")

    def put_file(self, path: str, key: str, count: Count) -> None:
        """Upload a file, in parts if it is large."""
        self._client.upload_file(path, self._bucket, key, Callback=count)

    def put_bytes(self, contents: bytes, key: str) -> None:
        """Store an object; replace an existing one."""
        self._client.put_object(Bucket=self._bucket, Key=key, Body=contents)

    def get_file(self, key: str, path: str, count: Count) -> None:
        """Download an object."""
        self._client.download_file(self._bucket, key, path, Callback=count)

    def read(self, key: str, start: int) -> Iterator[bytes]:
        """Yield the contents of an object from an offset on."""
        error = _module("botocore.exceptions").ClientError
        more = {"Range": f"bytes={start}-"} if start else {}
        try:
            body = self._client.get_object(Bucket=self._bucket, Key=key, **more)["Body"]
        except error as err:
            code = err.response.get("Error", {}).get("Code")
            if code == "InvalidRange":
                return  # nothing was added
            if code in ("NoSuchKey", "404"):
                raise FileNotFoundError(f"s3://{self._bucket}/{key}") from err
            raise
        with contextlib.closing(body):
            yield from body.iter_chunks(CHUNK_BYTES)

    def remove(self, keys: List[str]) -> None:
        """Delete objects, a thousand with one request."""
        for start in range(0, len(keys), _DELETE_AT_ONCE):
            batch = [{"Key": key} for key in keys[start : start + _DELETE_AT_ONCE]]
            said = self._client.delete_objects(
                Bucket=self._bucket, Delete={"Objects": batch, "Quiet": True}
            )
            failed = said.get("Errors", [])
            if failed:
                first = failed[0]
                raise OSError(
                    f"{len(failed)} of {len(batch)} files could not be deleted from {self}; the "
                    f"first is {first.get('Key')}: {first.get('Code')} {first.get('Message')}"
                )
