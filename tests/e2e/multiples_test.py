#!/usr/bin/env python3
"""Sizes that `where` relates: cut up and joined again, and refused where it does not hold.

Usage: multiples_test.py BUILD_DIR
"""
import inspect
import pathlib
import tempfile

import numpy as np

from tools import BIN, refuse, run

SOURCE = """
@jit
def cut(x: Tensor[B, S, f32]) -> Tensor[B, S // 64, 64, f32] where S % 64 == 0:
    return reshape(x, (B, S // 64, 64)) * 2.0

@jit
def joined(x: Tensor[B, S, f32]) -> Tensor[B, S, f32] where S % 64 == 0:
    w = reshape(x, (B, -1, 64))
    return reshape(w - max(w, axis=2, keepdims=True), (B, S)) + x

@jit
def turned(x: Tensor[B, S, f32]) -> Tensor[B, S, f32] where S % 64 == 0:
    w = reshape(x, (B, S // 32, 32))
    return reshape(transpose(w, 0, 2, 1), (B, S)) + x
"""

SIZES = """
from tessera.nn import conv2d, max_pool2d, topk

def doubled(x: Tensor[B, H, W, C, f32]):
    return reshape(broadcast_to(x[:, :, None, :, None], (B, H, 2, W, 2, C)), (B, 2 * H, 2 * W, C))

@jit
def halves(x: Tensor[B, f32]) -> Tensor[B, f32] where B % 2 == 0:
    return concat((x[:B // 2], x[:B // 2])) + x

@jit
def flat(x: Tensor[M, B + 8, f32], b: Tensor[B, f32]):
    return reshape(x.T, (-1, B + 8)) * 2.0

@jit
def both(x: Tensor[H, f32], y: Tensor[2 * K, f32], k: Tensor[K, f32]) -> Tensor[H, f32] where H // 2 == K, H % 2 == 0:
    return x + y

@jit
def top(x: Tensor[B, 1, f32]):
    values, places = topk(x, 1)
    return values, places

@jit
def depthwise(x: Tensor[B, H, W, C, f32], w: Tensor[3, 3, 1, C, f32]
              ) -> Tensor[B, H, W, C, f32] where H >= 1, W >= 1, C >= 2:
    return conv2d(x, w, padding=(1, 1), groups=C)

@jit
def unet(x: Tensor[B, H, W, 3, f32], a: Tensor[3, 3, 3, 4, f32], b: Tensor[3, 3, 4, 5, f32], c: Tensor[3, 3, 5, 6, f32],
         d: Tensor[3, 3, 11, 4, f32], e: Tensor[1, 1, 8, 2, f32]
         ) -> Tensor[B, H, W, 2, f32] where H % 4 == 0, W % 4 == 0, H >= 4, W >= 4:
    large = conv2d(x, a, padding=(1, 1))
    half = conv2d(max_pool2d(large, (2, 2)), b, padding=(1, 1))
    low = conv2d(max_pool2d(half, (2, 2)), c, padding=(1, 1))
    up = conv2d(concat((doubled(low), half), axis=3), d, padding=(1, 1))
    return conv2d(concat((doubled(up), large), axis=3), e)
"""


