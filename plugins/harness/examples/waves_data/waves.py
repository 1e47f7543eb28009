"""Noisy waves that are slow to generate, and a small network that classifies their shapes."""

import logging

import numpy as np

SHAPES = ("sine", "square", "sawtooth", "triangle")
POINTS = 64


def make(count, seed):
    """Yield waves one by one, as a simulator or a decoder of raw files would."""
    logging.info("making %d waves", count)
    rng = np.random.default_rng(seed)
    for number in range(count):
        kind = number % len(SHAPES)
        turns = (np.arange(POINTS) / POINTS * rng.integers(2, 5) + rng.uniform()) % 1.0
        wave = (
            np.sin(2 * np.pi * turns),
            np.sign(turns - 0.5),
            2 * turns - 1,
            4 * np.abs(turns - 0.5) - 1,
        )[kind]
        yield {"wave": (wave + rng.normal(0, 0.1, POINTS)).astype("float32"), "kind": kind}


def stack(records):
    """Return a batch as arrays: the strength of each frequency, and the number of the shape."""
    waves = np.stack([record["wave"] for record in records])
    return np.abs(np.fft.rfft(waves)) / 8, np.array([record["kind"] for record in records])


class Network:
    """Softmax over one hidden layer, with its gradients written out."""

    def __init__(self, seed, hidden=32):
        rng = np.random.default_rng(seed)
        features = POINTS // 2 + 1
        self.weights = {
            "in": rng.normal(0, features**-0.5, (features, hidden)),
            "out": rng.normal(0, hidden**-0.5, (hidden, len(SHAPES))),
        }

    def forward(self, features):
        hidden = np.maximum(features @ self.weights["in"], 0)
        scores = hidden @ self.weights["out"]
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return hidden, scores / scores.sum(axis=1, keepdims=True)

    def train(self, features, kinds, rate):
        """Train one step, and return the loss before it."""
        hidden, chances = self.forward(features)
        rows = np.arange(len(kinds))
        loss = -np.log(chances[rows, kinds] + 1e-12).mean()
        error = chances.copy()
        error[rows, kinds] -= 1
        error /= len(kinds)
        back = (error @ self.weights["out"].T) * (hidden > 0)
        self.weights["out"] -= rate * hidden.T @ error
        self.weights["in"] -= rate * features.T @ back
        return float(loss)

    def accuracy(self, features, kinds):
        return float((self.forward(features)[1].argmax(axis=1) == kinds).mean())
