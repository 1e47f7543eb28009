import pytest

from determined.common import api
from determined.core import _ManagedTrialHeartbeat, _UnmanagedTrialHeartbeat
from tests.stub_master import Stub


def states(stub: Stub) -> "list[str]":
    return [request.json["state"] for request in stub.sent("PATCH", "/trials/12")]


def test_managed_trials_send_none(stub: Stub, session: api.TaskSession) -> None:
    with _ManagedTrialHeartbeat(session=session, trial_id=12):
        pass
    assert not stub.requests


def test_unmanaged_runs_say_how_they_end(stub: Stub, session: api.TaskSession) -> None:
    with _UnmanagedTrialHeartbeat(session=session, trial_id=12):
        assert states(stub) == ["STATE_RUNNING"]
    assert states(stub) == ["STATE_RUNNING", "STATE_COMPLETED"]
    with pytest.raises(KeyError), _UnmanagedTrialHeartbeat(session=session, trial_id=12):
        raise KeyError("a bug")
    assert states(stub)[-1] == "STATE_ERROR"
    with pytest.raises(SystemExit), _UnmanagedTrialHeartbeat(session=session, trial_id=12):
        raise SystemExit(0)
    assert states(stub)[-1] == "STATE_COMPLETED"
