#!/usr/bin/env python3
"""docs/language.md and docs/grammar.md name the dtypes, keywords and limits that there are, and what cannot be compiled
yet; docs/diagnostics.md and docs/formatting.md show what the tools print, and options of messages that there are.

Usage: language_test.py BUILD_DIR [--bless]; --bless writes what is printed into the pages.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import pages

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from usage import build_folder

DOCS = pages.ROOT / "docs"
# For each line of "Not compiled yet", programs that it is about: a part of the line, and their bodies.
NOT_YET = {
    "regions with privileges": ["x: Region[read] Tensor[B, f32]): return x"],
    "pmap": ["x: Tensor[B, f32]): return pmap(relu)(x)"],
    "meshes": ["x: Tensor[B, f32]):\n    with mesh(gpu[0:2]): return x"],
    "masks": ["x: Tensor[B, f32], m: Tensor[B, bool]): return x[m]",
              "x: Tensor[B, 8, 8, f32], i: Tensor[B, i32]): return x[i, :, i]"],
    "einsum": ["x: Tensor[B, B, f32]): return einsum(\"nn->n\", x)"],
    "`return` in a run-time loop": ["x: Tensor[B, f32]):\n    for i in range(B): return x\n    return x",
                                    "x: Tensor[B, f32]):\n    while max(x) > 0.0:\n"
                                    "        x = x - normal(1.0, shape=(B,), dtype=f32)\n    return x"],
    "of f64": [f"x: Tensor[B, f64]): return {each}" for each in ("x % x", "sin(x)", "cos(x)", "pow(x, x)")],
    "a tuple or a list": ["x: (Tensor[B, f32], Tensor[B, f32])): return x[0]", "x: [Tensor[B, f32]] * 2): return x[0]",
                          "x: Tensor[B, f32], s: str): return x", "x: Tensor[B, f32], s: Schedule): return x"],
    "default": ["x: Tensor[B, f32], s: f32 = 1.0): return x * s"],
}
REFUSED = {"unsupported-construct", "return-in-loop"}


class Compiler:
    """tesserac, on texts."""

    def __init__(self, build, folder):
        self.program, self.folder = build / "bin/tesserac", pathlib.Path(folder)

    def graph(self, text):
        """The dump of a program, or what is said of it."""
        (self.folder / "f.tsr").write_text(text)
        done = subprocess.run([self.program, "f.tsr", "--dump=graph"], cwd=self.folder, capture_output=True, text=True,
                              timeout=pages.SECONDS, check=False)
        return done.stdout + done.stderr

    def help(self):
        done = subprocess.run([self.program, "--help"], capture_output=True, text=True, timeout=pages.SECONDS,
                              check=True)
        return re.sub(r"\s+", " ", done.stdout)


def table(text, head):
    """The rows of the table with these words as its first columns."""
    part = text.split(f"| {head} ", 1)[1].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines()[2:]]


def dtype_problems(compiler, text):
    """Each spelling of a dtype is that dtype, in a row of several the one in the same place."""
    count = 0
    for dtypes, _, others in table(text, "dtype | values | other spellings"):
        dtypes, spellings = dtypes.strip("`").split(), " ".join(re.findall(r"`([^`]+)`", others)).split()
        named = dtypes if len(dtypes) > 1 else dtypes * len(spellings)
        for dtype, spelling in [*zip(dtypes, dtypes), *zip(named, spellings)]:
            count += 1
            said = compiler.graph(f"@jit\ndef f(x: Tensor[B, {spelling}]): return x\n")
            if ("'x' is i4," if dtype == "i4" else f"%x: tensor<B, {dtype}>") not in said:
                yield f"{spelling} is not {dtype}:\n{said}"
    if count != 43:
        yield f"{count} spellings of dtypes"


def not_yet_problems(compiler, text):
    """What cannot be compiled yet is refused as such, and each line about it has a program."""
    lines = re.findall(r"^- ((?:.|\n  )*?)[.;]$", text.split("\n## Not compiled yet\n")[1], re.M)
    for part, bodies in NOT_YET.items():
        if sum(part in line for line in lines) != 1:
            yield f"no line of 'Not compiled yet' has '{part}'"
        for body in bodies:
            said = compiler.graph(f"@jit\ndef f({body}\n")
            tags = re.findall(r"error: .*\[([a-z0-9-]+)\]$", said, re.M)
            if len(tags) != 1 or tags[0] not in REFUSED:
                yield f"{tags} for what cannot be compiled yet:\n{body}"
    yield from (f"no program shows: {line}" for line in lines if not any(part in line for part in NOT_YET))


def limit_programs():
    """By subject in the table of limits: a program at the limit, and one beyond it."""
    def both(make):
        return lambda limit: (make(limit), make(limit + 1))

    return {
        "nesting of brackets": both(lambda n: "x = " + "(" * n + "1" + ")" * n + "\n"),
        "nesting of blocks": both(lambda n: "def f(x):\n" + "".join(" " * i + "if x:\n" for i in range(1, n))
                                  + " " * n + "pass\n"),
        "prefix operators": both(lambda n: "x = " + "- " * n + "1\n"),
        "`elif` branches": both(lambda n: "def f(x):\n  if x: pass\n" + "  elif x: pass\n" * n),
        "nesting of macros": both(lambda n: "%define A0 1\n" + "".join(f"%define A{i} A{i - 1}\n" for i in range(1, n))
                                  + f"x = A{n - 1}\n"),
    }


def limit_problems(compiler, text):
    """Programs at a limit compile, and those beyond it do not."""
    rows = {row[0]: int(row[1].replace(",", "")) for row in table(text, "subject | maximum") if "MiB" not in row[1]}
    for subject, make in limit_programs().items():
        found = [limit for row, limit in rows.items() if row.startswith(subject)]
        if len(found) != 1:
            yield f"no limit of {subject}"
            continue
        within, beyond = make(found[0])
        if "error:" in compiler.graph(within):
            yield f"{subject}: {found[0]} is refused:\n{compiler.graph(within)[-300:]}"
        if "[unsupported-" not in compiler.graph(beyond):
            yield f"{subject}: more than {found[0]} is taken"


def keyword_problems(compiler, text):
    """Keywords are no names, and the words that are keywords in places are."""
    section = text.split("### Keywords")[1].split("\n## ")[0]
    hard = re.search(r"^`([^`]+)`$", section, re.M)[1].split()
    soft = [word for row in table(section, "word |") for word in row[0].strip("`").split()]
    for word in hard:
        if "error:" not in compiler.graph(f"{word} = 1\n"):
            yield f"{word} can be a name"
    for word in soft:
        if "error:" in compiler.graph(f"def f({word}): return {word}\n{word} = 1\n"):
            yield f"{word} cannot be a name"
    if len(hard) != 21 or len(soft) != 7:
        yield f"{len(hard)} keywords, and {len(soft)} that are in places"


def option_problems(compiler, language, diagnostics):
    """The options and the numbers of the pages are in the compiler's help."""
    said = compiler.help()
    for option in re.findall(r"`(--?[\w-]+)", diagnostics):
        name = re.sub(r"^-W.*", "-W", option)
        if not re.search(rf"(?<![\w-]){name}(?![\w-])", said):
            yield f"docs/diagnostics.md: {option} is not in the help"
    steps = re.search(r"([\d,]+) \(`--max-eval-steps`\)", language)[1].replace(",", "")
    memory = re.search(r"(\d+) GB \(`--max-eval-memory", language)[1]
    for option, value in (("--max-eval-steps COUNT", steps), ("--max-eval-memory SIZE", memory + "GB")):
        if re.search(rf"{option} .*?\(default: (\w+)\)", said)[1] != value:
            yield f"docs/language.md: the default of {option} is not {value}"


def main():
    language, grammar = (DOCS / "language.md").read_text(), (DOCS / "grammar.md").read_text()
    with tempfile.TemporaryDirectory() as folder:
        compiler = Compiler(build_folder(), folder)
        problems = [*dtype_problems(compiler, language), *not_yet_problems(compiler, language),
                    *limit_problems(compiler, grammar), *keyword_problems(compiler, grammar),
                    *option_problems(compiler, language, (DOCS / "diagnostics.md").read_text())]
    for problem in problems:
        print(problem)
    return pages.main([DOCS / "diagnostics.md", DOCS / "formatting.md"], 3) or bool(problems)


if __name__ == "__main__":
    sys.exit(main())
