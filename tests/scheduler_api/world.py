# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated API server, hamid scheduler before it, and pods whose binds are asked for."""

import http.client
import json
import os
import pathlib
import select
import socket
import subprocess
import sys
import threading

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "standins"))

from tests import peers  # noqa: E402

AGENT = "hami.io/mutex.agent"
LOCK = "hami.io/mutex.lock"
SCHEDULER = "hami-scheduler"
START_SECONDS = 60


class World:
    """A context manager."""

    mark = None  # what the nodes' agents say of themselves; None: there are no agents

    def __init__(self, *flags, nodes=("gpu-0", "gpu-1")):
        self.flags = flags
        self.nodes = nodes
        self.asked = []
        self.answers = {}

    def __enter__(self):
        self.server = peers.Server(self.nodes)
        self.start_hamid()
        return self

    def __exit__(self, *error):
        self.end_hamid()
        self.server.close()

    def start_hamid(self, listen="127.0.0.1:0"):
        if self.mark:
            for node in self.nodes:
                self.mark_node(node, self.mark)
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        path = self.server.folder / "notify.sock"
        path.unlink(missing_ok=True)
        notify.bind(str(path))
        addresses = self.server.folder / "addresses"
        log = self.log.open("ab")
        self.hamid = subprocess.Popen(
            [peers.BUILD / "daemon/hamid", "scheduler", "--listen=127.0.0.1:0",
             f"--metrics-listen={listen}", f"--address-file={addresses}",
             f"--kubeconfig={self.server.kubeconfig}", *self.flags],
            env={**os.environ, "NOTIFY_SOCKET": str(path)}, stderr=log)
        log.close()
        try:
            if not select.select([notify], [], [], START_SECONDS)[0]:
                raise RuntimeError("hamid scheduler did not become ready")
        finally:
            notify.close()
        self.extender, self.status = addresses.read_text(encoding="ascii").split()

    @property
    def log(self):
        return self.server.folder / "hamid.log"

    def kill_hamid(self):
        self.hamid.kill()
        self.hamid.wait(peers.PATIENCE)

    def end_hamid(self):
        """And all who asked it have their answers."""
        self.kill_hamid()
        for thread in self.asked:
            thread.join(peers.PATIENCE)

    def ask(self, path, method="GET", headers=(), address=None):
        """Status, content type, body and headers of an answer."""
        connection = http.client.HTTPConnection(address or self.status, timeout=peers.PATIENCE)
        try:
            connection.request(method, path, headers=dict(headers))
            answer = connection.getresponse()
            return (answer.status, answer.headers.get("Content-Type", ""), answer.read(),
                    answer.headers)
        finally:
            connection.close()

    def read(self, path):
        return json.loads(self.ask(path)[2])

    def add_pod(self, name, limits=None):
        """LIMITS are its only container's; without any it asks for one nvidia.com/gpu."""
        limits = limits or {"nvidia.com/gpu": "1"}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
               "spec": {"schedulerName": SCHEDULER, "containers": [
                   {"name": "main", "image": "x",
                    "resources": {"limits": limits}}]}}
        status, made = self.server.request("POST", "/api/v1/namespaces/default/pods", pod)
        assert status == 201, made
        return {"PodNamespace": "default", "PodName": name, "PodUID": made["metadata"]["uid"]}

    def bind(self, name, node="gpu-0", **pod):
        """Makes a pod and asks for its bind; the answer comes into self.answers later."""
        call = {**self.add_pod(name, **pod), "Node": node}

        def work():
            connection = http.client.HTTPConnection(self.extender, timeout=peers.PATIENCE)
            try:
                connection.request("POST", "/bind", json.dumps(call),
                                   {"Content-Type": "application/json"})
                self.answers[name] = json.loads(connection.getresponse().read())["Error"]
            except (OSError, http.client.HTTPException) as error:
                self.answers[name] = repr(error)
            finally:
                connection.close()
        thread = threading.Thread(target=work)
        thread.start()
        self.asked.append(thread)

    def bind_and_wait(self, name, node="gpu-0", **pod):
        """Until the pod has the lock or stands in the queue, so that orders are certain."""
        self.bind(name, node, **pod)
        peers.wait_for(lambda: self.ask(f"/api/v1/pods/default/{name}")[0] == 200)

    def annotate(self, path, values):
        """Writes annotations of the object there; those that are None are removed."""
        status, answer = self.server.request(
            "PATCH", path, {"metadata": {"annotations": values}}, "application/merge-patch+json")
        assert status == 200, answer

    def mark_node(self, node, mark):
        self.annotate(f"/api/v1/nodes/{node}", {AGENT: mark})

    def set_lock(self, value, node="gpu-0"):
        self.annotate(f"/api/v1/nodes/{node}", {LOCK: value})

    def release(self, node="gpu-0"):
        """What a device plugin does when the devices are handed out."""
        self.set_lock(None, node)
