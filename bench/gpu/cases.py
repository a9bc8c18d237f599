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
ROW_SIZES = [(1, 1), (1, 7), (3, 64), (5, 127), (7, 1000), (33, 4096), (1000, 4097), (2, 16384),
             (0, 64)]


def checked_cases():
    for size in PRODUCT_SIZES:
        for kind in ("kn", "nk"):
            yield product_case(kind, *size)
    for size in ROW_SIZES:
        yield rmsnorm_case(*size)
        yield softmax_case(*size)
    yield from attention_cases.checked_attention(Case)
    yield from attention_cases.checked_gated(Case)


def measured_cases():
    for size in (4096, 8192):
        for kind in ("kn", "nk"):
            yield product_case(kind, size, size, size, measured=True)
    yield rmsnorm_case(16384, 4096, measured=True)
    yield softmax_case(16384, 4096, measured=True)
    yield from attention_cases.measured_attention(Case)
    yield from attention_cases.measured_gated(Case)
