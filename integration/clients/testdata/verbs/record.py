"""Runs transcripts of Determined's own det, and writes them with the output that the commands have now.

    python record.py FOLDER OUT TRANSCRIPT...

FOLDER has the transcripts and the files of the user, which are copied into the current folder. det runs inside this
process, because importing its package takes longer than most of its verbs. At the end the program prints which verbs and
which functions of the generated client it has used. A transcript is text:

    # a comment
    $ experiment list             runs det experiment list; words are split as a shell does
    > id = experiment (\\d+)       remembers a part of the output as {id}
    until COMPLETED               repeats the command until its output contains this expression
    < text                        is a line of the command's standard input
    keep text                     records only lines that contain one of these expressions
    mask [\\d.]+ s                 replaces what the expression matches with a star

Below each command follow what it printed (|), what it printed to its standard error (!) and its exit status (=).
Times, ids, addresses, tokens and the widths of columns differ in each run and are replaced.
"""

import argparse
import contextlib
import os
import pathlib
import re
import shlex
import signal
import sys
import tempfile
import time
import traceback
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

import called
import determined.cli
from determined.cli import _declarative_argparse as declared
from determined.cli import cli

PATIENCE = 120  # seconds for one command and for what it waits for

OUTPUT = ("| ", "! ", "= ", "|", "!")

# What differs in each run, and its name in the recording.
REPLACED: List[Tuple[str, str]] = [
    (r"\bdet\.[\w-]{43}", "<token>"),
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uuid>"),
    (r"\b[0-9a-f]{8} \|\|", "<id> ||"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\s?[+-]\d\d:?\d\d)?", "<time>"),
    (r"\(([a-z]+-){2}[a-z]+\)", "(<pet name>)"),
    (r"\b(127\.0\.0\.1|localhost|0\.0\.0\.0)(:| port )\d+", "<address>"),
    (r"ssh-ed25519 [\w+/=]+", "<key>"),
    (r"(experiment_seed\"?|detent_version): [\w.]+", r"\1: *"),
    (r"/[^\s\"']*/checkpoints\b", "<checkpoints>"),
    (re.escape(str(pathlib.Path(sys.executable).parent)), "<bin>"),
    (r"(?m)^disconnecting websocket\n", ""),
    (r"(?m)^Traceback \(most recent call last\):\n(?:  .*\n)*", "Traceback\n"),
]


def tables(line: str) -> str:
    """A line of a table without the widths of its columns."""
    if re.search(r"-\+-| \| ", line):
        return re.sub(r"-{3,}", "---", re.sub(r" {2,}", " ", line.strip()))
    return re.sub(r"(\S) {2,}", r"\1 ", line.rstrip())


class Recorder:
    """Runs det and remembers what its transcripts found."""

    def __init__(self, home: pathlib.Path) -> None:
        self.home = home
        self.found: Dict[str, str] = {}
        self.used: Set[str] = set()
        self.verbs = dict(leaves(parser_of_all(), ()))

    def det(self, words: List[str], stdin: str) -> Tuple[str, str, int]:
        """Runs det once, and returns its output, its errors and its exit status."""
        self.remember(words)
        with captured(stdin) as texts:
            code = 0
            try:
                signal.alarm(PATIENCE)
                cli.main(words)
            except SystemExit as err:
                code = err.code if isinstance(err.code, int) else int(err.code is not None)
            except BaseException:
                traceback.print_exc()
                code = 70
            finally:
                signal.alarm(0)
        return texts[0], texts[1], code

    def remember(self, words: List[str]) -> None:
        """Notes which verb the words name."""
        words = list(words)
        while words and words[0] in ("-u", "-m"):
            words = words[2:]
        for n in range(len(words), 0, -1):
            if tuple(words[:n]) in self.verbs:
                self.used.add(self.verbs[tuple(words[:n])])
                return

    def normal(self, text: str, masks: List[str]) -> List[str]:
        for mask in masks:
            text = re.sub(mask, "*", text)
        text = text.replace(str(self.home), "<home>")
        for pattern, name in REPLACED:
            text = re.sub(pattern, name, text)
        return [tables(line) for line in re.sub(r"[^\n]*\r(?!\n)", "", text).splitlines()]

    def run(self, transcript: str) -> str:
        """Returns a transcript with the output that its commands have now."""
        out: List[str] = []
        lines = [line for line in transcript.splitlines() if not line.startswith(OUTPUT)]
        at = 0
        while at < len(lines):
            out.append(lines[at])
            at += 1
            if not out[-1].startswith("$ "):
                continue
            step = Step(out[-1])
            while at < len(lines) and step.add(lines[at]):
                out.append(lines[at])
                at += 1
            out += self.step(step)
        return "\n".join(out) + "\n"

    def step(self, step: "Step") -> List[str]:
        for name, value in self.found.items():
            step.command = step.command.replace("{" + name + "}", value)
        end = time.monotonic() + PATIENCE
        while True:
            stdout, stderr, code = self.det(shlex.split(step.command), "".join(line + "\n" for line in step.stdin))
            if step.until is None or re.search(step.until, stdout + stderr):
                break
            if time.monotonic() > end:
                return ["! never found " + step.until] + ["! " + line for line in (stdout + stderr).splitlines()]
            time.sleep(0.1)
        lines = []
        for name, pattern in step.found:
            match = re.search(pattern, stdout + stderr)
            if match:
                self.found[name] = match.group(1)
            else:
                lines.append("! found no " + name)
        for mark, text in (("|", stdout), ("!", stderr)):
            for line in self.normal(text, step.masks):
                if not step.keep or any(re.search(k, line) for k in step.keep):
                    lines.append((mark + " " + line).rstrip())
        return lines + ([f"= exit {code}"] if code else [])


