import json
import pathlib

import pytest

import determined as det
from tests.conftest import CONFIG, MakeTask


def write_files(run_dir: pathlib.Path, allocation: str = "5.uuid.1") -> None:
    info = run_dir / "info"
    info.mkdir(parents=True)
    files = {
        "cluster.json": {
            "master_url": "http://10.0.0.1:8080",
            "cluster_id": "cluster-1",
            "agent_id": "node-1",
            "slot_ids": [0, 1],
            "task_id": "5.uuid",
            "allocation_id": allocation,
            "session_token": "token",
            "task_type": "TRIAL",
            "master_cert_name": None,
            "master_cert_file": None,
            "latest_checkpoint": "0f3a",
            "a_field_of_tomorrow": 1,
        },
        "trial.json": {
            "trial_id": 12,
            "experiment_id": 5,
            "trial_seed": 42,
            "hparams": {"lr": 0.1},
            "config": CONFIG,
            "steps_completed": 100,
            "trial_run_id": 3,
            "debug": False,
            "inter_node_network_interface": None,
        },
        "rendezvous.json": {
            "container_addrs": ["10.0.0.2", "10.0.0.3"],
            "container_rank": 1,
            "container_slot_counts": [2, 2],
        },
        "resources.json": {"gpu_uuids": ["GPU-1", "GPU-2"]},
    }
    for name, fields in files.items():
        (info / name).write_text(json.dumps(fields))


def test_none_off_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    # A program on a laptop that calls a master is not a task.
    monkeypatch.setenv("DET_MASTER", "http://10.0.0.1:8080")
    assert det.get_cluster_info() is None


def test_from_files(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    write_files(tmp_path / "run")
    monkeypatch.setenv("DET_RUN_DIR", str(tmp_path / "run"))
    info = det.get_cluster_info()
    assert info is not None
    assert info.master_url == "http://10.0.0.1:8080"
    assert (info.cluster_id, info.agent_id, info.slot_ids) == ("cluster-1", "node-1", [0, 1])
    assert (info.task_id, info.allocation_id) == ("5.uuid", "5.uuid.1")
    assert (info.session_token, info.task_type) == ("token", "TRIAL")
    assert info.latest_checkpoint == "0f3a"
    assert info.user_data == {"source": "somewhere"}
    assert info.container_addrs == ["10.0.0.2", "10.0.0.3"]
    assert (info.container_rank, info.container_slot_counts) == (1, [2, 2])
    assert info.gpu_uuids == ["GPU-1", "GPU-2"]
    assert (info.trial.trial_id, info.trial.experiment_id) == (12, 5)
    assert (info.trial.trial_seed, info.trial.hparams) == (42, {"lr": 0.1})
    assert info.trial._config == CONFIG
    assert (info.trial._steps_completed, info.trial._trial_run_id) == (100, 3)


def test_files_written_are_files_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    write_files(tmp_path / "one")
    monkeypatch.setenv("DET_RUN_DIR", str(tmp_path / "one"))
    first = det.get_cluster_info()
    assert first is not None and first._rendezvous_info is not None
    assert first._resources_info is not None
    monkeypatch.setenv("DET_RUN_DIR", str(tmp_path / "two"))
    first._to_file()
    first.trial._to_file()
    first._rendezvous_info._to_file()
    first._resources_info._to_file()
    second = det.get_cluster_info()
    assert second is not None
    assert vars(second.trial) == vars(first.trial)
    assert second.container_addrs == first.container_addrs
    assert second.gpu_uuids == first.gpu_uuids
    assert second.latest_checkpoint == first.latest_checkpoint


def test_from_environment(make_task: MakeTask) -> None:
    make_task(DET_LATEST_CHECKPOINT="0f3a", DET_STEPS_COMPLETED="50")
    info = det.get_cluster_info()
    assert info is not None
    assert info.trial.trial_id == 12 and info.trial.hparams == {"lr": 0.1}
    assert info.latest_checkpoint == "0f3a"
    assert info.trial._steps_completed == 50
    assert (info.container_addrs, info.container_rank) == (["127.0.0.1"], 0)
    assert info.container_slot_counts == [1]


def test_trials_that_a_branch_goes_on_with(
    make_task: MakeTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_task()
    info = det.get_cluster_info()
    assert info is not None and info.trial.origins == []
    monkeypatch.setenv("DET_TRIAL_ORIGINS", "17,5")
    assert info.trial.origins == [17, 5]


def test_empty_checkpoint_is_none(make_task: MakeTask) -> None:
    make_task(DET_LATEST_CHECKPOINT="")
    info = det.get_cluster_info()
    assert info is not None and info.latest_checkpoint is None


def test_what_is_missing_is_named(make_task: MakeTask) -> None:
    make_task(DET_SLOT_IDS=None, DET_AGENT_ID=None)
    with pytest.raises(RuntimeError, match="lacks DET_AGENT_ID, DET_SLOT_IDS"):
        det.get_cluster_info()


def test_broken_json_is_named(make_task: MakeTask) -> None:
    make_task(DET_HPARAMS="{lr")
    with pytest.raises(RuntimeError, match="DET_HPARAMS is not JSON"):
        det.get_cluster_info()


def test_files_of_another_task_are_not_believed(
    make_task: MakeTask,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: pathlib.Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    write_files(tmp_path / "run", allocation="4.other.9")
    make_task(DET_RUN_DIR=str(tmp_path / "run"))
    info = det.get_cluster_info()
    assert info is not None
    assert info.allocation_id == "5.uuid.1"
    assert info.container_addrs == ["127.0.0.1"]
    assert "describes allocation 4.other.9" in caplog.text


def test_other_tasks_have_no_trial(make_task: MakeTask) -> None:
    make_task(DET_TASK_TYPE="COMMAND", DET_LATEST_CHECKPOINT="0f3a", DET_SLOT_IDS="[0,1]")
    info = det.get_cluster_info()
    assert info is not None
    assert info.latest_checkpoint is None and info.user_data == {}
    assert info.container_slot_counts == [2]
    with pytest.raises(RuntimeError, match="only a task of type TRIAL has a trial"):
        _ = info.trial


def test_missing_rendezvous_of_several_nodes_is_an_error(make_task: MakeTask) -> None:
    make_task({**CONFIG, "resources": {"slots_per_trial": 8}}, DET_SLOT_IDS="[0,1,2,3]")
    info = det.get_cluster_info()
    assert info is not None
    with pytest.raises(RuntimeError, match="8 slots, 4 of them on this node"):
        _ = info.container_addrs
