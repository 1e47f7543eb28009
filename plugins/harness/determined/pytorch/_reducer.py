"""Reduces metrics over batches and workers: by name, by a function, or by a user's class."""

from __future__ import annotations

import abc
import enum
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Union

import numpy as np


class Reducer(enum.Enum):
    """How the metrics of ``evaluate_batch`` become one number.

    Example::

        def evaluation_reducer(self):
            return {"accuracy": pytorch.Reducer.AVG, "errors": pytorch.Reducer.SUM}
    """

    AVG = 1
    SUM = 2
    MAX = 3
    MIN = 4


def _simple_reduce_metrics(
    reducer: Reducer, metrics: Any, num_batches: Optional[List[int]] = None
) -> Any:
    """Reduce values, which may stand for different numbers of batches."""
    if reducer == Reducer.AVG:
        return np.average(metrics, weights=num_batches) if num_batches else np.mean(metrics)
    functions: Dict[Reducer, Any] = {
        Reducer.SUM: np.sum,
        Reducer.MAX: np.max,
        Reducer.MIN: np.min,
    }
    return functions[reducer](metrics)


class MetricReducer(abc.ABC):
    """A metric that an average over batches cannot give, such as an F1 score.

    Feed it in ``train_batch`` or ``evaluate_batch`` by any method of its own. Then each worker
    calls ``per_slot_reduce``, and ``cross_slot_reduce`` makes the metric of all results.

    Example::

        class Accuracy(pytorch.MetricReducer):
            def reset(self):
                self.right, self.all = 0, 0

            def update(self, right, all):
                self.right, self.all = self.right + right, self.all + all

            def per_slot_reduce(self):
                return self.right, self.all

            def cross_slot_reduce(self, per_slot_metrics):
                right, all = map(sum, zip(*per_slot_metrics))
                return right / all
    """

    @abc.abstractmethod
    def reset(self) -> None:
        """Forget everything; called before training, after each report, and before each validation.

        Example: ``self.right, self.all = 0, 0``
        """

    @abc.abstractmethod
    def per_slot_reduce(self) -> Any:
        """Return the values of this worker, as an object that can be pickled.

        Example: ``return self.right, self.all``
        """

    @abc.abstractmethod
    def cross_slot_reduce(self, per_slot_metrics: List[Any]) -> Any:
        """Return the metric, or a map of metrics, from the values of the workers, by rank.

        Example: ``return sum(right for right, _ in per_slot_metrics)``
        """


class _SimpleReducer(MetricReducer):
    """A function of all values that ``update`` got, on all workers."""

    def __init__(self, fn: Callable[[List[Any]], Any]) -> None:
        self.fn = fn
        self.values: List[Any] = []

    def reset(self) -> None:
        self.values = []

    def update(self, value: Any) -> None:
        """Store a value."""
        self.values.append(value)

    def per_slot_reduce(self) -> Any:
        return self.values

    def cross_slot_reduce(self, per_slot_metrics: List[Any]) -> Any:
        return self.fn([value for values in per_slot_metrics for value in values])


class _WrappedReducer(NamedTuple):
    reducer: MetricReducer
    name: Optional[str]
    for_training: bool
    for_validation: bool


def _alone(stuff: Any) -> List[Any]:
    return [stuff]


class _PyTorchReducerContext:
    """Keeps the reducers of a trial."""

    def __init__(self, allgather_fn: Callable[[Any], List[Any]] = _alone) -> None:
        self._allgather = allgather_fn
        self._wrapped_reducers: List[_WrappedReducer] = []

    def reset_reducers(self) -> None:
        """Reset every reducer.

        Example: ``context.reset_reducers()``
        """
        for wrapped in self._wrapped_reducers:
            wrapped.reducer.reset()

    def wrap_reducer(
        self,
        reducer: Union[Callable[[List[Any]], Any], MetricReducer],
        name: Optional[str] = None,
        for_training: bool = True,
        for_validation: bool = True,
    ) -> Any:
        """Register a reducer, or a function of a list of values; returns the reducer to feed.

        Its result is reported under ``name``; without one it must return a map of metrics.

        Example::

            self.errors = context.wrap_reducer(sum, name="errors", for_training=False)
            ...
            self.errors.update(wrong)
        """
        if not isinstance(reducer, MetricReducer):
            if not callable(reducer):
                raise TypeError(
                    f"a reducer is a function or a MetricReducer, not {type(reducer).__name__}"
                )
            reducer = _SimpleReducer(reducer)
        reducer.reset()
        self._wrapped_reducers.append(_WrappedReducer(reducer, name, for_training, for_validation))
        return reducer

    def run_cross_slot_reduction(
        self, reducables: List[_WrappedReducer], gathered: List[Any]
    ) -> Dict[str, Any]:
        """Return the metrics of reducers from the values of all workers, by rank and reducer.

        Example: ``context.run_cross_slot_reduction(reducables, gathered)``
        """
        metrics: Dict[str, Any] = {}
        for number, wrapped in enumerate(reducables):
            value = wrapped.reducer.cross_slot_reduce([of_rank[number] for of_rank in gathered])
            if wrapped.name is None and not isinstance(value, dict):
                raise TypeError(
                    f"{type(wrapped.reducer).__name__} was wrapped without a name, so it must "
                    f"return a map of metrics, not {type(value).__name__}"
                )
            found = value if wrapped.name is None else {wrapped.name: value}
            twice = set(found) & set(metrics)
            if twice:
                raise ValueError(f"two reducers give the metric {', '.join(sorted(twice))}")
            metrics.update(found)
        return metrics

    def reduce_metrics(self, for_training: bool) -> Dict[str, Any]:
        """Return the metrics of the reducers of training or validation; all workers must call it.

        Example: ``metrics = context.reduce_metrics(for_training=False)``
        """
        reducables = [
            wrapped
            for wrapped in self._wrapped_reducers
            if (wrapped.for_training if for_training else wrapped.for_validation)
        ]
        if not reducables:
            return {}
        gathered = self._allgather([wrapped.reducer.per_slot_reduce() for wrapped in reducables])
        return self.run_cross_slot_reduction(reducables, gathered)
