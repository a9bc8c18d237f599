#!/usr/bin/env python3
"""The examples that learn: a classifier of digits, a language model and bandits get better at what they do.

Usage: learning_examples_test.py BUILD_DIR
"""
import json
import pathlib
import tempfile

import numpy as np

from tools import BIN, EXAMPLES, run


def compiled(folder, name, *options):
    run(BIN / "tesserac", EXAMPLES / name / f"{name}.tsr", *options, "-o", folder / f"{name}.bundle")
    return folder / f"{name}.bundle"


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def check_digits(folder):
    bundle = compiled(folder, "mnist_like")
    images, labels, log = folder / "images.npy", folder / "labels.npy", folder / "digits.jsonl"
    run(BIN / "tsr", "run", bundle, "draw", "--input", "seed=1", "--output", f"images={images}", "--output",
        f"labels={labels}")
    assert set(np.load(labels)) == set(range(10))
    run(BIN / "tsr", "train", bundle, "--data", f"images={images}", "--data", f"labels={labels}", "--batch", "64",
        "--steps", "200", "--set", "rate=3e-3", "--log", log)
    steps = [record for record in records(log) if "right" in record]
    assert steps[-1]["right"] > 0.75 and steps[-1]["loss"] < 0.5 * steps[0]["loss"], steps[-1]


def check_language_model(folder):
    bundle = compiled(folder, "nanogpt", "-D", "SIZE=tiny")
    text, weights, log = folder / "text.txt", folder / "w.safetensors", folder / "text.jsonl"
    text.write_text("the quick brown fox jumps over the lazy dog. " * 200)
    run(BIN / "tsr", "train", bundle, "--data", text, "--batch", "16", "--steps", "150", "--set", "rate=1e-2", "--log",
        log, "--out", weights)
    assert [record["loss"] for record in records(log) if "loss" in record][-1] < 0.5
    said = run(BIN / "tsr", "generate", bundle, "--params", weights, "--prompt", "the quick", "--tokens", "11",
               "--temperature", "0")
    assert said.startswith(" brown fox "), said


def check_bandits(folder):
    bundle = compiled(folder, "rl_bandit")
    best = folder / "best.npy"
    run(BIN / "tsr", "run", bundle, "play", "--input", "seed=1", "--input", "rate=0.1", "--output", f"best={best}")
    share = np.load(best)
    assert share[:5].mean() < 0.25 and share[-50:].mean() > 0.6, share


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_digits(folder)
        check_language_model(folder)
        check_bandits(folder)
    print("learning_examples_test: ok")


if __name__ == "__main__":
    main()
