"""The command line: runs the checks, and writes the table."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import sys
import tempfile
from typing import List

from gpucheck import machine
from gpucheck.checks import Checks, plugin_path
from gpucheck.cluster import Cluster, python_of
from gpucheck.report import PASSED, Failure, Report, table

# Checks that somebody can choose; without a choice all of them are made.
NAMES = ["probe", "pytorch", "slots", "trial", "amp", "ddp", "transformers", "steps"]

PACK = pathlib.Path(__file__).resolve().parents[2]


def parse(words: List[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="gpu-check", description=__doc__)
    parser.add_argument("--out", default="", help="folder for report.json, table.md and the logs")
    parser.add_argument("--seconds", type=float, default=570, help="time for all checks together")
    parser.add_argument(
        "--processors", action="store_true", help="train on processors, whatever GPUs there are"
    )
    parser.add_argument(
        "--gpu-plugin", default="", help="another device plugin of Nomad than det-gpu"
    )
    parser.add_argument(
        "--only", nargs="+", default=NAMES, choices=NAMES, metavar="CHECK", help=", ".join(NAMES)
    )
    return parser.parse_args(words)


def main(words: List[str]) -> int:
    """Run all checks; return the exit status."""
    chosen = parse(words)
    report = Report(sys.stdout, chosen.seconds)
    work = pathlib.Path(tempfile.mkdtemp(prefix="gpu-check-"))
    work.chmod(0o755)  # PostgreSQL may run as another user
    python = python_of(PACK, work)
    seen = machine.look(PACK / "bin" / "det-gpu", python)
    checks = Checks(report, seen, Cluster(PACK, work, python), chosen.processors)
    if not checks.machine.real:
        print(f"No GPU of NVIDIA here ({checks.machine.reason}): the GPUs are simulated.")
    try:
        run(report, checks, plugin_path(chosen.gpu_plugin), chosen.only)
    finally:
        keep(work, chosen.out, checks)
    return report.end()


def run(report: Report, checks: Checks, plugin: str, only: List[str]) -> None:
    """Make the checks: those on the cluster only if it has started."""
    for name in ("probe", "pytorch"):
        if name in only:
            report.check(name, getattr(checks, name))
    try:
        if report.check("cluster", lambda: checks.up(plugin)):
            for name in NAMES[2:]:
                if name in only:
                    report.check(name, getattr(checks, name))
    finally:
        report.check("end", checks.down, always=True)


def keep(work: pathlib.Path, out: str, checks: Checks) -> None:
    """Print the table, write the report, and remove what the checks have left."""
    lines = checks.report.lines
    passed = sum(line.result == PASSED for line in lines)
    checks.facts["checks"] = f"{passed} of {len(lines)} passed"
    print("\n" + table(checks.facts), flush=True)
    if out:
        folder = pathlib.Path(out)
        folder.mkdir(parents=True, exist_ok=True)
        told = {"lines": [vars(line) for line in lines], "facts": checks.facts}
        (folder / "report.json").write_text(json.dumps(told, indent=1))
        (folder / "table.md").write_text(table(checks.facts))
        for log in work.glob("*.log"):
            shutil.copy(log, folder / log.name)
    shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failure as err:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {err}")
