#!/usr/bin/env python3
"""The founding examples, compiled: each text of this folder, with the replacements that NN.json lists, between
NN.prelude.tsr, which declares what it names, and NN.postlude.tsr, which makes use of it. What is no program is
compared with what there is of it: phases, metadata, the C interface, dumps.

Usage: seeds_test.py BUILD_DIR [NN...]
"""
import pathlib
import sys
import tempfile

import host
import language
import stages
from founding import HERE, Seed


def check_of(number):
    return next(getattr(part, f"seed_{number}") for part in (language, stages, host) if hasattr(part, f"seed_{number}"))


def main():
    numbers = sys.argv[2:] or [line.split()[1][:2] for line in (HERE / "INDEX").read_text().splitlines()]
    failed = []
    for number in numbers:
        with tempfile.TemporaryDirectory() as folder:
            try:
                check_of(number)(Seed(number, pathlib.Path(folder)))
            except AssertionError as error:
                failed.append(number)
                print(f"example {number}: {error}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
