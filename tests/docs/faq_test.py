#!/usr/bin/env python3
"""The examples of docs/faq.md, run as they are written; each sharp bit has one.

Usage: faq_test.py BUILD_DIR [--bless]; --bless writes what is printed into the page.
"""
import re
import sys

import pages

PAGE = pages.ROOT / "docs/faq.md"


def main():
    sharp = PAGE.read_text().partition("\n## Sharp bits\n")[2].partition("\n## ")[0].split("\n### ")[1:]
    bare = [part.splitlines()[0] for part in sharp if not re.search(r"^```text\n.", part, re.M)]
    for title in bare:
        print(f"{title}: no example")
    return pages.main([PAGE], 16) or bool(bare) or len(sharp) < 12


if __name__ == "__main__":
    sys.exit(main())
