# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A cluster as it is deployed, on a control plane that runs.

    kube-scheduler a -> hamid a \\                  / filter stand-in
    kube-scheduler b -> hamid b --- kube-apiserver -- kubelet stand-in -> a hamid node each

Each kube-scheduler has a hamid of its own beside it on loopback. kube-schedulers that serve the
same schedulerName elect a leader among them. The filter writes HAMi's annotations. It is asked
by way of hamid (one entry of extenders), or by kube-scheduler itself (two entries).
"""

import concurrent.futures
import http.client
import json
import signal
import sys
import threading
import time

from checker import events, figures
from cluster import api, burst, manifests, mixed, probes, processes, suites

START_SECONDS = 60
SAY_SECONDS = 3
PATIENCE = "60s"
DEFAULT = "default-scheduler"
# Shorter than the default 15 s: a dead leader costs its lease.
ELECTION = {"leaderElect": True, "leaseDuration": "5s", "renewDeadline": "4s",
            "retryPeriod": "500ms", "resourceLock": "leases",
            "resourceName": "kube-scheduler", "resourceNamespace": "kube-system"}
LEADER_PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
# What must be nothing in each log, whatever was done to the cluster.
ZERO = (("no pod is lost", "lost"), ("no pod is bound twice", "bound_twice"),
        ("never two owners at once", "double_holds"),
        ("no lock was taken from an owner that needed it", "covered_locks"),
        ("no pod is stuck", "stuck_pods"), ("no lock is left", "locks_left"),
        ("each grant has a higher fence", "fence_violations"))


class World:
    """The nodes, and whatever is started on them, by name."""

    resources = burst.RESOURCE  # of the nodes; one name or several
    agent_flags = ()
    kubelet_flags = ()
    binder_flags = (f"--managed-resource={burst.RESOURCE}",)

    def __init__(self, plane, say, nodes=1, allocate_ms=20, capacity=1000):
        self.plane = plane
        self.say = say
        self.group = plane.group
        self.admin = plane.client()
        self.nodes = [f"gpu-{index}" for index in range(nodes)]
        self.allocate_ms = allocate_ms
        self.capacity = capacity
        self.addresses = {}
        self.filter_url = None
        self.offset = 0
        self.own = {name for name, _ in plane.group.children}

    # ---- starting

    def start_nodes(self):
        sockets = [self.plane.folder / f"agent-{node}.sock" for node in self.nodes]
        for node, path in zip(self.nodes, sockets):
            manifests.make_node(self.admin, node, self.resources, self.capacity)
            self.group.start(f"hamid-{node}", [
                suites.BUILD / "daemon/hamid", "node", f"--node={node}", f"--socket={path}",
                "--allocate-timeout=20s", *self.agent_flags,
                f"--kubeconfig={self.plane.kubeconfig('hamid-node')}"])
        for node, path in zip(self.nodes, sockets):
            name = f"hamid-{node}"
            self.group.wait_until(name, self.group.find(name),
                                  lambda path=path: probes.agent_is_ready(path), START_SECONDS)
        self.group.start("kubelet", [
            suites.BUILD / "tests/standins/standin-kubelet",
            f"--kubeconfig={self.plane.kubeconfig('kubelet')}",
            *(f"--node={node}" for node in self.nodes),
            *(f"--socket={path}" for path in sockets),
            f"--allocate-ms={self.allocate_ms}", "--patience=60s", *self.kubelet_flags])

    def start_filter(self):
        addresses = self.plane.folder / "filter.address"
        addresses.unlink(missing_ok=True)
        child = self.group.start("filter", [
            sys.executable, "-B", suites.ROOT / "tests/cluster/interplay_filter.py",
            f"--kubeconfig={self.plane.kubeconfig('filter')}", f"--address-file={addresses}"])
        self.group.wait_until("filter", child, addresses.exists, START_SECONDS)
        self.filter_url = f"http://{addresses.read_text(encoding='ascii').strip()}"

    def start_binder(self, name, scheduler=DEFAULT, patience=PATIENCE, flags=(),
                     environment=None):
        """hamid; on the port that one of that name had before, as kube-scheduler knows it."""
        file = self.plane.folder / f"{name}.address"
        file.unlink(missing_ok=True)
        child = self.group.start(name, [
            suites.BUILD / "daemon/hamid", "scheduler",
            f"--kubeconfig={self.plane.kubeconfig('hamid-scheduler')}",
            f"--listen={self.addresses.get(name, '127.0.0.1:0')}", f"--address-file={file}",
            "--metrics-listen=127.0.0.1:0",
            f"--patience={patience}", f"--scheduler-name={scheduler}",
            *self.binder_flags,
            *([f"--filter-url={self.filter_url}"] if self.filter_url else []), *flags], environment)
        self.group.wait_until(name, child, file.exists, START_SECONDS)
        self.addresses[name] = file.read_text(encoding="ascii").split()[0]
        return child

    def start_broken_binder(self, fault):
        """The stand-in with that fault, in hamid's place and under its name."""
        file = self.plane.folder / f"{fault}.address"
        child = self.group.start(fault, [
            suites.BUILD / "tests/standins/standin-broken-binder", f"--fault={fault}",
            f"--kubeconfig={self.plane.kubeconfig('hamid-scheduler')}",
            f"--address-file={file}"])
        self.group.wait_until(fault, child, lambda: file.exists() and file.read_text(), 60)
        self.addresses[fault] = file.read_text(encoding="ascii").split()[0]

    def wait_for_binder(self, name):
        self.group.wait_until(name, self.group.find(name),
                              lambda: probes.binder_is_ready(self.addresses[name]),
                              START_SECONDS)

    def start_scheduler(self, name, binder, scheduler=DEFAULT, patience=PATIENCE,
                        elects=False, entries=1, profile=None):
        """kube-scheduler, as a process of that name, with that hamid beside it."""
        url = f"http://{self.addresses[binder]}"
        has_filter = self.filter_url is not None and entries == 1
        extenders = [manifests.extender(url, self.resources, has_filter, patience)]
        if entries == 2:
            extenders.insert(0, manifests.filter_extender(self.filter_url))
        words = {"profiles": [{"schedulerName": scheduler, **(profile or {})}],
                 "extenders": extenders}
        if elects:
            words["leaderElection"] = ELECTION
        self.plane.with_ports(1, lambda ports: self.plane.try_scheduler(
            name, self.plane.programs["kube-scheduler"], words, ports[0]))

    def start_pair(self, suffix, **more):
        """A hamid and its kube-scheduler, as one pod of a control plane has them."""
        known = {key: more[key] for key in ("scheduler", "patience") if key in more}
        self.start_binder(f"hamid-{suffix}", flags=more.pop("flags", ()),
                          environment=more.pop("environment", None), **known)
        self.wait_for_binder(f"hamid-{suffix}")
        self.start_scheduler(f"kube-scheduler-{suffix}", f"hamid-{suffix}", **more)

    # ---- doing

    def create(self, name, count, schedulers=(DEFAULT,), first=0, **spec):
        """All at once; what HAMi writes onto them is left to the filter where there is one."""
        local = threading.local()

        def create_one(index):
            local.client = getattr(local, "client", None) or self.plane.client()
            pod = mixed.pod(f"{name}-{index:04d}", self.kind(index),
                            self.nodes[0] if self.filter_url is None else None)
            pod["metadata"]["labels"] = {"burst": name}
            pod["spec"] = {**pod["spec"], "schedulerName": schedulers[index % len(schedulers)],
                           **spec}
            local.client.need("POST", "/api/v1/namespaces/default/pods", pod)

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(create_one, range(first, first + count)))

    def kind(self, _index):
        """What the pod of that number asks for."""
        return mixed.EQUAL[0]

    def use_one_node(self):
        """No pod is sent to another than the first node from here on."""
        for node in self.nodes[1:]:
            self.admin.need("PATCH", f"/api/v1/nodes/{node}", {"spec": {"unschedulable": True}},
                            api.MERGE_PATCH)

    def delete(self, pod, seconds=None):
        body = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if seconds is not None:
            body["gracePeriodSeconds"] = seconds
        self.admin.need("DELETE", f"/api/v1/namespaces/default/pods/{pod}", body)

    def pause(self, name):
        self.group.find(name).send_signal(signal.SIGSTOP)

    def resume(self, name):
        self.group.find(name).send_signal(signal.SIGCONT)

    # ---- looking

    def pods(self, name):
        try:
            answer = self.admin.request(
                "GET", f"/api/v1/namespaces/default/pods?labelSelector=burst%3D{name}")
        except (OSError, http.client.HTTPException):
            return None
        return answer.body["items"] if answer.code == 200 else None

    def counts(self, name):
        """(bound, allocated) of a burst; None while the API server does not answer."""
        items = self.pods(name)
        if items is None:
            return None
        return (sum("nodeName" in pod["spec"] for pod in items),
                sum((pod["metadata"].get("annotations") or {}).get(burst.PHASE) == "success"
                    for pod in items))

    def locks(self, node=None):
        """What the nodes' lock annotations say, those that are there."""
        found = {}
        for name in [node] if node else self.nodes:
            metadata = self.admin.need("GET", f"/api/v1/nodes/{name}").metadata
            found[name] = (metadata.get("annotations") or {}).get(burst.LOCK)
        return {name: lock for name, lock in found.items() if lock}

    def view(self, binder, path="/v1/locks"):
        """One page of a hamid, None where nobody answers."""
        connection = http.client.HTTPConnection(self.addresses[binder], timeout=5)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def waiters(self, binder):
        """Who waits in that hamid, over all nodes."""
        found = self.view(binder)
        nodes = json.loads(found[1])["nodes"] if found else []
        return [waiter for node in nodes for waiter in node["waiters"]]

    def waiting(self, binder):
        """The names of their pods."""
        return [waiter["pod"] for waiter in self.waiters(binder)]

    def until(self, what, is_true, seconds, pause=0.1):
        """The first true answer; fails with the text where there is none in time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = is_true()
            if found:
                return found
            self.fail_early()
            time.sleep(pause)
        raise processes.Failed(f"not within {seconds} s: {what}")

    def served(self, name, count, seconds):
        """Waits until the whole burst is served and each lock is gone; True if it came so."""
        deadline = time.monotonic() + seconds
        told = 0.0
        while time.monotonic() < deadline:
            now = self.counts(name)
            if now is not None and time.monotonic() - told > SAY_SECONDS:
                self.say(f"{name}: {now[0]} bound, {now[1]} allocated")
                told = time.monotonic()
            if now == (count, count) and not self.locks():
                return True
            self.fail_early()
            time.sleep(0.3)
        return False

    def leader(self):
        """Who leads the kube-schedulers, empty where nobody does."""
        answer = self.admin.request("GET", LEADER_PATH)
        return (answer.body.get("spec") or {}).get("holderIdentity") or ""

    def fail_early(self):
        for name, child in self.group.children:
            if child.poll() is not None:
                raise processes.Failed(f"{name} ended with code {child.returncode}:\n"
                                       + self.group.last_words(name))

    # ---- judging

    def read_log(self):
        """The server's log from where the last chapter ended."""
        with open(self.plane.audit_log, encoding="utf-8") as file:
            file.seek(self.offset)
            return events.read(file)

    def begin_chapter(self):
        """What was logged so far is not looked at again."""
        self.offset = self.plane.audit_log.stat().st_size

    def next_chapter(self):
        """The pods of the last one are removed."""
        self.admin.need("DELETE", "/api/v1/namespaces/default/pods", {
            "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0})
        self.begin_chapter()

    def stop_all(self):
        """All but the control plane itself; nothing of this world is left in it."""
        for name, child in reversed(self.group.children):
            if name not in self.own:
                self.group.stop(child)
        self.admin.need("DELETE", "/api/v1/namespaces/default/pods", {
            "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0})
        for node in self.nodes:
            self.admin.need("DELETE", f"/api/v1/nodes/{node}")

    def report(self, name):
        return figures.Report(self.read_log(), figures.Options(
            allocate_ms=self.allocate_ms, pod_prefix=f"{name}-"))

    def wait_for_announcements(self, name, count, seconds=30):
        """kube-scheduler sends its events behind the binds, at its client's pace."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = self.admin.need(
                "GET", "/api/v1/namespaces/default/events?fieldSelector=reason%3DScheduled")
            if sum(event["involvedObject"]["name"].startswith(f"{name}-")
                   for event in found.body["items"]) >= count:
                return
            time.sleep(0.3)


class Scenes:
    """What scenes of one part have in common: each is named, played, and judged by the log."""

    part = ""

    def __init__(self, results, world):
        self.results = results
        self.world = world
        self.name = ""

    def check(self, is_good, text, found=""):
        return self.results.check(is_good, f"{self.part}: {self.name}: {text}", found)

    def judge(self, pods, within):
        """Waits until all are served; answers the scene's figures, and the log's report."""
        is_done = self.world.served(self.name, pods, within)
        self.check(is_done, f"all {pods} pods are served within {within:.0f} s",
                   (self.world.counts(self.name), self.world.locks()))
        report = self.world.report(self.name)
        values = figures.figures(report)
        self.results.say(f"{self.name}: " + json.dumps(values))
        self.check(values["bound"] == pods, f"all {pods} pods are bound", values["bound"])
        for text, figure in ZERO:
            self.check(values[figure] == 0, text, values[figure])
        self.world.next_chapter()
        return {"scene": self.name, **values}, report
