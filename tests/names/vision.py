"""The vision: language, kernels, schedules."""
import functools
import json
import re
import zipfile

import founding
import language
from card import IMPURE
from levels import EFFECTS, MATMUL, privilege, python
from overview import attention, by_hand
from passes import BLOCKS, TOO_LARGE, intervals, online, stages
from programs import (BIN, CPU, FOLDER, GPU, HERE, ROOT, bf16, both, bundle, call, close, contains, dump, has, ignored,
                      np, page, random, refusal, refuse, refuses, run, scratch, seeds, shows, tesserac, tsr,
                      warns)
from runtime import SUM, given, launched, poisoned, seeds_of_numbers, spaces, threads, traced, trained

SCHEDULE = "Schedule(BM=64, BN=64, BK=32, stages=3, warps=4)"  # of matmul.tsr
SYMBOLIC = "@jit\ndef f(x: Tensor[S, D, f16]) where S >= 2:\n    return x[1:] + x[:-1]\n"
HALVES = "@jit\ndef f(x: Tensor[B, S, f32]) where S % 2 == 0:\n    return reshape(x, (B, 2, S // 2))\n"
WINDOW = "@jit\ndef f(x: Tensor[B, 8, f32]):\n    return x[:, 4:9]\n"
SAFE = """\
from tessera.nn import softmax_safe, layernorm_safe, rmsnorm_safe, logsumexp_safe

@jit
def softmax_of(x: Tensor[M, N, f32]):
    return softmax_safe(x)

@jit
def layernorm_of(x: Tensor[M, N, f32]):
    return layernorm_safe(x)

@jit
def rmsnorm_of(x: Tensor[M, N, f32]):
    return rmsnorm_safe(x)

@jit
def logsumexp_of(x: Tensor[M, N, f32]):
    return logsumexp_safe(x)
"""
ROUNDED = """\
@jit
def stochastic(x: Tensor[N, f32]) -> Tensor[N, bf16]:
    return cast(x, bf16 @stochastic_round)

@jit
def saturated(x: Tensor[N, f32]) -> Tensor[N, f32]:
    return cast(cast(x, f8e4m3 @saturate), f32)

@jit
def wrapped(x: Tensor[N, f32]) -> Tensor[N, f32]:
    return cast(cast(x, f8e4m3), f32)
"""
ACCUM = """\
@jit
def f(x: Tensor[M, 64, bf16 @accum(f32)], w: Tensor[64, 8, bf16]) -> Tensor[M, 8, bf16]:
    return x @ w
"""
LOSS = "@jit\ndef f(x: Tensor[N, fp16 @loss_scale(1024)]):\n    return x * 2.0\n"
DECLARED = """\
def logged(x: Tensor[N, f32]) -> Tensor[N, f32] !{EFFECT}:
    return x + 1.0

@jit
@pure
def f(x: Tensor[N, f32]) -> Tensor[N, f32]:
    return logged(x)
"""
DERIVED = """\
@custom_vjp(lambda y, dy, x: dy * 3.0)
def f(x):
    return sin(x)

@custom_jvp(lambda y, d, x: d[0] * 5.0)
def g(x):
    return sin(x)

@jit
def both(x: Tensor[N, f32]):
    y, back = vjp(f, x)
    return grad(lambda x: sum(f(x) + g(x) + x * x))(x), back(y)[0], jvp(g, (x,), (x,))[1]
"""
CHECKPOINTED = """@remat(policy="matmuls")
def f(x, w):
    return tanh(x @ w)

@jit
def entry(x: Tensor[N, 8, f32], w: Tensor[8, 8, f32]):
    return grad(lambda w: sum(checkpoint(f)(x, w) * f(x * 2.0, w)))(w)
"""
RESPECTED = """from tessera.nn import dropout

@jit
def through(w: Tensor[f32], k: Tensor[B, H, 1, D_h, f32],
            cache: KVCache["B", "H", "S_max", "D_h", f32]) where S_max >= 1:
    def loss(w):
        grown = cache.append(k * w, k)
        return sum(grown.K), grown
    dw, grown = grad(loss, has_aux=True)(w)
    return dw, grown

@jit
def dropped(x: Tensor[N, f32]):
    def loss(x):
        y = dropout(x, 0.5)
        return sum(y), y
    dx, y = grad(loss, has_aux=True)(x)
    return dx, y
"""
LOOPS = """def step(h, row):
    h = h * 0.5 + row
    return h, sum(h)

@jit
def loops(x: Tensor[N, D, f32]):
    h, sums = scan(step, zeros((D,), f32), x)
    turned = vmap(lambda row: row - mean(row))(x)
    return h, sums, turned, map(lambda row: max(row), x), reduce(lambda a, row: a + row, x, zeros((D,), f32))
"""
AUTODIFF = "@jit @autodiff\ndef f(x: Tensor[N, f32]):\n    return x * 2.0\n"
PLACED = """\
dim d_model
param W: Param[d_model, 8, f32]
const n = 0
const devs = gpu[0:1]

@jit
def f(x: Tensor[B, d_model, f32]):
    with WHERE:
        y = x @ W
    return y
"""
STATE = """\
from tessera.nn import adamw

@jit
def step(w: Tensor[16, 8, bf16], gradient: Tensor[16, 8, bf16],
         state: OptimizerState[w] @fp32_master @paged @checkpointable):
    w, state = adamw(w, state, gradient, 0.1, weight_decay=0.0)
    return w, state
"""
ROLLING = """\
@jit
def step(k: Tensor[B, H, 1, D_h, f32], v: Tensor[B, H, 1, D_h, f32],
         cache: KVCache["B", "H", "S_max", "D_h", f32] @rolling_window @device(gpu)) where S_max >= 1:
    cache = cache.append(k, v)
    return cache
"""
MOVED = """\
@jit
def back(cache: KVCache["B", "H", "S_max", "D_h", f32]):
    cache = cache.prune(2).prefetch().offload()
    return cache
"""
TUNED = MATMUL.replace("@kernel.schedule(" + SCHEDULE + ")", """\
@kernel.autotune(space=dict(BM=[64, 128], BN=[64], BK=[32], warps=[4, 8], stages=[2, 3]),
                 metric="latency_ms", budget_ms=180, cache="~/.sched")""")
