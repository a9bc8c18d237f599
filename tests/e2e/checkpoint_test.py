#!/usr/bin/env python3
"""checkpoint: the same bits as without it, in less memory, and what each policy computes again.

Usage: checkpoint_test.py BUILD_DIR
"""
import json
import pathlib
import tempfile

import numpy as np

from tools import BIN, run

B, S, D, LAYERS = 3, 64, 32, 4
SOURCE = f"""
from tessera.nn import dropout, layernorm, stop_gradient

module Block(D: dim):
    qkv: Param[D, 3 * D, f32] = normal(0.2)
    out: Param[D, D, f32] = normal(0.2)
    up: Param[D, 4 * D, f32] = normal(0.2)
    down: Param[4 * D, D, f32] = normal(0.2)

    def __call__(self, x: Tensor[B, S, D, f32]):
        qkv = reshape(rmsnorm(x) @ self.qkv, (B, S, 3, 2, D // 2))
        heads = transpose(qkv, 2, 0, 3, 1, 4)
        y = flash_attention(heads[0], heads[1], heads[2], causal=True)
        x = x + reshape(transpose(y, 0, 2, 1, 3), (B, S, D)) @ self.out
        return x + gelu(checkpoint_name(rmsnorm(x) @ self.up, "wide")) @ self.down

module Model(D: dim):
    blocks: [Block(D)] * {LAYERS}

model = Model({D})

# The entries differ in what is around the blocks alone.
def energy(model, x, around):
    for block in model.blocks:
        x = around(block)(x)
    return mean(x * x)

def step(x, around):
    value, g = value_and_grad(lambda model, x: energy(model, x, around), argnums=(0, 1))(model, x)
    return value, g[1], [(b.qkv, b.out, b.up, b.down) for b in g[0].blocks]

@jit
def plain(x: Tensor[B, S, {D}, f32]):
    return step(x, lambda f: f)

@jit
def nothing(x: Tensor[B, S, {D}, f32]):
    return step(x, lambda f: checkpoint(f))

@jit
def matmuls(x: Tensor[B, S, {D}, f32]):
    return step(x, lambda f: remat(f, policy="matmuls"))

@jit
def named(x: Tensor[B, S, {D}, f32]):
    return step(x, lambda f: checkpoint(f, policy=("wide",)))

@jit
def nested(x: Tensor[B, S, {D}, f32]):
    return step(x, lambda f: checkpoint(lambda x: checkpoint(f)(x)))

# Functions that use what is around them, decorators, rules, dropped elements, and results of several kinds.
@custom_vjp(lambda y, dy, x: dy * 3.0)
def tripled(x):
    return x * 2.0

@checkpoint
def one(x, w):
    return tanh(x @ w), sum(x), argsum(x)

@remat(policy="matmuls")
def two(x, w):
    return tripled(x @ w) + stop_gradient(x)

def argsum(x):
    return cast(sum(x * 100.0), i32)

def mixed(x, w, apart):
    scale = sum(w)
    f = lambda x: x * scale + tripled(x)
    x = (checkpoint(f) if apart else f)(x)
    y, total, whole = one(x, w)
    return sum(y * y) + total * 0.1 + sum(two(y, w)) + cast(whole, f32) * 0.0

def loops(x, w, apart):
    def cell(h, row):
        h = tanh(h @ w + row)
        return h, sum(h * h)
    last, ys = scan(checkpoint(cell) if apart else cell, zeros((x.shape[1],), f32), x)
    for i in range(x.shape[0]):
        last = last + (checkpoint(lambda a: sin(a * x[i])) if apart else (lambda a: sin(a * x[i])))(last)
    return sum(last) + sum(ys)

# What is computed again has the random numbers of the first time.
@jit
def dropped(x: Tensor[N, 8, f32]):
    def total(x):
        y = checkpoint(lambda x: dropout(x, 0.5) * 1.0)(x)
        return sum(y), y
    return grad(total, has_aux=True)(x)

@jit
def mixed_plain(x: Tensor[N, 8, f32], w: Tensor[8, 8, f32]):
    return grad(mixed, argnums=(0, 1))(x, w, False)

@jit
def mixed_apart(x: Tensor[N, 8, f32], w: Tensor[8, 8, f32]):
    return grad(mixed, argnums=(0, 1))(x, w, True)

@jit
def loops_plain(x: Tensor[N, 8, f32], w: Tensor[8, 8, f32]):
    return grad(loops, argnums=(0, 1))(x, w, False)

@jit
def loops_apart(x: Tensor[N, 8, f32], w: Tensor[8, 8, f32]):
    return grad(loops, argnums=(0, 1))(x, w, True)

# Sums of cotangents keep their order.
def several(x, w, apart):
    f = lambda x: tanh(x @ w) + x * w[0]
    return sum((checkpoint(f) if apart else f)(x)) + sum(sin(x)) + sum(w * w)

@jit
def several_plain(x: Tensor[N, 8, f32], w: Tensor[8, 8, f32]):
    return grad(several, argnums=(0, 1))(x, w, False)

@jit
def several_apart(x: Tensor[N, 8, f32], w: Tensor[8, 8, f32]):
    return grad(several, argnums=(0, 1))(x, w, True)

def each(x, w, apart):
    f = lambda row: sum(tanh(row @ w) ** 2)
    return vmap(grad(checkpoint(f) if apart else f))(x), grad(lambda x: sum(vmap(checkpoint(f) if apart else f)(x)))(x)

@jit
def each_plain(x: Tensor[N, 8, f32], w: Tensor[8, 8, f32]):
    return each(x, w, False)

@jit
def each_apart(x: Tensor[N, 8, f32], w: Tensor[8, 8, f32]):
    return each(x, w, True)
"""
# Entries that give the same bits, and the results of each.
GROUPS = ((("plain", "nothing", "matmuls", "named", "nested"), 2 + 4 * LAYERS), (("mixed_plain", "mixed_apart"), 2),
          (("loops_plain", "loops_apart"), 2), (("each_plain", "each_apart"), 2),
          (("several_plain", "several_apart"), 2))


