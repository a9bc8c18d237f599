#!/usr/bin/env python3
"""Elementwise ops and casts of every dtype on a GPU beside the same bundle on the CPU.

All bit patterns of 8- and 16-bit dtypes, random ones and edges of the others. Arithmetic, comparisons and casts must
agree bit for bit, any NaN with any other; functions within a number of units in the last place.
"""

import sys

import numpy

import device
import number_graph

# Units in the last place between the two machines: the sum of both bounds in docs/numerics.md. Where a function of a
# narrow dtype is that of f32 rounded, one unit.
F32_BOUNDS = {"exp": 4, "exp2": 4, "expm1": 3, "log": 2, "log2": 2, "log1p": 2, "tanh": 6, "sigmoid": 7, "silu": 8,
              "gelu": 8, "erf": 4, "erfinv": 7, "sin": 2, "cos": 2}
COUNT = 1 << 20
EDGES = {8: [0, 1, 0x7F, 0x80, 0x81, 0xFF, 0x7E, 0x7C, 0xFC], 16: [0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 0x7C00, 0xFC00,
         0x7F80, 0xFF80, 0x3F80, 0x3C00, 0x4000, 0x0080, 0x007F, 0x0400, 0x7BFF, 0x7F7F],
         32: [0, 1, 2, 31, 32, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0x7F800000, 0xFF800000, 0x7F7FFFFF,
              0x00800000, 0x007FFFFF, 0x3F800000, 0xBF800000, 0x4B000000, 0x4F000000, 0xCF000000, 0x5F000000],
         64: [0, 1, 2, 63, 64, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1, 0x7FF0 << 48, 0xFFF0 << 48, 0x3FF0 << 48,
              0x43E0 << 48, 0xC3E0 << 48, 0x0010 << 48, (0x0010 << 48) - 1, 0x7FEFFFFFFFFFFFFF, 0x47EFFFFFF0000000]}


def samples(dtype, random):
    if dtype == "bool":
        return numpy.array([0, 1], numpy.uint8)
    width = device.CODES[dtype][1]
    kind = device.bits_type(dtype)
    if width <= 16:
        return numpy.arange(1 << width, dtype=numpy.uint64).astype(kind)
    any_bits = random.integers(0, 1 << width, COUNT, dtype=numpy.uint64, endpoint=False) if width < 64 else \
        random.integers(0, 2**64 - 1, COUNT, dtype=numpy.uint64, endpoint=True)
    if dtype[0] == "f":
        near = (random.standard_normal(COUNT) * 20).astype(f"f{width // 8}").view(kind)
        close = random.integers(-(1 << 12), 1 << 12, COUNT).astype(f"f{width // 8}").view(kind)
    else:
        near = random.integers(-300, 300, COUNT).astype(f"i{width // 8}").view(kind)
        close = (any_bits >> numpy.uint64(width // 2)).astype(kind)
    return numpy.concatenate([numpy.array(EDGES[width], kind), any_bits.astype(kind), near, close])


def pairs(dtype, random):
    values = samples(dtype, random)
    if dtype == "bool":
        return values, values
    edges = numpy.array(EDGES[device.CODES[dtype][1]], values.dtype)
    x = numpy.concatenate([numpy.repeat(edges, len(edges)), values, values])
    y = numpy.concatenate([numpy.tile(edges, len(edges)), random.permutation(values),
                           random.choice(edges, len(values))])
    return x, y


def is_nan(dtype, bits):
    magnitude = {"f64": (2**63 - 1, 0x7FF0 << 48), "f32": (2**31 - 1, 0x7F800000), "bf16": (0x7FFF, 0x7F80),
                 "f16": (0x7FFF, 0x7C00), "f8e4m3": (0x7F, 0x7E), "f8e5m2": (0x7F, 0x7C)}.get(dtype)
    if not magnitude:
        return numpy.zeros(bits.shape, bool)
    mask, infinity = magnitude
    return (bits & bits.dtype.type(mask)) > bits.dtype.type(infinity)


def apart(dtype, a, b):
    """Units in the last place; 0 for two NaNs, a huge number for one."""
    width = device.CODES[dtype][1]
    half = 2 ** (width - 1)

    def ordered(bits):
        wide = bits.astype(object) if width == 64 else bits.astype(numpy.int64)
        return numpy.where(bits >= bits.dtype.type(half), half - wide, wide)

    nan_a, nan_b = is_nan(dtype, a), is_nan(dtype, b)
    differ = numpy.flatnonzero((a != b) & ~(nan_a & nan_b))
    if not len(differ):
        return 0, 0, None
    distance = numpy.abs(ordered(a[differ]) - ordered(b[differ]))
    distance = numpy.where(nan_a[differ] | nan_b[differ], half, distance)
    worst = int(numpy.argmax(distance))
    return int(distance[worst]), len(differ), int(differ[worst])


def bound_of(family, op, dtype):
    if family != "functions":
        return 0
    return F32_BOUNDS[op] if dtype == "f32" else 2 if dtype == "f64" else 1


def main():
    library = device.open_library()
    random = numpy.random.default_rng(3)
    modules = [device.load(device.context_of(library, name), "numbers") for name in ("cpu", "cuda:0")]
    failures = checked = 0
    print(f"{'entry':<18} {'op':<12} {'inputs':>9} {'differ':>9} {'ulp':>6} {'bound':>6}")
    for dtype in number_graph.DTYPES:
        for family, ops in number_graph.families(dtype):
            operands = pairs(dtype, random) if family == "pairs" else (samples(dtype, random),)
            inputs = [(dtype, bits) for bits in operands]
            outputs = [(to, operands[0].shape) for _, to in ops]
            name = f"{family}_{dtype}"
            wanted, got = (device.run(module.entry(name), inputs, outputs) for module in modules)
            for (op, to), a, b in zip(ops, wanted, got):
                checked += 1
                distance, differ, where = apart(to, a, b)
                bound = bound_of(family, op, dtype)
                if distance > bound or (differ and bound == 0):
                    failures += 1
                    shown = ", ".join(hex(int(bits[where])) for bits in operands)
                    print(f"WRONG {name} {op} -> {to}: of {shown} the CPU makes {int(a[where]):#x}, "
                          f"the GPU {int(b[where]):#x}")
                if differ:
                    print(f"{name:<18} {op + ' ' + to:<12} {len(operands[0]):>9} {differ:>9} {distance:>6} {bound:>6}")
    print(f"numbers: {checked} ops of all dtypes, {failures} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
