"""The rows of the tables of functions (src/frontend/values/*.def), for the tools that write pages and lists of
words."""
import pathlib
import re
import typing

import elementwise_rows

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPS = "src/frontend/values/builtins.def"
TILE = "src/frontend/values/tile_builtins.def"

LINE = re.compile(r'^(?P<macro>BUILTIN(?:_ON_TILES)?)\(\w+, "(?P<name>\w+)",\s+'
                  r'(?P<parameters>"[^"]*"(?:\s+"[^"]*")*)\)|'
                  r'^#include ".*/(?P<elementwise>elementwise)_builtins.inc"|^// ## (?P<title>.*)$', re.M)


class Row(typing.NamedTuple):
    name: str
    parameters: str
    on_tiles: bool  # it also acts on tiles
    line: int  # of the row in its table, from 0

    @property
    def written(self):
        return f"{self.name}({self.parameters})"


def parts(table):
    """What a table has, in order: ("title", text), ("elementwise", None) where those functions are, ("row", row)."""
    source = (ROOT / table).read_text()
    for match in LINE.finditer(source):
        if match["title"]:
            yield "title", match["title"]
        elif match["elementwise"]:
            yield "elementwise", None
        else:
            line = source.count("\n", 0, match.start())
            parameters = "".join(re.findall(r'"([^"]*)"', match["parameters"]))
            yield "row", Row(match["name"], parameters, match["macro"] != "BUILTIN", line)


def rows(table):
    """The rows of a table, without those of the elementwise functions."""
    found = [row for what, row in parts(table) if what == "row"]
    assert len(found) == len(re.findall(r"^BUILTIN\w*\(", (ROOT / table).read_text(), re.M)), f"{table} has other rows"
    return found


def names(table):
    """The names of all functions of a table."""
    elementwise = any(what == "elementwise" for what, _ in parts(table))
    shared = elementwise_rows.functions() if elementwise else []
    return [row.name for row in [*shared, *rows(table)]]
