#!/usr/bin/env python3
"""The numbers in docs/stability.md are those of the tools, and bundles need the ABI that the page says.

Usage: stability_test.py BUILD_DIR
"""

import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from usage import build_folder

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = build_folder() / "bin"
PLAIN = "@jit\ndef f(x: Tensor[N, f32]):\n    return x + x\n"
ASSUMING = "@jit\ndef f(x: Tensor[M, K, f32], y: Tensor[K, N, f32]):\n    return x @ y\n"
PRINTING = """@kernel.schedule(block(n=1024))
def double(x: Tensor[N, f32]) -> Tensor[N, f32]:
    t = tile.context(n=N)
    v = tile.load(x, (t.i,), (t.n,))
    print("v", v)
    return v + v

@jit
def f(x: Tensor[N, f32]):
    return double(x)
"""
SHARING = """
@jit
def f(x: Tensor[8, f32]):
    return x + x

@jit
def g(x: Tensor[8, f32]):
    return x + x
"""
UPDATING = "param w: Param[8, f32] = zeros()\n\n@jit\ndef f(x: Tensor[8, f32]):\n    update(w, x)\n    return w\n"
# What bundles of the row of "A bundle needs" are made of: the source and the options.
NEEDS = {"2.0": [(PLAIN, []), (PLAIN, ["--debug"]), (ASSUMING, []), (PRINTING, ["--debug"]),
                 (SHARING, ["--target=cuda:sm_80"]), (UPDATING, [])]}


def run(*words, status=0):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == status, f"{words} ended with {done.returncode}:\n{done.stderr}"
    return done.stdout + done.stderr


def rows(page, heading):
    """The rows of the table with this first column, as lists of cells."""
    table = re.search(rf"^\| {re.escape(heading)} \|.*\n\|[ -|]*\n((?:\|.*\n)+)", page, re.M)
    assert table, f"no table {heading!r}"
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table[1].splitlines()]


def bundle_of(folder, source, options):
    file, bundle = folder / "f.tsr", folder / "f.bundle"
    file.write_text(source)
    run(BIN / "tesserac", file, "-o", bundle, *options)
    return zipfile.ZipFile(bundle)


def frontend_abi():
    header = (ROOT / "src/api/include/tessera_frontend.h").read_text()
    return ".".join(re.search(rf"#define TESSERA_FRONTEND_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR"))


def numbers(folder):
    """What the tools and formats say, by the names of the page."""
    bundle = bundle_of(folder, PLAIN, [])
    plan = next(name for name in bundle.namelist() if name.startswith("plan/"))
    source, data, loaded = folder / "f.tsr", folder / "f.json", folder / "f.bundle"
    run(BIN / "tesserac", source, "--inspect", data)
    dump = run(BIN / "tesserac", source, "--dump=graph")
    return {
        "version of Tessera": re.fullmatch(r"tesserac (\S+)\n", run(BIN / "tesserac", "--version"))[1],
        "ABI of `libtessera`": re.search(r"ABI (\S+)", run(BIN / "tsr", "--version"))[1],
        "ABI of `libtessera_frontend`": frontend_abi(),
        "bundle format": json.loads(bundle.read("manifest.json"))["format"],
        "metadata format": json.loads(bundle.read("reflection.json"))["format"],
        "plan version": struct.unpack("<8sI", bundle.read(plan)[:12])[1],
        "IR text version": re.search(r"^module @f level\(graph\) version\((\d+)\)", dump, re.M)[1],
        "data of the inspector": json.loads(data.read_text())["version"],
        "data of `tesserac --shapes --json`": json.loads(run(BIN / "tesserac", source, "--shapes",
                                                             "--json"))["version"],
        "data of `--report --json`": json.loads(run(BIN / "tsr", "inspect", loaded, "--report", "--json"))["format"],
        "data of `tsr bench --json`": json.loads(run(BIN / "tsr", "bench", loaded, "--dims", "N=4", "--runs=1",
                                                     "--json"))["format"],
        "data of `tsr inspect --json`": json.loads(run(BIN / "tsr", "inspect", loaded, "--json"))["format"],
    }


def check_dump(folder, version):
    """A dump of another version is refused."""
    dump = folder / "other.tir"
    text = run(BIN / "tesserac", folder / "f.tsr", "--dump=graph")
    dump.write_text(text.replace(f"version({version})", f"version({int(version) + 1})"))
    assert "[ir-syntax]" in run(BIN / "tessera-opt", dump, status=1)
    dump.write_text(text)
    assert run(BIN / "tessera-opt", dump) == text


def main():
    page = (ROOT / "docs/stability.md").read_text()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        found = {key: str(value) for key, value in numbers(folder).items()}
        said = {row[0]: row[1] for row in rows(page, "Number")}
        assert said == found, f"the page says {said}, the tools {found}"
        check_dump(folder, found["IR text version"])
        needs = {row[0].removeprefix("ABI ") for row in rows(page, "A bundle needs")}
        assert needs == set(NEEDS), f"{needs} in the page"
        for wanted, source, options in [(wanted, *made) for wanted, all in NEEDS.items() for made in all]:
            abi = json.loads(bundle_of(folder, source, options).read("manifest.json"))["abi"]
            assert f"{abi['major']}.{abi['minor']}" == wanted, f"{abi} instead of {wanted} for\n{source}"
    for library in ("libtessera", "libtessera_frontend"):
        last = rows(page, f"`{library}`")[-1][0]
        assert last == found[f"ABI of `{library}`"], f"the history of {library} ends with {last}"
    print(f"{len(said)} numbers, {len(NEEDS)} bundles")


if __name__ == "__main__":
    main()
