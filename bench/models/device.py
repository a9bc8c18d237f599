#!/usr/bin/env python3
"""Checks the models of a pack (bench/models/pack.sh) against float64 on a CPU and a GPU, and times GPT there.

Exit status: 0 when all models are right, 1 when one is not.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

BATCH, CONTEXT = 8, 256
MODELS = ("gpt", "llama", "vit", "resnet18")


def check(models, pack, device, folder):
    """A line for each model: "right", or what went wrong."""
    for name in MODELS:
        try:
            pair = [models.Model(pack / "bin/tsr", pack / f"bundles/{name}-tiny-{dtype}.bundle", folder,
                                 bf16=dtype == "bf16", device=device) for dtype in ("f32", "bf16")]
            models.CHECKS[name](*pair)
            yield name, "right"
        except (AssertionError, FileNotFoundError) as error:
            yield name, f"WRONG: {error}"


def median_ms(pack, bundle, entry, weights, device, dims):
    sizes = [part for name, value in dims.items() for part in ("--dims", f"{name}={value}")]
    out = subprocess.run([pack / "bin/tsr", "bench", bundle, entry, "--params", weights, "--device", device, *sizes,
                          "--warmup", "2", "--runs", "5", "--json"], capture_output=True, text=True, check=True).stdout
    return json.loads(out)["entries"][0]["median_s"] * 1000


def numpy_ms(models, folder, rounds=5):
    gpt = models.program("gpt")
    params = models.safetensors_io.load(folder / "gpt-small-f32.safetensors")
    tokens = np.random.default_rng(0).integers(0, 256, (BATCH, CONTEXT), dtype=np.uint8)
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        gpt.logits(params, tokens)
        times.append(time.perf_counter() - start)
    return sorted(times)[rounds // 2] * 1000


def timings(models, pack, devices, folder):
    """Rows of what, device and milliseconds."""
    for size, entry, dims in (("small", "logits", {"B": BATCH, "S": CONTEXT}), ("base", "loss", {"B": 2, "S": 1024})):
        for dtype in ("f32", "bf16"):
            bundle, weights = pack / f"bundles/gpt-{size}-{dtype}.bundle", folder / f"gpt-{size}-{dtype}.safetensors"
            subprocess.run([pack / "bin/tsr", "init", bundle, "-o", weights], check=True)
            for device in devices:
                yield f"gpt {size} {entry} {dtype}", device, median_ms(pack, bundle, entry, weights, device, dims)
        if size == "small":
            yield "gpt small logits f32 by NumPy", "cpu", numpy_ms(models, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pack", type=pathlib.Path)
    parser.add_argument("--device", action="append", help="cpu and cuda:0 when not given")
    parser.add_argument("--no-times", action="store_true")
    arguments = parser.parse_args()
    pack = arguments.pack.resolve()
    sys.path.insert(0, str(pack / "tests/e2e"))
    import models

    devices = arguments.device or ["cpu", "cuda:0"]
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for device in devices:
            print(f"== {device}", flush=True)
            results += [(device, *row) for row in check(models, pack, device, folder)]
        times = [] if arguments.no_times else list(timings(models, pack, devices, folder))
    print(f"\n{os.cpu_count()} processors")
    for device, model, result in results:
        print(f"{model:<10} on {device:<8} {result}")
    for what, device, value in times:
        print(f"{what:<32} {device:<8} {value:10.3f} ms")
    sys.exit(any(result != "right" for _, _, result in results))


if __name__ == "__main__":
    main()
