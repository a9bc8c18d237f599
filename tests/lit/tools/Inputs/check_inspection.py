"""Compares the data of an inspection with the dumps of the same file: check_inspection.py STAGE,STAGE,... SOURCE
[OPTION ...].

The page holds the same data. The graph that is drawn is that of the text; layouts are those that tessera-opt shows.
Replayed edits give the text of each stage at the end of its level; the code is the code of the dump; places are in the
files. Numbers of values differ between the two by design, so both texts are numbered anew. """
import base64
import gzip
import itertools
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


def text_of_unit(module, state, unit):
    lines = []
    for at in module["states"][:state + 1]:
        for change in at["changes"]:
            if change["unit"] == unit:
                lines = apply(lines, change.get("edits", []))
    return lines


def check_graph(module, data):
    """Nodes are the ops of the text in its order, edges its operands; each op but those without work has its
    kernels."""
    graph, units = module["graph"], set(module["units"])
    lines = [data["texts"][text] for text, _ in text_of_unit(module, graph["state"], graph["unit"])]
    for op in graph["ops"]:
        line = lines[op["line"]]
        assert re.search(rf"\b{re.escape(op['name'])}\b", line), (op, line)
        for value in op["out"]:
            assert graph["values"][value]["type"] in line, (op, line)
        assert 0 <= op["call"] <= len(data["inlined"]) and set(op["kernels"]) <= units, op
    operands = [len(re.findall(r"%[\w.]+(?!\S*:)", re.sub(r"^.*? gir\.\w+", "", lines[op["line"]])))
                for op in graph["ops"]]
    assert operands == [len(op["in"]) for op in graph["ops"]], "edges are not the operands"
    makers = [value["op"] for value in graph["values"]]
    assert all(makers[value] < n for n,
               op in enumerate(graph["ops"]) for value in op["in"]), "an op reads what comes later"
    assert all(op["kernels"] for op in graph["ops"] if op["name"] in ("gir.gemm", "gir.gelu", "gir.flash_attention"))
    assert all(call["around"] < n for n, call in enumerate(data["inlined"], 1)), "a call comes before that around it"


def check_layout(text, table):
    """The tables give what tessera-opt draws."""
    shown = subprocess.run(["tessera-opt", "--show-layout", text], check=True, stdout=subprocess.PIPE,
                           encoding="utf-8").stdout
    rows = [line.split() for line in shown.split("\n") if re.match(r" *\d+ ", line)]
    rows = [row[1:] for row in rows if row and not all(cell.isdigit() and int(cell) == i for i, cell in enumerate(row))]
    extents = ([1, 1] + table["extents"])[-2:]
    found = {}
    if table["kind"] == "memory":
        found = {divmod(n, extents[1]): str(offset) for n, offset in enumerate(table["offsets"])}
    else:
        rank = len(table["extents"])
        parts = [[numbers[i:i + rank] for i in range(0, len(numbers), rank)] or [[]]
                 for numbers in (table["warps"], table["lanes"], table["registers"])]
        for (w, warp), (l, lane), (r, register) in itertools.product(*map(enumerate, parts)):
            at = tuple([0, 0, *(a + b + c for a, b, c in zip(warp, lane, register))][-2:])
            found.setdefault(at, f"{w}:{l}:{r}")
    cells = {(i, j): cell for i, row in enumerate(rows) for j, cell in enumerate(row)}
    assert cells == found, f"{text} is not drawn as it is"


def check_layouts(module, data):
    for kernel in module.get("layouts", []):
        assert kernel["kernel"] in module["units"], kernel["kernel"]
        for access in kernel["accesses"]:
            assert {access["layout"], access["shared"]} <= set(data["layouts"])
            most = [max(words) - (sum(words) + 31) // 32 for words in access["words"]]
            assert sum(most) == access["conflicts"] and len(most) == 32 // access["together"], access
        assert set(kernel["tiles"]) <= set(data["layouts"])


def main():
    stages, arguments = sys.argv[1].split(","), sys.argv[2:]
    data = inspect(arguments)
    texts, places, files = data["texts"], data["places"], data["files"]
    assert (data["format"], data["version"]) == ("tessera-inspect", 1)
    assert len(set(texts)) == len(texts), "a text is there twice"
    for file, line, column, length in zip(*(places[i::4] for i in range(4))):
        lines = files[file]["text"].split("\n")
        assert 1 <= line <= len(lines) and 0 <= column <= len(lines[line - 1].encode()) + 1, (files[file]["name"],
                                                                                              line, column)

    for stage in stages:
        dump = compile(*arguments, f"--dump={stage}")
        if stage in ("asm", "ptx"):
            shown = [texts[t] for code in data["code"] for kernel in code["kernels"]
                     for t in kernel.get("lines", [])[::2]]
            assert instructions(shown) == instructions(dump.split("\n")), f"the code is not that of --dump={stage}"
            linked = [p for code in data["code"] for kernel in code["kernels"]
                      for t,
                      p in zip(kernel.get("lines", [])[::2], kernel.get("lines", [])[1::2]) if instructions([texts[t]])]
            share = sum(p > 0 for p in linked) / len(linked)
            assert share > (0.99 if stage == "ptx" else 0.8), f"only {share:.0%} of the instructions have a place"
        else:
            modules = [m for m in data["modules"] if (m["target"] is None) == (stage == "graph")]
            units = [unit for m in modules for unit in replay(m, LEVELS.get(stage, stage)) or []]
            shown = sorted(renumber("\n".join(texts[t] for t, _ in unit)) for unit in units)
            assert shown == sorted(renumber(text)
                                   for text in functions(dump)), f"the text is not that of --dump={stage}"
    programs = [module for module in data["modules"] if module["target"]]
    for module in programs:
        if module["level"] == "graph":
            check_graph(module, data)
        check_layouts(module, data)
    assert bool(data["layouts"]) == any("cuda" in module["target"] for module in programs)
    if "gpt" in data["input"]:
        names = [call["name"] for call in data["inlined"]]
        assert {"blocks.0", "blocks.1", "attend", "layernorm"} <= set(names), names
    for text, table in data["layouts"].items():
        if table:
            check_layout(text, table)
    print("the inspection agrees with", len(stages), "dumps")


main()
