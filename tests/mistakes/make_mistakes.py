#!/usr/bin/env python3
"""Makes single mistakes in real programs, as people make them: tests/mistakes/mistakes.json.

Usage: make_mistakes.py BUILD_DIR [--seed N] [--count N] [-o FILE]

A mistake changes one line of a program that compiles. Changes that the compiler takes as they are, and should, are left
out; the others are kept whatever is said about them. """
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re

import programs

TOKEN = re.compile(r'"[^"]*"|\d+\.\d+\w*|\w+|==|!=|<=|>=|//|\*\*|->|[^\w\s]')
DTYPES = ["f32", "f16", "bf16", "i32", "i64", "f64"]
SKIPPED = re.compile(r"^\s*(#|%|$)")


def tokens(line):
    return list(TOKEN.finditer(line.split("#")[0]))


def replaced(line, match, text):
    return line[:match.start()] + text + line[match.end():]


def drop_token(line, chance):
    found = [t for t in tokens(line) if not t[0].startswith('"')]
    return replaced(line, chance.choice(found), "") if found else None


def drop_bracket(line, chance):
    found = [t for t in tokens(line) if t[0] in "()[]{}"]
    return replaced(line, chance.choice(found), "") if found else None


def drop_colon(line, chance):
    stripped = line.split("#")[0].rstrip()
    return stripped[:-1] if stripped.endswith(":") else None


def misspell(line, chance):
    found = [t for t in tokens(line) if t[0].isidentifier() and len(t[0]) > 3]
    if not found:
        return None
    token = chance.choice(found)
    name, at = token[0], chance.randrange(1, len(token[0]) - 1)
    wrong = chance.choice([name[:at] + name[at + 1:], name[:at] + name[at] + name[at:],
                           name[:at] + name[at + 1] + name[at] + name[at + 2:]])
    return replaced(line, token, wrong)


def wrong_dimension(line, chance):
    inside = [m for m in re.finditer(r"Tensor\[([^\]]*)\]|\(([\w, *//]+)\)", line)]
    found = [t for t in tokens(line) for m in inside
             if m.start() < t.start() < m.end() and (t[0].isdigit() or re.fullmatch(r"[A-Z]\w?", t[0]))]
    if not found:
        return None
    token = chance.choice(found)
    wrong = str(int(token[0]) + 1) if token[0].isdigit() else f"{token[0]} + 1"
    return replaced(line, token, wrong)


def wrong_dtype(line, chance):
    found = [t for t in tokens(line) if t[0] in DTYPES]
    if not found:
        return None
    token = chance.choice(found)
    return replaced(line, token, chance.choice([d for d in DTYPES if d != token[0]]))


def bad_indent(line, chance):
    if not line.startswith("    "):
        return "  " + line
    return chance.choice([line[2:], "  " + line, line[4:], "    " + line])


def missing_cast(line, chance):
    found = re.search(r"\b(?:tile\.)?cast\((\w+(?:\([^()]*\))?), \w+\)", line)
    return line[:found.start()] + found[1] + line[found.end():] if found else None


def drop_argument(line, chance):
    found = [m for m in re.finditer(r", [^,()\[\]]+(?=[,)])", line) if "(" in line[:m.start()]]
    return replaced(line, chance.choice(found), "") if found else None


def wrong_keyword(line, chance):
    found = [m for m in re.finditer(r"(?<=[(, ])(\w{3,})=(?=[^=])", line) if "(" in line[:m.start()]]
    if not found:
        return None
    token = chance.choice(found)
    return replaced(line, token, token[1][:-1] + "=")


def swapped_operands(line, chance):
    found = re.search(r"(\b[\w.]+) @ ([\w.]+\b)", line)
    return replaced(line, found, f"{found[2]} @ {found[1]}") if found else None


def wrong_axis(line, chance):
    found = re.search(r"axis=(-?\d+)", line)
    return replaced(line, found, f"axis={chance.choice([5, -6])}") if found else None


def foreign(line, chance):
    changes = [(r"\band\b", "&&"), (r"\bor\b", "||"), (r"\bnot ", "!"), (r"\belif\b", "else if"), (r"\bdef\b", "fn"),
               (r"\bTrue\b", "true"), (r"\bFalse\b", "false"), (r"\bNone\b", "null"), (r"\bmodule\b", "class"),
               (r"==", "="), (r"->", "=>"), (r"\bsoftmax\(", "np.softmax("), (r"\bexp\(", "torch.exp("),
               (r"^(\s+)(\w+ = )", r"\1let \2"),
               (r"\bconst\b", "let"), (r"'|\"", "“"), (r"@jit", "@jti"), (r":\s*$", " {")]
    found = [(p, t) for p, t in changes if re.search(p, line)]
    if not found:
        return None
    pattern, text = chance.choice(found)
    return re.sub(pattern, text, line, count=1)


def doubled_token(line, chance):
    found = [t for t in tokens(line) if t[0] not in "()[]{}-" and not t[0].startswith('"')]
    if not found:
        return None
    token = chance.choice(found)
    return replaced(line, token, f"{token[0]} {token[0]}")


def missing_return(line, chance):
    return line.replace("return ", "", 1) if line.strip().startswith("return ") else None


MISTAKES = [drop_token, drop_bracket, drop_colon, misspell, misspell, wrong_dimension, wrong_dimension, wrong_dtype,
            bad_indent,
            missing_cast, drop_argument, wrong_keyword, swapped_operands, wrong_axis, foreign, doubled_token,
            missing_return]


def next_mistake(build, texts, mistake, queue, seen, chance):
    """The next that the compiler says something about; none when the lines are used up."""
    while queue:
        name, number, old = queue.pop()
        new = mistake(old, chance)
        if new is None or new == old or (name, new) in seen:
            continue
        seen.add((name, new))
        if programs.diagnose(build, programs.changed(texts[name], number, new)):
            return {"program": name, "mistake": mistake.__name__, "old": old, "new": new}
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path(__file__).parent / "mistakes.json")
    options = parser.parse_args()
    source = random.Random(options.seed)
    texts = programs.programs()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = dict(zip(texts, pool.map(lambda text: programs.diagnose(options.build, text), texts.values())))
    places = [(name, number, line) for name, text in texts.items() if not said[name]
              for number, line in enumerate(text.splitlines(), 1)
              if not SKIPPED.match(line) and text.splitlines().count(line) == 1]
    queues = {mistake: source.sample(places, len(places)) for mistake in MISTAKES}
    made, seen = [], set()
    while len(made) < options.count and any(queues.values()):
        for mistake in MISTAKES:
            one = next_mistake(options.build, texts, mistake, queues[mistake], seen, source)
            if one and len(made) < options.count:
                made.append(one)
    text = "[\n" + ",\n".join(json.dumps(each, ensure_ascii=False) for each in made) + "\n]\n"
    options.output.write_text(text)


if __name__ == "__main__":
    main()
