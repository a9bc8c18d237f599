"""Real programs, and the compiler's messages about them with one line changed."""
import json
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
SOURCES = ["examples/bytelm/bytelm.tsr", "examples/gpt/gpt.tsr", "examples/llama/llama.tsr", "examples/mlp/mlp.tsr",
           "examples/resnet18/resnet18.tsr", "examples/tile_linear/tile_linear.tsr", "examples/vit/vit.tsr"]
PAGES = ["docs/language.md", "docs/kernels.md", "docs/schedules.md"]


def programs():
    """The programs by name: a file, or a page and the number of a block in it."""
    found = {name: (ROOT / name).read_text() for name in SOURCES}
    found |= {str(path.relative_to(ROOT)): path.read_text() for path in sorted((ROOT / "stdlib").glob("*.tsr"))}
    for page in PAGES:
        for i, block in enumerate(BLOCK.findall((ROOT / page).read_text())):
            if not block.startswith("# error:"):
                found[f"{page}#{i}"] = block
    return found


def changed(text, line, new):
    lines = text.splitlines(keepends=True)
    lines[line - 1] = new + "\n"
    return "".join(lines)


def diagnose(build, text):
    """The diagnostics of a program as --error-format=json gives them, kernels included, and no code made. What warns of
    the programs themselves is left out."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "program.tsr"
        path.write_text(text)
        done = subprocess.run([build / "bin/tesserac", "program.tsr", "--dump=sched", "--target=cpu:x86-64-v3", "-o",
                               "/dev/null",
                               "--error-format=json", "-Wno-hint-no-effect", "-Wno-dump-without-entries",
                               "-Wno-not-tuned"],
                              cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode not in (0, 1):
        raise AssertionError(f"tesserac ended with {done.returncode}: {done.stderr}")
    return [each for each in map(json.loads, done.stderr.splitlines()) if each["type"] == "diagnostic"]


def mended(text, fix):
    """The program with the edits of a fix made."""
    lines = text.encode().splitlines(keepends=True) + [b""]
    for edit in sorted(fix["edits"], key=lambda e: (e["span"]["line"], e["span"]["column"]), reverse=True):
        span = edit["span"]
        line = lines[span["line"] - 1]
        at = span["column"] - 1
        lines[span["line"] - 1] = line[:at] + edit["replacement"].encode() + line[at + span["length"]:]
    return b"".join(lines).decode()
