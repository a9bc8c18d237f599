#!/usr/bin/env python3
"""flash_attention of every kind, compiled and run, beside the mathematics in float64.

Usage: attention_test.py BUILD_DIR
"""
import pathlib
import tempfile

import numpy as np

from tools import BIN, run

# name, dims (B, H, G, S, T, D, E), arguments of the call, dtype
CASES = [
    ("plain", (2, 3, 3, 37, 37, 64, 64), "", "f32"),
    ("causal", (2, 4, 4, 70, 70, 64, 64), "causal=True", "f32"),
    ("grouped", (1, 6, 2, 33, 50, 32, 32), "causal=True", "f32"),
    ("window", (1, 2, 1, 90, 90, 16, 24), "causal=True, window=20", "f32"),
    ("both_sides", (1, 2, 2, 65, 65, 40, 40), "window=9, scale=0.3", "f32"),
    ("longer_rows", (1, 2, 2, 20, 7, 16, 16), "causal=True", "f32"),
    ("decode", (2, 4, 2, 1, 131, 80, 80), "causal=True", "f32"),
    ("bias", (2, 3, 1, 18, 45, 96, 96), "bias=bias", "f32"),
    ("double", (1, 2, 2, 19, 23, 8, 8), "causal=True", "f64"),
    ("bf16", (1, 4, 2, 65, 65, 128, 128), "causal=True", "bf16"),
    ("f16", (1, 2, 2, 34, 34, 192, 192), "", "f16"),
]
SOURCE = """
@jit
def {name}(q: Tensor[{B}, {H}, {S}, {D}, {dtype}], k: Tensor[{B}, {G}, {T}, {D}, {dtype}],
           v: Tensor[{B}, {G}, {T}, {E}, {dtype}]{bias}):
    out, lse = flash_attention(q, k, v, return_lse=True{arguments})
    alone = flash_attention(q, k, v{arguments})
    return out, lse, alone

@jit
def {name}_sizes(q: Tensor[B, {H}, S, {D}, {dtype}], k: Tensor[B, {G}, T, {D}, {dtype}],
                 v: Tensor[B, {G}, T, {E}, {dtype}]{sized}):
    return flash_attention(q, k, v{arguments})
"""
BIAS = """, bias: Tensor[{H}, 1, {T}, f32]"""
SIZED = """, bias: Tensor[{H}, 1, T, f32]"""


def to_bf16(x):
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return rounded.view(np.float32)


def save(path, x, dtype):
    if dtype == "bf16":
        np.save(path, (to_bf16(x).view(np.uint32) >> 16).astype(np.uint16).view("V2"))
    else:
        np.save(path, x)


