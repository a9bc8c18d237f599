#!/usr/bin/env python3
"""What the tools show of shapes: a call's tensors as they flow, and calls whose sizes do not fit.

Usage: shapes_test.py BUILD_DIR
"""
import json
import pathlib
import re
import subprocess
import tempfile
import unicodedata

import numpy as np

from tools import BIN, EXAMPLES, refuse, run

PROGRAM = """\
param w: Param[64, 3*64, f32] = normal(0.02)

@jit
def qkv(x: Tensor[B, S, D, f32], scale: Tensor[D, f32]) where D == 64, S <= 16:
    h = x * scale
    return h @ w

@jit
def iterations(x: Tensor[N, 8, f32], k: int):
    total = x
    for i in range(k):
        total = total * 0.5 + x
    return total

@jit
def rows(x: Tensor[N, 4, f32]):
    total = zeros((4,), f32)
    for i in range(N):
        total = total + x[i]
    return total

@jit
def split(x: Tensor[B, D, f32], y: Tensor[B, 2*D, f32]) where D % 8 == 0:
    return x @ y.T[:D]
"""


def place(text):
    """Where the program has a text, of which `^` marks the place: f.tsr:4:19."""
    before = PROGRAM[:PROGRAM.index(text.replace("^", "")) + text.index("^")]
    return f"f.tsr:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def trace(folder, entry, *words):
    return run(BIN / "tsr", "run", folder / "f.bundle", entry, "--trace-shapes", *words).splitlines()


def check_trace(folder):
    lines = trace(folder, "qkv", "--params", folder / "w.safetensors", "--input", f"x={folder}/x.npy",
                  "--input", f"scale={folder}/scale.npy")
    assert lines[:4] == ["qkv is called", "  input      x: f32[2, 3, 64] = [B, S, 64]",
                         "  input      scale: f32[64]", "  parameter  w: f32[64, 192]"], lines
    steps = [line for line in lines if ", step " in line]
    assert steps and all(line.startswith(("f.tsr:5:", "f.tsr:6:")) for line in steps), lines
    assert any("kernel 'qkv." in line for line in steps), lines
    assert "  reads      x: f32[2, 3, 64] = [B, S, 64]" in lines, lines
    assert lines[-3] == "qkv gives" and lines[-2] == "  output     qkv: f32[2, 3, 192] = [B, S, 192]", lines
    # Each iteration of a loop is told.
    lines = trace(folder, "iterations", "--input", f"x={folder}/t.npy", "--input", "k=3")
    writes = [line for line in lines if line.startswith("  writes") and "f32[5, 8]" in line]
    assert len(writes) >= 3, lines
    # What stands for nothing is not told.
    np.save(folder / "rows.npy", np.ones((3, 4), np.float32))
    lines = trace(folder, "rows", "--input", f"x={folder}/rows.npy")
    assert sum(", step " in line for line in lines) >= 4 and not any("[0]" in line for line in lines), lines
    message = refuse(BIN / "tsr", "run", folder / "f.bundle", "iterations", "--trace-shapes", "--interpret", "exact")
    assert "--interpret runs none" in message, message


def check_refusals(folder):
    def call(entry, *words):
        return refuse(BIN / "tsr", "run", folder / "f.bundle", entry, *words)

    np.save(folder / "a.npy", np.ones((2, 12), np.float32))
    np.save(folder / "b.npy", np.ones((2, 24), np.float32))
    np.save(folder / "c.npy", np.ones((2, 25), np.float32))
    message = call("split", "--input", f"x={folder}/a.npy", "--input", f"y={folder}/b.npy")
    declared = place("def split(x: Tensor[B, ^D")
    assert (f"split: where D % 8 == 0 ({place('^D % 8 == 0')}) does not hold: 4 == 0; "
            f"D = 12 from input 'x', axis 1 ({declared})") in message, message
    message = call("split", "--input", f"x={folder}/a.npy", "--input", f"y={folder}/c.npy")
    assert (f"split: input 'y', axis 1 ({place('y: Tensor[B, ^2*D')}): expected 2*D = 24, got 25; "
            f"D = 12 from input 'x', axis 1 ({declared})") in message, message
    np.save(folder / "long.npy", np.ones((2, 17, 64), np.float32))
    message = call("qkv", "--params", folder / "w.safetensors", "--input", f"x={folder}/long.npy",
                   "--input", f"scale={folder}/scale.npy")
    assert (f"where S <= 16 ({place('^S <= 16')}) does not hold: 17 <= 16; "
            f"S = 17 from input 'x', axis 1 ({place('def qkv(x: Tensor[B, ^S')})") in message, message


SHOWN = """\
from tessera.nn import gelu
const F = 3*1024
%if defined(WIDE)
const N = 2*F
%else
const N = F
%endif

def double(x: Tensor[M, K, bf16]):
    return x + x

@jit
def mlp(x: Tensor[B, D, bf16], w: Tensor[D, N, bf16]) -> Tensor[B, N, bf16]:
    h = gelu(double(x) @ w)
    y, z = (h, double(w))
    return y
"""


def columns_before(line, mark):
    before = line[:line.index(mark)]
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in before)


