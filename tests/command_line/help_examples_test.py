#!/usr/bin/env python3
"""The examples in --help of all tools run as they are printed, in a folder that has the files they name.

Usage: help_examples_test.py BUILD_DIR
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from usage import build_folder

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = build_folder() / "bin"
sys.path.insert(0, str(ROOT / "tools"))
import gen_command_line  # noqa: E402

ENVIRONMENT = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}", LC_ALL="C.UTF-8", COLUMNS="100")

MODEL = """# One layer of a transformer's MLP.
const D = 64
const F = 256

param w_in: Param[D, F, f32] = normal(0.02)
param w_out: Param[F, D, f32] = normal(0.02)

@jit
def mlp(x: Tensor[B, D, f32]) -> Tensor[B, D, f32]:
    h = maximum(x @ w_in, 0.0)
    return x + h @ w_out

@jit
def half(x: Tensor[B, D, f32]) -> Tensor[B, D, f32]:
    return x * 0.5
"""

TABLE = """from tessera.nn import sgd

param table: Param[256, 256, f32] = normal(0.02)

def loss_of(table, tokens):
    scores = table[cast(tokens[:, :-1], i32)]
    return mean(cross_entropy(scores, cast(tokens[:, 1:], i32)))

@jit
def step(tokens: Tensor[B, 9, u8], state: OptimizerState[table], rate: f32):
    loss, slope = value_and_grad(loss_of)(table, tokens)
    weights, state = sgd(table, state, slope, rate)
    update(table, weights)
    return loss, state

@jit
def next(tokens: Tensor[B, S, u8]) where S >= 1:
    return table[cast(tokens[:, S - 1], i32)]
"""

# In this order: some make files that others read.
HELPS = ["tesserac", "tessera-opt", "tessera-fmt", "tsr init", "tsr run", "tsr inspect", "tsr verify", "tsr bench",
         "tsr train", "tsr generate", "tsr tokenize", "tsr"]
# A model whose compilation takes too long for a test.
NOT_RUN = "llama.bundle"


def examples(tool):
    """The commands of the section; a description stands behind two spaces."""
    text = subprocess.run([*tool.split(), "--help"], env=ENVIRONMENT, capture_output=True, text=True, timeout=60,
                          check=True).stdout
    section = re.search(r"^Examples:\n((?:  .*\n?)+)", text, re.M)
    assert section, f"--help of {tool} has no examples"
    return [re.split(r"(?<=\S)  +", line.strip())[0] for line in section[1].splitlines()]


def main():
    count = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "layers").mkdir()
        for path in ("mlp.tsr", "model.tsr", "layers/mlp.tsr"):
            (folder / path).write_text(MODEL)
        (folder / "table.tsr").write_text(TABLE)
        subprocess.run([BIN / "tesserac", "table.tsr", "-o", "table.bundle"], cwd=folder, check=True)
        (folder / "text.txt").write_text(MODEL * 10)
        numpy.save(folder / "x.npy", numpy.ones((6, 64), numpy.float32))
        for tool in HELPS:
            for command in examples(tool):
                assert command.split()[0] in gen_command_line.TOOLS, f"{tool}: {command}"
                if NOT_RUN in command:
                    continue
                done = subprocess.run(["sh", "-c", command], cwd=folder, env=ENVIRONMENT, capture_output=True,
                                      text=True, errors="replace", timeout=300, check=False)
                said = done.stdout[-2000:] + done.stderr[-2000:]
                assert done.returncode == 0, f"{tool} --help shows: {command}\n{said}"
                count += 1
        assert numpy.load(folder / "y.npy").shape == (6, 64)
    assert count > 15, count
    print(f"{count} examples of --help run")


if __name__ == "__main__":
    main()
