#!/usr/bin/env python3
"""Attention whose scores go through a function of any length, compiled, beside NumPy. Where there is ptxas, all of it
assembles for GPUs, too: the compiler makes tiles as small as what is computed of a score asks for.

Usage: score_functions_test.py BUILD_DIR
"""
import os
import pathlib
import shutil
import subprocess
import tempfile

import numpy as np

from tools import BIN, run

# Name: the function in the language, and in NumPy.
FUNCTIONS = {
    "sin": ("sin(s)", np.sin),
    "power": ("abs(s) ** 1.5", lambda s: np.abs(s) ** 1.5),
    "log": ("log(abs(s) + 1.0)", lambda s: np.log(np.abs(s) + 1)),
    "cap": ("tanh(s / 30.0) * 30.0", lambda s: np.tanh(s / 30) * 30),
    "remainder": ("s % 2.5", lambda s: np.mod(s, 2.5)),
    "both": ("sin(s) * cos(s * 3.0)", lambda s: np.sin(s) * np.cos(s * 3)),
}
OF_DTYPE = {"bf16": ("sin", "power", "cap", "both"), "f32": ("log", "remainder", "cap"),
            "f64": ("log", "cap")}  # sin, pow and % have no code for f64 (docs/numerics.md)
SHAPES = {"d64": "64", "d128": "128", "open": "D"}
DTYPES = {"bf16": np.float32, "f32": np.float32, "f64": np.float64}  # with NumPy's that hold them
SIZES = dict(rows=70, keys=130)


def cases():
    for dtype in DTYPES:
        for function in OF_DTYPE[dtype]:
            for shape in SHAPES:
                # Symbolic depths have many variants: one function says enough of them.
                if shape == "d128" or function == {"bf16": "both", "f64": "cap"}.get(dtype):
                    yield function, shape, dtype


def source():
    text = ""
    for function, shape, dtype in cases():
        depth = SHAPES[shape]
        text += f"""
@jit
def {function}_{shape}_{dtype}(q: Tensor[1, 4, S, {depth}, {dtype}], k: Tensor[1, 2, N, {depth}, {dtype}],
                               v: Tensor[1, 2, N, {depth}, {dtype}]):
    return cast(flash_attention(q, k, v, score_mod=lambda s, b, h, i, j: {FUNCTIONS[function][0]}), {
        'f64' if dtype == 'f64' else 'f32'})
"""
    return text


def wanted(function, q, k, v):
    k, v = (np.repeat(each, 2, axis=1) for each in (k, v))
    scores = FUNCTIONS[function][1](np.einsum("bhid,bhjd->bhij", q, k) / np.sqrt(q.shape[-1]))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.einsum("bhij,bhjd->bhid", weights / weights.sum(axis=-1, keepdims=True), v)


def check(folder, function, shape, dtype, rng):
    depth = 72 if shape == "open" else int(SHAPES[shape])
    words, given = [], []
    for name, heads, rows in (("q", 4, SIZES["rows"]), ("k", 2, SIZES["keys"]), ("v", 2, SIZES["keys"])):
        # Quarters: products are exact, and a remainder jumps where it should.
        value = (rng.integers(-2, 3, (1, heads, rows, depth)) * 0.25).astype(DTYPES[dtype])
        given.append(value.astype(np.float64))
        bits = (value.view(np.uint32) >> 16).astype(np.uint16).view("V2") if dtype == "bf16" else value
        np.save(folder / f"{name}.npy", bits)
        words += ["--input", f"{name}={folder}/{name}.npy"]
    entry = f"{function}_{shape}_{dtype}"
    run(BIN / "tsr", "run", folder / "s.bundle", entry, *words, "--output", f"{entry}={folder}/r.npy")
    error = np.max(np.abs(np.load(folder / "r.npy").astype(np.float64) - wanted(function, *given)))
    assert error <= {"bf16": 2e-2, "f32": 2e-5, "f64": 1e-12}[dtype], (entry, error)


def assemble(folder):
    """Starts the compiler for each GPU."""
    return {target: subprocess.Popen([BIN / "tesserac", folder / "s.tsr", f"--target={target}", "--cubin", "-o",
                                      folder / f"{target[-5:]}.bundle"], stderr=subprocess.PIPE, text=True)
            for target in ("cuda:sm_80", "cuda:sm_90a")}


def check_assembled(folder, started):
    for target, compiler in started.items():
        _, messages = compiler.communicate()
        assert compiler.returncode == 0, (target, messages)
        run(BIN / "tsr", "verify", folder / f"{target[-5:]}.bundle")


def main():
    rng = np.random.default_rng(15)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "s.tsr").write_text(source())
        folders = os.environ.get("PATH", "").split(os.pathsep) + [os.environ.get("CUDA_HOME", "") + "/bin",
                                                                  "/usr/local/cuda/bin"]
        started = assemble(folder) if shutil.which("ptxas", path=os.pathsep.join(folders)) else {}
        run(BIN / "tesserac", folder / "s.tsr", "-o", folder / "s.bundle")
        for case in cases():
            check(folder, *case, rng)
        check_assembled(folder, started)


if __name__ == "__main__":
    main()
