#!/usr/bin/env python3
"""docs/schedules.md says what schedules do: its programs compile, sources of keys override each other in its order, its
spellings mean what it says, and extents are reduced as it says.

Usage: schedules_test.py BUILD_DIR
"""
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from usage import build_folder

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = ("cpu:x86-64-v3", "cuda:sm_80", "cuda:sm_90a")
KERNEL = """
{decorators}
def f(x: Tensor[M, {n}, f32]) -> Tensor[M, {n}, f32]:
    t = tile.context(m=M, n={n})
    return tile.load(x)
"""
# Decorators, and the schedule that the kernel has.
SCHEDULES = [
    ("@kernel.schedule(Schedule(block=(8, 64)))", "block = {m = 8, n = 64}"),
    ("@kernel.schedule(block(8, 64))", "block = {m = 8, n = 64}"),
    ("@kernel.schedule(block(m=8, n=64))", "block = {m = 8, n = 64}"),
    ("@kernel.schedule(Schedule(BM=8))", "block = {m = 8}"),
    ("@kernel.schedule(block(8).n(64))", "block = {m = 8, n = 64}"),
    ("@kernel.schedule(Schedule(BM=8).with_block(16, 64))", "block = {m = 16, n = 64}"),
    ("@kernel.schedule(block(8).with_stages(3))", "block = {m = 8}, stages = 3"),
    ("@kernel.schedule(block(8).stages([3, 4]))", "block = {m = 8}, stages = 3"),
    ("@kernel.schedule(Schedule(BM=8, BN=64, warps=2))\n@kernel.schedule(Schedule(BM=16))",
     "block = {m = 16, n = 64}, warps = 2"),
    ("@kernel.schedule(Schedule(BM=8, BN=64))\n@kernel.schedule(block(16))", "block = {m = 16}"),
    ("@kernel.schedule(Schedule(BM=8))\n@kernel.autotune(space={\"BM\": [32, 64]})", "block = {m = 32}"),
    ("@kernel.autotune(space={\"BM\": [32, 64]})\n@kernel.schedule(Schedule(BM=8))", "block = {m = 8}"),
]
CALLED = """
wide = f.with_schedule(Schedule(BM=2))

@jit
def entry(x: Tensor[M, 300, f32]):
    return wide(x)
"""
# The extent of a block of 256 along an axis of so many elements, on CPUs and on GPUs.
REDUCED = {5: (5, 16), 17: (17, 32), 40: (40, 64), 70: (70, 128), 200: (200, 256), 300: (256, 256)}


def dump(build, folder, source, target):
    """The Schedule IR of a source."""
    path = folder / "f.tsr"
    path.write_text(source)
    done = subprocess.run([build / "bin/tesserac", path, f"--target={target}", "--dump=sched"], capture_output=True,
                          text=True,
                          timeout=60, check=False)
    assert done.returncode == 0, f"{source}\n{done.stderr}"
    return done.stdout


def check_programs(build, folder):
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs/schedules.md").read_text(), re.M | re.S)
    assert len(blocks) >= 2, blocks
    for block in blocks:
        for target in TARGETS:
            (folder / "f.tsr").write_text(block)
            done = subprocess.run([build / "bin/tesserac", folder / "f.tsr", f"--target={target}", "-o",
                                   folder / "f.bundle"],
                                  capture_output=True, text=True, timeout=60, check=False)
            assert (done.returncode, done.stderr) == (0, ""), f"{target}:\n{block}\n{done.stderr}"


def check_schedules(build, folder):
    """Each spelling, and with_schedule over the decorators."""
    for decorators, expected in SCHEDULES:
        text = dump(build, folder, KERNEL.format(decorators=decorators, n=300), "cuda:sm_90a")
        assert f"schedule = {{{expected}}}}} {{" in text, f"{decorators}: not {expected}:\n{text}"
    text = dump(build, folder, KERNEL.format(decorators="@kernel.schedule(Schedule(BM=8, warps=2))", n=300) + CALLED,
                "cuda:sm_90a")
    assert "schedule = {block = {m = 2}, warps = 2}} {" in text, text


def check_extents(build, folder):
    for size, extents in REDUCED.items():
        for target, extent in zip(("cpu:x86-64-v4", "cuda:sm_90a"), extents):
            text = dump(build, folder, KERNEL.format(decorators="@kernel.schedule(Schedule(BM=4, BN=256))", n=size),
                        target)
            [found] = re.findall(rf'block = (\d+), extent = {size}, grid = true, name = "n"', text)
            assert int(found) == extent, f"{size} on {target}: {found}"


def main():
    build = build_folder()
    with tempfile.TemporaryDirectory() as name:
        for check in (check_programs, check_schedules, check_extents):
            check(build, pathlib.Path(name))


if __name__ == "__main__":
    main()
