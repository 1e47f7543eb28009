"""PyTorch trials; they need PyTorch, which the environment ``torch`` has (just torch-test)."""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import subprocess
import sys
import time
from typing import Any, Dict, Iterator, List

import pytest

from tests.stub_master import Stub

torch = pytest.importorskip("torch")

import determined as det  # noqa: E402
from determined import core, pytorch, tensorboard  # noqa: E402
from determined.exec import harness  # noqa: E402
from determined.experimental import test_one_batch  # noqa: E402
from determined.pytorch import _chief, _units, samplers  # noqa: E402
from determined.pytorch._lr_scheduler import LRScheduler  # noqa: E402
from determined.tensorboard.metric_writers.pytorch import TorchWriter  # noqa: E402
from tests.pytorch_trial import Data, Line  # noqa: E402

HERE = pathlib.Path(__file__).parent


@pytest.fixture(autouse=True)
def in_order(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> Iterator[None]:
    torch.set_num_threads(1)
    code = tmp_path / "code"
    code.mkdir()
    monkeypatch.chdir(code)
    yield


class Recorder(pytorch.PyTorchCallback):
    def __init__(self) -> None:
        self.calls: List[str] = []
        self.uuids: Dict[int, str] = {}

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("on_"):
            object.__getattribute__(self, "calls").append(name)
        return object.__getattribute__(self, name)

    def on_checkpoint_save_start(self, checkpoint: Dict[str, Any]) -> None:
        self.keys = set(checkpoint)

    def on_checkpoint_upload_end(self, uuid: str) -> None:
        self.uuids[len(self.uuids)] = uuid


class Recorded(Line):
    def build_callbacks(self) -> Dict[str, pytorch.PyTorchCallback]:
        self.recorder = Recorder()
        return {"recorder": self.recorder}


def fit(
    trial_class: Any = Recorded,
    stop_at: int = -1,
    init: Any = None,
    context_does: Any = None,
    **arguments: Any,
) -> Any:
    with pytorch.init(**{"hparams": {"dropout": 0.5}, **(init or {})}) as context:
        if context_does is not None:
            context_does(context)
        trial = trial_class(context)
        trial.stop_at = stop_at
        pytorch.Trainer(trial, context).fit(**arguments)
    return trial


def flat(lists: Any) -> List[int]:
    return [item for one in lists for item in one]


def weights(trial: Any) -> Any:
    return [parameter.tolist() for parameter in trial.model.parameters()]


def test_units_are_periods_or_schedules() -> None:
    assert [pytorch.Batch(3).should_stop(step) for step in range(7)] == [
        False, False, False, True, False, False, True,
    ]  # fmt: skip
    assert pytorch.Batch(0).should_stop(0) and pytorch.Epoch(-1).should_stop(5)
    assert [step for step in range(9) if pytorch.Epoch([2, 5]).should_stop(step)] == [2, 5]
    with pytest.raises(TypeError):
        pytorch.Batch(3.5)  # type: ignore[arg-type]


def test_zero_in_the_configuration_is_never() -> None:
    assert _units.from_config(0, 8, "p") is None
    assert _units.from_config({"batches": 0}, 8, "p") is None
    assert repr(_units.from_config({"epochs": 2}, 8, "p")) == "Epoch(2)"
    assert repr(_units.from_config({"records": 17}, 8, "p")) == "Batch(2)"
    assert repr(_units.from_config({"records": 3}, 8, "p")) == "Batch(1)"
    with pytest.raises(ValueError, match="global_batch_size"):
        _units.from_config({"records": 3}, None, "p")


def test_repeat_then_shard_then_skip() -> None:
    whole = torch.utils.data.BatchSampler(range(10), 3, False)
    mine = pytorch.adapt_batch_sampler(whole, repeat=True, skip=1, num_replicas=2, rank=1)
    assert list(itertools.islice(mine, 3)) == [[9], [3, 4, 5], [9]]
    assert len(mine) == 2
    odd = samplers.DistributedBatchSampler(whole, 3, 0)
    assert (len(odd), list(odd)) == (2, [[0, 1, 2], [9]])


def test_shuffles_go_on_from_epoch_to_epoch() -> None:
    order = samplers.ReproducibleShuffleSampler(range(8), 7)
    again = samplers.ReproducibleShuffleSampler(range(8), 7)
    first, second = list(order), list(order)
    assert first != second and sorted(first) == sorted(second) == list(range(8))
    assert [list(again), list(again)] == [first, second]


@pytest.mark.parametrize(
    ("mode", "frequency", "aggregation", "expected"),
    [
        # Epochs have five batches. The batches that a step of the scheduler follows.
        ("STEP_EVERY_BATCH", 1, 2, {1: 2, 3: 2, 5: 2, 7: 2, 9: 2}),
        ("STEP_EVERY_BATCH", 2, 2, {1: 1, 3: 1, 5: 1, 7: 1, 9: 1}),
        ("STEP_EVERY_OPTIMIZER_STEP", 1, 2, {1: 1, 3: 1, 5: 1, 7: 1, 9: 1}),
        ("STEP_EVERY_OPTIMIZER_STEP", 2, 2, {3: 1, 7: 1}),
        ("STEP_EVERY_EPOCH", 1, 1, {4: 1, 9: 1}),
        ("STEP_EVERY_EPOCH", 1, 2, {3: 1, 9: 1}),
        ("STEP_EVERY_EPOCH", 2, 1, {9: 1}),
        ("MANUAL_STEP", 1, 1, {}),
    ],
)
def test_schedulers_step(mode: str, frequency: int, aggregation: int, expected: Any) -> None:
    scheduler = LRScheduler(None, LRScheduler.StepMode[mode], frequency)
    stepping = range(aggregation - 1, 10, aggregation)
    found = {batch: scheduler._steps_after(batch, aggregation, 5) for batch in stepping}
    assert {batch: times for batch, times in found.items() if times} == expected


def test_plateau_schedulers_are_stepped_by_hand() -> None:
    context = pytorch.CheckpointLoadContext()
    optimizer = context.wrap_optimizer(torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), 0.1))
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    modes = LRScheduler.StepMode
    with pytest.raises(ValueError, match="MANUAL_STEP"):
        context.wrap_lr_scheduler(plateau, modes.STEP_EVERY_EPOCH)
    assert context.wrap_lr_scheduler(plateau, modes.MANUAL_STEP) is plateau


