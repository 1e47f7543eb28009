"""Counts which functions of Determined's package were called, and came back with an answer."""

import functools
import inspect
import sys
from typing import Any, Callable, Iterator, List, Set

from determined.common.api import bindings


def bound() -> Set[str]:
    """Wraps the functions of the generated client, and returns the set to which the names of those are added
    whose answer was read into the client's own classes."""
    done: Set[str] = set()
    for name in functions():
        setattr(bindings, name, noted(done, name, getattr(bindings, name)))
    return done


def functions() -> List[str]:
    """Returns the names of the functions that call a route."""
    names = [name for name, _ in inspect.getmembers(bindings, inspect.isfunction)]
    return [name for name in names if name.partition("_")[0] in ("get", "post", "put", "patch", "delete")]


def noted(done: Set[str], name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        answer = function(*args, **named)
        if inspect.isgenerator(answer):
            return streamed(done, name, answer)
        done.add(name)
        return answer

    return call


def streamed(done: Set[str], name: str, answer: Iterator[Any]) -> Iterator[Any]:
    for part in answer:
        done.add(name)
        yield part


def methods(classes: Any, script: str) -> Set[str]:
    """Wraps the public methods of the classes, and returns the set of those that the script itself has not called."""
    left: Set[str] = set()
    for owner in classes:
        for name, value in list(vars(owner).items()):
            if name.startswith("_") or not inspect.isfunction(value):
                continue
            label = f"{owner.__name__.rpartition('.')[2]}.{name}"
            left.add(label)
            setattr(owner, name, crossed(left, label, value, script))
    return left


def crossed(left: Set[str], label: str, function: Callable[..., Any], script: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        caller = sys._getframe(1).f_code.co_filename
        answer = function(*args, **named)
        if caller == script:
            left.discard(label)
        return answer

    return call
