import logging
import os
import pathlib
import signal
import subprocess
import sys
import threading
from typing import List

import pytest

import determined as det
from determined import core
from tests.conftest import CONFIG, MakeTask
from tests.stub_master import Stub

ROOT = pathlib.Path(det.__file__).parent.parent


def test_versions() -> None:
    assert det.__version__ == "0.38.1"
    assert det.__detent_version__


def test_needs_the_standard_library_only() -> None:
    """Import all modules without site-packages, except those that derive from Keras's classes."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import importlib, pkgutil, determined\n"
        "need_keras = {'determined.keras.callbacks', 'determined.keras._callback'}\n"
        "need_keras.add('determined.data.tensorflow')\n"
        "for module in pkgutil.walk_packages(determined.__path__, 'determined.'):\n"
        "    try:\n"
        "        importlib.import_module(module.name)\n"
        "    except ImportError as err:\n"
        "        need = {'pytorch': 'torch', 'data': 'torch'}\n"
        "        need.update({name: name for name in ('transformers', 'lightning')})\n"
        "        part = module.name.split('.')[1]\n"
        "        other = part in need and f'Install {need[part]}' in str(err)\n"
        "        keras = module.name in need_keras and 'Install tensorflow' in str(err)\n"
        "        assert other or keras, err\n"
        "print(determined.__version__)\n"
    )
    command = [sys.executable, "-I", "-S", "-c", code, str(ROOT)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.strip() == "0.38.1"


def test_off_the_cluster(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), core.init() as context:
        assert context.info is None
        context.train.set_status("training")
        context.train.report_training_metrics(1, {"loss": 0.5})
        context.train.report_validation_metrics(1, {"val_loss": 0.5})
        context.train.report_metrics("inference", 1, {"x": 1})
        context.train.report_progress(0.5)
        context.train.report_early_exit(core.EarlyExitReason.INVALID_HP)
        context.train.upload_tensorboard_files()
        assert context.train.get_tensorboard_path().is_dir()
        assert context.train.get_experiment_best_validation() is None
        assert context.train.set_metadata({"a": 1}) == context.train.get_metadata() == {"a": 1}
        assert not context.preempt.should_preempt()
        context.preempt.acknowledge_preemption_signal()
        context.profiler.on()
        context.profiler.off()
        for operation in context.searcher.operations():
            operation.report_progress(operation.length)
            operation.report_completed(0.5)
        with context.checkpoint.store_path({"steps_completed": 1}) as (path, _):
            assert path.parent == tmp_path / "data-home" / "determined"
        with pytest.raises(ValueError, match="on a cluster only"):
            context.alert("x")
    assert "steps_completed=1, metrics={'loss': 0.5}" in caplog.text
    assert "no checkpoint_storage given: checkpoints go to" in caplog.text


def test_off_the_cluster_preempt_mode_is_kept(tmp_path: pathlib.Path) -> None:
    with core.init(preempt_mode=core.PreemptMode.ChiefOnly) as context:
        assert context.preempt._preempt_mode == core.PreemptMode.ChiefOnly


def test_other_tasks_get_stand_ins(stub: Stub, make_task: MakeTask) -> None:
    make_task(DET_TASK_TYPE="NOTEBOOK")
    with core.init() as context:
        assert context.info is not None and context.info.task_type == "NOTEBOOK"
        context.train.report_training_metrics(1, {"loss": 0.5})
        assert not context.preempt.should_preempt()
    assert not stub.requests


def test_several_slots_need_a_distributed_context(stub: Stub, make_task: MakeTask) -> None:
    make_task(DET_SLOT_IDS="[0,1]")
    with pytest.raises(ValueError, match="has 2 slots on 1 nodes: pass a DistributedContext"):
        core.init()


def test_nothing_is_left_running(stub: Stub, make_task: MakeTask) -> None:
    before = set(threading.enumerate())
    make_task()
    with core.init() as context:
        context.profiler.on()
        context.train.report_training_metrics(1, {"loss": 0.5})
        own = {t.name for t in threading.enumerate() if t.name.startswith("determined-")}
        assert own == {
            "determined-reporter",
            "determined-preemption",
            "determined-tensorboard",
            "determined-profiler",
        }
    left = [t.name for t in set(threading.enumerate()) - before]
    assert not [name for name in left if name.startswith("determined-")]


def test_master_that_comes_late(stub: Stub, make_task: MakeTask) -> None:
    make_task(DET_RETRY_CONFIG='{"patience": 30, "backoff_factor": 0.01}')
    stub.change(broken=503)
    contexts: List[core.Context] = []
    thread = threading.Thread(target=lambda: contexts.append(core.init()))
    thread.start()
    stub.wait_for(lambda: len(stub.requests) >= 2)
    stub.change(broken=None)
    thread.join(30)
    assert len(contexts) == 1


def test_profiling_by_configuration(stub: Stub, make_task: MakeTask) -> None:
    make_task({**CONFIG, "profiling": {"enabled": True}})
    with core.init() as context:
        assert context.profiler._collector is not None


def test_script_that_forgets_to_leave_delivers_all_the_same(
    stub: Stub, make_task: MakeTask, tmp_path: pathlib.Path
) -> None:
    make_task()
    script = tmp_path / "script.py"
    script.write_text(
        "from determined import core\n"
        "context = core.init()\n"
        "context.start()\n"
        "for step in range(100):\n"
        "    context.train.report_training_metrics(step, {'loss': 1.0})\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, str(script)], env=environment, check=True, timeout=60)
    assert stub.steps("training") == list(range(100))


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="needs SIGUSR1")
def test_sigusr1_prints_stacks(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal\n"
        "from determined import core\n"
        "def deep_inside():\n"
        "    os.kill(os.getpid(), signal.SIGUSR1)\n"
        "with core.init():\n"
        "    deep_inside()\n"
        "print('alive')\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(script)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "alive\n"
    assert "deep_inside" in done.stderr
