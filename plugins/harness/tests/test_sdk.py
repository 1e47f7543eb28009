import base64
import gzip
import io
import json
import logging
import pathlib
import tarfile
from typing import Any, Dict, Iterator, List

import pytest

from determined import errors
from determined.common import api, context
from determined.common.api import errors as api_errors
from determined.common.experimental import _util, checkpoint, experiment, trial
from determined.experimental import Determined, OrderBy, client
from tests.stub_master import Stub, error

UUID = "c0ffee00-0000-0000-0000-000000000001"


def wire_experiment(**changes: Any) -> Dict[str, Any]:
    return {
        "id": 5,
        "name": "iris",
        "state": "STATE_RUNNING",
        "archived": False,
        "description": "flowers",
        "notes": "",
        "labels": ["a"],
        "projectId": 1,
        "workspaceId": 1,
        "progress": 0.5,
        "config": {"searcher": {"metric": "accuracy", "smaller_is_better": False}},
        **changes,
    }


def wire_checkpoint(uuid: str = UUID, trial_id: int = 12, **changes: Any) -> Dict[str, Any]:
    return {
        "uuid": uuid,
        "taskId": "5.t",
        "allocationId": "5.t.1",
        "reportTime": "2026-11-20T04:22:01.973297123Z",
        "state": "STATE_COMPLETED",
        "resources": {"model.bin": "10", "code/": "0"},
        "metadata": {"steps_completed": 10},
        "training": {
            "trialId": trial_id,
            "experimentId": 5,
            "experimentConfig": {
                "checkpoint_storage": {"type": "shared_fs", "host_path": "/nowhere/at/all"}
            },
            "hparams": {"lr": 0.1},
            "validationMetrics": {"avgMetrics": {"accuracy": 0.9}},
        },
        **changes,
    }


def page(key: str, items: List[Dict[str, Any]], start: int = 0, total: int = -1) -> Any:
    end = start + len(items)
    pagination = {"startIndex": start, "endIndex": end, "total": end if total < 0 else total}
    return 200, {key: items, "pagination": pagination}


@pytest.fixture
def det(stub: Stub) -> Iterator[Determined]:
    session = api.Session(stub.url, "ann", "token-of-ann", max_retries=0)
    yield Determined._from_session(session)
    session.close()


def reply(stub: Stub, method: str, path: str, *answers: Any) -> None:
    stub.replies[(method, f"/api/v1{path}" if not path.startswith("//") else path[1:])] = list(
        answers
    )


# Signing in.


def test_login_with_a_password(stub: Stub) -> None:
    reply(stub, "POST", "/auth/login", (200, {"token": "fresh"}))
    reply(stub, "GET", "/me", (200, {"user": {"id": 3, "username": "ann", "admin": True}}))
    client.login(master=stub.url, user="ann", password="secret")
    assert client.whoami().username == "ann"
    sent = stub.sent("POST", "/auth/login")[0].json
    assert sent["username"] == "ann" and sent["isHashed"] and len(sent["password"]) == 128
    assert stub.sent("GET", "/me")[0].headers["Authorization"] == "Bearer fresh"
    reply(stub, "POST", "/auth/logout", (200, {}))
    client.logout()
    assert stub.sent("POST", "/auth/logout")[0].headers["Authorization"] == "Bearer fresh"


def test_a_wrong_password_is_no_bad_token(stub: Stub) -> None:
    stub.refusals["/auth/login"] = error(401, "Unauthenticated", "Wrong username or password.")
    reply(stub, "POST", "/auth/login", error(401, "Unauthenticated", "Wrong username or password."))
    with pytest.raises(api_errors.UnauthenticatedException) as caught:
        client.login(master=stub.url, user="ann", password="wrong")
    assert isinstance(caught.value, api_errors.InvalidCredentialsException)
    assert "password" in str(caught.value) and "token" not in str(caught.value)


