#!/usr/bin/env python3
"""tsr train and tsr generate on small models of bytes: losses fall, runs that go on are those that were not ended, and
bad input is refused.

Usage: training_test.py BUILD_DIR
"""
import csv
import json
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import tempfile
import time
import xml.etree.ElementTree

import numpy as np

from tools import BIN, ROOT, on_device, refuse, run

from safetensors_io import load as load_safetensors

TABLE = """
from tessera.nn import sgd

param table: Param[256, 256, f32] = normal(0.02)

def loss_of(weights, tokens):
    scores = weights[cast(tokens[:, :8], i32)]
    return mean(cross_entropy(scores, cast(tokens[:, 1:], i32)))

@jit
def init(state: OptimizerState[table]):
    return state.replace(v=table)

# v is the mean of the weights of the last steps.
@jit
def step(tokens: Tensor[B, 9, u8], state: OptimizerState[table], rate: f32, step: i64, steps: i64) where B >= 1:
    left = 1.0 - cast(step, f32) / cast(steps, f32)
    loss, slope = value_and_grad(loss_of)(table, tokens)
    weights, state = sgd(table, state, slope, rate * left, momentum=0.5)
    state = state.replace(v=0.9 * state.v + 0.1 * weights)
    update(table, weights)
    steepest = max(abs(slope))
    return loss, steepest, state

@jit
def evaluate(tokens: Tensor[B, 9, u8], state: OptimizerState[table]) where B >= 1:
    loss = loss_of(state.v, tokens)
    return loss

@jit
def next(tokens: Tensor[B, S, u8]) where S >= 1:
    scores = table[cast(tokens[:, S - 1], i32)]
    return scores

@jit
def near(tokens: Tensor[B, S, u8]) where S >= 1, S <= 8:
    scores = table[cast(tokens[:, S - 1], i32)]
    return scores

@jit
def kept(tokens: Tensor[B, S, u8], cache: KVCache["B", 1, "S_max", 1, f32]) where S >= 1, S <= S_max:
    k = cast(tokens, f32)[:, None, :, None]
    cache = cache.append(k, k)
    scores = table[cast(tokens, i32)]
    return scores, cache

@jit
def pair(tokens: Tensor[1, 2, u8]):
    scores = table[cast(tokens[:, 1], i32)]
    return scores

@jit
def lossless(tokens: Tensor[B, 9, u8]):
    largest = max(cast(tokens, f32))
    return largest

@jit
def vectors(tokens: Tensor[B, 9, u8]):
    loss = mean(cast(tokens, f32))
    each = cast(tokens, f32)
    return loss, each
"""
LINE = """
param w: Param[4, f32] = zeros()
param scale: Param[f32] = ones()

@jit
def step(x: Tensor[B, 4, f32], y: Tensor[B, f32]) where B >= 1:
    loss, slope = value_and_grad(lambda w: mean((x @ w - y) * (x @ w - y) * scale))(w)
    update(w, w - 0.1 * slope)
    return loss
"""
WORDS = """
from tessera.nn import sgd

param table: Param[300, 320, f32] = normal(0.02)

@jit
def step(tokens: Tensor[B, 9, u16], state: OptimizerState[table], rate: f32) where B >= 1:
    def loss_of(table):
        return mean(cross_entropy(table[cast(tokens[:, :8], i32)], cast(tokens[:, 1:], i32)))
    loss, slope = value_and_grad(loss_of)(table)
    weights, state = sgd(table, state, slope, rate)
    update(table, weights)
    return loss, state

@jit
def next(tokens: Tensor[B, S, u16]) where S >= 1, S <= 8:
    return table[cast(tokens, i32)]
"""
OTHER = """
param table: Param[128, 256, f32] = normal(0.02)

@jit
def step(tokens: Tensor[B, 9, u8], state: OptimizerState[table]) where B >= 1:
    loss = mean(cast(tokens, f32)) + table[0, 0]
    return loss, state
"""
STEPS = 120


