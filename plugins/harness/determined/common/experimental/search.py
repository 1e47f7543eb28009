"""Searches whose hyperparameters a program of yours proposes (``sampler: program``)."""

from __future__ import annotations

import dataclasses
import math
import uuid
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from determined.common import api
from determined.common.api import _retry, errors

__all__ = [
    "Hyperparameter",
    "News",
    "ProposalError",
    "ProposedTrial",
    "Search",
    "SearchResult",
]

# The master answers after a minute if nothing has happened.
_POLL_TIMEOUT = 90.0

_OVER = frozenset(
    {
        "STATE_COMPLETED",
        "STATE_CANCELED",
        "STATE_ERROR",
        "STATE_DELETING",
        "STATE_DELETED",
        "STATE_DELETE_FAILED",
    }
)


class ProposalError(ValueError):
    """The search does not accept a proposal.

    The message names the hyperparameter and what would be right. If ``late`` is true, the values
    are not at fault: the search has ended, or wants no further trials now.

    Example::

        try:
            search.propose({"lr": 2.0})
        except client.ProposalError as err:
            if not err.late:
                print("other values are needed:", err)
    """

    def __init__(self, message: str, late: bool = False) -> None:
        super().__init__(message)
        self.late = late


@dataclasses.dataclass(frozen=True)
class Hyperparameter:
    """One hyperparameter of an experiment's space.

    ``name`` has dots between groups. ``kind`` is ``int``, ``double``, ``categorical`` or ``const``.
    Numbers are from ``low`` to ``high``, evenly by their logarithm if ``log`` is true, and in steps
    of ``step`` if there is one; a range of the type ``log`` is a ``double`` whose ``log`` is true.
    ``choices`` are the values of a category, or the one of a constant; they have an order if
    ``ordered`` is true. ``when`` has the values that other hyperparameters must have in trials
    that have this one. ``prior`` is the value that the user believes to be good.

    Example::

        for h in search.space.values():
            if h.kind == "categorical":
                print(h.name, "is one of", h.choices)
            elif h.kind != "const":
                print(h.name, "is from", h.low, "to", h.high, "such as", h.nearest(h.low * 2))
    """

    name: str
    kind: str
    low: float = math.nan
    high: float = math.nan
    log: bool = False
    step: Optional[float] = None
    choices: Sequence[Any] = ()
    ordered: bool = False
    when: Mapping[str, Sequence[Any]] = dataclasses.field(default_factory=dict)
    prior: Any = None

    def nearest(self, value: float) -> Union[int, float]:
        """Return the number of the range, and of its steps, that is nearest to a number."""
        value = min(max(value, self.low), self.high)
        step = self.step or (1 if self.kind == "int" else 0)
        if step:
            last = math.floor((self.high - self.low) / step * (1 + 1e-12))
            value = self.low + step * min(round((value - self.low) / step), last)
        return round(value) if self.kind == "int" else float(value)

    @classmethod
    def _from_config(cls, name: str, fields: Mapping[str, Any]) -> Hyperparameter:
        when = {
            key: values if isinstance(values, list) else [values]
            for key, values in (fields.get("when") or {}).items()
        }
        kind: str = fields["type"]
        common: Dict[str, Any] = {"when": when, "prior": fields.get("prior")}
        if kind == "const":
            return cls(name, kind, choices=[fields.get("val")], **common)
        if kind == "categorical":
            ordered = bool(fields.get("ordered"))
            return cls(name, kind, choices=fields.get("vals") or [], ordered=ordered, **common)
        low, high, log = fields["minval"], fields["maxval"], bool(fields.get("log"))
        if kind == "log":
            base = fields.get("base", 10)
            low, high = sorted((base**low, base**high))  # the base may be below 1
            kind, log = "double", True
        return cls(name, kind, low, high, log, fields.get("step") or None, **common)


@dataclasses.dataclass(frozen=True)
class ProposedTrial:
    """A trial that the search has created; ``number`` counts from 0.

    ``key`` is that of its proposal; it is empty for a trial with values of ``start_with``.
    ``hparams`` are the values of the hyperparameters that are not constant, by name.

    Example::

        for trial in news.trials:
            print(trial.number, trial.key, trial.hparams)
    """

    number: int
    key: str
    hparams: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class SearchResult:
    """What a trial reported, or how it ended.

    ``metric`` is the searcher's metric after a training of ``length``, in the searcher's unit; it
    is None if it was not a finite number. At the end of the trial ``ended`` is ``completed``,
    ``stopped`` (by the search), ``errored``, ``canceled`` or ``invalid_hp``; before it is empty.
    ``waits`` is true when the trial begins to wait at a rung, until its next result.

    Example::

        for result in news.results:
            if result.ended:
                print("trial", result.trial, "of proposal", result.key, result.ended)
            elif not result.waits:
                print("trial", result.trial, "has", result.metric, "after", result.length)
    """

    trial: int
    key: str
    length: float
    metric: Optional[float]
    ended: str = ""
    waits: bool = False


@dataclasses.dataclass(frozen=True)
class News:
    """What has happened in a search since the news before.

    ``wanted`` is how many trials would begin now if they were proposed. ``ended`` is true if the
    experiment has ended; these are the last news.

    Example::

        news = search.news()
        print(len(news.trials), "new trials,", len(news.results), "results")
        if news.wanted and not news.ended:
            search.propose({"lr": 0.1})
    """

    trials: Sequence[ProposedTrial]
    results: Sequence[SearchResult]
    wanted: int
    ended: bool


