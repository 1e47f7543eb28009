"""Two workers train a network with DDP: alone, with the Core API, or as a PyTorchTrial."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict

import torch
from torch import distributed

import determined as det
from bench._steps import Steps
from determined import core, pytorch

STEPS, BATCH, WIDTH, EVERY = 140, 64, 768, 10


def network() -> Any:
    torch.manual_seed(1)
    layers = []
    for _ in range(3):
        layers += [torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(WIDTH, 10))


def records() -> Any:
    generator = torch.Generator().manual_seed(1)
    count = STEPS * BATCH * int(os.environ.get("WORLD_SIZE", "1"))
    images = torch.rand(count, WIDTH, generator=generator)
    return torch.utils.data.TensorDataset(images, torch.randint(10, (count,), generator=generator))


def by_hand(core_context: Any) -> None:
    steps, dataset = Steps(), records()
    model = torch.nn.parallel.DistributedDataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    sampler = torch.utils.data.distributed.DistributedSampler(dataset)
    loader = torch.utils.data.DataLoader(dataset, batch_size=BATCH, sampler=sampler)
    for number, (images, kinds) in enumerate(loader, start=1):
        steps.begin()
        loss = torch.nn.functional.cross_entropy(model(images), kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if number % EVERY == 0:
            # A script without a platform prints, which needs the value too.
            value = loss.item()
            if core_context is None:
                print(number, value)
                continue
            if distributed.get_rank() == 0:
                core_context.train.report_training_metrics(number, {"loss": value})
            core_context.preempt.should_preempt()
    if distributed.get_rank() == 0:
        steps.write()


class Trial(pytorch.PyTorchTrial):
    def __init__(self, context: pytorch.PyTorchTrialContext) -> None:
        self.context = context
        self.model = context.wrap_model(network())
        sgd = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.optimizer = context.wrap_optimizer(sgd)
        self.steps = Steps()

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Dict[str, Any]:
        self.steps.begin()
        loss = torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1])
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch: Any, batch_idx: int) -> Dict[str, Any]:
        return {"loss": torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1])}

    def build_training_data_loader(self) -> Any:
        return pytorch.DataLoader(records(), batch_size=BATCH, shuffle=True)

    def build_validation_data_loader(self) -> Any:
        return pytorch.DataLoader(torch.utils.data.Subset(records(), range(BATCH)), BATCH)


def by_trainer() -> None:
    with pytorch.init(hparams={}) as context:
        trial = Trial(context)
        pytorch.Trainer(trial, context).fit(
            max_length=pytorch.Batch(STEPS),
            reporting_period=pytorch.Batch(EVERY),
            checkpoint_policy="none",
        )
        if context.distributed.rank == 0:
            trial.steps.write()


def main(kind: str) -> None:
    torch.set_num_threads(1)
    if kind == "trainer":
        by_trainer()
        return
    distributed.init_process_group("gloo")
    if kind == "core":
        assert det.get_cluster_info() is not None
        with core.init(
            distributed=core.DistributedContext.from_torch_distributed()
        ) as core_context:
            by_hand(core_context)
    else:
        by_hand(None)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
