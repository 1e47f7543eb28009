"""Trial classes: finding them, their contexts, and the programs that start them."""

import json
import os
import pathlib
import subprocess
import sys
from typing import Any, Dict, List

import pytest

import determined as det
from determined import _trial
from determined._env import EnvContext, sample
from determined._lengths import Lengths
from determined.exec import harness
from determined.keras import _backend, _data
from tests.conftest import MakeTask
from tests.stub_master import Stub

ROOT = pathlib.Path(det.__file__).parent.parent

MODEL_DEF = """
import pathlib
import determined as det
from determined import core

class Own(det.LegacyTrial):
    _trainer = __name__

    def __init__(self, context):
        pass

def train_class(trial_class, core_context, env):
    core_context.train.report_training_metrics(1, {"seen": env.hparams["lr"]})
    print("rank", core_context.distributed.rank, "of", core_context.distributed.size)
    core_context.distributed.allgather(None)
    if env.hparams.get("fail") == core_context.distributed.rank:
        raise SystemExit(3)
    if "fail" in env.hparams:
        core_context.distributed.allgather(None)

class Outer:
    class Inner(Own):
        pass

class NoTrial:
    pass
"""


@pytest.fixture
def code(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "model_def.py").write_text(MODEL_DEF)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    return folder


def test_finding_a_class(code: pathlib.Path) -> None:
    found = _trial.trial_class_from_entrypoint("model_def:Own")
    assert found.__name__ == "Own"
    assert _trial.trial_class_from_entrypoint("model_def:Outer.Inner").__name__ == "Inner"
    with pytest.raises(AttributeError, match="model_def has no Other"):
        _trial.trial_class_from_entrypoint("model_def:Other")
    with pytest.raises(TypeError, match="is not a trial class"):
        _trial.trial_class_from_entrypoint("model_def:NoTrial")
    with pytest.raises(ModuleNotFoundError, match="nothing"):
        _trial.trial_class_from_entrypoint("nothing:Own")
    del sys.modules["model_def"]


def test_importing_from_a_folder(code: pathlib.Path, tmp_path: pathlib.Path) -> None:
    other = tmp_path / "checkpoint"
    (other / "package").mkdir(parents=True)
    (other / "model_def.py").write_text("from package import inner\nwho = inner.who\n")
    (other / "package" / "inner.py").write_text("who = 'the checkpoint'\n")
    import model_def as here  # type: ignore[import-not-found]  # noqa: PLC0415

    with det.import_from_path(other):
        import model_def as there  # noqa: PLC0415

        with pytest.raises(RuntimeError, match="cannot be nested"), det.import_from_path(other):
            pass
        assert sys.modules["determined"] is det
    assert there.who == "the checkpoint" and hasattr(here, "Own")
    assert sys.modules["model_def"] is here and "package" not in sys.modules
    assert str(other) not in sys.path
    assert not list(other.rglob("__pycache__"))
    del sys.modules["model_def"]


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (3, 3),
        ({"type": "const", "val": "x"}, "x"),
        ({"type": "categorical", "vals": [7]}, 7),
        ({"type": "int", "minval": 4, "maxval": 5}, 4),
        ({"type": "int", "minval": 4, "maxval": 4}, 4),
        ({"type": "double", "minval": 2.0, "maxval": 2.0}, 2.0),
        ({"type": "log", "minval": -1, "maxval": -1, "base": 10}, 0.1),
        ({"type": "log", "minval": -1, "maxval": -1}, 0.1),
        ({"deep": {"type": "const", "val": 1}}, {"deep": 1}),
    ],
)
def test_sampling_hyperparameters(declared: Any, expected: Any) -> None:
    assert sample(declared) == expected


def test_sampling_nonsense() -> None:
    with pytest.raises(ValueError, match="needs minval and maxval"):
        sample({"type": "int"})
    with pytest.raises(ValueError, match="no hyperparameter of type 'x'"):
        sample({"type": "x", "minval": 1, "maxval": 2})


