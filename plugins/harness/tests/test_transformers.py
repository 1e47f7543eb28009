"""DetCallback with the real Trainer and a model that the test generates."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import time
from typing import Any, Dict, List, Optional, Tuple

import pytest

pytest.importorskip("transformers")

import transformers

from determined import core
from determined.transformers import DetCallback
from tests.conftest import CONFIG, MakeTask
from tests.stub_master import DEADLINE, Stub

STEPS = 6


def config(**searcher: Any) -> Dict[str, Any]:
    return {**CONFIG, "searcher": {"name": "single", "metric": "eval_loss", **searcher}}


def arguments(folder: pathlib.Path, **more: Any) -> transformers.TrainingArguments:
    chosen = {
        "output_dir": str(folder / "out"),
        "max_steps": STEPS,
        "per_device_train_batch_size": 2,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": [],
        "use_cpu": True,
        "disable_tqdm": True,
        "seed": 7,
        **more,
    }
    return transformers.TrainingArguments(**chosen)


def sentences() -> List[Dict[str, List[int]]]:
    return [
        {"input_ids": [(row + i) % 11 for i in range(5)], "labels": [row % 11] * 5}
        for row in range(2 * STEPS)
    ]


def network() -> Any:
    transformers.set_seed(7)
    size = {"vocab_size": 11, "n_positions": 8, "n_embd": 8, "n_layer": 1, "n_head": 1}
    tokens = {"bos_token_id": 0, "eos_token_id": 0}
    # The Trainer does not restore the random numbers of dropout exactly.
    dropout = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(**size, **tokens, **dropout))


def trainer(
    args: transformers.TrainingArguments, *callbacks: transformers.TrainerCallback
) -> transformers.Trainer:
    return transformers.Trainer(
        network(), args, train_dataset=sentences(), eval_dataset=sentences(), callbacks=[*callbacks]
    )


def train(
    args: transformers.TrainingArguments, *more: transformers.TrainerCallback, **options: Any
) -> Tuple[DetCallback, transformers.Trainer]:
    with core.init() as core_context:
        callback = DetCallback(core_context, args, **options)
        for other in more:
            other.core_context = core_context
        loop = trainer(args, *more, callback)
        loop.train(resume_from_checkpoint=args.resume_from_checkpoint)
    return callback, loop


class PreemptAt(transformers.TrainerCallback):
    """Preempts the trial after a step, and waits until the trial can know of it."""

    core_context: core.Context

    def __init__(self, stub: Stub, step: int) -> None:
        self.stub = stub
        self.step = step

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == self.step:
            self.stub.change(preempt=True)
            deadline = time.monotonic() + DEADLINE
            while not self.core_context.preempt.should_preempt():
                assert time.monotonic() < deadline, "the preemption does not arrive"
                time.sleep(0.01)


def test_only_on_a_cluster(tmp_path: pathlib.Path) -> None:
    with core.init() as core_context, pytest.raises(RuntimeError, match="on a cluster only"):
        DetCallback(core_context, arguments(tmp_path))


def test_one_report_a_step(tmp_path: pathlib.Path, stub: Stub, make_task: MakeTask) -> None:
    shared = make_task(config())
    args = arguments(tmp_path, eval_strategy="steps", eval_steps=3)
    callback, _ = train(args, user_data={"who": "ada"})
    assert stub.steps("training") == list(range(1, STEPS + 1))
    # The last step has one evaluation, though both the Trainer and the callback ask for it.
    assert stub.steps("validation") == [3, 6]
    assert stub.repeats == 0
    reported = stub.values("validation", 6)
    assert {"eval_loss", "batches", "epochs"} == set(reported)
    assert reported["batches"] == 6 and reported["epochs"] == 1
    assert "loss" in stub.values("training", 1) and "epoch" not in stub.values("training", 1)
    assert callback.last_progress == 100
    assert stub.sent("POST", "/progress")[-1].json["progress"] == 1
    (found,) = stub.checkpoints.values()
    assert found["metadata"] == {"steps_completed": 6, "trial_id": 12}
    assert all(name.startswith(("checkpoint-6/", "metadata.json")) for name in found["resources"])
    (stored,) = (shared / "team").glob("*/checkpoint-6")
    assert json.loads((stored / "my_data.json").read_text()) == {"who": "ada"}


def test_a_filter_keeps_the_metric_of_the_search(
    tmp_path: pathlib.Path, stub: Stub, make_task: MakeTask
) -> None:
    make_task(config())
    train(arguments(tmp_path), filter_metrics=["learning_rate"])
    assert set(stub.values("training", 1)) == {"learning_rate", "batches", "epochs"}
    assert set(stub.values("validation", STEPS)) == {"eval_loss", "batches", "epochs"}


@pytest.mark.parametrize("eval_steps", [1, 2])
def test_preemption_and_resumption(
    tmp_path: pathlib.Path, stub: Stub, make_task: MakeTask, eval_steps: int
) -> None:
    """The trial saves without an evaluation; the resumed trial ends as one without a stop."""
    make_task(config())
    whole = arguments(tmp_path / "whole", eval_strategy="steps", eval_steps=eval_steps)
    _, expected = train(whole)
    stub.metrics.clear()
    stub.order.clear()
    stub.checkpoints.clear()

    args = arguments(tmp_path / "first", eval_strategy="steps", eval_steps=eval_steps)
    train(args, PreemptAt(stub, 3))
    assert stub.steps("training") == [1, 2, 3]
    # With eval_steps=1 an evaluation was due at step 3 too.
    assert stub.steps("validation") == [step for step in (1, 2) if step % eval_steps == 0]
    ((uuid, found),) = stub.checkpoints.items()
    assert found["metadata"]["steps_completed"] == 3

    stub.change(preempt=False)
    make_task(config(), DET_LATEST_CHECKPOINT=uuid, DET_STEPS_COMPLETED="3")
    args = arguments(tmp_path / "second", eval_strategy="steps", eval_steps=eval_steps)
    (tmp_path / "second" / "out" / "checkpoint-999").mkdir(parents=True)
    _, loop = train(args)
    assert args.resume_from_checkpoint == str(tmp_path / "second" / "out" / "checkpoint-3")
    assert stub.steps("training") == list(range(1, STEPS + 1))
    assert stub.steps("validation")[-1] == STEPS
    for name, weight in expected.model.state_dict().items():
        assert weight.equal(loop.model.state_dict()[name]), name


def test_preempted_at_its_end_a_trial_evaluates(
    tmp_path: pathlib.Path, stub: Stub, make_task: MakeTask
) -> None:
    make_task(config())
    train(arguments(tmp_path), PreemptAt(stub, STEPS))
    assert stub.steps("validation") == [STEPS]
    assert len(stub.checkpoints) == 1


ASHA = {"name": "adaptive_asha", "time_metric": "batches", "max_time": STEPS, "max_trials": 4}


def test_a_search_that_stops_trials(
    tmp_path: pathlib.Path, stub: Stub, make_task: MakeTask
) -> None:
    make_task(config(**ASHA))
    train(arguments(tmp_path, eval_strategy="steps", eval_steps=2))
    assert [stub.values("validation", step)["batches"] for step in (2, 4, 6)] == [2, 4, 6]


@pytest.mark.parametrize(
    ("searcher", "message"),
    [
        ({"max_length": 100}, "without a unit"),
        ({"max_length": {"epochs": STEPS}}, r"max_length .* is 6 epochs, but --max_steps is 6"),
        ({"max_length": {"batches": 7}}, r"is 7 batches, but --max_steps is 6"),
        ({**ASHA, "max_time": 9}, r"max_time .* is 9 batches"),
        ({**ASHA, "time_metric": "epochs"}, r"max_time .* is 6 epochs"),
        ({"max_length": {"batches": STEPS}}, None),
        ({**ASHA, "time_metric": "seen"}, None),
    ],
)
def test_lengths_agree(
    tmp_path: pathlib.Path, make_task: MakeTask, searcher: Dict[str, Any], message: Optional[str]
) -> None:
    make_task(config(**searcher))
    with core.init() as core_context:
        if message is None:
            DetCallback(core_context, arguments(tmp_path))
        else:
            with pytest.raises(ValueError, match=message):
                DetCallback(core_context, arguments(tmp_path))


def test_a_metric_of_the_search_is_missing(tmp_path: pathlib.Path, make_task: MakeTask) -> None:
    make_task(config(metric="accuracy"))
    with pytest.raises(ValueError, match=r"no metric 'accuracy', which searcher.metric"):
        train(arguments(tmp_path))


@pytest.mark.nightly
def test_two_ranks(tmp_path: pathlib.Path, stub: Stub, make_task: MakeTask) -> None:
    """Both ranks save; the chief reports, and the checkpoint has the files of both."""
    make_task(config(), DET_SLOT_IDS="[0,1]")
    script = tmp_path / "train.py"
    script.write_text(
        "import pathlib, sys\n"
        "from determined import core\n"
        "from determined.transformers import DetCallback\n"
        "from tests.test_transformers import arguments, trainer\n"
        "args = arguments(pathlib.Path(sys.argv[1]), max_steps=3)\n"
        "distributed = core.DistributedContext.from_torch_distributed()\n"
        "with core.init(distributed=distributed) as core_context:\n"
        "    trainer(args, DetCallback(core_context, args)).train()\n"
    )
    root = pathlib.Path(__file__).parent.parent
    launcher = [sys.executable, "-m", "determined.launch.torch_distributed"]
    done = subprocess.run(
        [*launcher, sys.executable, str(script), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert stub.steps("training") == [1, 2, 3]
    assert stub.steps("validation") == [3]
    assert stub.repeats == 0
    (found,) = stub.checkpoints.values()
    assert {"checkpoint-3/rng_state_0.pth", "checkpoint-3/rng_state_1.pth"} <= set(
        found["resources"]
    )
