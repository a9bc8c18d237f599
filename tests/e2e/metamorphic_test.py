#!/usr/bin/env python3
"""Changes of a program or its arguments whose effect is known without knowing the result.

Names mean nothing: the same bits. A batch may be split or put in another order, a causal model's context may go on
after what is asked for: each result is within the bound of the exact one, so that two differ by at most twice that.
Sums of small integers are exact: axes may change places, and rows of zeros may be added, without a bit changing.

Usage: metamorphic_test.py BUILD_DIR
"""
import pathlib
import re
import tempfile

import numpy as np

from models import BOUND, Model
from tools import BIN, EXAMPLES, run

# Sizes, variables and functions of examples/gpt that no caller sees.
NAMES = {"B": "Rows", "S": "Length", "E": "Each", "x": "stream", "scores": "affinity", "position": "place",
         "causal_attention": "look_back", "q": "asking", "k": "offering", "v": "content", "model": "decoder",
         "attend": "gather_context", "mlp": "think", "block": "layer"}

AXES = """
@jit
def product(a: Tensor[M, K, f32], b: Tensor[K, N, f32]) -> Tensor[M, N, f32]:
    return a @ b

@jit
def product_turned(a: Tensor[M, K, f32], b: Tensor[K, N, f32]) -> Tensor[M, N, f32]:
    return (b.T @ a.T).T

@jit
def sums(x: Tensor[A, B, C, f32]) -> Tensor[A, C, f32]:
    return sum(x, axis=1)

@jit
def sums_turned(x: Tensor[A, B, C, f32]) -> Tensor[A, C, f32]:
    return transpose(sum(transpose(x, 2, 0, 1), axis=2))

@jit
def shares(x: Tensor[A, B, C, f32]) -> Tensor[A, B, C, f32]:
    return softmax(x, axis=1)

@jit
def shares_turned(x: Tensor[A, B, C, f32]) -> Tensor[A, B, C, f32]:
    return transpose(softmax(transpose(x, 2, 0, 1)), 1, 2, 0)

@jit
def images(x: Tensor[A, B, C, f32], b: Tensor[C, f32]) -> Tensor[A, B, C, f32]:
    return tanh(x * 0.25 + b)

@jit
def images_turned(x: Tensor[A, B, C, f32], b: Tensor[C, f32]) -> Tensor[A, B, C, f32]:
    return transpose(tanh(transpose(x, 1, 2, 0) * 0.25 + b[:, None]), 2, 0, 1)
"""


class Entries:
    """The entries of a bundle without parameters."""

    def __init__(self, source, folder):
        self.folder = folder
        self.bundle = folder / f"{source.stem}.bundle"
        run(BIN / "tesserac", source, "-o", self.bundle, "--target=host")

    def __call__(self, entry, **inputs):
        arguments = []
        for key, value in inputs.items():
            np.save(self.folder / f"{key}.npy", value)
            arguments += ["--input", f"{key}={self.folder}/{key}.npy"]
        run(BIN / "tsr", "run", self.bundle, entry, *arguments, "--output", f"{entry}={self.folder}/out.npy")
        return np.load(self.folder / "out.npy")


def same_bits(what, a, b):
    assert a.shape == b.shape and a.tobytes() == b.tobytes(), what
    print(f"{what:<50} the same bits")


def near(what, a, b):
    apart, bound = np.max(np.abs(a - b)), 2 * BOUND * max(np.max(np.abs(a)), np.max(np.abs(b)))
    print(f"{what:<50} {apart:.3g} apart, bound {bound:.3g}")
    assert a.shape == b.shape and apart <= bound, what


def check_axes(folder):
    source = folder / "axes.tsr"
    source.write_text(AXES)
    entries = Entries(source, folder)
    rng = np.random.default_rng(1)

    def integers(*shape):
        return rng.integers(-4, 5, shape).astype(np.float32)

    for m, k, n in ((1, 7, 5), (33, 64, 17), (70, 129, 50)):
        a, b = integers(m, k), integers(k, n)
        got = entries("product", a=a, b=b)
        same_bits(f"a product {m} x {k} x {n}, axes exchanged", got, entries("product_turned", a=a, b=b))
        rows, columns = np.zeros((3, k), np.float32), np.zeros((m, 5), np.float32)
        same_bits("... with rows of zeros", got, entries("product", a=np.concatenate((a, rows)), b=b)[:m])
        longer = entries("product", a=np.concatenate((a, columns), axis=1), b=np.concatenate((b, integers(5, n))))
        same_bits("... with a longer sum of zeros", got, longer)
    for shape in ((2, 3, 5), (4, 33, 17), (1, 130, 64)):
        x = integers(*shape)
        same_bits(f"a sum over {shape}, axes exchanged", entries("sums", x=x), entries("sums_turned", x=x))
        b = rng.standard_normal(shape[2]).astype(np.float32)
        same_bits("... elements", entries("images", x=x, b=b), entries("images_turned", x=x, b=b))
        order = rng.permutation(shape[0])
        same_bits("... elements in another order", entries("images", x=x, b=b)[order],
                  entries("images", x=x[order], b=b))
        near("... a softmax", entries("shares", x=x), entries("shares_turned", x=x))


def check_model(folder):
    text = (EXAMPLES / "gpt/gpt.tsr").read_text()
    code = [line.partition("#")[0] for line in text.splitlines()]
    renamed = re.sub(r"\b(" + "|".join(NAMES) + r")\b(?!\s*=[^=].*Param)", lambda m: NAMES[m.group()], "\n".join(code))
    (folder / "plain.tsr").write_text(text)
    (folder / "renamed.tsr").write_text(renamed + "\n")
    models = []
    for name in ("plain", "renamed"):
        bundle = folder / f"{name}.bundle"
        run(BIN / "tesserac", folder / f"{name}.tsr", "-D", "SIZE=tiny", "--target=host", "-o", bundle)
        models.append(Model(BIN / "tsr", bundle, folder))
    plain, renamed = models
    renamed.weights = plain.weights
    tokens = np.random.default_rng(2).integers(0, 256, (5, 40), dtype=np.uint8)
    whole = plain.call("logits", tokens=tokens)
    same_bits("gpt with other names", whole, renamed.call("logits", tokens=tokens))
    same_bits("gpt's loss with other names", plain.call("loss", tokens=tokens), renamed.call("loss", tokens=tokens))
    parts = [plain.call("logits", tokens=part) for part in (tokens[:2], tokens[2:3], tokens[3:])]
    near("gpt, its batch split", whole, np.concatenate(parts))
    order = np.array([3, 0, 4, 1, 2])
    near("gpt, its batch in another order", whole[order], plain.call("logits", tokens=tokens[order]))
    for length in (1, 17, 33):
        near(f"gpt, the first {length} bytes alone", whole[:, :length], plain.call("logits", tokens=tokens[:, :length]))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_axes(folder)
        check_model(folder)


if __name__ == "__main__":
    main()