def test_batch_sizes(caplog: pytest.LogCaptureFixture) -> None:
    assert _trial.batch_sizes({"global_batch_size": 32}, 4) == (8, 32)
    assert _trial.batch_sizes({"global_batch_size": 32}, 0) == (32, 32)
    assert _trial.batch_sizes({"global_batch_size": 10}, 4) == (2, 8)
    assert "no multiple of 4 slots" in caplog.text
    for wrong in (None, 0, -1, True, 1.5, "8"):
        with pytest.raises(ValueError, match="needs the hyperparameter global_batch_size"):
            _trial.batch_sizes({"global_batch_size": wrong}, 1)
    with pytest.raises(ValueError, match="too small for 4 slots"):
        _trial.batch_sizes({"global_batch_size": 3}, 4)


def test_context() -> None:
    config = {"data": {"url": "u"}, "hyperparameters": {"a": {"type": "const", "val": 1}}}
    context = det.TrialContext.from_config(config)
    assert context.get_hparams() == {"a": 1} and context.get_data_config() == {"url": "u"}
    assert context.get_experiment_config() == config and context.get_trial_seed() == 0
    assert context.get_initial_batch() == 0 and context.get_tensorboard_path().is_dir()
    context.set_stop_requested(True)
    assert context.get_stop_requested()
    with pytest.raises(TypeError, match="is a bool"):
        context.set_stop_requested(1)  # type: ignore[arg-type]
    env = EnvContext(config, {}, det_trial_id="12", det_experiment_id="5")
    assert (det.TrialContext(context._core, env).get_trial_id(), env.managed_training) == (
        12,
        False,
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"batches": 7}, 7),
        ({"records": 100}, 12),
        ({"records": 1}, 1),
        ({"epochs": 2}, 10),
        (9, 9),
        ({"batches": 0}, None),
        ({"epochs": 0}, None),
        ({}, None),
        (None, None),
    ],
)
def test_lengths(value: Any, expected: Any) -> None:
    assert Lengths(8, 40).period({"period": value}, "period") == expected


def test_lengths_that_mean_nothing() -> None:
    with pytest.raises(ValueError, match="set records_per_epoch"):
        Lengths(8).period({"p": {"epochs": 1}}, "p")
    with pytest.raises(ValueError, match="p counts 'minutes'"):
        Lengths(8).period({"p": {"minutes": 1}}, "p")
    assert Lengths(8).batches_per_epoch is None and Lengths(8, 4).batches_per_epoch == 1


