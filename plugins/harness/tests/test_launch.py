"""The launcher of distributed programs, with PyTorch and without.

Every test starts the launcher as a task does. The environment named torch runs this file with
PyTorch, the one named harness without.
"""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List

import pytest

import determined as det
from determined.launch import _place, torch_distributed
from tests.conftest import MakeTask

ROOT = pathlib.Path(det.__file__).parent.parent
HAS_TORCH = torch_distributed.has_torch()

# Importing PyTorch takes seconds, and workers do so side by side.
PATIENCE = 180.0

with_torch = pytest.mark.skipif(not HAS_TORCH, reason="needs PyTorch; just torch-test has it")
without_torch = pytest.mark.skipif(HAS_TORCH, reason="is about a Python without PyTorch")


def environment(**more: str) -> Dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name.startswith("DET_")}
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        **kept,
        **more,
    }


def start(*words: str, **more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "determined.launch.torch_distributed", *words]
    return subprocess.Popen(
        command,
        env=environment(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def launch(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    process = start(*words, **more)
    out, err = process.communicate(timeout=PATIENCE)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def wait_until(condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def program(tmp_path: pathlib.Path, text: str) -> List[str]:
    """A script that writes what it finds to a file of its rank in the working directory."""
    script = tmp_path / "train.py"
    script.write_text(
        "import json, os, pathlib, signal, subprocess, sys, time\n"
        f"FOLDER = pathlib.Path({str(tmp_path)!r})\n"
        "RANK = os.environ['RANK']\n"
        "def note(what, name='found'):\n"
        "    part = FOLDER / f'{name}-{RANK}.part'\n"
        "    part.write_text(json.dumps(what))\n"
        "    part.rename(FOLDER / f'{name}-{RANK}.json')\n"
        "def wait_for(name):\n"
        "    while not (FOLDER / name).exists(): time.sleep(0.02)\n" + text
    )
    return [sys.executable, str(script)]


def noted(tmp_path: pathlib.Path, rank: int, name: str = "found") -> Any:
    return json.loads((tmp_path / f"{name}-{rank}.json").read_text())


def runs(pid: int) -> bool:
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


def test_one_slot_has_its_ranks(tmp_path: pathlib.Path, make_task: MakeTask) -> None:
    make_task()
    script = program(
        tmp_path,
        "from determined import core\n"
        "dist = core.DistributedContext.from_torch_distributed()\n"
        "note([dist.rank, dist.size, dist.allgather('x'), dict(os.environ)])\n"
        "print('trained')\n",
    )
    done = launch(*script)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[rank=0] trained\n"
    rank, size, gathered, variables = noted(tmp_path, 0)
    assert (rank, size, gathered) == (0, 1, ["x"])
    wanted = {
        "LOCAL_RANK": "0",
        "WORLD_SIZE": "1",
        "LOCAL_WORLD_SIZE": "1",
        "GROUP_RANK": "0",
        "GROUP_WORLD_SIZE": "1",
        "MASTER_ADDR": "127.0.0.1",
        "TORCHELASTIC_RUN_ID": "5.uuid.1",
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0",
        # torchrun's agent runs the store itself.
        "TORCHELASTIC_USE_AGENT_STORE": str(HAS_TORCH),
        "ROLE_RANK": "0",
        "ROLE_WORLD_SIZE": "1",
        "ROLE_NAME": "default",
        "DET_CHIEF_IP": "127.0.0.1",
        "USE_TORCH_DISTRIBUTED": "True",
    }
    assert {name: variables.get(name) for name in wanted} == wanted
    assert int(variables["MASTER_PORT"]) > 0
    # One worker may use all cores.
    assert "OMP_NUM_THREADS" not in variables


def test_workers_share_the_cores(tmp_path: pathlib.Path, make_task: MakeTask) -> None:
    make_task(DET_SLOT_IDS="[0,1]")
    script = program(tmp_path, "note(os.environ['OMP_NUM_THREADS'])\n")
    done = launch("--", *script)
    assert done.returncode == 0, done.stderr
    assert [noted(tmp_path, rank) for rank in range(2)] == ["1", "1"]
    done = launch(*script, OMP_NUM_THREADS="3")
    assert done.returncode == 0, done.stderr
    assert [noted(tmp_path, rank) for rank in range(2)] == ["3", "3"]


def test_two_jobs_on_one_machine(tmp_path: pathlib.Path, make_task: MakeTask) -> None:
    """Neither job has ports from the platform, and both communicate at the same time."""
    make_task(DET_SLOT_IDS="[0,1]")
    processes = []
    for job, other in (("a", "b"), ("b", "a")):
        folder = tmp_path / job
        folder.mkdir()
        script = program(
            folder,
            "from determined import core\n"
            "dist = core.DistributedContext.from_torch_distributed()\n"
            f"(FOLDER / f'up-{{RANK}}').write_text('')\n"
            f"wait_for('../{other}/up-0'); wait_for('../{other}/up-1')\n"
            f"note(dist.allgather({job!r} + RANK))\n",
        )
        processes.append(start(*script, DET_ALLOCATION_ID=f"5.{job}.1"))
    for process in processes:
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
    for job in "ab":
        for rank in range(2):
            assert noted(tmp_path / job, rank) == [f"{job}0", f"{job}1"]


LEAVES_PROCESSES = (
    # Data loaders in a session of their own, which keep the program's output open.
    "loader = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
    "note([os.getpid(), os.getppid(), loader.pid], 'pids')\n"
    "wait_for('pids-0.json'); wait_for('pids-1.json')\n"
)


@pytest.mark.parametrize("victim", ["os.getpid()", "os.getppid()"], ids=["program", "wrapper"])
def test_a_killed_rank_leaves_nothing(
    tmp_path: pathlib.Path, make_task: MakeTask, victim: str
) -> None:
    """Rank 1 is killed, as if memory ran out: all processes of all ranks end."""
    make_task(DET_SLOT_IDS="[0,1]")
    script = program(
        tmp_path,
        f"{LEAVES_PROCESSES}if RANK == '1': os.kill({victim}, signal.SIGKILL)\nsignal.pause()\n",
    )
    process = start(*script)
    try:
        assert process.wait(PATIENCE) != 0
        pids = [pid for rank in range(2) for pid in noted(tmp_path, rank, "pids")]
        wait_until(lambda: not any(runs(pid) for pid in pids))
    finally:
        process.kill()
        process.communicate()


def test_signals_reach_the_workers(tmp_path: pathlib.Path, make_task: MakeTask) -> None:
    make_task(DET_SLOT_IDS="[0,1]")
    script = program(
        tmp_path,
        "signal.signal(signal.SIGUSR1, lambda *_: note('told', 'told'))\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))\n"
        "note('ready')\n"
        "while True: signal.pause()\n",
    )
    process = start(*script)
    for name in ("found-0.json", "found-1.json"):
        wait_until((tmp_path / name).exists)
    process.send_signal(signal.SIGUSR1)
    for name in ("told-0.json", "told-1.json"):
        wait_until((tmp_path / name).exists)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE)
    # torchrun maps a signal to its own exit code.
    assert process.returncode == (1 if HAS_TORCH else 9)


SAVES_AT_A_SIGNAL = (
    "got = []\n"
    "def save(number, _):\n"
    "    got.append(number)\n"
    "    time.sleep(0.5)\n"
    "    note(got, 'saved')\n"
    "    sys.exit(code)\n"
    "if RANK == '0' or both:\n"
    "    for name in ('SIGTERM', 'SIGUSR1'): signal.signal(getattr(signal, name), save)\n"
    "note('ready')\n"
    "while True: signal.pause()\n"
)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGUSR1])
@pytest.mark.parametrize(
    ("both", "code", "want"),
    [(True, 0, 0), (False, 0, 128), (True, 9, 1 if HAS_TORCH else 9)],
    ids=["all_save", "one_saves", "saving_fails"],
)
def test_a_signal_preempts_the_workers(
    tmp_path: pathlib.Path, make_task: MakeTask, signum: int, both: bool, code: int, want: int
) -> None:
    """The runner sends a signal to the process group: each worker gets it once, and has its time.

    A worker that knows no signal ends by it, and the other one still saves. The launcher's exit
    code says that all have saved, or ended by the signal.
    """
    make_task(DET_SLOT_IDS="[0,1]")
    script = program(tmp_path, f"both, code = {both}, {code}\n{SAVES_AT_A_SIGNAL}")
    command = [sys.executable, "-m", "determined.launch.torch_distributed", *script]
    process = subprocess.Popen(command, env=environment(), start_new_session=True)
    for rank in range(2):
        wait_until((tmp_path / f"found-{rank}.json").exists)
    os.killpg(process.pid, signum)
    assert process.wait(PATIENCE) == want + (signum if want == 128 else 0)
    if code == 0:
        for rank in range(2 if both else 1):
            assert noted(tmp_path, rank, "saved") == [signum]


def test_arguments() -> None:
    parse = torch_distributed.parse
    script = ["python3", "train.py", "--lr", "1"]
    assert parse(script) == ([], script)
    assert parse(["--", *script]) == ([], script)
    assert parse(["python3", "--", "x"]) == ([], ["python3", "--", "x"])
    assert parse(["--", "python3", "--", "x"]) == ([], ["python3", "--", "x"])
    trial = [sys.executable, "-m", "determined.exec.harness", "m:T"]
    for words in (["--trial", "m:T"], ["--trial=m:T"], ["--", "--trial", "m:T"]):
        assert parse(words) == ([], trial)
    options = ["--max_restarts", "3", "--rdzv_backend=c10d"]
    assert parse([*options, "--", *script]) == (options, script)
    assert parse([*options, "--", "--trial", "m:T"]) == (options, trial)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "nothing to run"),
        (["--"], "nothing to run"),
        (["--trial"], "takes one argument"),
        (["--trial", "m:T", "--lr", "1"], "nothing may follow it"),
        (["--nnodes=2", "train.py"], "must end with --"),
        (["--", "--nnodes=2", "x"], "must stand before --"),
    ],
)
def test_wrong_arguments(
    words: List[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert torch_distributed.main(words) == 2
    assert message in capsys.readouterr().err


def test_a_program_that_is_missing() -> None:
    done = launch("/no/such/program")
    assert done.returncode != 0
    assert "cannot run /no/such/program" in done.stderr


def test_places(monkeypatch: pytest.MonkeyPatch) -> None:
    place = _place.Place("10.0.0.1", 1, [2, 3])
    found = torch_distributed.environment(place, 2, 4444)
    wanted = {
        "RANK": "4",
        "LOCAL_RANK": "2",
        "WORLD_SIZE": "5",
        "LOCAL_WORLD_SIZE": "3",
        "GROUP_RANK": "1",
        "GROUP_WORLD_SIZE": "2",
        "MASTER_ADDR": "10.0.0.1",
        "MASTER_PORT": "4444",
        "DET_CHIEF_IP": "10.0.0.1",
    }
    assert {name: found[name] for name in wanted} == wanted
    monkeypatch.setenv("C10D_PORT", "4445")
    assert torch_distributed._port(place) == 4445


@without_torch
def test_options_of_torchrun_need_torch() -> None:
    done = launch("--max_restarts", "1", "--", "true")
    assert done.returncode == 2
    assert "need PyTorch" in done.stderr


@with_torch
def test_options_of_torchrun(tmp_path: pathlib.Path, make_task: MakeTask) -> None:
    """The second start succeeds, which only --max_restarts allows; --tee takes a folder."""
    make_task(DET_SLOT_IDS="[0,1]")
    script = program(
        tmp_path,
        "if os.environ['TORCHELASTIC_RESTART_COUNT'] == '0': sys.exit(3)\n"
        "note(os.environ['TORCHELASTIC_MAX_RESTARTS'])\n",
    )
    done = launch("--max_restarts", "1", "--log_dir", str(tmp_path / "logs"), "--", *script)
    assert done.returncode == 0, done.stderr
    assert [noted(tmp_path, rank) for rank in range(2)] == ["1", "1"]


@with_torch
def test_torchrun_notes_its_signal(tmp_path: pathlib.Path) -> None:
    """The runner reads this if torchrun exits with code 1 (plugins/runner/attempt/torchrun.go)."""
    script = program(tmp_path, "note('ready')\nsignal.pause()\n")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", script[1]]
    error = tmp_path / "error.json"
    process = subprocess.Popen(command, env=environment(TORCHELASTIC_ERROR_FILE=str(error)))
    wait_until((tmp_path / "found-0.json").exists)
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 1
    message = json.loads(error.read_text())["message"]["message"]
    assert message == f"SignalException: Process {process.pid} got signal: {signal.SIGTERM.value}"


@with_torch
def test_gradients_are_averaged(tmp_path: pathlib.Path, make_task: MakeTask) -> None:
    """PyTorch's process group forms from the launcher's variables, beside the package's own."""
    make_task(DET_SLOT_IDS="[0,1]")
    script = program(
        tmp_path,
        "import torch\n"
        "from determined import core\n"
        "assert torch.distributed.is_torchelastic_launched()\n"
        "torch.distributed.init_process_group('gloo')\n"
        "dist = core.DistributedContext.from_torch_distributed()\n"
        "model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1, bias=False))\n"
        "model(torch.full((1, 1), float(dist.rank))).backward()\n"
        "note([next(model.parameters()).grad.item(), dist.allgather(dist.rank)])\n"
        "torch.distributed.destroy_process_group()\n",
    )
    done = launch(*script)
    assert done.returncode == 0, done.stderr
    assert [noted(tmp_path, rank) for rank in range(2)] == [[0.5, [0, 1]]] * 2
