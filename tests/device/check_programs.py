#!/usr/bin/env python3
"""Runs the entries of a bundle of pack.sh on a GPU beside the CPU, each with guards and again and again.

check_programs.py [--runs N] [--target T] [entry…]: results must be within a bound of the CPU's, and the bits of all N
runs must be the same. With --runs 1 it is what compute-sanitizer watches: nothing but our kernels runs in the process.
"""

import argparse
import sys

import numpy

import device

SIZES = [dict(M=70, N=33, K=50), dict(M=1, N=1, K=1), dict(M=7, N=41, K=0), dict(M=129, N=1000, K=127),
         dict(M=256, N=256, K=128)]
ROWS = [dict(M=5, N=37), dict(M=1, N=1), dict(M=3, N=4096), dict(M=33, N=1029)]


def product(dtype, out=None, transposed=False):
    return [("MK", dtype), ("NK" if transposed else "KN", dtype)], ("MN", out or dtype), SIZES


def attention(depth, heads="H", groups="H"):
    return [(("B", heads, "S", depth), "bf16"), *[(("B", groups, "T", depth), "bf16")] * 2], (
        ("B", heads, "S", depth), "bf16")


# Inputs, the result and the sizes to run at; an extent is a letter or a number, i32 inputs are indices below V.
PROGRAMS = {
    "gemm": product("bf16"), "gemm_transposed": product("bf16", transposed=True), "gemm_f16": product("f16"),
    "gemm_f32": product("f32"),
    "gemm_known": ([((264, 136), "bf16"), ((136, 520), "bf16")], ((264, 520), "bf16"), [{}]),
    "gemm_known_f32": ([((72, 40), "f32"), ((40, 132), "f32")], ((72, 132), "f32"), [{}]),
    "gemm_ring": ([((328, 200), "bf16"), ((200, 200), "bf16")], ((328, 200), "bf16"), [{}]),
    "gemm_ring_transposed": ([((200, 328), "bf16"), ((200, 200), "bf16")], ((328, 200), "bf16"), [{}]),
    "gemm_one_role": ([((136, 200), "bf16"), ((200, 72), "bf16")], ((136, 72), "bf16"), [{}]),
    "gemm_narrow": ([((40, 200), "bf16"), ((200, 72), "bf16")], ((40, 72), "bf16"), [{}]),
    "batched": ([("BMK", "bf16"), ("BNK", "bf16")], ("BMN", "f32"),
                [dict(B=2, M=70, N=33, K=50), dict(B=1, M=1, N=1, K=0), dict(B=3, M=128, N=128, K=64)]),
    "batched_known": ([((3, 72, 200), "bf16"), ((3, 200, 136), "bf16")], ((3, 72, 136), "bf16"), [{}]),
    "layer": ([(("M", 264), "bf16"), ((264, 136), "bf16"), ((136,), "bf16"), (("M", 136), "bf16")],
              (("M", 136), "bf16"), [dict(M=200), dict(M=1), dict(M=0)]),
    "softmax_rows": ([("MN", "bf16")], ("MN", "bf16"), ROWS),
    "softmax_known": ([(("M", 1000), "bf16")], (("M", 1000), "bf16"), [dict(M=5), dict(M=1), dict(M=0)]),
    "norm_rows": ([("MN", "f32")], ("MN", "f32"), ROWS),
    "norm_known": ([(("M", 1000), "bf16"), ((1000,), "f32")], (("M", 1000), "bf16"), [dict(M=5)]),
    "layer_norm": ([(("M", 200), "f32")], (("M", 200), "f32"), [dict(M=5), dict(M=1)]),
    "losses": ([("MN", "f32"), ("M", "i32")], ("M", "f32"), [dict(M=5, N=37, V=37), dict(M=1, N=1, V=1)]),
    "rows_of": ([("M", "i32"), ("VD", "bf16")], ("MD", "bf16"), [dict(M=9, V=7, D=40), dict(M=1, V=1, D=1)]),
    "column_sums": ([("MN", "f32")], ("N", "f32"), ROWS),
    "all_of": ([("MN", "f32")], ("", "f32"), ROWS[:2]),
    "row_maxima": ([("MN", "bf16")], ("M", "bf16"), ROWS),
    "row_sums_f64": ([("MN", "f64")], ("M", "f64"), ROWS),
    "row_sums_i64": ([(("M", 1000), "i64")], ("M", "i64"), [dict(M=5)]),
    "row_sums_i8": ([(("M", 2000), "i8")], ("M", "i8"), [dict(M=5)]),
    "scan_rows": ([("MN", "f32")], ("MN", "f32"), ROWS + [dict(M=2, N=20000)]),
    "scan_known": ([(("M", 1000), "f32")], (("M", 1000), "f32"), [dict(M=5), dict(M=1), dict(M=0)]),
    "scan_maxima": ([(("M", 520), "i64")], (("M", 520), "i64"), [dict(M=5)]),
    "scan_columns": ([((200, "N"), "f32")], ((200, "N"), "f32"), [dict(N=70), dict(N=1)]),
    "turned": ([("MN", "bf16"), ("NM", "f32")], ("NM", "f32"), ROWS),
}