class Items:
    """A Sequence that records which of its items were read."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.ends = 0

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        return [index], [index]

    def on_epoch_end(self) -> None:
        self.ends += 1


def read(done: int, count: int, **settings: Any) -> List[int]:
    batches = _data.training_batches(Items(4), _data.FitSettings(**settings), 7, done)
    return [next(batches).x[0] for _ in range(count)]


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_batches_go_on_where_they_stopped(workers: int) -> None:
    whole = read(0, 12, workers=workers, max_queue_size=2)
    assert sorted(whole[:4]) == sorted(whole[4:8]) == [0, 1, 2, 3]
    assert whole[:4] != whole[4:8]
    for done in range(9):
        assert read(done, 3, workers=workers) == whole[done : done + 3]
    assert read(0, 5, shuffle=False) == [0, 1, 2, 3, 0]


def test_sequences_hear_of_the_end_of_a_pass() -> None:
    items = Items(3)
    batches = _data.training_batches(items, _data.FitSettings(), 0, 0)
    for _ in range(7):
        next(batches)
    assert items.ends == 2
    with pytest.raises(ValueError, match="no training data"):
        next(_data.training_batches(Items(0), _data.FitSettings(), 0, 0))


def test_an_item_that_cannot_be_made() -> None:
    class Broken(Items):
        def __getitem__(self, index: int) -> Any:
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        next(_data.training_batches(Broken(3), _data.FitSettings(), 0, 0))


# The version of Keras.


def test_keras_2_for_trial_classes(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.delenv("TF_USE_LEGACY_KERAS", raising=False)
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    _backend.prefer_keras_2()
    assert "TF_USE_LEGACY_KERAS" not in os.environ
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    _backend.prefer_keras_2()
    assert os.environ["TF_USE_LEGACY_KERAS"] == "1"
    # A user's own setting has precedence.
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "0")
    _backend.prefer_keras_2()
    assert os.environ["TF_USE_LEGACY_KERAS"] == "0"


# The programs that start trials.


def environment(**more: str) -> Dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name.startswith("DET_")}
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        **kept,
        **more,
    }


def launch(*words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "determined.launch.torch_distributed", *words]
    return subprocess.run(
        command, env=environment(**more), capture_output=True, text=True, check=False
    )


def test_a_trial_class_on_one_slot(stub: Stub, make_task: MakeTask, code: pathlib.Path) -> None:
    make_task()
    done = launch("--", "--trial", "model_def:Own")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[rank=0] rank 0 of 1\n"
    assert stub.values("training", 1) == {"seen": 0.1}


def test_a_trial_class_on_two_slots(stub: Stub, make_task: MakeTask, code: pathlib.Path) -> None:
    make_task(DET_SLOT_IDS="[0,1]", INTER_TRAIN_PROCESS_COMM_PORT_1=str(free_port()))
    port = os.environ["INTER_TRAIN_PROCESS_COMM_PORT_1"]
    done = launch("--trial", "model_def:Own", INTER_TRAIN_PROCESS_COMM_PORT_1=port)
    assert done.returncode == 0, done.stderr
    assert sorted(line for line in done.stdout.splitlines() if "of" in line) == [
        "[rank=0] rank 0 of 2",
        "[rank=1] rank 1 of 2",
    ]


def test_one_failure_ends_all(stub: Stub, make_task: MakeTask, code: pathlib.Path) -> None:
    """The other worker waits for the one that failed, and is ended too."""
    hparams = json.dumps({"lr": 0.1, "fail": 1})
    make_task(DET_SLOT_IDS="[0,1]", DET_HPARAMS=hparams)
    port = str(free_port())
    done = launch("--trial", "model_def:Own", INTER_TRAIN_PROCESS_COMM_PORT_1=port)
    assert done.returncode != 0


def test_harness_off_the_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    assert harness.main(["model_def:Own"]) == 2
    assert "is not a trial" in capsys.readouterr().err


def test_user_code(
    tmp_path: pathlib.Path, code: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code / "__pycache__").mkdir()
    (code / "checkpoints" / "one").mkdir(parents=True)
    (code / "sub").mkdir()
    (code / "sub" / "a.py").write_text("")
    det.util.write_user_code(code / "checkpoints" / "one", on_cluster=False)
    copied = code / "checkpoints" / "one" / "code"
    names = sorted(p.relative_to(copied).as_posix() for p in copied.rglob("*"))
    assert names == ["model_def.py", "sub", "sub/a.py"]
    # In a cluster, files that training has written are not part of the code.
    submitted = tmp_path / "run" / "train" / "model"
    submitted.mkdir(parents=True)
    (submitted / "model_def.py").write_text("")
    monkeypatch.setenv("DET_RUN_DIR", str(tmp_path / "run"))
    began = (submitted / "model_def.py").stat().st_ctime
    monkeypatch.setattr(det.util, "_STARTED", began)
    while (submitted / "data.bin").exists() is False or (
        (submitted / "data.bin").stat().st_ctime <= began
    ):
        (submitted / "data.bin").write_text("downloaded")
    det.util.write_user_code(tmp_path / "checkpoint", on_cluster=True)
    assert [p.name for p in (tmp_path / "checkpoint" / "code").iterdir()] == ["model_def.py"]


def free_port() -> int:
    import socket  # noqa: PLC0415

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
