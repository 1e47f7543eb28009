"""Finds installed packages without importing them, because an import can take seconds."""

from __future__ import annotations

import importlib.util
import pathlib
import sys


def demand_package(name: str, file: str, launcher: str, instead: str) -> None:
    """Raise ValueError if this Python lacks a package; does not import it."""
    if not has_file(name, file):
        raise ValueError(
            f"{launcher} needs the package {name}, and {sys.executable} has none: install it in "
            f"the task's image or in the Python of the pool, or use {instead}"
        )


def has_file(package: str, file: str) -> bool:
    """Return whether a package is completely installed, without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        return False
    return any(
        pathlib.Path(folder, file).exists() for folder in spec.submodule_search_locations or []
    )
