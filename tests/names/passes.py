"""Compiler passes, with an attention kernel worked through."""
import functools
import os
import re
import subprocess

import language
from founding import program
from programs import (BIN, BUILD, CPU, GPU, bf16, both, bundle, call, close, dump, has, lacks, np, random, refuse,
                      refuses, run, scratch, seeds, shows, tesserac, tsr)

ROWS = "@jit\ndef f(x: Tensor[M, 512, f32]):\n    return softmax(x)\n"
TWICE = "@jit\ndef f(x: Tensor[N, f32]):\n    return (x + 0.5) * (x + 0.5) * 1.0\n"
RANDOM = "@jit\ndef f(x: Tensor[N, f32]):\n    return x + uniform(0.0, 1.0, shape=x.shape, dtype=f32)\n"
DERIVED = """\
def f(x, y):
    return sum(sin(x) * y)

@jit
def backward(x: Tensor[N, f32], y: Tensor[N, f32]):
    return grad(f)(x, y)

@jit
def forward(x: Tensor[N, f32], y: Tensor[N, f32]):
    return jvp(f, (x, y), (y, None))[1]
"""
INFERRED = """\
def joined(x, y):
    return concat((x, y), axis=0)

@jit
def f(x: Tensor[M, 8, bf16], y: Tensor[N, 8, bf16]):
    return joined(x, y)
"""
BLOCKS = """\
@jit
def f(x: Tensor[M, 64, f32], w: Tensor[64, 64, f32]):
    return softmax(softmax(x @ w) @ w)
"""
TOO_LARGE = """\
@kernel.schedule(Schedule(BM=256, BN=256, BK=32, warps=4))
def matmul_tiles(a: Tensor[M, K, f32], b: Tensor[K, N, f32]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N, k=K)
    acc = tile.zeros((t.m, t.n), f32)
    for k in tile.range(K, t.k):
        acc = tile.dot(tile.load(a, (t.i, k), (t.m, t.k)), tile.load(b, (k, t.j), (t.k, t.n)), acc)
    return acc

@jit
def f(a: Tensor[M, K, f32], b: Tensor[K, N, f32]):
    return matmul_tiles(a, b)
"""
PHASES = ["TypeInferencePass", "AutodiffPass", "AlgebraicSimplificationPass", "FusionAnalysisPass",
          "LowerToScheduleIRPass", "TilingPass{tile_sizes=[128, 128]}", "MemoryPlacementPass",
          "PipelineGenerationPass{stages=3}", "LowerToTileIRPass", "SharedMemoryAllocationPass",
          "IntrinsicLoweringPass", "CollectiveInsertionPass", "LowerToPTXPass"]


@functools.lru_cache(maxsize=None)
def graph(program):
    """Its Graph IR before any pass."""
    path = scratch(".tir")
    shown = tesserac(program, f"--target={CPU}", "--dump=graph", "-o", "/dev/null", "--print-before=canonicalize")[1]
    path.write_text(shown[shown.index("module @"):])
    return path


@functools.lru_cache(maxsize=None)
def after(program, *passes, target=GPU, entry=""):
    """What passes make of a program's graph."""
    command = [BIN / "tessera-opt", graph(program), f"--passes={','.join(passes)}", f"--target={target}",
               "--no-locations"]
    return run(*command, *([f"--entry={entry}"] if entry else []))


def until(last):
    return tuple(PHASES[:[name.split("{")[0] for name in PHASES].index(last) + 1])


def phase(last, *patterns):
    """The phases as far as one of them make IR that has these patterns, and those before it do not."""
    def check():
        names = tuple(name for name in until(last) if not name.startswith("Pipeline"))
        has(after("linear.tsr", *names), *patterns)
        before = after("linear.tsr", *names[:-1])
        assert not re.search(patterns[0], before), f"{patterns[0]} is there before {last}"
    return check


