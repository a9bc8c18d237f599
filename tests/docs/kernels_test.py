#!/usr/bin/env python3
"""docs/kernels.md says what kernels may do: its programs compile for each kind of target, what it lists as not compiled
yet is refused, the accumulators of tile.dot are those of its table, accesses that nothing orders are errors, and mean
counts the elements that take part.

Usage: kernels_test.py BUILD_DIR
"""
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from usage import build_folder

ROOT = pathlib.Path(__file__).resolve().parents[2]
CPU, GPU = "cpu:x86-64-v3", "cuda:sm_90a"
BOTH = (CPU, GPU)
ROWS = """
@kernel.schedule(Schedule(BM=8))
def k(x: Tensor[M, N, f32], y: Tensor[M, N, f32], mode: Tensor[i32]{region}) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N{axes})
    v = tile.load(x, (t.i, 0), (t.m, t.n))
    {body}
    return v - tile.max(v, axis=1)[:, None]
"""
# Rows of the table of what is not compiled: which targets refuse the kernel, what differs in it, and the message.
REFUSED = {
    "a region that is stored at more than one place of the source": (
        BOTH,
        {"region": ", z: Region[write] Tensor[M, N, f32]", "body": "tile.store(v, z)\n    tile.store(2.0 * v, z)"},
        "[unsupported-construct]"),
    "`while` on values known at run time": (
        BOTH, {"body": "while tile.load(mode) > 0:\n        v = v * 2.0"}, "[unsupported-construct]"),
    "a loop that carries rows of unknown length, which the kernel combines along their length": (
        (GPU,), {"axes": ", k=64", "body": "for k in tile.range(64, 1):\n        v = v * tile.load(y)"},
        "[unsupported-tile-split]"),
    "a branch that loads or stores, and leaves such rows in a name": (
        (GPU,), {"body": "if tile.load(mode) == 0:\n        v = tile.load(y)"}, "[unsupported-tile-split]"),
    "a dot along an axis of unknown length that has no block, in a kernel that no entry calls": (
        (GPU,), {"body": "v = v * tile.sum(tile.dot(v, v.T), axis=1)[:, None]"}, "[unsupported-tile-split]"),
}
ACCEPTED = [{"body": "v = v * 2.0"}, {"body": "if tile.load(mode) == 0:\n        v = v * 2.0"}]
DOT = """
@kernel.schedule(Schedule(block=(32, 32, 32)))
def k(a: Tensor[M, K, {of}], b: Tensor[K, N, {of}]) -> Tensor[M, N, {to}]:
    t   = tile.context(m=M, n=N, k=K)
    acc = tile.zeros((t.m, t.n), {to})
    for k in tile.range(K, t.k):
        acc = tile.dot(tile.load(a, (t.i, k), (t.m, t.k)), tile.load(b, (k, t.j), (t.k, t.n)), acc)
    return acc
"""
ADDED_UP_IN = {"bf16": ("f32", "f64"), "f16": ("f32",), "f32": ("f32", "f64"), "f64": ("f64",), "i8": ("i32", "i64"),
               "i32": ("i32", "i64"),
               "u8": ("u32", "i64", "u64"), "u32": ("u32", "i64"), "i64": ("i64",), "u64": ("u64",)}
NOT_IN = {"bf16": ("bf16", "f16", "i32"), "f32": ("f16", "bf16"), "f64": ("f32",), "i8": ("i8", "i16", "f32"),
          "u8": ("i32", "u16"),
          "i64": ("i32",)}
# Changes of `ahead`, in the order of the page's table.
UNORDERED = {
    "`tile.wait(pending=4)` in the loop": ("tile.wait(pending=2)", "tile.wait(pending=4)"),
    "one slot each instead of two": ("tile.alloc((2, ", "tile.alloc((1, "),
    "no second `tile.barrier()`": ("acc)\n        tile.barrier()\n", "acc)\n"),
    "no `tile.wait()` after the loop": ("    tile.wait()\n", ""),
}
PARTS = """
@kernel.schedule(Schedule(BN=16))
def of_rows(x: Tensor[M, N, f32]) -> (Tensor[N, f32], Tensor[N, f32]):
    t = tile.context(n=N)
    constant = tile.full((8, t.n), 1.0)
    return tile.mean(tile.load(x, (0, t.i), (8, t.n)), axis=0), tile.sum(constant, axis=0)

@jit
def f():
    return of_rows(full((3, 5), 2.0, f32))
"""


