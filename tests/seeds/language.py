"""Examples 01 to 13: the language."""
import re

import numpy as np

from founding import BIN, bf16, close, original, random, refuse, run, safetensors_io, save, schedule_of


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
    assert "wgmma.mma_async" in seed.assemble()


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
    # The seed of what is dropped is hidden: an input of the entry, and of no entry that drops nothing.
    shown = run(BIN / "tsr", "inspect", seed.bundle)
    assert re.findall(r"(\w+)\(.*seed: u64\[\] = 0\)", shown) == ["train"], shown
    dropped = [seed.call("train", "train.0", params=params, half=True, x=x, seed=np.array(number, np.uint64), **held)
               for number in range(12)]
    assert np.abs(dropped[0] - dropped[1]).max() > 0.1 and np.isfinite(dropped).all()
    assert np.abs(np.mean(dropped, axis=0) - got).mean() < 0.5 * np.abs(dropped[0] - got).mean()


def seed_03(seed):
    """With a cache of 96 positions that holds 70, of which the last 20 are the rows."""
    seed.compile()
    q, keys, values = (bf16.to_bf16(random(2, 3, n, 64)) for n in (20, 96, 96))
    got = seed.call("attend", "attend", half=True, q=q, keys=keys, values=values, held=np.array(70))
    close(got, attention(q, keys, values, 70), 1.6e-2)

    def weights(first, number):
        """Those of 64 keys from `first` on, which values of one 1 each show, after a quarter of them was dropped."""
        ones = np.zeros((2, 3, 96, 64), np.float32)
        ones[:, :, first:first + 64] = np.eye(64)[:96 - first]
        given = {"q": q, "keys": keys, "values": ones, "held": np.array(70), "seed": np.array(number, np.uint64)}
        return seed.call("drop", "drop", half=True, **given), attention(q, keys, ones, 70)

    draws = ((0, 5), (0, 5), (0, 6), (32, 5))
    (got, whole), (again, _), (other, _), (behind, all_behind) = (weights(*given) for given in draws)
    np.testing.assert_array_equal(got, again)
    seen = whole > 1e-4
    assert abs((got == 0)[seen].mean() - 0.25) < 0.02, (got == 0)[seen].mean()
    kept = seen & (got != 0)
    close(got[kept], whole[kept] / 0.75, 1.6e-2)
    assert ((got == 0) != (other == 0))[seen].mean() > 0.3  # another seed, other weights: 2 * 0.25 * 0.75 of them
    assert ((got[0] == 0) != (got[1] == 0))[seen[0] & seen[1]].mean() > 0.3
    both = seen[..., 32:] & (all_behind[..., :32] > 1e-4)
    np.testing.assert_array_equal((got[..., 32:] == 0)[both], (behind[..., :32] == 0)[both])
    code = seed.assemble()
    assert "mma" in code and "cp.async.bulk.tensor" in code


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
    graph("x: Tensor[B, D, fp16 @loss_scale(1024)]")
    graph("x: Tensor[B, D, fp8(e4m3) @saturate]")
    for dtype in ("fp32", "tf32", "bf16", "fp16", "fp8(e4m3)", "fp8(e5m2)", "int8", "int4"):
        assert dtype.split("(")[0].rstrip("48") in text, dtype
        if dtype != "int4":
            graph(f"x: Tensor[B, D, {dtype}]")
    # Numbers of 4 bits are no dtype of memory: between functions they have it.
    graph("x: Tensor[B, D, int8]", "return twice(cast(x, int4))",
          "def twice(x: Tensor[B, D, int4]):\n    return cast(x, int8) * 2\n")
    graph("x: Tensor[B, D, f32], w: Tensor[D, F, int8], scale: Tensor[F, f32]", "return matmul_weights(x, w, scale)",
          "from tessera.nn import matmul_weights")
    for primitive in re.findall(r"\w+_safe", text):
        graph("x: Tensor[B, D, bf16]", f"return {primitive}(x)", f"from tessera.nn import {primitive}")
    product = graph("x: Tensor[B, 64, fp8(e4m3)], w: Tensor[64, F, fp8(e4m3)]",
                    "y: Tensor[B, F, bf16] = x @ w\n    return y")
    assert "gir.gemm %x, %w {accum = f32}" in product and "gir.cast" in product, product


