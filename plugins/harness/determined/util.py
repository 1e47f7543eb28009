"""Small helpers that user code and this package share."""

from __future__ import annotations

import contextlib
import copy
import datetime
import enum
import errno
import json
import logging
import math
import numbers
import os
import pathlib
import shutil
import signal
import subprocess
import time
import uuid
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, SupportsFloat, Union, cast

from determined import constants
from determined._training_util import (
    calculate_batch_sizes,
    filter_duplicates,
    force_create_symlink,
    get_member_func,
    has_param,
    humanize_float,
    is_overridden,
    legacy_trial_entrypoint_to_script,
    make_metrics,
    make_timing_log,
    mask_checkpoint_storage,
    mask_config_dict,
    match_legacy_trial_class,
    validate_batch_metrics,
)

__all__ = [
    "calculate_batch_sizes",
    "filter_duplicates",
    "force_create_symlink",
    "forward_signals",
    "get_member_func",
    "has_param",
    "humanize_float",
    "is_numerical_scalar",
    "is_overridden",
    "json_encode",
    "jsonable",
    "legacy_trial_entrypoint_to_script",
    "make_metrics",
    "make_timing_log",
    "mask_checkpoint_storage",
    "mask_config_dict",
    "match_legacy_trial_class",
    "merge_dicts",
    "rmtree_nfs_safe",
    "validate_batch_metrics",
    "write_user_code",
]

logger = logging.getLogger("determined")

# When this process imported the package: submitted code is older than this.
_STARTED = time.time()

# The signals that a wrapper forwards to its program, if the system has them.
_FORWARDED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGBREAK")


def jsonable(obj: Any) -> Any:
    """Return obj as values that the json module can write.

    Scalars and arrays of NumPy, PyTorch and similar packages are recognised by their ``tolist``, so
    none of these packages is imported. JSON has no NaN and no infinities: they become the
    strings that the master accepts. Raises TypeError for a value without a JSON form.

    Example:

        >>> jsonable({"loss": float("nan"), 1: (2, 3)})
        {'loss': 'NaN', '1': [2, 3]}
    """
    if obj is None or isinstance(obj, (str, bool)):
        return obj
    if isinstance(obj, numbers.Integral):
        return int(obj)
    if isinstance(obj, numbers.Number):
        return _jsonable_float(float(cast(SupportsFloat, obj)))
    if isinstance(obj, enum.Enum):
        return obj.name
    if isinstance(obj, (bytes, bytearray)):
        return obj.decode("utf-8")
    if isinstance(obj, dict):
        return {_jsonable_key(key): jsonable(value) for key, value in obj.items()}
    if isinstance(obj, (list, tuple)):
        return [jsonable(value) for value in obj]
    if isinstance(obj, (datetime.datetime, datetime.date)):
        return obj.isoformat()
    if isinstance(obj, (uuid.UUID, pathlib.PurePath)):
        return str(obj)
    return _jsonable_foreign(obj)


def _jsonable_float(value: float) -> Union[float, str]:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def _jsonable_key(key: Any) -> str:
    if isinstance(key, str):
        return key
    value = jsonable(key)
    if isinstance(value, (dict, list)):
        raise TypeError(f"a key of type {type(key).__name__} has no JSON form: {key!r}")
    return value if isinstance(value, str) else json.dumps(value)


def _jsonable_foreign(obj: Any) -> Any:
    """Convert an object of another package, by its methods."""
    if hasattr(obj, "__json__"):
        return obj.__json__()
    for method in ("tolist", "item", "numpy"):
        convert = getattr(obj, method, None)
        if callable(convert) and not isinstance(obj, type):
            value = convert()
            if value is not obj:
                return jsonable(value)
    raise TypeError(f"an object of type {type(obj).__name__} has no JSON form: {obj!r}")


def json_encode(obj: Any, indent: Optional[str] = None, sort_keys: bool = False) -> str:
    """Write obj as JSON, by the rules of ``jsonable``.

    Example:

        >>> json_encode({"loss": float("inf")})
        '{"loss": "Infinity"}'
    """
    return json.dumps(jsonable(obj), indent=indent, sort_keys=sort_keys, allow_nan=False)


