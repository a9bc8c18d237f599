#!/usr/bin/env python3
"""Ranges of tiles between a start and a stop that memory has: those are visited that have an element of the range, none
of an empty one.

Usage: tile_ranges_test.py BUILD_DIR
"""
import pathlib
import tempfile

import numpy as np

from tools import BIN, run

STEP = 8
SOURCE = f"""
@kernel.schedule(block(m=1))
def visited(x: Tensor[M, N, f32], start: Tensor[M, T], stop: Tensor[M, T]) -> Tensor[M, f32]:
    t = tile.context(m=M)
    s = tile.zeros((t.m,), f32)
    for n in tile.range(N, {STEP}, start=tile.load(start, (t.i,), ()), stop=tile.load(stop, (t.i,), ())):
        s = s + tile.sum(tile.load(x, (t.i, n), (t.m, {STEP})), axis=1)
    return s

@kernel.schedule(block(m=1))
def from_start(x: Tensor[M, N, f32], start: Tensor[M, T]) -> Tensor[M, f32]:
    t = tile.context(m=M)
    s = tile.zeros((t.m,), f32)
    for n in tile.range(N, {STEP}, start=tile.load(start, (t.i,), ())):
        s = s + tile.sum(tile.load(x, (t.i, n), (t.m, {STEP})), axis=1)
    return s

@jit
def entry(x: Tensor[M, N, f32], start: Tensor[M, i64], stop: Tensor[M, i64]):
    both = visited(x, start, stop)
    first = from_start(x, start)
    return both, first
"""


def elements(start, stop, extent):
    """How many elements the tiles have that have one from start to stop."""
    tiles = {i // STEP for i in range(max(start, 0), min(stop, extent))}
    return sum(min(STEP, extent - STEP * tile) for tile in tiles)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "ranges.tsr").write_text(SOURCE)
        run(BIN / "tesserac", folder / "ranges.tsr", "-o", folder / "ranges.bundle")
        bounds = [*range(-3, 24), -2**63, 2**63 - 1]
        pairs = [(start, stop) for start in bounds for stop in bounds]
        for extent in (0, 1, 8, 16, 19):
            inputs = {"x": np.ones((len(pairs), extent), np.float32), "start": np.array([p[0] for p in pairs]),
                      "stop": np.array([p[1] for p in pairs])}
            words = [BIN / "tsr", "run", folder / "ranges.bundle", "entry"]
            for key, value in inputs.items():
                np.save(folder / f"{key}.npy", value)
                words += ["--input", f"{key}={folder / key}.npy"]
            run(*words, "--output", f"both={folder}/both.npy", "--output", f"first={folder}/first.npy")
            for (start, stop), both, first in zip(pairs, np.load(folder / "both.npy"), np.load(folder / "first.npy")):
                assert both == elements(start, stop, extent), (start, stop, extent, both)
                assert first == elements(start, extent, extent), (start, extent, first)
    print(f"{5 * len(pairs)} ranges visit the tiles that have their elements")


if __name__ == "__main__":
    main()