def expected(entry, x):
    b, s = x.shape
    if entry == "cut":
        return x.reshape(b, s // 64, 64) * np.float32(2)
    if entry == "joined":
        w = x.reshape(b, -1, 64)
        return (w - w.max(axis=2, keepdims=True)).reshape(b, s) + x
    return x.reshape(b, s // 32, 32).transpose(0, 2, 1).reshape(b, s) + x


def conv(x, w):
    size = w.shape[0]
    edge = size // 2
    x = np.pad(x, ((0, 0), (edge, edge), (edge, edge), (0, 0)))
    b, h, w_, _ = x.shape
    parts = [x[:, i:h - size + 1 + i, j:w_ - size + 1 + j] for i in range(size) for j in range(size)]
    if w.shape[2] == 1 and w.shape[3] == x.shape[3]:
        return sum(part * w[i // size, i % size, 0] for i, part in enumerate(parts))
    return sum(part @ w[i // size, i % size] for i, part in enumerate(parts))


def pooled(x):
    b, h, w, c = x.shape
    return x.reshape(b, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))


def doubled(x):
    return x.repeat(2, axis=1).repeat(2, axis=2)


def unet(x, a, b, c, d, e):
    large = conv(x, a)
    half = conv(pooled(large), b)
    low = conv(pooled(half), c)
    up = conv(np.concatenate((doubled(low), half), axis=3), d)
    return conv(np.concatenate((doubled(up), large), axis=3), e)


SIZE_CASES = {
    "halves": (lambda x: np.concatenate((x[:len(x) // 2],) * 2) + x, [[(6,)], [(0,)]], [(5,)]),
    "flat": (lambda x, b: x.T.reshape(-1, x.shape[1]) * np.float32(2), [[(3, 10), (2,)], [(1, 8), (0,)]], None),
    "both": (lambda x, y, k: x + y, [[(6,), (6,), (3,)]], [(6,), (8,), (4,)]),
    "top": (lambda x: x, [[(4, 1)]], None),
    "depthwise": (conv, [[(2, 5, 6, 3), (3, 3, 1, 3)], [(1, 1, 2, 2), (3, 3, 1, 2)]], [(1, 4, 4, 1), (3, 3, 1, 1)]),
    "unet": (unet, [[(b, h, w, 3), (3, 3, 3, 4), (3, 3, 4, 5), (3, 3, 5, 6), (3, 3, 11, 4), (1, 1, 8, 2)]
                    for b, h, w in ((2, 8, 12), (1, 4, 4))],
             [(1, 6, 4, 3), (3, 3, 3, 4), (3, 3, 4, 5), (3, 3, 5, 6), (3, 3, 11, 4), (1, 1, 8, 2)]),
}


def check_sizes(folder):
    (folder / "s.tsr").write_text(SIZES)
    run(BIN / "tesserac", folder / "s.tsr", "-o", folder / "s.bundle")
    generator = np.random.default_rng(2)
    for entry, (function, shapes, refused) in SIZE_CASES.items():
        names = list(inspect.signature(function).parameters)
        for shape in [*shapes, *([refused] if refused else [])]:
            values = [generator.standard_normal(each, np.float32) for each in shape]
            words = []
            for name, value in zip(names, values):
                np.save(folder / f"{name}.npy", value)
                words += ["--input", f"{name}={folder / name}.npy"]
            result = "values" if entry == "top" else entry
            command = [BIN / "tsr", "run", folder / "s.bundle", entry, *words]
            if shape == refused:
                refuse(*command)
                continue
            for mode in ((), ("--interpret", "exact")):
                run(*command, "--output", f"{result}={folder / 'out.npy'}", *mode)
                close = np.allclose(np.load(folder / "out.npy"), function(*values), rtol=1e-4, atol=1e-4)
                assert close, (entry, shape, mode)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_sizes(folder)
        (folder / "m.tsr").write_text(SOURCE)
        run(BIN / "tesserac", folder / "m.tsr", "-o", folder / "m.bundle")
        for entry in ("cut", "joined", "turned"):
            for shape in ((3, 192), (1, 64), (2, 0)):
                x = np.random.default_rng(1).standard_normal(shape, np.float32)
                np.save(folder / "x.npy", x)
                out = folder / f"{entry}.npy"
                given = ("--input", f"x={folder}/x.npy", "--output", f"{entry}={out}")
                for mode in ((), ("--interpret", "exact")):
                    run(BIN / "tsr", "run", folder / "m.bundle", entry, *given, *mode)
                    assert np.array_equal(np.load(out), expected(entry, x)), (entry, shape, mode)
            np.save(folder / "x.npy", np.zeros((3, 100), np.float32))
            message = refuse(BIN / "tsr", "run", folder / "m.bundle", entry, "--input", f"x={folder}/x.npy")
            assert "S % 64 == 0" in message, message


if __name__ == "__main__":
    main()