class Folder:
    """A folder with bundles and data, where commands run."""

    def __init__(self, path):
        self.path = path
        for name, source in (("table", TABLE), ("line", LINE), ("other", OTHER), ("words", WORDS)):
            (path / f"{name}.tsr").write_text(source)
            run(BIN / "tesserac", path / f"{name}.tsr", "-o", path / f"{name}.bundle")
        text = "".join(sorted((ROOT / "docs/language.md").read_text()[:40_000].splitlines(keepends=True)))
        (path / "text.txt").write_text(text)

    def words(self, *options, steps=STEPS, data="text.txt", rate="20", bundle="table.bundle"):
        given = ["--data", data] if data else []
        given += ["--set", f"rate={rate}"] if rate else []
        batch = [] if "--batch" in options else ["--batch", "16"]
        return on_device([BIN / "tsr", "train", bundle, "--steps", steps, *given, *batch, *options])

    def train(self, *options, **others):
        return run(*self.words(*options, **others), cwd=self.path)

    def refuse(self, wanted, *options, **others):
        said = refuse(*self.words(*options, **others), cwd=self.path)
        assert re.search(wanted, said), f"{options}: {said}"

    def start(self, *options, **others):
        words = [str(word) for word in self.words(*options, **others)]
        return subprocess.Popen(words, cwd=self.path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def generate(self, *options, entry="next"):
        return run(BIN / "tsr", "generate", "table.bundle", "--entry", entry, "--params", "a.safetensors", "--prompt",
                   "The ", *options, cwd=self.path, errors="surrogateescape")

    def bytes(self, name):
        return (self.path / name).read_bytes()

    def checkpoints(self, folder):
        return sorted(path.name for path in (self.path / folder).glob("step-*"))


def metadata(path):
    content = path.read_bytes()
    return json.loads(content[8:8 + int.from_bytes(content[:8], "little")])["__metadata__"]


def check_training(folder):
    shown = folder.train("--log", "a.jsonl", "--curve", "a.svg", "--out", "a.safetensors", "--checkpoints", "a",
                         "--save-every", "40", "--threads", "1", "--eval-every", "50")
    records = [json.loads(line) for line in (folder.path / "a.jsonl").read_text().splitlines()]
    assert [record["step"] for record in records] == list(range(1, STEPS + 1))
    assert [record["step"] for record in records if "held_out" in record] == [50, 100, 120]
    losses = [record["loss"] for record in records]
    assert losses[0] > 5.4 and np.mean(losses[-10:]) < 4, losses
    assert records[-1]["held_out"] < 4 and records[-1]["steepest"] > 0
    assert records[-1]["tokens"] == STEPS * 16 * 9 and records[-1]["seconds"] > 0
    assert "step" in shown and "held out" in shown and max(map(len, shown.splitlines())) <= 100, shown
    assert xml.etree.ElementTree.parse(folder.path / "a.svg").getroot().tag.endswith("svg")
    weights = load_safetensors(folder.path / "a.safetensors")
    checkpoint = load_safetensors(folder.path / "a/step-000120.safetensors")
    assert list(weights) == ["table"] and sorted(checkpoint) == ["state.m", "state.step", "state.v", "table"]
    np.testing.assert_array_equal(weights["table"], checkpoint["table"])
    assert 0 < np.abs(checkpoint["state.v"] - weights["table"]).max() < 1
    assert folder.checkpoints("a") == ["step-000080.safetensors", "step-000120.safetensors"]
    assert metadata(folder.path / "a/step-000120.safetensors") == {
        "bundle": "table.bundle", "format_version": "1", "seed": "0", "step": "120",
        "data": f"batches of 16 rows from {(folder.path / 'text.txt').stat().st_size} tokens"}
    assert checkpoint["state.step"] == STEPS
    folder.train("--checkpoints", "b", "--save-every", "1000", "--threads", "2", "--log", "b.csv")
    assert folder.bytes("a/step-000120.safetensors") == folder.bytes("b/step-000120.safetensors")
    rows = list(csv.DictReader((folder.path / "b.csv").open()))
    assert list(rows[0]) == ["step", "loss", "held_out", "steepest", "tokens", "seconds"]
    assert [float(row["loss"]) for row in rows] == losses
    run(BIN / "tsr", "init", "table.bundle", "-o", "begin.safetensors", cwd=folder.path)
    folder.train("--checkpoints", "given", "--params", "begin.safetensors")
    assert folder.bytes("a/step-000120.safetensors") == folder.bytes("given/step-000120.safetensors")
    folder.train("--checkpoints", "c", "--seed", "1")
    assert folder.bytes("c/step-000120.safetensors") != folder.bytes("a/step-000120.safetensors")


def check_rows(folder):
    """Rows of arrays: the same ones of both."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((200, 4)).astype(np.float32)
    w = np.array([1, -2, 3, 0.5], np.float32)
    np.save(folder.path / "x.npy", x)
    np.save(folder.path / "y.npy", x @ w)
    both = ("--data", "x=x.npy", "--data", "y=y.npy", "--batch", "32", "--checkpoints", "rows")
    folder.train(*both, data=None, rate=None, bundle="line.bundle")
    found = load_safetensors(folder.path / "rows/step-000120.safetensors")
    np.testing.assert_allclose(found["w"], w, atol=1e-2)
    assert found["scale"] == 1
    np.save(folder.path / "y.npy", w)
    folder.refuse("has 4 rows, and x.npy has 200", *both[:4], data=None, rate=None, bundle="line.bundle")
    folder.refuse("'y', f32.* has no data; --data y=FILE.npy", *both[:2], data=None, rate=None, bundle="line.bundle")


def check_resumed(folder):
    """A run that goes on has the bits of one that was not ended, however it was ended."""
    options = ("--checkpoints", "d", "--save-every", "7", "--log", "d.jsonl")
    folder.train(*options, "--minutes", "0.0001")
    assert folder.checkpoints("d")[-1] < "step-000120"
    folder.refuse("has checkpoints up to step", *options)
    folder.train(*options, "--resume")
    assert folder.bytes("d/step-000120.safetensors") == folder.bytes("a/step-000120.safetensors")
    folder.train(*options, "--resume")  # nothing is left to do
    newest = folder.path / "d/step-000120.safetensors"
    newest.write_bytes(newest.read_bytes()[:5000])
    done = subprocess.run([str(word) for word in folder.words(*options, "--resume")], cwd=folder.path, check=True,
                          capture_output=True, text=True)
    assert "step-000120.safetensors cannot be used" in done.stderr and "after step 119" in done.stderr, done.stderr
    assert folder.bytes("d/step-000120.safetensors") == folder.bytes("a/step-000120.safetensors")
    records = [json.loads(line) for line in (folder.path / "d.jsonl").read_text().splitlines()]
    assert [record["step"] for record in records] == list(range(1, STEPS + 1))
    other = folder.start(*options, "--resume", "--batch", "8")
    assert "the steps before had other data, batches of 16 rows" in other.communicate()[1] and other.returncode == 0
    folder.refuse("made with --seed 0, and --seed says 3", *options, "--resume", "--seed", "3")
    folder.refuse(r"(?s)another model: .*table is f32.256, 256. there, f32.128, 256. here", "--resume", *options[:2],
                  bundle="other.bundle", rate=None)


def wait_for(path, child):
    while not path.exists() or not any(path.glob("step-*")):
        assert child.poll() is None, child.stderr.read()
        time.sleep(0.01)


def check_ended(folder):
    """Signals leave a checkpoint; a run that is killed leaves whole ones."""
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        name = f"signal{status}"
        child = folder.start("--checkpoints", name, "--save-every", "5", steps=10**6)
        wait_for(folder.path / name, child)
        child.send_signal(number)
        said = child.communicate(timeout=60)[1]
        newest = folder.checkpoints(name)[-1]
        assert child.returncode == status and f"{newest} goes on from there with --resume" in said, said
    chance = random.Random(5)
    options = ("--checkpoints", "killed", "--save-every", "10", "--resume", "--log", "killed.csv")
    folder.train("--checkpoints", "whole", "--save-every", "100", steps=600)
    for _ in range(4):
        child = folder.start(*options, steps=600)
        time.sleep(chance.uniform(0.02, 0.3))
        child.send_signal(signal.SIGKILL)
        child.communicate()
    folder.train(*options, steps=600)
    assert folder.bytes("killed/step-000600.safetensors") == folder.bytes("whole/step-000600.safetensors")
    rows = list(csv.DictReader((folder.path / "killed.csv").open()))
    assert [int(row["step"]) for row in rows] == list(range(1, 601))


def check_full_disk(folder):
    """A checkpoint that cannot be written leaves those before it."""
    before = folder.checkpoints("d")
    words = [str(word) for word in folder.words("--checkpoints", "d", "--resume", steps=STEPS + 20)]
    done = subprocess.run(words, cwd=folder.path, capture_output=True, text=True, check=False,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)))
    assert done.returncode == 1 and "cannot write 'd/step-000140.safetensors'" in done.stderr, done.stderr
    assert folder.checkpoints("d") == before
    assert folder.bytes("d/step-000120.safetensors") == folder.bytes("a/step-000120.safetensors")


def check_not_finite(folder):
    folder.refuse("the loss of step 2 is NaN; the first tensor with a NaN or an infinity is 'table'", "--checkpoints",
                  "nan", "--save-every", "10", rate="nan")
    assert not folder.checkpoints("nan")
    folder.refuse("after step 1 'table' has a NaN or an infinity", "--checkpoints", "nan", "--save-every", "1",
                  rate="nan")
    assert not folder.checkpoints("nan")


def check_untrained(folder):
    said = "tsr: warning: entry 'step' updates no parameter"
    assert said in folder.start(bundle="other.bundle", rate=None, steps=2).communicate()[1]
    assert said not in folder.start(steps=2).communicate()[1]


def check_bad_input(folder):
    (folder.path / "short.txt").write_text("short")
    (folder.path / "bad.npy").write_bytes(b"\x93NUMPY\x01\x00\x76\x00{'descr'")
    np.save(folder.path / "wide.npy", np.array([1] * 50 + [256] * 50, np.uint16))
    np.save(folder.path / "square.npy", np.zeros((3, 3), np.uint8))
    np.save(folder.path / "float.npy", np.zeros(100, np.float32))
    (folder.path / "empty.txt").write_text("")
    cases = [
        ("the training data have 0 tokens, and one row takes 9", (), {"data": "empty.txt"}),
        ("step takes rate, a number without a value; --set rate=NUMBER gives it", (), {"rate": None}),
        ("--set names 'rat', .* did you mean 'rate'", ("--set", "rat=2"), {}),
        ("'abc' is neither", (), {"rate": "abc"}),
        ("--set names 'step', which tsr gives by itself", ("--set", "step=3"), {}),
        ("the training data have [45] tokens, and one row takes 9", (), {"data": "short.txt"}),
        ("the held-out data have 8 tokens, and one row takes 9", ("--held-out", "0.0002"), {}),
        ("bad.npy", (), {"data": "bad.npy"}),
        ("token 50 is 256, which the input 'tokens' of dtype u8 cannot hold", (), {"data": "wide.npy"}),
        (r"tokens are integers in one row, and it has u8\[3, 3\]", (), {"data": "square.npy"}),
        (r"tokens are integers in one row, and it has f32\[100\]", (), {"data": "float.npy"}),
        ("cannot read 'none.txt'", (), {"data": "none.txt"}),
        ("'tokens', .* has no data; --data FILE", (), {"data": None}),
        ("--data names 'token', which is not an input", ("--data", "token=square.npy"), {"data": None}),
        ("--data names 'toks', which is not .* data go to tokens", ("--data", "toks=text.txt"), {"data": None}),
        ("has no entry 'train'.*entries are.*--step-entry", ("--step-entry", "train"), {}),
        (r"lossless has to give 'loss', f32\[\]; its results are largest f32\[\]", ("--step-entry", "lossless"), {}),
        ("vectors gives 'each', f32", ("--step-entry", "vectors"), {}),
        ("no entry has a size 'S'", ("--dims", "S=4"), {}),
        ("--resume needs --checkpoints", ("--resume",), {}),
        ("--log writes .jsonl or .csv", ("--log", "a.txt"), {}),
        ("--curve writes .svg", ("--curve", "a.png"), {}),
        ("--out writes .safetensors", ("--out", "a.npy"), {}),
        ("cannot write", ("--checkpoints", "text.txt"), {}),
        ("'--steps'|--steps", (), {"steps": "0"}),
        ("which is not there|No such file|cannot read", (), {"bundle": "none.bundle"}),
    ]
    for wanted, options, others in cases:
        folder.refuse(wanted, *options, **others)
    said = refuse(BIN / "tsr", "train", "table.bundle", "--steps", "3", "--data", "text.txt", "--set", "rate=1",
                  cwd=folder.path)
    assert "how many rows a batch has is not known: B of the input 'tokens', u8[B, 9], is a size that --batch N" in said


def check_tokens(folder):
    """Tokens have the bytes of the texts, and texts are made of them again."""
    tokenize = (BIN / "tsr", "tokenize")
    (folder.path / "bytes.bin").write_bytes(bytes(range(256)) * 3 + "   über  \n\n 12345x".encode())
    files = ("text.txt", "bytes.bin")
    run(*tokenize, *files, "--learn", "300", "--vocabulary", "words.json", "-o", "tokens.npy", cwd=folder.path)
    tokens = np.load(folder.path / "tokens.npy")
    parts = [bytes([byte]) for byte in range(256)]
    for first, second in json.loads(folder.bytes("words.json"))["pairs"]:
        parts.append(parts[first] + parts[second])
    assert b"".join(parts[token] for token in tokens) == b"".join(map(folder.bytes, files))
    assert len(parts) == 300 and len(set(parts)) == 300 and len(tokens) < 0.8 * len(folder.bytes("text.txt"))
    run(*tokenize, *files, "--vocabulary", "words.json", "-o", "again.npy", cwd=folder.path)
    assert folder.bytes("again.npy") == folder.bytes("tokens.npy")
    folder.train("--out", "words.safetensors", data="tokens.npy", bundle="words.bundle", steps=400)
    words = (BIN / "tsr", "generate", "words.bundle", "--params", "words.safetensors", "--prompt", "the ")
    text = run(*words, "--vocabulary", "words.json", "--temperature", "0.5", cwd=folder.path, errors="surrogateescape")
    assert len(text) > 210, text
    assert "--vocabulary FILE says" in refuse(*words, cwd=folder.path)
    folder.refuse("which the input 'tokens' of dtype u8 cannot hold", data="tokens.npy")
    for wanted, content in (("it is not JSON", "{"), ("is not a vocabulary", "{}"), ("is not a vocabulary", "[1]"),
                            ("token 256 is not a new pair", '{"format":"byte pairs 1","pairs":[[1,256]]}'),
                            ("token 257 is not a new pair", '{"format":"byte pairs 1","pairs":[[1,2],[1,2]]}'),
                            ("token 256 is not a new pair", '{"format":"byte pairs 1","pairs":[[-1,2]]}')):
        (folder.path / "bad.json").write_text(content)
        assert wanted in refuse(*tokenize, "text.txt", "--vocabulary", "bad.json", "-o", "x.npy", cwd=folder.path)
    assert "is what is read" in refuse(*tokenize, "text.txt", "--learn", "300", "--vocabulary", "text.txt", "-o",
                                       "x.npy", cwd=folder.path)


def check_generated(folder):
    table = load_safetensors(folder.path / "a.safetensors")["table"]
    text = folder.generate("--context", "8", "--tokens", "80", "--top-k", "40")
    assert text == folder.generate("--context", "3", "--tokens", "80", "--top-k", "40", "--threads", "2")
    assert text == folder.generate("--dims", "S_max=100", "--tokens", "80", "--top-k", "40", entry="kept")
    assert text == folder.generate("--tokens", "80", "--top-k", "40", entry="pair")
    assert text == folder.generate("--context", "8", "--tokens", "80", "--top-k", "40", entry="near")
    near = (BIN / "tsr", "generate", "table.bundle", "--entry", "near", "--params", "a.safetensors", "--prompt", "The ")
    for context, is_told in ((900, True), (8, False)):
        done = subprocess.run(on_device((*near, "--context", context, "--tokens", "3")), cwd=folder.path, check=True,
                              capture_output=True)
        told = f"tsr: warning: --context says {context}, and 8 is the most that the entry takes"
        assert (told.encode() in done.stderr) == is_told, done.stderr
    assert text != folder.generate("--context", "8", "--tokens", "80", "--top-k", "40", "--seed", "1")
    greedy = folder.generate("--context", "8", "--tokens", "30", "--temperature", "0")
    assert greedy == folder.generate("--context", "8", "--tokens", "30", "--top-k", "1")
    assert greedy == folder.generate("--context", "8", "--tokens", "30", "--top-p", "0")
    idle = (BIN / "tsr", "generate", "table.bundle", "--params", "a.safetensors", "--prompt", "The ", "--context", "8",
            "--tokens", "30", "--temperature", "0", "--top-k", "5", "--top-p", "0.5", "--seed", "3")
    done = subprocess.run(on_device(idle), cwd=folder.path, check=True, capture_output=True, text=True)
    told = "tsr: warning: --top-k, --top-p and --seed have no effect with --temperature 0"
    assert done.stdout == greedy and told in done.stderr, done
    wanted, token = "", " "
    for _ in range(30):
        token = chr(np.argmax(table[ord(token)]))
        wanted += token
    assert greedy == wanted + "\n", (greedy, wanted)
    stop = text[20:23]
    assert folder.generate("--context", "8", "--tokens", "80", "--top-k", "40", "--stop", "none", "--stop",
                           stop) == text[:text.index(stop)] + "\n"
    ids = run(BIN / "tsr", "generate", "table.bundle", "--params", "a.safetensors", "--prompt", "84, 104 101 32",
              "--ids", "--context", "4", "--tokens", "30", "--temperature", "0", cwd=folder.path)
    assert [chr(int(word)) for word in ids.split()] == list(wanted)
    for wanted, *options in (("--context N limits it",), ("cache is full", "--entry", "kept", "--dims", "S_max=10"),
                             ("size S_max .* is not known", "--entry", "kept"),
                             ("takes 2 tokens, and the prompt has 1", "--entry", "pair", "--prompt", "x"),
                             ("'table', .* has no value", "--context", "4", "--no-params"),
                             ("has no entry 'nxt'", "--entry", "nxt")):
        given = [] if "--no-params" in options else ["--params", "a.safetensors"]
        prompt = [] if "--prompt" in options else ["--prompt", "The "]
        said = refuse(BIN / "tsr", "generate", "table.bundle", *given, *prompt,
                      *(option for option in options if option != "--no-params"), cwd=folder.path)
        assert re.search(wanted, said), f"{options}: {said}"


def main():
    os.environ.pop("TSR_THREADS", None)
    with tempfile.TemporaryDirectory() as name:
        folder = Folder(pathlib.Path(name))
        for check in (check_training, check_rows, check_resumed, check_ended, check_full_disk, check_not_finite,
                      check_untrained, check_bad_input, check_tokens, check_generated):
            check(folder)
        for command in ("train", "generate", "tokenize"):
            assert "Examples:" in run(BIN / "tsr", command, "--help")


if __name__ == "__main__":
    main()
