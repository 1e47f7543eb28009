"""A program proposes the hyperparameters of a search."""

import importlib
import pathlib
import random
from typing import Any, Dict, Iterator, List, Optional, Tuple

import pytest

import determined as det
from determined.common import api
from determined.common.api import errors
from determined.experimental import Determined, client
from tests.stub_master import Stub, error
from tests.test_sdk import reply, wire_experiment

SPACE = {
    "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1},
    "decay": {"type": "log", "base": 0.1, "minval": 1, "maxval": 4},
    "batch": {"type": "int", "minval": 16, "maxval": 100, "step": 16},
    "drop": {"type": "double", "minval": 0, "maxval": 1, "prior": 0.25},
    "optimizer": {"type": "categorical", "vals": ["adam", "sgd", ["lion", 2]]},
    "momentum": {"type": "double", "minval": 0, "maxval": 0.9, "when": {"optimizer": "sgd"}},
    "nesterov": {
        "type": "categorical",
        "vals": [True, False],
        "ordered": True,
        "when": {"optimizer": ["sgd", "adam"], "net.depth": 1},
    },
    "damp": {"type": "double", "minval": 0, "maxval": 1, "when": {"nesterov": True}},
    "size": {"type": "const", "val": 3},
    "wide": {"type": "int", "minval": 1, "maxval": 9, "log": True, "when": {"size": 3}},
    "net": {"depth": {"type": "int", "minval": 1, "maxval": 2}},
}
CONFIG = {
    "searcher": {"sampler": "program", "metric": "loss", "smaller_is_better": False},
    "hyperparameters": SPACE,
}
EXAMPLE = pathlib.Path(det.__file__).parent.parent / "examples" / "proposals_optuna"
NEWS = "/detent/experiments/5/search-news"
PROPOSALS = "/detent/experiments/5/search-proposals"


def wire_news(next_event: int, **changes: Any) -> Any:
    empty = {"trials": [], "results": [], "wanted": 0, "more": False, "state": "STATE_ACTIVE"}
    return 200, {**empty, "next": str(next_event), **changes}


def wire_trial(number: int, key: str, **hparams: Any) -> Dict[str, Any]:
    return {"number": number, "key": key, "hparams": hparams}


def wire_result(
    trial: int,
    length: float = 0,
    metric: Optional[float] = None,
    ended: str = "",
    waits: bool = False,
) -> Dict[str, Any]:
    values = {"length": length, "metric": metric, "ended": ended, "waits": waits}
    return {"trial": trial, "key": "k", **values}


@pytest.fixture
def search(stub: Stub) -> Iterator[client.Search]:
    reply(stub, "GET", "/experiments/5", (200, {"experiment": wire_experiment(config=CONFIG)}))
    session = api.Session(stub.url, "ann", "token-of-ann", max_retries=0)
    yield Determined._from_session(session).get_experiment(5).search()
    session.close()


def test_the_space(search: client.Search) -> None:
    space = search.space
    assert list(space) == [*list(SPACE)[:-1], "net.depth"]
    lr = space["lr"]
    assert (lr.kind, lr.low, lr.high, lr.log) == ("double", 10**-4, 10**-1, True)
    assert (space["decay"].low, space["decay"].high) == (0.1**4, 0.1)
    assert space["optimizer"].choices == ["adam", "sgd", ["lion", 2]]
    assert space["nesterov"].ordered and space["drop"].prior == 0.25
    assert space["size"].choices == [3] and space["size"].kind == "const"
    assert space["momentum"].when == {"optimizer": ["sgd"]}
    assert search.metric == "loss" and not search.smaller_is_better


@pytest.mark.parametrize(
    ("name", "value", "nearest"),
    [
        ("batch", 17, 16),
        ("batch", 30.0, 32),
        ("batch", 1000, 96),
        ("batch", -1, 16),
        ("drop", 0.3, 0.3),
        ("drop", 7, 1.0),
        ("decay", 0.05, 0.05),
        ("net.depth", 1.4, 1),
    ],
)
def test_the_nearest_value(search: client.Search, name: str, value: float, nearest: float) -> None:
    found = search.space[name].nearest(value)
    assert found == nearest and type(found) is type(nearest)


