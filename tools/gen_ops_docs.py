#!/usr/bin/env python3
"""Writes docs/ops.md, the functions of the language from their table and those of the library from their sources,
and docs/tile.md, the functions of kernels from theirs.

Usage: tools/gen_ops_docs.py [--check]
  --check   write nothing; exit 1 if a page differs from what the sources say
"""
import ast
import pathlib
import re
import sys

import builtin_rows
import elementwise_rows

ROOT = pathlib.Path(__file__).resolve().parent.parent
FACTS = ("shapes", "dtypes", "numerics", "becomes")
DTYPES = {"Arithmetic": "numbers", "Real": "floats", "Logical": "integers, bool", "Compare": "any", "Choose": "any",
          "Convert": "any"}


def comment_of(lines, end):
    """The comment lines that stand directly above line `end`."""
    begin = end
    while begin > 0 and re.match(r"(//|#)", lines[begin - 1]):
        begin -= 1
    return [re.sub(r"^(//|#) ?", "", line) for line in lines[begin:end]]


def split_facts(comment):
    """The text of a comment, and its indented "name: …" lines."""
    facts = {}
    text = []
    for line in comment:
        match = re.match(r"  (\w+): (.*)", line)
        if match and match.group(1) in FACTS:
            facts[match.group(1)] = match.group(2)
        else:
            text.append(line.strip())
    return " ".join(text), facts


def error_bounds(title):
    """By function: the bound in the table of docs/numerics.md under that heading."""
    section = re.split(r"\n##+ ", (ROOT / "docs/numerics.md").read_text().split(f"## {title}\n")[1])[0]
    bounds, column = {}, None
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if "function" in cells:
            column = cells.index("f32 bound") if "f32 bound" in cells else None
        elif column and len(cells) > column:
            bounds.update({name: cells[column] for name in cells[0].split(", ")})
    return bounds


def cell(text):
    return text.replace("|", "\\|")


def with_names(meaning, signature):
    """The table's meaning, which names operands a, b and c, in the names of a signature."""
    names = dict(zip("abc", re.findall(r"\w+", signature)))
    return re.sub(r"\b[abc]\b", lambda match: names[match.group()], meaning)


def elementwise_table():
    two_operands = {name: f"{bound}, {bound}" for name, bound in error_bounds("Functions on CPUs").items()}
    out = ["| function | dtypes | meaning | error bound in f32 (units in the last place): CPU, GPU |",
           "| --- | --- | --- | --- |"]
    for row in elementwise_rows.functions():
        bound = f"{row.bounds[0]}, {row.bounds[2]}" if row.bounds else two_operands.get(row.name, "exact")
        dtypes = DTYPES[row.cls] + ("" if row.has_f64 else " except f64")
        meaning = with_names(row.meaning, row.written.split("(")[1])
        out.append(f"| `{row.written}` | {dtypes} | {cell(meaning)} | {bound} |")
    return out


def with_links(fact):
    """A fact with its "docs/numerics.md, Casts" as a link to that heading."""
    def link(match):
        page, heading = match.groups()
        return f"[{page}, {heading}]({page}#{heading.lower().replace(' ', '-')})"
    return re.sub(r"docs/(\w+\.md), ([A-Z][\w ]*\w)", link, fact)


def entry(names, text, facts):
    out = [f"### `{'`, `'.join(names)}`", "", text, ""]
    out += [f"- {fact}: {with_links(facts[fact])}" for fact in FACTS if fact in facts]
    return out + [""]


def read_table(path):
    """What a table of functions says, in order: ("title", text), ("elementwise", None) where the elementwise
    functions are, and ("entry", [signatures, text, facts]) for others, rows without a comment with those before.
    """
    lines = (ROOT / path).read_text().splitlines()
    out, current = [], None
    for what, row in builtin_rows.parts(path):
        if what != "row":
            out.append((what, row))
            continue
        comment = comment_of(lines, row.line)
        if comment:
            text, facts = split_facts(comment)
            if "shapes" not in facts and current and lines[row.line - len(comment) - 1].strip():
                facts = current[2] | facts
            current = [[], text, facts]
            out.append(("entry", current))
        current[0].append(row.written)
    return out


def table_page():
    found = read_table(builtin_rows.OPS)
    page = ["## Elementwise functions", "",
            "Operands broadcast. The Graph IR has an op `gir.<name>` for each function, "
            "and the lower levels have one, too.", ""]
    page += elementwise_table()
    page += ["", "## Functions of the language", ""]
    for what, row in found:
        if what == "entry":
            page += entry(*row)
    return page


def tile_functions():
    """The functions that kernels take from the language, and from the library those that only combine elements."""
    names = [row.name for row in elementwise_rows.functions()]
    names += [row.name for row in builtin_rows.rows(builtin_rows.OPS) if row.on_tiles]
    library = (ROOT / "stdlib/activations.tsr").read_text()
    offered = re.findall(r"\w+", (ROOT / "stdlib/nn.tsr").read_text())
    bodies = [name for name in re.findall(r"^def (\w+)\(", library, re.M) if name in offered]
    drawing = [body.split("(")[0] for body in re.split(r"^def ", library, flags=re.M)[1:] if "uniform(" in body]
    return names, [name for name in bodies if name not in drawing]


