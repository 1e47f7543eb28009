"""Helpers for the objects of the SDK."""

from __future__ import annotations

import datetime
import enum
import re
from typing import Any, Optional

# The master sends up to nine digits of a second's fraction; Python supports six.
_FRACTION = re.compile(r"\.(\d{6})\d+")


class OrderBy(enum.Enum):
    """The direction of a sorted list.

    Example: ``model.list_versions(order_by=client.OrderBy.ASC)``
    """

    ASC = "ORDER_BY_ASC"
    ASCENDING = "ORDER_BY_ASC"
    DESC = "ORDER_BY_DESC"
    DESCENDING = "ORDER_BY_DESC"


def value_of(choice: Optional[enum.Enum]) -> Any:
    """Return the API's value of a choice, or None for no choice."""
    return None if choice is None else choice.value


def timestamp(text: Optional[str]) -> Optional[datetime.datetime]:
    """Read a time of the API."""
    if not text:
        return None
    spelled = _FRACTION.sub(r".\1", text)
    if spelled.endswith("Z"):
        spelled = spelled[:-1] + "+00:00"
    try:
        return datetime.datetime.fromisoformat(spelled)
    except ValueError:
        # Older Pythons want three or six digits.
        head, _, tail = spelled.partition(".")
        digits = re.match(r"\d*", tail)
        assert digits is not None
        fraction = digits.group().ljust(6, "0")
        return datetime.datetime.fromisoformat(f"{head}.{fraction}{tail[digits.end() :]}")


def whole(value: Any) -> Optional[int]:
    """Read a number that the API may send as a string."""
    return None if value is None else int(value)
