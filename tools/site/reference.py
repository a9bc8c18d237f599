"""Pages of the API: one for each function of the language, of `tile` and of `tessera.nn`, and for each op of the IR.

They are made of the reference pages that tools/gen_ops_docs.py and tools/gen_ir_docs.py write from the compiler's
tables and the library's sources. Each page is deep-linked as reference/<group>/<name>.
"""
import dataclasses
import re

from examples import Examples

CELL = re.compile(r"(?<!\\)\|")
LEVELS = {
    "graph": "Graph IR", "host": "Host program", "schedule": "Schedule IR", "tile": "Tile IR", "target": "Target IR",
}
GROUPS = {
    "functions": ("Functions of the language", "On whole tensors and on compile-time values. They need no import."),
    "tile": ("Functions of `tile`", "What kernels are made of."),
    "nn": ("Functions of `tessera.nn`", "The library, written in the language: `from tessera.nn import …`."),
    "ir": ("Ops of the IR", "What `tesserac --dump` prints and `tessera-opt` reads, level by level."),
}


@dataclasses.dataclass
class Entry:
    group: str
    name: str  # also that of the page
    title: str
    section: str
    signatures: list
    text: str
    facts: list = dataclasses.field(default_factory=list)  # (name, Markdown)
    language: str = "python"
    module: str = ""

    @property
    def summary(self):
        """The first sentence, which does not end inside of code or brackets."""
        plain = re.split(r"(?<=[^.A-Z][.:;])\s(?=[A-Z`\[])", self.text, maxsplit=1)[0]
        return plain.rstrip(".:;")


