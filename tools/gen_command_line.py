#!/usr/bin/env python3
"""Writes man pages and completions for bash, zsh and fish from what --help of each tool says.

Usage: tools/gen_command_line.py BIN_DIR OUT_DIR
  writes OUT_DIR/man/TOOL.1 and OUT_DIR/completions/{bash/TOOL, zsh/_TOOL, fish/TOOL.fish}

The help has one form (src/tools/command_line/help.h). A text that is not in it is an error here.
"""
import dataclasses
import datetime
import os
import pathlib
import re
import subprocess
import sys

import shell_completions

TOOLS = ["tesserac", "tsr", "tessera-opt", "tessera-fmt", "tessera-lsp"]
DESCRIPTION_COLUMN = 28


@dataclasses.dataclass
class Option:
    """An option, an argument or a command, as the help shows it."""
    names: list          # ["-o", "--output"], or the one of an argument
    value: str = ""      # "FILE"; empty for a flag
    optional: bool = False  # the value may be left out
    joined: bool = False    # the value stands behind `=` only
    text: str = ""

    def values(self):
        """All values that there are, if they are listed."""
        listed = re.search(r"\bOne of: ([^()]+)", self.text)
        return [word.strip() for word in listed[1].split(",")] if listed else []


@dataclasses.dataclass
class Help:
    """What --help says."""
    tool: str
    summary: str = ""
    usage: str = ""
    groups: dict = dataclasses.field(default_factory=dict)   # of options: title -> [Option]
    arguments: list = dataclasses.field(default_factory=list)
    commands: list = dataclasses.field(default_factory=list)
    sections: list = dataclasses.field(default_factory=list)  # of other text: (title or "", [line])

    def options(self):
        return [option for group in self.groups.values() for option in group]


def fail(tool, what):
    sys.exit(f"gen_command_line.py: --help of {tool} has another form: {what!r}")


def parse_option(tool, left):
    match = re.fullmatch(r"((?:-\w, )?--[\w-]+|-\w)(?:(\[=\w+\])| (\[?[\S]+(?: \S+)*))?", left.strip())
    if not match:
        fail(tool, left)
    value = re.sub(r"^\[=?(.*)\]$", r"\1", match[2] or match[3] or "")
    optional = bool(match[2]) or (match[3] or "").startswith("[")
    return Option(match[1].split(", "), value, optional, bool(match[2]))


def parse_entries(tool, lines, is_option):
    """Lines of a group: a name, and what it is from the column of descriptions on."""
    entries = []
    for line in lines:
        left, right = line[:DESCRIPTION_COLUMN], line[DESCRIPTION_COLUMN:]
        if line.startswith(" " * DESCRIPTION_COLUMN) and entries:
            entries[-1].text = (entries[-1].text + " " + line.strip()).strip()
            continue
        if len(line) > DESCRIPTION_COLUMN and left[-2:].strip():
            left, right = line, ""  # too long for a description beside it
        entry = parse_option(tool, left) if is_option else Option([left.strip()])
        entry.text = right.strip()
        entries.append(entry)
    return entries


def parse(tool, text):
    help = Help(tool)
    blocks = [block.split("\n") for block in re.split(r"\n\n+", text.strip("\n"))]
    help.summary = " ".join(blocks[0]).rstrip(".")
    if not blocks[1][0].startswith("Usage: "):
        fail(tool, blocks[1][0])
    help.usage = blocks[1][0].removeprefix("Usage: ")
    for lines in blocks[2:]:
        title = lines[0][:-1] if lines[0].endswith(":") and len(lines) > 1 and lines[1].startswith("  ") else ""
        body = lines[1:] if title else lines
        if title in ("Arguments", "Commands"):
            setattr(help, title.lower(), parse_entries(tool, body, False))
        elif title and re.match(r"  (-|    --)", body[0]):
            help.groups[title] = parse_entries(tool, body, True)
        else:
            help.sections.append((title, body))
    if "Options" not in help.groups:
        fail(tool, "no group of options")
    return help


def read_help(folder, tool, *command):
    environment = dict(os.environ, COLUMNS="100", LC_ALL="C.UTF-8")
    done = subprocess.run([folder / tool, *command, "--help"], capture_output=True, text=True, env=environment,
                          timeout=60,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"gen_command_line.py: '{tool} --help' ends with {done.returncode}: {done.stderr}")
    return parse(" ".join([tool, *command]), done.stdout)


