"""The command lines of launchers: options of the underlying program, ``--``, then the command."""

from __future__ import annotations

import sys
from typing import List


def names_trial(word: str) -> bool:
    """Return whether a word of a command line is the option ``--trial``."""
    return word == "--trial" or word.startswith("--trial=")


def trial_command(words: List[str]) -> List[str]:
    """Return the command that trains the trial class of ``--trial``."""
    names = words[1:] if words[0] == "--trial" else [words[0].partition("=")[2], *words[1:]]
    if len(names) != 1 or not names[0]:
        raise ValueError("--trial takes one argument, module:Class, and nothing may follow it")
    return [sys.executable, "-m", "determined.exec.harness", names[0]]


def command_of(words: List[str], options_of: str) -> List[str]:
    """Return the workers' command; ``options_of`` names the program of options before ``--``."""
    if words and names_trial(words[0]):
        return trial_command(words)
    if not words:
        raise ValueError("there is nothing to run")
    if words[0].startswith("-"):
        raise ValueError(f"{words[0]}: options of {options_of} must stand before --")
    return words


def split_options(argv: List[str], options_of: str) -> tuple[List[str], List[str]]:
    """Return the options that stand before ``--``, and the words behind it."""
    if not argv or not argv[0].startswith("-") or names_trial(argv[0]):
        return [], list(argv)
    if "--" not in argv:
        raise ValueError(f"options of {options_of}, such as {argv[0]}, must end with --")
    end = argv.index("--")
    return list(argv[:end]), list(argv[end + 1 :])
