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
import time

import numpy as np

from tools import BIN, EXAMPLES, SANITIZED, refuse, run

# AddressSanitizer reserves terabytes of addresses and takes its time.
SECONDS = 100 if SANITIZED else 10
BYTES = 2 << 30

HEAD = "@jit\ndef f(x: Tensor[B, 4, f32]) -> Tensor[B, 4, f32]:\n    return "

# name: (source, what the message must say)
SOURCES = {
    "unknown name": (HEAD + "gellu(x)\n", ["3:12", "gelu"]),
    "shape mismatch": (HEAD + "x @ x\n", ["3:", "write 4 instead of B"]),
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
    "tensor beyond 64 bits": (HEAD + "sum(zeros((2**40, 2**40), f32)) + x\n", ["3:16", "[dimension-overflow]"]),
}


def limited():
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


def check_sources(folder):
    source = folder / "bad.tsr"
    out = folder / "out.bundle"
    for name, (text, wanted) in SOURCES.items():
        if text is not None:
            source.write_bytes(text if isinstance(text, bytes) else text.encode())
        start = time.monotonic()
        message = refuse(BIN / "tesserac", source if text is not None else folder, "-o", out, preexec_fn=limited)
        assert time.monotonic() - start < SECONDS, name
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
    start = time.monotonic()
    result = subprocess.run([BIN / "tesserac", folder / "large.tsr", "-o", folder / "large.bundle"], preexec_fn=limited,
                            capture_output=True, text=True)
    assert time.monotonic() - start < SECONDS
    assert result.returncode == 0 or result.stderr.count("error:") == 1, result.stderr[:2000]


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
    message = refuse(BIN / "tsr", "bench", bundle, "--dim", "B=2", "--dim", "Q=3")
    assert "'Q'" in message and "dimensions are B" in message
    assert "f needs --dim B=N" in refuse(BIN / "tsr", "bench", bundle)
    assert "'w' has no initial value" in refuse(BIN / "tsr", "init", bundle, "-o", weights)
    assert not weights.exists()
    run(BIN / "tsr", "init", bundle, "--skip-missing", "-o", weights)
    message = refuse(BIN / "tsr", "bench", bundle, "f", "--dim", "B=2", "--dim", "B=3")
    assert "given twice" in message


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_sources(folder)
        check_large_source(folder)
        check_command_line(folder)
        check_own_bundle(folder)
        check_large_header(folder)
        check_run(folder)
        check_commands(folder)


if __name__ == "__main__":
    main()