CUSTOM = """\
from tessera.stdlib import flash_attention_2

my_attention = flash_attention_2.with_schedule(Schedule(BM=32))

@jit
def custom(q: Tensor[B, 2, S, 64, f32], k: Tensor[B, 2, S, 64, f32], v: Tensor[B, 2, S, 64, f32]):
    return my_attention(q, k, v)

@jit
def own(q: Tensor[B, 2, S, 64, f32], k: Tensor[B, 2, S, 64, f32], v: Tensor[B, 2, S, 64, f32]):
    return flash_attention_2(q, k, v)
"""
LIBRARY = """\
from tessera.stdlib import efficient_layernorm, stable_softmax, fused_adam, rotary_embedding

@jit
def norm(x: Tensor[M, N, f32], scale: Tensor[N, f32], bias: Tensor[N, f32]):
    return efficient_layernorm(x, scale, bias)

@jit
def shares(x: Tensor[M, N, f32]):
    return stable_softmax(x)

@jit
def adam(w: Tensor[N, f32], g: Tensor[N, f32], m: Tensor[N, f32], v: Tensor[N, f32], step: Tensor[i64],
         rate: Tensor[f32]):
    w, m, v = fused_adam(w, g, m, v, step, rate)
    return w, m, v

@jit
def turned(x: Tensor[B, S, 2, H, f32], cosine: Tensor[S, H, f32], sine: Tensor[S, H, f32]):
    return rotary_embedding(x, cosine, sine)
"""
ARGMAX = "from tessera.nn import argmax\n\n@jit\ndef f(x: Tensor[M, N, f32]):\n    return argmax(x)\n"
PROMISE = """\
@verify.numerics(stable=True, bounded=[0, 1])
def shares(x: Tensor[N, f32]):
    return x * 2.0

@jit
def f(x: Tensor[N, f32]):
    return shares(x)
"""
CHANNELS = """\
from tessera.nn import quantize, dequantize

@jit
def f(x: Tensor[M, N, f32]):
    q, scale = quantize(x, axis=-1)
    return dequantize(q, scale)
"""
DTYPES = ("fp32", "tf32", "bf16", "fp16", "fp8(e4m3)", "fp8(e5m2)", "int8")
TILES = """\
@kernel.schedule(Schedule(BM=8))
def scaled(x: Tensor[M, N, f32], s: Tensor[N, f32]) -> Tensor[N, M, f32]:
    t = tile.context(n=N, m=M)
    v = tile.load(x, (t.j, t.i), (t.m, t.n))
    return tile.transpose(v * tile.broadcast(tile.load(s, (t.i,), (t.n,))[None, :], (t.m, t.n)))

@jit
def f(x: Tensor[M, N, f32], s: Tensor[N, f32]):
    return scaled(x, s)
"""
KERNEL = founding.program("03")
BLOCK = founding.program("02").replace('%include "seed03.tsr"\n', KERNEL.split("\n@jit")[0] + "\n")


def placed(where):
    return PLACED.replace("WHERE", where)


def unplaced(where, target=GPU):
    """Work and data that are placed somewhere on one device: the code is that of any other place."""
    return no_effect(where, "device(gpu[0])", placed(where), target=target, stages="ptx" if target == GPU else "asm")


def no_effect(name, without, program, target=GPU, stages="ptx"):
    """A name that changes no code, which a warning at its place says."""
    line = program[:program.index(name)].count("\n") + 1
    return both(ignored(name, without, program, stages, target),
                warns(program, rf":{line}:\d+: warning: .* changes nothing on any target \[hint-no-effect\]",
                      target=target))


def refused(name):
    """A transform or collective that is not there yet says so."""
    return refuses(f"@jit\ndef f(x: Tensor[B, f32]):\n    return {name}(lambda y: y)(x)\n",
                   rf"'{name}' .*\[unsupported-construct\]")


