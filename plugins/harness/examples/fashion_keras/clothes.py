"""Draws small grey pictures of clothes, in the form of Fashion-MNIST: 28 by 28, ten kinds.

Fashion-MNIST itself is 30 MB that a task would have to fetch. These pictures are made in a moment,
by every worker alike, and are about as easy to tell apart.
"""

import numpy as np

KINDS = (
    "T-shirt",
    "trousers",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)
SIZE = 28


def outlines():
    """Return a picture of each kind, of zeros and ones."""
    row, column = np.mgrid[:SIZE, :SIZE]
    middle = np.abs(column - 13.5)
    body = (middle < 6) & (row > 3)
    short = (row > 3) & (row < 10) & (middle < 11)
    long = (row > 3) & (row < 24) & (middle >= 8) & (middle < 11)
    sole = (row > 20) & (row < 24) & (column > 2) & (column < 25)
    return np.stack(
        [
            (body & (row < 24)) | short,
            (row > 2) & (row < 26) & (middle > 1) & (middle < 6),
            (body & (row < 24)) | long,
            (middle < 2 + row / 4) & (row > 2) & (row < 26),
            ((body & (row < 26)) | long) & (middle > 0.5),
            sole | ((row > 14) & (row < 22) & (column % 6 < 2) & (column > 4)),
            ((body & (row < 24)) | long) & (row % 4 > 0),
            sole | ((row > 13) & (row < 22) & (column > 3) & (column < 10 + row)),
            ((row > 11) & (row < 25) & (middle < 10)) | ((row < 12) & (middle > 5) & (middle < 7)),
            sole | ((row > 3) & (row < 22) & (column > 4) & (column < 14)),
        ]
    ).astype(np.float32)


def draw(count, seed):
    """Return pictures, between 0 and 1, and the numbers of their kinds."""
    random = np.random.default_rng(seed)
    kinds = random.integers(len(KINDS), size=count)
    pictures = outlines()[kinds] * random.uniform(0.4, 1.0, (count, 1, 1)).astype(np.float32)
    moves = random.integers(-2, 3, (count, 2))
    for picture, (down, right) in zip(pictures, moves):
        picture[:] = np.roll(picture, (down, right), (0, 1))
    noise = random.normal(0, 0.15, pictures.shape).astype(np.float32)
    return np.clip(pictures + noise, 0, 1), kinds
