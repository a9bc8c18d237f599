"""Backend, runtime and ABI."""
import ctypes
import json
import os
import re
import subprocess
import sys
import zipfile
import zlib

import abi
from levels import EFFECTS
from overview import MISMATCH, by_hand, canonical, elf
from passes import BLOCKS, phase, stages
from programs import (BIN, BUILD, CPU, FOLDER, GPU, HERE, both, bundle, call, close, contains, dump, graphs, has, lacks,
                      np, page, random, refuse, refuses, run, scratch, seeds, shows, tesserac, tsr)

SUM = "@jit\ndef f(x: Tensor[N, f32], y: Tensor[N, f32]):\n    return x + y\n"
NOISE = "@jit\ndef f(x: Tensor[N, f32]):\n    return x + uniform(0.0, 1.0, shape=x.shape, dtype=f32)\n"
DROPPED = """\
@jit
def f(q: Tensor[2, 2, S, 64, f32], k: Tensor[2, 2, S, 64, f32], v: Tensor[2, 2, S, 64, f32], p: f32):
    return flash_attention(q, k, v, dropout=0.25)
"""
PURE = "@jit\n@pure\ndef f(x: Tensor[N, f32]):\n    return x + uniform(0.0, 1.0, shape=x.shape, dtype=f32)\n"
GATHER = "@jit\ndef f(table: Tensor[50, 4, f32], ids: Tensor[N, i32]):\n    return embedding(ids, table)\n"
LOOP = """\
@jit
def f(a: Tensor[f32], n: int) -> Tensor[f32]:
    x = a
    for i in range(n):
        x = 0.5 * (x + a / x)
    return x
"""
SCALED = """\
from tessera.nn import quantize, matmul_scaled

@jit
def f(x: Tensor[M, 64, f32], w: Tensor[64, 32, f32]):
    a, scale_a = quantize(x)
    b, scale_b = quantize(w)
    return matmul_scaled(a, b, scale_a, scale_b)
"""
SPACE = """\
@kernel.schedule(Schedule(BM=32, BN=32))
def copied(x: Tensor[M, N, f32]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    memory = tile.alloc((t.m, t.n), f32, space="shared")
    tile.async_copy(x, (t.i, t.j), memory)
    tile.wait()
    tile.barrier()
    return tile.load(memory)

@jit
def f(x: Tensor[M, N, f32]):
    return copied(x)
"""


def npy(value):
    path = scratch(".npy")
    np.save(path, value)
    return path


def given(**inputs):
    return [part for name, value in inputs.items() for part in ("--input", f"{name}={npy(value)}")]


def seeds_of_numbers():
    """One seed gives the same numbers each time and on each number of threads, another others."""
    x = np.zeros(1000, np.float32)
    same, again, other = (call(NOISE, "f", options=("--threads", count), x=x, seed=np.array(seed, np.uint64))
                          for count, seed in (("1", 7), ("2", 7), ("2", 8)))
    np.testing.assert_array_equal(same, again)
    assert (same != other).mean() > 0.99 and abs(same.mean() - 0.5) < 0.05


def threads():
    x = random(500, 33)
    rows = "@jit\ndef f(x: Tensor[M, 33, f32]):\n    return softmax(x)\n"
    one, two = (call(rows, "f", options=("--threads", count), x=x) for count in "12")
    np.testing.assert_array_equal(one, two)


def loaded():
    """A bundle is loaded from memory; bytes that are none are refused."""
    with abi.Context() as context:
        status, module = context.load(bundle("add_one.tsr").read_bytes())
        assert status == abi.SUCCESS, abi.last_error()
        context.make("tsrGetKernel", module, b"add_one")
        status, _ = context.load(b"no bundle")
        assert status == abi.EIMAGE, status


def launched(device_stream=True, grid=(0, 0, 0)):
    """A kernel adds 1 to 40 numbers, on a stream that an event marks, or on the default stream."""
    def check():
        with abi.Context() as context:
            module = context.load(bundle("add_one.tsr").read_bytes())[1]
            kernel = context.make("tsrGetKernel", module, b"add_one")
            x = random(40)
            pointers = [context.filled(x), context.memory(160)]
            stream = context.make("tsrCreateStream", context.handle, None) if device_stream else None
            status = abi.launch(kernel, stream, pointers, [40], grid)
            assert status == abi.SUCCESS, abi.last_error()
            if device_stream:
                event = context.make("tsrCreateEvent", context.handle)
                abi.check("tsrRecordEvent", event, stream)
                abi.check("tsrSynchronizeEvent", event, abi.FOREVER)
            np.testing.assert_array_equal(context.floats(pointers[1], 40), x + np.float32(1))
            abi.check("tsrFree", context.handle, pointers[1])
    return check