def sampled(search: client.Search, seed: int) -> Tuple[Dict[str, Any], List[str]]:
    draw = random.Random(seed)
    asked: List[str] = []

    def suggest(h: client.Hyperparameter) -> Any:
        asked.append(h.name)
        if h.kind == "categorical":
            return draw.choice(h.choices)
        return h.nearest(draw.uniform(h.low, h.high))

    return search.sample(suggest), asked


def test_sampling_keeps_to_conditions(search: client.Search) -> None:
    for seed in range(200):
        point, asked = sampled(search, seed)
        assert sorted(asked) == sorted(point) and "size" not in point and "wide" in point
        assert ("momentum" in point) == (point["optimizer"] == "sgd")
        nesterov = point["optimizer"] in ("sgd", "adam") and point["net.depth"] == 1
        assert ("nesterov" in point) == nesterov
        assert ("damp" in point) == (point.get("nesterov") is True)


def test_news_until_the_end(stub: Stub, search: client.Search) -> None:
    reply(
        stub,
        "GET",
        NEWS,
        wire_news(0, wanted=2),
        wire_news(7, more=True, trials=[wire_trial(0, "a", lr=0.1)]),
        wire_news(9, wanted=1, results=[wire_result(0, 2, 0.5), wire_result(0, 3)]),
        wire_news(9, wanted=1),
        wire_news(12, state="STATE_COMPLETED", results=[wire_result(0, ended="completed")]),
    )
    found = list(search)
    assert [(len(n.trials), len(n.results), n.wanted, n.ended) for n in found] == [
        (0, 0, 2, False),
        (1, 2, 1, False),
        (0, 0, 1, False),
        (0, 1, 0, True),
    ]
    assert found[1].trials[0] == client.ProposedTrial(0, "a", {"lr": 0.1})
    assert found[1].results == [
        client.SearchResult(0, "k", 2, 0.5, ""),
        client.SearchResult(0, "k", 3, None, ""),
    ]
    asked = [r.query.get("after") for r in stub.sent("GET", "search-news")]
    assert asked == [None, ["0"], ["7"], ["9"], ["9"]]


def test_an_error_loses_no_news(stub: Stub, search: client.Search) -> None:
    first = wire_news(7, more=True, trials=[wire_trial(0, "a", lr=0.1)])
    last = wire_news(9, results=[wire_result(0, 2, 0.5)])
    reply(stub, "GET", NEWS, first, error(403, "PermissionDenied", "no"), first, last)
    with pytest.raises(errors.ForbiddenException):
        search.news()
    found = search.news()
    assert (len(found.trials), len(found.results)) == (1, 1)
    asked = [r.query.get("after") for r in stub.sent("GET", "search-news")]
    assert asked == [None, ["7"], None, ["7"]]


def test_proposals(stub: Stub, search: client.Search) -> None:
    reply(stub, "POST", PROPOSALS, (200, {"wanted": 0, "room": 1, "waiting": 0}))
    first, second = search.propose({"lr": 0.1}), search.propose({"lr": 0.2})
    assert first != second and search.propose({"lr": 0.3}, key="mine") == "mine"
    search.propose_all({"x": {"lr": 0.4}, "y": {"net": {"depth": 1}}})
    search.finish()
    sent = [r.json for r in stub.sent("POST", "search-proposals")]
    assert sent[0] == {"proposals": [{"key": first, "hparams": {"lr": 0.1}}], "last": False}
    assert sent[3]["proposals"] == [
        {"key": "x", "hparams": {"lr": 0.4}},
        {"key": "y", "hparams": {"net": {"depth": 1}}},
    ]
    assert sent[4] == {"proposals": [], "last": True}


