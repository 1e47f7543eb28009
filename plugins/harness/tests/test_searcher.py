from typing import Any, Dict, List, Optional

import pytest

from determined import core
from tests.conftest import CONFIG, MakeTask
from tests.ranks import errors_of_ranks, run_ranks
from tests.stub_master import Stub

Config = Dict[str, Any]


def with_searcher(**searcher: Any) -> Config:
    return {**CONFIG, "searcher": {"name": "single", "metric": "val_loss", **searcher}}


@pytest.mark.parametrize(
    ("searcher", "length", "unit"),
    [
        ({"max_length": {"batches": 100}}, 100, core.Unit.BATCHES),
        ({"max_length": {"epochs": 3}}, 3, core.Unit.EPOCHS),
        ({"max_length": {"records": 9}}, 9, core.Unit.RECORDS),
        ({"max_length": 50}, 50, None),
        ({"max_length": 50, "unit": "epochs"}, 50, core.Unit.EPOCHS),
        ({"max_length": {}}, None, None),
        ({}, None, None),
    ],
)
def test_lengths(searcher: Config, length: Optional[int], unit: Optional[core.Unit]) -> None:
    config = with_searcher(**searcher)
    assert core._parse_searcher_max_length(config) == length
    assert core._parse_searcher_units(config) == unit


def test_length_of_a_wrong_type() -> None:
    with pytest.raises(ValueError, match="must be a whole number, not 'long'"):
        core._parse_searcher_max_length(with_searcher(max_length={"batches": "long"}))


def test_one_operation_and_no_call_for_its_end(stub: Stub, make_task: MakeTask) -> None:
    make_task(with_searcher(max_length={"batches": 5000}))
    with core.init() as context:
        assert context.searcher.get_configured_units() == core.Unit.BATCHES
        lengths = []
        for operation in context.searcher.operations():
            lengths.append(operation.length)
            operation.report_progress(2500)
            stub.wait_for(lambda: stub.sent("POST", "progress"))
            operation.report_completed(0.1)
            with pytest.raises(RuntimeError, match="only once"):
                operation.report_completed(0.1)
            with pytest.raises(RuntimeError, match="after op.report_completed"):
                operation.report_progress(2600)
    assert lengths == [5000]
    (progress,) = stub.sent("POST", "progress")
    assert progress.json == {"progress": 0.5, "is_raw": True}
    assert not stub.sent("GET", "searcher") and not stub.sent("POST", "searcher")
    assert not stub.sent("POST", "ack_preemption")


def test_operation_must_be_completed(stub: Stub, make_task: MakeTask) -> None:
    make_task()
    with core.init() as context, pytest.raises(RuntimeError, match="must be called on each"):
        for _ in context.searcher.operations():
            pass


def test_no_length_no_operations(stub: Stub, make_task: MakeTask) -> None:
    make_task(with_searcher())
    with core.init() as context:
        with pytest.raises(ValueError, match=r"has no searcher\.max_length"):
            context.searcher.operations()
        with pytest.raises(ValueError, match=r"has no searcher\.max_length"):
            context.searcher.get_configured_units()


def test_operations_of_the_master(stub: Stub, make_task: MakeTask) -> None:
    make_task(with_searcher(max_length={"batches": 400}), DET_SEARCHER_API="ops")
    stub.change(operations=[100, 200, 400])
    seen: List[int] = []
    with core.init() as context:
        for operation in context.searcher.operations():
            seen.append(operation.length)
            operation.report_progress(operation.length)
            stub.wait_for(lambda: len(stub.sent("POST", "progress")) == len(seen))
            operation.report_completed(1 / operation.length)
    assert seen == [100, 200, 400]
    completed = [request.json for request in stub.sent("POST", "completed_operation")]
    assert completed[0] == {"op": {"length": 100}, "searcherMetric": 0.01}
    assert len(completed) == 3
    assert stub.sent("POST", "progress")[0].json == {"progress": 100.0}
    # No operation is left: the trial stops without completing, so it can be continued.
    assert len(stub.sent("POST", "/allocations/5.uuid.1/signals/ack_preemption")) == 1


def test_workers_follow_the_chief() -> None:
    def work(dist: core.DistributedContext) -> List[int]:
        seen = []
        for operation in core.DummySearcherContext(dist, length=8).operations():
            seen.append(operation.length)
            if dist.rank == 0:
                operation.report_completed(1.0)
            else:
                with pytest.raises(RuntimeError, match="only the chief"):
                    operation.report_completed(1.0)
        return seen

    assert run_ranks(work, 3) == [[8], [8], [8]]


def test_chief_only() -> None:
    def work(dist: core.DistributedContext) -> None:
        searcher = core.DummySearcherContext(dist)
        for operation in searcher.operations(core.SearcherMode.ChiefOnly):
            operation.report_completed(1.0)

    errors = errors_of_ranks(work, 2)
    assert errors[0] is None
    assert "reserves it for rank 0" in str(errors[1])
