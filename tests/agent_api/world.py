# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated API server, hamid node beside it, and pods that wait for their devices."""

import http.client
import json
import pathlib
import select
import socket
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "standins"))

from tests import peers  # noqa: E402

NODE = "gpu-0"
RESOURCE = "nvidia.com/gpu"
LOCK = "hami.io/mutex.lock"
DEVICES = "hami.io/vgpu-devices-to-allocate"
PHASE = "hami.io/bind-phase"
START_SECONDS = 60


class Connection(http.client.HTTPConnection):
    """HTTP on a unix socket."""

    def __init__(self, path):
        super().__init__("hamid", timeout=peers.PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


class World:
    """A context manager."""

    def __init__(self, *flags):
        self.flags = flags
        self.server = None
        self.agent = None

    def __enter__(self):
        self.server = peers.Server()
        self.socket = self.server.folder / "agent.sock"
        self.start_agent()
        return self

    def __exit__(self, *error):
        self.kill_agent()
        self.server.close()

    def start_agent(self):
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        path = self.server.folder / "notify.sock"
        path.unlink(missing_ok=True)
        notify.bind(str(path))
        log = self.log.open("ab")
        self.agent = subprocess.Popen(
            [peers.BUILD / "daemon/hamid", "node", "--node", NODE, "--socket", self.socket,
             "--kubeconfig", self.server.kubeconfig, *self.flags],
            env={"NOTIFY_SOCKET": str(path)}, stderr=log)
        log.close()
        try:
            if not select.select([notify], [], [], START_SECONDS)[0]:
                raise RuntimeError("hamid node did not become ready")
        finally:
            notify.close()

    @property
    def log(self):
        return self.server.folder / "hamid.log"

    def kill_agent(self):
        self.agent.kill()
        self.agent.wait(peers.PATIENCE)

    def ask(self, method, path, body=None):
        """Status, content type and body of an answer."""
        connection = Connection(self.socket)
        try:
            connection.request(method, path, body)
            answer = connection.getresponse()
            return answer.status, answer.headers.get("Content-Type", ""), answer.read()
        finally:
            connection.close()

    def add_pod(self, name, devices="GPU-7,NVIDIA,1024,10:;", count=1):
        """A pod that was bound, and that the node's lock names."""
        pod = {"apiVersion": "v1", "kind": "Pod",
               "metadata": {"name": name, "annotations": {DEVICES: devices, PHASE: "allocating"}},
               "spec": {"containers": [
                   {"name": "main", "image": "x", "resources": {"limits": {RESOURCE: str(count)}}}]}}
        status, made = self.server.request("POST", "/api/v1/namespaces/default/pods", pod)
        assert status == 201, made
        status, answer = self.server.bind({"PodNamespace": "default", "PodName": name, "Node": NODE,
                                           "PodUID": made["metadata"]["uid"]})
        assert status == 201, answer
        self.set_lock(f"2026-01-02T03:04:05Z,default,{name}")

    def set_lock(self, value):
        status, answer = self.server.request(
            "PATCH", f"/api/v1/nodes/{NODE}", {"metadata": {"annotations": {LOCK: value}}},
            "application/merge-patch+json")
        assert status == 200, answer

    def lock(self):
        found = self.server.request("GET", f"/api/v1/nodes/{NODE}")[1]
        return found["metadata"].get("annotations", {}).get(LOCK)

    def phase(self, name):
        found = self.server.request("GET", f"/api/v1/namespaces/default/pods/{name}")[1]
        return found["metadata"]["annotations"][PHASE]

    def fault(self, **members):
        status, answer = self.server.request("POST", "/kubesim/faults", members)
        assert status in (200, 201), answer


def question(*ids):
    return json.dumps({"resource": RESOURCE, "containers": [list(ids or ("d-0",))]})
