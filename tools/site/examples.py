"""Finds an example of each function and op: a tested program of the documentation, of the examples or of the tests."""
import dataclasses
import re

LONGEST = 24  # lines
FENCED = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
OP = re.compile(r"(%[\w, :%<>.\[\]-]* = )?(gir|sched|tile|host|target|tir|nv|x86)\.\w+")
# Pages whose programs a test compiles, those that explain first.
PAGES = ("language.md", "kernels.md", "tutorial/*.md", "schedules.md", "numerics.md", "debugging.md")


@dataclasses.dataclass
class Example:
    lines: list
    language: str
    origin: str  # Markdown
    output: str = ""


def title_of(page):
    return re.search(r"^# (.*)$", page.read_text(), re.M)[1]


def blocks_of(page):
    """The programs of a page that compile."""
    for match in FENCED.finditer(page.read_text()):
        block = match[1].rstrip("\n")
        if re.search(r"^@(jit|kernel)", block, re.M) and "# error:" not in block and not re.search(
                r"^import (numpy|torch|triton)", block, re.M):
            yield block


def functions_of(source):
    """The functions of a program, each with its comment and its decorators."""
    text = source.read_text()
    for match in re.finditer(r"^(?:#.*\n)*(?:@.*\n)*def \w+.*\n(?:(?:[ \t)].*)?\n)*", text, re.M):
        yield match[0].rstrip()


def run_entries(source, name):
    """The entries of a file, each with the functions above it and with what it prints, which stands in the file beside
    (tests/docs/examples_test.py)."""
    imports = re.findall(r"^import .*\n", source.read_text(), re.M)
    parts = re.split(r"^# (\w+)\n", source.with_suffix(".txt").read_text(), flags=re.M)
    outputs = dict(zip(parts[1::2], parts[2::2]))
    head = above = "".join(imports) + "\n" if imports else ""
    for text in functions_of(source):
        entry = re.search(r"^def (\w+)", text, re.M)[1]
        above += text if entry in outputs else text + "\n\n"
        if entry in outputs:
            text, above = above, head
            yield text, f"[`{name}`](repository:{name})", outputs[entry].replace(entry, "result").rstrip()


class Examples:
    def __init__(self, root, docs):
        self.programs, self.lines, self.shown = [], [], []  # (text, origin), and (text, origin, output)
        for source in sorted((root / "tests/docs/examples").glob("*.tsr")):
            self.shown += run_entries(source, source.relative_to(root))
        for pattern in PAGES:
            for page in sorted(docs.glob(pattern)):
                origin = f"[{title_of(page)}](../../{page.relative_to(docs)})"
                self.programs.append([(block, origin) for block in blocks_of(page)])
        self.programs = [[program for page in self.programs for program in page]]
        for folder in ("examples", "stdlib", "tests/seeds", "tests/lit"):
            self.programs.append([])
            for source in sorted((root / folder).rglob("*.tsr")):
                name = source.relative_to(root)
                self.programs[-1] += [(text, f"[`{name}`](repository:{name})") for text in functions_of(source)]
        self.programs.append([(blocks[-1], f"[`{page.stem}`](../../errors/{page.name})")
                              for page in sorted((docs / "errors").glob("*.md")) if (blocks := list(blocks_of(page)))])
        for source in sorted((root / "tests").rglob("*.tir")) + sorted((root / "tests/unit").rglob("*.cc")):
            name = source.relative_to(root)
            for line in source.read_text().splitlines():
                line = line.strip()
                if OP.match(line) and len(line) <= 160:
                    self.lines.append((line, f"[`{name}`](repository:{name})"))

    def of(self, entry):
        return self.line(entry) if entry.group == "ir" else self.program(entry)

    def program(self, entry):
        """The shortest program of the first kind that has a call."""
        dotted = re.escape(entry.title)
        call = re.compile(rf"(?<![\w.]){dotted}\(" if entry.group == "tile" else rf"(?<![\w.])(?:nn\.)?{dotted}\(")
        definition = re.compile(rf"def {dotted}\(")
        kernel = re.compile(r"\btile\.|@kernel")
        shown = [(len(text), text, origin, output) for text, origin, output in self.shown
                 if call.search(text) and not definition.search(text)]
        if shown:
            _, text, origin, output = min(shown)
            return Example(text.splitlines(), "python", origin, output)
        for programs in self.programs:
            fitting = [(len(text), text, origin) for text, origin in programs
                       if call.search(text) and not definition.search(text) and text.count("\n") < LONGEST
                       and (entry.group == "tile" or not kernel.search(text))]
            if fitting:
                _, text, origin = min(fitting)
                return Example(text.splitlines(), "python", origin)
        return None

    def line(self, entry):
        """The shortest line of a text of IR that has the op."""
        levels = r"(?:gir|sched|tile|target)\." if "." not in entry.name else ""
        op = re.compile(rf"(^|= ){levels}{re.escape(entry.name)}(?![\w.])")
        fitting = [(len(line), line, origin) for line, origin in self.lines if op.search(line)]
        if not fitting:
            return None
        _, line, origin = min(fitting)
        return Example([line], "ir", origin)
