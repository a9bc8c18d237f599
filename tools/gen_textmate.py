#!/usr/bin/env python3
"""Writes editors/vscode/syntaxes/tessera.tmLanguage.json: its template with the words that the compiler's tables have.

Usage: tools/gen_textmate.py [--check]
  --check   write nothing; exit 1 if the grammar differs from what the sources say

The template beside the grammar names lists of words, {{dtypes}}; each becomes the alternatives of a regular expression.
The words are rows of the compiler's tables and tokens of its lexer; a table that lost its rows is an error here.
"""
import json
import pathlib
import re
import sys

import builtin_rows

ROOT = pathlib.Path(__file__).resolve().parent.parent
SYNTAXES = ROOT / "editors/vscode/syntaxes"
NOTE = "Made by tools/gen_textmate.py of tessera.tmLanguage.in.json and the compiler's tables; edit those."

# What the words of the lexer do; those that are not named here steer control flow.
KEYWORD_CONSTANTS = {"False", "None", "True"}
KEYWORD_OPERATORS = {"and", "in", "is", "not", "or"}
KEYWORD_IMPORTS = {"from", "import"}
KEYWORD_DEFINITIONS = {"def", "lambda"}
# Names that act as keywords in places of their own; the second set are rules of the template.
DECLARATORS = {"const", "dim", "param"}
PLACED_WORDS = {"module", "on", "where", "Region"}

COMPARISON = {"EQUAL", "NOT_EQUAL", "LESS_EQUAL", "GREATER_EQUAL", "LESS", "GREATER"}
ARITHMETIC = {"POWER", "FLOOR", "PLUS", "MINUS", "STAR", "SLASH", "PERCENT", "AT"}
BITWISE = {"LEFT_SHIFT", "RIGHT_SHIFT", "AMP", "CARET", "BAR", "TILDE"}
# Tokens that are rules of the template.
PLACED_TOKENS = {"ELLIPSIS", "ARROW", "BANG", "ASSIGN", "LPAREN", "RPAREN", "LBRACKET", "RBRACKET", "LBRACE", "RBRACE",
                 "COMMA", "COLON", "SEMICOLON", "DOT"}


def source(path):
    return (ROOT / path).read_text()


def words(found, what):
    """The words, once each and in order; none at all means that they have moved."""
    return sorted(set(words_found(found, what)))


def rows(path, macro):
    """The rows MACRO(…) of a table, each a list of its arguments: a text without its quotes, or a name."""
    part = r'"(?:[^"\\]|\\.)*"|[^,"()]+'
    found = []
    for row in re.findall(rf'^{macro}\(((?:[^"()]|"(?:[^"\\]|\\.)*")*)\)', source(path), re.M):
        found.append([text.strip().strip('"') for text in re.findall(part, row) if text.strip()])
    return words_found(found, f"{macro} of {path}")


def words_found(found, what):
    if not found:
        sys.exit(f"gen_textmate.py: {what} are no longer where they were")
    return found


def expect_same(found, known, what):
    """Each of the two has what the other has, so that a new one is placed by hand."""
    if set(found) != known:
        sys.exit(f"gen_textmate.py: {what}: say what {sorted(set(found) ^ known)} are")


def lexer_tokens():
    """By name: the texts of the tokens that have one."""
    return dict(re.findall(r"^([A-Z_]+) : '([^']+)' ;$", source("grammar/TesseraLexer.g4"), re.M))


def keyword_lists():
    keywords = {text for text in lexer_tokens().values() if text.isalpha()}
    groups = KEYWORD_CONSTANTS | KEYWORD_OPERATORS | KEYWORD_IMPORTS | KEYWORD_DEFINITIONS
    expect_same(keywords & groups, groups, "keywords")
    promoted = re.search(r"tokens \{(.*?)\}", source("grammar/TesseraLexer.g4"), re.S).group(1)
    texts = {row[1]: row[2] for row in rows("src/frontend/syntax/token_kinds.def", "TOKEN")}
    quoted = [texts.get(name, "") for name in re.findall(r"[A-Z_]+", promoted)]
    acting = [text.strip("'") for text in quoted if text.strip("'").isalpha() and text.startswith("'")]
    expect_same(acting, DECLARATORS | PLACED_WORDS, "names that act as keywords")
    return {
        "keywords": words(keywords, "keywords"),
        "keyword_constants": sorted(KEYWORD_CONSTANTS),
        "keyword_operators": sorted(KEYWORD_OPERATORS),
        "keyword_imports": sorted(KEYWORD_IMPORTS),
        "keyword_control": sorted(keywords - groups),
        "declarators": sorted(DECLARATORS),
    }


