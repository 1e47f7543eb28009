"""The SDK's part of the model registry, against a master of the test's own."""

from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest

from determined.common import api
from determined.experimental import Determined, Model, ModelOrderBy, ModelSortBy, OrderBy
from tests.stub_master import Stub
from tests.test_sdk import UUID, page, reply, wire_checkpoint

NAME = "m [['b'], x] 100% ?"
PATH = "/models/m%20%5B%5B%27b%27%5D%2C%20x%5D%20100%25%20%3F"


def wire_model(**changes: Any) -> Dict[str, Any]:
    return {
        "id": 4,
        "name": NAME,
        "description": "",
        "metadata": {"a": 1},
        "creationTime": "2026-11-20T04:22:01.973297Z",
        "lastUpdatedTime": "2026-11-20T04:22:02Z",
        "numVersions": 2,
        "labels": ["x"],
        "username": "ann",
        "userId": 3,
        "workspaceId": 1,
        "archived": False,
        "notes": "# read",
        **changes,
    }


def wire_version(number: int, **changes: Any) -> Dict[str, Any]:
    return {
        "id": 70 + number,
        "version": number,
        "model": wire_model(),
        "checkpoint": wire_checkpoint(),
        "creationTime": "2026-11-20T04:22:01Z",
        "name": "",
        "comment": "c",
        "labels": ["l"],
        "metadata": {},
        "notes": "",
        "username": "ann",
        **changes,
    }


@pytest.fixture
def det(stub: Stub) -> Iterator[Determined]:
    session = api.Session(stub.url, "ann", "token-of-ann", max_retries=0)
    yield Determined._from_session(session)
    session.close()


def last(stub: Stub) -> Any:
    return stub.requests[-1].json


def test_a_model(stub: Stub, det: Determined) -> None:
    reply(stub, "POST", "/models", (200, {"model": wire_model()}))
    made = det.create_model(NAME, "digits", metadata={"a": 1}, labels=["x"], workspace_name="w")
    assert last(stub) == {
        "name": NAME,
        "description": "digits",
        "metadata": {"a": 1},
        "labels": ["x"],
        "workspaceName": "w",
    }
    assert (made.model_id, made.name, made.labels, made.notes) == (4, NAME, ["x"], "# read")
    assert made.creation_time is not None and made.creation_time.microsecond == 973297
    reply(stub, "GET", "/models/4", (200, {"model": wire_model()}))
    assert det.get_model(4).name == NAME and det.get_model_by_id(4).name == NAME
    reply(stub, "GET", "/model/labels", (200, {"labels": ["x", "y"]}))
    assert det.get_model_labels() == ["x", "y"]


def test_changes(stub: Stub, det: Determined) -> None:
    reply(stub, "PATCH", PATH, (200, {"model": wire_model(metadata={"a": 1, "b": 2})}))
    reply(stub, "GET", PATH, (200, {"model": wire_model()}))
    model = Model(det._session, NAME)
    model.add_metadata({"b": 2})
    assert last(stub) == {"metadata": {"a": 1, "b": 2}} and model.metadata == {"a": 1, "b": 2}
    model.remove_metadata(["a", "none"])
    assert last(stub) == {"metadata": {"b": 2}}
    calls: List[Tuple[Callable[[], None], Any]] = [
        (lambda: model.set_labels(["l"]), {"labels": ["l"]}),
        (lambda: model.set_labels([]), {"labels": []}),
        (lambda: model.set_description("d"), {"description": "d"}),
        (lambda: model.set_notes("n"), {"notes": "n"}),
        (lambda: model.move_to_workspace("w"), {"workspaceName": "w"}),
    ]
    for call, sent in calls:
        call()
        assert last(stub) == sent
    for wrong in ("abc", 5):
        with pytest.raises(ValueError, match="list"):
            model.set_labels(wrong)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="list"):
            model.remove_metadata(wrong)  # type: ignore[arg-type]
    for verb in ("archive", "unarchive"):
        reply(stub, "POST", f"{PATH}/{verb}", (200, {}))
        getattr(model, verb)()
        assert model.archived is (verb == "archive")
    reply(stub, "DELETE", PATH, (200, {}))
    model.delete()
    assert stub.sent("DELETE", "/models")


