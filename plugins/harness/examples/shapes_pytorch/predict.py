"""Batch inference: a trained model classifies each of a thousand images.

On a cluster: ``det experiment create predict.yaml . --config hyperparameters.checkpoint=UUID``;
on a laptop: ``python3 predict.py FOLDER``, with a checkpoint that was downloaded there.
"""

import json
import logging
import sys

import shapes
import torch

import determined as det
from determined import pytorch
from determined.experimental import client
from determined.pytorch import experimental


class Predict(experimental.TorchBatchProcessor):
    def __init__(self, context):
        self.context = context
        if det.get_cluster_info() is None:
            folder = sys.argv[1]
        else:
            uuid = context.get_hparams()["checkpoint"]
            # A folder per worker, because the workers of a node download at the same time.
            folder = f"checkpoint-{context.get_distributed_rank()}"
            client.get_checkpoint(uuid).download(folder)
        trial = pytorch.load_trial_from_checkpoint_path(folder)
        self.model = context.prepare_model_for_inference(trial.model)
        # For all workers together: the number of images, and the share of right answers.
        self.seen = context.wrap_reducer(sum, name="images")
        self.right = context.wrap_reducer(lambda all: sum(all) / len(all), name="accuracy")

    @torch.no_grad()
    def process_batch(self, batch, batch_idx):
        images, kinds = self.context.to_device(batch)
        answers = self.model(images).argmax(1)
        self.seen.update(len(images))
        for right in (answers == kinds).tolist():
            self.right.update(right)
        with self.context.upload_path() as path:
            lines = [json.dumps({"shows": shapes.KINDS[answer]}) for answer in answers.tolist()]
            (path / f"batch-{batch_idx}.jsonl").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    experimental.torch_batch_process(
        Predict, shapes.make(1000, seed=3), batch_size=50, checkpoint_interval=5
    )
