"""From source to kernel: an overview."""
import json
import re
import subprocess
import zipfile

from programs import (BIN, CPU, GPU, bf16, both, bundle, call, close, dump, has, np, page, random, refusal, refuses,
                      run, scratch, seeds, shows, source, tsr, warnings)

SCHEDULE = "Schedule(BM=64, BN=64, BK=32, stages=3, warps=4)"


def keys_of_a_schedule():
    """Those that a kernel is given are those that it is compiled with."""
    text = source("matmul.tsr").read_text().replace(SCHEDULE, SCHEDULE.replace(")", ', swizzle="xor")'))
    has(dump(text, "sched"), r"block = \{k = 32, m = 64, n = 64\}", r"stages = 3", r'swizzle = "xor"')
    has(warnings(text, GPU), r"'swizzle'.* \[schedule-no-effect\]")


def by_hand():
    a, b = random(70, 40), random(40, 33)
    close(call("by_hand.tsr", "f", a=a, b=b), a @ b)
    has(dump("by_hand.tsr", "tile"), r"tile\.alloc_shared", r"tile\.copy_async|tile\.store", r"tile\.barrier")


def race():
    """A barrier that is not there is found at compile time."""
    text = source("by_hand.tsr").read_text()
    text = text.replace("        tile.barrier()\n    tile.wait()", "    tile.wait()")
    has(refusal(text, GPU), r"\[unordered-access\]")


MISMATCH = """\
def joined(x: Tensor[B, D, f32], y: Tensor[B, D, f32]):
    return x + y

@jit
def f(x: Tensor[B, 8, f32], y: Tensor[B, 9, f32]):
    return joined(x, y)
"""
POLICY = """\
@jit
def f(x: Tensor[M, 64, bf16 @accum(f32)], w: Tensor[64, 32, bf16]) -> Tensor[M, 32, bf16]:
    return x @ w
"""
MASKED = """\
@kernel.schedule(Schedule(BM=8, BN=16))
def sums(x: Tensor[M, N, f32]) -> Tensor[M, f32]:
    t = tile.context(m=M, n=N)
    s = tile.zeros((t.m,), f32)
    for n in tile.range(N, t.n):
        s = s + tile.sum(tile.exp(tile.load(x, (t.i, n), (t.m, t.n))), axis=1)
    return s

@jit
def f(x: Tensor[M, N, f32]):
    return sums(x)
"""
TWICE = """\
@jit
def f(x: Tensor[N, f32]):
    return (x + 0.5) * (x + 0.5) * 1.0
"""


def masks():
    """Elements past the edge would each add exp(0) to a sum."""
    x = random(5, 21)
    close(call(MASKED, "f", x=x), np.exp(x).sum(axis=1))
    has(dump(MASKED, "tile"), r"tile\.reduce %\w+, \[%\w+\]")  # with a limit


def canonical():
    """What is written twice is computed once, and `* 1.0` is gone."""
    text = dump(TWICE, "graph", CPU)
    assert len(re.findall(r"gir\.add", text)) == 1 and len(re.findall(r"gir\.mul", text)) == 1, text


def reflection():
    kernel = json.loads(tsr("inspect", "--json", bundle("linear.tsr", GPU)))["reflection"]["kernels"][GPU][0]
    assert {"buffers", "dims", "features", "resources", "launch"} <= kernel.keys(), kernel.keys()
    assert {"regs_per_thread", "smem_per_cta"} <= kernel["resources"].keys(), kernel["resources"]
    assert kernel["buffers"][0]["shape"] == ["M", "256"], kernel["buffers"]


def elf():
    with zipfile.ZipFile(bundle("linear.tsr", CPU)) as archive:
        assert archive.read("kernels/cpu-x86-64-v3/kernels.so")[:4] == b"\x7fELF"


def cubin():
    """`ptxas` makes machine code for the bundle; where there is none that is refused."""
    image = scratch(".bundle")
    command = [BIN / "tesserac", source("add_one.tsr"), f"--target={GPU}", "--cubin", "-o", image]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        has(result.stderr, r"ptxas")
    else:
        with zipfile.ZipFile(image) as archive:
            assert archive.read("kernels/cuda-sm_90a/kernels.cubin")[:4] == b"\x7fELF"


def bench():
    shown = json.loads(tsr("bench", bundle(TWICE), "--dims", "N=64", "--runs", "5", "--json"))
    assert {"median_s", "min_s", "p95_s"} <= shown["entries"][0].keys(), shown