def test_a_task_is_signed_in_already(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DET_MASTER", stub.url)
    monkeypatch.setenv("DET_USER", "ann")
    monkeypatch.setenv("DET_USER_TOKEN", "of-the-owner")
    reply(stub, "GET", "/experiments/5", (200, {"experiment": wire_experiment()}))
    client._current.set(None)
    assert client.get_experiment(5).name == "iris"
    assert client.get_session_username() == "ann"
    (sent,) = stub.sent("GET", "/experiments/5")
    assert sent.headers["Authorization"] == "Bearer of-the-owner"
    # Without another token, the token of the allocation is used.
    monkeypatch.delenv("DET_USER_TOKEN")
    monkeypatch.setenv("DET_SESSION_TOKEN", "of-the-task")
    client.login()
    client.get_experiment("5")
    sent = stub.sent("GET", "/experiments/5")[1]
    assert sent.headers["Grpc-Metadata-x-allocation-token"] == "Bearer of-the-task"
    client._current.set(None)


def test_the_session_that_det_left(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = tmp_path / "determined" / "auth.json"
    file.parent.mkdir()
    known = {"active_user": "bob", "tokens": {"bob": "of-bob", "ann": "of-ann"}}
    file.write_text(json.dumps({"version": 2, "masters": {stub.url: known}}))
    reply(stub, "GET", "/me", (200, {"user": {"id": 4, "username": "bob"}}))
    assert Determined(stub.url).whoami().user_id == 4
    assert stub.requests[-1].headers["Authorization"] == "Bearer of-bob"
    Determined(stub.url, user="ann").whoami()
    assert stub.requests[-1].headers["Authorization"] == "Bearer of-ann"
    # An ended session is not used.
    stub.refusals["/me"] = error(401, "Unauthenticated", "over")
    reply(stub, "POST", "/auth/login", error(403, "PermissionDenied", "invalid credentials"))
    with pytest.raises(api_errors.UnauthenticatedException, match="det user login bob"):
        Determined(stub.url)


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"version": 3}', '{"version": 2, "masters": {"http://other:1": {}}}']
)
def test_a_session_file_that_does_not_help(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, text: str
) -> None:
    monkeypatch.setenv("DET_DEBUG_CONFIG_PATH", str(tmp_path))
    (tmp_path / "auth.json").write_text(text)
    assert api.TokenStore(stub.url).get_active_user() is None