def seed_10(seed):
    """Types of state and what may be done with it, each with its effect."""
    text = original("10")
    source = seed.source.read_text()
    for policies in re.findall(r"@\w+(?:\(\w+\))?", text):
        assert policies in source, policies
    for effect in re.search(r"\((.*)\)\.", text).group(1).split(", "):
        assert f".{effect}(" in source, effect
    seed.compile()
    shown = run(BIN / "tsr", "inspect", seed.bundle)
    assert len(re.findall(r"effects state\(cache\)", shown)) == 2 and "effects state(state)" in shown, shown
    state = {"cache.K": random(1, 2, 3, 4), "cache.V": random(1, 2, 3, 4), "cache.length": np.array(4)}
    k, v = random(1, 2, 1, 4), random(1, 2, 1, 4) + 1
    wanted = state["cache.V"].copy()
    wanted[:, :, 4 % 3] = v[:, :, 0]
    np.testing.assert_array_equal(seed.call("turn", "cache.V", k=k, v=v, **state), wanted)
    assert seed.call("turn", "cache.length", k=k, v=v, **state) == 5
    assert seed.call("back", "cache.length", **state) == 2
    held = {f"state.{part}": random(16, 8) for part in ("m", "v", "master")}
    assert seed.call("count", "state.step", **held, **{"state.step": np.array(6)}) == 7


def seed_11(seed):
    seed.compile()
    x = random(5, 64)
    close(seed.call("placed", "y", obj=x), (x + 1) * 2)
    hints = run(BIN / "tsr", "inspect", seed.bundle, "--ir", "graph")
    assert '{into = "smem", kind = "prefetch", of = "obj", overlap = "compute"}' in hints, hints
    assert '{device = "gpu[0]", kind = "device"}' in hints, hints


def seed_12(seed):
    """Layouts of a mesh are typed; transforms are there, and what works on several devices are names that say that they
    are not there yet."""
    text = original("12")
    layout = re.search(r"\{\"batch.*\}", text).group(0)
    assert layout in seed.source.read_text(), layout
    seed.compile()
    x = random(2, 3, 8)
    np.testing.assert_array_equal(seed.call("laid_out", "y", x=x), x * 2)
    there = {"map": "map(lambda v: v * 2.0, x)", "reduce": "reduce(lambda a, v: a + v, x, zeros((), f32))",
             "scan": "scan(lambda a, v: (a + v, a), zeros((), f32), x)[0]", "vmap": "vmap(lambda v: v * 2.0)(x)"}
    for name in re.search(r"- (map.*)\.\n", text).group(1).split(", ") + ["pmap", "vmap"]:
        assert name in text, name
        if name in there:
            seed.source.write_text(f"@jit\ndef f(x: Tensor[B, f32]):\n    y = {there[name]}\n    return y\n")
            seed.compile()
            x = random(6)
            close(seed.call("f", "y", x=x), x * 2 if name in ("map", "vmap") else x.sum())
            continue
        seed.source.write_text(f"@jit\ndef f(x: Tensor[B, f32]):\n    return {name}(lambda y: y)(x)\n")
        message = refuse(BIN / "tesserac", seed.source, "-o", seed.bundle)
        assert f"error: '{name}' cannot be compiled yet [unsupported-construct]" in message, message


def seed_13(seed):
    seed.compile()
    x, weights = random(5, 12), random(12, 8)
    params = seed.folder / "params.safetensors"
    save(params, "W", weights)
    close(seed.call("sharded", "y", params=params, x=x), x @ weights)


