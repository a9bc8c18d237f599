#!/usr/bin/env python3
"""Derivatives of random programs with nested loops, branches, scans, checkpoints and calls, in f64: jvp beside
differences, and vjp beside jvp (the same number, whichever way it is computed).

Usage: random_derivatives_test.py BUILD_DIR [--seed N] [--count N] [--show]
"""
import argparse
import pathlib
import random
import subprocess
import tempfile

import numpy as np

from tools import BIN, on_device, run

VARIABLES = "xyz"
OPS = ["soft({a} * 0.8 + {b})", "wave({a}) + {b} * 0.3", "{a} * wave({b})", "{a} * 0.7 - {b} * 0.4", "{a}",
       "where({a} > {b}, {a} * 0.5, wave({b}))", "{a} * mean({b})", "concat(({a}[1:], {b}[:1]))", "{a} + w * 0.2"]
# What f64 has functions for.
FUNCTIONS = """def soft(v):
    return v / sqrt(1.0 + v * v)

def wave(v):
    return v / (1.0 + v * v)

"""


class Program:
    """A function of three vectors and a number of iterations, which uses another vector, `w`, wherever it likes."""

    def __init__(self, name, rng, others):
        self.name, self.rng, self.others, self.lines, self.loops = name, rng, others, [], 0
        self.block("    ", depth=0)
        result = f"return {', '.join(VARIABLES)}"
        self.text = "\n".join([f"def {name}(x, y, z, w, n: int):", *self.lines, f"    {result}", ""])

    def pick(self):
        return self.rng.choice(VARIABLES)

    def value(self):
        return self.rng.choice(OPS).format(a=self.pick(), b=self.pick())

    def block(self, indent, depth):
        simple = [self.assign, self.assign, self.assign, self.swap]
        nested = [self.loop, self.loop, self.branch, self.branch_of_size, self.scan, self.vmap, self.call]
        for _ in range(self.rng.randint(1, 3)):
            self.rng.choice(simple + (nested if depth < 3 else []))(indent, depth)

    def assign(self, indent, depth):
        value = self.value()
        if self.rng.random() < 0.2:
            value = f'checkpoint_name({value}, "kept")'
        self.lines.append(f"{indent}{self.pick()} = {value}")

    def again(self, function):
        """The function, or one that is computed again for its derivative."""
        policy = self.rng.choice(["", "", ', policy="matmuls"', ', policy=("kept",)'])
        return self.rng.choice([function, f"checkpoint({function}{policy})"])

    def swap(self, indent, depth):
        a, b = self.rng.sample(VARIABLES, 2)
        self.lines.append(f"{indent}{a}, {b} = {b}, {self.rng.choice([a, self.value()])}")

    def loop(self, indent, depth):
        self.loops += 1
        self.lines.append(f"{indent}for at{self.loops} in range({self.rng.choice(['n', 'n', '2', 'x.shape[0]'])}):")
        self.block(indent + "    ", depth + 1)

    def branch(self, indent, depth):
        self.lines.append(f"{indent}if sum({self.pick()}) > {self.rng.choice(['0.1', '-3.0', '3.0'])}:")
        self.block(indent + "    ", depth + 1)
        self.lines.append(f"{indent}else:")
        self.block(indent + "    ", depth + 1)

    def branch_of_size(self, indent, depth):
        self.lines.append(f"{indent}if n > {self.rng.randint(0, 3)}:")
        self.block(indent + "    ", depth + 1)

    def scan(self, indent, depth):
        a, b = self.rng.sample(VARIABLES, 2)
        step = self.rng.choice(["(c * 0.9 + wave(e), c * e)", "(soft(c + e), c)", "(c, e * c)"])
        inner = f"scan({self.again(f'lambda c, e: {step}')}, mean({a}), {b})"
        self.lines.append(f"{indent}s, {b} = {inner}")
        self.lines.append(f"{indent}{a} = {a} + s * 0.1")

    def vmap(self, indent, depth):
        a, b = self.rng.sample(VARIABLES, 2)
        self.loops += 1
        self.lines += [f"{indent}def each{self.loops}(v, u):", f"{indent}    for k{self.loops} in range(n):",
                       f"{indent}        v = v * 0.9 + wave(u)", f"{indent}    return v",
                       f"{indent}{a} = vmap({self.again(f'each{self.loops}')})({a}, {b})"]

    def call(self, indent, depth):
        if not self.others:
            return self.assign(indent, depth)
        function = self.again(self.rng.choice(self.others))
        self.lines.append(f"{indent}{', '.join(VARIABLES)} = {function}(x, y, z, w, n)")