def test_older_session_files(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "auth.json"
    entry = {"active_user": "a", "tokens": {"a": "t"}}
    file.write_text(json.dumps(entry))
    assert api.TokenStore("http://m:8080", file).get_token("a") == "t"
    file.write_text(json.dumps({"version": 1, "masters": {"m": entry, "::": entry}}))
    assert api.TokenStore("http://m:8080", file).get_active_user() == "a"


def test_a_script_keeps_sessions(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "new" / "auth.json"
    store = api.TokenStore("http://m:8080", file)
    store.set_token("ann", "of-ann")
    api.TokenStore("http://other:8080", file).set_token("bob", "of-bob")
    store.set_token("eve", "of-eve")
    store.set_active("ann")
    again = api.TokenStore("http://m:8080", file)
    assert (again.get_active_user(), again.get_all_users()) == ("ann", ["ann", "eve"])
    assert json.loads(file.read_text())["masters"]["http://other:8080"]["tokens"]["bob"] == "of-bob"
    assert file.stat().st_mode & 0o077 == 0
    with pytest.raises(api_errors.UnauthenticatedException, match="det user login bob"):
        again.set_active("bob")
    again.drop_user("ann")
    again.clear_active()
    store = api.TokenStore("http://m:8080", file)
    assert (store.get_active_user(), store.get_token("ann")) == (None, None)
    file.write_text("{")
    with pytest.raises(api_errors.CorruptTokenCacheException, match="is damaged"):
        again.set_token("ann", "of-ann")
    again.delete_token_cache()
    assert not file.exists() and again.get_all_users() == []


def test_the_user_of_a_fresh_cluster(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    reply(stub, "POST", "/auth/login", (200, {"token": "t"}))
    assert Determined(stub.url).get_session_username() == "determined"
    assert stub.sent("POST", "login")[0].json["password"] == ""
    reply(stub, "POST", "/auth/login", error(401, "Unauthenticated", "invalid credentials"))
    with pytest.raises(api_errors.UnauthenticatedException, match="pass user and password"):
        Determined(stub.url)
    monkeypatch.setenv("DET_USER", "eve")
    monkeypatch.setenv("DET_PASS", "pw")
    reply(stub, "POST", "/auth/login", (200, {"token": "t"}))
    assert Determined(stub.url).get_session_username() == "eve"


# Experiments.


def test_experiment(stub: Stub, det: Determined) -> None:
    reply(stub, "GET", "/experiments/5", (200, {"experiment": wire_experiment()}))
    found = det.get_experiment("5")
    assert found.id == 5 and found.state == experiment.ExperimentState.RUNNING
    assert found.labels == {"a"} and found.progress == 0.5 and not found.archived
    for verb in ("activate", "pause", "cancel", "kill", "archive", "unarchive"):
        reply(stub, "POST", f"/experiments/5/{verb}", (200, {}))
        getattr(found, verb)()
        assert stub.requests[-1].path.endswith(verb)
    assert found.archived is False
    changed = wire_experiment(name="new", description="d", notes="n", labels=["x", "y"])
    reply(stub, "PATCH", "/experiments/5", (200, {"experiment": changed}))
    found.set_name("new")
    found.set_description("d")
    found.set_notes("n")
    found.set_labels({"y", "x"})
    assert (found.name, found.description, found.notes) == ("new", "d", "n")
    assert found.labels == {"x", "y"}
    assert [r.json for r in stub.sent("PATCH", "")][-1] == {"id": 5, "labels": ["x", "y"]}
    reply(stub, "PUT", "/experiments/5/labels/b%2Fc", (200, {"labels": ["a", "b/c"]}))
    found.add_label("b/c")
    assert found.labels == {"a", "b/c"}
    reply(stub, "DELETE", "/experiments/5/labels/a", (200, {"labels": ["b/c"]}))
    found.remove_label("a")
    assert found.labels == {"b/c"}
    reply(stub, "DELETE", "/experiments/5", (200, {}))
    found.delete()
    with pytest.raises(ValueError, match="is a number, not 'five'"):
        det.get_experiment("five")
    with pytest.raises(api_errors.NotFoundException):
        det.get_experiment(6)


def test_wait(stub: Stub, det: Determined) -> None:
    states = ["STATE_QUEUED", "STATE_RUNNING", "STATE_COMPLETED"]
    answers = [(200, {"experiment": wire_experiment(state=state)}) for state in states]
    reply(stub, "GET", "/experiments/5", *answers)
    waited = experiment.Experiment(5, det._session).wait(interval=0.001)
    assert waited == experiment.ExperimentState.COMPLETED
    paused = (200, {"experiment": wire_experiment(state="STATE_PAUSED")})
    reply(stub, "GET", "/experiments/5", paused)
    with pytest.raises(ValueError, match="is paused"):
        experiment.Experiment(5, det._session).wait()


def test_await_first_trial(stub: Stub, det: Determined) -> None:
    reply(stub, "GET", "/experiments/5", (200, {"experiment": wire_experiment()}))
    one = {"id": 12, "experimentId": 5, "state": "STATE_RUNNING", "hparams": {"lr": 1}}
    reply(stub, "GET", "/experiments/5/trials", page("trials", []), page("trials", [one]))
    found = det.get_experiment(5).await_first_trial(interval=0.001)
    assert found.id == 12 and found.hparams == {"lr": 1}
    over = (200, {"experiment": wire_experiment(state="STATE_ERROR")})
    reply(stub, "GET", "/experiments/5", over)
    reply(stub, "GET", "/experiments/5/trials", page("trials", []))
    with pytest.raises(RuntimeError, match="ended before it had a trial"):
        det.get_experiment(5).await_first_trial()


def test_lists_are_read_page_by_page(stub: Stub, det: Determined) -> None:
    items = [wire_experiment(id=i) for i in range(1, 6)]
    pages = [
        page("experiments", items[:2], 0, 5),
        page("experiments", items[2:4], 2, 5),
        page("experiments", items[4:], 4, 5),
    ]
    reply(stub, "GET", "/experiments", *pages)
    found = det.list_experiments(
        sort_by=experiment.ExperimentSortBy.NAME,
        order_by=OrderBy.DESC,
        labels=["a", "b"],
        states=[experiment.ExperimentState.RUNNING],
        experiment_ids=[1, 2],
        name="iris",
    )
    assert [item.id for item in found] == [1, 2, 3, 4, 5]
    assert [request.query["offset"] for request in stub.requests] == [["0"], ["2"], ["4"]]
    query = stub.requests[0].query
    assert query["sortBy"] == ["SORT_BY_NAME"] and query["orderBy"] == ["ORDER_BY_DESC"]
    assert query["labels"] == ["a", "b"] and query["states"] == ["STATE_RUNNING"]
    assert query["experimentIdFilter.incl"] == ["1", "2"] and "users" not in query
    # If a page does not advance, the list ends.
    reply(stub, "GET", "/experiments", (200, {"experiments": [], "pagination": {"total": 9}}))
    assert det.list_experiments() == []


def test_create_experiment(
    stub: Stub, det: Determined, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    code = tmp_path / "code"
    (code / "sub").mkdir(parents=True)
    (code / "train.py").write_text("print(1)\n")
    (code / "sub" / "a.txt").write_text("a")
    (tmp_path / "more.py").write_text("m")
    config = tmp_path / "const.yaml"
    config.write_text("name: x  # kept\n")
    answer = {
        "experiment": wire_experiment(),
        "warnings": ["LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"],
        "remarks": ["environment.image has no effect"],
    }
    reply(stub, "POST", "/experiments", (200, answer))
    made = det.create_experiment(config, code, includes=[tmp_path / "more.py"], project_id=3)
    assert made.id == 5
    sent = stub.requests[-1].json
    assert sent["config"] == "name: x  # kept\n" and sent["activate"] and sent["projectId"] == 3
    files = {item["path"]: item for item in sent["modelDefinition"]}
    assert list(files) == ["sub", "train.py", "sub/a.txt", "more.py"]
    assert files["sub"]["type"] == 53 and files["sub"]["content"] == ""
    assert base64.b64decode(files["train.py"]["content"]) == b"print(1)\n"
    assert files["train.py"]["type"] == 48 and files["train.py"]["mtime"].isdigit()
    assert "waits until there are enough" in caplog.text and "no effect" in caplog.text
    # By place, as Determined has it: the fourth is the project, the fifth the template.
    client._current.set(det)
    for create in (det.create_experiment, client.create_experiment):
        create({"name": "y"}, None, None, 4, "mine", parent_id=6)
        sent = stub.requests[-1].json
        assert (sent["projectId"], sent["template"], sent["parentId"]) == (4, "mine", 6)
    client._current.set(None)
    det.create_experiment({"name": "y"})
    assert json.loads(stub.requests[-1].json["config"]) == {"name": "y"}
    with pytest.raises(ValueError, match="a path or a map, not a int"):
        det.create_experiment(7)  # type: ignore[arg-type]


def test_a_lost_answer_makes_no_second_experiment(stub: Stub) -> None:
    """The master recognizes a repeated request by its key; each call has a new key."""
    reply(stub, "POST", "/experiments", (200, {"experiment": wire_experiment()}))
    policy = api.RetryPolicy(total=3, backoff_factor=0.01)
    with api.Session(stub.url, "ann", "token", max_retries=policy) as session:
        stub.change(lost_answers=2)
        Determined._from_session(session).create_experiment({"name": "x"})
        Determined._from_session(session).create_experiment({"name": "x"})
    keys = [sent.headers["Idempotency-Key"] for sent in stub.sent("POST", "/experiments")]
    assert len(keys) == 4 and len(set(keys[:3])) == 1 and keys[3] != keys[0]


@pytest.mark.parametrize(
    ("rules", "kept"),
    [
        ("*.bin", ["a.py", "data", "data/deep", "data/deep/y.txt", "data/x.txt"]),
        ("data/", ["a.py", "b.bin"]),
        ("/data/deep\n*.bin", ["a.py", "data", "data/x.txt"]),
        ("**/deep\n*.bin\n!b.bin", ["a.py", "b.bin", "data", "data/x.txt"]),
        ("data/*.txt\n*.bin", ["a.py", "data", "data/deep", "data/deep/y.txt"]),
        ("# nothing\n\ndata/**\n*.bin", ["a.py", "data"]),
        ("[ab].*\ndata", []),
    ],
)
def test_detignore(tmp_path: pathlib.Path, rules: str, kept: List[str]) -> None:
    (tmp_path / "data" / "deep").mkdir(parents=True)
    for name in ("a.py", "b.bin", "data/x.txt", "data/z.bin", "data/deep/y.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / ".detignore").write_text(rules)
    assert sorted(item["path"] for item in context.read(tmp_path)) == kept


def test_code_that_cannot_be_sent(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 100)
    with pytest.raises(ValueError, match="is larger than"):
        context.read(tmp_path, limit=99)
    with pytest.raises(ValueError, match="two files .* called a"):
        context.read(tmp_path, includes=[tmp_path / "a"])
    with pytest.raises(FileNotFoundError, match="neither a folder nor a file"):
        context.read(tmp_path / "b")


def test_download_code(stub: Stub, det: Determined, tmp_path: pathlib.Path) -> None:
    packed = base64.b64encode(gzip.compress(b"code")).decode()
    reply(stub, "GET", "/experiments/5/model_def", (200, {"b64Tgz": packed}))
    path = experiment.Experiment(5, det._session).download_code(str(tmp_path / "new"))
    assert path == str(tmp_path / "new" / "exp-5_model_def.tar.gz")
    assert gzip.decompress(pathlib.Path(path).read_bytes()) == b"code"


# Trials.


def test_trial(stub: Stub, det: Determined) -> None:
    wire = {"id": 12, "experimentId": 5, "state": "STATE_COMPLETED", "summaryMetrics": {"a": 1}}
    reply(stub, "GET", "/trials/12", (200, {"trial": wire}))
    reply(stub, "GET", "/experiments/5", (200, {"experiment": wire_experiment()}))
    reply(stub, "POST", "/trials/12/kill", (200, {}))
    found = det.get_trial(12)
    assert found.state == trial.TrialState.COMPLETED and found.summary_metrics == {"a": 1}
    assert found.get_experiment().name == "iris"
    found.kill()
    assert stub.requests[-1].path.endswith("/trials/12/kill")


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def test_logs(stub: Stub, det: Determined) -> None:
    said = [{"result": {"message": f"line {i}\n"}} for i in range(3)]
    reply(stub, "GET", "/trials/12/logs", (200, lines(*said)))
    found = trial.Trial(12, det._session)
    assert list(found.iter_logs(follow=True)) == ["line 0\n", "line 1\n", "line 2\n"]
    assert stub.requests[-1].query["follow"] == ["true"]
    last_first = list(found.logs(tail=3, min_level=trial.LogLevel.ERROR, rank_ids=[1]))
    assert last_first == ["line 2\n", "line 1\n", "line 0\n"]
    query = stub.requests[-1].query
    assert query["limit"] == ["3"] and query["orderBy"] == ["ORDER_BY_DESC"]
    assert query["levels"] == ["LOG_LEVEL_ERROR", "LOG_LEVEL_CRITICAL"]
    assert list(found.iter_logs(head=0)) == []
    list(found.iter_logs(timestamp_after=0))
    assert stub.requests[-1].query["timestampAfter"] == ["1970-01-01T00:00:00+00:00"]
    with pytest.raises(ValueError, match="exclude each other"):
        list(found.iter_logs(follow=True, head=1))
    broken = {"error": {"httpCode": 500, "message": "the database is away"}}
    reply(stub, "GET", "/trials/12/logs", (200, lines(said[0], broken)))
    got = []
    with pytest.raises(api_errors.StreamException, match="the database is away"):
        for line in found.iter_logs():
            got.append(line)
    assert got == ["line 0\n"]
    reply(stub, "GET", "/trials/12/logs", error(404, "NotFound", "trial 12 not found"))
    with pytest.raises(api_errors.NotFoundException, match="trial 12 not found"):
        list(found.iter_logs())


def test_metrics(stub: Stub, det: Determined) -> None:
    reports = [
        {
            "trialId": 12,
            "trialRunId": 1,
            "totalBatches": step,
            "group": "validation",
            "endTime": "2026-11-20T04:22:01Z",
            "metrics": {"avg_metrics": {"loss": 1 / step}},
        }
        for step in (1, 2)
    ]
    body = lines(*({"result": {"metrics": [report]}} for report in reports))
    reply(stub, "GET", "/trials/metrics/trial_metrics", (200, body))
    found = list(det.iter_trials_metrics([12, 13], "validation"))
    assert [(m.steps_completed, m.metrics["loss"]) for m in found] == [(1, 1.0), (2, 0.5)]
    assert found[0].group == "validation" and found[0].total_batches == 1
    assert stub.requests[-1].query == {"trialIds": ["12", "13"], "group": ["validation"]}


# Checkpoints.


def test_checkpoints_are_sorted_by_the_master(stub: Stub, det: Determined) -> None:
    reply(stub, "GET", "/experiments/5", (200, {"experiment": wire_experiment()}))
    reply(stub, "GET", "/experiments/5/checkpoints", page("checkpoints", [wire_checkpoint()]))
    found = det.get_experiment(5)
    best = found.top_checkpoint()
    assert best.uuid == UUID and best.resources == {"model.bin": 10, "code/": 0}
    assert best.report_time is not None and best.report_time.microsecond == 973297
    query = stub.requests[-1].query
    assert query["sortByAttr"] == ["SORT_BY_SEARCHER_METRIC"] and query["limit"] == ["1"]
    assert query["states"] == ["STATE_COMPLETED"] and "orderBy" not in query
    # A named metric has the searcher's direction, unless the caller sets another.
    found.top_checkpoint(sort_by="loss")
    assert stub.requests[-1].query["orderBy"] == ["ORDER_BY_DESC"]
    found.top_checkpoint(sort_by="loss", smaller_is_better=True)
    query = stub.requests[-1].query
    assert query["orderBy"] == ["ORDER_BY_ASC"] and query["sortByMetric"] == ["loss"]
    found.list_checkpoints(checkpoint.CheckpointSortBy.END_TIME, OrderBy.DESC, 3)
    assert stub.requests[-1].query["sortByAttr"] == ["SORT_BY_END_TIME"]
    with pytest.raises(ValueError, match="pass both sort_by and order_by"):
        found.list_checkpoints(sort_by="loss")
    reply(stub, "GET", "/experiments/5/checkpoints", page("checkpoints", []))
    with pytest.raises(AssertionError, match="no checkpoint yet"):
        found.top_checkpoint()


def test_front_of_several_metrics(stub: Stub, det: Determined) -> None:
    front = {
        "metrics": ["loss", "ms"],
        "points": [{"trialId": 7, "stepsCompleted": 100, "values": [0.5, 12]}],
        "total": 1,
    }
    answer = {"experiment": wire_experiment(), "outlook": {"front": front}}
    reply(stub, "GET", "/experiments/5", (200, answer))
    (point,) = det.get_experiment(5).front()
    assert (point.trial_id, point.steps_completed) == (7, 100)
    assert point.metrics == {"loss": 0.5, "ms": 12.0}
    one = {"experiment": wire_experiment(), "outlook": {"front": None}}
    reply(stub, "GET", "/experiments/5", (200, one))
    with pytest.raises(ValueError, match="experiment 5 has no front"):
        det.get_experiment(5).front()


def test_repeats(stub: Stub, det: Determined) -> None:
    best = {"trialId": 7, "trialIds": [11, 13], "results": 2, "mean": 0.5, "deviation": 0.125}
    other = {"trialId": 9, "trialIds": [12], "results": 0, "mean": None, "deviation": None}
    outlook = {"repeats": {"times": 2, "decided": False, "configurations": [best, other]}}
    answer = {"experiment": wire_experiment(), "outlook": outlook}
    reply(stub, "GET", "/experiments/5", (200, answer))
    first, second = det.get_experiment(5).repeats()
    assert (first.trial_id, first.trial_ids, first.results) == (7, [11, 13], 2)
    assert (first.mean, first.deviation) == (0.5, 0.125)
    assert (second.trial_ids, second.mean, second.deviation) == ([12], None, None)
    none = {"experiment": wire_experiment(), "outlook": {"repeats": None}}
    reply(stub, "GET", "/experiments/5", (200, none))
    assert det.get_experiment(5).repeats() == []


def test_top_n_are_of_different_trials(stub: Stub, det: Determined) -> None:
    items = [wire_checkpoint(f"u-{i}", trial_id=i // 2) for i in range(2, 8)]
    reply(stub, "GET", "/experiments/5/checkpoints", page("checkpoints", items))
    found = experiment.Experiment(5, det._session).top_n_checkpoints(2)
    assert [item.uuid for item in found] == ["u-2", "u-4"]


def test_select_checkpoint(stub: Stub, det: Determined) -> None:
    items = [wire_checkpoint("u-2"), wire_checkpoint("u-1")]
    reply(stub, "GET", "/trials/12/checkpoints", page("checkpoints", items))
    found = trial.Trial(12, det._session)
    assert found.select_checkpoint(latest=True).uuid == "u-2"
    assert stub.requests[-1].query["orderBy"] == ["ORDER_BY_DESC"]
    assert found.select_checkpoint(uuid="u-1").uuid == "u-1"
    assert found.select_checkpoint(best=True).uuid == "u-2"
    with pytest.raises(ValueError, match="no complete checkpoint u-9"):
        found.select_checkpoint(uuid="u-9")
    with pytest.raises(ValueError, match="exactly one"):
        found.select_checkpoint(latest=True, best=True)


def test_metadata(stub: Stub, det: Determined) -> None:
    reply(stub, "GET", f"/checkpoints/{UUID}", (200, {"checkpoint": wire_checkpoint()}))
    reply(stub, "POST", f"/checkpoints/{UUID}/metadata", (200, {}))
    found = det.get_checkpoint(UUID)
    found.add_metadata({"good": True})
    assert found.metadata == {"steps_completed": 10, "good": True}
    assert stub.requests[-1].json["checkpoint"]["metadata"] == found.metadata
    found.remove_metadata(["steps_completed", "unknown"])
    assert stub.requests[-1].json["checkpoint"]["metadata"] == {"good": True}
    reply(stub, "DELETE", "/checkpoints", (200, {}))
    found.delete()
    assert stub.requests[-1].json == {"checkpointUuids": [UUID]}
    reply(stub, "POST", "/checkpoints/rm", (200, {}))
    found.remove_files(["*.bin"])
    assert stub.requests[-1].json["checkpointGlobs"] == ["*.bin"]


def stored(place: pathlib.Path) -> None:
    (place / UUID / "code").mkdir(parents=True)
    (place / UUID / "model.bin").write_text("m")
    (place / UUID / "metadata.json").write_text("{}")
    (place / UUID / "code" / "train.py").write_text("t")


def of_storage(det: Determined, **config: Any) -> checkpoint.Checkpoint:
    wire = wire_checkpoint()
    wire["training"]["experimentConfig"] = {"checkpoint_storage": config}
    return checkpoint.Checkpoint._from_wire(wire, det._session)


def test_download_from_a_file_system(
    stub: Stub, det: Determined, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(tmp_path / "fs" / "team")
    found = of_storage(det, type="shared_fs", host_path=str(tmp_path / "fs"), storage_path="team")
    monkeypatch.chdir(tmp_path)
    assert found.download() == f"checkpoints/{UUID}"
    assert (tmp_path / "checkpoints" / UUID / "code" / "train.py").read_text() == "t"
    assert sorted(p.name for p in (tmp_path / "checkpoints").iterdir()) == [UUID]
    # A task sees the folder at another path.
    monkeypatch.setenv("DET_SHARED_FS_PATH", str(tmp_path / "fs"))
    found = of_storage(det, type="shared_fs", host_path="/host", storage_path="team")
    target = tmp_path / "here"
    assert found.download(str(target), mode=checkpoint.DownloadMode.DIRECT) == str(target)
    assert (target / "model.bin").read_text() == "m"
    # Files that exist are not changed.
    (target / "model.bin").write_text("mine")
    found.download(str(target))
    assert (target / "model.bin").read_text() == "mine"
    found = of_storage(det, type="directory", container_path=str(tmp_path / "fs" / "team"))
    assert (pathlib.Path(found.download(str(tmp_path / "d"))) / "model.bin").exists()
    assert stub.requests == []


def test_a_download_follows_no_link_out_of_a_checkpoint(
    stub: Stub, det: Determined, tmp_path: pathlib.Path
) -> None:
    stored(tmp_path / "fs")
    (tmp_path / "key").write_text("of this machine")
    (tmp_path / "fs" / UUID / "weights.bin").symlink_to(tmp_path / "key")
    found = of_storage(det, type="directory", container_path=str(tmp_path / "fs"))
    with pytest.raises(ValueError, match="leads out of its checkpoint"):
        found.download(str(tmp_path / "d"), mode=checkpoint.DownloadMode.DIRECT)
    assert not (tmp_path / "d").exists()


def packed(*names: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            if name.endswith("/"):
                member.type = tarfile.DIRTYPE
                archive.addfile(member)
                continue
            member.size = len(name)
            archive.addfile(member, io.BytesIO(name.encode()))
    return out.getvalue()


def test_download_through_the_master(
    stub: Stub, det: Determined, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    answer = packed("code/", "code/train.py", "model.bin")
    reply(stub, "GET", f"//checkpoints/{UUID}", (200, answer))
    found = of_storage(det, type="shared_fs", host_path="/nowhere/at/all")
    target = tmp_path / "new" / "folder"
    with caplog.at_level(logging.INFO):
        found.download(str(target))
    assert "through the master" in caplog.text and "/nowhere/at/all" in caplog.text
    assert stub.requests[-1].headers["Accept"] == "application/gzip"
    assert (target / "code" / "train.py").read_text() == "code/train.py"
    # The oldest checkpoints do not have this file.
    assert json.loads((target / "metadata.json").read_text()) == {"steps_completed": 10}
    with pytest.raises(errors.NoDirectStorageAccess, match="does this machine mount"):
        found.download(str(tmp_path / "other"), mode=checkpoint.DownloadMode.DIRECT)
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((200, packed("../outside")), "leads out of the checkpoint"),
        ((200, packed("a" * 50)[:-20]), "could not send"),
        (error(404, "NotFound", "no folder"), "no folder"),
    ],
)
def test_a_download_that_fails_leaves_nothing(
    stub: Stub, det: Determined, tmp_path: pathlib.Path, answer: Any, message: str
) -> None:
    reply(stub, "GET", f"//checkpoints/{UUID}", answer)
    found = of_storage(det, type="shared_fs", host_path="/nowhere/at/all")
    with pytest.raises(errors.ProxiedDownloadFailed, match=message):
        found.download(str(tmp_path / "x"), mode="master")
    with pytest.raises(errors.MultipleDownloadsFailed, match="Directly: .* Through the master"):
        found.download(str(tmp_path / "x"))
    assert not list(tmp_path.glob("*x*")) and not (tmp_path.parent / "outside").exists()


def test_only_whole_checkpoints_are_downloaded(det: Determined) -> None:
    found = checkpoint.Checkpoint._from_wire(wire_checkpoint(state="STATE_DELETED"), det._session)
    with pytest.raises(errors.CheckpointStateException, match="is DELETED"):
        found.download()


# Other calls.


def test_workspaces_and_projects(stub: Stub, det: Determined) -> None:
    reply(stub, "GET", "/workspaces", page("workspaces", [{"id": 2, "name": "w"}]))
    reply(stub, "GET", "/workspaces/2/projects", page("projects", [{"id": 7, "name": "p"}]))
    found = det.get_workspace("w").get_project("p")
    assert found.id == 7
    with pytest.raises(api_errors.NotFoundException, match="has no project 'q'"):
        det.get_workspace("w").get_project("q")
    with pytest.raises(api_errors.NotFoundException, match="no workspace 'v'"):
        det.get_workspace("v")
    reply(stub, "GET", "/projects/7", (200, {"project": {"id": 7, "notes": []}}))
    put = (200, {"notes": [{"name": "n", "contents": "c"}]})
    reply(stub, "PUT", "/projects/7/notes", put)
    found.add_note("n", "c")
    assert found.notes == [{"name": "n", "contents": "c"}]
    with pytest.raises(ValueError, match="has 0 notes named 'm'"):
        found.remove_note("m")
    reply(stub, "POST", "/experiments/5/move", (200, {}))
    experiment.Experiment(5, det._session).move_to_project("w", "p")
    assert stub.requests[-1].json == {"experimentId": 5, "destinationProjectId": 7}


def test_resource_pools(stub: Stub, det: Determined) -> None:
    reply(stub, "GET", "/workspaces", page("workspaces", [{"id": 2, "name": "w"}]))
    pools = (200, {"resourcePools": ["default", "gpu 1"]})
    reply(stub, "GET", "/workspaces/2/available-resource-pools", pools)
    pool = det.get_workspace("w").list_pools()[1]
    assert pool.name == "gpu 1"
    path = "/resource-pools/gpu%201/workspace-bindings"
    for method, act in (
        ("POST", pool.add_bindings),
        ("DELETE", pool.remove_bindings),
        ("PUT", pool.replace_bindings),
    ):
        reply(stub, method, path, (200, {}))
        act(["w"])
        sent = stub.requests[-1]
        assert sent.method == method
        assert sent.json == {"resourcePoolName": "gpu 1", "workspaceNames": ["w"]}
    reply(stub, "GET", path, (200, {"workspaceIds": [2]}))
    reply(stub, "GET", "/workspaces/2", (200, {"workspace": {"id": 2, "name": "w"}}))
    assert pool.list_workspaces() == ["w"]
    reply(stub, "GET", path, (200, {"workspaceIds": []}))
    assert pool.list_workspaces() == []


def test_users(stub: Stub, det: Determined) -> None:
    reply(stub, "POST", "/users", (200, {"user": {"id": 9, "username": "eve"}}))
    made = det.create_user("eve", admin=False, password="pw")
    assert made.user_id == 9 and stub.requests[-1].json["user"]["username"] == "eve"
    with pytest.raises(ValueError, match="needs a password"):
        det.create_user("eve", admin=False)
    reply(stub, "PATCH", "/users/9", (200, {}))
    reply(stub, "GET", "/users/9", (200, {"user": {"id": 9, "username": "mallory"}}))
    made.rename("mallory")
    assert made.username == "mallory"


def test_a_master_without_a_registry(stub: Stub, det: Determined) -> None:
    with pytest.raises(errors.EnterpriseOnlyError, match="has no model registry"):
        det.get_model("m")
    with pytest.raises(errors.EnterpriseOnlyError, match="has no model registry"):
        det.create_model("m")
    reply(stub, "GET", "/models", page("models", []))
    with pytest.raises(api_errors.NotFoundException):
        det.get_model("m")
    assert det.list_models() == []


@pytest.mark.parametrize(
    ("text", "microsecond"),
    [
        ("2026-11-20T04:22:01Z", 0),
        ("2026-11-20T04:22:01.5Z", 500000),
        ("2026-11-20T04:22:01.123456789Z", 123456),
        ("2026-11-20T04:22:01.1234+00:00", 123400),
    ],
)
def test_times(text: str, microsecond: int) -> None:
    found = _util.timestamp(text)
    assert found is not None and found.microsecond == microsecond
    assert found.second == 1 and found.tzinfo is not None


def test_pachyderm(stub: Stub, det: Determined) -> None:
    config = {"integrations": {"pachyderm": {"dataset": {"commit": "abc"}}}}
    with_data = wire_checkpoint()
    with_data["training"]["experimentConfig"] = config
    stub.replies = {
        ("GET", "/api/v1/experiments/5"): [
            (200, {"experiment": wire_experiment(config=config)}),
            (200, {"experiment": wire_experiment()}),
        ],
        ("GET", f"/api/v1/checkpoints/{UUID}"): [
            (200, {"checkpoint": with_data}),
            (200, {"checkpoint": wire_checkpoint()}),
        ],
    }
    assert det.get_experiment(5).get_pachyderm_config() == {"dataset": {"commit": "abc"}}
    assert det.get_checkpoint(UUID).get_pachyderm_commit() == "abc"
    with pytest.raises(ValueError, match="no Pachyderm"):
        det.get_experiment(5).get_pachyderm_config()
    with pytest.raises(ValueError, match="no Pachyderm"):
        det.get_checkpoint(UUID).get_pachyderm_commit()


def test_older_names_of_metrics(det: Determined, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: List[Any] = []
    monkeypatch.setattr(det, "iter_trials_metrics", lambda ids, group: asked.append((ids, group)))
    det.stream_trials_metrics([1], "inference")
    det.stream_trials_training_metrics([1])
    det.stream_trials_validation_metrics([1])
    assert asked == [([1], "inference"), ([1], "training"), ([1], "validation")]
