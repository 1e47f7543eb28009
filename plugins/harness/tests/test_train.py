"""The calls of a trial to the master; where it matters, the exact bytes."""

import logging
import math
from typing import Any, Dict

import pytest

import determined as det
from determined import core
from tests.conftest import MakeTask
from tests.stub_master import Stub, error


def test_metrics_on_the_wire(stub: Stub, make_task: MakeTask) -> None:
    make_task()
    with core.init() as context:
        context.train.report_training_metrics(
            10, {"loss": 1.5, "nan": math.nan, "inf": -math.inf}, batch_metrics=[{"loss": 1.0}]
        )
        context.train.report_validation_metrics(10, {"val_loss": 2})
        context.train.report_metrics("inference", 11, {"seen": [1, 2]})
    bodies = [request.json for request in stub.sent("POST", "/trials/12/metrics")]
    times = [body["metrics"].pop("reportTime") for body in bodies]
    assert all(time.endswith("+00:00") for time in times)
    assert bodies[0] == {
        "group": "training",
        "metrics": {
            "trialId": 12,
            "trialRunId": 1,
            "stepsCompleted": 10,
            "metrics": {
                "avgMetrics": {"loss": 1.5, "nan": "NaN", "inf": "-Infinity"},
                "batchMetrics": [{"loss": 1.0}],
            },
        },
    }
    assert bodies[1]["group"] == "validation"
    assert bodies[1]["metrics"]["metrics"] == {"avgMetrics": {"val_loss": 2}, "batchMetrics": None}
    assert bodies[2]["group"] == "inference"
    assert bodies[2]["metrics"]["metrics"]["avgMetrics"] == {"seen": [1, 2]}


def test_metrics_are_taken_as_they_are_at_the_report(stub: Stub, make_task: MakeTask) -> None:
    make_task()
    values = {"loss": 1.0}
    with core.init() as context:
        context.train.report_training_metrics(1, values)
        values["loss"] = 2.0
    assert stub.values("training", 1) == {"loss": 1.0}


def test_metrics_without_json_form_are_left_out(
    stub: Stub, make_task: MakeTask, caplog: pytest.LogCaptureFixture
) -> None:
    make_task()
    with core.init() as context:
        context.train.report_training_metrics(1, {"a": object(), "b": b"raw", "c": 3})
    assert stub.values("training", 1) == {"c": 3}
    assert "are not reported: a (object), b (bytes)" in caplog.text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: t.report_validation_metrics(1, {"v": None}), "without a value: v"),
        (lambda t: t.report_metrics("a.b", 1, {"v": 1}), "a name without a dot"),
        (lambda t: t.report_training_metrics(1.5, {"v": 1}), "must be a whole number, not 1.5"),
        (lambda t: t.report_progress(1.5), "progress must be from 0 to 1"),
    ],
)
def test_mistakes_are_named(stub: Stub, make_task: MakeTask, call: Any, message: str) -> None:
    make_task()
    with core.init() as context, pytest.raises(
        (RuntimeError, ValueError, TypeError), match=message
    ):
        call(context.train)


def test_numpy_metrics(stub: Stub, make_task: MakeTask) -> None:
    np = pytest.importorskip("numpy")
    make_task()
    with core.init() as context:
        context.train.report_training_metrics(
            np.int64(4), {"loss": np.float32(0.5), "v": np.ones(2)}
        )
    assert stub.values("training", 4) == {"loss": 0.5, "v": [1.0, 1.0]}


def test_status_and_progress(stub: Stub, make_task: MakeTask) -> None:
    make_task()
    with core.init() as context:
        context.train.set_status("training")
        context.train.report_progress(0.42)
    assert stub.sent("POST", "/trials/12/runner/metadata")[-1].json == {"state": "training"}
    assert stub.sent("POST", "/trials/12/progress")[-1].json == {"progress": 0.42, "is_raw": True}


