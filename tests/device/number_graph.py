#!/usr/bin/env python3
"""Writes a graph with one entry for each dtype and family of elementwise ops, to standard output.

Every entry takes tensors of N elements and gives one result for each op of the family, in the order of `FAMILIES`.
check_numbers.py compiles nothing: it runs the bundle of this graph on a CPU and on a GPU and compares.
"""

FLOATS = ("f64", "f32", "bf16", "f16", "f8e4m3", "f8e5m2")
INTEGERS = ("i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8")
DTYPES = (*FLOATS, *INTEGERS, "bool")

EXACT = ("neg", "abs", "sign", "relu", "floor", "ceil", "trunc", "round", "sqrt", "reciprocal", "rsqrt")
FUNCTIONS = ("exp", "exp2", "expm1", "log", "log2", "log1p", "tanh", "sigmoid", "silu", "gelu", "erf", "erfinv", "sin",
             "cos")
ARITHMETIC = ("add", "sub", "mul", "div", "floor_div", "mod", "min", "max")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
BITS = ("and", "or", "xor", "shl", "shr")
WHOLE = ("neg", "abs", "sign", "relu", "not")


def families(dtype):
    """Pairs of a family's name and its ops, each an op with the result's dtype."""
    if dtype in FLOATS:
        known = [f for f in FUNCTIONS if dtype != "f64" or f not in ("sin", "cos")]
        binary = [f for f in ARITHMETIC if dtype != "f64" or f != "mod"]
        yield "exact", [(op, dtype) for op in EXACT]
        yield "functions", [(op, dtype) for op in known]
        yield "pairs", [(op, dtype) for op in binary] + [(op, "bool") for op in COMPARISONS]
    elif dtype != "bool":
        unary = [op for op in WHOLE if dtype[0] == "i" or op not in ("neg", "abs", "sign", "relu")]
        yield "exact", [(op, dtype) for op in unary]
        yield "pairs", [(op, dtype) for op in ARITHMETIC + BITS] + [(op, "bool") for op in COMPARISONS]
    yield "casts", [("cast", to) for to in DTYPES if to != dtype]


def entry(name, dtype, ops, operands):
    arguments = ", ".join(f"%{x}: tensor<N, {dtype}>" for x in operands)
    about = ", ".join(f'{{kind = "input", name = "{x}"}}' for x in operands)
    results = ", ".join(f'{{name = "r{i}"}}' for i in range(len(ops)))
    lines = [f"  %{i}: tensor<N, {to}> = gir.{op} {', '.join('%' + x for x in operands)}"
             for i, (op, to) in enumerate(ops)]
    values = ", ".join(f"%{i}" for i in range(len(ops)))
    return "\n".join([f"gir.func @{name}({arguments}) {{args = [{about}], results = [{results}], role = \"entry\"}} {{",
                      *lines, f"  gir.return [{values}]", "}"])


def main():
    print("module @numbers level(graph) version(1) {")
    for dtype in DTYPES:
        for family, ops in families(dtype):
            print(entry(f"{family}_{dtype}", dtype, ops, "xy" if family == "pairs" else "x"))
    print("}")


if __name__ == "__main__":
    main()
