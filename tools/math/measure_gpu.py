#!/usr/bin/env python3
"""Errors of the functions of f32 on a GPU, over all 2^32 arguments, in units of the last place.

Usage: tools/math/measure_gpu.py BUILD_DIR [function...]

Needs the tools in BUILD_DIR/bin, a GPU of the target, CuPy and PyTorch. Prints the largest error of each function,
where it is, and how many results have the wrong sign of zero or are NaN where they must not be (or the reverse).
docs/numerics.md has the bounds. """
import math
import pathlib
import subprocess
import sys
import tempfile

TARGET = "cuda:sm_90a"
STEP = 1 << 26
KERNEL = """module @m level(target) version(1) {properties = [], target = "%s"} {
  target.func @k(%%x: ptr, %%y: ptr) {dims = [], grid = [1], outputs = 1, params = [!tensor<4, f32>, !tensor<4, f32>], \
schedule = {}, scratch = 0, threads = 256} {
    %%thread: i32 = nv.thread_id
    %%block: i32 = nv.cta_id
    %%threads: i32 = target.constant {value = 256}
    %%first: i32 = target.mul %%block, %%threads
    %%index: i32 = target.add %%first, %%thread
    %%four: i64 = target.constant {value = 4}
    %%wide: i64 = target.cast %%index
    %%bytes: i64 = target.mul %%wide, %%four
    %%from: ptr = target.offset %%x, %%bytes
    %%to: ptr = target.offset %%y, %%bytes
    %%a: f32 = target.load %%from
    %%r: f32 = target.%s %%a
    target.store %%r, %%to
    target.return
  }
}
"""


def references(torch):
    """The functions on doubles. Those that decay take e to what is not positive, so that nothing overflows."""
    def logistic(x, y, numerator):
        decay = torch.exp(-y.abs())
        return torch.where(x < 0, numerator.clamp(-1e6, None) * decay, numerator) / (1 + decay)

    def gelu(x):
        inner = x.clamp(-1e6, 1e6)
        return logistic(x, 2 * math.sqrt(2 / math.pi) * (inner + 0.044715 * inner ** 3), x)

    return {"exp": torch.exp, "exp2": torch.exp2, "expm1": torch.expm1, "log": torch.log, "log2": torch.log2,
            "log1p": torch.log1p, "tanh": torch.tanh, "erf": torch.erf, "erfinv": torch.erfinv,
            "gelu": gelu,
            "sigmoid": lambda x: logistic(x, x, torch.ones_like(x)), "silu": lambda x: logistic(x, x, x)}


def ptx_of(build, function):
    with tempfile.TemporaryDirectory() as folder:
        source, legal, ptx = (pathlib.Path(folder) / name for name in ("k.tir", "legal.tir", "k.ptx"))
        source.write_text(KERNEL % (TARGET, function))
        subprocess.run([build / "bin/tessera-opt", source, "--target=" + TARGET,
                        "--passes=expand_math,legalize_casts", "-o", legal], check=True)
        subprocess.run([build / "bin/tesserac", legal, "--target=" + TARGET, "--dump=ptx", "-o", ptx], check=True)
        return ptx.read_text()


def measure(cupy, torch, ptx, reference):
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(ptx)
        file.flush()
        kernel = cupy.RawModule(path=file.name).get_function("k")
    worst, place, wrong = 0.0, None, 0
    out = torch.empty(STEP, dtype=torch.float32, device="cuda")
    limit = torch.tensor(2.0 ** 128, dtype=torch.float64, device="cuda")
    for chunk in range((1 << 32) // STEP):
        bits = torch.arange(chunk * STEP, (chunk + 1) * STEP, dtype=torch.int64, device="cuda")
        x = bits.to(torch.int32).view(torch.float32)
        torch.cuda.synchronize()
        kernel((STEP // 256,), (256,), (x.data_ptr(), out.data_ptr()))
        cupy.cuda.Device().synchronize()
        exact = reference(x.double())
        _, exponent = torch.frexp(exact.abs().clamp(2.0 ** -126, 2.0 ** 127))
        ulp = torch.ldexp(torch.ones_like(exact), (exponent - 24).clamp(-149, 104))
        # What overflows counts as 2^128, the first number that has no f32.
        wanted = torch.where(torch.isinf(exact.float()), torch.copysign(limit, exact), exact)
        found = torch.where(torch.isinf(out), torch.copysign(limit, out.double()), out.double())
        nan = torch.isnan(exact)
        error = torch.where(nan, torch.zeros_like(exact), (found - wanted).abs() / ulp)
        zeros = (exact == 0) & (out == 0) & (torch.signbit(exact) != torch.signbit(out))
        wrong += int((nan != torch.isnan(out)).sum()) + int(zeros.sum())
        value, index = error.max(0)
        if value.item() > worst:
            worst, place = value.item(), x[index].item()
    return worst, place, wrong


def main():
    import cupy
    import torch
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    known = references(torch)
    for name in sys.argv[2:] or known:
        worst, place, wrong = measure(cupy, torch, ptx_of(pathlib.Path(sys.argv[1]), name), known[name])
        print(f"{name:8} {worst:.3f} ulp at {place!r}, {wrong} wrong", flush=True)


if __name__ == "__main__":
    main()
