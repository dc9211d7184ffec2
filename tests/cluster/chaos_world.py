# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What chaos is made with: two kube-schedulers, each with a hamid of its own, and one node.

One of the two hamid schedulers and the node's agent reach the API server through a proxy
each, which the faults of the network are asked of.

    kube-scheduler         -> hamid-a -> proxy-a    \
    kube-scheduler-second  -> hamid-b -------------- kube-apiserver -> etcd
    kubelet -> hamid-node  -> proxy-node            /
"""

import http.client
import json
import signal
import socket
import time

from cluster import api, burst, chaos_history, manifests, probes, processes, suites

START_SECONDS = 60
HOLD_LIMIT = 3.0
PATIENCE = "10s"
REPLICAS = {"hamid-a": "default-scheduler", "hamid-b": "second-scheduler"}
PROXIES = {"proxy-a": ("via-proxy-a", "hamid-scheduler"),
           "proxy-node": ("via-proxy-node", "hamid-node")}
LEASE = "hami.io/mutex.lease"


class Moment:
    """What the API server tells about a burst and the node's lock at one time."""

    def __init__(self, items, annotations):
        self.pods = {pod["metadata"]["name"]: pod for pod in items}
        self.lock = annotations.get(burst.LOCK) or ""
        self.lease = annotations.get(LEASE) or ""

    @property
    def owner(self):
        """The pod that the lock names, None if it is not one of the burst."""
        return self.pods.get(self.lock.split(",")[-1]) if self.lock else None

    def count(self, phase):
        return sum((pod["metadata"].get("annotations") or {}).get(burst.PHASE) == phase
                   for pod in self.pods.values())

    @property
    def allocated(self):
        return self.count("success")

    @property
    def failed(self):
        return sum(pod["status"].get("phase") == "Failed" for pod in self.pods.values())


class World:
    """The processes of one round, on a control plane that runs."""

    def __init__(self, plane):
        self.plane = plane
        self.group = plane.group
        self.admin = plane.client()
        self.addresses = {}
        self.agent_socket = plane.folder / "agent.sock"

    def start(self):
        manifests.make_node(self.admin, burst.NODE, burst.RESOURCE, 1000)
        for name in PROXIES:
            self._start_proxy(name)
        self._start_agent()
        self.group.start("kubelet", [
            suites.BUILD / "tests/standins/standin-kubelet",
            f"--kubeconfig={self.plane.kubeconfig('kubelet')}", f"--node={burst.NODE}",
            f"--socket={self.agent_socket}", "--allocate-ms=50", "--patience=40s"])
        for name, scheduler in REPLICAS.items():
            self.start_replica(name)
            self.plane.start_scheduler([manifests.extender(
                f"http://{self.addresses[name]}", burst.RESOURCE, timeout=PATIENCE)], scheduler)

    # ---- processes

    def _start_proxy(self, name):
        kubeconfig, user = PROXIES[name]
        address = self.plane.folder / f"{name}.address"
        child = self.group.start(name, [
            suites.BUILD / "tests/standins/standin-proxy",
            f"--target=127.0.0.1:{self.plane.port}", f"--address-file={address}",
            f"--control={self.plane.folder / name}"])
        self.group.wait_until(name, child, address.exists, START_SECONDS)
        port = int(address.read_text(encoding="ascii").split(":")[1])
        self.plane.write_kubeconfig(kubeconfig, user, port)

    def _start_agent(self):
        child = self.group.start("hamid-node", [
            suites.BUILD / "daemon/hamid", "node", f"--node={burst.NODE}",
            f"--socket={self.agent_socket}", "--allocate-timeout=20s",
            f"--kubeconfig={self.plane.kubeconfig('via-proxy-node')}"])
        self.group.wait_until("hamid-node", child,
                              lambda: probes.agent_is_ready(self.agent_socket), START_SECONDS)

    def start_replica(self, name):
        """On the port that it had before: kube-scheduler knows no other."""
        user = "via-proxy-a" if name == "hamid-a" else "hamid-scheduler"
        file = self.plane.folder / f"{name}.address"
        file.unlink(missing_ok=True)
        child = self.group.start(name, [
            suites.BUILD / "daemon/hamid", "scheduler",
            f"--kubeconfig={self.plane.kubeconfig(user)}",
            f"--listen={self.addresses.get(name, '127.0.0.1:0')}", f"--address-file={file}",
            "--metrics-listen=127.0.0.1:0",
            f"--patience={PATIENCE}", f"--hold-limit={HOLD_LIMIT:.0f}s",
            f"--scheduler-name={REPLICAS[name]}", f"--managed-resource={burst.RESOURCE}"])
        self.group.wait_until(name, child, file.exists, START_SECONDS)
        address = file.read_text(encoding="ascii").split()[0]
        self.addresses[name] = address
        return child

    def wait_for_replica(self, name):
        self.group.wait_until(name, self.group.find(name),
                              lambda: probes.binder_is_ready(self.addresses[name]),
                              START_SECONDS)

    def start_again(self, name):
        if name in REPLICAS:
            self.start_replica(name)
        elif name == "hamid-node":
            self._start_agent()
        else:
            if name == "kube-apiserver":
                chaos_history.trim(self.plane.audit_log)
            self.plane.start_again(name)

    def kill(self, name):
        self.group.kill(name)

    def pause(self, name):
        self.group.find(name).send_signal(signal.SIGSTOP)

    def resume(self, name):
        self.group.find(name).send_signal(signal.SIGCONT)

    def fail_early(self):
        for name, child in self.group.children:
            if child.poll() is not None:
                raise processes.Failed(f"{name} ended with code {child.returncode}:\n"
                                       + self.group.last_words(name))

    def tell(self, proxy, line):
        """A command to a proxy; answers its line."""
        with socket.socket(socket.AF_UNIX) as one:
            one.settimeout(START_SECONDS)
            one.connect(str(self.plane.folder / proxy))
            one.sendall(line.encode() + b"\n")
            answer = one.makefile().readline().strip()
        if answer.startswith("error"):
            raise processes.Failed(f"{proxy}: {line}: {answer}")
        return answer

    def cuts(self):
        """Connections that the proxies have cut so far."""
        counts = [json.loads(self.tell(name, "status")) for name in PROXIES]
        return sum(one["cuts_before"] + one["cuts_after"] for one in counts)

    # ---- looks

    def look(self, name):
        """The Moment of a burst, None while the API server does not answer."""
        try:
            pods = self.admin.request(
                "GET", f"/api/v1/namespaces/default/pods?labelSelector=burst%3D{name}")
            node = self.admin.request("GET", f"/api/v1/nodes/{burst.NODE}")
        except (OSError, http.client.HTTPException):
            return None
        if pods.code != 200 or node.code != 200:
            return None
        return Moment(pods.body["items"], node.metadata.get("annotations") or {})

    def wait(self, name, is_true, seconds, pause=0.1):
        """The first Moment of which it is true, None if there was none in time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            moment = self.look(name)
            if moment is not None and is_true(moment):
                return moment
            self.fail_early()
            time.sleep(pause)
        return None

    def create(self, name, count, schedulers, first=0):
        try:
            burst.create(self.plane, name, count, schedulers, first)
        except api.Refused as error:
            raise processes.Failed(f"the pods could not be created: {error}") from error
