#!/usr/bin/env python3
"""The first program of README.md: its sources are those of examples/, and its commands print what it says.

Usage: readme_test.py BUILD_DIR
"""
import pathlib
import re
import shlex
import tempfile

from tools import BIN, ROOT, run

NUMBER = re.compile(r"-?\d+\.\d+")


def main():
    section = (ROOT / "README.md").read_text().split("## A first program\n")[1].split("\n## ")[0]
    sources = re.findall(r"```python\n# (examples/\S+)\n(.*?)```", section, re.S)
    assert len(sources) == 2, sources
    for name, text in sources:
        file = (ROOT / name).read_text()
        assert text in (file, file.split("\n", 1)[1]), f"README.md has another {name}"

    printed, results = "", []
    with tempfile.TemporaryDirectory() as folder:
        for line in re.findall(r"^    (\S.*)$", re.sub(r"```.*?```", "", section, flags=re.S), re.M):
            words = shlex.split(line)
            if words[0].startswith("build/bin/"):
                if words[1] == "bench":
                    continue
                words[0] = str(BIN / pathlib.Path(words[0]).name)
                printed += run(*(ROOT / word if word.startswith("examples/") else word for word in words), cwd=folder)
            else:
                results.append(line)
    assert results, "README.md shows no result"
    for line in results:
        name = line.split(" = ")[0]
        found = [other for other in printed.splitlines() if other.startswith(name + " = ")]
        assert len(found) == 1, (line, printed)
        wanted, got = ([float(number) for number in NUMBER.findall(each)] for each in (line, found[0]))
        # Sums in the order of another target may round the last of eight bits otherwise.
        assert len(wanted) == len(got) and all(abs(a - b) <= 2**-7 * abs(a) for a, b in zip(wanted, got)), (line, found)


if __name__ == "__main__":
    main()
