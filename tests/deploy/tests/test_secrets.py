# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""No credential is in what hamid and hamictl print, whatever is wrong with it or with the server."""

import base64
import http.server
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time
import unittest

HAMID = os.environ.get("HAMID", "")
HAMICTL = os.environ.get("HAMICTL", "")
SECRET = "S3cr3tNeverToBeSeen"
ENCODED = base64.b64encode(f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n".encode()).decode()
HIDDEN = (SECRET, ENCODED[40:60])


def kubeconfig(server, **user):
    return json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}, indent=1)


NOWHERE = "http://127.0.0.1:1"
# What is wrong -> the kubeconfig's text, with the secret in it.
BROKEN = {
    "nobody answers": kubeconfig(NOWHERE, token=SECRET),
    "a token that can't stand in a header": kubeconfig(NOWHERE, token=f"{SECRET}\n"),
    "a token that is a list": kubeconfig(NOWHERE, token=[SECRET]),
    "a quote without an end": kubeconfig(NOWHERE).replace('"user": {}', f'"user": {{"token": "{SECRET}'),
    "a brace without an end": kubeconfig(NOWHERE, token=SECRET)[:-20],
    "a key that is no base64": kubeconfig(NOWHERE, **{"client-key-data": f"*{SECRET}"}),
    "a key that is no key": kubeconfig("https://127.0.0.1:1", **{
        "client-key-data": ENCODED, "client-certificate-data": ENCODED}),
    "a password": kubeconfig(NOWHERE, username="somebody", password=SECRET),
    "a password in the server's URL": kubeconfig(f"http://somebody:{SECRET}@127.0.0.1:1"),
    "an unknown member": kubeconfig(NOWHERE, token=SECRET, tokens=SECRET),
    "a program that gives credentials": kubeconfig(NOWHERE, exec={
        "apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/false",
        "args": [SECRET], "env": [{"name": "A", "value": SECRET}]}),
    "the key twice": kubeconfig(NOWHERE, token=SECRET).replace(
        '"token"', f'"token": "{SECRET}", "token"'),
}


class Refuser(http.server.BaseHTTPRequestHandler):
    """An API server that wants none of it; each path has its status."""

    protocol_version = "HTTP/1.1"
    code = 401
    seen = []

    def answer(self):
        type(self).seen.append(self.headers.get("Authorization"))
        text = json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure",
                           "reason": "Unauthorized", "code": self.code,
                           "message": "no"}).encode()
        self.send_response(self.code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PATCH = do_PUT = answer  # noqa: N815

    def log_message(self, *_):
        pass


@unittest.skipUnless(HAMID and HAMICTL, "HAMID and HAMICTL name no programs")
class Secrets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, text):
        path = self.folder / "kubeconfig"
        path.write_text(text)
        return path

    def said(self, *words, until=None):
        """Everything that a program prints until it ends, or is told to."""
        child = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL,
                                 env={"PATH": os.environ["PATH"], "HOME": str(self.folder)})
        try:
            deadline = time.monotonic() + 30
            while until is not None and not until() and child.poll() is None \
                    and time.monotonic() < deadline:
                time.sleep(0.02)
        finally:
            child.terminate()
            text = child.communicate(timeout=60)[0]
        return text

    def check(self, what, text):
        self.assertNotEqual(text, "", what)
        for hidden in HIDDEN:
            self.assertNotIn(hidden, text, what)

    def programs(self, path):
        yield "hamid scheduler", (HAMID, "scheduler", "-v=5", "--listen=127.0.0.1:0",
                                  f"--kubeconfig={path}", f"--address-file={self.folder}/a")
        yield "hamid node", (HAMID, "node", "-v=5", "--node=n", f"--kubeconfig={path}",
                             f"--socket={self.folder}/agent.sock", "--pod-resources=")
        yield "hamictl", (HAMICTL, "locks", f"--kubeconfig={path}")

    def opened(self):
        return (self.folder / "a").exists() or (self.folder / "agent.sock").exists()

    def test_a_login_that_is_wrong_is_told_without_its_secret(self):
        for what, text in BROKEN.items():
            for program, words in self.programs(self.write(text)):
                for left in ("a", "agent.sock"):
                    (self.folder / left).unlink(missing_ok=True)
                self.check(f"{program}: {what}", self.said(*words, until=self.opened))

    def test_a_server_that_refuses_is_told_without_the_token(self):
        for code in (401, 403, 500):
            handler = type("Answers", (Refuser,), {"code": code, "seen": []})
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
            thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
            thread.start()
            path = self.write(kubeconfig(f"http://127.0.0.1:{server.server_address[1]}",
                                         token=SECRET))
            try:
                for program, words in self.programs(path):
                    handler.seen.clear()
                    text = self.said(*words, until=lambda: len(handler.seen) > 1)
                    self.assertIn(f"Bearer {SECRET}", handler.seen, program)
                    self.check(f"{program}: {code}", text)
            finally:
                server.shutdown()
                server.server_close()
                thread.join()

    def test_what_is_printed_of_the_configuration_has_no_password(self):
        path = self.write(kubeconfig(NOWHERE, token=SECRET))
        for words in (("--print-config",), ()):
            self.check("filter", self.said(
                HAMID, "scheduler", "-v=5", "--listen=127.0.0.1:0", f"--kubeconfig={path}",
                f"--address-file={self.folder}/a",
                f"--filter-url=http://somebody:{SECRET}@127.0.0.1:1", *words, until=self.opened))
