#!/usr/bin/env python3
"""The tables of docs/migration/: each cell of the column "Tessera" compiles and runs.

Usage: migration_test.py BUILD_DIR [PART OF A PAGE'S NAME...] [--bless]

A page with a table "operand | type" has rows of expressions on whole tensors: each becomes an entry. Where the other
column's library is at hand (NumPy, PyTorch, JAX), its cell is evaluated on the same operands, and dtype, shape and
numbers are compared, except of random numbers. A page with a block in which a line is `...` has rows of expressions and
statements in a kernel: each stands in that place, and a cell of the column "Schedule" in the kernel's schedule; whole
tensors are then in the column "Tensors". Cells in `code` count, of several lines those between `;`. A dump of such a
page's kernel has the prefixes of ops that the page names beside the dump. Programs that a page shows with commands are
run as those of the tutorial are; --bless writes their output. """
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy

import pages

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from usage import build_folder

FOLDER = pages.ROOT / "docs/migration"
LEAST_ROWS = {"numpy": 85, "pytorch": 70, "jax": 60, "triton": 40, "cuda": 38}
CODE = re.compile(r"^`(.*)`$")
SPLIT = re.compile(r"(?<!\\)\|")
DTYPES = {"f32": numpy.float32, "f16": numpy.float16, "i32": numpy.int32, "i64": numpy.int64, "bool": numpy.bool_}
DOTS = r"(?m)^( *)\.\.\.$"  # where a page's kernel has its rows
STATEMENT = re.compile(r"(for|if|print|tile\.(store|scatter|barrier|wait|async_copy|atomic_add))\b|[\w., ]+ [+*-]?= ")
RANDOM = re.compile(r"np\.random|torch\.rand|jax\.random|dropout\(")
TARGETS = ["--target=cpu:x86-64-v3"]
# A row alone uses neither all operands nor what it computes.
OF_ROWS = ["-Wno-unused-variable", "-Wno-unused-parameter", "-Wno-unused-import"]


def cells_of(line):
    return [cell.strip().replace("\\|", "|") for cell in SPLIT.split(line.strip().strip("|"))]


def tables_of(text):
    """The tables of a page: the cells of the heading, and those of each row."""
    lines, tables = text.splitlines(), []
    for i, line in enumerate(lines):
        if line.startswith("| --- ") and i > 0:
            rows = []
            for row in lines[i + 1:]:
                if not row.startswith("|"):
                    break
                rows.append(cells_of(row))
            tables.append((cells_of(lines[i - 1]), rows))
    return tables


def operands_of(text):
    """Operand to its type, `Tensor[4, 6, f32]`."""
    return {name.strip().strip("`"): kind.strip("`")
            for heading, rows in tables_of(text) if heading[:2] == ["operand", "type"]
            for names, kind, *_ in rows for name in names.split(",")}


def pairs_of(text, column="Tessera"):
    """Other library's cell, and that of a column, of all rows where that is code."""
    for heading, rows in tables_of(text):
        if len(heading) == 2 and heading[1] == column:
            for row in rows:
                if CODE.match(row[1]):
                    yield CODE.sub(r"\1", row[0]), CODE.match(row[1])[1]


def value_of(name, kind):
    """The operand's numbers; of integers those that are indices of four rows."""
    *shape, dtype = [part.strip() for part in re.match(r"Tensor\[(.*)\]$", kind)[1].split(",")]
    random, shape = numpy.random.default_rng(sum(map(ord, name))), [int(extent) for extent in shape]
    if dtype == "bool":
        return random.random(shape) < 0.5
    if dtype[0] == "i":
        return random.integers(0, 4, shape).astype(DTYPES[dtype])
    return random.standard_normal(shape).astype(DTYPES[dtype])


def entry_of(index, cell, operands):
    """A row as an entry, and the operands that it takes."""
    used = [name for name in operands if re.search(rf"(?<![\w.]){name}(?![\w(])", cell)]
    *statements, value = [part.strip() for part in cell.split(";")]
    lines = [f"    {statement}" for statement in statements] + [f"    return {value}"]
    parameters = ", ".join(f"{name}: {operands[name]}" for name in used)
    return f"@jit\ndef row{index}({parameters}):\n" + "\n".join(lines) + "\n", used


