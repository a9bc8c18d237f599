#!/usr/bin/env python3
"""Bad input to the commands: an error with its place, exit status 1, and no output file left.

Usage: bad_input_test.py BUILD_DIR
"""
import os
import pathlib
import resource
import struct
import subprocess
import tempfile

import numpy as np

from tools import BIN, EXAMPLES, SANITIZED, refuse, run

# AddressSanitizer reserves terabytes of addresses and takes its time.
SECONDS = 100 if SANITIZED else 10
BYTES = 2 << 30

HEAD = "@jit\ndef f(x: Tensor[B, 4, f32]) -> Tensor[B, 4, f32]:\n    return "

BODY = "@jit\ndef f(x: Tensor[B, 4, f32]) -> Tensor[B, 4, f32]:\n    {}    return x\n"

# name: (source, what the message must say)
SOURCES = {
    "unknown name": (HEAD + "gellu(x)\n", ["3:12", "gelu"]),
    "shape mismatch": (HEAD + "x @ x\n", ["3:", "right operand transposed"]),
    "tabs mixed with spaces": ("@jit\ndef f(x: Tensor[B, f32]) -> Tensor[B, f32]:\n    y = x\n\treturn y\n", ["4:"]),
    "unterminated string": ('const A = "abc\n', ["1:11"]),
    "invalid UTF-8": (b"const A = 1 # \xff\xfe\n", ["1:15"]),
    "10,000 open brackets": (HEAD + "(" * 10000 + "\n", ["3:"]),
    "2,000,000 unary minus signs": (HEAD + "-" * 2000000 + "x\n", ["3:"]),
    "include of itself": ('%include "bad.tsr"\n', ["bad.tsr"]),
    "silent narrowing": ("@jit\ndef f(x: Tensor[B, f32]) -> Tensor[B, bf16]:\n    return x\n", ["3:", "cast"]),
    "directory as input": (None, ["directory"]),
    "ELF object": (b"\x7fELF\x02\x01\x01" + bytes(100), ["ELF object", "[not-source]"]),
    "PNG image": (b"\x89PNG\r\n\x1a\n" + bytes(30), ["PNG image"]),
    "other binary data": (bytes(range(256)), ["binary data"]),
    "LLVM IR": ("; ModuleID = 'k'\nsource_filename = \"k\"\n", ["LLVM IR", "--dump"]),
    "empty file": ("", ["[no-entries]"]),
    "functions only": ("def f(x: Tensor[B, f32]):\n    return x\n", ["[no-entries]", "@jit"]),
    "include of a device": ('%include "/dev/zero"\n', ["1:1", "device"]),
    "include of a string without end": ('%include "abc\n' + HEAD + "x\n", ["1:10", "[unterminated-string]"]),
    "a list in a list, 90,000 times": (BODY.format("s = [1]\n" + "    s = [s]\n" * 90000), ["[unsupported-nesting]"]),
    "a list in a list, in a loop": (BODY.format("s = [1]\n    for i in range(90000):\n        s = [s]\n"),
                                    ["5:13", "[unsupported-nesting]"]),
    "lists that share their parts": (BODY.format("s = [1]\n" + "    s = [s, s]\n" * 60
                                                 + "    if s == [s]:\n        x = x + 1.0\n"),
                                     ["[unsupported-value-size]"]),
    "a list that doubles": (BODY.format("s = [1]\n    for i in range(60):\n        s = s + s\n"),
                            ["5:15", "[unsupported-value-size]"]),
    "a text that doubles": (BODY.format('s = "ab"\n    for i in range(60):\n        s += s\n'),
                            ["5:11", "[unsupported-evaluation-memory]", "--max-eval-memory"]),
    "ranges of ranges": (BODY.format("s = [range(100000) for i in range(100000)]\n"),
                         ["3:", "[unsupported-program-size]", "--max-eval-steps"]),
    "a kernel that unrolls to 65,536 ops": (
        "@kernel\ndef k(x: Tensor[N, f32]) -> Tensor[N, f32]:\n    t = tile.context(n=N)\n    a = tile.load(x)\n"
        "    for i in range(65536):\n        a = a + 1.0\n    return a\n\n@jit\ndef f(x: Tensor[N, f32]):\n    return "
        "k(x)\n", ["5:", "[unsupported-kernel-size]"]),
    "an entry with 102,400 results": (
        "@jit\ndef f(x: Tensor[B, f32]):\n    s = range(100)\n    for i in range(10):\n        s = s[::-1] + s\n    "
        "return s\n",
        ["6:", "[unsupported-program-size]"]),
    "a tree of modules": (
        "module M(n: int):\n    a: [M(n - 1)] * 2 if n > 0 else []\n    w: Param[4, f32] = zeros()\n\n"
                          "m = M(40)\n" + HEAD + "x\n", ["2:9", "[unsupported-instances]"]),
    "lists of lists of modules": (
        "module M(n: int):\n    a: [[M(n - 1)] * 3] * 2 if n > 0 else []\n    w: Param[4, f32] = zeros()\n\n"
                                  "m = [[M(12), M(13)]]\n" + HEAD + "x\n", ["2:10", "[unsupported-instances]"]),
    "tensor beyond 64 bits": (HEAD + "sum(zeros((2**40, 2**40), f32)) + x\n", ["3:16", "[dimension-overflow]"]),
}