# More programs than a GPU runs at once, one, and odd ones.
KEYS = [dict(B=7, H=10, S=300, T=300), dict(B=1, H=1, S=1, T=1), dict(B=2, H=3, S=129, T=257)]
IMAGES = [dict(B=2, H=9, W=7, C=64, N=96), dict(B=1, H=1, W=1, C=3, N=5), dict(B=3, H=8, W=16, C=72, N=32)]
SHARED = [*SIZES, dict(M=16, N=64, K=8192)]

BREADTH = {
    "attention_64": (*attention(64), KEYS), "attention_192": (*attention(192), KEYS[1:]),
    "causal_64": (*attention(64), KEYS), "causal_128": (*attention(128), KEYS), "windowed_128": (*attention(128), KEYS),
    "biased_64": ([*attention(64)[0], ("ST", "bf16")], attention(64)[1], KEYS),
    "decoded": (*attention(128, 8, 2), [dict(B=1, S=1, T=5000), dict(B=3, S=4, T=77)]),
    "conv_3x3": ([("BHWC", "bf16"), ((3, 3, "C", "N"), "bf16")], ("BHWN", "bf16"), IMAGES),
    "conv_7x7": ([(("B", "H", "W", 3), "bf16"), ((7, 7, 3, "N"), "bf16")], (("B", "P", "Q", "N"), "bf16"),
                 [dict(B=2, H=20, W=18, N=64, P=10, Q=9), dict(B=1, H=7, W=7, N=5, P=4, Q=4)]),
    "depthwise": ([("BHWC", "bf16"), ((3, 3, 1, "C"), "bf16")], ("BHWC", "bf16"), IMAGES),
    "gemm_f8": ([("MK", "f8e4m3"), ("NK", "f8e4m3")], ("MN", "bf16"), SHARED),
    "gemm_i8": ([("MK", "i8"), ("NK", "i8")], ("MN", "i32"), SHARED),
    "gemm_tf32": ([("MK", "tf32"), ("KN", "tf32")], ("MN", "f32"), SHARED),
    "bytes_of_weights": ([("MK", "bf16"), ("KN", "i8"), ("N", "f32")], ("MN", "bf16"), SHARED),
    "halves_of_weights": ([(("M", 512), "bf16"), ((256, "N"), "u8"), ("N", "f32")], ("MN", "bf16"),
                          [dict(M=8, N=256), dict(M=33, N=72), dict(M=1, N=1)]),
    "bias_gelu": ([("MK", "bf16"), ("NK", "bf16"), ("N", "bf16")], ("MN", "bf16"), SHARED),
    "sums_of_matmul": ([("MK", "bf16"), ("KN", "bf16")], ("M", "bf16"), SHARED),
    "sum_outer": ([("BMN", "bf16")], ("M", "bf16"),
                  [dict(B=8, M=16, N=100), dict(B=1, M=1, N=1), dict(B=70, M=3, N=7)]),
    "sorted_rows": ([("MN", "f32")], ("MN", "f32"), [*ROWS, dict(M=1, N=30000)]),
    "top_8": ([("MN", "f32")], (("M", 8), "f32"), [dict(M=5, N=37), dict(M=2, N=20000)]),
    "top_100": ([("MN", "f32")], (("M", 100), "f32"), [dict(M=5, N=137), dict(M=2, N=20000)]),
    "gathered": ([("M", "i32"), ("VD", "bf16")], ("MD", "bf16"), [dict(M=9, V=7, D=40), dict(M=300, V=50, D=129)]),
    "scattered": ([("VD", "f32"), ("M", "i32"), ("MD", "f32")], ("VD", "f32"),
                  [dict(M=9, V=7, D=40), dict(M=5000, V=3, D=33), dict(M=2, V=900, D=64)]),
}
ADDED = [dict(M=9, V=7, D=40), dict(M=5000, V=3, D=33), dict(M=2, V=900, D=64), dict(M=1, V=1, D=1),
         dict(M=0, V=3, D=4)]
