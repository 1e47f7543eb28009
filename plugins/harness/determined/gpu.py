"""The GPUs of this task: NVIDIA's from NVML or nvidia-smi, AMD's from the kernel's files.

Outside of a container a machine lists all of its GPUs, also those of other tasks. The platform
names this task's GPUs in NVIDIA_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES, for AMD in
ROCR_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES. NVML is used where the package nvidia-ml-py is
installed: it starts no program for each sample.
"""

from __future__ import annotations

import csv
import importlib
import logging
import os
import pathlib
import shutil
import subprocess
from typing import Any, Callable, List, NamedTuple, Optional

logger = logging.getLogger("determined")

# A driver with an error can make nvidia-smi hang; callers must not hang too.
TIMEOUT = 10.0

_FIELDS = ("index", "uuid", "utilization.gpu", "memory.used", "memory.total")


class GPU(NamedTuple):
    """One GPU at one moment: load from 0 to 1, memory in bytes.

    Example:

        >>> GPU(0, "GPU-1", load=0.5, memory_used=1e9, memory_total=8e9).memory_free
        7000000000.0
    """

    id: int
    uuid: str
    load: float
    memory_used: float
    memory_total: float

    @property
    def memory_free(self) -> float:
        """Free memory in bytes."""
        return self.memory_total - self.memory_used


def get_gpus() -> List[GPU]:
    """List this task's GPUs; none if there is no driver or it does not answer.

    Example: ``[gpu.memory_free for gpu in get_gpus()]``
    """
    listed = _from_nvml()
    ours = _chosen()
    nvidia = [gpu for gpu in (_from_nvidia_smi() if listed is None else listed) if ours(gpu)]
    return nvidia + _from_amdgpu(_DRM)


def _from_nvml() -> Optional[List[GPU]]:
    """List NVIDIA's GPUs of this machine; None if NVML cannot."""
    try:
        nvml: Any = importlib.import_module("pynvml")
    except ImportError:
        return None
    try:
        nvml.nvmlInit()
        found: List[GPU] = []
        for index in range(nvml.nvmlDeviceGetCount()):
            device = nvml.nvmlDeviceGetHandleByIndex(index)
            memory = nvml.nvmlDeviceGetMemoryInfo(device)
            name = nvml.nvmlDeviceGetUUID(device)
            name = name.decode() if isinstance(name, bytes) else name
            try:
                load = nvml.nvmlDeviceGetUtilizationRates(device).gpu / 100
            except nvml.NVMLError:  # a GPU that is divided has no load of its own
                load = 0.0
            found.append(GPU(index, name, load, float(memory.used), float(memory.total)))
        return found
    except nvml.NVMLError as err:
        logger.debug("NVML cannot list the GPUs: %s", err)
        return None


def _from_nvidia_smi() -> List[GPU]:
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
    parsed = [_parse(row) for row in csv.reader(done.stdout.splitlines(), skipinitialspace=True)]
    return [gpu for gpu in parsed if gpu is not None]


_DRM = pathlib.Path("/sys/class/drm")
_AMD = "0x1002"


def _from_amdgpu(drm: pathlib.Path) -> List[GPU]:
    """List this task's GPUs that the driver amdgpu shows, by ROCm's numbers and names."""
    words = _words("ROCR_VISIBLE_DEVICES")
    if words is None:
        words = _words("HIP_VISIBLE_DEVICES")
    found: List[GPU] = []
    cards = (p for p in drm.glob("card*") if p.name[4:].isdigit())
    for path in sorted(cards, key=lambda p: int(p.name[4:])):
        device = path / "device"
        if _line(device / "vendor") != _AMD or not _line(device / "mem_info_vram_total"):
            continue
        gpu = GPU(
            id=len(found),
            uuid="GPU-" + (_line(device / "unique_id") or device.resolve().name),
            load=_number(_line(device / "gpu_busy_percent")) / 100,
            memory_used=_number(_line(device / "mem_info_vram_used")),
            memory_total=_number(_line(device / "mem_info_vram_total")),
        )
        found.append(gpu)
    return [g for g in found if words is None or g.uuid in words or str(g.id) in words]


def _line(path: pathlib.Path) -> str:
    """Read a file of the kernel's; one that is not there, or that a driver refuses, is empty."""
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _chosen() -> Callable[[GPU], bool]:
    """Return a function that returns whether a GPU belongs to this task."""
    runtime = _words("NVIDIA_VISIBLE_DEVICES")
    if runtime is not None and runtime[:1] in (["void"], ["none"]):
        return lambda gpu: False
    # The runtime numbers the GPUs of the machine; in a container nvidia-smi numbers its own.
    if runtime and all(_is_uuid(word) for word in runtime):
        return lambda gpu: gpu.uuid in runtime
    words = _words("CUDA_VISIBLE_DEVICES")
    if words is None:
        return lambda gpu: True
    # CUDA accepts the beginning of a UUID.
    return lambda gpu: any(
        gpu.uuid.startswith(word) if _is_uuid(word) else word == str(gpu.id) for word in words
    )


def _words(variable: str) -> Optional[List[str]]:
    text = os.environ.get(variable)
    return None if text is None else [word.strip() for word in text.split(",") if word.strip()]


def _is_uuid(word: str) -> bool:
    return word.startswith(("GPU-", "MIG-"))


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
    """Read a number; parts of a GPU have none, and count as idle."""
    try:
        return float(text)
    except ValueError:
        return 0.0


def get_gpu_uuids() -> List[str]:
    """List the UUIDs of this machine's GPUs.

    Example: ``print(get_gpu_uuids())``
    """
    return [gpu.uuid for gpu in get_gpus()]
