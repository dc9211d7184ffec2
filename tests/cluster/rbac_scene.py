# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""One hamid under one service account, led through everything that it needs a permission for.

A scene has a node, pods and a schedulerName of its own, so that many of them go on at once. It ends
where hamid says that it lacks something, or with the last step. What it needs from others (pods that
start, locks of somebody else) an administrator writes.
"""

import concurrent.futures
import http.client
import json
import time

from cluster import api, burst, manifests, probes, suites

RESOURCE = burst.RESOURCE
PATIENCE = 60.0
LOOK = 0.05


class Stopped(Exception):
    """hamid lacks something, or a step did not come in time; the text says which."""


class Scene:
    """What both roles share: a process, what it says of itself, and a node to work on."""

    def __init__(self, plane, name, kubeconfig):
        self.plane = plane
        self.name = name
        self.kubeconfig = kubeconfig
        self.admin = plane.client()
        self.child = None
        self.outcome = "not begun"
        self.readiness = ""
        self.metrics = ""

    @property
    def log(self):
        return (self.plane.folder / f"{self.name}.log").read_text(errors="replace")

    def prepare(self):
        """Objects, then the process: to be called from the main thread."""
        manifests.make_node(self.admin, self.name, RESOURCE)
        self.start()

    def play(self):
        """All steps; the outcome is "complete" or what it stopped at."""
        try:
            self.wait("hamid is ready", lambda: self.ask("/readyz").startswith("ok"))
            self.steps()
            self.outcome = "complete"
        except Stopped as stop:
            self.outcome = str(stop)
        self.readiness = self.ask("/readyz")
        self.metrics = self.ask("/metrics")

    def wait(self, what, is_true):
        deadline = time.monotonic() + PATIENCE
        while not is_true():
            if "Missing permission: " in self.log or "Refused by an admission" in self.log:
                raise Stopped(f"lacks something, before {what}")
            if self.child.poll() is not None:
                raise Stopped(f"ended with code {self.child.returncode}, before {what}")
            if time.monotonic() > deadline:
                raise Stopped(f"gave up waiting until {what}")
            time.sleep(LOOK)

    def ask(self, path):
        connection = self.connection()
        try:
            connection.request("GET", path)
            return connection.getresponse().read().decode(errors="replace")
        except (OSError, http.client.HTTPException):
            return ""
        finally:
            connection.close()

    def make_pod(self, name, node=None, annotations=None):
        devices = f"GPU-{self.name},NVIDIA,1000,10:;"
        pod = manifests.pod(f"{self.name}-{name}", RESOURCE, {
            "hami.io/vgpu-node": self.name, "hami.io/vgpu-time": "1",
            "hami.io/vgpu-devices-to-allocate": devices,
            "hami.io/vgpu-devices-allocated": devices,
            **({"hami.io/bind-phase": "allocating", "hami.io/bind-time": "1",
                "hami.io/mutex.fence": "1"} if node else {}), **(annotations or {})})
        pod["spec"]["schedulerName"] = self.name
        if node:
            pod["spec"]["nodeName"] = node
        return self.admin.need("POST", "/api/v1/namespaces/default/pods", pod).body

    def lock_for(self, pod, fence, hold_ms):
        """Writes a lock of somebody else for that pod onto the node: HAMi's value, our lease."""
        value = f"2026-01-01T00:00:00Z,default,{pod['metadata']['name']}"
        lease = json.dumps({"version": 1, "lock": value, "uid": pod["metadata"]["uid"],
                            "fence": str(fence), "holder": "somebody_else", "attempt": "1",
                            "hold_ms": hold_ms, "free": "node"}, separators=(",", ":"))
        for path in self.records():
            self.admin.need("PATCH", path, {"metadata": {"annotations": {
                "hami.io/mutex.lock": value, "hami.io/mutex.lease": lease}}}, api.MERGE_PATCH)

    def records(self):
        """Where the lock stands."""
        return [f"/api/v1/nodes/{self.name}"]

    def annotations(self, path):
        return self.admin.need("GET", path).metadata.get("annotations") or {}

    def events(self, name):
        items = self.admin.need("GET", "/api/v1/namespaces/default/events"
                                f"?fieldSelector=involvedObject.name%3D{name}").body["items"]
        return [event for event in items if event["involvedObject"]["name"] == name]


