"""Checkpoints in a folder that the task already sees."""

from __future__ import annotations

from typing import Any, Mapping, Optional

from determined.common.storage.shared import SharedFSStorageManager, _refuse_unknown


class DirectoryStorageManager(SharedFSStorageManager):
    """A folder named by its path inside the task.

    Example: ``storage.build({"type": "directory", "container_path": "/checkpoints"}, None)``
    """

    _kind = "directory"
    _place = "checkpoint_storage.container_path"

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], container_path: Optional[str] = None
    ) -> DirectoryStorageManager:
        """Build a manager from the ``container_path`` of config; the argument is not used."""
        _refuse_unknown(cls._kind, config, {"container_path"})
        if "container_path" not in config:
            raise ValueError("checkpoint_storage of type directory needs a container_path")
        return cls(config["container_path"])
