"""The model of vit.tsr, written from its mathematics with NumPy alone.

The functions compute in the dtype of the weights. `cast` rounds what the program stores, where its
types say so: operands of matmuls and results of functions.
"""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import safetensors_io  # noqa: E402

HEAD = 64  # width of a head
PATCH = 16  # side of a patch


def identity(x):
    return x


def layernorm(x, scale, bias):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = np.mean(centred * centred, axis=-1, keepdims=True)
    return centred / np.sqrt(variance + np.asarray(1e-6, x.dtype)) * scale + bias


def gelu(x):
    return x / 2 * (1 + np.tanh(np.asarray(np.sqrt(2 / np.pi), x.dtype) * (x + np.asarray(0.044715, x.dtype) * x**3)))


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def patches(images):
    """[B, Y, X, 3] to [B, Y/PATCH * X/PATCH, PATCH * PATCH * 3], row after row of patches."""
    batch, height, width, channels = images.shape
    grid = images.reshape(batch, height // PATCH, PATCH, width // PATCH, PATCH, channels)
    return grid.transpose(0, 1, 3, 2, 4, 5).reshape(batch, -1, PATCH * PATCH * channels)


def attention(x, weights, cast):
    batch, length, width = x.shape
    qkv = cast(x @ weights["wqkv"] + weights["bqkv"]).reshape(batch, length, 3, width // HEAD, HEAD)
    q, k, v = (qkv[:, :, i].transpose(0, 2, 1, 3) for i in range(3))
    scores = q @ k.transpose(0, 1, 3, 2) * np.asarray(1 / np.sqrt(HEAD), x.dtype)
    mixed = cast(cast(softmax(scores)) @ v).transpose(0, 2, 1, 3).reshape(x.shape)
    return cast(mixed @ weights["wo"] + weights["bo"])


def block(x, weights, cast):
    x = x + attention(cast(layernorm(x, weights["g1"], weights["h1"])), weights, cast)
    hidden = cast(gelu(cast(layernorm(x, weights["g2"], weights["h2"])) @ weights["w1"] + weights["b1"]))
    return cast(x + cast(hidden @ weights["w2"] + weights["b2"]))


def classify(params, images, cast=identity):
    """[B, Y, X, 3] images to [B, classes] scores, from the class token of the last layer."""
    x = cast(patches(cast(images)) @ params["wpatch"] + params["bpatch"])
    token = np.broadcast_to(params["token"], (len(x), 1, x.shape[-1]))
    x = cast(np.concatenate((token, x), axis=1) + params["position"])
    for weights in safetensors_io.layers(params, "blocks"):
        x = block(x, weights, cast)
    return cast(cast(layernorm(x[:, 0], params["g"], params["h"])) @ params["head"] + params["bhead"])
