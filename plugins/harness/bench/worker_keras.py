"""One of two workers of a MultiWorkerMirroredStrategy: alone, or with the callback."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, List

import tensorflow as tf
import tf_keras

import determined as det
from bench._steps import Steps
from determined import core, keras

STEPS, BATCH, WIDTH = 120, 64, 512


class Clock(tf_keras.callbacks.Callback):
    """Notes when batches begin."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = Steps()

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.steps.begin()


def fit(strategy: Any, callbacks: List[Any]) -> None:
    tf_keras.utils.set_random_seed(1)
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    images = tf.random.uniform((BATCH, WIDTH))
    kinds = tf.random.uniform((BATCH,), maxval=10, dtype=tf.int32)
    dataset = tf.data.Dataset.from_tensors((images, kinds)).repeat().with_options(options)
    with strategy.scope():
        layers = [tf_keras.layers.Dense(WIDTH, activation="relu") for _ in range(3)]
        model = tf_keras.Sequential([*layers, tf_keras.layers.Dense(10)])
        loss = tf_keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(tf_keras.optimizers.SGD(0.01), loss)
    clock = Clock()
    model.fit(dataset, epochs=1, steps_per_epoch=STEPS, verbose=2, callbacks=[clock, *callbacks])
    if json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 0:
        clock.steps.write()


def main(kind: str) -> None:
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    if kind == "bare":
        fit(tf.distribute.MultiWorkerMirroredStrategy(), [])
        return
    info = det.get_cluster_info()
    assert info is not None
    distributed, strategy = core.DistributedContext.from_tf_config()
    with core.init(distributed=distributed) as core_context:
        callback = keras.DeterminedCallback(
            core_context,
            checkpoint=None,
            continue_id=info.trial.trial_id,
            train_metrics_report_period=10,
            checkpoint_epochs=0,
        )
        fit(strategy, [callback])


if __name__ == "__main__":
    main(sys.argv[1])