def test_aggregation_averages_clips_and_steps_in_order() -> None:
    context = pytorch.CheckpointLoadContext()
    context._aggregation_frequency = 2
    model = context.wrap_model(torch.nn.Linear(1, 1, bias=False))
    optimizer = context.wrap_optimizer(torch.optim.SGD(model.parameters(), 1.0))
    before = model.weight.item()
    clipped: List[float] = []
    for batch in range(2):
        context._batch_idx = batch
        context.backward(model(torch.ones(1, 1) * (batch + 1)).sum())
        context.step_optimizer(
            optimizer, clip_grads=lambda params: clipped.extend(p.grad.item() for p in params)
        )
    assert clipped == [1.5]
    assert model.weight.item() == pytest.approx(before - 1.5)
    assert not any(p.grad is not None and p.grad.any() for p in model.parameters())
    with pytest.raises(ValueError, match="auto_zero_grads"):
        context.step_optimizer(optimizer, auto_zero_grads=False)


def test_mixed_precision_comes_before_models_and_ends_with_them() -> None:
    with pytorch.init() as context:
        context.experimental.use_amp()
        model = context.wrap_model(torch.nn.Linear(2, 2))
        assert model(torch.ones(1, 2)).dtype == torch.float32
        with pytest.raises(RuntimeError, match="before wrap_model"):
            context.wrap_scaler(object())


def test_reducers() -> None:
    reduce = pytorch._simple_reduce_metrics
    assert reduce(pytorch.Reducer.AVG, [1.0, 2.0, 4.0], [1, 2, 3]) == pytest.approx(17 / 6)
    assert [reduce(r, [1, 5]) for r in (pytorch.Reducer.SUM, pytorch.Reducer.MAX)] == [6, 5]
    context = pytorch._PyTorchReducerContext(lambda mine: [mine, mine])
    total = context.wrap_reducer(sum, name="total")
    loose = context.wrap_reducer(lambda values: {"n": len(values)}, for_training=False)
    total.update(3)
    loose.update(1)
    assert context.reduce_metrics(for_training=True) == {"total": 6}
    assert context.reduce_metrics(for_training=False) == {"total": 6, "n": 2}
    context.reset_reducers()
    assert context.reduce_metrics(for_training=True) == {"total": 0}
    context.wrap_reducer(len, name="total")
    with pytest.raises(ValueError, match="total"):
        context.reduce_metrics(for_training=True)


def test_a_run_off_the_cluster() -> None:
    trial = fit(
        max_length=pytorch.Epoch(2),
        validation_period=pytorch.Epoch(1),
        checkpoint_period=pytorch.Batch(5),
    )
    assert sorted(trial.seen) == list(range(12))
    for epoch in (range(6), range(6, 12)):
        assert sorted(flat(trial.seen[batch] for batch in epoch)) == list(range(24))
    calls = trial.recorder.calls
    assert calls[:3] == ["on_trial_startup", "on_training_start", "on_training_epoch_start"]
    assert calls[-1] == "on_trial_shutdown"
    # Checkpoints at batches 5 and 10, and with the validations at 6 and 12.
    assert len(trial.recorder.uuids) == 4
    assert calls.count("on_validation_end") == 2
    assert trial.recorder.keys >= {
        "models_state_dict", "optimizers_state_dict", "lr_schedulers_state_dict", "rng_state",
    }  # fmt: skip


