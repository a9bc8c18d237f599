"""The rows of families.tsr: sizes spread over orders of magnitude, odd ones among them, beside PyTorch's best."""

import dataclasses

import torch
import torch.nn.functional as functional
from torch.nn.attention import SDPBackend, sdpa_kernel

BF16, F16, F32, I64, I8, U8 = torch.bfloat16, torch.float16, torch.float32, torch.int64, torch.int8, torch.uint8


@dataclasses.dataclass(frozen=True)
class Row:
    """An entry with sizes. `inputs` are (shape, dtype) or (shape, dtype, greatest integer); `peers` take the inputs.

    `exact` computes the same of inputs in f64; `work` counts operations (of `FLOP/s`) or bytes.
    """

    family: str
    name: str
    entry: str
    inputs: tuple
    output: tuple
    peers: dict
    exact: callable
    work: float
    unit: str = "FLOP/s"
    tolerance: float = 1e-2  # of the norm of the result


def compiled(function):
    return torch.compile(function, dynamic=False)


def both(function):
    """PyTorch's kernels one by one, and fused."""
    return {"torch": function, "torch.compile": compiled(function)}


def gemms():
    def row(entry, label, function, left, right, output, flops, dtype=BF16):
        return Row("gemm", f"{entry} {label}", entry, ((left, dtype), (right, dtype)), (output, dtype),
                   {"cuBLAS": function}, function, flops)

    sizes = [(4096, 4096, 4096), (8192, 8192, 8192), (8192, 8192, 512), (16384, 1024, 256), (1024, 1024, 1024),
             (512, 512, 512), (1, 4096, 4096), (8, 11008, 4096), (16, 4096, 11008), (48, 4096, 4096), (128, 8192, 8192),
             (1111, 2222, 3333), (4095, 4095, 4095), (300, 50257, 768), (20000, 64, 64), (64, 64, 65536)]
    for m, n, k in sizes:
        flops = 2.0 * m * n * k
        yield row("gemm_kn", f"{m}x{n}x{k}", lambda a, b: a @ b, (m, k), (k, n), (m, n), flops)
        yield row("gemm_nk", f"{m}x{n}x{k}", lambda a, b: a @ b.T, (m, k), (n, k), (m, n), flops)
    for m, n, k in [(4096, 4096, 4096), (768, 3072, 16384), (1000, 777, 555)]:
        yield row("gemm_km", f"{m}x{n}x{k}", lambda a, b: a.T @ b, (k, m), (k, n), (m, n), 2.0 * m * n * k)
    for m, n, k in [(4096, 4096, 4096), (32, 4096, 4096)]:
        yield row("gemm_f16", f"{m}x{n}x{k}", lambda a, b: a @ b.T, (m, k), (n, k), (m, n), 2.0 * m * n * k, F16)
    for m, n, k in [(2048, 2048, 2048), (4096, 4096, 4096), (1000, 1000, 1000), (16, 4096, 4096)]:
        yield row("gemm_f32", f"{m}x{n}x{k}", lambda a, b: a @ b, (m, k), (k, n), (m, n), 2.0 * m * n * k, F32)
    for b, m, n, k in [(64, 512, 512, 512), (16, 1000, 1000, 64), (512, 128, 128, 64), (8, 1, 4096, 4096)]:
        yield row("gemm_batched", f"{b}x{m}x{n}x{k}", lambda x, y: x @ y, (b, m, k), (b, k, n), (b, m, n),
                  2.0 * b * m * n * k)


def weights():
    for m in (1, 8, 16, 64):
        def i8(x, q, s):
            return ((x @ q.to(x.dtype)) * s).to(x.dtype)

        def i4(x, q, s):
            low, high = (q.to(torch.int8) << 4) >> 4, q.to(torch.int8) >> 4
            w = torch.stack((low, high), 1).reshape(8192, -1).to(x.dtype)
            return ((x @ w) * s).to(x.dtype)

        ready = torch.randn(8192, 8192, device="cuda", dtype=BF16)
        peers = {"cuBLAS bf16": lambda x, q, s, w=ready: x @ w}
        flops = 2.0 * m * 8192 * 8192
        x, scales = ((m, 8192), BF16), ((8192,), F32)
        yield Row("weights", f"i8 {m}x8192x8192", "weights_i8", (x, ((8192, 8192), I8, 127), scales), x, peers, i8,
                  flops)
        yield Row("weights", f"i4 {m}x8192x8192", "weights_i4", (x, ((4096, 8192), U8, 255), scales), x, peers, i4,
                  flops)


