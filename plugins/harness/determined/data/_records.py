"""Encodes records as bytes and decodes them: for each value a tag, then the value.

Reading a record never executes code: records contain no pickles, class names or code. An
array is its type, its shape and its contents, so a reader can map it without a copy.
"""

from __future__ import annotations

import functools
import itertools
import struct
from typing import Any, Callable, Dict, List, Tuple

_LENGTH = struct.Struct("<Q")
_FLOAT = struct.Struct("<d")
_DEPTH = 32
# Arrays start at multiples of this in a record, and records in their file, so that a mapped array
# is aligned for every type.
ALIGNMENT = 16

_ALLOWED = (
    "None, bool, int, float, str, bytes, NumPy arrays and scalars, and tuples, lists and "
    "dictionaries of these"
)


def encode(record: Any) -> bytes:
    """Return a record as bytes; TypeError names what a record cannot contain."""
    out = _Output()
    out.add(record, 0)
    return b"".join(out.parts)


class _Output:
    """The parts of an encoded record."""

    def __init__(self) -> None:
        self.parts: List[Any] = []
        self.size = 0

    def write(self, part: Any) -> None:
        self.parts.append(part)
        self.size += len(part)

    def sized(self, tag: bytes, contents: bytes) -> None:
        self.write(tag + _LENGTH.pack(len(contents)))
        self.write(contents)

    def add(self, value: Any, depth: int) -> None:
        if depth > _DEPTH:
            raise TypeError(f"a record is nested more than {_DEPTH} levels deep")
        if value is None:
            self.write(b"N")
        elif value is True or value is False:
            self.write(b"T" if value else b"F")
        elif type(value) is int:
            self.sized(b"i", value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))
        elif type(value) is float:
            self.write(b"f" + _FLOAT.pack(value))
        elif hasattr(value, "__array__"):
            self.array(value)
        elif isinstance(value, str):
            self.sized(b"s", value.encode("utf-8", "surrogatepass"))
        elif isinstance(value, (bytes, bytearray, memoryview)):
            self.sized(b"b", bytes(value))
        elif isinstance(value, (tuple, list, dict)):
            self.several(value, depth)
        else:
            raise TypeError(
                f"a record cannot contain {type(value).__module__}.{type(value).__name__}; it may "
                f"contain {_ALLOWED}"
            )

    def several(self, value: Any, depth: int) -> None:
        """Write a value that contains other values."""
        tag = b"d" if isinstance(value, dict) else b"t" if isinstance(value, tuple) else b"l"
        self.write(tag + _LENGTH.pack(len(value)))
        # For a dictionary: each key, then its value.
        items = itertools.chain(*value.items()) if tag == b"d" else value
        for item in items:
            self.add(item, depth + 1)

    def array(self, value: Any) -> None:
        """Write an array, or an object that NumPy can convert to an array."""
        import numpy as np  # noqa: PLC0415 (only records with arrays need it)

        try:
            array = np.asarray(value)
        except Exception as err:
            raise TypeError(
                f"a record cannot contain this {type(value).__module__}.{type(value).__name__}, "
                f"because NumPy cannot read it: {err}"
            ) from err
        kind = array.dtype.str
        if array.dtype.hasobject or np.dtype(kind) != array.dtype:
            raise TypeError(
                f"a record cannot contain an array of type {array.dtype}: use a plain type such as "
                "float32, and a dictionary of arrays in place of a structured array"
            )
        tag = b"g" if isinstance(value, np.generic) else b"a"
        head = bytes([len(kind), array.ndim]) + kind.encode("ascii")
        self.write(tag + head + struct.pack(f"<{array.ndim}Q", *array.shape))
        self.write(bytes(-self.size % ALIGNMENT))
        self.write(array.tobytes())


def decode(view: memoryview, copy: bool = True) -> Any:
    """Return the record in view; its arrays are copies, or read-only views into it."""
    value, at = _read(view, 0, copy, 0)
    if at != len(view):
        raise ValueError(f"{len(view) - at} bytes follow the record")
    return value


