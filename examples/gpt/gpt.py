#!/usr/bin/env python3
"""The model of gpt.tsr, written from its mathematics with NumPy alone.

Usage: gpt.py WEIGHTS TEXT     (WEIGHTS: a safetensors file that `tsr init` wrote)

Prints the mean loss of the text's bytes, each predicted from those before it in its window.

The functions compute in the dtype of the weights. `cast` rounds what the program stores, where its
types say so: operands of matmuls and results of functions.
"""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import safetensors_io  # noqa: E402

HEAD = 64  # width of a head


def identity(x):
    return x


def layernorm(x, scale, bias):
    y = x - x.mean(axis=-1, keepdims=True)
    y /= np.sqrt(np.mean(y * y, axis=-1, keepdims=True) + np.asarray(1e-5, x.dtype))
    y *= scale
    y += bias
    return y


def gelu(x):
    """x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))), in the memory of two arrays."""
    y = x * x
    y *= x
    y *= np.asarray(0.044715, x.dtype)
    y += x
    y *= np.asarray(np.sqrt(2 / np.pi), x.dtype)
    np.tanh(y, out=y)
    y += 1
    y *= x
    y *= np.asarray(0.5, x.dtype)
    return y


def softmax(x):
    """Of each row, in place."""
    x -= x.max(axis=-1, keepdims=True)
    np.exp(x, out=x)
    x /= x.sum(axis=-1, keepdims=True)
    return x


def attention(x, weights, cast):
    """Each position looks at itself and those before it."""
    batch, length, width = x.shape
    qkv = x.reshape(-1, width) @ weights["wqkv"]
    qkv += weights["bqkv"]
    qkv = cast(qkv).reshape(batch, length, 3, width // HEAD, HEAD)
    q, k, v = (qkv[:, :, i].transpose(0, 2, 1, 3) for i in range(3))
    scores = q @ k.transpose(0, 1, 3, 2)
    scores *= np.asarray(1 / np.sqrt(HEAD), x.dtype)
    scores += np.triu(np.full((length, length), -np.inf, x.dtype), 1)
    mixed = cast(cast(softmax(scores)) @ v)
    out = mixed.transpose(0, 2, 1, 3).reshape(-1, width) @ weights["wo"]
    out += weights["bo"]
    return cast(out).reshape(x.shape)


def mlp(x, weights, cast):
    hidden = x.reshape(-1, x.shape[-1]) @ weights["w1"]
    hidden += weights["b1"]
    out = cast(gelu(hidden)) @ weights["w2"]
    out += weights["b2"]
    return cast(out).reshape(x.shape)


def block(x, weights, cast):
    x = x + attention(cast(layernorm(x, weights["g1"], weights["h1"])), weights, cast)
    return cast(x + mlp(cast(layernorm(x, weights["g2"], weights["h2"])), weights, cast))


def logits(params, tokens, cast=identity):
    """[B, S] bytes to [B, S, 256] scores of the byte that follows each."""
    x = cast(params["wte"][tokens] + params["wpe"][:tokens.shape[1]])
    for weights in safetensors_io.layers(params, "blocks"):
        x = block(x, weights, cast)
    x = cast(layernorm(x, params["g"], params["h"]))
    return cast(x @ params["wte"].T)


def loss(params, tokens, cast=identity):
    """The mean of -log p(byte | those before it) over all bytes of [B, S] but the first of each row."""
    scores = logits(params, tokens[:, :-1], cast)
    shifted = scores - scores.max(axis=-1, keepdims=True)
    log_sum = np.log(np.exp(shifted).sum(axis=-1))
    picked = np.take_along_axis(shifted, tokens[:, 1:, None].astype(np.int64), axis=-1)[..., 0]
    return np.mean(log_sum - picked)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    params = safetensors_io.load(sys.argv[1])
    text = np.fromfile(sys.argv[2], np.uint8)
    window = min(len(params["wpe"]) + 1, len(text))
    rows = text[:len(text) // window * window].reshape(-1, window)
    total = sum(float(loss(params, rows[i:i + 8])) * len(rows[i:i + 8]) for i in range(0, len(rows), 8))
    print(f"loss {total / len(rows):.6f} over {len(rows)} windows of {window} bytes")


if __name__ == "__main__":
    main()
