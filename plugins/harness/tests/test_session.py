import random
import socket
import threading
from typing import List
from unittest import mock

import pytest

from determined.common import api
from determined.common.api import _retry, errors
from tests.conftest import TOKEN
from tests.ranks import free_port
from tests.stub_master import Stub, error


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("master", "http://master:8080"),
        ("http://master", "http://master:80"),
        ("https://master/", "https://master:443"),
        ("https://master:8443/det/", "https://master:8443/det"),
        ("[::1]:9000", "http://[::1]:9000"),
    ],
)
def test_canonical_urls(written: str, canonical: str) -> None:
    assert api.canonicalize_master_url(written) == canonical
    assert api.canonicalize_master_url(canonical) == canonical


@pytest.mark.parametrize("url", ["", "http://", "http://u:p@host", "http://host?x=1"])
def test_bad_urls(url: str) -> None:
    with pytest.raises(ValueError, match="invalid master url"):
        api.canonicalize_master_url(url)


def test_task_header(stub: Stub, session: api.TaskSession) -> None:
    session.get("/api/v1/trials/12")
    headers = stub.requests[0].headers
    assert headers["Grpc-Metadata-x-allocation-token"] == f"Bearer {TOKEN}"
    assert "Authorization" not in headers


def test_user_header(stub: Stub) -> None:
    with api.Session(stub.url, "ann", "user-token") as session:
        session.get("api/v1/trials/12")
    assert stub.requests[0].headers["Authorization"] == "Bearer user-token"


def test_connection_is_kept(stub: Stub, session: api.TaskSession) -> None:
    with mock.patch("socket.create_connection", wraps=socket.create_connection) as connect:
        for _ in range(5):
            session.post("/api/v1/trials/12/progress", json={"progress": 1})
    assert connect.call_count == 1


def test_kept_connection_that_ended_is_replaced(stub: Stub, session: api.TaskSession) -> None:
    session.get("/api/v1/trials/12")
    stub.stop()
    stub.start()
    # The policy allows no retry; a request on a new connection does not count as one.
    assert session.get("/api/v1/trials/12").status_code == 200


def test_query(stub: Stub, session: api.TaskSession) -> None:
    session.get("/api/v1/trials/12", params={"a": True, "b": None, "c": [1, 2], "d": "x y"})
    assert stub.requests[0].query == {"a": ["true"], "c": ["1", "2"], "d": ["x y"]}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.APIException),
        (401, errors.UnauthenticatedException),
        (403, errors.ForbiddenException),
        (404, errors.NotFoundException),
        (409, errors.APIException),
        (500, errors.APIException),
    ],
)
def test_errors(stub: Stub, session: api.TaskSession, status: int, kind: type) -> None:
    stub.change(refusals={"trials": error(status, "Reason", "what is wrong")})
    with pytest.raises(kind, match="what is wrong") as caught:
        session.get("/api/v1/trials/12")
    assert isinstance(caught.value, errors.BadRequestException)
    assert getattr(caught.value, "status_code", None) == status
    assert len(stub.requests) == 1


def test_plain_error_body(stub: Stub, session: api.TaskSession) -> None:
    stub.change(refusals={"trials": (400, {"message": "in the other form"})})
    with pytest.raises(errors.APIException, match="^in the other form$") as caught:
        session.get("/api/v1/trials/12")
    assert caught.value.response_error is None


def test_nobody_there() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with api.Session(url, "ann", "token", max_retries=0) as session, pytest.raises(
        errors.MasterNotFoundException, match=f"no answer from the master at {url} to GET /x"
    ):
        session.get("/x")


def test_unavailable_is_asked_again(stub: Stub) -> None:
    policy = api.RetryPolicy(total=None, patience=30, backoff_factor=0.01)
    session = api.TaskSession(stub.url, "", TOKEN, max_retries=policy)
    stub.change(broken=503)

    def repair() -> None:
        stub.wait_for(lambda: len(stub.requests) >= 3)
        stub.change(broken=None)

    helper = threading.Thread(target=repair)
    helper.start()
    assert session.get("/api/v1/trials/12").json()["trial"]["id"] == 12
    helper.join()
    session.close()


def test_unavailable_for_good(stub: Stub) -> None:
    stub.change(broken=502)
    policy = api.RetryPolicy(total=2, backoff_factor=0.01)
    with api.TaskSession(stub.url, "", TOKEN, max_retries=policy) as session, pytest.raises(
        errors.APIException, match="the database is away"
    ):
        session.get("/api/v1/trials/12")
    assert len(stub.requests) == 3


def test_lost_answer_is_asked_for_again(stub: Stub) -> None:
    stub.change(lost_answers=1)
    policy = api.RetryPolicy(total=3, backoff_factor=0.01)
    with api.TaskSession(stub.url, "", TOKEN, max_retries=policy) as session:
        session.post("/api/v1/trials/12/progress", json={"progress": 0.5})
    assert len(stub.sent("POST", "progress")) == 2


def test_close_ends_a_request_that_waits(stub: Stub) -> None:
    session = api.TaskSession(stub.url, "", TOKEN, max_retries=5)
    raised: List[BaseException] = []

    def poll() -> None:
        try:
            session.get(
                "/api/v1/allocations/a/signals/preemption",
                params={"timeout_seconds": 600},
                timeout=600,
            )
        except errors.BadRequestException as err:
            raised.append(err)

    thread = threading.Thread(target=poll)
    thread.start()
    stub.wait_for(lambda: stub.requests)
    session.close()
    thread.join(30)
    assert not thread.is_alive()
    assert len(raised) == 1


def test_retry_config(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _retry.task_policy().patience == 600
    monkeypatch.setenv("DET_RETRY_CONFIG", '{"total": 3, "backoff_factor": 0.1, "redirect": 1}')
    assert _retry.task_policy().total == 3
    monkeypatch.setenv("DET_RETRY_CONFIG", "[]")
    with pytest.raises(ValueError, match="DET_RETRY_CONFIG must be a JSON object"):
        _retry.task_policy()


def test_pauses_grow_within_bounds() -> None:
    policy = api.RetryPolicy(backoff_factor=1.0, max_pause=4.0)
    for attempts, expected in ((1, 1.0), (2, 2.0), (3, 4.0), (60, 4.0)):
        assert 0.75 * expected <= policy.pause(attempts) <= 1.25 * expected
    assert policy.pause(1, retry_after=3.0) >= 0.75 * 3.0
    assert policy.pause(1, retry_after=3600.0) <= 5.0


def test_asking_leaves_seeded_code_alone(stub: Stub) -> None:
    random.seed(1)
    state = random.getstate()
    stub.change(broken=503)
    policy = api.RetryPolicy(total=1, backoff_factor=0.01)
    with api.TaskSession(stub.url, "", TOKEN, max_retries=policy) as session, pytest.raises(
        errors.APIException
    ):
        session.get("/api/v1/trials/12")
    assert random.getstate() == state