def recomputed():
    """checkpoint and remat: tanh is computed again, and one of the matmuls."""
    has(dump(CHECKPOINTED, "graph", CPU), r"gir\.tanh", r"gir\.tanh", r"gir\.barrier", r"gir\.tanh", r"gir\.tanh")


def loops():
    """vmap, scan, map and reduce."""
    x = random(5, 3)
    h, sums = np.zeros(3), []
    for row in x:
        h = h * 0.5 + row
        sums.append(h.sum())
    expected = h, np.array(sums), x - x.mean(1, keepdims=True), x.max(1), x.sum(0)
    for got, value in zip(call(LOOPS, "loops", x=x).values(), expected):
        close(got, value, 1e-5)


def run_time_guard():
    """What is not known at compile time is checked by the call."""
    refuses(WINDOW, r"error: ")()
    x = random(3, 8)
    np.testing.assert_array_equal(call(HALVES, "f", x=x), x.reshape(3, 2, 4))
    has(refuse(BIN / "tsr", "run", bundle(HALVES), "f", *given(x=random(3, 7))), r"S % 2 == 0 .* does not hold")


def symbolic():
    x = random(5, 3).astype(np.float16)
    got = call(SYMBOLIC, "f", x=x)
    assert got.dtype == np.float16 and got.shape == (4, 3)
    close(got.astype(np.float32), x[1:].astype(np.float32) + x[:-1], 2e-3)


def determinism():
    """Sums are the same on any number of threads; what gives that up is asked for by name, and is there for atomics
    alone."""
    threads()
    contains(run(BIN / "tesserac", "--help"), "nondet")
    atomic = (ROOT / "tests/lit/tools/fast.tsr").read_text()
    has(dump(atomic, "ptx", GPU, "--fast=nondet"), r"red\.global\.add\.f32")
    has(refusal(atomic, GPU), r"error: ")
    has(refusal(SUM, CPU, "--fast=fast-math"), r"\[unknown-relaxation\]")


def ties():
    x = np.float32([[1, 3, 3, 2], [5, 5, 5, 5]])
    np.testing.assert_array_equal(call(ARGMAX, "f", x=x), [1, 0])
    threads()


def safe(name):
    """Rows whose exponentials no f32 has, and rows of zeros, have their right result."""
    def check():
        x = np.stack([random(9) * 100 + 1000, np.zeros(9, np.float32)])
        got, x = call(SAFE, f"{name}_of", x=x), x.astype(np.float64)
        top = x.max(axis=1, keepdims=True)
        total = np.exp(x - top).sum(axis=1, keepdims=True)
        centred = x - x.mean(axis=1, keepdims=True)
        wanted = {"softmax": np.exp(x - top) / total, "logsumexp": (np.log(total) + top)[:, 0],
                  "rmsnorm": x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-6),
                  "layernorm": centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)}[name]
        assert np.isfinite(got).all()
        close(got, wanted, 1e-4)
    return check


def accum():
    """The dtype of the sums is that of the policy."""
    has(dump(ACCUM, "graph", CPU), r"gir\.gemm %x, %w \{accum = f32\}")
    has(dump(ACCUM.replace("accum(f32)", "accum(bf16)"), "graph", CPU), r"gir\.gemm %x, %w \{accum = bf16\}")


def stochastic():
    """The mean of what is rounded is what was rounded, which rounding to nearest does not give."""
    x = np.full(4000, 1 + 2**-9, np.float32)  # a quarter of the way between two numbers of bf16
    got = call(ROUNDED, "stochastic", x=x, seed=np.array(3, np.uint64))
    assert set(np.unique(got)) == {np.float32(1), np.float32(1 + 2**-7)}, np.unique(got)
    assert abs((got > 1).mean() - 0.25) < 0.05, (got > 1).mean()


def saturated():
    x = np.float32([1e6, -1e6, 3])
    np.testing.assert_array_equal(call(ROUNDED, "saturated", x=x), np.float32([448, -448, 3]))
    assert np.isnan(call(ROUNDED, "wrapped", x=x)[:2]).all()


def dtypes():
    """Each is a dtype of tensors; numbers of 4 bits are one between functions."""
    for dtype in DTYPES:
        shows(f"@jit\ndef f(x: Tensor[B, {dtype}]):\n    return x\n", "graph", r"tensor<B, ", target=CPU)()
    four = "@jit\ndef f(x: Tensor[N, int8]):\n    return twice(cast(x, int4))\n\n" \
           "def twice(x: Tensor[N, int4]):\n    return cast(x, int8) * 2\n"
    np.testing.assert_array_equal(call(four, "f", x=np.int8([3, -8, 7, 8])), np.int8([6, -16, 14, -16]))


def channels():
    """Each row has a scale of its own: small rows keep their digits beside large ones."""
    x = random(3, 50) * np.float32([[1e-3], [1], [1e3]])
    got = call(CHANNELS, "f", x=x)
    assert (np.abs(got - x).max(axis=1) <= np.abs(x).max(axis=1) / 127).all()


