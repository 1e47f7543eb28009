"""A cluster on this machine, from the programs of the pack, and experiments on it."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
from typing import Any, Dict, List, Optional

from gpucheck.report import Failure

NAME = "gpu-check"
RESULT = re.compile(r"GPUCHECK (\{.*\})")
STOP_SECONDS = 90

# Names of settings for another cluster, or of another task, which must not reach this one.
FOREIGN = ("DET_", "DETENT_", "NOMAD_", "CONSUL_", "VAULT_")


class Cluster:
    """The programs of a pack, and the folder in which the cluster keeps everything."""

    def __init__(self, pack: pathlib.Path, work: pathlib.Path, python: str) -> None:
        self.pack, self.work, self.python = pack, work, python
        self.env = {
            name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)
        }
        self.env.update(DETENT_STATE=str(work / "state"), DETENT_CACHE=str(work / "cache"))
        # PostgreSQL of the pack, where the machine has none that is newer.
        postgres = pack / "postgres" / "bin"
        self.env["PATH"] = os.pathsep.join([str(postgres), self.env.get("PATH", os.defpath)])

    def det(
        self, *words: str, seconds: float, log: Optional[pathlib.Path] = None
    ) -> subprocess.CompletedProcess[str]:
        """Run det, and keep what it printed in a log; an error is a Failure with the end of it."""
        command = [str(self.pack / "bin" / "det"), *words]
        seconds = max(1.0, seconds)
        said, code = "", None
        try:
            done = subprocess.run(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if log else subprocess.PIPE,
                text=True,
                env=self.env,
                timeout=seconds,
                check=False,
                cwd=self.work,
            )
            said, code = done.stdout + (done.stderr or ""), done.returncode
        except subprocess.TimeoutExpired as err:
            said = err.stdout.decode(errors="replace") if err.stdout else ""
        if log:
            log.write_text(said)
        if code is None:
            raise Failure(f"det {words[0]} did not end within {seconds:.0f} s: {end(said)}")
        if code != 0:
            raise Failure(f"det {' '.join(words[:2])}: {end(said)}")
        return done

    def up(self, simulated: int, plugin: str, seconds: float) -> str:
        """Start it, with this Python for tasks; return the address of its master."""
        words = ["deploy", "local", "cluster-up", "--cluster-name", NAME, "--no-consul"]
        words += ["--nomad", str(self.pack / "bin" / "nomad"), "--python", self.python]
        words += ["--harness", str(self.pack / "harness")]
        if simulated:
            words += ["--gpus", str(simulated)]
        if plugin:
            words += ["--gpu-plugin-binary", plugin]
        self.det(*words, seconds=seconds)
        said = self.det(
            "deploy", "local", "status", "--cluster-name", NAME, "--json", seconds=seconds
        )
        url = str(json.loads(said.stdout)["masterUrl"])
        self.env.update(DET_MASTER=url, DET_USER="determined", DET_PASS="")
        return url

    def down(self) -> None:
        """Stop it, and remove its data."""
        words = ["deploy", "local", "reset", "--cluster-name", NAME, "--yes"]
        self.det(*words, seconds=STOP_SECONDS)

    def slots(self) -> List[Dict[str, Any]]:
        """Return the slots that are GPUs, as the master knows them."""
        rows: List[Dict[str, Any]] = json.loads(
            self.det("slot", "list", "--json", seconds=30).stdout
        )
        return [row for row in rows if row.get("uuid")]

    def train(
        self, name: str, entrypoint: str, slots: int, seconds: float, metric: str = "loss"
    ) -> Dict[str, Any]:
        """Run an experiment to its end, and return what its program printed as its result."""
        config = {
            "name": f"gpu-check, {name}",
            "entrypoint": entrypoint,
            "searcher": {"name": "single", "metric": metric},
            "resources": {"slots_per_trial": slots, "resource_pool": "default"},
            "max_restarts": 0,
        }
        file = self.work / f"{name}.json"
        file.write_text(json.dumps(config))
        trials = str(self.pack / "harness" / "gpucheck" / "trials")
        words = ["experiment", "create", str(file), trials, "--follow"]
        return result(self.det(*words, seconds=seconds, log=self.work / f"{name}.log").stdout)


def python_of(pack: pathlib.Path, work: pathlib.Path) -> str:
    """Return this Python, or a script that runs it with the wheels of the pack beside its own."""
    wheels = sorted(str(wheel) for wheel in pack.glob("wheels/*.whl"))
    if not wheels:
        return sys.executable
    site = str(work / "site")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    done = subprocess.run(
        [*install, "--target", site, *wheels], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise Failure(f"the wheels of the pack cannot be installed: {end(done.stderr)}")
    script = work / "python" / "python3"
    script.parent.mkdir()
    path = f"PYTHONPATH={shlex.quote(site)}${{PYTHONPATH:+:$PYTHONPATH}}"
    script.write_text(f'#!/bin/sh\n{path} exec {shlex.quote(sys.executable)} "$@"\n')
    script.chmod(0o755)
    return str(script)


def result(log: str) -> Dict[str, Any]:
    """Return the last result in a log; a log without one is a Failure."""
    found = RESULT.findall(log)
    if not found:
        raise Failure(f"the program printed no result: {end(log)}")
    value: Dict[str, Any] = json.loads(found[-1])
    return value


def end(text: str) -> str:
    """Return the end of what a program printed, as one line."""
    return " / ".join(line.strip() for line in text.strip().splitlines()[-6:])[-900:]
