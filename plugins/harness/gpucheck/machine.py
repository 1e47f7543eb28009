"""What a machine has: the GPUs that det-gpu finds, and the packages of its Python."""

from __future__ import annotations

import collections
import json
import pathlib
import subprocess
from typing import Any, Dict, List

from gpucheck.report import plural

# Prints what PyTorch knows. A process of its own: a driver that hangs must not stop the checks.
LOOK = """
import importlib.util, json
found = {"python": ".".join(map(str, __import__("sys").version_info[:3])), "gpus": []}
if importlib.util.find_spec("torch"):
    import torch
    found["torch"] = torch.__version__
    if torch.cuda.is_available():
        found["cuda"] = torch.version.cuda
        if torch.distributed.is_nccl_available():
            found["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
        for i in range(torch.cuda.device_count()):
            gpu = torch.cuda.get_device_properties(i)
            found["gpus"].append({"name": gpu.name, "bytes": gpu.total_memory, "uuid": str(getattr(gpu, "uuid", ""))})
for name in ("transformers", "accelerate"):
    if importlib.util.find_spec(name):
        found[name] = __import__(name).__version__
print("FOUND " + json.dumps(found))
"""  # noqa: E501

LOOK_SECONDS = 120


class Machine:
    """What was found. Without an NVIDIA driver there is a reason in place of GPUs."""

    def __init__(self, probe: Dict[str, Any], reason: str, python: Dict[str, Any]) -> None:
        self.driver: str = probe.get("driver", "")
        self.gpus: List[Dict[str, Any]] = probe.get("devices", [])
        self.reason = reason
        self.python = python

    @property
    def real(self) -> bool:
        """Whether det-gpu finds GPUs, so that the cluster has no simulated ones."""
        return bool(self.gpus)

    @property
    def cuda(self) -> bool:
        """Whether programs can use the GPUs."""
        return bool(self.python.get("gpus"))

    def described(self) -> str:
        """Return the GPUs in words: ``2 GPUs: 2 x NVIDIA H200``."""
        models = collections.Counter(gpu["model"] for gpu in self.gpus)
        return f"{plural(len(self.gpus), 'GPU')}: " + ", ".join(
            f"{count} x {model}" for model, count in models.items()
        )

    def facts(self) -> Dict[str, Any]:
        """Return the machine's part of the table."""
        memory = sorted({gpu["memory_mib"] for gpu in self.gpus})
        named = {name: self.python.get(name) for name in ("torch", "cuda", "nccl", "transformers")}
        return {
            **named,
            "gpus": self.described() if self.real else "simulated",
            "memory": ", ".join(f"{mib} MiB" for mib in memory),
            "driver": self.driver,
        }


def look(det_gpu: pathlib.Path, python: str) -> Machine:
    """Ask det-gpu and a Python."""
    probe: Dict[str, Any] = {}
    reason = ""
    try:
        done = subprocess.run(
            [str(det_gpu), "probe"], capture_output=True, text=True, timeout=60, check=False
        )
        if done.returncode == 0:
            probe = json.loads(done.stdout)
        reason = done.stderr.strip() or "det-gpu finds no GPU"
    except subprocess.TimeoutExpired:
        reason = "det-gpu probe did not end within 60 s: the driver hangs"
    seen = subprocess.run(
        [python, "-c", LOOK],
        capture_output=True,
        text=True,
        timeout=LOOK_SECONDS,
        check=False,
    )
    for line in seen.stdout.splitlines():
        if line.startswith("FOUND "):
            return Machine(probe, reason, json.loads(line[len("FOUND ") :]))
    return Machine(probe, reason, {"error": seen.stderr.strip()[-300:]})
