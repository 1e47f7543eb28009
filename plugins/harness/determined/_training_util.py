"""Small helpers of ``determined.util`` that training code of Determined imports."""

from __future__ import annotations

import copy
import inspect
import logging
import math
import os
import re
import shutil
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from determined import errors

logger = logging.getLogger("determined")

_MASK = "********"


def is_overridden(full_method: Any, parent_class: Any) -> bool:
    """Return whether a class overrides a method of its parent class.

    Example: ``is_overridden(trial.evaluate_batch, PyTorchTrial)``
    """
    if not callable(full_method):
        return False
    found: bool = full_method.__qualname__.partition(".")[0] != parent_class.__name__
    return found


def has_param(fn: Callable[..., Any], name: str, pos: Optional[int] = None) -> bool:
    """Return whether a function takes an argument of a name, or one at a position.

    Example: ``has_param(trial.evaluate_batch, "batch_idx", 2)``
    """
    names = inspect.getfullargspec(fn).args
    return name in names or (pos is not None and pos < len(names))


def get_member_func(obj: Any, func_name: str) -> Any:
    """Return a method of an object, or None if it has no such method.

    Example: ``get_member_func(trial, "on_epoch_end")``
    """
    member = getattr(obj, func_name, None)
    return member if callable(member) else None


def validate_batch_metrics(batch_metrics: List[Dict[str, Any]]) -> None:
    """Raise ValueError if batches have different metrics.

    Example: ``validate_batch_metrics([{"loss": 1.0}, {"loss": 0.5}])``
    """
    names = {name for metrics in batch_metrics for name in metrics}
    for index, metrics in enumerate(batch_metrics):
        missing = sorted(names - set(metrics))
        if missing:
            raise ValueError(f"batch {index} has no metric {', '.join(missing)}, others have")


def make_metrics(num_inputs: Optional[int], batch_metrics: List[Dict[str, Any]]) -> Dict[str, Any]:
    """Return the metrics of batches with their averages; None is the average of no numbers.

    Example: ``make_metrics(64, [{"loss": 1.0}, {"loss": 0.5}])["avg_metrics"]``
    """
    validate_batch_metrics(batch_metrics)
    averages: Dict[str, Optional[float]] = {}
    for name in batch_metrics[0] if batch_metrics else ():
        values = [metrics[name] for metrics in batch_metrics if metrics[name] is not None]
        averages[name] = _average(values)
    metrics: Dict[str, Any] = {"batch_metrics": batch_metrics, "avg_metrics": averages}
    return metrics if num_inputs is None else {**metrics, "num_inputs": num_inputs}


def _average(values: List[Any]) -> Optional[float]:
    try:
        return math.fsum(map(float, values)) / len(values)
    except (TypeError, ValueError, ZeroDivisionError):
        return None


def calculate_batch_sizes(
    hparams: Dict[str, Any], slots_per_trial: int, trialname: str
) -> Tuple[int, int]:
    """Return the batch size of a slot, and of all slots together.

    Example: ``per_slot, together = calculate_batch_sizes({"global_batch_size": 64}, 4, "Digits")``
    """
    slots = max(1, slots_per_trial)
    size = hparams.get("global_batch_size")
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise errors.InvalidExperimentException(
            f"{trialname} needs the hyperparameter global_batch_size, a positive whole number; it "
            f"is {size!r}"
        )
    per_slot = size // slots
    if per_slot < 1:
        raise errors.InvalidExperimentException(
            f"global_batch_size is {size}, too small for {slots} slots"
        )
    if per_slot * slots != size:
        logger.warning(
            "global_batch_size %d is no multiple of %d slots; each gets %d, together %d",
            size,
            slots,
            per_slot,
            per_slot * slots,
        )
    return per_slot, per_slot * slots


def filter_duplicates(
    in_list: List[Any], sorter: Callable[[List[Any]], List[Any]] = sorted
) -> Set[Any]:
    """Return the repeated items of a list; example: ``filter_duplicates([1, 2, 2])``."""
    ordered = sorter(in_list)
    return {item for item, following in zip(ordered, ordered[1:]) if item == following}


def humanize_float(n: float) -> float:
    """Round a number to four digits, and large ones to whole numbers.

    Example: ``humanize_float(1.23456)``
    """
    if n == 0 or not math.isfinite(n):
        return n
    digits = math.ceil(math.log10(abs(n)))
    return round(n, max(0, 4 - digits))


def make_timing_log(verb: str, duration: float, num_inputs: int, num_batches: int) -> str:
    """Return a log line with the number of records and batches, and their rate.

    Example: ``make_timing_log("trained", 2.5, 640, 20)``
    """
    records, batches = (
        humanize_float(count / duration if duration else math.inf)
        for count in (num_inputs, num_batches)
    )
    return (
        f"{verb}: {num_inputs} records in {humanize_float(duration)}s ({records} records/s), "
        f"in {num_batches} batches ({batches} batches/s)"
    )


def match_legacy_trial_class(arg: str) -> bool:
    """Return whether an entrypoint names a trial class, as ``module:Class`` does.

    Example: ``match_legacy_trial_class("model_def:Digits")``
    """
    return re.fullmatch(r"[a-zA-Z0-9_.]+:[a-zA-Z0-9_]+", arg) is not None


def legacy_trial_entrypoint_to_script(trial_entrypoint: str) -> List[str]:
    """Return the command that trains a trial class.

    Example: ``legacy_trial_entrypoint_to_script("model_def:Digits")``
    """
    return ["python3", "-m", "determined.exec.harness", trial_entrypoint]


def force_create_symlink(src: str, dst: str) -> None:
    """Make the folder src, and replace dst by a link to it.

    Example: ``force_create_symlink("/mnt/cache", "data")``
    """
    os.makedirs(src, exist_ok=True)
    if os.path.islink(dst) or os.path.isfile(dst):
        os.unlink(dst)
    elif os.path.isdir(dst):
        shutil.rmtree(dst)
    try:
        os.symlink(src, dst, target_is_directory=True)
    except FileExistsError:
        # Another worker of this node was faster.
        if not os.path.islink(dst):
            raise


def mask_checkpoint_storage(d: Dict[str, Any]) -> Dict[str, Any]:
    """Return ``checkpoint_storage`` without its keys; example: as in ``mask_config_dict``.

    Example:

        >>> mask_checkpoint_storage({"bucket": "b", "secret_key": "s"})["bucket"]
        'b'
    """
    return {name: _MASK if name in ("access_key", "secret_key") else d[name] for name in d}


def mask_config_dict(d: Dict[str, Any]) -> Dict[str, Any]:
    """Return a configuration without its secrets; example: ``print(mask_config_dict(config))``."""
    masked = copy.deepcopy(d)
    storage = masked.get("checkpoint_storage")
    if isinstance(storage, dict):
        masked["checkpoint_storage"] = mask_checkpoint_storage(storage)
    registry = (masked.get("environment") or {}).get("registry_auth")
    if isinstance(registry, dict) and registry.get("password") is not None:
        registry["password"] = _MASK
    secrets = (masked.get("data") or {}).get("secrets")
    if isinstance(secrets, dict):
        secrets.update({name: _MASK for name in secrets})
    return masked
