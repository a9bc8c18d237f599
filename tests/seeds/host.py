"""Examples 17 to 19: the C interface, a launch through it, and a kernel's metadata."""
import os
import re

import numpy as np

from founding import BIN, BUILD, ROOT, bf16, original, random, run

INCLUDE = ROOT / "runtime/include"
# A library with sanitizers is for programs with them.
SANITIZERS = ["-fsanitize=address,undefined"] if {"ASAN_OPTIONS", "UBSAN_OPTIONS"} & os.environ.keys() else []
STANDARD = "#include <stddef.h>\n#include <stdint.h>\n"


def c_text(number):
    """The C of a text, whose braces are written twice and which a fence encloses."""
    return re.sub(r"```c?\n?", "", original(number)).replace("{{", "{").replace("}}", "}")


def accepts(seed, text):
    source = seed.folder / "text.c"
    source.write_text(text)
    run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{INCLUDE}", source)


def seed_17(seed):
    """The declarations stand by themselves, each function may be declared again after tessera.h, and its types are
    those of the header."""
    text = c_text("17")
    accepts(seed, STANDARD + text)
    functions = re.findall(r"^tsr_status_t \w+\(.*\);$", text, re.MULTILINE)
    assert len(functions) == 7, functions
    structs = re.findall(r"^typedef struct \w+\* +\w+;$", text, re.MULTILINE)
    assert len(structs) == 4, structs
    checks = ["#include <tessera.h>", *structs, *functions]
    values = re.search(r"typedef enum \{ (.*?) \}", text).group(1).replace("=0", "").split(", ")
    checks += [f'_Static_assert({name} == {value}, "{name}");' for value, name in enumerate(values)]
    launch = re.search(r"typedef struct \{(.*?)\} tsr_launch_t;", text, re.DOTALL).group(1)
    checks.append(f"typedef struct {{{launch}}} launch;")
    checks.append('_Static_assert(sizeof(launch) == sizeof(tsr_launch_t), "launch");')
    for field in re.findall(r"\w+(?=[,;])", launch):
        checks.append(f'_Static_assert(offsetof(launch, {field}) == offsetof(tsr_launch_t, {field}), "{field}");')
    accepts(seed, "\n".join(checks) + "\n")


def seed_18(seed):
    """The flow as it is written, of the kernel that it names, in a program that fills and compares its matrices."""
    image, program = seed.folder / "tile_linear.bundle", seed.folder / "flow"
    run(BIN / "tesserac", ROOT / "examples/tile_linear/tile_linear.tsr", "-o", image)
    source = (ROOT / "tests/seeds/18.c").read_text()
    (seed.folder / "flow.c").write_text(source.replace("/* the flow */", c_text("18")))
    library = BUILD / "lib"
    run("cc", "-std=c99", "-Wall", "-Werror", *SANITIZERS, f"-I{INCLUDE}", seed.folder / "flow.c", f"-L{library}",
        "-ltessera", f"-Wl,-rpath,{library}", "-o", program)
    a, b = (bf16.to_bf16(random(*shape)) for shape in ((200, 96), (96, 150)))
    for name, value in (("a", a), ("b", b)):
        (seed.folder / name).write_bytes((value.view(np.uint32) >> 16).astype("<u2").tobytes())
    run(program, image, seed.folder / "a", seed.folder / "b", seed.folder / "c")
    words = np.frombuffer((seed.folder / "c").read_bytes(), "<u2").astype(np.uint32) << 16
    y = a.astype(np.float64) @ b
    wanted = 0.5 * y * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3)))
    error = np.abs(words.view(np.float32).reshape(200, 150) - wanted) / (np.abs(wanted) + 0.01)
    assert error.max() < 2**-8 * 1.01, f"relative error {error.max()}"


def fields(text):
    """Keys and values of the lines `key: value` and `key: {key: value, …}`."""
    found = {}
    for line in text.replace("{{", "{").replace("}}", "}").splitlines():
        key, _, value = line.partition(": ")
        inner = re.fullmatch(r"\{(.*)\}", value)
        found[key] = dict(re.findall(r"(\w+): (\[.*?\]|[^,]*)", inner.group(1))) if inner else value
    return found


def seed_19(seed):
    """The metadata's keys with values of the same kinds; those of the launch and of the tile are the same."""
    bundle = seed.folder / "tile_linear.bundle"
    run(BIN / "tesserac", ROOT / "examples/tile_linear/tile_linear.tsr", "--target=cuda:sm_90a", "-o", bundle)
    wanted, got = fields(original("19")), fields(run(BIN / "tsr", "inspect", "--yaml", bundle))
    assert got["name"] == wanted["name"]
    tile = {key if key == "stages" else key.lower(): value for key, value in wanted["tile"].items()}
    assert got["tile"] == tile, got["tile"]
    for key in ("fragments", "resources", "launch"):
        assert wanted[key].keys() <= got[key].keys(), got[key]
    assert re.fullmatch(r"\d+x\d+x\d+", got["fragments"]["mma"]), got["fragments"]
    assert got["fragments"]["dtype_in"] == "bf16" and got["fragments"]["dtype_acc"] == "f32", got["fragments"]
    assert re.fullmatch(r"\d+", got["resources"]["regs_per_thread"]), got["resources"]
    assert re.fullmatch(r"\d+KB", got["resources"]["smem_per_cta"]), got["resources"]
    assert got["launch"]["block"] == wanted["launch"]["block"], got["launch"]
    assert re.fullmatch(r"\[.*\]", got["epilogue"]), got["epilogue"]
