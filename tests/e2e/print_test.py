#!/usr/bin/env python3
"""`print` in kernels: what it shows under --debug of tiles at edges, of every dtype, in loops and branches, in which
order and how much of it; that the interpreter shows the same; that nothing is left of it without --debug.

Usage: print_test.py BUILD_DIR
"""
import pathlib
import re
import subprocess
import tempfile

import numpy as np

from tools import BIN, DEVICE, ROOT, on_device, refuse, run

SOURCE = """
@kernel.schedule(Schedule(BM=2, BN=4))
def tiles(x: Tensor[M, N, f32]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    v = tile.load(x)
    print("v", v)
    print("at", t.i, t.j)
    return v * 2.0

@jit
def edges(x: Tensor[M, N, f32]):
    return tiles(x)

@jit
def unread(x: Tensor[M, N, f32]):
    a, b = tiles(x), tiles(x)
    return x

@jit
def repeated(x: Tensor[M, N, f32]):
    for i in range(3):
        tiles(x)
    return x

@kernel.schedule(Schedule(BN=8))
def shown(x: Tensor[N, T]) -> Tensor[N, T]:
    t = tile.context(n=N)
    v = tile.load(x)
    print("v", v)
    return v

@jit
def floats(x: Tensor[N, f32], wide: Tensor[N, f64]):
    shown(x)
    shown(cast(x, bf16))
    shown(cast(x, f16))
    shown(cast(x, f8e4m3))
    shown(cast(x, f8e5m2))
    return shown(wide)

@jit
def integers(x: Tensor[N, i64], y: Tensor[N, u64]):
    shown(x)
    shown(cast(x, i32))
    shown(cast(x, i16))
    shown(cast(x, i8))
    shown(y)
    shown(cast(y, u32))
    shown(cast(y, u16))
    shown(cast(y, u8))
    return shown(x > 0)

@kernel.schedule(Schedule(block=(4, 4, 8)))
def product(a: Tensor[M, K, f32], b: Tensor[K, N, f32]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N, k=K)
    acc = tile.zeros((t.m, t.n), f32)
    print("begins", M, 0.5, t.m, True)
    for k in tile.range(K, t.k):
        x = tile.load(a, (t.i, k), (t.m, t.k))
        acc = tile.dot(x, tile.load(b, (k, t.j), (t.k, t.n)), acc)
        if t.i == 1:
            print("acc", acc, first=2)
        print("k", k)
    print("ends")
    return acc

@jit
def loops(a: Tensor[M, K, f32], b: Tensor[K, N, f32]):
    return product(a, b)

@kernel.schedule(Schedule(BM=4))
def rows(x: Tensor[M, N, f32]) -> Tensor[M, f32]:
    t = tile.context(m=M, n=N)
    v = tile.load(x, (t.i, 0), (t.m, t.n))
    s = tile.sum(v, axis=1)
    print("row", v, first=3)
    print("sum", s)
    print("least", tile.min(s, axis=0))
    return s

@jit
def whole(x: Tensor[M, N, f32]):
    return rows(x)

@jit
def many(x: Tensor[M, N, f32]):
    return tiles(x)

@kernel.schedule(Schedule(block=4))
def by_namespace(x: Tensor[N, f32]) -> Tensor[N, f32]:
    t = tile.context(n=N)
    tessera.ops.print("namespace", t.i)
    return tile.load(x)

def score(s, b, h, i, j):
    print("score", s, first=2)
    return s

@jit
def named(x: Tensor[N, f32], q: Tensor[1, 1, 2, 4, f32]):
    by_namespace(x)
    flash_attention(q, q, q, score_mod=score)
    return flash_attention(q, q, q, score_mod=score)
"""


