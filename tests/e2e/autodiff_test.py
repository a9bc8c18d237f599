#!/usr/bin/env python3
"""@autodiff: the entries .forward and .backward beside one program that computes values and derivatives at once.

Usage: autodiff_test.py BUILD_DIR
"""
import json
import pathlib
import tempfile

import numpy as np

from tools import BIN, refuse, run

SOURCE = """
from tessera.nn import dropout

module Block(D: dim, T: dtype):
    qkv: Param[D, 3 * D, T] = normal(0.2)
    out: Param[D, D, T] = normal(0.2)
    up: Param[D, 4 * D, T] = normal(0.2)
    down: Param[4 * D, D, T] = normal(0.2)

    def __call__(self, x):
        B, S = x.shape[0], x.shape[1]
        qkv = reshape(rmsnorm(x) @ self.qkv, (B, S, 3, 2, D // 2))
        heads = transpose(qkv, 2, 0, 3, 1, 4)
        y = flash_attention(heads[0], heads[1], heads[2], causal=True)
        x = x + reshape(transpose(y, 0, 2, 1, 3), (B, S, D)) @ self.out
        return x + gelu(rmsnorm(x) @ self.up) @ self.down

wide = Block(32, f32, name="wide")
narrow = Block(32, bf16, name="narrow")

def derived(model, x, d):
    y, back = vjp(lambda model, x: model(x), model, x)
    dm, dx = back(d)
    return y, dx, dm.qkv, dm.out, dm.up, dm.down

@jit @autodiff
def block(x: Tensor[B, S, 32, f32]):
    y = wide(x)
    return y

@jit
def block_at_once(x: Tensor[B, S, 32, f32], d: Tensor[B, S, 32, f32]):
    return derived(wide, x, d)

@jit @autodiff
def block16(x: Tensor[B, S, 32, bf16]):
    y = narrow(x)
    return y

@jit
def block16_at_once(x: Tensor[B, S, 32, bf16], d: Tensor[B, S, 32, bf16]):
    return derived(narrow, x, d)

# Several results, of which one is no float and one is what the derivative needs; arguments that nothing reads; sizes
# that no other argument binds; a loop.
def parts_of(x, w, n):
    s = softmax(x @ w)
    h = s
    for i in range(n.shape[0]):
        h = tanh(h * 0.5 + s)
    return s, sum(h * h), cast(s * 100.0, i32)

@jit @autodiff
def parts(x: Tensor[N, 8, f32], w: Tensor[8, 8, f32], n: Tensor[K, i32], unread: Tensor[M, f32]):
    s, total, whole = parts_of(x, w, n)
    return s, total, whole

@jit
def parts_at_once(x: Tensor[N, 8, f32], w: Tensor[8, 8, f32], n: Tensor[K, i32], d: Tensor[N, 8, f32], e: Tensor[f32]):
    (s, total, whole), back = vjp(lambda x, w: parts_of(x, w, n), x, w)
    dx, dw = back((d, e, None))
    return s, total, whole, dx, dw

@jit @autodiff
def dropped(x: Tensor[N, f32]):
    y = dropout(x, 0.5) * x
    return y

# The result that the derivative reads has the name of an argument.
@jit @autodiff
def named(x: Tensor[N, f32]):
    x = tanh(exp(x * 0.1))
    return x

# Results without names, and a checkpoint, of which nothing is kept that nothing reads.
def layer(x, w):
    return x + checkpoint_name(tanh(softmax(x @ w) @ w), "k") @ w

@jit @autodiff
def unnamed(x: Tensor[N, 8, f32], w: Tensor[8, 8, f32]):
    for i in range(3):
        x = checkpoint(layer, policy="matmuls")(x, w)
    return x * 1.0, sum(x)

@jit
def unnamed_at_once(x: Tensor[N, 8, f32], w: Tensor[8, 8, f32], d: Tensor[N, 8, f32]):
    def f(x, w):
        for i in range(3):
            x = layer(x, w)
        return x * 1.0, sum(x)
    y, back = vjp(f, x, w)
    return back((d, 1.0))

@jit @autodiff
def total(x: Tensor[N, M, f32]):
    s = sum(x)
    return s

# What an entry updates counts as a constant.
@jit @autodiff
def cached(x: Tensor[1, 1, 1, 8, f32], cache: KVCache[1, 1, 16, 8, f32]):
    cache = cache.append(x, x * 2.0)
    y = flash_attention(x, cache, causal=True)
    return y, cache
"""
KERNEL = """
@kernel
def twice(x: Tensor[N, f32]) -> Tensor[N, f32]:
    t = tile.context(n=N)
    return tile.load(x) * 2.0

@jit @autodiff
def entry(x: Tensor[N, f32]):
    return twice(x)
"""


