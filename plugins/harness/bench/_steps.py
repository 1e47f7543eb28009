"""Notes when steps begin, and writes how long they took."""

from __future__ import annotations

import json
import os
import pathlib
import statistics
import time
from typing import Dict, List

WARM_UP = 20


class Steps:
    """The beginnings of steps, in time and in processor time of this process and its threads."""

    def __init__(self) -> None:
        self._at: List[float] = []
        self._cpu: List[float] = []

    def begin(self) -> None:
        """Note that a step begins, or that the last one has ended."""
        self._at.append(time.perf_counter())
        self._cpu.append(time.process_time())

    def write(self) -> None:
        """Write the median step, and the processor time of a step, in milliseconds."""
        at, cpu = self._at[WARM_UP:], self._cpu[WARM_UP:]
        took = [after - before for before, after in zip(at, at[1:])]
        found: Dict[str, float] = {
            "step": 1000 * statistics.median(took),
            "mean": 1000 * (at[-1] - at[0]) / len(took),
            "cpu": 1000 * (cpu[-1] - cpu[0]) / len(took),
        }
        pathlib.Path(os.environ["BENCH_OUT"]).write_text(json.dumps(found))
