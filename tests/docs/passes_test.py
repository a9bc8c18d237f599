#!/usr/bin/env python3
"""The tables of passes and properties in docs/architecture.md say what passes.def, pipeline.cc and properties.def say.

Usage: passes_test.py [--bless]; --bless writes the tables of passes.
"""
import difflib
import re
import sys

import pages

PAGE = pages.ROOT / "docs/architecture.md"
PASSES = pages.ROOT / "src/passes"
HEAD = "| | Pass | Needs | Gives | Ends |\n| --- | --- | --- | --- | --- |\n"
TABLE = re.compile(re.escape(HEAD) + r"((?:\|.*\n)+)")
LIST = r"constexpr (?:std::array|PassId) {}\b[^{{]*{{(.*?)^}}"


def split(text):
    return [] if text == "property::None" else [name.strip().removeprefix("property::") for name in text.split("|")]


def rows():
    """name -> (level read, level left, needs, gives, ends)"""
    text = re.sub(r"^//.*\n", "", (PASSES / "passes.def").read_text(), flags=re.M)
    found = re.findall(r"PASS\((\w+), (\w+), (\w+),\s*([\w:|\s]+),\s*([\w:|\s]+),\s*([\w:|\s]+),\s*\"", text)
    return {name: (reads, leaves, *map(split, sets)) for name, reads, leaves, *sets in found}


def pipeline(name):
    text = (PASSES / "pipeline.cc").read_text()
    return re.findall(r"PassId::(\w+)", re.search(LIST.format(name), text, re.M | re.S)[1])


def table(names, first, facts):
    def line(number, name):
        reads, leaves, needs, gives, ends = facts[name]
        is_optional = reads == leaves and not set(gives) - set(needs)
        sets = [", ".join(f"`{each}`" for each in names) for names in (needs, gives, ends)]
        if reads != leaves:
            sets[2] = f"all: {reads} to {leaves}"
        cells = "".join(f" {text} |" if text else " |" for text in sets)
        return f"| {number} | `{name}`{' (o)' if is_optional else ''} |{cells}\n"
    return "".join(line(first + i, name) for i, name in enumerate(names))


def main():
    facts, text = rows(), PAGE.read_text()
    common = pipeline("kernel_passes")
    wanted = [table(common, 1, facts)] + [table(pipeline(name), len(common) + 1, facts) for name in
                                          ("cpu_passes", "cuda_passes")]
    shown = TABLE.findall(text)
    if "--bless" in sys.argv:
        tables = iter(wanted)
        PAGE.write_text(TABLE.sub(lambda _: HEAD + next(tables), text))
        return 0
    lines = [difference for was, should in zip(shown, wanted, strict=True) for difference in
             difflib.unified_diff(was.splitlines(), should.splitlines(), PAGE.name, "the tables", lineterm="", n=0)]
    problems = ["\n".join(lines)] if lines else []
    properties = {name for path in (pages.ROOT / "src/ir").glob("*/properties.def")
                  for name in re.findall(r"^PROPERTY\((\w+)", path.read_text(), re.M)}
    meanings = text[text.index("| Property | Meaning |"):].split("\n\n")[0]
    told = {name for first in re.findall(r"^\|([^|]*)\|", meanings, re.M) for name in re.findall(r"`(\w+)`", first)}
    problems += [f"{PAGE.name}: property {name}" for name in sorted(properties ^ told)]
    print("\n".join(problems) or f"{len(facts)} passes, {len(properties)} properties")
    return 1 if problems or len(facts) < 30 else 0


if __name__ == "__main__":
    sys.exit(main())
