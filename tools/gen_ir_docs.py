#!/usr/bin/env python3
"""Writes docs/ir/*.md from the op tables: one page per level, one entry per row.

Usage: tools/gen_ir_docs.py [--check]
  --check   write nothing; exit 1 if a page differs from what the tables say
"""
import pathlib
import re
import sys

import elementwise_rows

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEVELS = {
    "graph": ("gir.", "Graph level"),
    "host": ("host.", "Host program"),
    "schedule": ("sched.", "Schedule level"),
    "tile": ("tile.", "Tile level"),
    "target": ("target.", "Target level"),
}
CLASSES = {"Tensor": "tensor", "Memory": "tensor or view", "ReadMemory": "tensor or view (read)",
           "WrittenMemory": "tensor or view (written)", "Tile": "tile", "Index": "i64", "Any": "any",
           "Scalar": "scalar", "Number": "tensor, tile or scalar", "Reg": "register",
           "RegOrScalar": "register or scalar", "Ptr": "address"}


# The first line of each page.
READERS = (
    "For readers of dumps and writers of passes. [Reading IR](README.md) says how text of IR, and an entry of this "
    "page, "
           "is written.")


def snake(name):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def balanced(text, start):
    """The text between the parenthesis at `start` and the one that closes it."""
    depth = 0
    for i in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return text[start + 1:i]
    raise ValueError("unbalanced row")


def prose(comment):
    """The text of comment lines; one without text separates paragraphs."""
    lines = [line[2:].strip() for line in comment.splitlines()]
    return re.sub(r"\s*\0\s*", "\n\n", " ".join(line or "\0" for line in lines)).strip()


def rows(text, macro):
    """(comment, arguments) of each row of a table."""
    for match in re.finditer(rf"((?:^//[^\n]*\n)*)^{macro}\(", text, re.M):
        yield prose(match.group(1)), balanced(text, match.end() - 1)


def split_top(text):
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(text):
        depth += {"(": 1, ")": -1}.get(c, 0)
        if c == "," and depth == 0:
            parts.append(text[begin:i].strip())
            begin = i + 1
    return parts + [text[begin:].strip()]


def form(prefix, name, slots):
    """How the op is written, from its slots."""
    groups = {"IN": [], "OUT": [], "ATTR": [], "REGION": [], "SUCC": []}
    for kind, body in re.findall(r"(IN_OPT|INS|IN|OUTS|OUT|ATTR_OPT|ATTR|REGION|SUCC)\(([^()]*)\)", slots):
        fields = [field.strip() for field in body.split(",")]
        base = kind.split("_")[0].rstrip("S") if kind != "SUCC" else "SUCC"
        groups[base].append((kind, fields))
    results = ", ".join(("%" + f[0] + ("…" if k == "OUTS" else "")) for k, f in groups["OUT"])
    operands = [("[%" + f[0] + ("…" if k == "INS" else "?") + "]" if k != "IN" else "%" + f[0])
                for k, f in groups["IN"]] + ["^" + f[0] for _, f in groups["SUCC"]]
    attributes = [f"{f[0]}{'?' if k == 'ATTR_OPT' else ''}: {f[1]}" for k, f in groups["ATTR"]]
    text = (results + " = " if results else "") + prefix + snake(name)
    if operands:
        text += " " + ", ".join(operands)
    if attributes:
        text += " {" + ", ".join(attributes) + "}"
    text += "".join(f" do {{ {f[0]} }}" for _, f in groups["REGION"])
    typed = [f"`{f[0]}` {CLASSES[f[1]]}" for k, f in groups["IN"] + groups["OUT"] if len(f) > 1]
    return text, typed


def facts(parts):
    found = []
    for part in parts:
        match = re.match(r"\.(traits|effects) = (.*)", part, re.S)
        if match:
            found += [word.strip().lower() for word in match.group(2).split("|")]
        if axes := re.match(r"\.axes = Axes::(\w+)", part):
            found.append(f"axes {axes.group(1).lower()}")
    return found


def page(level):
    prefix, title = LEVELS[level]
    text = (ROOT / f"src/ir/{level}/ops.def").read_text()
    head = text.split("\n\n")[0]
    out = [f"# {title}", "", READERS, "", prose(head), ""]
    if "elementwise_ops.inc" in text:
        out += [f"The [elementwise ops](elementwise.md) are here as `{prefix}add`, `{prefix}exp`, …", ""]
    tables = [(prefix, text)]
    for family in re.findall(r'#define OP_PREFIX "([^"]*)"\n#include "([^"]*)"', text):
        tables.append((family[0], (ROOT / "src" / family[1]).read_text()))
    for table_prefix, table in tables:
        for comment, body in rows(table, "(?:COMPOSED_)?OP"):
            parts = split_top(body)
            name, slots = parts[0], parts[1] if len(parts) > 1 else ""
            written, typed = form(table_prefix, name, slots)
            out += [f"## `{table_prefix}{snake(name)}`", "", comment, "", f"    {written}", ""]
            notes = "; ".join(filter(None, [", ".join(typed), ", ".join(facts(parts[2:]))]))
            if notes:
                out += [notes + ".", ""]
    return "\n".join(out).rstrip() + "\n"


def elementwise_page():
    out = ["# Elementwise ops", "", READERS, "", "```", *(line[3:] for line in elementwise_rows.head().splitlines()),
           "```", "",
           "| op | operands | class | meaning |", "| --- | --- | --- | --- |"]
    for row in elementwise_rows.rows():
        out.append(f"| `{row.op}` | {row.operands} | {row.cls} | {row.meaning.replace('|', chr(92) + '|')} |")
    rows_of_levels = (ROOT / "src/ir/numbers/elementwise_ops.inc").read_text()
    meanings = re.findall(r"^// (.*)\n#define ELEMENTWISE_ATTRIBUTES_(\w+) ATTR_OPT\((\w+), (\w+)\)", rows_of_levels,
                          re.M)
    out += ["", *(f"Ops of class {cls} have an attribute `{name}` ({kind}, optional): {meaning}."
                  for meaning, cls, name, kind in meanings)]
    return "\n".join(out) + "\n"


def main():
    check = sys.argv[1:] == ["--check"]
    pages = {f"docs/ir/{level}.md": page(level) for level in LEVELS}
    pages["docs/ir/elementwise.md"] = elementwise_page()
    stale = []
    for name, text in pages.items():
        path = ROOT / name
        if check:
            if not path.exists() or path.read_text() != text:
                stale.append(name)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    if stale:
        print("not what the tables say (run tools/gen_ir_docs.py):", *stale)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
