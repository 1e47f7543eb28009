"""Averages gradients among the workers of a trial, so that all of them train one model.

Each worker trains on batches of its own; before its optimizer applies a gradient, the average of
all workers' gradients takes its place. By default the chief averages: gradients travel over the
same connections as everything else that workers tell each other, which is right for models whose
weights are counted in megabytes. For larger ones there are TensorFlow's collectives
(`_collectives`).
"""

from __future__ import annotations

import importlib
import logging
from typing import Any, Callable, List, Optional, Sequence

from determined import core
from determined.keras import _backend, _collectives

logger = logging.getLogger("determined.keras")

_LARGE = 64 << 20  # bytes of weights
_BLOCK = 1 << 15  # elements of an array that are added at a time

Mean = Callable[[List[Any]], List[Any]]


def share_gradients(
    model: Any,
    optimizers: List[Any],
    distributed: core.DistributedContext,
    collectives: Optional[_collectives.Collectives],
) -> None:
    """Let optimizers apply what the workers found on average, from now on."""
    if collectives is None:
        _warn_if_large(model, distributed)
    mean_of = _through_chief(distributed) if collectives is None else collectives.mean
    # A compiler cannot look into what leaves TensorFlow.
    if _backend.generation() == 3:
        model.jit_compile = False
    for optimizer in optimizers:
        apply = optimizer.apply_gradients

        def apply_average(pairs: Any, *args: Any, _apply: Any = apply, **kwargs: Any) -> Any:
            listed = [(gradient, variable) for gradient, variable in pairs if gradient is not None]
            averaged = _average([gradient for gradient, _ in listed], mean_of)
            variables = [variable for _, variable in listed]
            return _apply(zip(averaged, variables), *args, **kwargs)

        # An instance's own attribute, which Keras would else look into for weights.
        object.__setattr__(optimizer, "apply_gradients", apply_average)


def _average(gradients: List[Any], mean_of: Mean) -> List[Any]:
    # Gradients of embeddings name only the rows that they touch, which differ among workers.
    found = mean_of([_backend.tensorflow().convert_to_tensor(gradient) for gradient in gradients])
    for tensor, gradient in zip(found, gradients):
        tensor.set_shape(gradient.shape)
    return found


def _warn_if_large(model: Any, distributed: core.DistributedContext) -> None:
    size = sum(array.nbytes for array in model.get_weights())
    if distributed.rank == 0 and distributed.size > 2 and size > _LARGE:
        logger.warning(
            "the chief averages gradients of %d MB for each batch: set %s=1 in "
            "environment_variables to average them with TensorFlow's collectives",
            size >> 20,
            _collectives.SWITCH,
        )


def _through_chief(distributed: core.DistributedContext) -> Mean:
    def exchange(*tensors: Any) -> List[Any]:
        numpy = importlib.import_module("numpy")
        return mean(distributed, [numpy.asarray(tensor) for tensor in tensors])

    def average(dense: List[Any]) -> List[Any]:
        types = [tensor.dtype for tensor in dense]
        return list(_backend.tensorflow().py_function(exchange, dense, types))

    return average


def mean(distributed: core.DistributedContext, arrays: List[Any]) -> List[Any]:
    """Return the average of every worker's arrays, one by one; all workers call it in step."""
    gathered = distributed.gather(arrays)
    averaged = None
    if gathered is not None:
        averaged = [_mean_of(each) for each in zip(*gathered)]
    result: List[Any] = distributed.broadcast(averaged)
    return result


def _mean_of(each: Sequence[Any]) -> Any:
    """Return the average of the workers' arrays; the last one may be overwritten with it."""
    numpy = importlib.import_module("numpy")
    last = each[-1]
    ours = last.flags.writeable and last.flags.c_contiguous
    into = last if ours else numpy.empty_like(last, order="C")
    found, parts = into.reshape(-1), [numpy.reshape(array, -1) for array in each]
    # The sum of two numbers is rounded once, in single and in double precision.
    two = len(each) == 2 and last.dtype.name in ("float32", "float64")
    # In blocks that stay in the processor's cache.
    for start in range(0, found.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        if two:
            numpy.add(parts[0][block], parts[1][block], out=found[block])
            found[block] *= 0.5
            continue
        total = parts[0][block].astype("float64")
        for part in parts[1:]:
            total += part[block]
        total /= len(each)
        found[block] = total
    return into
