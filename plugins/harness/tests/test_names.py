"""Small names that scripts of Determined import."""

from __future__ import annotations

import io
import logging
import random
from typing import Any, Iterator

import pytest

import determined as det
from determined import common
from determined.common import check, util


def test_experiment_config() -> None:
    config = det.ExperimentConfig(
        {
            "debug": True,
            "entrypoint": ["python3", "train.py"],
            "resources": {"slots_per_trial": 4},
            "searcher": {"metric": "loss"},
            "reproducibility": {"experiment_seed": 7},
            "profiling": {"enabled": True, "begin_on_batch": 3},
            "min_validation_period": {"batches": 5},
            "checkpoint_storage": None,
            "records_per_epoch": 100,
        }
    )
    assert (config.debug_enabled(), config.slots_per_trial(), config.experiment_seed()) == (
        True,
        4,
        7,
    )
    assert config.get_searcher_metric() == "loss"
    assert config.get_entrypoint() == ["python3", "train.py"]
    assert config.get_min_validation_period() == {"batches": 5}
    assert config.get_min_checkpoint_period() == config.get_checkpoint_storage() == {}
    assert config.profiling_interval() == (3, None) and config.profiling_sync_timings()
    assert config.get_records_per_epoch() == 100
    empty = det.ExperimentConfig()
    assert (empty.scheduling_unit(), empty.slots_per_trial(), empty.profiling_interval()) == (
        100,
        1,
        (0, 0),
    )
    assert not empty.debug_enabled() and empty.get_records_per_epoch() is None
    with pytest.raises(ValueError, match=r"searcher\.metric"):
        empty.get_searcher_metric()
    with pytest.raises(ValueError, match="list of words"):
        det.ExperimentConfig(entrypoint=[1]).get_entrypoint()


GOOD: list[tuple[Any, ...]] = [
    ("true", "check_true", (1,), (0,)),
    ("false", "check_false", (0,), (1,)),
    ("is_none", "check_none", (None,), (0,)),
    ("is_not_none", "check_not_none", (0,), (None,)),
    ("eq", "check_eq", (1, 1), (1, 2)),
    ("not_eq", "check_not_eq", (1, 2), (1, 1)),
    ("gt", "check_gt", (2, 1), (1, 1)),
    ("gt_eq", "check_gt_eq", (1, 1), (0, 1)),
    ("lt", "check_lt", (1, 2), (1, 1)),
    ("lt_eq", "check_lt_eq", (1, 1), (2, 1)),
    ("equal_lengths", "check_eq_len", ([1], [2]), ([1], [])),
    ("len_eq", "check_len", ([1], 1), ([1], 2)),
    ("is_in", "check_in", (1, [1]), (2, [1])),
    ("not_in", "check_not_in", (2, [1]), (1, [1])),
    ("is_type", "check_type", (1, int), (True, int)),
    ("is_instance", "check_isinstance", (True, int), ("", int)),
    ("is_not_instance", "check_not_isinstance", ("", int), (1, (int, str))),
    ("is_subclass", "check_issubclass", (bool, int), (str, int)),
]


@pytest.mark.parametrize(("short", "long", "good", "bad"), GOOD)
def test_checks(short: str, long: str, good: Any, bad: Any) -> None:
    for name in (short, long):
        getattr(check, name)(*good)
        with pytest.raises(check.CheckFailedError, match=r"CHECK FAILED! Got .*: because"):
            getattr(check, name)(*bad, reason="because")


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield root
    root.handlers[:] = handlers
    root.setLevel(level)


def test_set_logger(root_logger: logging.Logger, capsys: pytest.CaptureFixture[str]) -> None:
    common.set_logger(False)
    common.set_logger(False)
    logging.getLogger("mine").info("hello")
    logging.getLogger("mine").debug("hidden")
    out = capsys.readouterr().out
    assert out.count("mine: hello") == 1 and "hidden" not in out and out.startswith("INFO: [")
    common.set_logger(True)
    logging.getLogger("mine").debug("shown")
    assert "shown" in capsys.readouterr().out


def test_helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [list(part) for part in util.chunks([1, 2, 3], 2)] == [[1, 2], [3]]
    assert list(util.chunks("abc", 2)) == ["ab", "c"]
    assert [util.sizeof_fmt(size) for size in (10, 1536, 3 << 20)] == ["10.0B", "1.5KB", "3.0MB"]
    assert [util.strtobool(word) for word in ("yes", "x", "No", "0", "")] == [1, 1, 0, 0, 0]
    monkeypatch.setenv("DET_DEBUG", "1")
    assert util.debug_mode()
    random.seed(1)
    expected = random.random()
    random.seed(1)
    util.preserve_random_state(random.random)()
    assert random.random() == expected
    answers = iter([(False, 0), (True, 5)])
    assert util.wait_for(lambda: next(answers), interval=0) == 5
    with pytest.raises(TimeoutError):
        util.wait_for(lambda: (False, None), timeout=0, interval=0)


def test_yaml() -> None:
    pytest.importorskip("yaml")
    assert util.yaml_safe_load("a: [1, 2]") == {"a": [1, 2]}
    assert util.yaml_safe_dump({"a": 1}) == "a: 1\n"
    out = io.StringIO()
    util.yaml_safe_dump({"a": 1}, out)
    assert out.getvalue() == "a: 1\n"