def test_early_exit(stub: Stub, make_task: MakeTask, caplog: pytest.LogCaptureFixture) -> None:
    make_task()
    with core.init() as context:
        context.train.report_early_exit(core.EarlyExitReason.INVALID_HP)
        context.train.report_early_exit(core.EarlyExitReason.USER_REQUESTED_STOP)
    assert stub.early_exit == "EXITED_REASON_INVALID_HP"
    assert "the first reason stays" in caplog.text


def test_invalid_hyperparameters_end_the_trial_well(stub: Stub, make_task: MakeTask) -> None:
    make_task()
    with pytest.raises(SystemExit) as caught, core.init() as context:
        context.train.report_training_metrics(1, {"loss": 1.0})
        raise det.InvalidHP("the learning rate explodes")
    assert caught.value.code == 0
    assert stub.early_exit == "EXITED_REASON_INVALID_HP"
    assert stub.steps("training") == [1]


def test_best_validation(stub: Stub, make_task: MakeTask) -> None:
    make_task()
    with core.init() as context:
        assert context.train.get_experiment_best_validation() is None
        stub.change(best=0.25)
        assert context.train.get_experiment_best_validation() == 0.25
    assert stub.sent("GET", "/experiments/5/searcher/best_searcher_validation_metric")


def test_run_metadata(stub: Stub, make_task: MakeTask) -> None:
    make_task()
    with core.init() as context:
        assert context.train.set_metadata({"a": {"b": 1}}) == {"a": {"b": 1}}
        assert context.train.get_metadata() == {"a": {"b": 1}}
    (request,) = stub.sent("POST", "/runs/12/metadata")
    assert request.json == {"runId": 12, "metadata": {"a": {"b": 1}}}


def test_last_validation(stub: Stub, make_task: MakeTask) -> None:
    make_task()
    with core.init() as context:
        assert context.train._get_last_validation() is None
        context.train.report_validation_metrics(30, {"val_loss": 1.0})
        stub.wait_for(lambda: stub.steps("validation"))
        assert context.train._get_last_validation() == 30


def test_alert_and_links(stub: Stub, make_task: MakeTask) -> None:
    class Thing:
        uuid = "u-1"
        model_id = 3
        model_version = 2

        @property
        def checkpoint(self) -> "Thing":
            return self

    make_task()
    with core.init() as context:
        context.alert("t", "d", "warn")
        context.experimental.report_task_using_checkpoint(Thing())
        context.experimental.report_task_using_model_version(Thing())
        with pytest.raises(ValueError, match="level must be one of"):
            context.alert("t", "d", "loud")
    (alert,) = stub.sent("POST", "/webhooks/custom")
    assert alert.json == {
        "data": {"title": "t", "description": "d", "level": "LOG_LEVEL_WARNING"},
        "experimentId": 5,
        "trialId": 12,
    }
    links = [request.json["trialSourceInfo"] for request in stub.sent("POST", "trial-source-info")]
    common: Dict[str, Any] = {
        "trialId": 12,
        "trialSourceInfoType": "TRIAL_SOURCE_INFO_TYPE_INFERENCE",
        "checkpointUuid": "u-1",
    }
    assert links == [common, {**common, "modelId": 3, "modelVersion": 2}]


def test_refused_metrics_fail_the_trial(stub: Stub, make_task: MakeTask) -> None:
    make_task()
    stub.change(refusals={"metrics": error(409, "Aborted", "a newer run reports already")})
    with pytest.raises(Exception, match="a newer run reports already"), core.init() as context:
        context.train.report_training_metrics(1, {"loss": 1.0})


def test_error_of_training_is_not_hidden(
    stub: Stub, make_task: MakeTask, caplog: pytest.LogCaptureFixture
) -> None:
    make_task()
    stub.change(refusals={"metrics": error(409, "Aborted", "a newer run reports already")})
    with caplog.at_level(logging.ERROR), pytest.raises(KeyError), core.init() as context:
        context.train.report_training_metrics(1, {"loss": 1.0})
        raise KeyError("the bug in training")
    assert "a newer run reports already" in caplog.text
