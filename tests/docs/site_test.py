#!/usr/bin/env python3
"""The documentation site is made without a warning; its links and anchors lead somewhere, it loads nothing from another
host, its search knows functions by name, and each row of the compiler's tables has its page.

Usage: site_test.py [FOLDER]   (FOLDER: a site that is there already, in place of a new one)
"""
import html.parser
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import builtin_rows  # noqa: E402
import elementwise_rows  # noqa: E402
import gen_ops_docs  # noqa: E402

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href", "use": "href",
          "image": "href"}
# An address of another host, or of the root of this one, in a style sheet.
FOREIGN = re.compile(r"""(?:url\(\s*["']?|@import\s+["'])((?:https?:)?//|/)""")


class Page(html.parser.HTMLParser):
    """What a page offers and asks for."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loads = set(), [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors.update(value for key, value in attributes if key == "id" or (tag == "a" and key == "name"))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if values.get(LOADED.get(tag, "")):
            self.loads.append(values[LOADED[tag]])
        if "style" in values:
            self.loads += ["//" for _ in FOREIGN.finditer(values["style"])]


def check_page(path, page, pages):
    """What is wrong with the links of a page, and with what it loads."""
    for address in page.links + page.loads:
        parts = urllib.parse.urlsplit(address)
        if parts.scheme or parts.netloc:
            if address in page.loads:
                yield f"loads {address}"
            continue
        target = path if not parts.path else (path.parent / urllib.parse.unquote(parts.path)).resolve()
        if parts.path.startswith("/"):
            yield f"{address} begins at the root of a server"
        elif not target.is_file():
            yield f"{address} leads nowhere"
        elif parts.fragment and target in pages and address in page.links:
            if urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
                yield f"{address} names no place of that page"


def check_links(site):
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html")}
    wrong = [f"{path.relative_to(site.resolve())}: {text}"
             for path, page in sorted(pages.items()) for text in check_page(path, page, pages)]
    for path in sorted(site.rglob("*.css")):
        wrong += [f"{path.relative_to(site)}: loads {found[1]}…" for found in FOREIGN.finditer(path.read_text())]
    scripts = [path for path in site.rglob("*.js") if re.search(r"^import ", path.read_text(), re.M)]
    return wrong + [f"{path.relative_to(site)}: a module, which pages of file:// may not load" for path in scripts]


def snake(name):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def rows_of_ops():
    for level, prefix in (("graph", "gir."), ("host", "host."), ("schedule", "sched."), ("tile", "tile."),
                          ("target", "target.")):
        text = (ROOT / f"src/ir/{level}/ops.def").read_text()
        families = [(prefix, text)] + [(family, (ROOT / "src" / path).read_text()) for family, path in re.findall(
            r'#define OP_PREFIX "([^"]*)"\n#include "([^"]*)"', text)]
        for start, table in families:
            yield from (start + snake(name) for name in re.findall(r"^(?:COMPOSED_)?OP\((\w+),", table, re.M))
    yield from (row.op for row in elementwise_rows.rows())


def rows():
    """(page, title, signature or None) of each function, op and diagnostic."""
    for group, prefix, table in (("functions", "", builtin_rows.OPS), ("tile", "tile.", builtin_rows.TILE)):
        found = [(row.name, row.parameters) for row in builtin_rows.rows(table)]
        found += [(row.name, row.written.split("(")[1][:-1]) for row in elementwise_rows.functions()]
        yield from ((f"reference/{group}/{name}", prefix + name, f"{prefix}{name}({text})") for name, text in found)
    for module, names in gen_ops_docs.exported().items():
        folder = "functions" if module == "ops" or '"""' not in (ROOT
                                                                 / f"stdlib/{module}.tsr").read_text()[:3] else "nn"
        yield from ((f"reference/{folder}/{name}", name, None) for name in names
                    if folder == "nn" or module == "ops")
    yield from ((f"reference/ir/{name}", name, None) for name in rows_of_ops())
    diagnostics = re.findall(r"^DIAG\((\w+),", (ROOT / "src/support/diagnostics.def").read_text(), re.M)
    yield from ((f"errors/{name.replace('_', '-')}", name.replace("_", "-"), None) for name in diagnostics
                if (ROOT / f"docs/errors/{name.replace('_', '-')}.md").exists())


def check_rows(site):
    count = 0
    for name, title, signature in rows():
        count += 1
        path = site / f"{name}.html"
        if not path.is_file():
            yield f"{name}.html is missing, for a row of a table"
            continue
        text = html.unescape(re.sub(r"<[^>]*>", "", path.read_text().partition("<article")[2]))
        if not re.search(rf"^\s*{re.escape(title)}(?!\w)", text, re.M):
            yield f"{name}.html has no heading {title}"
        if signature and signature not in text:
            yield f"{name}.html does not have {signature}"
    if count < 400:
        yield f"the tables have {count} rows: they are no longer where they were"


def check_search(site):
    """The index that the page of search loads as a script."""
    index = json.loads((site / "searchindex.js").read_text().removeprefix("Search.setIndex(").removesuffix(")"))
    for term, name, title in (("softmax", "reference/functions/softmax", "softmax"),
                              ("dot", "reference/tile/dot", "tile.dot"),
                              ("layernorm", "reference/nn/layernorm", "layernorm"),
                              ("mma", "reference/ir/tile.mma", "tile.mma")):
        if name not in index["docnames"]:
            yield f"the search does not know {name}"
            continue
        number = index["docnames"].index(name)
        found = [index[key].get(term, []) for key in ("terms", "titleterms")]
        if not any(number == places or isinstance(places, list) and number in places for places in found):
            yield f"the search for {term} does not find {name}"
        if number not in [place[0] for place in index["alltitles"].get(title, [])]:
            yield f"the search knows no title {title} of {name}"


def made(folder):
    result = subprocess.run([ROOT / "tools/docs.sh", folder], capture_output=True, text=True)
    if result.returncode == 77:
        print("skipped:", result.stderr.strip())
        sys.exit(77)
    if result.returncode:
        sys.exit(f"tools/docs.sh ends with {result.returncode}:\n{result.stdout}{result.stderr}")
    return folder


def check(site):
    wrong = check_links(site) + list(check_rows(site)) + list(check_search(site))
    print(*wrong[:40], sep="\n")
    print(f"{len(wrong)} faults in {len(list(site.rglob('*.html')))} pages")
    return 1 if wrong else 0


def main():
    if len(sys.argv) > 1:
        return check(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        return check(made(pathlib.Path(folder) / "site"))


if __name__ == "__main__":
    sys.exit(main())
