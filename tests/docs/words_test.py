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
    r"(?:each|every|per|first|last|next|of) turns?(?! (?:on|off|into))|turns? (?:of|\d)|\d turns":
        "iteration, trip count",
    r"under way": "in flight",
    r"on the machine(?! that)": "at run time, on the CPU, on the GPU",
    r"dearer|dear": "expensive",
    r"meets?|met": "promote, combine, broadcast, unify",
    r"settles?|settled": "infer, decide, choose",
    r"spare": "fallback (kernel), free (registers)",
    r"(?:comes?|came) to": "is, gives, results in",
    r"what becomes of": "the result of",
    r"by chance|chance decides": "nondeterministic",
    r"(?:matrix|tile) products?|products? of (?:two )?(?:matrices|tiles)": "matmul, dot, MMA",
    r"(?:indented|its|a) suite": "block",
}
MESSAGES = "src/support/diagnostics.def"
KEYS = r"^\| key \| value \|.*?^$"  # of schedules, from schedule_keys.def

# And in messages: "'x' is no key", where there is none is "there is no key 'x'".
NEGATIONS = {r"(?<!there )(?:is|are) no (?!more\b|longer\b|less\b)\w+": "is not a"}

# Terms that the glossary has, each once.
TERMS = {"iteration", "trip count", "matmul", "dot", "MMA", "run-time loop", "in flight", "unify", "broadcast",
         "fallback kernel",
         "live range", "prologue", "epilogue", "spill", "occupancy", "coalescing", "compile time", "run time", "guard",
         "edge", "mask"}


def prose(text):
    """The text with its code left out, line for line."""
    text = re.sub(r"^```.*?^```$", lambda match: "\n" * match[0].count("\n"), text, flags=re.M | re.S)
    text = re.sub(KEYS, lambda match: "\n" * match[0].count("\n"), text, flags=re.M | re.S)
    text = re.sub(r"^    .*$", "", text, flags=re.M)
    return re.sub(r"`[^`\n]*`", "``", text)


def private_words(text, words=None):
    """Line, word and what to write."""
    for pattern, instead in (words or WORDS).items():
        for match in re.finditer(rf"\b(?:{pattern})\b", text, re.I):
            yield text.count("\n", 0, match.start()) + 1, match[0], instead


def main():
    assert {word for _, word, _ in private_words("Each turn of\n a loop\ncomes to 3")} == {"Each turn", "comes to"}
    assert [word for _, word, _ in private_words("'x' is no key, there is no key", NEGATIONS)] == ["is no key"]
    names = [str(page.relative_to(pages.ROOT)) for page in sorted((pages.ROOT / "docs").rglob("*.md"))]
    texts = {name: prose((pages.ROOT / name).read_text()) for name in ["README.md", *names]}
    texts[MESSAGES] = (pages.ROOT / MESSAGES).read_text()
    problems = [f"{name}:{line}: '{word}': write {instead}"
                for name, text in texts.items() for line, word, instead in private_words(text)]
    problems += [f"{MESSAGES}:{line}: '{word}': write {instead}"
                 for line, word, instead in private_words(texts[MESSAGES], NEGATIONS)]
    terms = re.findall(r"^\| ([^|]+?) \| [^-|]", (pages.ROOT / "docs/glossary.md").read_text(), re.M)
    problems += [f"docs/glossary.md: '{term}' has {terms.count(term)} rows" for term in sorted(TERMS | set(terms))
                 if term != "Term" and terms.count(term) != 1]
    print("\n".join(problems) or f"{len(texts)} texts, {len(set(terms))} terms")
    return 1 if problems or len(texts) < 200 else 0


if __name__ == "__main__":
    sys.exit(main())