def limited():
    """Ends a process beyond its memory or, of all its threads, its seconds of processor time."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


def check_sources(folder):
    source = folder / "bad.tsr"
    out = folder / "out.bundle"
    for name, (text, wanted) in SOURCES.items():
        if text is not None:
            source.write_bytes(text if isinstance(text, bytes) else text.encode())
        message = refuse(BIN / "tesserac", source if text is not None else folder, "-o", out, preexec_fn=limited)
        assert message.count("error:") == 1, f"{name}: one mistake, one message\n{message[:2000]}"
        for part in wanted:
            assert part in message, f"{name}: '{part}' is not in\n{message[:2000]}"
        assert not out.exists() and not list(folder.glob("out.bundle*")), name


def check_large_source(folder):
    """5 MB of valid source: success, or one diagnostic, within the limits."""
    lines = ["@jit\ndef f(x: Tensor[B, f32]) -> Tensor[B, f32]:\n    return x\n"]
    line = "def helper_{0}(x: Tensor[B, f32]) -> Tensor[B, f32]:\n    y = gelu(x * {0}.0) + x\n    return y - x\n\n"
    while sum(map(len, lines)) < 5 << 20:
        lines.append("".join(line.format(len(lines) * 100 + i) for i in range(100)))
    (folder / "large.tsr").write_text("".join(lines))
    result = subprocess.run([BIN / "tesserac", folder / "large.tsr", "-o", folder / "large.bundle"], preexec_fn=limited,
                            capture_output=True, text=True)
    assert result.returncode == 0 or result.stderr.count("error:") == 1, result.stderr[:2000]


def check_unknown_names(folder):
    """8,000 names that nothing defines: the first ones are told, and the rest costs little."""
    source = folder / "names.tsr"
    lines = [f"    y{i} = x + name{i}q{i * 7919 % 10007}\n" for i in range(8000)]
    source.write_text("@jit\ndef f(x: Tensor[B, f32]):\n" + "".join(lines) + "    return x\n")
    message = refuse(BIN / "tesserac", source, "-o", folder / "o", preexec_fn=limited)
    assert message.count("[unknown-name]") == 20 and "7980 more errors not shown" in message, message[-500:]


def check_many_params(folder):
    """What is kept of 4,095 params that begin alike grows with their number, and not with its square."""
    source = folder / "params.tsr"
    source.write_text("module M(n: int):\n    a: [M(n - 1)] * 2 if n > 0 else []\n    w: Param[4, f32] = zeros()\n\n"
                      f"m = M(11)\n{HEAD}x * m.w\n")
    run(BIN / "tesserac", source, "-o", folder / "params.bundle", "--target=cpu:x86-64-v3", "--max-eval-memory=40MB")


def check_include_roots(folder):
    """With --include-root files of other folders are not read, whatever the way to them, and nothing is told of
    them."""
    inside, outside = folder / "in", folder / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret.tsr").write_text("const KEY = 7\n")
    (outside / "secret").write_text("root:hunter2:0\n")
    (inside / "part.tsr").write_text("const PART = 2.0\n")
    (inside / "notes.txt").write_text("root:hunter2:0\n")
    (inside / "link.tsr").symlink_to(outside / "secret.tsr")
    (inside / "folder").symlink_to(outside)
    (inside / "gone.tsr").symlink_to(outside / "missing.tsr")
    source, out = inside / "f.tsr", folder / "out.bundle"
    for line in (f'%include "{outside}/secret"', '%include "../out/secret.tsr"', '%include "link.tsr"',
                 '%include "notes.txt"',
                 '%include "folder/secret.tsr"', "import link", "import folder.secret", '%include "/etc/shadow"',
                 f'%include "{outside}/missing.tsr"'):
        source.write_text(f"{line}\n{HEAD}x\n")
        message = refuse(BIN / "tesserac", source, "-o", out, f"--include-root={inside}", cwd=inside)
        assert "lies outside" in message or "does not end in '.tsr'" in message, message
        assert "hunter2" not in message and "No such file" not in message and not out.exists(), message
    told = set()
    for line in ('%include "link.tsr"', '%include "gone.tsr"', '%include "folder/secret.tsr"',
                 '%include "folder/none.tsr"',
                 '%include "folder/none/none.tsr"', '%include "/etc/passwd"', '%include "/etc/no_such_file"'):
        source.write_text(f"{line}\n{HEAD}x\n")
        message = refuse(BIN / "tesserac", source, "-o", out, f"--include-root={inside}", cwd=inside)
        told.add(message.split("tried ")[1].split("': ")[1].split("\n")[0])
    assert len(told) == 1, told  # whether a file is there is not told
    source.write_text(f'%include "below/part.tsr"\n{HEAD}x\n')
    assert "No such file" in refuse(BIN / "tesserac", source, "-o", out, f"--include-root={inside}", cwd=inside)
    for line in ('%include "part.tsr"', "from part import PART"):
        source.write_text(f"{line}\n{HEAD}x * PART\n")
        run(BIN / "tesserac", source, "-o", out, f"--include-root={inside}", "--target=cpu:x86-64-v3")
    source.write_text(f'%include "../out/secret.tsr"\n{HEAD}x * float(KEY)\n')
    run(BIN / "tesserac", source, "-o", out, "--target=cpu:x86-64-v3")  # without the option any file is read
    run(BIN / "tesserac", source, "-o", out, "--target=cpu:x86-64-v3", f"--include-root={inside}",
        f"--include-root={outside}")


def check_command_line(folder):
    source = EXAMPLES / "mlp/mlp.tsr"
    assert "[unknown-target]" in refuse(BIN / "tesserac", source, "--target=cpu:x86-64-v9", "-o", folder / "o")
    assert "[unknown-stage]" in refuse(BIN / "tesserac", source, "--dump=tyle", "-o", folder / "o")
    assert "[cannot-write]" in refuse(BIN / "tesserac", source, "-o", folder / "missing/out.bundle")
    assert "[cannot-read]" in refuse(BIN / "tesserac", folder / "missing.tsr", "-o", folder / "o")
    assert "--no-such-option" in refuse(BIN / "tesserac", source, "--no-such-option")
    assert "error: no input file" in refuse(BIN / "tesserac")
    os.mkfifo(folder / "pipe")
    assert "named pipe" in refuse(BIN / "tesserac", folder / "pipe", "-o", folder / "o")
    assert "device" in refuse(BIN / "tesserac", "/dev/zero", "-o", folder / "o")
    assert not (folder / "o").exists()
    # Code for CPUs takes no temporary files, and never ends in [no-temporary-files].
    run(BIN / "tesserac", source, "--target=cpu:x86-64-v3", "-o", "/dev/null",
        env=dict(os.environ, TMPDIR=str(folder / "missing")))


def check_own_bundle(folder):
    """What tesserac has put together is checked as a reader checks it: what would be refused is no file."""
    source, dump, bundle = folder / "own.tsr", folder / "own.tir", folder / "own.bundle"
    source.write_text("@jit\ndef f(x: Tensor[4, f32]) -> Tensor[4, f32]:\n    return x * x\n")
    run(BIN / "tesserac", source, "--target=cpu:x86-64-v3", "--dump=target", "-o", dump)
    text = dump.read_text()
    run(BIN / "tesserac", dump, "-o", bundle)
    run(BIN / "tsr", "verify", bundle)
    bundle.unlink()
    # Another entry with a kernel of the same name, which no reader can tell apart.
    other = text.replace("module @f ", "module @g ").replace('entry = "f"', 'entry = "g"')
    dump.write_text(text + other.replace("host.func @f(", "host.func @g("))
    places = dict(os.environ, HOME=str(folder), TMPDIR=str(folder), XDG_STATE_HOME=str(folder))
    result = subprocess.run([BIN / "tesserac", dump, "-o", bundle], capture_output=True, text=True, env=places)
    assert result.returncode == 70, result.stderr
    assert "the bundle would be refused when it is loaded" in result.stderr, result.stderr
    assert "reproducer written to" in result.stderr and not list(folder.glob("own.bundle*")), result.stderr


def check_large_header(folder):
    """A header of safetensors takes memory by its size: what it says is kept, not how."""
    bundle, weights = folder / "m.bundle", folder / "large.safetensors"
    run(BIN / "tesserac", EXAMPLES / "mlp/mlp.tsr", "--target=cpu:x86-64-v3", "-o", bundle)
    size = 63 << 20

    def limited():
        if not SANITIZED:
            resource.setrlimit(resource.RLIMIT_DATA, (4 * size, 4 * size))

    def members(form, most):
        return ",".join(form % i for i in range(most))

    tensors = members('"%x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}', size // 58)
    metadata = '"__metadata__":{' + members('"%x":""', size // 13) + "}"
    for header, why in ((tensors, "has no parameter"), (metadata + ',"x":{}', "['x']: it lacks"),
                        ('"' + "a" * (size - 100) + '":{}', "the name is empty, too long")):
        text = ("{" + header + "}").encode()
        assert len(text) <= 64 << 20
        weights.write_bytes(struct.pack("<Q", len(text)) + text)
        message = refuse(BIN / "tsr", "run", bundle, "mlp", "--params", weights, preexec_fn=limited)
        assert why in message, message[:300]
    weights.unlink()


def check_run(folder):
    """Wrong tensors are named, and no output is left."""
    bundle, weights, tokens = folder / "b.bundle", folder / "w.safetensors", folder / "t.npy"
    run(BIN / "tesserac", EXAMPLES / "bytelm/bytelm.tsr", "-o", bundle)
    run(BIN / "tsr", "init", bundle, "--seed", 7, "-o", weights)

    def call(array, *options, params=True):
        np.save(tokens, array)
        given = ("--params", weights) if params else ()
        message = refuse(BIN / "tsr", "run", bundle, "loss", *given, "--input", f"tokens={tokens}",
                         "--output", f"loss={folder}/l.npy", *options)
        assert not list(folder.glob("l.npy*"))
        return message

    good = np.zeros((4, 17), np.uint8)
    assert "tokens" in call(good.astype(np.int32))
    assert "tokens" in call(good[0])
    assert "17" in call(good[:, :5].copy())
    assert "table" in call(good, params=False)
    assert "Fortran" in call(np.asfortranarray(good))
    np.save(tokens, good)
    message = refuse(BIN / "tsr", "run", bundle, "loss", "--params", weights, "--input", f"tokens={tokens}",
                     "--output", f"loss={folder}/l.txt")
    assert "l.txt" in message and ".npy" in message
    message = refuse(BIN / "tsr", "run", bundle, "lost", "--params", weights)
    assert "loss" in message
    for damage in (lambda b: b[:-7], lambda b: b + b"x", lambda b: b[:5000] + bytes([b[5000] ^ 1]) + b[5001:]):
        (folder / "bad.bundle").write_bytes(damage(bundle.read_bytes()))
        refuse(BIN / "tsr", "verify", folder / "bad.bundle")
        refuse(BIN / "tsr", "run", folder / "bad.bundle", "loss")


def check_commands(folder):
    """Commands, dimensions and parameters that are not there are named, beside those that are."""
    assert "no command is given" in refuse(BIN / "tsr")
    message = refuse(BIN / "tsr", "frob")
    assert "'frob'" in message and "inspect" in message
    assert "did you mean 'inspect'?" in refuse(BIN / "tsr", "inpsect")
    source, bundle, weights = folder / "s.tsr", folder / "s.bundle", folder / "s.safetensors"
    source.write_text("param w: Param[4, f32]\nparam b: Param[4, f32] = ones()\n" + HEAD + "x * w + b\n")
    run(BIN / "tesserac", source, "-o", bundle)
    message = refuse(BIN / "tsr", "bench", bundle, "--dims", "B=2", "--dims", "Q=3")
    assert "'Q'" in message and "the only size is B" in message
    assert "f needs --dims B=SIZE" in refuse(BIN / "tsr", "bench", bundle)
    assert "'w' has no initial value" in refuse(BIN / "tsr", "init", bundle, "-o", weights)
    assert not weights.exists()
    run(BIN / "tsr", "init", bundle, "--skip-missing", "-o", weights)
    message = refuse(BIN / "tsr", "bench", bundle, "f", "--dims", "B=2", "--dims", "B=3")
    assert "gives B twice: 2 and 3" in message


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_sources(folder)
        check_large_source(folder)
        check_unknown_names(folder)
        check_many_params(folder)
        check_include_roots(folder)
        check_command_line(folder)
        check_own_bundle(folder)
        check_large_header(folder)
        check_run(folder)
        check_commands(folder)


if __name__ == "__main__":
    main()
