"""The launchers of TensorFlow, DeepSpeed and Horovod.

DeepSpeed's own launcher runs in the environment named torch; Horovod's program is replaced here by
one that starts workers as it does, because no current PyTorch has a Horovod.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import pathlib
import stat
import subprocess
import sys
from typing import Any, Dict, List

import pytest

import determined as det
from determined.launch import _place, deepspeed, horovod, tensorflow, torch_distributed
from tests.conftest import MakeTask

ROOT = pathlib.Path(det.__file__).parent.parent
HAS_DEEPSPEED = importlib.util.find_spec("deepspeed") is not None

# Importing DeepSpeed takes seconds, and all workers import it in parallel.
PATIENCE = 300.0

RENDEZVOUS = {"container_addrs": ["10.0.0.1", "10.0.0.2"], "container_slot_counts": [2, 1]}


def launch(launcher: str, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"determined.launch.{launcher}", *words]
    kept = {name: value for name, value in os.environ.items() if name.startswith("DET_")}
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **kept, **more}
    environment["HOME"] = os.environ.get("HOME", "/")
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def two_nodes(make_task: MakeTask, rank: int) -> None:
    """Set the environment of one node of a trial on two nodes."""
    make_task(DET_SLOT_IDS="[0,1]" if rank == 0 else "[0]")
    rendezvous = pathlib.Path(os.environ["DET_RUN_DIR"], "info", "rendezvous.json")
    rendezvous.parent.mkdir(parents=True, exist_ok=True)
    rendezvous.write_text(json.dumps({**RENDEZVOUS, "container_rank": rank}))


def test_tensorflow_on_one_node(make_task: MakeTask) -> None:
    """One process uses all slots: TF_CONFIG is not set, and the lines have no rank."""
    make_task(DET_SLOT_IDS="[0,1]")
    text = "import os; print(os.environ['DET_CHIEF_IP'], os.environ.get('TF_CONFIG'))"
    done = launch("tensorflow", "--port", "4000", "--", sys.executable, "-c", text)
    assert (done.returncode, done.stdout) == (0, "127.0.0.1 None\n"), done.stderr
    done = launch("tensorflow", sys.executable, "-c", "raise SystemExit(7)")
    assert done.returncode == 7


def test_tensorflow_on_two_nodes(make_task: MakeTask, monkeypatch: pytest.MonkeyPatch) -> None:
    two_nodes(make_task, 1)
    text = "import os; print(os.environ['TF_CONFIG']); print(os.environ['DET_CHIEF_IP'])"
    done = launch("tensorflow", "--port=4000", sys.executable, "-c", text, C10D_PORT="5000")
    assert done.returncode == 0, done.stderr
    config, chief = done.stdout.splitlines()
    assert chief == "[rank=1] 10.0.0.1"
    assert json.loads(config[len("[rank=1] ") :]) == {
        "cluster": {"worker": ["10.0.0.1:4000", "10.0.0.2:4000"]},
        "task": {"type": "worker", "index": 1},
    }
    monkeypatch.setenv("C10D_PORT", "5000")
    assert tensorflow.parse(["python3", "--port", "1"]) == (5000, ["python3", "--port", "1"])


def test_tensorflow_refuses_unequal_gpus(
    make_task: MakeTask, capsys: pytest.CaptureFixture[str]
) -> None:
    """The strategy multiplies the GPUs of one node by the number of nodes."""
    two_nodes(make_task, 0)
    resources = pathlib.Path(os.environ["DET_RUN_DIR"], "info", "resources.json")
    resources.write_text(json.dumps({"gpu_uuids": ["GPU-1", "GPU-2"]}))
    assert tensorflow.main(["/no/such/program"]) == 2
    said = capsys.readouterr().err
    assert "2 + 1 GPUs" in said
    assert "resources.equal_parts" in said
    resources.write_text(json.dumps({"gpu_uuids": []}))
    assert tensorflow.main(["/no/such/program"]) != 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "nothing to run"),
        (["--"], "nothing to run"),
        (["--port", "x", "python3"], "takes a number"),
        (["--ports", "1", "python3"], "no option --ports"),
    ],
)
def test_wrong_arguments_of_tensorflow(
    words: List[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tensorflow.main(words) == 2
    assert message in capsys.readouterr().err


def test_arguments_of_deepspeed() -> None:
    script = ["python3", "train.py", "--deepspeed", "ds.json"]
    assert deepspeed.parse(script) == ([], script)
    assert deepspeed.parse(["--", *script]) == ([], script)
    options = ["--enable_each_rank_log", "logs"]
    assert deepspeed.parse([*options, "--", *script]) == (options, script)
    trial = [sys.executable, "-m", "determined.exec.harness", "m:T"]
    assert deepspeed.parse(["--trial", "m:T"]) == ([], trial)


def test_devices_keep_the_names_of_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    def world(place: _place.Place) -> Any:
        return json.loads(base64.urlsafe_b64decode(deepspeed.world(place)))

    place = _place.Place("10.0.0.1", 1, [1, 2])
    assert world(place) == {"node-0": [0], "node-1": [0, 1]}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b")
    assert world(place) == {"node-0": [0], "node-1": ["GPU-a", "GPU-b"]}


def test_hostfile_of_deepspeed(make_task: MakeTask, monkeypatch: pytest.MonkeyPatch) -> None:
    two_nodes(make_task, 1)
    monkeypatch.setenv("DET_INTER_NODE_NETWORK_INTERFACE", "eth7")
    found = deepspeed.environment(_place.here())
    hostfile = pathlib.Path(found["DET_DEEPSPEED_HOSTFILE_PATH"])
    assert hostfile.read_text() == "10.0.0.1 slots=2\n10.0.0.2 slots=1\n"
    assert (found["NCCL_SOCKET_IFNAME"], found["DET_CHIEF_IP"]) == ("eth7", "10.0.0.1")


def test_the_clusters_network_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers on several nodes connect through it; what the task sets stays."""
    one, two = _place.Place("10.0.0.1", 0, [2]), _place.Place("10.0.0.1", 1, [2, 1])
    assert _place.network(two) == {}
    monkeypatch.setenv("DET_INTER_NODE_NETWORK_INTERFACE", "eth7")
    assert _place.network(one) == {}
    assert _place.network(two) == {"NCCL_SOCKET_IFNAME": "eth7", "GLOO_SOCKET_IFNAME": "eth7"}
    assert torch_distributed.shared_environment(two)["GLOO_SOCKET_IFNAME"] == "eth7"
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "ib0")
    assert _place.network(two) == {"NCCL_SOCKET_IFNAME": "eth7"}


