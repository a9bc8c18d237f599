#!/usr/bin/env python3
"""Compares what `tesserac --report` estimates with what run.py measured: estimates.py RUN.json [--gpu h200].

Runs where the compiler is. Prints how many rows are within 30 %, by family, and those that are not.
"""

import argparse
import concurrent.futures
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
NEAR = 1.3


def sources():
    """The program of each entry by itself, with the imports that it uses."""
    head, *functions = re.split(r"(?m)^(?=@jit)", (HERE / "families.tsr").read_text())
    imported = re.findall(r"\w+", head.partition("import (")[2].partition(")")[0])
    programs = {}
    for function in functions:
        used = [name for name in imported if re.search(rf"\b{name}\b", function)]
        imports = f"from tessera.nn import {', '.join(used)}\n" if used else ""
        programs[re.search(r"def (\w+)", function)[1]] = imports + function
    return programs


def sizes(program, shapes):
    """The dims of an entry whose arguments have these shapes."""
    found = {}
    signature = program[program.index("def "):].partition(":\n")[0]
    for argument, shape in zip(re.findall(r"Tensor\[([^\]]*)\]", signature), shapes):
        for name, size in zip(argument.split(",")[:-1], shape):
            if name.strip().isidentifier():
                found[name.strip()] = size
    return ",".join(f"{name}={size}" for name, size in found.items())


def estimate(compiler, gpu, program, row):
    """Microseconds of a call."""
    with tempfile.NamedTemporaryFile("w", suffix=".tsr") as file:
        file.write(program)
        file.flush()
        done = subprocess.run(
            [compiler, file.name, "--target=cuda:sm_90a", "--report", "--json", "--entry", row["entry"],
             "--dims", sizes(program, row["shapes"]), *(["--gpu", gpu] if gpu else [])],
            stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)["targets"][0]["entries"][0]["expected_us"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", type=pathlib.Path, help="the JSON of run.py")
    parser.add_argument("--gpu", default="h200", help="the GPU that it ran on, as tesserac --gpu names it")
    parser.add_argument("--compiler", default=HERE.parents[2] / "build" / "bin" / "tesserac", type=pathlib.Path)
    options = parser.parse_args()
    programs = sources()
    rows = [row for row in json.loads(options.run.read_text()) if row["ratio"]]
    if any("shapes" not in row for row in rows):
        parser.error(f"{options.run} has no shapes of its rows: it is of an older run.py")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = list(pool.map(
            lambda row: estimate(options.compiler, options.gpu, programs[row["entry"]], row), rows))
    families = {}
    for row, expected in zip(rows, found):
        measured = row["seconds"]["tessera"] * 1e6
        ratio = expected / measured
        families.setdefault(row["family"], []).append(ratio)
        if not 1 / NEAR <= ratio <= NEAR:
            print(f"{row['case']:36} {expected:9.1f} of {measured:9.1f} us  {ratio:5.2f}")
    families["all"] = [ratio for ratios in families.values() for ratio in ratios]
    for name, ratios in families.items():
        near = sum(1 / NEAR <= ratio <= NEAR for ratio in ratios)
        print(f"{name:14} {near:4} of {len(ratios):4} rows within 30 %, median {statistics.median(ratios):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