def test_a_killed_trial_goes_on_exactly() -> None:
    """Killed in the second epoch, it resumes with the same next batches and final weights."""
    torch.manual_seed(11)
    periods: Any = {"max_length": pytorch.Epoch(4), "validation_period": pytorch.Epoch(1)}
    whole = fit(**periods)
    torch.manual_seed(11)
    part = fit(stop_at=8, checkpoint_period=pytorch.Batch(9), **periods)
    assert max(part.seen) == 8
    torch.manual_seed(12345)
    rest = fit(latest_checkpoint=part.recorder.uuids[len(part.recorder.uuids) - 1], **periods)
    assert min(rest.seen) == 9
    assert {**part.seen, **rest.seen} == whole.seen
    assert {**part.losses, **rest.losses} == whole.losses
    assert weights(rest) == weights(whole)


def test_what_trials_must_say() -> None:
    class Bare(Line):
        def build_training_data_loader(self) -> Any:
            return torch.utils.data.DataLoader(Data(8), batch_size=2)

    class Both(Line):
        def evaluate_full_dataset(self, data_loader: Any) -> Dict[str, Any]:
            return {}

    length = pytorch.Batch(3)
    with pytest.raises(RuntimeError, match="disable_dataset_reproducibility_checks"):
        fit(Bare, max_length=length)
    with pytest.raises(ValueError, match="exactly one"):
        fit(Both, max_length=length)
    with pytest.raises(ValueError, match="max_length"):
        fit()
    with pytorch.init() as context:
        with pytest.raises(RuntimeError, match="hparams"):
            context.get_hparams()
    trial = fit(
        Bare,
        max_length=length,
        context_does=lambda c: c.experimental.disable_dataset_reproducibility_checks(),
    )
    assert sorted(trial.seen) == [0, 1, 2]


def test_a_checkpoint_is_loaded_anywhere(tmp_path: pathlib.Path) -> None:
    trial = fit(max_length=pytorch.Batch(2))
    folder = pathlib.Path(os.environ["XDG_DATA_HOME"], "determined", trial.recorder.uuids[0])
    names = {path.name for path in folder.iterdir()}
    assert names >= {"state_dict.pth", "trial_state.pkl", "load_data.json", "code"}
    found = pytorch.load_trial_from_checkpoint_path(str(folder), trial_class=Recorded)
    assert weights(found) == weights(trial)
    # As one of several workers wrote it, with the names of the oldest releases.
    state = torch.load(folder / "state_dict.pth", weights_only=False)
    old = {f"module.{name}": value for name, value in state["models_state_dict"][0].items()}
    torch.save({"model_state_dict": old}, folder / "checkpoint.pt")
    (folder / "state_dict.pth").unlink()
    found = pytorch.load_trial_from_checkpoint_path(folder, trial_class=Recorded)
    assert weights(found) == weights(trial)


def run_ranks(folder: pathlib.Path, ranks: int, batch: int, **more: str) -> Any:
    out = folder / f"out{ranks}"
    command = [sys.executable]
    if ranks > 1:
        command += ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    command += [str(HERE / "pytorch_trial.py"), str(out), "1", "12"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(HERE.parent),
        "OMP_NUM_THREADS": "1",
        "TEST_BATCH": str(batch),
        **more,
    }
    done = subprocess.run(
        command, check=False, env=environment, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(pathlib.Path(f"{out}.{rank}").read_text()) for rank in range(ranks)]


