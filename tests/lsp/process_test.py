#!/usr/bin/env python3
"""tessera-lsp as a process: clients that die, lie about lengths, cancel, and ask for what other programs compute.

Usage: tests/lsp/process_test.py BUILD_DIR
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from usage import build_folder

BUILD = build_folder()
del sys.argv[1]  # unittest reads the rest
CACHE = tempfile.TemporaryDirectory()
os.environ["XDG_CACHE_HOME"] = CACHE.name


def framed(body):
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def frame(message):
    return framed(json.dumps({"jsonrpc": "2.0", **message}).encode())


def messages(output):
    """The messages in the bytes that the server wrote."""
    found = []
    while output:
        head, _, rest = output.partition(b"\r\n\r\n")
        length = int(head.split(b":")[1])
        found.append(json.loads(rest[:length]))
        output = rest[length:]
    return found


def session(*parts, timeout=60):
    """What a client gets that sends all of this at once and then closes its end: messages and the exit code."""
    done = subprocess.run([BUILD / "bin/tessera-lsp"], input=b"".join(parts), capture_output=True, timeout=timeout)
    return messages(done.stdout), done.returncode


def answer(found, number):
    return next(message for message in found if message.get("id") == number and "method" not in message)


def opened(uri, text):
    document = {"uri": uri, "languageId": "tessera", "version": 1, "text": text}
    return frame({"method": "textDocument/didOpen", "params": {"textDocument": document}})


def read_until(server, wanted):
    """The next message of a server for which `wanted` holds."""
    while head := server.stdout.readline():
        server.stdout.readline()
        message = json.loads(server.stdout.read(int(head.split(b":")[1])))
        if wanted(message):
            return message
    raise EOFError("the server ended")


def read_answer(server, number):
    return read_until(server, lambda message: message.get("id") == number and "method" not in message)


INITIALIZE = frame({"id": 0, "method": "initialize", "params": {"capabilities": {}}})
SHUTDOWN = frame({"id": 99, "method": "shutdown"})
EXIT = frame({"method": "exit"})
URI = "file:///process/model.tsr"
KERNEL = """@kernel.schedule(Schedule(BN=1024))
def added(x: Tensor[N, f32], y: Tensor[N, f32]) -> Tensor[N, f32]:
    t = tile.context(n=N)
    return tile.load(x) + tile.load(y)


@jit
def entry(x: Tensor[N, f32]) -> Tensor[N, f32]:
    return added(x, x)
