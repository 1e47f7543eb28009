"""Trains one model with a worker for each slot."""

import json
import os

import torch
from torch import distributed

from determined import core

STEPS, BATCH, WIDTH = 60, 64, 128


def main() -> None:
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    device = torch.device("cuda" if cuda else "cpu")
    distributed.init_process_group("nccl" if cuda else "gloo")
    with core.init(distributed=core.DistributedContext.from_torch_distributed()) as context:
        train(context, device)
    distributed.destroy_process_group()


def train(context: core.Context, device: torch.device) -> None:
    rank, size = distributed.get_rank(), distributed.get_world_size()
    ranks = torch.tensor([float(rank)], device=device)
    distributed.all_reduce(ranks)
    torch.manual_seed(1)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(WIDTH, 1).to(device))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(100 + rank)  # each worker has its own records
    losses = []
    for step in range(1, STEPS + 1):
        rows = torch.randn(BATCH, WIDTH, generator=generator).to(device)
        loss = torch.nn.functional.mse_loss(model(rows)[:, 0], rows[:, :8].sum(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        if step % 20 == 0 and rank == 0:
            context.train.report_training_metrics(step, {"loss": loss.item()})
    weights = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    of_chief = weights.clone()
    distributed.broadcast(of_chief, 0)
    equal = torch.tensor([float(torch.equal(weights, of_chief))], device=device)
    distributed.all_reduce(equal)
    if rank == 0:
        last = losses[-1].item()
        context.train.report_validation_metrics(STEPS, {"loss": last})
        found = {
            "device": device.type,
            "backend": distributed.get_backend(),
            "size": size,
            "sum": ranks.item(),
            "same": equal.item() == size,
            "first": losses[0].item(),
            "last": last,
        }
        print("GPUCHECK " + json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
