"""Fixed names and ports of a task; the environment can change some of them."""

import os

MAX_SLOTS_PER_AGENT = 16

DTRAIN_SSH_PORT = int(os.environ.get("DTRAIN_SSH_PORT", "12350"))

# Where the workers of one job reach their chief. The platform sets both, free on every node.
INTER_TRAIN_PROCESS_COMM_PORT_1 = int(os.environ.get("INTER_TRAIN_PROCESS_COMM_PORT_1", "12360"))
INTER_TRAIN_PROCESS_COMM_PORT_2 = int(
    os.environ.get(
        "INTER_TRAIN_PROCESS_COMM_PORT_2",
        str(INTER_TRAIN_PROCESS_COMM_PORT_1 + MAX_SLOTS_PER_AGENT),
    )
)

CONTAINER_STDOUT = "/run/determined/train/logs/stdout.log"
CONTAINER_STDERR = "/run/determined/train/logs/stderr.log"

# Where a task's own files are, unless DET_RUN_DIR says otherwise.
DEFAULT_RUN_DIR = "/run/determined"

MANAGED_TRAINING_MODEL_COPY = "/run/determined/train/model"
