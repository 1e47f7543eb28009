"""What GPUs this machine has, as nvidia-smi tells it."""

from __future__ import annotations

import csv
import logging
import shutil
import subprocess
from typing import List, NamedTuple

logger = logging.getLogger("determined")

# A driver that is about to fail can make nvidia-smi hang; no caller may hang with it.
TIMEOUT = 10.0

_FIELDS = ("index", "uuid", "utilization.gpu", "memory.used", "memory.total")


class GPU(NamedTuple):
    """One GPU at one moment: load from 0 to 1, memory in bytes."""

    id: int
    uuid: str
    load: float
    memory_used: float
    memory_total: float

    @property
    def memory_free(self) -> float:
        """Bytes that nobody uses."""
        return self.memory_total - self.memory_used


def get_gpus() -> List[GPU]:
    """List this machine's GPUs; none where there is no driver or it does not answer."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    command = [program, "--query-gpu=" + ",".join(_FIELDS), "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, timeout=TIMEOUT, check=True
        )
    except (OSError, subprocess.SubprocessError) as err:
        logger.warning("cannot list the GPUs: %s", err)
        return []
    found = []
    for row in csv.reader(done.stdout.splitlines(), skipinitialspace=True):
        gpu = _parse(row)
        if gpu is not None:
            found.append(gpu)
    return found


def _parse(row: List[str]) -> GPU | None:
    if len(row) != len(_FIELDS):
        logger.warning("unexpected line from nvidia-smi: %r", row)
        return None
    try:
        index = int(row[0])
    except ValueError:
        logger.warning("unexpected line from nvidia-smi: %r", row)
        return None
    mebibyte = 2.0**20
    return GPU(
        id=index,
        uuid=row[1],
        load=_number(row[2]) / 100,
        memory_used=_number(row[3]) * mebibyte,
        memory_total=_number(row[4]) * mebibyte,
    )


def _number(text: str) -> float:
    """Read a number; parts of a partitioned GPU have none, and count as idle."""
    try:
        return float(text)
    except ValueError:
        return 0.0


def get_gpu_uuids() -> List[str]:
    """List the UUIDs of this machine's GPUs."""
    return [gpu.uuid for gpu in get_gpus()]
