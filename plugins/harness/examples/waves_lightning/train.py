"""Counts the waves of a noisy signal, with Lightning's Trainer.

On a cluster: ``det experiment create const.yaml .``; on a laptop: ``python3 train.py``.
"""

import logging
import math
import os
import tempfile

import pytorch_lightning
import torch

import determined as det
from determined import core
from determined.lightning import DeterminedCallback, DeterminedLogger

# The settings of const.yaml, for a run outside a cluster.
HPARAMS = {"global_batch_size": 32, "lr": 0.003, "hidden": 32}
EPOCHS, POINTS, KINDS = 4, 24, 4


def signals(count, seed):
    """Return noisy signals of one to four waves, and the number of waves less one."""
    generator = torch.Generator().manual_seed(seed)
    kinds = torch.randint(KINDS, (count,), generator=generator)
    phases = 2 * math.pi * torch.rand(count, 1, generator=generator)
    turns = torch.linspace(0, 2 * math.pi, POINTS) * (kinds[:, None] + 1)
    noise = 0.8 * torch.randn(count, POINTS, generator=generator)
    return torch.utils.data.TensorDataset(torch.sin(turns + phases) + noise, kinds)


class Waves(pytorch_lightning.LightningModule):
    def __init__(self, lr, hidden):
        super().__init__()
        self.lr = lr
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(POINTS, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, KINDS)
        )

    def training_step(self, batch, _):
        signal, kinds = batch
        loss = torch.nn.functional.cross_entropy(self.layers(signal), kinds)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        signal, kinds = batch
        right = (self.layers(signal).argmax(1) == kinds).float()
        self.log("val_accuracy", right.mean(), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


def main():
    info = det.get_cluster_info()
    size = int(os.environ.get("WORLD_SIZE", "1"))
    distributed = core.DistributedContext.from_torch_distributed() if size > 1 else None
    with core.init(distributed=distributed) as core_context, tempfile.TemporaryDirectory() as out:
        hparams = info.trial.hparams if info else HPARAMS
        callback = DeterminedCallback(core_context, checkpoint_epochs=1, preempt_batches=10)
        trainer = pytorch_lightning.Trainer(
            max_epochs=EPOCHS,
            callbacks=[callback],
            logger=DeterminedLogger(core_context),
            log_every_n_steps=10,
            accelerator="cpu",
            devices=core_context.distributed.local_size,
            num_nodes=core_context.distributed.cross_size,
            strategy="ddp" if size > 1 else "auto",
            # The callback stores the checkpoints.
            enable_checkpointing=False,
            enable_progress_bar=False,
            default_root_dir=out,
        )
        pytorch_lightning.seed_everything(info.trial.trial_seed if info else 1)
        loader = torch.utils.data.DataLoader
        per_worker = hparams["global_batch_size"] // size
        trainer.fit(
            Waves(hparams["lr"], hparams["hidden"]),
            loader(signals(2000, seed=1), batch_size=per_worker, shuffle=True),
            loader(signals(400, seed=2), batch_size=per_worker),
            ckpt_path=callback.latest_checkpoint(),
        )


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    main()