UNORDERED = {name: ([("VD", "u8"), ("M", "i32"), ("MD", "u8")], ("VD", dtype), ADDED)
             for name, dtype in (("rows_added", "f32"), ("places_added", "i32"))}
TABLES = {"breadth": BREADTH, "unordered": UNORDERED}


def extents(shape, sizes):
    return tuple(sizes[e] if isinstance(e, str) else e for e in shape)


def bits_of(values, dtype):
    """Floats rounded to a dtype, as bits."""
    if dtype == "f16":
        return values.astype(numpy.float16).view(numpy.uint16)
    if dtype == "f64":
        return values.view(numpy.uint64)
    single = values.astype(numpy.float32).view(numpy.uint32)
    if dtype == "f32":
        return single
    if dtype == "f8e4m3":  # of 2^-4 to 1.875
        return (numpy.abs(values) * 39).astype(numpy.uint8) + numpy.uint8(0x18) | (values < 0).astype(numpy.uint8) << 7
    return ((single + 0x7FFF + ((single >> 16) & 1)) >> 16).astype(numpy.uint16)


def floats_of(bits, dtype):
    if dtype == "bf16":
        return (bits.astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)
    kinds = {"f16": numpy.float16, "f32": numpy.float32, "f64": numpy.float64}
    return bits.view(kinds[dtype]).astype(numpy.float64)


def make_inputs(entry, sizes):
    random = numpy.random.default_rng(5)
    inputs = []
    for shape, dtype in entry[0]:
        if dtype == "i32":
            inputs.append((dtype, random.integers(-1, sizes["V"] + 1, extents(shape, sizes)).astype(numpy.int32)
                           .view(numpy.uint32)))
        elif dtype[0] in "iu":
            kind = device.bits_type(dtype)
            inputs.append((dtype, random.integers(0, 200, extents(shape, sizes)).astype(kind)))
        elif dtype == "tf32":  # f32 with ten bits of fraction
            bits = bits_of(random.uniform(-1, 1, extents(shape, sizes)), "f32")
            inputs.append(("f32", bits & numpy.uint32(0xFFFFE000)))
        else:
            inputs.append((dtype, bits_of(random.uniform(-1, 1, extents(shape, sizes)), dtype)))
    return inputs


def distance(got, wanted, dtype):
    """The largest error relative to 1 + the largest element; NaN only where wanted."""
    if not got.size or dtype[0] == "i":
        return 0.0 if (got == wanted).all() else float("inf")
    a, b = floats_of(got, dtype), floats_of(wanted, dtype)
    if (numpy.isnan(a) != numpy.isnan(b)).any():
        return float("inf")
    known = ~numpy.isnan(b)
    return float(numpy.max(numpy.abs(a - b), initial=0, where=known) /
                 (1 + numpy.max(numpy.abs(b), initial=0, where=known)))


def has_nan(bits, dtype):
    return dtype[0] != "i" and bool(numpy.isnan(floats_of(bits, dtype)).any())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("entries", nargs="*", help="of the bundle; all of them without one")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--bundle", default="programs")
    options = parser.parse_args()
    library = device.open_library()
    cpu = device.load(device.context_of(library, "cpu"), options.bundle)
    gpu = device.load(device.context_of(library, "cuda:0"), options.bundle)
    print(f"code for {gpu.target} beside {cpu.target}")
    failures = 0
    entries = TABLES.get(options.bundle, PROGRAMS)
    for name in options.entries or entries:
        entry = entries[name]
        shape, dtype = entry[1]
        bound = {"bf16": 2.0**-7, "f16": 2.0**-10, "f32": 1e-5, "f64": 1e-13}.get(dtype, 0)
        for sizes in entry[2]:
            inputs, outputs = make_inputs(entry, sizes), [(dtype, extents(shape, sizes))]
            wanted = device.run(cpu.entry(name), inputs, outputs)[0]
            first = device.run(gpu.entry(name), inputs, outputs)[0]
            error = distance(first, wanted, dtype)
            same = sum((device.run(gpu.entry(name), inputs, outputs)[0] == first).all()
                       for _ in range(options.runs - 1)) + 1
            right = error <= bound and same == options.runs
            if not any(kind == "i32" for _, kind in entry[0]):  # an index outside of its table gives NaN
                right = right and not has_nan(wanted, dtype)
            failures += not right
            said = " ".join(f"{k}={v}" for k, v in sizes.items()) or "as written"
            print(f"{'ok' if right else 'WRONG':<6}{name:<22}{said:<22} error {error:.2e} of {bound:.2e}, "
                  f"{same} of {options.runs} runs alike", flush=True)
    print(f"programs for {gpu.target}: {failures} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
