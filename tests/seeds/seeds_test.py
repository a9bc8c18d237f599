#!/usr/bin/env python3
"""The founding examples, compiled: each text of this folder, with the replacements that NN.json lists, between
NN.prelude.tsr, which declares what it names, and NN.postlude.tsr, which makes use of it.

Usage: seeds_test.py BUILD_DIR
"""
import hashlib
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "examples"))
import bf16  # noqa: E402
import safetensors_io  # noqa: E402

NOT_PROGRAMS = ("09", "14", "15")  # notation, and calls of a library, whose form now is a command line
BIN = pathlib.Path(sys.argv[1]).resolve() / "bin"


def run(*command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert result.returncode == 0, f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}"
    return result.stdout


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
    text = "" if number in NOT_PROGRAMS else original(number)
    for change in json.loads((HERE / f"{number}.json").read_text()):
        count = text.count(change["from"])
        assert count == 1, f"{number}: {change['from']!r} occurs {count} times"
        text = text.replace(change["from"], change["to"])
    parts = [HERE / f"{number}.{part}.tsr" for part in ("prelude", "postlude")]
    before, after = [part.read_text() if part.exists() else "" for part in parts]
    return before + text + after


class Seed:
    """One program in a folder of its own."""

    def __init__(self, number, folder):
        self.source = folder / f"seed{number}.tsr"
        self.source.write_text(program(number))
        self.bundle = folder / f"seed{number}.bundle"
        self.folder = folder

    def compile(self, target="cpu:x86-64-v3"):
        run(BIN / "tesserac", self.source, f"--target={target}", "-o", self.bundle)

    def dump(self, stage, target):
        return run(BIN / "tesserac", self.source, f"--target={target}", f"--dump={stage}", "-o", "-")

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


