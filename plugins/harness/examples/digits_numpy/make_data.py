"""Makes digits.txt: small pictures of digits, all drawn by this script.

Each picture starts as a glyph of a 5 by 7 font (below), is squeezed, sheared, moved and drawn
with a pen of varying pressure onto 8 by 8 pixels, and gets noise and the odd blot. Only sums and
products of a seeded generator go into it, so every machine makes the same file, byte by byte:

    python3 make_data.py            writes digits.txt
    python3 make_data.py --check    reports whether digits.txt is what this script makes

A line of the file is a set (train or test), a label, and 64 hexadecimal digits, one per pixel
from 0 (paper) to f (ink), row by row.
"""

import argparse
import pathlib
import random
import sys

SEED = 20260229
SIZE = 8
LEVELS = 15
SETS = (("train", 3000), ("test", 600))
FILE = pathlib.Path(__file__).with_name("digits.txt")

GLYPHS = (
    (".###.", "#...#", "#..##", "#.#.#", "##..#", "#...#", ".###."),
    ("..#..", ".##..", "..#..", "..#..", "..#..", "..#..", ".###."),
    (".###.", "#...#", "....#", "...#.", "..#..", ".#...", "#####"),
    (".###.", "#...#", "....#", "..##.", "....#", "#...#", ".###."),
    ("...#.", "..##.", ".#.#.", "#..#.", "#####", "...#.", "...#."),
    ("#####", "#....", "####.", "....#", "....#", "#...#", ".###."),
    ("..##.", ".#...", "#....", "####.", "#...#", "#...#", ".###."),
    ("#####", "....#", "...#.", "..#..", ".#...", ".#...", ".#..."),
    (".###.", "#...#", "#...#", ".###.", "#...#", "#...#", ".###."),
    (".###.", "#...#", "#...#", ".####", "....#", "...#.", ".##.."),
)


def bell(rng):
    """Draw from roughly a normal distribution, by sums alone."""
    return sum(rng.random() for _ in range(12)) - 6.0


def ink(glyph, x, y):
    """Return how dark the glyph is at a point, between its cells by interpolation."""
    column, row = int(x // 1), int(y // 1)
    right, down = x - column, y - row

    def cell(r, c):
        return 1.0 if 0 <= r < len(glyph) and 0 <= c < len(glyph[0]) and glyph[r][c] == "#" else 0.0

    above = cell(row, column) * (1 - right) + cell(row, column + 1) * right
    below = cell(row + 1, column) * (1 - right) + cell(row + 1, column + 1) * right
    return above * (1 - down) + below * down


def draw(rng, label):
    """Return one picture of label, as 64 levels."""
    glyph = GLYPHS[label]
    wide = 0.76 + 0.07 * bell(rng)
    high = 0.94 + 0.06 * bell(rng)
    lean = 0.11 * bell(rng)
    tilt = 0.06 * bell(rng)
    right = 2.0 + 0.30 * bell(rng)
    down = 3.0 + 0.30 * bell(rng)
    pressure = 1.05 + 0.20 * bell(rng)
    blot = (rng.random() * SIZE, rng.random() * SIZE, 0.5 * rng.random())
    picture = []
    for row in range(SIZE):
        for column in range(SIZE):
            u, v = column - 3.5, row - 3.5
            dark = pressure * ink(glyph, right + wide * u + lean * v, down + tilt * u + high * v)
            near = (column - blot[0]) * (column - blot[0]) + (row - blot[1]) * (row - blot[1])
            if near < 1.5:
                dark += blot[2]
            dark += 0.08 * bell(rng)
            picture.append(min(LEVELS, max(0, int(dark * LEVELS + 0.5))))
    return picture


def make():
    """Return the text of the whole file."""
    rng = random.Random(SEED)
    lines = []
    for name, count in SETS:
        labels = [index % 10 for index in range(count)]
        # Not random.shuffle, whose way of drawing may change between releases of Python.
        order = sorted((rng.random(), index) for index in range(count))
        for _, index in order:
            picture = draw(rng, labels[index])
            lines.append(f"{name} {labels[index]} {''.join(f'{level:x}' for level in picture)}\n")
    return "".join(lines)


def main():
    parser = argparse.ArgumentParser(description="Make digits.txt.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments = parser.parse_args()
    text = make()
    if not arguments.check:
        FILE.write_text(text, encoding="ascii")
        print(f"wrote {len(text)} bytes to {FILE}")
        return 0
    if FILE.read_text(encoding="ascii") == text:
        print(f"{FILE} is what this script makes")
        return 0
    print(f"{FILE} differs from what this script makes", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
