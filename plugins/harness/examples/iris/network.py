"""A tiny classifier in pure Python, so that the example needs nothing installed."""

import json
import math
import random


class Network:
    """Inputs → tanh layer → softmax, trained with RMSprop.

    Everything that training depends on is in ``state``, which ``save`` writes and ``load`` reads:
    a network that was saved and loaded continues exactly as if nothing had happened.
    """

    def __init__(self, sizes, learning_rate, decay, seed):
        inputs, hidden, classes = sizes
        self.rng = random.Random(seed)
        self.learning_rate = learning_rate
        self.decay = decay
        self.batches = 0
        self.first = self._layer(inputs, hidden)
        self.second = self._layer(hidden, classes)
        self.squares = [[0.0] * len(row) for row in self.first + self.second]

    def _layer(self, inputs, outputs):
        """Return one row per output: its weights, and its bias at the end."""
        width = math.sqrt(6 / (inputs + outputs))
        return [
            [self.rng.uniform(-width, width) for _ in range(inputs)] + [0.0] for _ in range(outputs)
        ]

    def forward(self, record):
        """Return the hidden layer and the probabilities of each class."""
        hidden = [math.tanh(total(row, record)) for row in self.first]
        scores = [total(row, hidden) for row in self.second]
        highest = max(scores)
        odds = [math.exp(score - highest) for score in scores]
        whole = sum(odds)
        return hidden, [value / whole for value in odds]

    def train_batch(self, records, labels, batch_size):
        """Learn from a random batch; return its loss and accuracy."""
        slopes = [[0.0] * len(row) for row in self.first + self.second]
        loss = right = 0
        for _ in range(batch_size):
            chosen = self.rng.randrange(len(records))
            record, label = records[chosen], labels[chosen]
            hidden, odds = self.forward(record)
            loss -= math.log(odds[label] + 1e-12)
            right += odds.index(max(odds)) == label
            self._add_slopes(slopes, record, hidden, odds, label)
        self._step(slopes, batch_size)
        return loss / batch_size, right / batch_size

    def _add_slopes(self, slopes, record, hidden, odds, label):
        errors = [value - (index == label) for index, value in enumerate(odds)]
        for row, error in zip(slopes[len(self.first) :], errors):
            accumulate(row, hidden, error)
        for index, value in enumerate(hidden):
            back = sum(error * row[index] for error, row in zip(errors, self.second))
            accumulate(slopes[index], record, back * (1 - value * value))

    def _step(self, slopes, batch_size):
        rate = self.learning_rate / (1 + self.decay * self.batches)
        for weights, squares, row in zip(self.first + self.second, self.squares, slopes):
            for index, summed in enumerate(row):
                slope = summed / batch_size
                squares[index] = 0.9 * squares[index] + 0.1 * slope * slope
                weights[index] -= rate * slope / (math.sqrt(squares[index]) + 1e-7)
        self.batches += 1

    def evaluate(self, records, labels):
        """Return loss and accuracy on a whole set."""
        loss = right = 0
        for record, label in zip(records, labels):
            odds = self.forward(record)[1]
            loss -= math.log(odds[label] + 1e-12)
            right += odds.index(max(odds)) == label
        return loss / len(records), right / len(records)

    def save(self, path):
        """Write everything into a file."""
        state = {
            "batches": self.batches,
            "first": self.first,
            "second": self.second,
            "squares": self.squares,
            "rng": self.rng.getstate(),
        }
        path.write_text(json.dumps(state), encoding="utf-8")

    def load(self, path):
        """Read what ``save`` wrote."""
        state = json.loads(path.read_text(encoding="utf-8"))
        self.batches = state["batches"]
        self.first, self.second = state["first"], state["second"]
        self.squares = state["squares"]
        version, words, spare = state["rng"]
        self.rng.setstate((version, tuple(words), spare))


def total(row, values):
    """Return the weighted sum of values, plus the bias at the end of the row."""
    return sum(weight * value for weight, value in zip(row, values)) + row[-1]


def accumulate(row, values, factor):
    """Add factor times values, and factor for the bias, to the row."""
    for index, value in enumerate(values):
        row[index] += factor * value
    row[-1] += factor
