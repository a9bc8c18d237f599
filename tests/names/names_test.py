#!/usr/bin/env python3
"""docs/names.md has every name of the founding documents with its state, and a program shows each that is there.

Usage: names_test.py BUILD_DIR [AREA]

An area is a module of this folder, whose PROGRAMS has a function for each name; it is named after the heading of its
table. Without an area all are run.
"""
import importlib
import re
import sys

from programs import HERE, ROOT

AREAS = {
    "card": "The design card",
    "overview": "From source to kernel: an overview",
    "levels": "The levels of IR, and what to look for in each",
    "passes": "Compiler passes, with an attention kernel worked through",
    "runtime": "Backend, runtime and ABI",
    "vision": "The vision: language, kernels, schedules",
}
# What names may wait for, and files that are there once they wait no longer. So the notes of `later` begin; a note of
# another state says "Waits for: …".
SUBJECTS = {
    "Distribution": ["src/distribution", "src/**/*collective*", "src/**/nccl*"],
    "Offloading": ["src/**/*offload*", "runtime/**/*offload*"],
    "Paged state": ["src/**/*paged*", "runtime/**/*paged*"],
    "Serving": ["src/serving"],
    "Quantisation": ["src/passes/**/*quanti*"],
    "`tsr tune`": ["**/tsr/tune*", "src/tuner"],
    "`tsr pack-repro`": ["**/tsr/pack_repro*"],
    "Profiles": ["runtime/**/*profile*", "src/**/*profile*"],
    "A file of policies": ["runtime/**/*polic*"],
    "Plug-ins": ["src/**/*plugin*"],
    "Python bindings": ["python", "bindings/python"],
    "ONNX": ["src/**/*onnx*"],
    "AMD GPUs": ["src/codegen/*amd*", "src/codegen/*gcn*"],
    "WebGPU": ["src/codegen/*wgsl*", "src/codegen/*webgpu*"],
    "Not planned": [],
}
SHOWN = ("works", "in part", "accepted without effect")
STATES = (*SHOWN, "later")


def cells(line):
    """The cells of a row of a table; a bar in a cell is written \\|."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def tables():
    """The rows of each heading of the page, without the two of the head."""
    found, heading = {}, None
    for line in (ROOT / "docs/names.md").read_text().splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("| ") and heading:
            found.setdefault(heading, []).append(cells(line))
    return {heading: rows[2:] for heading, rows in found.items() if rows[0] == ["name", "state", "note"]}


def problems_of_page(rows):
    """The names are those of the documents, in their order, each with a state and a note of one line."""
    wanted = (HERE / "names.txt").read_text().splitlines()
    problems = [f"{row}: three cells are wanted" for row in rows if len(row) != 3]
    rows = [row for row in rows if len(row) == 3]
    have = [row[0] for row in rows]
    problems += [f"{name}: not in docs/names.md" for name in wanted if name not in have]
    problems += [f"{name}: no name of the documents" for name in have if name not in wanted]
    if not problems and have != wanted:
        problems.append("the names are not in the order of names.txt")
    problems += [f"{name}: its state is '{state}', none of {', '.join(STATES)}" for name, state, _ in rows
                 if state not in STATES]
    return problems + [f"{name}: there is no note" for name, _, note in rows if not note]


def problems_of_subjects(rows):
    """Names that wait for nothing that is known, or for what is there."""
    waiting = [(name, note if state == "later" else note.partition("Waits for: ")[2]) for name, state, note in rows
               if state == "later" or "Waits for: " in note]
    problems = [f"{name}: '{note}' is no subject of names_test.py" for name, note in waiting
                if not note.startswith(tuple(SUBJECTS))]
    for subject, signs in SUBJECTS.items():
        if not any(note.startswith(subject) for _, note in waiting):
            problems.append(f"no name waits for '{subject}'")
        there = [path for sign in signs for path in ROOT.glob(sign)]
        if there:
            problems.append(f"names wait for '{subject}', and there is {there[0].relative_to(ROOT)}")
    return problems


def problems_of_programs(rows, programs):
    """Names without a program, programs without a name, and programs that fail."""
    problems, names = [], set()
    for cell, state, _ in rows:
        name = cell.strip("`").replace("\\|", "|")
        names.add(name)
        if name not in programs:
            problems += [f"{name}: no program shows that it is '{state}'"] if state in SHOWN else []
            continue
        try:
            programs[name]()
        except AssertionError as error:
            problems.append(f"{name}: its program fails: {error}")
    return problems + [f"{name}: it has a program, and no row" for name in programs if name not in names]


def main():
    found = tables()
    every = [row for rows in found.values() for row in rows]
    problems = problems_of_page(every) + problems_of_subjects([row for row in every if len(row) == 3])
    for area in sys.argv[2:] or AREAS:
        rows = [row for row in found.get(AREAS[area], []) if len(row) == 3]
        problems += problems_of_programs(rows, importlib.import_module(area).PROGRAMS)
    print("\n".join(problems) or f"{sum(map(len, found.values()))} names")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