def nothing(name):
    """A phase that is taken behind those before it, and changes nothing."""
    def check():
        before = until(name)[:-1] if name not in PHASES[:2] else ("cse",)
        assert after("linear.tsr", *before, name) == after("linear.tsr", *before), f"{name} changes something"
        done = subprocess.run([BIN / "tessera-opt", graph("linear.tsr"), f"--passes={name}", f"--target={GPU}"],
                              capture_output=True, text=True, check=True)
        has(done.stderr, rf"note: phase '{name}' finds nothing to do \[empty-phase\]")
    return check


def simplified():
    text = after(TWICE, "AlgebraicSimplificationPass")
    assert len(re.findall(r"gir\.add", text)) == 1 and len(re.findall(r"gir\.mul", text)) == 1, text


def fused():
    """Random numbers become arithmetic, which fuses with what uses them: one kernel."""
    has(after(RANDOM, "AlgebraicSimplificationPass"), r"gir\.philox_uniform")
    lacks(after(RANDOM, "AlgebraicSimplificationPass", "FusionAnalysisPass"), r"philox")
    assert len(re.findall(r"sched\.kernel", dump(RANDOM, "sched", CPU))) == 1


def tiles():
    for sizes in ((128, 128), (64, 32)):
        tiling = f"TilingPass{{tile_sizes={list(sizes)}}}"
        text = after("linear.tsr", "FusionAnalysisPass", "LowerToScheduleIRPass", tiling)
        has(text, rf'block = {sizes[0]}, extent = <M>, grid = true, name = "m"',
            rf'block = {sizes[1]}, extent = 512, grid = true, name = "n"')


def placement():
    """A cache that is given up is updated where it lies: the copies of it go."""
    names = ("FusionAnalysisPass", "LowerToScheduleIRPass", "TilingPass")
    has(after("cache.tsr", *names, target=CPU), r"host\.copy %cache\.K")
    lacks(after("cache.tsr", *names, "MemoryPlacementPass", target=CPU), r"host\.copy %cache\.[KV]")


def stages():
    for count in (2, 4):
        names = [name.replace("stages=3", f"stages={count}") for name in until("SharedMemoryAllocationPass")]
        has(after("linear.tsr", *names), rf"view<{count} x 64 x 128, bf16, .*tile\.alloc_shared")


def intervals():
    """Temporaries live for some steps, and share their memory by that."""
    has(tsr("inspect", bundle(BLOCKS), "--ir", "plan"), r"temp %t0: f32\[M, 64\] live\(\d+ \.\. \d+\)")
    has(dump("linear.tsr", "tile"), r"space = shared.* = tile\.alloc_shared \{offset = \d+\}")


def registers():
    """A schedule whose tiles no registers hold is refused with the number that is too many."""
    refuses(TOO_LARGE, r"\[schedule-tiles\]", target=GPU)()


def peephole():
    """Without the pass there are divisions for each element."""
    one, four = (dump(ROWS, "ptx", GPU, *options).count("div.rn.f32")
                 for options in ((), ("--disable-pass=share_reciprocals",)))
    assert one < four, (one, four)


def driver():
    """The driver is a library that is opened at run time; the one of the tests has no kernels."""
    lacks(run("ldd", BIN / "tsr"), r"libcuda")
    x = scratch(".npy")
    np.save(x, random(4))
    image = bundle(ROWS.replace("M, 512", "M"), GPU)
    os.environ["TESSERA_CUDA_DRIVER"] = str(BUILD / "lib/libfake_cuda.so")
    try:
        has(refuse(BIN / "tsr", "run", image, "f", "--device", "cuda:0", "--allow-jit", "--input", f"x={x}"),
            r"cuLaunchKernelEx: error 801")
    finally:
        del os.environ["TESSERA_CUDA_DRIVER"]


def managers():
    """Passes of a level, in an order of one's own, and none of another level."""
    after(TWICE, "cse", "canonicalize", "dce")
    has(refuse(BIN / "tessera-opt", graph(TWICE), "--passes=plan_pipeline", f"--target={GPU}"), r"\[pass-level\]")


def listed(level, *names):
    def check():
        text = run(BIN / "tessera-opt", "--list-passes")
        for name in names:
            has(text, rf"^{name} +{level}")
    return check


def attention(*patterns):
    """The first of the founding examples, as Graph IR."""
    return shows(program("01"), "graph", *patterns, target=CPU)


