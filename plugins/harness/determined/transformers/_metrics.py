"""Selects the metrics to report from the Trainer's logs."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from determined.core._train import TRAINING, VALIDATION

TEST = "test"

# Speed is no metric of the model; the Trainer's own epoch is rounded.
_SPEED = ("_runtime", "_per_second", "_compilation_time")


def kind_of(logs: Dict[str, Any]) -> str:
    """Return the group of logged metrics, by the prefix of their names."""
    if any(name.startswith("eval_") for name in logs):
        return VALIDATION
    if any(name.startswith("test_") for name in logs):
        return TEST
    return TRAINING


def reported(
    logs: Dict[str, Any], filter_metrics: Optional[List[str]], always: List[str]
) -> Dict[str, Any]:
    """Return the metrics to report: all or those of the filter, and always the required ones."""
    named = None if filter_metrics is None else [*filter_metrics, *always]
    return {
        name: value
        for name, value in logs.items()
        if name != "epoch"
        and not name.endswith(_SPEED)
        and (named is None or any(part in name for part in named))
    }


def check_searcher_metrics(
    metrics: Dict[str, Any], searcher_metric: Optional[str], time_metric: Optional[str]
) -> None:
    """Raise ValueError where a validation lacks what the search compares trials by."""
    wanted = {"searcher.metric": searcher_metric, "searcher.time_metric": time_metric}
    for field, name in wanted.items():
        if name is not None and name not in metrics:
            raise ValueError(
                f"the validation has no metric {name!r}, which {field} of the configuration "
                f"names; it has {', '.join(sorted(metrics))}"
            )
