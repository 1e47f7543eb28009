"""Fixtures of most tests: a master, and the environment of a task."""

from __future__ import annotations

import json
import os
import pathlib
import tempfile
from typing import Any, Callable, Dict, Iterator, List

import pytest

from determined.common import api
from determined.data import _store
from tests.stub_master import Stub

TOKEN = "token-of-the-allocation"

CONFIG: Dict[str, Any] = {
    "name": "test",
    "searcher": {"name": "single", "metric": "val_loss", "max_length": {"batches": 100}},
    "checkpoint_storage": {
        "type": "shared_fs",
        "host_path": "/host/checkpoints",
        "storage_path": "team",
        "save_trial_best": 1,
    },
    "data": {"source": "somewhere"},
    "resources": {"slots_per_trial": 1},
}


def pytest_collection_modifyitems(items: List[pytest.Item]) -> None:
    """Leaves out what repeats for long, in another way, what others test: just nightly runs it."""
    if os.environ.get("DETENT_THOROUGH") == "1":
        return
    skipped = pytest.mark.skip(reason="just nightly runs this; or set DETENT_THOROUGH=1")
    for item in items:
        if item.get_closest_marker("nightly"):
            item.add_marker(skipped)


@pytest.fixture
def stub() -> Iterator[Stub]:
    master = Stub()
    master.start()
    yield master
    master.stop()


@pytest.fixture
def session(stub: Stub) -> Iterator[api.TaskSession]:
    task = api.TaskSession(stub.url, "somebody", TOKEN, max_retries=0)
    yield task
    task.close()


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """No test sees or changes the environment in which the tests run."""
    for name in list(os.environ):
        if name.startswith(("DET_", "INTER_TRAIN_", "NOMAD_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("DET_RUN_DIR", str(tmp_path / "no-task"))
    monkeypatch.setenv("DET_BACKLOG_DIR", str(tmp_path / "backlog"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data-home"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture(autouse=True, scope="session")
def disk_with_space() -> Iterator[None]:
    """No test depends on how full the disk is on which the tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_store, "_FREE_SHARE", 0.0)
        yield


MakeTask = Callable[..., pathlib.Path]


@pytest.fixture
def make_task(stub: Stub, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> MakeTask:
    """Returns a function that turns this process into a trial's task.

    The function returns the path at which the task sees the shared file system.
    """

    def make(config: Dict[str, Any] = CONFIG, **changes: Any) -> pathlib.Path:
        shared = tmp_path / "shared"
        shared.mkdir(exist_ok=True)
        environment = {
            "DET_MASTER": stub.url,
            "DET_CLUSTER_ID": "cluster-1",
            "DET_AGENT_ID": "node-1",
            "DET_SLOT_IDS": "[0]",
            "DET_TASK_ID": "5.uuid",
            "DET_ALLOCATION_ID": "5.uuid.1",
            "DET_SESSION_TOKEN": TOKEN,
            "DET_TASK_TYPE": "TRIAL",
            "DET_USER": "somebody",
            "DET_EXPERIMENT_ID": "5",
            "DET_TRIAL_ID": "12",
            "DET_TRIAL_RUN_ID": "1",
            "DET_TRIAL_SEED": "42",
            "DET_EXPERIMENT_CONFIG": json.dumps(config),
            "DET_HPARAMS": json.dumps({"lr": 0.1}),
            "DET_STEPS_COMPLETED": "0",
            "DET_SHARED_FS_PATH": str(shared),
            **changes,
        }
        for name, value in environment.items():
            if value is None:
                monkeypatch.delenv(name, raising=False)
            else:
                monkeypatch.setenv(name, value)
        return shared

    return make
