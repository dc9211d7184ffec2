# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A hamid in front of a kubesim, with a queue."""

import http.client
import json
import os
import pathlib
import subprocess
import threading
import time

import world

PODS = ("train-0", "train-1", "train-2")


class Cluster(world.World):
    """train-0 is bound to gpu-0 and never served, the others wait; gpu-1 has a lost lock."""

    def __init__(self, *flags):
        super().__init__()
        folder = pathlib.Path(self.folder.name)
        self.annotate("gpu-1", {"hami.io/mutex.lock": "2026-01-02T03:04:05Z,default,gone"})
        addresses = folder / "addresses"
        self.hamid = subprocess.Popen(
            [os.environ["HAMID"], "scheduler", "--kubeconfig", self.kubeconfig, "--listen",
             "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--address-file", addresses,
             "--patience", "600s", "--stall-limit", "0s", *flags], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.until(addresses.exists)
        self.address, self.other_address = addresses.read_text().split()
        self.callers = []

    def start_queue(self):
        self.until(lambda: self.ask("GET", "/readyz")[0] == 200)
        for number, name in enumerate(PODS):
            self.bind(name)
            self.until(lambda number=number: self.shows(number))
        return self

    @staticmethod
    def until(is_so):
        end = time.monotonic() + 30
        while not is_so():
            if time.monotonic() > end:
                raise AssertionError("it did not come about within 30 s")
            threading.Event().wait(0.02)

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection(self.address, timeout=120)
        try:
            connection.request(method, path, json.dumps(body) if body else None,
                               {"Content-Type": "application/json"} if body else {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except OSError:
            return 0, ""
        finally:
            connection.close()

    def bind(self, name):
        pod = self.post("/api/v1/namespaces/default/pods", {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "annotations": {"hami.io/vgpu-node": "gpu-0"}},
            "spec": {"containers": [{"name": "c", "image": "none", "resources": {
                "limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}}]}})
        words = {"PodName": name, "PodNamespace": "default", "Node": "gpu-0",
                 "PodUID": pod["metadata"]["uid"]}
        caller = threading.Thread(target=self.ask, args=("POST", "/bind", words), daemon=True)
        caller.start()
        self.callers.append(caller)

    def shows(self, waiters):
        """train-0 is bound, and so many wait."""
        nodes = {node["node"]: node
                 for node in json.loads(self.ask("GET", "/v1/locks")[1])["nodes"]}
        node = nodes.get("gpu-0", {"slots": [], "waiters": []})
        return len(node["waiters"]) == waiters and \
            any(slot["state"] == "handed-off" and (
                waiters == 0 or "Allocate" in slot["reason"]) for slot in node["slots"])

    def token_of(self, node):
        done = self.hamictl("locks", "--node", node, "-o", "json")
        return json.loads(done.stdout)[0]["slots"][0]["token"]

    def end(self):
        self.hamid.terminate()
        self.hamid.wait()
        super().end()
