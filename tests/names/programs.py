"""What the programs of the names share: the tools, a folder for their files, and comparisons."""
import functools
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/seeds"))
import numpy as np  # noqa: E402
from founding import BIN, BUILD, Seed, bf16, close, random, refuse, run  # noqa: E402, F401 (for the areas)

CPU, GPU = "cpu:x86-64-v3", "cuda:sm_90a"
_folder = tempfile.TemporaryDirectory()
FOLDER = pathlib.Path(_folder.name)
NUMBERS = iter(range(10**6))


def scratch(ending):
    """A new file of this run."""
    return FOLDER / f"f{next(NUMBERS)}{ending}"


@functools.lru_cache(maxsize=None)
def source(program):
    """The file of a program: one of this folder or of the repository, or one that has the text given."""
    if "\n" not in program:
        return HERE / program if (HERE / program).exists() else ROOT / program
    path = scratch(".tsr")
    path.write_text(program)
    return path


@functools.lru_cache(maxsize=None)
def tesserac(program, *options):
    """What the compiler writes to standard output, and what to standard error."""
    command = [BIN / "tesserac", source(program), *options]
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert result.returncode == 0, f"{' '.join(map(str, command))}\n{result.stderr}"
    return result.stdout, result.stderr


def dump(program, stages, target=GPU, *options):
    return tesserac(program, f"--target={target}", f"--dump={stages}", "-o", "-", *options)[0]


def warnings(program, target=CPU, *options):
    return tesserac(program, f"--target={target}", "--dump=sched", "-o", "-", *options)[1]


def refusal(program, target=CPU, *options):
    """The messages about a program that is not compiled."""
    return refuse(BIN / "tesserac", source(program), f"--target={target}", "--dump=sched", "-o", "-", *options)


@functools.lru_cache(maxsize=None)
def bundle(program, target=CPU, *options):
    path = scratch(".bundle")
    run(BIN / "tesserac", source(program), f"--target={target}", "-o", path, *options)
    return path


def tsr(command, *options):
    return run(BIN / "tsr", command, *options)


def call(program, entry, options=(), compile=(), half=False, **inputs):
    """The outputs of an entry on a CPU, by name; the only one as it is. `half`: floats are given as bf16, or those of
    these names are."""
    image = bundle(program, CPU, *compile)
    shown = re.search(rf"  {re.escape(entry)}\(.*\) -> \((.*)\)", tsr("inspect", image))
    assert shown, f"no entry {entry}"
    names = re.findall(r"([\w.]+): \w+\[", shown.group(1))
    command = [entry, *options]
    for name, value in inputs.items():
        path, value = scratch(".npy"), np.asarray(value)
        narrow = value.dtype == np.float32 and (name in half if isinstance(half, tuple) else half)
        (bf16.save_bf16 if narrow else np.save)(path, value)
        command += ["--input", f"{name.replace('__', '.')}={path}"]
    files = {name: scratch(".npy") for name in names}
    for name, path in files.items():
        command += ["--output", f"{name}={path}"]
    tsr("run", image, *command)
    found = {}
    for name, path in files.items():
        value = np.load(path)
        found[name] = bf16.load_bf16(path) if value.dtype.kind == "V" else value
    return found[names[0]] if len(names) == 1 else found


def has(text, *patterns):
    """Each pattern is found behind the one before it."""
    at = 0
    for pattern in patterns:
        found = re.compile(pattern, re.MULTILINE).search(text, at)
        assert found, f"no {pattern} behind character {at} of\n{text[at:at + 1500]}"
        at = found.end()


def lacks(text, *patterns):
    for pattern in patterns:
        found = re.search(pattern, text)
        assert not found, f"{found.group(0)} is there"


def shows(program, stages, *patterns, target=GPU, options=()):
    """A program whose dump has these patterns, in this order."""
    return lambda: has(dump(program, stages, target, *options), *patterns)


def refuses(program, *patterns, target=CPU):
    """A program that is refused with this message."""
    return lambda: has(refusal(program, target), *patterns)


def warns(program, *patterns, target=CPU):
    """A program that is compiled with this warning."""
    return lambda: has(warnings(program, target), *patterns)


def ignored(name, without, program, stages="ptx", target=GPU):
    """A name that a program has is accepted, and with something else in its place the same code comes out."""
    def check():
        assert name in program, f"the program has no {name}"
        one, other = (re.sub(r"^// .*|^\s*\.(loc|file)\s.*|^module @\w+", "",
                             dump(text, stages, target, *(["--no-locations"] if stages != "ptx" else [])),
                             flags=re.MULTILINE) for text in (program, program.replace(name, without)))
        assert one == other, f"{name} has an effect"
    return check


def page(path, *words):
    """A document that has these words."""
    return lambda: contains((ROOT / path).read_text(), *words)


def contains(text, *words):
    for word in words:
        assert word in text, f"no {word!r} in\n{text[:1500]}"


@functools.lru_cache(maxsize=None)
def seeds(number):
    """The founding example of this number, with the test that it has."""
    @functools.lru_cache(maxsize=None)
    def check():
        import seeds_test
        with tempfile.TemporaryDirectory() as folder:
            seeds_test.check_of(number)(Seed(number, pathlib.Path(folder)))
    return check


def both(*checks):
    def check():
        for each in checks:
            each()
    return check


def graphs():
    """The tests of calls that are replayed, with a driver that has no GPU."""
    result = subprocess.run([str(BIN / "unit_runtime"), "-#", "[#cuda_graph_test]"], capture_output=True, text=True)
    has(result.stdout, r"All tests passed \(\d+ assertions in \d+ test cases\)")
