#!/usr/bin/env python3
"""Checks bundles on a GPU against PyTorch, then measures them beside it in the same process.

Results are compared element by element with bounds from the number formats; memory around each
output must stay as it was. Times are the GPU's: the two sides take turns, each with a batch of
calls between two events, and the median of the rounds counts. Exit status: 0 when all results are
right, 1 when one is not.
"""

import argparse
import json
import pathlib
import statistics
import sys

import torch

import cases
import tessera_ctypes

HERE = pathlib.Path(__file__).resolve().parent
GUARD = 4096  # elements before and after an output


def make_inputs(case, seed=0):
    generator = torch.Generator(device="cuda").manual_seed(seed)

    def make(shape):
        if not case.factors.is_floating_point:
            return torch.randint(-128, 128, shape, generator=generator, device="cuda",
                                 dtype=torch.int32).to(case.factors)
        values = torch.randn(shape, generator=generator, device="cuda", dtype=torch.float32)
        if case.factors == torch.float32:  # of tf32 13 bits are 0
            values = (values.view(torch.int32) & -0x2000).view(torch.float32)
        return values.to(case.factors)

    return [make(shape) for shape in case.shapes]


class GuardedOutput:
    """A tensor of NaNs within a buffer of NaNs; of integers, of a number that no result has."""

    def __init__(self, shape, dtype):
        size = 1
        for extent in shape:
            size *= extent
        poison = float("nan") if dtype.is_floating_point else -0x7fa0dead
        self.buffer = torch.full((size + 2 * GUARD,), poison, device="cuda", dtype=dtype)
        self.tensor = self.buffer[GUARD:GUARD + size].view(shape)
        self.size = size

    def is_whole(self):
        before, after = self.buffer[:GUARD], self.buffer[GUARD + self.size:]
        if self.buffer.dtype.is_floating_point:
            return bool(before.isnan().all()) and bool(after.isnan().all())
        return bool((before == -0x7fa0dead).all()) and bool((after == -0x7fa0dead).all())


class Bundles:
    """The bundles of a folder, loaded when they are first used."""

    def __init__(self, library, folder):
        self.context = tessera_ctypes.Library(library).context("cuda:0")
        self.folder = folder
        self.modules = {}

    def function(self, case):
        if case.bundle not in self.modules:
            path = self.folder / f"{case.bundle}.bundle"
            self.modules[case.bundle] = self.context.load(path, allow_jit=True)
        return self.modules[case.bundle].function(case.entry)


def check(case, bundles):
    """Why the result is wrong; "" when it is right."""
    inputs = make_inputs(case)
    output = GuardedOutput(case.output, case.result)
    try:
        bundles.function(case)(inputs, [output.tensor])
        bundles.context.synchronize()
    except tessera_ctypes.Error as error:
        return str(error)
    if not output.is_whole():
        return "memory around the output was written"
    if output.size == 0:
        return ""
    exact = case.exact(*inputs)
    error = (output.tensor.to(exact.dtype) - exact).abs()
    excess = error / case.bound(exact, *inputs).clamp_min(1e-30)
    worst = excess.nan_to_num(nan=float("inf"), posinf=float("inf")).max()
    if worst <= 1:
        return ""
    place = [int(i) for i in torch.unravel_index(excess.nan_to_num(nan=float("inf")).argmax(),
                                                 exact.shape)]
    return (f"element {place} is {float(output.tensor[tuple(place)])}, expected "
            f"{float(exact[tuple(place)])}; {float(worst):.3g} times the bound")


def batch_seconds(call, count):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(count):
        call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1000 / count


def measure(calls, rounds, batch_time=0.02):
    """Median seconds of each call, in turns."""
    counts = {}
    for name, call in calls.items():
        batch_seconds(call, 3)
        counts[name] = max(3, min(1000, int(batch_time / batch_seconds(call, 5))))
    seconds = {name: [] for name in calls}
    for number in range(rounds):
        order = list(calls) if number % 2 == 0 else list(reversed(calls))
        for name in order:
            seconds[name].append(batch_seconds(calls[name], counts[name]))
    return {name: statistics.median(values) for name, values in seconds.items()}


def measured_row(case, bundles, rounds):
    inputs = make_inputs(case)
    ours = torch.empty(case.output, device="cuda", dtype=case.result)
    theirs = torch.empty_like(ours)
    calls = {"tessera": bundles.function(case).prepare(inputs, [ours])}
    for name, peer in case.peers.items():
        try:
            peer(*inputs, theirs)
        except RuntimeError as error:  # this machine's PyTorch has no such kernel
            print(f"no {name} for {case.name}: {str(error).splitlines()[0]}", flush=True)
            continue
        calls[name] = lambda peer=peer: peer(*inputs, theirs)
    if len(calls) == 1:
        return None
    if case.moves_memory:
        calls["copy"] = lambda: theirs.copy_(inputs[0])
    seconds = measure(calls, rounds)
    rates = {name: case.work / value for name, value in seconds.items()}
    best = max((name for name in calls if name in case.peers), key=lambda name: rates[name])
    row = {"case": case.name, "unit": case.unit, "ours": rates["tessera"], "peer": rates[best],
           "peer_name": best, "ratio": rates["tessera"] / rates[best], "seconds": seconds}
    if case.moves_memory:
        row |= {"copy": rates["copy"], "share_of_copy": rates["tessera"] / rates["copy"]}
    return row


def run_checks(bundles, only):
    failures = {}
    wanted = [*cases.checked_cases(), *cases.measured_cases()]
    wanted = [case for case in wanted if case.name.startswith(only)]
    for case in wanted:
        why = check(case, bundles)
        if why:
            failures[case.name] = why
            print(f"wrong  {case.name}: {why}", flush=True)
    print(f"{len(wanted) - len(failures)} of {len(wanted)} results are right", flush=True)
    return failures


def run_measurements(bundles, only, rounds, failures):
    rows = []
    print(f"{'case':28} {'ours':>8} {'peer':>8} {'ratio':>6}")
    for case in cases.measured_cases():
        if not case.name.startswith(only) or case.name in failures:
            continue
        row = measured_row(case, bundles, rounds)
        if row is None:
            continue
        rows.append(row)
        print(f"{row['case']:28} {row['ours']:8.2f} {row['peer']:8.2f} {row['ratio']:6.3f}  "
              f"{row['unit']}, peer {row['peer_name']}", end="")
        if "copy" in row:
            print(f"; {row['share_of_copy']:.3f} of a copy's {row['copy']:.2f}", end="")
        print(flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", metavar="FILE", help="write the rows there, too")
    parser.add_argument("--only", default="", metavar="PREFIX", help="cases whose name starts so")
    parser.add_argument("--check-only", action="store_true", help="measure nothing")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of each measurement")
    parser.add_argument("--library", default=HERE / "lib" / "libtessera.so.2")
    parser.add_argument("--bundles", type=pathlib.Path, default=HERE / "bundles")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = True  # what the peers of tf32 need; references are float64
    bundles = Bundles(options.library, options.bundles)
    failures = run_checks(bundles, options.only)
    rows = []
    if not options.check_only:
        rows = run_measurements(bundles, options.only, options.rounds, failures)
    if options.json:
        report = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__,
                  "failures": failures, "rows": rows}
        pathlib.Path(options.json).write_text(json.dumps(report, indent=2) + "\n")
    bundles.context.close()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
