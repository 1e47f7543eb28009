"""The result of each check, and how results are shown."""

from __future__ import annotations

import dataclasses
import time
from typing import Any, Callable, Dict, List, TextIO

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


class Failure(Exception):
    """A check found what must not be; the text says what, and where."""


class Skip(Exception):
    """A check cannot be made on this machine; the text says why."""


@dataclasses.dataclass
class Line:
    """One check: how it ended, after how long, and what was seen."""

    name: str
    result: str
    seconds: float
    text: str

    def __str__(self) -> str:
        return f"{self.result:7}  {self.name:14}  {self.seconds:6.1f} s  {self.text}"


class Report:
    """The lines of all checks, which are printed as the checks end."""

    def __init__(
        self, out: TextIO, seconds: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.lines: List[Line] = []
        self._out, self._now, self._end = out, now, now() + seconds

    def left(self) -> float:
        """Return how many seconds are left for all checks together."""
        return self._end - self._now()

    def check(self, name: str, look: Callable[[], str], always: bool = False) -> bool:
        """Run one check, print its line, and return whether it did not fail.

        always: also when the time for all checks is over.
        """
        began = self._now()
        try:
            if self.left() <= 0 and not always:
                raise Failure("the time for all checks is over")
            result, text = PASSED, look()
        except Skip as err:
            result, text = SKIPPED, str(err)
        except Failure as err:
            result, text = FAILED, str(err)
        except Exception as err:  # a mistake of the check; the others still run
            result, text = FAILED, f"{type(err).__name__}: {err}"
        line = Line(name, result, self._now() - began, text)
        self.lines.append(line)
        print(line, file=self._out, flush=True)
        return result != FAILED

    def count(self, result: str) -> int:
        """Return the number of checks that ended so."""
        return sum(line.result == result for line in self.lines)

    def end(self) -> int:
        """Print the sum, and return the exit status: 1 if a check failed, or none passed."""
        passed, failed, skipped = (self.count(kind) for kind in (PASSED, FAILED, SKIPPED))
        print(f"{passed} passed, {failed} failed, {skipped} skipped", file=self._out, flush=True)
        return 1 if failed or not passed else 0


def plural(count: int, word: str) -> str:
    """Return a number with its word: ``2 GPUs``."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


# The columns of the table in docs/gpu.md, and the facts that are in them.
COLUMNS = {
    "GPUs": "gpus",
    "memory": "memory",
    "driver": "driver",
    "CUDA": "cuda",
    "PyTorch": "torch",
    "NCCL": "nccl",
    "Transformers": "transformers",
    "a step, bare `torchrun`": "bare",
    "… as a trial": "ours",
    "more": "more",
    "checks": "checks",
}


def table(facts: Dict[str, Any]) -> str:
    """Return the table of one machine, in Markdown; what is not known is a dash."""
    row = [str(facts.get(name) or "-") for name in COLUMNS.values()]
    rule = ["---"] * len(row)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (list(COLUMNS), rule, row))
