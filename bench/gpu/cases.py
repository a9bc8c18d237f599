"""What run.py checks and measures: one row per case."""

import dataclasses
import itertools

import torch
import torch.nn.functional as functional

import attention_cases


@dataclasses.dataclass(frozen=True)
class Case:
    """An entry of a bundle, how its inputs are made, and what computes the same.

    `shapes` are the inputs', `output` the result's; `work` counts operations or bytes in `unit`s.
    Where `moves_memory`, a copy of the same bytes is the most that can be had.
    `bound` gives the largest error that each element of the result may have, beside `exact`.
    """

    name: str
    bundle: str
    entry: str
    shapes: tuple
    output: tuple
    exact: callable
    bound: callable
    peers: dict = dataclasses.field(default_factory=dict)
    work: float = 0
    unit: str = ""
    moves_memory: bool = False
    factors: torch.dtype = torch.bfloat16  # of the inputs
    result: torch.dtype = torch.bfloat16


# The result is rounded to bf16 once (2^-9 relative); a sum in f32 of n products, in any order, is
# off by less than n 2^-24 times the sum of their magnitudes. References are float64.
BF16 = 2.0**-8


def product_case(kind, m, n, k, measured=False):
    right = (k, n) if kind == "kn" else (n, k)
    turn = (lambda b: b) if kind == "kn" else (lambda b: b.mT)

    def exact(a, b):
        return a.double() @ turn(b).double()

    def bound(result, a, b):
        magnitudes = a.double().abs() @ turn(b).double().abs()
        return BF16 * result.abs() + max(k, 1) * 2.0**-23 * magnitudes

    peers = {"cuBLAS": lambda a, b, out: torch.matmul(a, turn(b), out=out)} if measured else {}
    return Case(f"gemm {kind} {m}x{n}x{k}", "gemm", f"bf16_{kind}", ((m, k), right), (m, n), exact,
                bound, peers, 2.0 * m * n * k / 1e12, "TFLOP/s")


def scaled_mm(a, b, fast):
    one = torch.ones((), device=a.device)
    return torch._scaled_mm(a, b, one, one, out_dtype=torch.bfloat16, use_fast_accum=fast)


def transposed(b):
    """The same matrix stored column by column, which is all that cuBLAS multiplies of 8 bits."""
    return b if b.stride(0) == 1 else b.t().contiguous().t()


# Factors of other matrix instructions: prefix of the entry, dtypes of factors and result, what an element of the
# result may be off beside the sum's own error, as a part of it, and the bits that a sum keeps.
NARROW = {
    "tf32": (torch.float32, torch.float32, 0.0, 23),
    "e4m3": (torch.float8_e4m3fn, torch.bfloat16, BF16, 12),
    "s8": (torch.int8, torch.int32, 0.0, None),
}


def narrow_case(name, kind, m, n, k, measured=False):
    factors, result, rounding, bits = NARROW[name]
    turn = (lambda b: b) if kind == "kn" else (lambda b: b.mT)

    def exact(a, b):
        return a.double() @ turn(b).double()

    def bound(value, a, b):
        if bits is None:
            return torch.zeros_like(value)
        magnitudes = a.double().abs() @ turn(b).double().abs()
        # Of f8 the unit drops bits of each product, relative to the greatest that it adds.
        return rounding * value.abs() + (max(k, 1) * 2.0**-23 if bits == 23 else 2.0**-bits) * magnitudes

    peers = {
        "tf32": {"cuBLAS": lambda a, b, out: torch.matmul(a, turn(b), out=out)},
        "e4m3": {"cuBLAS": lambda a, b, out: scaled_mm(a, transposed(turn(b)), False),
                 "cuBLAS fast": lambda a, b, out: scaled_mm(a, transposed(turn(b)), True)},
        "s8": {"cuBLAS": lambda a, b, out: torch._int_mm(a, turn(b), out=out)},
    }[name]
    right = (k, n) if kind == "kn" else (n, k)
    return Case(f"{name} gemm {kind} {m}x{n}x{k}", "gemm", f"{name}_{kind}", ((m, k), right), (m, n), exact, bound,
                peers if measured else {}, 2.0 * m * n * k / 1e12, "TFLOP/s", factors=factors, result=result)


def exact_rmsnorm(x):
    x = x.double()
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)


def exact_softmax(x):
    return torch.softmax(x.double(), -1)


def compiled(function):
    """The function by torch.compile, which fuses it to one kernel."""
    return torch.compile(function, dynamic=False)


def row_case(name, entry, exact, peers, m, n, measured=False):
    def bound(result, x):
        return 2 * BF16 * result.abs() + 2.0**-24

    work = 2 * 2 * m * n / 1e12  # bf16, read and written once
    return Case(f"{name} {m}x{n}", "rows", entry, ((m, n),), (m, n), exact, bound,
                peers if measured else {}, work, "TB/s", True)


