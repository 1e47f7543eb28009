import datetime
import threading
from typing import List

import pytest

from determined import core
from determined.common import api
from tests.conftest import TOKEN, MakeTask
from tests.ranks import errors_of_ranks, run_ranks
from tests.stub_master import DEADLINE, Stub

PATH = "/api/v1/allocations/5.uuid.1/signals/preemption"
ACK = "/api/v1/allocations/5.uuid.1/signals/ack_preemption"


def wait_for_preemption(context: core.PreemptContext) -> None:
    """The watcher's answer arrives a moment after the master gave it."""
    watcher = context._watcher
    assert watcher is not None
    watcher.join(DEADLINE)
    assert not watcher.is_alive()


def test_signal_is_heard_and_acknowledged_once(stub: Stub, make_task: MakeTask) -> None:
    make_task()
    with core.init() as context:
        assert not context.preempt.should_preempt()
        first, second = stub.wait_for(lambda: len(stub.sent("GET", PATH)) >= 2) and stub.sent(
            "GET", PATH
        )
        assert first.query == {"timeout_seconds": ["0"]}
        assert second.query == {"timeout_seconds": ["60"]}
        stub.change(preempt=True)
        wait_for_preemption(context.preempt)
        assert context.preempt.should_preempt()
        assert context.preempt.should_preempt()
    (acknowledged,) = stub.sent("POST", ACK)
    assert acknowledged.body is None


def test_signal_before_the_start(stub: Stub, make_task: MakeTask) -> None:
    make_task()
    stub.change(preempt=True)
    with core.init() as context:
        # The first call waits for the master's first answer.
        assert context.preempt.should_preempt()


def test_acknowledging_by_hand(stub: Stub, make_task: MakeTask) -> None:
    make_task()
    stub.change(preempt=True)
    with core.init() as context:
        assert context.preempt.should_preempt(auto_ack=False)
        assert not stub.sent("POST", ACK)
        context.preempt.acknowledge_preemption_signal()
        assert context.preempt.should_preempt()
    assert len(stub.sent("POST", ACK)) == 1


def test_signal_survives_a_restart_of_the_master(stub: Stub, make_task: MakeTask) -> None:
    make_task()
    with core.init() as context:
        assert not context.preempt.should_preempt()
        stub.wait_for(lambda: len(stub.sent("GET", PATH)) >= 2)
        stub.stop()
        assert not context.preempt.should_preempt()
        stub.change(preempt=True)
        stub.start()
        wait_for_preemption(context.preempt)
        assert context.preempt.should_preempt()


def test_leaving_ends_the_long_poll(stub: Stub, make_task: MakeTask) -> None:
    make_task()
    with core.init() as context:
        context.preempt.should_preempt()
        stub.wait_for(lambda: len(stub.sent("GET", PATH)) >= 2)
    assert "determined-preemption" not in [thread.name for thread in threading.enumerate()]


def contexts(
    stub: Stub, dist: core.DistributedContext, mode: core.PreemptMode
) -> core.PreemptContext:
    session = api.TaskSession(stub.url, "", TOKEN)
    return core.PreemptContext(session, "5.uuid.1", dist, mode)


def test_workers_ask_chief(stub: Stub) -> None:
    def work(dist: core.DistributedContext) -> List[bool]:
        with contexts(stub, dist, core.PreemptMode.WorkersAskChief) as preempt:
            before = preempt.should_preempt()
            dist.allgather(None)
            if dist.rank == 0:
                stub.change(preempt=True)
                wait_for_preemption(preempt)
            return [before, preempt.should_preempt()]

    assert run_ranks(work, 3) == [[False, True]] * 3
    assert len(stub.sent("POST", ACK)) == 1
    # Only the chief asks: one call returns at once, the other waits for the preemption.
    assert len(stub.sent("GET", PATH)) == 2


def test_deadline(stub: Stub) -> None:
    at = datetime.datetime(2026, 11, 22, 23, 5, 1, tzinfo=datetime.timezone.utc)

    def work(dist: core.DistributedContext) -> List[object]:
        with contexts(stub, dist, core.PreemptMode.WorkersAskChief) as preempt:
            said: List[object] = [preempt.should_preempt(), preempt.deadline]
            dist.allgather(None)
            if dist.rank == 0:
                stub.change(preempt=True, deadline="2026-11-22T23:05:01.500Z")
                wait_for_preemption(preempt)
            return [*said, preempt.should_preempt(), preempt.deadline]

    assert run_ranks(work, 3) == [[False, None, True, at]] * 3


def test_no_deadline(stub: Stub) -> None:
    stub.change(preempt=True)

    def work(dist: core.DistributedContext) -> List[object]:
        with contexts(stub, dist, core.PreemptMode.WorkersAskMaster) as preempt:
            return [preempt.should_preempt(), preempt.deadline]

    assert run_ranks(work, 2) == [[True, None]] * 2


def test_chief_only(stub: Stub) -> None:
    stub.change(preempt=True)

    def work(dist: core.DistributedContext) -> None:
        with contexts(stub, dist, core.PreemptMode.ChiefOnly) as preempt:
            assert preempt.should_preempt()

    errors = errors_of_ranks(work, 2)
    assert errors[0] is None
    assert "preempt_mode=ChiefOnly reserves it for rank 0" in str(errors[1])


def test_workers_ask_master(stub: Stub) -> None:
    stub.change(preempt=True)

    def work(dist: core.DistributedContext) -> bool:
        with contexts(stub, dist, core.PreemptMode.WorkersAskMaster) as preempt:
            return preempt.should_preempt()

    assert run_ranks(work, 3) == [True] * 3
    assert len(stub.sent("GET", PATH)) == 3


def test_order_of_calls(stub: Stub, session: api.TaskSession) -> None:
    preempt = core.PreemptContext(session, "5.uuid.1", core.DummyDistributedContext())
    with pytest.raises(RuntimeError, match="call PreemptContext.start"):
        preempt.should_preempt()
    with preempt, pytest.raises(RuntimeError, match="only once"):
        preempt.start()
