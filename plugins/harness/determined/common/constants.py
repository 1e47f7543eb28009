"""Names that the platform and user code agree on."""

DEFAULT_DETERMINED_USER = "determined"
DEFAULT_DETERMINED_PASSWORD = ""
DEFAULT_CHECKPOINT_PATH = "checkpoints"

# Where a task sees the folder that checkpoint_storage.host_path names on its node.
SHARED_FS_CONTAINER_PATH = "/determined_shared_fs"
