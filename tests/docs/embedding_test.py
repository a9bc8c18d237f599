#!/usr/bin/env python3
"""The programs of docs/embedding.md compile without warnings and print what stands below them.

Usage: embedding_test.py BUILD_DIR
"""

import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from usage import build_folder

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = re.compile(r"^```(c|cpp)\n(.*?)^```$\n+^```text\n(.*?)^```$", re.M | re.S)
COMPILERS = {"c": ["cc", "-std=c99"], "cpp": ["c++", "-std=c++17"]}


def main():
    library = build_folder() / "lib"
    programs = PROGRAM.findall((ROOT / "docs/embedding.md").read_text())
    assert {language for language, _, _ in programs} == set(COMPILERS), "a program of each language"
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for i, (language, text, expected) in enumerate(programs):
            source = pathlib.Path(folder) / f"program{i}.{language}"
            program = source.with_suffix(".out")
            source.write_text(text)
            subprocess.run(COMPILERS[language]
                           + ["-Wall", "-Wextra", "-Wpedantic", "-Werror", str(source), "-o", str(program),
                           f"-I{ROOT}/src/api/include", f"-L{library}", "-ltessera_frontend",
                           f"-Wl,-rpath,{library}"], check=True)
            printed = subprocess.run([program], check=True, capture_output=True, text=True, timeout=60).stdout
            if printed != expected:
                failed += 1
                print(f"program {i + 1} prints\n{printed}and not\n{expected}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
