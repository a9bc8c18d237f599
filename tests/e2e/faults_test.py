#!/usr/bin/env python3
"""What the system refuses: memory, reading, writing, full disks.

tests/faults/faults.c makes the n-th call of a function fail. Whatever it is, a program then says what happened in one
message and exits with status 1, or succeeds where the call did not matter; it leaves no part of an output, nothing in
the folder for temporary files, and an output that was there before stays as it was.

Usage: faults_test.py BUILD_DIR
"""
import errno
import os
import pathlib
import shutil
import subprocess
import tempfile

import numpy as np

from tools import BIN, run

SHIM = BIN.parent / "lib/libfaults.so"
SOURCE = """
param w: Param[8, 8, f32] = normal(0.1)

@jit
def f(x: Tensor[M, 8, f32]) -> Tensor[M, 8, f32]:
    return softmax(x @ w)
"""
# Calls that fail, and what with: a full disk is a write, a rename or a close.
FAULTS = (("open", errno.EMFILE), ("read", errno.EIO), ("mmap", errno.ENOMEM), ("mkstemp", errno.EROFS),
          ("write", errno.ENOSPC), ("write", errno.EIO), ("close", errno.ENOSPC), ("rename", errno.ENOSPC),
          ("fsync", errno.EIO), ("mkdtemp", errno.ENOSPC), ("pthread_create", errno.EAGAIN))
PTXAS = shutil.which("ptxas") or pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin/ptxas").exists()
ALLOCATIONS = 12  # points at which memory ends
LAST_ALLOCATIONS = 60  # and all of the last ones, when outputs lie aside; how many there are differs by some per run


class Program:
    """A command whose outputs lie in a folder of their own."""

    def __init__(self, name, folder, command, output, faults=FAULTS, keeps_cache=False):
        self.name, self.folder, self.command, self.output = name, folder, [str(part) for part in command], output
        self.outputs, self.temporary, self.faults = output.parent, folder / "tmp", faults
        self.failures, self.reached = 0, set()
        self.cache, self.keeps_cache = folder / "cache", keeps_cache

    def start(self, call, at=0, count=1, code=0):
        log = self.folder / "calls"
        if not self.keeps_cache:
            shutil.rmtree(self.cache, ignore_errors=True)
        environment = dict(os.environ, LD_PRELOAD=str(SHIM), FAULT_CALL=call, FAULT_AT=str(at), FAULT_COUNT=str(count),
                           FAULT_ERRNO=str(code), FAULT_LOG=str(log),
                           TMPDIR=str(self.temporary), TESSERA_CACHE=str(self.cache),
                           TSR_THREADS="4" if call == "pthread_create" else "1")
        log.unlink(missing_ok=True)
        result = subprocess.run(self.command, capture_output=True, env=environment, timeout=300)
        return result, int(log.read_text()) if log.exists() else None

    def calls(self, call):
        result, count = self.start(call)
        assert result.returncode == 0, result.stderr
        return count

    def fail(self, call, at, count, code, tidy=True):
        before = b"what was there before"
        self.output.write_bytes(before)
        result, _ = self.start(call, at, count, code)
        said = result.stderr.decode()[:500]
        what = f"{self.name}: {call} {at} of {count} fails: status {result.returncode}, {said!r}"
        assert result.returncode in (0, 1), what
        left = [path.name for path in self.outputs.iterdir() if path != self.output]
        left += [path.name for path in self.temporary.iterdir()] if tidy else []
        left += [path.name for path in self.cache.glob("*/.*")] if tidy else []
        assert not left, f"{what}\n left: {left}"
        if result.returncode == 1:
            self.failures += 1
            message = result.stderr.decode()
            assert message.count("error:") == 1 and len(message) < 2000, what
            assert self.output.read_bytes() == before, f"{what}\n the output changed"
            assert " 0 bytes" not in message, what
            assert call in ("malloc", "mmap") or os.strerror(code) in message, what
        else:
            assert self.output.read_bytes() != before, f"{what}\n no output"

    def check_calls(self):
        for call, code in self.faults:
            for at in range(1, self.calls(call) + 1):
                self.reached.add(call)
                self.fail(call, at, 1, code)
            self.fail(call, 1, 1 << 30, code)
        assert self.failures, self.name

    def check_memory(self, begin):
        """Memory ends once, and for good, at calls spread evenly over the orders of magnitude."""
        end = self.calls("malloc")
        for at in np.geomspace(min(begin, end), end, ALLOCATIONS).astype(int):
            self.fail("malloc", at, 1, errno.ENOMEM)
            self.fail("malloc", at, 1 << 30, errno.ENOMEM, tidy=False)
        for at in range(max(begin, end - LAST_ALLOCATIONS), end + 1):
            self.fail("malloc", at, 1, errno.ENOMEM)


def allocations_before_main(folder, program):
    idle = Program(program, folder, [BIN / program, "--version"], folder / "none")
    return idle.calls("malloc") + 1


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "out").mkdir()
        (folder / "tmp").mkdir()
        source, bundle, weights = folder / "f.tsr", folder / "f.bundle", folder / "f.safetensors"
        source.write_text(SOURCE)
        np.save(folder / "x.npy", np.ones((3, 8), np.float32))
        run(BIN / "tesserac", source, "-o", bundle, "--target=cpu:x86-64-v3")
        run(BIN / "tsr", "init", bundle, "-o", weights)
        programs = (
            Program("tesserac", folder,
                    [BIN / "tesserac", source, "--target=cpu:x86-64-v3", "-o", folder / "out/a.bundle"],
                    folder / "out/a.bundle"),
            Program("tesserac with a cache", folder,
                    [BIN / "tesserac", source, "--target=cpu:x86-64-v3", "-o", folder / "out/a.bundle"],
                    folder / "out/a.bundle", keeps_cache=True),
            Program("tsr run", folder, [BIN / "tsr", "run", bundle, "f", "--params", weights, "--input",
                                        f"x={folder}/x.npy", "--output", f"f={folder}/out/y.npy"],
                    folder / "out/y.npy"),
            Program("tsr init", folder, [BIN / "tsr", "init", bundle, "-o", folder / "out/w.safetensors"],
                    folder / "out/w.safetensors"),
        )
        if PTXAS:
            faults = [fault for fault in FAULTS if fault[0] in ("mkdtemp", "mkstemp", "fsync")]
            programs += (Program("tesserac --cubin", folder,
                                 [BIN / "tesserac", source, "--target=cuda:sm_80", "--cubin",
                                                              "-o", folder / "out/g.bundle"], folder / "out/g.bundle",
                                 faults),)
        for program in programs:
            for path in (folder / "out").iterdir():
                path.unlink()
            program.check_calls()
            if program.faults is FAULTS:
                program.check_memory(allocations_before_main(folder, program.name.split()[0]))
            print(f"{program.name}: {program.failures} failures, each said and nothing left behind")
        idle = {call for call, _ in FAULTS} - set().union(*(program.reached for program in programs))
        assert idle <= (set() if PTXAS else {"mkdtemp"}), f"nobody calls {idle}"


if __name__ == "__main__":
    main()