def test_a_lost_answer_does_not_propose_twice(stub: Stub, search: client.Search) -> None:
    reply(stub, "POST", PROPOSALS, (200, {"wanted": 0, "room": 1, "waiting": 0}))
    stub.change(lost_answers=1)
    key = search.propose({"lr": 0.1})
    sent = [r.json["proposals"][0]["key"] for r in stub.sent("POST", "search-proposals")]
    assert sent == [key, key]


@pytest.mark.parametrize(("status", "late"), [(400, False), (409, True)])
def test_a_rejected_proposal(stub: Stub, search: client.Search, status: int, late: bool) -> None:
    reply(stub, "POST", PROPOSALS, error(status, "Invalid", "proposals[0]: lr: is never 2"))
    with pytest.raises(client.ProposalError, match="lr: is never 2") as caught:
        search.propose({"lr": 2})
    assert caught.value.late is late


def test_other_errors_are_those_of_the_client(stub: Stub, search: client.Search) -> None:
    reply(stub, "POST", PROPOSALS, error(403, "PermissionDenied", "no"))
    with pytest.raises(errors.ForbiddenException):
        search.propose({"lr": 0.1})


def test_another_sampler(stub: Stub) -> None:
    reply(stub, "GET", "/experiments/5", (200, {"experiment": wire_experiment()}))
    session = api.Session(stub.url, "ann", "token-of-ann", max_retries=0)
    with pytest.raises(ValueError, match="lacks searcher.sampler: program"):
        Determined._from_session(session).get_experiment(5).search()
    session.close()


class Noted:
    """A library that notes what it is told."""

    def __init__(self) -> None:
        self.told: List[Any] = []
        self.asked = 0

    def ask(self) -> Tuple[str, Dict[str, Any]]:
        self.asked += 1
        return f"mine {self.asked}", {"lr": 0.1 * self.asked}

    def adopt(self, hparams: Dict[str, Any]) -> str:
        return f"adopted {hparams['lr']}"

    def report(self, trial: str, length: float, metric: float) -> None:
        self.told.append((trial, length, metric))

    def end(self, trial: str, metric: Optional[float], ended: str) -> None:
        self.told.append((trial, metric, ended))


def test_the_loop_of_the_example(
    stub: Stub, search: client.Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It proposes what is wanted, adopts what it did not propose, and tells each result once."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    drive = importlib.import_module("drive")
    # The second proposal is rejected, and the third one accepted in its place.
    reply(
        stub,
        "POST",
        PROPOSALS,
        (200, {}),
        error(400, "Invalid", "lr: is never 2"),
        (200, {}),
        error(409, "Conflict", "the search takes 0 more now"),
    )
    keys: List[str] = []
    propose = search.propose

    def named(hparams: Dict[str, Any]) -> str:
        keys.append(f"k{len(keys)}")
        return propose(hparams, key=keys[-1])

    monkeypatch.setattr(search, "propose", named)
    reply(
        stub,
        "GET",
        NEWS,
        wire_news(0, wanted=2, trials=[wire_trial(0, "", lr=0.5)]),
        wire_news(
            3,
            trials=[wire_trial(1, "k0", lr=0.1), wire_trial(2, "k2", lr=0.3)],
            results=[
                wire_result(1, 2, 0.5),
                wire_result(1, 3),
                wire_result(1, waits=True),
                wire_result(0, ended="errored"),
            ],
            wanted=1,
        ),
        wire_news(
            9,
            results=[
                wire_result(1, ended="stopped"),
                wire_result(1, 4, 0.1),
                wire_result(2, 8, 0.25),
                wire_result(2, ended="completed"),
            ],
            state="STATE_COMPLETED",
        ),
    )
    library = Noted()
    drive.drive(search, library)
    assert library.told == [
        ("mine 2", None, "invalid_hp"),
        ("mine 1", 2, 0.5),
        ("adopted 0.5", None, "errored"),
        ("mine 4", None, "invalid_hp"),
        ("mine 1", 0.5, "stopped"),
        ("mine 3", 8, 0.25),
        ("mine 3", 0.25, "completed"),
    ]