def operator_lists():
    tokens = {name: text for name, text in lexer_tokens().items() if not text.isalpha()}
    augmented = {name for name in tokens if name.endswith("_ASSIGN")}
    expect_same(tokens, augmented | COMPARISON | ARITHMETIC | BITWISE | PLACED_TOKENS, "operators")
    groups = {"augmented": augmented, "comparison": COMPARISON, "arithmetic": ARITHMETIC, "bitwise": BITWISE}
    return {name: [tokens[token] for token in group] for name, group in groups.items()}


# Forms of types that stand without brackets.
PLAIN_FORMS = {"Any", "Dim", "DType", "Function", "Scalar", "Schedule", "String"}

WORDS = "src/frontend/binding/words.def"


def words_of(kind):
    return [row[1] for row in rows(WORDS, "WORD") if row[0] == kind]


def type_lists():
    types = rows(WORDS, "TYPE")
    dtypes = [row[3] for row in rows("src/ir/numbers/dtypes.def", "DTYPE")]
    dtypes += [row[0] for row in rows("src/frontend/values/dtype_names.def", "DTYPE_NAME")]
    # What nothing is lowered from is a dtype where it is written like one.
    dtypes += [row[0] for row in types if row[1] == "Unsupported" and row[0].islower()]
    named = [row[0] for row in types if row[1] != "Scalar" and row[0] not in dtypes]
    return {
        # `Region` before brackets and a type is a rule of the template.
        "shaped_types": words({row[0] for row in types if row[1] not in PLAIN_FORMS} - PLACED_WORDS - set(dtypes),
                              "names of types"),
        "type_words": words(named, "names of types"),
        "policies": words([row[0] for row in rows(WORDS, "POLICY")], "policies"),
        "dtypes": words(dtypes, "dtypes"),
    }


def other_lists():
    others = [row[0] for row in rows(WORDS, "ALIAS")] + words_of("Namespace")
    directives = [row[0] for row in rows("src/frontend/syntax/directives.def", "DIRECTIVE")]
    return {
        "builtins": words(builtin_rows.names(builtin_rows.OPS) + others, "functions"),
        "tile_builtins": words(builtin_rows.names(builtin_rows.TILE), "functions"),
        "constants": words(words_of("Constant") + words_of("Device"), "constants"),
        "effects": words([row[0] for row in rows(WORDS, "EFFECT")], "effects"),
        "privileges": words(words_of("Privilege"), "privileges"),
        "directives": words(directives, "directives"),
    }


def alternatives(texts):
    """A regular expression for any of the texts; what begins with another of them is tried before it."""
    return "|".join(re.escape(text) for text in sorted(texts, key=lambda text: (-len(text), text)))


def grammar():
    lists = keyword_lists() | operator_lists() | type_lists() | other_lists()
    values = {name: alternatives(texts) for name, texts in lists.items()}
    # At the start of a line these begin a statement, also where a bracket was left open.
    values["recovery"] = r"^\s*(?:def|elif|from|import|pass|return|while|with)\b"
    unused = set(values)

    def value(match):
        unused.discard(match.group(1))
        return json.dumps(values[match.group(1)])[1:-1]

    text = re.sub(r"\{\{(\w+)\}\}", value, (SYNTAXES / "tessera.tmLanguage.in.json").read_text())
    if unused:
        sys.exit(f"gen_textmate.py: the template does not use {sorted(unused)}")
    return json.dumps({"information_for_contributors": [NOTE]} | json.loads(text), indent=2) + "\n"


def main():
    check = sys.argv[1:] == ["--check"]
    text = grammar()
    path = SYNTAXES / "tessera.tmLanguage.json"
    if not check:
        path.write_text(text)
    elif not path.exists() or path.read_text() != text:
        print(f"not what the sources say (run tools/gen_textmate.py): {path.relative_to(ROOT)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