@pytest.mark.nightly
def test_more_workers_learn_the_same(tmp_path: pathlib.Path) -> None:
    """One, two and four ranks with the same global batches: losses differ by rounding alone."""
    one = run_ranks(tmp_path, 1, 8, TEST_IN_ORDER="1")
    for ranks in (2, 4):
        found = run_ranks(tmp_path, ranks, 8 // ranks, TEST_IN_ORDER="1")
        assert found[0]["reported"] == pytest.approx(one[0]["reported"], rel=1e-4)
        assert all(worker["weights"] == found[0]["weights"] for worker in found)
        batches = [sorted(flat(w["seen"][str(b)] for w in found)) for b in range(3)]
        assert sorted(flat(batches)) == list(range(24))


class FakeDistributed:
    """The two ends of a broadcast, in one process."""

    size = 2

    def __init__(self, rank: int, sent: List[Any]) -> None:
        self.rank = rank
        self.sent = sent

    def broadcast(self, stuff: Any) -> Any:
        if self.rank == 0:
            self.sent.append(stuff)
            return stuff
        return self.sent.pop(0)


def test_the_chief_may_take_long() -> None:
    sent: List[Any] = []

    def work() -> Dict[str, Any]:
        deadline = time.monotonic() + 60
        while len(sent) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        return {"auc": 0.5}

    chief: Any = FakeDistributed(0, sent)
    assert _chief.on_chief(chief, work, 0.01) == {"auc": 0.5}
    assert len(sent) > 3
    other: Any = FakeDistributed(1, sent)
    assert _chief.on_chief(other, work, 0.01) == {"auc": 0.5}

    def fail() -> Dict[str, Any]:
        raise KeyError("labels")

    with pytest.raises(KeyError):
        _chief.on_chief(chief, fail, 60)
    with pytest.raises(RuntimeError, match="labels"):
        _chief.on_chief(other, fail, 60)


def test_an_entrypoint_names_the_class(
    stub: Stub, make_task: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The configuration sets length and periods; a period of zero means never."""
    config = {
        "name": "line",
        "searcher": {"name": "single", "metric": "val_loss", "max_length": {"records": 40}},
        "min_validation_period": {"batches": 5},
        "min_checkpoint_period": {"batches": 0},
        "checkpoint_policy": "none",
        "scheduling_unit": 4,
        "checkpoint_storage": {"type": "shared_fs", "host_path": "/host"},
        "resources": {"slots_per_trial": 1},
    }
    reports: List[Any] = []

    def note(self: Any, **report: Any) -> None:
        reports.append((report["steps_completed"], sorted(report["metrics"])))

    make_task(config, DET_HPARAMS=json.dumps({"global_batch_size": 4, "dropout": 0.0}))
    for name in ("report_training_metrics", "report_validation_metrics"):
        monkeypatch.setattr(core.TrainContext, name, note)
    monkeypatch.setattr(core.TrainContext, "get_experiment_best_validation", lambda self: None)
    monkeypatch.setattr(core.TrainContext, "set_status", lambda self, status: None)
    monkeypatch.setattr(core.TrainContext, "report_progress", lambda self, progress: None)
    monkeypatch.setattr(core.PreemptContext, "should_preempt", lambda self: False)
    saved: List[int] = []
    store = core.CheckpointContext.store_path

    def store_path(self: Any, metadata: Any, **more: Any) -> Any:
        saved.append(metadata["steps_completed"])
        return store(self, metadata, **more)

    monkeypatch.setattr(core.CheckpointContext, "store_path", store_path)
    assert harness.main(["tests.pytorch_trial:Line"]) == 0
    training, validation = ["batches", "epochs", "loss"], ["batches", "epochs", "val_loss"]
    assert reports == [
        (4, training), (5, training), (5, validation),
        (8, training), (10, training), (10, validation),
    ]  # fmt: skip
    assert saved == [10]


def test_a_writer_of_pytorchs(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setenv("DET_RUN_DIR", str(tmp_path))
    drawer = tensorboard.BatchMetricWriter(TorchWriter())
    drawer.on_train_step_end(2, {"loss": 0.5})
    (file,) = tensorboard.get_base_path({}).iterdir()
    assert b"Determined/loss" in file.read_bytes()


def test_one_batch_of_a_class() -> None:
    made: List[Any] = []

    class Kept(Line):
        def __init__(self, context: Any) -> None:
            super().__init__(context)
            made.append(self)

    rate = {"type": "double", "minval": 0.0, "maxval": 0.5}
    test_one_batch(Kept, {"hyperparameters": {"dropout": rate}})
    assert list(made[0].seen) == [0]
    with pytest.raises(TypeError, match="Own is neither"):
        test_one_batch(type("Own", (det.LegacyTrial,), {"_trainer": "json.decoder"}))


def test_the_example_learns(tmp_path: pathlib.Path) -> None:
    folder = HERE.parent / "examples" / "shapes_pytorch"
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(folder / "train.py")]
    done = subprocess.run(
        command,
        check=False,
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    stored = pathlib.Path(os.environ["XDG_DATA_HOME"], "determined")
    last = max(stored.iterdir(), key=lambda path: path.stat().st_mtime)
    # The checkpoint brings its own code.
    trial: Any = pytorch.load_trial_from_checkpoint_path(last)
    losses = [trial.evaluate_batch(batch) for batch in trial.build_validation_data_loader()]
    assert sum(float(found["accuracy"]) for found in losses) / len(losses) > 0.9
    images = torch.zeros(1, 1, 8, 8)
    images[0, 0, 3, :] = 1
    assert trial.model(images).argmax(1).item() == 0
