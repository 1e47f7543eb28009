"""Records are the same after a round trip, and other bytes cause no harm when they are read."""

from __future__ import annotations

import os
import pathlib
import random
import struct
import subprocess
import sys
from typing import Any

import pytest

from determined.data._records import decode, encode


def back(record: Any) -> Any:
    return decode(memoryview(encode(record)))


@pytest.mark.parametrize(
    "record",
    [
        None,
        True,
        0,
        -1,
        127,
        128,
        -(1 << 200),
        1.5,
        float("inf"),
        "",
        "Grüße \ud800",
        b"",
        b"\0" * 1000,
        (),
        [],
        {},
        (1, [2.0, None, ("a", {"b": b"c", 3: (4,)})], {"x": {}}),
    ],
)
def test_plain_values_come_back(record: Any) -> None:
    found = back(record)
    assert found == record and type(found) is type(record)


def test_other_kinds_of_bytes_come_back_as_bytes() -> None:
    assert back((bytearray(b"ab"), memoryview(b"cd"))) == (b"ab", b"cd")


def test_arrays_come_back() -> None:
    np = pytest.importorskip("numpy")
    for array in (
        np.arange(12, dtype=">i4").reshape(3, 4),
        np.zeros((0, 3), np.float16),
        np.array(7.5),
        np.array(["a", "bcd"]),
        np.array([b"x"]),
        np.array(["2026-11-22"], "datetime64[s]"),
        np.asfortranarray(np.arange(6.0).reshape(2, 3))[:, ::2],
        np.array([True, False]),
        np.array([1j]),
    ):
        found = back({"x": array})["x"]
        assert found.dtype == array.dtype and found.shape == array.shape
        assert (found == array).all() and found.flags.writeable
    scalar = back(np.float32(1.5))
    assert type(scalar) is np.float32 and scalar == 1.5


def test_mapped_arrays_are_aligned_and_cannot_be_written() -> None:
    np = pytest.importorskip("numpy")
    encoded = bytearray(64)
    encoded[16:] = encode(("odd", np.arange(3.0)))
    found = decode(memoryview(bytes(encoded))[16:], copy=False)[1]
    assert not found.flags.writeable and found.flags.aligned
    with pytest.raises(ValueError):
        found[0] = 1


def test_what_cannot_be_stored_is_named() -> None:
    np = pytest.importorskip("numpy")
    for record, words in (
        (object(), "builtins.object"),
        ({"x": {1, 2}}, "builtins.set"),
        (np.array([object()]), "type object"),
        (np.zeros(2, [("a", "f4")]), "dictionary of arrays"),
    ):
        with pytest.raises(TypeError, match=words):
            encode(record)
    nested: Any = 0
    for _ in range(50):
        nested = [nested]
    with pytest.raises(TypeError, match="levels deep"):
        encode(nested)


def test_damaged_bytes_raise_and_run_nothing() -> None:
    """Any bytes give either a value or one of the errors that a data set handles."""
    np = pytest.importorskip("numpy")
    whole = encode({"image": np.arange(20, dtype="f4"), "label": 3, "name": ["a", b"b", (None,)]})
    rng = random.Random(11)
    broken = 0
    for _ in range(3000):
        changed = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        try:
            decode(memoryview(bytes(changed[: rng.randint(1, len(changed))])))
        except (ValueError, IndexError, TypeError, struct.error):
            broken += 1
    assert broken > 1000


def test_the_core_needs_nothing_but_the_standard_library(tmp_path: pathlib.Path) -> None:
    code = (
        "import sys; from determined import data; data.Store(sys.argv[1]); "
        "print(sorted({'numpy', 'torch', 'tensorflow', 'boto3'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "store")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"