def online():
    """The third: a running softmax over blocks of keys, of which 70 are there."""
    q, keys, values = (bf16.to_bf16(random(2, 3, n, 64)) for n in (20, 96, 96))
    got = call(program("03"), "attend", half=True, q=q, keys=keys, values=values, held=np.array(70))
    close(got, language.attention(q, keys, values, 70), 1.6e-2)


def derivatives():
    """Of sum(sin(x) * y) by x, and along a direction."""
    x, y = random(5), random(5)
    close(call(DERIVED, "backward", x=x, y=y), np.cos(x) * y, 1e-5)
    close(call(DERIVED, "forward", x=x, y=y), (np.cos(x) * y * y).sum(), 1e-5)


PROGRAMS = {
    "Graph IR (MLIR)": shows("linear.tsr", "graph", r"level\(graph\)", r"gir\.func", target=CPU),
    "autodiff, effects, and algebraic simplification": both(
        derivatives, simplified, shows(RANDOM, "graph", r'effects = \["rng"\]', target=CPU)),
    "Forward/reverse mode differentiation": derivatives,
    "Loop tiling, fusion, memory placement, and parallelization": both(
        shows("linear.tsr", "sched", r'epilogue = \["add", "gelu"', r"grid = true", r"sched\.tile"), intervals),
    "Explicit tile operations, shared memory management, and hardware intrinsics": shows(
        "linear.tsr", "tile,target", r"tile\.alloc_shared", r"tile\.mma", r"nv\.wgmma"),
    "AST Lowering": shows(INFERRED, "graph", r"gir\.concat", r"gir\.return", target=CPU),
    "Type Inference": shows(INFERRED, "graph", r"tensor<\(?M \+ N\)? x 8, bf16> = gir\.concat", target=CPU),
    "Tracks side effects (RNG, state, collectives)": both(
        shows(RANDOM, "graph", r'effects = \["rng"\]', target=CPU),
        lambda: has(tsr("inspect", bundle("cache.tsr")), r"effects state\(cache\)")),
    "symbolic dimensions and mesh layouts": shows(INFERRED, "graph", r"tensor<M x 8, bf16>", target=CPU),
    "Algebraic Simplification": simplified,
    "Fusion Analysis": fused,
    "Loop tiling and blocking strategies": tiles,
    "Assigns tensors to memory hierarchy": intervals,
    "Pipeline Generation": stages,
    "Shared memory allocation and barriers": shows("linear.tsr", "tile", r"tile\.alloc_shared \{offset = \d+\}",
                                                   r"tile\.barrier_wait"),
    "Intrinsic Lowering": both(
        shows("linear.tsr", "target", r"nv\.wgmma"),
        shows("linear.tsr", "target", r"x86\.tile_dot_bf16", target="cpu:x86-64-v4-amx")),
    "Register Allocation": registers,
    "Emits PTX, CUDA Tile IR, or LLVM": both(shows("linear.tsr", "ptx", r"\.visible \.entry"),
                                             shows("linear.tsr", "llvm", r"define .*@", target=CPU)),
    "Target-specific peephole optimizations": peephole,
    "Links with CUDA/HIP/NCCL runtime": driver,
    "@tessera.kernel": attention(r"gir\.func @flash_attention\(%Q"),
    'Tensor["B","H","S","D", bf16]': attention(r"%Q: tensor<B x H x S x D, bf16>"),
    "ops.flash_attention(Q, K, V, causal=True)": attention(r"gir\.flash_attention %Q, %K, %V.*causal = true"),
    "tessera.flash_attention": attention(r"= gir\.flash_attention "),
    "@flash_attention_tiled": shows("attention.tsr", "sched", r"sched\.kernel @attention\.0"),
    "scf.for": both(shows("linear.tsr", "sched", r"sched\.pipeline"), shows("linear.tsr", "tile", r"tile\.for")),
    "memref.subview": shows(BLOCKS, "tile", r"= tile\.view ", target=CPU),
    "tessera.online_softmax": seeds("23"),
    "tessera.alloc_shared": shows("linear.tsr", "tile", r"= tile\.alloc_shared"),
    "tessera.alloc_register": shows("linear.tsr", "tile", r"tile<128 x 256, f32, #wgmma<acc, .*>> = tile\.mma"),
    "tessera.cp_async": shows("linear.tsr", "tile", r"tile\.copy_async %a", target="cuda:sm_80"),
    "tessera.cp_commit": shows("linear.tsr", "tile", r"tile\.copy_commit", target="cuda:sm_80"),
    "tessera.cp_wait": shows("linear.tsr", "tile", r"tile\.copy_wait \{pending = \d\}", target="cuda:sm_80"),
    "tessera.mma": shows("linear.tsr", "tile", r"= tile\.mma "),
    "tessera.online_softmax_update": online,
    "tessera.softmax_normalize": seeds("24"),
    "tessera.accumulate": online,
    "tessera.finalize_softmax": seeds("24"),
    ".target sm_90": shows("linear.tsr", "ptx", r"\.target sm_90a$"),
    "flash_attention_kernel": shows("attention.tsr", "ptx", r"\.visible \.entry attention\$0"),
    ".param .u64 Q_ptr": shows("linear.tsr", "ptx", r"\.param \.u64 linear\$0\w*_param_0,"),
    ".param .u32 head_dim": shows("linear.tsr", "ptx", r"\.param \.u32 linear\$0\w*_param_4"),
    ".shared .align 16 .b8 smem_q[32768]": shows("linear.tsr", "ptx", r"\.extern \.shared \.align \d+ \.b8 \w+\[\];"),
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes": shows(
        "linear.tsr", "ptx",
        r"cp\.async\.bulk\.tensor\.2d\.shared::cluster\.global\.tile\.mbarrier::complete_tx::bytes"),
    "cp.async.commit_group": shows("linear.tsr", "ptx", r"cp\.async\.commit_group;", target="cuda:sm_80"),
    "cp.async.wait_group 0": shows("by_hand.tsr", "ptx", r"cp\.async\.wait_group 0;", target="cuda:sm_80"),
    "wgmma.mma_async.sync.m64n256k32.f32.bf16.bf16": shows(
        "linear.tsr", "ptx", r"wgmma\.mma_async\.sync\.aligned\.m64n256k16\.f32\.bf16\.bf16"),
    "fma.rn.f32": shows("linear.tsr", "ptx", r"fma\.rn\.f32"),
    "cp.async.bulk.tensor.2d.global.shared": shows("linear.tsr", "ptx",
                                                   r"cp\.async\.bulk\.tensor\.2d\.global\.shared::cta"),
    "custom pass managers for each IR level": managers,
    "tessera.PassPipeline([": seeds("16"),
    "tessera.passes.TypeInferencePass()": nothing("TypeInferencePass"),
    "tessera.passes.AutodiffPass()": nothing("AutodiffPass"),
    "tessera.passes.AlgebraicSimplificationPass()": simplified,
    "tessera.passes.FusionAnalysisPass()": fused,
    "tessera.passes.LowerToScheduleIRPass()": phase("LowerToScheduleIRPass", r"sched\.kernel @linear"),
    "tessera.passes.TilingPass(tile_sizes=[128, 128])": tiles,
    "tessera.passes.MemoryPlacementPass()": placement,
    "tessera.passes.PipelineGenerationPass(stages=3)": stages,
    "tessera.passes.LowerToTileIRPass()": phase("LowerToTileIRPass", r"tile\.kernel @linear"),
    "tessera.passes.SharedMemoryAllocationPass()": phase("SharedMemoryAllocationPass",
                                                         r"tile\.alloc_shared \{offset = \d+\}", r"tile\.barrier_wait"),
    "tessera.passes.IntrinsicLoweringPass()": phase("IntrinsicLoweringPass", r"nv\.wgmma"),
    "tessera.passes.CollectiveInsertionPass()": nothing("CollectiveInsertionPass"),
    "tessera.passes.LowerToPTXPass()": phase("LowerToPTXPass", r"\.visible \.entry linear"),
    "Graph IR Passes": listed("graph", "canonicalize", "cse", "dce", "hoist_invariants"),
}
