#!/usr/bin/env python3
"""README.md, docs/install.md and docs/first-program.md, followed as they are written; and README.md stays short.

Usage: first_pages_test.py BUILD_DIR [PART OF A PAGE'S NAME...] [--bless]; --bless writes what is printed into the
pages. """
import sys

import pages

MOST_LINES = 120


def main():
    readme = pages.ROOT / "README.md"
    lines = readme.read_text().count("\n")
    if lines >= MOST_LINES:
        print(f"README.md has {lines} lines, {MOST_LINES} or more")
    firsts = [readme, pages.ROOT / "docs/install.md", pages.ROOT / "docs/first-program.md"]
    return pages.main(firsts, 5) or lines >= MOST_LINES


if __name__ == "__main__":
    sys.exit(main())
