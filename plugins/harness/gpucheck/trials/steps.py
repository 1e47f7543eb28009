"""Measures a step of training: under torchrun alone, or as a trial that reports.

A script without a platform prints its loss as often as a trial reports it, which needs the value
too. So the difference is what the platform costs.
"""

import contextlib
import json
import os
import time
from typing import Any, Iterator, Optional

import torch
from torch import distributed

import determined as det
from determined import core

EVERY, WARM_UP = 20, 40


@contextlib.contextmanager
def platform() -> Iterator[Optional[core.Context]]:
    """Connect to the cluster, if there is one."""
    if det.get_cluster_info() is None:
        yield None
        return
    workers = core.DistributedContext.from_torch_distributed()
    with core.init(distributed=workers) as context:
        yield context


def main() -> None:
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    else:
        torch.set_num_threads(1)  # threads that wait for each other are slow on a busy machine
    distributed.init_process_group("nccl" if cuda else "gloo")
    with platform() as context:
        measure(context, cuda)
    distributed.destroy_process_group()


def measure(context: Optional[core.Context], cuda: bool) -> None:
    # On a GPU a step takes some milliseconds, so that the time of its start is not what counts.
    width, batch, steps = (4096, 4096, 1000) if cuda else (256, 64, 200)
    device = torch.device("cuda" if cuda else "cpu")
    torch.manual_seed(1)
    layers = [torch.nn.Linear(width, width) for _ in range(6)]
    network = torch.nn.Sequential(*layers).to(device)
    model = torch.nn.parallel.DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    rows = torch.randn(batch, width, device=device)
    began = 0.0
    for step in range(1, steps + 1):
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=cuda):
            loss = model(rows).float().pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % EVERY == 0:
            tell(context, step, loss)
        if step == WARM_UP:
            began = now(cuda)
    took = now(cuda) - began
    if distributed.get_rank() == 0:
        found = {"device": device.type, "ms": 1000 * took / (steps - WARM_UP)}
        print("GPUCHECK " + json.dumps(found), flush=True)


def tell(context: Optional[core.Context], step: int, loss: Any) -> None:
    """Print the loss, or report it and ask whether to stop."""
    value = loss.item()
    if context is None:
        print(step, value)
        return
    if distributed.get_rank() == 0:
        context.train.report_training_metrics(step, {"loss": value})
    context.preempt.should_preempt()


def now(cuda: bool) -> float:
    """Return the time when the GPU has done what it was given."""
    if cuda:
        torch.cuda.synchronize()
    return time.perf_counter()


if __name__ == "__main__":
    main()