def epilogues():
    for m, n, k in [(4096, 4096, 1024), (8192, 3072, 768), (1000, 3001, 777), (16, 4096, 4096)]:
        flops = 2.0 * m * n * k
        for entry, right, extra, function in (
            ("bias_gelu", (n, k), (n,), lambda x, w, b: functional.gelu(x @ w.T + b, approximate="tanh")),
            ("residual_add", (k, n), (m, n), lambda x, w, r: r + x @ w),
            ("scaled_relu", (k, n), (n,), lambda x, w, s: torch.relu((x @ w) * s)),
        ):
            yield Row("epilogues", f"{entry} {m}x{n}x{k}", entry, (((m, k), BF16), (right, BF16), (extra, BF16)),
                      ((m, n), BF16), {"torch.compile": compiled(function)}, function, flops)
        yield Row("epilogues", f"row_sums {m}x{n}x{k}", "row_sums", (((m, k), BF16), ((k, n), BF16)), ((m,), BF16),
                  {"torch.compile": compiled(lambda x, w: (x @ w).sum(1))}, lambda x, w: (x @ w).sum(1), flops)


def sdpa(backend, **how):
    def call(q, k, v, *mask):
        with sdpa_kernel(backend):
            return functional.scaled_dot_product_attention(
                q, k, v, attn_mask=mask[0] if mask else None, enable_gqa=q.shape[1] != k.shape[1], **how)
    return call


def exact_attention(causal):
    def exact(q, k, v, *bias):
        k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
        parts = []
        for b in range(q.shape[0]):  # in f64 the scores of a whole batch would be large
            for h in range(q.shape[1]):
                s = q[b, h] @ k[b, h].T * q.shape[-1] ** -0.5
                if bias:
                    s = s + bias[0]
                if causal:
                    s = s.masked_fill(torch.ones_like(s, dtype=torch.bool).triu(1), float("-inf"))
                parts.append(torch.softmax(s, -1) @ v[b, h])
        return torch.stack(parts).reshape(q.shape[:-1] + v.shape[-1:])
    return exact


def attention_row(family, entry, b, h, g, s, t, d, causal=False, bias=False):
    peers = {"cuDNN": sdpa(SDPBackend.CUDNN_ATTENTION, is_causal=causal)}
    if not bias and d <= 256:
        peers["flash"] = sdpa(SDPBackend.FLASH_ATTENTION, is_causal=causal)
    inputs = (((b, h, s, d), BF16), ((b, g, t, d), BF16), ((b, g, t, d), BF16)) + ((((s, t), BF16),) if bias else ())
    name = f"{entry} {b}x{h}x{s}x{t}"
    if family == "decode":
        return Row(family, name, entry, inputs, ((b, h, s, d), BF16), peers, exact_attention(causal),
                   2.0 * 2 * b * g * t * d, "B/s")
    return Row(family, name, entry, inputs, ((b, h, s, d), BF16), peers, exact_attention(causal),
               (0.5 if causal else 1.0) * 4.0 * b * h * s * t * d)


def attentions():
    for s, b, h in [(512, 16, 16), (2000, 4, 16), (4096, 2, 16), (16384, 1, 4)]:
        for entry, d in (("attention_96", 96), ("attention_128", 128), ("attention_192", 192), ("attention_256", 256)):
            yield attention_row("attention", entry, b, h, h, s, s, d)
        yield attention_row("attention", "causal_64", b, h, h, s, s, 64, causal=True)
        yield attention_row("attention", "causal_256", b, h, h, s, s, 256, causal=True)
    yield attention_row("attention", "biased_64", 4, 16, 16, 1024, 1024, 64, bias=True)
    yield attention_row("attention", "attention_128", 2, 8, 8, 130, 77, 128)


