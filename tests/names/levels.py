"""The levels of IR, and what to look for in each."""
import ast

from card import front_end
from programs import (BIN, CPU, GPU, ROOT, both, bundle, call, close, dump, graphs, has, page, random, refuses, run,
                      seeds, shows, source, tesserac, tsr, warnings)

EFFECTS = """\
@jit
def f(x: Tensor[B, D, bf16]) -> Tensor[B, D, bf16] !{rng}:
    return x + normal(0.1, shape=x.shape, dtype=bf16)
"""
READ_ONLY = """\
@kernel.schedule(Schedule(BM=32))
def stores(x: Region[read] Tensor[M, N, f32], y: Region[write] Tensor[M, N, f32]):
    t = tile.context(m=M, n=N)
    tile.store(tile.load(x, (t.i, t.j), (t.m, t.n)), x)
"""
MISMATCH = "@jit\ndef f(x: Tensor[B, 8, f32], y: Tensor[B, 9, f32]):\n    return x + y\n"
TYPES = "@jit\ndef f(x: Tensor[B, f32], y: Tensor[B, i32]):\n    return x + y\n"
MATMUL = source("matmul.tsr").read_text()
SCHEDULE = "stages=3, warps=4"


def python():
    """The source is Python to a parser of Python."""
    ast.parse(MATMUL)
    has(dump("matmul.tsr", "graph", CPU), r"gir\.kernel_call")


def stages():
    """Each stage hands on IR that the verifier takes."""
    tesserac("linear.tsr", f"--target={GPU}", "--verify-each", "-o", "/dev/null", "--dump=target")
    for level in ("Graph", "Schedule", "Tile", "Target"):
        page("docs/architecture.md", f"{level} IR")()


def hooks():
    shown = tesserac("linear.tsr", f"--target={CPU}", "--dump=graph", "-o", "/dev/null", "--print-before=canonicalize",
                     "--print-after=canonicalize")[1]
    has(shown, r"// before canonicalize", r"gir\.gemm", r"// after canonicalize", r"gir\.gemm")


def f8():
    """Factors that f8 has give the numbers of f32; on GPUs tensor cores multiply them."""
    x, w = (random(*shape).round() for shape in ((5, 256), (256, 64)))
    got = call("f8.tsr", "narrowed", x=x, w=w)
    close(got, x @ w, 2**-8)
    has(dump("f8.tsr", "ptx"), r"wgmma\.mma_async.*\.f32\.e4m3\.e4m3")


def privilege():
    x, sums = random(40, 9), random(9)
    got = call("counted.tsr", "f", x=x, sums=sums)
    close(got["y"], 2 * x)
    close(got["s"], sums + x.sum(axis=0), 1e-4)


def layouts():
    """A layout shows where the elements of a row lie: its swizzle spreads a column over the banks."""
    rows = run(BIN / "tessera-opt", "--show-layout=#shared<128 x 64, bytes = 2, swizzle = 128>").splitlines()[2:6]
    banks = [int(row.split()[1]) % 128 for row in rows]
    assert len(set(banks)) == 4, rows


def fixes():
    """Of the three, the number of stages changes what is compiled; the keys of the others are warned about."""
    two, four = (dump(MATMUL.replace("stages=3", f"stages={count}"), "tile") for count in (2, 4))
    has(two, r"view<2 x 64 x 32, bf16, .*tile\.alloc_shared")
    has(four, r"view<4 x 64 x 32, bf16, .*tile\.alloc_shared")
    shown = warnings(MATMUL.replace(SCHEDULE, SCHEDULE + ', swizzle="xor", vector=4'), GPU)
    has(shown, r"'swizzle'.*\[schedule-no-effect\]")
    has(shown, r"'vector'.*\[schedule-no-effect\]")


def schedule():
    """A decorator's schedule takes the place of the table's."""
    has(dump(MATMUL.replace(SCHEDULE, "stages=2, warps=8"), "sched"), r"stages = 2, warps = 8")


def lines_up():
    for file in ("docs/kernels.md", "docs/diagnostics.md", "docs/errors/README.md"):
        assert (ROOT / file).is_file(), file
    page("docs/kernels.md", "tile.dot(")()


