"""The founding examples as programs, and what their tests share."""
import hashlib
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "examples"))
import bf16  # noqa: E402
import safetensors_io  # noqa: E402, F401 (for the tests)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from usage import build_folder

# Notation, calls of a library whose form now is a command line, and C: what stands around them is compiled.
NOT_PROGRAMS = ("09", "10", "12", "14", "15", "17", "18", "19", "20", "21")
# What the first example becomes on its way to a GPU, and by which passes.
OF_THE_FIRST = ("16", "22", "23", "24", "25")
BUILD = build_folder()
BIN = BUILD / "bin"


def run(*command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert result.returncode == 0, f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}"
    return result.stdout


def refuse(*command):
    """What a command says that must fail."""
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert result.returncode == 1, f"{' '.join(map(str, command))} gave {result.returncode}"
    return result.stderr


def original(number):
    """A text as it was written, which its hash says that it is."""
    for line in (HERE / "INDEX").read_text().splitlines():
        digest, name = line.split()
        if not name.startswith(number):
            continue
        data = (HERE / name).read_bytes()
        assert hashlib.sha256(data).hexdigest() == digest, f"{name} is not what it was"
        return data.decode()
    raise AssertionError(f"no text {number}")


def program(number):
    """The text as a program; one that is none is left out, and only what stands around it is compiled."""
    text = "" if number in NOT_PROGRAMS else original("01" if number in OF_THE_FIRST else number)
    changes = HERE / f"{number}.json"
    for change in json.loads(changes.read_text()) if changes.exists() else []:
        count = text.count(change["from"])
        assert count == 1, f"{number}: {change['from']!r} occurs {count} times"
        text = text.replace(change["from"], change["to"])
    parts = [HERE / f"{number}.{part}.tsr" for part in ("prelude", "postlude")]
    before, after = [part.read_text() if part.exists() else "" for part in parts]
    return before + text + after


class Seed:
    """One program in a folder of its own."""

    def __init__(self, number, folder):
        self.number = number
        self.source = folder / f"seed{number}.tsr"
        self.source.write_text(program(number))
        self.bundle = folder / f"seed{number}.bundle"
        self.folder = folder

    def compile(self, target="cpu:x86-64-v3"):
        run(BIN / "tesserac", self.source, f"--target={target}", "-o", self.bundle)

    def assemble(self):
        """Its kernels for Hopper: their PTX, which ptxas takes where there is one."""
        code = self.dump("ptx", "cuda:sm_90a")
        if shutil.which("ptxas"):
            run(BIN / "tesserac", self.source, "--target=cuda:sm_90a", "--cubin", "-o", self.folder / "cubin.bundle")
        return code

    def dump(self, stage, target):
        return run(BIN / "tesserac", self.source, f"--target={target}", f"--dump={stage}", "-o", "-")

    def after(self, passes, target="cuda:sm_90a"):
        """What some phases of a pipeline make of its graph."""
        graph = self.folder / "graph.tir"
        graph.write_text(self.dump("graph", "cpu:x86-64-v3"))
        return run(BIN / "tessera-opt", graph, f"--target={target}", f"--passes={','.join(passes)}")

    def initial(self):
        """A file of the parameters' initial values."""
        params = self.folder / "params.safetensors"
        run(BIN / "tsr", "init", self.bundle, "--output", params)
        return params

    def call(self, entry, output, params=None, half=False, **inputs):
        """One output of an entry; with `half` the floats are given as bf16."""
        command = [BIN / "tsr", "run", self.bundle, entry]
        for name, value in inputs.items():
            save = bf16.save_bf16 if half and value.dtype == np.float32 else np.save
            save(self.folder / f"{name}.npy", value)
            command += ["--input", f"{name}={self.folder / name}.npy"]
        if params:
            command += ["--params", params]
        run(*command, "--output", f"{output}={self.folder / 'out.npy'}")
        out = np.load(self.folder / "out.npy")
        return bf16.load_bf16(self.folder / "out.npy") if out.dtype.kind == "V" else out


def close(got, wanted, bound=2e-5):
    assert got.shape == wanted.shape, f"shape {got.shape}, not {wanted.shape}"
    error = np.abs(got - wanted).max() / np.abs(wanted).max()
    assert error <= bound, f"relative error {error}"


def random(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def save(path, name, value):
    """A safetensors file of one f32 tensor."""
    entry = {"dtype": "F32", "shape": value.shape, "data_offsets": [0, value.nbytes]}
    header = json.dumps({name: entry}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + value.tobytes())


def schedule_of(dump, kernel):
    """The schedule of what was made of a kernel."""
    header = re.search(rf'sched\.kernel @.* kernel = "{kernel}", .*', dump)
    assert header, f"no kernel {kernel}"
    return re.search(r"schedule = (\{.*\})\} \{", header.group(0)).group(1)
