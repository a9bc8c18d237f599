"""Moves every store of a dump of tiles 64 elements on along its last axis: move_store.py FROM TO."""
import re
import sys

text = open(sys.argv[1]).read()
number = 0


def moved(match):
    global number
    number += 1
    indent, value, memory, before, offset, rest = match.groups()
    by, sum_ = f"%by{number}", f"%moved{number}"
    return (f"{indent}{by}: i64 = tile.constant {{value = 64}}\n"
            f"{indent}{sum_}: i64 = tile.add {offset}, {by}\n"
            f"{indent}tile.store {value}, {memory}, [{before}{sum_}]{rest}")


text = re.sub(r"^( *)tile\.store (%\w+), (%\w+), \[((?:%\w+, )*)(%\w+)\]([^\n]*)", moved, text, flags=re.M)
assert number, "there is no store"
open(sys.argv[2], "w").write(text)
