#!/usr/bin/env python3
"""Hostile sources for tesserac and hostile dumps for tessera-opt: each ends by itself, with exit status 0 or 1, within
10 s of processor time and 1 GB of memory, and leaves no file behind where it fails.

Usage: hostile_test.py BUILD_DIR [--count N] [--seed S] [--jobs N] [--keep DIR] [--only MAKER]

A case is made of the seed and its number; --keep writes those that break a rule to a folder.
"""

import argparse
import collections
import functools
import multiprocessing
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import dumps
import sources

MEMORY_KB = 10**9 >> 10
SECONDS = 10
ADDRESS_SPACE = 8 << 30  # far more than a case may take; it keeps one that breaks the rule from taking all
CPU_TILE = ("measure_work,use_scratch,merge_loops,simplify_tiles,propagate_masks,decompose_tile_ops,split_to_fragments,"
            "allocate_scratch")
GPU_TILE = ("measure_work,simplify_tiles,propagate_masks,narrow_integers,pad_tiles,decompose_tile_ops,"
            "split_large_tiles,swap_factors,plan_pipeline,make_persistent,specialise_roles,multi_buffer,"
            "overlap_iterations,skip_masks,assign_layouts,stage_stores,insert_barriers,allocate_shared")
CPU_LOWER = "tile_to_x86,expand_math,legalize_casts,sink_to_uses"
GPU_LOWER = "tile_to_nv,share_reciprocals,expand_math,legalize_casts"
TARGET = "share_reciprocals,expand_math,legalize_casts,sink_to_uses"
GRAPH = ["", "canonicalize,cse,hoist_invariants,dce", "decompose_random,widen_int4,decompose_attention"]


def passes_for(stage, target):
    tile, lower = (GPU_TILE, GPU_LOWER) if target.startswith("cuda") else (CPU_TILE, CPU_LOWER)
    return {"graph": GRAPH, "sched": ["", "reuse_memory,dedupe_kernels,schedule_to_tile", f"schedule_to_tile,{tile}"],
            "tile": ["", tile, lower], "target": ["", TARGET]}[stage]


def unknown_passes(build):
    """The passes named above that tessera-opt does not have."""
    listed = subprocess.run([build / "bin/tessera-opt", "--list-passes"], capture_output=True, text=True, check=True)
    known = {line.split()[0] for line in listed.stdout.splitlines() if line[:1].isalpha()}
    pipelines = [pipeline for stage in ("graph", "sched", "tile", "target") for target in ("cpu", "cuda")
                 for pipeline in passes_for(stage, target)]
    return {name for pipeline in pipelines for name in pipeline.split(",") if name} - known


def run(command, folder):
    """(status, seconds of processor time, KB, what it wrote to standard error)."""
    errors = folder / "errors"

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS + 2, SECONDS + 4))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.chdir(folder)
        os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        os.dup2(os.open("/dev/null", os.O_RDWR), 1)

    child = os.fork()
    if child == 0:
        try:
            limit()
            os.execve(command[0], [str(part) for part in command], {**os.environ, "TMPDIR": str(folder)})
        finally:
            os._exit(127)
    _, status, used = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss, errors.read_bytes()


def broken_rule(status, seconds, kilobytes, errors):
    if seconds > SECONDS:
        return f"it took more than {SECONDS} s"
    if kilobytes > MEMORY_KB:
        return f"it took {kilobytes >> 10} MB"
    if status < 0:
        return f"it was ended by {signal.Signals(-status).name}"
    if status not in (0, 1):
        return f"its exit status is {status}"
    if status == 1 and not errors.strip():
        return "it failed without a message"
    if b"[unknown-pass]" in errors:
        return "it was given a pass that does not exist"
    return None


def source_case(build, number, rng, folder, only):
    makers = [maker for maker in sources.MAKERS if not only or maker.__name__ == only]
    maker = makers[number % len(makers)]
    made = maker(rng)
    files = made if isinstance(made, dict) else {"f.tsr": made}
    for name, text in files.items():
        (folder / name).write_text(text, errors="surrogateescape")
    target = rng.choice(["cpu:x86-64-v3", "cpu:x86-64-v3", "cuda:sm_90a"])
    return maker.__name__, [build / "bin/tesserac", "f.tsr", "-o", "f.bundle", f"--target={target}"]


def dump_case(build, rng, folder, known):
    stage, target, text = dumps.mutated(rng, known)
    (folder / "f.tir").write_text(text, errors="surrogateescape")
    if rng.random() < 0.5:
        options = [] if stage == "graph" or rng.random() < 0.3 else [f"--target={target}"]
        return f"dump of {stage}, compiled", [build / "bin/tesserac", "f.tir", "-o", "f.bundle", *options]
    passes = rng.choice(passes_for(stage, target))
    return f"dump of {stage}", [build / "bin/tessera-opt", "f.tir", f"--target={target}", f"--passes={passes}"]


def check(build, seed, number, known, options):
    rng = random.Random(f"{seed}.{number}")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hostile-"))
    try:
        is_dump = number % 3 == 2 and not options.only or options.only == "dump"
        what, command = (dump_case(build, rng, folder, known) if is_dump
                         else source_case(build, number, rng, folder, options.only))
        status, seconds, kilobytes, errors = run(command, folder)
        problem = broken_rule(status, seconds, kilobytes, errors)
        if not problem and status == 1 and (folder / "f.bundle").exists():
            problem = "it failed and left a bundle"
        if problem and options.keep:
            kept = options.keep / f"{seed}.{number}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept)
            (kept / "command").write_text(" ".join(str(part) for part in command) + "\n")
        first = next((line for line in errors.decode(errors="replace").splitlines() if line), "")
        return number, what, problem, seconds, kilobytes, first[:200]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--only", choices=[*(maker.__name__ for maker in sources.MAKERS), "dump"])
    options = parser.parse_args()
    build = options.build.resolve()
    if unknown := unknown_passes(build):
        print(f"there are no passes {', '.join(sorted(unknown))}")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        known = dumps.make_all(build, pathlib.Path(folder))
    broken, spent, begin = [], collections.Counter(), time.time()
    most = {"seconds": (0, ""), "MB": (0, "")}
    # A child counts as its own what the process held that it comes of: each worker is a process, and holds little.
    with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=100) as pool:
        numbers = range(options.first, options.first + options.count)
        case = functools.partial(check, build, options.seed, known=known, options=options)
        for number, what, problem, seconds, kilobytes, first in pool.imap(case, numbers):
            spent[what] += seconds
            most["seconds"] = max(most["seconds"], (seconds, f"{number} {what}"))
            most["MB"] = max(most["MB"], (kilobytes >> 10, f"{number} {what}"))
            if problem:
                broken.append(number)
                print(f"case {options.seed}.{number}, {what}: {problem}; {first}", flush=True)
    print(f"{options.count} cases in {time.time() - begin:.0f} s, {len(broken)} broken; the most: {most}")
    return 1 if broken or not known else 0


if __name__ == "__main__":
    sys.exit(main())
