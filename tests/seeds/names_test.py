#!/usr/bin/env python3
"""docs/names.md has every name of the founding documents, and what it says is where it says.

Usage: names_test.py [FOLDER OF THE SOURCES]
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
DEFERRED = re.compile(r"(later|not planned): \S")
PLACE = re.compile(r"\[(?P<path>[^\]]+)\]\((?P<link>[^)]+)\)(?:: `(?P<word>.+)`)?$")



def cells(line):
    """The cells of a row of a table; a bar in a cell is written \\|."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def problems_of(name, here, place):
    """What is wrong with a row, as texts."""
    if DEFERRED.match(here):
        return [] if not place else [f"{name}: what is not there has no place"]
    if not here:
        return [f"{name}: what stands for it?"]
    found = PLACE.match(place)
    if not found:
        return [] if "later: " in here else [f"{name}: where is it?"]
    path = ROOT / found["path"]
    if not path.is_file():
        return [f"{name}: there is no {found['path']}"]
    if (ROOT / "docs" / found["link"]).resolve() != path.resolve():
        return [f"{name}: the link goes to {found['link']}"]
    if found["word"] and found["word"] not in path.read_text():
        return [f"{name}: {found['path']} has no '{found['word']}'"]
    return []


def main():
    text = (ROOT / "docs/names.md").read_text()
    every = [cells(line) for line in text[text.index("\n## "):].splitlines() if line.startswith("| ")]
    rows, old = [], False
    for row in every:
        old = row[2] == "where" if row[0] == "name" else old
        if old and row[0] not in ("name", "---"):
            rows.append(row)
    problems = [f"{row}: three cells are wanted" for row in rows if len(row) != 3]
    for row in rows:
        if len(row) == 3:
            problems += problems_of(*row)
    wanted = (ROOT / "tests/names/names.txt").read_text().splitlines()
    have = [row[0] for row in every if row[0] not in ("name", "---")]
    problems += [f"{name}: not in docs/names.md" for name in wanted if name not in have]
    problems += [f"{name}: no name of the documents" for name in have if name not in wanted]
    if len(have) != len(wanted):
        problems.append(f"{len(have)} rows for {len(wanted)} names")
    print("\n".join(problems) or f"{len(rows)} names")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
