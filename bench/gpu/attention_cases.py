"""Cases of attention and of gated matmuls."""

import torch
import torch.nn.functional as functional
from torch.nn.attention import SDPBackend, sdpa_kernel

BF16 = 2.0**-8


def scores(q, k, how):
    """One head's scores in float64, and where they count."""
    s = q.double() @ k.double().mT / q.shape[-1]**0.5
    rows = torch.arange(s.shape[0], device=s.device)[:, None] + s.shape[1] - s.shape[0]
    columns = torch.arange(s.shape[1], device=s.device)[None, :]
    seen = torch.ones_like(s, dtype=torch.bool)
    if how.get("causal"):
        seen &= columns <= rows
    if how.get("window"):
        seen &= (columns - rows).abs() < how["window"]
    return s.masked_fill(~seen, -torch.inf)


def weights(s):
    """A row of which nothing is seen has weights of 0."""
    return torch.softmax(s, -1).nan_to_num(nan=0.0)


def by_heads(q, k, v, function):
    """function(q, k, v) of each head, whose keys it shares with its neighbours."""
    shared = q.shape[1] // k.shape[1]
    out = [[function(q[b, h], k[b, h // shared], v[b, h // shared]) for h in range(q.shape[1])]
           for b in range(q.shape[0])]
    return torch.stack([torch.stack(heads) for heads in out])


def exact_attention(how):
    def exact(q, k, v):
        return by_heads(q, k, v, lambda q, k, v: weights(scores(q, k, how)) @ v.double())
    return exact


def attention_bound(how):
    """The result and each weight are rounded to bf16; scores are sums in f32, and an error of a score is a relative
    error of its weight and of the sum."""
    def head(q, k, v):
        s = scores(q, k, how)
        sizes = q.double().abs() @ k.double().abs().mT / q.shape[-1]**0.5
        offs = q.shape[-1] * 2.0**-23 * sizes + 2.0**-21 * s.abs().nan_to_num(posinf=0.0)
        off = offs.max() if offs.numel() else 0.0
        p = weights(s)
        return (BF16 + 4 * off) * (p @ v.double().abs())

    def bound(result, q, k, v):
        return BF16 * result.abs() + by_heads(q, k, v, head)
    return bound


def peers_of(how):
    """PyTorch's kernels, where they compute the same."""
    if how.get("window"):
        return {}

    def peer(backend):
        def call(q, k, v, out):
            with sdpa_kernel(backend):
                return functional.scaled_dot_product_attention(q, k, v, is_causal=how.get("causal", False),
                                                               enable_gqa=q.shape[1] != k.shape[1])
        return call
    return {"flash": peer(SDPBackend.FLASH_ATTENTION), "cuDNN": peer(SDPBackend.CUDNN_ATTENTION)}


def attention_case(Case, entry, b, h, g, s, t, d, measured=False):
    how = {"any_depth": {"causal": True}, "plain": {}, "causal": {"causal": True},
           "grouped": {"causal": True}, "window": {"causal": True, "window": 150}, "near": {"window": 70}}[
               entry if entry == "any_depth" else entry.split("_")[0]]
    work = (0.5 if how.get("causal") else 1) * 4.0 * b * h * s * t * d / 1e12
    return Case(f"attention {entry} {b}x{h}/{g}x{s}x{t}x{d}", "attention", entry,
                ((b, h, s, d), (b, g, t, d), (b, g, t, d)), (b, h, s, d), exact_attention(how),
                attention_bound(how), peers_of(how) if measured else {}, work, "TFLOP/s")


# Rows and keys that fill tiles, end within one, are fewer than the other, and none at all.
LENGTHS = [(128, 128), (1, 1), (1, 300), (77, 130), (130, 77), (129, 127), (256, 384), (255, 513), (3, 0), (0, 3),
           (5, 1000)]
DEPTHS = [8, 24, 64, 72, 100, 128, 200, 256]


def checked_attention(Case):
    for s, t in LENGTHS:
        for entry in ("plain_64", "plain_128", "causal_64", "causal_128", "window_128", "near_64"):
            yield attention_case(Case, entry, 2, 3, 3, s, t, int(entry.split("_")[1]))
        yield attention_case(Case, "grouped_128", 2, 8, 2, s, t, 128)
    for d in DEPTHS:
        yield attention_case(Case, "any_depth", 2, 2, 2, 77, 130, d)
        yield attention_case(Case, "any_depth", 1, 3, 3, 200, 200, d)


def measured_attention(Case):
    for entry, d in (("plain_128", 128), ("causal_128", 128), ("plain_64", 64), ("causal_64", 64)):
        yield attention_case(Case, entry, 4, 16, 16, 4096, 4096, d, measured=True)
    yield attention_case(Case, "grouped_128", 8, 8, 2, 4096, 4096, 128, measured=True)


def exact_gated(x, gate, up):
    x = x.double()
    return functional.silu(x @ gate.double()) * (x @ up.double())


def gated_bound(result, x, gate, up):
    """Sums in f32 of k products; silu changes by at most 1.1 times what its argument does."""
    x, gate, up = x.double(), gate.double(), up.double()
    off = max(x.shape[1], 1) * 2.0**-23
    g, u = x @ gate, x @ up
    sizes_g, sizes_u = x.abs() @ gate.abs(), x.abs() @ up.abs()
    return BF16 * result.abs() + off * (1.2 * sizes_g * u.abs() + functional.silu(g).abs()
                                        * sizes_u) + 2.0**-20 * u.abs()


def gated_case(Case, m, n, k, measured=False):
    def peer(x, gate, up, out):
        return functional.silu(x @ gate) * (x @ up)
    return Case(f"gated {m}x{n}x{k}", "gated", "silu_gated", ((m, k), (k, n), (k, n)), (m, n), exact_gated, gated_bound,
                {"cuBLAS, twice": peer} if measured else {}, 4.0 * m * n * k / 1e12, "TFLOP/s")


GATED_SIZES = [(1, 1, 1), (1, 8, 16), (64, 64, 64), (127, 129, 63), (128, 128, 64), (129, 257, 65), (128, 256, 72),
               (255, 520, 136), (41, 1000, 7), (2048, 2056, 520), (0, 8, 8), (8, 0, 8), (8, 8, 0)]


def checked_gated(Case):
    for size in GATED_SIZES:
        yield gated_case(Case, *size)


def measured_gated(Case):
    yield gated_case(Case, 4096, 4096, 4096, measured=True)
