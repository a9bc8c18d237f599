#!/usr/bin/env python3
"""Reductions of whole tensors, of any operand and along any axes, of symbolic sizes: beside NumPy, and made for GPUs.

Usage: reductions_test.py BUILD_DIR
"""
import pathlib
import shutil
import tempfile
from functools import partial

import numpy as np

from tools import BIN, run

PARAMETERS = ("x: Tensor[M, N, f32], y: Tensor[M, N, f32], z: Tensor[N, M, f32], b: Tensor[N, f32], c: Tensor[M, f32], "
              "u: Tensor[A, B, C, f32], v: Tensor[A, C, f32], w: Tensor[C, f32], e: Tensor[1, f32]")
EVERY = ["", "axis=0", "axis=1", "axis=(0, 1)"]
# An operand, and what is made of it: the functions, and along which axes. All of it means the same in NumPy, below.
FORMS = [
    ("x * b", ["sum", "max"], EVERY),
    ("x * c[:, None]", ["min"], EVERY),
    ("z.T * y", ["sum"], EVERY),
    ("x + z.T", ["mean"], ["", "axis=0"]),
    ("x[::2, :]", ["sum", "max"], ["", "axis=1"]),
    ("x[1:, :]", ["min"], EVERY),
    ("x[:, ::3] * 1.001", ["prod"], ["", "axis=0"]),
    ("x * arange(N, dtype=f32)", ["sum"], EVERY),
    ("x - mean(x, axis=1, keepdims=True)", ["max"], ["", "axis=1"]),
    ("exp(x - max(x, axis=0, keepdims=True))", ["sum"], ["", "axis=1"]),
    ("softmax(x, axis=1)", ["sum"], ["axis=(0, 1)", "axis=0"]),
    ("softmax(x, axis=0)", ["max"], ["axis=(0, 1)"]),
    ("reshape(x * b, (N, M))", ["sum"], ["", "axis=1"]),
    ("concat((x, y * b), axis=1)", ["mean"], ["", "axis=0"]),
    ("cast(x > b, i32)", ["max", "min"], [""]),
    ("u", ["max"], ["axis=(0, 2)"]),
    ("u[::3]", ["max", "mean"], ["axis=(0, 1, 2)", "axis=(0, 2)"]),
    ("u * v[:, None, :] * w", ["sum"], ["", "axis=(0, 1)", "axis=(0, 2)"]),
    ("softmax(u, axis=1)", ["sum"], ["axis=(0, 1)"]),
    ("(u * w - mean(u * w, axis=(1, 2), keepdims=True))", ["max"], ["axis=(1, 2)"]),
]
OTHERS = [
    "argmax(x * b, axis=1)", "argmax(x[::2, :], axis=0)", "argmax(z.T * y, axis=1)",
    "x * b - mean(x * b)", "x * b + sum(x * c[:, None])", "sum(max(x * b, axis=1)) + sum(x * b)",
    "(x * b - mean(x * b)) / sqrt(mean((x * b - mean(x * b)) * (x * b - mean(x * b))) + 1.0)",
    "u - mean(u * w, axis=(0, 2), keepdims=True)", "sum(u * w, axis=(0, 1, 2), keepdims=True)",
    "sum(x[::2, :] * b, axis=(0, 1)) * b",
]
NOTHING = [  # of extents that are known to be 0
    "min(e[1:], axis=0)", "max(e[1:])", "sum(e[1:], axis=0)", "prod(e[1:])",
    "sum(reshape(e[1:], (3, 0)) * 2.0, axis=1)", "max(reshape(e[1:], (3, 0)), axis=0)", "exp(e[1:])",
    "concat((e[1:], e), axis=0)", "reshape(e[1:], (4, 0)) @ reshape(e[1:], (0, 5)) + 1.0", "x + sum(e[1:])",
    "softmax(reshape(e[1:], (0, 3)), axis=1)", "x[:, N:] @ z[N:, :]", "sum(x[:, N:] * c[:, None], axis=1)",
]
SIZES = [dict(M=7, N=5, A=4, B=3, C=6), dict(M=1, N=1, A=1, B=1, C=1), dict(M=70, N=2100, A=5, B=33, C=40)]


def forms():
    found = OTHERS + NOTHING
    for operand, functions, axes in FORMS:
        found += [f"{function}({operand}{', ' + along if along else ''})" for function in functions for along in axes]
    return found


def softmax(x, axis):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def inputs(sizes):
    random = np.random.default_rng(sizes["M"])
    shapes = {"x": "MN", "y": "MN", "z": "NM", "b": "N", "c": "M", "u": "ABC", "v": "AC", "w": "C", "e": "1"}
    # Near to 1, so that products of many neither vanish nor grow without bound.
    return {name: random.uniform(0.98, 1.02, [sizes.get(axis, 1) for axis in axes]).astype(np.float32)
            for name, axes in shapes.items()}


def wanted(form, sizes, given):
    names = {name: getattr(np, name) for name in ("sum", "mean", "prod", "exp", "sqrt", "reshape", "argmax")}
    names |= {"max": partial(np.max, initial=-np.inf), "min": partial(np.min, initial=np.inf)}  # of nothing
    names |= {"softmax": softmax, "concat": np.concatenate, "f32": np.float64, "i32": np.int32,
              "arange": lambda n, dtype: np.arange(n).astype(dtype),
              "cast": lambda x, dtype: x.astype(dtype).astype(np.float64)}
    wide = {name: value.astype(np.float64) for name, value in given.items()}
    return np.asarray(eval(form, names | sizes | wide))


def check(folder, number, form, sizes, given):
    run(BIN / "tsr", "run", folder / "f.bundle", f"form{number}", "--output", f"r={folder}/r.npy",
        *(word for name in given for word in ("--input", f"{name}={folder}/{name}.npy")))
    right, got = wanted(form, sizes, given), np.load(folder / "r.npy").astype(np.float64)
    assert got.shape == right.shape, (form, sizes, got.shape, right.shape)
    finite = np.isfinite(right)
    assert np.array_equal(got[~finite], right[~finite]), (form, sizes, got, right)
    error = np.max(np.abs(got[finite] - right[finite]), initial=0)
    # Each factor of a product rounds, and what cancels is off by as much as what it is made of.
    elements = given["x"].size + given["u"].size
    relative = 1e-7 * elements if "prod" in form else 2e-5
    bound = relative * np.max(np.abs(right[finite]), initial=0) + ("- m" in form) * 1e-7 * elements
    assert error <= bound, (form, sizes, error, bound, got, right)


def main():
    all_forms = forms()
    assert len(all_forms) >= 47
    text = "from tessera.nn import argmax\n"
    for number, form in enumerate(all_forms):
        text += f"\n@jit\ndef form{number}({PARAMETERS}) where M >= 1:\n    r = {form}\n    return r\n"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "f.tsr").write_text(text)
        cubin = ["--cubin"] if shutil.which("ptxas") else []
        run(BIN / "tesserac", folder / "f.tsr", "--target=cuda:sm_80,cuda:sm_90a", *cubin, "-o", folder / "gpu.bundle")
        run(BIN / "tesserac", folder / "f.tsr", "--target=cpu:x86-64-v3", "-o", folder / "f.bundle")
        for sizes in SIZES:
            given = inputs(sizes)
            for parameter, value in given.items():
                np.save(folder / f"{parameter}.npy", value)
            for number, form in enumerate(all_forms):
                check(folder, number, form, sizes, given)


if __name__ == "__main__":
    main()