def escaped(text):
    """Text of a table, in which stars and angles are meant as they stand."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"(?<!\\)([*<_])", r"\\\1", part) for part in parts)


def cells(line):
    return [part.strip() for part in CELL.split(line.strip())[1:-1]]


def called(signature):
    return re.match(r"[\w.]+", signature)[0]


def split_signatures(text):
    return re.findall(r"`([^`]+)`", text)


def table_entries(lines, group, section, prefix):
    """Rows of a table of elementwise functions."""
    rows = [cells(line) for line in lines if line.startswith("|")]
    header = rows[0]
    for row in rows[2:]:
        signature = split_signatures(row[0])[0]
        facts = [(header[i], row[i]) for i in range(1, len(row)) if header[i] != "meaning"]
        name = called(signature)
        yield Entry(group, name, prefix + name, section, [prefix + signature], row[header.index("meaning")], facts)


def function_entries(page, group, prefix=""):
    """What a page of functions has: `### ` headings with signatures, and tables of elementwise ones."""
    section = None
    for part in re.split(r"^(?=##)", page, flags=re.M)[1:]:
        head, _, body = part.partition("\n")
        if head.startswith("## "):
            section = head[3:]
            if "| --- |" in body:
                yield from table_entries(body.splitlines(), group, section, prefix)
        elif "(" in head:
            signatures = split_signatures(head)
            facts = [(name, beside(fact)) for name, fact in re.findall(r"^- (\w+): (.*)$", body, re.M)]
            text = re.sub(r"^- \w+: .*$", "", body, flags=re.M).strip()
            for signature in signatures:
                first = [signature] + [other for other in signatures if other != signature]
                name = called(signature)
                yield Entry(group, name, prefix + name, section, [prefix + each for each in first], text, facts)


def beside(text):
    """A text of a page in docs/ with its links as pages of docs/reference/*/ have them."""
    return re.sub(r"\]\((\w+\.md)(?=[#)])", r"](../../\1", text)


def language_entries(docs):
    page = (docs / "ops.md").read_text()
    page = page.split("## Functions of `tessera.nn`")[0]
    return list(function_entries(page, "functions"))


def tile_entries(docs):
    page = (docs / "tile.md").read_text().split("## Functions of the language on tiles")[0]
    return list(function_entries(page, "tile", "tile."))


def library_entries(docs):
    page = (docs / "ops.md").read_text().split("## Functions of `tessera.nn`")[1].split("## Kernels of the library")[0]
    found = []
    for part in re.split(r"^### ", page, flags=re.M)[1:]:
        head, _, body = part.partition("\n")
        path = head.strip("` ")
        about = body.strip().split("\n")[0]
        heading, before = about.partition(". ")[0].rstrip("."), ""
        if len(heading) > 60:
            heading = re.split(r",| \[|:", heading)[0]
        for signature, text in re.findall(r"^- `([^`]+)`(?:: (.*))?$", body, re.M):
            name = called(signature)
            text = text or before or about
            found.append(Entry("nn", name, name, heading, [signature], text, module=path))
            before = text
    return found


def op_entries(docs):
    found = []
    for level, title in LEVELS.items():
        page = (docs / f"ir/{level}.md").read_text()
        for part in re.split(r"^## `", page, flags=re.M)[1:]:
            head, _, body = part.partition("\n")
            name = head.strip("`")
            form = re.search(r"^    (.*)$", body, re.M)[1]
            text, _, rest = body.partition("    " + form)
            facts = [("values and properties", rest.strip())] if rest.strip() else []
            found.append(Entry("ir", name, name, title, [form], text.strip(), facts, "ir"))
    page = (docs / "ir/elementwise.md").read_text()
    rows = [cells(line) for line in page.splitlines() if line.startswith("|")]
    for name, operands, kind, meaning in rows[2:]:
        name = name.strip("`")
        facts = [("operands", operands), ("class", f"{kind} ([what that means](../../ir/elementwise.md))")]
        forms = [f"%result = {level}.{name} " + ", ".join(f"%{'abc'[i]}" for i in range(int(operands)))
                 for level in ("gir", "sched", "tile", "target")]
        found.append(Entry("ir", name, name, "Elementwise ops, at every level", forms, meaning, facts, "ir"))
    return found


class Reference:
    def __init__(self, root, docs):
        self.docs = docs
        self.entries = language_entries(docs) + tile_entries(docs) + library_entries(docs) + op_entries(docs)
        self.pages = {(entry.group, entry.name) for entry in self.entries}
        self.examples = Examples(root, docs)

    def cross_linked(self, text):
        """Names of ops, sections of pages and sources in a fact become links."""
        def op(match):
            name = match[0]
            return f"[`{name}`](../ir/{name}.md)" if ("ir", name) in self.pages else name

        def section(match):
            page, heading = match[1], match[2]
            found = (self.docs / page).exists() and re.search(
                rf"^#+ ({re.escape(heading)})$", (self.docs / page).read_text(), re.M | re.I) if heading else None
            anchor = "#" + heading.lower().replace(" ", "-") if found else ""
            return f"[{page.removesuffix('.md')}{', ' + heading if heading else ''}](../../{page}{anchor})"

        text = escaped(text) if "](" not in text else text
        text = re.sub(r"\b(?:gir|sched|host|nv|x86)\.\w+", op, text)
        text = re.sub(r"docs/(\w+\.md)(?:, ([A-Z][\w ]+))?", section, text)
        return re.sub(r"\bstdlib/\w+\.tsr", lambda match: f"[`{match[0]}`](repository:{match[0]})", text)

    def page(self, entry):
        group, _ = GROUPS[entry.group]
        section = "" if entry.section == group or entry.module else f" › {entry.section}"
        out = [f"[Reference](../index.md) › [{group}](index.md){section}", "", f"# `{entry.title}`", "",
               f"```{entry.language}", *entry.signatures, "```", "", escaped(entry.text), ""]
        if entry.module:
            out += [f"From [`{entry.module}`](repository:{entry.module}), exported by `tessera.nn`.", ""]
        if entry.group == "tile":
            out += ["Only in kernels: [how kernels are written](../../kernels.md).", ""]
        if entry.facts:
            out += ["| | |", "| --- | --- |"]
            out += [f"| {name} | {self.cross_linked(text)} |" for name, text in entry.facts] + [""]
        example = self.examples.of(entry)
        if example:
            out += ["## Example", "", f"```{example.language}", *example.lines, "```", ""]
            if example.output:
                out += ["prints", "", "```text", example.output, "```", ""]
            out += [f"From {example.origin}.", ""]
        same = [f"[{GROUPS[other][0]}](../{other}/{entry.name}.md)" for other in GROUPS
                if other != entry.group and (other, entry.name) in self.pages]
        if entry.group == "tile" and ("ir", entry.title) in self.pages:
            same.append(f"[the op `{entry.title}`](../ir/{entry.title}.md)")
        if same:
            out += ["See also: " + ", ".join(same) + ".", ""]
        return "\n".join(out)

    def index(self, group):
        title, text = GROUPS[group]
        out = [f"# {title}", "", text, ""]
        section = None
        for entry in self.entries:
            if entry.group != group:
                continue
            if entry.section != section:
                section = entry.section
                out += ["", f"## {section}", "", "| | |", "| --- | --- |"]
            out.append(f"| [`{entry.title}`]({entry.name}.md) | {self.in_cell(entry.summary)} |")
        return "\n".join(out) + "\n"

    @staticmethod
    def in_cell(text):
        return re.sub(r"(?<!\\)\|", r"\\|", escaped(text))

    def overview(self):
        out = ["# API reference", "",
               "For writers of programs and of kernels: a page for each function, and for each op "
               "of the IR. The search box finds each by its name.", "", "| | | |", "| --- | --- | --- |"]
        for group, (title, text) in GROUPS.items():
            count = sum(1 for entry in self.entries if entry.group == group)
            out.append(f"| [{title}]({group}/index.md) | {text} | {count} pages |")
        out += ["", "The same on few pages: [functions](../ops.md), [functions of `tile`](../tile.md), and the ops of "
                + ", ".join(f"[{title}](../ir/{level}.md)" for level, title in LEVELS.items())
                + " and the [elementwise ops](../ir/elementwise.md).", ""]
        return "\n".join(out)

    def all_pages(self):
        """(path below reference/, Markdown)"""
        yield "index.md", self.overview()
        for group in GROUPS:
            yield f"{group}/index.md", self.index(group)
        for entry in self.entries:
            yield f"{entry.group}/{entry.name}.md", self.page(entry)
