"""The rows of families.tsr: sizes spread over orders of magnitude, odd ones among them, beside PyTorch's best.

A group has entries of one kind, the sizes that were chosen for them, and how others are drawn."""

import dataclasses
import math

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


@dataclasses.dataclass(frozen=True)
class Group:
    """Entries whose rows are made of the same sizes: `make(entry, *size)`."""

    family: str
    entries: tuple
    make: callable
    sizes: list
    draw: callable  # of random.Random; gives a size


def drawn(*ranges, most=math.inf):
    """How sizes between (low, high) are drawn: even in their logarithms, some as multiples of 8 or 64. A range may be a
    tuple of more numbers, one of which is taken. The product is at most `most`."""

    def one(random, of):
        if len(of) != 2:
            return random.choice(of)
        size = round(math.exp(random.uniform(*map(math.log, of))))
        step = random.choice((1, 8, 64, 64))
        return max(size // step * step, min(size, step))

    def draw(random):
        while True:
            sizes = tuple(one(random, of) for of in ranges)
            if math.prod(sizes) <= most:
                return sizes

    return draw


MATMULS = {"gemm_kn": (lambda a, b: a @ b, BF16), "gemm_nk": (lambda a, b: a @ b.T, BF16),
           "gemm_km": (lambda a, b: a.T @ b, BF16), "gemm_f16": (lambda a, b: a @ b.T, F16),
           "gemm_f32": (lambda a, b: a @ b, F32)}


def matmul(entry, m, n, k):
    function, dtype = MATMULS[entry]
    left, right = (k, m) if entry == "gemm_km" else (m, k), (n, k) if entry in ("gemm_nk", "gemm_f16") else (k, n)
    return Row("gemm", f"{entry} {m}x{n}x{k}", entry, ((left, dtype), (right, dtype)), ((m, n), dtype),
               {"cuBLAS": function}, function, 2.0 * m * n * k)


def batched_matmul(entry, b, m, n, k):
    function = lambda x, y: x @ y
    return Row("gemm", f"{entry} {b}x{m}x{n}x{k}", entry, (((b, m, k), BF16), ((b, k, n), BF16)), ((b, m, n), BF16),
               {"cuBLAS": function}, function, 2.0 * b * m * n * k)


def gemms():
    sizes = [(4096, 4096, 4096), (8192, 8192, 8192), (8192, 8192, 512), (16384, 1024, 256), (1024, 1024, 1024),
             (512, 512, 512), (1, 4096, 4096), (8, 11008, 4096), (16, 4096, 11008), (48, 4096, 4096), (128, 8192, 8192),
             (1111, 2222, 3333), (4095, 4095, 4095), (300, 50257, 768), (20000, 64, 64), (64, 64, 65536)]
    draw = drawn((1, 16384), (16, 16384), (16, 16384), most=2**37)
    yield Group("gemm", ("gemm_kn", "gemm_nk"), matmul, sizes, draw)
    yield Group("gemm", ("gemm_km",), matmul, [(4096, 4096, 4096), (768, 3072, 16384), (1000, 777, 555)], draw)
    yield Group("gemm", ("gemm_f16",), matmul, [(4096, 4096, 4096), (32, 4096, 4096)], draw)
    yield Group("gemm", ("gemm_f32",), matmul,
                [(2048, 2048, 2048), (4096, 4096, 4096), (1000, 1000, 1000), (16, 4096, 4096)],
                drawn((1, 8192), (16, 8192), (16, 8192), most=2**34))
    yield Group("gemm", ("gemm_batched",), batched_matmul,
                [(64, 512, 512, 512), (16, 1000, 1000, 64), (512, 128, 128, 64), (8, 1, 4096, 4096)],
                drawn((2, 512), (1, 4096), (16, 4096), (16, 4096), most=2**36))


def with_i8(x, q, s):
    return ((x @ q.to(x.dtype)) * s).to(x.dtype)


def with_i4(x, q, s):
    low, high = (q.to(torch.int8) << 4) >> 4, q.to(torch.int8) >> 4
    w = torch.stack((low, high), 1).reshape(x.shape[1], -1).to(x.dtype)
    return ((x @ w) * s).to(x.dtype)


def weight_matmul(entry, m, n):
    k = 8192
    ready = []

    def cublas(x, q, s):
        if not ready:
            ready.append(torch.randn(k, n, device="cuda", dtype=BF16))
        return x @ ready[0]

    packed, exact = (((k, n), I8, 127), with_i8) if entry == "weights_i8" else (((k // 2, n), U8, 255), with_i4)
    return Row("weights", f"{entry} {m}x{n}x{k}", entry, (((m, k), BF16), packed, ((n,), F32)), ((m, n), BF16),
               {"cuBLAS bf16": cublas}, exact, 2.0 * m * n * k)


def weights():
    yield Group("weights", ("weights_i8", "weights_i4"), weight_matmul, [(m, 8192) for m in (1, 8, 16, 64)],
                drawn((1, 64), (1024, 16384)))


def epilogue(entry, m, n, k):
    right, extra, function = {
        "bias_gelu": ((n, k), (n,), lambda x, w, b: functional.gelu(x @ w.T + b, approximate="tanh")),
        "residual_add": ((k, n), (m, n), lambda x, w, r: r + x @ w),
        "scaled_relu": ((k, n), (n,), lambda x, w, s: torch.relu((x @ w) * s)),
        "row_sums": ((k, n), None, lambda x, w: (x @ w).sum(1)),
    }[entry]
    inputs = (((m, k), BF16), (right, BF16)) + (((extra, BF16),) if extra else ())
    return Row("epilogues", f"{entry} {m}x{n}x{k}", entry, inputs, ((m, n) if extra else (m,), BF16),
               {"torch.compile": compiled(function)}, function, 2.0 * m * n * k)


def epilogues():
    yield Group("epilogues", ("bias_gelu", "residual_add", "scaled_relu", "row_sums"), epilogue,
                [(4096, 4096, 1024), (8192, 3072, 768), (1000, 3001, 777), (16, 4096, 4096)],
                drawn((1, 16384), (64, 16384), (64, 8192), most=2**36))


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


def attention(entry, b, h, s, t):
    kind, d = entry.split("_")
    return attention_row("attention", entry, b, h, h, s, t, int(d), kind == "causal", kind == "biased")


def decode(entry, b, s, t):
    return attention_row("decode", entry, b, 32, 8, s, t, 128)


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
    square = lambda random: (lambda b, h, s: (b, h, s, s))(
        *drawn((1, 32), (2, 4, 8, 12, 16, 32), (64, 16384), most=2**17)(random))
    yield Group("attention", ("attention_96", "attention_128", "attention_192", "attention_256", "causal_64",
                              "causal_256"), attention,
                [(16, 16, 512, 512), (4, 16, 2000, 2000), (2, 16, 4096, 4096), (1, 4, 16384, 16384)], square)
    yield Group("attention", ("biased_64",), attention, [(4, 16, 1024, 1024)], square)
    yield Group("attention", ("attention_128",), attention, [(2, 8, 130, 77)],
                drawn((1, 8), (2, 4, 8, 12, 16, 32), (64, 4096), (64, 16384), most=2**28))


def decodes():
    yield Group("decode", ("decode_128",), decode,
                [(1, 1, 2048), (1, 1, 32768), (1, 1, 131072), (16, 1, 4096), (64, 1, 2048), (8, 1, 30001),
                 (16, 4, 8192), (4, 8, 5000)],
                drawn((1, 64), (1, 1, 1, 2, 4, 8), (256, 131072), most=2**19))


def entropy(x, t):
    return functional.cross_entropy(x if x.dtype == torch.float64 else x.float(), t)


def row_wise(entry, m, n):
    x, line = ((m, n), BF16), ((n,), BF16)
    moved = 2.0 * m * n
    if entry == "loss":
        return Row("rows", f"loss {m}x{n}", "loss", (x, ((m,), I64, n - 1)), ((), F32), both(entropy), entropy, moved,
                   "B/s")
    inputs, function, parts = {
        "rms_rows": ((x, line), lambda x, g: functional.rms_norm(x, (n,), g, 1e-6), 2),
        "layer_rows": ((x, line, line), lambda x, g, b: functional.layer_norm(x, (n,), g, b), 2),
        "softmax_rows": ((x,), lambda x: torch.softmax(x, -1), 2),
        "add_rms_rows": ((x, x, line), lambda x, r, g: functional.rms_norm(x + r, (n,), g, 1e-6), 3),
        "silu_times": ((x, x), lambda x, y: functional.silu(x) * y, 3),
    }[entry]
    return Row("rows", f"{entry} {m}x{n}", entry, inputs, x, both(function), function, parts * moved, "B/s")


def rows():
    yield Group("rows", ("rms_rows", "layer_rows", "softmax_rows", "add_rms_rows", "silu_times", "loss"), row_wise,
                [(16384, 4096), (4096, 1024), (1, 8192), (65536, 128), (2048, 32000), (333, 5001), (128, 768)],
                drawn((1, 100000), (32, 100000), most=2**27))


def reduction(entry, m, n):
    x = ((m, n), BF16)
    if entry == "argmax_rows":
        return Row("reductions", f"{entry} {m}x{n}", entry, (x,), ((m,), I64), both(lambda x: x.argmax(1)), None,
                   2.0 * m * n, "B/s")
    output, function = {"sum_all": ((), lambda x: x.sum()), "sum_columns": ((n,), lambda x: x.sum(0)),
                        "sum_rows": ((m,), lambda x: x.sum(1))}[entry]
    return Row("reductions", f"{entry} {m}x{n}", entry, (x,), (output, BF16), both(function), function, 2.0 * m * n,
               "B/s", 2e-2)


def outer_reduction(entry, b, m, n):
    function = lambda x: x.sum((0, 2))
    return Row("reductions", f"{entry} {b}x{m}x{n}", entry, (((b, m, n), BF16),), ((m,), BF16), both(function),
               function, 2.0 * b * m * n, "B/s", 2e-2)


def reductions():
    yield Group("reductions", ("sum_all", "sum_columns", "sum_rows", "argmax_rows"), reduction,
                [(65536, 1024), (1000, 100000), (4096, 4096), (1024, 768), (1000000, 16), (3, 500000), (20000, 333),
                 (77, 99)], drawn((1, 1000000), (2, 1000000), most=2**27))
    yield Group("reductions", ("sum_outer",), outer_reduction, [(64, 1024, 256), (3, 5000, 777)],
                drawn((2, 1000), (2, 10000), (2, 10000), most=2**27))


def ordered(entry, m, n):
    x, moved = ((m, n), F32), 8.0 * m * n
    if entry == "top_8":
        return Row("order", f"{entry} {m}x{n}", entry, (x,), ((m, 8), F32), {"torch": lambda x: x.topk(8)[0]},
                   lambda x: x.topk(8)[0], moved / 2, "B/s")
    function = {"cumsum_rows": lambda x: x.cumsum(1), "sort_rows": lambda x: x.sort(1)[0]}[entry]
    return Row("order", f"{entry} {m}x{n}", entry, (x,), x, {"torch": function}, function, moved, "B/s")


def transposed(entry, m, n):
    return Row("order", f"{entry} {m}x{n}", entry, (((m, n), BF16),), ((n, m), BF16),
               both(lambda x: x.T.contiguous()), lambda x: x.T, 4.0 * m * n, "B/s")


def heads_apart(entry, b, s, h, d):
    return Row("order", f"{entry} {b}x{s}x{h}x{d}", entry, (((b, s, h, d), BF16),), ((b, h, s, d), BF16),
               both(lambda x: x.transpose(1, 2).contiguous()), lambda x: x.transpose(1, 2), 4.0 * b * s * h * d, "B/s")


def gathered(entry, v, n, m):
    pick = lambda x, ids: x[ids]
    return Row("order", f"{entry} {v}x{n} {m}", entry, (((v, n), BF16), ((m,), I64, v - 1)), ((m, n), BF16), both(pick),
               pick, 4.0 * m * n, "B/s")


def scattered(entry, v, n, m):
    add, x = lambda x, ids, y: x.index_add(0, ids, y), ((v, n), F32)
    return Row("order", f"{entry} {v}x{n} {m}", entry, (x, ((m,), I64, v - 1), ((m, n), F32)), x, both(add), add,
               4.0 * (2 * v * n + m * n), "B/s")


def orders():
    yield Group("order", ("cumsum_rows", "sort_rows", "top_8"), ordered,
                [(4096, 1024), (100, 10000), (1, 1000000), (16384, 100)], drawn((1, 100000), (8, 1000000), most=2**24))
    yield Group("order", ("transposed",), transposed, [(8192, 8192), (1000, 33333), (100000, 60)],
                drawn((1, 100000), (1, 100000), most=2**27))
    yield Group("order", ("heads_apart",), heads_apart, [(8, 2048, 16, 128)],
                drawn((1, 16), (16, 4096), (2, 32), (32, 64, 80, 96, 128, 256), most=2**27))
    places = drawn((100, 1000000), (8, 4096), (1, 1000000), most=2**44)
    fitting = lambda random: next(s for s in iter(lambda: places(random), None) if s[1] * (s[0] + s[2]) < 2**27)
    yield Group("order", ("gather_rows",), gathered, [(50257, 768, 16384), (1000000, 64, 100000), (30000, 1000, 333)],
                fitting)
    yield Group("order", ("scatter_rows",), scattered, [(50257, 768, 16384), (10000, 64, 100000)], fitting)


def convolved(entry, x, w, output, **how):
    b, h, wide, n = output

    def function(x, w):
        y = functional.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), **how)
        return y.permute(0, 2, 3, 1)

    flops = 2.0 * b * h * wide * n * w[0] * w[1] * w[2]
    return Row("convolutions", f"{entry} {'x'.join(map(str, x))} {n}", entry, ((x, BF16), (w, BF16)), (output, BF16),
               {"cuDNN": function}, function, flops)


def image(entry, b, size, c, n):
    half, x = (size - 1) // 2 + 1, (b, size, size, c)
    if entry == "conv_3x3":
        return convolved(entry, x, (3, 3, c, n), (b, size, size, n), padding=1)
    if entry == "conv_3x3_by_2":
        return convolved(entry, x, (3, 3, c, n), (b, half, half, n), padding=1, stride=2)
    return convolved(entry, x, (1, 1, c, n), (b, size, size, n))


def colours(entry, b, size, n):
    half = (size - 1) // 2 + 1
    return convolved(entry, (b, size, size, 3), (7, 7, 3, n), (b, half, half, n), padding=3, stride=2)


def depthwise(entry, b, size, c):
    x = (b, size, size, c)
    return convolved(entry, x, (3, 3, 1, c), x, padding=1, groups=c)


def line(entry, b, length, c, n):
    def function(x, w):
        return functional.conv1d(x.transpose(1, 2), w.permute(2, 1, 0), padding=2).transpose(1, 2)

    return Row("convolutions", f"{entry} {b}x{length}x{c} {n}", entry, (((b, length, c), BF16), ((5, c, n), BF16)),
               ((b, length, n), BF16), {"cuDNN": function}, function, 2.0 * b * length * c * n * 5)


def space(entry, b, deep, size, c, n):
    def function(x, w):
        return functional.conv3d(x.permute(0, 4, 1, 2, 3), w.permute(4, 3, 0, 1, 2), padding=1).permute(0, 2, 3, 4, 1)

    x = (b, deep, size, size)
    return Row("convolutions", f"{entry} {'x'.join(map(str, x))}x{c} {n}", entry,
               (((*x, c), BF16), ((3, 3, 3, c, n), BF16)), ((*x, n), BF16), {"cuDNN": function}, function,
               2.0 * math.prod(x) * c * n * 27)


def convolutions():
    wide = drawn((1, 64), (7, 256), (16, 1024), (16, 1024), most=2**36)
    draw = lambda random: next(s for s in iter(lambda: wide(random), None) if s[0] * s[1] ** 2 * max(s[2:]) < 2**27)
    yield Group("convolutions", ("conv_3x3",), image,
                [(32, 56, 64, 64), (32, 28, 128, 128), (32, 14, 256, 256), (32, 7, 512, 512), (4, 128, 320, 320),
                 (1, 33, 96, 200)], draw)
    yield Group("convolutions", ("conv_3x3_by_2",), image, [(32, 56, 128, 128), (8, 64, 320, 640)], draw)
    yield Group("convolutions", ("conv_1x1",), image, [(32, 56, 64, 256), (32, 14, 1024, 256), (32, 7, 512, 2048)],
                draw)
    yield Group("convolutions", ("conv_7x7",), colours, [(32, 224, 64)],
                drawn((1, 64), (64, 512), (16, 128), most=2**20))
    yield Group("convolutions", ("conv_depthwise",), depthwise, [(32, 112, 32), (32, 14, 512)],
                drawn((1, 64), (7, 224), (16, 1024), most=2**20))
    yield Group("convolutions", ("conv_line",), line, [(16, 3000, 256, 256)],
                drawn((1, 32), (100, 10000), (16, 1024), (16, 1024), most=2**36))
    yield Group("convolutions", ("conv_space",), space, [(2, 16, 32, 64, 64)],
                drawn((1, 4), (8, 32), (8, 64), (16, 256), (16, 256), most=2**30))


FAMILIES = {"gemm": gemms, "weights": weights, "epilogues": epilogues, "attention": attentions, "decode": decodes,
            "rows": rows, "reductions": reductions, "order": orders, "convolutions": convolutions}


def chosen(family):
    """The family's rows of chosen sizes."""
    for group in FAMILIES[family]():
        for size in group.sizes:
            for entry in group.entries:
                yield group.make(entry, *size)


def random_rows(family, random, count):
    """`count` rows of the family whose entries and sizes `random` draws."""
    groups = [(group, entry) for group in FAMILIES[family]() for entry in group.entries]
    for _ in range(count):
        group, entry = random.choice(groups)
        yield group.make(entry, *group.draw(random))
