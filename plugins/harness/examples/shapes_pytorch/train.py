"""Trains the trial of shapes.py with a Trainer, on a cluster or on a laptop."""

import logging

from shapes import Shapes

import determined as det
from determined import pytorch

HPARAMS = {"global_batch_size": 32, "lr": 0.01, "channels": 8}


def main():
    info = det.get_cluster_info()
    with pytorch.init(hparams=info.trial.hparams if info else HPARAMS) as context:
        pytorch.Trainer(Shapes(context), context).fit(
            max_length=pytorch.Epoch(4),
            validation_period=pytorch.Epoch(1),
            latest_checkpoint=info.latest_checkpoint if info else None,
        )


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    main()