def tile_functions_part():
    names, library = tile_functions()
    listed = lambda each: ", ".join(f"`{name}`" for name in each)
    return ["## Functions of the language on tiles", "",
            f"These functions accept tiles as well as tensors, and are written without `tile.`: {listed(names)}.", "",
            f"These functions of `tessera.nn` accept tiles: {listed(library)}.", "",
            "Your own functions accept tiles if everything that they call does. All other functions work only on whole "
            "tensors.", ""]


def tile_page():
    page = ["# Functions of `tile`", "",
            "This page is the reference for authors of kernels. It lists the functions that "
            "compute with tiles.", "[kernels.md](kernels.md) shows how to use them.", "",
            "| operator | meaning |", "| --- | --- |",
            "| `+ - * / // % **`, `& \\| ^ ~ << >>`, comparisons | of each element; shapes broadcast |",
            "| `@` | `tile.dot` |", "| `x[:, None]` | adds an axis |", "",
            f"<!-- tools/gen_ops_docs.py writes this page from {builtin_rows.TILE} -->", ""]
    for what, row in read_table(builtin_rows.TILE):
        if what == "elementwise":
            page += elementwise_table() + [""]
        elif what == "entry":
            page += entry(*row)
        else:
            page += ["## " + row, ""]
    return page + tile_functions_part()


def exported():
    """By module of stdlib: the names that tessera.nn exports from it."""
    text = (ROOT / "stdlib/nn.tsr").read_text()
    found = {}
    for module, plain, bracketed in re.findall(r"^from tessera\.(\w+) import (?:([^(\n]+)|\(([^)]*)\))", text, re.M):
        found.setdefault(module, []).extend(re.findall(r"\w+", plain or bracketed))
    return found


def parameters(lines, i):
    """The parameters of the def at line i, up to its closing bracket."""
    text = " ".join(line.strip() for line in lines[i:i + 6])
    begin = text.index("(")
    depth = 0
    for at in range(begin, len(text)):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(text[at], 0)
        if depth == 0:
            return re.sub(r",? \)$", ")", text[begin:at + 1]).replace("( ", "(")
    raise ValueError("a signature without an end: " + text)


def library_page():
    page = ["## Functions of `tessera.nn`", "",
            "These functions are written in the language, in `stdlib/`. Each compiles to the fused kernels of its "
            "ops.", ""]
    for module, names in exported().items():
        if module == "ops":
            continue
        path = ROOT / f"stdlib/{module}.tsr"
        lines = path.read_text().splitlines()
        docstring = re.match(r'""".*?"""', path.read_text(), re.S)
        if not docstring:  # a kernel, which the table of kernels names
            continue
        title = ast.literal_eval(docstring.group(0))
        page += [f"### `stdlib/{module}.tsr`", "", " ".join(title.split()), ""]
        for i, line in enumerate(lines):
            match = re.match(r"def (\w+)\(", line)
            if not match or match.group(1) not in names:
                continue
            names.remove(match.group(1))
            first = i
            while first > 0 and lines[first - 1].startswith("@"):
                first -= 1
            text = " ".join(comment_of(lines, first))
            assert text, f"stdlib/{module}.tsr:{i + 1}: {match.group(1)} has no comment that describes it"
            page.append(f"- `{match.group(1)}{parameters(lines, i)}`: {text}")
        assert not names, f"stdlib/{module}.tsr does not define {names}"
        page.append("")
    return page


def kernel_page():
    page = ["## Kernels of the library", "",
            "The compiler instantiates these kernels for ops. Programs can also call them "
            "by name.", "", "| kernel | file | meaning |", "| --- | --- | --- |"]
    for path in sorted((ROOT / "stdlib").glob("*.tsr")):
        lines = path.read_text().splitlines()
        for i, line in enumerate(lines):
            match = re.match(r"def (\w+)\(", line)
            if match and lines[i - 1].startswith("@kernel"):
                first = i
                while lines[first - 1].startswith("@"):
                    first -= 1
                text = " ".join(comment_of(lines, first)) or " ".join(comment_of(lines, first - 1))
                assert text, f"stdlib/{path.name}:{i + 1}: {match.group(1)} has no comment that describes it"
                page.append(f"| `{match.group(1)}` | `stdlib/{path.name}` | {cell(text)} |")
    return page + [""]


def main():
    check = sys.argv[1:] == ["--check"]
    ops = ["# Ops", "",
           "This page is the reference for people who write models. It lists every function of the language "
           "and of its library.", "", "| if you look for | go to |", "| --- | --- |",
           "| `exp`, `maximum`, `where` and other functions of each element | [Elementwise "
           "functions](#elementwise-functions) |",
           "| matmul, reductions, attention, shapes, compile-time values | [Functions of the "
           "language](#functions-of-the-language) |",
           "| layers, losses, convolutions, sorting, quantisation | [Functions of "
           "`tessera.nn`](#functions-of-tesserann) |",
           "| kernels to call by name | [Kernels of the library](#kernels-of-the-library) |",
           "| rounding and error bounds | [numerics.md](numerics.md) |",
           "| ops of the Graph IR | [ir/graph.md](ir/graph.md) |",
           "| functions of kernels | [tile.md](tile.md) |", "",
           f"<!-- tools/gen_ops_docs.py writes this page from {builtin_rows.OPS} and stdlib/ -->", ""]
    pages = {"docs/ops.md": ops + table_page() + library_page() + kernel_page(), "docs/tile.md": tile_page()}
    differ = False
    for name, lines in pages.items():
        path, text = ROOT / name, "\n".join(lines).rstrip() + "\n"
        if not check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"not what the sources say (run tools/gen_ops_docs.py): {name}")
            differ = True
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
