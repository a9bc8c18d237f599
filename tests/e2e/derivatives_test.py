#!/usr/bin/env python3
"""Gradients of compiled programs beside differences of an independent NumPy program in f64: a transformer with an
embedding, a module of weights and a loss; a recurrent loop; rules of the library.

Usage: derivatives_test.py BUILD_DIR
"""
import pathlib
import tempfile

import numpy as np

from tools import BIN, run
import safetensors_io

B, S, D, H, V, L = 2, 7, 16, 2, 11, 2
SOURCE = f"""
from tessera.nn import cumsum, layernorm, stop_gradient
const V = {V}
const D = {D}

module Block(D: dim):
    qkv: Param[D, 3 * D, f32] = normal(0.2)
    out: Param[D, D, f32] = normal(0.2)
    up: Param[D, 2 * D, f32] = normal(0.2)
    down: Param[2 * D, D, f32] = normal(0.2)
    scale: Param[D, f32] = ones()
    shift: Param[D, f32] = zeros()

    def __call__(self, x: Tensor[B, S, D, f32]):
        qkv = reshape(layernorm(x, self.scale, self.shift) @ self.qkv, (B, S, 3, {H}, D // {H}))
        heads = transpose(qkv, 2, 0, 3, 1, 4)
        y = flash_attention(heads[0], heads[1], heads[2], causal=True)
        x = x + reshape(transpose(y, 0, 2, 1, 3), (B, S, D)) @ self.out
        return x + gelu(rmsnorm(x) @ self.up) @ self.down

module Model(D: dim):
    table: Param[V, D, f32] = normal(1.0)
    blocks: [Block(D)] * {L}

    def __call__(self, tokens: Tensor[B, S, i64]):
        x = embedding(tokens, self.table)
        for block in self.blocks:
            x = block(x)
        return x @ self.table.T

model = Model(D)

def loss(model, tokens, targets):
    return mean(cross_entropy(model(tokens), targets))

@jit
def value(tokens: Tensor[B, S, i64], targets: Tensor[B, S, i64]):
    return loss(model, tokens, targets)

@jit
def gradients(tokens: Tensor[B, S, i64], targets: Tensor[B, S, i64]):
    value, g = value_and_grad(loss)(model, tokens, targets)
    return value, g.table, [(b.qkv, b.out, b.up, b.down, b.scale, b.shift) for b in g.blocks]

def states(w, x):
    h = zeros((x.shape[1],), f32)
    total = zeros((), f32)
    for i in range(x.shape[0]):
        if sum(h) > 0.5:
            h = tanh(x[i] + h @ w)
        else:
            h = sin(x[i] - h @ w)
        total = total + sum(h * h)
    return total

@jit
def recurrent(w: Tensor[D, D, f32], x: Tensor[T, D, f32]):
    return value_and_grad(states, argnums=(0, 1))(w, x)

@jit
def ruled(x: Tensor[M, N, f32]):
    return grad(lambda x: sum(sin(cumsum(x, axis=1)) * stop_gradient(x)))(x)

@jit
def second(x: Tensor[M, N, f32], ids: Tensor[R, i64]):
    return jvp(grad(lambda x: sum(embedding(ids, x) ** 3)), (x,), (1.0,))[1]
"""


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def block(x, p):
    b, s, d = x.shape
    c = x - x.mean(-1, keepdims=True)
    n = c / np.sqrt((c * c).mean(-1, keepdims=True) + 1e-5) * p["scale"] + p["shift"]
    q, k, v = (n @ p["qkv"]).reshape(b, s, 3, H, d // H).transpose(2, 0, 3, 1, 4)
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(d // H)
    scores = np.where(np.tril(np.ones((s, s), bool)), scores, -np.inf)
    x = x + (softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(b, s, d) @ p["out"]
    n = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) @ p["up"]
    return x + (n / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (n + 0.044715 * n ** 3)))) @ p["down"]


def loss(p, tokens, targets):
    x = p["table"][tokens]
    for i in range(L):
        x = block(x, {name.split(".")[2]: value for name, value in p.items() if name.startswith(f"blocks.{i}.")})
    logits = x @ p["table"].T
    return -np.log(np.take_along_axis(softmax(logits), targets[..., None], -1)).mean()


