"""A small network in plain NumPy learns a wave; the search decides for how long."""

import os

# One thread per trial: the network is small.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import determined as det
from determined import core

DEFAULTS = {"learning_rate": 0.05, "hidden": 16, "optimizer": "plain"}
EPOCHS = 32


def wave(count, seed):
    x = np.random.default_rng(seed).uniform(-1, 1, (count, 1))
    return x, np.sin(6 * x) * np.exp(-x)


def main(core_context, hparams, seed):
    random = np.random.default_rng(seed)
    points, values = wave(16384, seed=1)
    test_points, test_values = wave(256, seed=2)
    hidden = hparams["hidden"]
    weights = [
        random.normal(size=(1, hidden)) * 3,
        np.zeros(hidden),
        random.normal(size=(hidden, 1)) / hidden**0.5,
        np.zeros(1),
    ]
    speeds = [np.zeros_like(w) for w in weights]
    momentum = hparams["momentum"] if hparams["optimizer"] == "momentum" else 0.0

    for epoch in range(1, EPOCHS + 1):
        for batch in np.array_split(random.permutation(len(points)), 2048):
            x, y = points[batch], values[batch]
            inner = np.tanh(x @ weights[0] + weights[1])
            error = 2 * (inner @ weights[2] + weights[3] - y) / len(batch)
            below = (error @ weights[2].T) * (1 - inner**2)
            slopes = [x.T @ below, below.sum(0), inner.T @ error, error.sum(0)]
            for i, slope in enumerate(slopes):
                step = hparams["learning_rate"] * np.clip(slope, -1, 1)
                speeds[i] = momentum * speeds[i] - step
                weights[i] = weights[i] + speeds[i]
        inner = np.tanh(test_points @ weights[0] + weights[1])
        loss = float(np.mean((inner @ weights[2] + weights[3] - test_values) ** 2))
        core_context.train.report_validation_metrics(epoch, {"loss": loss, "epochs": epoch})
        core_context.train.report_progress(epoch / EPOCHS)
        if core_context.preempt.should_preempt():
            return


if __name__ == "__main__":
    info = det.get_cluster_info()
    with core.init() as core_context:
        if info is None:
            main(core_context, DEFAULTS, seed=1)
        else:
            main(core_context, info.trial.hparams, info.trial.trial_seed)
