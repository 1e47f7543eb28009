"""Reports during outages: none is lost, repeated or out of order."""

import json
import os
import pathlib
import subprocess
import sys
import threading
from typing import List

import pytest

from determined.common import api
from determined.common.api import errors
from determined.core._backlog import Backlog, Report
from determined.core._metrics import _MetricsContext
from determined.core._reporter import Reporter
from tests.conftest import TOKEN
from tests.ranks import free_port
from tests.stub_master import DEADLINE, Stub, error

FAST = api.RetryPolicy(total=None, backoff_factor=0.01, max_pause=0.05)


def metrics_context(
    url: str, backlog: Backlog, flush_seconds: float = DEADLINE
) -> "tuple[_MetricsContext, Reporter]":
    session = api.TaskSession(url, "", TOKEN)
    reporter = Reporter(session, backlog, FAST, flush_seconds=flush_seconds)
    return _MetricsContext(session, 12, 1, reporter), reporter


def wait_for_reports(stub: Stub, count: int) -> None:
    stub.wait_for(lambda: len(stub.order) >= count)


def test_reports_arrive_in_order(stub: Stub, tmp_path: pathlib.Path) -> None:
    metrics, _ = metrics_context(stub.url, Backlog(tmp_path))
    for step in range(200):
        metrics.report("training", {"loss": step / 7}, step)
    metrics.close()
    assert stub.steps("training") == list(range(200))
    assert stub.repeats == 0
    assert stub.values("training", 7) == {"loss": 1.0}