def statuses():
    names = ["TSR_SUCCESS", "TSR_EOOM", "TSR_EINVAL", "TSR_ETIMEOUT"]
    assert [abi.library.tsrStatusName(value).decode() for value in range(4)] == names
    assert abi.call("tsrCreateContextWith", ctypes.byref(abi.ContextOptions(device=b"no device")),
                    ctypes.byref(ctypes.c_void_p())) != 0
    with abi.Context() as context:
        abi.check("tsrSetLimits", context.handle, ctypes.byref(abi.Limits(memory=1)))
        status = abi.call("tsrAlloc", context.handle, ctypes.c_size_t(64), ctypes.c_uint32(1),
                          ctypes.byref(ctypes.c_void_p()))
        assert abi.library.tsrStatusName(status).decode() == "TSR_EOOM", status
    has(refuse(BIN / "tsr", "run", bundle(LOOP), "f", "--input", "a=2", "--input", "n=500000", "--max-steps", "100"),
        r"100 steps")


class Hash(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def versions():
    """A bundle of a later interface is refused, although its bytes are sound."""
    image = bundle(SUM).read_bytes()
    with zipfile.ZipFile(bundle(SUM)) as archive:
        manifest = archive.read("manifest.json")
    minor = re.search(rb'"abi": \{\s*"major": 2,\s*"minor": (\d)', manifest)
    other = manifest[:minor.start(1)] + b"9" + manifest[minor.end(1):]
    hashes = ctypes.CDLL("libxxhash.so.0").XXH3_128bits
    hashes.restype, hashes.argtypes = Hash, [ctypes.c_char_p, ctypes.c_size_t]

    def identity(text):
        value = hashes(text, len(text))
        return f"{value.high:016x}{value.low:016x}".encode()

    crc, crc_of_other = (zlib.crc32(text).to_bytes(4, "little") for text in (manifest, other))
    for old, new in ((manifest, other), (crc, crc_of_other), (identity(manifest), identity(other))):
        assert old in image, "the bundle has another form"
        image = image.replace(old, new)
    with abi.Context() as context:
        assert context.load(bundle(SUM).read_bytes())[0] == abi.SUCCESS
        status, _ = context.load(image)
        assert status != abi.SUCCESS
        has(abi.last_error(), r"ABI 2\.9")


def pooled():
    """Freed memory of a GPU is given out again, once the GPU has been waited for; the driver is that of the tests."""
    with abi.Context("cuda:0") as context:
        first = context.memory(1000)
        abi.check("tsrFree", context.handle, first)
        abi.check("tsrSynchronize", context.handle, None, abi.FOREVER)
        assert context.memory(1000).value == first.value
        pinned = context.memory(64, abi.PINNED)
        ctypes.memset(pinned, 1, 64)  # which the host can write


def jit():
    """A bundle with PTX alone is refused, unless the driver may compile it, and so is bare PTX."""
    image = bundle("add_one.tsr", GPU).read_bytes()
    with abi.Context("cuda:0") as context:
        assert context.load(image)[0] == abi.EUNSUPPORTED
        has(abi.last_error(), r"TSR_ALLOW_JIT")
        assert context.load(image, 1)[0] == 0  # the driver of the tests takes it
        ptx = dump("add_one.tsr", "ptx").encode()
        assert context.load(ptx)[0] == abi.EUNSUPPORTED
        has(abi.last_error(), r"TSR_ALLOW_JIT")
    with abi.Context() as context:
        assert context.load(ptx, 1)[0] == abi.EUNSUPPORTED
        has(abi.last_error(), r"load the bundle it belongs to")


def aligned():
    with abi.Context() as context:
        assert all(context.memory(size).value % 64 == 0 for size in (1, 65, 1000))


def canaries():
    """A byte behind an allocation that somebody wrote is found after the next launch."""
    with abi.Context("cpu", abi.CANARIES) as context:
        module = context.load(bundle("add_one.tsr").read_bytes())[1]
        kernel = context.make("tsrGetKernel", module, b"add_one")
        pointers = [context.filled(random(16)), context.memory(64)]
        assert abi.launch(kernel, None, pointers, [16]) == abi.SUCCESS
        ctypes.memset(pointers[1].value + 64, 1, 1)
        assert abi.launch(kernel, None, pointers, [16]) == abi.ECHECK
        has(abi.last_error(), r"past the end")
        ctypes.memset(pointers[1].value + 64, 0, 1)


GUARDED = """\
import ctypes, sys
sys.path.insert(0, {here!r})
import abi
context = abi.Context("cpu", abi.GUARDS)
memory = context.memory(4096)
ctypes.memset(memory.value, 1, 4096)
print("all of it", flush=True)
ctypes.memset(memory.value + 4096, 1, 1)
"""


def guards():
    """Touching what lies behind an allocation ends the process."""
    result = subprocess.run([sys.executable, "-c", GUARDED.format(here=str(HERE)), BUILD], capture_output=True,
                            text=True)
    assert result.stdout == "all of it\n" and result.returncode and "Traceback" not in result.stderr, result


def poisoned():
    """What a call has not written is NaN, an index outside of its table is found, and so is the first NaN."""
    ids = np.array([1, 57], np.int32)
    image = bundle(GATHER, CPU, "--debug")
    has(refuse(BIN / "tsr", "run", image, "f", *given(table=random(50, 4), ids=ids)), r"element 57 along axis 0")
    log = "@jit\ndef f(x: Tensor[N, f32]):\n    return log(x)\n"
    has(refuse(BIN / "tsr", "run", bundle(log), "f", "--debug=nan,poison", *given(x=np.float32([1, -1]))),
        r"1 NaN at \[1\]")


def limits():
    """A call that takes too long ends, by time and by steps."""
    for option, value in (("--timeout", "0.05"), ("--max-steps", "100")):
        has(refuse(BIN / "tsr", "run", bundle(LOOP), "f", "--input", "a=2", "--input", "n=100000000", option, value),
            r"the most that it was given")


def traced():
    has(tsr("run", bundle(SUM), "f", "--trace-shapes", *given(x=random(4), y=random(4))),
        r"input +x: f32\[4\] = \[N\]", r"reads +x", r"writes +f", r"output +f")


def frontend():
    """The front end as a library: a graph, or what is wrong with its shapes."""
    library = ctypes.CDLL(str(BUILD / "lib/libtessera_frontend.so"))
    for name in ("tessera_frontend_compile", "tessera_validate_shapes"):
        getattr(library, name).restype = ctypes.c_void_p
    library.tessera_module_ir_text.restype = ctypes.c_char_p

    class Source(ctypes.Structure):
        _fields_ = [("name", ctypes.c_char_p), ("text", ctypes.c_char_p), ("length", ctypes.c_size_t)]

    for text, fine in ((SUM, 1), (MISMATCH, 0)):
        given_text = Source(b"f.tsr", text.encode(), len(text.encode()))
        ir = ctypes.c_void_p(library.tessera_frontend_compile(ctypes.byref(given_text), None))
        assert library.tessera_module_ir_ok(ir) == fine
        report = ctypes.c_void_p(library.tessera_validate_shapes(ir, None))
        assert library.tessera_report_ok(report) == fine
        if fine:
            has(library.tessera_module_ir_text(ir).decode(), r"gir\.add")
            assert library.tessera_report_guard_count(report) == 1  # the extents of x and y are one size
        library.tessera_report_free(report)
        library.tessera_module_ir_free(ir)


def metadata(*patterns, program="linear.tsr", target=GPU):
    return lambda: has(tsr("inspect", "--yaml", bundle(program, target)), *patterns)


def bench():
    shown = json.loads(tsr("bench", bundle(SUM), "--dims", "N=64", "--runs", "5", "--json"))["entries"][0]
    assert shown["min_s"] <= shown["median_s"] <= shown["p95_s"], shown


def wrong_order():
    """The passes of a later level are refused before those that bring it about."""
    phase("LowerToPTXPass", r"\.visible \.entry linear")()
    path = scratch(".tir")
    path.write_text(dump("linear.tsr", "graph", CPU))
    has(refuse(BIN / "tessera-opt", path, f"--target={GPU}", "--passes=tile_to_nv,graph_to_schedule"), r"error: ")


def reproducer():
    """A bug of the compiler leaves the IR that shows it."""
    state = FOLDER / "state"
    path = scratch(".tir")
    path.write_text(dump(SUM, "target", CPU))
    bug = {"ASAN_OPTIONS": "verify_asan_link_order=0", "LD_PRELOAD": str(BUILD / "lib" / "libmalformed.so")}
    command = [BIN / "tesserac", path, "--no-cache", "-o", FOLDER / "broken.bundle"]
    result = subprocess.run(command, text=True, capture_output=True,
                            env=dict(os.environ, XDG_STATE_HOME=str(state), **bug))
    assert result.returncode == 70, result
    left = list((state / "tessera").glob("*.tir"))
    assert len(left) == 1, result.stderr
    contains(left[0].read_text(), "target.func @f")


def quantised():
    x, w = random(9, 64), random(64, 32)
    close(call(SCALED, "f", x=x, w=w), x @ w, 2e-2)
    has(dump(SCALED, "graph", CPU), r"gir\.gemm %\w+, %\w+ \{accum = i32\}")


def packed():
    """On a CPU a kernel of its own copies an operand of a matmul into panels."""
    has(tsr("inspect", bundle("linear.tsr"), "--ir", "plan"), r"launch @linear\.0\.b\(%w, %t0\)",
        r"launch @linear\.0\(%x, %w, %bias, %t0, %linear\)")


def strided():
    """A view with strides is read where it lies, and an operand is packed."""
    x = random(6, 8)
    view = "@jit\ndef f(x: Tensor[M, 8, f32]):\n    return x[:, ::2].T * 2.0\n"
    close(call(view, "f", x=x), 2 * x[:, ::2].T)
    packed()


def streaming():
    """Hopper's copy engine writes each tile of a matmul once; no store is marked as streaming."""
    code = dump("linear.tsr", "ptx")
    has(code, r"cp\.async\.bulk\.tensor\.2d\.global\.shared::cta")
    lacks(code, r"st\.global\.(cs|L1::no_allocate)")
    lacks(dump(SUM, "ptx"), r"st\.global\.(cs|L1::no_allocate)")
    lacks(dump(SUM, "asm", CPU), r"movnt")


def no_padding():
    """A swizzle spreads a column of shared memory over the banks."""
    rows = run(BIN / "tessera-opt", "--show-layout=#shared<128 x 64, bytes = 2, swizzle = 128>").splitlines()[2:10]
    assert len({int(row.split()[1]) % 128 for row in rows}) == 8, rows


def spaces():
    x = random(40, 33)
    np.testing.assert_array_equal(call(SPACE, "f", x=x), x)
    has(dump(SPACE, "tile"), r"tile\.alloc_shared")


def types():
    has(tesserac(SUM, "--shapes", f"--target={CPU}")[0], r"x: Tensor\[N, f32\]", r"return Tensor\[N, f32\]")


def dropped():
    """One kernel has the scores, the softmax, what is dropped, and the matmul with the values."""
    kernels = re.findall(r"sched\.kernel @\S+\(%q", dump(DROPPED, "sched"))
    assert kernels and not re.search(r"sched\.kernel @\S+\((?!%q)", dump(DROPPED, "sched"))
    q, k, v = (random(2, 2, 40, 64) for _ in range(3))
    v = np.ones_like(v)
    got = [call(DROPPED, "f", q=q, k=k, v=v, p=np.float32(0), seed=np.array(seed, np.uint64)) for seed in (1, 2)]
    assert abs(np.mean(got) - 1) < 0.05 and (got[0] != got[1]).any()


FLOW = seeds("18")
DECLARED = seeds("17")
METADATA = seeds("19")
GRID = metadata(r"launch: \{grid: \[\(M \+ 127\) // 128, 2\], block: \[\d+, 1, 1\]")
FUSED = shows("linear.tsr", "sched", r'epilogue = \["add", "gelu", "mul", "cast"\]')
ROLES = shows("linear.tsr", "tile,ptx", r'tile\.role \{first = 0, name = "load", .*warps = 4\}',
              r"tile\.barrier_expect", r'tile\.role .*name = "mma"', r"tile\.barrier_wait", r"setmaxnreg")

LEARNT = """param w: Param[256, 256, f32] = normal(0.02)

@jit
def step(tokens: Tensor[B, 9, u8], rate: f32) where B >= 1:
    def loss_of(w, tokens):
        return mean(cross_entropy(embedding(tokens[:, :-1], w), tokens[:, 1:]))
    loss, gradient = value_and_grad(loss_of)(w, tokens)
    update(w, w - rate * gradient)
    return loss
"""


def logged():
    """A record for each step, in either format."""
    text = scratch(".txt")
    text.write_text("abcdefgh" * 100)
    for ending, read in ((".jsonl", json.loads), (".csv", lambda line: line.split(","))):
        log = scratch(ending)
        tsr("train", bundle(LEARNT), "--data", text, "--batch", "8", "--steps", "2", "--set", "rate=20", "--log", log)
        assert any("loss" in read(line) for line in log.read_text().splitlines()), log.read_text()


def trained():
    """A model learns from a text, and its params are written."""
    text, weights, log = scratch(".txt"), scratch(".safetensors"), scratch(".jsonl")
    text.write_text("abcdefgh" * 100)
    tsr("train", bundle(LEARNT), "--data", text, "--batch", "8", "--steps", "40", "--set", "rate=20", "--out", weights,
        "--log", log)
    losses = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
    assert losses[-1] < 0.5 * losses[0] and weights.stat().st_size > 4 * 256 * 256, losses


PROGRAMS = {
    "Tessera_Standard_Operations.md": page("docs/ops.md", "flash_attention", "layernorm_safe", "residual"),
    "Portable peak": page("bench/NOTES.md", "cuBLAS", "oneDNN"),
    "fixed Philox seed": seeds_of_numbers,
    "not training ecosystems": trained,
    "Fused epilogues, multi-stage async pipelines, and distributed overlap": both(FUSED, stages),
    "metrics, NVTX ranges, and IR dumps at every stage": shows(
        "linear.tsr", "graph,sched,tile,target,ptx", r"level\(graph\)", r"level\(schedule\)", r"level\(tile\)",
        r"level\(target\)", r"\.visible"),
    "minimal C ABI": DECLARED,
    "Legalize/Tile/Fuse/Vectorize": both(FUSED, shows(SUM, "asm", r"vaddps\t.*%ymm", target=CPU)),
    "NVIDIA PTX": shows("linear.tsr", "ptx", r"\.target sm_90a"),
    "CPU SIMD": both(shows(SUM, "asm", r"vaddps\t.*%ymm", target=CPU),
                     shows(SUM, "asm", r"vaddps\t.*%zmm", target="cpu:x86-64-v4"),
                     shows("linear.tsr", "asm", r"tdpbf16ps", target="cpu:x86-64-v4-amx")),
    "PTX, HSACO, Obj, Metadata": both(elf, metadata(r"^name: linear\.0$")),
    "Module Loader": loaded,
    "Tile Scheduler & Streams": both(threads, launched()),
    "HBM/L2/SMEM": both(pooled, shows("linear.tsr", "tile", r"space = shared")),
    "Profiler & Tracer": traced,
    "IR snapshots, kernel binaries, per-kernel metadata (tile shape, regs, smem, launch), and runtime traces": both(
        traced, elf, metadata(r"^tile: ", r"^resources: \{regs_per_thread: \d+, smem_per_cta: ", r"^launch: ")),
    "typed AST": types,
    "Rank/dtype/layout": both(shows(SUM, "graph", r"tensor<N, f32>", target=CPU),
                              shows("linear.tsr", "tile", r"tile<128 x 256, f32, #wgmma<acc")),
    "effect annotations": both(shows(EFFECTS, "graph", r'effects = \["rng"\]', target=CPU),
                               refuses(PURE, r"\[impure-call\]")),
    "compile-time shape checks": refuses(MISMATCH, r"\[shape-mismatch\]"),
    "async_copy, barrier, mma, epilogues, and collectives": both(by_hand, FUSED),
    "tessera_frontend_compile(src, opts) -> ModuleIR": frontend,
    "tessera_validate_shapes(ir, policy) -> Report": frontend,
    "SSA IR with regions/blocks": shows("linear.tsr", "tile,target", r"tile\.for .* do\(%", r"target\.cond_branch"),
    "explicit **Tile** and **Fragment** types": shows("linear.tsr", "tile", r"tile<128 x 256, f32, #wgmma<acc, "),
    "tensor, sched (tiling/scheduling), mem (alloc, alias, placement), dist (collectives), math, quant": shows(
        "linear.tsr", "graph,sched,tile", r"gir\.gemm", r"host\.launch", r"sched\.dot", r"tile\.mma"),
    "tile.shape=[M,N,K]": shows("matmul.tsr", "sched", r"block = \{k = 32, m = 64, n = 64\}"),
    "pipeline.stages": shows("matmul.tsr", "sched,tile", r"stages = 3", r"view<3 x 64 x 32, bf16"),
    "epilogue=[bias,gelu,scale]": FUSED,
    "regs/thread, smem/CTA": metadata(r"resources: \{regs_per_thread: \d+, smem_per_cta: \d+"),
    "occupancy hints": metadata(r"^occupancy: [1-9]"),
    "alignment and vector width": metadata(r"^alignment: 2$", r"^vector_width: 8$"),
    "normalize loop nests, promote fusible ops, and insert barriers": both(
        canonical, FUSED, shows("linear.tsr", "tile", r"tile\.barrier_wait")),
    "t.tile.for": shows("linear.tsr", "tile", r"tile\.for .* do\(%", r"tile\.copy_async"),
    "t.mem.alloc(scope=smem|global, align=128)": spaces,
    "Normative order of phases": wrong_order,
    "Canonicalize & Simplify": canonical,
    "warp specialization": ROLES,
    "MMA/WMMA/MFMA fragments": both(shows("linear.tsr", "tile", r"#wgmma<acc"),
                                    shows("linear.tsr", "tile", r"#mma<", target="cuda:sm_80")),
    "place A/B panels in SMEM": shows("linear.tsr", "tile", r"view<4 x 64 x 256, bf16, .*space = shared",
                                      r"view<4 x 128 x 64, bf16, .*space = shared"),
    "pad to avoid bank conflicts": no_padding,
    "softmax+dropout+V for attention": dropped,
    "emit **Kernel Metadata**": metadata(r"^name: ", r"^launch: ", r"^buffers:"),
    "cooperative groups": shows("cluster.tsr", "ptx", r"\.multicast::cluster "),
    "WMMA/HMMA": both(shows("linear.tsr", "ptx", r"wgmma\.mma_async"),
                      shows("linear.tsr", "ptx", r"mma\.sync\.aligned\.m16n8k16", target="cuda:sm_80")),
    "AVX-512/SVE mapped fragments": shows("linear.tsr", "asm", r"vfmadd\w+\t.*%zmm", target="cpu:x86-64-v4"),
    "threaded tiles": threads,
    "**Kernel Metadata** → binary + **Launch Spec**": both(elf, GRID),
    "JIT or AOT module loading from PTX/HSACO/ELF": both(loaded, jit),
    "Streams/queues, events, graph capture": launched(),
    "**Tile Scheduler**": both(threads, launched()),
    "Pooled HBM allocs, pinned host buffers": pooled,
    "layout transforms": packed,
    "Barriers (CTA/warp), async-copy groups, and stream semantics": both(
        shows("linear.tsr", "ptx", r"cp\.async\.commit_group", r"cp\.async\.wait_group", r"bar\.sync",
              target="cuda:sm_80"), launched()),
    "metrics logger (CSV/JSONL), prof timeline": logged,
    "tsr_context_t`, `tsr_context": DECLARED,
    "tsr_module_t": DECLARED,
    "tsr_kernel_t": DECLARED,
    "tsr_stream_t": DECLARED,
    "TSR_SUCCESS=0, TSR_EOOM, TSR_EINVAL, TSR_ETIMEOUT": both(DECLARED, statuses),
    "tsrCreateContext(tsr_context_t*)": both(DECLARED, FLOW),
    "tsrDestroyContext(tsr_context_t)": both(DECLARED, launched()),
    "tsrLoadModule(tsr_context_t, const void* image, size_t sz, tsr_module_t*)": both(DECLARED, FLOW, loaded),
    "tsrGetKernel(tsr_module_t, const char* name, tsr_kernel_t*)": both(DECLARED, FLOW, loaded),
    "tsrAlloc(tsr_context_t, size_t bytes, uint32_t flags, void** dptr)": both(DECLARED, FLOW, aligned),
    "tsrFree(tsr_context_t, void* dptr)": both(DECLARED, launched()),
    "uint32_t grid_x, grid_y, grid_z": both(DECLARED, launched(grid=(3, 1, 1))),
    "tsrLaunch(tsr_kernel_t, tsr_stream_t, tsr_launch_t, void** args, size_t nargs)": both(DECLARED, FLOW, launched()),
    "TSR_ABI_MAJOR.MINOR enforced at module load": versions,
    "time, TFLOP/s, GB/s, occupancy": both(
        bench, lambda: has(tesserac("linear.tsr", "--report", "--dims", "M=64", f"--target={GPU}")[0], r"TFLOP/s",
                           r"[KMG]?B/s|GB", r"occupancy  \d")),
    "p95 latency": bench,
    "Deterministic seeds": seeds_of_numbers,
    "canary buffers": canaries,
    "guard pages in debug mode": guards,
    "PTX/HSACO + LaunchSpec + Resources": both(
        GRID, lambda: contains(zipfile.ZipFile(bundle("linear.tsr", GPU)).read(
            "kernels/cuda-sm_90a/kernels.ptx").decode(), ".visible .entry")),
    "Enqueue kernel (args, LaunchSpec)": launched(),
    "Allocate/alias buffers": lambda: has(
        tsr("inspect", bundle("cache.tsr"), "--ir", "plan"), r"view %cache\.K of %cache\.K at 0",
        r"launch @step\.1\(%k, %cache\.length, %cache\.K\)"),
    "Events & counters": launched(),
    "Completion + metrics": both(launched(), bench),
    "**Plan** (sizes, alignment, lifetime)": lambda: has(
        tsr("inspect", bundle(BLOCKS), "--ir", "plan"), r"input %x: f32\[M, 64\] align\(4\)",
        r"temp %t0: f32\[M, 64\] live\(0 \.\. \d+\)"),
    "HBM pool; optional L2 residency hints": pooled,
    "SMEM panels with padding/permutation": shows("linear.tsr", "tile", r"#shared<128 x 64, bytes = 2, swizzle = 128>"),
    "streaming stores; write-once epilogues": streaming,
    "**Recycle** (pool return)": pooled,
    "Selects grid/block from metadata": both(GRID, launched()),
    "ensures ≥2 CTAs/SM when feasible": both(metadata(r"^occupancy: ([2-9]|\d\d)", program=SUM),
                                             shows(SUM, "ptx", r"\.minnctapersm [2-9]")),
    "2–4 stages; tunes prefetch distance": stages,
    "Dedicated loader warp(s) + compute warps; handoff via barriers": ROLES,
    "capture/replay for step loops": graphs,
    "**graph-captured** training steps with per-iteration dynamic shapes": both(trained, graphs),
    "Timeout/health checks": limits,
    "sub-allocation with alignment": aligned,
    "Strided/blocked/packed": strided,
    "layout transforms inserted by passes": packed,
    "CSV/JSONL": both(logged, bench),
    "swizzles for MMA load balance": shows("linear.tsr", "tile,ptx", r"#shared<128 x 64, bytes = 2, swizzle = 128>",
                                           r"wgmma\.mma_async"),
    "IR snapshot, kernel metadata, launch args, logs": reproducer,
    "No in-process codegen from untrusted sources": jit,
    "Guard pages & poisoning in debug; bounds checks in sanitizer builds": both(guards, poisoned),
    "Kernel timeouts with configurable policy per environment": limits,
    "tile={{M,N,K}}`, `stages=3`, `vector=128`, `epilogue=[bias,gelu]": seeds("21"),
    "tile_linear_bf16": FLOW,
    "void* args[]": FLOW,
    "tsr_stream_t stream = NULL": FLOW,
    "Kernel Metadata (YAML)": METADATA,
    "name: tile_linear_bf16": METADATA,
    "tile: {{M: 128, N: 128, K: 64, stages: 3}}": METADATA,
    "fragments: {{mma: 16x16x16, dtype_in: bf16, dtype_acc: f32}}": METADATA,
    "resources: {{regs_per_thread: 96, smem_per_cta: 48KB}}": METADATA,
    "launch: {{grid: [Gx, Gy, 1], block: [256, 1, 1]}}": METADATA,
    "epilogue: [bias, gelu]": metadata(r"^epilogue: \[add, gelu, mul, cast\]$"),
    "tessera_target_ir_complete_unified.md": page("docs/ir/target.md", "nv.wgmma", "x86.tile_dot_bf16"),
    "async TMA-style bulk copies abstraction": both(
        shows("by_hand.tsr", "ptx", r"cp\.async", target="cuda:sm_80"),
        shows("linear.tsr", "ptx", r"cp\.async\.bulk\.tensor"), by_hand),
    "INT8/FP8 kernels with scale propagation": quantised,
    "Glossary": page("docs/glossary.md", "| Term |"),
}