def rmsnorm_case(m, n, measured=False):
    fused = compiled(lambda x: functional.rms_norm(x, (x.shape[-1],), eps=1e-6))
    peers = {"torch": lambda x, out: functional.rms_norm(x, (x.shape[-1],), eps=1e-6),
             "torch.compile": lambda x, out: fused(x)}
    return row_case("rmsnorm", "rmsnorm", exact_rmsnorm, peers, m, n, measured)


SUMS = {
    "sum_all": (lambda x: x.sum().reshape(1), lambda m, n: (1,)),
    "sum_columns": (lambda x: x.sum(0), lambda m, n: (n,)),
    "norm_all": (lambda x: x.square().sum().sqrt().reshape(1), lambda m, n: (1,)),
    "max_columns": (lambda x: x.abs().amax(0), lambda m, n: (n,)),
}


def sum_case(entry, m, n, measured=False):
    compute, shape = SUMS[entry]
    wide = (lambda x: compute(x.float()).bfloat16()) if entry == "norm_all" else compute
    fused = compiled(wide)

    def bound(result, x):
        magnitudes = compute(x.double().abs())
        return BF16 * result.abs() + 2.0**-18 * magnitudes if magnitudes.numel() else magnitudes

    peers = {"torch": lambda x, out: wide(x), "torch.compile": lambda x, out: fused(x)}
    return Case(f"{entry} {m}x{n}", "sums", entry, ((m, n),), shape(m, n), lambda x: compute(x.double()), bound,
                peers if measured else {}, 2 * m * n / 1e12, "TB/s")


def softmax_case(m, n, measured=False):
    fused = compiled(lambda x: torch.softmax(x, -1))
    peers = {"torch": lambda x, out: torch.softmax(x, -1),
             "torch.compile": lambda x, out: fused(x)}
    return row_case("softmax", "softmax_rows", exact_softmax, peers, m, n, measured)


# Tiles, their edges, rows that a tensor map cannot have (odd extents), and nothing at all.
EDGES = (1, 7, 41, 127, 129, 1000)
PRODUCT_SIZES = [
    *itertools.product(EDGES, repeat=3),
    (3, 5, 7), (1, 8, 16), (16, 16, 16), (64, 64, 64), (127, 129, 63), (128, 256, 64),
    (129, 257, 65), (128, 128, 72), (255, 511, 33), (256, 8, 4096), (1, 4096, 4096),
    (4096, 1, 128), (2048, 2056, 520), (384, 640, 1), (0, 8, 8), (8, 0, 8),
    (8, 8, 0),
]
NARROW_SIZES = [(1, 1, 1), (7, 41, 0), (127, 129, 63), (128, 128, 128), (129, 257, 144), (255, 511, 33),
                (1, 4096, 4096),
                (256, 8, 4096), (384, 640, 1), (1024, 1000, 272), (2048, 2064, 528)]
SUM_SIZES = [(1, 1), (1, 7), (255, 3), (256, 64), (257, 65), (511, 33), (1000, 8191), (8192, 1), (3, 100001),
             (70001, 5)]
ROW_SIZES = [(1, 1), (1, 7), (3, 64), (5, 127), (7, 1000), (33, 4096), (1000, 4097), (2, 16384),
             (0, 64)]


def checked_cases():
    for size in PRODUCT_SIZES:
        for kind in ("kn", "nk"):
            yield product_case(kind, *size)
    for name, size, kind in itertools.product(NARROW, NARROW_SIZES, ("kn", "nk")):
        yield narrow_case(name, kind, *size)
    for size in ROW_SIZES:
        yield rmsnorm_case(*size)
        yield softmax_case(*size)
    for entry, size in itertools.product(SUMS, SUM_SIZES):
        yield sum_case(entry, *size)
    yield from attention_cases.checked_attention(Case)
    yield from attention_cases.checked_gated(Case)


def measured_cases():
    for size in (4096, 8192):
        for kind in ("kn", "nk"):
            yield product_case(kind, size, size, size, measured=True)
    for name, kind in itertools.product(NARROW, ("nk", "kn")):
        for size in ((4096, 4096, 4096), (8192, 8192, 8192), (8192, 2048, 512), (1000, 3000, 2000)):
            yield narrow_case(name, kind, *size, measured=True)
    for entry in SUMS:
        for size in ((65536, 1024), (1000, 100000), (4096, 4096), (1024, 768), (1000000, 16)):
            yield sum_case(entry, *size, measured=True)
    yield rmsnorm_case(16384, 4096, measured=True)
    yield softmax_case(16384, 4096, measured=True)
    yield from attention_cases.measured_attention(Case)
    yield from attention_cases.measured_gated(Case)
