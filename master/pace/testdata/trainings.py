"""Trains 113 small models and records their progress, on which the estimates of package pace are tuned and tested.

Every training is real: it computes its steps on a processor, reads its batches, evaluates, and writes checkpoints to a
disk. Only its length is small: seconds in place of hours. What makes a training uneven is drawn for each one from its seed:

    steps        even for most; of one kind that grows (the batch or the sequence becomes longer), shrinks (layers are
                 frozen), or comes in stages (a curriculum, progressive resizing)
    evaluations  none, short, or as long as a tenth of the training, at regular intervals or only at the end of epochs
    checkpoints  none, or a file, and a pause as an upload makes it
    data         ready, or with stalls: short ones often, long ones seldom
    warm-up      the first steps cost several times as much as later ones, in two trainings of three
    neighbours   several trainings run at the same time and share caches and the disk; one of them begins or ends at any time

The clock of a training counts the processor time of its process, and its waits for data and uploads, which are drawn and not slept. So other
work of the machine that records them does not count, beside what it does to caches and shared cores.

    python3 trainings.py OUT.gz [PROCESSES]

needs numpy and scikit-learn. The file is gzip: a line of JSON for each training, with its kind, and two lists of whole numbers: the
times of its reports in 1/10,000 s since its start, and its progress then in 1/10,000, each as the difference to the one before.
"""

import gzip
import json
import multiprocessing
import os
import pickle
import sys
import tempfile
import time

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[threads] = "1"

import numpy as np  # noqa: E402
from sklearn.cluster import MiniBatchKMeans  # noqa: E402
from sklearn.ensemble import GradientBoostingRegressor  # noqa: E402
from sklearn.linear_model import SGDClassifier  # noqa: E402
from sklearn.neural_network import MLPClassifier  # noqa: E402

COUNT = 113


class Clock:
    """The time of a training, in seconds."""

    def __init__(self):
        self.began, self.waited = time.process_time(), 0.0

    def now(self):
        return time.process_time() - self.began + self.waited

    def wait(self, seconds):
        self.waited += seconds


class Network:
    """A network of two layers in numpy, trained by gradient descent."""

    def __init__(self, rng):
        self.rng = rng
        self.x = rng.standard_normal((4096, 32))
        self.y = np.tanh(self.x @ rng.standard_normal((32, 8)))
        self.a = rng.standard_normal((32, 192)) / 6
        self.b = rng.standard_normal((192, 8)) / 14

    def step(self, size):
        rows = self.rng.integers(0, len(self.x), max(8, int(512 * size)))
        x, y = self.x[rows], self.y[rows]
        for _ in range(3):
            hidden = np.tanh(x @ self.a)
            wrong = (hidden @ self.b - y) / len(x)
            back = wrong @ self.b.T * (1 - hidden * hidden)
            self.b -= 0.5 * hidden.T @ wrong
            self.a -= 0.5 * x.T @ back

    def evaluate(self):
        return float(np.mean((np.tanh(self.x @ self.a) @ self.b - self.y) ** 2))

    def weights(self):
        return self.a, self.b


class Recurrent(Network):
    """A recurrent network over sequences; a larger step is a longer sequence."""

    def __init__(self, rng):
        super().__init__(rng)
        self.w = rng.standard_normal((96, 96)) / 10
        self.u = rng.standard_normal((32, 96)) / 6

    def step(self, size):
        x = self.x[self.rng.integers(0, len(self.x), 96)]
        h, back = np.zeros((96, 96)), np.zeros_like(self.w)
        for _ in range(max(4, int(50 * size))):
            h = np.tanh(h @ self.w + x @ self.u)
            back += h.T @ h / 96
        self.w -= 1e-4 * back


class Sklearn(Network):
    """A model of scikit-learn that is trained batch by batch."""

    make = None

    def __init__(self, rng):
        super().__init__(rng)
        self.labels = (self.y[:, 0] > 0).astype(int) + 2 * (self.y[:, 1] > 0)
        self.model = type(self).make()

    def step(self, size):
        rows = self.rng.integers(0, len(self.x), max(8, int(1024 * size)))
        self.model.partial_fit(self.x[rows], self.labels[rows], classes=[0, 1, 2, 3])

    def evaluate(self):
        return float(self.model.score(self.x, self.labels))

    def weights(self):
        return self.model


