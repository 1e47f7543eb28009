"""Trains the networks whose learning curves the benchmark of searchers replays.

Each table is one data set and a full grid of 5,184 settings: learning rate, momentum, width, weight decay
and activation. Every setting is trained with stochastic gradient descent for 64 epochs, and its error on
held-out data after each epoch is kept. Nothing is downloaded: the data are drawn from a fixed seed.

    python train.py [table ...]

A table is a gzip file: one line of JSON (name, axes, epochs, what the numbers are), then one little-endian
uint16 per setting and epoch, an error of 1 being 65535. Settings are in the order of their axes, the last
axis changing fastest. A network that diverged has the error 1, that of knowing nothing.
"""

import gzip
import itertools
import json
import pathlib
import sys

import numpy as np

EPOCHS, BATCH, TRAIN, HELD_OUT = 64, 32, 768, 2048
AXES = [
    {"name": "lr", "type": "int", "values": [float(x) for x in np.logspace(-3.5, 0.5, 12)]},
    {"name": "momentum", "type": "int", "values": [0.0, 0.4, 0.7, 0.9, 0.95, 0.98]},
    {"name": "width", "type": "int", "values": [4, 6, 10, 16, 28, 48]},
    {"name": "decay", "type": "int", "values": [0.0, 1e-4, 5e-4, 2e-3, 8e-3, 3e-2]},
    {"name": "activation", "type": "categorical", "values": ["relu", "tanh"]},
]


def teacher(rng):
    """Six classes, drawn by a random network, one label in twelve wrong."""
    x = rng.standard_normal((TRAIN + HELD_OUT, 16)).astype(np.float32)
    a, b = rng.standard_normal((16, 12)), rng.standard_normal((12, 6))
    y = np.argmax(np.tanh(x @ a / 2) @ b, axis=1)
    wrong = rng.random(len(y)) < 1 / 12
    wrong[TRAIN:] = False
    y[wrong] = rng.integers(0, 6, wrong.sum())
    return x, np.eye(6, dtype=np.float32)[y], True


def spirals(rng):
    """Three arms of a noisy spiral, turned into eight dimensions."""
    n = TRAIN + HELD_OUT
    arm, t = rng.integers(0, 3, n), rng.random(n)
    turn = 4.2 * t + arm * 2 * np.pi / 3 + 0.18 * rng.standard_normal(n)
    flat = np.stack([t * np.cos(turn), t * np.sin(turn)], axis=1) * 2.5
    x = flat @ rng.standard_normal((2, 8)) / 1.4 + 0.05 * rng.standard_normal((n, 8))
    return x.astype(np.float32), np.eye(3, dtype=np.float32)[arm], True


def waves(rng):
    """A sum of waves over four dimensions; the error is the unexplained share of the variance."""
    n = TRAIN + HELD_OUT
    x = rng.uniform(-1, 1, (n, 4)).astype(np.float32)
    y = sum(np.sin(x @ w * 2.2 + p) for w, p in zip(rng.standard_normal((5, 4)), rng.uniform(0, 6, 5)))
    y = y + 0.15 * rng.standard_normal(n)
    y = (y - y[:TRAIN].mean()) / y[:TRAIN].std()
    return x, y[:, None].astype(np.float32), False


def train(data, classes, settings, width, relu, seed):
    """Trains settings of one width and activation side by side: everything has a leading axis for them."""
    x, y = data
    k, d, o = len(settings), x.shape[1], y.shape[1]
    lr, momentum, decay = (np.array(c, np.float32)[:, None, None] for c in zip(*settings))
    rng = np.random.default_rng(seed)
    w1 = (rng.standard_normal((k, d, width)) / np.sqrt(d)).astype(np.float32)
    w2 = (rng.standard_normal((k, width, o)) / np.sqrt(width)).astype(np.float32)
    params = [w1, np.zeros((k, 1, width), np.float32), w2, np.zeros((k, 1, o), np.float32)]
    speed = [np.zeros_like(p) for p in params]
    held, truth = x[TRAIN:], y[TRAIN:]
    errors = np.ones((k, EPOCHS))
    for epoch in range(EPOCHS):
        order = rng.permutation(TRAIN)
        for at in range(0, TRAIN, BATCH):
            pick = order[at : at + BATCH]
            bx, by = x[pick][None], y[pick][None]
            pre = bx @ params[0] + params[1]
            hidden = np.maximum(pre, 0) if relu else np.tanh(pre)
            out = hidden @ params[2] + params[3]
            if classes:
                out = np.exp(out - out.max(axis=2, keepdims=True))
                out = out / out.sum(axis=2, keepdims=True)
            delta = (out - by) / BATCH
            back = delta @ params[2].transpose(0, 2, 1) * ((pre > 0) if relu else 1 - hidden * hidden)
            grads = [bx.transpose(0, 2, 1) @ back, back.sum(1, keepdims=True),
                     hidden.transpose(0, 2, 1) @ delta, delta.sum(1, keepdims=True)]
            for i, g in enumerate(grads):
                speed[i] = momentum * speed[i] - lr * (g + decay * params[i] if i % 2 == 0 else g)
                params[i] = params[i] + speed[i]
        pre = held[None] @ params[0] + params[1]
        out = (np.maximum(pre, 0) if relu else np.tanh(pre)) @ params[2] + params[3]
        if classes:
            errors[:, epoch] = (out.argmax(2) != truth.argmax(1)[None]).mean(1)
        else:
            errors[:, epoch] = ((out - truth[None]) ** 2).mean((1, 2)) / truth.var()
        errors[~np.isfinite(out).all((1, 2)), epoch] = 1
    return np.clip(np.nan_to_num(errors, nan=1), 0, 1)


