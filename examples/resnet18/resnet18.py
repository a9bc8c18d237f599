"""The model of resnet18.tsr, written from its mathematics with NumPy alone.

The functions compute in the dtype of the weights. `cast` rounds what the program stores, where its
types say so: operands of convolutions and matmuls, and results of functions.
"""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import safetensors_io  # noqa: E402


def identity(x):
    return x


def windows(x, size, stride, pad, fill):
    """[B, Y, X, C] to [B, Y', X', C, size, size]: what each output position sees."""
    padded = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)), constant_values=fill)
    seen = np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(1, 2))
    return seen[:, ::stride, ::stride]


def conv2d(x, weight, stride=1):
    """[B, Y, X, C] with [size, size, C, N], padded so that only the stride makes the result smaller."""
    seen = windows(x, len(weight), stride, len(weight) // 2, 0)
    return np.tensordot(seen, weight, axes=((4, 5, 3), (0, 1, 2)))


def batchnorm(x, weights, name):
    """With the mean and the variance that training has left behind."""
    average, variance, scale, bias = (weights[f"{name}.{key}"] for key in ("average", "variance", "scale", "bias"))
    return (x - average) / np.sqrt(variance + np.asarray(1e-5, x.dtype)) * scale + bias


def relu(x):
    return np.maximum(x, 0)


def block(x, weights, cast):
    """Two convolutions beside the identity, or beside a convolution of 1 x 1 where the shape changes."""
    stride = 2 if "wskip" in weights else 1
    y = cast(relu(batchnorm(cast(conv2d(x, weights["w1"], stride)), weights, "n1")))
    y = cast(batchnorm(cast(conv2d(y, weights["w2"])), weights, "n2"))
    if "wskip" in weights:
        x = cast(batchnorm(cast(conv2d(x, weights["wskip"], 2)), weights, "nskip"))
    return cast(relu(y + x))


def classify(params, images, cast=identity):
    """[B, Y, X, 3] images to [B, classes] scores."""
    x = cast(relu(batchnorm(cast(conv2d(cast(images), params["stem"], 2)), params, "nstem")))
    x = windows(x, 3, 2, 1, -np.inf).max(axis=(-2, -1))
    for weights in safetensors_io.layers(params, "blocks"):
        x = block(x, weights, cast)
    return cast(cast(x.mean(axis=(1, 2))) @ params["head"] + params["bhead"])
