#!/usr/bin/env python3
"""Checks and measures what moves and reduces data on a CPU beside NumPy, and PyTorch where it is installed.

Sizes are symbols in rows.tsr. Each row is checked against NumPy in f64; then the calls take turns, and medians count.
Rows are added to the JSON file as they are measured, and rows that it has are not measured again. Of several counts of
threads each is a slice; NumPy has one thread. Exit status: 0 when all results are right, 1 when one is not.
"""

import argparse
import ctypes
import json
import pathlib
import statistics
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "gpu"))

import tessera_ctypes  # noqa: E402

try:
    import torch
except ImportError:
    torch = None


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def losses(x, y):
    top = x.max(1, keepdims=True)
    return np.log(np.exp(x - top).sum(1)) + top[:, 0] - x[np.arange(len(x)), y]


def pooled(x):
    height, width = (x.shape[1] + 1) // 2, (x.shape[2] + 1) // 2
    around = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=-np.inf)
    windows = [around[:, i:i + 2 * height:2, j:j + 2 * width:2][:, :height, :width] for i in range(3) for j in range(3)]
    return np.maximum.reduce(windows)


# Of each entry: what NumPy computes, what PyTorch computes, and the shapes.
MATRICES = [(2048, 2048), (1, 1_000_000), (1_000_000, 3), (37, 12345), (100_000, 64), (8, 8)]
ONE = {
    "sum_all": (lambda x: x.sum(), lambda x: x.sum()),
    "sum_first": (lambda x: x.sum(0), lambda x: x.sum(0)),
    "sum_last": (lambda x: x.sum(1), lambda x: x.sum(1)),
    "max_first": (lambda x: x.max(0), lambda x: x.amax(0)),
    "max_last": (lambda x: x.max(1), lambda x: x.amax(1)),
    "argmax_last": (lambda x: x.argmax(1), lambda x: x.argmax(1)),
    "softmax_first": (lambda x: softmax(x, 0), lambda x: torch.softmax(x, 0)),
    "softmax_last": (lambda x: softmax(x, 1), lambda x: torch.softmax(x, 1)),
    "sorted_rows": (lambda x: np.sort(x, 1), lambda x: torch.sort(x, 1).values),
    "running_first": (lambda x: x.cumsum(0), lambda x: x.cumsum(0)),
    "running_last": (lambda x: x.cumsum(1), lambda x: x.cumsum(1)),
    "transposed": (lambda x: np.ascontiguousarray(x.T + np.float32(1)), lambda x: (x.T + 1).contiguous()),
}


def rows():
    """(entry, inputs as shapes or (shape, greatest integer), NumPy's function, PyTorch's function)."""
    for entry, (ours, theirs) in ONE.items():
        for shape in MATRICES:
            yield entry, [shape], ours, theirs
    for n, m in MATRICES:
        cross = lambda x, y: torch.nn.functional.cross_entropy(x, y, reduction="none")
        yield "losses", [(n, m), ((n,), m - 1)], losses, cross
    for n, m, k in [(50257, 768, 16384), (1000, 3, 100_000), (1_000_000, 16, 1000)]:
        yield "rows_by_number", [(n, m), ((k,), n - 1)], lambda x, i: x[i], lambda x, i: x[i]
    for n, m, k in [(2_000_000, 1, 2), (20_000, 100, 33), (8, 100_000, 7)]:
        join = lambda a, b: np.concatenate((a, b), 1)
        yield "joined", [(n, m), (n, k)], join, lambda a, b: torch.cat((a, b), 1)
    for shape in [(8, 112, 112, 64), (8, 224, 224, 3), (1, 7, 7, 512)]:
        around = ((0, 0), (1, 1), (1, 1), (0, 0))
        yield "padded", [shape], lambda x: np.pad(x, around), lambda x: torch.nn.functional.pad(x, (0, 0, 1, 1, 1, 1))
        pool = lambda x: torch.nn.functional.max_pool2d(x.permute(0, 3, 1, 2), 3, 2, 1)
        yield "pooled", [shape], pooled, pool