def check_shapes(folder):
    path = folder / "shown.tsr"
    path.write_text(SHOWN)
    lines = run(BIN / "tesserac", "--shapes", path).splitlines()
    columns = {line.index(mark) for line in lines for mark in ("  h: ", "  y: ", "  return Tensor") if mark in line}
    assert len(columns) == 1, lines
    text = "\n".join(lines)
    for wanted in ["   9 | def double(x: Tensor[M, K, bf16]):", "  x: Tensor[B, D, bf16]\n",
                   "   | Tensor[D, 3072, bf16]\n", "  h: Tensor[B, 3072, bf16]\n", "  return Tensor[B, 3072, bf16]",
                   "  F: 3072\n", "  y: Tensor[B, 3072, bf16]  z: Tensor[D, 3072, bf16]\n"]:
        assert wanted in text + "\n", f"{wanted!r} is not in\n{text}"
    assert max(map(len, lines)) <= 160, text
    # Characters of two columns, and of none.
    path.write_text('@jit\ndef f(x: Tensor[B, f32]):\n    y = x  # 二倍\n    z = y  # e\u0301\n    return z\n',
                    encoding="utf-8")
    columns = {columns_before(line, mark) for line in run(BIN / "tesserac", "--shapes", path).splitlines()
               for mark in ("  x: ", "  y: ", "  z: ", "  return T") if mark in line}
    assert len(columns) == 1, columns
    # The counter of a loop has its own name.
    path.write_text(
        "@jit\ndef f(x: Tensor[N, f32]):\n    y = zeros((), f32)\n    for i in range(1, N):\n        y = y + x[i]\n"
                    "        j = 2 * i\n    return y\n")
    shown = run(BIN / "tesserac", "--shapes", path)
    assert "  j: 2*i\n" in shown and "  i: " not in shown and "i_0" not in shown, shown
    # Standard input, and a definition.
    shown = subprocess.run([BIN / "tesserac", "--shapes", "--json", "-", "-D", "WIDE"], input=SHOWN, text=True,
                           capture_output=True, check=True)
    data = json.loads(shown.stdout)
    assert data["version"] == 1 and data["file"] == "<stdin>", data
    found = {(value["name"], value["line"]): value for value in data["values"]}
    assert found["h", 14]["values"] == [{"kind": "tensor", "type": "Tensor[B, 6144, bf16]", "shape": ["B", "6144"],
                                         "dtype": "bf16", "computed": "f32"}], found
    assert found["h", 14]["column"] == 5 and found["h", 14]["end_column"] == 6, found
    assert [each["shape"] for each in found["x", 9]["values"]] == [["B", "D"], ["D", "6144"]], found
    assert data["entries"] == ["mlp"], data["entries"]
    assert [(each["kind"], each["subject"], each["line"]) for each in data["findings"]] == [
        ("open-dim", "B", 13), ("open-dim", "D", 13), ("guard", "axis 0 of 'w' == D", 13)], data["findings"]
    column = SHOWN.splitlines()[12].index("Tensor[D") + len("Tensor[") + 1
    assert (data["findings"][2]["column"], data["findings"][2]["end_column"]) == (column, column + 1), data["findings"]
    assert "\nmlp at run time\n  size     B of axis 0 of 'x'\n" in text + "\n", text
    # Mistakes are told, and what is right is shown.
    path.write_text(SHOWN + "@jit\ndef bad(x: Tensor[B, f32]):\n    good = x * 2.0\n    return good @ nothing\n")
    result = subprocess.run([BIN / "tesserac", "--shapes", path], text=True, capture_output=True)
    assert result.returncode == 1 and "[unknown-name]" in result.stderr, result
    assert "good: Tensor[B, f32]" in result.stdout and "h: Tensor[B, 3072, bf16]" in result.stdout, result.stdout
    message = refuse(BIN / "tesserac", "--shapes", path, "--dump=graph")
    assert "--shapes" in message, message


def check_examples():
    """Every parameter with a type of tensors has its shapes, in each example."""
    for path in sorted(EXAMPLES.rglob("*.tsr")):
        data = json.loads(run(BIN / "tesserac", "--shapes", "--json", path))
        assert data["values"], path
        shown = {(value["line"], value["column"]) for value in data["values"]}
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code = line.split("#")[0]
            for parameter in re.finditer(r"\b(\w+): (?:Region\[\w+\] )?Tensor\[", code):
                place = (number, len(code[:parameter.start()].encode()) + 1)
                assert place in shown, f"{path}:{number}: nothing is shown of {parameter[1]}"
        lines = run(BIN / "tesserac", "--shapes", path).splitlines()
        assert max(map(len, lines)) <= 200, path


def main():
    check_examples()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "f.tsr").write_text(PROGRAM)
        run(BIN / "tesserac", folder / "f.tsr", "-o", folder / "f.bundle")
        run(BIN / "tsr", "init", folder / "f.bundle", "-o", folder / "w.safetensors")
        np.save(folder / "x.npy", np.ones((2, 3, 64), np.float32))
        np.save(folder / "scale.npy", np.ones(64, np.float32))
        np.save(folder / "t.npy", np.ones((5, 8), np.float32))
        check_shapes(folder)
        check_trace(folder)
        check_refusals(folder)


if __name__ == "__main__":
    main()
