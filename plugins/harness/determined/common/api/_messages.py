"""The base of the functions and messages of ``bindings``.

A message is a class with a line for each field: its type, and ``= None`` where the field may be
missing. Everything else follows from these lines, when a class is first used.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import json
import math
import os
import re
import sys
from typing import Any, Callable, Dict, Iterator, Mapping, Type, TypeVar

from determined.common.api import errors
from determined.common.api._session import BaseSession, Response

M = TypeVar("M", bound="Message")
Change = Callable[[Any], Any]


class Unset:
    """The type of a field that is not given, which is not the same as None."""


_unset = Unset()


class APIHttpError(Exception):
    """A call of the API failed."""

    def __init__(self, operation_name: str, response: Response) -> None:
        self.response = response
        self.operation_name = operation_name
        self.message = f"API Error: {operation_name} failed: HTTP status {response.status_code}."
        super().__init__(self.message)


class APIHttpStreamError(APIHttpError):
    """A stream of the API ended with an error."""

    def __init__(self, operation_name: str, error: Any) -> None:
        self.operation_name = operation_name
        self.error = error
        self.message = f"Stream Error during {operation_name}: {error}"
        Exception.__init__(self, self.message)


class DetEnum(enum.Enum):
    """A word of a fixed set; ``str`` leaves out the common prefix of all words of the set."""

    def __str__(self) -> str:
        return str(self.value)[len(self.prefix()) :]

    @classmethod
    def prefix(cls) -> str:
        """Return the common prefix of all values, up to an underscore; example: ``STATE_``."""
        prefix = os.path.commonprefix([str(m.value) for m in cls])  # noqa: RUF071
        return prefix if prefix.endswith("_") else ""


class _Signature:
    """Shows the fields of a message to ``inspect`` and editors."""

    def __get__(self, _: Any, cls: type) -> inspect.Signature:
        keyword = inspect.Parameter.KEYWORD_ONLY
        return inspect.Signature(
            [
                inspect.Parameter(
                    name,
                    keyword,
                    default=inspect.Parameter.empty if field.required else _unset,
                    annotation=field.text,
                )
                for name, field in fields_of(cls).items()
            ]
        )


class Message:
    """A message of the API: ``from_json`` reads what the master sends, ``to_json`` writes it."""

    __signature__ = _Signature()

    def __init__(self, **fields: Any) -> None:
        known = fields_of(type(self))
        unknown = [name for name in fields if name not in known]
        missing = [name for name, field in known.items() if field.required and name not in fields]
        if unknown or missing:
            wrong = [f"has no field {name}" for name in unknown]
            wrong += [f"needs the field {name}" for name in missing]
            raise TypeError(f"{type(self).__name__} {', '.join(wrong)}")
        for name, value in fields.items():
            if not isinstance(value, Unset):
                setattr(self, name, value)

    @classmethod
    def from_json(cls: Type[M], obj: Any) -> M:
        """Read a message; KeyError if a required field is missing. Unknown fields are ignored."""
        values = {}
        for name, field in fields_of(cls).items():
            if field.required or name in obj:
                values[name] = field.read(obj[name])
        return cls(**values)

    def to_json(self, omit_unset: bool = False) -> Dict[str, Any]:
        """Write the message; fields that were not given are null, or left out."""
        given = vars(self)
        return {
            name: _write(getattr(self, name), omit_unset)
            for name, field in fields_of(type(self)).items()
            if field.required or not omit_unset or name in given
        }

    def __str__(self) -> str:
        shown = ", ".join(
            f"{name}={_shown(value)}" for name, value in vars(self).items() if value is not None
        )
        return f"{type(self).__name__}({shown})"


# The name of this class in Determined's package.
Printable = Message


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    return str(value) if isinstance(value, (str, int, float, DetEnum)) else "..."


@dataclasses.dataclass
class Field:
    """A field of a message: its type, and how its value is read."""

    text: str
    required: bool
    read: Change


# Of each class once; classes live as long as the program.
_known: Dict[type, Dict[str, Field]] = {}


def fields_of(cls: type) -> Dict[str, Field]:
    """Return the fields of a message, in their order."""
    if cls not in _known:
        _known[cls] = _read_fields(cls)
    return _known[cls]


def _read_fields(cls: type) -> Dict[str, Field]:
    found = {}
    for name, text in getattr(cls, "__annotations__", {}).items():
        read = _reader(text, sys.modules[cls.__module__])
        found[name] = Field(text, name not in cls.__dict__, read)
    return found


def _reader(text: str, module: Any) -> Change:
    """Return a function that reads a value of a type from JSON."""
    match = re.fullmatch(r"(Optional|Sequence|Dict)\[(?:str, )?(.*)\]", text)
    if match is None:
        if text == "float":
            return float
        found = getattr(module, text, None)
        if not isinstance(found, type):
            return _same
        if issubclass(found, Message):
            return found.from_json
        return found if issubclass(found, DetEnum) else _same
    outer, inner = match[1], _reader(match[2], module)
    if inner is _same:
        return _same
    if outer == "Optional":
        return lambda value: None if value is None else inner(value)
    if outer == "Sequence":
        return lambda value: [inner(item) for item in value]
    return lambda value: {key: inner(item) for key, item in value.items()}


def _same(value: Any) -> Any:
    return value


def _write(value: Any, omit_unset: bool = True) -> Any:
    """Return the JSON form of a value."""
    if isinstance(value, Message):
        return value.to_json(omit_unset)
    if isinstance(value, DetEnum):
        return value.value
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, Mapping):
        return {key: _write(item, omit_unset) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_write(item, omit_unset) for item in value]
    return value


def _float(value: float) -> Any:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def call(
    session: BaseSession, method: str, path: str, params: Mapping[str, Any], body: Any = None
) -> Any:
    """Send a request, and return the JSON of the answer; None if it has no body."""
    answer = session._request(method, path, _plain(params), _write(body), None, None, None)
    return json.loads(answer.content) if answer.content.strip() else None


def stream(session: BaseSession, name: str, path: str, params: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the records of a stream."""
    try:
        yield from session.stream(path, params=_plain(params))
    except errors.StreamException as err:
        raise APIHttpStreamError(name, err) from err


def _plain(params: Mapping[str, Any]) -> Dict[str, Any]:
    return {key: _write(value) for key, value in params.items() if value is not None}
