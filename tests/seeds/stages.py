"""Examples 14 to 16 and 20 to 25: stages of a compile, and what the first example becomes in each."""
import re
import shutil

from founding import BIN, ROOT, original, run

TILES = "TilingPass{tile_sizes=[128, 128]}"


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


def phases():
    """The names of example 16 with their options, as `tessera-opt --passes` takes them."""
    calls = re.findall(r"tessera\.passes\.(\w+)\((.*?)\)", original("16"))
    assert len(calls) == 13, calls
    return [name + (f"{{{options}}}" if options else "") for name, options in calls]


def until(last):
    """The phases of example 16 as far as one of them."""
    names = phases()
    return names[:[name.split("{")[0] for name in names].index(last) + 1]


def holds(text, *patterns):
    """Each pattern is found behind the one before it."""
    at = 0
    for pattern in patterns:
        found = re.compile(pattern).search(text, at)
        assert found, f"no {pattern} behind character {at} of\n{text[:4000]}"
        at = found.end()


def seed_16(seed):
    """tessera.PassPipeline([…]) is `tessera-opt --passes=` of the same names: the first example down to PTX."""
    code = seed.after(phases())
    holds(code, r"\.target sm_90a", r"\.visible \.entry flash_attention\$0\(")


def named(number):
    """Each name of a text is a row of docs/names.md."""
    rows = (ROOT / "docs/names.md").read_text().replace("\\|", "|")
    names = re.findall(r"`([^`]+)`", original(number))
    assert names
    for name in names:
        assert f"`{name.split(' {{')[0]}`" in rows or f"`{name}`" in rows, name


def seed_20(seed):
    """Attributes of a kernel: tile, stages, and an epilogue of bias, gelu and scale."""
    named("20")
    kernel = re.search(r"sched\.kernel @linear.*", seed.dump("sched", "cuda:sm_90a")).group(0)
    holds(kernel, r'epilogue = \["add", "gelu", "mul", "cast"\]',
          r"schedule = \{block = \{k = \d+, m = \d+, n = \d+\}.*stages = \d")
    holds(seed.dump("tile", "cuda:sm_90a"), r"tile\.kernel @linear", r"tile\.copy_async", r"tile\.barrier_wait",
          r"tile\.mma ", r"tile\.gelu", r"tile\.store_async")


def seed_21(seed):
    """Hints of one kernel; `vector` counts elements, eight of 16 bits in the 128 bits that the text means."""
    rows = (ROOT / "docs/names.md").read_text()
    assert original("21").split("** ")[1].rstrip(".\n") in rows
    kernel = re.search(r"sched\.kernel @hinted.*", seed.dump("sched", "cuda:sm_90a")).group(0)
    holds(kernel, r"schedule = \{block = \{k = 64, m = 128, n = 128\}, stages = 3, vector = 8\}")


def seed_22(seed):
    """Graph IR: attention that is causal, of four axes whose sizes are not known."""
    holds(seed.dump("graph", "cuda:sm_90a"), r"gir\.func @flash_attention\(%Q: tensor<B x H x S x D, bf16>, %K: ",
          r"gir\.flash_attention %Q, %K, %V, .*\{causal = true\}", r"gir\.return")


def seed_23(seed):
    """Schedule IR: programs for batch, heads and blocks of 128 rows; in each a loop over blocks of 128 keys that
    keeps a running softmax."""
    text = seed.after(until("TilingPass"))
    holds(text, r"sched\.kernel @flash_attention", r"block = 1, extent = <B>, grid = true",
          r"block = 1, extent = <H>, grid = true", r"block = 128, extent = <S>, grid = true",
          r"block = 128, extent = <N>, grid = false",
          r"sched\.tile", r"sched\.load %q", r"sched\.pipeline .*count = <\(\(N \+ 127\)//128\)>",
          r"sched\.load %k", r"sched\.load %v", r'sched\.reduce .*kind = "max"', r"sched\.exp2",
          r'sched\.reduce .*kind = "sum"', r"sched\.store .*%result")


def seed_24(seed):
    """Tile IR: tiles of queries, keys and values in shared memory, accumulators in registers, copies that are waited
    for, two products in a loop, and a division for each row at its end."""
    text = seed.after(until("SharedMemoryAllocationPass"))
    kernel = text[text.index("tile.kernel @flash_attention"):]
    shared = re.findall(r"view<\d x 128 x 128, bf16, .*space = shared.*tile\.alloc_shared", kernel)
    assert len(shared) >= 3, shared
    registers = r"tile<128 x 128, f32, #wgmma<acc, 128 x 128, warps = \d+>>"
    holds(kernel, r"tile\.barrier_expect", r"tile\.copy_async %q", r"tile\.for", r"tile\.copy_async ",
          r"tile\.copy_async %v",
          r"tile\.role .*\"mma\"", r"tile\.barrier_wait", r"tile\.for", rf"{registers} = tile\.mma ",
          r'tile\.reduce .*kind = "max"', r"tile\.exp2", rf"{registers} = tile\.mma ",
          r"= tile\.div ", rf"{registers} = tile\.mul ")


def seed_25(seed):
    """PTX: shared memory, bulk copies by tensor maps that barriers count, wgmma of both products, the second with
    weights
    in registers, a loop, code for sm_90a."""
    code = seed.after(phases())
    holds(code, r"\.version 8", r"\.target sm_90a", r"\.address_size 64", r"\.visible \.entry flash_attention",
          r"\.param \.u64", r"mbarrier\.init", r"cp\.async\.bulk\.tensor\.4d\.shared::cluster\.global", r"\n\$?\w+:",
          r"wgmma\.mma_async\.sync\.aligned\.m64n128k16\.f32\.bf16\.bf16 \{[^}]*\}, %d", r"ex2\.approx",
          r"wgmma\.mma_async\.sync\.aligned\.m64n128k16\.f32\.bf16\.bf16 \{[^}]*\}, \{", r"\tret;")
