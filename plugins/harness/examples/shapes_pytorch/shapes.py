"""Generates small noisy images of four shapes, and has a trial that classifies them."""

import torch

from determined import pytorch

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


class Shapes(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        channels = context.get_hparam("channels")
        self.model = context.wrap_model(
            torch.nn.Sequential(
                torch.nn.Conv2d(1, channels, 3, padding=1),
                torch.nn.ReLU(),
                torch.nn.MaxPool2d(2),
                torch.nn.Flatten(),
                torch.nn.Linear(channels * (SIZE // 2) ** 2, len(KINDS)),
            )
        )
        optimizer = torch.optim.Adam(self.model.parameters(), context.get_hparam("lr"))
        self.optimizer = context.wrap_optimizer(optimizer)

    def train_batch(self, batch, epoch_idx, batch_idx):
        images, kinds = batch
        loss = torch.nn.functional.cross_entropy(self.model(images), kinds)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch):
        images, kinds = batch
        scores = self.model(images)
        return {
            "validation_loss": torch.nn.functional.cross_entropy(scores, kinds),
            "accuracy": (scores.argmax(1) == kinds).float().mean(),
        }

    def build_training_data_loader(self):
        size = self.context.get_per_slot_batch_size()
        return pytorch.DataLoader(make(1024, seed=1), batch_size=size, shuffle=True)

    def build_validation_data_loader(self):
        size = self.context.get_per_slot_batch_size()
        return pytorch.DataLoader(make(256, seed=2), batch_size=size)
