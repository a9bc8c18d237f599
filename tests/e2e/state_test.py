#!/usr/bin/env python3
"""State that entries update where it lies, from run to run, compiled and interpreted, beside NumPy.

Usage: state_test.py BUILD_DIR
"""
import pathlib
import tempfile

import numpy as np

from tools import BIN, DEVICE, refuse, run

from safetensors_io import load as load_safetensors

SOURCE = """
def scores(q, cache: KVCache["B", "H", "S_max", "D_h", f32]):
    live = arange(S_max, i64) < cache.length
    s = where(live, q @ cache.K.T, -1e30)
    return softmax(s) @ cache.V

@jit
def step(x: Tensor[B, 2, S, 8, f32], cache: KVCache["B", 2, "S_max", 8, f32]) where S <= S_max:
    cache = cache.append(x * 2.0, x + 1.0)
    y = scores(x, cache)
    return y, cache

@jit
def ring(x: Tensor[B, 2, S, 8, bf16], window: KVCache["B", 2, "S_max", 8, bf16] @rolling_window) where S <= S_max:
    window = window.append(x, x)
    return sum(window.K, axis=2), window

@jit
def old_and_new(x: Tensor[B, 2, 1, 8, f32], cache: KVCache["B", 2, "S_max", 8, f32]) where S_max >= 1:
    before = cache.K
    cache = cache.append(x, x)
    return cache.K - before, cache

@jit
def layers(x: Tensor[B, 1, S, 4, f32], caches: [KVCache["B", 1, "M", 4, f32]] * 3) where S <= M:
    new = []
    for i, cache in enumerate(caches):
        x = x + 1.0
        new = new + [cache.append(x, x * float(i))]
    return x, new

@jit
def undo(x: Tensor[f32], cache: KVCache["B", 2, "S_max", 8, f32]):
    return x, cache.prune(2)
"""


class Folder:
    def __init__(self, path, source):
        self.path = path
        (path / "s.tsr").write_text(source)
        run(BIN / "tesserac", path / "s.tsr", "-o", path / "s.bundle")

    def call(self, entry, output, *options, mode=(), refused=False, **inputs):
        arguments = []
        for name, value in inputs.items():
            np.save(self.path / f"{name}.npy", value)
            arguments += ["--input", f"{name}={self.path}/{name}.npy"]
        if output:
            arguments += ["--output", f"{output}={self.path}/out.npy"]
        command = (BIN / "tsr", "run", self.path / "s.bundle", entry, *arguments, *options, *mode)
        if refused:
            return refuse(*command)
        run(*command)
        return np.load(self.path / "out.npy") if output else None


def attention(q, k, v):
    s = q @ np.swapaxes(k, -1, -2)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ v


def check_steps(folder, mode):
    rng = np.random.default_rng(5)
    file = folder.path / "cache.safetensors"
    file.unlink(missing_ok=True)
    parts, state = [], ["--state", f"cache={file}", "--dim", "S_max=8"]
    for length in (3, 1, 2, 1, 1):
        x = rng.standard_normal((2, 2, length, 8)).astype(np.float32)
        parts.append(x)
        past = np.concatenate(parts, axis=2)
        y = folder.call("step", "y", *state, mode=mode, x=x)
        np.testing.assert_allclose(y, attention(x, past * 2, past + 1), rtol=1e-4, atol=1e-5)
        kept = load_safetensors(file)
        assert kept["cache.length"] == past.shape[2]
        np.testing.assert_array_equal(kept["cache.K"][:, :, :past.shape[2]], past * 2)
        assert not kept["cache.K"][:, :, past.shape[2]:].any()
    before = file.read_bytes()
    message = folder.call("step", "y", *state, mode=mode, refused=True, x=x)
    assert "cache.length + S <= S_max does not hold: the cache is full" in message, message
    assert file.read_bytes() == before
    # Four steps of one run are four runs.
    file.unlink()
    x = x[:, :, :1]
    folder.call("step", "y", *state, "--repeat", "4", mode=mode, x=x)
    kept = load_safetensors(file)
    assert kept["cache.length"] == 4
    np.testing.assert_array_equal(kept["cache.K"][:, :, :4], np.repeat(x, 4, axis=2) * 2)
    folder.call("undo", None, *state, mode=mode, x=np.float32(1))
    assert load_safetensors(file)["cache.length"] == 2


def check_ring(folder, mode):
    rng = np.random.default_rng(6)
    file = folder.path / "ring.safetensors"
    file.unlink(missing_ok=True)
    held, at = np.zeros((1, 2, 5, 8), np.float32), 0
    for length in (3, 4, 1, 5, 2):
        bits = rng.standard_normal((1, 2, length, 8)).astype(np.float32).view(np.uint32) & 0xffff0000
        x = bits.view(np.float32)
        for j in range(length):
            held[:, :, (at + j) % 5] = x[:, :, j]
        at += length
        half = (bits >> 16).astype(np.uint16).view(np.dtype("V2"))
        folder.call("ring", None, "--state", f"window={file}", "--dim", "S_max=5", mode=mode, x=half)
        kept = load_safetensors(file)
        assert kept["window.length"] == at
        np.testing.assert_array_equal(kept["window.K"], held)


def check_others(folder, mode):
    rng = np.random.default_rng(7)
    x = rng.standard_normal((1, 2, 1, 8)).astype(np.float32)
    file = folder.path / "other.safetensors"
    file.unlink(missing_ok=True)
    change = folder.call("old_and_new", "old_and_new.0", "--state", f"cache={file}", "--dim", "S_max=3", mode=mode, x=x)
    np.testing.assert_array_equal(change, np.concatenate([x, np.zeros((1, 2, 2, 8))], axis=2))
    x = rng.standard_normal((2, 1, 3, 4)).astype(np.float32)
    states = []
    for i in range(3):
        (folder.path / f"l{i}.safetensors").unlink(missing_ok=True)
        states += ["--state", f"caches.{i}={folder.path}/l{i}.safetensors"]
    folder.call("layers", "x", *states, "--dim", "M=4", mode=mode, x=x)
    for i in range(3):
        x = x + np.float32(1)
        kept = load_safetensors(folder.path / f"l{i}.safetensors")
        np.testing.assert_array_equal(kept[f"caches.{i}.V"][:, :, :3], x * np.float32(i))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Folder(pathlib.Path(name), SOURCE)
        for mode in ((), ("--interpret", "exact")):
            check_steps(folder, mode)
            check_ring(folder, mode)
            check_others(folder, mode)
        plan = run(BIN / "tsr", "inspect", folder.path / "s.bundle", "--ir", "plan")
        copies = [line for line in plan.splitlines() if "copy" in line and (".K" in line or ".V" in line)]
        # For each of the targets: of the old cache that is still read, and back.
        assert len(copies) == 2 * (2 if DEVICE == "cpu" else 3), copies


if __name__ == "__main__":
    main()
