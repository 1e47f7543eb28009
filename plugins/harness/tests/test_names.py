"""Smaller names that scripts of Determined import."""

from __future__ import annotations

import importlib
import io
import logging
import pathlib
import random
import sys
from typing import Any, Iterator

import pytest

import determined as det
from determined import _missing, common, horovod
from determined.common import check, util
from determined.tensorboard import get_base_path, metric_writers
from determined.tensorboard.metric_writers import tensorflow
from tests.conftest import MakeTask


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


def test_helpers_of_training_code() -> None:
    class Base:
        def evaluate(self, batch: Any, batch_idx: int) -> None: ...

    class Own(Base):
        def evaluate(self, batch: Any, batch_idx: int) -> None: ...

    assert det.util.has_param(Own().evaluate, "batch_idx") and not det.util.has_param(print_, "x")
    assert det.util.has_param(print_, "x", 0)
    # Set the names that methods of module-level classes have.
    Base.evaluate.__qualname__, Own.evaluate.__qualname__ = "Base.evaluate", "Own.evaluate"
    assert det.util.is_overridden(Own().evaluate, Base)
    assert not det.util.is_overridden(Base().evaluate, Base)
    assert det.util.get_member_func(Own(), "evaluate") and not det.util.get_member_func(1, "x")
    found = det.util.make_metrics(8, [{"loss": 1.0, "s": "a"}, {"loss": 3.0, "s": "b"}])
    assert (found["avg_metrics"], found["num_inputs"]) == ({"loss": 2.0, "s": None}, 8)
    with pytest.raises(ValueError, match="batch 1 has no metric loss"):
        det.util.make_metrics(None, [{"loss": 1.0}, {}])
    assert det.util.calculate_batch_sizes({"global_batch_size": 10}, 4, "T") == (2, 8)
    with pytest.raises(det.errors.InvalidExperimentException, match="T needs"):
        det.util.calculate_batch_sizes({}, 4, "T")
    assert det.util.filter_duplicates([3, 1, 3, 2, 1]) == {1, 3}
    assert [det.util.humanize_float(n) for n in (1.23456, 12345.6, 0.0)] == [1.235, 12346.0, 0.0]
    assert det.util.make_timing_log("trained", 2.0, 64, 4) == (
        "trained: 64 records in 2.0s (32.0 records/s), in 4 batches (2.0 batches/s)"
    )
    assert det.util.match_legacy_trial_class("a.b:C")
    assert not det.util.match_legacy_trial_class("python3 a:b")
    secret = {
        "checkpoint_storage": {"bucket": "b", "secret_key": "k"},
        "environment": {"registry_auth": {"password": "p"}},
        "data": {"secrets": {"a": 1}},
    }
    masked = str(det.util.mask_config_dict(secret))
    assert "'k'" not in masked and "'p'" not in masked and "bucket" in masked
    assert "'k'" in str(secret)


def print_(value: Any) -> None: ...


def test_a_link_replaces_what_is_there(tmp_path: pathlib.Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    makers: list[Any] = [link.mkdir, link.touch, lambda: None]
    for make in makers:
        if link.is_symlink():
            link.unlink()
        make()
        det.util.force_create_symlink(str(target), str(link))
        assert link.is_symlink() and link.resolve() == target
        det.util.force_create_symlink(str(target), str(link))


def test_times_and_warnings() -> None:
    text = "2026-11-22T23:05:01.123456789Z"
    assert util.parse_protobuf_timestamp(text).isoformat() == "2026-11-22T23:05:01+00:00"
    assert util.is_protobuf_timestamp("2026-11-22T23:05:01Z")
    assert not util.is_protobuf_timestamp("2026-11-22T23:05:01+01:00")

    @util.deprecated("Use another")
    def old() -> int:
        return 3

    with pytest.warns(DeprecationWarning, match=r"old is deprecated.*Use another\."):
        assert old() == 3


def test_the_environment_knows_the_master(make_task: MakeTask) -> None:
    make_task(DET_MASTER_CERT_NAME="master.example")
    info = det.get_cluster_info()
    assert info is not None
    env = det.EnvContext.from_info(info)
    assert (env.master_url, env.master_cert_name) == (info.master_url, "master.example")


def test_writers_of_curves(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setenv("DET_RUN_DIR", str(tmp_path))
    writer = tensorflow.TFWriter()
    drawer = metric_writers.BatchMetricWriter(writer)
    drawer.on_train_step_end(2, {"loss": 0.5}, [{"loss": 0.75}, {"loss": 0.25}])
    writer.reset()
    drawer.on_validation_step_end(2, {"loss": 0.5})
    writer.flush()
    first, second = sorted(get_base_path({}).iterdir())
    assert first.read_bytes().count(b"Determined/loss") == 2
    assert b"Determined/val_loss" in second.read_bytes()


def test_horovod_is_one_per_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "horovod").mkdir()
    (tmp_path / "horovod" / "__init__.py").touch()
    (tmp_path / "horovod" / "torch.py").write_text("def rank(): return 3\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    hvd: Any = horovod._Horovod()
    with pytest.raises(RuntimeError, match="require_horovod_type"):
        hvd.rank()
    hvd.require_horovod_type("torch", "the model is in PyTorch")
    monkeypatch.setenv("HOROVOD_CROSS_RANK", "2")
    assert (hvd.rank(), hvd.cross_rank()) == (3, 2)
    with pytest.raises(ValueError, match="the model is in PyTorch"):
        hvd.require_horovod_type("tensorflow", "the data is")


@pytest.mark.parametrize("module", _missing._INSTEAD)
def test_an_import_of_a_module_that_is_not_here_says_what_to_use(module: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=f"^{module} .*in its place: ") as raised:
        importlib.import_module(module)
    assert raised.value.name == module


def test_other_modules_that_are_missing_are_python_s_own_business() -> None:
    _missing.explain()
    assert sum(type(finder).__name__ == "_Finder" for finder in sys.meta_path) == 1
    with pytest.raises(ModuleNotFoundError, match="No module named 'determined.nothing'"):
        importlib.import_module("determined.nothing")
