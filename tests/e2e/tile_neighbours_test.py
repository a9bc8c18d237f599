#!/usr/bin/env python3
"""Reductions of what is computed from several tiles of one axis: where one of them has ended it has its fill, and past
the last end nothing counts.

Usage: tile_neighbours_test.py BUILD_DIR
"""
import pathlib
import tempfile

import numpy as np

from tools import BIN, run

STEP, FILL = 4, 2.0
# A kernel for each result of the entry: what s begins as, by how many tiles the loop steps, what an iteration does.
KERNELS = {
    "after": ("0.0", 1, "s += tile.sum(v + at(x, t, n + 1, 0.0), axis=1)"),
    "before": ("0.0", 1, f"s += tile.sum(at(x, t, n - 1, {FILL}) * v, axis=1)"),
    "greatest": ("-INF", 1, f"s = tile.maximum(s, tile.max(around(x, t, n, {FILL}) + v, axis=1))"),
    "means": ("0.0", 1, f"s += tile.mean(v + at(x, t, n + 2, {FILL}), axis=1)"),
    "pairs": ("0.0", 2, "s += tile.sum(at(x, t, 2 * n, 0.0) + at(x, t, 2 * n + 1, 0.0), axis=1)"),
    "numbered": ("0.0", 1, f"s += tile.mean(v + at(x, t, n - 1, {FILL}) + columns(t, n), axis=1)"),
    "running": ("INF", 1, f"s = tile.minimum(s, tile.min(tile.scan(v + at(x, t, n - 1, {FILL}), axis=1), axis=1))"),
}
HELPERS = """
def at(x, t, n, fill):
    return tile.load(x, (t.i, n), (t.m, t.n), fill=fill)

def around(x, t, n, fill):
    return at(x, t, n + 1, fill) + at(x, t, n - 1, fill)

def columns(t, n):
    return tile.cast(tile.arange(t.n, n), f32)[None, :]
"""


def kernel(name, start, step, work):
    return f"""
@kernel.schedule(Schedule(BM=2, BN={STEP}))
def {name}(x: Tensor[M, N, f32]) -> Tensor[M, f32]:
    t = tile.context(m=M, n=N)
    s = tile.full((t.m,), {start})
    for n in tile.range(N, {step} * t.n):
        v = at(x, t, n, 0.0)
        {work}
    return s
"""


def source():
    calls = "".join(f"    {name}_of = {name}(x)\n" for name in KERNELS)
    results = ", ".join(f"{name}_of" for name in KERNELS)
    entry = f"\n@jit\ndef entry(x: Tensor[M, N, f32]):\n{calls}    return {results}\n"
    return HELPERS + "".join(kernel(name, *row) for name, row in KERNELS.items()) + entry


def tile_at(x, n, fill):
    """Elements of tile n, the fill where there are none; and which there are."""
    at = n * STEP + np.arange(STEP)
    there = (at >= 0) & (at < x.shape[1])
    tile = np.full((x.shape[0], STEP), fill)
    tile[:, there] = x[:, at[there]]
    return tile, there


def expected(x):
    """The same by hand, in f64."""
    def combined(step, offsets, fills, join, combine, start, columns=False):
        total = np.full(x.shape[0], start)
        for n in range(0, -(-x.shape[1] // STEP), step):
            tiles = [tile_at(x, n + by, fill) for by, fill in zip(offsets, fills)]
            counts = np.any([there for _, there in tiles], axis=0)
            value = tiles[0][0]
            for tile, _ in tiles[1:]:
                value = join(value, tile)
            if columns:
                value = value + n * STEP + np.arange(STEP)
            total = combine(total, value[:, counts])
        return total

    def added(total, tile):
        return total + tile.sum(1)

    return {
        "after": combined(1, (0, 1), (0.0, 0.0), np.add, added, 0.0),
        "before": combined(1, (-1, 0), (FILL, 0.0), np.multiply, added, 0.0),
        "greatest": combined(1, (1, -1, 0), (FILL, FILL, 0.0), np.add, lambda t, v: np.maximum(t, v.max(1)), -np.inf),
        "means": combined(1, (0, 2), (0.0, FILL), np.add, lambda t, v: t + v.mean(1), 0.0),
        "numbered": combined(1, (0, -1), (0.0, FILL), np.add, lambda t, v: t + v.mean(1), 0.0, columns=True),
        "running": combined(1, (0, -1), (0.0, FILL), np.add, lambda t, v: np.minimum(t, v.cumsum(1).min(1)), np.inf),
        "pairs": combined(2, (0, 1), (0.0, 0.0), np.add, added, 0.0),
    }


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "tiles.tsr").write_text(source())
        for target in ("host", "cpu:x86-64-v3"):
            run(BIN / "tesserac", folder / "tiles.tsr", f"--target={target}", "-o", folder / "tiles.bundle")
            for rows, columns in ((1, 1), (2, 8), (3, 7), (5, 13), (2, 17), (1, 32)):
                x = np.random.default_rng(columns).standard_normal((rows, columns)).astype(np.float32)
                np.save(folder / "x.npy", x)
                wanted = expected(x.astype(np.float64))
                outputs = [word for key in wanted for word in ("--output", f"{key}_of={folder}/{key}.npy")]
                for how in ([], ["--interpret", "exact"]):
                    words = ["--input", f"x={folder}/x.npy", *outputs, *how]
                    run(BIN / "tsr", "run", folder / "tiles.bundle", "entry", *words)
                    for key, value in wanted.items():
                        given = np.load(folder / f"{key}.npy")
                        case = (target, rows, columns, how, key, given, value)
                        assert np.allclose(given, value, rtol=1e-5, atol=1e-5), case
    print("reductions of neighbouring tiles: 6 shapes of each of 2 targets")


main()
