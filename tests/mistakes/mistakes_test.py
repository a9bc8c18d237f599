#!/usr/bin/env python3
"""One mistake, one message: what the compiler says of 200 programs with one mistake each.

Usage: mistakes_test.py BUILD_DIR [-v] [FILE]

mistakes.json, which make_mistakes.py wrote, changes one line of a program each. Of how many exactly one message is
given, how many first messages mark the mistaken line, and how many of these by their own place, is counted; those that
do not mark it are listed in exceptions.json with why, and no others may be. A message that marks a line by a label is
about two places that disagree, of which either can be wrong: a declared size or dtype and a value. Where the first
message has a fix, making it must not make more mistakes, and mends most of them. With a FILE of other mistakes these
are counted, and nothing is required of them. """
import concurrent.futures
import json
import os
import pathlib
import sys

import programs

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from usage import build_folder

HERE = pathlib.Path(__file__).resolve().parent
LEAST_SINGLE, LEAST_ON_LINE, LEAST_AT_PLACE = 190, 196, 177
LEAST_FIXES, LEAST_MENDED = 80, 0.9  # of the mistakes, and of the fixes


class Outcome:
    """What is said of one mistake."""

    def __init__(self, build, text, mistake):
        lines = text.splitlines()
        if lines.count(mistake["old"]) != 1:
            raise AssertionError(f"{mistake['program']} has no line {mistake['old']!r}: run make_mistakes.py again")
        self.line = lines.index(mistake["old"]) + 1
        self.mistake = mistake
        wrong = programs.changed(text, self.line, mistake["new"])
        self.said = programs.diagnose(build, wrong)
        self.fixes = self.said[0]["fixes"] if self.said else []
        self.after = programs.diagnose(build, programs.mended(wrong, self.fixes[0])) if self.fixes else []

    def is_single(self):
        return len(self.said) == 1

    def is_on_line(self):
        return bool(self.said) and self.line in self.marked()

    def is_at_place(self):
        return bool(self.said) and bool(self.said[0]["span"]) and self.said[0]["span"].get("line") == self.line

    def marked(self):
        first = self.said[0]
        spans = [first["span"]] + [label["span"] for label in first["labels"]]
        return [span["line"] for span in spans if span and span["file"] == "program.tsr"]

    def is_mended(self):
        return bool(self.fixes) and not self.after

    def __str__(self):
        said = "\n".join(d["rendered"] for d in self.said)
        where = f"{self.mistake['program']}:{self.line} ({self.mistake['mistake']})"
        return f"{where}\n- {self.mistake['old']}\n+ {self.mistake['new']}\n{said}"


def main():
    build, verbose = build_folder(), "-v" in sys.argv
    texts = programs.programs()
    others = [argument for argument in sys.argv[2:] if argument.endswith(".json")]
    mistakes = json.loads(pathlib.Path(others[0]).read_text() if others else (HERE / "mistakes.json").read_text())
    why = {(e["program"], e["new"]): e["why"] for e in json.loads((HERE / "exceptions.json").read_text())}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(pool.map(lambda m: Outcome(build, texts[m["program"]], m), mistakes))
    problems = []
    single = sum(o.is_single() for o in outcomes)
    on_line = sum(o.is_on_line() for o in outcomes)
    at_place = sum(o.is_at_place() for o in outcomes)
    fixes = [o for o in outcomes if o.fixes]
    mended = sum(o.is_mended() for o in fixes)
    for outcome in outcomes:
        is_good = outcome.is_single() and outcome.is_on_line()
        is_known = (outcome.mistake["program"], outcome.mistake["new"]) in why
        if verbose and is_good and not outcome.is_at_place():
            print(f"marked by a label:\n{outcome}\n")
        if is_good == is_known:
            problems.append(("listed, and as it should be:\n" if is_good else "not listed:\n") + str(outcome))
        if len(outcome.after) > len(outcome.said):
            problems.append(f"its fix makes it worse:\n{outcome}")
        if verbose and outcome.fixes and not outcome.is_mended():
            print(f"its fix does not mend it:\n{outcome}\n")
    enough = at_place >= LEAST_AT_PLACE and len(fixes) >= LEAST_FIXES
    enough = enough and len(outcomes) >= 200 and mended >= LEAST_MENDED * len(fixes)
    if not enough or single < LEAST_SINGLE or on_line < LEAST_ON_LINE:
        problems.append("too few are as they should be")
    print("\n\n".join(problems))
    print(f"{len(outcomes)} mistakes: one message for {single}; the first marks the line for {on_line}, {at_place} of "
          f"them by its own place; a fix for {len(fixes)}, which mends {mended}")
    return 1 if problems and not others else 0


if __name__ == "__main__":
    sys.exit(main())