class Search:
    """The search of an experiment whose hyperparameters a program proposes.

    The search schedules, stops, resumes and repeats its trials itself. It creates a trial when it
    wants one and has a proposal for it; ``propose`` proposes one, ``propose_all`` several by their
    keys. A new object reads all news from the beginning, so a program that was killed continues
    when it is started again.

    Example::

        search = client.get_experiment(5).search()
        for news in search:
            for result in news.results:
                print(result.trial, result.length, result.metric, result.ended)
            for _ in range(news.wanted):
                point = search.sample(lambda h: random.choice(h.choices or [h.low, h.high]))
                search.propose(point)
        search.propose_all({"first": {"lr": 0.1}, "second": {"lr": 0.2}})
        search.news()           # the same as the loop, once
        search.finish()         # the search ends with the trials that it has
        print(search.metric, search.smaller_is_better)
    """

    def __init__(
        self, experiment_id: int, config: Mapping[str, Any], session: api.BaseSession
    ) -> None:
        searcher = config.get("searcher") or {}
        if searcher.get("sampler") != "program":
            raise ValueError(
                f"no program proposes the trials of experiment {experiment_id}: "
                "its configuration lacks searcher.sampler: program"
            )
        self._path = f"/api/v1/detent/experiments/{experiment_id}"
        # A program that proposes for days survives an outage of the master.
        self._session = session.with_retry(_retry.task_policy())
        self._next: Optional[str] = None
        self.metric: str = searcher["metric"]
        self.smaller_is_better: bool = searcher.get("smaller_is_better", True)
        self.space: Dict[str, Hyperparameter] = {
            h.name: h for h in _space("", config.get("hyperparameters") or {})
        }

    def __iter__(self) -> Iterator[News]:
        """Yield the news until the experiment has ended."""
        while True:
            news = self.news()
            yield news
            if news.ended:
                return

    def news(self) -> News:
        """Wait until something has happened, for a minute at most, and return it."""
        trials: List[ProposedTrial] = []
        results: List[SearchResult] = []
        after = self._next  # until all parts are there, so that no news are lost with an error
        while True:
            params = {} if after is None else {"after": after}
            path = f"{self._path}/search-news"
            found = self._session.get(path, params=params, timeout=_POLL_TIMEOUT).json()
            after = str(found["next"])
            for t in found.get("trials") or []:
                trials.append(ProposedTrial(int(t["number"]), t["key"], t["hparams"]))
            for r in found.get("results") or []:
                about = r["trial"], r["key"], r["length"], r["metric"]
                results.append(SearchResult(*about, ended=r["ended"], waits=r["waits"]))
            if not found.get("more"):
                self._next = after
                return News(trials, results, int(found["wanted"]), found["state"] in _OVER)

    def propose(self, hparams: Mapping[str, Any], key: Optional[str] = None) -> str:
        """Propose the hyperparameters of one trial, and return the key of the proposal.

        The names of hyperparameters have dots between groups, or the groups are mappings; constants
        may be left out. A proposal with a key that the search knows is not added again. Without
        ``key`` the proposal gets a new one. Raises ProposalError if it is not accepted.
        """
        key = key or uuid.uuid4().hex
        self.propose_all({key: hparams})
        return key

    def propose_all(self, proposals: Mapping[str, Mapping[str, Any]]) -> None:
        """Propose several trials by their keys; the search accepts all of them or none."""
        self._send([{"key": key, "hparams": dict(point)} for key, point in proposals.items()])

    def finish(self) -> None:
        """Propose no further trials: the experiment ends after those that it has."""
        self._send([], last=True)

    def _send(self, proposals: List[Dict[str, Any]], last: bool = False) -> None:
        body = {"proposals": proposals, "last": last}
        try:
            self._session.post(f"{self._path}/search-proposals", json=body)
        except errors.APIException as err:
            if err.status_code not in (400, 409):
                raise
            raise ProposalError(err.message, late=err.status_code == 409) from err

    def sample(self, suggest: Callable[[Hyperparameter], Any]) -> Dict[str, Any]:
        """Return a value for each hyperparameter that a trial has, by asking ``suggest``.

        ``suggest`` is called for each one that is not constant and whose conditions hold, after
        those that they name.
        """
        values: Dict[str, Any] = {}
        decided: Dict[str, bool] = {}
        while len(decided) < len(self.space):
            ready = [
                h
                for h in self.space.values()
                if h.name not in decided and all(name in decided for name in h.when)
            ]
            if not ready:
                break
            for h in ready:
                decided[h.name] = all(
                    decided[name] and any(_same(values[name], v) for v in allowed)
                    for name, allowed in h.when.items()
                )
                if decided[h.name]:
                    values[h.name] = h.choices[0] if h.kind == "const" else suggest(h)
        return {name: v for name, v in values.items() if self.space[name].kind != "const"}


def _same(a: Any, b: Any) -> bool:
    """Compare as the master does: true is not 1."""
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


def _space(prefix: str, group: Mapping[str, Any]) -> Iterator[Hyperparameter]:
    for key, fields in group.items():
        name = f"{prefix}{key}"
        if isinstance(fields.get("type"), str):
            yield Hyperparameter._from_config(name, fields)
        else:
            yield from _space(f"{name}.", fields)
