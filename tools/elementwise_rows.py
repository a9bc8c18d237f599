"""The rows of src/ir/numbers/elementwise.def, for the tools that write pages and lists of words."""
import pathlib
import re
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = "src/ir/numbers/elementwise.def"


class Row(typing.NamedTuple):
    kind: str
    written: str  # as a function of the language, with its parameters; empty for operators
    operands: int
    cls: str
    has_f64: bool
    meaning: str
    bounds: tuple = ()  # of errors: f32 and f64 on CPUs, f32 on GPUs

    @property
    def name(self):
        return self.written.split("(")[0]

    @property
    def op(self):
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.kind).lower()


def row_of(macro, inside, meaning):
    if macro == "MATH":
        kind, name, *bounds, _ = [part.strip() for part in inside.split(",", 5)]
        return Row(kind, f"{name}(x)", 1, "Real", bounds[1] != "0", meaning, tuple(bounds))
    match = re.fullmatch(r'(\w+), (?:"([^"]*)", )?(\d), (\w+), \w+, (\w+)', inside)
    kind, written, operands, cls, cost = match.groups()
    return Row(kind, written or "", int(operands), cls, cost not in ("InF64", "Remainder"), meaning)


def head():
    """The comment at the top of the table."""
    return (ROOT / TABLE).read_text().split("\n\n")[0]


def rows():
    found, comment = [], []
    for line in (ROOT / TABLE).read_text().splitlines():
        match = re.fullmatch(r"(ELEMENTWISE|FUNCTION|MATH)\((.*)\)", line)
        if match:
            found.append(row_of(*match.groups(), " ".join(comment)))
        comment = [*comment, line[2:].strip()] if line.startswith("//") else []
    return found


def functions():
    """The rows that are functions of the language."""
    return [row for row in rows() if row.written]
