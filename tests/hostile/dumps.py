"""Dumps of IR, of all levels, with changes that nobody makes by accident. A dump comes of a small program, by
tesserac."""

import re
import subprocess

HUGE = [0, 1, -1, 3, 2**31 - 1, 2**31, 2**32, 2**40, 2**53, 2**62, 2**63 - 1, 2**63, 2**64, 10**30]
PROGRAMS = {
    "mlp": """@jit
def entry(x: Tensor[B, 16, f32], w: Tensor[16, 32, f32], b: Tensor[32, f32]):
    return softmax(relu(x @ w + b), axis=1)
""",
    "loop": """@jit
def entry(x: Tensor[T, 17, f32], w: Tensor[17, 17, f32]):
    h = x[0]
    s = zeros((17,), f32)
    for i in range(T):
        s = tanh(s @ w + x[i])
        if sum(s) > 3.0:
            s = s * 0.5
    return s
""",
    "kernel": """@kernel
def scaled(x: Tensor[M, N, f32], y: Tensor[N, f32]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    return tile.load(x) * tile.load(y)


@jit
def entry(x: Tensor[M, N, f32], y: Tensor[N, f32]):
    return scaled(x, y), sum(x, axis=0), x[::2] + 1.0
""",
    "attention": """@jit
def entry(q: Tensor[B, 4, S, 64, bf16], k: Tensor[B, 4, S, 64, bf16], v: Tensor[B, 4, S, 64, bf16]):
    return flash_attention(q, k, v, causal=True)
""",
    "prints": """@kernel.schedule(Schedule(BM=4, BK=8))
def sums(x: Tensor[M, K, f32]) -> Tensor[M, f32]:
    t = tile.context(m=M, k=K)
    s = tile.zeros((t.m,), f32)
    for k in tile.range(K, t.k):
        s = s + tile.sum(tile.load(x, (t.i, k), (t.m, t.k)), axis=1)
        print("s", s, k)
    return s


@jit
def entry(x: Tensor[M, K, f32]):
    return sums(x)
""",
    "random": """@jit
def entry(x: Tensor[B, 8, f32], ids: Tensor[B, i32], table: Tensor[100, 8, f32]):
    return x + table[ids] * cumsum(x, axis=1), topk(x, 2)
""",
}
STAGES = ["graph", "sched", "tile", "target"]
TARGETS = ["cpu:x86-64-v3", "cpu:x86-64-v4-bf16", "cuda:sm_90a", "cuda:sm_80"]
MOST_BYTES = 1 << 24  # that a change adds: the memory of a case counts from what this process has
NUMBER = re.compile(r"(?<![\w%.])-?\d+(?![\w.])")
WORD = re.compile(r"[%@#\w.]+")


def make_all(build, folder):
    """(stage, target, text) of each program; a program that the compiler refuses for a target has none there."""
    found = []
    for name, text in PROGRAMS.items():
        source = folder / f"{name}.tsr"
        source.write_text(text)
        for stage in STAGES:
            for target in TARGETS if stage != "graph" else TARGETS[:1]:
                command = [build / "bin/tesserac", source, f"--dump={stage}", f"--target={target}"]
                command += ["--debug"] if "print(" in text else []
                done = subprocess.run(command, capture_output=True, text=True, timeout=120)
                if done.returncode == 0:
                    found.append((stage, target, done.stdout))
    return found


