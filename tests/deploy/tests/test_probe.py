# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
import http.server
import os
import pathlib
import socket
import socketserver
import subprocess
import tempfile
import threading
import unittest

HAMID = os.environ.get("HAMID", "")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):  # noqa: N802
        code = 200 if self.path == "/readyz" else 503
        self.send_response(code)
        self.end_headers()
        self.wfile.write(b"ok\n" if code == 200 else b"not now\n")

    def log_message(self, *_):
        pass

    def address_string(self):
        return "somebody"


class UnixServer(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


@unittest.skipUnless(HAMID, "HAMID names no program")
class Probe(unittest.TestCase):
    def serve(self, server):
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def tcp(self):
        server = self.serve(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        return f"127.0.0.1:{server.server_address[1]}"

    def probe(self, *words):
        done = subprocess.run([HAMID, "probe", *words], stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.DEVNULL, check=False, timeout=30)
        return done.returncode, done.stdout

    def test_who_is_ready_is_0(self):
        self.assertEqual(self.probe(self.tcp()), (0, "200 ok\n"))

    def test_who_is_not_is_1_and_says_why(self):
        self.assertEqual(self.probe(self.tcp(), "/livez"), (1, "503 not now\n"))

    def test_a_unix_socket_is_asked_as_well(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = str(pathlib.Path(folder.name) / "agent.sock")
        self.serve(UnixServer(path, Handler))
        self.assertEqual(self.probe(path), (0, "200 ok\n"))

    def test_nobody_there_is_1(self):
        with socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))
            where = f"127.0.0.1:{bound.getsockname()[1]}"
            self.assertEqual(self.probe(where), (1, f"nobody answers at {where}\n"))
        self.assertEqual(self.probe("/nowhere/agent.sock")[0], 1)

    def test_who_does_not_answer_is_1_within_its_deadline(self):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            code, said = self.probe(f"127.0.0.1:{listener.getsockname()[1]}")
        self.assertEqual(code, 1)
        self.assertIn("no answer", said)

    def test_a_wrong_command_line_is_2(self):
        for words in ((), ("--what",), ("127.0.0.1:1", "readyz"), ("a", "/b", "c")):
            self.assertEqual(self.probe(*words)[0], 2, words)
