#!/usr/bin/env python3
"""What programs leave on a disk: whole files with the permissions that they had, and nothing else.

Usage: files_test.py BUILD_DIR
"""
import fcntl
import os
import pathlib
import resource
import subprocess
import tempfile

import numpy as np

from tools import BIN, refuse, run

SOURCE = """
param w: Param[64, 64, f32] = normal(0.1)

@jit
def f(x: Tensor[M, 64, f32]) -> Tensor[M, 64, f32]:
    return x @ w

@jit
def step(k: Tensor[1, 1, 1, 4, f32], cache: KVCache[1, 1, 8, 4, f32]):
    return cache.append(k, k)

@jit
def pair(v: Tensor[4, f32]):
    twice, less = v * 2.0, v - 1.0
    return twice, less
"""


def compile_to(folder, *options):
    return BIN / "tesserac", folder / "f.tsr", "--target=cpu:x86-64-v3", "-o", folder / "f.bundle", *options


def make_folder(path, *names):
    path.mkdir()
    for name in names:
        (path / name).write_bytes(b"part")
    return path


def check_orphans(folder, left, kept, locked, program):
    """What a run that was killed left is removed by the next one, unless a run that is alive has it locked."""
    descriptor = os.open(locked, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    program()
    assert not left.exists() and locked.exists() and all(path.exists() for path in kept), list(folder.iterdir())
    os.close(descriptor)
    program()
    assert not locked.exists() and all(path.exists() for path in kept), list(folder.iterdir())


def check_outputs(folder):
    left, locked, *kept = (folder / f".tessera-{name}" for name in (
        "unfinished-aB3dE9", "unfinished-aB3dE8", "unfinished-mine", "models", "aB3dE9"))
    for path in (left, locked, *kept):
        path.write_bytes(b"part")
    kept += [make_folder(folder / ".tessera-unfinished-folder", "w.bin"),
             make_folder(folder / ".tessera-agents", "w.bin")]
    check_orphans(folder, left, kept, locked, lambda: run(*compile_to(folder)))
    assert all((path / "w.bin").exists() for path in kept[-2:])


def check_standard_output(folder):
    """'-' is standard output, which then has the file's bytes and no others."""
    tsr, piped = BIN / "tsr", lambda *command: subprocess.run(command, check=True, capture_output=True).stdout
    run(tsr, "init", folder / "f.bundle", "-o", folder / "w.safetensors")
    assert piped(tsr, "init", folder / "f.bundle", "-o", "-") == (folder / "w.safetensors").read_bytes()
    np.save(folder / "v.npy", np.arange(4, dtype=np.float32))
    command = [tsr, "run", folder / "f.bundle", "pair", "--input", f"v={folder / 'v.npy'}"]
    run(*command, "--output", f"less={folder / 'less.npy'}")
    assert piped(*command, "--output", "less=-") == (folder / "less.npy").read_bytes()
    assert "prints to standard output" in refuse(*command, "--output", "less=-", "--trace-shapes")
    assert "go to the same file '-'" in refuse(*command, "--output", "less=-", "--output", "twice=-")


def check_limits(folder):
    """A file that may not become as large as it has to be, and standard output that takes nothing."""
    before = (folder / "f.bundle").read_bytes()
    small = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
    message = refuse(*compile_to(folder), preexec_fn=small)
    assert "File too large" in message and message.count("error:") == 1, message
    assert (folder / "f.bundle").read_bytes() == before
    message = refuse(BIN / "tsr", "init", folder / "f.bundle", "-o", folder / "w.safetensors", preexec_fn=small)
    assert "File too large" in message, message
    run(BIN / "tsr", "init", folder / "f.bundle", "-o", folder / "w.safetensors")
    np.save(folder / "x.npy", np.ones((3, 64), np.float32))
    given = (folder / "f.bundle", "f", "--params", folder / "w.safetensors")
    with open("/dev/full", "w") as full:
        for command in (("verify", folder / "f.bundle"), ("inspect", folder / "f.bundle"), ("--version",),
                        ("run", "--help"),
                        ("run", *given, "--input", f"x={folder}/x.npy"), ("bench", *given, "--dims", "M=4")):
            result = subprocess.run([BIN / "tsr", *command], stdout=full, stderr=subprocess.PIPE, text=True)
            assert result.returncode == 1, (command, result)
            assert "cannot write '<stdout>': " in result.stderr, (command, result)


def check_places(folder):
    """A file keeps its permissions, and what a link leads to is written."""
    state = folder / "cache.safetensors"
    np.save(folder / "k.npy", np.ones((1, 1, 1, 4), np.float32))
    step = (BIN / "tsr", "run", folder / "f.bundle", "step", "--input", f"k={folder}/k.npy", "--state",
            f"cache={state}")
    run(*step)
    state.chmod(0o600)
    first = state.read_bytes()
    run(*step)
    assert state.stat().st_mode & 0o777 == 0o600 and state.read_bytes() != first
    (folder / "elsewhere").mkdir()
    for name, command in (("w.safetensors", (BIN / "tsr", "init", folder / "f.bundle", "-o")),
                          ("b", compile_to(folder)[:-1])):
        target, link = folder / "elsewhere" / name, folder / f"link.{name}"
        target.write_bytes(b"old")
        target.chmod(0o640)
        link.symlink_to(target)
        run(*command, link)
        assert link.is_symlink() and target.read_bytes() != b"old" and target.stat().st_mode & 0o777 == 0o640, name
    assert sorted(path.name for path in (folder / "elsewhere").iterdir()) == ["b", "w.safetensors"]
    new, first, second = folder / "elsewhere/new", folder / "elsewhere/first", folder / "second"
    first.symlink_to("new")  # which is not there yet
    second.symlink_to("elsewhere/first")
    run(*compile_to(folder)[:-1], second)
    assert second.is_symlink() and first.is_symlink() and new.read_bytes() == (folder / "f.bundle").read_bytes()


def check_assembler(folder):
    """A ptxas that is no program, its folders, and none for them."""
    temporary = folder / "tmp"
    temporary.mkdir()
    (folder / "bin").mkdir()
    (folder / "bin/ptxas").write_bytes(b"\x00nothing")
    (folder / "bin/ptxas").chmod(0o755)

    def assemble(place=temporary):
        return refuse(BIN / "tesserac", folder / "f.tsr", "--target=cuda:sm_90a", "--cubin", "-o", folder / "g.bundle",
                      env=dict(os.environ, TMPDIR=str(place), PATH=f"{folder}/bin:{os.environ['PATH']}"))

    message = assemble()
    assert "ptxas' cannot be run: Exec format error" in message and "[cannot-run]" in message, message
    assert "[no-temporary-files]" in assemble(folder / "none"), message
    left, locked = (make_folder(temporary / f"tessera-ptxas-aB3dE{i}", ".tessera-temporary", "kernels.ptx")
                    for i in (9, 8))
    kept = [make_folder(temporary / f"tessera-ptxas-{name}", "kernels.ptx") for name in ("backup", "others")]
    empty = make_folder(temporary / "tessera-ptxas-aB3dE7")
    check_orphans(temporary, left, kept, locked, assemble)
    assert not empty.exists() and all((path / "kernels.ptx").exists() for path in kept)
    assert not (folder / "g.bundle").exists()


def check_names(folder):
    """Names of sources may be odd; what a bundle says of them is of one line."""
    odd = folder / "a\nname: \x1b[31mb.tsr"
    odd.write_text(SOURCE.replace("-> Tensor[M, 64, f32]:", "-> Tensor[M, 64, f32] where M > 1:"))
    for options in ([], ["--debug"]):
        run(BIN / "tesserac", odd, "--target=cpu:x86-64-v3", "-o", folder / "odd.bundle", *options)
        run(BIN / "tsr", "verify", folder / "odd.bundle")
        for form in ([], ["--yaml"], ["--json"], ["--ir", "plan"], ["--report"]):
            shown = run(BIN / "tsr", "inspect", folder / "odd.bundle", *form)
            assert "\nname: \\x1b" not in shown and "\x1b" not in shown, shown
    assert "a\\\\x0aname: " in run(BIN / "tsr", "inspect", folder / "odd.bundle", "--yaml")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "f.tsr").write_text(SOURCE)
        for check in (check_outputs, check_standard_output, check_limits, check_places, check_assembler, check_names):
            check(folder)


if __name__ == "__main__":
    main()
