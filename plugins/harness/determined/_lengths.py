"""Lengths of training, which a configuration gives in batches, records or epochs."""

from __future__ import annotations

from typing import Any, Mapping, Optional

UNITS = ("batches", "records", "epochs")


class Lengths:
    """Turns lengths into batches, for one size of batch and one size of epoch."""

    def __init__(self, batch_size: int, records_per_epoch: Optional[int] = None) -> None:
        self.batch_size = batch_size
        self.records_per_epoch = records_per_epoch

    @property
    def batches_per_epoch(self) -> Optional[int]:
        """The number of batches in an epoch, or None if the size of an epoch is unknown."""
        if not self.records_per_epoch:
            return None
        return max(1, self.records_per_epoch // self.batch_size)

    def batches(self, count: int, unit: str, name: str) -> int:
        """Return a length in batches; error messages use ``name`` for the configuration's key."""
        if unit not in UNITS:
            raise ValueError(f"{name} counts {unit!r}; it may count {', '.join(UNITS)}")
        if unit == "batches" or count <= 0:
            return count
        if unit == "epochs":
            if not self.records_per_epoch:
                raise ValueError(
                    f"{name} counts epochs, but the length of an epoch is unknown: set "
                    "records_per_epoch in the configuration"
                )
            count *= self.records_per_epoch
        return max(1, count // self.batch_size)

    def period(self, config: Mapping[str, Any], name: str) -> Optional[int]:
        """Return a period of the configuration in batches, or None if it is not set."""
        value = config.get(name)
        if isinstance(value, Mapping):
            if len(value) > 1:
                raise ValueError(f"{name} must count one unit, not {', '.join(sorted(value))}")
            unit, count = next(iter(value.items()), ("batches", 0))
        else:
            unit, count = "batches", value
        if not count:
            return None
        return self.batches(int(count), unit, name)
