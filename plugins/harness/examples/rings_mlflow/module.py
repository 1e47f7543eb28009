"""A Lightning module that logs to MLflow. Nothing in this file is about a cluster."""

import argparse
import os

import pytorch_lightning as pl
import rings
import torch
from pytorch_lightning.callbacks import ModelCheckpoint, OnExceptionCheckpoint
from pytorch_lightning.loggers import MLFlowLogger


class Module(pl.LightningModule):
    def __init__(self, learning_rate, width):
        super().__init__()
        self.save_hyperparameters()
        self.net = rings.network(width)

    def training_step(self, batch, _):
        x, labels = batch
        loss = torch.nn.functional.cross_entropy(self.net(x), labels)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        x, labels = batch
        logits = self.net(x)
        self.log("val_loss", torch.nn.functional.cross_entropy(logits, labels))
        self.log("val_accuracy", (logits.argmax(1) == labels).float().mean())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.learning_rate)


def loader(count, seed, batch):
    points = torch.utils.data.TensorDataset(*rings.points(count, seed))
    return torch.utils.data.DataLoader(points, batch)


parser = argparse.ArgumentParser()
parser.add_argument("--learning_rate", type=float, default=0.01)
parser.add_argument("--width", type=int, default=16)
parser.add_argument("--max_epochs", type=int, default=4)
options = parser.parse_args()

pl.seed_everything(1)
saved = ["out/on_exception.ckpt", "out/last.ckpt"]
newest = next((path for path in saved if os.path.exists(path)), None)
pl.Trainer(
    max_epochs=options.max_epochs,
    logger=MLFlowLogger("rings"),  # MLFLOW_TRACKING_URI says where
    callbacks=[ModelCheckpoint("out", save_last=True), OnExceptionCheckpoint("out")],
    accelerator="cpu",
    log_every_n_steps=10,
    enable_progress_bar=False,
    enable_model_summary=False,
).fit(
    Module(options.learning_rate, options.width),
    loader(2000, 1, 40),
    loader(500, 2, 100),
    ckpt_path=newest,
)