def attention(q, k, v, length=None):
    """In float64; causal where `length` says how many keys there are, at the end of which the rows stand."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if length is not None:
        place = np.arange(q.shape[2])[:, None] + length - q.shape[2]
        scores = np.where(np.arange(k.shape[2])[None, :] <= place, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v


def seed_01(seed):
    seed.compile()
    q, k, v = (bf16.to_bf16(random(2, 3, 50 + i, 64)[:, :, :50]) for i in range(3))
    close(seed.call("flash_attention", "flash_attention", half=True, Q=q, K=k, V=v), attention(q, k, v, 50), 1.6e-2)


def block(x, heads, weights):
    """What example 02 computes with an empty cache and without dropout, in float64."""
    def norm(v):
        return v / np.sqrt((v * v).mean(axis=-1, keepdims=True) + 1e-6)

    def gelu(v):
        return 0.5 * v * (1 + np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v**3)))

    x = norm(x.astype(np.float64))
    batch, rows, width = x.shape
    parts = np.split(x @ weights["Wqkv"], 3, axis=-1)
    q, k, v = (part.reshape(batch, rows, heads, -1).transpose(0, 2, 1, 3) for part in parts)
    y = attention(q, k, v, rows).transpose(0, 2, 1, 3).reshape(batch, rows, width)
    y = x + y @ weights["Wo"]
    return y + gelu(norm(y) @ weights["Wmlp_in"]) @ weights["Wmlp_out"]


def seed_02(seed):
    """With the kernel of example 03; the block is compiled where `step` says how large the cache is."""
    (seed.folder / "seed03.tsr").write_text(original("03"))
    seed.compile()
    params = seed.initial()
    x = bf16.to_bf16(random(2, 20, 128))
    held = {f"cache.{part}": np.zeros((2, 2, 96, 64), np.float32) for part in "KV"}
    held["cache.length"] = np.array(0)
    got = seed.call("step", "step.0", params=params, half=True, x=x, **held)
    close(got, block(x, 2, safetensors_io.load(params)), 2e-2)
    length = seed.call("step", "cache.length", params=params, half=True, x=x, **held)
    assert length == 20, f"length {length}"


def seed_03(seed):
    """With a cache of 96 positions that holds 70, of which the last 20 are the rows."""
    seed.compile()
    q, keys, values = (bf16.to_bf16(random(2, 3, n, 64)) for n in (20, 96, 96))
    got = seed.call("attend", "attend", half=True, q=q, keys=keys, values=values, held=np.array(70))
    close(got, attention(q, keys, values, 70), 1.6e-2)


def seed_04(seed):
    seed.compile()
    q, k = bf16.to_bf16(random(33, 64)), bf16.to_bf16(random(70, 64))
    close(seed.call("scores", "scores", half=True, q=q, k=k), q.astype(np.float64) @ k.T.astype(np.float64) / 8, 2e-2)
    shown = run(BIN / "tsr", "inspect", seed.bundle)
    assert "promises attention_score stable within [-100, 100]" in shown, shown


def seed_06(seed):
    """The kernels of the library, as they are and under another schedule."""
    seed.compile()
    q, k, v = (random(2, 2, 40 + i, 64)[:, :, :40] for i in range(3))
    inputs = {"q": q, "k": k, "v": v, "scale": random(64), "bias": random(64)}
    for output in ("custom", "own"):
        close(seed.call("attend", output, **inputs), attention(q, k, v))


def seed_05(seed):
    seed.compile()
    a, b = random(70, 64), random(64, 48)
    close(seed.call("products", "products", a=a, b=b), 2 * (a @ b))
    dump = seed.dump("sched", "cuda:sm_90a")
    small, limited = schedule_of(dump, "small_product"), schedule_of(dump, "limited_product")
    assert "warps = 8" in small and "stages = 3" in small, small
    assert "warps = 4" in limited and "stages = 3" in limited, limited
    assert "m = 64" in small and "m = 128" in limited, f"{small}\n{limited}"


def seed_07(seed):
    seed.compile()
    header = schedule_of(seed.dump("sched", "cuda:sm_90a"), "product")
    assert "warps = 8" in header and "stages = 3" in header, header
    assert 'swizzle = "xor"' in header and "vector = 8" in header, header


def seed_08(seed):
    seed.compile()
    header = schedule_of(seed.dump("sched", "cuda:sm_90a"), "product")
    assert "warps = 4" in header and "stages = 2" in header, header


def seed_09(seed):
    """Notation of types, one program for each case it names."""
    text = original("09")

    def graph(signature, body="return x", head=""):
        seed.source.write_text(f"{head}\n@jit\ndef f({signature}):\n    {body}\n")
        return seed.dump("graph", "cpu:x86-64-v3")

    policies = re.findall(r"@(\w+)(\(.*?\))?", text.split("Supported")[0])[1:]
    assert [name for name, _ in policies] == ["accum", "stochastic_round", "loss_scale", "saturate"], policies
    for dtype in ("f32", "bf16"):
        graph(f"x: Tensor[B, D, bf16 @accum({dtype})]")
    graph("x: Tensor[B, D, bf16 @stochastic_round]")
    graph("x: Tensor[B, D, fp8(e4m3) @saturate]")
    for dtype in ("fp32", "tf32", "bf16", "fp16", "fp8(e4m3)", "fp8(e5m2)", "int8", "int4"):
        assert dtype.split("(")[0].rstrip("48") in text, dtype
        graph(f"x: Tensor[B, D, {dtype}]")
    graph("x: Tensor[B, D, f32], w: Tensor[D, F, int8], scale: Tensor[F, f32]", "return matmul_weights(x, w, scale)",
          "from tessera.nn import matmul_weights")
    for primitive in re.findall(r"\w+_safe", text):
        graph("x: Tensor[B, D, bf16]", f"return {primitive}(x)", f"from tessera.nn import {primitive}")
    product = graph("x: Tensor[B, 64, fp8(e4m3)], w: Tensor[64, F, fp8(e4m3)]",
                    "y: Tensor[B, F, bf16] = x @ w\n    return y")
    assert "gir.gemm %x, %w {accum = f32}" in product and "gir.cast" in product, product


def seed_11(seed):
    seed.compile()
    x = random(5, 64)
    close(seed.call("placed", "y", obj=x), (x + 1) * 2)
    hints = run(BIN / "tsr", "inspect", seed.bundle, "--ir", "graph")
    assert '{into = "smem", kind = "prefetch", of = "obj", overlap = "compute"}' in hints, hints
    assert '{device = "gpu[0]", kind = "device"}' in hints, hints


def seed_13(seed):
    seed.compile()
    x, weights = random(5, 12), random(12, 8)
    params = seed.folder / "params.safetensors"
    save(params, "W", weights)
    close(seed.call("sharded", "y", params=params, x=x), x @ weights)


def seed_14(seed):
    """tessera.compile(kernel, dump=[…]) is `--dump=` of the same stages."""
    stages = re.findall(r'"(\w+)"', original("14"))
    assert stages == ["tirh", "tirt", "ptx", "cubin"], stages
    if shutil.which("ptxas") is None:
        stages.remove("cubin")
    dump = seed.dump(",".join(stages), "cuda:sm_90a")
    for part in ("sched.kernel @kernel", "tile.kernel @kernel", ".visible .entry kernel"):
        assert part in dump, f"no {part} in\n{dump[:2000]}"


def seed_15(seed):
    """my_fn.inspect_ir("graph") is `tsr inspect --ir graph --fn my_fn`."""
    function, stage = re.fullmatch(r'\s*(\w+)\.inspect_ir\("(\w+)"\)\s*', original("15")).groups()
    seed.compile()
    shown = run(BIN / "tsr", "inspect", seed.bundle, "--ir", stage, "--fn", function)
    assert shown.startswith(f"gir.func @{function}(") and "gir.gemm" in shown, shown


def main():
    failed = []
    for path in sorted(HERE.glob("[0-9][0-9].json")):
        number = path.stem
        with tempfile.TemporaryDirectory() as folder:
            try:
                globals()[f"seed_{number}"](Seed(number, pathlib.Path(folder)))
            except AssertionError as error:
                failed.append(number)
                print(f"seed {number}: {error}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
