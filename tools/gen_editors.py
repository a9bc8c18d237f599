#!/usr/bin/env python3
"""Writes the word lists of the configurations for Vim, Neovim and Emacs from the compiler's tables.

Usage: tools/gen_editors.py [--check]
  --check   write nothing; exit 1 if a file differs from what the sources say

A template FILE.in beside each file names lists of words, {{dtypes}}, or {{dtypes|}} with bars between them;
tools/gen_textmate.py, which does the same for
VS Code, reads them from the sources.
"""
import pathlib
import re
import sys

import gen_textmate

EDITORS = gen_textmate.ROOT / "editors"
TEMPLATES = ["neovim/syntax/tessera.vim.in", "emacs/tessera-words.el.in"]
QUOTED = {".el"}  # words are strings in these


def lists():
    words = gen_textmate.keyword_lists() | gen_textmate.type_lists() | gen_textmate.other_lists()
    # A type written as a dtype is one of those; a word has one colour.
    words["type_words"] = [word for word in words["type_words"] if word not in words["dtypes"]]
    # `where` is also a keyword: the templates say where it is which.
    words["builtins"] = [word for word in words["builtins"] if word not in words["dtypes"] and word != "where"]
    return words


def render(template):
    path = EDITORS / template
    target = path.with_suffix("")
    words = lists()

    def value(match):
        chosen = words[match.group(1)]
        between = match.group(2) or " "
        return between.join(f'"{word}"' if target.suffix in QUOTED else word for word in chosen)

    return target, re.sub(r"\{\{(\w+)(\|?)\}\}", value, path.read_text())


def main():
    check = sys.argv[1:] == ["--check"]
    stale = []
    for template in TEMPLATES:
        target, text = render(template)
        if not check:
            target.write_text(text)
        elif not target.exists() or target.read_text() != text:
            stale.append(target.relative_to(gen_textmate.ROOT))
    for path in stale:
        print(f"not what the sources say (run tools/gen_editors.py): {path}")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
