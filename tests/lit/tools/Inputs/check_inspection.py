"""Compares the data of an inspection with the dumps of the same file: check_inspection.py STAGE,STAGE,... SOURCE [OPTION ...].

The page holds the same data. Replayed edits give the text of each stage at the end of its level; the code is the code of
the dump; places are in the files. Numbers of values differ between the two by design, so both texts are numbered anew.
"""
import base64
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile

LEVELS = {"sched": "schedule"}


def apply(lines, edits):
    out, at = [], 0
    for edit in edits:
        out += lines[at:edit[0]] + list(zip(edit[2::2], edit[3::2]))
        at = edit[0] + edit[1]
    return out + lines[at:]


def replay(module, level):
    """Units in their order after the last state of the level; None where the module never is at it."""
    units, order, found = {}, [], None
    for state in module["states"]:
        for change in state["changes"]:
            if change.get("gone"):
                del units[change["unit"]]
            else:
                units[change["unit"]] = apply(units.get(change["unit"], []), change["edits"])
        order = state.get("order", order)
        assert sorted(order) == sorted(units), "the order is not that of the units"
        if state["level"] == level:
            found = [units[unit] for unit in order]
    return found


def renumber(text):
    """Names of values and blocks in the order in which they come."""
    names = {}
    return re.sub(r"([%^])[\w.]+", lambda m: names.setdefault(m.group(), f"{m.group(1)}{len(names)}"), text)


def functions(dump):
    """Texts of top-level ops of a dump, without locations; a line of two spaces and a letter begins one."""
    out = []
    for line in re.sub(r' loc\("(?:[^"\\]|\\.)*":\d+:\d+\)', "", dump).split("\n"):
        if line.startswith("module @") or line in ("}", ""):
            continue
        if line.startswith("  ") and line[2].isalpha():
            out.append([])
        out[-1].append(line[2:])
    return ["\n".join(lines) for lines in out]


def instructions(lines):
    """Without directives, comments and labels that only name places."""
    lines = (re.sub(r"\s*# .*", "", line) for line in lines)
    return [line for line in lines if line.startswith("\t") and not line.startswith("\t.")]


def compile(*arguments):
    return subprocess.run(["tesserac", *arguments], check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def without_times(data):
    if isinstance(data, dict):
        return {key: without_times(value) for key, value in data.items() if key != "ms"}
    return [without_times(value) for value in data] if isinstance(data, list) else data


def inspect(arguments):
    """The data by itself, which is that of the page."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "data.json")
        compile(*arguments, "--inspect", path)
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    packed = re.search(r'id="data">([^<]*)<', compile(*arguments, "--inspect", "-")).group(1)
    shown = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert without_times(shown) == without_times(data), "the page holds other data"
    return data


def main():
    stages, arguments = sys.argv[1].split(","), sys.argv[2:]
    data = inspect(arguments)
    texts, places, files = data["texts"], data["places"], data["files"]
    assert (data["format"], data["version"]) == ("tessera-inspect", 1)
    assert len(set(texts)) == len(texts), "a text is there twice"
    for file, line, column, length in zip(*(places[i::4] for i in range(4))):
        lines = files[file]["text"].split("\n")
        assert 1 <= line <= len(lines) and 0 <= column <= len(lines[line - 1].encode()) + 1, (files[file]["name"], line, column)

    for stage in stages:
        dump = compile(*arguments, f"--dump={stage}")
        if stage in ("asm", "ptx"):
            shown = [texts[t] for code in data["code"] for kernel in code["kernels"] for t in kernel.get("lines", [])[::2]]
            assert instructions(shown) == instructions(dump.split("\n")), f"the code is not that of --dump={stage}"
            linked = [p for code in data["code"] for kernel in code["kernels"]
                      for t, p in zip(kernel.get("lines", [])[::2], kernel.get("lines", [])[1::2]) if instructions([texts[t]])]
            share = sum(p > 0 for p in linked) / len(linked)
            assert share > (0.99 if stage == "ptx" else 0.8), f"only {share:.0%} of the instructions have a place"
        else:
            modules = [m for m in data["modules"] if (m["target"] is None) == (stage == "graph")]
            units = [unit for m in modules for unit in replay(m, LEVELS.get(stage, stage)) or []]
            shown = sorted(renumber("\n".join(texts[t] for t, _ in unit)) for unit in units)
            assert shown == sorted(renumber(text) for text in functions(dump)), f"the text is not that of --dump={stage}"
    print("the inspection agrees with", len(stages), "dumps")


main()