def is_numerical_scalar(value: Any) -> bool:
    """Return whether value is one number, of Python or of an array library.

    Example:

        >>> is_numerical_scalar(0.5), is_numerical_scalar("0.5")
        (True, False)
    """
    if isinstance(value, bool):
        return True
    if isinstance(value, numbers.Real):
        return True
    if getattr(value, "shape", None) == () and callable(getattr(value, "item", None)):
        return isinstance(value.item(), (bool, int, float))
    return False


def merge_dicts(base_dict: Dict[Any, Any], source_dict: Dict[Any, Any]) -> Dict[Any, Any]:
    """Return base_dict with source_dict merged over it, map by map; both arguments stay unchanged.

    Example:

        >>> merge_dicts({"a": {"x": 1}, "b": 1}, {"a": {"y": 2}})
        {'a': {'x': 1, 'y': 2}, 'b': 1}
    """
    merged = copy.deepcopy(base_dict)
    for key, value in source_dict.items():
        if isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = merge_dicts(merged[key], value)
        else:
            merged[key] = copy.deepcopy(value)
    return merged


def rmtree_nfs_safe(
    path: Union[str, os.PathLike[str]],
    ignore_errors: bool = False,
    onerror: Optional[Callable[[Any, Any, Any], Any]] = None,
) -> None:
    """Remove a tree; over NFS, where a deleted file may linger for a moment, try again.

    Example: ``rmtree_nfs_safe("scratch", ignore_errors=True)``
    """
    tries = 5
    for attempt in range(1, tries + 1):
        try:
            shutil.rmtree(path, ignore_errors=ignore_errors, onerror=onerror)
            return
        except OSError as err:
            if err.errno != errno.ENOTEMPTY or attempt == tries:
                raise
            logger.debug("%s is not empty yet, trying again (%d)", path, attempt)
            time.sleep(0.02 * 2**attempt)


def write_user_code(path: Union[str, os.PathLike[str]], on_cluster: bool) -> None:
    """Copy the training code into ``code`` below path, so that a checkpoint can be loaded.

    On the cluster this is the submitted code, without files that training has written since
    this process began; elsewhere it is the working directory.

    Example: ``write_user_code(path, on_cluster=det.get_cluster_info() is not None)``
    """
    target = pathlib.Path(path, "code")
    source = pathlib.Path(".")
    if on_cluster:
        run_dir = os.environ.get("DET_RUN_DIR") or constants.DEFAULT_RUN_DIR
        submitted = pathlib.Path(run_dir, "train", "model")
        source = submitted if submitted.is_dir() else source
    above = {os.path.realpath(parent) for parent in (target, *target.parents)}

    def skip(folder: str, names: List[str]) -> List[str]:
        return [name for name in names if unwanted(os.path.join(folder, name))]

    def unwanted(found: str) -> bool:
        # A checkpoint in a folder below the code must not copy itself.
        if os.path.basename(found) == "__pycache__" or os.path.realpath(found) in above:
            return True
        return on_cluster and os.lstat(found).st_ctime > _STARTED

    shutil.copytree(source, target, ignore=skip, dirs_exist_ok=True)


@contextlib.contextmanager
def forward_signals(process: subprocess.Popen[Any], *signums: signal.Signals) -> Iterator[Set[int]]:
    """Forward signals to a child process while the block runs; yield those that have come.

    Example::

        process = subprocess.Popen(["python3", "train.py"])
        with forward_signals(process, signal.SIGTERM):
            process.wait()
    """
    chosen: List[int] = list(signums) or [
        getattr(signal, name) for name in _FORWARDED if hasattr(signal, name)
    ]

    forwarded: Set[int] = set()

    def forward(signum: int, _frame: Any) -> None:
        forwarded.add(signum)
        process.send_signal(signum)

    previous = {signum: signal.signal(signum, forward) for signum in chosen}
    try:
        yield forwarded
    finally:
        for signum, handler in previous.items():
            # None: the handler was not installed from Python, and cannot be restored.
            if handler is not None:
                signal.signal(signum, handler)
