#!/usr/bin/env python3
"""Equal input gives equal bytes, whatever the folder, locale and time zone, and from any level's dump.

Usage: reproducible_test.py BUILD_DIR
"""
import os
import pathlib
import re
import shutil
import tempfile
import zipfile

from tools import BIN, EXAMPLES, run

TARGET = "cpu:x86-64-v4"


def check_places(folder):
    """The bundle does not depend on where and how the compiler was started."""
    source = EXAMPLES / "bytelm/bytelm.tsr"
    first = folder / "first.bundle"
    run(BIN / "tesserac", source, "--no-cache", "-o", first)
    elsewhere = folder / "some where"
    elsewhere.mkdir()
    shutil.copy(source, elsewhere)
    environment = dict(os.environ, LC_ALL="C.UTF-8", LANG="de_DE.UTF-8", TZ="Pacific/Auckland", HOME="/nonexistent")
    run(BIN / "tesserac", "bytelm.tsr", "--no-cache", "-o", folder / "second.bundle", cwd=elsewhere, env=environment)
    run(BIN / "tesserac", "bytelm.tsr", cwd=elsewhere)
    wanted = first.read_bytes()
    assert (folder / "second.bundle").read_bytes() == wanted
    assert (elsewhere / "bytelm.bundle").read_bytes() == wanted
    return first


def check_readers(bundle):
    """unzip and tsr read it."""
    assert "manifest.json" in run("unzip", "-l", bundle)
    run("unzip", "-tq", bundle)
    assert "loss(tokens: u8[B, 17])" in run(BIN / "tsr", "inspect", bundle)
    yaml = run(BIN / "tsr", "inspect", "--yaml", bundle)
    for key in ("name:", "tile:", "fragments:", "resources:", "launch:", "epilogue:"):
        assert re.search(rf"^\W*{key}", yaml, re.M), key
    assert "sound" in run(BIN / "tsr", "verify", bundle)


def code_of(bundle):
    """Plans and kernels, by name."""
    with zipfile.ZipFile(bundle) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name.startswith(("plan/", "kernels/"))}


def check_dumps(folder, source, stages):
    """A dump is read back as it was printed, and compiling it on gives the same plan and kernels."""
    direct = folder / "direct.bundle"
    run(BIN / "tesserac", source, f"--target={TARGET}", "--no-cache", "-o", direct)
    for stage in stages:
        text = folder / f"{stage}.tir"
        run(BIN / "tesserac", source, f"--target={TARGET}", f"--dump={stage}", "-o", text)
        assert run(BIN / "tessera-opt", text) == text.read_text(), stage
        continued = folder / f"{stage}.bundle"
        run(BIN / "tesserac", text, f"--target={TARGET}", "-o", continued)
        assert code_of(continued) == code_of(direct), (source, stage)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_readers(check_places(folder))
        below_graph = ["sched", "tile", "target"]
        for example in ("bytelm/bytelm.tsr", "mlp/mlp.tsr"):
            check_dumps(folder, EXAMPLES / example, ["graph"] + below_graph)
        check_dumps(folder, EXAMPLES / "tile_linear/tile_linear.tsr", below_graph)


if __name__ == "__main__":
    main()
