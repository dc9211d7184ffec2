# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""examples.py KUBESIM BIND_BLOCKING DEVICE_PLUGIN: the programs do what they show, on kubesim."""

import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.error

import kubesim_server
from points import Points

NODE = "node-1"
LOCK = "hami.io/mutex.lock"
DEVICES = "hami.io/vgpu-devices-to-allocate"


class Server(kubesim_server.Server):
    """One with what the examples need."""

    def pod(self, name):
        return self.ask("GET", f"/api/v1/namespaces/default/pods/{name}")

    def lock(self):
        node = self.ask("GET", f"/api/v1/nodes/{NODE}")
        return node["metadata"].get("annotations", {}).get(LOCK)

    def create(self, name):
        return self.ask("POST", "/api/v1/namespaces/default/pods", {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "annotations": {
                "hami.io/vgpu-node": NODE, DEVICES: "GPU-7,NVIDIA,1024,10:;",
                "hami.io/bind-phase": "allocating"}},
            "spec": {"schedulerName": "example", "containers": [{
                "name": "main", "image": "example.com/none",
                "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}})["metadata"]["uid"]


def run(server, *command):
    done = subprocess.run([str(word) for word in command], text=True, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          env={**os.environ, "KUBECONFIG": str(server.kubeconfig)})
    return done.returncode, done.stdout


def binding(points, server, bind_blocking):
    uid = server.create("pod-1")
    code, said = run(server, bind_blocking, NODE, "default", "pod-1", uid)
    points.check(code == 0, "bind_blocking binds a pod", said)
    pod = server.pod("pod-1")
    points.check(pod["spec"].get("nodeName") == NODE, "the pod is on the node", pod["spec"])
    points.check(pod["metadata"]["annotations"].get("hami.io/mutex.fence", "").isdigit(),
                 "the fence travelled with the Binding", pod["metadata"])
    points.check((server.lock() or "").endswith(",default,pod-1"),
                 "the lock stays with the pod until its Allocate", server.lock())


def refused_binding(points, server, bind_blocking):
    code, said = run(server, bind_blocking, NODE, "default", "nobody", "no-such-uid")
    points.check(code != 0 and "LOST" in said, "a pod that does not exist is refused", said)
    points.check(server.lock() is None, "and leaves no lock", server.lock())


def allocation(points, server, device_plugin):
    code, said = run(server, device_plugin, NODE, "nvidia.com/gpu", "GPU-7::0")
    points.check(code == 0 and "pod pod-1" in said and "device GPU-7" in said,
                 "device_plugin learns whose Allocate it is, and which device", said)
    annotations = server.pod("pod-1")["metadata"]["annotations"]
    points.check(annotations.get("hami.io/bind-phase") == "success",
                 "the pod's phase is success", annotations)
    points.check("GPU-7" not in annotations.get(DEVICES, ""),
                 "the device is no longer to be allocated", annotations)
    points.check(server.lock() is None, "the node's lock is free", server.lock())
    code, said = run(server, device_plugin, NODE, "nvidia.com/gpu", "GPU-7::0")
    points.check(code != 0 and "LOST" in said, "an Allocate of nobody's is refused", said)


def main():
    kubesim, bind_blocking, device_plugin = map(pathlib.Path, sys.argv[1:4])
    points = Points()
    with tempfile.TemporaryDirectory(prefix="hami-examples-") as folder:
        server = Server(kubesim, pathlib.Path(folder), "--node", NODE)
        try:
            binding(points, server, bind_blocking)
            allocation(points, server, device_plugin)
            refused_binding(points, server, bind_blocking)
        except urllib.error.URLError as error:
            points.check(False, "the server answers", error)
        finally:
            server.end()
    points.end()


main()
