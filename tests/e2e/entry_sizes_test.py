#!/usr/bin/env python3
"""Sizes that are numbers given to an entry: compiled code and the interpreter, and values that are refused.

Usage: entry_sizes_test.py BUILD_DIR
"""
import pathlib
import tempfile

import numpy as np

from tools import BIN, refuse, run

PROGRAM = """
@jit
def group_means(x: Tensor[B, D, f32], groups: int) -> Tensor[B, groups, f32] where D % groups == 0:
    return mean(reshape(x, (B, groups, D // groups)), axis=2)

@jit
def ramp(x: Tensor[B, f32], n: int):
    return x[:, None] * cast(arange(n, i32), f32) + cast(n, f32)

@jit
def grid(x: Tensor[B, f32], n: int):
    k = 2 * n - 3
    return reshape(full((n * n, k), 1.5, f32), (n, n * k)) + cast(k, f32)
"""


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "sizes.tsr").write_text(PROGRAM)
        run(BIN / "tesserac", folder / "sizes.tsr", "-o", folder / "sizes.bundle")
        x = np.random.default_rng(1).standard_normal((5, 12)).astype(np.float32)
        np.save(folder / "x.npy", x)
        np.save(folder / "v.npy", x[:, 0].copy())

        def command(entry, number, value, source="x"):
            return [BIN / "tsr", "run", folder / "sizes.bundle", entry, "--input", f"x={folder / source}.npy",
                    "--input", f"{number}={value}", "--output", f"{entry}={folder / 'y.npy'}"]

        for mode in ([], ["--interpret", "exact"]):
            for groups in (1, 3, 12):
                run(*command("group_means", "groups", groups), *mode)
                wanted = x.reshape(5, groups, -1).mean(axis=2)
                assert np.allclose(np.load(folder / "y.npy"), wanted, rtol=1e-5, atol=1e-6), groups
            for n in (0, 1, 7):
                run(*command("ramp", "n", n, "v"), *mode)
                wanted = x[:, :1] * np.arange(n, dtype=np.float32) + np.float32(n)
                assert np.array_equal(np.load(folder / "y.npy"), wanted), n
            for n in (2, 5):
                run(*command("grid", "n", n, "v"), *mode)
                assert np.array_equal(np.load(folder / "y.npy"),
                                      np.full((n, n * (2 * n - 3)), 2 * n - 1.5, np.float32)), n
        message = refuse(*command("grid", "n", 1, "v"))
        assert "= -1, which is negative" in message, message
        message = refuse(*command("group_means", "groups", 5))
        assert "D % groups == 0" in message, message
        message = refuse(*command("ramp", "n", -1, "v"))
        assert "n = -1" in message, message


if __name__ == "__main__":
    main()
