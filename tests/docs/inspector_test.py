#!/usr/bin/env python3
"""The tables of docs/inspector.md have the keys of the data, no more and no less.

Usage: inspector_test.py BUILD_DIR
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from usage import build_folder

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = """@jit
def f(x: Tensor[B, 64, f32], w: Tensor[64, 8, f32]):
    return gelu(softmax(x) @ w)
"""


def keys_of(page, heading):
    """The names in code in the first column of a table."""
    table = re.search(rf"^\| {re.escape(heading)} \|.*\n\|[ -|]*\n((?:\|.*\n)+)", page, re.M)
    assert table, f"no table {heading!r}"
    return {key for line in table[1].splitlines() for key in re.findall(r"`(\w+)`", line.split(" | ")[0])}


def all_keys(objects):
    return {key for found in objects for key in found}


def main():
    page = (ROOT / "docs/inspector.md").read_text()
    with tempfile.TemporaryDirectory() as name:
        source, data = pathlib.Path(name) / "f.tsr", pathlib.Path(name) / "f.json"
        source.write_text(SOURCE)
        subprocess.run([str(build_folder() / "bin/tesserac"), source, "--inspect", data,
                        "--target=cpu:x86-64-v3,cuda:sm_90a"], check=True, timeout=120)
        found = json.loads(data.read_text())
    states = [state for module in found["modules"] for state in module["states"]]
    changes = [change for state in states for change in state["changes"]]
    wanted = {"Key": set(found), "Key of a module": all_keys(found["modules"]), "Key of a state": all_keys(states)}
    graphs = [module["graph"] for module in found["modules"] if "graph" in module]
    accesses = [access for module in found["modules"] for kernel in module.get("layouts", [])
                for access in kernel["accesses"]]
    wanted |= {"Key of a graph": all_keys(graphs), "Key of an access": all_keys(accesses)}
    for heading, keys in wanted.items():
        assert keys_of(page, heading) == keys, f"{heading}: the page has {keys_of(page, heading)}, the data {keys}"
    assert {"unit", "edits"} <= all_keys(changes) <= {"unit", "edits", "gone"}, all_keys(changes)
    assert {part["kind"] for part in found["code"]} == {"asm", "ptx"}
    assert all_keys(kernel for part in found["code"] for kernel in part["kernels"]) <= {"name", "lines", "same_as"}
    print(f"{len(found)} keys, {len(states)} states, {len(changes)} changes")


if __name__ == "__main__":
    main()
