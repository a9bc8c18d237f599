"""The design card."""
import json
import subprocess

from overview import cubin
from programs import (BIN, CPU, FOLDER, ROOT, both, bundle, call, close, contains, dump, has, np, page, random,
                      refuses, run, shows, tsr)

SCALE = """\
@jit
def f(x: Tensor[N, f32]):
    return 2.0 * x + 1.0
"""
MISMATCH = """\
@jit
def f(x: Tensor[B, 64, f32], w: Tensor[32, 8, f32]):
    return x @ w
"""
IMPURE = """\
@jit
@pure
def f(x: Tensor[B, 8, f32]):
    return x + normal(0.1, shape=x.shape, dtype=f32)
"""
NARROWING = """\
@jit
def f(x: Tensor[B, f32]) -> Tensor[B, bf16]:
    return x * 2.0
"""
PREPROCESSED = """\
%if defined(WIDE)
const D = 64
%else
const D = 8
%endif
@jit
def f(x: Tensor[D, f32]):
    return x + 1.0
"""
STDLIB = """\
from tessera.stdlib import stable_softmax

@jit
def f(x: Tensor[M, N, f32]):
    return stable_softmax(x)
"""


def runs():
    x = random(9)
    close(call(SCALE, "f", x=x), 2 * x + 1)


def front_end():
    """A lexer, a preprocessor, a parser, and an analysis that says what is wrong with shapes, effects and numerics."""
    refuses("@jit\ndef f(x: Tensor[N, f32]):\n    return x + $\n", r"\[unknown-character\]")()
    has(dump(PREPROCESSED, "graph", CPU, "-D", "WIDE"), r"tensor<64, f32>")
    has(dump(PREPROCESSED, "graph", CPU), r"tensor<8, f32>")
    refuses("@jit\ndef f(x: Tensor[N, f32])\n    return x\n", r": error: ")()
    refuses(MISMATCH, r"\[shape-mismatch\]")()
    refuses(IMPURE, r"\[impure-")()
    refuses(NARROWING, r"\[narrowing\]")()


def stdlib():
    x = random(5, 33)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    close(call(STDLIB, "f", x=x), e / e.sum(axis=1, keepdims=True))
    has(dump(STDLIB, "sched", CPU), r"sched\.kernel @.*softmax")
    table = json.loads((ROOT / "stdlib/schedules/cpu-x86-64-v4.json").read_text())
    assert any(name.endswith(".matmul") for name in table["kernels"]), table["kernels"].keys()


def language_server():
    """It answers the first message of an editor."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize",
                       "params": {"processId": None, "rootUri": None, "capabilities": {}}})
    result = subprocess.run([BIN / "tessera-lsp"], input=f"Content-Length: {len(body)}\r\n\r\n{body}", text=True,
                            capture_output=True, timeout=60)
    has(result.stdout, r'"capabilities"', r'"hoverProvider"')


def standalone():
    """One file, which the runtime alone reads: neither source nor compiler is asked for."""
    tsr("verify", bundle(SCALE))
    libraries = run("ldd", BIN / "tsr")
    assert "LLVM" not in libraries and "libtessera" in libraries, libraries
    runs()


def compiles_a_bundle():
    """For the targets that are there without --target."""
    model = FOLDER / "model.tsr"
    model.write_text(SCALE)
    run(BIN / "tesserac", model, "-o", FOLDER / "model.bundle")
    has(tsr("inspect", FOLDER / "model.bundle"), r"target +cpu:x86-64-v3", r"target +cpu:x86-64-v4",
        r"f\(x: f32\[N\]\)")


PROGRAMS = {
    "kind: textual language compiler with its own frontend": both(
        runs, shows(SCALE, "graph", r"gir\.func @f", target=CPU)),
    "ANTLR4 C++ runtime": both(page("tools/setup.sh", "antlr4"), page("grammar/TesseraParser.g4", "parser grammar"),
                               refuses("def f(:\n    pass\n", r": error: ")),
    "LLVM": shows(SCALE, "llvm", r"define .*@", target=CPU),
    "CUDA Toolkit": cubin,
    "CLI11": both(page("src/tools/tesserac/main.cc", "CLI"), lambda: has(run(BIN / "tesserac", "--help"), "--target")),
    "fmt": page("src/tools/driver/compile.cc", "fmt/format.h"),
    "Catch2": page("tests/CMakeLists.txt", "Catch2"),
    "libFuzzer": page("fuzz/CMakeLists.txt", "fuzzer"),
    "CMakeLists.txt, grammar, src/frontend, src/ir, src/passes, src/codegen, stdlib, runtime, tests, fuzz, README.md":
        lambda: [contains("\n".join(path.name for path in (ROOT / folder).iterdir()), *names) for folder, names in (
            (".", ("CMakeLists.txt", "grammar", "stdlib", "runtime", "tests", "fuzz", "README.md")),
            ("src", ("frontend", "ir", "passes", "codegen")))],
    "lexer, preprocessor, parser, and a semantic analyzer that checks shapes, effects, and numerics policies":
        front_end,
    "hand-rolled four-level SSA IR": shows(
        "linear.tsr", "graph,sched,tile,target", r"level\(graph\)", r"level\(schedule\)", r"level\(tile\)",
        r"level\(target\)"),
    "to LLVM and PTX": both(shows("linear.tsr", "llvm", r"define .*@", target=CPU),
                            shows("linear.tsr", "ptx", r"\.visible \.entry")),
    "linking against a bundled stdlib of tuned kernels": stdlib,
    "tesserac model.tsr -o model.bundle": compiles_a_bundle,
    "--dump=tirh,tirt,ptx": shows("linear.tsr", "tirh,tirt,ptx", r"level\(graph\)", r"level\(schedule\)",
                                  r"level\(tile\)", r"level\(target\)", r"\.visible \.entry"),
    "language server for editors": language_server,
    "standalone AOT bundles": standalone,
}
