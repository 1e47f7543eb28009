"""The functions and messages of ``bindings``; integration/clients runs them on a master."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any, Dict, Iterator

import pytest

from determined.common import api
from determined.common.api import _messages, bindings
from tests.stub_master import Stub


@pytest.fixture
def user(stub: Stub) -> Iterator[api.Session]:
    session = api.Session(stub.url, "ada", "token-of-ada", max_retries=0)
    yield session
    session.close()


def experiment(**more: Any) -> Dict[str, Any]:
    return {
        "archived": False,
        "config": {},
        "id": 5,
        "jobId": "j",
        "labels": ["a"],
        "name": "first",
        "numTrials": 1,
        "originalConfig": "",
        "projectId": 1,
        "projectOwnerId": 1,
        "searcherType": "single",
        "startTime": "2026-01-01T00:00:00Z",
        "state": "STATE_RUNNING",
        "username": "ada",
        **more,
    }


def test_a_message_is_read_and_written() -> None:
    raw = experiment(progress=0.5, bestTrialSearcherMetric="NaN", notes=None, unheardOf=1)
    found = bindings.v1Experiment.from_json(raw)
    assert found.state is bindings.experimentv1State.RUNNING and str(found.state) == "RUNNING"
    assert (found.id, found.progress, found.notes, found.displayName) == (5, 0.5, None, None)
    assert math.isnan(found.bestTrialSearcherMetric)  # type: ignore[arg-type]
    written = found.to_json(omit_unset=True)
    assert written == {key: value for key, value in raw.items() if key != "unheardOf"}
    assert "displayName" not in written and found.to_json()["displayName"] is None
    assert "v1Experiment(" in str(found) and "state=RUNNING" in str(found)


def test_fields_are_checked() -> None:
    with pytest.raises(TypeError, match="v1PatchExperiment needs the field id"):
        bindings.v1PatchExperiment(name="x")
    with pytest.raises(TypeError, match="v1PatchExperiment has no field colour"):
        bindings.v1PatchExperiment(id=1, colour="red")
    with pytest.raises(KeyError, match="id"):
        bindings.v1PatchExperiment.from_json({})


def test_a_request_has_its_path_its_query_and_its_body(stub: Stub, user: api.Session) -> None:
    stub.replies = {
        ("GET", "/api/v1/experiments"): [
            (200, {"experiments": [experiment()], "pagination": {"endIndex": 1, "total": 2}}),
            (200, {"experiments": [experiment(id=6)], "pagination": {"endIndex": 2, "total": 2}}),
        ],
        ("PATCH", "/api/v1/experiments/5"): [(200, {"experiment": experiment(name="second")})],
        ("POST", "/api/v1/experiments/5/kill"): [(200, {})],
    }

    def page(offset: int) -> bindings.v1GetExperimentsResponse:
        return bindings.get_GetExperiments(
            user,
            offset=offset,
            archived=False,
            labels=["a", "b"],
            states=[bindings.experimentv1State.ACTIVE, bindings.experimentv1State.PAUSED],
            orderBy=bindings.v1OrderBy.DESC,
            experimentIdFilter_gt=3,
        )

    ids = [e.id for answer in api.read_paginated(page) for e in answer.experiments]
    assert ids == [5, 6]
    first, second = stub.sent("GET", "/experiments")
    assert first.query == {
        "offset": ["0"],
        "archived": ["false"],
        "labels": ["a", "b"],
        "states": ["STATE_ACTIVE", "STATE_PAUSED"],
        "orderBy": ["ORDER_BY_DESC"],
        "experimentIdFilter.gt": ["3"],
    }
    assert second.query["offset"] == ["1"]

    body = bindings.v1PatchExperiment(id=5, name="second")
    answer = bindings.patch_PatchExperiment(user, body=body, experiment_id=5)
    assert answer.experiment is not None and answer.experiment.name == "second"
    (sent,) = stub.sent("PATCH", "/experiments/5")
    assert sent.json == {"id": 5, "name": "second"}
    bindings.post_KillExperiment(user, id=5)
    assert len(stub.sent("POST", "/experiments/5/kill")) == 1


def test_errors_are_those_of_the_session(stub: Stub, user: api.Session) -> None:
    stub.refusals = {"/experiments/7": (404, {"error": {"error": "no experiment 7", "code": 5}})}
    with pytest.raises(api.errors.NotFoundException):
        bindings.get_GetExperiment(user, experimentId=7)


def test_it_is_imported_when_it_is_used() -> None:
    code = (
        "import sys, determined, determined.core, determined.experimental.client\n"
        "from determined.common import api\n"
        "assert 'determined.common.api.bindings' not in sys.modules\n"
        "print(api.bindings.get_GetMaster.__name__)\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert out.stdout == "get_GetMaster\n"


def test_every_message_can_be_made() -> None:
    """Each type that a field names exists."""
    messages = [
        found
        for found in vars(bindings).values()
        if isinstance(found, type) and issubclass(found, _messages.Message)
    ]
    assert len(messages) > 200
    simple = {"Any", "str", "int", "float", "bool", "Dict", "Sequence", "Optional"}
    for message in messages:
        for field in _messages.fields_of(message).values():
            text = field.text
            for mark in "[],":
                text = text.replace(mark, " ")
            for name in text.split():
                assert name in simple or hasattr(bindings, name), (message, field)