def compiled(build, folder, source, target):
    """The messages of a compilation, and whether it was one."""
    (folder / "f.tsr").write_text(source)
    done = subprocess.run([build / "bin/tesserac", folder / "f.tsr", f"--target={target}", "-o", folder / "f.bundle"],
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, 1), f"{done.returncode}\n{source}\n{done.stderr}"
    return done.stderr, done.returncode == 0


def rows(changes):
    return ROWS.format(**({"region": "", "axes": "", "body": ""} | changes))


def check_programs(build, folder, page):
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    assert len(blocks) >= 20, len(blocks)
    for block in blocks:
        for target in BOTH:
            stderr, fine = compiled(build, folder, block, target)
            without_entry = "[no-entries]" in stderr
            # The depth of the heads is known where an entry calls these.
            open_depth = target == GPU and "KTile" in block and "[unsupported-tile-split]" in stderr
            assert fine or without_entry or open_depth, f"{target}:\n{block}\n{stderr}"


def check_refused(build, folder, page):
    table = page[page.index("## What is not compiled yet"):]
    named = re.findall(r"^\| (.*?) \| (all targets|GPUs) \|$", table, re.M)
    assert [name for name, _ in named] == list(REFUSED), named
    for name, where in named:
        targets, changes, message = REFUSED[name]
        assert (where == "all targets") == (targets == BOTH), name
        for target in BOTH:
            stderr, fine = compiled(build, folder, rows(changes), target)
            assert fine == (target not in targets), f"{name}, {target}:\n{stderr}"
            assert fine or message in stderr, f"{name}, {target}:\n{stderr}"
    for changes in ACCEPTED:
        stderr, fine = compiled(build, folder, rows(changes), GPU)
        assert fine, stderr


def check_unordered(build, folder, page):
    """The kernel that copies ahead is refused with each of the changes that the page lists."""
    [ahead] = [block for block in re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S) if "def ahead(" in block]
    table = page[page.index("Each of these changes is an error"):]
    named = re.findall(r"^\| (.*?) \| .* \|$", table[:table.index("\n\nThe compiler")], re.M)
    assert named == ["change", "---", *UNORDERED], named
    for name, (old, new) in UNORDERED.items():
        assert old in ahead, name
        for target in BOTH:
            stderr, fine = compiled(build, folder, ahead.replace(old, new), target)
            expected = "[unordered-access]" if new else "error: the program ends while this copy"
            assert not fine and expected in stderr, f"{name}, {target}:\n{stderr}"


def check_accumulators(build, folder):
    for table, expected in ((ADDED_UP_IN, True), (NOT_IN, False)):
        for of, dtypes in table.items():
            for to in dtypes:
                stderr, fine = compiled(build, folder, DOT.format(of=of, to=to), CPU)
                assert fine == expected, f"{of} in {to}\n{stderr}"
                assert fine or "[dot-accumulator]" in stderr, f"{of} in {to}\n{stderr}"


def check_parts(build, folder):
    """Of a partial tile the elements outside of the tensor take no part; a tile of constant extents has none
    outside."""
    stderr, fine = compiled(build, folder, PARTS, CPU)
    assert fine, stderr
    shown = subprocess.run([build / "bin/tsr", "run", folder / "f.bundle", "f"], capture_output=True, text=True,
                           timeout=60,
                           check=True).stdout
    assert shown.split("\n")[:2] == ["f.0: f32[5] = [2, 2, 2, 2, 2]", "f.1: f32[5] = [8, 8, 8, 8, 8]"], shown


def main():
    build, page = build_folder(), (ROOT / "docs/kernels.md").read_text()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_programs(build, folder, page)
        check_refused(build, folder, page)
        check_unordered(build, folder, page)
        check_accumulators(build, folder)
        check_parts(build, folder)


if __name__ == "__main__":
    main()