@pytest.mark.parametrize("memory_bytes", [0, 1 << 20], ids=["on disk", "in memory"])
def test_killed_master_loses_and_doubles_nothing(
    stub: Stub, tmp_path: pathlib.Path, memory_bytes: int
) -> None:
    metrics, _ = metrics_context(stub.url, Backlog(tmp_path, memory_bytes))
    total, kills = 600, 6
    step = 0
    for kill in range(1, kills + 1):
        # Kill it while it sends reports of this round, perhaps before an answer arrives.
        for _ in range(total // kills):
            metrics.report("training", {"loss": float(step)}, step)
            step += 1
        wait_for_reports(stub, kill * 50)
        stub.stop()
        metrics.report("validation", {"accuracy": float(step)}, step)
        stub.start()
    metrics.close()
    assert stub.steps("training") == list(range(total))
    assert stub.steps("validation") == list(range(total // kills, total + 1, total // kills))
    for group, name in (("training", "loss"), ("validation", "accuracy")):
        for at in stub.steps(group):
            assert stub.values(group, at) == {name: float(at)}
    # Only reports that were being sent at a kill arrive a second time.
    assert stub.repeats <= kills
    assert not list(tmp_path.glob("*.jsonl")), "the backlog left files behind"


def test_lost_answers_double_nothing(stub: Stub, tmp_path: pathlib.Path) -> None:
    stub.change(lost_answers=5)
    metrics, _ = metrics_context(stub.url, Backlog(tmp_path))
    for step in range(20):
        metrics.report("training", {"loss": float(step)}, step)
    metrics.close()
    assert stub.steps("training") == list(range(20))
    assert stub.repeats == 5


def test_database_away(
    stub: Stub, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    stub.change(broken=503)
    metrics, _ = metrics_context(stub.url, Backlog(tmp_path))
    for step in range(50):
        metrics.report("training", {"loss": float(step)}, step)
    stub.wait_for(lambda: len(stub.requests) >= 3)
    assert not stub.order
    stub.change(broken=None)
    metrics.close()
    assert stub.steps("training") == list(range(50))
    assert caplog.text.count("reports wait until one does") == 1


def test_a_repeated_report_is_the_same_report(stub: Stub, tmp_path: pathlib.Path) -> None:
    stub.change(lost_answers=1)
    metrics, _ = metrics_context(stub.url, Backlog(tmp_path))
    metrics.report("cpu", {"node": {"cpu_util_simple": 3.0}})
    metrics.close()
    first, second = stub.sent("POST", "metrics")
    assert first.json == second.json
    assert first.json["metrics"]["reportTime"] is not None
    assert first.json["metrics"]["stepsCompleted"] is None
    assert (len(stub.order), stub.repeats) == (1, 1)


def test_refusal_is_raised_at_the_next_report(stub: Stub, tmp_path: pathlib.Path) -> None:
    stub.change(refusals={"metrics": error(400, "InvalidArgument", "an older run")})
    metrics, _ = metrics_context(stub.url, Backlog(tmp_path))
    metrics.report("training", {"loss": 1.0}, 1)
    stub.wait_for(lambda: stub.sent("POST", "metrics"))
    stub.change(refusals={})
    with pytest.raises(errors.APIException, match="an older run"):
        for step in range(2, 10_000):
            metrics.report("training", {"loss": 1.0}, step)
    # The error is raised once, and later reports are delivered.
    metrics.report("training", {"loss": 1.0}, 10_000)
    metrics.close()
    assert stub.steps("training")[-1] == 10_000
    assert 1 not in stub.steps("training")


def test_refusal_of_the_last_report_is_raised_at_the_end(
    stub: Stub, tmp_path: pathlib.Path
) -> None:
    stub.change(refusals={"metrics": error(409, "Aborted", "another value")})
    metrics, _ = metrics_context(stub.url, Backlog(tmp_path))
    metrics.report("training", {"loss": 1.0}, 1)
    with pytest.raises(errors.APIException, match="another value"):
        metrics.close()


def test_end_without_a_master_is_bounded_and_keeps_reports(tmp_path: pathlib.Path) -> None:
    metrics, _ = metrics_context(f"http://127.0.0.1:{free_port()}", Backlog(tmp_path), 0.2)
    for step in range(3):
        metrics.report("training", {"loss": 1.0}, step)
    with pytest.raises(errors.MasterNotFoundException, match="3 reports were not delivered"):
        metrics.close()
    (kept,) = tmp_path.iterdir()
    bodies = [json.loads(json.loads(line)["body"]) for line in kept.read_text().splitlines()]
    assert [body["metrics"]["stepsCompleted"] for body in bodies] == [0, 1, 2]


def test_full_backlog_makes_training_wait(stub: Stub, tmp_path: pathlib.Path) -> None:
    stub.change(broken=503)
    metrics, _ = metrics_context(stub.url, Backlog(tmp_path, memory_bytes=300, disk_bytes=900))
    done = threading.Event()

    def train() -> None:
        for step in range(100):
            metrics.report("training", {"loss": 1.0}, step)
        done.set()

    thread = threading.Thread(target=train)
    thread.start()
    stub.wait_for(lambda: len(stub.requests) >= 5)
    assert not done.is_set()
    stub.change(broken=None)
    thread.join(DEADLINE)
    assert done.is_set()
    metrics.close()
    assert stub.steps("training") == list(range(100))


def test_latest_value_replaces_and_starves_nobody(stub: Stub, tmp_path: pathlib.Path) -> None:
    stub.change(broken=503)
    session = api.TaskSession(stub.url, "", TOKEN)
    reporter = Reporter(session, Backlog(tmp_path), FAST, flush_seconds=DEADLINE)
    for number in range(50):
        reporter.submit_latest(
            Report("/api/v1/trials/12/progress", f'{{"progress": {number}}}', "p")
        )
        reporter.submit(
            Report("/api/v1/trials/12/runner/metadata", f'{{"state": "{number}"}}', "s")
        )
    stub.wait_for(lambda: stub.requests)
    stub.change(broken=None, requests=[])
    reporter.close()
    states = [request.json["state"] for request in stub.sent("POST", "metadata")]
    assert states == [str(number) for number in range(50)]
    progress = [request.json["progress"] for request in stub.sent("POST", "progress")]
    assert progress[-1] == 49 and len(progress) <= 2
    paths = [request.path for request in stub.requests]
    assert paths.index("/api/v1/trials/12/progress") <= 2


def test_wait_for_acknowledgement(stub: Stub, tmp_path: pathlib.Path) -> None:
    session = api.TaskSession(stub.url, "", TOKEN)
    reporter = Reporter(
        session, Backlog(tmp_path), FAST, flush_seconds=DEADLINE, acknowledge_seconds=DEADLINE
    )
    report = Report("/api/v1/checkpoints", '{"uuid": "u"}', "checkpoint u")
    assert reporter.submit_and_wait(report)
    assert list(stub.checkpoints) == ["u"]
    stub.change(refusals={"checkpoints": error(409, "Aborted", "of an older run")})
    with pytest.raises(errors.APIException, match="of an older run"):
        reporter.submit_and_wait(report)
    reporter.close()


def test_acknowledgement_that_does_not_come(stub: Stub, tmp_path: pathlib.Path) -> None:
    stub.change(broken=503)
    session = api.TaskSession(stub.url, "", TOKEN)
    reporter = Reporter(
        session, Backlog(tmp_path), FAST, flush_seconds=DEADLINE, acknowledge_seconds=0.05
    )
    assert not reporter.submit_and_wait(Report("/api/v1/checkpoints", '{"uuid": "u"}', "u"))
    stub.change(broken=None)
    reporter.close()
    assert list(stub.checkpoints) == ["u"]


def test_closed_reporter_takes_nothing(stub: Stub, tmp_path: pathlib.Path) -> None:
    metrics, _ = metrics_context(stub.url, Backlog(tmp_path))
    metrics.start()
    metrics.close()
    with pytest.raises(RuntimeError, match="the core context is closed"):
        metrics.report("training", {"loss": 1.0}, 1)
    names: List[str] = [thread.name for thread in threading.enumerate()]
    assert "determined-reporter" not in names


def test_settings_from_the_environment(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DET_FLUSH_SECONDS", "soon")
    with pytest.raises(ValueError, match="DET_FLUSH_SECONDS must be a number of seconds"):
        Reporter(api.TaskSession(stub.url, "", TOKEN))


FULL_DISK = """
import sys
from determined.common import api
from determined.core._reporter import Reporter
from determined.core._backlog import Report, Backlog
url, folder = sys.argv[1:]
import json, pathlib
session = api.TaskSession(url, "", "token")
fast = api.RetryPolicy(total=None, backoff_factor=0.01, max_pause=0.05)
reporter = Reporter(session, Backlog(pathlib.Path(folder), memory_bytes=1000), fast)
for step in range(400):
    body = {"group": "training", "metrics": {"trialId": 12, "trialRunId": 1, "stepsCompleted": step,
            "metrics": {"avgMetrics": {"loss": 1.0, "text": "x" * 500}}}}
    reporter.submit(Report("/api/v1/trials/12/metrics", json.dumps(body), f"step {step}"))
reporter.close()
print("done")
"""


def test_a_full_disk_loses_nothing(stub: Stub, tmp_path: pathlib.Path) -> None:
    """No master answers, the disk fills up, training pauses; a new master receives every report."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = f"mount -t tmpfs -o size=64k tmpfs {folder}"
    for options in ("-m", "-rm"):
        unshare = ["unshare", options, "sh", "-c"]
        if subprocess.run([*unshare, mount], capture_output=True, check=False).returncode == 0:
            break
    else:
        pytest.skip("nobody may mount a file system here")
    stub.stop()
    process = subprocess.Popen(
        [
            *unshare,
            f'{mount} && exec "$@"',
            "sh",
            sys.executable,
            "-c",
            FULL_DISK,
            stub.url,
            folder,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parent.parent)},
    )
    try:
        assert process.stderr is not None
        seen = []
        for line in process.stderr:
            seen.append(line)
            if "training pauses" in line:
                break
        assert any("No space left" in line for line in seen), seen
        stub.start()
        out, err = process.communicate(timeout=DEADLINE)
    finally:
        process.kill()
    assert out == "done\n", err
    assert stub.steps("training") == list(range(400))


def test_a_reporter_that_broke_says_so(stub: Stub, tmp_path: pathlib.Path) -> None:
    """If delivery ends for any reason, training does not wait for it for ever."""

    class Broken(Backlog):
        def peek(self) -> Report:
            raise ZeroDivisionError("as a defect would")

    reporter = Reporter(api.TaskSession(stub.url, "", TOKEN), Broken(tmp_path), FAST)
    report = Report("/api/v1/trials/12/progress", "{}", "progress")
    with pytest.raises(RuntimeError, match="because of ZeroDivisionError"):
        reporter.submit_and_wait(report)
    with pytest.raises(RuntimeError, match="not delivered any more"):
        reporter.submit(report)
    with pytest.raises(RuntimeError, match="1 reports were not delivered, because of"):
        reporter.close()
