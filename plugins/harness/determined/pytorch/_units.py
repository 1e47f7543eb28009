"""How often and how long: lengths in batches, epochs or records.

``Batch(100)`` is every 100 batches as a period, and 100 batches as a length; ``Batch([1, 10])``
is a schedule: after the first and the tenth batch.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any, Mapping, Optional, Union

from determined import core


class TrainUnit:
    """A period, a schedule or a length of training; use ``Batch`` or ``Epoch``.

    Example::

        trainer.fit(max_length=pytorch.Epoch(10), checkpoint_period=pytorch.Batch(500))
    """

    def __init__(self, value: Union[int, Container[int]]) -> None:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if not is_number and not isinstance(value, Container):
            raise TypeError(
                f"{type(self).__name__} takes a whole number or a container of them, "
                f"not {type(value).__name__}"
            )
        self.value = value

    def should_stop(self, step_num: int) -> bool:
        """Return whether to act after so many steps; a period below 1 acts after each.

        Example::

            Batch(3).should_stop(6)  # True
            Batch([1, 10]).should_stop(6)  # False
        """
        if isinstance(self.value, int):
            return self.value < 1 or (step_num > 0 and step_num % self.value == 0)
        return step_num in self.value

    def _number(self, name: str) -> int:
        """Return the value as a length, which a schedule cannot be."""
        if not isinstance(self.value, int):
            raise ValueError(f"{name} must be a whole number of {type(self).__name__.lower()}s")
        return self.value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value!r})"


class Batch(TrainUnit):
    """Counts batches.

    Example::

        trainer.fit(max_length=pytorch.Batch(1000), validation_period=pytorch.Batch(100))
    """


class Epoch(TrainUnit):
    """Counts epochs: passes of the chief's training data loader.

    Example::

        trainer.fit(max_length=pytorch.Epoch(3), validation_period=pytorch.Epoch(1))
    """


def from_records(records: int, global_batch_size: Optional[int], name: str) -> Batch:
    """Return a number of records in batches, at least one."""
    if not global_batch_size:
        raise ValueError(f"{name} counts records, so hyperparameters must have global_batch_size")
    return Batch(max(records // global_batch_size, 1))


def from_config(
    value: Any, global_batch_size: Optional[int], name: str, bare: str = "batches"
) -> Optional[TrainUnit]:
    """Return a length of the configuration; None where it is zero or not set: never."""
    if isinstance(value, Mapping):
        if len(value) > 1:
            raise ValueError(f"{name} must count one unit, not {', '.join(sorted(value))}")
        unit, count = next(iter(value.items()), (bare, 0))
    else:
        unit, count = bare, value
    if not count:
        return None
    if unit == "batches":
        return Batch(int(count))
    if unit == "epochs":
        return Epoch(int(count))
    if unit == "records":
        return from_records(int(count), global_batch_size, name)
    raise ValueError(f"{name} counts {unit!r}; it may count batches, records or epochs")


def max_length_of(config: Mapping[str, Any], global_batch_size: Optional[int]) -> TrainUnit:
    """Return ``searcher.max_length``, for training code that names no length itself."""
    searcher = config.get("searcher") or {}
    unit = core._parse_searcher_units(dict(config))
    length = from_config(
        searcher.get("max_length"),
        global_batch_size,
        "searcher.max_length",
        unit.value.lower() if unit is not None else "batches",
    )
    if length is None:
        raise ValueError(
            "the length of the training is not set: pass max_length to Trainer.fit(), or set "
            "searcher.max_length in the configuration"
        )
    return length