def expected_of(cell, names):
    """What the other library gives; None where the numbers are random, or a function is of a newer version."""
    missing = [name for name in re.findall(r"\bF\.(\w+)", cell) if not hasattr(names.get("F"), name)]
    if RANDOM.search(cell) or missing == ["scaled_dot_product_attention"]:
        return None
    *statements, value = [part.strip() for part in cell.split(";")]
    exec("\n".join(statements), names)
    result = eval(value, names)
    return numpy.asarray(result)


def names_of_jax(values):
    try:
        import jax
    except ImportError:
        return None
    names = {name: jax.numpy.asarray(value) for name, value in values.items()}
    return dict(names, jax=jax, jnp=jax.numpy, lax=jax.lax)


def names_of(page, values):
    """What the cells of a page may name, or None where its library is not at hand."""
    if page.stem == "numpy":
        return dict({name: value.copy() for name, value in values.items()}, np=numpy)
    if page.stem == "jax":
        return names_of_jax(values)
    if page.stem != "pytorch":
        return None
    try:
        import torch
    except ImportError:
        return None
    names = {name: torch.from_numpy(value.copy()) for name, value in values.items()}
    return dict(names, torch=torch, F=torch.nn.functional)


def run(command, folder, environment):
    return subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True,
                          timeout=300, check=False)


def check_row(page, index, pair, used, values, folder, environment):
    """What is wrong with a row that compiles, and whether numbers were compared."""
    inputs = [f"--input={name}={name}.npy" for name in used]
    done = run(["tsr", "run", "rows.bundle", f"row{index}", *inputs, "--output", f"row{index}=out{index}.npy"], folder,
               environment)
    if done.returncode != 0:
        return done.stdout, False
    names = names_of(page, values)
    expected = expected_of(pair[0], names) if names is not None else None
    if expected is None:
        return None, False
    result = numpy.load(folder / f"out{index}.npy")
    if (result.dtype, result.shape) != (expected.dtype, expected.shape):
        return f"gives {result.dtype}{list(result.shape)} and not {expected.dtype}{list(expected.shape)}", True
    close = numpy.allclose(result, expected, rtol=2e-5, atol=2e-6, equal_nan=True) if result.dtype.kind == "f" else \
        numpy.array_equal(result, expected)
    return (None if close else f"gives\n{result}\nand not\n{expected}"), True


def check_tensors(page, column, environment):
    """Rows of expressions on whole tensors."""
    text = page.read_text()
    operands, pairs = operands_of(text), list(pairs_of(text, column))
    values = {name: value_of(name, kind) for name, kind in operands.items()}
    problems, compared = [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        entries = [entry_of(i, ours, operands) for i, (_, ours) in enumerate(pairs)]
        (folder / "rows.tsr").write_text("import tessera.nn as nn\n\n" + "\n".join(entry for entry, _ in entries))
        for operand, value in values.items():
            numpy.save(folder / f"{operand}.npy", value)
        done = run(["tesserac", "rows.tsr", *TARGETS, *OF_ROWS], folder, environment)
        if done.returncode != 0 or "warning" in done.stdout:
            return [done.stdout], len(pairs), 0
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = pool.map(lambda i: check_row(page, i, pairs[i], entries[i][1], values, folder, environment),
                             range(len(pairs)))
            for pair, (problem, was_compared) in zip(pairs, found):
                compared += was_compared
                if problem:
                    problems.append(f"{pair[0]}  |  {pair[1]}: {problem}")
    return problems, len(pairs), compared


def kernel_of(index, cell, pattern):
    """A row where the page's kernel has `...`."""
    margin = re.search(DOTS, pattern)[1]
    *statements, last = cell.split("; ")
    if not STATEMENT.match(last):
        last = f"value = {last}"
    body = "\n".join(margin + line for line in [*statements, last])
    return re.sub(DOTS, lambda _: body, pattern).replace("def row(", f"def row{index}(")


def scheduled(index, cell, pattern):
    """The page's kernel under a row's schedule."""
    kernel = re.sub(r"Schedule\(.*\)\)", lambda _: f"Schedule({cell}))", pattern, count=1)
    return re.sub(DOTS + r"\n", "", kernel).replace("def row(", f"def schedule{index}(")


def check_kernels(text, pattern, environment):
    """Rows in kernels, for each kind of target; a warning that a key has no effect there is one of the CPU alone."""
    pairs = [kernel_of(i, ours, pattern) for i, (_, ours) in enumerate(pairs_of(text, "Tessera"))]
    pairs += [scheduled(i, ours, pattern) for i, (_, ours) in enumerate(pairs_of(text, "Schedule"))]
    problems = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "rows.tsr").write_text("\n".join(pairs))
        for target in ("cpu:x86-64-v3", "cuda:sm_90a"):
            done = run(["tesserac", "rows.tsr", f"--target={target}", "-o", "rows.bundle", *OF_ROWS], folder,
                       environment)
            if done.returncode != 0 or "warning" in done.stdout:
                problems.append(done.stdout)
    return problems, len(pairs), 0


