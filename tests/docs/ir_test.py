#!/usr/bin/env python3
"""The commands of docs/ir/README.md print what the page shows, and it names every type, kind and type of attribute, and
fact.

Usage: ir_test.py BUILD_DIR [--bless]; --bless writes what is printed into the page.
"""
import re
import sys

import pages

PAGE = pages.ROOT / "docs/ir/README.md"
CORE = pages.ROOT / "src/ir/core"


def named():
    """What the tables of types and attributes, and the facts of ops have, as the page has it."""
    yield from re.findall(r'^TYPE\(\w+, "(\w+)"\)', (CORE / "types.def").read_text(), re.M)
    yield from re.findall(r"^ATTRIBUTE\((\w+)\)", (CORE / "attributes.def").read_text(), re.M)
    yield from re.findall(r"^ATTRIBUTE_TYPE\((\w+),", (CORE / "attribute_types.def").read_text(), re.M)
    for table in sorted(pages.ROOT.glob("src/ir/*/*ops.def")):
        for facts in re.findall(r"\.(?:traits|effects) = ([\w |]+)", table.read_text()):
            yield from (fact.strip().lower() for fact in facts.split("|"))


# How the page calls what the tables shorten.
WORDS = {"reg": "register", "ptr": "address"}


def main():
    text, found = PAGE.read_text(), set(named())
    tables = "\n".join(line for line in text.splitlines() if line.startswith("| "))
    missing = sorted(name for name in found if not re.search(rf"\b{WORDS.get(name, name)}\b", tables))
    if missing or len(found) < 20:
        print(f"{PAGE.name}: nothing about {missing} of {len(found)}")
        return 1
    return pages.main([PAGE], 2)


if __name__ == "__main__":
    sys.exit(main())
