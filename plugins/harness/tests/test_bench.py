"""The benchmark's own parts: pairs that alternate, ratios of pairs, and the table."""

from __future__ import annotations

import pathlib
import subprocess
import sys
from typing import Callable, List, Sequence

from bench._figures import Figure, rounds_of, table, three
from bench._jobs import HARNESS, of_trial


def test_rounds_alternate() -> None:
    order: List[str] = []

    def measure(name: str) -> Callable[[], Sequence[float]]:
        def run() -> Sequence[float]:
            order.append(name)
            return (float(len(order)),)

        return run

    ours, yard = rounds_of(3, measure("ours"), measure("yard"))
    assert order == ["ours", "yard", "yard", "ours", "ours", "yard"]
    assert (ours, yard) == ([(1.0,), (4.0,), (5.0,)], [(2.0,), (3.0,), (6.0,)])


def test_the_ratio_is_that_of_rounds() -> None:
    """Load that lasts a whole round slows both values down, so the ratio does not change."""
    figure = Figure("a step", "ms", [1.1, 110.0, 2.2], "alone", [1.0, 100.0, 2.0])
    assert round(figure.ratio, 6) == 1.1 and (figure.value, figure.yardstick) == (2.2, 2.0)
    assert table("Steps", [figure]).splitlines() == [
        "| Steps  | Detent  | yardstick, same run | ratio  | lowest and highest ratio |",
        "| ------ | ------- | ------------------- | ------ | ------------------------ |",
        "| a step | 2.20 ms | alone: 2.00 ms      | 1.10 \N{MULTIPLICATION SIGN} | 1.10 to 1.10"
        "             |",
    ]


def test_three_digits() -> None:
    values = (0, 0.001234, 0.5, 12.345, 1234.5)
    assert [three(value) for value in values] == ["0", "0.00123", "0.500", "12.3", "1,234"]


def test_a_task_finds_itself(tmp_path: pathlib.Path) -> None:
    """The package understands the environment of a measured task."""
    text = (
        "import determined as det; info = det.get_cluster_info(); "
        "print(info.container_rank, info.container_slot_counts, info.trial.trial_id)"
    )
    environment = of_trial("http://127.0.0.1:1", tmp_path, [0], 1, 2)
    done = subprocess.run(
        [sys.executable, "-c", text],
        env=environment,
        check=True,
        cwd=HARNESS,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert done.stdout == "1 [1, 1] 12\n"


def test_an_unknown_part_is_refused() -> None:
    command = [sys.executable, "-m", "bench", "--keras", "x", "--compat", "x", "ddp", "dpd"]
    done = subprocess.run(command, check=False, cwd=HARNESS, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2 and "there is no part dpd; there are imports" in done.stderr
