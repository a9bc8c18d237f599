#!/usr/bin/env python3
"""The model of llama.tsr, written from its mathematics with NumPy alone.

Usage: llama.py WEIGHTS PROMPT [COUNT]     (WEIGHTS: a safetensors file that `tsr init` wrote)

Prints COUNT bytes (128 if not given) that follow the prompt, each the most likely one.

The functions compute in the dtype of the weights. `cast` rounds what the program stores, where its
types say so: operands of matmuls and results of functions.
"""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import safetensors_io  # noqa: E402

HEAD = 64  # width of a head
BASE = 10000.0  # of the rotary frequencies


def identity(x):
    return x


def rmsnorm(x, scale):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + np.asarray(1e-5, x.dtype)) * scale


def silu(x):
    return x / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def rotary(x, first):
    """Rotates each pair (x[i], x[i + HEAD/2]) of a head by its position times a frequency."""
    half = HEAD // 2
    frequencies = BASE ** (-np.arange(half) / half)
    angles = np.arange(first, first + x.shape[2])[:, None] * frequencies
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate((a * cos - b * sin, b * cos + a * sin), axis=-1)


def split_heads(x, batch):
    """[batch * S, heads * HEAD] to [batch, heads, S, HEAD]."""
    return x.reshape(batch, -1, x.shape[-1] // HEAD, HEAD).transpose(0, 2, 1, 3)


class Cache:
    """The keys and values of one layer, [batch, kv heads, S, HEAD] each."""

    def __init__(self):
        self.keys = self.values = None

    def append(self, keys, values):
        if self.keys is not None:
            keys = np.concatenate((self.keys, keys), axis=2)
            values = np.concatenate((self.values, values), axis=2)
        self.keys, self.values = keys, values

    def length(self):
        return 0 if self.keys is None else self.keys.shape[2]


def attention(x, weights, cache, cast):
    """Each new position looks at itself and all before it; groups of heads share keys and values."""
    batch, length, width = x.shape
    first = cache.length()
    rows = x.reshape(-1, width)
    q, k, v = (split_heads(cast(rows @ weights[name]), batch) for name in ("wq", "wk", "wv"))
    q = cast(rotary(q, first))
    cache.append(cast(rotary(k, first)), v)
    group = q.shape[1] // k.shape[1]
    keys, values = (np.repeat(t, group, axis=1) for t in (cache.keys, cache.values))
    scores = q @ keys.transpose(0, 1, 3, 2) * np.asarray(1 / np.sqrt(HEAD), x.dtype)
    scores += np.triu(np.full((length, first + length), -np.inf, x.dtype), first + 1)
    mixed = cast(cast(softmax(scores)) @ values)
    return cast(mixed.transpose(0, 2, 1, 3).reshape(len(rows), -1) @ weights["wo"]).reshape(x.shape)


def mlp(x, weights, cast):
    rows = x.reshape(-1, x.shape[-1])
    hidden = cast(silu(rows @ weights["wg"]) * (rows @ weights["wu"]))
    return cast(hidden @ weights["wd"]).reshape(x.shape)


def logits(params, tokens, caches=None, cast=identity):
    """Scores of the byte after each of [B, S] bytes that follow those in `caches`."""
    blocks = safetensors_io.layers(params, "blocks")
    caches = caches or [Cache() for _ in blocks]
    x = params["embed"][tokens]
    for weights, cache in zip(blocks, caches):
        x = x + attention(cast(rmsnorm(x, weights["g1"])), weights, cache, cast)
        x = cast(x + mlp(cast(rmsnorm(x, weights["g2"])), weights, cast))
    return cast(cast(rmsnorm(x, params["g"])) @ params["head"])


def generate(params, prompt, count):
    """The most likely `count` bytes after [S] bytes, one at a time."""
    caches = [Cache() for _ in safetensors_io.layers(params, "blocks")]
    scores = logits(params, prompt[None], caches)[0, -1]
    for _ in range(count):
        byte = int(np.argmax(scores))
        yield byte
        scores = logits(params, np.array([[byte]]), caches)[0, -1]


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    params = safetensors_io.load(sys.argv[1])
    prompt = np.frombuffer(sys.argv[2].encode(), np.uint8)
    count = int(sys.argv[3]) if len(sys.argv) == 4 else 128
    sys.stdout.buffer.write(bytes(generate(params, prompt, count)) + b"\n")


if __name__ == "__main__":
    main()
