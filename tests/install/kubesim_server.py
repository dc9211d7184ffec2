# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A kubesim of one's own, and requests to it as its administrator."""

import base64
import json
import re
import ssl
import subprocess
import urllib.request


class Server:
    def __init__(self, program, folder, *options):
        self.child = subprocess.Popen(
            [program, "--directory", folder, *options, "--exit-with-parent"],
            stdout=subprocess.PIPE, text=True)
        self.child.stdout.readline()
        self.kubeconfig = folder / "kubeconfig"
        text = self.kubeconfig.read_text(encoding="utf-8")
        self.url, self.token, authority = (
            re.search(rf"{name}:\s*\"?([^\s\"]+)", text).group(1)
            for name in ("server", "token", "certificate-authority-data"))
        self.context = ssl.create_default_context(
            cadata=base64.b64decode(authority).decode())
        self.headers = {"Authorization": f"Bearer {self.token}",
                        "Content-Type": "application/json"}

    def ask(self, method, path, body=None):
        request = urllib.request.Request(
            self.url + path, method=method, data=json.dumps(body).encode() if body else None,
            headers=self.headers)
        with urllib.request.urlopen(request, context=self.context, timeout=20) as answer:
            return json.load(answer)

    def end(self):
        self.child.terminate()
        self.child.wait()
