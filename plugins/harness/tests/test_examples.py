"""The examples run unchanged: outside a cluster, in one, and with a preemption."""

import json
import os
import pathlib
import subprocess
import sys
from typing import Any, Dict, List, Optional

import pytest

import determined as det
from tests.conftest import CONFIG, MakeTask
from tests.stub_master import Stub

ROOT = pathlib.Path(det.__file__).parent.parent
DIGITS = ROOT / "examples" / "digits_numpy"
IRIS = ROOT / "examples" / "iris"


def run(folder: pathlib.Path, *arguments: str, env: Optional[Dict[str, str]] = None) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def start_over(stub: Stub) -> None:
    """Forget all reports, as for a new trial."""
    stub.change(metrics={}, order=[], checkpoints={}, requests=[], preempt=False)


def digits_config(**changes: Any) -> Dict[str, Any]:
    return {
        **CONFIG,
        "searcher": {"name": "single", "max_length": {"batches": 600}},
        "scheduling_unit": 50,
        "min_validation_period": {"batches": 100},
        "min_checkpoint_period": {"batches": 300},
        **changes,
    }


DIGITS_HPARAMS = json.dumps(
    {"learning_rate": 0.015, "momentum": 0.5, "hidden_size": 64, "global_batch_size": 32}
)


def test_digits_data_is_made_by_its_script() -> None:
    assert "is what this script makes" in run(DIGITS, "make_data.py", "--check")