class Scheduler(Scene):
    """hamid scheduler: takes, waits, takes over, revokes; with events, and a filter behind it."""

    def __init__(self, plane, name, kubeconfig, store, filter_url):
        super().__init__(plane, name, kubeconfig)
        self.store = store
        self.filter_url = filter_url
        self.address = None

    def prepare(self):
        super().prepare()
        if self.store != "annotation":
            # Left over from an earlier Node of this name.
            self.admin.need("POST", "/apis/coordination.k8s.io/v1/namespaces/"
                            f"{manifests.LEASE_NAMESPACE}/leases", {
                                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                                "metadata": {"name": self.name, "ownerReferences": [{
                                    "apiVersion": "v1", "kind": "Node", "name": self.name,
                                    "uid": "00000000-0000-0000-0000-000000000000"}]}})

    def start(self):
        self.child = self.plane.group.start(self.name, [
            *suites.hamid(), "scheduler", "-v=5", f"--kubeconfig={self.kubeconfig}",
            "--listen=127.0.0.1:0", f"--address-file={self._address_file}",
            f"--scheduler-name={self.name}", f"--managed-resource={RESOURCE}",
            f"--lock-store={self.store}", "--event-after=100ms", "--hold-limit=1s",
            f"--filter-url={self.filter_url}"])

    def records(self):
        leases = f"/apis/coordination.k8s.io/v1/namespaces/{manifests.LEASE_NAMESPACE}/leases"
        return ([] if self.store == "annotation" else [f"{leases}/{self.name}"]) + super().records()

    @property
    def _address_file(self):
        return self.plane.folder / f"{self.name}.address"

    def connection(self):
        if self.address is None:
            try:
                self.address = self._address_file.read_text(encoding="ascii").split()[0]
            except OSError:
                pass
        return http.client.HTTPConnection(self.address or "127.0.0.1:1", timeout=PATIENCE)

    def post(self, path, body):
        connection = self.connection()
        try:
            connection.request("POST", path, json.dumps(body),
                               {"Content-Type": "application/json"})
            return json.loads(connection.getresponse().read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            return {"Error": f"no answer: {error}"}
        finally:
            connection.close()

    def bind(self, pod):
        return self.post("/bind", {"PodName": pod["metadata"]["name"], "Node": self.name,
                                   "PodNamespace": "default", "PodUID": pod["metadata"]["uid"]})

    def steps(self):
        first, second, third, owner = (self.make_pod(name)
                                       for name in ("first", "second", "third", "owner"))
        passed = self.post("/filter", {"Pod": first, "NodeNames": [self.name]})
        if passed.get("NodeNames") != [self.name]:
            raise Stopped(f"the filter behind it was not asked: {passed}")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            self.step(pool, "the first pod is bound", first)
            waits = pool.submit(self.bind, second)
            try:
                name = second["metadata"]["name"]
                self.wait("the pod that waits has an event that is brought up to date",
                          lambda: any(event["count"] > 1 for event in self.events(name)))
            finally:
                # Its devices are handed out: the proof by which the second may take the lock.
                self.admin.need("PATCH", "/api/v1/namespaces/default/pods/"
                                f"{first['metadata']['name']}/status",
                                {"status": {"phase": "Running"}}, api.MERGE_PATCH)
            self.wait_for(waits, "the second pod is bound")
            self.lock_for(owner, 1 << 40, 300)
            self.step(pool, "the third pod is bound, the owner before it revoked", third)
        path = f"/api/v1/namespaces/default/pods/{owner['metadata']['name']}"
        if "hami.io/mutex.revoked" not in self.annotations(path):
            raise Stopped("the owner that stayed unbound was not revoked")

    def step(self, pool, what, pod):
        self.wait_for(pool.submit(self.bind, pod), what)

    def wait_for(self, answer, what):
        self.wait(what, answer.done)
        if answer.result().get("Error"):
            raise Stopped(f"no: {what}: {answer.result()['Error']}")


class Node(Scene):
    """hamid node, with a gateway: frees what a crash left, serves an Allocate, and refuses one."""

    def prepare(self):
        manifests.make_node(self.admin, self.name, RESOURCE)
        self.lock_for(self.make_pod("before", self.name, {
            "hami.io/bind-phase": "success", "hami.io/mutex.done": "1",
            "hami.io/vgpu-devices-to-allocate": ";"}), 1, 15000)
        self.start()

    def start(self):
        folder = self.plane.folder / self.name
        for part in ("kubelet", "plugins"):
            (folder / part).mkdir(parents=True, mode=0o755)
        self.child = self.plane.group.start(self.name, [
            *suites.hamid(), "node", "-v=5", f"--kubeconfig={self.kubeconfig}",
            f"--node={self.name}", f"--socket={folder / 'agent.sock'}", "--pod-resources=",
            f"--gateway={folder / 'plugins'}", f"--kubelet-plugins={folder / 'kubelet'}"])

    def connection(self):
        return probes.UnixConnection(self.plane.folder / self.name / "agent.sock")

    def post(self, path, body):
        connection = self.connection()
        connection.timeout = PATIENCE
        try:
            connection.request("POST", path, json.dumps(body),
                               {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            return 0, str(error).encode()
        finally:
            connection.close()

    def steps(self):
        self.wait("the lock that was left is gone", self.is_free)
        asked = {"resource": RESOURCE, "containers": [[f"GPU-{self.name}-0"]]}
        status, said = self.post("/v1/allocations", asked)
        if status != 404:
            raise Stopped(f"an Allocate that is nobody's was answered {status} {said}")
        self.wait("the refusal has an event", lambda: self.events(self.name))
        pod = self.make_pod("served", self.name)
        self.lock_for(pod, 1, 15000)
        status, said = self.post("/v1/allocations", asked)
        if status != 200:
            raise Stopped(f"the Allocate was answered {status} {said}")
        status, said = self.post(f"/v1/allocations/{json.loads(said)['allocation']}/done", {})
        if status != 204:
            raise Stopped(f"done was answered {status} {said}")
        self.wait("the lock is released", self.is_free)

    def is_free(self):
        return "hami.io/mutex.lock" not in self.annotations(f"/api/v1/nodes/{self.name}")
