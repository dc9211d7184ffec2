# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A kubesim of one consumer's own, with the nodes and pods that README.md names."""

import http.client
import json
import urllib.parse

from kubesim_server import Server

NODES = 100


class Kubesim(Server):
    def __init__(self, program, folder):
        folder.mkdir()
        super().__init__(program, folder, "--nodes", str(NODES))

    def create_pods(self, names):
        """Name and uid of each."""
        url = urllib.parse.urlsplit(self.url)
        connection = http.client.HTTPSConnection(url.hostname, url.port, context=self.context,
                                                 timeout=20)
        made = []
        for name in names:
            connection.request(
                "POST", "/api/v1/namespaces/default/pods",
                json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
                            "spec": {"containers": [{"name": "main", "image": "none"}]}}),
                self.headers)
            answer = connection.getresponse()
            pod = json.load(answer)
            if answer.status != 201:
                raise RuntimeError(f"{name}: {answer.status} {pod}")
            made.append((name, pod["metadata"]["uid"]))
        connection.close()
        return made
