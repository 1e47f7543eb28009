"""Chooses the version of Keras that a process uses.

TensorFlow contains Keras 3 since its release 2.16. Trial classes were written for Keras 2,
which is now the package ``tf_keras``; TensorFlow uses it if ``TF_USE_LEGACY_KERAS`` is set before
TensorFlow is imported. This module imports TensorFlow only when it is needed.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import sys
from typing import Any

logger = logging.getLogger("determined.keras")

_SWITCH = "TF_USE_LEGACY_KERAS"


def tensorflow() -> Any:
    """Return TensorFlow."""
    try:
        return importlib.import_module("tensorflow")
    except ImportError as err:
        raise ImportError(
            f"determined.keras needs TensorFlow, which cannot be imported: {err}. Install "
            "tensorflow, and tf_keras beside it for code that was written for Keras 2."
        ) from err


def keras() -> Any:
    """Return the Keras that TensorFlow uses."""
    return tensorflow().keras


def generation() -> int:
    """Return the major version of Keras in use: 2 or 3."""
    # tf_keras has its version in its parent module only.
    version = getattr(keras(), "__version__", "2")
    return int(str(version).split(".", maxsplit=1)[0])


def prefer_keras_2() -> None:
    """Let TensorFlow use Keras 2 if it is installed and the environment chooses no version."""
    if "tensorflow" in sys.modules or _SWITCH in os.environ:
        return
    if importlib.util.find_spec("tf_keras") is not None:
        os.environ[_SWITCH] = "1"
        logger.info(
            "trial classes use Keras 2, because tf_keras is installed; set %s=0 in "
            "environment_variables to use Keras 3",
            _SWITCH,
        )


def require(wanted: int, what: str) -> None:
    """Check that the process uses this version of Keras; the error says how to get it."""
    if "tensorflow" not in sys.modules and _SWITCH not in os.environ:
        os.environ[_SWITCH] = "1" if wanted == 2 else "0"
    try:
        found = generation()
    except ImportError as err:
        raise ImportError(
            f"{what} was written with Keras {wanted}: {err}"
            + (" (pip install tf_keras)" if wanted == 2 else "")
        ) from err
    if found != wanted:
        remedy = (
            f"Install tf_keras, and set {_SWITCH}=1"
            if wanted == 2
            else f"Set {_SWITCH}=0, with TensorFlow 2.16 or newer,"
        )
        raise RuntimeError(
            f"{what} was written with Keras {wanted}, but this process uses Keras {found}. "
            f"{remedy} before TensorFlow is imported."
        )