def f8_policy():
    has(dump("f8.tsr", "graph", CPU), r"gir\.gemm %x, %w \{accum = f32\}", r"gir\.cast")
    x, w = (random(*shape).round() for shape in ((5, 256), (256, 64)))
    close(call("f8.tsr", "narrowed", x=x, w=w), x @ w, 2**-8)


def rolling():
    """The newest position takes the place of the oldest."""
    state = {"cache__K": random(1, 2, 3, 4), "cache__V": random(1, 2, 3, 4), "cache__length": np.array(4)}
    k, v = random(1, 2, 1, 4), random(1, 2, 1, 4) + 1
    wanted = state["cache__V"].copy()
    wanted[:, :, 4 % 3] = v[:, :, 0]
    got = call(ROLLING, "step", k=k, v=v, **state)
    np.testing.assert_array_equal(got["cache.V"], wanted)
    assert got["cache.length"] == 5
    ignored(" @device(gpu)", "", ROLLING)()


def optimizer():
    """A step of Adam: the state counts, and its f32 copy of the weights is what is updated."""
    w, gradient, m, v, master = (bf16.to_bf16(random(16, 8) + i) for i in range(5))
    v = abs(v)
    state = {"state__m": m, "state__v": v, "state__master": master, "state__step": np.array(2)}
    got = call(STATE, "step", half=("w", "gradient"), w=w, gradient=gradient, **state)
    m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
    wanted = master - 0.1 * (m / (1 - 0.9**3)) / (np.sqrt(v / (1 - 0.999**3)) + 1e-8)
    close(got["state.master"], wanted, 1e-5)
    close(got["w"], wanted, 2**-8)
    assert got["state.step"] == 3


def pruned():
    state = {"cache__K": random(1, 2, 3, 4), "cache__V": random(1, 2, 3, 4), "cache__length": np.array(3)}
    assert call(MOVED, "back", **state)["cache.length"] == 2
    ignored(".prefetch().offload()", "", MOVED)()
    warns(MOVED, r"\[hint-no-effect\]")()


def several_devices():
    refuses(placed('mesh([gpu[0], gpu[1]], layout={"batch": "shard"})'), r"\[unsupported-construct\]", target=GPU)()


def tuned(*names):
    """Of the choices the first is what is compiled."""
    def check():
        has(dump(TUNED, "sched"), r"schedule = \{block = \{k = 32, m = 64, n = 64\}, stages = 2, warps = 4\}")
        warns(TUNED, r"block\(k=32, m=64, n=64\), stages=2, warps=4 \[not-tuned\]", target=GPU)()
        for name in names:
            ignored(*name, TUNED)()
            for wrong in ('metric="banana"', "budget_ms=-5", "cache=3"):
                refuses(TUNED.replace(name[0], wrong), r"\[wrong-kind\]")()
    return check


METRIC = ('metric="latency_ms", budget_ms=180, cache="~/.sched"', 'metric="latency_ms", budget_ms=7')


def chain(text, *patterns):
    """A schedule as a chain of calls, which a kernel is compiled with."""
    def check():
        program = "const BM = 64\nconst BN = 32\nconst BK = 16\n" + MATMUL.replace(SCHEDULE, text)
        has(dump(program, "sched"), *patterns)
        has(tesserac(program, f"--target={GPU}", "--dump=sched", "-o", "/dev/null")[1], r"\[schedule-no-effect\]")
    return check


def widths():
    """A vector of four is loaded at a time; the key that would say otherwise changes nothing."""
    has(dump(SUM, "ptx"), r"ld\.global\.v4\.b32")
    ignored("stages=3, warps=4", "stages=3, warps=4, vector=2", MATMUL)()


def hints():
    stages()
    for key in ("vector=8", 'swizzle="xor"'):
        ignored("stages=3, warps=4", f"stages=3, warps=4, {key}", MATMUL)()


def race():
    text = (HERE / "by_hand.tsr").read_text().replace("        tile.barrier()\n    tile.wait()", "    tile.wait()")
    has(refusal(text, GPU), r"\[unordered-access\]")
    # Of what lies in tensors: two programs that would store to one place.
    shared = """\
@kernel.schedule(Schedule(BM=8))
def stores(x: Tensor[M, N, f32], y: Region[write] Tensor[8, N, f32]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    v = tile.load(x, (t.i, t.j), (t.m, t.n))
    tile.store(v, y, (0, t.j))
    return v

@jit
def f(x: Tensor[M, N, f32], y: Tensor[8, N, f32]):
    return stores(x, y)
"""
    has(refusal(shared, GPU), r"same for programs .*\[wrong-kind\]")


def report(*patterns):
    return lambda: has(tesserac(BLOCKS, "--report", "--dims", "M=64", f"--target={CPU}")[0], *patterns)


def lints():
    """Registers that a kernel's tiles take and bank conflicts are counted, and a report says what bounds a kernel."""
    refuses(TOO_LARGE, r"\[schedule-tiles\]", target=GPU)()
    report(r"FLOP/byte +estimate +bound by")()
    data = scratch(".json")
    run(BIN / "tesserac", HERE / "linear.tsr", f"--target={GPU}", "--inspect", data)
    modules = json.loads(data.read_text())["modules"]
    accesses = [access for module in modules for kernel in module.get("layouts", []) for access in kernel["accesses"]]
    assert accesses and all(access["conflicts"] >= 0 and access["words"] for access in accesses)