class Linear(Sklearn):
    make = staticmethod(lambda: SGDClassifier(loss="log_loss"))


class Perceptron(Sklearn):
    make = staticmethod(lambda: MLPClassifier((96,)))


class Clusters(Sklearn):
    make = staticmethod(lambda: MiniBatchKMeans(24, n_init=1))

    def step(self, size):
        self.model.partial_fit(self.x[self.rng.integers(0, len(self.x), max(64, int(3072 * size)))])


class Trees(Sklearn):
    """Boosted trees: a step adds one."""

    make = staticmethod(lambda: GradientBoostingRegressor(n_estimators=1, warm_start=True, max_depth=4))

    def step(self, size):
        rows = slice(0, max(64, int(400 * size)))
        self.model.fit(self.x[rows], self.y[rows, 0])
        self.model.n_estimators += 1

    def evaluate(self):
        return float(self.model.score(self.x[:512], self.y[:512, 0]))


MODELS = [Network, Recurrent, Linear, Perceptron, Clusters, Trees]


def sizes(rng, steps):
    """How large each step is; the kind of the training."""
    kind = rng.choice(["even", "grows", "shrinks", "stages"], p=[0.68, 0.12, 0.08, 0.12])
    part = np.arange(steps) / steps
    factor = rng.uniform(1.3, 2.5)
    if kind == "grows":
        return kind, 1 + (factor - 1) * part
    if kind == "shrinks":
        return kind, 1 - (1 - 1 / factor) * part
    if kind == "stages":
        stages = int(rng.integers(2, 5))
        return kind, 1 + (factor - 1) * np.floor(part * stages) / (stages - 1)
    return kind, np.ones(steps)


def train(seed):
    rng = np.random.default_rng(seed)
    model = MODELS[seed % len(MODELS)](rng)
    steps = int(rng.integers(160, 320))
    kind, size = sizes(rng, steps)
    size = size * rng.uniform(0.15, 0.4)
    every = max(1, round(steps / rng.choice([40, 60, 100, 150])))  # steps between reports
    evals = int(rng.choice([0, 5, 10, 20, 40]))
    eval_passes = int(rng.integers(1, 6))
    saves = int(rng.choice([0, 4, 10, 20]))
    upload = rng.uniform(0.003, 0.04)
    stall = rng.choice([0, 0, 0.02, 0.06])
    warm = int(rng.choice([0, 2, 6])), rng.uniform(2, 8)
    clock, times, done = Clock(), [], []
    with tempfile.NamedTemporaryFile() as file:
        for i in range(steps):
            if stall and rng.random() < stall:
                clock.wait(min(0.004 * (1 + rng.pareto(1.5)), 0.3))
            model.step(size[i])
            if i < warm[0]:
                for _ in range(int(warm[1])):
                    model.step(size[i])
            if evals and (i + 1) % max(1, steps // evals) == 0:
                for _ in range(eval_passes):
                    model.evaluate()
            if saves and (i + 1) % max(1, steps // saves) == 0:
                file.seek(0)
                pickle.dump(model.weights(), file)
                file.flush()
                clock.wait(upload)
            if (i + 1) % every == 0 or i + 1 == steps:
                times.append(round(10_000 * clock.now()))
                done.append(round(10_000 * (i + 1) / steps))
    spans = [int(b - a) for a, b in zip([0] + times, times)]
    parts = [int(b - a) for a, b in zip([0] + done, done)]
    return {"seed": seed, "kind": str(kind), "model": type(model).__name__, "times": spans, "done": parts}


def main():
    processes = int(sys.argv[2]) if len(sys.argv) > 2 else 4
    began = time.monotonic()
    with multiprocessing.Pool(processes) as pool, gzip.GzipFile(sys.argv[1], "wb", mtime=0) as out:
        for n, one in enumerate(pool.imap(train, range(COUNT)), 1):
            out.write(json.dumps(one, separators=(",", ":")).encode() + b"\n")
            if n % 10 == 0:
                print(f"{n} trainings after {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
