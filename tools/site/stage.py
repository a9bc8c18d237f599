#!/usr/bin/env python3
"""Writes the pages of the documentation site, from which Sphinx makes HTML: those of docs/, an index with the order of
navigation, the API reference, and the sources that pages link to.

Usage: stage.py FOLDER   (FOLDER/source is then Sphinx's source; FOLDER/extra is copied beside the pages)
"""
import html
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(HERE))

from reference import Reference  # noqa: E402

# Sections of the sidebar: pages without their ending. What is not there (yet) is left out, and what no section names
# comes last, so that a new page is never lost.
NAVIGATION = (
    ("Begin", ("install", "first-program", "tutorial/index", "tutorial/*")),
    ("Coming from elsewhere", ("migration/index", "migration/numpy", "migration/pytorch", "migration/jax",
                               "migration/triton", "migration/cuda", "migration/*", "faq")),
    ("Language", ("language", "transforms", "grammar", "numerics")),
    ("Kernels", ("kernels", "schedules", "layouts")),
    ("Tools", ("debugging", "inspector", "editors", "formatting", "diagnostics")),
    ("Runtime", ("runtime", "training", "embedding", "bundle", "plan")),
    ("Reference", ("reference/index", "reference/functions/index", "reference/tile/index", "reference/nn/index",
                   "reference/ir/index", "ops", "tile", "ir/index", "ir/graph", "ir/schedule", "ir/tile", "ir/target",
                   "ir/host",
                   "ir/elementwise", "glossary")),
    ("Errors", ("errors/index",)),
    ("Project", ("status", "stability", "changelog", "names", "architecture",
                 "contributing", "security")),
)
# What the sidebar calls them, where it is not their title.
CALLED = {"ops": "Functions on one page", "tile": "`tile` on one page"}
# Pages that lie beside docs/.
BESIDE = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md"}
LISTED_ELSEWHERE = ("errors/", "reference/")
# A link, or inline code, which may look like one.
LINK = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)|(!?)\[((?:[^\[\]`]|`[^`]*`|\[[^\]]*\])*)\]\(([^)\s]+)\)")
SOURCE_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{name}</title>
<style>:root {{ color-scheme: light dark }}
body {{ font: 14px/1.45 monospace; margin: 1.5em }} pre {{ overflow-x: auto }}
</style></head><body><p><a href="{home}">Tessera</a> › {name}</p><pre>{text}</pre></body></html>
"""


def outside_code(text, change):
    """The text with `change` applied to what is not in a fenced block."""
    parts = re.split(r"(^```.*?^```[ \t]*$)", text, flags=re.M | re.S)
    return "".join(part if part.startswith("```") else change(part) for part in parts)


class Stage:
    def __init__(self, folder):
        self.source, self.extra = folder / "source", folder / "extra"
        self.texts, self.pages = {}, {}  # by path of the repository: the text, and the page's path
        self.shown = set()  # sources that pages link to
        self.written = set()
        self.faults = 0

    def write(self, path, text):
        """Files that stay as they are keep their time, so that Sphinx reads only what changed."""
        self.written.add(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)

    def remove_others(self):
        for folder in (self.source, self.extra):
            for path in list(folder.rglob("*.*")):
                if path.is_file() and path not in self.written:
                    path.unlink()

    def add(self, name, text, origin):
        """A page; links are read as relative to `origin`, a path of the repository."""
        text = outside_code(text, lambda part: LINK.sub(lambda match: self.link(match, name, origin), part))
        self.write(self.source / name, text)

    def link(self, match, page, origin):
        code, image, text, target = match.groups()
        if code:
            return match[0]
        if re.match(r"(https?|mailto):", target) or target.startswith("#") or image:
            return match[0]
        if target.startswith("repository:"):
            return self.source_link(text, target.partition(":")[2], page)
        path, mark, anchor = target.partition("#")
        found = os.path.normpath(os.path.join(os.path.dirname(origin), path))
        for index in (found, found + "/README.md", found + "/graph.md"):
            if index in self.pages:
                if text.strip("`") == path:  # a name of a file
                    text = re.search(r"^# (.*)$", self.texts[index], re.M)[1]
                return f"[{text}]({os.path.relpath(self.pages[index], os.path.dirname(page) or '.')}{mark}{anchor})"
        return self.source_link(text, found, page)

    def source_link(self, text, name, page):
        if not (ROOT / name).is_file():
            if not (ROOT / name).exists():
                print(f"stage.py: WARNING: {page} links to {name}, which is not there", file=sys.stderr)
                self.faults += 1
            return text
        self.shown.add(name)
        up = "../" * page.count("/")
        return f'<a href="{up}repository/{name}.html">{text}</a>'

    def write_sources(self):
        for name in sorted(self.shown):
            home = "../" * (name.count("/") + 1) + "index.html"
            text = html.escape((ROOT / name).read_text())
            self.write(self.extra / "repository" / (name + ".html"),
                       SOURCE_PAGE.format(name=html.escape(name), home=home, text=text))


def navigation(names):
    """Sections with the pages that are there, in order."""
    left, sections = set(names), []
    for title, patterns in NAVIGATION:
        pages = []
        for pattern in patterns:
            found = sorted(name for name in left if pathlib.PurePath(name).match(pattern) and
                           name.count("/") == pattern.count("/"))
            pages += found
            left -= set(found)
        sections.append((title, pages))
    rest = sorted(name for name in left if not name.startswith(LISTED_ELSEWHERE))
    return [section for section in sections + [("More", rest)] if section[1]]


def toctrees(sections):
    out = []
    for title, pages in sections:
        out += ["```{toctree}", ":hidden:", ":titlesonly:", f":caption: {title}", ""]
        out += [f"{CALLED[page]} <{page}>" if page in CALLED else page for page in pages] + ["```", ""]
    return "\n".join(out)


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    stage = Stage(folder)
    texts = {path.relative_to(ROOT).as_posix(): path.read_text() for path in sorted(DOCS.rglob("*.md"))}
    texts |= {name: (ROOT / name).read_text() for name in BESIDE if (ROOT / name).exists()}
    texts |= {"docs/reference/" + name: text for name, text in Reference(ROOT, DOCS).all_pages()}
    stage.texts = texts
    stage.pages = {path: BESIDE.get(path) or re.sub(r"README.md$", "index.md", path.removeprefix("docs/"))
                   for path in texts}
    for path, name in stage.pages.items():
        is_error = name.startswith("errors/") and not name.endswith("index.md")
        stage.add(name, ("[Diagnostics](README.md)\n\n" if is_error else "") + texts[path], path)
    names = [name.removesuffix(".md") for name in stage.pages.values()]
    index = (HERE / "index.md").read_text()
    stage.add("index.md", index + "\n" + toctrees(navigation(names)), "docs/index.md")
    stage.write_sources()
    stage.remove_others()
    return 1 if stage.faults else 0


if __name__ == "__main__":
    sys.exit(main())