def decodes():
    for b, s, t in [(1, 1, 2048), (1, 1, 32768), (1, 1, 131072), (16, 1, 4096), (64, 1, 2048), (8, 1, 30001),
                    (16, 4, 8192),
                    (4, 8, 5000)]:
        yield attention_row("decode", "decode_128", b, 32, 8, s, t, 128)


ROW_SIZES = [(16384, 4096), (4096, 1024), (1, 8192), (65536, 128), (2048, 32000), (333, 5001), (128, 768)]


def rows():
    for m, n in ROW_SIZES:
        x, line = ((m, n), BF16), ((n,), BF16)
        moved = 2.0 * m * n

        def row(entry, inputs, function, parts):
            return Row("rows", f"{entry} {m}x{n}", entry, inputs, x, both(function), function, parts * moved, "B/s")

        yield row("rms_rows", (x, line), lambda x, g, n=n: functional.rms_norm(x, (n,), g, 1e-6), 2)
        yield row("layer_rows", (x, line, line), lambda x, g, b, n=n: functional.layer_norm(x, (n,), g, b), 2)
        yield row("softmax_rows", (x,), lambda x: torch.softmax(x, -1), 2)
        yield row("add_rms_rows", (x, x, line), lambda x, r, g, n=n: functional.rms_norm(x + r, (n,), g, 1e-6), 3)
        yield row("silu_times", (x, x), lambda x, y: functional.silu(x) * y, 3)
        entropy = lambda x, t: functional.cross_entropy(x if x.dtype == torch.float64 else x.float(), t)
        yield Row("rows", f"loss {m}x{n}", "loss", (x, ((m,), I64, n - 1)), ((), F32), both(entropy), entropy, moved,
                  "B/s")


def reductions():
    for m, n in [(65536, 1024), (1000, 100000), (4096, 4096), (1024, 768), (1000000, 16), (3, 500000), (20000, 333),
                 (77, 99)]:
        x = ((m, n), BF16)
        for entry, output, function in (
            ("sum_all", (), lambda x: x.sum()), ("sum_columns", (n,), lambda x: x.sum(0)),
            ("sum_rows", (m,), lambda x: x.sum(1)),
        ):
            yield Row("reductions", f"{entry} {m}x{n}", entry, (x,), (output, BF16), both(function), function,
                      2.0 * m * n, "B/s", 2e-2)
        yield Row("reductions", f"argmax_rows {m}x{n}", "argmax_rows", (x,), ((m,), I64), both(lambda x: x.argmax(1)),
                  None, 2.0 * m * n, "B/s")
    for b, m, n in [(64, 1024, 256), (3, 5000, 777)]:
        yield Row("reductions", f"sum_outer {b}x{m}x{n}", "sum_outer", (((b, m, n), BF16),), ((m,), BF16),
                  both(lambda x: x.sum((0, 2))), lambda x: x.sum((0, 2)), 2.0 * b * m * n, "B/s", 2e-2)


def orders():
    for m, n in [(4096, 1024), (100, 10000), (1, 1000000), (16384, 100)]:
        x = ((m, n), F32)
        moved = 8.0 * m * n
        yield Row("order", f"cumsum_rows {m}x{n}", "cumsum_rows", (x,), x, {"torch": lambda x: x.cumsum(1)},
                  lambda x: x.cumsum(1), moved, "B/s")
        yield Row("order", f"sort_rows {m}x{n}", "sort_rows", (x,), x, {"torch": lambda x: x.sort(1)[0]},
                  lambda x: x.sort(1)[0], moved, "B/s")
        yield Row("order", f"top_8 {m}x{n}", "top_8", (x,), ((m, 8), F32), {"torch": lambda x: x.topk(8)[0]},
                  lambda x: x.topk(8)[0], moved / 2, "B/s")
    for m, n in [(8192, 8192), (1000, 33333), (100000, 60)]:
        yield Row("order", f"transposed {m}x{n}", "transposed", (((m, n), BF16),), ((n, m), BF16),
                  both(lambda x: x.T.contiguous()), lambda x: x.T, 4.0 * m * n, "B/s")
    for b, s, h, d in [(8, 2048, 16, 128)]:
        yield Row("order", f"heads_apart {b}x{s}x{h}x{d}", "heads_apart", (((b, s, h, d), BF16),), ((b, h, s, d), BF16),
                  both(lambda x: x.transpose(1, 2).contiguous()), lambda x: x.transpose(1, 2), 4.0 * b * s * h * d,
                  "B/s")
    for v, n, m in [(50257, 768, 16384), (1000000, 64, 100000), (30000, 1000, 333)]:
        pick = lambda x, ids: x[ids]
        yield Row("order", f"gather_rows {v}x{n} {m}", "gather_rows", (((v, n), BF16), ((m,), I64, v - 1)),
                  ((m, n), BF16), both(pick), pick, 4.0 * m * n, "B/s")
    for v, n, m in [(50257, 768, 16384), (10000, 64, 100000)]:
        add = lambda x, ids, y: x.index_add(0, ids, y)
        yield Row("order", f"scatter_rows {v}x{n} {m}", "scatter_rows",
                  (((v, n), F32), ((m,), I64, v - 1), ((m, n), F32)), ((v, n), F32), both(add), add,
                  4.0 * (2 * v * n + m * n), "B/s")


