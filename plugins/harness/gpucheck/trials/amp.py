"""Trains a small network with mixed precision, as a PyTorchTrial."""

import json
from typing import Any, Dict, List

import torch

from determined import pytorch

BATCHES, BATCH, WIDTH = 60, 64, 256


class Amp(pytorch.PyTorchTrial):
    """Learns whether the sum of a record is positive."""

    def __init__(self, context: pytorch.PyTorchTrialContext) -> None:
        self.context = context
        self.losses: List[Any] = []
        self.dtype = ""
        self.kind = context.device.type
        # Without a GPU the type is bfloat16, which needs no scaler.
        scaler = torch.amp.GradScaler(self.kind, enabled=self.kind == "cuda")
        self.scaler = context.wrap_scaler(scaler)
        torch.manual_seed(1)
        network = torch.nn.Sequential(
            torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, 2)
        )
        self.model = context.wrap_model(network)
        adam = torch.optim.Adam(self.model.parameters(), lr=0.003)
        self.optimizer = context.wrap_optimizer(adam)

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Dict[str, Any]:
        records, signs = batch
        dtype = torch.float16 if self.kind == "cuda" else torch.bfloat16
        with torch.autocast(self.kind, dtype=dtype):
            scores = self.model(records)
            loss = torch.nn.functional.cross_entropy(scores, signs)
        self.dtype = str(scores.dtype).replace("torch.", "")
        self.context.backward(self.scaler.scale(loss))
        self.context.step_optimizer(self.optimizer, scaler=self.scaler)
        self.scaler.update()
        self.losses.append(loss.detach())
        return {"loss": loss}

    def evaluate_batch(self, batch: Any, batch_idx: int) -> Dict[str, Any]:
        return {"loss": torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1])}

    def build_training_data_loader(self) -> Any:
        return pytorch.DataLoader(records(BATCHES * BATCH, 1), batch_size=BATCH)

    def build_validation_data_loader(self) -> Any:
        return pytorch.DataLoader(records(BATCH, 2), batch_size=BATCH)


def records(count: int, seed: int) -> Any:
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(count, WIDTH, generator=generator)
    return torch.utils.data.TensorDataset(rows, (rows.sum(1) > 0).long())


def main() -> None:
    with pytorch.init(hparams={}) as context:
        trial = Amp(context)
        pytorch.Trainer(trial, context).fit(max_length=pytorch.Batch(BATCHES))
        losses = [float(loss) for loss in trial.losses]
    found = {
        "device": trial.kind,
        "dtype": trial.dtype,
        "first": sum(losses[:5]) / 5,
        "last": sum(losses[-5:]) / 5,
    }
    print("GPUCHECK " + json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
