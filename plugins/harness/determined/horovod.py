"""Horovod for the framework that a program uses; imported when the framework is known.

A process can use only one of ``horovod.torch``, ``horovod.tensorflow`` and
``horovod.tensorflow.keras``; ``hvd`` has the attributes of the chosen one.
"""

from __future__ import annotations

import importlib
import os
from typing import Any, Optional

_KINDS = ("tensorflow", "tensorflow.keras", "torch")


class _Horovod:
    """Forwards attributes to the chosen module."""

    def __init__(self) -> None:
        self._kind: Optional[str] = None
        self._reason = ""
        self._module: Any = None

    def require_horovod_type(self, horovod_type: str, reason: str) -> None:
        """Choose the module; ``reason`` is part of the error where another was chosen before.

        Example: ``hvd.require_horovod_type("torch", "the model is in PyTorch")``
        """
        if horovod_type not in _KINDS:
            raise ValueError(f"Horovod is for {', '.join(_KINDS)}, not for {horovod_type!r}")
        if self._kind is not None and self._kind != horovod_type:
            raise ValueError(
                f"this process uses horovod.{self._kind} ({self._reason}), so it cannot use "
                f"horovod.{horovod_type} too ({reason})"
            )
        if self._module is None:
            self._module = importlib.import_module(f"horovod.{horovod_type}")
        self._kind, self._reason = horovod_type, reason

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self._module is None:
            raise RuntimeError("call hvd.require_horovod_type() first")
        return getattr(self._module, name)

    def cross_rank(self) -> int:
        """Return the number of this node; example: ``hvd.cross_rank()``."""
        return self._cross("rank")

    def cross_size(self) -> int:
        """Return the number of nodes; example: ``hvd.cross_size()``."""
        return self._cross("size")

    def _cross(self, what: str) -> int:
        if hasattr(self._module, f"cross_{what}"):
            return int(getattr(self._module, f"cross_{what}")())
        return int(os.environ[f"HOROVOD_CROSS_{what.upper()}"])


hvd = _Horovod()
