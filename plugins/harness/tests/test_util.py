import datetime
import decimal
import enum
import json
import math
import pathlib
import uuid
from typing import Any, List

import pytest

from determined import util


class Color(enum.Enum):
    RED = 1


class Number(enum.IntEnum):
    ONE = 1


class Own:
    def __json__(self) -> Any:
        return {"own": 1}


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (None, "null"),
        (True, "true"),
        (3, "3"),
        (0.5, "0.5"),
        (math.nan, '"NaN"'),
        (math.inf, '"Infinity"'),
        (-math.inf, '"-Infinity"'),
        (decimal.Decimal("1.5"), "1.5"),
        (b"text", '"text"'),
        ((1, [2]), "[1, [2]]"),
        ({1: 2, None: 3, "k": {"n": math.nan}}, '{"1": 2, "null": 3, "k": {"n": "NaN"}}'),
        (
            datetime.datetime(2024, 2, 29, tzinfo=datetime.timezone.utc),
            '"2024-02-29T00:00:00+00:00"',
        ),
        (Color.RED, '"RED"'),
        (Number.ONE, "1"),
        (uuid.UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (pathlib.Path("/a"), '"/a"'),
        (Own(), '{"own": 1}'),
    ],
)
def test_json_encode(value: Any, encoded: str) -> None:
    assert util.json_encode(value) == encoded


def test_json_encode_numpy() -> None:
    np = pytest.importorskip("numpy")
    value = {
        "scalar": np.float32(0.5),
        "int": np.int64(7),
        "bool": np.bool_(True),
        "zero_d": np.array(2.0),
        "array": np.array([[1.0, math.nan], [math.inf, 4.0]]),
        np.int64(3): "key",
    }
    assert json.loads(util.json_encode(value)) == {
        "scalar": 0.5,
        "int": 7,
        "bool": True,
        "zero_d": 2.0,
        "array": [[1.0, "NaN"], ["Infinity", 4.0]],
        "3": "key",
    }


@pytest.mark.parametrize("value", [object(), {1, 2}, 1j, lambda: 1, {(1, 2): 3}])
def test_json_encode_refuses(value: Any) -> None:
    with pytest.raises(TypeError):
        util.json_encode(value)


def test_is_numerical_scalar() -> None:
    for yes in (1, 0.5, True):
        assert util.is_numerical_scalar(yes)
    others: List[Any] = ["1", [1], None, {}]
    for no in others:
        assert not util.is_numerical_scalar(no)


def test_is_numerical_scalar_numpy() -> None:
    np = pytest.importorskip("numpy")
    for yes in (np.float32(1), np.int8(1), np.array(1.0)):
        assert util.is_numerical_scalar(yes)
    for no in (np.array([1.0]), np.array("x")):
        assert not util.is_numerical_scalar(no)


def test_merge_dicts() -> None:
    base = {"a": {"b": 1, "c": [1]}, "d": 1}
    over = {"a": {"c": [2], "e": {}}, "d": {"f": 1}}
    assert util.merge_dicts(base, over) == {"a": {"b": 1, "c": [2], "e": {}}, "d": {"f": 1}}
    assert base == {"a": {"b": 1, "c": [1]}, "d": 1}
