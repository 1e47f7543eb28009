"""Checks that older training code imports: each raises ``CheckFailedError`` with the values.

Every check has two names: ``check.eq(a, b)`` and ``check_eq(a, b)``. New code writes ``assert``.

Example:

    >>> from determined.common import check
    >>> check.true(1 < 2), check.false(2 < 1), check.is_none(None), check.is_not_none(0)
    (None, None, None, None)
    >>> check.eq(1, 1), check.not_eq(1, 2), check.gt(2, 1), check.gt_eq(1, 1)
    (None, None, None, None)
    >>> check.lt(1, 2), check.lt_eq(1, 1), check.equal_lengths([1], "a"), check.len_eq([1], 1)
    (None, None, None, None)
    >>> check.is_in(1, [1, 2]), check.not_in(3, [1, 2]), check.is_subclass(bool, int)
    (None, None, None)
    >>> check.is_type(1, int), check.is_instance(True, int), check.is_not_instance("a", int)
    (None, None, None)
    >>> try:
    ...     check.eq(1, 2, "the worlds differ")
    ... except check.CheckFailedError as err:
    ...     print(err)
    CHECK FAILED! Got 1, expected 2: the worlds differ
"""

from __future__ import annotations

from typing import Any, Callable, Container, Optional, Sized, Tuple, Type, Union

_Types = Union[Type[Any], Tuple[Type[Any], ...]]


class CheckFailedError(Exception):
    """A check failed."""


def _demand(holds: bool, found: str, reason: Optional[str]) -> None:
    if not holds:
        raise CheckFailedError(f"CHECK FAILED! {found}" + (f": {reason}" if reason else ""))


def true(val: bool, reason: Optional[str] = None) -> None:
    """Check that a value is true."""
    _demand(bool(val), f"Got {val}, expected True", reason)


def false(val: bool, reason: Optional[str] = None) -> None:
    """Check that a value is false."""
    _demand(not val, f"Got {val}, expected False", reason)


def is_none(val: Any, reason: Optional[str] = None) -> None:
    """Check that a value is None."""
    _demand(val is None, f"Got {val}, expected None", reason)


def is_not_none(val: Any, reason: Optional[str] = None) -> None:
    """Check that a value is not None."""
    _demand(val is not None, f"Got {val}, expected another value", reason)


def eq(val: Any, expected: Any, reason: Optional[str] = None) -> None:
    """Check that two values are equal."""
    _demand(bool(val == expected), f"Got {val}, expected {expected}", reason)


def not_eq(x: Any, y: Any, reason: Optional[str] = None) -> None:
    """Check that two values differ."""
    _demand(bool(x != y), f"Got {x}, expected another value than {y}", reason)


def gt(x: Any, y: Any, reason: Optional[str] = None) -> None:
    """Check that x is greater than y."""
    _demand(bool(x > y), f"Got {x}, expected more than {y}", reason)


def gt_eq(x: Any, y: Any, reason: Optional[str] = None) -> None:
    """Check that x is at least y."""
    _demand(bool(x >= y), f"Got {x}, expected at least {y}", reason)


def lt(x: Any, y: Any, reason: Optional[str] = None) -> None:
    """Check that x is less than y."""
    _demand(bool(x < y), f"Got {x}, expected less than {y}", reason)


def lt_eq(x: Any, y: Any, reason: Optional[str] = None) -> None:
    """Check that x is at most y."""
    _demand(bool(x <= y), f"Got {x}, expected at most {y}", reason)


def equal_lengths(x: Sized, y: Sized, reason: Optional[str] = None) -> None:
    """Check that two things have one length."""
    _demand(len(x) == len(y), f"Got the lengths {len(x)} and {len(y)}, expected one", reason)


def len_eq(val: Sized, expected_len: int, reason: Optional[str] = None) -> None:
    """Check the length of something."""
    _demand(len(val) == expected_len, f"Got length {len(val)}, expected {expected_len}", reason)


def is_in(val: Any, expected: Container[Any], reason: Optional[str] = None) -> None:
    """Check that a value is among others."""
    _demand(val in expected, f"Got {val}, expected one of {expected}", reason)


def not_in(val: Any, expected: Container[Any], reason: Optional[str] = None) -> None:
    """Check that a value is not among others."""
    _demand(val not in expected, f"Got {val}, expected none of {expected}", reason)


def is_type(val: Any, expected: Type[Any], reason: Optional[str] = None) -> None:
    """Check that a value has a type, and not one derived from it."""
    _demand(type(val) is expected, f"Got {type(val)}, expected {expected}", reason)


def is_instance(val: Any, expected: _Types, reason: Optional[str] = None) -> None:
    """Check that a value has a type, or one derived from it."""
    _demand(isinstance(val, expected), f"Got {type(val)}, expected {expected}", reason)


def is_not_instance(val: Any, expected: _Types, reason: Optional[str] = None) -> None:
    """Check that a value has another type."""
    _demand(not isinstance(val, expected), f"Got {type(val)}, expected another type", reason)


def is_subclass(val: Any, expected: _Types, reason: Optional[str] = None) -> None:
    """Check that a class is derived from another."""
    _demand(issubclass(val, expected), f"Got {val}, expected a subclass of {expected}", reason)


_Check = Callable[..., None]

check_true: _Check = true
check_false: _Check = false
check_none: _Check = is_none
check_not_none: _Check = is_not_none
check_eq: _Check = eq
check_not_eq: _Check = not_eq
check_gt: _Check = gt
check_gt_eq: _Check = gt_eq
check_lt: _Check = lt
check_lt_eq: _Check = lt_eq
check_eq_len: _Check = equal_lengths
check_len: _Check = len_eq
check_in: _Check = is_in
check_not_in: _Check = not_in
check_type: _Check = is_type
check_isinstance: _Check = is_instance
check_not_isinstance: _Check = is_not_instance
check_issubclass: _Check = is_subclass
