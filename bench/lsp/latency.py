#!/usr/bin/env python3
"""Measures how long tessera-lsp takes from a keystroke to its diagnostics, and for hover and completion.

One session is in a plain file, one in a file with directives.

Usage: bench/lsp/latency.py BUILD_DIR [--lines N] [--keys N] [--check]
  --lines  of the file that is made to be edited (2000)
  --keys   keystrokes, each followed by a hover and a completion (200)
  --check  exit 1 when a bound of docs/editors.md is not kept
Prints medians and 95th percentiles in milliseconds.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

URI = "file:///latency/model.tsr"
BOUNDS = {"diagnostics": (60, 150), "hover": (20, None), "completion": (20, None)}

HEAD = """from tessera.nn import split_heads, merge_heads

const EPS = 1e-5
"""
DIRECTIVES_HEAD = """from tessera.nn import split_heads, merge_heads

%define EPSILON 1e-5
%if defined(COARSE)
const EPS = 1e-3
%else
const EPS = EPSILON
%endif
"""
PART = """
const WIDTH_{i} = {width}


def scaled_{i}(x: Tensor[B, S, D, T], scale: Tensor[D, T]) -> Tensor[B, S, D, T]:
    \"\"\"Scales rows and adds what they were.\"\"\"
    y = rmsnorm(x, scale, eps=EPS)
    z = gelu(y) * 0.5
    return x + z


def attend_{i}(x: Tensor[B, S, D, bf16], w: Tensor[D, 3*D, bf16], H: int) -> Tensor[B, S, D, bf16] where D % H == 0:
    qkv = x @ w
    q = split_heads(qkv[..., :D], H)
    k = split_heads(qkv[..., D:2*D], H)
    v = split_heads(qkv[..., 2*D:], H)
    return merge_heads(flash_attention(q, k, v, causal=True))


@jit
def block_{i}(x: Tensor[B, S, WIDTH_{i}, bf16], w: Tensor[WIDTH_{i}, 3*WIDTH_{i}, bf16], s: Tensor[WIDTH_{i}, bf16],
              up: Tensor[WIDTH_{i}, 4*WIDTH_{i}, bf16], down: Tensor[4*WIDTH_{i}, WIDTH_{i}, bf16]
              ) -> Tensor[B, S, WIDTH_{i}, bf16]:
    h = scaled_{i}(x, s)
    h = h + attend_{i}(h, w, 4)
    return h + gelu(h @ up) @ down
"""


def make_text(lines, head):
    text = head
    i = 0
    while text.count("\n") < lines:
        text += PART.format(i=i, width=64 * (i % 4 + 1))
        i += 1
    return text, i


class Client:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.next_id = 1

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def receive(self):
        length = 0
        while (line := self.process.stdout.readline().strip()):
            name, value = line.split(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return json.loads(self.process.stdout.read(length))

    def request(self, method, params):
        number, self.next_id = self.next_id, self.next_id + 1
        self.send({"id": number, "method": method, "params": params})
        while (message := self.receive()).get("id") != number:
            pass
        return message["result"]

    def notify(self, method, params):
        self.send({"method": method, "params": params})

    def diagnostics(self, version):
        """Waits for those of a version of the document."""
        while True:
            message = self.receive()
            is_published = message.get("method") == "textDocument/publishDiagnostics"
            if is_published and message["params"].get("version") == version:
                return message["params"]["diagnostics"]


def type_keys(client, text, keys, parts):
    """Types in the middle of the file, a name letter by letter; gives the times of each kind in milliseconds."""
    lines = text.split("\n")
    times = {kind: [] for kind in BOUNDS}
    version = 1
    word = " + mean(h)"
    at = next(n for n, line in enumerate(lines) if line.startswith(f"def block_{parts // 2}(")) + 4
    column = len(lines[at])
    for key in range(keys):
        letter = key % len(word)
        if letter == 0 and key > 0:
            change = {"range": span(at, column, at, column + len(word)), "text": ""}
            version += 1
            edit(client, version, change)
            client.diagnostics(version)
        change = {"range": span(at, column + letter, at, column + letter), "text": word[letter]}
        version += 1
        begin = time.perf_counter()
        edit(client, version, change)
        client.diagnostics(version)
        times["diagnostics"].append(time.perf_counter() - begin)
        place = {"textDocument": {"uri": URI}, "position": {"line": at, "character": column - 3}}
        for kind in ("hover", "completion"):
            begin = time.perf_counter()
            client.request(f"textDocument/{kind}", place)
            times[kind].append(time.perf_counter() - begin)
    return {kind: [1000 * t for t in list_] for kind, list_ in times.items()}


def span(line, begin, end_line, end):
    return {"start": {"line": line, "character": begin}, "end": {"line": end_line, "character": end}}


def edit(client, version, change):
    client.notify("textDocument/didChange",
                  {"textDocument": {"uri": URI, "version": version}, "contentChanges": [change]})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("--keys", type=int, default=200)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    good = True
    for title, head in (("plain", HEAD), ("with directives", DIRECTIVES_HEAD)):
        good = measure(title, head, options) and good
    return 0 if good or not options.check else 1


def measure(title, head, options):
    """One session; whether the bounds are kept."""
    client = Client(options.build / "bin/tessera-lsp")
    client.request("initialize", {"capabilities": {}, "processId": None, "rootUri": None})
    client.notify("initialized", {})
    text, parts = make_text(options.lines, head)
    begin = time.perf_counter()
    client.notify("textDocument/didOpen",
                  {"textDocument": {"uri": URI, "languageId": "tessera", "version": 1, "text": text}})
    found = client.diagnostics(1)
    if found:
        sys.exit(f"the file is not correct: {found[0]['message']}")
    print(f"{text.count(chr(10))} lines, {title}; opened and checked in {1000 * (time.perf_counter() - begin):.0f} ms")
    good = True
    for kind, times in type_keys(client, text, options.keys, parts).items():
        median, late = statistics.median(times), sorted(times)[int(len(times) * 0.95)]
        print(f"{kind:12} median {median:6.1f} ms   95th percentile {late:6.1f} ms   greatest {max(times):6.1f} ms")
        most, most_late = BOUNDS[kind]
        good = good and median < most and (most_late is None or late < most_late)
    client.request("shutdown", None)
    client.notify("exit", None)
    client.process.wait(timeout=10)
    return good


if __name__ == "__main__":
    sys.exit(main())
