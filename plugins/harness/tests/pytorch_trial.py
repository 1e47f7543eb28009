"""A small trial for the tests of determined.pytorch; run as a script it trains under torchrun."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Dict

import torch

from determined import core, pytorch


class Data(torch.utils.data.Dataset):
    def __init__(self, size: int) -> None:
        generator = torch.Generator().manual_seed(1)
        self.x = torch.randn(size, 4, generator=generator)
        self.y = (self.x * torch.tensor([1.0, 2.0, 3.0, 4.0])).sum(1)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> Any:
        return self.x[index], self.y[index], index


class Line(pytorch.PyTorchTrial):
    """Learns a line, and records its batches."""

    def __init__(self, context: pytorch.PyTorchTrialContext) -> None:
        self.context = context
        torch.manual_seed(3)
        # Dropout draws random numbers, so a test sees whether they are restored.
        rate = context._hparams.get("dropout", 0.0) if context._hparams else 0.0
        net = torch.nn.Sequential(torch.nn.Dropout(rate), torch.nn.Linear(4, 1))
        self.model = context.wrap_model(net)
        self.optimizer = context.wrap_optimizer(torch.optim.Adam(self.model.parameters(), 0.05))
        self.seen: Dict[int, Any] = {}
        self.losses: Dict[int, float] = {}
        self.stop_at = -1

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Dict[str, Any]:
        x, y, index = batch
        loss = ((self.model(x).squeeze(1) - y) ** 2).mean()
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        self.seen[batch_idx] = index.tolist()
        self.losses[batch_idx] = loss.item()
        if batch_idx == self.stop_at:
            self.context.set_stop_requested(True)
        return {"loss": loss}

    def evaluate_batch(self, batch: Any) -> Dict[str, Any]:  # type: ignore[override]
        x, y, _ = batch
        return {"val_loss": ((self.model(x).squeeze(1) - y) ** 2).mean()}

    def build_training_data_loader(self) -> Any:
        size = int(os.environ.get("TEST_BATCH", "4"))
        shuffle = not os.environ.get("TEST_IN_ORDER")
        return pytorch.DataLoader(Data(24), batch_size=size, shuffle=shuffle)

    def build_validation_data_loader(self) -> Any:
        return pytorch.DataLoader(Data(16), batch_size=2)


def main() -> None:
    """Train under torchrun, and write the reported losses."""
    reported = []

    def note(self: Any, steps_completed: int, metrics: Any, batch_metrics: Any = None) -> None:
        reported.append(float(metrics.get("loss", metrics.get("val_loss"))))

    train: Any = core.DummyTrainContext
    train.report_training_metrics = train.report_validation_metrics = note
    with pytorch.init(aggregation_frequency=int(sys.argv[2])) as context:
        trial = Line(context)
        pytorch.Trainer(trial, context).fit(
            max_length=pytorch.Batch(int(sys.argv[3])),
            validation_period=pytorch.Epoch(1),
            reporting_period=pytorch.Batch(1),
            checkpoint_policy="none",
        )
        weights = [p.tolist() for p in trial.model.parameters()]
    with open(f"{sys.argv[1]}.{context.distributed.rank}", "w", encoding="utf-8") as out:
        json.dump({"reported": reported, "weights": weights, "seen": trial.seen}, out)


if __name__ == "__main__":
    main()
