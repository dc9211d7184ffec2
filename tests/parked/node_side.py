# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The device plugins of many nodes: each bound pod is served, then its node's lock removed.

They write what HAMi's plugins write: success onto the pod, then the lock off the node, guarded
by its value. Nobody else frees a lock here.
"""

import http.client
import json
import queue
import threading

from cluster import api

LOCK = "hami.io/mutex.lock"
WORKERS = 6
SUCCESS = {"metadata": {"annotations": {"hami.io/bind-phase": "success"}}}


class NodeSide:
    """Threads that watch and serve, from start() to close(). Faults are kept, not raised."""

    def __init__(self, make_client):
        self.make_client = make_client
        self.wanted = queue.SimpleQueue()
        self.seen = set()
        self.served = 0
        self.faults = []
        self.lock = threading.Lock()
        self.connection = None
        self.threads = []

    def start(self):
        self.threads = [threading.Thread(target=self._watch, daemon=True)]
        self.threads += [threading.Thread(target=self._work, daemon=True)
                         for _ in range(WORKERS)]
        for thread in self.threads:
            thread.start()

    def close(self):
        for _ in range(WORKERS):
            self.wanted.put(None)
        for thread in self.threads[1:]:
            thread.join(30)

    def _note(self, pod):
        metadata, node = pod["metadata"], pod["spec"].get("nodeName")
        if node and metadata["uid"] not in self.seen:
            self.seen.add(metadata["uid"])
            self.wanted.put((metadata["namespace"], metadata["name"], node))

    def _watch(self):
        try:
            client = self.make_client()
            found = client.need("GET", "/api/v1/pods").body
            for pod in found["items"]:
                self._note(pod)
            version = found["metadata"]["resourceVersion"]
            connection = http.client.HTTPSConnection("127.0.0.1", client.port, timeout=None,
                                                     context=client.context)
            connection.request("GET", f"/api/v1/pods?watch=1&resourceVersion={version}",
                               headers={"Authorization": f"Bearer {client.token}"})
            for line in connection.getresponse():
                event = json.loads(line)
                if event["type"] in ("ADDED", "MODIFIED"):
                    self._note(event["object"])
                elif event["type"] == "ERROR":
                    raise RuntimeError(line)
        except Exception as error:  # pylint: disable=broad-except
            self.faults.append(f"the watch of the pods ended: {error!r}")

    def _work(self):
        client = self.make_client()
        while True:
            found = self.wanted.get()
            if found is None:
                client.close()
                return
            try:
                self._serve(client, *found)
            except Exception as error:  # pylint: disable=broad-except
                self.faults.append(f"{found}: {error!r}")

    def _serve(self, client, namespace, name, node):
        client.need("PATCH", f"/api/v1/namespaces/{namespace}/pods/{name}", SUCCESS,
                    api.MERGE_PATCH)
        lock = client.need("GET", f"/api/v1/nodes/{node}").metadata["annotations"][LOCK]
        if not lock.endswith(f",{namespace},{name}"):
            raise RuntimeError(f"the lock names another pod: {lock}")
        path = api.pointer(LOCK)
        client.need("PATCH", f"/api/v1/nodes/{node}", [
            {"op": "test", "path": path, "value": lock}, {"op": "remove", "path": path}],
            api.JSON_PATCH)
        with self.lock:
            self.served += 1
