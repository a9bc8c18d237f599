#!/usr/bin/env python3
"""A long compile says in one line of the terminal what it does: progress_test.py BUILD_DIR

TESSERA_PROGRESS_AFTER=0 makes every compile a long one, so nothing here depends on time."""
import os
import pathlib
import pty
import subprocess
import sys
import tempfile

TESSERAC = pathlib.Path(sys.argv[1]).resolve() / "bin/tesserac"
ERASED = b"\r\x1b[K"
SOURCE = """@jit
def first(x: Tensor[B, 8, f32]) -> Tensor[B, 8, f32]:
    return x + x

@jit
def second(x: Tensor[B, 8, f32]) -> Tensor[B, 8, f32]:
    return tanh(x)
"""


def on_terminal(*options, after="0", term="xterm", cwd):
    """What a terminal at standard error gets, and the exit status."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TESSERA_PROGRESS_AFTER": after, "TERM": term, "NO_COLOR": "1"}
    compiler = subprocess.Popen([TESSERAC, *options], stderr=theirs, stdout=subprocess.DEVNULL, cwd=cwd,
                                env=environment)
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # Linux says so that nobody has the other end
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    return shown, compiler.wait(timeout=60)


def main():
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "two.tsr").write_text(SOURCE)
        pathlib.Path(folder, "bad.tsr").write_text(SOURCE.replace("tanh(x)", "tanh(y)"))
        run = lambda *options, **more: on_terminal(*options, cwd=folder, **more)

        shown, status = run("two.tsr", "--target=cpu:x86-64-v3")
        assert status == 0, shown
        lines = shown.split(ERASED)
        for text in (b"front end", b"canonicalize", b"first for cpu:x86-64-v3 (1 of 2): split_to_fragments",
                     b"second for cpu:x86-64-v3 (2 of 2): tile_to_x86", b"machine code", b"bundle"):
            assert text in lines, f"there is no line {text!r} in {lines!r}"
        assert lines[0] == b"" and lines[-1] == b"", "it is not erased"
        assert b"\n" not in shown, "it is more than one line"

        # A message stands alone, below nothing.
        shown, status = run("bad.tsr")
        assert status == 1 and b"front end" in shown
        assert shown.split(ERASED)[-1].startswith(b"bad.tsr:7:17: error"), shown

        # Soon over, for a program, or where a line cannot be erased: nothing.
        quiet = [run("two.tsr", after="3600000"), run("two.tsr", term="dumb")]
        assert quiet == [(b"", 0)] * 2, quiet
        for option in ("--error-format=json", "--error-format=sarif", "--print-after=cse"):
            shown, status = run("two.tsr", option)
            assert status == 0 and ERASED not in shown, shown

        environment = os.environ | {"TESSERA_PROGRESS_AFTER": "0", "TERM": "xterm"}
        piped = subprocess.run([TESSERAC, "two.tsr"], capture_output=True, cwd=folder, env=environment, timeout=60)
        assert (piped.returncode, piped.stdout, piped.stderr) == (0, b"", b""), piped


if __name__ == "__main__":
    main()
