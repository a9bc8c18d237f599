#!/usr/bin/env python3
"""Every file and folder of the repository that the documentation names is there.

Usage: paths_test.py

A name counts where it begins with a folder of the repository; it may be one below src/. `*` stands for any letters.
"""
import re
import sys

import pages

FOLDERS = ("bench", "cmake", "docs", "editors", "examples", "fuzz", "grammar", "runtime", "src", "stdlib", "tests",
           "tools")
MADE = {"editors/vscode/.workbench"}  # by tools, and in no checkout
NAME = re.compile(rf"`((?:{'|'.join(FOLDERS)})/[\w./*-]+)`")


def missing(text):
    """Line and name."""
    for match in NAME.finditer(text):
        places = (root.glob(match[1].rstrip("/")) for root in (pages.ROOT, pages.ROOT / "src"))
        if match[1] not in MADE and not any(map(any, places)):
            yield text.count("\n", 0, match.start()) + 1, match[1]


def main():
    assert list(missing("`src/ir`\n`src/no/such.cc`")) == [(2, "src/no/such.cc")]
    found = [*sorted(pages.ROOT.glob("*.md")), *sorted((pages.ROOT / "docs").rglob("*.md"))]
    texts = {page: page.read_text() for page in found}
    problems = [f"{page.relative_to(pages.ROOT)}:{line}: there is no {name}"
                for page, text in texts.items() for line, name in missing(text)]
    count = sum(len(NAME.findall(text)) for text in texts.values())
    print("\n".join(problems) or f"{count} names in {len(found)} pages")
    return 1 if problems or count < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
