#!/usr/bin/env python3
"""tessera-lsp as a process: clients that die, lie about lengths, cancel, and ask for what other programs compute.

Usage: tests/lsp/process_test.py BUILD_DIR
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()


def frame(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


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


INITIALIZE = frame({"id": 0, "method": "initialize", "params": {"capabilities": {}}})
SHUTDOWN = frame({"id": 99, "method": "shutdown"})
EXIT = frame({"method": "exit"})
URI = "file:///process/model.tsr"
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

    def test_a_request_that_is_cancelled(self):
        hover = {"textDocument": {"uri": URI}, "position": {"line": 2, "character": 12}}
        found, code = session(INITIALIZE, opened(URI, TEXT), frame({"id": 1, "method": "textDocument/hover", "params": hover}),
                              frame({"method": "$/cancelRequest", "params": {"id": 1}}), SHUTDOWN, EXIT)
        self.assertEqual(code, 0)
        reply = answer(found, 1)
        self.assertTrue("result" in reply or reply["error"]["code"] == -32800)

    def test_the_stages_of_a_function(self):
        with tempfile.TemporaryDirectory() as folder:
            uri = f"file://{folder}/model.tsr"
            server = subprocess.Popen([BUILD / "bin/tessera-lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            argument = {"uri": uri, "position": {"line": 1, "character": 5}}
            server.stdin.write(INITIALIZE + opened(uri, TEXT + "\n\n@jit\ndef other(x: Tensor[4, f32]):\n    return -x\n"))
            for number, stage in enumerate(("Graph", "Schedule", "Tile", "Target", "Code"), 1):
                params = {"command": f"tessera.show{stage}", "arguments": [argument]}
                server.stdin.write(frame({"id": number, "method": "workspace/executeCommand", "params": params}))
                server.stdin.flush()
                reply = self.read_answer(server, number)
                result = reply["result"]
                self.assertEqual(result["text"].count("\n"), len(result["lines"]))
                self.assertEqual(result["function"], "f")
                if stage != "Code":
                    self.assertIn(2, result["lines"])
                    self.assertNotIn("@other", result["text"])
            server.stdin.write(SHUTDOWN + EXIT)
            server.stdin.close()
            server.stdout.read()
            server.stdout.close()
            self.assertEqual(server.wait(timeout=30), 0)

    def read_answer(self, server, number):
        while True:
            head = server.stdout.readline()
            self.assertTrue(head)
            server.stdout.readline()
            message = json.loads(server.stdout.read(int(head.split(b":")[1])))
            if message.get("id") == number and "method" not in message:
                return message


if __name__ == "__main__":
    unittest.main()