ENTRY = """
@jit
def entry_{name}(x: Tensor[N, f64], y: Tensor[N, f64], z: Tensor[N, f64], w: Tensor[N, f64], dx: Tensor[N, f64],
          dy: Tensor[N, f64], dz: Tensor[N, f64], dw: Tensor[N, f64], g: Tensor[3 * N, f64], n: int) where 1 <= N:
    def f(x, y, z, w):
        return concat({name}(x, y, z, w, n))
    value, along = jvp(f, (x, y, z, w), (dx, dy, dz, dw))
    again, back = vjp(f, x, y, z, w)
    gx, gy, gz, gw = back(g)
    h = 0.0001
    ahead = f(x + dx * h, y + dy * h, z + dz * h, w + dw * h)
    behind = f(x - dx * h, y - dy * h, z - dz * h, w - dw * h)
    return (value * 1.0, again * 1.0, along * 1.0, (ahead - behind) / 0.0002,
            sum(g * along), sum(gx * dx) + sum(gy * dy) + sum(gz * dz) + sum(gw * dw))
"""


def check(seed, folder, iterations, show):
    """How many of a program's functions fail; None where it is too large."""
    rng = random.Random(seed)
    programs = []
    for i in range(3):
        programs.append(Program(f"f{i}", rng, [p.name for p in programs]))
    text = FUNCTIONS + "\n".join(p.text for p in programs) + "".join(ENTRY.format(name=p.name) for p in programs)
    if show:
        print(text)
    source, bundle = folder / "p.tsr", folder / "p.bundle"
    source.write_text(text)
    compiled = subprocess.run(on_device([BIN / "tesserac", source, "-o", bundle]), capture_output=True, text=True)
    if "[unsupported-program-size]" in compiled.stderr:  # loops over numbers in loops over numbers unroll
        return None
    assert compiled.returncode == 0, f"seed {seed}: {compiled.stderr}"
    numbers = np.random.default_rng(seed)
    size = rng.choice([2, 3, 5])
    inputs = {name: numbers.standard_normal(3 * size if name == "g" else size) for name in
              ["x", "y", "z", "w", "dx", "dy", "dz", "dw", "g"]}
    for name, value in inputs.items():
        np.save(folder / f"{name}.npy", value)
    failures = 0
    for p in programs:
        for n in iterations:
            words = [BIN / "tsr", "run", bundle, f"entry_{p.name}", "--input", f"n={n}"]
            for name in inputs:
                words += ["--input", f"{name}={folder / name}.npy"]
            for i in range(6):
                words += ["--output", f"entry_{p.name}.{i}={folder / str(i)}.npy"]
            run(*words)
            value, again, along, difference, forward, backward = (np.load(folder / f"{i}.npy") for i in range(6))
            scale = 1 + np.abs(along).max()
            bound = 1e-9 * (1 + np.sum(np.abs(inputs["g"] * along)))
            bad = [what for what, holds in [
                ("the value of vjp is not that of jvp", np.allclose(value, again, rtol=1e-10, atol=1e-10)),
                ("jvp is not the difference", np.abs(along - difference).max() < 1e-5 * scale),
                ("vjp is not jvp", abs(forward - backward) < bound)] if not holds]
            if bad:
                failures += 1
                print(f"seed {seed}, {p.name}, n = {n}: {'; '.join(bad)}: {along} {difference} {forward} {backward}")
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=4)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        failures = [check(seed, pathlib.Path(folder), [0, 1, 3], options.show)
                    for seed in range(options.seed, options.seed + options.count)]
    checked = [count for count in failures if count is not None]
    assert not sum(checked), f"{sum(checked)} failed"
    assert len(checked) > 0.8 * len(failures), f"{len(failures) - len(checked)} of {len(failures)} are too large"
    print(f"{len(checked)} programs have the derivatives that differences have, both ways")


if __name__ == "__main__":
    main()
