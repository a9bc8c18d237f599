"""Programs and shell commands of a page of documentation, run as a reader would run them.

A page may say "Save this as `NAME`:" above a block, which is then a file. A block of `sh` is run by bash in the folder
of the files; the block of `text` that follows it is what the commands print, both streams together, and nothing is
printed where none follows. A block whose output has "error:" fails, any other succeeds. A block of `sh` with
`--device cuda:0` is run only where such a GPU is. Blocks of other languages are not run.
"""
import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from usage import build_folder

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
SAVE = re.compile(r"[Ss]ave\s+this\s+as\s+`([\w.-]+)`:$")
SECONDS = 120


class Block:
    """A fenced block: its language, text, the file that it is saved as, and the block of its output."""

    def __init__(self, match, before):
        self.language, self.text, self.span = match[1], match[2], match.span(2)
        saved = SAVE.search(before.rstrip())
        self.file = saved[1] if saved else None
        self.output = None


def blocks_of(text):
    """The blocks of a page in order, each block of output with the commands that print it."""
    blocks, end = [], 0
    for match in FENCE.finditer(text):
        between = text[end:match.start()]
        block = Block(match, between)
        end = match.end()
        if block.language == "text" and blocks and blocks[-1].language == "sh" and not between.strip():
            blocks[-1].output = block
        else:
            blocks.append(block)
    return blocks


@functools.cache
def has_gpu():
    """Whether a GPU is there that the pages compile for, of compute capability 9.0."""
    try:
        found = subprocess.run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"],
                               stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, timeout=SECONDS, check=False).stdout
    except OSError:
        return False
    return found.split()[:1] == ["9.0"]


def environment_of(build, folder):
    """What the first page of the tutorial exports: programs on the PATH, and the repository, whatever the build is
    called."""
    home = folder / "tessera"
    home.mkdir()
    for part in ("runtime", "src", "examples"):
        (home / part).symlink_to(ROOT / part)
    (home / "build").symlink_to(build)
    return dict(os.environ, PATH=f"{build / 'bin'}:{os.environ['PATH']}", TESSERA=str(home), NO_COLOR="1",
                LC_ALL="C.UTF-8")


def run_block(block, folder, environment):
    """What the commands of a block print, and whether they succeed."""
    done = subprocess.run(["bash", "-e", "-c", block.text], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, check=False)
    return done.stdout.decode(errors="backslashreplace"), done.returncode


def formatted(name, text, environment):
    """A source in the style of tessera-fmt."""
    done = subprocess.run(["tessera-fmt", "-"], input=text, capture_output=True, text=True, env=environment,
                          timeout=SECONDS,
                          check=False)
    return done.stdout if done.returncode == 0 else text


class Result:
    """Problems of a page, its text with what was printed, and how much of it ran."""

    def __init__(self, text):
        self.problems, self.text, self.ran, self.compared = [], text, 0, 0


def check_page(path, build):
    """Runs a page in a folder of its own."""
    text = path.read_text()
    result, edits = Result(text), []
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name) / "work"
        work.mkdir()
        environment = environment_of(build, pathlib.Path(name))
        for block in blocks_of(text):
            if block.file:
                (work / block.file).write_text(block.text)
                if block.file.endswith(".tsr") and formatted(block.file, block.text, environment) != block.text:
                    result.problems.append(f"{block.file} is not formatted")
                    edits.append((block.span, formatted(block.file, block.text, environment)))
            if block.language != "sh" or ("--device cuda:0" in block.text and not has_gpu()):
                continue
            printed, status = run_block(block, work, environment)
            result.ran += 1
            shown = block.output.text if block.output else ""
            result.compared += bool(shown)
            if (status != 0) != ("error:" in printed):
                result.problems.append(f"ends with status {status}:\n{block.text}{printed}")
            if printed != shown:
                result.problems.append(f"the commands\n{block.text}print\n{printed}and not\n{shown}")
                if block.output:
                    edits.append((block.output.span, printed))
    for (begin, end), new in reversed(edits):
        result.text = result.text[:begin] + new + result.text[end:]
    return result


def main(pages, least_compared):
    """Checks pages; `--bless` writes what is printed into them."""
    build, bless = build_folder(), "--bless" in sys.argv
    chosen = [arg for arg in sys.argv[2:] if not arg.startswith("-")]
    problems, compared = [], 0
    for page in pages:
        if chosen and not any(part in page.name for part in chosen):
            continue
        result = check_page(page, build)
        compared += result.compared
        problems += [f"{page.relative_to(ROOT)}: {problem}" for problem in result.problems]
        if bless and result.text != page.read_text():
            page.write_text(result.text)
    print("\n".join(problems) or f"{compared} outputs of {len(pages)} pages")
    return 1 if problems or (compared < least_compared and not chosen) else 0