def counted():
    """Instructions of a matmul are counted: an MMA that fell apart would show. A block has 64 or 128 elements of k."""
    kernels = dump("linear.tsr", "ptx").split(".visible .entry")[1:]
    counts = [code.count("wgmma.mma_async") for code in kernels]
    assert kernels and set(counts) <= {4, 8} and not any(".local" in code for code in kernels), counts


def versioned():
    text = dump("linear.tsr", "graph", CPU)
    has(text, r"level\(graph\) version\(1\)")
    later = scratch(".tir")
    later.write_text(text.replace("version(1)", "version(2)", 1))
    has(refuse(BIN / "tesserac", later, f"--target={CPU}", "-o", FOLDER / "later.bundle"), r"version")
    twice = [scratch(".bundle") for _ in range(2)]
    for path in twice:
        run(BIN / "tesserac", HERE / "linear.tsr", f"--target={CPU}", "-o", path)
    assert twice[0].read_bytes() == twice[1].read_bytes()
    manifest = json.loads(zipfile.ZipFile(twice[0]).read("manifest.json"))
    assert all(len(file["xxh3"]) == 32 for file in manifest["files"]), manifest["files"]


def variants():
    """One bundle has the graph, the schedules, and the code of each architecture."""
    names = zipfile.ZipFile(bundle("linear.tsr", "cpu:x86-64-v3,cuda:sm_80,cuda:sm_90a")).namelist()
    for name in ("ir/graph.tir", "schedules.json", "kernels/cpu-x86-64-v3/kernels.so", "kernels/cuda-sm_80/kernels.ptx",
                 "kernels/cuda-sm_90a/kernels.ptx"):
        assert name in names, names


def inspector():
    for ending, words in ((".html", ("<html", "Tessera inspector")), (".json", ("gir.gemm", "sched.dot", "tile.dot"))):
        path = FOLDER / f"linear{ending}"
        tesserac("linear.tsr", f"--target={CPU}", "--inspect", path)
        contains(path.read_text(), *words)


def promised():
    """A promise that a run breaks is found."""
    x = np.float32([0.25, 0.75])
    has(refuse(BIN / "tsr", "run", bundle(PROMISE, CPU, "--debug"), "f", *given(x=x)), r"outside of 0 to 1")
    close(call(PROMISE, "f", compile=("--debug",), x=x / 2), x)


@functools.lru_cache(maxsize=None)
def block():
    """A transformer block whose weights are random, and whose cache is empty, beside NumPy."""
    image = bundle(BLOCK)
    params = scratch(".safetensors")
    tsr("init", image, "--output", params)
    x = bf16.to_bf16(random(2, 20, 128))
    held = {f"cache__{part}": np.zeros((2, 2, 96, 64), np.float32) for part in "KV"}
    got = call(BLOCK, "step", options=("--params", params), half=True, x=x, cache__length=np.array(0), **held)
    close(got["step.0"], language.block(x, 2, founding.safetensors_io.load(params)), 2e-2)
    assert got["cache.length"] == 20


def dropped():
    """A quarter of the weights is dropped, others for each seed; the rest is scaled up."""
    q, keys = (bf16.to_bf16(random(2, 3, n, 64)) for n in (20, 96))
    ones = np.ones((2, 3, 96, 64), np.float32)
    got = [call(KERNEL, "drop", half=True, q=q, keys=keys, values=ones, held=np.array(70), seed=np.array(s, np.uint64))
           for s in (1, 1, 2)]
    np.testing.assert_array_equal(got[0], got[1])
    assert (got[0] != got[2]).any() and abs(np.mean(got) - 1) < 0.1, np.mean(got)


def without(name, other=""):
    """The attention kernel with a hint, beside the one without: one code."""
    return both(online, ignored(name, other, KERNEL))


def transposed():
    x, s = random(20, 9), random(9)
    close(call(TILES, "f", x=x, s=s), (x * s).T)


def layernorm():
    x, scale, bias = random(6, 50), random(50), random(50) + 1
    wanted = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * scale + bias
    close(call(LIBRARY, "norm", x=x, scale=scale, bias=bias), wanted, 1e-4)


def softmax():
    x = random(6, 50)
    close(call(LIBRARY, "shares", x=x), np.exp(x) / np.exp(x).sum(1, keepdims=True))


def adam():
    w, g, m, v = (random(100) + i for i in range(4))
    v = abs(v)
    got = call(LIBRARY, "adam", w=w, g=g, m=m, v=v, step=np.array(3), rate=np.float32(0.1))
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
    close(got["m"], m)
    close(got["w"], w - 0.1 * (m / (1 - 0.9**3)) / (np.sqrt(v / (1 - 0.999**3)) + 1e-8), 1e-5)


