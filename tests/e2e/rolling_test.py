#!/usr/bin/env python3
"""Attention on a cache that rolls, through several iterations of it, compiled and interpreted, beside NumPy.

Usage: rolling_test.py BUILD_DIR
"""
import pathlib
import tempfile

import numpy as np

from tools import BIN, run

SIGNATURE = """
@jit
def {name}(q: Tensor[1, 4, S, 16, {dtype}], k: Tensor[1, 2, S, 16, {dtype}], v: Tensor[1, 2, S, 16, {dtype}],
     cache: KVCache[1, 2, {room}, 16, {dtype}] @rolling_window) where S <= {room}:
    cache = cache.append(k, v)
    return flash_attention(q, cache{options}), cache
"""
OPTIONS = {
    "all": "",
    "causal": ", causal=True",
    "window": ", causal=True, window=4",
    "around": ", window=3",
    "mods": ", score_mod=lambda s, b, h, i, j: s + 0.25 * cast(i - j, f32), mask_mod=lambda b, h, i, j: j <= i",
}


def source(room, dtype):
    return "".join(SIGNATURE.format(name=name, room=room, dtype=dtype, options=options)
                   for name, options in OPTIONS.items())


def expected(name, q, k, v, room):
    """Attention of q, the last rows, on the last `room` of all keys there were."""
    count, rows = k.shape[2], q.shape[2]
    k, v = np.repeat(k, 2, axis=1), np.repeat(v, 2, axis=1)
    i = np.arange(rows)[:, None] + count - rows
    j = np.arange(count)[None]
    s = np.einsum("bhsd,bhtd->bhst", q, k) / 4.0
    seen = np.broadcast_to(j >= count - room, s.shape[2:])
    if name != "all" and name != "around":
        seen = seen & (j <= i)
    if name == "window":
        seen = seen & (j > i - 4)
    if name == "around":
        seen = seen & (j > i - 3) & (j < i + 3)
    if name == "mods":
        s = s + 0.25 * (i - j)
    s = np.where(seen, s, -np.inf)
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True) @ v


def check(path, room, name, rows, mode):
    rng = np.random.default_rng(rows)
    state = path / "cache.safetensors"
    state.unlink(missing_ok=True)
    parts = [[], []]
    for _ in range(3 * room // rows + 1):
        inputs = {"q": rng.standard_normal((1, 4, rows, 16)), "k": rng.standard_normal((1, 2, rows, 16)),
                  "v": rng.standard_normal((1, 2, rows, 16))}
        arguments = []
        for key, value in inputs.items():
            np.save(path / f"{key}.npy", value.astype(np.float32))
            arguments += ["--input", f"{key}={path}/{key}.npy"]
        for part, key in zip(parts, "kv"):
            part.append(inputs[key])
        run(BIN / "tsr", "run", path / f"{room}.bundle", name, *arguments, "--state", f"cache={state}",
            "--output", f"{name}.0={path}/out.npy", *mode)
        want = expected(name, inputs["q"], *(np.concatenate(part, axis=2) for part in parts), room)
        np.testing.assert_allclose(np.load(path / "out.npy"), want, rtol=1e-4, atol=1e-5,
                                   err_msg=f"{name} {rows} {mode}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        # A whole number of blocks of keys, and part of one.
        for room in (8, 5):
            (path / f"{room}.tsr").write_text(source(room, "f32"))
            run(BIN / "tesserac", path / f"{room}.tsr", "-o", path / f"{room}.bundle")
            for name in OPTIONS:
                for rows in (1, 2, 3):
                    check(path, room, name, rows, ())
                check(path, room, name, 3, ("--interpret", "exact"))
        # Where a kernel computes attention, and where it is written out.
        for dtype in ("bf16", "f32"):
            text = source(256, dtype) if dtype == "bf16" else source(256, dtype).split("@jit\ndef mods")[0]
            (path / "gpu.tsr").write_text(text)
            run(BIN / "tesserac", path / "gpu.tsr", "-o", path / "gpu.bundle", "--target=cuda:sm_90a")


if __name__ == "__main__":
    main()
