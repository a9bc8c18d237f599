#!/usr/bin/env python3
"""Every row of diagnostics.def has a page, and a test in which it is said.

Usage: rows_test.py

A test is the example of a page, which errors_test.py runs, or an expectation in tests/: the tag in brackets as messages
end, the row as C++ names it, or the whole message.
"""
import re
import sys

import errors_test

TESTS = errors_test.ROOT / "tests"
KINDS = {".cc", ".h", ".py", ".expected", ".tsr", ".tir", ".test", ".mjs"}
LEAST_LETTERS = 12  # of a message that is looked for


def pattern_of(tag, text):
    """What an expectation of the row holds."""
    name = tag.replace("-", "_")
    pattern = rf"\[{tag}\]|\bdiag::{name}\b|\bDiagId::{name}\b|(?<![\w-]){tag}@\d|[\"']{tag}[\"']"
    pieces = re.split(r"\{\d\}", text)
    if sum(c.isalpha() for c in "".join(pieces)) < LEAST_LETTERS:
        return pattern
    return pattern + "|" + r"[^\n]{1,80}?".join(map(re.escape, pieces))


def main():
    rows = {tag: row for section in errors_test.sections().values() for tag, row in section.items()}
    texts = [path.read_text(errors="replace") for path in sorted(TESTS.rglob("*")) if path.suffix in KINDS]
    said = "\n".join(texts)
    problems, shown = [], 0
    for tag, (_, text) in rows.items():
        path = errors_test.PAGES / f"{tag}.md"
        if not path.exists():
            problems.append(f"{tag}: no page")
            continue
        if errors_test.Page(path).console is not None:
            shown += 1
            continue
        if not re.search(pattern_of(tag, text), said):
            problems.append(f"{tag}: neither an example nor a test")
    print("\n".join(problems)
          or f"{len(rows)} rows, {shown} with an example that is run, {len(rows) - shown} in other tests")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