def states(p):
    h, total = np.zeros(p["x"].shape[1]), 0.0
    for row in p["x"]:
        h = np.tanh(row + h @ p["w"]) if h.sum() > 0.5 else np.sin(row - h @ p["w"])
        total += (h * h).sum()
    return total


def along(function, p, name, direction, step=1e-5):
    moved = [function({**p, name: p[name] + sign * step * direction}) for sign in (1, -1)]
    return (moved[0] - moved[1]) / (2 * step)


def check_directions(function, p, gradients, rng):
    p = {name: value.astype(np.float64) for name, value in p.items()}
    scale = max(np.linalg.norm(g) for g in gradients.values())
    for name, gradient in gradients.items():
        assert gradient.shape == p[name].shape, name
        for _ in range(3):
            direction = rng.standard_normal(p[name].shape)
            direction /= np.linalg.norm(direction)
            expected, found = along(function, p, name, direction), float((gradient * direction).sum())
            assert abs(expected - found) <= 2e-5 * np.linalg.norm(gradient) + 1e-6 * scale, (name, expected, found)


def call(folder, entry, results, params=None, **inputs):
    arguments = ["--params", params] if params else []
    for name, value in inputs.items():
        np.save(folder / f"{name}.npy", value)
        arguments += ["--input", f"{name}={folder}/{name}.npy"]
    for name in results:
        arguments += ["--output", f"{name}={folder}/{name}.npy"]
    run(BIN / "tsr", "run", folder / "d.bundle", entry, *arguments)
    return [np.load(folder / f"{name}.npy") for name in results]


def main():
    rng = np.random.default_rng(8)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "d.tsr").write_text(SOURCE)
        run(BIN / "tesserac", folder / "d.tsr", "-o", folder / "d.bundle")
        check_transformer(folder, rng)
        check_recurrent(folder, rng)
        check_rules(folder, rng)
    print("derivatives_test: ok")


def check_transformer(folder, rng):
    run(BIN / "tsr", "init", folder / "d.bundle", "--seed", 7, "-o", folder / "w.safetensors")
    p = safetensors_io.load(folder / "w.safetensors")
    tokens, targets = rng.integers(0, V, (B, S)), rng.integers(0, V, (B, S))
    tokens[0, :3] = tokens[1, :3]  # rows that several tokens read
    keys = ("qkv", "out", "up", "down", "scale", "shift")
    results = ["value"] + [f"gradients.{i}" for i in range(1, 2 + L * len(keys))]
    found = call(folder, "gradients", results, folder / "w.safetensors", tokens=tokens, targets=targets)
    names = ["table"] + [f"blocks.{i}.{key}" for i in range(L) for key in keys]
    wide = {key: value.astype(np.float64) for key, value in p.items()}
    assert abs(found[0] - loss(wide, tokens, targets)) < 1e-5
    check_directions(lambda q: loss(q, tokens, targets), p, dict(zip(names, found[1:])), rng)


def check_recurrent(folder, rng):
    for length in (0, 1, 9):
        p = {"w": rng.standard_normal((D, D)).astype(np.float32) * 0.3,
             "x": rng.standard_normal((length, D)).astype(np.float32)}
        value, w, x = call(folder, "recurrent", ["recurrent.0", "recurrent.1", "recurrent.2"], **p)
        assert abs(value - states(p)) < 1e-4 * (1 + abs(value)), length
        check_directions(states, p, {"w": w, "x": x} if length else {"w": w}, rng)


def check_rules(folder, rng):
    x = rng.standard_normal((5, 9)).astype(np.float32)
    wide = x.astype(np.float64)
    slopes = np.cos(np.cumsum(wide, 1)) * wide
    expected = np.cumsum(slopes[:, ::-1], 1)[:, ::-1]
    np.testing.assert_allclose(call(folder, "ruled", ["ruled"], x=x)[0], expected, atol=1e-5)
    ids = np.array([3, 0, 3, 4])
    expected = 6 * wide * np.bincount(ids, minlength=5)[:, None]
    np.testing.assert_allclose(call(folder, "second", ["second"], x=x, ids=ids)[0], expected, atol=1e-4)


if __name__ == "__main__":
    main()
