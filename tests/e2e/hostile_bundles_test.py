#!/usr/bin/env python3
"""Bundles that no compiler writes: fields, steps, metadata, code and texts are changed, and every hash is mended.

tests/hostile says what is done with each. More of them, by other seeds:

    hostile_bundles_test.py BUILD_DIR --count 10000 --seed 7

Usage: hostile_bundles_test.py BUILD_DIR [--count N] [--seed S] [--keep FOLDER]
"""
import argparse
import pathlib
import shutil
import subprocess
import tempfile

from tools import BIN, EXAMPLES, refuse, run

# State and checks; loops, branches and swaps; views of slices; constants; seeds; products whose kernels assume sizes;
# prints.
SOURCE = """
param w: Param[8, 8, f32] = normal(0.1)

@jit
def step(x: Tensor[B, 2, S, 8, f32], cache: KVCache["B", 2, "S_max", 8, f32]) where S <= S_max:
    cache = cache.append(x * 2.0, x + 1.0)
    return sum(cache.K, axis=3), cache

@jit
def scan(x: Tensor[S, B, 8, f32]):
    h = zeros((B, 8), f32)
    for i in range(S):
        h = tanh(x[i] + h @ w)
    return h

@jit
def root(a: Tensor[f32]):
    x, steps = a, zeros((), i64)
    while abs(x * x - a) > 1e-5 * a:
        x = 0.5 * (x + a / x)
        steps = steps + 1
    if steps > 6:
        x = -x
    return x, steps

@jit
def product(x: Tensor[M, K, f32], y: Tensor[K, N, f32]):
    return softmax(x @ y), concat((x, x), axis=0)

@kernel.schedule(Schedule(BM=4, BK=8))
def sums(x: Tensor[M, K, f32]) -> Tensor[M, f32]:
    t = tile.context(m=M, k=K)
    s = tile.zeros((t.m,), f32)
    for k in tile.range(K, t.k):
        s = s + tile.sum(tile.load(x, (t.i, k), (t.m, t.k)), axis=1)
        print("s", s, k)
    print("ends")
    return s

@jit
def shown(x: Tensor[M, K, f32]):
    return sums(x)
"""


def compile_bundles(folder):
    source = folder / "hostile.tsr"
    source.write_text(SOURCE)
    made = []
    for name, path, options in (("mlp", EXAMPLES / "mlp/mlp.tsr", []), ("parts", source, []),
                                ("checked", source, ["--debug"]), ("gpu", source, ["--target=cuda:sm_90a"])):
        made.append(folder / f"{name}.bundle")
        run(BIN / "tesserac", path, "-o", made[-1], *options)
    return made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        bundles = compile_bundles(folder)
        for bundle in bundles:
            run(BIN / "tsr", "verify", bundle)
        limits(bundles[1], folder)
        result = subprocess.run([BIN / "hostile-bundles", *bundles, "--count", str(options.count), "--seed",
                                 str(options.seed), "--tsr", BIN / "tsr", "--folder", folder],
                                capture_output=True, text=True)
        if options.keep:
            options.keep.mkdir(exist_ok=True)
            for wrong in folder.glob("wrong-*"):
                shutil.copy(wrong, options.keep)
        print(result.stdout.strip())
        assert result.returncode == 0, result.stderr[-4000:]


def limits(bundle, folder):
    """A loop that never ends is ended: x * x - a is NaN for a = nan, so a = -1 goes on for ever."""
    import numpy as np
    np.save(folder / "a.npy", np.float32(-1))
    call = [BIN / "tsr", "run", bundle, "root", "--input", f"a={folder / 'a.npy'}"]
    for mode in ([], ["--interpret", "exact"]):
        assert "ended after 300 ms" in refuse(*call, *mode, "--timeout", "0.3")
        assert "ended after 1000 " in refuse(*call, *mode, "--max-steps", "1000")
    assert "limit" in refuse(*call, "--max-memory", "100", "--max-steps", "1000")
    for size, limit in (("0.25kB", 250), ("0.25KiB", 256), ("0.0001 mb", 100), ("90b", 90)):
        assert f"the limit is {limit} bytes" in refuse(*call, "--max-memory", size, "--max-steps", "1000"), size
    for size in ("0", "0MB", "-1", "1XB", "kB", "1.2.3", "99999999TB", "1e3"):
        for tool in (call, [BIN / "tesserac", folder / "hostile.tsr", "-o", folder / "o.bundle"]):
            option = "--max-memory" if tool is call else "--max-eval-memory"
            text = refuse(*tool, f"{option}={size}")
            assert f"'{size}' is not a size: it takes a number of bytes above 0" in text, size


if __name__ == "__main__":
    main()
