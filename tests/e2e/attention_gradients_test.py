#!/usr/bin/env python3
"""Gradients of attention, which kernels compute without all weights in memory, beside NumPy in f64: causal, in windows,
with heads that share keys, with the sums of rows, and of rows that see nothing.

Usage: attention_gradients_test.py BUILD_DIR
"""
import pathlib
import tempfile

import numpy as np

from tools import BIN, run
import bf16

ENTRY = """
@jit
def {name}(q: Tensor[B, 4, S, {D}, {T}], k: Tensor[B, {G}, N, {D}, {T}], v: Tensor[B, {G}, N, {E}, {T}],
           dy: Tensor[B, 4, S, {E}, {T}], dlse: Tensor[B, 4, S, f32]) where S >= 1, N >= 1:
    def value(q, k, v):
        y, lse = flash_attention(q, k, v, return_lse=True{options})
        return sum(cast(y, f32) * cast(dy, f32)){sums}
    return grad(value, argnums=("q", "k", "v"))(q, k, v)
"""
SUMS = " + sum(where(lse > -INF, lse * dlse, 0.0))"
# name: options, causal, window, heads of k and v, D, E, whether the sums count.
CASES = {
    "full": ("", False, 0, 4, 64, 64, False),
    "causal": (", causal=True", True, 0, 2, 64, 32, False),
    "window": (", causal=True, window=17", True, 17, 1, 32, 64, False),
    "around": (", window=17", False, 17, 2, 16, 16, False),
    "sums": (", causal=True, scale=0.3", True, 0, 4, 128, 128, True),
}


def expected(q, k, v, dy, dlse, case):
    _, causal, window, groups, depth, _, sums = case
    q, k, v, dy = (a.astype(np.float64) for a in (q, k, v, dy))
    shared = q.shape[1] // groups
    wide_k, wide_v = np.repeat(k, shared, 1), np.repeat(v, shared, 1)
    scale = 0.3 if sums else 1 / np.sqrt(depth)
    scores = q @ wide_k.transpose(0, 1, 3, 2) * scale
    length, keys = q.shape[2], k.shape[2]
    rows, columns = np.arange(length)[:, None] + keys - length, np.arange(keys)[None]
    seen = np.ones((length, keys), bool)
    if causal:
        seen &= columns <= rows
    if window:
        seen &= columns > rows - window
    if window and not causal:
        seen &= columns < rows + window
    scores = np.where(seen, scores, -np.inf)
    top = np.maximum(scores.max(-1, keepdims=True), -1e300)
    weights = np.exp(scores - top)
    total = weights.sum(-1, keepdims=True)
    weights /= np.where(total == 0, 1, total)
    y = weights @ wide_v
    own = (dy * y).sum(-1, keepdims=True) - (dlse[..., None] if sums else 0)
    slope = weights * (dy @ wide_v.transpose(0, 1, 3, 2) - own) * scale

    def joined(a):
        return a.reshape(a.shape[0], groups, shared, *a.shape[2:]).sum(2)
    return (slope @ wide_k, joined(slope.transpose(0, 1, 3, 2) @ q), joined(weights.transpose(0, 1, 3, 2) @ dy))


def check(folder, name, case, half, shape, rng):
    _, _, _, groups, depth, width, _ = case
    batch, length, keys = shape
    dims = {"q": (batch, 4, length, depth), "k": (batch, groups, keys, depth), "v": (batch, groups, keys, width),
            "dy": (batch, 4, length, width), "dlse": (batch, 4, length)}
    values = {key: rng.standard_normal(dim).astype(np.float32) for key, dim in dims.items()}
    arguments = []
    for key, value in values.items():
        narrow = half and key != "dlse"
        if narrow:
            values[key] = bf16.to_bf16(value)
        (bf16.save_bf16 if narrow else np.save)(folder / f"{key}.npy", values[key])
        arguments += ["--input", f"{key}={folder}/{key}.npy"]
    names = [f"{name}.{i}" for i in range(3)]
    for result in names:
        arguments += ["--output", f"{result}={folder}/{result}.npy"]
    run(BIN / "tsr", "run", folder / f"a{half}.bundle", name, *arguments)
    bound = 2e-2 if half else 1e-5
    for result, value in zip(names, expected(*values.values(), case)):
        found = (bf16.load_bf16 if half else np.load)(folder / f"{result}.npy")
        error, scale = np.abs(found - value).max(initial=0), np.abs(value).max(initial=1e-3)
        assert error <= bound * scale, (name, half, shape, result, error / scale)


def main():
    rng = np.random.default_rng(4)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for half in (False, True):
            source = "".join(
                ENTRY.format(name=entry, T="bf16" if half else "f32", options=case[0], G=case[3], D=case[4], E=case[5],
                             sums=SUMS if case[6] else "") for entry, case in CASES.items())
            (folder / "a.tsr").write_text(source)
            run(BIN / "tesserac", folder / "a.tsr", "-o", folder / f"a{half}.bundle")
            for entry, case in CASES.items():
                for shape in ((2, 100, 100), (1, 65, 129), (1, 130, 70), (1, 1, 5), (0, 3, 4), (1, 256, 256)):
                    check(folder, entry, case, half, shape, rng)
    print("attention_gradients_test: ok")


if __name__ == "__main__":
    main()
