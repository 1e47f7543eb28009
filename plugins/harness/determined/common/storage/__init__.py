"""Checkpoint storage: a manager for each kind of storage, with a common interface.

``build`` returns the manager for the ``checkpoint_storage`` of an experiment. To add a kind, write
a subclass of ``StorageManager`` and add a line to ``_MANAGERS``.
"""

from __future__ import annotations

import os
import uuid
from typing import Any, Dict, Mapping, Optional, Type
from urllib import parse

from determined.common.storage.azure import AzureStorageManager
from determined.common.storage.base import Paths, Selector, StorageManager, list_directory
from determined.common.storage.directory import DirectoryStorageManager
from determined.common.storage.files import Files, FileState, FolderFiles
from determined.common.storage.gcs import GCSStorageManager
from determined.common.storage.objects import ObjectFiles, ObjectStorageManager
from determined.common.storage.s3 import S3StorageManager
from determined.common.storage.shared import SharedFSStorageManager, full_storage_path

__all__ = [
    "AzureStorageManager",
    "DirectoryStorageManager",
    "FileState",
    "Files",
    "FolderFiles",
    "GCSStorageManager",
    "ObjectFiles",
    "ObjectStorageManager",
    "Paths",
    "S3StorageManager",
    "Selector",
    "SharedFSStorageManager",
    "StorageManager",
    "build",
    "from_string",
    "full_storage_path",
    "list_directory",
    "shortcut_to_config",
    "validate_manager",
]

_MANAGERS: Mapping[str, Type[StorageManager]] = {
    "azure": AzureStorageManager,
    "directory": DirectoryStorageManager,
    "gcs": GCSStorageManager,
    "s3": S3StorageManager,
    "shared_fs": SharedFSStorageManager,
}

# Fields of ``checkpoint_storage`` for the master alone: how many checkpoints it keeps.
_POLICY_KEYS = ("save_experiment_best", "save_trial_best", "save_trial_latest")


def build(config: Mapping[str, Any], container_path: Optional[str]) -> StorageManager:
    """Return the manager that config describes.

    container_path is the path at which a task sees the folder of a ``shared_fs``, whose
    configuration has its path on the node; None means that this process uses paths of the node.

    Example::

        manager = storage.build({"type": "s3", "bucket": "checkpoints"}, container_path=None)
        with manager.restore_path(uuid) as path:
            print(sorted(path.iterdir()))
    """
    kind = config.get("type")
    if not isinstance(kind, str):
        raise ValueError(f"checkpoint_storage.type must name a kind of storage, not {kind!r}")
    manager = _MANAGERS.get(kind)
    if manager is None:
        raise TypeError(
            f"checkpoint_storage.type {kind!r} is not supported by this release of the harness; "
            f"it knows {', '.join(sorted(_MANAGERS))}"
        )
    fields = {
        key: value
        for key, value in config.items()
        if key != "type" and key not in _POLICY_KEYS and value is not None
    }
    return manager.from_config(fields, container_path)


def shortcut_to_config(shortcut: str, on_cluster: bool = True) -> Dict[str, Any]:
    """Return the ``checkpoint_storage`` for a path or an address like s3://bucket.

    Example:

        >>> shortcut_to_config("s3://bucket/team")
        {'type': 's3', 'bucket': 'bucket', 'prefix': 'team'}
    """
    parsed = parse.urlsplit(shortcut)
    if parsed.query or parsed.fragment:
        raise ValueError(f"malformed checkpoint_storage {shortcut!r}: it has a query or a fragment")
    scheme = parsed.scheme.lower()
    if scheme in ("", "file"):
        if parsed.netloc:
            raise ValueError(f"malformed checkpoint_storage {shortcut!r}: a path has no host")
        path = os.path.abspath(parsed.path)
        if on_cluster:
            return {"type": "shared_fs", "host_path": path}
        return {"type": "directory", "container_path": path}
    kinds = {"s3": "s3", "gs": "gcs"}
    if scheme not in kinds:
        raise ValueError(
            f"checkpoint_storage {shortcut!r} has the unknown scheme {parsed.scheme!r}; give a "
            "path, or an address that starts with file://, s3:// or gs://"
        )
    return {
        "type": kinds[scheme],
        "bucket": parsed.netloc,
        "prefix": parsed.path.lstrip("/"),
    }


def from_string(shortcut: str) -> StorageManager:
    """Return the manager for a path or an address.

    Example:

        >>> import tempfile
        >>> print(from_string(tempfile.gettempdir()).store_path_is_direct_access())
        True
    """
    return build(shortcut_to_config(shortcut, on_cluster=False), container_path=None)


def validate_manager(manager: StorageManager) -> None:
    """Check that a checkpoint can be stored, read and deleted; raise the first error.

    Example:

        >>> import tempfile
        >>> validate_manager(from_string(tempfile.mkdtemp()))
    """
    storage_id = str(uuid.uuid4())
    with manager.store_path(storage_id) as path:
        (path / "VALIDATE.txt").write_text(storage_id, encoding="utf-8")
    with manager.restore_path(storage_id) as path:
        if (path / "VALIDATE.txt").read_text(encoding="utf-8") != storage_id:
            raise ValueError(f"{manager} returns other data than was stored")
    manager.delete(storage_id, ["**/*"])
