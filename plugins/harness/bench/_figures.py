"""Figures beside their yardsticks, and the table of them."""

from __future__ import annotations

import dataclasses
import math
import statistics
import sys
from typing import Callable, List, Sequence


@dataclasses.dataclass
class Figure:
    """What was measured, and what it is compared with; values of all rounds."""

    what: str
    unit: str
    ours: List[float]
    against: str
    yard: List[float]

    @property
    def value(self) -> float:
        """The median of ours."""
        return statistics.median(self.ours)

    @property
    def yardstick(self) -> float:
        """The median of the yardstick."""
        return statistics.median(self.yard)

    @property
    def ratio(self) -> float:
        """The median of the rounds' ratios: both values of a round met the same load."""
        return statistics.median(a / b for a, b in zip(self.ours, self.yard))

    @property
    def spread(self) -> str:
        """The lowest and the highest ratio of a round."""
        ratios = sorted(a / b for a, b in zip(self.ours, self.yard))
        return f"{three(ratios[0])} to {three(ratios[-1])}"


TIMES = "\N{MULTIPLICATION SIGN}"

Measure = Callable[[], Sequence[float]]


def rounds_of(count: int, *measures: Measure) -> List[List[Sequence[float]]]:
    """Run measures in turn, every second round backwards; return the values of each by round."""
    found: List[List[Sequence[float]]] = [[] for _ in measures]
    for number in range(count):
        order = list(enumerate(measures))
        for index, measure in order if number % 2 == 0 else reversed(order):
            found[index].append(measure())
            print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return found


def three(value: float) -> str:
    """Write a number with three digits that mean something."""
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"


def table(part: str, figures: Sequence[Figure]) -> str:
    """Write the table of a part, as Markdown that is good to read as it is."""
    rows = [[part, "Detent", "yardstick, same run", "ratio", "lowest and highest ratio"]]
    rows += [
        [
            figure.what,
            f"{three(figure.value)} {figure.unit}",
            f"{figure.against}: {three(figure.yardstick)} {figure.unit}",
            f"{three(figure.ratio)} {TIMES}",
            figure.spread,
        ]
        for figure in figures
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |"
        for row in rows
    ]
    lines.insert(1, "| " + " | ".join("-" * width for width in widths) + " |")
    return "\n".join(lines)
