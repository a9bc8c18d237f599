#!/usr/bin/env python3
"""Checks and measures whole families of entries on a GPU beside PyTorch's best.

The second-level cache is emptied before every call of both sides, each call lies between two events, and the medians of
calls in turns count. Rows are added to the JSON file as they are measured, and rows that it has are not measured again.
Exit status: 0 when all results are right, 1 when one is not.
"""

import argparse
import json
import pathlib
import random
import statistics
import sys

import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import rows as table  # noqa: E402
import tessera_ctypes  # noqa: E402


def make(spec, generator):
    shape, dtype = spec[:2]
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator, device="cuda", dtype=torch.float32).to(dtype)
    low = -spec[2] if dtype == torch.int8 else 0
    return torch.randint(low, spec[2] + 1, shape, generator=generator, device="cuda", dtype=torch.int64).to(dtype)


def check(row, inputs, result):
    """Why the result is wrong; "" when it is right."""
    if row.exact is None:
        wanted = next(iter(row.peers.values()))(*inputs)
        return "" if torch.equal(result, wanted) else "it is not what the peer computes"
    wide = [x.double() if x.is_floating_point() else x for x in inputs]
    wanted = row.exact(*wide)
    off, size = float((result.double() - wanted).norm()), float(wanted.norm())
    return "" if off <= row.tolerance * size else f"off by {off / max(size, 1e-30):.3g} of its norm"


class Cache:
    """Reads and writes more than the second-level cache holds."""

    def __init__(self):
        self.memory = torch.zeros(48 << 20, device="cuda", dtype=torch.int32)

    def empty(self):
        self.memory += 1


def measure(calls, cache, seconds):
    """Median seconds of each call, in turns."""
    times = {name: [] for name in calls}
    for name, call in calls.items():
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    spent = 0.0
    while spent < seconds and len(next(iter(times.values()))) < 60:
        pairs = []
        for _ in range(5):
            for name, call in calls.items():
                start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                cache.empty()
                start.record()
                call()
                end.record()
                pairs.append((name, start, end))
        torch.cuda.synchronize()
        for name, start, end in pairs:
            times[name].append(start.elapsed_time(end) / 1000)
            spent += times[name][-1] + 2e-4
    return {name: statistics.median(values) for name, values in times.items()}


def measured(row, module, cache, seconds):
    generator = torch.Generator(device="cuda").manual_seed(1)
    inputs = [make(spec, generator) for spec in row.inputs]
    shape, dtype = row.output
    result = torch.full(shape, float("nan") if dtype.is_floating_point else -1, device="cuda", dtype=dtype)
    call = module.function(row.entry).prepare(inputs, [result])
    call()
    torch.cuda.synchronize()
    why = check(row, inputs, result)
    calls = {"tessera": call}
    for name, peer in row.peers.items():
        try:
            peer(*inputs)
        except RuntimeError as error:
            print(f"no {name} for {row.name}: {str(error).splitlines()[0]}", flush=True)
            continue
        calls[name] = lambda peer=peer: peer(*inputs)
    took = measure(calls, cache, seconds)
    best = min((name for name in took if name != "tessera"), key=took.get, default=None)
    return {"family": row.family, "case": row.name, "unit": row.unit, "wrong": why, "seconds": took, "peer": best,
            "ratio": took[best] / took["tessera"] if best else None, "ours": row.work / took["tessera"],
            "entry": row.entry, "shapes": [spec[0] for spec in row.inputs]}


def summary(results):
    lines = [f"{'family':14} {'rows':>4} {'median':>7} {'mean':>6} {'worst':>6} {'<1':>4} {'<0.8':>5}"]
    families = {}
    for each in results:
        if each["ratio"]:
            families.setdefault(each["family"], []).append(each["ratio"])
    families["all"] = [ratio for ratios in list(families.values()) for ratio in ratios]
    for name, ratios in families.items():
        if ratios:
            median, mean = statistics.median(ratios), statistics.geometric_mean(ratios)
            below = [sum(ratio < limit for ratio in ratios) for limit in (1, 0.8)]
            lines.append(
                f"{name:14} {len(ratios):4} {median:7.2f} {mean:6.2f} {min(ratios):6.2f} {below[0]:4} {below[1]:5}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="add rows there; skip those that it has")
    parser.add_argument("--family", default=",".join(table.FAMILIES), metavar="A,B",
                        help=f"of {', '.join(table.FAMILIES)}")
    parser.add_argument("--only", default="", metavar="PREFIX,…", help="rows whose name starts so")
    parser.add_argument("--draw", type=int, metavar="N", help="N rows of each family with sizes drawn at random")
    parser.add_argument("--seed", type=int, help="of the sizes drawn (default: 1)")
    parser.add_argument("--seconds", type=float, default=0.05, help="device time of a row")
    parser.add_argument("--library", default=HERE.parent / "lib" / "libtessera.so.2")
    parser.add_argument("--bundle", type=pathlib.Path, default=HERE.parent / "bundles" / "families.bundle")
    options = parser.parse_args()
    unknown = [name for name in options.family.split(",") if name not in table.FAMILIES]
    if unknown:
        parser.error(f"no family is '{unknown[0]}'; there are {', '.join(table.FAMILIES)}")
    if options.draw is not None and options.draw < 1:
        parser.error(f"--draw takes a number of rows from 1 on, not {options.draw}")
    if options.seed is not None and not options.draw:
        parser.error("--seed needs --draw: chosen sizes are not drawn")
    torch.backends.cudnn.benchmark = True
    torch._dynamo.config.cache_size_limit = 1000
    results = json.loads(options.json.read_text()) if options.json and options.json.exists() else []
    known = {each["case"] for each in results}
    context = tessera_ctypes.Library(options.library).context("cuda:0")
    module, cache = context.load(options.bundle, allow_jit=True), Cache()
    for family in options.family.split(","):
        draws = random.Random(f"{1 if options.seed is None else options.seed} {family}")
        rows = table.random_rows(family, draws, options.draw) if options.draw else table.chosen(family)
        for row in rows:
            if row.name in known or not row.name.startswith(tuple(options.only.split(","))):
                continue
            try:
                found = measured(row, module, cache, options.seconds)
            except (tessera_ctypes.Error, torch.OutOfMemoryError) as error:
                found = {"family": family, "case": row.name, "wrong": str(error), "ratio": None}
            results.append(found)
            ratio, ours = found["ratio"] or 0, found.get("ours", 0) / 1e12
            print(f"{row.name:36} {ours:8.3f} T{row.unit:6} {ratio:6.2f} of {found.get('peer')}"
                  f"{found['wrong'] and ' WRONG: '}{found['wrong']}", flush=True)
            if options.json:
                options.json.write_text(json.dumps(results, indent=1) + "\n")
    print(summary(results))
    context.close()
    return 1 if any(each["wrong"] for each in results) else 0


if __name__ == "__main__":
    sys.exit(main())