class Step:
    """A command of a transcript and what is said about it."""

    def __init__(self, line: str) -> None:
        self.command = line[2:]
        self.stdin: List[str] = []
        self.found: List[Tuple[str, str]] = []
        self.until: Optional[str] = None
        self.keep: List[str] = []
        self.masks: List[str] = []

    def add(self, line: str) -> bool:
        word, _, rest = line.partition(" ")
        if word == "<":
            self.stdin.append(rest)
        elif word == ">":
            name, _, pattern = rest.partition(" = ")
            self.found.append((name, pattern))
        elif word == "until":
            self.until = rest
        elif word == "keep":
            self.keep.append(rest)
        elif word == "mask":
            self.masks.append(rest)
        else:
            return False
        return True


@contextlib.contextmanager
def captured(stdin: str) -> Iterator[List[str]]:
    """Redirects the standard files of this process, also for the programs that it starts; at its end the list
    holds the output and the errors."""
    texts: List[str] = []
    kept, before = [os.dup(fd) for fd in range(3)], sys.stdin
    files = [tempfile.TemporaryFile() for _ in range(3)]
    files[0].write(stdin.encode())
    files[0].seek(0)
    for fd, file in enumerate(files):
        os.dup2(file.fileno(), fd)
    sys.stdin = open(0, closefd=False)
    try:
        yield texts
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        sys.stdin = before
        for fd, old in enumerate(kept):
            os.dup2(old, fd)
            os.close(old)
        for file in files:
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
            file.close()
        del texts[0]


def parser_of_all() -> argparse.ArgumentParser:
    """Returns the parser of all verbs, which det then uses for each command instead of making it again."""
    parser = cli.make_parser()
    declared.add_args(parser, cli.all_args_description)
    cli.make_parser = lambda: parser
    determined.cli.add_args = lambda *_: None
    return parser


def leaves(parser: argparse.ArgumentParser, path: Tuple[str, ...]) -> Iterator[Tuple[Tuple[str, ...], str]]:
    """Yields each spelling of each verb, and the verb's own name."""
    for group in parser._actions:
        if not isinstance(group, argparse._SubParsersAction):
            continue
        first: Dict[int, str] = {}
        for name, sub in group.choices.items():
            own = first.setdefault(id(sub), name)
            inner = list(leaves(sub, ()))
            if own in ("help", "deploy"):
                continue
            if not inner:
                yield path + (name,), " ".join(path + (own,))
            for words, verb in inner:
                yield path + (name,) + words, " ".join(path + (own,)) + " " + verb


def main() -> None:
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    home = pathlib.Path.cwd()
    for path in (folder / "home").rglob("*"):
        if path.is_file():
            to = home / path.relative_to(folder / "home")
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(path.read_bytes())
    transcripts, sys.argv = sys.argv[3:], ["det"]

    def late(*_: Any) -> None:
        raise TimeoutError(f"the command did not end within {PATIENCE} seconds")

    signal.signal(signal.SIGALRM, late)
    bound, recorder = called.bound(), Recorder(home)
    for name in transcripts:
        begin = time.monotonic()
        (out / name).write_text(recorder.run((folder / name).read_text()))
        print(f"{name}: {time.monotonic() - begin:.1f} s", file=sys.stderr)
    print("\n".join(sorted(recorder.used) + sorted(bound)))


if __name__ == "__main__":
    main()
