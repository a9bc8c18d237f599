#!/usr/bin/env python3
"""tessera-fmt as a command: what it writes, what it leaves alone, how it says so.

Usage: fmt_test.py BUILD_DIR
"""
import os
import pathlib
import stat
import subprocess
import tempfile

from tools import BIN

FMT = BIN / "tessera-fmt"
BAD, GOOD, BROKEN = "x=1\ny  =  2\n", "x = 1\ny = 2\n", "x = (1\n"


def fmt(*arguments, text=None, status=0):
    done = subprocess.run([str(FMT), *map(str, arguments)], input=text, capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout, done.stderr


def check_files(folder):
    path = folder / "a.tsr"
    path.write_text(BAD)
    path.chmod(0o640)
    assert fmt(path) == ("", "")
    assert path.read_text() == GOOD
    assert stat.S_IMODE(path.stat().st_mode) == 0o640, "permissions are lost"
    before = path.stat().st_mtime_ns, path.stat().st_ino
    fmt(path)
    assert before == (path.stat().st_mtime_ns, path.stat().st_ino), "a file in the style was written"

    path.write_text(BAD)
    link = folder / "link.tsr"
    link.symlink_to(path)
    fmt(link)
    assert link.is_symlink() and path.read_text() == GOOD, "a link was replaced"
    link.unlink()


def check_modes(folder):
    path = folder / "b.tsr"
    path.write_text(BAD)
    out, err = fmt("--check", path, status=2)
    assert (out, err) == ("", f"{path} is not formatted\n")
    out, err = fmt("--check", "--diff", path, status=2)
    assert out == f"--- {path}\n+++ {path}\n@@ -1,2 +1,2 @@\n-x=1\n-y  =  2\n+x = 1\n+y = 2\n", out
    assert fmt("--diff", path)[0] == out
    assert fmt("--stdout", path)[0] == GOOD
    assert path.read_text() == BAD, "a file was written"
    assert fmt("--stdout", "--range=2:2", path)[0] == "x=1\ny = 2\n"
    assert fmt("--stdout", "--range", "1", path)[0] == "x = 1\ny  =  2\n"
    assert fmt("-", text=BAD)[0] == GOOD
    assert fmt("-", "--check", text=GOOD) == ("", "")
    assert "<stdin> is not" in fmt("-", "--check", text=BAD, status=2)[1]
    patched = subprocess.run(["patch", "-s", "-o", "-", path], input=out, capture_output=True, text=True, check=False)
    assert patched.returncode == 0 and patched.stdout == GOOD, patched
    fmt(path)
    assert fmt("--check", path) == ("", "")


def check_folders(folder):
    root = folder / "tree"
    for name in ("a.tsr", "deep/er/b.tsr", "deep/c.txt", ".hidden/d.tsr", "out/e.tsr"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(BAD)
    err = fmt("--check", root, "--exclude", root / "out", status=2)[1]
    assert err.splitlines() == [f"{root / name} is not formatted" for name in ("a.tsr", "deep/er/b.tsr")], err
    fmt(root, "--exclude", root / "out")
    texts = {name: (root / name).read_text() for name in ("a.tsr", "deep/er/b.tsr", "out/e.tsr", ".hidden/d.tsr")}
    assert list(texts.values()) == [GOOD, GOOD, BAD, BAD], texts


def check_mistakes(folder):
    path, other = folder / "broken.tsr", folder / "other.tsr"
    path.write_text(BROKEN)
    other.write_text(BAD)
    err = fmt(path, other, status=1)[1]
    assert "[unclosed-bracket]" in err and "broken.tsr:" in err, err
    assert path.read_text() == BROKEN and other.read_text() == GOOD, "the other file is formatted all the same"
    other.write_text(BAD)
    out, err = fmt("--check", other, path, status=1)
    assert "is not formatted" in err and "[unclosed-bracket]" in err, err
    fmt(other)
    assert "model.tsr:" in fmt("-", "--stdin-name=model.tsr", text=BROKEN, status=1)[1]
    assert "no such file" in fmt(folder / "none.tsr", status=1)[1].lower()
    assert "--range takes LINE[:LINE]" in fmt("--range=x", other, status=1)[1]
    assert "--range takes LINE[:LINE]" in fmt("--range=3:2", other, status=1)[1]
    assert "of one file" in fmt("--range=1:2", other, path, status=1)[1]
    fmt("--bad-option", other, status=1)
    fmt(status=1)
    if os.geteuid() != 0:
        os.chmod(folder, 0o500)
        other.write_text(BAD)
        assert "cannot" in fmt(other, status=1)[1]
        os.chmod(folder, 0o700)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_files(folder)
        check_modes(folder)
        check_folders(folder)
        check_mistakes(folder)
    print("tessera-fmt writes, checks, and leaves broken files alone")


if __name__ == "__main__":
    main()