def change_number(random, text):
    numbers = list(NUMBER.finditer(text))
    if not numbers:
        return text
    at = random.choice(numbers)
    value = random.choice(HUGE + [int(at[0]) + 1, -int(at[0]), int(at[0]) * 2, int(at[0]) // 2] * 2)
    if random.random() < 0.6:  # everywhere, so that types agree
        return re.sub(rf"(?<![\w%.]){re.escape(at[0])}(?![\w.])", str(value), text)
    return text[:at.start()] + str(value) + text[at.end():]


def change_word(random, text):
    words = list(WORD.finditer(text))
    if not words:
        return text
    at, other = random.choice(words), random.choice(words)
    return text[:at.start()] + other[0] + text[at.end():]


def change_lines(random, text):
    lines = text.splitlines() or [""]
    at, other = random.randrange(len(lines)), random.randrange(len(lines))
    change = random.randrange(6)
    if change == 0:
        del lines[at]
    elif change == 1:
        lines.insert(at, lines[other])
    elif change == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif change == 3:
        part, times = lines[at:at + random.choice([1, 5, 20])], random.choice([1, 10, 300])
        lines[at:at] = part * min(times, 1 + MOST_BYTES // (1 + sum(map(len, part))))
    elif change == 4:
        lines = lines[:at]
    else:
        lines += lines
    return "\n".join(lines) + "\n"


def change_nesting(random, text):
    at, count = random.randrange(len(text)), random.choice([10, 199, 200, 201, 5000, 100_000])
    opening, closing = random.choice(["()", "[]", "{}", "<>"])
    return text[:at] + opening * count + closing * random.choice([0, count]) + text[at:]


def change_size(random, text):
    """A size of a type becomes a long or nested one."""
    sizes = list(re.finditer(r"(?<=[<x ])(\d+|[A-Z]\w*)(?= x|,)", text))
    if not sizes:
        return text
    at = random.choice(sizes)
    size = at[0]
    for _ in range(random.choice([1, 3, 10, 60])):
        size = random.choice(["({} + {})", "({} // 3)", "({} % 7)", "({}*{})", "min({}, A)", "max({}, 2)",
                              "({} - 1)"]).replace("{}", size)
        size = size[:20_000]
    if random.random() < 0.5:
        return text[:at.start()] + f"<{size}>" + text[at.end():]
    return text.replace(at[0], size, MOST_BYTES // len(size))


def change_symbol(random, text):
    """A size, a dtype or a name is another one in all places."""
    kinds = [r"\b[A-Z]\w*\b(?=[ >*,])", r"\b(?:f32|bf16|f16|f64|i32|i64|u8|bool)\b", r"%\w+", r'"\w+"', r"@[\w.]+",
             r"\b[a-z_]+(?= = )"]
    found = sorted(set(re.findall(random.choice(kinds), text)))
    if not found:
        return text
    word = random.choice(found)
    other = random.choice(found + [str(random.choice(HUGE)), "f64", "i4", "u8", f"{word}*{word}", "-1", "x"])
    return re.sub(rf"(?<![\w%@.]){re.escape(word)}(?!\w)", other.replace("\\", ""), text)


def change_attribute(random, text):
    """An attribute goes, or has the value of another one."""
    entries = list(re.finditer(r"(\b\w+) = ([^,{}\[\]]+|\[[^\[\]]*\]|\{[^{}]*\})(, )?", text))
    if not entries:
        return text
    at, other = random.choice(entries), random.choice(entries)
    made = "" if random.random() < 0.3 else f"{at[1]} = {other[2]}{at[3] or ''}"
    return text[:at.start()] + made + text[at.end():]


PROPERTIES = ["canonical", "random-decomposed", "int4-widened", "attention-decomposed",
              "one-thread", "masks-propagated", "ops-decomposed", "fragments", "tiles-fit",
              "operands-placed", "layouts-assigned", "barriers-inserted", "shared-allocated", "scratch-allocated",
              "math-expanded", "legal", "legall"]


def change_properties(random, text):
    """What the module says of itself: more, less, or what another level says."""
    header = re.search(r"^module .*\{$", text, re.MULTILINE)
    if not header:
        return text
    known = re.search(r"properties = \[([^\]]*)\](, )?", header[0])
    names = [name.strip(' "') for name in known[1].split(",")] if known else []
    names = [name for name in names if random.random() < 0.7]
    names += random.sample(PROPERTIES, random.choice([0, 1, 1, 2, 6]))
    entry = "properties = [" + ", ".join(f'"{name}"' for name in names) + "]"
    if known:
        changed = header[0].replace(known[0], entry + (known[2] or ""))
    elif header[0].endswith("} {"):
        changed = header[0].replace(") {", ") {" + entry + ", ", 1)
    else:
        changed = header[0][:-1] + "{" + entry + "} {"
    return text.replace(header[0], changed, 1)


def change_target(random, text):
    """The machine that the module is for: kernels of another form, ops that it does not have."""
    target = random.choice(["cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:x86-64-v4-amx", "cuda:sm_80", "cuda:sm_90a"])
    return re.sub(r'target = "[^"]*"', f'target = "{target}"', text, count=1)


def change_bytes(random, text):
    at = random.randrange(len(text))
    return text[:at] + random.choice(['"', "\0", "\u202e", "\\", "%", "@", "->", "\n", "e99999", "<",
                                      ","]) + text[at + random.randrange(3):]


CHANGES = ([change_number] * 6 + [change_symbol] * 6 + [change_attribute] * 4 + [change_lines] * 2
           + [change_properties] * 3 + [change_target] * 2
           + [change_word, change_nesting, change_size, change_size, change_bytes])


def mutated(random, dumps):
    stage, target, text = random.choice(dumps)
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        text = random.choice(CHANGES)(random, text) or "module"
    return stage, target, text
