"""A network of one hidden layer in plain NumPy, and the data it learns from."""

import json
import pathlib

import numpy as np

DATA = pathlib.Path(__file__).with_name("digits.txt")
PIXELS = 64
CLASSES = 10


def load(name):
    """Return the pictures of a set, values from 0 to 1, and their labels."""
    pictures, labels = [], []
    with DATA.open(encoding="ascii") as lines:
        for line in lines:
            kind, label, pixels = line.split()
            if kind == name:
                pictures.append([int(pixel, 16) for pixel in pixels])
                labels.append(int(label))
    return np.array(pictures, dtype=np.float64) / 15, np.array(labels)


def augment(pictures, rng):
    """Return pictures moved by up to a pixel, and with fresh noise."""
    square = pictures.reshape(-1, 8, 8)
    down, right = rng.integers(-1, 2, size=2)
    moved = np.roll(square, (int(down), int(right)), axis=(1, 2)).reshape(len(pictures), PIXELS)
    return np.clip(moved + rng.normal(0, 0.15, moved.shape), 0, 1)


class Network:
    """Pixels → ReLU → softmax, trained by gradient descent with momentum.

    All that training depends on is in here: weights, velocities, the number of batches seen,
    and the generator that draws batches. So a network that was saved and loaded continues exactly
    as if nothing had happened.
    """

    def __init__(self, hidden, learning_rate, momentum, seed):
        self.rng = np.random.default_rng(seed)
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.batches = 0
        self.weights = {
            "w1": self.rng.normal(0, np.sqrt(2 / PIXELS), (PIXELS, hidden)),
            "b1": np.zeros(hidden),
            "w2": self.rng.normal(0, np.sqrt(1 / hidden), (hidden, CLASSES)),
            "b2": np.zeros(CLASSES),
        }
        self.velocity = {name: np.zeros_like(value) for name, value in self.weights.items()}

    def forward(self, pictures):
        """Return the hidden layer and the probabilities of each class."""
        hidden = np.maximum(0, pictures @ self.weights["w1"] + self.weights["b1"])
        scores = hidden @ self.weights["w2"] + self.weights["b2"]
        scores -= scores.max(axis=1, keepdims=True)
        odds = np.exp(scores)
        return hidden, odds / odds.sum(axis=1, keepdims=True)

    def train_batch(self, pictures, labels, batch_size):
        """Learn from a random batch; return its loss and accuracy."""
        chosen = self.rng.integers(0, len(pictures), batch_size)
        x, y = augment(pictures[chosen], self.rng), labels[chosen]
        hidden, odds = self.forward(x)
        loss, accuracy = score(odds, y)
        error = odds
        error[np.arange(batch_size), y] -= 1
        error /= batch_size
        back = (error @ self.weights["w2"].T) * (hidden > 0)
        slopes = {
            "w1": x.T @ back,
            "b1": back.sum(axis=0),
            "w2": hidden.T @ error,
            "b2": error.sum(axis=0),
        }
        for name, slope in slopes.items():
            self.velocity[name] = self.momentum * self.velocity[name] - self.learning_rate * slope
            self.weights[name] += self.velocity[name]
        self.batches += 1
        return loss, accuracy

    def evaluate(self, pictures, labels):
        """Return loss and accuracy on a whole set."""
        return score(self.forward(pictures)[1], labels)

    def save(self, directory):
        """Write everything into a directory."""
        arrays = {f"weight_{name}": value for name, value in self.weights.items()}
        arrays.update({f"velocity_{name}": value for name, value in self.velocity.items()})
        np.savez(directory / "network.npz", **arrays)
        state = {"batches": self.batches, "rng": self.rng.bit_generator.state}
        (directory / "state.json").write_text(json.dumps(state), encoding="utf-8")

    def load(self, directory):
        """Read what ``save`` wrote."""
        with np.load(directory / "network.npz") as arrays:
            for name in self.weights:
                self.weights[name] = arrays[f"weight_{name}"]
                self.velocity[name] = arrays[f"velocity_{name}"]
        state = json.loads((directory / "state.json").read_text(encoding="utf-8"))
        self.batches = state["batches"]
        self.rng.bit_generator.state = state["rng"]


def score(odds, labels):
    """Return the mean cross entropy and the share of right answers."""
    likelihood = odds[np.arange(len(labels)), labels]
    return float(-np.log(likelihood + 1e-12).mean()), float((odds.argmax(axis=1) == labels).mean())
