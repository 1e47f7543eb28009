"""The checks, in their order. Each returns what it saw, or raises Failure or Skip."""

from __future__ import annotations

import os
import pathlib
import subprocess
from typing import Any, Dict, List, Set

from gpucheck import cluster
from gpucheck.machine import Machine
from gpucheck.report import Failure, Report, Skip, plural

# A trial may take this much longer than a step of the same program under torchrun alone.
MOST_MORE = 0.005
ROUNDS = 3
SIMULATED = 4
MOST_SECONDS = 150
TORCHRUN = "python3 -m determined.launch.torch_distributed -- "


class Checks:
    """The checks of one machine. processors: programs train on processors whatever there is."""

    def __init__(
        self, report: Report, machine: Machine, cluster: cluster.Cluster, processors: bool
    ) -> None:
        self.report, self.machine, self.cluster = report, machine, cluster
        self.processors = processors
        self.facts = machine.facts()

    @property
    def cuda(self) -> bool:
        """Whether programs train on GPUs."""
        return self.machine.cuda and not self.processors

    def seconds(self) -> float:
        """Return how long the next step may take."""
        return min(MOST_SECONDS, self.report.left())

    # Without a cluster.

    def probe(self) -> str:
        """det-gpu reads the driver: each GPU has a model and memory, and is healthy."""
        if not self.machine.real:
            raise Skip(f"{self.machine.reason}; the cluster simulates GPUs")
        for gpu in self.machine.gpus:
            if gpu.get("unfit"):
                raise Failure(f"{gpu['id']} is out of use: {gpu['unfit']}")
            if not gpu["model"] or not gpu["memory_mib"] or not gpu["bus_id"]:
                raise Failure(f"det-gpu does not know model, memory or bus of {gpu['id']}: {gpu}")
        groups = {gpu["link_group"] for gpu in self.machine.gpus if gpu.get("link_group")}
        return (
            f"{self.machine.described()}, driver {self.machine.driver}, healthy, "
            f"{plural(len(groups), 'link group')}"
        )

    def pytorch(self) -> str:
        """PyTorch finds the same GPUs as det-gpu, with the same memory."""
        known = self.machine.python
        if "torch" not in known:
            raise Skip(known.get("error") or "this Python has no PyTorch")
        if not self.machine.real or self.processors:
            return f"PyTorch {known['torch']}, on processors"
        if not known["gpus"]:
            raise Failure(f"det-gpu finds {self.machine.described()}, and PyTorch finds no GPU")
        if os.environ.get("CUDA_VISIBLE_DEVICES") is None:
            theirs = {bare(gpu["uuid"]) for gpu in known["gpus"] if gpu["uuid"]}
            ours = {bare(gpu["id"]) for gpu in self.machine.gpus}
            if theirs and not any(gpu["id"].startswith("MIG") for gpu in self.machine.gpus):
                same(ours, theirs, "det-gpu lists", "PyTorch")
        for gpu in known["gpus"]:
            mib = gpu["bytes"] / 2**20
            # A context and the driver's own part are not in what PyTorch says.
            if not any(
                gpu["name"] in one["model"] and 0.9 < mib / one["memory_mib"] <= 1.01
                for one in self.machine.gpus
            ):
                raise Failure(f"det-gpu lists no GPU like PyTorch's {gpu['name']} of {mib:.0f} MiB")
        return (
            f"PyTorch {known['torch']}, CUDA {known['cuda']}, NCCL {known.get('nccl', 'missing')}"
        )

    def down(self) -> str:
        """The cluster ends, and leaves nothing."""
        self.cluster.down()
        return "the cluster has ended"

    # With a cluster.

    def up(self, plugin: str) -> str:
        """A master and a node start from nothing."""
        simulated = 0 if self.machine.real else SIMULATED
        url = self.cluster.up(simulated, plugin, self.seconds())
        return f"the master answers at {url}"

    def slots(self) -> str:
        """The master has a slot for each GPU, and all are healthy."""
        slots = self.cluster.slots()
        if self.machine.real:
            same(
                {gpu["id"] for gpu in self.machine.gpus},
                uuids(slots),
                "det-gpu lists",
                "the master",
            )
        elif len(slots) != SIMULATED:
            raise Failure(f"the master has {plural(len(slots), 'slot')}, and not {SIMULATED}")
        for slot in slots:
            if not slot["enabled"] or slot["health"] not in ("", "healthy"):
                raise Failure(f"the slot {slot['uuid']} cannot be used: {slot['health']}")
        return f"{plural(len(slots), 'slot')} of {slots[0]['device']}"

    def trial(self) -> str:
        """A trial gets one GPU, sees only that one, and computes on it."""
        self.needs_torch()
        found = self.cluster.train("trial", "python3 device.py", 1, self.seconds())
        ids: List[str] = found["told"]
        if len(ids) != 1 or ids[0] not in uuids(self.cluster.slots()):
            raise Failure(f"the trial was given {ids}, which is no slot of the master")
        if found["visible"] != ids[0]:
            raise Failure(
                f"CUDA_VISIBLE_DEVICES is {found['visible']}, and the trial's is {ids[0]}"
            )
        if self.cuda:
            if found["device"] != "cuda" or found["count"] != 1:
                raise Failure(
                    f"PyTorch sees {found['count']} GPUs in the trial, and not one: {found}"
                )
            if found["uuid"] and not ids[0].startswith("MIG"):
                same({bare(ids[0])}, {bare(found["uuid"])}, "the master gave", "the program")
        if found["error"] > 1e-2:
            raise Failure(f"a product of matrices is wrong by {found['error']:.2g}")
        return f"{ids[0]} alone, a product of matrices on {found['device']} is right"

    def amp(self) -> str:
        """A PyTorchTrial learns with mixed precision."""
        self.needs_torch()
        found = self.cluster.train("amp", "python3 amp.py", 1, self.seconds())
        self.on_device(found)
        want = "float16" if self.cuda else "bfloat16"
        if found["dtype"] != want:
            raise Failure(f"the forward pass ran in {found['dtype']}, and not in {want}")
        learned(found)
        losses = f"loss {found['first']:.3g} to {found['last']:.3g}"
        return f"{found['dtype']} on {found['device']}, {losses}"

    def ddp(self) -> str:
        """All GPUs train one model, and end with the same weights."""
        self.needs_torch()
        slots = len(self.machine.gpus) if self.cuda else 2
        found = self.cluster.train("ddp", TORCHRUN + "python3 ddp.py", slots, self.seconds())
        self.on_device(found)
        want = "nccl" if self.cuda else "gloo"
        if (found["backend"], found["size"], found["sum"]) != (want, slots, sum(range(slots))):
            raise Failure(f"{plural(slots, 'worker')} over {want} were wanted: {found}")
        if not found["same"]:
            raise Failure("the workers ended with different weights")
        learned(found)
        return f"{plural(slots, 'worker')} over {want}, the same weights at the end"

    def transformers(self) -> str:
        """The Trainer of Transformers trains with our callback."""
        self.needs_torch()
        for name in ("transformers", "accelerate"):
            if name not in self.machine.python:
                raise Skip(f"this Python has no {name}")
        found = self.cluster.train(
            "transformers", "python3 hub.py", 1, self.seconds(), metric="eval_loss"
        )
        self.on_device(found)
        learned(found)
        version = self.machine.python["transformers"]
        return f"Transformers {version}, loss {found['first']:.3g} to {found['last']:.3g}"

    def steps(self) -> str:
        """A step takes no longer in a trial than under torchrun alone."""
        self.needs_torch()
        slots = len(self.machine.gpus) if self.cuda else 1
        bare_ms, ours_ms = [], []
        for number in range(ROUNDS if self.cuda else 1):
            bare_ms.append(self.bare_steps(slots))
            name = f"steps-{number + 1}"
            found = self.cluster.train(name, TORCHRUN + "python3 steps.py", slots, self.seconds())
            self.on_device(found)
            ours_ms.append(found["ms"])
        # The best round of each: what else a machine does can only make a step longer.
        more = min(ours_ms) / min(bare_ms) - 1
        self.facts.update(
            bare=f"{min(bare_ms):.3f} ms", ours=f"{min(ours_ms):.3f} ms", more=f"{more:+.2%}"
        )
        text = f"{min(ours_ms):.3f} ms, {more:+.2%} of {min(bare_ms):.3f} ms under torchrun alone"
        if not self.cuda:
            return text + "; processors are shared, so this decides nothing"
        if more > MOST_MORE:
            raise Failure(f"{text}, and {MOST_MORE:.1%} is the most")
        return text

    # Parts of checks.

    def bare_steps(self, slots: int) -> float:
        """Run the program of steps under torchrun alone; return the time of a step in ms."""
        command = [self.cluster.python, "-m", "torch.distributed.run", "--standalone"]
        script = self.cluster.pack / "harness" / "gpucheck" / "trials" / "steps.py"
        env = {k: v for k, v in self.cluster.env.items() if not k.startswith("DET")}
        env["PYTHONPATH"] = str(self.cluster.pack / "harness")
        if not self.cuda:
            env["CUDA_VISIBLE_DEVICES"] = ""
        try:
            done = subprocess.run(
                [*command, f"--nproc_per_node={slots}", str(script)],
                capture_output=True,
                text=True,
                env=env,
                timeout=max(1.0, self.seconds()),
                check=False,
            )
        except subprocess.TimeoutExpired as err:
            raise Failure("torchrun alone did not end in time") from err
        if done.returncode != 0:
            raise Failure(f"torchrun alone: {cluster.end(done.stderr)}")
        return float(cluster.result(done.stdout)["ms"])

    def needs_torch(self) -> None:
        """Skip a check where there is no PyTorch."""
        if "torch" not in self.machine.python:
            raise Skip("this Python has no PyTorch")

    def on_device(self, found: Dict[str, Any]) -> None:
        """Fail if a program trained on something else than it should."""
        want = "cuda" if self.cuda else "cpu"
        if found["device"] != want:
            raise Failure(f"the program trained on {found['device']}, and not on {want}")


def bare(uuid: str) -> str:
    """Return an id without the word that only some programs write before it."""
    return uuid[4:] if uuid.startswith("GPU-") else uuid


def uuids(slots: List[Dict[str, Any]]) -> Set[str]:
    """Return the ids of slots."""
    return {slot["uuid"] for slot in slots}


def same(want: Set[str], got: Set[str], who: str, other: str) -> None:
    """Fail if two sets of GPUs differ."""
    if want != got:
        raise Failure(f"{who} {sorted(want)}, and {other} has {sorted(got)}")


def learned(found: Dict[str, Any]) -> None:
    """Fail if a program did not learn."""
    if not found["last"] < 0.7 * found["first"]:
        raise Failure(f"the loss went from {found['first']:.3g} to {found['last']:.3g} only")


def plugin_path(text: str) -> str:
    """Return the path of a plugin that somebody named; "" for det-gpu."""
    return str(pathlib.Path(text).resolve()) if text else ""