# Man pages (groff's man macros).

def roff(text):
    text = text.replace("\\", r"\e").replace("-", r"\-")
    text = re.sub(r"[^\x00-\x7f]", lambda found: f"\\[u{ord(found[0]):04X}]", text)
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def roff_names(option):
    names = ", ".join(rf"\fB{roff(name)}\fR" for name in option.names)
    if not option.value:
        return names
    return names + (f"[=\\fI{roff(option.value)}\\fR]" if option.optional else f" \\fI{roff(option.value)}\\fR")


def man_options(help):
    lines = []
    if help.arguments:
        for argument in help.arguments:
            lines += [".TP", rf"\fI{roff(argument.names[0])}\fR", roff(argument.text)]
    for title, options in help.groups.items():
        if title != "Options":
            lines += [f".SS {roff(title)}"]
        for option in options:
            lines += [".TP", roff_names(option), roff(option.text)]
    return lines


def man_section(body):
    """Lines with two columns are a list, indented ones stay lines, others are a paragraph."""
    lines, plain = [], []

    def flush():
        if plain:
            lines.extend([".PP", roff(" ".join(plain))])
            plain.clear()

    rows = [re.fullmatch(r"  (\S.*?)  +(\S.*)", line) for line in body]
    is_list = bool(rows[0])
    in_example = False
    for line, row in zip(body, rows):
        if row and is_list:
            flush()
            lines += [".TP", rf"\fB{roff(row[1])}\fR", roff(row[2])]
        elif is_list and line.startswith("   "):
            lines.append(roff(line.strip()))
        elif line.startswith("  ") and not is_list:
            flush()
            lines += [] if in_example else [".PP", ".nf"]
            in_example = True
            lines.append(roff(line[2:]))
        else:
            lines += [".fi"] if in_example else []
            in_example = False
            plain.append(line.strip())
    flush()
    return lines + ([".fi"] if in_example else [])


def man_usage(usage):
    words = usage.split()
    return [rf"\fB{roff(words[0])}\fR " + " ".join(rf"\fI{roff(word)}\fR" for word in words[1:])]


def man_page(help, commands, version):
    date = datetime.date.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")) or 1767225600).isoformat()
    lines = [f'.TH {help.tool.upper()} 1 "{date}" "Tessera {version}" "Tessera"', ".SH NAME",
             f"{roff(help.tool)} \\- {roff(help.summary[0].lower() + help.summary[1:])}", ".SH SYNOPSIS",
             *man_usage(help.usage)]
    named = {title: body for title, body in help.sections if title}
    prose = [body for title, body in help.sections if not title]
    if prose:
        lines.append(".SH DESCRIPTION")
        for body in prose:
            lines += man_section(body)
    lines += [".SH OPTIONS", *man_options(help)]
    if commands:
        lines.append(".SH COMMANDS")
    for command in commands:
        name = command.tool.split()[1]
        lines += [f".SS {roff(name)}", roff(command.summary) + ".", ".PP", *man_usage(command.usage),
                  *man_options(command)]
        for title, body in command.sections:
            if title != "Exit status":
                lines += ([".PP", rf"\fI{roff(title)}\fR"] if title else []) + man_section(body)
    for title, body in named.items():
        lines += [f".SH {roff(title.upper())}", *man_section(body)]
    others = [f"\\fB{roff(tool)}\\fR(1)" for tool in TOOLS if tool != help.tool]
    return "\n".join(lines + [".SH SEE ALSO", ", ".join(others)]) + "\n"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, out = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    version = subprocess.run([folder / "tesserac", "--version"], capture_output=True, text=True,
                             check=True).stdout.split()[-1]
    for tool in TOOLS:
        help = read_help(folder, tool)
        commands = [read_help(folder, tool, command.names[0]) for command in help.commands]
        write(out / f"man/{tool}.1", man_page(help, commands, version))
        for shell, (name, text) in shell_completions.scripts(help, commands).items():
            write(out / "completions" / shell / name, text)


if __name__ == "__main__":
    main()