@pytest.mark.skipif(not HAS_DEEPSPEED, reason="needs DeepSpeed; just torch-test has it")
def test_deepspeed_starts_the_workers(tmp_path: pathlib.Path, make_task: MakeTask) -> None:
    make_task(DET_SLOT_IDS="[0,1]")
    script = tmp_path / "train.py"
    script.write_text(
        "import os, signal, sys\n"
        "from determined import core\n"
        "dist = core.DistributedContext.from_deepspeed()\n"
        "print(dist.allgather(dist.rank), dist.local_rank, dist.cross_size, "
        "os.environ['USE_DEEPSPEED'], flush=True)\n"
        "if sys.argv[1:] and dist.rank == 1: sys.exit(3)\n"
        "if sys.argv[1:]: signal.pause()\n"
    )
    done = launch("deepspeed", sys.executable, str(script))
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("[rank=")]
    assert sorted(lines) == ["[rank=0] [0, 1] 0 1 1", "[rank=1] [0, 1] 1 1 1"]
    # The launcher ends the rank that never exits when the other one fails.
    done = launch("deepspeed", sys.executable, str(script), "fail")
    assert done.returncode != 0


@pytest.mark.skipif(HAS_DEEPSPEED, reason="is about a Python without DeepSpeed")
def test_deepspeed_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert deepspeed.main(["python3", "train.py"]) == 2
    told = capsys.readouterr().err
    assert "needs the package deepspeed" in told and "torch_distributed" in told


def stand_in(folder: pathlib.Path) -> Dict[str, str]:
    """A fake horovodrun that records its options and starts the workers one after another."""
    (folder / "horovod" / "runner").mkdir(parents=True)
    (folder / "horovod" / "__init__.py").touch()
    program = folder / "horovodrun"
    program.write_text(
        f"#!{sys.executable}\n"
        "import json, os, pathlib, subprocess, sys\n"
        "end = sys.argv.index('--')\n"
        f"pathlib.Path({str(folder / 'options.json')!r}).write_text(json.dumps(sys.argv[1:end]))\n"
        "for rank in range(int(sys.argv[2])):\n"
        "    os.environ['HOROVOD_RANK'] = str(rank)\n"
        "    subprocess.check_call(sys.argv[end + 1:])\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": f"{ROOT}:{folder}"}


def test_horovod(tmp_path: pathlib.Path, make_task: MakeTask) -> None:
    make_task(DET_SLOT_IDS="[0,1]")
    text = "import os; print(os.environ['USE_HOROVOD'], os.environ['DET_CHIEF_IP'])"
    environment = stand_in(tmp_path)
    words = ["--gloo", "--cycle-time-ms", "7", "--", sys.executable, "-c", text]
    done = launch("horovod", *words, **environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[rank=0] 1 127.0.0.1", "[rank=1] 1 127.0.0.1"]
    options = json.loads((tmp_path / "options.json").read_text())
    assert options[:4] == ["-np", "2", "-H", "localhost:2"]
    # The user's options come last, so they have precedence.
    assert options[-3:] == ["--gloo", "--cycle-time-ms", "7"]
    done = launch("horovod", sys.executable, "-c", "raise SystemExit(3)", **environment)
    assert done.returncode != 0


def test_horovod_for_one_slot(make_task: MakeTask) -> None:
    make_task()
    done = launch("horovod", "--autohorovod", sys.executable, "-c", "print('alone')")
    assert (done.returncode, done.stdout) == (0, "alone\n"), done.stderr


def test_tuning_of_horovod() -> None:
    assert "--autotune" in horovod.tuning({"auto_tune_tensor_fusion": True})
    chosen = horovod.tuning({"tensor_fusion_threshold": 8, "tensor_fusion_cycle_time": 5})
    assert chosen[:4] == ["--fusion-threshold-mb", "8", "--cycle-time-ms", "5"]


def test_horovod_says_what_is_missing(
    make_task: MakeTask, capsys: pytest.CaptureFixture[str]
) -> None:
    make_task()
    assert horovod.main(["python3", "train.py"]) == 2
    assert "needs the package horovod" in capsys.readouterr().err
    two_nodes(make_task, 0)
    assert horovod.main(["python3", "train.py"]) == 2
    assert "has 2 nodes" in capsys.readouterr().err
