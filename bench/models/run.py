#!/usr/bin/env python3
"""Measures the models of examples/: how they compile, and GPT's forward pass beside its NumPy program.

Usage: bench/models/run.py BUILD_DIR [--rounds N] [--target TARGET] [--json FILE]

Compiling is told as wall and processor time and peak memory of the whole process. GPT has 6 layers, width 384, context
256 and batch 8; `tsr bench` and NumPy (f32, OpenBLAS) take turns on the same number of threads, and medians count.
Run it with Debian's Python, whose NumPy has OpenBLAS; ratios on a loaded machine are noise.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

# Its threads would spin for tens of milliseconds, on the processors of the next to be measured.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")
import numpy as np  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "examples/gpt")]
import gpt  # noqa: E402
import safetensors_io  # noqa: E402

BATCH, CONTEXT = 8, 256


def compiled(binaries, source, bundle, *options):
    """Seconds of wall time and of processors, and MB of peak memory."""
    command = [binaries / "tesserac", source, "-o", bundle, *options]
    start = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(map(str, command))} failed")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def compile_rows(binaries, folder):
    for name in ("gpt", "llama", "vit", "resnet18"):
        source = ROOT / f"examples/{name}/{name}.tsr"
        for target in ("cpu:x86-64-v4-amx", "cuda:sm_90a"):
            for dtype, options in (("f32", ()), ("bf16", ("-D", "BF16"))):
                wall, busy, memory = compiled(binaries, source, folder / "x.bundle", "--target", target, *options)
                yield {"what": f"compile {name} {dtype} {target}", "wall s": wall, "processor s": busy, "MB": memory}


def ours(binaries, bundle, weights, threads):
    out = subprocess.run([binaries / "tsr", "bench", bundle, "logits", "--params", weights, "--dims", f"B={BATCH}",
                          "--dims",
                          f"S={CONTEXT}", "--threads", str(threads), "--seconds", "1", "--json"],
                         capture_output=True, text=True, check=True).stdout
    return json.loads(out)["entries"][0]["median_s"]


def numpys(params, tokens):
    start = time.perf_counter()
    gpt.logits(params, tokens)
    return time.perf_counter() - start


def forward_rows(binaries, folder, target, rounds):
    bundles = {}
    for dtype, options in (("f32", ()), ("bf16", ("-D", "BF16"))):
        bundle, weights = folder / f"{dtype}.bundle", folder / f"{dtype}.safetensors"
        compiled(binaries, ROOT / "examples/gpt/gpt.tsr", bundle, "-D", "SIZE=small", "--target", target, *options)
        subprocess.run([binaries / "tsr", "init", bundle, "-o", weights], check=True)
        bundles[dtype] = (bundle, weights)
    params = safetensors_io.load(bundles["f32"][1])
    tokens = np.random.default_rng(0).integers(0, 256, (BATCH, CONTEXT), dtype=np.uint8)
    threads = len(os.sched_getaffinity(0))
    seconds = {"NumPy": [], "f32": [], "bf16": []}
    numpys(params, tokens)
    for _ in range(rounds):
        for dtype, (bundle, weights) in bundles.items():
            seconds["NumPy"] += [numpys(params, tokens) for _ in range(3)]
            seconds[dtype].append(ours(binaries, bundle, weights, threads))
    medians = {key: statistics.median(values) for key, values in seconds.items()}
    for key, value in medians.items():
        yield {"what": f"GPT forward {key}", "ms": value * 1000, "NumPy / ours": medians["NumPy"] / value}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--target", default="host")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    binaries = arguments.build.resolve() / "bin"
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for part in (compile_rows(binaries, folder),
                     forward_rows(binaries, folder, arguments.target, arguments.rounds)):
            for row in part:
                figures = ", ".join(f"{key} {value:.3g}" for key, value in row.items() if key != "what")
                print(f"{row['what']:<44} {figures}", flush=True)
                rows.append(row)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
