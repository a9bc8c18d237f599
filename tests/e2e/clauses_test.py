#!/usr/bin/env python3
"""What a help says to write is of use: in a signature, the program compiles or comes further; as blocks of a kernel, it
compiles without the warning and gives what it gave.

Usage: clauses_test.py BUILD_DIR
"""
import json
import pathlib
import re
import subprocess
import tempfile

import numpy as np

from tools import BIN, ROOT, run

HEAD = """
from tessera.nn import adaptive_avg_pool2d, avg_pool2d, conv1d, conv2d, max_pool2d, relu, topk

def doubled(x: Tensor[B, H, W, C, f32]):
    return reshape(broadcast_to(x[:, :, None, :, None], (B, H, 2, W, 2, C)), (B, 2 * H, 2 * W, C))

def blocks(x: Tensor[B, S, f32]) where S % 16 == 0:
    return reshape(x, (B, S // 16, 16))

def branch(x: Tensor[B, S, f32]):
    if S >= 4:
        return x[:, :4]
    return x[:, :1]

"""
# The signature's parameters, its result, and the body.
PROGRAMS = [
    ("x: Tensor[A, 8, f32], y: Tensor[B, 8, f32]", "", "x + y"),
    ("x: Tensor[A, f32], y: Tensor[B, f32], z: Tensor[A + B, f32], u: Tensor[C, f32]", "", "z + concat((u, u))"),
    ("x: Tensor[A, f32], y: Tensor[B, f32], z: Tensor[64 * A, f32]", "", "z + y"),
    ("x: Tensor[H, f32]", "Tensor[H, f32]", "concat((x[:H // 2], x[:H // 2]))"),
    ("x: Tensor[H, f32]", "Tensor[H // 2, f32]", "concat((x[:H // 4], x[H // 4:2 * (H // 4)]))"),
    ("x: Tensor[H, f32]", "Tensor[H // 6, f32]", "x[:H // 6] + x[:(H // 2) // 3] * x[:H - 5 * (H // 6)]"),
    ("x: Tensor[H, W, f32]", "Tensor[W, H, f32]",
     "reshape(x, (W, H)) + reshape(reshape(x, (H // 2, 2, W // 3, 3)), (W, H))"),
    ("x: Tensor[B, S, f32]", "", "reshape(x, (B, S // 64, 64))"),
    ("x: Tensor[B, S, f32]", "", "reshape(x, (B * S // 32, 32))"),
    ("x: Tensor[B, S, f32], n: dim", "", "reshape(x, (B, n, -1))"),
    ("x: Tensor[B, S, f32], n: dim", "", "reshape(x, (B, n, S // n))"),
    ("x: Tensor[B, S, f32]", "", "blocks(x)"),
    ("x: Tensor[B, S, f32]", "", "blocks(x[:, :S - 8])"),
    ("x: Tensor[B, S, f32]", "", "branch(x)"),
    ("x: Tensor[B, S, f32]", "", "x[:, :16]"),
    ("x: Tensor[B, S, f32]", "", "x[3, S - 5:S - 1]"),
    ("x: Tensor[B, S, f32], y: Tensor[P, f32]", "", "x[:, P:2 * P]"),
    ("x: Tensor[B, S, f32], y: Tensor[P, f32]", "", "x[:, :min(S, P)] + y"),
    ("x: Tensor[B, S, f32], y: Tensor[P, f32]", "", "x[:, :S // 2 + 1] * y"),
    ("x: Tensor[A, B, f32], y: Tensor[C, D, f32]", "", "x @ y"),
    ("x: Tensor[A, B, f32], y: Tensor[C, D, f32]", "", "reshape(x, (C, D)) + y"),
    ("x: Tensor[B, S, f32]", "", "topk(x, 5)[0]"),
    ("x: Tensor[B, L, C, f32], w: Tensor[5, C, 8, f32]", "", "conv1d(x, w, stride=2)"),
    ("x: Tensor[B, H, W, C, f32], w: Tensor[3, 3, 1, C, f32]", "Tensor[B, H, W, C, f32]",
     "conv2d(x, w, padding=(1, 1), groups=C)"),
    ("x: Tensor[B, H, W, 4, f32]", "Tensor[B, H, W, 4, f32]",
     "doubled(doubled(max_pool2d(max_pool2d(x, (2, 2)), (2, 2)))) + x"),
    ("x: Tensor[B, H, W, 4, f32]", "", "concat((doubled(avg_pool2d(x, (2, 2))), x), axis=3)"),
    ("x: Tensor[B, H, W, 4, f32]", "", "adaptive_avg_pool2d(x, (2, 2))"),
]
CLAUSE = re.compile(r"^help: .*say so in the signature(?: of '\w+')?: `where (.*)`$", re.MULTILINE)