def test_lists(stub: Stub, det: Determined) -> None:
    first, second = wire_model(id=1, name="a"), wire_model(id=2, name="b")
    reply(
        stub,
        "GET",
        "/models",
        page("models", [first], total=2),
        page("models", [second], start=1, total=2),
    )
    found = det.list_models(ModelSortBy.WORKSPACE, OrderBy.DESC, name="m", workspace_names=["w"])
    assert [model.name for model in found] == ["a", "b"]
    query = stub.sent("GET", "/models")[0].query
    assert query["sortBy"] == ["SORT_BY_WORKSPACE"] and query["orderBy"] == ["ORDER_BY_DESC"]
    assert query["name"] == ["m"] and query["workspaceNames"] == ["w"] and "id" not in query
    assert stub.sent("GET", "/models")[1].query["offset"] == ["1"]
    assert {order.name: order.value for order in ModelOrderBy} == {
        "ASC": "ORDER_BY_ASC",
        "DESC": "ORDER_BY_DESC",
    }
    assert ModelOrderBy["ASCENDING"] is ModelOrderBy["ASC"]


def test_versions(stub: Stub, det: Determined) -> None:
    model = Model(det._session, NAME)
    reply(stub, "POST", f"{PATH}/versions", (200, {"modelVersion": wire_version(1)}))
    made = model.register_version(UUID)
    assert last(stub) == {"checkpointUuid": UUID, "modelName": NAME}
    assert made.model_version == 1 and made.model_id == 4 and made.model_name == NAME
    assert made.checkpoint is not None and made.checkpoint.uuid == UUID
    assert made.checkpoint.training is not None
    assert made.checkpoint.training.experiment_config["checkpoint_storage"]["type"] == "shared_fs"
    model.register_version(UUID, name="n", labels=["l"], metadata={"k": 1})
    assert last(stub)["labels"] == ["l"] and "notes" not in last(stub)
    both = [wire_version(2), wire_version(1)]
    reply(stub, "GET", f"{PATH}/versions", page("modelVersions", both))
    assert [version.model_version for version in model.list_versions()] == [2, 1]
    newest = model.get_version()
    assert newest is not None and newest.model_version == 2
    query = stub.requests[-1].query
    assert query["limit"] == ["1"] and query["orderBy"] == ["ORDER_BY_DESC"]
    none: List[Dict[str, Any]] = []
    reply(stub, "GET", f"{PATH}/versions", page("modelVersions", none))
    assert model.get_version() is None
    reply(stub, "GET", f"{PATH}/versions/1", (200, {"modelVersion": wire_version(1)}))
    one = model.get_version(1)
    assert one is not None and one.comment == "c" and one.labels == ["l"]
    reply(stub, "PATCH", f"{PATH}/versions/1", (200, {"modelVersion": wire_version(1, name="n")}))
    one.set_name("n")
    assert last(stub) == {"name": "n"} and one.name == "n"
    calls: List[Tuple[Callable[[], None], Any]] = [
        (lambda: one.set_notes("x"), {"notes": "x"}),
        (lambda: one.set_comment("x"), {"comment": "x"}),
        (lambda: one.set_labels(["x"]), {"labels": ["x"]}),
        (lambda: one.set_metadata({"x": 1}), {"metadata": {"x": 1}}),
    ]
    for call, sent in calls:
        call()
        assert last(stub) == sent
    reply(stub, "DELETE", f"{PATH}/versions/1", (200, {}))
    one.delete()


def test_metrics(stub: Stub, det: Determined) -> None:
    model = Model(det._session, NAME)
    reply(stub, "GET", f"{PATH}/versions/1", (200, {"modelVersion": wire_version(1)}))
    one = model.get_version(1)
    assert one is not None
    report = {
        "trialId": 9,
        "trialRunId": 1,
        "totalBatches": 5,
        "endTime": "2026-11-20T04:22:01Z",
        "group": "inference",
        "metrics": {"avg_metrics": {"seen": 7}},
    }
    reply(stub, "GET", f"{PATH}/versions/1/metrics", (200, {"metrics": [report]}))
    found = list(one.iter_metrics("inference"))
    assert len(found) == 1 and found[0].trial_id == 9 and found[0].metrics == {"seen": 7}
    query = stub.requests[-1].query
    assert query["metricGroup"] == ["inference"]
    assert query["trialSourceInfoType"] == ["TRIAL_SOURCE_INFO_TYPE_INFERENCE"]