def shells(rng):
    """Four classes: the shells of a ball in five dimensions, turned into ten, with noise."""
    n = TRAIN + HELD_OUT
    x = rng.standard_normal((n, 5))
    r = rng.random(n)
    x = x / np.linalg.norm(x, axis=1, keepdims=True) * (0.4 + 1.6 * r)[:, None]
    y = np.minimum((4 * r).astype(int), 3)
    x = x @ rng.standard_normal((5, 10)) + 0.05 * rng.standard_normal((n, 10))
    return x.astype(np.float32), np.eye(4, dtype=np.float32)[y], True


def products(rng):
    """A sum of products of two of eight numbers, with noise; the error is the unexplained share."""
    n = TRAIN + HELD_OUT
    x = rng.uniform(-1, 1, (n, 8)).astype(np.float32)
    y = x[:, 0] * x[:, 1] + x[:, 2] * x[:, 3] - x[:, 4] * x[:, 5] + 0.05 * rng.standard_normal(n)
    y = (y - y[:TRAIN].mean()) / y[:TRAIN].std()
    return x, y[:, None].astype(np.float32), False


def bumps(rng):
    """A sum of eight narrow hills over three dimensions; the error is the unexplained share of the variance."""
    n = TRAIN + HELD_OUT
    x = rng.uniform(-1, 1, (n, 3)).astype(np.float32)
    centres, heights = rng.uniform(-0.9, 0.9, (8, 3)), rng.choice([-1, 1], 8)
    y = sum(h * np.exp(-((x - c) ** 2).sum(1) / 0.18) for c, h in zip(centres, heights)) + 0.03 * rng.standard_normal(n)
    y = (y - y[:TRAIN].mean()) / y[:TRAIN].std()
    return x, y[:, None].astype(np.float32), False


def friedman(rng):
    """Friedman's first function of five numbers among ten, with noise; the error is the unexplained share."""
    n = TRAIN + HELD_OUT
    x = rng.uniform(0, 1, (n, 10)).astype(np.float32)
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4] + 0.5 * rng.standard_normal(n)
    y = (y - y[:TRAIN].mean()) / y[:TRAIN].std()
    return x * 2 - 1, y[:, None].astype(np.float32), False


def tiles(rng):
    """Five classes, laid out as tiles of a plane that is turned into six dimensions, one label in twenty wrong."""
    n = TRAIN + HELD_OUT
    flat = rng.uniform(-1, 1, (n, 2))
    y = rng.integers(0, 5, (4, 4))[tuple(np.minimum(((flat + 1) * 2).astype(int), 3).T)]
    wrong = rng.random(n) < 1 / 20
    wrong[TRAIN:] = False
    y[wrong] = rng.integers(0, 5, wrong.sum())
    x = flat @ rng.standard_normal((2, 6)) + 0.05 * rng.standard_normal((n, 6))
    return x.astype(np.float32), np.eye(5, dtype=np.float32)[y], True


def table(name, make, seed):
    x, y, classes = make(np.random.default_rng(seed))
    grid = list(itertools.product(*(a["values"] for a in AXES)))
    curves = np.zeros((len(grid), EPOCHS))
    for width, act in itertools.product(AXES[2]["values"], AXES[4]["values"]):
        rows = [i for i, g in enumerate(grid) if g[2] == width and g[4] == act]
        settings = [(grid[i][0], grid[i][1], grid[i][3]) for i in rows]
        curves[rows] = train((x, y), classes, settings, width, act == "relu", seed + width)
        print(name, width, act, f"best {curves[rows, -1].min():.4f}", file=sys.stderr)
    head = {"name": name, "metric": "error", "epochs": EPOCHS, "axes": AXES, "about": " ".join(make.__doc__.split())}
    path = pathlib.Path(__file__).with_name(name + ".curves.gz")
    with open(path, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as f:
        f.write(json.dumps(head).encode() + b"\n" + np.round(curves * 65535).astype("<u2").tobytes())


# The first are what the benchmark shows. By the others the constants of the sampler "tpe" were settled.
TABLES = {"teacher": (teacher, 11), "spirals": (spirals, 12), "waves": (waves, 13),
          "friedman": (friedman, 17), "tiles": (tiles, 18)}
OTHERS = {"shells": (shells, 14), "products": (products, 15), "bumps": (bumps, 16), "waves2": (waves, 23)}

if __name__ == "__main__":
    np.seterr(all="ignore")
    for name in sys.argv[1:] or TABLES:
        table(name, *(TABLES | OTHERS)[name])