def rotated():
    x, angle = random(2, 5, 2, 8), random(5, 8)
    cosine, sine = np.cos(angle)[:, None], np.sin(angle)[:, None]
    wanted = np.concatenate([x[:, :, :1] * cosine - x[:, :, 1:] * sine, x[:, :, 1:] * cosine + x[:, :, :1] * sine], 2)
    close(call(LIBRARY, "turned", x=x, cosine=np.cos(angle), sine=np.sin(angle)), wanted)


def matmul():
    a, b = (bf16.to_bf16(random(*shape)) for shape in ((70, 40), (40, 33)))
    close(call("matmul.tsr", "f", half=True, a=a, b=b), a @ b, 2**-8)


def customised():
    """A kernel of the library, as it is and under another schedule: one result, two programs."""
    q, k, v = (random(1, 2, 40 + i, 64)[:, :, :40] for i in range(3))
    for entry in ("custom", "own"):
        close(call(CUSTOM, entry, q=q, k=k, v=v), language.attention(q, k, v))
    has(dump(CUSTOM, "sched", CPU), r"sched\.kernel @custom.*block = 32, ")


def derivatives():
    """Those of the ops, and those that a program gives."""
    x = random(5)
    gradient, pulled, pushed = call(DERIVED, "both", x=x).values()
    close(gradient, 8 + 2 * x, 1e-5)
    close(pulled, 3 * np.sin(x), 1e-5)
    close(pushed, 5 * x, 1e-5)


def respected():
    """A derivative goes through the update of a cache, and sees the random numbers that the value sees."""
    k = random(1, 2, 1, 4)
    state = {"cache__K": random(1, 2, 3, 4), "cache__V": random(1, 2, 3, 4), "cache__length": np.array(1)}
    got = call(RESPECTED, "through", w=np.float32(3), k=k, **state)
    close(got["dw"], k.sum(), 1e-5)
    close(got["cache.K"][:, :, 1], 3 * k[:, :, 0], 1e-6)
    x = np.ones(100, np.float32)
    dx, y = call(RESPECTED, "dropped", x=x, seed=np.array(3, np.uint64)).values()
    np.testing.assert_array_equal(dx, y)
    assert 20 < (y == 0).sum() < 80


ATTENTION = seeds("04")
INHERITED = seeds("05")
POLICIES = seeds("09")

