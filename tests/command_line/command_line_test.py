#!/usr/bin/env python3
"""Man pages and completions, made of --help of the built tools: the pages render without a warning and have every
option, and the shells themselves complete options, values, lists of values and files.

Usage: command_line_test.py BUILD_DIR man|bash|zsh|fish    exits with 77, which counts as skipped, without the program
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from usage import build_folder

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = build_folder(2) / "bin"
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tools"))
import gen_command_line  # noqa: E402

ENVIRONMENT = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}", LC_ALL="C.UTF-8", TERM="dumb", COLUMNS="100")

# What is typed, and what is offered: all of it, or with ... at least that.
CASES = [
    ("tessera-fmt --ch", ["--check"]),
    ("tessera-fmt --check --std", ["--stdin-name", "--stdout"]),
    ("tessera-fmt mod", ["model.tsr", "models/"]),
    ("tesserac --target cuda:sm_9", ["cuda:sm_90a"]),
    ("tesserac --target=cpu:x86-64-v3,cuda:",
     ["cpu:x86-64-v3,cuda:sm_80", "cpu:x86-64-v3,cuda:sm_89", "cpu:x86-64-v3,cuda:sm_90a"]),
    ("tesserac --dump=graph,ti", ["graph,tile", "graph,tirh", "graph,tirt"]),
    ("tesserac --dump ll", ["llvm"]),
    ("tesserac --disable-pass=canon", ["canonicalize"]),
    ("tesserac --disable-pass canon", ["canonicalize"]),
    ("tesserac --explain shape-m", ["shape-mismatch"]),
    ("tesserac -Wlast", ["-Wlast-resort-spills"]),
    ("tesserac -Wno-last", ["-Wno-last-resort-spills"]),
    ("tesserac -Werror=last", ["-Werror=last-resort-spills"]),
    ("tesserac -W no-last", ["no-last-resort-spills"]),
    ("tesserac -o mod", ["model.tsr", "models/"]),
    ("tesserac --error-format=j", ["json"]),
    ("tessera-opt --passes=cse,hoist_inv", ["cse,hoist_invariants"]),
    ("tsr in", ["init", "inspect"]),
    ("tsr inspect --ir=p", ["plan"]),
    ("tsr inspect --ya", ["--yaml"]),
    ("tsr run --interpret e", ["exact"]),
    ("tsr run --al", ["--allow-jit"]),
    ("tsr bench --device x --warm", ["--warmup"]),
]


def generate(folder):
    subprocess.run([ROOT / "tools/gen_command_line.py", BIN, folder], check=True, timeout=120)
    return gen_command_line.TOOLS


def all_helps(tool):
    help = gen_command_line.read_help(BIN, tool)
    return [help] + [gen_command_line.read_help(BIN, tool, command.names[0]) for command in help.commands]


def check_man(folder, tools):
    for tool in tools:
        page = folder / f"man/{tool}.1"
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-rLL=100n", page], capture_output=True, text=True,
                              check=True,
                              env=ENVIRONMENT)
        assert not done.stderr, f"{tool}.1: {done.stderr}"
        shown = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout).replace("−", "-").replace("‐", "-")
        for help in all_helps(tool):
            for option in help.options():
                assert option.value.count("[") == option.value.count("]"), f"{help.tool} {option}"
                for name in option.names:
                    assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])",
                                     shown), f"{tool}.1 lacks {name} of {help.tool}"
        names = {name for help in all_helps(tool) for option in help.options() for name in option.names}
        for name in re.findall(r"^ +(?:-\w, )?(--[\w-]+)", shown, re.M):
            assert name in names, f"{tool}.1 has {name}, which --help does not"
        for section in ("NAME", "SYNOPSIS", "OPTIONS", "EXIT STATUS", "SEE ALSO"):
            assert f"\n{section}\n" in "\n" + shown, f"{tool}.1 has no {section}"
        if shutil.which("mandoc"):
            lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True,
                                  check=False)
            assert not lint.stdout, lint.stdout


def run_shell(command, work, **options):
    done = subprocess.run(command, capture_output=True, text=True, cwd=work, env=ENVIRONMENT, timeout=120, check=False,
                          **options)
    assert done.returncode == 0 and not done.stderr, (command, done.stdout, done.stderr)
    return done.stdout


def bash(folder, work, line):
    """What stands on the line with each of the completions, as bash puts them there."""
    tool = line.split()[0]
    script = f'''source {folder}/completions/bash/{tool}
COMP_LINE=$1 COMP_POINT=${{#1}} COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
_{tool.replace("-", "_")}
printf '%s\\n' "${{COMPREPLY[@]}}"'''
    word = re.split(r"\s", line)[-1]
    kept = re.match(r".*[=:]|", word)[0]
    offered = run_shell(["bash", "--norc", "--noprofile", "-c", script, "bash", line], work).split("\n")
    return [kept + each for each in offered if each]


def zsh(folder, work, line):
    return run_shell(["zsh", "-f", HERE / "complete.zsh", folder / "completions/zsh", line, folder / "zsh.cache"],
                     work).split("\n")


def fish(folder, work, line):
    tool = line.split()[0]
    quoted = gen_command_line.shell_completions.fish_quote(line)
    script = f"source {folder}/completions/fish/{tool}.fish; complete -C {quoted}"
    offered = run_shell(["fish", "--no-config", "-c", script], work).split("\n")
    return [each.split("\t")[0] for each in offered if each]


def ending(offered):
    """Without what the line has already: an option before `=`, the folder mark."""
    return sorted({re.sub(r"^--[\w-]+=", "", each.strip()).rstrip("/") for each in offered if each.strip()})


def check_shell(complete, folder, tools, work):
    for tool in tools:
        help, *commands = all_helps(tool)
        for each in [help, *commands]:
            names = sorted(name for option in each.options() for name in option.names if name.startswith("--"))
            offered = [name for name in ending(complete(folder, work, f"{each.tool} --")) if name.startswith("--")]
            assert [name.split("=")[0] for name in offered] == names, (each.tool, offered, names)
    for line, expected in CASES:
        offered = ending(complete(folder, work, line))
        wanted = sorted(each.rstrip("/") for each in expected)
        # zsh offers the last element of a list, the others the list.
        last = sorted(each.split(",")[-1] for each in wanted)
        assert offered in (wanted, last), f"{line!r}: {offered}, not {wanted}"


def main():
    what = sys.argv[2]
    program = "groff" if what == "man" else what
    if not shutil.which(program):
        print(f"skipped: needs {program} (tools/setup.sh --editors)")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder, work = pathlib.Path(name) / "made", pathlib.Path(name) / "work"
        tools = generate(folder)
        (work / "models").mkdir(parents=True)
        (work / "model.tsr").write_text("x = 1\n")
        if what == "man":
            check_man(folder, tools)
        else:
            check_shell({"bash": bash, "zsh": zsh, "fish": fish}[what], folder, tools, work)
    print(f"{what}: {len(tools)} tools")
    return 0


if __name__ == "__main__":
    sys.exit(main())