def attention():
    q, k, v = (bf16.to_bf16(random(1, 4, 40, 64) + i) for i in range(3))
    bias = bf16.to_bf16(random(40))
    got = call("attention.tsr", "attention", half=True, q=q, k=k, v=v, bias=bias)
    scores = q.astype(float) @ np.swapaxes(k, -1, -2) / 8 + bias
    scores = np.where(np.tril(np.ones((40, 40), bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    y = weights / weights.sum(-1, keepdims=True) @ v
    close(got, y / (1 + np.exp(-y)), 2e-2)
    has(dump("attention.tsr", "sched"), r"sched\.kernel @attention\.\d+.*epilogue = \[.*\"silu\"")


ONE_KERNEL = r"sched\.kernel @linear.*epilogue = \[\"add\", \"gelu\", \"mul\", \"cast\"\]"

def mapping():
    """What the page says that Triton's `dot` and `cp.async` become is in the dumps."""
    page("docs/migration/triton.md", "| `dot` | `tile.dot` | `tile.mma` | `nv.wgmma`", "| `cp.async` |")()
    shows("matmul.tsr", "tile,target", r"tile\.copy_async", r"tile\.mma", r"nv\.wgmma")()


PROGRAMS = {
    "Tessera DSL / Python API kernels": shows("matmul.tsr", "graph", r"gir\.kernel_call", target=CPU),
    "explicit memory ops": by_hand,
    "shape correctness": refuses(MISMATCH, r"\[shape-mismatch\]"),
    "dtype policies": shows(POLICY, "graph", r"gir\.gemm %x, %w \{accum = f32\}", r"gir\.cast", target=CPU),
    "safety (barriers, masks)": both(race, masks),
    "TIR-H": shows("linear.tsr", "tirh", r"level\(graph\)", r"level\(schedule\)"),
    "Normalizes loops": canonical,
    "propagates masks": both(masks, lambda: has(run(BIN / "tessera-opt", "--list-passes"), r"^propagate_masks ")),
    "desugars epilogues": shows("linear.tsr", "sched", r"sched\.dot", r"sched\.gelu", r"sched\.store"),
    "BM, BN, BK, stages, swizzle": keys_of_a_schedule,
    "scheduled **TIR-H**": shows("linear.tsr", "sched", r"schedule = \{block = "),
    "TIR-T": shows("linear.tsr", "tirt", r"level\(tile\)", r"level\(target\)"),
    "TMA descriptors": shows("linear.tsr", "ptx", r"\.param \.align 64 \.b8 .*\[128\]", r"cp\.async\.bulk\.tensor"),
    "mbarrier ops": shows("linear.tsr", "ptx", r"mbarrier\.init", r"mbarrier\.arrive\.expect_tx"),
    "Lane→fragment maps for WGMMA": both(
        shows("linear.tsr", "tile", r"#wgmma<acc"),
        lambda: has(run(BIN / "tessera-opt", "--show-layout=#wgmma<acc, 64 x 32, warps = 4>"), r"\d")),
    "Epilogues into fused tensor ops": shows("linear.tsr", "sched", ONE_KERNEL),
    "TIR-T → NVVM/TileIR → PTX → cubin": shows("linear.tsr", "tirt,ptx", r"level\(target\)", r"\.target sm_90a"),
    "TIR-T → LLVM IR with AMX/VNNI intrinsics": shows("linear.tsr", "llvm", r"@llvm\.x86\.tdpbf16ps",
                                                     target="cpu:x86-64-v4-amx"),
    "cubin/ELF/shared lib": elf,
    "reflection JSON (shapes, regs, smem, features)": reflection,
    "descriptors, mbarriers, streams, launches grid/block": shows(
        "linear.tsr", "ptx", r"\.param \.align 64", r"\.maxntid \d+, 1, 1", r"mbarrier\.init"),
    "Collects metrics & profiles": bench,
    'tessera.compile(kernel, dump=["tirh","tirt","ptx","cubin"])': seeds("14"),
    '"tirh","tirt","ptx","cubin"': seeds("14"),
    "FlashAttention (bf16→fp32 with bias+SiLU)": attention,
    "double-buffered TMA loads, WGMMA, fused epilogue": both(
        shows("linear.tsr", "ptx", r"cp\.async\.bulk\.tensor", r"wgmma\.mma_async"),
        shows("linear.tsr", "sched", ONE_KERNEL, r"stages = 4")),
    "normalized loops, annotated tunables": shows("linear.tsr", "sched", r"schedule = \{block = .*stages = 4",
                                                  r"sched\.pipeline .*count = 4"),
    "autotuned BM/BN/BK, swizzle": shows("linear.tsr", "sched", r"block = \{k = 64, m = 128, n = 256\}"),
    "explicit descriptors & fragment maps": shows("linear.tsr", "tile", r"#shared<.*swizzle = 128>", r"#wgmma<acc"),
    "cp.async + wgmma ops, epilogue math": shows("linear.tsr", "ptx", r"cp\.async\.bulk\.tensor", r"wgmma\.mma_async",
                                                 r"ex2\.approx"),
    "Cubin: final binary": cubin,
    "configured launch with reflection metadata": lambda: has(
        tsr("inspect", "--yaml", bundle("linear.tsr", GPU)), r"launch: \{grid: \[.*\], block: \[\d+, 1, 1\]"),
    "tessera_tile.gemm": shows("linear.tsr", "tile", r"tile\.mma "),
    "tessera_target.memcpy": shows("linear.tsr", "target", r"nv\.tma_load"),
    "tessera_target.mbarrier": shows("linear.tsr", "target", r"nv\.mbarrier_init", r"nv\.mbarrier_wait"),
    "tessera_target.tensor_core": shows("linear.tsr", "target", r"nv\.wgmma"),
    "Mapping (Triton vs Tessera)": mapping,
}