def make(spec, random):
    if isinstance(spec[0], tuple):
        return random.integers(0, spec[1] + 1, spec[0])
    return random.standard_normal(spec, dtype=np.float32) + np.float32(0.5)


def is_right(result, wanted, terms):
    """Whether the error is small beside the norm of the result, to which so many terms may have been added in turn."""
    if result.dtype == np.int64:
        return bool((result == wanted).all())
    off, size = np.linalg.norm((result - wanted).ravel()), np.linalg.norm(np.ravel(wanted))
    return bool(off <= (1e-5 + 1e-7 * terms**0.5) * size + 1e-6)


def medians(calls, seconds):
    """Median seconds of each call, in turns."""
    times, end = {name: [] for name in calls}, time.perf_counter() + seconds * len(calls)
    while len(times["tessera"]) < 3 or time.perf_counter() < end and len(times["tessera"]) < 1000:
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def measured(entry, specs, numpy_of, torch_of, context, module, options):
    random = np.random.default_rng(1)
    inputs = [make(spec, random) for spec in specs]
    wanted = numpy_of(*[x.astype(np.float64) if x.dtype == np.float32 else x for x in inputs])
    result = np.zeros(np.shape(wanted), np.int64 if entry.startswith("arg") else np.float32)
    queue = module.function(entry).prepare(inputs, [result])

    def call():
        queue()
        context.synchronize()

    call()
    calls = {"tessera": call, "numpy": lambda: numpy_of(*inputs)}
    if torch:
        tensors = [torch.from_numpy(x) for x in inputs]
        calls["torch"] = lambda: torch_of(*tensors)
    took = medians(calls, options.seconds)
    best = min((name for name in took if name != "tessera"), key=took.get)
    return {"case": name_of(entry, [x.shape for x in inputs]), "right": is_right(result, wanted, inputs[0].size),
            "seconds": took, "peer": best, "ratio": took[best] / took["tessera"]}


def name_of(entry, shapes):
    return f"{entry} {' '.join('x'.join(map(str, shape)) for shape in shapes)}"


def summary(results):
    ratios = [each["ratio"] for each in results]
    return (f"{len(ratios)} rows: median {statistics.median(ratios):.2f}, "
            f"mean {statistics.geometric_mean(ratios):.2f}, worst {min(ratios):.2f}, "
            f"below 0.9 {sum(ratio < 0.9 for ratio in ratios)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bundle", type=pathlib.Path, required=True, help="of rows.tsr")
    parser.add_argument("--library", default=ROOT / "build" / "lib" / "libtessera.so.2")
    parser.add_argument("--threads", default="1", metavar="N,…", help="counts of threads, each measured by itself")
    parser.add_argument("--only", default="", metavar="PREFIX,…", help="rows whose name starts so")
    parser.add_argument("--seconds", type=float, default=0.3, help="for a row and each of those that compute it")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="add rows there; skip those that it has")
    options = parser.parse_args()
    results = json.loads(options.json.read_text()) if options.json and options.json.exists() else []
    known = {(each["threads"], each["case"]) for each in results}
    for threads in map(int, options.threads.split(",")):
        if torch:
            torch.set_num_threads(threads)
        context = tessera_ctypes.Library(options.library).context("cpu")
        context.library.check(context.library.c.tsrSetThreads(context.handle, ctypes.c_uint32(threads)))
        module, here = context.load(options.bundle), []
        for row in rows():
            case = name_of(row[0], [spec[0] if isinstance(spec[0], tuple) else spec for spec in row[1]])
            if not case.startswith(tuple(options.only.split(","))) or (threads, case) in known:
                continue
            found = measured(*row, context, module, options)
            found["threads"] = threads
            here.append(found)
            results.append(found)
            print(f"{case:40} {found['seconds']['tessera'] * 1e3:10.3f} ms {found['ratio']:7.2f} of {found['peer']}"
                  f"{'' if found['right'] else '  WRONG'}", flush=True)
            if options.json:
                options.json.write_text(json.dumps(results, indent=1) + "\n")
        if here:
            print(f"{threads} threads, {summary(here)}")
        context.close()
    return 0 if all(each["right"] for each in results) else 1


if __name__ == "__main__":
    sys.exit(main())