def load(path):
    x = np.load(path)
    if x.dtype.kind != "V":
        return x.astype(np.float64)
    return (x.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def reference(q, k, v, bias, causal=False, window=None, scale=None):
    """Results, and the logs of the sums, in float64."""
    groups = q.shape[1] // k.shape[1]
    k, v = (np.repeat(x, groups, axis=1) for x in (k, v))
    s = np.einsum("bhid,bhjd->bhij", q, k) * (scale or 1 / np.sqrt(q.shape[-1]))
    if bias is not None:
        s = s + bias
    place = np.arange(s.shape[2])[:, None] + s.shape[3] - s.shape[2]
    key = np.arange(s.shape[3])[None, :]
    if causal:
        s = np.where(key <= place, s, -np.inf)
    if window:
        s = np.where(abs(key - place) < window, s, -np.inf)
    most = np.max(s, axis=-1, keepdims=True)
    p = np.exp(s - np.where(np.isinf(most), 0, most))
    total = p.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = np.where(np.isinf(most), 0, most)[..., 0] + np.log(total[..., 0])
    return np.einsum("bhij,bhjd->bhid", p / np.where(total == 0, 1, total), v), lse


def bound(dtype):
    return {"f64": 1e-12, "f32": 3e-6, "f16": 2e-3, "bf16": 1.6e-2}[dtype]


def compare(entry, names, folder, inputs, want, sums, dtype, *flags):
    files = [folder / f"out{i}.npy" for i in range(len(names))]
    outputs = [part for name, file in zip(names, files) for part in ("--output", f"{name}={file}")]
    run(BIN / "tsr", "run", folder / "b.bundle", entry, *inputs, *outputs, *flags)
    worst = []
    for got in map(load, files):
        wanted = want if got.ndim == 4 else sums
        assert got.shape == wanted.shape
        finite = np.isfinite(wanted)
        assert np.array_equal(got[~finite], wanted[~finite])
        worst.append(float(np.max(np.abs(got - wanted)[finite])))
    print(f"{entry}{''.join(flags)}: error {np.max(worst):.3g}")
    assert np.max(worst) <= bound(dtype)  # NaN is not


def check(name, dims, arguments, dtype, folder, rng):
    B, H, G, S, T, D, E = dims
    held = {"bf16": np.float32, "f32": np.float32, "f64": np.float64, "f16": np.float16}[dtype]
    cast = to_bf16 if dtype == "bf16" else lambda x: x
    shapes = {"q": (B, H, S, D), "k": (B, G, T, D), "v": (B, G, T, E)}
    values = {key: cast(rng.standard_normal(shape).astype(held)) for key, shape in shapes.items()}
    for key, value in values.items():
        save(folder / f"{key}.npy", value, dtype)
    if "bias" in arguments:
        values["bias"] = rng.standard_normal((H, 1, T)).astype(np.float32)
        save(folder / "bias.npy", values["bias"], "f32")
    inputs = [part for key in values for part in ("--input", f"{key}={folder}/{key}.npy")]
    exact = {key: value.astype(np.float64) for key, value in values.items()}
    given = {key: value for key, value in eval(f"dict({arguments})", {"bias": None}).items() if key != "bias"}
    want, sums = reference(exact["q"], exact["k"], exact["v"], exact.get("bias"), **given)
    results = ["out", "lse", "alone"]
    compare(name, results, folder, inputs, want, sums, dtype)
    compare(name, results, folder, inputs, want, sums, dtype, "--interpret=f64")
    compare(f"{name}_sizes", [f"{name}_sizes"], folder, inputs, want, sums, dtype)


CACHE = """
@jit
def cached(q: Tensor[2, 4, S, 64, f32], k: Tensor[2, 2, T, 64, f32], v: Tensor[2, 2, T, 64, f32], held: Tensor[i64]):
    return flash_attention(q, (k, v, held), causal=True)

@jit
def capped(q: Tensor[2, 4, S, 64, f32], k: Tensor[2, 4, T, 64, f32], v: Tensor[2, 4, T, 64, f32]):
    return flash_attention(q, k, v, score_mod=lambda s, b, h, i, j: 2.0 * tanh(s / 2.0) - 0.1 * cast(i - j, f32),
                           mask_mod=lambda b, h, i, j: (j <= i) & (i // 16 == j // 16))
"""


def cached(folder, rng):
    """Of the positions of a cache only the first count, however many rows there are."""
    (folder / "b.tsr").write_text(CACHE)
    run(BIN / "tesserac", folder / "b.tsr", "-o", folder / "b.bundle")
    for rows, held in ((1, 1), (1, 77), (7, 100), (70, 90)):
        q, k, v = (rng.standard_normal(s).astype(np.float32)
                   for s in ((2, 4, rows, 64), (2, 2, 100, 64), (2, 2, 100, 64)))
        inputs = ["--input", f"held={held}"]
        for key, value in (("q", q), ("k", k), ("v", v)):
            save(folder / f"{key}.npy", value, "f32")
            inputs += ["--input", f"{key}={folder}/{key}.npy"]
        want, sums = reference(*(x.astype(np.float64) for x in (q, k[:, :, :held], v[:, :, :held])), None, causal=True)
        compare("cached", ["cached"], folder, inputs, want, sums, "f32")
        compare("cached", ["cached"], folder, inputs, want, sums, "f32", "--interpret=f64")


def capped(folder, rng):
    q, k, v = (rng.standard_normal((2, 4, 50, 64)).astype(np.float32) for _ in range(3))
    for key, value in (("q", q), ("k", k), ("v", v)):
        save(folder / f"{key}.npy", value, "f32")
    i, j = np.arange(50)[:, None], np.arange(50)[None, :]
    s = 2 * np.tanh(np.einsum("bhid,bhjd->bhij", *(x.astype(np.float64) for x in (q, k))) / 16) - 0.1 * (i - j)
    p = np.where((j <= i) & (i // 16 == j // 16), np.exp(s), 0)
    want = np.einsum("bhij,bhjd->bhid", p / p.sum(axis=-1, keepdims=True), v.astype(np.float64))
    inputs = [part for key in "qkv" for part in ("--input", f"{key}={folder}/{key}.npy")]
    compare("capped", ["capped"], folder, inputs, want, None, "f32")


FORMS = """
@jit
def key(q: Tensor[2, 4, S, 32, f32], k: Tensor[2, 2, T, 32, f32], v: Tensor[2, 2, T, 32, f32], bias: Tensor[T, f32]):
    return flash_attention(q, k, v, bias=bias)

@jit
def pair(q: Tensor[2, 4, S, 32, f32], k: Tensor[2, 2, T, 32, f32], v: Tensor[2, 2, T, 32, f32],
         bias: Tensor[S, T, f32]):
    return flash_attention(q, k, v, bias=bias, causal=True)

@jit
def padding(q: Tensor[2, 4, S, 32, f32], k: Tensor[2, 2, T, 32, f32], v: Tensor[2, 2, T, 32, f32],
            bias: Tensor[2, 1, 1, T, f32]):
    return flash_attention(q, k, v, bias=bias)

@jit
def whole(q: Tensor[2, 4, S, 32, f32], k: Tensor[2, 2, T, 32, f32], v: Tensor[2, 2, T, 32, f32],
          bias: Tensor[2, 4, S, T, f32]):
    return flash_attention(q, k, v, bias=bias, window=20)
"""


def biases(folder, rng):
    """What broadcasts against [B, H, S, T]; -inf masks, also all of a batch's keys."""
    (folder / "b.tsr").write_text(FORMS)
    run(BIN / "tesserac", folder / "b.tsr", "-o", folder / "b.bundle")
    q, k, v = (rng.standard_normal(s).astype(np.float32) for s in ((2, 4, 21, 32), (2, 2, 67, 32), (2, 2, 67, 32)))
    none = np.where(np.arange(67) < np.array([40, 0])[:, None], 0, -np.inf)[:, None, None, :]
    given = {"key": (rng.standard_normal(67), {}), "pair": (rng.standard_normal((21, 67)), {"causal": True}),
             "padding": (none, {}), "whole": (rng.standard_normal((2, 4, 21, 67)), {"window": 20})}
    for name, (bias, options) in given.items():
        inputs = []
        for key, value in (("q", q), ("k", k), ("v", v), ("bias", bias.astype(np.float32))):
            save(folder / f"{key}.npy", value, "f32")
            inputs += ["--input", f"{key}={folder}/{key}.npy"]
        want, _ = reference(*(x.astype(np.float64) for x in (q, k, v)), bias.astype(np.float32), **options)
        compare(name, [name], folder, inputs, want, None, "f32")


DROPPED = """
@jit
def attend(q: Tensor[2, 4, S, 64, f32], k: Tensor[2, 2, T, 64, f32], v: Tensor[2, 2, T, 64, f32], held: Tensor[i64]):
    return flash_attention(q, (k, v, held), causal=True, dropout=0.4{functions})
"""


def dropped(folder, rng):
    """Functions of the scores change no random number: those of a place in an entry follow from its name alone."""
    q, k, v = (rng.standard_normal((2, h, n, 64)).astype(np.float32) for h, n in ((4, 33), (2, 80), (2, 80)))
    inputs = ["--input", "held=77", "--input", "seed=5"]
    for key, value in (("q", q), ("k", k), ("v", v)):
        save(folder / f"{key}.npy", value, "f32")
        inputs += ["--input", f"{key}={folder}/{key}.npy"]
    want = None
    for functions in ("", ", score_mod=lambda s, b, h, i, j: 1.0 * s", ", mask_mod=lambda b, h, i, j: j <= i"):
        (folder / "b.tsr").write_text(DROPPED.format(functions=functions))
        run(BIN / "tesserac", folder / "b.tsr", "-o", folder / "b.bundle")
        if want is None:
            run(BIN / "tsr", "run", folder / "b.bundle", "attend", *inputs, "--output", f"attend={folder}/want.npy",
                "--interpret=f64")
            want = load(folder / "want.npy")
        compare("attend", ["attend"], folder, inputs, want, None, "f32")


HALF = """
@jit
def half(q: Tensor[2, 4, S, 64, bf16], k: Tensor[2, 2, T, 64, bf16], v: Tensor[2, 2, T, 64, bf16]):
    return flash_attention(q, k, v, causal=True)
"""


def half(folder, rng):
    """In bf16, by what this processor is best at, the error is at most twice that of a program that rounds weights and
    results alone."""
    (folder / "b.tsr").write_text(HALF)
    run(BIN / "tesserac", folder / "b.tsr", "-o", folder / "b.bundle", "--target=cpu:x86-64-v3,host")
    for rows, keys in ((200, 300), (33, 65)):
        q, k, v = (to_bf16(rng.standard_normal((2, h, n, 64))) for h, n in ((4, rows), (2, keys), (2, keys)))
        inputs = []
        for key, value in (("q", q), ("k", k), ("v", v)):
            save(folder / f"{key}.npy", value, "bf16")
            inputs += ["--input", f"{key}={folder}/{key}.npy"]
        want, _ = reference(*(x.astype(np.float64) for x in (q, k, v)), None, causal=True)
        k, v = (np.repeat(x, 2, axis=1) for x in (k, v))
        s = np.einsum("bhid,bhjd->bhij", q, k) / np.float32(8)
        s = np.where(np.arange(keys) <= np.arange(rows)[:, None] + keys - rows, s, np.float32(-np.inf))
        p = np.exp(s - s.max(axis=-1, keepdims=True))
        rounded = to_bf16(np.einsum("bhij,bhjd->bhid", to_bf16(p), v) / p.sum(axis=-1, keepdims=True))
        run(BIN / "tsr", "run", folder / "b.bundle", "half", *inputs, "--output", f"half={folder}/out.npy")
        error, bound = (np.max(np.abs(x - want)) for x in (load(folder / "out.npy"), rounded))
        print(f"half: error {error:.3g}, of a program that rounds {bound:.3g}")
        assert error <= 2 * bound


HIDDEN = """
@jit
def hidden(q: Tensor[1, 2, S, 64, {dtype}], k: Tensor[1, 2, T, 64, {dtype}], v: Tensor[1, 2, T, 64, {dtype}],
           bias: Tensor[S, T, f32]):
    return flash_attention(q, k, v, bias=bias)
"""


def hidden(folder, rng):
    """Scores of any size: rows that large finite numbers hide throughout have equal weights, and of large scores that
    are close together none is lost. q is 0, so that scores are the bias to the bit."""
    keys, lowest = 200, np.finfo(np.float32).min
    near = rng.integers(0, 5, keys).astype(np.float32)
    late = np.where(np.arange(keys) < keys - 1, np.float32(-1e30), np.float32(1e30))
    rows = [np.full(keys, x, np.float32) for x in (0, -1e9, 1e9, -1e30, 1e30, lowest, -lowest)]
    rows += [base + near * step for base, step in ((1e3, 1), (-3e6, 1), (3e6, 1), (-8e6, 2), (3e8, 32), (-3e8, 32))]
    rows += [np.where(near > 1, 0, hides) for hides in (-1e9, -1e30, lowest)]
    rows += [late, late[::-1], np.where(np.arange(keys) < 130, -np.inf, late), np.sort(near * 1e6),
             -np.sort(near * 1e6)]
    bias = np.stack(rows).astype(np.float32)
    for dtype in ("f32", "f64", "bf16", "f16"):
        held = {"bf16": np.float32, "f32": np.float32, "f64": np.float64, "f16": np.float16}[dtype]
        (folder / "b.tsr").write_text(HIDDEN.format(dtype=dtype))
        run(BIN / "tesserac", folder / "b.tsr", "-o", folder / "b.bundle")
        q, k, v = (rng.standard_normal((1, 2, n, 64)).astype(held) for n in (len(rows), keys, keys))
        q[:] = 0
        v = to_bf16(v) if dtype == "bf16" else v
        k = to_bf16(k) if dtype == "bf16" else k
        inputs = []
        for key, value in (("q", q), ("k", k), ("v", v)):
            save(folder / f"{key}.npy", value, dtype)
            inputs += ["--input", f"{key}={folder}/{key}.npy"]
        save(folder / "bias.npy", bias, "f32")
        inputs += ["--input", f"bias={folder}/bias.npy"]
        want, _ = reference(*(x.astype(np.float64) for x in (q, k, v)), bias.astype(np.float64))
        compare("hidden", ["hidden"], folder, inputs, want, None, dtype)
        compare("hidden", ["hidden"], folder, inputs, want, None, dtype, "--interpret=f64")


def main():
    rng = np.random.default_rng(11)
    np.seterr(invalid="ignore")  # -inf - -inf, which is masked
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        for name, dims, arguments, dtype in CASES:
            keys = dict(zip("BHGSTDE", dims))
            bias, sized = (text.format(**keys) if "bias" in arguments else "" for text in (BIAS, SIZED))
            (folder / "b.tsr").write_text(SOURCE.format(name=name, dtype=dtype, bias=bias, sized=sized,
                                                        arguments=arguments and ", " + arguments, **keys))
            run(BIN / "tesserac", folder / "b.tsr", "-o", folder / "b.bundle")
            check(name, dims, arguments, dtype, folder, rng)
        cached(folder, rng)
        capped(folder, rng)
        biases(folder, rng)
        dropped(folder, rng)
        half(folder, rng)
        hidden(folder, rng)


if __name__ == "__main__":
    main()
