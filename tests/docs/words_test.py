#!/usr/bin/env python3
"""The prose of the documentation uses the field's words, those of docs/glossary.md, and not words of its own.

Usage: words_test.py

Code, in blocks or between backticks, is not prose; comments of C++ code are. Pages and tables that tools write
from sources are left to those sources.
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
    r"(?:numbers?|values?|ops?|instructions?) of the machine(?! that)": "run-time value, of the target",
    r"(?:when|while) compiling": "at compile time, compile-time",
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
CODE = (".cc", ".h", ".def", ".inc")
LITERALS = {"src": CODE, "runtime": (".cc", ".h"), "tests/check/tools": (".cc",)}
COMMENTS = {"src", "runtime", "tests", "fuzz", "bench"}
FOLDERS = ("bench", "editors", "examples", "fuzz", "grammar", "runtime", "src", "stdlib", "tests", "tools")
LIBRARY = "stdlib"  # whose comments docs/ops.md prints
KEYS = r"^\| key \| value \|.*?^$"  # of schedules, from schedule_keys.def

# "'x' is no key" is "'x' is not a key"; where there is none, "there is no key 'x'".
NEGATIONS = {r"(?<!there\s)(?:is|are)\s+no\s+(?!more\b|longer\b|less\b)\w+": "is not a"}

# Terms that the glossary has, each once.
TERMS = {"iteration", "trip count", "matmul", "dot", "MMA", "run-time loop", "in flight", "unify", "broadcast",
         "fallback kernel",
         "live range", "prologue", "epilogue", "spill", "occupancy", "coalescing", "compile time", "run time", "guard",
         "edge", "mask", "mesh", "shard", "collective", "autodiff", "tensor core", "PTX", "cubin", "Philox", "KV cache",
         "multicast", "GEMM"}


def prose(text):
    """The text with its code left out, line for line."""
    text = re.sub(r"^```.*?^```$", lambda match: "\n" * match[0].count("\n"), text, flags=re.M | re.S)
    text = re.sub(KEYS, lambda match: "\n" * match[0].count("\n"), text, flags=re.M | re.S)
    text = re.sub(r"^    .*$", "", text, flags=re.M)
    return re.sub(r"`[^`\n]*`", "``", text)


def literals(text):
    """The strings of C++ code, messages and help texts among them, line for line; those in a row are one text."""
    lines = [re.sub(r"^\s*(?://.*|#include.*)", "", line) for line in text.replace("'\"'", "").split("\n")]
    text = re.sub(r'"(\s*\n\s*)"', lambda match: " " + "\n" * match[1].count("\n"), "\n".join(lines))
    shown, end = [], 0
    for match in re.finditer(r'"((?:[^"\\]|\\.)*)"', text):
        shown += ["\n" * text.count("\n", end, match.start()), match[1].replace("\\n", "  "), ";"]
        end = match.end()
    return "".join(shown)


def comments(text):
    """The comments of C++ code, line for line."""
    lines = []
    for line in text.split("\n"):
        code, _, comment = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line).partition("//")
        lines.append(comment.lstrip("/<") if comment or not code.strip() else ";")
    return re.sub(r"`[^`\n]*`", "``", "\n".join(lines))


def files(folder, endings):
    """The files of a folder whose texts are read."""
    return [path for path in sorted((pages.ROOT / folder).rglob("*")) if path.suffix in endings and path.is_file()]


def pages_of_prose():
    """The pages of docs/, those at the top, and the READMEs of folders; not what was installed or built there."""
    found = [*pages.ROOT.glob("*.md"), *(pages.ROOT / "docs").rglob("*.md")]
    for folder in FOLDERS:
        found += [page for page in (pages.ROOT / folder).rglob("README.md") if "node_modules" not in page.parts]
    return sorted(str(page.relative_to(pages.ROOT)) for page in found)


def private_words(text, words=None):
    """Line, word and what to write."""
    for pattern, instead in (words or WORDS).items():
        for match in re.finditer(rf"\b(?:{pattern})\b".replace(" ", r"\s+"), text, re.I):
            yield text.count("\n", 0, match.start()) + 1, " ".join(match[0].split()), instead


def main():
    assert {word for _, word, _ in private_words("Each turn of\n a loop\ncomes to 3")} == {"Each turn", "comes to"}
    assert [word for _, word, _ in private_words("'x' is no key, there is no key", NEGATIONS)] == ["is no key"]
    said = "a number of the machine, known while\ncompiling on a CPU of the machine that compiles"
    assert [word for _, word, _ in private_words(said)] == ["number of the machine", "while compiling"]
    assert {"SECURITY.md", "src/passes/README.md", "docs/glossary.md"} <= set(pages_of_prose())
    code = 'fail("a", 1,  // by chance\n     "is\\n"\n     "no key");'
    assert [found[:2] for found in private_words(literals(code), NEGATIONS)] == [(2, "is no key")]
    code = 'f("// by chance");  // by\n// chance\nint spare;'
    assert [found[:2] for found in private_words(comments(code))] == [(1, "by chance")]
    texts = {name: prose((pages.ROOT / name).read_text()) for name in pages_of_prose()}
    for folder, endings in LITERALS.items():
        texts |= {str(path.relative_to(pages.ROOT)): literals(path.read_text()) for path in files(folder, endings)}
    for path in sorted((pages.ROOT / LIBRARY).rglob("*.tsr")):
        texts[str(path.relative_to(pages.ROOT))] = path.read_text()
    problems = [f"{name}:{line}: '{word}': write {instead}" for name, text in texts.items()
                for line, word, instead in private_words(text, WORDS | NEGATIONS)]
    of_code = {str(path.relative_to(pages.ROOT)): comments(path.read_text(errors="replace")) for folder in COMMENTS
               for path in files(folder, CODE)}
    problems += [f"{name}:{line}: '{word}': write {instead}" for name, text in of_code.items()
                 for line, word, instead in private_words(text)]
    terms = re.findall(r"^\| ([^|]+?) \| [^-|]", (pages.ROOT / "docs/glossary.md").read_text(), re.M)
    problems += [f"docs/glossary.md: '{term}' has {terms.count(term)} rows" for term in sorted(TERMS | set(terms))
                 if term != "Term" and terms.count(term) != 1]
    print("\n".join(problems) or f"{len(texts)} texts, comments of {len(of_code)} files, {len(set(terms))} terms")
    return 1 if problems or len(texts) < 900 or len(of_code) < 1300 else 0


if __name__ == "__main__":
    sys.exit(main())
