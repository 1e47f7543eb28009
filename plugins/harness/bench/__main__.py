"""The command line: runs the parts, and prints their tables."""

from __future__ import annotations

import argparse
import functools
import json
import os
import pathlib
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Sequence

from bench import _jobs
from bench._figures import Figure, rounds_of, table

Measure = Callable[[], Sequence[float]]


def ddp(rounds: int) -> str:
    """Measure a script under torchrun, and under our launcher alone, with Core and as a trial."""
    bare = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2"]
    ours = [sys.executable, "-m", "determined.launch.torch_distributed", "--"]

    def measure(launcher: List[str], kind: str) -> Sequence[float]:
        with _jobs.scratch() as folder, _jobs.master() as url:
            out = folder / "steps.json"
            if launcher is bare:
                environment = _jobs.plain(BENCH_OUT=str(out))
                words = [*launcher, f"--master_port={_jobs.free_port()}"]
            else:
                environment = _jobs.of_trial(url, folder, [0, 1], BENCH_OUT=str(out))
                words = launcher
            worker = str(_jobs.HARNESS / "bench" / "worker_ddp.py")
            python = [] if launcher is bare else [sys.executable]
            _jobs.run([[*words, *python, worker, kind]], [environment])
            found = json.loads(out.read_text())
            return found["step"], found["cpu"]

    kinds = [(bare, "bare"), (ours, "bare"), (ours, "core"), (ours, "trainer")]
    measures = [functools.partial(measure, *kind) for kind in kinds]
    yard, launched, with_core, trainer = rounds_of(rounds, *measures)
    figures = []
    for index, words in ((0, ""), (1, ", processor time of the chief")):
        for found, what in (
            (launched, "the same script under our launcher"),
            (with_core, "… with Core: a report and a look for preemption every 10 steps"),
            (trainer, "the same network as a PyTorchTrial"),
        ):
            values, yards = ([one[index] for one in many] for many in (found, yard))
            figures.append(Figure(what + words, "ms", values, "bare torchrun", yards))
    return table("A step of DDP, 2 workers", figures)


def keras(rounds: int, python: str) -> str:
    """Measure model.fit on two workers of TensorFlow's strategy, with the callback and without."""

    def measure(kind: str) -> Sequence[float]:
        with _jobs.scratch() as folder, _jobs.master() as url:
            out = folder / "steps.json"
            ports = [_jobs.free_port(), _jobs.free_port()]
            meeting = str(_jobs.free_port())
            environments = []
            for rank in range(2):
                workers = [f"127.0.0.1:{port}" for port in ports]
                task = {"type": "worker", "index": rank}
                more = {
                    "BENCH_OUT": str(out),
                    "TF_USE_LEGACY_KERAS": "1",
                    "CUDA_VISIBLE_DEVICES": "-1",
                    "TF_CONFIG": json.dumps({"cluster": {"worker": workers}, "task": task}),
                }
                if kind == "bare":
                    environments.append(_jobs.plain(**more))
                else:
                    more["INTER_TRAIN_PROCESS_COMM_PORT_1"] = meeting
                    environments.append(_jobs.of_trial(url, folder, [0], rank, 2, **more))
            worker = str(_jobs.HARNESS / "bench" / "worker_keras.py")
            _jobs.run([[python, worker, kind]] * 2, environments)
            found = json.loads(out.read_text())
            return found["step"], found["mean"], found["cpu"]

    yard, ours = rounds_of(rounds, *(functools.partial(measure, kind) for kind in ("bare", "ours")))
    figures = [
        Figure(what, "ms", [one[index] for one in ours], against, [one[index] for one in yard])
        for index, what, against in (
            (0, "model.fit with DeterminedCallback, median step", "the strategy alone"),
            (1, "… mean step, with its reports every 10 steps", "the strategy alone"),
            (2, "… processor time of the chief", "the strategy alone"),
        )
    ]
    return table("A step of Keras, 2 workers", figures)


def transformers(rounds: int) -> str:
    """Measure a fine-tune with the callback and without, in one process."""
    found = _of_one_worker("worker_transformers.py", rounds)
    figures = [
        Figure(
            what,
            "ms",
            [one[key] for one in found["ours"]],
            "the Trainer alone",
            [one[key] for one in found["yard"]],
        )
        for key, what in (
            ("step", "with DetCallback, median step"),
            ("mean", "… mean step, with its reports every 10 steps"),
            ("cpu", "… processor time of a step"),
        )
    ]
    return table("A step of Transformers", figures)


def reports(rounds: int) -> str:
    """Measure what a report of metrics costs the training."""
    figures = []
    for count, found in _of_one_worker("worker_reports.py", rounds).items():
        for key, what in (
            (
                "call",
                f"{count} metric{'s' * (count != '1')} in a report: until the training goes on",
            ),
            ("all", "… time until all reports are delivered, for each"),
            ("cpu", "… processor time, for each"),
        ):
            ours, yard = ([one[key] for one in found[name]] for name in ("ours", "yard"))
            figures.append(Figure(what, "µs", ours, "a bare request", yard))
    return table("A report of metrics", figures)


