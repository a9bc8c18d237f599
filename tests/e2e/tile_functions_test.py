#!/usr/bin/env python3
"""Kernels take the functions that docs/tile.md lists, and refuse others by name.

Usage: tile_functions_test.py BUILD_DIR
"""
import pathlib
import re
import tempfile

from tools import BIN, ROOT, refuse, run

# Calls of what is not f(x) of a tile x of floats; `b` is a tile of bool.
CALLS = {
    "minimum": "minimum(x, x)", "maximum": "maximum(x, 0.5)", "pow": "pow(x, 2.5)", "fma": "fma(x, x, 1.0)",
    "logical_and": "logical_and(b, b)", "logical_or": "logical_or(b, b)", "logical_xor": "logical_xor(b, b)",
    "logical_not": "logical_not(b)", "where": "where(b, x, 0.0)", "cast": "cast(x, f16)",
    "sum": "sum(x, axis=1)[:, None]", "mean": "mean(x, axis=1)[:, None]", "prod": "prod(x, axis=1)[:, None]",
    "max": "max(x, axis=1)[:, None]", "min": "min(x, axis=1, keepdims=True)",
    "matmul": "matmul(x, tile.load(w, (0, 0), (32, 32)))",
    "transpose": "transpose(tile.full((32, 1), 1.0))", "zeros": "zeros((1, 32), f32)", "ones": "ones((1, 32), f32)",
    "full": "full((1, 32), 0.5)", "dropout_in_kernel": "dropout_in_kernel(x, 0.5, seed=7)", "swiglu": "swiglu(x, x)",
    "geglu": "geglu(x, x)", "reglu": "reglu(x, x)", "clamp": "clamp(x, 0.0, 1.0)",
}
STATEMENTS = {"print": 'print("x", x)'}
WHOLE = ["softmax(x)", "rmsnorm(x)", "concat((x, x))", "reshape(x, (32, 1))", "cast_like(x, x)"]

HEAD = """from tessera.nn import {library}

@kernel
def k(x: Tensor[M, 32, f32], w: Tensor[32, 32, f32]) -> Tensor[M, 32, f32]:
    t = tile.context(m=M, n=32)
    x = tile.load(x, (t.i, 0), (t.m, t.n))
    b = x > 0.0
    y = x
"""
TAIL = """    return y

@jit
def f(x: Tensor[M, 32, f32], w: Tensor[32, 32, f32]):
    return k(x, w)
"""


def main():
    part = (ROOT / "docs/tile.md").read_text().split("## Functions of the language on tiles")[1]
    language, library = (re.findall(r"`(\w+)`", sentence) for sentence in part.split("of `tessera.nn`"))
    assert "exp" in language and "swiglu" in library, (language, library)
    assert not set(CALLS) - set(language + library), set(CALLS) - set(language + library)
    head = HEAD.format(library=", ".join(library))
    # What a call gives meets y, so that none of them is dropped.
    lines = [f"    y = y + where({CALLS[n]}, 1.0, 0.0)\n" if n.startswith("logical_")
             else f"    y = y + {CALLS.get(n, n + '(x)')}\n"
             for n in language + library if n != "matmul" and n not in STATEMENTS]
    lines += [f"    {STATEMENTS[n]}\n" for n in language if n in STATEMENTS]
    with tempfile.TemporaryDirectory() as name:
        source = pathlib.Path(name) / "s.tsr"
        for body in ("".join(lines), f"    y = {CALLS['matmul']}\n"):
            source.write_text(head + body + TAIL)
            run(BIN / "tesserac", source, "-o", pathlib.Path(name) / "s.bundle")
        for call in WHOLE:
            source.write_text(head + f"    y = {call}\n" + TAIL)
            message = refuse(BIN / "tesserac", source, "-o", pathlib.Path(name) / "s.bundle")
            assert f"'{call.split('(')[0]}' in a kernel" in message, message


if __name__ == "__main__":
    main()
