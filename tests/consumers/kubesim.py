# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A kubesim of one consumer's own, with the nodes and pods that README.md names."""

import base64
import http.client
import json
import re
import ssl
import subprocess
import urllib.parse

NODES = 100


class Kubesim:
    def __init__(self, program, folder):
        folder.mkdir()
        self.child = subprocess.Popen(
            [program, "--directory", folder, "--nodes", str(NODES), "--exit-with-parent"],
            stdout=subprocess.PIPE, text=True)
        self.child.stdout.readline()
        self.kubeconfig = folder / "kubeconfig"
        text = self.kubeconfig.read_text()
        self.url = urllib.parse.urlsplit(re.search(r'server:\s*"?([^\s"]+)', text).group(1))
        self.token = re.search(r'token:\s*"?([^\s"]+)', text).group(1)
        authority = re.search(r'certificate-authority-data:\s*"?([^\s"]+)', text).group(1)
        self.context = ssl.create_default_context(cadata=base64.b64decode(authority).decode())

    def create_pods(self, names):
        """Name and uid of each."""
        connection = http.client.HTTPSConnection(self.url.hostname, self.url.port,
                                                 context=self.context, timeout=20)
        made = []
        for name in names:
            connection.request(
                "POST", "/api/v1/namespaces/default/pods",
                json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
                            "spec": {"containers": [{"name": "main", "image": "none"}]}}),
                {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"})
            answer = connection.getresponse()
            pod = json.load(answer)
            if answer.status != 201:
                raise RuntimeError(f"{name}: {answer.status} {pod}")
            made.append((name, pod["metadata"]["uid"]))
        connection.close()
        return made

    def end(self):
        self.child.terminate()
        self.child.wait()
