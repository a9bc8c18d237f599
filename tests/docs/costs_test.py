#!/usr/bin/env python3
"""CONTRIBUTING.md states what adding costs: its table has the files that name what was added, and their number.

Usage: costs_test.py
"""
import re
import subprocess
import sys

import pages

# What was added, how files name it, and where; files that tools write are left out.
ADDED = {
    "erfinv": (r"erfinv|Kind::Erfinv", ["src", "tools/math/minimax.py"]),
    "logaddexp": (r"logaddexp", ["src", "stdlib"]),
    "tile.sort": (r"OpKind::Sort\b|^(OP|COMPOSED_OP|BUILTIN)\(Sort,|run_sort", ["src"]),
    "cuda:sm_89": (r"sm_89", ["src", "stdlib", "docs/status.md"]),
}


def main():
    text = (pages.ROOT / "CONTRIBUTING.md").read_text()
    problems = []
    for name, (pattern, where) in ADDED.items():
        row = re.search(rf"^\| [^|]*`{re.escape(name)}` \| (\d+) \| (.*) \|$", text, re.M)
        assert row, f"CONTRIBUTING.md has no row of {name}"
        stated = set(re.findall(r"`((?:src|stdlib|tools|docs)/[\w./-]+)`", row[2]))
        found = subprocess.run(["grep", "-rlE", pattern, *where],
                               cwd=pages.ROOT, capture_output=True, text=True).stdout.split()
        found = {path for path in found if not path.endswith(".inc")}
        if stated != found or int(row[1]) != len(found):
            problems.append(f"{name}: {len(found)} files, and CONTRIBUTING.md says {row[1]}: "
                            f"{sorted(stated ^ found)}")
    print("\n".join(problems) or f"{len(ADDED)} rows")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