def printed(bundle, entry, arguments, *options):
    """What a run of the entry shows on standard error."""
    words = [BIN / "tsr", "run", bundle, entry, *options]
    for name, value in arguments.items():
        path = bundle.parent / f"{name}.npy"
        np.save(path, value)
        words += ["--input", f"{name}={path}"]
    result = subprocess.run(on_device(words), capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stderr


def warnings_of(*words):
    """What a compilation that succeeds shows on standard error."""
    result = subprocess.run(on_device([BIN / "tesserac", *words]), capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stderr


def place(marker):
    """Where the print with this text in it is written."""
    lines = SOURCE.splitlines()
    [number] = [i for i, line in enumerate(lines) if f"print({marker}" in line]
    return f"p.tsr:{number + 1}:{len(lines[number]) - len(lines[number].lstrip()) + 1}"


def check(bundle, entry, arguments, wanted, interpreted=None):
    """`interpreted`: what the interpreter, which runs the kernels of CPUs, prints where a GPU's tiles are others."""
    for options, lines in (((), wanted), (("--interpret=exact",), interpreted or wanted)):
        shown = printed(bundle, entry, arguments, *options)
        expected = "".join(line + "\n" for line in lines)
        assert shown == expected, f"{entry} {options}:\n{shown}--- where this is expected\n{expected}"


def tiles_of(x):
    """The lines of kernel 'tiles'."""
    at, lines = place('"at"'), []
    where = [f"p.tsr:{i + 1}:5" for i, line in enumerate(SOURCE.splitlines()) if line == '    print("v", v)']
    for i in range(-(-x.shape[0] // 2)):
        for j in range(-(-x.shape[1] // 4)):
            part = x[2 * i:2 * i + 2, 4 * j:4 * j + 4]
            for r, row in enumerate(part):
                columns = f"0:{len(row)}" if len(row) > 1 else "0"
                lines.append(f"{where[0]}: program [{i}, {j}]: v[{r}, {columns}]: {', '.join(f'{n:g}' for n in row)}")
            lines += [f"{at}: program [{i}, {j}]: at: {number}" for number in (i, j)]
    return lines


def check_tiles(bundle):
    x = np.arange(21, dtype=np.float32).reshape(3, 7) / 4
    check(bundle, "edges", {"x": x}, tiles_of(x))
    check(bundle, "edges", {"x": x[:, :1].copy()}, tiles_of(x[:, :1]))
    check(bundle, "edges", {"x": x[:0]}, [])
    check(bundle, "unread", {"x": x}, 2 * tiles_of(x))
    check(bundle, "repeated", {"x": x}, 3 * tiles_of(x))


def check_dtypes(bundle):
    where = [f"p.tsr:{i + 1}:5" for i, line in enumerate(SOURCE.splitlines()) if line == '    print("v", v)'][1]
    line = lambda text: f"{where}: program [0]: v[0:6]: {text}"
    x = np.array([0.1, -0.0, 1e30, np.inf, np.nan, -448], np.float32)
    wide = np.array([0.1, 1 / 3, 1e300, -np.inf, 5e-324, 2], np.float64)
    check(bundle, "floats", {"x": x, "wide": wide}, [
        line("0.1, -0, 1e+30, inf, nan, -448"),
        line("0.100097656, -0, 1.00025555e+30, inf, nan, -448"),
        line("0.099975586, -0, inf, inf, nan, -448"),
        line("0.1015625, -0, nan, nan, nan, -448"),
        line("0.09375, -0, inf, inf, nan, -448"),
        line("0.1, 0.3333333333333333, 1e+300, -inf, 5e-324, 2")])
    x = np.array([1, -1, 127, -128, 0, -2**63], np.int64)
    y = np.array([1, 255, 65535, 2**32 - 1, 0, 2**64 - 1], np.uint64)
    texts = lambda values: ", ".join(str(int(n)) for n in values)
    check(bundle, "integers", {"x": x, "y": y}, [
        *[line(texts(x.astype(f"i{n}"))) for n in (8, 4, 2, 1)],
        *[line(texts(y.astype(f"u{n}"))) for n in (8, 4, 2, 1)],
        line(", ".join("true" if n > 0 else "false" for n in x))])


def check_loops(bundle):
    rng = np.random.default_rng(7)
    a, b = (rng.integers(-3, 4, size=shape).astype(np.float32) for shape in ((6, 20), (20, 5)))
    lines = []
    for i in range(2):
        for j in range(2):
            program = f"program [{i}, {j}]"
            lines += [f"{place(chr(34) + 'begins')}: {program}: begins: {text}" for text in ("6", "0.5", "4", "true")]
            for k in range(3):
                acc = a[4 * i:4 * i + 4, :8 * k + 8] @ b[:8 * k + 8, 4 * j:4 * j + 4]
                if i == 1 and k < 2:
                    kept = acc[:2, :2]
                    begin = f"{place(chr(34) + 'acc')}: {program}, iteration {k}: acc"
                    for r, row in enumerate(kept):
                        columns = f"0:{len(row)}" if len(row) > 1 else "0"
                        lines.append(f"{begin}[{r}, {columns}]: {', '.join(f'{n:g}' for n in row)}")
                    lines.append(f"{begin}: the first [2, 2] of [4, 4]")
                    if k == 1:
                        lines.append(f"{begin}: the first 2 iterations of 3")
                lines.append(f"{place(chr(34) + 'k')}: {program}, iteration {k}: k: {k}")
            lines.append(f"{place(chr(34) + 'ends')}: {program}: ends")
    check(bundle, "loops", {"a": a, "b": b}, lines)


def check_whole(bundle):
    x = np.arange(30, dtype=np.float32).reshape(5, 6)
    lines = []
    for i in range(2):
        part = x[4 * i:4 * i + 4]
        begin = f"{place(chr(34) + 'row')}: program [{i}]: row"
        lines += [f"{begin}[{r}, 0:3]: {', '.join(f'{n:g}' for n in row[:3])}" for r, row in enumerate(part[:3])]
        lines.append(f"{begin}: the first [3, 3] of [4, 6]")
        sums = [f"{n:g}" for n in part.sum(axis=1)]
        columns = f"0:{len(sums)}" if len(sums) > 1 else "0"
        lines.append(f"{place(chr(34) + 'sum')}: program [{i}]: sum[{columns}]: {', '.join(sums)}")
        lines.append(f"{place(chr(34) + 'least')}: program [{i}]: least: {sums[0]}")
    check(bundle, "whole", {"x": x}, lines)


def check_bound(bundle):
    x = np.zeros((200, 20), np.float32)
    lines = tiles_of(x)
    check(bundle, "many", {"x": x}, [*lines[:1000], f"... and {len(lines) - 1000} more lines"])


def check_named(bundle):
    """Calls whose results nobody reads are made, however the print in them is named."""
    x, q = np.ones(4, np.float32), np.ones((1, 1, 2, 4), np.float32)
    begin = f"{place(chr(34) + 'score')}: program [0, 0, "
    one_row = [f"{begin}{i}, 0], iteration 0: score[0, 0:2]: 2, 2" for i in (0, 1)]
    both_rows = [*(f"{begin}0, 0], iteration 0: score[{i}, 0:2]: 2, 2" for i in (0, 1)),
                 f"{begin}0, 0], iteration 0: score: the first [2, 2] of [16, 16]"]
    first = f"{place(chr(34) + 'namespace')}: program [0]: namespace: 0"
    on_cpus = [first, *one_row, *one_row]
    check(bundle, "named", {"x": x, "q": q}, on_cpus if DEVICE == "cpu" else [first, *both_rows, *both_rows], on_cpus)


def check_page(folder):
    """The example of docs/debugging.md shows what the page says."""
    page = (ROOT / "docs/debugging.md").read_text()
    section = page[page.index("## What programs hold"):]
    code = re.search(r"```python\n(.*?)```", section, re.S).group(1)
    [shown] = re.findall(r"(?:    f\.tsr.*\n)+", section)
    entry = "\n@jit\ndef f(a: Tensor[M, K, f32], b: Tensor[K, N, f32]):\n    return product(a, b)\n"
    (folder / "f.tsr").write_text(code + entry)
    bundle = folder / "f.bundle"
    run(BIN / "tesserac", folder / "f.tsr", "--debug", "-o", bundle)
    b = np.tile(np.arange(1, 17, dtype=np.float32), (32, 1))
    check(bundle, "f", {"a": np.ones((16, 32), np.float32), "b": b}, [line.strip() for line in shown.splitlines()])


def check_without(folder):
    """No store, no output and no step is left where the source is compiled without --debug, and a warning says so."""
    bare = folder / "bare.tsr"
    bare.write_text(re.sub(r"(?m)^( *)(?:tessera\.ops\.)?print\(.*", r"\1pass", SOURCE))
    dumps = [run(BIN / "tesserac", path, "--dump=tile") for path in (folder / "p.tsr", bare)]
    assert dumps[0].replace("p.tsr", "bare.tsr").replace("@p ", "@bare ") == dumps[1]
    bundle = folder / "without.bundle"
    warnings = warnings_of(folder / "p.tsr", "-o", bundle)
    warned = f"{place(chr(34) + 'ends')}: warning: 'print' changes nothing on code that is compiled without --debug"
    assert warned in warnings and warnings.count("[hint-no-effect]") == SOURCE.count("print("), warnings
    x = np.ones((3, 7), np.float32)
    for options in ([], ["--interpret=exact"]):
        assert printed(bundle, "edges", {"x": x}, *options) == ""


def check_alone(folder):
    """A kernel that no entry calls prints nothing, and a warning says so."""
    path = folder / "alone.tsr"
    path.write_text(SOURCE.split("@jit")[0])
    warnings = warnings_of(path, "--debug", "-o", folder / "alone.bundle")
    assert "'print' changes nothing on a kernel that is compiled on its own [hint-no-effect]" in warnings, warnings


def check_most(folder):
    """A kernel that prints more than there is room for is refused."""
    path = folder / "most.tsr"
    path.write_text(SOURCE.replace('print("at", t.i, t.j)', f'print("at"{64 * ", t.i"})'))
    message = refuse(BIN / "tesserac", path, "--debug", "-o", folder / "most.bundle")
    assert "more than 64 values that a kernel prints" in message, message
    assert not (folder / "most.bundle").exists()


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "p.tsr").write_text(SOURCE)
        bundle = folder / "p.bundle"
        run(BIN / "tesserac", folder / "p.tsr", "--debug", "-o", bundle)
        run(BIN / "tsr", "verify", bundle)
        check_tiles(bundle)
        check_dtypes(bundle)
        check_loops(bundle)
        check_whole(bundle)
        check_bound(bundle)
        check_named(bundle)
        check_page(folder)
        check_without(folder)
        check_alone(folder)
        check_most(folder)
    print("ok")


if __name__ == "__main__":
    main()
