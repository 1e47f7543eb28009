"""The command line of the reference."""

from __future__ import annotations

import argparse
import pathlib
import sys
from typing import Dict, Iterator

from reference._pages import pages
from reference._rules import broken_rules
from reference._source import Package

HARNESS = pathlib.Path(__file__).resolve().parent.parent
TARGET = HARNESS.parent.parent / "docs" / "python" / "pages"


def stale(made: Dict[str, str], target: pathlib.Path) -> Iterator[str]:
    """Yield the names of files that are not what they would be made to."""
    there = {path.name for path in target.glob("*.md")}
    for name in sorted(there | set(made)):
        if name not in made or name not in there or (target / name).read_text() != made[name]:
            yield name


def main() -> int:
    """Write the pages, or check the docstrings."""
    parser = argparse.ArgumentParser(description="Writes the reference of the Python package.")
    parser.add_argument("--check", action="store_true", help="list docstrings that break a rule")
    arguments = parser.parse_args()
    package = Package(HARNESS / "determined")
    if arguments.check:
        broken = list(broken_rules(package))
        for sentence in broken:
            print(sentence, file=sys.stderr)
        return 1 if broken else 0
    made = pages(package)
    old = list(stale(made, TARGET))
    TARGET.mkdir(parents=True, exist_ok=True)
    for name in old:
        if name in made:
            (TARGET / name).write_text(made[name])
        else:
            (TARGET / name).unlink()
    if old:
        print(f"{len(made)} pages in {TARGET}, {len(old)} of them changed", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
