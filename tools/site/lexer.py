"""Colours for the languages of the pages: Tessera's sources, which also serves for Python, and texts of IR."""
import pathlib
import sys

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import builtin_rows  # noqa: E402
import gen_textmate  # noqa: E402

CONSTANTS = ("True", "False", "None")
DECLARATORS = ("const", "dim", "param", "module", "where", "class", "try", "except", "raise", "yield", "assert", "on")


def keywords():
    """The words of the language's lexer, and those that the pages of other languages have beside them."""
    found = set(gen_textmate.keyword_lists()["keywords"])
    return tuple(sorted((found | set(DECLARATORS)) - set(CONSTANTS)))


def dtypes():
    return tuple(row[3]
                 for row in sorted(gen_textmate.rows("src/ir/numbers/dtypes.def", "DTYPE"), key=lambda row: row[3]))


def functions():
    return tuple(sorted(builtin_rows.names(builtin_rows.OPS)))


class TesseraLexer(RegexLexer):
    name = "Tessera"
    aliases = ["tessera", "python"]
    tokens = {
        "root": [
            (r"\s+", Text),
            (r"#.*?$", Comment.Single),
            (r"^%(define|if|elif|else|endif|error|include|undef)\b.*?$", Comment.Preproc),
            (r'[rf]?"""(.|\n)*?"""', String.Doc),
            (r'[rf]?"(\\.|[^"\\\n])*"', String),
            (r"[rf]?'(\\.|[^'\\\n])*'", String),
            (r"@[A-Za-z_][\w.]*", Name.Decorator),
            (r"(def|class)(\s+)(\w+)", lambda lexer, match: iter((
                (match.start(1), Keyword, match[1]), (match.start(2), Text, match[2]),
                (match.start(3), Name.Function, match[3])))),
            (words(CONSTANTS, r"\b", r"\b"), Keyword.Constant),
            (words(keywords(), r"(?<!\.)\b", r"\b(?!\s*=[^=])"), Keyword),
            (words(dtypes(), r"(?<!\.)\b", r"\b"), Keyword.Type),
            (words(functions(), r"(?<!\.)\b", r"\b(?=\()"), Name.Builtin),
            (r"(?<=tile\.)\w+", Name.Builtin),
            (r"\b[A-Z]\w*[a-z]\w*\b", Name.Class),
            (r"0[xX][0-9a-fA-F_]+|0b[01_]+|\d[\d_]*(\.[\d_]*)?([eE][-+]?\d+)?|\.\d+([eE][-+]?\d+)?", Number),
            (r"[^\W\d]\w*", Name),
            (r"[-+*/%@&|^~<>=!]+", Operator),
            (r"[()\[\]{},:;.]", Punctuation),
            (r".", Text),
        ]
    }


class IrLexer(RegexLexer):
    name = "Tessera IR"
    aliases = ["ir"]
    tokens = {
        "root": [
            (r"\s+", Text),
            (r"//.*?$", Comment.Single),
            (r'"(\\.|[^"\\\n])*"', String),
            (r"%[\w.]+…?", Name.Variable),
            (r"[@^][\w.$]+", Name.Function),
            (r"\b(gir|sched|tile|host|target|tir|nv|x86)\.\w+", Keyword),
            (r"\b(do|func|module)\b", Keyword),
            (words(dtypes(), r"\b", r"\b"), Keyword.Type),
            (r"-?\d[\d_.]*(e[-+]?\d+)?", Number),
            (r"\w+", Name),
            (r".", Text),
        ]
    }
