"""Which Lightning: it has two names, and classes of one do not fit into the other's Trainer."""

from __future__ import annotations

import importlib
import sys
from typing import Any

_NAMES = ("lightning.pytorch", "pytorch_lightning")


def find() -> Any:
    """Return the package that the program has imported, else the one that is installed."""
    for name in _NAMES:
        if name in sys.modules:
            return sys.modules[name]
    for name in _NAMES:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as err:
            if err.name not in (name, name.partition(".")[0]):
                raise
    raise ImportError(
        "determined.lightning needs Lightning. Install lightning: pip install lightning"
    )