PROGRAMS = {
    "responsibilities, contracts, and hand-offs at each stage": stages,
    "Pythonic Tessera": python,
    "Lexer → Preprocessor → Parser → Semantic Analyzer": front_end,
    "typed, effect-aware, privileges": both(
        shows(EFFECTS, "graph", r"tensor<B x D, bf16>", r'effects = \["rng"\]', target=CPU),
        refuses(READ_ONLY, r"\[wrong-kind\]")),
    "fusion, tiling, pipelining": shows("linear.tsr", "sched", r"epilogue = \[\"add\", \"gelu\"", r"sched\.tile",
                                        r"sched\.pipeline"),
    "explicit tiles, memory ops, mma, barriers, async pipelines": shows(
        "linear.tsr", "tile", r"tile\.alloc_shared", r"tile\.barrier_wait", r"tile\.copy_async", r"tile\.mma "),
    "PTX": shows("linear.tsr", "ptx", r"\.target sm_90a"),
    "LLVM/ROCm": shows("linear.tsr", "llvm", r"define .*@", target=CPU),
    "CUDA Graphs": graphs,
    "AOT bundles": lambda: has(tsr("verify", bundle("linear.tsr")), "sound"),
    "Example GEMM, Diagnostics, Milestones": lines_up,
    "inspection hooks": hooks,
    "shape mismatches, type errors, privilege conflicts": both(
        refuses(MISMATCH, r"\[shape-mismatch\]"), refuses(TYPES, r"\[mixed-dtypes\]"),
        refuses(READ_ONLY, r"\[wrong-kind\]")),
    'my_fn.inspect_ir("graph")': seeds("15"),
    "gir.gemm": shows("linear.tsr", "graph", r"= gir\.gemm %x, %w \{accum = f32\}", target=CPU),
    "types with dtype/policies": shows(
        "@jit\ndef f(x: Tensor[B, 8, bf16 @stochastic_round]):\n    return x * 2.0\n", "graph",
        r"tensor<B x 8, bf16[^>]*>", target=CPU),
    "Region[reduce_sum]": privilege,
    'my_fn.inspect_ir("sched")': shows("linear.tsr", "sched", r"sched\.kernel @linear"),
    "sched.tile": shows("linear.tsr", "sched", r"sched\.tile \{axes = "),
    "sched.pipeline": shows("linear.tsr", "sched", r"sched\.pipeline .*stages = 4"),
    "block/warp sizes": shows("matmul.tsr", "sched", r"block = \{k = 32, m = 64, n = 64\}, .*warps = 4"),
    "override with @kernel.schedule": schedule,
    "bank conflicts, memory stalls": both(layouts, shows("linear.tsr", "pipeline", r"bound by", r"latency +occupies")),
    'my_fn.inspect_ir("tile")': shows("linear.tsr", "tile", r"tile\.kernel @linear"),
    "tile.load": shows("linear.tsr", "tile", r"= tile\.load %bias"),
    "tile.cp_async": shows("linear.tsr", "tile", r"tile\.copy_async %a"),
    "tile.mma": shows("linear.tsr", "tile", r"= tile\.mma "),
    "tile.barrier": shows("linear.tsr", "tile", r"^ +tile\.barrier\b"),
    "swizzle shared memory layout, reduce vector width, adjust pipeline stages": fixes,
    'my_fn.inspect_ir("target")': shows("linear.tsr", "target,ptx", r"target\.func @linear", r"\.visible \.entry"),
    "@accum(fp32)": shows(
        "@jit\ndef f(x: Tensor[M, 64, bf16 @accum(fp32)], w: Tensor[64, 8, bf16]) -> Tensor[M, 8, bf16]:\n"
        "    return x @ w\n", "graph", r"gir\.gemm %x, %w \{accum = f32\}", r"gir\.cast", target=CPU),
    "FP8 GEMM": f8,
    "cp.async pipeline is generated": shows("linear.tsr", "ptx", r"cp\.async\.cg", r"cp\.async\.commit_group",
                                            r"cp\.async\.wait_group", target="cuda:sm_80"),
    "FP8 ops accumulate in FP32 PTX": shows("f8.tsr", "ptx", r"wgmma\.mma_async.*\.f32\.e4m3\.e4m3", r"add\.rn\.f32"),
    "confirm WGMMA ops": shows("linear.tsr", "ptx", r"wgmma\.mma_async\.sync\.aligned\.m64n\d+k16\.f32\.bf16\.bf16"),
    "inspect_ir(stage)": seeds("15"),
}
