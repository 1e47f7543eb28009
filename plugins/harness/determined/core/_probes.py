"""The sources of system metrics, which read counters of the kernel.

A probe returns a sample at each call: a map of metric names to numbers or, for devices of which a
machine has several, a map of device names to such maps. A probe without a source returns empty
samples.
"""

from __future__ import annotations

import os
import pathlib
import time
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple, Union

from determined import gpu
from determined.common import constants

Value = Union[float, Dict[str, float]]
Sample = Dict[str, Value]

PROC = pathlib.Path("/proc")

_SECTOR = 512


class Probe(NamedTuple):
    """A metric group, and how to sample it; with ``once``, one sample per report, for cost."""

    group: str
    sample: Callable[[], Sample]
    once: bool = False


class Rates:
    """Turns counters that only grow into their growth per second."""

    def __init__(
        self, read: Callable[[], Dict[str, float]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read = read
        self._clock = clock
        self._before: Tuple[float, Dict[str, float]] = (clock(), read())

    def sample(self) -> Dict[str, float]:
        """Return the growth of each counter since the last call."""
        then, old = self._before
        now, new = self._clock(), self._read()
        self._before = (now, new)
        seconds = max(now - then, 1e-9)
        # A counter that became smaller belongs to a device that was removed and added again.
        return {name: max(0.0, new[name] - old[name]) / seconds for name in new if name in old}


def _lines(path: pathlib.Path) -> List[List[str]]:
    try:
        return [line.split() for line in path.read_text(encoding="ascii").splitlines()]
    except (OSError, ValueError):
        return []


def cpu_counters(proc: pathlib.Path = PROC) -> Dict[str, float]:
    """Read the time for which all processors were busy and idle, in ticks."""
    for fields in _lines(proc / "stat"):
        if fields and fields[0] == "cpu":
            # user nice system idle iowait irq softirq steal; guests are part of user.
            ticks = [float(value) for value in fields[1:9]]
            idle = ticks[3] + (ticks[4] if len(ticks) > 4 else 0.0)
            return {"busy": sum(ticks) - idle, "idle": idle}
    return {}


def cpu_probe(proc: pathlib.Path = PROC) -> Probe:
    """Sample the share of all processors that is busy, in percent."""
    rates = Rates(lambda: cpu_counters(proc))

    def sample() -> Sample:
        grown = rates.sample()
        total = sum(grown.values())
        if total <= 0:
            return {}
        return {"cpu_util_simple": 100.0 * grown["busy"] / total}

    return Probe("cpu", sample)


def memory_probe(proc: pathlib.Path = PROC) -> Probe:
    """Sample the memory that programs could still get, in bytes."""

    def sample() -> Sample:
        for fields in _lines(proc / "meminfo"):
            if fields and fields[0] == "MemAvailable:":
                return {"memory_free": float(fields[1]) * 1024}
        return {}

    return Probe("memory", sample)


def disk_counters(proc: pathlib.Path = PROC) -> Dict[str, float]:
    """Read the counters of all disks: operations, bytes read, bytes written."""
    rows = {fields[2]: fields for fields in _lines(proc / "diskstats") if len(fields) >= 10}
    totals = {"disk_iops": 0.0, "disk_throughput_read": 0.0, "disk_throughput_write": 0.0}
    for name, fields in rows.items():
        if name.startswith(("loop", "ram")) or _is_partition(name, rows):
            continue
        totals["disk_iops"] += float(fields[3]) + float(fields[7])
        totals["disk_throughput_read"] += float(fields[5]) * _SECTOR
        totals["disk_throughput_write"] += float(fields[9]) * _SECTOR
    return totals if rows else {}


def _is_partition(name: str, devices: Mapping[str, object]) -> bool:
    """Return whether name is a partition of another device, whose counters include it."""
    stem = name.rstrip("0123456789")
    if stem == name:
        return False
    return stem in devices or (stem.endswith("p") and stem[:-1] in devices)


def disk_probe(paths: Optional[List[str]] = None, proc: pathlib.Path = PROC) -> Probe:
    """Sample the disks' traffic, and how full the file systems at paths are, in percent."""
    rates = Rates(lambda: disk_counters(proc))
    wanted = ["/", constants.SHARED_FS_CONTAINER_PATH] if paths is None else paths

    def sample() -> Sample:
        found: Sample = dict(rates.sample())
        for path in wanted:
            try:
                state = os.statvfs(path)
            except OSError:
                continue
            used = state.f_blocks - state.f_bfree
            # This task cannot use the space that is reserved for root.
            usable = used + state.f_bavail
            if usable > 0:
                found[path] = {"disk_util": 100.0 * used / usable}
        return found

    return Probe("disk", sample)


def network_counters(proc: pathlib.Path = PROC) -> Dict[str, float]:
    """Read the bytes received and sent over all interfaces except loopback."""
    totals = {"net_throughput_recv": 0.0, "net_throughput_sent": 0.0}
    found = False
    try:
        lines = (proc / "net" / "dev").read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return {}
    for line in lines:
        name, colon, rest = line.partition(":")
        fields = rest.split()
        if not colon or len(fields) < 9:
            continue
        found = True
        if name.strip() != "lo":
            totals["net_throughput_recv"] += float(fields[0])
            totals["net_throughput_sent"] += float(fields[8])
    return totals if found else {}


def network_probe(proc: pathlib.Path = PROC) -> Probe:
    """Sample the network's traffic, in bytes per second."""
    rates = Rates(lambda: network_counters(proc))
    return Probe("network", lambda: dict(rates.sample()))


def gpu_probe(list_gpus: Callable[[], List[gpu.GPU]] = gpu.get_gpus) -> Probe:
    """Sample each GPU's load, in percent, and free memory, in bytes."""

    def sample() -> Sample:
        return {
            device.uuid: {
                "gpu_util": 100.0 * device.load,
                "gpu_free_memory": device.memory_free,
            }
            for device in list_gpus()
        }

    return Probe("gpu", sample, once=True)


def all_probes() -> List[Probe]:
    """Return a probe for each metric group."""
    return [gpu_probe(), cpu_probe(), memory_probe(), disk_probe(), network_probe()]


def average(samples: List[Sample]) -> Sample:
    """Average each name over the samples that have it."""
    sums: Dict[Tuple[str, ...], Tuple[float, int]] = {}
    for sample in samples:
        for name, value in sample.items():
            parts = value.items() if isinstance(value, dict) else [("", value)]
            for part, number in parts:
                key = (name, part)
                total, count = sums.get(key, (0.0, 0))
                sums[key] = (total + number, count + 1)
    averaged: Sample = {}
    for (name, part), (total, count) in sums.items():
        if part:
            inner = averaged.setdefault(name, {})
            assert isinstance(inner, dict)
            inner[part] = total / count
        else:
            averaged[name] = total / count
    return averaged