PROGRAMS = {
    "modeling, kernels, distributed, deployment": both(attention, online),
    "Tiles, not threads": transposed,
    "Numerics, data movement, state, and parallelism are first-class": both(accum, rolling, by_hand),
    "one language for modeling, training, serving, and kernels": both(attention, online, trained),
    "Graph IR (autodiff & algebra/MLIR)": both(
        derivatives, shows("linear.tsr", "graph", r"gir\.gemm", target=CPU)),
    "everything overridable with explicit schedules": customised,
    "NVIDIA/AMD/Intel GPUs": shows("linear.tsr", "ptx", r"\.target sm_90a"),
    "reproducible by default; opt in to “fast-math/async nondet” modes": determinism,
    "Pythonic surface (or identical to Python)": python,
    "Tensor[S, D, f16] with S symbolic": symbolic,
    "static checks + runtime guards": run_time_guard,
    "Effects for randomness, IO, and distributed collectives": both(
        shows(EFFECTS, "graph", r'effects = \["rng"\]', target=CPU), refuses(IMPURE, r"\[impure-call\]"),
        *(refuses(DECLARED.replace("EFFECT", each), r"which is declared @pure: %s \[impure-call\]" % re.escape(each))
          for each in ("io", "collective(batch)"))),
    "fp8 in, bf16 accum, fp32 master": both(
        shows("f8.tsr", "graph", r"gir\.gemm %x, %w \{accum = f32\}", target=CPU), accum, optimizer),
    'mesh(devs).shard(W{"d_model"})': both(unplaced('mesh(devs).shard(W["d_model"])'), several_devices),
    "First-class autodiff (forward & reverse), custom VJP/JVP, checkpointing knobs": both(
        derivatives, recomputed),
    "jit, vmap, pmap, scan, checkpoint, remat, alpa_shard": both(
        symbolic, loops, recomputed, *(refused(name) for name in ("pmap", "alpa_shard"))),
    "Op fusion, rematerialization": both(
        shows("linear.tsr", "sched", r'epilogue = \["add", "gelu", "mul", "cast"\]'), recomputed),
    "memory planning with liveness": intervals,
    "NaN/Inf sentinels": poisoned,
    "loss-scales": no_effect(" @loss_scale(1024)", "", LOSS),
    "safe softmax/attention": both(safe("softmax"), attention),
    "custom ops bind straight to the kernel layer": transposed,
    "Tile-first SPMD DSL (a la Triton/Warp)": transposed,
    "tile.load/store": privilege,
    "dot/mma": matmul,
    "softmax_online": online,
    "Explicit memory spaces (global/shared/register)": spaces,
    "auto pipelining (prefetch, stages, cp.async)": both(
        stages, shows("linear.tsr", "ptx", r"cp\.async\.cg", target="cuda:sm_80")),
    "Tensor Core/MatrixCore lowering by default": both(
        shows("linear.tsr", "ptx", r"wgmma\.mma_async.*\.bf16\.bf16"),
        shows((HERE / "linear.tsr").read_text().replace("bf16", "f16"), "ptx", r"wgmma\.mma_async.*\.f16\.f16"),
        shows("linear.tsr", "ptx", r"mma\.sync", target="cuda:sm_80"),
        shows("linear.tsr", "asm", r"tdpbf16ps", target="cpu:x86-64-v4-amx")),
    "vector widths inferred, overridable": widths,
    'block(BM, BN).k(BK).warps(8).stages(3).vector(8).swizzle("xor")': chain(
        'block(BM, BN).k(BK).warps(8).stages(3).vector(8).swizzle("xor")',
        r'block = \{k = 16, m = 64, n = 32\}, stages = 3, swizzle = "xor", vector = 8, warps = 8'),
    "race checker (shared/global)": race,
    "bank-conflict linter, register-pressure estimator, roofline hints": lints,
    "PTX/TileIR/CuTE/CuTLASS": shows("linear.tsr", "ptx", r"\.target sm_90a"),
    "CPU/AMX": shows("linear.tsr", "asm", r"tdpbf16ps", target="cpu:x86-64-v4-amx"),
    "streams/graphs": launched(),
    "KV-cache manager": rolling,
    "tensor-level memory timelines": report(r"offset +bytes +tensor +steps 0 to \d", r"\|#+"),
    "perf-regressions caught in CI": counted,
    "seed discipline": seeds_of_numbers,
    "graph versioning": versioned,
    "artifact registry (fatbins + schedule cache)": variants,
    "AOT bundles for server/mobile/web": variants,
    "Tessera_Shape_System_Package": page("docs/language.md", "where", "Tensor["),
    "Static Shape Analysis": run_time_guard,
    "Shape Inference": lambda: has(tesserac(SYMBOLIC, "--shapes", f"--target={CPU}")[0],
                                     r"return Tensor\[S - 1, D, f16\]"),
    "batch sizes and sequence lengths as symbols": symbolic,
    "Runtime Shape Tracking": both(run_time_guard, traced),
    "Error Diagnostics": refuses(WINDOW, r":3:\d+: error: .*\[[a-z-]+\]", r"\^"),
    "Tensor[Dims…, DType @policy…]": POLICIES,
    "@accum(f32|bf16)": accum,
    "@stochastic_round": stochastic,
    "@loss_scale(k)": no_effect(" @loss_scale(1024)", "", LOSS),
    "@saturate": saturated,
    "fp32, tf32, bf16, fp16, fp8(e4m3|e5m2), int8/4": dtypes,
    "+ per-channel scales": channels,
    "softmax_safe": safe("softmax"),
    "layernorm_safe": safe("layernorm"),
    "rmsnorm_safe": safe("rmsnorm"),
    "logsumexp_safe": safe("logsumexp"),
    "fp8 matmul → fp32 accumulate → policy cast": f8_policy,
    'KVCache["B","H","S_max","D_h", dtype] @rolling_window @device(gpu)': rolling,
    "OptimizerState[param]": optimizer,
    "@fp32_master": optimizer,
    "@paged": no_effect(" @paged", "", STATE),
    "@checkpointable": no_effect(" @checkpointable", "", STATE),
    "append, prune, offload, prefetch": both(pruned, rolling),
    "with device(gpu[n])": no_effect("device(gpu[n])", 'prefetch(x, into="l2")', placed("device(gpu[n])")),
    'prefetch(obj, into="smem", overlap="compute")': both(
        unplaced('prefetch(x, into="smem", overlap="compute")'),
        warns(placed('prefetch(x, into="smem", overlap="compute")'), r"\[hint-no-effect\]", target=GPU)),
    "maps to DMA/TMA, double-buffering": both(stages, shows("linear.tsr", "ptx", r"cp\.async\.bulk\.tensor")),
    "on mesh(devs)": no_effect("    on mesh(devs)\n", "", placed("device(gpu[0])").replace(
        "    return y", "    on mesh(devs)\n    return y")),
    "with mesh(..., layout=...)": both(unplaced('mesh(devs, layout={"batch": "shard", "params": "replicate"})'),
                                       several_devices),
    '{"batch":"replicate", "seq":"shard", "params":"replicate"}': both(
        unplaced('mesh(devs, layout={"batch":"replicate", "seq":"shard", "params":"replicate"})'), several_devices),
    "map, reduce, scan, all_gather, all_reduce, all_to_all, pipeline": both(
        loops, *(refused(name) for name in ("all_gather", "all_reduce", "all_to_all", "pipeline"))),
    "pmap(fn, donate={...})": refused("pmap"),
    "transpose, broadcast": transposed,
    'global/shared/register with hints (vector=8, stages=3, swizzle="xor")': both(spaces, hints),
    "mask_causal, softmax_accumulate": online,
    "fused dropout option": dropped,
    "First-class Schedule IR": shows("linear.tsr", "sched", r"level\(schedule\)", r"sched\.tile"),
    ".block(m=[64,128], n=[64,128], k=[64]) .warps([4,8]) .stages([2,3]) .vector([4,8])": chain(
        "Schedule().block(m=[64,128], n=[64,128], k=[64]) .warps([4,8]) .stages([2,3]) .vector([4,8])",
        r"block = \{k = 64, m = 64, n = 64\}, stages = 2, vector = 4, warps = 4"),
    '@kernel.autotune(space=…, metric="latency_ms", budget_ms=200, cache="…")': tuned(METRIC),
    "Tile IR (tiles, collectives, memory ops)": shows("linear.tsr", "tile", r"tile\.alloc_shared", r"tile\.mma"),
    "All IRs are open & versioned; hashes define reproducible builds": versioned,
    "Effect-aware AD (respects state ops and collectives)": respected,
    "bounds-checked slices": both(refuses(WINDOW, r"error: "), poisoned),
    "race detector (shared/global)": race,
    "NVTX-style ranges, kernel timelines, roofline hints": report(r"estimate +bound by"),
    "Lowering inspector": inspector,
    "Graph IR + tuned schedules + fatbins; per-arch variants": variants,
    "ordered reductions, fixed tie-breakers": ties,
    "custom vjp/jvp, rematerialization, and checkpointing": both(derivatives, recomputed),
    "@jit @autodiff": shows(AUTODIFF, "graph", r"@f\(", r"@f\.forward\(", r"@f\.backward\(.*%d_f", target=CPU),
    'x: Tensor["B","S","D", bf16 @accum(f32)]': block,
    "cache: KVCache, *, heads: int, p: float": block,
    'with device(gpu), prefetch(cache, into="smem", overlap="compute"):': both(
        block, no_effect('device(gpu), prefetch(x, into="smem", overlap="compute")', "device(gpu[0])",
                       placed('device(gpu), prefetch(x, into="smem", overlap="compute")'))),
    "matmul(x, Wqkv)": block,
    "split_qkv(qkv, heads=heads)": block,
    "cache.append(k,v)": block,
    "flash_attention(q, cache, dropout=p, causal=True)": block,
    "residual(x, matmul(y, Wo), dropout=p)": block,
    "gelu(matmul(rmsnorm_safe(y), Wmlp_in)) @ Wmlp_out": block,
    "cast_like(y, x)": block,
    "space=dict(BM=[64,128], BN=[64,96,128], BD=[64,128]": tuned(),
    "warps=[4,8], stages=[2,3], vector=[4,8]": both(tuned(), ignored("vector=[4,8]", "vector=[8,4]", KERNEL)),
    'metric="latency_ms", budget_ms=180, cache="~/.sched"': tuned(METRIC),
    'KTile["B*H","S","D_h", bf16 @accum(f32)]': online,
    "dropout: float, causal: bool": both(online, dropped),
    "tile.context()": online,
    "T.m`, `T.d`, `T.vector": without("vector=T.vector, ", ""),
    "tile.load(q, rows=T.m, cols=T.d, vector=T.vector, prefetch=2)": without(", vector=T.vector, prefetch=2"),
    "tile.zeros((T.m,T.d), f32)": online,
    "tile.full((T.m,), -INF)": online,
    "tile.range_n(cache.K.shape, T.n, prefetch=2)": without("T.n, prefetch=2", "T.n"),
    "tile.load(cache.K, nblk, cols=T.d, vector=T.vector)": without(", vector=T.vector)", ")"),
    "tile.dot(Qb, tile.transpose(Kb)) * tile.rsqrt(float(T.d))": online,
    "tile.mask_causal(S, tile.row_index(), tile.col_index(nblk))": online,
    "P, m_c, l_c = tile.softmax_online(S)": online,
    "dropout_in_kernel(P, p=dropout)": dropped,
    "tile.softmax_accumulate(acc, m, l, P, Vb, m_c, l_c)": online,
    "tile.cast(acc / l[:,None], bf16)": online,
    "Standardized artifact format for schedule caches across vendors": lambda: contains(
        (ROOT / "stdlib/schedules/cpu-x86-64-v4.json").read_text(), '"format": 1', '"target"', '"kernels"'),
    "Formal semantics for numerics policies (rounding, overflow, determinism)": both(
        page("docs/numerics.md", "Rounding", "@saturate", "@stochastic_round"), saturated, stochastic),
    "@verify.numerics(stable=True, bounded=[-100, 100])": both(ATTENTION, promised),
    "@kernel.auto": ATTENTION,
    "q: Tile, k: Tile) -> Tile": ATTENTION,
    "k.T`, `sqrt(d)": ATTENTION,
    "base_schedule = Schedule(": INHERITED,
    "base_schedule.with_block(64, 64)": INHERITED,
    "def small_attention(...): ...": INHERITED,
    "base_schedule.with_warps(4)": INHERITED,
    "from tessera.stdlib import": both(layernorm, softmax, adam),
    "flash_attention_2": customised,
    "efficient_layernorm": layernorm,
    "stable_softmax": softmax,
    "fused_adam": adam,
    "rotary_embedding": rotated,
    "Pre-tuned, verified kernels": both(customised, layernorm, softmax, shows("linear.tsr", "sched", r"stages = 4")),
    "flash_attention_2.with_schedule(": customised,
}
