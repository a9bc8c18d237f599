#!/usr/bin/env python3
"""State that entries update where it lies, from run to run, compiled and interpreted, beside NumPy.

Usage: state_test.py BUILD_DIR
"""
import pathlib
import tempfile

import numpy as np

from library import Bundle
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

LOOPS = """
@jit
def each(x: Tensor[1, 1, N, 4, f32], c: KVCache[1, 1, "S", 4, f32]) where N <= S, S >= 1:
    for i in range(N):
        c = c.append(x[:, :, i:i + 1], x[:, :, i:i + 1] + 1.0)
    return c

@jit
def both(x: Tensor[1, 1, N, 4, f32], c: KVCache[1, 1, "S", 4, f32], d: KVCache[1, 1, "S", 4, f32]) where S >= 5:
    d = d.append(zeros((1, 1, 2, 4), f32), zeros((1, 1, 2, 4), f32))
    for i in range(N):
        for j in range(2):
            c = c.append(x[:, :, i:i + 1], x[:, :, i:i + 1] + 1.0)
        for j in range(N):
            d = d.append(x[:, :, j:j + 1], x[:, :, j:j + 1] + 1.0)
    c = c.append(ones((1, 1, 5, 4), f32), ones((1, 1, 5, 4), f32))
    return c, d

@jit
def until(x: Tensor[1, 1, N, 4, f32], limit: f32, c: KVCache[1, 1, "S", 4, f32]) where N >= 1, S >= 1:
    t = zeros((), f32)
    while t < limit:
        c = c.append(x[:, :, :1], x[:, :, :1] + 1.0)
        t = t + 1.0
    return c

@jit
def looked_at(x: Tensor[1, 1, N, 4, f32], c: KVCache[1, 1, "S", 4, f32]) where N <= S:
    c = c.append(x, x + 1.0)
    c = c.replace(length=c.length + cast(max(c.K), i64))
    c = c.append(x, x + 1.0)
    return c

@jit
def none(x: Tensor[1, 1, N, 4, f32], c: KVCache[1, 1, "S", 4, f32]):
    c = c.append(x[:, :, N:], x[:, :, N:])
    return c
"""


def in_memory(array):
    """A copy where the library takes it as it is: aligned as kernels want."""
    array = np.asarray(array)
    memory = np.zeros(array.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    aligned = memory[start:start + array.nbytes].view(array.dtype).reshape(array.shape)
    aligned[...] = array
    return aligned


def cache(length, room=12):
    return [in_memory(np.full((1, 1, room, 4), -1, np.float32)), in_memory(np.full((1, 1, room, 4), -2, np.float32)),
            in_memory(np.int64(length))]


def check_failed_calls(path):
    """A call that fails, in whichever iteration, leaves the caches that it was given as they were."""
    (path / "l.tsr").write_text(LOOPS)
    run(BIN / "tesserac", path / "l.tsr", "-o", path / "l.bundle")
    bundle = Bundle(path / "l.bundle")
    full = "does not hold: the cache is full"
    for entry, n, lengths, fits, *more in (
            ("each", 6, [6], True), ("each", 6, [7], False), ("each", 0, [12], True), ("each", 1, [12], False),
            ("each", 6, [-1], False), ("each", 6, [2**63 - 3], False), ("each", 0, [-1], True),
            ("both", 2, [-1, 6], False), ("both", 2, [3, 2**63 - 1], False),
            ("until", 1, [-5], False, np.float32(4)),
            ("both", 2, [3, 6], True), ("both", 2, [4, 6], False), ("both", 2, [3, 7], False),
            ("both", 0, [7, 10], True),
            ("both", 0, [8, 10], False), ("both", 0, [7, 11], False),
            ("until", 1, [8], True, np.float32(4)), ("until", 1, [9], False, np.float32(4)),
            ("until", 1, [12], True, np.float32(0)),
            ("looked_at", 2, [4], True), ("looked_at", 3, [4], False), ("looked_at", 2, [11], False),
            ("none", 2, [12], True), ("none", 2, [13], False), ("none", 0, [-1], False)):
        x = in_memory(np.arange(1, 4 * n + 1, dtype=np.float32).reshape(1, 1, n, 4) % 4)
        arguments = [x, *map(in_memory, more)]
        first = len(arguments)
        for length in lengths:
            arguments += cache(length)
        before = [array.copy() for array in arguments]
        message = bundle.call(entry, arguments, range(first, len(arguments)))
        if fits:
            assert message is None, (entry, n, lengths, message)
            for i, length in enumerate(lengths):
                keys, values, now = arguments[first + 3 * i:first + 3 * i + 3]
                assert (keys[:, :, :length] == -1).all() and (values[:, :, :length] == -2).all()
                there = min(int(now), 12)
                added = values[:, :, length:there] - keys[:, :, length:there]
                assert now >= length and np.isin(added, (0, 1, -1)).all(), (entry, n, lengths)
        else:
            assert message and full in message, (entry, n, lengths, message)
            for was, now in zip(before, arguments):
                np.testing.assert_array_equal(now, was, err_msg=f"{entry} {n} {lengths}: {message}")
    plan = run(BIN / "tsr", "inspect", path / "l.bundle", "--ir", "plan")
    for text in plan.split("plan @")[1:]:
        copies = [line for line in text.splitlines() if "copy" in line and (".K" in line or ".V" in line)]
        # What can be asked before anything is written costs no copy. What cannot costs one of what was written by then
        # and one back: in 'looked_at' of the keys, to which the second check leads.
        assert len(copies) == {"until": 4, "looked_at": 2}.get(text.split()[0], 0), text


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
    parts, state = [], ["--state", f"cache={file}", "--dims", "S_max=8"]
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
        folder.call("ring", None, "--state", f"window={file}", "--dims", "S_max=5", mode=mode, x=half)
        kept = load_safetensors(file)
        assert kept["window.length"] == at
        np.testing.assert_array_equal(kept["window.K"], held)


def check_others(folder, mode):
    rng = np.random.default_rng(7)
    x = rng.standard_normal((1, 2, 1, 8)).astype(np.float32)
    file = folder.path / "other.safetensors"
    file.unlink(missing_ok=True)
    change = folder.call("old_and_new", "old_and_new.0", "--state", f"cache={file}", "--dims", "S_max=3", mode=mode,
                         x=x)
    np.testing.assert_array_equal(change, np.concatenate([x, np.zeros((1, 2, 2, 8))], axis=2))
    x = rng.standard_normal((2, 1, 3, 4)).astype(np.float32)
    states = []
    for i in range(3):
        (folder.path / f"l{i}.safetensors").unlink(missing_ok=True)
        states += ["--state", f"caches.{i}={folder.path}/l{i}.safetensors"]
    folder.call("layers", "x", *states, "--dims", "M=4", mode=mode, x=x)
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
        check_failed_calls(folder.path)
        plan = run(BIN / "tsr", "inspect", folder.path / "s.bundle", "--ir", "plan")
        copies = [line for line in plan.splitlines() if "copy" in line and (".K" in line or ".V" in line)]
        # For each of the targets: of the old cache that is still read, and back.
        assert len(copies) == 2 * (2 if DEVICE == "cpu" else 3), copies


if __name__ == "__main__":
    main()