class Bundle:
    def __init__(self, folder):
        self.folder = folder
        (folder / "a.tsr").write_text(SOURCE)
        run(BIN / "tesserac", folder / "a.tsr", "-o", folder / "a.bundle", "--target=host")
        run(BIN / "tsr", "init", folder / "a.bundle", "--seed", 7, "-o", folder / "w.safetensors")
        described = json.loads(run(BIN / "tsr", "inspect", folder / "a.bundle", "--json"))
        self.entries = {entry["name"]: entry for entry in described["manifest"]["entries"]}

    def call(self, entry, values):
        """The results by name, of an entry that takes its inputs from `values` by name."""
        words = ["--params", self.folder / "w.safetensors"]
        for given in self.entries[entry]["inputs"]:
            np.save(self.folder / "in.npy", values[given["name"]])
            (self.folder / "in.npy").rename(self.folder / f"{given['name']}.npy")
            words += ["--input", f"{given['name']}={self.folder}/{given['name']}.npy"]
        names = [result["name"] for result in self.entries[entry]["outputs"]]
        for i, name in enumerate(names):
            words += ["--output", f"{name}={self.folder}/out{i}.npy"]
        run(BIN / "tsr", "run", self.folder / "a.bundle", entry, *words)
        return {name: np.load(self.folder / f"out{i}.npy") for i, name in enumerate(names)}

    def both(self, entry, inputs, cotangents):
        """What the two halves give, the second from what the first gave."""
        first = self.call(f"{entry}.forward", inputs)
        plain = self.call(entry, inputs)
        for name, value in plain.items():
            assert np.array_equal(value, first[name]), f"{entry}: '{name}' of .forward is another"
        return first, self.call(f"{entry}.backward", {**first, **inputs, **cotangents})


def to_bf16(x):
    return (np.asarray(x, np.float32).view(np.uint32) >> 16).astype(np.uint16).view("V2")


