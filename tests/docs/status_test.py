#!/usr/bin/env python3
"""docs/status.md says what the compiler does: targets, features and instructions are read from what it compiles for
each target, refusals from its messages, and figures are those that bench/NOTES.md has.

Usage: status_test.py BUILD_DIR
"""
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from usage import build_folder

ROOT = pathlib.Path(__file__).resolve().parents[2]
FEATURES = ROOT / "tests/docs/status/features.tsr"
# Of a processor's instructions the one that a matmul is made of; the first ones are those of matrix units and of pairs.
SPECIAL = ("tdpbf16ps", "vdpbf16ps", "wgmma", "mma.sync")
MATMUL = """@jit
def entry(a: Tensor[256, 512, {0}], b: Tensor[512, 256, {0}]):
    return a @ b
"""
SCALED = """from tessera.nn import matmul_scaled

@jit
def entry(a: Tensor[256, 512, {0}], b: Tensor[512, 256, {0}]):
    return matmul_scaled(a, b, 0.5, 0.5)
"""
NUMBER = r"(?<![\w.])\d+(?:\.\d+)?(?![\w]|\.\d)"
SIZE = r"\d+³|\d+ x \d+"
# By the first cell of the table "Not there yet": programs, each with the tag of its error.
REFUSED = {
    "`pmap`": [
        "def f(x: Tensor[N, f32]):\n    return sum(x)\n\n@jit\ndef g(x: Tensor[N, f32]):\n"
        f"    return {name}(f)(x)\n" for name in ("pmap",)],
    "a derivative of a kernel without a rule": [
        "@kernel\ndef twice(x: Tensor[N, f32]) -> Tensor[N, f32]:\n    t = tile.context(n=N)\n"
        "    return tile.load(x) * 2.0\n\n@jit\ndef g(x: Tensor[N, f32]):\n"
        "    return grad(lambda x: sum(twice(x)))(x)\n"],
    "`with` a mesh of devices": [
        'm = mesh(gpu[0:8], layout={"data": "shard"})\n\n@jit\ndef f(x: Tensor[N, f32]):\n'
        "    with m:\n        return x * 2.0\n"],
    "a mask as a subscript": ["@jit\ndef f(x: Tensor[N, f32]):\n    return x[x > 0.0]\n"],
    "`sin`, `cos`, `pow`, `%` of `f64`": [f"@jit\ndef f(x: Tensor[N, f64]):\n    return {text}\n"
                                          for text in ("sin(x)", "cos(x)", "pow(x, x)", "x % 3.0")],
    "a `return` in a run-time loop": [
        "@jit\ndef f(x: Tensor[N, f32], n: Tensor[i64]):\n    for i in range(n):\n        return x\n    return x\n"],
}


def section(page, title):
    return re.split(r"^## ", page.split(f"\n## {title}\n")[1], flags=re.M)[0]


def table(text):
    """The rows of the first table, as lists of cells; the first one is the header."""
    lines = re.search(r"(?:^\|.*\n)+", text, re.M)[0].splitlines()
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return rows[:1] + rows[2:]


class Compiler:
    def __init__(self, build):
        self.programs = pathlib.Path(build).resolve() / "bin"

    def run(self, source, *options):
        """Status and both streams, of a source given as text."""
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "f.tsr").write_text(source)
            done = subprocess.run([self.programs / "tesserac", "f.tsr", *options], cwd=folder, capture_output=True,
                                  text=True, timeout=300, check=False)
            return done.returncode, done.stdout + done.stderr

    def targets(self):
        status, text = self.run("", "--target=none")
        return set(re.search(r"targets are: (.*)", text)[1].split(", ")) - {"host"}


def check_targets(page, compiler):
    named = {row[0].strip("`") for row in table(section(page, "Targets"))[1:]}
    if named != compiler.targets():
        yield f"the targets are {sorted(compiler.targets())}, and the page has {sorted(named)}"


def check_features(page, compiler):
    named = {row[0].strip("`") for row in table(section(page, "Features"))[1:]}
    source = FEATURES.read_text()
    entries = set(re.findall(r"^@jit\ndef (\w+)", source, re.M))
    if named != entries:
        yield f"features of the page and entries of {FEATURES.name} differ: {sorted(named ^ entries)}"
    status, text = compiler.run(source, "--target=" + ",".join(sorted(compiler.targets())), "-o", "f.bundle")
    if status or "warning" in text:
        yield f"{FEATURES.name} does not compile for every target:\n{text}"


