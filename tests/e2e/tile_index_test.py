#!/usr/bin/env python3
"""Tiles before the first and past the last one of an axis read as fill, compiled and interpreted.

Usage: tile_index_test.py BUILD_DIR
"""
import pathlib
import tempfile

import numpy as np

from tools import BIN, run

SOURCE = """
@kernel.schedule(Schedule(block=(8, 16)))
def rows(x: Tensor[M, N, f32], *, by: int) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    return tile.load(x, (t.i + by, t.j), (t.m, t.n), fill=7.0)

@kernel.schedule(Schedule(block=(8, 16)))
def columns(x: Tensor[M, N, f32]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    return tile.load(x, (t.i, t.j - 1), (t.m, t.n)) + tile.load(x, (-1, t.j), (t.m, t.n), fill=1.0)

@jit
def above(x: Tensor[M, N, f32]):
    return rows(x, by=-1)

@jit
def far_above(x: Tensor[M, N, f32]):
    return rows(x, by=-100000)

@jit
def below(x: Tensor[M, N, f32]):
    return rows(x, by=1)

@jit
def left(x: Tensor[M, N, f32]):
    return columns(x)
"""


def main():
    x = np.arange(33 * 70, dtype=np.float32).reshape(33, 70)
    above, below, left = np.full_like(x, 7), np.full_like(x, 7), np.ones_like(x)
    above[8:] = x[:-8]
    below[:-8] = x[8:]
    left[:, 16:] += x[:, :-16]
    wanted = {"above": above, "far_above": np.full_like(x, 7), "below": below, "left": left}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "t.tsr").write_text(SOURCE)
        run(BIN / "tesserac", folder / "t.tsr", "-o", folder / "t.bundle")
        np.save(folder / "x.npy", x)
        for entry, result in wanted.items():
            for mode in ([], ["--interpret", "exact"]):
                run(BIN / "tsr", "run", folder / "t.bundle", entry, "--input", f"x={folder}/x.npy", "--output",
                    f"{entry}={folder}/y.npy", *mode)
                np.testing.assert_array_equal(np.load(folder / "y.npy"), result, err_msg=f"{entry} {mode}")


if __name__ == "__main__":
    main()
