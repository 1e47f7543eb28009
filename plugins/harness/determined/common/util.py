"""Helpers that scripts import from here.

Example:

    >>> from determined.common import util
    >>> [list(part) for part in util.chunks([1, 2, 3], 2)]
    [[1, 2], [3]]
    >>> util.sizeof_fmt(1536), util.strtobool("no"), util.debug_mode()
    ('1.5KB', False, False)
    >>> util._LEGACY_TRAINING, util._LEGACY_VALIDATION, util._INFERENCE
    ('training', 'validation', 'inference')
    >>> util.wait_for(lambda: (True, "found"))
    'found'
    >>> util.is_protobuf_timestamp("2026-11-22T23:05:01Z")
    True
    >>> util.parse_protobuf_timestamp("2026-11-22T23:05:01Z").year
    2026
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import importlib
import io
import os
import pathlib
import random
import re
import sys
import time
import warnings
from typing import Any, Callable, Iterator, Optional, Sequence, Tuple, TypeVar

from determined.common.api import _tokens

T = TypeVar("T")

# The groups of metrics, by the names under which published programs import them.
_LEGACY_TRAINING = "training"
_LEGACY_VALIDATION = "validation"
_INFERENCE = "inference"


def chunks(lst: Sequence[T], chunk_size: int) -> Iterator[Sequence[T]]:
    """Yield a sequence in parts of a size; the last one may be shorter."""
    for start in range(0, len(lst), chunk_size):
        yield lst[start : start + chunk_size]


def sizeof_fmt(val: float) -> str:
    """Write a number of bytes with a unit, as 1.5KB."""
    size, units = float(val), ["", "K", "M", "G", "T", "P", "E", "Z", "Y"]
    while abs(size) >= 1024 and len(units) > 1:
        size /= 1024
        units.pop(0)
    return f"{size:.1f}{units[0]}B"


def debug_mode() -> bool:
    """Return whether ``DET_DEBUG`` asks for debugging."""
    return os.getenv("DET_DEBUG", "").lower() in ("true", "1", "yes")


def strtobool(val: str) -> bool:
    """Read a word for yes or no; every word that is not a no counts as yes."""
    return bool(val) and val.lower() not in ("n", "no", "f", "false", "off", "0")


def preserve_random_state(fn: Callable[..., T]) -> Callable[..., T]:
    """Restore the state of Python's random generator after each call of a function.

    Example::

        @preserve_random_state
        def shuffled(items):
            random.seed(1)
            return random.sample(items, len(items))
    """

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> T:
        state = random.getstate()
        try:
            return fn(*args, **kwargs)
        finally:
            random.setstate(state)

    return wrapped


def wait_for(
    predicate: Callable[[], Tuple[bool, T]], timeout: float = 60, interval: float = 0.1
) -> T:
    """Call a function until it returns that it is done, and return its result."""
    deadline = time.monotonic() + timeout
    while True:
        done, found = predicate()
        if done:
            return found
        if time.monotonic() >= deadline:
            raise TimeoutError(f"{timeout} seconds are over, and {predicate} is not done")
        time.sleep(interval)


def yaml_safe_load(f: Any) -> Any:
    """Read YAML from a text or a file; needs PyYAML.

    Example: ``config = yaml_safe_load(open("const.yaml"))``
    """
    return _yaml().safe_load(f)


def yaml_safe_dump(data: Any, stream: Any = None, default_flow_style: Any = None) -> Any:
    """Write YAML to a file, else return it as text; needs PyYAML.

    Example: ``print(yaml_safe_dump({"name": "digits"}))``
    """
    target = io.StringIO() if stream is None else stream
    _yaml().safe_dump(data, target, default_flow_style=bool(default_flow_style))
    return target.getvalue() if stream is None else None


def safe_load_yaml_with_exceptions(yaml_file: Any) -> Any:
    """Read a configuration in YAML; a mistake in it ends the program with a message.

    Example: ``config = safe_load_yaml_with_exceptions(open("const.yaml"))``
    """
    yaml = _yaml()
    try:
        return yaml.safe_load(yaml_file)
    except yaml.YAMLError as err:
        print(f"Error: invalid experiment config file.\n{type(err).__name__}: {err}")
        sys.exit(1)


def get_config_path() -> pathlib.Path:
    """Return the folder of ``det``'s own files.

    Example: ``print(get_config_path() / "auth.json")``
    """
    return _tokens.config_dir()


def is_protobuf_timestamp(ts: str) -> bool:
    """Return whether a text is a time in UTC as the API writes it."""
    for form in ("%Y-%m-%dT%H:%M:%S.%fZ", "%Y-%m-%dT%H:%M:%SZ"):
        with contextlib.suppress(ValueError, TypeError):
            datetime.datetime.strptime(ts, form)
            return True
    return False


def parse_protobuf_timestamp(ts: str) -> datetime.datetime:
    """Read a time as the API writes it, to the second."""
    # Python before 3.11 reads neither Z nor nanoseconds.
    text = re.sub(r"\.[0-9]+", "", ts)
    return datetime.datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)


def deprecated(message: Optional[str] = None) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Let a function warn each time that it is called.

    Example::

        @deprecated("Use new")
        def old(): ...
    """

    def decorate(fn: Callable[..., T]) -> Callable[..., T]:
        words = f"{fn.__name__} is deprecated and will be removed in a future version."

        @functools.wraps(fn)
        def wrapped(*args: Any, **kwargs: Any) -> T:
            text = f"{words} {message}." if message else words
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            return fn(*args, **kwargs)

        return wrapped

    return decorate


def _yaml() -> Any:
    try:
        return importlib.import_module("yaml")
    except ImportError as err:
        raise ImportError("reading and writing YAML needs PyYAML: pip install pyyaml") from err
