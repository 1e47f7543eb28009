"""Checks that the configuration and the Trainer have the same length of training."""

from __future__ import annotations

from typing import Any, Dict, Tuple

import transformers


def length_of(args: transformers.TrainingArguments) -> Tuple[str, float, str]:
    """Return the unit, the length, and the option by which the Trainer knows it."""
    if args.max_steps > -1:
        return "batches", args.max_steps, "--max_steps"
    return "epochs", args.num_train_epochs, "--num_train_epochs"


def check_length(searcher: Dict[str, Any], args: transformers.TrainingArguments) -> None:
    """Raise ValueError where the configuration has another length than the Trainer."""
    unit, length, option = length_of(args)
    configured = searcher.get("max_length")
    if isinstance(configured, dict):
        field = "max_length"
        named, value = next(iter(configured.items()))
    elif configured is not None:
        raise ValueError(
            f"searcher.max_length is {configured!r}, without a unit: remove it, the length is "
            f"that of {option}"
        )
    elif searcher.get("time_metric") in ("batches", "epochs"):
        # A search that stops trials early compares them at parts of max_time.
        field, named, value = "max_time", searcher["time_metric"], searcher.get("max_time")
    else:
        return
    if (named, value) != (unit, length):
        raise ValueError(
            f"searcher.{field} of the configuration is {value} {named}, but {option} is {length}: "
            "make them equal"
        )
