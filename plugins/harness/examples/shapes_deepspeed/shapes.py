"""Generates small noisy images of four shapes, and has a DeepSpeed trial for them."""

import deepspeed
import torch

from determined import pytorch
from determined.pytorch import deepspeed as det_ds

SIZE = 8
KINDS = ("a row", "a column", "a diagonal", "a block")


def make(count, seed):
    """Return images and the numbers of their shapes."""
    generator = torch.Generator().manual_seed(seed)
    kinds = torch.randint(len(KINDS), (count,), generator=generator)
    images = 0.2 * torch.randn(count, 1, SIZE, SIZE, generator=generator)
    places = torch.randint(SIZE - 2, (count, 2), generator=generator)
    for image, kind, (row, column) in zip(images, kinds.tolist(), places.tolist()):
        if kind == 0:
            image[0, row, :] += 1
        elif kind == 1:
            image[0, :, column] += 1
        elif kind == 2:
            image[0].fill_diagonal_(1.0)
        else:
            image[0, row : row + 3, column : column + 3] += 1
    return torch.utils.data.TensorDataset(images, kinds)


class Shapes(det_ds.DeepSpeedTrial):
    def __init__(self, context):
        self.context = context
        channels = context.get_hparam("channels")
        net = torch.nn.Sequential(
            torch.nn.Conv2d(1, channels, 3, padding=1),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
            torch.nn.Flatten(),
            torch.nn.Linear(channels * (SIZE // 2) ** 2, len(KINDS)),
        )
        config = det_ds.overwrite_deepspeed_config(
            "ds_config.json", context.get_hparams().get("overwrite_deepspeed_args", {})
        )
        engine, *_ = deepspeed.initialize(
            model=net, model_parameters=net.parameters(), config=config
        )
        self.engine = context.wrap_model_engine(engine)

    def train_batch(self, dataloader_iter, epoch_idx, batch_idx):
        images, kinds = self.context.to_device(next(dataloader_iter))
        loss = torch.nn.functional.cross_entropy(self.engine(images), kinds)
        self.engine.backward(loss)
        self.engine.step()
        return {"loss": loss}

    def evaluate_batch(self, dataloader_iter, batch_idx):
        images, kinds = self.context.to_device(next(dataloader_iter))
        scores = self.engine(images)
        return {
            "validation_loss": torch.nn.functional.cross_entropy(scores, kinds),
            "accuracy": (scores.argmax(1) == kinds).float().mean(),
        }

    def build_training_data_loader(self):
        size = self.context.get_train_micro_batch_size_per_gpu()
        return pytorch.DataLoader(make(1024, seed=1), batch_size=size, shuffle=True)

    def build_validation_data_loader(self):
        size = self.context.get_train_micro_batch_size_per_gpu()
        return pytorch.DataLoader(make(256, seed=2), batch_size=size)