def results(folder, entry, count, inputs):
    """What an entry gives, compiled, and as the interpreter computes it."""
    words = ["--params", folder / "w.safetensors"]
    for name, value in inputs.items():
        np.save(folder / f"{name}.npy", value)
        words += ["--input", f"{name}={folder}/{name}.npy"]
    names = [f"{entry}.{i}" for i in range(count)]
    for name in names:
        words += ["--output", f"{name}={folder}/{name}.npy"]
    found = []
    for mode in ((), ("--interpret=exact",)):
        run(BIN / "tsr", "run", folder / "c.bundle", entry, *words, *mode)
        found += [np.load(folder / f"{name}.npy") for name in names]
    return found


def check_bits(folder):
    rng = np.random.default_rng(3)
    wide = {"x": rng.standard_normal((B, S, D)).astype(np.float32)}
    narrow = {"x": rng.standard_normal((6, 8)).astype(np.float32), "w": rng.standard_normal((8, 8)).astype(np.float32)}
    for entries, count in GROUPS:
        inputs = wide if entries[0] == "plain" else narrow
        wanted = results(folder, entries[0], count, inputs)
        assert all(np.all(np.isfinite(value)) and np.any(value) for value in wanted), entries[0]
        for entry in entries[1:]:
            for i, (a, b) in enumerate(zip(wanted, results(folder, entry, count, inputs), strict=True)):
                assert np.array_equal(a, b), f"result {i} of {entry}: {np.max(np.abs(a - b))} beside {entries[0]}"


def check_random(folder):
    x = np.random.default_rng(4).standard_normal((50, 8)).astype(np.float32)
    found = results(folder, "dropped", 2, {"x": x, "seed": np.array(5, np.uint64)})
    for slope, y in (found[:2], found[2:]):
        assert np.array_equal(x * slope, y) and 0.3 < np.mean(slope != 0) < 0.7, np.mean(slope != 0)


def check_memory(folder):
    """Peaks, and how much each policy multiplies: attention is computed again by all of them."""
    text = run(BIN / "tesserac", folder / "c.tsr", "--report", "--json", "--dims", f"B={B},S={S},N=6",
               "--entry", "plain,nothing,matmuls,named,nested")
    entries = {entry["name"]: entry for entry in json.loads(text)["targets"][0]["entries"]}
    peaks = {name: entry["memory"]["peak_bytes"] for name, entry in entries.items()}
    counts = {name: sum(launch["dot_flops"] for launch in entry["launches"]) for name, entry in entries.items()}
    assert peaks["nothing"] < peaks["named"] < peaks["matmuls"] < peaks["plain"], peaks
    assert peaks["nothing"] < 0.5 * peaks["plain"], peaks
    assert counts["plain"] < counts["matmuls"] < counts["named"] < counts["nothing"], counts


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "c.tsr").write_text(SOURCE)
        run(BIN / "tesserac", folder / "c.tsr", "-o", folder / "c.bundle", "--target=host")
        run(BIN / "tsr", "init", folder / "c.bundle", "--seed", 7, "-o", folder / "w.safetensors")
        check_bits(folder)
        check_random(folder)
        check_memory(folder)
    print("checkpoint_test: ok")


if __name__ == "__main__":
    main()
