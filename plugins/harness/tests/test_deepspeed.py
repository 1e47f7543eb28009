"""DeepSpeed trials; they need PyTorch, and most need DeepSpeed (just torch-test)."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import runpy
import shutil
import subprocess
import sys
import types
from typing import Any, Dict, Iterator, List, Optional

import pytest

torch = pytest.importorskip("torch")

from determined import core, errors, pytorch  # noqa: E402
from determined._env import EnvContext  # noqa: E402
from determined.exec import harness  # noqa: E402
from determined.experimental import test_one_batch  # noqa: E402
from determined.pytorch import deepspeed as det_ds  # noqa: E402
from determined.pytorch.deepspeed import _engine  # noqa: E402
from tests.conftest import CONFIG, MakeTask  # noqa: E402
from tests.stub_master import Stub  # noqa: E402

HERE = pathlib.Path(__file__).parent
HAS_DEEPSPEED = importlib.util.find_spec("deepspeed") is not None
real = pytest.mark.skipif(not HAS_DEEPSPEED, reason="needs DeepSpeed; just torch-test has it")


def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the variables that a worker without a launcher sets for DeepSpeed."""
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def in_order(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> Iterator[None]:
    torch.set_num_threads(1)
    new_process(monkeypatch)
    code = tmp_path / "code"
    code.mkdir()
    monkeypatch.chdir(code)
    yield


# Without DeepSpeed.


class FakeEngine:
    """The methods of a model engine that a context calls."""

    training = True

    def __init__(self, micro_batch: int = 2, accumulation: int = 3) -> None:
        self.micro_batch = micro_batch
        self.accumulation = accumulation

    def to(self, device: Any) -> FakeEngine:
        self.device = device
        return self

    def train_micro_batch_size_per_gpu(self) -> int:
        return self.micro_batch

    def gradient_accumulation_steps(self) -> int:
        return self.accumulation


def fake_context() -> det_ds.DeepSpeedTrialContext:
    env = EnvContext.from_config({"hyperparameters": {"lr": 0.1}})
    return det_ds.DeepSpeedTrialContext(core._dummy_init(), env, env.hparams)


def test_a_configuration_is_overwritten(tmp_path: pathlib.Path) -> None:
    base = {"optimizer": {"type": "Adam", "params": {"lr": 1}}, "fp16": {"enabled": True}}
    over = {"optimizer": {"params": {"lr": 2, "betas": [0.9, 0.99]}}, "train_batch_size": 8}
    wanted = {
        "optimizer": {"type": "Adam", "params": {"lr": 2, "betas": [0.9, 0.99]}},
        "fp16": {"enabled": True},
        "train_batch_size": 8,
    }
    assert det_ds.overwrite_deepspeed_config(base, over) == wanted
    assert base["optimizer"] == {"type": "Adam", "params": {"lr": 1}}
    file = tmp_path / "ds.json"
    file.write_text(json.dumps(base))
    assert det_ds.overwrite_deepspeed_config(str(file), over) == wanted
    file.write_text('{"a": 1, "a": 2}')
    with pytest.raises(ValueError, match="names a twice"):
        det_ds.overwrite_deepspeed_config(str(file), {})
    with pytest.raises(TypeError, match="not list"):
        det_ds.overwrite_deepspeed_config([], {})  # type: ignore[arg-type]


def test_a_worker_has_a_place_in_the_grid() -> None:
    def unit(stage: int, slice_rank: int = 0) -> det_ds.ModelParallelUnit:
        grid = types.SimpleNamespace(
            get_pipe_parallel_rank=lambda: stage,
            get_pipe_parallel_world_size=lambda: 3,
            get_slice_parallel_rank=lambda: slice_rank,
            get_data_parallel_rank=lambda: 1,
            get_data_parallel_world_size=lambda: 2,
        )
        return det_ds.make_deepspeed_mpu(grid)

    assert unit(0) == det_ds.ModelParallelUnit(1, 2, True, True)
    assert [unit(stage).should_build_data_loader for stage in range(3)] == [True, False, True]
    assert not unit(2, slice_rank=1).should_build_data_loader
    alone = det_ds.make_data_parallel_mpu(core.DummyDistributedContext())
    assert alone == det_ds.ModelParallelUnit(0, 1, True, True)


def test_the_first_engine_says_how_large_batches_are() -> None:
    context = fake_context()
    with pytest.raises(errors.InvalidExperimentException, match="wrap_model_engine"):
        context.get_train_micro_batch_size_per_gpu()
    unit = det_ds.ModelParallelUnit(0, 1, False, True)
    with pytest.raises(errors.InvalidExperimentException, match="before set_mpu"):
        context.set_mpu(unit)
    engine: Any = FakeEngine()
    assert context.wrap_model_engine(engine) is engine and engine.device == context.device
    context.wrap_model_engine(FakeEngine(micro_batch=5))
    assert context.get_train_micro_batch_size_per_gpu() == 2
    assert context.get_num_micro_batches_per_slot() == 3
    with pytest.warns(FutureWarning, match="get_num_micro_batches_per_slot"):
        assert context.num_micro_batches_per_slot == 3
    assert not context.use_pipeline_parallel
    context.wrap_mpu(unit)
    with pytest.raises(errors.InvalidExperimentException, match="once"):
        context.set_mpu(unit)
    assert len(context.models) == 2 and context.get_hparam("lr") == 0.1


def test_micro_batches_are_averaged() -> None:
    found = [{"loss": torch.tensor(1.0), "n": 1, "s": "a"}, {"loss": torch.tensor(2.0), "n": 4}]
    assert _engine._means([]) == {} and _engine._means(found[:1]) == found[0]
    means = _engine._means(found[::-1])
    assert (float(means["loss"]), means["n"], means["s"]) == (1.5, 2.5, "a")


def test_deepspeed_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deepspeed", None)
    with pytest.raises(ImportError, match="pip install deepspeed"):
        with det_ds.init():
            raise AssertionError("there is no DeepSpeed to begin with")


def test_slots_need_a_launcher(make_task: MakeTask) -> None:
    make_task(DET_SLOT_IDS="[0,1]")
    with pytest.raises(ValueError, match=r"2 slots.*determined\.launch\.deepspeed"):
        with det_ds.init():
            raise AssertionError("one process has begun to train for two slots")


# With DeepSpeed, on one worker.


def fit(trial_class: Any = None, hparams: Optional[Dict[str, Any]] = None, **arguments: Any) -> Any:
    from tests import deepspeed_trial  # noqa: PLC0415

    return deepspeed_trial.fit(trial_class or deepspeed_trial.Line, hparams, **arguments)


def flat(lists: Any) -> List[int]:
    return [item for one in lists for item in one]


def files(folder: pathlib.Path) -> List[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@real
def test_a_killed_trial_goes_on_exactly() -> None:
    """Killed in the second epoch, it resumes with the same next batches and final weights."""
    periods: Any = {"max_length": pytorch.Epoch(3), "validation_period": pytorch.Epoch(1)}
    torch.manual_seed(11)
    whole = fit(**periods)
    # 24 records in micro batches of 2, two of them a step.
    assert sorted(whole.seen) == list(range(18))
    assert sorted(flat(whole.seen[batch] for batch in range(6))) == list(range(24))
    assert [len(losses) for losses in whole.losses.values()] == [2] * 18
    assert [report["batches"] for report in whole.recorder.reports] == [6, 12, 18]
    first = whole.recorder.reports[0]["loss"]
    assert first == pytest.approx(sum(flat(whole.losses[b] for b in range(6))) / 12, rel=1e-5)
    assert whole.recorder.validations[-1]["val_loss"] < whole.recorder.validations[0]["val_loss"]
    torch.manual_seed(11)
    part = fit(hparams={"stop_at": 8}, checkpoint_period=pytorch.Batch(9), **periods)
    assert max(part.seen) == 8
    stored = pathlib.Path(os.environ["XDG_DATA_HOME"], "determined", part.recorder.uuids[-1])
    assert set(files(stored)) >= {
        "model0/mp_rank_00_model_states.pt", "det_state_dict_rank0.pth", "trial_state.pkl",
        "load_data.json", "latest", "metadata.json",
    }  # fmt: skip
    load_data = json.loads((stored / "load_data.json").read_text())
    assert load_data["trial_type"] == "DeepSpeedTrial" and load_data["hparams"]["stop_at"] == 8
    with pytest.raises(ValueError, match="is of a DeepSpeedTrial"):
        pytorch.load_trial_from_checkpoint_path(stored)
    torch.manual_seed(12345)
    rest = fit(latest_checkpoint=part.recorder.uuids[-1], **periods)
    assert min(rest.seen) == 9 and rest.recorder.loaded == {"reports": len(part.recorder.reports)}
    assert {**part.seen, **rest.seen} == whole.seen
    assert {**part.losses, **rest.losses} == whole.losses
    assert rest.weights() == whole.weights()


@real
def test_what_trials_must_say() -> None:
    from tests.deepspeed_trial import HPARAMS, Line, Pairs  # noqa: PLC0415

    class Half(Line):
        """Trains on one micro batch, and should train on two."""

        def __init__(self, context: Any) -> None:
            super().__init__(context)
            context.disable_auto_grad_accumulation()

    class Bare(Line):
        def build_training_data_loader(self) -> Any:
            return torch.utils.data.DataLoader(Pairs(8), batch_size=2)

    class Unwrapped(Line):
        def __init__(self, context: Any) -> None:
            self.context = context

    length = pytorch.Batch(2)
    with pytest.raises(errors.InvalidExperimentException, match="gradient_accumulation_steps, 2"):
        fit(Half, max_length=length)
    with pytest.raises(RuntimeError, match=r"call context\.disable_dataset_reproducibility_checks"):
        fit(Bare, max_length=length)
    with pytest.raises(errors.InvalidExperimentException, match="wrap_model_engine"):
        fit(Unwrapped, max_length=length)
    with pytest.raises(ValueError, match="12 micro batches for each worker, and a step takes 13"):
        fit(hparams={"accumulation": 13}, max_length=length)
    with det_ds.init(hparams=HPARAMS) as context:
        with pytest.raises(TypeError, match="DeepSpeedTrial"):
            det_ds.Trainer(object(), context)  # type: ignore[arg-type]


@real
def test_two_engines_and_all_data_at_once() -> None:
    """As in a GAN: each engine has its part of a checkpoint, and continues from it."""
    import deepspeed  # noqa: PLC0415

    from tests.deepspeed_trial import Line, configuration  # noqa: PLC0415

    class Two(Line):
        def __init__(self, context: Any) -> None:
            super().__init__(context)
            self.drawn = torch.nn.Linear(4, 1)
            engine, *_ = deepspeed.initialize(
                model=self.drawn,
                model_parameters=self.drawn.parameters(),
                config=configuration(self.hparams),
            )
            self.other = context.wrap_model_engine(engine)

        def train_batch(self, dataloader_iter: Any, epoch_idx: int, batch_idx: int) -> Any:
            loss = self.other(torch.ones(2, 4)).square().mean()
            self.other.backward(loss)
            self.other.step()
            return {"other": loss, **super().train_batch(dataloader_iter, epoch_idx, batch_idx)}

        evaluate_batch: Any = det_ds.DeepSpeedTrial.evaluate_batch

        def evaluate_full_dataset(self, data_loader: Any) -> Dict[str, Any]:
            return {"records": sum(len(batch[0]) for batch in data_loader)}

    trial = fit(Two, max_length=pytorch.Batch(2))
    assert trial.recorder.validations == [{"records": 16.0}]
    assert set(trial.recorder.reports[0]) == {"loss", "other", "batches", "epochs"}
    uuid = trial.recorder.uuids[-1]
    stored = pathlib.Path(os.environ["XDG_DATA_HOME"], "determined", uuid)
    assert {path.name for path in stored.iterdir()} >= {"model0", "model1", "code"}
    again = fit(Two, max_length=pytorch.Batch(2), latest_checkpoint=uuid)
    assert not again.seen and again.weights() == trial.weights()
    assert [p.tolist() for p in again.drawn.parameters()] == [
        p.tolist() for p in trial.drawn.parameters()
    ]
    shutil.rmtree(stored / "model1")
    with pytest.raises(ValueError, match="cannot load model1"):
        fit(Two, max_length=pytorch.Batch(2), latest_checkpoint=uuid)


@real
def test_a_loader_of_deepspeeds_own() -> None:
    """RepeatingLoader has no length; both micro batches of a step in one call."""
    import deepspeed  # noqa: PLC0415

    from tests.deepspeed_trial import Line  # noqa: PLC0415

    class Own(Line):
        def __init__(self, context: Any) -> None:
            super().__init__(context)
            context.disable_dataset_reproducibility_checks()
            context.disable_auto_grad_accumulation()

        def train_batch(self, dataloader_iter: Any, epoch_idx: int, batch_idx: int) -> Any:
            super().train_batch(dataloader_iter, epoch_idx, batch_idx)
            return super().train_batch(dataloader_iter, epoch_idx, batch_idx)

        def build_training_data_loader(self) -> Any:
            loader = super().build_training_data_loader().get_data_loader()
            return deepspeed.utils.RepeatingLoader(loader)

    trial = fit(Own, max_length=pytorch.Epoch(2))
    assert sorted(flat(trial.seen[batch] for batch in range(6))) == list(range(24))
    assert len(flat(trial.seen.values())) == 48


CLASS = {
    **CONFIG,
    "searcher": {"name": "single", "metric": "val_loss", "max_length": {"batches": 9}},
    "min_validation_period": {"epochs": 1},
    "checkpoint_policy": "none",
    "scheduling_unit": 4,
}


@real
def test_an_entrypoint_names_the_class(
    stub: Stub, make_task: MakeTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The configuration says how long and how often; a preempted trial continues."""
    changes: Any = {"DET_HPARAMS": json.dumps({"global_batch_size": 4})}
    make_task(CLASS, **changes)
    stub.change(preempt=True)
    assert harness.main(["tests.deepspeed_trial:Line"]) == 0
    assert (stub.steps("training"), stub.steps("validation")) == ([4], [])
    ((uuid, checkpoint),) = stub.checkpoints.items()
    assert checkpoint["metadata"]["steps_completed"] == 4
    assert checkpoint["metadata"]["framework"].startswith("torch-")
    stub.change(preempt=False)
    new_process(monkeypatch)
    make_task(CLASS, **changes, DET_LATEST_CHECKPOINT=uuid, DET_STEPS_COMPLETED="4")
    assert harness.main(["tests.deepspeed_trial:Line"]) == 0
    assert stub.steps("training") == [4, 6, 8, 9]
    assert stub.steps("validation") == [6, 9]
    assert set(stub.values("validation", 9)) == {"val_loss", "batches", "epochs"}


@real
def test_the_example_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    # The import keeps DeepSpeed from compiling.
    from tests import deepspeed_trial  # noqa: F401, PLC0415

    folder = HERE.parent / "examples" / "shapes_deepspeed"
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    reported: List[Any] = []

    def note(self: Any, steps_completed: int, metrics: Any) -> None:
        reported.append((steps_completed, float(metrics["accuracy"])))

    monkeypatch.setattr(core.DummyTrainContext, "report_validation_metrics", note)
    runpy.run_path("train.py", run_name="__main__")
    assert [steps for steps, _ in reported] == [32, 64, 96, 128]
    assert reported[-1][1] > 0.9


@real
def test_one_batch_of_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.deepspeed_trial import HPARAMS, Line  # noqa: PLC0415

    trained: List[Any] = []
    step = Line.train_batch

    def train_batch(self: Any, *arguments: Any) -> Any:
        trained.append(arguments)
        return step(self, *arguments)

    monkeypatch.setattr(Line, "train_batch", train_batch)
    test_one_batch(Line, {"hyperparameters": HPARAMS})
    assert len(trained) == HPARAMS["accumulation"]


# With DeepSpeed, on two workers.


@real
@pytest.mark.nightly
def test_the_launcher_trains_the_class(stub: Stub, make_task: MakeTask) -> None:
    """On two slots the chief reports for both workers, and both write checkpoints."""
    hparams = {"global_batch_size": 8, "zero": 1}
    make_task(CLASS, DET_SLOT_IDS="[0,1]", DET_HPARAMS=json.dumps(hparams))
    command = [sys.executable, "-m", "determined.launch.deepspeed", "--trial"]
    done = subprocess.run(
        [*command, "tests.deepspeed_trial:Line"],
        env={**os.environ, "PYTHONPATH": str(HERE.parent)},
        capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    # 24 records, two workers, two micro batches of 2 in a step: an epoch has three steps.
    assert stub.steps("validation") == [3, 6, 9]
    assert stub.steps("training") == [3, 4, 6, 8, 9]
    (checkpoint,) = stub.checkpoints.values()
    assert set(checkpoint["resources"]) >= {
        "det_state_dict_rank0.pth", "det_state_dict_rank1.pth",
        "model0/zero_pp_rank_1_mp_rank_00_optim_states.pt",
    }  # fmt: skip


@real
def test_two_workers(tmp_path: pathlib.Path) -> None:
    """ZeRO on two workers resumes exactly, and learns what one worker learns; also a pipeline."""
    out = tmp_path / "out"
    script = str(HERE / "deepspeed_trial.py")
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *launcher, script, str(out)],
        env=environment, capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    ranks = [json.loads(pathlib.Path(f"{out}.{rank}").read_text()) for rank in range(2)]
    for mine in ranks:
        whole, part, rest = mine["whole"], mine["part"], mine["rest"]
        assert {**part["seen"], **rest["seen"]} == whole["seen"]
        assert {**part["losses"], **rest["losses"]} == whole["losses"]
        assert rest["weights"] == whole["weights"] == ranks[0]["whole"]["weights"]
    assert sorted(flat(flat(r["whole"]["seen"][str(b)] for b in range(3)) for r in ranks)) == list(
        range(24)
    )
    stored = pathlib.Path(os.environ["XDG_DATA_HOME"], "determined", part["uuids"][-1])
    assert set(files(stored)) >= {
        "det_state_dict_rank0.pth", "det_state_dict_rank1.pth", "trial_state.pkl",
        "model0/mp_rank_00_model_states.pt",
        "model0/zero_pp_rank_0_mp_rank_00_optim_states.pt",
        "model0/zero_pp_rank_1_mp_rank_00_optim_states.pt",
    }  # fmt: skip

    alone = fit(
        hparams={"in_order": 1, "dropout": 0.0, "micro_batch": 2},
        max_length=pytorch.Batch(6),
        reporting_period=pytorch.Batch(1),
        checkpoint_policy="none",
    )
    losses = [report["loss"] for report in alone.recorder.reports]
    for mine in ranks:
        found = [report["loss"] for report in mine["in order"]["reports"]]
        assert found == pytest.approx(losses, rel=1e-4)
        stages = mine["stages"]
        assert [report["batches"] for report in stages["reports"]] == [1, 2, 3, 4, 5, 6]
        assert stages["reports"][-1]["loss"] < stages["reports"][0]["loss"]
        assert stages["validations"] == ranks[0]["stages"]["validations"]
