#!/usr/bin/env python3
"""docs/names.md has every name of the founding documents, and what it says is where it says.

Usage: names_test.py [FOLDER OF THE SOURCES]
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
DEFERRED = re.compile(r"(later|not planned): \S")
PLACE = re.compile(r"\[(?P<path>[^\]]+)\]\((?P<link>[^)]+)\)(?:: `(?P<word>.+)`)?$")


# What a name may still wait for, and what the tree has once it waits no longer: a subject that is there, or that no
# name waits for, has rows that are out of date.
OPEN = {
    "distribution": ["src/distribution", "src/ir/graph/*collective*"],
    "collectives": ["src/ir/tile/*collective*"],
    "parallelism": ["src/distribution"],
    "mesh layouts": ["src/frontend/mesh*"],
    "NCCL": ["src/**/nccl*"],
    "`gir.dist`": ["src/passes/**/*distribut*"],
    "autodiff": ["src/passes/**/*differentiat*", "src/passes/**/*gradient*", "src/**/autodiff*"],
    "gradients": ["src/passes/**/*gradient*"],
    "training": ["src/**/autodiff*"],
    "transforms": ["src/**/vmap*"],
    "rematerialisation": ["src/passes/**/*remat*"],
    "serving": ["src/serving"],
    "paged": ["src/**/*paged*", "runtime/**/*paged*"],
    "quantisation": ["src/passes/**/*quanti*"],
    "`tsr tune`": ["**/tsr/tune*", "src/tuner"],
    "cache of schedules": ["src/tuner"],
    "profiles": ["runtime/**/*profile*", "src/**/*profile*"],
    "metrics": ["runtime/**/*metric*"],
    "counters": ["runtime/**/*counter*"],
    "watchdog": ["runtime/**/*watchdog*"],
    "file of policies": ["runtime/**/*polic*"],
    "`tsr pack-repro`": ["**/tsr/pack_repro*"],
    "Python": ["python", "bindings/python"],
    "ONNX": ["src/**/*onnx*"],
    "AMD": ["src/codegen/*amd*", "src/codegen/*gcn*"],
    "ROCm": ["src/codegen/*roc*"],
    "HIP": ["runtime/**/hip*"],
    "HSACO": ["src/codegen/*hsa*"],
    "SVE": ["src/**/*sve_*"],
    "web": ["src/codegen/*web*", "src/codegen/*wasm*"],
    "WebGPU": ["src/codegen/*wgsl*", "src/codegen/*webgpu*"],
    "CUDA graph": ["runtime/cuda/*graph*"],
    "clusters with multicast": ["src/**/*multicast*"],
    "L2 hints": ["src/**/*l2_*"],
    "scheduler of several kernels": ["runtime/cuda/*scheduler*"],
    "stored layouts": ["src/**/*stored_layout*"],
    "layouts of parameters": ["src/**/*stored_layout*"],
    "key `vector`": [],
    "plug-ins": ["src/**/*plugin*"],
    "guide for users of Triton": ["docs/*triton*"],
    "the others": [],  # regressions of time
}


def cells(line):
    """The cells of a row of a table; a bar in a cell is written \\|."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def problems_of(name, here, place):
    """What is wrong with a row, as texts."""
    if DEFERRED.match(here):
        return [] if not place else [f"{name}: what is not there has no place"]
    if not here:
        return [f"{name}: what stands for it?"]
    found = PLACE.match(place)
    if not found:
        return [] if "later: " in here else [f"{name}: where is it?"]
    path = ROOT / found["path"]
    if not path.is_file():
        return [f"{name}: there is no {found['path']}"]
    if (ROOT / "docs" / found["link"]).resolve() != path.resolve():
        return [f"{name}: the link goes to {found['link']}"]
    if found["word"] and found["word"] not in path.read_text():
        return [f"{name}: {found['path']} has no '{found['word']}'"]
    return []


def problems_of_subjects(rows):
    """What is deferred to a subject that nobody knows, or that is there."""
    deferred = [(row[0], later) for row in rows for later in re.findall(r"later: (.*)", row[1])]
    problems = [f"{name}: '{later}' is no open subject of names_test.py" for name, later in deferred
                if not any(subject in later for subject in OPEN)]
    for subject, signs in OPEN.items():
        if not any(subject in later for _, later in deferred):
            problems.append(f"no name waits for '{subject}'")
        for sign in signs:
            there = next(ROOT.glob(sign), None)
            if there:
                problems.append(f"names wait for '{subject}', and there is {there.relative_to(ROOT)}")
    return problems


def main():
    text = (ROOT / "docs/names.md").read_text()
    rows = [cells(line) for line in text.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if row[0] not in ("name", "---")]
    problems = [f"{row}: three cells are wanted" for row in rows if len(row) != 3]
    for row in rows:
        if len(row) == 3:
            problems += problems_of(*row)
    problems += problems_of_subjects([row for row in rows if len(row) == 3])
    wanted = (ROOT / "tests/seeds/names.txt").read_text().splitlines()
    have = [row[0] for row in rows]
    problems += [f"{name}: not in docs/names.md" for name in wanted if name not in have]
    problems += [f"{name}: no name of the documents" for name in have if name not in wanted]
    if len(have) != len(wanted):
        problems.append(f"{len(have)} rows for {len(wanted)} names")
    print("\n".join(problems) or f"{len(rows)} names")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
