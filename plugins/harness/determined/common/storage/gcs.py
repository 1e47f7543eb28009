"""Checkpoints in Google Cloud Storage, with Google's own library.

The credentials are application-default credentials, as for Google's own tools; a task of a
cluster with a secret in Vault uses the secret. ``STORAGE_EMULATOR_HOST`` names an emulator instead,
as for all of Google's libraries.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import posixpath
from typing import Any, BinaryIO, Iterator, List, Mapping, Optional

from determined import errors
from determined.common.storage.files import CHUNK_BYTES
from determined.common.storage.objects import (
    Count,
    ObjectStorageManager,
    Stored,
    refuse_unknown,
    together,
)

_SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"

# A file is sent in parts of this size, and a part is sent again if it fails. Google requires a
# multiple of 256 KiB.
_PART_BYTES = 16 << 20


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as err:
        raise ImportError(
            "checkpoint_storage of type gcs needs the package google-cloud-storage, which is not "
            "installed where this runs; install it (pip install google-cloud-storage), or choose "
            "an image that has it"
        ) from err


def _client() -> Any:
    """Return a client of Google's library, with the task's own credentials if it has some."""
    storage = _module("google.cloud.storage")
    own = os.environ.get("DET_GCS_CREDENTIALS_FILE")
    credentials = None
    if own and not os.environ.get("STORAGE_EMULATOR_HOST"):
        credentials, _ = _module("google.auth").load_credentials_from_file(own, scopes=[_SCOPE])
    # Objects are of a bucket, and need no project.
    return storage.Client(project=None, credentials=credentials)


class _Counted:
    """A file that counts the bytes that are read."""

    def __init__(self, file: BinaryIO, count: Count) -> None:
        self._file = file
        self._count = count

    def read(self, size: int = -1) -> bytes:
        """Read, and count what was read."""
        data = self._file.read(size)
        self._count(len(data))
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class GCSStorageManager(ObjectStorageManager):
    """A prefix of a bucket of Google. Checkpoints are copied there from a local folder.

    Example::

        manager = storage.build({"type": "gcs", "bucket": "checkpoints", "prefix": "team"}, None)
        print(manager.get_storage_prefix(uuid))
    """

    kind = "gcs"

    def __init__(
        self, bucket: str, prefix: Optional[str] = None, temp_dir: Optional[str] = None
    ) -> None:
        super().__init__(prefix, temp_dir)
        with self.access():
            self.client = _client()
        self.bucket = self.client.bucket(bucket)
        self.prefix = self._prefix

    def __str__(self) -> str:
        return f"gs://{posixpath.join(self.bucket.name, self._prefix)}"

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], container_path: Optional[str] = None
    ) -> GCSStorageManager:
        """Build a manager from ``bucket`` and ``prefix``."""
        refuse_unknown(cls.kind, config, {"bucket", "prefix"})
        if not config.get("bucket"):
            raise ValueError("checkpoint_storage of type gcs needs a bucket")
        return cls(**config)

    def get_storage_prefix(self, storage_id: str) -> str:
        """Return the prefix of a checkpoint in the bucket."""
        return self._root(storage_id).rstrip("/")

    @contextlib.contextmanager
    def access(self) -> Iterator[None]:
        """Turn errors of the sign-in into NoDirectStorageAccess."""
        auth, api = _module("google.auth.exceptions"), _module("google.api_core.exceptions")
        try:
            yield
        except (auth.GoogleAuthError, api.Unauthorized, api.Forbidden) as err:
            raise errors.NoDirectStorageAccess(
                f"cannot sign in to Google Cloud Storage, or may not use this bucket: {err}"
            ) from err

    def objects(self, root: str) -> Iterator[Stored]:
        """Yield the objects under a key."""
        fields = "items(name,size,generation),nextPageToken"
        for blob in self.client.list_blobs(self.bucket, prefix=root, fields=fields):
            yield Stored(blob.name, blob.size or 0, f"{blob.generation}")

    def put_file(self, path: str, key: str, count: Count) -> None:
        """Upload a file, resumably if it is large; Google compares its checksum."""
        blob = self.bucket.blob(key, chunk_size=_PART_BYTES)
        with open(path, "rb") as file:
            blob.upload_from_file(
                _Counted(file, count),
                size=os.path.getsize(path),
                content_type="application/octet-stream",
                checksum="crc32c",
                retry=_module("google.cloud.storage.retry").DEFAULT_RETRY,
            )

    def put_bytes(self, contents: bytes, key: str) -> None:
        """Store an object; replace an existing one."""
        self.bucket.blob(key).upload_from_string(
            contents,
            content_type="application/octet-stream",
            checksum="crc32c",
            retry=_module("google.cloud.storage.retry").DEFAULT_RETRY,
        )

    def get_file(self, key: str, path: str, count: Count) -> None:
        """Download an object, and compare its checksum."""
        self.bucket.blob(key).download_to_filename(path, checksum="crc32c")
        count(os.path.getsize(path))

    def read(self, key: str, start: int) -> Iterator[bytes]:
        """Yield the contents of an object from an offset on."""
        blob = self.bucket.get_blob(key)
        if blob is None:
            raise FileNotFoundError(f"gs://{self.bucket.name}/{key}")
        # Without a generation: if the object is replaced meanwhile, the old generation is gone.
        latest = self.bucket.blob(key)
        for at in range(start, blob.size, CHUNK_BYTES):
            end = min(at + CHUNK_BYTES, blob.size) - 1
            yield latest.download_as_bytes(start=at, end=end)

    def remove(self, keys: List[str]) -> None:
        """Delete objects, several in parallel."""
        missing = _module("google.api_core.exceptions").NotFound

        def delete(key: str) -> None:
            with contextlib.suppress(missing):
                self.bucket.blob(key).delete()

        with self.access():
            together(delete, keys)
