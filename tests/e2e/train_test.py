#!/usr/bin/env python3
"""Steps of training on an optimiser's state, which is updated where it lies, compiled and interpreted, beside NumPy.

Usage: train_test.py BUILD_DIR
"""
import pathlib
import re
import tempfile

import numpy as np

from tools import BIN, SANITIZED, peak_memory, run

import bf16
from safetensors_io import load as load_safetensors

SOURCE = """
from tessera.nn import adamw

def gradient_of(scores: Tensor[B, C, f32], labels: Tensor[B, i32]) -> Tensor[B, C, f32]:
    chosen = labels[:, None] == arange(C, i32)[None, :]
    return (softmax(scores) - where(chosen, 1.0, 0.0)) / float(B)

@jit
def begin(w: Tensor[D, 10, bf16], state: OptimizerState[w] @fp32_master):
    state = state.replace(master=cast(w, f32))
    return state

@jit
def train(x: Tensor[B, D, bf16], labels: Tensor[B, i32], w: Tensor[D, 10, bf16], state: OptimizerState[w] @fp32_master,
          rate: f32) where B >= 1, D >= 1:
    scores = cast(x @ w, f32)
    loss = mean(cross_entropy(scores, labels))
    w, state = adamw(w, state, x.T @ cast(gradient_of(scores, labels), bf16), rate, weight_decay=0.01)
    return w, loss, state

@jit
def train_f32(x: Tensor[B, D, f32], labels: Tensor[B, i32], w: Tensor[D, 10, f32], state: OptimizerState[w],
              rate: f32) where B >= 1, D >= 1:
    scores = x @ w
    loss = mean(cross_entropy(scores, labels))
    w, state = adamw(w, state, x.T @ gradient_of(scores, labels), rate, weight_decay=0.01)
    return w, loss, state
"""
ROWS, WIDTH, CLASSES, RATE = 24, 40, 10, 0.05


def identity(x):
    return x


class Program:
    """The same steps in float64; `cast` rounds what the entry stores."""

    def __init__(self, w, cast):
        self.w, self.kept, self.cast = w, w.astype(np.float64), cast
        self.m, self.v, self.step = np.zeros(w.shape), np.zeros(w.shape), 0

    def train(self, x, labels):
        scores = x.astype(np.float64) @ self.w
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        loss = -np.log(p[np.arange(len(x)), labels]).mean()
        p[np.arange(len(x)), labels] -= 1
        gradient = x.T.astype(np.float64) @ self.cast((p / len(x)).astype(np.float32))
        self.step += 1
        self.m = 0.9 * self.m + 0.1 * gradient
        self.v = 0.999 * self.v + 0.001 * gradient * gradient
        moved = self.m / (1 - 0.9**self.step) / (np.sqrt(self.v / (1 - 0.999**self.step)) + 1e-8) + 0.01 * self.kept
        self.kept = self.kept - RATE * moved
        self.w = self.cast(self.kept.astype(np.float32))
        return loss


class Entry:
    """An entry that trains, and the files of its tensors."""

    def __init__(self, folder, name, half):
        self.folder, self.name, self.half = folder, name, half
        self.state = folder / f"{name}.safetensors"
        self.state.unlink(missing_ok=True)

    def command(self, name, inputs, *options):
        words = [BIN / "tsr", "run", self.folder / "t.bundle", name, "--state", f"state={self.state}", *options]
        for name, value in inputs.items():
            path = self.folder / f"{name}.npy"
            (bf16.save_bf16 if self.half and name in "xw" else np.save)(path, value)
            words += ["--input", f"{name}={path}"]
        return words

    def step(self, inputs, mode):
        out = {name: self.folder / f"{name}.out.npy" for name in ("w", "loss")}
        run(*self.command(self.name, inputs, *mode), *(f"--output={name}={path}" for name, path in out.items()))
        return bf16.load_bf16(out["w"]) if self.half else np.load(out["w"]), np.load(out["loss"])


def check_steps(folder, name, half, mode):
    rng = np.random.default_rng(3)
    cast = bf16.to_bf16 if half else identity
    x = cast(rng.standard_normal((ROWS, WIDTH)).astype(np.float32))
    labels = rng.integers(0, CLASSES, ROWS).astype(np.int32)
    w = cast((rng.standard_normal((WIDTH, CLASSES)) * 0.1).astype(np.float32))
    entry, program, losses = Entry(folder, name, half), Program(w, cast), []
    if half:
        run(*entry.command("begin", {"w": w}, *mode))
    for _ in range(12):
        wanted = program.train(x, labels)
        w, loss = entry.step({"x": x, "labels": labels, "w": w, "rate": np.float32(RATE)}, mode)
        np.testing.assert_allclose(loss, wanted, rtol=2e-2 if half else 1e-4)
        losses.append(loss)
    assert losses[-1] < losses[0] / 8, losses
    kept = load_safetensors(entry.state)
    assert kept["state.step"] == 12
    bound = 2e-2 if half else 1e-4  # half: a gradient near zero may have either sign, and Adam moves by its sign
    for got, part in ((kept["state.m"], program.m), (kept["state.v"], program.v),
                      (kept["state.master"] if half else w, program.kept)):
        assert np.abs(got - part).max() <= bound * np.abs(part).max(), np.abs(got - part).max() / np.abs(part).max()
    if half:
        np.testing.assert_array_equal(w, cast(kept["state.master"]))


def check_memory(folder):
    """Steps need no more memory as they go on, and none beside the state for a new one."""
    shape, rows = (4096, CLASSES), 4
    inputs = {"x": np.zeros((rows, shape[0]), np.float32), "labels": np.zeros(rows, np.int32),
              "w": np.zeros(shape, np.float32), "rate": np.float32(RATE)}
    entry = Entry(folder, "train", half=True)
    few, many = (peak_memory(*entry.command("train", inputs, "--repeat", count)) for count in (2, 200))
    assert SANITIZED or many < few + 500_000, f"{few} bytes after 2 steps, {many} after 200"
    plan = run(BIN / "tsr", "inspect", folder / "t.bundle", "--ir", "plan")
    assert not re.search(r"copy", plan), plan


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "t.tsr").write_text(SOURCE)
        run(BIN / "tesserac", folder / "t.tsr", "-o", folder / "t.bundle")
        for mode in ((), ("--interpret", "exact")):
            check_steps(folder, "train", True, mode)
            check_steps(folder, "train_f32", False, mode)
        check_memory(folder)


if __name__ == "__main__":
    main()