def gradients(rounds: int, python: str) -> str:
    """Measure how two workers of a TFKerasTrial average gradients, beside TensorFlow's strategy."""
    with _jobs.scratch() as folder:
        out = folder / "found.json"
        more = {"BENCH_OUT": str(out), "INTER_TRAIN_PROCESS_COMM_PORT_1": str(_jobs.free_port())}
        worker = str(_jobs.HARNESS / "bench" / "worker_gradients.py")
        commands = [[python, worker, str(rank), str(rounds)] for rank in range(2)]
        _jobs.run(commands, [_jobs.plain(**more)] * 2)
        found: Dict[str, Any] = json.loads(out.read_text())
    figures = [
        Figure(f"{size} MB, {what}", "ms", one[key], "all_reduce of the strategy", one["yard"])
        for size, one in found.items()
        for key, what in (
            ("chief", "through the chief, on one node"),
            ("network", "through the chief, as between nodes"),
            ("ours", "with DET_KERAS_COLLECTIVES=1"),
        )
    ]
    return table("Gradients averaged by 2 workers", figures)


def _of_one_worker(name: str, rounds: int) -> Dict[str, Any]:
    """Run a worker that measures all rounds by itself, as a task of one slot."""
    with _jobs.scratch() as folder, _jobs.master() as url:
        out = folder / "found.json"
        environment = _jobs.of_trial(url, folder, [0], BENCH_OUT=str(out))
        worker = str(_jobs.HARNESS / "bench" / name)
        _jobs.run([[sys.executable, worker, str(rounds)]], [environment])
        found: Dict[str, Any] = json.loads(out.read_text())
        return found


def imports(rounds: int, python: str) -> str:
    """Measure how long imports take, ours and those of Determined 0.38.1 in one Python."""
    with _jobs.scratch() as cache:
        figures = _imports(rounds, python, str(cache))
    return table("An import, with the start of Python", figures)


def _imports(rounds: int, python: str, cache: str) -> List[Figure]:
    def measure(statement: str, path: Optional[str]) -> Sequence[float]:
        environment = _jobs.plain()
        environment["PYTHONPATH"] = path or ""
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment["PYTHONPYCACHEPREFIX"] = cache
        started = time.perf_counter()
        process = subprocess.Popen([python, "-c", statement], env=environment, cwd="/")
        _, status, usage = os.wait4(process.pid, 0)
        took = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{python} -c {statement!r} failed")
        return 1000 * took, 1000 * (usage.ru_utime + usage.ru_stime)

    figures = []
    for statement in ("import determined", "from determined.experimental import client"):
        measures = [
            functools.partial(measure, statement, str(_jobs.HARNESS)),
            functools.partial(measure, statement, None),
            functools.partial(measure, "pass", None),
        ]
        for warm in measures:
            warm()
        ours, theirs, nothing = rounds_of(3 * rounds, *measures)
        for index, what in ((0, statement), (1, "… processor time")):
            values = [one[index] for one in ours]
            for against, yard in (("Determined 0.38.1", theirs), ("python -c pass", nothing)):
                figures.append(Figure(what, "ms", values, against, [one[index] for one in yard]))
    return figures


def data_layer(rounds: int, weed: Optional[str]) -> str:
    """Run the benchmark of the data store, which has its figures itself."""
    command = [sys.executable, "tests/bench_data_layer.py", "--rounds", str(rounds)]
    command += ["--weed", weed] if weed else []
    done = subprocess.run(
        command, cwd=_jobs.HARNESS, env=_jobs.plain(), stdout=subprocess.PIPE, text=True, check=True
    )
    figures = []
    for line in done.stdout.splitlines():
        found = json.loads(line)
        ours, yard = [found["value"]], [found["yard"]]
        figures.append(Figure(found["what"], found["unit"], ours, found["against"], yard))
    return table("The data store, 3,000 images of 12 kB", figures)


def machine() -> str:
    """Say where and under what load this runs."""
    model = "unknown processor"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    now = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    return f"{now}: {os.cpu_count()} cores, {model}, load averages {load}"


def main() -> None:
    """Run what is asked for; all of it where nothing is named."""
    parser = argparse.ArgumentParser(description="Measures the package beside its alternatives.")
    parser.add_argument(
        "parts", nargs="*", help="ddp keras gradients transformers reports imports data"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keras", required=True, metavar="PYTHON", help="with TensorFlow")
    parser.add_argument("--compat", required=True, metavar="PYTHON", help="with Determined 0.38.1")
    parser.add_argument("--weed", metavar="PATH", help="SeaweedFS, for data in object storage")
    chosen = parser.parse_args()
    parts: Dict[str, Callable[[], str]] = {
        "imports": lambda: imports(chosen.rounds, chosen.compat),
        "reports": lambda: reports(chosen.rounds),
        "transformers": lambda: transformers(chosen.rounds),
        "ddp": lambda: ddp(chosen.rounds),
        "keras": lambda: keras(chosen.rounds, chosen.keras),
        "gradients": lambda: gradients(chosen.rounds, chosen.keras),
        "data": lambda: data_layer(chosen.rounds, chosen.weed),
    }
    unknown = sorted(set(chosen.parts) - set(parts))
    if unknown:
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(parts)}")
    for name in chosen.parts or parts:
        print(machine(), file=sys.stderr)
        print(f"measuring {name}", file=sys.stderr)
        print(parts[name](), end="\n\n", flush=True)
    print(machine(), file=sys.stderr)


if __name__ == "__main__":
    main()
