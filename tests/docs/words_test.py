#!/usr/bin/env python3
"""The prose of the documentation uses the field's words, those of docs/glossary.md, and not words of its own.

Usage: words_test.py

Code, in blocks or between backticks, is not prose. Pages and tables that tools write from sources are left to those
sources.
"""
import re
import sys

import pages

# What not to write, and what is written instead.
WORDS = {
    r"(?:each|every|per|first|last|next|of) turns?(?! (?:on|off|into))|turns? (?:of|\d)|\d turns": "iteration, trip count",
    r"under way": "in flight",
    r"on the machine(?! that)": "at run time, on the CPU, on the GPU",
    r"dearer|dear": "expensive",
    r"meets?|met": "promote, combine, broadcast, unify",
    r"settles?|settled": "infer, decide, choose",
    r"spare": "fallback (kernel), free (registers)",
    r"(?:comes?|came) to": "is, gives, results in",
    r"what becomes of": "the result of",
    r"by chance|chance decides": "nondeterministic",
    r"(?:matrix|tile) products?|products? of (?:matrices|tiles)": "matmul, dot, MMA",
    r"(?:indented|its|a) suite": "block",
}
GENERATED = {"ops.md", "tile.md", "errors/README.md"}
KEYS = r"^\| key \| value \|.*?^$"  # of schedules, from schedule_keys.def

# Terms that the glossary has, each once.
TERMS = {"iteration", "trip count", "matmul", "dot", "MMA", "run-time loop", "in flight", "unify", "broadcast", "fallback kernel",
         "live range", "prologue", "epilogue", "spill", "occupancy", "coalescing", "compile time", "run time", "guard", "edge", "mask"}


def prose(text):
    """The text with its code left out, line for line."""
    text = re.sub(r"^```.*?^```$", lambda match: "\n" * match[0].count("\n"), text, flags=re.M | re.S)
    text = re.sub(KEYS, lambda match: "\n" * match[0].count("\n"), text, flags=re.M | re.S)
    text = re.sub(r"^    .*$", "", text, flags=re.M)
    return re.sub(r"`[^`\n]*`", "``", text)


def private_words(text):
    """Line, word and what to write."""
    for pattern, instead in WORDS.items():
        for match in re.finditer(rf"\b(?:{pattern})\b", text, re.I):
            yield text.count("\n", 0, match.start()) + 1, match[0], instead


def main():
    assert {word for _, word, _ in private_words("Each turn of\n a loop\ncomes to 3")} == {"Each turn", "comes to"}
    folder = pages.ROOT / "docs"
    names = [str(page.relative_to(folder)) for page in sorted(folder.rglob("*.md")) if page.parent.name != "ir"]
    found = [name for name in names if name not in GENERATED]
    problems = [f"docs/{name}:{line}: '{word}': write {instead}"
                for name in found for line, word, instead in private_words(prose((folder / name).read_text()))]
    terms = re.findall(r"^\| ([^|]+?) \| [^-|]", (folder / "glossary.md").read_text(), re.M)
    problems += [f"docs/glossary.md: '{term}' has {terms.count(term)} rows" for term in sorted(TERMS | set(terms))
                 if term != "Term" and terms.count(term) != 1]
    print("\n".join(problems) or f"{len(found)} pages, {len(set(terms))} terms")
    return 1 if problems or len(found) < 200 else 0


if __name__ == "__main__":
    sys.exit(main())