"""
TEXT = "@jit\ndef f(x: Tensor[B, 4, f32]):\n    return gelu(x)\n"


class Process(unittest.TestCase):
    def test_an_orderly_end(self):
        found, code = session(INITIALIZE, opened(URI, TEXT), SHUTDOWN, EXIT)
        self.assertEqual(code, 0)
        self.assertIsNone(answer(found, 99)["result"])

    def test_a_client_that_dies(self):
        self.assertEqual(session(INITIALIZE, opened(URI, TEXT))[1], 1)
        self.assertEqual(session(b"")[1], 1)
        self.assertEqual(session(INITIALIZE, frame({"id": 1, "method": "shutdown"})[:-5])[1], 1)
        self.assertEqual(session(INITIALIZE, EXIT)[1], 1)

    def test_a_client_whose_process_has_died(self):
        client = subprocess.Popen(["sleep", "100"])
        server = subprocess.Popen([BUILD / "bin/tessera-lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        server.stdin.write(frame({"id": 0, "method": "initialize",
                                  "params": {"processId": client.pid, "capabilities": {}}}))
        server.stdin.flush()
        read_answer(server, 0)
        client.kill()
        client.wait()
        self.assertEqual(server.wait(timeout=60), 1)
        server.stdin.close()
        server.stdout.close()

    def test_a_client_that_does_not_read(self):
        server = subprocess.Popen([BUILD / "bin/tessera-lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        server.stdout.close()
        server.stdin.write(INITIALIZE)
        server.stdin.close()
        self.assertEqual(server.wait(timeout=30), 1)

    def test_lengths_that_lie(self):
        for lie in (b"Content-Length: 3\r\n\r\n{}{}{}", b"Content-Length: -1\r\n\r\n", b"Content-Length: x\r\n\r\n{}",
                    b"Content-Length: 999999999999\r\n\r\n"[:-4] + b"9" * 30 + b"\r\n\r\n", b"\xff\xfe\r\n\r\n"):
            found, code = session(INITIALIZE, lie, SHUTDOWN, EXIT)
            self.assertEqual(code, 0, lie)
            self.assertTrue(any("error" in message for message in found), lie)

    def test_an_edit_whose_length_lies(self):
        edit = frame({"method": "textDocument/didChange", "params": {
            "textDocument": {"uri": URI, "version": 2}, "contentChanges": [{"text": ""}]}})
        ask = frame({"id": 1, "method": "textDocument/documentSymbol", "params": {"textDocument": {"uri": URI}}})
        for length in (b"10", b"4000", b"4000000000"):
            lie = b"Content-Length: " + length + edit[edit.index(b"\r"):]
            found, code = session(INITIALIZE, opened(URI, TEXT), lie, frame({"method": "$/nothing"}), ask, SHUTDOWN,
                                  EXIT)
            self.assertEqual(code, 0)
            self.assertEqual(answer(found, 1)["error"]["code"], -32801, length)
            shown = [message for message in found if message.get("method") == "window/showMessage"]
            self.assertIn("an edit of model.tsr", shown[0]["params"]["message"])

    def test_values_that_are_nested_without_end(self):
        deep = b"[" * 200_000 + b"]" * 200_000
        found, code = session(
            INITIALIZE,
            framed(b'{"id":1,"method":"workspace/executeCommand","params":{"arguments":%s}}' % deep),
            framed(b'{"id":2,"method":"completionItem/resolve","params":{"label":"x","data":%s}}' % deep),
            framed(b'{"method":"workspace/didChangeConfiguration","params":{"settings":{"defines":{"A":%s}}}}' % deep),
            framed(b'{"id":3,"method":%s}' % deep), opened(URI, TEXT),
            frame({"id": 4, "method": "textDocument/documentSymbol", "params": {"textDocument": {"uri": URI}}}),
            SHUTDOWN, EXIT)
        self.assertEqual(code, 0)
        for number in (1, 2, 3):
            self.assertEqual(answer(found, number)["error"]["code"], -32700)
        self.assertEqual(len(answer(found, 4)["result"]), 1)
        self.assertFalse(any(message.get("method") == "window/showMessage" for message in found))

    def compiling(self, script):
        """A server with a request that waits for a compiler, which is a shell script."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        compiler, started = pathlib.Path(folder.name, "compiler"), pathlib.Path(folder.name, "started")
        compiler.write_text(f"#!/bin/sh\ntouch {started}\n{script}\n")
        compiler.chmod(0o755)
        server = subprocess.Popen([BUILD / "bin/tessera-lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(lambda: (server.kill(), server.wait(), server.stdin.close(), server.stdout.close()))
        params = {"capabilities": {}, "initializationOptions": {"compilerPath": str(compiler)}}
        uri = f"file://{folder.name}/model.tsr"
        command = {"command": "tessera.showTile", "arguments": [{"uri": uri, "position": {"line": 1, "character": 5}}]}
        server.stdin.write(frame({"id": 0, "method": "initialize", "params": params}) + opened(uri, TEXT) +
                           frame({"id": 1, "method": "workspace/executeCommand", "params": command}))
        server.stdin.flush()
        for _ in range(1200):
            if started.exists():
                return server
            time.sleep(0.05)
        self.fail("the compiler was not started")

    def test_a_request_that_is_cancelled(self):
        # One that closes its output and goes on is not waited for either.
        for script in ("exec sleep 1000", "exec sleep 1000 >&- 2>&-"):
            server = self.compiling(script)
            server.stdin.write(frame({"method": "$/cancelRequest", "params": {"id": 1}}))
            server.stdin.flush()
            self.assertEqual(read_answer(server, 1)["error"]["code"], -32800)

    def test_an_exit_while_a_compiler_runs(self):
        server = self.compiling("exec sleep 1000")
        server.stdin.write(SHUTDOWN + EXIT)
        server.stdin.flush()  # and stays open, as an editor's end does
        self.assertEqual(server.wait(timeout=60), 0)

    def end(self, server):
        """Ends a server in order, whatever it still says."""
        server.stdin.write(SHUTDOWN + EXIT)
        server.stdin.close()
        server.stdout.read()
        server.stdout.close()
        self.assertEqual(server.wait(timeout=30), 0)

    def test_the_stages_of_a_function(self):
        with tempfile.TemporaryDirectory() as folder:
            uri = f"file://{folder}/model.tsr"
            server = subprocess.Popen([BUILD / "bin/tessera-lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            argument = {"uri": uri, "position": {"line": 1, "character": 5}}
            server.stdin.write(INITIALIZE
                               + opened(uri, TEXT + "\n\n@jit\ndef other(x: Tensor[4, f32]):\n    return -x\n"))
            for number, stage in enumerate(("Graph", "Schedule", "Tile", "Target", "Code"), 1):
                params = {"command": f"tessera.show{stage}", "arguments": [argument]}
                server.stdin.write(frame({"id": number, "method": "workspace/executeCommand", "params": params}))
                server.stdin.flush()
                reply = read_answer(server, number)
                result = reply["result"]
                self.assertEqual(result["text"].count("\n"), len(result["lines"]))
                self.assertEqual((result["function"], result["target"]), ("f", "cpu:x86-64-v3"))
                self.assertIn({"uri": uri, "line": 2}, result["lines"])
                self.assertIn("f", result["text"])
                self.assertNotIn("other", result["text"])
            self.end(server)

    def test_a_stage_for_a_client_that_shows_none(self):
        for shows in (False, True):
            uri = f"file://{CACHE.name}/stages.tsr"
            server = subprocess.Popen([BUILD / "bin/tessera-lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.addCleanup(lambda: (server.kill(), server.wait(), server.stdin.close(), server.stdout.close()))
            command = {"command": "tessera.showGraph",
                       "arguments": [{"uri": uri, "position": {"line": 1, "character": 5}}]}
            capabilities = {"window": {"showDocument": {"support": shows}}}
            server.stdin.write(frame({"id": 0, "method": "initialize", "params": {"capabilities": capabilities}}) +
                               opened(uri, TEXT)
                               + frame({"id": 1, "method": "workspace/executeCommand", "params": command}))
            server.stdin.flush()
            text = read_answer(server, 1)["result"]["text"]
            self.assertIn('places = ["stages.tsr:2:', text)
            message = read_until(server, lambda message: message.get("method", "").startswith("window/show"))
            if shows:
                self.assertEqual(message["method"], "window/showDocument")
                path = message["params"]["uri"].removeprefix("file://")
            else:
                self.assertRegex(message["params"]["message"], "^Graph of 'f' is in /")
                path = message["params"]["message"].split(" is in ")[1]
            self.assertTrue(path.startswith(CACHE.name) and path.endswith("stages.f.Graph.tir"), path)
            self.assertEqual(pathlib.Path(path).read_text(), text)

    def test_the_stages_of_what_is_typed_in_other_files(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "lib.tsr").write_text("def g(x):\n    return x * 2.0\n")
            uri, lib = f"file://{folder}/model.tsr", f"file://{folder}/lib.tsr"
            text = ("import lib\nimport new.part\n\n@jit\ndef f(x: Tensor[B, 4, f32]):\n"
                    "    return new.part.h(lib.g(x))\n")
            command = {"command": "tessera.showGraph",
                       "arguments": [{"uri": uri, "position": {"line": 4, "character": 5}}]}
            ask = frame({"id": 1, "method": "workspace/executeCommand", "params": command})
            server = subprocess.Popen([BUILD / "bin/tessera-lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            server.stdin.write(INITIALIZE + opened(lib, "def g(x):\n    return x * 7.0\n") + opened(uri, text) +
                               opened(f"file://{folder}/new/part.tsr", "def h(x):\n    return x + 3.0\n") + ask)
            server.stdin.flush()
            shown = read_answer(server, 1)["result"]
            self.assertIn("7.0", shown["text"])
            self.assertIn("3.0", shown["text"])
            self.assertNotIn("2.0", shown["text"])
            self.assertIn({"uri": lib, "line": 1}, shown["lines"])
            self.end(server)

    def test_the_stages_of_a_kernel_and_of_what_is_compiled_as_a_part(self):
        with tempfile.TemporaryDirectory() as folder:
            uri = f"file://{folder}/model.tsr"
            text = KERNEL + "\n\ndef half(x: Tensor[N, f32]) -> Tensor[N, f32]:\n    return x * 0.5\n" \
                            "\n\n@jit\ndef other(x: Tensor[4, f32]):\n    return half(x)\n"
            server = subprocess.Popen([BUILD / "bin/tessera-lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            server.stdin.write(INITIALIZE + opened(uri, text))
            number = 0
            # Line, target and stage: what is there, what is not.
            for line, target, stage, wanted, strange in (
                    (1, "cpu:x86-64-v3", "Schedule", "sched.kernel @entry.0", "@other"),
                    (1, "cpu:x86-64-v3", "Code", "entry.0:", "other"),
                    (1, "cuda:sm_90a", "Code", ".entry entry$0(", "other"),
                    (12, "cpu:x86-64-v3", "Graph", "@other", "@entry"),
                    (12, "cuda:sm_90a", "Code", ".entry other$0", "entry$0")):
                number += 1
                place = {"uri": uri, "position": {"line": line, "character": 4}, "target": target}
                params = {"command": f"tessera.show{stage}", "arguments": [place]}
                server.stdin.write(frame({"id": number, "method": "workspace/executeCommand", "params": params}))
                server.stdin.flush()
                result = read_answer(server, number)["result"]
                self.assertIn(wanted, result["text"])
                self.assertNotIn(strange, result["text"])
                self.assertTrue(any(place and place["line"] >= line for place in result["lines"]))
            params = {"command": "tessera.showGraph",
                      "arguments": [{"uri": uri, "position": {"line": 1, "character": 4}}]}
            server.stdin.write(frame({"id": 99, "method": "workspace/executeCommand", "params": params}))
            server.stdin.flush()
            message = read_answer(server, 99)["error"]["message"]
            self.assertEqual(message, "there is no Graph of 'added', a kernel; its lowering begins with Schedule")
            server.kill()
            server.wait()
            server.stdin.close()
            server.stdout.close()

    def test_what_a_kernel_costs(self):
        with tempfile.TemporaryDirectory() as folder:
            uri = f"file://{folder}/model.tsr"
            server = subprocess.Popen([BUILD / "bin/tessera-lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            server.stdin.write(INITIALIZE + opened(uri, KERNEL))
            found = {}
            for line, character, wanted in ((1, 5, "a launch   at N = 1024: 1 program,"),
                                            (7, 5, "launches at N = 1024")):
                place = {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}
                for number in range(100 * line, 100 * line + 99):
                    server.stdin.write(frame({"id": number, "method": "textDocument/hover", "params": place}))
                    server.stdin.flush()
                    text = read_answer(server, number)["result"]["contents"]["value"]
                    if wanted in text:
                        break
                    time.sleep(0.1)
                self.assertIn(wanted, text)
                found[line] = text
            for word in ("flops      1.02 kFLOP\n", "read       8.19 KB\n", "bound by memory"):
                self.assertIn(word, found[1])
            self.assertIn("  model.tsr:9:12 ", found[7])
            self.end(server)


def workers_of(server):
    """The processes that a server has started."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == server.pid:
            found.append(int(stat.parent.name))
    return found


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Busy(unittest.TestCase):
    """A server whose worker is never done with a text."""

    def start(self, uri=URI, text="# endless\n", **environment):
        server = subprocess.Popen([BUILD / "bin/tessera-lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  env=dict(os.environ, TESSERA_LSP_HANG_AT="endless", TESSERA_LSP_FILL_AT="greedy",
                                           **environment))
        self.addCleanup(lambda: (server.kill(), server.wait(), server.stdin.close(), server.stdout.close()))
        client = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(lambda: (client.kill(), client.wait()))
        params = {"processId": client.pid, "capabilities": {}}
        server.stdin.write(frame({"id": 0, "method": "initialize", "params": params}))
        server.stdin.flush()
        read_answer(server, 0)
        workers = workers_of(server)
        self.assertEqual(len(workers), 1)
        server.stdin.write(opened(uri, TEXT + text))
        server.stdin.flush()
        return server, client, workers[0]

    def check_gone(self, worker):
        for _ in range(600):
            if not is_running(worker):
                return
            time.sleep(0.1)
        self.fail("the worker is still there")

    def test_no_worker_remains(self):
        def say(*parts):
            return lambda server, client: (server.stdin.write(b"".join(parts)), server.stdin.flush())

        ends = {"shutdown and exit": (say(SHUTDOWN, EXIT), 0), "exit": (say(EXIT), 1),
                "a client that closes its end": (lambda server, client: server.stdin.close(), 1),
                "a client that is killed": (lambda server, client: (client.kill(), client.wait()), 1),
                "a server that is killed": (lambda server, client: server.kill(), -signal.SIGKILL)}
        for name, (end, code) in ends.items():
            with self.subTest(name):
                server, client, worker = self.start()
                end(server, client)
                self.assertEqual(server.wait(timeout=60), code)
                self.check_gone(worker)

    def test_a_shutdown_is_answered(self):
        server, _, worker = self.start()
        server.stdin.write(SHUTDOWN)
        server.stdin.flush()
        self.assertIsNone(read_answer(server, 99)["result"])
        self.check_gone(worker)
        server.stdin.write(EXIT)
        server.stdin.flush()
        self.assertEqual(server.wait(timeout=60), 0)

    def fails_with(self, said, **start):
        with tempfile.TemporaryDirectory() as folder:
            server, _, worker = self.start(TMPDIR=folder, **start)
            shown = read_until(server, lambda message: message.get("method") == "window/showMessage")
            self.assertIn(said, shown["params"]["message"])
            self.check_gone(worker)
            # The text is left out: another worker has taken over, and does not begin with it.
            server.stdin.write(frame({"id": 1, "method": "textDocument/documentSymbol",
                                      "params": {"textDocument": {"uri": "file:///process/other.tsr"}}}))
            server.stdin.flush()
            self.assertIn("id", read_answer(server, 1))

    def test_a_document_whose_name_is_long(self):
        self.fails_with("model.tsr (it took more than 0.2 s)", uri="file:///" + "folder/" * 1000 + "model.tsr",
                        TESSERA_LSP_BUSY_MS="200")

    @unittest.skipIf({"ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"} & os.environ.keys(), "sanitizers map terabytes")
    def test_memory_that_is_asked_for(self):
        """What is refused is memory that nobody has written to yet, too."""
        self.fails_with("model.tsr (it took more than 300 MiB)", text="# greedy\n", TESSERA_LSP_MEMORY_MB="300")

    def test_a_limit_that_is_passed(self):
        self.fails_with("model.tsr (it took more than 0.2 s)", TESSERA_LSP_BUSY_MS="200")


class Reading(unittest.TestCase):
    """Files that a source includes and imports."""

    def messages_of(self, text, *capabilities):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as elsewhere:
            secret = pathlib.Path(elsewhere, "secret.tsr")
            secret.write_text("const KEY = hunter2 +\n")
            pathlib.Path(folder, "notes.txt").write_text("root:hunter2:0\n")
            pathlib.Path(folder, "link.tsr").symlink_to(secret)
            pathlib.Path(folder, "below").mkdir()
            pathlib.Path(folder, "below/good.tsr").write_text("const GOOD = 1\n")
            uri = f"file://{folder}/model.tsr"
            text = text.format(elsewhere=elsewhere, up="../" * 20)
            server = subprocess.Popen([BUILD / "bin/tessera-lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.addCleanup(lambda: (server.kill(), server.wait(), server.stdin.close(), server.stdout.close()))
            server.stdin.write(INITIALIZE + opened(uri, text))
            server.stdin.flush()
            published = read_until(server, lambda message: message.get("method") == "textDocument/publishDiagnostics"
                                   and message["params"]["uri"] == uri)
            return json.dumps(published)

    def test_files_from_elsewhere_are_not_read(self):
        for line in ('%include "{elsewhere}/secret.tsr"', '%include "{up}{elsewhere}/secret.tsr"',
                     '%include "link.tsr"',
                     '%include "notes.txt"', "import link", '%include "/etc/passwd"'):
            said = self.messages_of(line + "\n" + TEXT)
            self.assertRegex(said, "include-not-found|unknown-module", line)
            self.assertNotRegex(said, "hunter2|root:", line)

    def test_files_of_the_folder_are_read(self):
        for line in ('%include "below/good.tsr"', "import below.good"):
            self.assertNotRegex(self.messages_of(line + "\n" + TEXT), "include-not-found|unknown-module", line)


class Failing(unittest.TestCase):
    """A server whose worker ends at a word, or by a signal."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        environment = dict(os.environ, TESSERA_LSP_FAIL_AT="faulty", TMPDIR=self.folder.name)
        self.server = subprocess.Popen([BUILD / "bin/tessera-lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, env=environment)
        self.number = 0
        self.say(INITIALIZE)

    def tearDown(self):
        self.server.kill()
        self.server.wait()
        self.server.stdin.close()
        self.server.stdout.close()
        self.folder.cleanup()

    def say(self, *parts):
        self.server.stdin.write(b"".join(parts))
        self.server.stdin.flush()

    def ask(self, method, **params):
        self.number += 1
        self.say(frame({"id": self.number, "method": method, "params": params}))
        return read_answer(self.server, self.number)

    def shown(self):
        return read_until(self.server, lambda m: m.get("method") == "window/showMessage")["params"]["message"]

    def diagnostics(self, uri):
        wanted = "textDocument/publishDiagnostics"
        message = read_until(self.server, lambda m: m.get("method") == wanted and m["params"]["uri"] == uri)
        return message["params"]["diagnostics"]

    def changed(self, uri, version, text, old=None):
        change = {"text": text}
        if old:
            change["range"] = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": old}}
        params = {"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]}
        return frame({"method": "textDocument/didChange", "params": params})

    def names(self, uri):
        answer = self.ask("textDocument/documentSymbol", textDocument={"uri": uri})
        return [symbol["name"] for symbol in answer["result"]] if "result" in answer else answer["error"]["code"]

    def end(self):
        self.say(SHUTDOWN, EXIT)
        self.assertIsNone(read_answer(self.server, 99)["result"])
        self.assertEqual(self.server.wait(timeout=30), 0)

    def test_a_text_that_ends_the_worker(self):
        other = "file:///process/other.tsr"
        self.say(opened(URI, "const A = 1\n"), opened(other, "const B = 2\n"))
        self.assertEqual(self.names(URI), ["A"])
        self.say(self.changed(URI, 2, "const faulty", old=7))
        text = self.shown()
        self.assertIn("failed at model.tsr", text)
        (said,) = self.diagnostics(URI)
        self.assertIn("failed at this text", said["message"])
        # The others go on; this one is answered again when it changes.
        self.assertEqual(self.names(other), ["B"])
        self.assertEqual(self.names(URI), -32603)
        self.say(self.changed(URI, 3, "const good", old=12))
        self.assertEqual(self.diagnostics(URI), [])
        self.assertEqual(self.names(URI), ["good"])
        hover = self.ask("textDocument/hover", textDocument={"uri": other}, position={"line": 0, "character": 6})
        self.assertIn("const B = 2", hover["result"]["contents"]["value"])
        self.end()
        # What was written shows the same, without a client.
        messages = text.split("--replay ")[1].split("`")[0]
        command = [BUILD / "bin/tessera-lsp", "--replay", messages]
        faulty = dict(os.environ, TESSERA_LSP_FAIL_AT="faulty")
        for environment, status, said in ((faulty, 70, b"tests fail at"), (None, 0, b"")):
            done = subprocess.run(command, capture_output=True, timeout=60, env=environment)
            self.assertEqual(done.returncode, status)
            self.assertIn(said, done.stderr)

    def test_a_document_that_is_closed_after_it_ended_the_worker(self):
        self.say(opened(URI, "const faulty = 1\n"))
        self.assertIn("failed at model.tsr", self.shown())
        self.assertEqual(len(self.diagnostics(URI)), 1)
        self.say(frame({"method": "textDocument/didClose", "params": {"textDocument": {"uri": URI}}}))
        self.assertEqual(self.diagnostics(URI), [])
        self.end()

    def worker(self):
        return int(subprocess.run(["pgrep", "-P", str(self.server.pid)], capture_output=True, check=True).stdout)

    def test_a_worker_that_is_killed(self):
        self.say(opened(URI, "const A = 1\n"))
        self.assertEqual(self.names(URI), ["A"])
        os.kill(self.worker(), signal.SIGKILL)
        self.assertIn("failed (signal 9)", self.shown())
        self.assertEqual(self.names(URI), ["A"])
        self.end()

    def test_a_worker_that_fails_too_often(self):
        self.say(opened(URI, "const A = 1\n"))
        for _ in range(5):
            self.assertEqual(self.names(URI), ["A"])
            os.kill(self.worker(), signal.SIGKILL)
            self.assertIn("signal 9", self.shown())
        self.assertEqual(self.names(URI), ["A"])
        os.kill(self.worker(), signal.SIGKILL)
        self.assertIn("too often", self.shown())
        self.assertEqual(self.names(URI), -32603)
        self.end()

    def test_a_supervisor_that_is_killed(self):
        self.say(opened(URI, "const A = 1\n"))
        self.assertEqual(self.names(URI), ["A"])
        worker = self.worker()
        self.server.kill()
        self.server.wait()
        for _ in range(100):
            if not pathlib.Path(f"/proc/{worker}").exists():
                return
            time.sleep(0.05)
        self.fail("the worker goes on without its supervisor")


if __name__ == "__main__":
    unittest.main()