def source(program, clauses):
    parameters, result, body = program
    arrow = f" -> {result}" if result else ""
    where = " where " + ", ".join(clauses) if clauses else ""
    return f"{HEAD}@jit\ndef entry({parameters}){arrow}{where}:\n    return {body}\n"


BLOCKS = re.compile(r"kernel\.schedule\(block\(.*\)\)")


def with_blocks(text, diagnostics):
    """The source whose kernels have the blocks that the warnings suggest."""
    lines = text.splitlines()
    for each in diagnostics:
        above = each["span"]["line"] - 2
        suggested = BLOCKS.search(each["rendered"])[0]
        if each["fixes"]:
            edit = each["fixes"][0]["edits"][0]
            place = edit["span"]
            assert (place["line"] - 1, edit["replacement"]) == (above, suggested), each
            line, at = lines[above], place["column"] - 1
            lines[above] = line[:at] + suggested + line[at + place["length"]:]
        else:
            lines[above] += f"\n@{suggested}"
    return "\n".join(lines) + "\n"


def blocks(folder):
    text = (ROOT / "tests/diagnostics/one_program.tsr").read_text()
    path = folder / "s.tsr"
    path.write_text(text)
    quiet = ["-Werror=one-program", "-o", folder / "s.bundle"]
    command = [BIN / "tesserac", path, "--error-format=json", "-o", folder / "whole.bundle"]
    said = [json.loads(line) for line in subprocess.run(command, capture_output=True, text=True).stderr.splitlines()]
    warned = [each for each in said if each.get("tag") == "one-program"]
    assert len(warned) >= 6 and any(not each["fixes"] for each in warned), said
    path.write_text(with_blocks(text, warned))
    run(BIN / "tesserac", path, "--target=cpu:x86-64-v3,cuda:sm_80,cuda:sm_90a", *quiet)
    random = np.random.default_rng(5)
    inputs, given = [], {"x": (70, 1100), "y": (8, 16), "v": (1100,), "w": (1100, 37)}
    for name, shape in given.items():
        np.save(folder / f"{name}.npy", random.integers(-8, 8, shape).astype(np.float32))
        inputs += ["--input", f"{name}={folder / name}.npy"]
    for bundle in ("s", "whole"):
        outputs = [word for name in "abcdefghijk" for word in ("--output", f"{name}={folder}/{bundle}.{name}.npy")]
        run(BIN / "tsr", "run", folder / f"{bundle}.bundle", "entry", *inputs, *outputs)
    for name in "abcdefghijk":
        blocked, whole = (np.load(folder / f"{bundle}.{name}.npy") for bundle in ("s", "whole"))
        np.testing.assert_allclose(blocked, whole, rtol=1e-5, err_msg=name)


def main():
    with tempfile.TemporaryDirectory() as name:
        blocks(pathlib.Path(name))
    used = 0
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "c.tsr"
        for program in PROGRAMS:
            clauses, seen = [], set()
            while True:
                path.write_text(source(program, clauses))
                result = subprocess.run([BIN / "tesserac", path, "-o", path.with_suffix(".bundle")],
                                        capture_output=True, text=True)
                assert result.returncode in (0, 1), (path.read_text(), result.stderr)
                if result.returncode == 0:
                    break
                messages = frozenset(re.findall(r"error: (.*)", result.stderr))
                assert messages not in seen, f"a clause changed nothing:\n{path.read_text()}\n{result.stderr}"
                seen.add(messages)
                helps = [clause for clause in CLAUSE.findall(result.stderr) if clause not in clauses]
                assert helps, f"nothing helps:\n{path.read_text()}\n{result.stderr}"
                clauses.append(helps[0])
                used += 1
    assert used >= len(PROGRAMS), used


if __name__ == "__main__":
    main()