def test_digits_off_the_cluster(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("numpy")
    out = run(DIGITS, "train.py", "--batches", "300", "--checkpoints", str(tmp_path / "c"))
    assert "steps_completed=300" in out
    assert len(list((tmp_path / "c").glob("*/network.npz"))) == 1


def test_digits_goes_on_exactly(stub: Stub, make_task: MakeTask) -> None:
    """A run that is preempted and continued reports exactly the numbers of a run that is not."""
    pytest.importorskip("numpy")
    make_task(digits_config(), DET_HPARAMS=DIGITS_HPARAMS)
    run(DIGITS, "train.py")
    assert stub.steps("training") == list(range(50, 601, 50))
    assert stub.steps("validation") == list(range(100, 601, 100))
    steps = sorted(c["metadata"]["steps_completed"] for c in stub.checkpoints.values())
    assert steps == [300, 600]
    assert stub.values("training", 600)["loss"] < stub.values("training", 50)["loss"]
    whole = {key[1:]: values for key, values in stub.metrics.items()}

    start_over(stub)
    stub.change(preempt=True)
    run(DIGITS, "train.py")
    assert stub.steps("training") == [50]
    assert len(stub.sent("POST", "ack_preemption")) == 1
    (checkpoint,) = stub.checkpoints
    stub.change(preempt=False)
    make_task(
        digits_config(),
        DET_HPARAMS=DIGITS_HPARAMS,
        DET_LATEST_CHECKPOINT=checkpoint,
        DET_TRIAL_RUN_ID="2",
    )
    run(DIGITS, "train.py")
    assert {key[1:]: values for key, values in stub.metrics.items()} == whole


def test_digits_configuration_matches_the_script() -> None:
    """The script's defaults are those of digits.yaml, so both train alike."""
    text = (DIGITS / "digits.yaml").read_text()
    code = "import json, train; print(json.dumps(train.DEFAULTS))"
    pytest.importorskip("numpy")
    defaults = json.loads(run(DIGITS, "-c", code))
    for name, value in defaults["hyperparameters"].items():
        assert f"  {name}: {value}\n" in text
    assert f"max_length:\n    batches: {defaults['searcher']['max_length']['batches']}\n" in text
    assert f"scheduling_unit: {defaults['scheduling_unit']} " in text
    for name in ("min_validation_period", "min_checkpoint_period"):
        assert f"{name}:\n  batches: {defaults[name]['batches']}\n" in text


IRIS_HPARAMS = json.dumps(
    {
        "learning_rate": 0.001,
        "learning_rate_decay": 1e-6,
        "layer1_dense_size": 16,
        "global_batch_size": 30,
    }
)


def iris_steps(stub: Stub, make_task: MakeTask, **changes: Any) -> "tuple[List[int], List[int]]":
    start_over(stub)
    make_task({**CONFIG, **changes}, DET_HPARAMS=IRIS_HPARAMS)
    run(IRIS, "train.py")
    return stub.steps("training"), stub.steps("validation")


@pytest.mark.parametrize(
    ("max_length", "period"),
    [
        ({"batches": 200}, {"batches": 80}),
        ({"records": 6000}, {"records": 2400}),
        ({"epochs": 50}, {"epochs": 20}),
    ],
)
def test_iris_obeys_its_configuration(
    stub: Stub, make_task: MakeTask, max_length: Dict[str, int], period: Dict[str, int]
) -> None:
    """The data has 120 records, so an epoch is four batches of 30."""
    training, validation = iris_steps(
        stub,
        make_task,
        searcher={"name": "single", "metric": "val_categorical_accuracy", "max_length": max_length},
        scheduling_unit=40,
        min_validation_period=period,
    )
    assert training == [40, 80, 120, 160, 200]
    assert validation == [80, 160, 200]
    assert set(stub.values("validation", 200)) == {"val_loss", "val_categorical_accuracy"}
    assert len(stub.checkpoints) == 1


def test_iris_with_defaults_of_the_platform(stub: Stub, make_task: MakeTask) -> None:
    """The configuration has only the defaults that the master merges in."""
    training, validation = iris_steps(
        stub,
        make_task,
        searcher={"name": "single", "max_length": {"batches": 250}},
        scheduling_unit=100,
        min_validation_period={"batches": 0},
        min_checkpoint_period={"batches": 0},
        records_per_epoch=0,
    )
    assert (training, validation) == ([100, 200, 250], [250])


def test_iris_reads_mounted_data(stub: Stub, make_task: MakeTask, tmp_path: pathlib.Path) -> None:
    """The data is in a mounted folder, and not beside the code."""
    code, mounted = tmp_path / "code", tmp_path / "mounted"
    code.mkdir()
    mounted.mkdir()
    for name in ("train.py", "network.py"):
        (code / name).write_text((IRIS / name).read_text())
    (mounted / "iris.csv").write_text((IRIS / "iris.csv").read_text())
    mounts = [{"host_path": "/srv", "container_path": str(mounted), "read_only": True}]
    make_task(
        {**CONFIG, "searcher": {"max_length": {"batches": 30}}, "bind_mounts": mounts},
        DET_HPARAMS=IRIS_HPARAMS,
    )
    run(code, "train.py")
    assert stub.steps("validation") == [30]


def test_iris_learns_off_the_cluster(tmp_path: pathlib.Path) -> None:
    out = run(IRIS, "train.py", "--batches", "1000", "--checkpoints", str(tmp_path / "c"))
    (line,) = [line for line in out.splitlines() if "report_validation_metrics" in line]
    accuracy = float(line.rsplit("'val_categorical_accuracy': ", 1)[1].rstrip("}"))
    assert accuracy >= 0.85


def test_readmes_name_files_that_exist() -> None:
    """Each README names the configurations of its example, and no file that does not exist."""
    for folder in sorted(ROOT.glob("examples/*/")):
        if folder.name.startswith((".", "_")):
            continue
        text = (folder / "README.md").read_text(encoding="utf-8")
        named = [word.strip("`.,") for word in text.split() if word.endswith((".yaml", ".yaml`"))]
        missing = [name for name in named if not (folder / name).exists()]
        assert not missing, (folder.name, missing)
        for path in folder.glob("*.yaml"):
            assert path.name in text, f"{folder.name}/README.md does not name {path.name}"
