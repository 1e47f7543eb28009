"""Combines the metrics of batches and workers into one report."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

import numpy as np
import torch

from determined.pytorch._reducer import Reducer, _simple_reduce_metrics


def named(metrics: Any, method: str) -> Dict[str, Any]:
    """Return the result of a trial's method as a map; a tensor is the loss.

    Tensors stay on their device until a report is due: moving them would wait for it.
    """
    if isinstance(metrics, torch.Tensor):
        metrics = {"loss": metrics}
    if not isinstance(metrics, dict):
        raise TypeError(
            f"{method}() must return a tensor or a map of metrics, not {type(metrics).__name__}"
        )
    return {
        name: value.detach() if isinstance(value, torch.Tensor) else value
        for name, value in metrics.items()
    }


def to_numpy(value: Any) -> Any:
    """Return a tensor as an array; other values as they are."""
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach()
    # NumPy has no bfloat16.
    return (value.float() if value.dtype == torch.bfloat16 else value).cpu().numpy()


def all_to_numpy(metrics: Mapping[str, Any]) -> Dict[str, Any]:
    """Return a map of metrics with arrays in place of tensors."""
    return {name: to_numpy(value) for name, value in metrics.items()}


def reduce(reducer: Reducer, values: Sequence[Any], what: str) -> Any:
    """Reduce many values to one; error messages use ``what`` for the kind of metrics."""
    # Stages of a pipeline give the same loss, some as a number and some as a list of one.
    values = [
        value.reshape(()) if isinstance(value, np.ndarray) and value.size == 1 else value
        for value in values
    ]
    try:
        return _simple_reduce_metrics(reducer, values)
    except (TypeError, ValueError) as err:
        raise ValueError(
            f"{what} metrics must be numbers to be reduced by {reducer.name}, not {values[0]!r}: "
            "use context.wrap_reducer() for others"
        ) from err


def averages_over_workers(
    of_workers: Sequence[Optional[List[Dict[str, Any]]]],
) -> List[Dict[str, Any]]:
    """Return the metrics of each batch as averages over the workers that report any."""
    reporting = [batches for batches in of_workers if batches is not None]
    together = []
    for of_batch in zip(*reporting):
        names = of_batch[0].keys()
        values = {name: [metrics[name] for metrics in of_batch] for name in names}
        together.append(
            {name: reduce(Reducer.AVG, found, "training") for name, found in values.items()}
        )
    return together


def reduce_outputs(
    outputs: Sequence[Dict[str, Any]], given: Union[Reducer, Mapping[str, Reducer]]
) -> Dict[str, Any]:
    """Reduce the results of ``evaluate_batch`` for all batches with ``evaluation_reducer``."""
    names = list(outputs[0]) if outputs else []
    for output in outputs:
        if set(output) != set(names):
            raise ValueError(
                "evaluate_batch() must name the same metrics for every batch; it named "
                f"{', '.join(sorted(names))} and {', '.join(sorted(output))}"
            )
    reducers = {name: given for name in names} if isinstance(given, Reducer) else dict(given)
    missing = sorted(set(names) ^ set(reducers))
    if missing:
        raise ValueError(
            "evaluation_reducer() and evaluate_batch() must name the same metrics; only one of "
            f"them names {', '.join(missing)}"
        )
    return {
        name: reduce(reducers[name], [output[name] for output in outputs], "validation")
        for name in names
    }
