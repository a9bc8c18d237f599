#!/usr/bin/env python3
"""The programs of the documentation are in the style of tessera-fmt.

Of README.md, docs/*.md and the pages of docs/ir/, blocks of `python` that parse are compared. A block that shows how
else a program may be written, with `;` or a line that goes on behind `\\`, is left alone.

Usage: format_test.py BUILD_DIR [--write]; --write formats the pages.
"""
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from usage import build_folder

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(?<=^```python\n).*?(?=^```$)", re.M | re.S)
OTHER_FORM = re.compile(r"^[^#\"\n]*(;|\\$)", re.M)


def formatted(formatter, block):
    """The block in the style; as it is where it shows another form or does not parse by itself."""
    if OTHER_FORM.search(block):
        return block
    done = subprocess.run([formatter, "-"], input=block, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"tessera-fmt ended with {done.returncode}: {done.stderr}\n{block}")
    return done.stdout if done.returncode == 0 else block


def main():
    formatter, write = str(build_folder() / "bin/tessera-fmt"), "--write" in sys.argv
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/ir").glob("*.md"))]
    count, problems = 0, []
    for page in pages:
        text = page.read_text()
        made = BLOCK.sub(lambda block: formatted(formatter, block[0]), text)
        count += len(BLOCK.findall(text))
        if made != text and write:
            page.write_text(made)
        elif made != text:
            problems.append(
                f"{page.relative_to(ROOT)}: blocks are not formatted (tests/docs/format_test.py build --write)")
    print("\n".join(problems) or f"{count} blocks")
    return 1 if problems or count < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
