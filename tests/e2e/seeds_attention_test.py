#!/usr/bin/env python3
"""The founding examples of attention, compiled as they are but for listed replacements, and run beside NumPy.

Usage: seeds_attention_test.py BUILD_DIR
"""
import pathlib
import tempfile

import numpy as np

from tools import BIN, ROOT, run

SEEDS = ROOT / "tests/seeds"


def seed(name, *replacements):
    text = (SEEDS / f"{name}.txt").read_text()
    for old, new in replacements:
        assert text.count(old) == 1, f"{name}: {old!r}"
        text = text.replace(old, new)
    return text


def to_bf16(x):
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


def save(path, x):
    """Floats as bf16, integers as they are."""
    np.save(path, (x.view(np.uint32) >> 16).astype(np.uint16).view("V2") if x.dtype == np.float32 else x)


def load(path):
    x = np.load(path)
    return (x.view(np.uint16).astype(np.uint32) << 16).view(np.float32) if x.dtype.kind == "V" else x


def attention(q, k, v, length):
    """Causal, with rows at the end of `length` keys."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    s = np.einsum("bhid,bhjd->bhij", q, k) / np.sqrt(q.shape[-1])
    place = np.arange(s.shape[2])[:, None] + length - s.shape[2]
    s = np.where(np.arange(s.shape[3])[None, :] <= place, s, -np.inf)
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    return np.einsum("bhij,bhjd->bhid", p / p.sum(axis=-1, keepdims=True), v)


def execute(folder, source, entry, **inputs):
    (folder / "s.tsr").write_text(source)
    run(BIN / "tesserac", folder / "s.tsr", "-o", folder / "s.bundle")
    given = []
    for name, value in inputs.items():
        save(folder / f"{name}.npy", value)
        given += ["--input", f"{name}={folder}/{name}.npy"]
    run(BIN / "tsr", "run", folder / "s.bundle", entry, *given, "--output", f"{entry}={folder}/out.npy")
    return load(folder / "out.npy")


def close(name, got, want, bound):
    error = float(np.max(np.abs(got - want)))
    print(f"{name}: error {error:.3g}")
    assert got.shape == want.shape and error <= bound


def graph(folder, rng):
    q, k, v = (to_bf16(rng.standard_normal((2, 3, 50, 64))) for _ in range(3))
    got = execute(folder, seed("01_flash_attention_graph"), "flash_attention", Q=q, K=k, V=v)
    close("01", got, attention(q, k, v, 50), 1.6e-2)


def kernel(folder, rng):
    """With a cache of 96 positions that holds 70, of which the last 20 are the rows."""
    postlude = """
@jit
def run(q: Tensor[2, 3, 20, 64, bf16], keys: Tensor[2, 3, 96, 64, bf16], values: Tensor[2, 3, 96, 64, bf16],
        held: Tensor[i64]):
    return flash_attention(q, (keys, values, held), dropout=0.0, causal=True)
"""
    prelude = "def dropout_in_kernel(P, p):\n    return P\n\n"
    q, k, v = (to_bf16(rng.standard_normal((2, 3, n, 64))) for n in (20, 96, 96))
    got = execute(folder, prelude + seed("03_flash_attention_kernel") + postlude, "run", q=q, keys=k, values=v,
                  held=np.array(70))
    close("03", got, attention(q, k, v, 70), 1.6e-2)


def score(folder, rng):
    # `verify.numerics` is checked elsewhere, and `python` was a code fence.
    text = seed("04_attention_score", ("python@verify.numerics(stable=True, bounded=[-100, 100])\n", ""))
    postlude = """
@jit
def run(q: Tensor[M, d, bf16], k: Tensor[N, d, bf16]):
    return attention_score(q, k)
"""
    q, k = (to_bf16(rng.standard_normal((n, 64))) for n in (33, 70))
    got = execute(folder, "const d = 64\n\n" + text + postlude, "run", q=q, k=k)
    close("04", got, q.astype(np.float64) @ k.T.astype(np.float64) / 8, 2e-2)


def main():
    rng = np.random.default_rng(5)
    with tempfile.TemporaryDirectory() as name:
        for test in (graph, kernel, score):
            test(pathlib.Path(name), rng)


if __name__ == "__main__":
    main()
