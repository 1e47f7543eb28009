"""Runs a program and marks each line of its output with the rank of its worker.

``python3 -m determined.launch.wrap_rank RANK [--] COMMAND ...`` prefixes every line with
``[rank=N] ``, by which the log viewer distinguishes workers. RANK is a number, or names of
environment variables, separated by commas; the first variable that is set has the rank.

In a task's container the lines are written directly to the container's own output, because some
launchers send all workers' lines to the chief's node first. ``--no-redirect-stdio`` turns this off.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from typing import IO, Iterator, List, NamedTuple, Optional, Tuple

from determined import constants, util
from determined.launch import _descendants
from determined.launch._child import ENDS, exit_code, note_end

__all__ = ["main"]

_USAGE = "usage: python3 -m determined.launch.wrap_rank [--no-redirect-stdio] RANK [--] COMMAND ..."

# The longest line that log shippers do not split, with its newline.
LINE_BYTES = 8191

# How long the processes of a failed program may take to end.
GRACE_SECONDS = 5.0

# Progress bars end their lines with a carriage return.
_LINE_END = re.compile(rb"\r\n|[\r\n]")


class Arguments(NamedTuple):
    """The parsed command line."""

    rank: int
    command: List[str]
    redirect: bool


def parse(argv: List[str]) -> Arguments:
    """Parse the command line; ValueError names the mistake."""
    rest = list(argv)
    redirect = True
    if rest and rest[0] == "--no-redirect-stdio":
        redirect = False
        rest.pop(0)
    if not rest:
        raise ValueError("RANK is missing")
    rank = _rank(rest.pop(0))
    if rest and rest[0] == "--":
        rest.pop(0)
    if not rest:
        raise ValueError("COMMAND is missing")
    return Arguments(rank, rest, redirect)


def _rank(word: str) -> int:
    if word.isdigit():
        return int(word)
    for name in word.split(","):
        if name in os.environ:
            return int(os.environ[name])
    raise ValueError(f"RANK is {word!r}, but the environment has no such variable")


def split_lines(source: IO[bytes]) -> Iterator[bytes]:
    """Yield lines without their ends, as soon as they arrive; long ones in pieces."""
    held = b""
    after_return = False
    while True:
        chunk = source.read(LINE_BYTES)
        if not chunk:
            break
        if after_return and chunk.startswith(b"\n"):
            # The second half of an end whose first half was enough.
            chunk = chunk[1:]
        after_return = chunk.endswith(b"\r")
        *lines, held = _LINE_END.split(held + chunk)
        for line in lines:
            yield from _pieces(line)
        while len(held) >= LINE_BYTES:
            yield held[: LINE_BYTES - 1]
            held = held[LINE_BYTES - 1 :]
    if held:
        yield held


def _pieces(line: bytes) -> Iterator[bytes]:
    if not line:
        yield line
    for start in range(0, len(line), LINE_BYTES - 1):
        yield line[start : start + LINE_BYTES - 1]


def forward(source: IO[bytes], target: IO[bytes], rank: int) -> None:
    """Copy lines, each with its mark, in one write each so that workers' lines do not mix."""
    prefix = b"[rank=%d] " % rank
    for line in split_lines(source):
        target.write(prefix + line + b"\n")
        target.flush()


def _outputs(redirect: bool) -> Tuple[IO[bytes], IO[bytes]]:
    if redirect and os.path.exists(constants.CONTAINER_STDOUT):
        return open(constants.CONTAINER_STDOUT, "wb"), open(constants.CONTAINER_STDERR, "wb")
    return sys.stdout.buffer, sys.stderr.buffer


def run(arguments: Arguments) -> int:
    """Run the command and return its exit code, as a shell would give it.

    If a launcher of this package notes how workers end, a program that ends by a signal which was
    forwarded to it has not failed.
    """
    environment = dict(os.environ)
    notes = environment.pop(ENDS, None)
    process = subprocess.Popen(
        arguments.command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )
    assert process.stdout is not None and process.stderr is not None
    stdout, stderr = _outputs(arguments.redirect)
    _descendants.adopt_orphans()
    with util.forward_signals(process) as forwarded:
        threads = [
            threading.Thread(target=forward, args=(source, target, arguments.rank))
            for source, target in ((process.stdout, stdout), (process.stderr, stderr))
        ]
        for thread in threads:
            thread.start()
        _descendants.wait_for_one([process.pid])
        code = process.wait()
        if code:
            # Its remaining processes, such as data loaders, would keep its output open, and the
            # launcher would not detect the failure.
            _descendants.end_all(GRACE_SECONDS)
        for thread in threads:
            thread.join()
    ended = exit_code(code)
    if notes is None:
        return ended
    note_end(notes, ended)
    return 0 if ended - 128 in forwarded else ended


def main(argv: Optional[List[str]] = None) -> int:
    """Run the command line.

    Example: ``sys.exit(main(["RANK", "--", "python3", "train.py"]))``
    """
    try:
        arguments = parse(sys.argv[1:] if argv is None else argv)
    except ValueError as err:
        print(f"{err}\n{_USAGE}", file=sys.stderr)
        return 2
    try:
        return run(arguments)
    except OSError as err:
        print(f"cannot run {arguments.command[0]}: {err}", file=sys.stderr)
        return 127


if __name__ == "__main__":
    sys.exit(main())
