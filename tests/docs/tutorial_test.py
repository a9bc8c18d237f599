#!/usr/bin/env python3
"""The steps of docs/tutorial/, followed as they are written: each program and command, and what it prints.

Usage: tutorial_test.py BUILD_DIR [PART OF A PAGE'S NAME...] [--bless]; --bless writes what is printed into the pages.
"""
import re
import sys

import pages

STEPS = sorted((pages.ROOT / "docs/tutorial").glob("0*.md"))
MOST_LINES = 150


def problems_of(page):
    """Steps are short, and the last thing that one shows is numbers that are compared."""
    text = page.read_text()
    if text.count("\n") >= MOST_LINES:
        yield f"{page.name}: {MOST_LINES} lines or more"
    outputs = [block.output.text for block in pages.blocks_of(text) if block.output]
    if not outputs or not re.search(r"\d", outputs[-1]):
        yield f"{page.name}: ends without printed numbers"


def main():
    problems = [problem for page in STEPS for problem in problems_of(page)]
    if len(STEPS) != 8:
        problems.append(f"{len(STEPS)} steps and not 8")
    print("\n".join(problems), end="\n" if problems else "")
    return pages.main(STEPS, 24) or bool(problems)


if __name__ == "__main__":
    sys.exit(main())
