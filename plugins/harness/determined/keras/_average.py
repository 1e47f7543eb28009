"""Averages gradients among the workers of a trial, so that all of them train one model.

Each worker trains on batches of its own; before its optimizer applies a gradient, the gradients
of all workers go to the chief, and their average comes back. They travel over the same connections
as everything else that workers tell each other. That is no match for NCCL, and right for models
whose weights are counted in megabytes: larger ones are for a script with a strategy of
TensorFlow's.
"""

from __future__ import annotations

import importlib
from typing import Any, List

from determined import core
from determined.keras import _backend


def share_gradients(
    model: Any, optimizers: List[Any], distributed: core.DistributedContext
) -> None:
    """Let optimizers apply what the workers found on average, from now on."""
    # A compiler cannot look into what leaves TensorFlow.
    if _backend.generation() == 3:
        model.jit_compile = False
    for optimizer in optimizers:
        apply = optimizer.apply_gradients

        def apply_average(pairs: Any, *args: Any, _apply: Any = apply, **kwargs: Any) -> Any:
            listed = [(gradient, variable) for gradient, variable in pairs if gradient is not None]
            averaged = _average([gradient for gradient, _ in listed], distributed)
            variables = [variable for _, variable in listed]
            return _apply(zip(averaged, variables), *args, **kwargs)

        # An instance's own attribute, which Keras would else look into for weights.
        object.__setattr__(optimizer, "apply_gradients", apply_average)


def _average(gradients: List[Any], distributed: core.DistributedContext) -> List[Any]:
    tf = _backend.tensorflow()
    # Gradients of embeddings name only the rows that they touch, which differ among workers.
    dense = [tf.convert_to_tensor(gradient) for gradient in gradients]

    def exchange(*tensors: Any) -> List[Any]:
        return mean(distributed, [tensor.numpy() for tensor in tensors])

    found = tf.py_function(exchange, dense, [tensor.dtype for tensor in dense])
    for tensor, gradient in zip(found, dense):
        tensor.set_shape(gradient.shape)
    return list(found)


def mean(distributed: core.DistributedContext, arrays: List[Any]) -> List[Any]:
    """Return the average of every worker's arrays, one by one; all workers call it in step."""
    numpy = importlib.import_module("numpy")
    gathered = distributed.gather(arrays)
    averaged = None
    if gathered is not None:
        averaged = [
            (sum(numpy.asarray(array, dtype="float64") for array in each) / len(each)).astype(
                each[0].dtype
            )
            for each in zip(*gathered)
        ]
    result: List[Any] = distributed.broadcast(averaged)
    return result