def check_instruction(compiler, dtype, target, cell):
    named = cell.strip("`")
    stage = "ptx" if target.startswith("cuda") else "asm"
    source = (SCALED if dtype.startswith("f8") else MATMUL).format(dtype)
    status, text = compiler.run(source, f"--target={target}", f"--dump={stage}", "-o", "-")
    special = [name for name in SPECIAL if name in text]
    if status or not named or named not in text:
        return f"{dtype} for {target} does not have {named or 'an instruction'}"
    if special != ([named] if named in SPECIAL else []):
        return f"{dtype} for {target} has {special}, and the page says {named}"
    return None


def check_instructions(page, compiler):
    header, *rows = table(section(page, "Instructions of a matmul"))
    cases = [(row[0].strip("`"), header[i].strip("`"), row[i]) for row in rows for i in range(1, len(header))]
    if {target for _, target, _ in cases} - compiler.targets() or len(cases) < 42:
        yield "the table of instructions has other targets, or too few rows"
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        yield from filter(None, pool.map(lambda case: check_instruction(compiler, *case), cases))


def check_refused(page, compiler):
    rows = table(section(page, "Not there yet"))[1:]
    if {row[0] for row in rows} != set(REFUSED):
        yield f"'Not there yet' and the programs of this test differ: {sorted({row[0] for row in rows} ^ set(REFUSED))}"
    for name, answer in rows:
        tag = re.match(r"`([\w-]+)`", answer)[1]
        for source in REFUSED.get(name, []):
            status, text = compiler.run(source)
            if status == 0 or f"[{tag}]" not in text:
                yield f"{name}: not refused with {tag}:\n{text}"


def figures_of(page):
    """The rows of tables of measurements, which end with a record: line, sizes of the case, figures, day, commit."""
    for line in page.splitlines():
        record = re.search(r"\| ([\d-]{10}), (\w{7,12}) \|$", line)
        if record:
            cells = line.split("|")[1:-2]
            yield line, re.findall(SIZE, cells[0]), re.findall(NUMBER, "|".join(cells[1:])), record[1], record[2]


def units_of(section):
    """What stands together: each row of a table with its header, each paragraph, each item of a list."""
    for paragraph in re.split(r"\n\n|\n(?=- )", section):
        rows = paragraph.splitlines()
        if not rows or not rows[0].startswith("|"):
            yield paragraph
            continue
        for row in rows[2:]:
            yield rows[0] + row


def check_figures(page, name):
    """Each row is recorded: one unit of bench/NOTES.md has its sizes and its figures, in a section of its record."""
    sections = re.split(r"^## ", (ROOT / "bench/NOTES.md").read_text(), flags=re.M)
    count = 0
    for line, sizes, numbers, day, commit in figures_of(page):
        count += 1
        recorded = [section for section in sections if re.search(rf"^Recorded: .*{day}.*\b{commit}\b", section, re.M)]
        units = [unit for section in recorded for unit in units_of(section)
                 if set(sizes) <= set(re.findall(SIZE, unit)) and set(numbers) <= set(re.findall(NUMBER, unit))]
        if not numbers or not units:
            yield f"{name}: bench/NOTES.md does not have together, recorded at {day}, {commit}: {line}"
    if count < 5:
        yield f"{name}: {count} recorded figures"


def check_same_figures(readme, status):
    """Each figure of README.md is one of docs/status.md, of the same record."""
    rows = list(figures_of(status))
    for line, sizes, numbers, *record in figures_of(readme):
        if not any(record == of and set(sizes) <= set(other_sizes) and set(numbers) <= set(other_numbers)
                   for _, other_sizes, other_numbers, *of in rows):
            yield f"README.md: no row of docs/status.md has these figures of this record: {line}"


def main():
    compiler = Compiler(build_folder())
    page, readme = (ROOT / "docs/status.md").read_text(), (ROOT / "README.md").read_text()
    wrong = [*check_targets(page, compiler), *check_features(page, compiler), *check_instructions(page, compiler),
             *check_refused(page, compiler), *check_figures(page, "docs/status.md"),
             *check_figures(readme, "README.md"), *check_same_figures(readme, page)]
    print("\n".join(wrong) or "docs/status.md and README.md say what is")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
