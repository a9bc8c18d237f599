#!/usr/bin/env python3
"""Functions of products and sums of functions, compiled, beside NumPy: what is computed of an element takes many more
registers than the element. Where there is ptxas, all of them assemble for GPUs, too, and no kernel spills.

Usage: epilogues_test.py BUILD_DIR
"""
import math
import os
import pathlib
import shutil
import subprocess
import tempfile

import numpy as np

from tools import BIN, run

SIZES = {"M": 200, "K": 64, "N": 136}
KNOWN = "x: Tensor[256, 64, {0}], w: Tensor[64, 256, {0}], y: Tensor[256, 256, {0}]"
OPEN = "x: Tensor[M, K, {0}], w: Tensor[K, N, {0}], y: Tensor[M, N, {0}]"
TURNED = "x: Tensor[M, K, {0}], w: Tensor[N, K, {0}], y: Tensor[M, N, {0}], b: Tensor[N, {0}]"
ROWS = "x: Tensor[M, N, f32], y: Tensor[M, N, f32]"


def gelu(a):
    return a * (1 + np.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3))) / 2


def lse(a, axis):
    top = a.max(axis=axis, keepdims=True)
    return np.log(np.exp(a - top).sum(axis=axis, keepdims=True)) + top


# Name: dtypes, arguments, expression, and the same of NumPy's f64 values, p being the product.
CASES = {
    "sin": ("f16", KNOWN, "sin(x @ w)", lambda p, y, **_: np.sin(p)),
    "sin_open": ("f32", OPEN, "sin(x @ w) * y", lambda p, y, **_: np.sin(p) * y),
    "power": ("f32", KNOWN, "(abs(x @ w) + 1.0) ** y", lambda p, y, **_: (np.abs(p) + 1) ** y),
    "log": ("f16", KNOWN, "log(abs(x @ w) + 1.0)", lambda p, y, **_: np.log(np.abs(p) + 1)),
    "remainder": ("f16", KNOWN, "(x @ w) % 2.5", lambda p, y, **_: np.mod(p, 2.5)),
    "remainder_open": ("f32", OPEN, "(x @ w) % (abs(y) + 0.5)", lambda p, y, **_: np.mod(p, np.abs(y) + 0.5)),
    "functions": ("f16", OPEN, "tanh(gelu(x @ w) + y) * sigmoid(y)",
                  lambda p, y, **_: np.tanh(gelu(p) + y) / (1 + np.exp(-y))),
    "add": ("f16 f32", TURNED, "x @ w.T + y", lambda p, y, b: p + y),
    "multiply": ("f32", TURNED, "x @ w.T * y", lambda p, y, b: p * y),
    "gelu": ("f16", TURNED, "gelu(x @ w.T + b)", lambda p, y, b: gelu(p + b)),
    "above": ("f16", KNOWN, "(x @ w) > 0.0", lambda p, y, **_: p > 0),
}
OF_ROWS = {
    "sum_log": ("sum(log(abs(x) + 1.0))", lambda x, y: np.log(np.abs(x) + 1).sum()),
    "sum_log1p": ("sum(log1p(abs(x)))", lambda x, y: np.log1p(np.abs(x)).sum()),
    "sum_power": ("sum(abs(x) ** y)", lambda x, y: (np.abs(x) ** y).sum()),
    "sum_sin": ("sum(sin(x))", lambda x, y: np.sin(x).sum()),
    "sum_remainder": ("sum(x % 2.5, axis=1)", lambda x, y: np.mod(x, 2.5).sum(axis=1)),
    "lse_twice": ("logsumexp(log_softmax(x, axis=0), axis=1)", lambda x, y: lse(x - lse(x, 0), 1)[:, 0]),
}


def source():
    text = "from tessera.losses import log_softmax, logsumexp\n"
    for name, (dtypes, arguments, body, _) in CASES.items():
        for dtype in dtypes.split():
            text += f"\n@jit\ndef {name}_{dtype}({arguments.format(dtype)}):\n    return {body}\n"
    for name, (body, _) in OF_ROWS.items():
        text += f"\n@jit\ndef {name}({ROWS}):\n    return {body}\n"
    return text


def call(folder, entry, arguments):
    words = []
    for name, value in arguments.items():
        np.save(folder / f"{name}.npy", value)
        words += ["--input", f"{name}={folder}/{name}.npy"]
    run(BIN / "tsr", "run", folder / "e.bundle", entry, *words, "--output", f"{entry}={folder}/r.npy")
    return np.load(folder / "r.npy")


def check(name, got, wanted, bound):
    assert got.shape == wanted.shape, (name, got.shape)
    error = np.max(np.abs(got.astype(np.float64) - wanted) / (1 + np.abs(wanted)))
    assert error <= bound, (name, error)


def check_products(folder, rng):
    for name, (dtypes, arguments, _, wanted) in CASES.items():
        m, k, n = (256, 64, 256) if arguments == KNOWN else SIZES.values()
        # Multiples of a quarter: products are exact, and so is where a remainder jumps.
        x, w = rng.integers(-1, 2, (m, k)) * 0.5, rng.integers(-1, 2, (k, n)) * 0.5
        y, b = rng.integers(-8, 9, (m, n)) * 0.25, rng.integers(-8, 9, n) * 0.25
        for dtype in dtypes.split():
            bound = {"f16": 4e-3, "f32": 4e-6}[dtype]
            given = {"x": x, "w": w.T if arguments == TURNED else w, "y": y}
            if arguments == TURNED:
                given["b"] = b
            held = {key: np.ascontiguousarray(value, np.float16 if dtype == "f16" else np.float32)
                    for key, value in given.items()}
            check(f"{name}_{dtype}", call(folder, f"{name}_{dtype}", held), wanted(x @ w, y=y, b=b), bound)


def check_rows(folder, rng):
    for rows, columns in ((1, 1), (37, 130), (64, 2048), (3, 5000)):
        x = rng.standard_normal((rows, columns)).astype(np.float32)
        y = rng.standard_normal((rows, columns)).astype(np.float32)
        for name, (_, wanted) in OF_ROWS.items():
            result = np.asarray(wanted(x.astype(np.float64), y.astype(np.float64)))
            # Where the sum is of both signs it is its terms that the error is measured by.
            scale = math.sqrt(rows * columns) if name == "sum_sin" else 1
            check(name, call(folder, name, {"x": x, "y": y}), result, 1e-5 * scale)


def check_assembled(folder):
    for target in ("cuda:sm_90a", "cuda:sm_80"):
        made = subprocess.run([BIN / "tesserac", folder / "e.tsr", f"--target={target}", "--cubin", "-o",
                               folder / "gpu.bundle"], capture_output=True, text=True)
        assert made.returncode == 0 and "spill" not in made.stderr, (target, made.stderr)
        run(BIN / "tsr", "verify", folder / "gpu.bundle")


def main():
    rng = np.random.default_rng(11)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "e.tsr").write_text(source())
        run(BIN / "tesserac", folder / "e.tsr", "-o", folder / "e.bundle")
        check_products(folder, rng)
        check_rows(folder, rng)
        folders = os.environ.get("PATH", "").split(os.pathsep) + [os.environ.get("CUDA_HOME", "") + "/bin",
                                                                  "/usr/local/cuda/bin"]
        if shutil.which("ptxas", path=os.pathsep.join(folders)):
            check_assembled(folder)


if __name__ == "__main__":
    main()
