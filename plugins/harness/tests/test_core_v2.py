"""Runs outside a cluster, with the stub; integration/clients tests them with a real master."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import threading
from typing import Any, Dict, List

import pytest

import determined as det
from determined import core
from determined.common import api
from determined.core import _log_shipper
from determined.experimental import Determined, core_v2
from tests.conftest import MakeTask
from tests.stub_master import Stub, error

START = "/api/v1/trials/12/start"


@pytest.fixture
def client(stub: Stub) -> Determined:
    session = api.Session(stub.url, "ada", "token-of-ada", max_retries=0)
    experiment = (200, {"experiment": {"id": 5}})
    trial = (200, {"trial": {"id": 12, "taskId": "5.t"}})
    fresh = {"trialRunId": 1, "stepsCompleted": 0, "latestCheckpoint": None}
    resumed = {"trialRunId": 2, "stepsCompleted": 7, "latestCheckpoint": "uuid-of-7"}
    stub.replies = {
        ("POST", "/api/v1/experiments"): [experiment],
        ("PUT", "/api/v1/experiments/by-external-id/my%20run"): [experiment],
        ("PUT", "/api/v1/trials"): [trial],
        ("POST", START): [(200, fresh), (200, resumed)],
        ("GET", "/api/v1/master"): [(200, {"clusterId": "cluster-1"})],
        ("POST", "/api/v1/task/logs"): [(200, {})],
    }
    return Determined._from_session(session)


def config(tmp_path: pathlib.Path, **more: Any) -> core_v2.Config:
    storage = {"type": "directory", "container_path": str(tmp_path / "checkpoints")}
    return core_v2.Config(hparams={"lr": 0.1}, checkpoint_storage=storage, **more)


def states(stub: Stub) -> List[Any]:
    return [request.json.get("state") for request in stub.sent("PATCH", "/trials/12")]


def shipped(stub: Stub) -> List[Dict[str, Any]]:
    return [line for request in stub.sent("POST", "/task/logs") for line in request.json["logs"]]


def test_a_run_from_its_beginning_to_its_end(
    stub: Stub, client: Determined, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = config(tmp_path, name="laptop", labels=["a"])
    with core_v2.init_context(config=chosen, client=client) as context:
        assert states(stub) == ["STATE_RUNNING"]
        assert context.info is not None
        assert context.info.trial.hparams == {"lr": 0.1}
        assert context.info.latest_checkpoint is None
        print("hello")
        print("half a ", end="")
        print("line")
        print("wrong", file=sys.stderr)
        print("no end", end="")
        context.train.report_training_metrics(1, {"loss": 0.5})
        context.train.report_progress(0.5)
        with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
            (path / "weights").write_text("w")
        assert not context.preempt.should_preempt()
    assert states(stub) == ["STATE_RUNNING", "STATE_COMPLETED"]
    assert stub.values("training", 1) == {"loss": 0.5}
    assert stub.checkpoints[uuid]["taskId"] == "5.t"
    assert not stub.checkpoints[uuid].get("allocationId")
    assert (tmp_path / "checkpoints" / uuid / "weights").read_text() == "w"
    (created,) = stub.sent("POST", "/experiments$")
    assert created.json["unmanaged"] is True
    described = json.loads(created.json["config"])
    assert (described["name"], described["labels"]) == ("laptop", ["a"])
    assert described["searcher"] == {"name": "single", "metric": "unmanaged"}
    assert created.headers["Authorization"] == "Bearer token-of-ada"
    lines = {(line["stdtype"], line["log"]) for line in shipped(stub)}
    assert {
        ("stdout", "hello\n"),
        ("stdout", "half a line\n"),
        ("stderr", "wrong\n"),
        ("stdout", "no end\n"),
    } <= lines
    assert {(line["taskId"], line["rankId"]) for line in shipped(stub)} == {("5.t", 0)}
    # During the run, lines are printed here too; after it, only here.
    assert capsys.readouterr().out == "hello\nhalf a line\nno end"
    before = len(shipped(stub))
    print("afterwards")
    assert len(shipped(stub)) == before
    board = list((tmp_path / "checkpoints").glob("cluster-1/tensorboard/experiment/5/trial/12/*"))
    assert board


def test_names_of_ones_own(stub: Stub, client: Determined, tmp_path: pathlib.Path) -> None:
    """The same names lead to the same trial, which continues from its checkpoint."""
    named = config(tmp_path, external_experiment_id="my run", external_trial_id="t")
    for run, latest in ((1, None), (2, "uuid-of-7")):
        with core_v2.init_context(config=named, client=client) as context:
            assert context.info is not None
            assert context.info.latest_checkpoint == latest
            context.train.report_training_metrics(8, {"loss": run})
        assert stub.values("training", 8, run) == {"loss": run}
    assert [request.json["externalTrialId"] for request in stub.sent("PUT", "/trials$")] == [
        "t"
    ] * 2
    assert not stub.sent("POST", "/experiments$")


def test_the_state_says_how_it_ended(
    stub: Stub, client: Determined, tmp_path: pathlib.Path
) -> None:
    with pytest.raises(KeyError), core_v2.init_context(config=config(tmp_path), client=client):
        raise KeyError("a bug")
    assert states(stub)[-1] == "STATE_ERROR"


def test_the_package_itself(
    stub: Stub, client: Determined, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exit_before, hook_before = sys.exit, sys.excepthook
    core_v2.init(config=config(tmp_path), client=client)
    train = core_v2.train
    assert train is not None and core_v2.info is not None and core_v2.checkpoint is not None
    assert core_v2.url_reverse_webui_exp_view() == f"{stub.url}/det/experiments/5"
    train.report_training_metrics(1, {"loss": 1})
    core_v2.init(config=config(tmp_path), client=client)
    assert states(stub) == ["STATE_RUNNING", "STATE_COMPLETED", "STATE_RUNNING"]
    core_v2.close()
    core_v2.close()
    assert states(stub)[3:] == ["STATE_COMPLETED"]
    assert core_v2.train is None
    assert (sys.exit, sys.excepthook) == (exit_before, hook_before)
    with pytest.raises(RuntimeError, match="init first"):
        core_v2.url_reverse_webui_exp_view()


@pytest.mark.parametrize(
    ("last", "state"),
    [("", "COMPLETED"), ("raise KeyError('a bug')", "ERROR"), ("sys.exit(3)", "ERROR")],
)
def test_a_script_that_closes_nothing(
    stub: Stub, client: Determined, tmp_path: pathlib.Path, last: str, state: str
) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import sys\n"
        "from determined.common import api\n"
        "from determined.experimental import Determined, core_v2\n"
        f"client = Determined._from_session(api.Session({stub.url!r}, 'ada', 'token-of-ada'))\n"
        f"config = core_v2.Config(checkpoint_storage={str(tmp_path)!r})\n"
        "core_v2.init(config=config, client=client)\n"
        "core_v2.train.report_training_metrics(1, {'loss': 0.5})\n"
        f"print('the last line')\n{last}\n"
    )
    root = pathlib.Path(det.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == "the last line\n", done.stderr
    assert states(stub) == ["STATE_RUNNING", f"STATE_{state}"]
    assert stub.values("training", 1) == {"loss": 0.5}
    sent = [line["log"] for line in shipped(stub)]
    assert "the last line\n" in sent
    assert ("KeyError: 'a bug'\n" in sent) == ("KeyError" in last)


def test_in_a_trial_of_the_cluster(stub: Stub, make_task: MakeTask) -> None:
    make_task()
    with core_v2.init_context() as context:
        context.train.report_training_metrics(1, {"loss": 0.5})
    assert stub.values("training", 1) == {"loss": 0.5}
    assert not stub.sent("PATCH", "/trials/12") and not stub.sent("POST", START)


def test_what_is_missing_is_said(client: Determined) -> None:
    with pytest.raises(ValueError, match="give core_v2.init a config"):
        core_v2.init_context(client=client)
    with pytest.raises(ValueError, match="needs external_experiment_id"):
        core_v2.init_context(config=core_v2.Config(external_trial_id="x"), client=client)


def test_older_names(stub: Stub, client: Determined, tmp_path: pathlib.Path) -> None:
    with pytest.warns(FutureWarning, match=r"use core_v2\.Config"):
        defaults = core_v2.DefaultConfig(name="old", checkpoint_storage=str(tmp_path))
        unmanaged = core_v2.UnmanagedConfig(external_experiment_id="my run")
    with core_v2.init_context(defaults=defaults, unmanaged=unmanaged, client=client):
        pass
    (created,) = stub.sent("PUT", "/experiments/by-external-id")
    assert json.loads(created.json["config"])["name"] == "old"


def test_ranks_share_one_trial(stub: Stub, client: Determined, tmp_path: pathlib.Path) -> None:
    """The chief creates the trial; every rank sends its own lines."""
    infos: Dict[int, Any] = {}

    def rank(number: int) -> None:
        distributed = core.DistributedContext(
            rank=number, size=2, local_rank=number, local_size=2, cross_rank=0, cross_size=1
        )
        context = core_v2.init_context(
            config=config(tmp_path), client=client, distributed=distributed
        )
        assert context.info is not None and context._log_shipper is not None
        infos[number] = context.info.trial.trial_id
        assert context._log_shipper._rank == number
        assert (context._heartbeat is not None) == (number == 0)
        distributed.close()

    threads = [threading.Thread(target=rank, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert infos == {0: 12, 1: 12}
    assert len(stub.sent("POST", START)) == 1


def test_lines_wait_for_a_master(
    stub: Stub, session: api.TaskSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_log_shipper, "_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(_log_shipper, "_FLUSH_SECONDS", 0.0)
    monkeypatch.setattr(_log_shipper, "MAX_WAITING", 3)
    path = ("POST", "/api/v1/task/logs")
    away = error(503, "Unavailable", "the database is away")
    stub.replies = {path: [away, away, (200, {})]}
    shipper = _log_shipper.LogShipper(session, "5.t", 0)
    for number in range(5):
        shipper.add(str(number), "stdout")
    shipper.add("x" * (_log_shipper.MAX_LINE + 1), "stdout")
    shipper.start()
    shipper.close()
    assert len(stub.sent(*path)) == 3
    logs = [line["log"] for line in stub.sent(*path)[-1].json["logs"]]
    assert logs == [
        "[4 lines were dropped: no master accepted them]\n",
        "4\n",
        "x" * _log_shipper.MAX_LINE + "\n",
        "x\n",
    ]
