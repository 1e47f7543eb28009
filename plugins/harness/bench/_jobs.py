"""Starts what is measured: programs as tasks of a trial, and a master for them."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
from typing import Any, Dict, Iterator, List, Sequence

HARNESS = pathlib.Path(__file__).resolve().parent.parent
LIMIT_SECONDS = 900

CONFIG: Dict[str, Any] = {
    "name": "bench",
    "searcher": {"name": "single", "metric": "eval_loss"},
    "checkpoint_storage": {"type": "shared_fs", "host_path": "/host", "storage_path": "bench"},
}


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def master() -> Iterator[str]:
    """Start the tests' stand-in for a master, in a process of its own; yield its address."""
    command = [sys.executable, "-m", "bench.stub"]
    with subprocess.Popen(
        command, cwd=HARNESS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


def plain(**more: str) -> Dict[str, str]:
    """Return the environment of a program that knows no cluster."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("DET_", "NOMAD_", "INTER_TRAIN_"))
    }
    return {
        **kept,
        "PYTHONPATH": str(HARNESS),
        "OMP_NUM_THREADS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TOKENIZERS_PARALLELISM": "false",
        **more,
    }


def of_trial(
    url: str, folder: pathlib.Path, slots: Sequence[int], node: int = 0, nodes: int = 1, **more: str
) -> Dict[str, str]:
    """Return the environment of a trial's task on a node; all nodes are this machine."""
    run_dir, shared = folder / f"node-{node}", folder / "shared"
    (run_dir / "info").mkdir(parents=True)
    shared.mkdir(exist_ok=True)
    rendezvous = {
        "container_addrs": ["127.0.0.1"] * nodes,
        "container_rank": node,
        "container_slot_counts": [len(slots)] * nodes,
    }
    (run_dir / "info" / "rendezvous.json").write_text(json.dumps(rendezvous))
    config = {**CONFIG, "resources": {"slots_per_trial": nodes * len(slots)}}
    return plain(
        DET_MASTER=url,
        DET_CLUSTER_ID="cluster-1",
        DET_AGENT_ID=f"node-{node}",
        DET_SLOT_IDS=json.dumps(list(slots)),
        DET_TASK_ID="5.bench",
        DET_ALLOCATION_ID=f"5.bench.{folder.name}",
        DET_SESSION_TOKEN="token-of-the-bench",
        DET_TASK_TYPE="TRIAL",
        DET_USER="somebody",
        DET_EXPERIMENT_ID="5",
        DET_TRIAL_ID="12",
        DET_TRIAL_RUN_ID="1",
        DET_TRIAL_SEED="42",
        DET_EXPERIMENT_CONFIG=json.dumps(config),
        DET_HPARAMS="{}",
        DET_STEPS_COMPLETED="0",
        DET_SHARED_FS_PATH=str(shared),
        DET_RUN_DIR=str(run_dir),
        DET_BACKLOG_DIR=str(run_dir / "backlog"),
        C10D_PORT=str(free_port()),
        **more,
    )


@contextlib.contextmanager
def scratch() -> Iterator[pathlib.Path]:
    """Provide a folder for as long as a run lasts."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        yield pathlib.Path(name)


def run(commands: List[List[str]], environments: List[Dict[str, str]]) -> None:
    """Run programs side by side in the harness's folder; an error shows what they printed."""
    with contextlib.ExitStack() as stack:
        logs, processes = [], []
        for command, environment in zip(commands, environments):
            logs.append(stack.enter_context(tempfile.TemporaryFile("w+")))
            processes.append(
                subprocess.Popen(
                    command, cwd=HARNESS, env=environment, stdout=logs[-1], stderr=logs[-1]
                )
            )
        try:
            codes = [process.wait(LIMIT_SECONDS) for process in processes]
        finally:
            for process in processes:
                process.kill()
                process.wait()
        if any(codes):
            for log in logs:
                log.seek(0)
                sys.stderr.write(log.read()[-5000:])
            raise RuntimeError(f"{' '.join(commands[0])}: exit codes {codes}")