def _sized(view: memoryview, at: int) -> Tuple[memoryview, int]:
    (length,) = _LENGTH.unpack_from(view, at)
    end = at + 8 + length
    if end > len(view):
        raise ValueError("a value is longer than its record")
    return view[at + 8 : end], end


def _read_int(view: memoryview, at: int, copy: bool, depth: int) -> Tuple[Any, int]:
    found, at = _sized(view, at)
    return int.from_bytes(found, "little", signed=True), at


def _read_str(view: memoryview, at: int, copy: bool, depth: int) -> Tuple[Any, int]:
    found, at = _sized(view, at)
    return str(found, "utf-8", "surrogatepass"), at


def _read_bytes(view: memoryview, at: int, copy: bool, depth: int) -> Tuple[Any, int]:
    found, at = _sized(view, at)
    return bytes(found), at


def _read_list(view: memoryview, at: int, copy: bool, depth: int) -> Tuple[Any, int]:
    (count,) = _LENGTH.unpack_from(view, at)
    at += 8
    found = []
    for _ in range(count):
        value, at = _read(view, at, copy, depth + 1)
        found.append(value)
    return found, at


def _read_tuple(view: memoryview, at: int, copy: bool, depth: int) -> Tuple[Any, int]:
    found, at = _read_list(view, at, copy, depth)
    return tuple(found), at


def _read_dict(view: memoryview, at: int, copy: bool, depth: int) -> Tuple[Any, int]:
    (count,) = _LENGTH.unpack_from(view, at)
    at += 8
    found = {}
    for _ in range(count):
        key, at = _read(view, at, copy, depth + 1)
        found[key], at = _read(view, at, copy, depth + 1)
    return found, at


@functools.lru_cache(maxsize=256)
def _array_type(kind: bytes) -> Any:
    import numpy as np  # noqa: PLC0415

    found = np.dtype(kind.decode("ascii"))
    if found.hasobject:
        raise ValueError(f"an array has the type {found}")
    return found


def _read_array(view: memoryview, at: int, copy: bool, depth: int) -> Tuple[Any, int]:
    import numpy as np  # noqa: PLC0415

    length, dimensions = view[at], view[at + 1]
    at += 2
    kind = _array_type(bytes(view[at : at + length]))
    at += length
    shape = struct.unpack_from(f"<{dimensions}Q", view, at)
    at += 8 * dimensions
    at += -at % ALIGNMENT
    count = 1
    for size in shape:
        count *= size
    end = at + count * kind.itemsize
    if end > len(view):
        raise ValueError("an array is longer than its record")
    found = np.ndarray(shape, kind, view, at)
    return (found.copy() if copy else found), end


def _read_scalar(view: memoryview, at: int, copy: bool, depth: int) -> Tuple[Any, int]:
    found, at = _read_array(view, at, True, depth)
    return found[()], at


_READERS: Dict[int, Callable[[memoryview, int, bool, int], Tuple[Any, int]]] = {
    ord("N"): lambda view, at, copy, depth: (None, at),
    ord("T"): lambda view, at, copy, depth: (True, at),
    ord("F"): lambda view, at, copy, depth: (False, at),
    ord("f"): lambda view, at, copy, depth: (_FLOAT.unpack_from(view, at)[0], at + 8),
    ord("i"): _read_int,
    ord("s"): _read_str,
    ord("b"): _read_bytes,
    ord("l"): _read_list,
    ord("t"): _read_tuple,
    ord("d"): _read_dict,
    ord("a"): _read_array,
    ord("g"): _read_scalar,
}


def _read(view: memoryview, at: int, copy: bool, depth: int) -> Tuple[Any, int]:
    reader = _READERS.get(view[at])
    if reader is None or depth > _DEPTH:
        raise ValueError(f"byte {at} of the record has no meaning")
    return reader(view, at + 1, copy, depth)
