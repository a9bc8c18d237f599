"""Sources that nobody writes by accident: deep, long, shared, huge. Each maker takes a random.Random and gives the text
of f.tsr, or a dict of files of which f.tsr is compiled."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
HUGE = [0, 1, -1, 2**31 - 1, 2**31, 2**32, 2**53, 2**62, 2**63 - 1, 2**63, 2**64, 10**30, 10**4000]
MAKERS = []


def maker(function):
    MAKERS.append(function)
    return function


def entry(body, parameters="x: Tensor[B, 8, f32]", result="x", before=""):
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"{before}@jit\ndef entry({parameters}):\n{lines}    return {result}\n"


def often(random, most):
    """A count, small or large."""
    return random.choice([2, 17, 199, 200, 201, 1000, most // 3, most])


# Nesting.

NESTS = [("(", ")"), ("[", "]"), ("(", ",)"), ('{"a": ', "}"), ("-", ""), ("not ", ""), ("~", ""), ("f(", ")"),
         ("x[", "]"), ("lambda a: ", ""), ("lambda a=", ": a"), ("1 if ", " else 2"), ("1 if True else ", ""),
         ("[i for i in ", "]"), ("[", " for i in range(2)]"), ("2 ** ", ""), ("1 + (", ")"), ("(", ") @ x"), ("x.", ""),
         ("relu(", ")"), ("(x + ", ")"), ("[*", "]"), ("(a := ", ")"), ("x[0:", "]"), ("max(1, ", ")"), ('f"{', '}"')]


@maker
def nested_expression(random):
    count = often(random, 100_000)
    left, right = random.choice(NESTS)
    inner = random.choice(["1", "x", "y", ""])
    text = f"{left * count}{inner}{right * random.choice([count, count, count - 1, 0])}"
    place = random.choice(["const", "body", "where", "type", "default", "decorator"])
    if place == "const":
        return f"const A = {text}\n" + entry("x = x * A")
    if place == "where":
        return f"@jit\ndef entry(x: Tensor[B, f32]) where {text}:\n    return x\n"
    if place == "type":
        return f"@jit\ndef entry(x: Tensor[{text}, f32]):\n    return x\n"
    if place == "default":
        return f"@jit\ndef entry(x: Tensor[B, f32], y: int = {text}):\n    return x\n"
    if place == "decorator":
        return f"@kernel.schedule(Schedule(block={text}))\n" + entry("x = x")
    return entry(f"x = x + {text}")


@maker
def mixed_nesting(random):
    opened = [random.choice(NESTS[:20]) for _ in range(often(random, 3000))]
    return entry("x = " + "".join(o for o, _ in opened) + "1" + "".join(c for _, c in reversed(opened)))


@maker
def nested_blocks(random):
    heads = ["if True:", "for i{} in range(2):", "while x{} < 3:", "def g{}(a):", "with gpu[0]:", "if B > {}:", "else:",
             "for i{} in range(B):", "module M{}(a: int):", "match x:", "try:"]
    only = random.choice(heads + [None])
    count, text = often(random, 4000), "@jit\ndef entry(x: Tensor[B, 8, f32]):\n"
    for n in range(count):
        text += " " * (n + 1) + (only or random.choice(heads)).format(n) + "\n"
    return text + " " * (count + 1) + "x = x + 1.0\n return x\n"


@maker
def nested_types(random):
    left, right = random.choice([("Tensor[", ", f32]"), ("tuple[", "]"), ("[", "]"), ("(", ")"), ("fn(", ") -> f32"),
                                 ("Param[", ", f32]"), ("list[", "]"), ("f32 @accum(", ")")])
    count = often(random, 50_000)
    return f"@jit\ndef entry(x: {left * count}B{right * count}) -> {left * count}B{right * count}:\n    return x\n"


# Values.

GROWERS = ["s = [s]", "s = (s,)", "s = [s, s]", "s = (s, s)", 's = {"a": s}', 's = {"a": s, "b": s}', "s = s + s",
           "s += s", "s = s * 2", "s = zip(s, s)", "s = enumerate(s)", "s = [s for i in range(3)]", "s = [s] * 100",
           "s = [[a, a] for a in s]", "s = (lambda: s)", "s = s[::-1] + s", "s = Schedule(block=s)", "s = max(s, s)",
           "s = zip(s, s, s, s, s, s)", "s = [s[0], s]", "s = g(s)", "s = (s, x)", "s = [x, s]"]
USES = ["c = s == s", "c = s == t", "c = s in t", "c = s is t", "c = [s] == [t]", "c = s < t", "c = s + 1",
        "c = max(s)",
        "x = x + s", "x = concat(s)", "return s", "for a in s:\n    x = x + 1.0", "c = x[s]", "c = reshape(x, s)",
        "c = zeros(s, f32)", "g(s)", "a, b = s", "c = s.nothing", "c = s[s]", "c = not s", "c = {s: 1}", "x = k(x, s)",
        "c: tuple[int, int] = s", "pass", "x = x if s else x"]


@maker
def grown_value(random):
    start = random.choice(["[1]", "[x]", '"ab"', "(1, 2)", "[]", "range(100)", "[1.5, x]", '{"a": 1}', "[M(1)]",
                           "None"])
    grower, count = random.choice(GROWERS), random.choice([10, 25, 60, 250, 90_000])
    if count > 1000 or random.random() < 0.5:
        other = grower.replace("s", "t") if "zip" not in grower else "t = s"
        loops = f"for i in range({count}):\n    {grower}\n    {other}"
    else:
        loops = "\n".join([grower] * count)
    body = f"s = {start}\nt = {start}\n{loops}\n{random.choice(USES)}"
    return entry(body, before="def g(a):\n    return [a, a]\n\nmodule M(n: int):\n    w: Param[4, f32] = zeros()\n\n")


@maker
def constants(random):
    grower = random.choice(["[{0}, {0}]", "[{0}]", "{0} + {0}", "({0}, {0})", "[[a, a] for a in {0}]", "[{0}] * 10",
                            "M({0})", "[M({0}), M({0})]", "zip({0}, {0})", "B({0})"])
    count = random.choice([20, 60, 300, 3000])
    text = "module M(a):\n    const b = [a]\n\nmodule B(D: dim):\n    w: Param[D, f32] = zeros()\n\n"
    text += f"c0 = {random.choice(['1', '[1]', 'B(4)', '[B(4)]', 'range(1000)'])}\n"
    text += "".join(f"c{n + 1} = {grower.format(f'c{n}')}\n" for n in range(count))
    return text + entry(f"if c{count} == c{count - 1}:\n    x = x + 1.0\nx = x * 2.0")


@maker
def ranges(random):
    n = random.choice([1000, 99_999, 100_000, 10**6, 10**9, 2**63 - 1])
    text = random.choice(["[range({0}) for i in range({0})]", "[i for i in range({0}) for j in range({0})]",
                          "range({0})",
                          "[0] * {0}", "zip(range({0}), range({0}))", "[[0] * {0}] * {0}", '"ab" * {0}',
                          "range(0, {0}, 7)",
                          "range({0}, -{0}, -1)", "enumerate(range({0}), {0})", "range({0})[::-1]", "max(range({0}))",
                          "[a for a in range({0}) if a in range({0})]",
                          "[(i, j) for i in range(300) for j in range({0})]"])
    return entry(f"s = {text.format(n)}\nfor a in s:\n    x = x + 1.0")


@maker
def endless(random):
    body = random.choice(["while True:\n    x = x * 1", "n = 0\nwhile n < 10:\n    n = n * 1",
                          "for i in range(3000):\n    for j in range(3000):\n        n = i * j",
                          "s = 1\nwhile s > 0:\n    s = s + 1", 's = "a"\nwhile len(s) > 0:\n    s = s + "bcdefgh"',
                          "s = []\nwhile len(s) >= 0:\n    s = s + [1]", "while 1 < 2:\n    f = lambda a: a",
                          "s = 1.5\nwhile s != 2:\n    s = sqrt(s)",
                          "n = B\nwhile is_known(n) == False:\n    n = n + B * n",
                          "while True:\n    def g(a):\n        return a"])
    return entry(body)


# Calls.

@maker
def calls(random):
    count, times = random.choice([(30, 2), (12, 5), (190, 1), (250, 1), (2000, 1), (60, 2)])
    body = random.choice(["g{0}(x)", "x + g{0}(x)", "g{0}(x) * 2.0", "relu(g{0}(x))"])
    text = "def g0(x):\n    return x + 1.0\n\n"
    for n in range(count):
        text += f"def g{n + 1}(x):\n    return " + " + ".join([body.format(n)] * times) + "\n\n"
    return text + entry(f"x = g{count}(x)")


@maker
def recursion(random):
    return random.choice([
        "def f(n):\n    return f(n + 1)\n\n" + entry("x = x + f(0)"),
        "def f(n):\n    return g(n)\n\ndef g(n):\n    return f(n)\n\n" + entry("x = x + f(0)"),
        "const A = B + 1\nconst B = A + 1\n" + entry("x = x + A"),
        entry("f = lambda n, f: f(n, f)\nx = x + f(1, f)"),
        "module M(n: int):\n    a: M(n + 1)\n\nm = M(0)\n" + entry("x = x"),
        "module M(n: int):\n    a: [M(n - 1)] * 2 if n > 0 else []\n    w: Param[4, f32] = zeros()\n\nm = M(40)\n"
        + entry("x = x"),
        "module M(n: int):\n    a: N(n + 1)\n\nmodule N(n: int):\n    a: M(n + 1)\n\nm = M(0)\n" + entry("x = x"),
        "@kernel\ndef k(x: Tensor[N, f32]) -> Tensor[N, f32]:\n    return k(x)\n\n@jit\ndef e(x: Tensor[N, f32]):\n    "
        "return k(x)\n",
        "module M(f):\n    def call(self, x):\n        return self.f(x)\n\nm = M(M)\n" + entry("x = m.call(x)"),
    ])


@maker
def many_arguments(random):
    n = often(random, 20_000)
    return random.choice([
        entry(f"x = f({', '.join(f'a{i}={i}' for i in range(n))})", before="def f(a0, b):\n    return a0\n\n"),
        f"@jit\ndef entry({', '.join(f'a{i}: Tensor[B, f32]' for i in range(n // 10 + 1))}):\n    return a0\n",
        entry(f"x = concat(({'x, ' * (n // 10 + 1)}))"), entry(f"x = max({'1, ' * n}2) * x"),
        f"@jit\ndef entry(x: Tensor[{', '.join(f'D{i}' for i in range(n // 100 + 1))}, f32]):\n    return x + x\n",
    ])


# Names, statements, literals.

@maker
def many_names(random):
    n = random.choice([100, 2000, 8000])
    return random.choice([
        entry("\n".join(f"y{i} = x + name{i}q" for i in range(n))),
        "".join(f"const c{i} = c{i + 1}\n" for i in range(n)) + entry("x = x + c0"),
        "".join(f"const c{i} = undefined{i}\n" for i in range(n)) + entry("x = x"),
        "".join("const same = 1\n" for _ in range(n)) + entry("x = x"),
        "".join(f"def g{i}(a):\n    return a + h{i}\n\n" for i in range(n)) + entry("x = g0(x)"),
        "".join(f"import no_such_module_{i}\n" for i in range(n)) + entry("x = x"),
        "".join(f"@nothing{i}\n" for i in range(n)) + entry("x = x"),
        "".join(f"from tessera.nn import name{i}\n" for i in range(n)) + entry("x = x"),
        entry("\n".join(f"x = x.member{i}" for i in range(n))),
        entry("\n".join(f"x = tile.member{i}(x)" for i in range(n))),
        entry("\n".join(f"lambda a{i}: a{i}" for i in range(n)) + "\n" + "\n".join(f"v{i} = {i}" for i in range(n))),
    ])


@maker
def long_chain(random):
    n = random.choice([200, 3000, 20_000, 100_000])
    op = random.choice([" + 1.0", " + x", " * 2", " and True", " < 3", ".T", "[0]", "()", " @ x", " if True else x",
                        " == x",
                        " in x", " // 3", " % 7", " | 1", " ** 2"])
    if random.random() < 0.5:
        return entry("x = x" + op * n)
    return entry("\n".join([f"x = x{op}"] * min(n, 20_000)))


@maker
def literals(random):
    n = random.choice([10, 400, 5000, 500_000])
    text = random.choice(["1" * n, "0x" + "f" * n, "1." + "0" * n, "1e" + "9" * min(n, 5000), '"' + "a" * n + '"',
                          "a" * n,
                          "1_" * n + "1", '"""' + "\n" * n + '"""', "'" * n, "#" * n, "\\\n" * min(n, 20_000),
                          "0b" + "1" * n,
                          '"' + "\\u202e" * n + '"', "\u202e" * n, '"' + "\u200b" * min(n, 50_000) + '"', "\ufeff" * n])
    return entry(f"y = {text}\nx = x + 1.0")


# Directives and files.

@maker
def includes(random):
    n = random.choice([10, 39, 41, 120])
    kind = random.choice(["cycle", "chain", "twice", "imports", "ring"])
    if kind == "cycle":
        return {"f.tsr": '%include "g.tsr"\n', "g.tsr": '%include "f.tsr"\n' + entry("x = x")}
    if kind == "ring":
        names = ["f"] + [f"m{i}" for i in range(n)] + ["f"]
        return {f"{name}.tsr": f"import {after}\nconst a = 1\n" for name, after in zip(names, names[1:])}
    files = {"f.tsr": ('%include "m0.tsr"\n' if kind != "imports" else "from m0 import a\n") + entry("x = x")}
    for i in range(n):
        line = f'%include "m{i + 1}.tsr"\n' if kind != "imports" else f"from m{i + 1} import a\n"
        files[f"m{i}.tsr"] = line * (2 if kind == "twice" else 1) + ("const a = 1\n" if kind == "imports"
                                                                     and i == n - 1 else "")
    files[f"m{n}.tsr"] = "pass\n"
    return files


@maker
def macros(random):
    n = often(random, 2000)
    return random.choice([
        "%define a0 1\n" + "".join(f"%define a{i + 1} a{i} + a{i}\n" for i in range(n)) + entry(f"x = x + a{n}"),
        "".join(f"%define a{i} a{i + 1}\n" for i in range(n)) + entry("x = x + a0"),
        "".join("%if 1\n" for _ in range(n)) + entry("x = x") + "%endif\n" * n,
        "%if " + "(" * n + "1" + ")" * n + "\n%endif\n" + entry("x = x"),
        "%if " + "not " * n + "1\n%endif\n" + entry("x = x"),
        "%if 1\n" + "%elif 1\n" * n + "%endif\n" + entry("x = x"),
    ])


# Sizes.

@maker
def polynomials(random):
    names = [f"D{i}" for i in range(random.choice([2, 5, 20]))]
    n = random.choice([5, 20, 60, 400])

    def size(depth):
        if depth == 0:
            return random.choice(names + [str(random.choice(HUGE[:10])), "3", "7"])
        op = random.choice(["({} + {})", "({} * {})", "({} // {})", "({} % {})", "min({}, {})", "max({}, {})",
                            "({} - {})"])
        return op.format(size(depth - 1), size(random.randrange(depth)))
    parameters = f"x: Tensor[{', '.join(names)}, f32]"
    return random.choice([
        entry(f"n = {size(random.choice([4, 8, 12]))}\ny = zeros((n,), f32)", parameters, "y"),
        entry(f"n = {names[0]}\nfor i in range({n}):\n    n = n * {names[1]} + {names[-1]} + i\ny = zeros((n,), f32)",
              parameters, "y"),
        entry(
            f"n = {names[0]}\nfor i in range({n}):\n    n = (n // {names[1]}) * (n % {names[-1]} + 1)\ny = zeros((n,), "
            f"f32)", parameters, "y"),
        entry(
            f"n = {names[0]}\nfor i in range({n}):\n    n = min(n + {names[1]}, n * {names[-1]})\ny = zeros((n,), "
            f"f32)", parameters, "y"),
        entry(f"n = ({' + '.join(names)}) ** 8 * ({' + '.join(names)}) ** 8\ny = zeros((n,), f32)", parameters, "y"),
        f"@jit\ndef entry(x: Tensor[{size(6)}, f32], y: Tensor[{', '.join(names)}, f32]):\n    return x + 1.0\n",
        f"@jit\ndef entry({parameters}) where {' and '.join(f'{size(3)} == {size(3)}' for _ in range(min(n, 60)))}:\n  "
        f"  return x + x\n",
        f"@jit\ndef entry({parameters}) where {', '.join(f'{size(2)} <= {size(2)}' for _ in range(min(n, 60)))}:\n    "
        f"return x + x\n",
        entry(f"y = reshape(x, ({size(5)}, {size(5)}))", parameters, "y"),
        entry("y = reshape(x, (-1,))\n" + "\n".join(f"y = concat((y, y[: {size(2)}]))" for _ in range(min(n, 60))),
              parameters, "y"),
    ])


@maker
def tensors(random):
    h, g = random.choice(HUGE), random.choice(HUGE)
    n = random.choice([1, 30, 300])
    line = random.choice([f"x = x + zeros(({h}, {g}), f32)", f"y = zeros(({', '.join([str(h % 2**40)] * n)},), f32)",
                          f"x = x[{h}:{g}]", f"x = x[{h}]", f"x = reshape(x, ({h}, {g}))",
                          f"x = transpose(x, ({h}, {g}))",
                          f"y = broadcast(x, ({h}, {g}, 8))", f"x = x + {h}", f"x = x * {h}.5", f"x = x ** {h}",
                          f"y = arange({h})", f"x = sum(x, axis={h})", f"x = x @ zeros((8, {h}), f32)",
                          f"y = full(({h},), {g})",
                          f"y = one_hot(arange(8), {h})", f"y = topk(x, {h})", f"x = pad(x, (({h}, {g}), (0, 0)))",
                          f"y = cumsum(zeros(({h},), f32))",
                          f"y = conv2d(zeros((1, {h}, {h}, 3), f32), zeros((3, 3, 3, {g}), f32))",
                          "y = " + "x, " * n, f"y = einsum('{'ab,' * n}ab->ab', {', '.join(['x'] * (n + 1))})",
                          f"for i in range({h}):\n    x = x + 1.0", f"for i in range(B, {h}):\n    x = x + 1.0",
                          f"x = concat(({'x, ' * n}), axis=0)", f"x = x @ x.T @ x", f"y = dropout(x, {h})"])
    return entry("\n".join([line] * n), result=random.choice(["x", "y"]))


@maker
def loops_of_the_machine(random):
    depth = random.choice([3, 20, 60, 199])
    text, names = "", []
    for n in range(depth):
        head = random.choice([f"for i{n} in range(B):", "while sum(x) < 3.0:", "if sum(x) < 3.0:",
                              f"for i{n} in range(2, B):"])
        text += "    " * n + head + "\n"
    return entry(text + "    " * depth + "x = x + 1.0")


@maker
def kernels(random):
    h = random.choice(HUGE + [3, 64, 65_536])
    axes = random.choice(["n", "m, n", "n, n"])
    key = random.choice(["BN", "block", "warps", "stages", "BM", "unroll", "nothing", "vector", "cluster"])
    value = random.choice([str(h), f"({h}, {h})", str([h] * random.choice([1, 50, 5000])), "[]", f"[[{h}]]", "-1",
                           '"a"',
                           "{" + ", ".join(f'"a{i}": {i}' for i in range(300)) + "}"])
    lines = ["a = tile.load(x)", f"a = tile.zeros(({h % 2**40}, {h % 2**20}), f32)",
             f"for i in tile.range({h}, {h}):\n        a = a + 1.0",
             "for i in tile.range(N, t.n):\n        a = a + tile.load(x)",
             f"for i in range({h}):\n        a = a + 1.0", "a = tile.dot(a, a)",
             f"a = a * {h}", f"a = tile.load(x, ({h},))", f"a = tile.sum(a, axis={h})", "a = a[None, :]",
             "a = tile.trans(a)",
             f"a = tile.arange(0, {h})", f"a = tile.full(({h % 2**33},), 1.0, f32)"] + ["a = a + a"] * 3
    body = "\n    ".join(["a = tile.load(x)"] + [random.choice(lines) for _ in range(random.choice([1, 4, 100]))])
    sizes = [f"{axis}={random.choice(['N', str(h)])}" for axis in axes.split(", ")]
    contexts = f"t = tile.context({', '.join(sizes)})"
    return (
        f"@kernel.schedule(Schedule({key}={value}))\ndef k(x: Tensor[N, f32]) -> Tensor[N, f32]:\n    {contexts}\n    "
        f"{body}\n"
            "    return a\n\n@jit\ndef entry(x: Tensor[N, f32]) -> Tensor[N, f32]:\n    return k(x)\n")


@maker
def chains(random):
    """Kernels whose loops unroll to long chains of ops."""
    steps = ["a = a + 1.0", "a = c - a", "a = exp(a * 0.5)", "a = where(a > 0.5, a, -a)", "a = (a + c) * (a - c)",
             "a = -a",
             "a = a - tile.sum(a, axis=0)", "a = tile.scan(a, axis=0) * 0.5", "a = tile.maximum(a, c)", "a = sin(a)",
             "a = a % c",
             "a = tile.cast(tile.cast(a, f16) * 1.5, f32)", "a = a + tile.load(x)", "c = a / c\n        a = c + a"]
    step = "\n        ".join(random.choice(steps) for _ in range(random.choice([1, 2, 5])))
    count = random.choice([100, 200, 400, 800, 1300, 2000, 20_000, 65_536])
    return (
        f"@kernel.schedule(Schedule(BN={random.choice([1, 8, 64, 1024])}))\ndef k(x: Tensor[N, f32]) -> Tensor[N, "
        f"f32]:\n"
            f"    t = tile.context(n=N)\n    a = tile.load(x)\n    c = tile.load(x)\n    for i in range({count}):\n    "
            f"    {step}\n"
            "    return a\n\n@jit\ndef entry(x: Tensor[N, f32]):\n    return k(x)\n")


@maker
def schedules(random):
    n = random.choice([10, 300, 3000])
    step = random.choice([".warps(4)", ".block(m=64)", ".with_schedule(Schedule(block=(64,)))", ".stages(2)"])
    return (
        "@kernel\ndef k(x: Tensor[N, f32]) -> Tensor[N, f32]:\n    t = tile.context(n=N)\n    return tile.load(x)\n\n"
            + random.choice([f"const s = Schedule(){step * n}\n", f"const s = k{step * n}\n",
                             "const s0 = k\n" + "".join(f"const s{i + 1} = s{i}{step}\n" for i in range(n))
                             + f"const s = s{n}\n"])
            + entry("x = x + 1.0", before=""))


# Programs that are nearly right.

EXAMPLES = sorted(path for folder in ("examples", "stdlib", "tests/diagnostics", "tests/kernels")
                  for path in (ROOT / folder).rglob("*.tsr"))
TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


@maker
def mutated(random):
    tokens = TOKEN.findall(random.choice(EXAMPLES).read_text(errors="replace"))
    for _ in range(random.choice([1, 3, 10, 50])):
        tokens = tokens or [" "]
        at = random.randrange(len(tokens))
        change = random.randrange(8)
        if change == 0:
            del tokens[at]
        elif change == 1:
            tokens.insert(at, random.choice(tokens))
        elif change == 2:
            other = random.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif change == 3:
            numbers = [i for i, token in enumerate(tokens) if token.isdigit()]
            tokens[random.choice(numbers or [at])] = str(random.choice(HUGE))
        elif change == 4:
            names = [i for i, token in enumerate(tokens) if token.isidentifier()]
            tokens[random.choice(names or [at])] = tokens[random.choice(names or [at])]
        elif change == 5:
            end = min(len(tokens), at + random.randrange(60))
            tokens[at:at] = tokens[at:end] * random.choice([1, 5, 100])
        elif change == 6:
            tokens[at] = "(" * random.choice([1, 200]) + tokens[at]
        else:
            tokens[at] = random.choice(["\t", "\0", "\r", "\u202e", "%", "\\", '"""', "@", "\x7f", "é", "//", "->"])
    return "".join(tokens)


@maker
def mixed(random):
    return random.choice(MAKERS[:-1])(random)
