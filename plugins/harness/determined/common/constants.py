"""Names that the platform and user code share."""

DEFAULT_DETERMINED_USER = "determined"
DEFAULT_DETERMINED_PASSWORD = ""
DEFAULT_CHECKPOINT_PATH = "checkpoints"

# Where a task sees the folder that checkpoint_storage.host_path names on its node.
SHARED_FS_CONTAINER_PATH = "/determined_shared_fs"

# Maximum sizes of a submission and of a report.
MAX_HTTP_REQUEST_SIZE = 128 * 1024 * 1024
MAX_ENCODED_SIZE = MAX_HTTP_REQUEST_SIZE // 8 * 6
MAX_CONTEXT_SIZE = MAX_ENCODED_SIZE - 1024 * 1024
MAX_WEBSOCKET_MSG_SIZE = MAX_HTTP_REQUEST_SIZE
MAX_METRICS_SIZE = 100 * 1024 * 1024