def floats(x):
    if x.dtype.kind == "V":
        return (np.frombuffer(x.tobytes(), np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(x.shape)
    return x.astype(np.float64)


def check_same(what, got, wanted, bound):
    got, wanted = floats(got), floats(wanted)
    assert got.shape == wanted.shape, (what, got.shape, wanted.shape)
    error = np.max(np.abs(got - wanted), initial=0)
    assert error <= bound * np.max(np.abs(wanted), initial=1e-30), f"{what}: {error}"


def check_blocks(bundle, rng):
    shape, keys = (3, 20, 32), ("qkv", "out", "up", "down")
    for entry, convert, bound in (("block", np.float32, 1e-5), ("block16", to_bf16, 2e-2)):
        x, d = (convert(rng.standard_normal(shape)) for _ in range(2))
        _, second = bundle.both(entry, {"x": x}, {"d_y": d})
        wanted = list(bundle.call(f"{entry}_at_once", {"x": x, "d": d}).values())[1:]
        names = ["d_x"] + [f"d_{'wide' if entry == 'block' else 'narrow'}.{key}" for key in keys]
        assert list(second) == names, list(second)
        for name, value in zip(names, wanted):
            check_same(f"{entry}: {name}", second[name], value, bound)


def check_parts(bundle, rng):
    for rows, count in ((5, 3), (1, 0), (4, 1)):
        x, w = (rng.standard_normal((n, 8)).astype(np.float32) for n in (rows, 8))
        n, d, e = np.zeros(count, np.int32), rng.standard_normal((rows, 8)).astype(np.float32), np.float32(0.7)
        inputs = {"x": x, "w": w, "n": n, "unread": np.zeros(2, np.float32)}
        _, second = bundle.both("parts", inputs, {"d_s": d, "d_total": e})
        wanted = bundle.call("parts_at_once", {**inputs, "d": d, "e": e})
        check_same("parts: d_x", second["d_x"], wanted["dx"], 1e-5)
        check_same("parts: d_w", second["d_w"], wanted["dw"], 1e-5)
        assert not np.any(second["d_unread"])
    read = {given["name"] for given in bundle.entries["parts.backward"]["inputs"]}
    assert "s" in read and "unread" in read, read  # a result; and what binds M, which d_unread has


def check_others(bundle, rng):
    x, d = (rng.standard_normal(200).astype(np.float32) for _ in range(2))
    first, second = bundle.both("dropped", {"x": x, "seed": np.uint64(5)}, {"d_y": d})
    slope = first["y"] / x
    np.testing.assert_allclose(second["d_x"], 2 * slope * d, rtol=1e-5)
    assert 0.3 < np.mean(slope != 0) < 0.7
    first, second = bundle.both("named", {"x": x}, {"d_x": d})
    w, d8 = rng.standard_normal((8, 8)).astype(np.float32), rng.standard_normal((5, 8)).astype(np.float32)
    inputs = {"x": x[:40].reshape(5, 8), "w": w, "d": d8}
    _, halves = bundle.both("unnamed", inputs, {"d_unnamed.0": d8, "d_unnamed.1": np.float32(1)})
    wanted = bundle.call("unnamed_at_once", inputs)
    for i, name in enumerate(("d_x", "d_w")):
        check_same(f"unnamed: {name}", halves[name], wanted[f"unnamed_at_once.{i}"], 1e-5)
    given = {result["name"] for result in bundle.entries["unnamed.forward"]["outputs"]}
    taken = {one["name"] for one in bundle.entries["unnamed.backward"]["inputs"]}
    assert {name for name in given if name.startswith("saved")} <= taken, given - taken
    slope = (1 - first["x"].astype(np.float64) ** 2) * np.exp(x * 0.1) * 0.1
    check_same("named: d_x", second["d_x"], slope * d, 1e-5)
    _, second = bundle.both("total", {"x": x.reshape(20, 10)}, {"d_s": np.float32(3)})
    assert second["d_x"].shape == (20, 10) and np.all(second["d_x"] == 3)
    assert [given["name"] for given in bundle.entries["total.backward"]["inputs"]] == ["x", "d_s"]  # x has the sizes


def check_state(bundle, rng):
    x = rng.standard_normal((1, 1, 1, 8)).astype(np.float32)
    k, v = (rng.standard_normal((1, 1, 16, 8)).astype(np.float32) for _ in range(2))
    inputs = {"x": x, "cache.K": k, "cache.V": v, "cache.length": np.int64(3)}
    d = rng.standard_normal((1, 1, 1, 8)).astype(np.float32)
    _, second = bundle.both("cached", inputs, {"d_y": d})

    def value(x):
        keys = np.concatenate((k[0, 0, :3], x[0, 0])).astype(np.float64)
        values = np.concatenate((v[0, 0, :3], 2 * x[0, 0])).astype(np.float64)
        weights = np.exp(keys @ x[0, 0, 0] / np.sqrt(8))
        return np.sum(weights @ values / weights.sum() * d)

    x, h = x.astype(np.float64), 1e-5
    slopes = [(value(x + h * e) - value(x - h * e)) / (2 * h) for e in np.eye(8).reshape(8, 1, 1, 1, 8)]
    assert list(second) == ["d_x"], list(second)
    check_same("cached: d_x", second["d_x"], np.array(slopes).reshape(1, 1, 1, 8), 1e-4)


def main():
    rng = np.random.default_rng(6)
    with tempfile.TemporaryDirectory() as name:
        bundle = Bundle(pathlib.Path(name))
        check_blocks(bundle, rng)
        check_parts(bundle, rng)
        check_others(bundle, rng)
        check_state(bundle, rng)
        (bundle.folder / "k.tsr").write_text(KERNEL)
        message = refuse(BIN / "tesserac", bundle.folder / "k.tsr", "-o", bundle.folder / "k.bundle")
        assert "kernel 'twice' has no derivative yet" in message and "[unsupported-derivative]" in message, message
        assert not (bundle.folder / "k.bundle").exists()
    print("autodiff_test: ok")


if __name__ == "__main__":
    main()
