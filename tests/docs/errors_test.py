#!/usr/bin/env python3
"""Every diagnostic has a page in docs/errors/, whose example fails as the page says and whose fix compiles.

A page is a heading with the tag, why the rule is there, the source of an example (a block of `python`, the file f.tsr),
a block of `text` with commands and what they print, and what to do, where possible with the source that compiles. The
commands run in an empty folder. A page without an example says, in a line that begins with `Not shown:`, how the
diagnostic comes about. A section of diagnostics.def has pages for all of its rows or for none.

Usage: errors_test.py BUILD_DIR [--bless]; --bless writes what was printed into the pages, and the index;
an example that gives another diagnostic stays as it is.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from usage import build_folder

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs/errors"
LARGEST = 4096  # bytes of a page: it is to fit a terminal
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
PRINTED = re.compile(r"^.*?(?:error|warning|note): .*\[([a-z0-9-]+)\]$", re.M)


def sections():
    """The sections of diagnostics.def in order: title -> {tag: (severity, text)}."""
    result, title = {}, None
    table = (ROOT / "src/support/diagnostics.def").read_text()
    rows = r'^// ([A-Z][^\n]*)\.$|^DIAG\((\w+), (\w+),((?:\s*"(?:[^"\\]|\\.)*")+)\)'
    for heading, name, severity, text in re.findall(rows, table.partition("\n\n")[2], re.M):
        if heading:
            title = heading
            result[title] = {}
        else:
            text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)).replace('\\"', '"')
            result[title][name.replace("_", "-")] = (severity, text)
    return result


class Page:
    """One page, with its blocks in order."""

    def __init__(self, path):
        self.path, self.tag, self.text = path, path.stem, path.read_text()
        self.source = self.console = self.fix = None
        for block in FENCED.finditer(self.text):
            if block[1] == "text":
                self.console = block
            elif self.console is None:
                self.source = block
            else:
                self.fix = block

    def commands(self):
        return re.findall(r"^\$ (.*)$", self.console[2], re.M)


def run(page, source, commands, environment):
    """What each command prints in a folder of its own, and the status of the last."""
    with tempfile.TemporaryDirectory() as folder:
        if source:
            (pathlib.Path(folder) / "f.tsr").write_text(source[2])
        outputs, status = [], 0
        for command in commands:
            done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
            outputs.append(done.stdout.decode(errors="backslashreplace"))
            status = done.returncode
        return outputs, status


def compiled(command):
    """The command for a fix: kernels and entries of the whole source, without code where the example needs none. A
    source may be a file that others import, and may have hints."""
    options = " --dump=sched --target=cpu:x86-64-v3 -Wno-dump-without-entries -Wno-hint-no-effect"
    return command + options if command == "tesserac f.tsr" else command


def check(page, severity, environment):
    """Problems of a page, and its text with what was printed."""
    problems, text = [], page.text
    if not text.startswith(f"# {page.tag}\n"):
        problems.append("the heading is not the tag")
    if len(text.encode()) > LARGEST:
        problems.append(f"larger than {LARGEST} bytes")
    if re.search(r"^Not shown:", text, re.M):
        return problems + ["has both an example and 'Not shown:'"] * (page.console is not None), text
    if page.console is None:
        return problems + ["has neither an example nor 'Not shown:'"], text
    commands = page.commands()
    outputs, status = run(page, page.source, commands, environment)
    printed = "".join(f"$ {c}\n{o}" for c, o in zip(commands, outputs))
    tags = PRINTED.findall(printed)
    if tags != [page.tag]:
        problems.append(f"the example gives {tags or 'no diagnostic'}")
    if (status == 0) == (severity == "Error"):
        problems.append(f"the example ends with status {status}")
    if printed != page.console[2]:
        problems.append(f"prints something else:\n{printed}")
        if tags == [page.tag]:
            text = text[:page.console.start(2)] + printed + text[page.console.end(2):]
    if page.fix:
        outputs, status = run(page, page.fix, commands[:-1] + [compiled(commands[-1])], environment)
        if status != 0 or PRINTED.search("".join(outputs)):
            problems.append("the fix does not compile:\n" + "".join(outputs))
    return problems, text


def index(table, have):
    """The text of README.md."""
    lines = ["# Diagnostics", "",
             "This page lists every message of the compiler and the tools, for people who look one up. Each message "
             "ends with a",
             "tag. The page of the tag explains the message, shows an example and says what to do. A tag that starts "
             "with",
             "`unsupported-` is a limit of the compiler, not an error of your program. "
             "[Diagnostics](../diagnostics.md) explains the",
             "form of messages and the options.", ""]
    missing = []
    for title, rows in table.items():
        if not rows.keys() & have:
            missing.append(title)
            continue
        lines += [f"## {title}", ""]
        for tag, (severity, text) in rows.items():
            text = re.sub(r"\{\d\}", "…", text).replace("|", "\\|")
            kind = "" if severity == "Error" else f" (a {severity.lower()})"
            lines.append(f"- [{tag}]({tag}.md){kind}" + ("" if text == "…" else f": {text}"))
        lines.append("")
    if missing:
        lines += ["Without pages so far: " + "; ".join(missing) + ".", ""]
    return "\n".join(lines)


def main():
    build, bless = build_folder(), "--bless" in sys.argv
    environment = dict(os.environ, PATH=f"{build / 'bin'}:{os.environ['PATH']}", NO_COLOR="1", LC_ALL="C.UTF-8")
    table = sections()
    pages = {p.stem: Page(p) for p in sorted(PAGES.glob("*.md")) if p.stem != "README"}
    severities = {tag: row[0] for rows in table.values() for tag, row in rows.items()}
    problems = [f"{tag}: a page without a row in diagnostics.def" for tag in pages if tag not in severities]
    for rows in table.values():
        if rows.keys() & pages.keys():
            problems += [f"{tag}: no page, unlike others of its section" for tag in rows if tag not in pages]
    known = [page for tag, page in pages.items() if tag in severities]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for page, (found, text) in zip(known, pool.map(lambda p: check(p, severities[p.tag], environment), known)):
            problems += [f"{page.tag}: {problem}" for problem in found]
            if bless and text != page.text:
                page.path.write_text(text)
    readme, wanted = PAGES / "README.md", index(table, pages.keys())
    if not readme.exists() or readme.read_text() != wanted:
        problems.append("README.md: not what the table and the pages give")
        if bless:
            readme.write_text(wanted)
    print("\n".join(problems) or f"{len(pages)} pages")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