def check_prefixes(text, pattern, environment):
    """Prefixes of ops, `target.`, that a table "print it" names beside `--dump=STAGE`: the stages' dumps have them."""
    named = [(re.findall(r"`(\w+\.)`", row[1]), re.findall(r"--dump=(\w+)", row[2]))
             for heading, rows in tables_of(text) if heading[2:] == ["print it"] for row in rows]
    problems = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "row.tsr").write_text(re.sub(DOTS + r"\n", "", pattern))
        for prefixes, stages in named:
            shown = "".join(run(["tesserac", "row.tsr", "--target=cuda:sm_90a", f"--dump={stage}", "--no-locations",
                                 *OF_ROWS], folder, environment).stdout for stage in stages if prefixes)
            problems += [f"--dump={','.join(stages)} has no op that begins with {prefix}" for prefix in prefixes
                         if not re.search(rf"(?m)(^ *|= ){re.escape(prefix)}\w", shown)]
    return problems


def undeclared(text):
    """Functions of the C API that a page names and the header does not declare."""
    header = (pages.ROOT / "runtime/include/tessera.h").read_text()
    return [name for name in re.findall(r"\btsr[A-Z]\w+", text) if not re.search(rf"\b{name}\(", header)]


def check(page, build):
    text = page.read_text()
    environment = dict(os.environ, PATH=f"{build / 'bin'}:{os.environ['PATH']}", NO_COLOR="1", LC_ALL="C.UTF-8")
    problems, rows, compared = [f"there is no {name}" for name in undeclared(text)], 0, 0
    patterns = [block.text for block in pages.blocks_of(text) if re.search(DOTS, block.text)]
    for pattern in patterns:
        found, rows, _ = check_kernels(text, pattern, environment)
        problems += found + check_prefixes(text, pattern, environment)
    if operands_of(text):
        found, more, compared = check_tensors(page, "Tensors" if patterns else "Tessera", environment)
        problems, rows = problems + found, rows + more
    return problems, rows, compared


def main():
    build = build_folder()
    chosen = [arg for arg in sys.argv[2:] if not arg.startswith("-")]
    found, failed = sorted(FOLDER.glob("*.md")), False
    for page in found:
        if page.stem not in LEAST_ROWS or (chosen and not any(part in page.name for part in chosen)):
            continue
        problems, rows, compared = check(page, build)
        if rows < LEAST_ROWS[page.stem] or (page.stem == "numpy" and compared < rows - 5):
            problems.append(f"{rows} rows, {compared} of them compared")
        failed = failed or bool(problems)
        print(page.name + ":", "\n".join(problems) or f"{rows} rows, of {compared} the numbers compared")
    return pages.main(found, 0) or failed or len(found) < len(LEAST_ROWS)


if __name__ == "__main__":
    sys.exit(main())
