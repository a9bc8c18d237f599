#!/usr/bin/env python3
"""Writes editors/vscode/syntaxes/tessera.tmLanguage.json: its template with the words that the compiler's tables have.

Usage: tools/gen_textmate.py [--check]
  --check   write nothing; exit 1 if the grammar differs from what the sources say

The template beside the grammar names lists of words, {{dtypes}}; each becomes the alternatives of a regular expression.
What is no table in the compiler is read where the compiler compares names, and a place that moved is an error here.
"""
import json
import pathlib
import re
import sys

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
    if not found:
        sys.exit(f"gen_textmate.py: {what} are no longer where they were")
    return sorted(set(found))


def between(text, begin, end, what):
    """The text from `begin` to the next `end`."""
    at = text.find(begin)
    if at < 0:
        sys.exit(f"gen_textmate.py: {what} are no longer where they were ({begin!r})")
    return text[at:text.index(end, at + len(begin))]


def function_body(path, begin, what):
    return between(source(path), begin, "\n}\n", what)


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
    promoted = between(source("grammar/TesseraLexer.g4"), "tokens {", "}", "tokens of later phases")
    texts = dict(re.findall(r"^TOKEN\(\w+, (\w+), \"'(\w+)'\"\)", source("src/frontend/syntax/token_kinds.def"), re.M))
    acting = [texts[name] for name in re.findall(r"[A-Z_]+", promoted) if name in texts]
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


def type_lists():
    types = source("src/frontend/evaluate/type_expr.cc")
    named = function_body("src/frontend/evaluate/type_expr.cc", "TypePattern TypeReader::read_name", "names of types")
    subscripted = function_body("src/frontend/evaluate/type_expr.cc", "TypePattern TypeReader::read_subscript", "names of types")
    others = between(types, "other_types[]", ";", "names of types")
    states = function_body("src/frontend/values/state.cc", "std::string_view to_string", "kinds of state")
    shaped = re.findall(r'text == "(\w+)"', named + subscripted) + re.findall(r'"([A-Z]\w+)"', others)
    shaped += re.findall(r'return "(\w+)"', states)
    plain = re.findall(r'\{"(\w+)", PatternKind', named)
    policies = [word for name in ("apply_state_policy", "apply_policy") for word in re.findall(
        r'text == "(\w+)"', function_body("src/frontend/evaluate/type_expr.cc", f"bool TypeReader::{name}", "policies"))]
    known = between(source("src/frontend/syntax/policies.h"), "policies[] = {", "};", "policies of the formatter")
    expect_same(re.findall(r'"(\w+)"', known), set(policies), "policies that the formatter knows")
    aliases = between(source("src/frontend/values/check_numerics.cc"), "DTypeName names[]", "};", "spellings of dtypes")
    dtypes = re.findall(r'^DTYPE\(.*"(\w+)"\)', source("src/ir/numbers/dtypes.def"), re.M)
    dtypes += re.findall(r'\{"(\w+)", DType::', aliases) + re.findall(r'"([a-z]\w+)"', others)
    return {
        # `Region` before brackets and a type is a rule of the template.
        "shaped_types": words(set(shaped) - PLACED_WORDS, "names of types"),
        "type_words": words(shaped + plain, "names of types"),
        "policies": words(policies, "policies"),
        "dtypes": words(dtypes, "dtypes"),
    }


def builtin_names(path):
    return words(re.findall(r'^(?:ELEMENTWISE_)?BUILTIN\(\w+, "(\w+)"', source(path), re.M), "functions")


def other_lists():
    prelude = function_body("src/frontend/evaluate/session.cc", "void Session::build_prelude", "constants")
    constants = re.findall(r'members\["([A-Z]+)"\]', prelude)
    devices = re.findall(r'"(\w+)"', between(prelude, "const char* kind : {", "}", "devices"))
    aliases = re.findall(r'members\["([a-z]+)"\]', prelude)
    effects = function_body("src/frontend/evaluate/check_effects.cc", "std::string effect_text", "effects")
    privileges = function_body("src/frontend/lower/kernel/kernel_regions.cc", "bool KernelBuilder::check_privileges",
                               "privileges")
    directives = between(source("src/frontend/syntax/preprocessor.cc"), "std::vector<std::string> names = {", "}",
                         "directives")
    return {
        "builtins": words(builtin_names("src/frontend/values/builtins.def") + aliases, "functions"),
        "tile_builtins": builtin_names("src/frontend/values/tile_builtins.def"),
        "constants": words(constants + devices, "constants"),
        "effects": words(re.findall(r'text == "(\w+)"', effects), "effects"),
        "privileges": words(re.findall(r'name == "(\w+)"', privileges), "privileges"),
        "directives": words(re.findall(r'"(\w+)"', directives), "directives"),
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
