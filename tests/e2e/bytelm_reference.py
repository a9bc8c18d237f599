"""The model of examples/bytelm, written from its mathematics with NumPy alone."""
import numpy as np

CONTEXT = 16


def rmsnorm(x, scale, eps=1e-6):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + np.asarray(eps, x.dtype)) * scale


def gelu(x):
    inner = np.asarray(np.sqrt(2 / np.pi), x.dtype) * (x + np.asarray(0.044715, x.dtype) * x * x * x)
    return np.asarray(0.5, x.dtype) * x * (1 + np.tanh(inner))


def logits(params, context):
    """[B, 16] bytes to [B, 256] scores, in the dtype of the parameters."""
    x = params["table"][context].reshape(len(context), -1)
    h = gelu(rmsnorm(x @ params["w1"], params["g1"]))
    h = gelu(rmsnorm(h @ params["w2"], params["g2"]))
    return h @ params["w3"] + params["b3"]


def loss(params, tokens):
    """The mean of -log p(last byte | the 16 before it) over [B, 17] bytes."""
    scores = logits(params, tokens[:, :CONTEXT])
    shifted = scores - scores.max(axis=-1, keepdims=True)
    log_sum = np.log(np.exp(shifted).sum(axis=-1))
    picked = shifted[np.arange(len(tokens)), tokens[:, CONTEXT]]
    return np.mean(log_sum - picked)