def convolutions():
    def image(x, w, **how):
        y = functional.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), **how)
        return y.permute(0, 2, 3, 1)

    def row(entry, x, w, output, **how):
        b, h, wide, n = output
        flops = 2.0 * b * h * wide * n * w[0] * w[1] * w[2]
        function = lambda x, w: image(x, w, **how)
        return Row("convolutions", f"{entry} {'x'.join(map(str, x))} {n}", entry, ((x, BF16), (w, BF16)),
                   (output, BF16), {"cuDNN": function}, function, flops)

    for b, size, c, n in [(32, 56, 64, 64), (32, 28, 128, 128), (32, 14, 256, 256), (32, 7, 512, 512),
                          (4, 128, 320, 320), (1, 33, 96, 200)]:
        yield row("conv_3x3", (b, size, size, c), (3, 3, c, n), (b, size, size, n), padding=1)
    for b, size, c, n in [(32, 56, 128, 128), (8, 64, 320, 640)]:
        half = (size - 1) // 2 + 1
        yield row("conv_3x3_by_2", (b, size, size, c), (3, 3, c, n), (b, half, half, n), padding=1, stride=2)
    for b, size, c, n in [(32, 56, 64, 256), (32, 14, 1024, 256), (32, 7, 512, 2048)]:
        yield row("conv_1x1", (b, size, size, c), (1, 1, c, n), (b, size, size, n))
    yield row("conv_7x7", (32, 224, 224, 3), (7, 7, 3, 64), (32, 112, 112, 64), padding=3, stride=2)
    for b, size, c in [(32, 112, 32), (32, 14, 512)]:
        yield row("conv_depthwise", (b, size, size, c), (3, 3, 1, c), (b, size, size, c), padding=1, groups=c)

    def line(x, w):
        return functional.conv1d(x.transpose(1, 2), w.permute(2, 1, 0), padding=2).transpose(1, 2)

    yield Row("convolutions", "conv_line 16x3000x256 256", "conv_line",
              (((16, 3000, 256), BF16), ((5, 256, 256), BF16)),
              ((16, 3000, 256), BF16), {"cuDNN": line}, line, 2.0 * 16 * 3000 * 256 * 256 * 5)

    def space(x, w):
        return functional.conv3d(x.permute(0, 4, 1, 2, 3), w.permute(4, 3, 0, 1, 2), padding=1).permute(0, 2, 3, 4, 1)

    yield Row("convolutions", "conv_space 2x16x32x32x64 64", "conv_space",
              (((2, 16, 32, 32, 64), BF16), ((3, 3, 3, 64, 64), BF16)), ((2, 16, 32, 32, 64), BF16), {"cuDNN": space},
              space, 2.0 * 2 * 16 * 32 * 32 * 64 * 64 * 27)


FAMILIES = {"gemm": gemms, "weights": weights, "epilogues": epilogues, "attention": attentions, "decode": decodes,
            "rows": rows, "reductions": reductions, "order": orders, "convolutions": convolutions}
