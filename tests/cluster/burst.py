# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A burst of pods for one node through kube-scheduler, hamid and a simulated kubelet.

Everything that is asserted comes from the API server's audit log, by way of the checker.
"""

import concurrent.futures
import datetime
import http.client
import json
import threading
import time

import calls
from checker import events, figures, timeline
from cluster import api, manifests, probes, processes, suites

NODE = "gpu-0"
RESOURCE = "nvidia.com/gpu"
PHASE = "hami.io/bind-phase"
LOCK = "hami.io/mutex.lock"
PODS = 40
BURST = "burst"
ALLOCATE_MS = 20
PATIENCE = 180.0
WRITER_PERIOD = 0.02


class Writers:
    """Heartbeats and a foreign annotation, beside the burst: they must meet no conflict."""

    def __init__(self, plane, node):
        self.plane = plane
        self.node = node
        self.is_over = threading.Event()
        self.counts = {"heartbeats": 0, "annotations": 0}
        self.refusals = []
        self.threads = [threading.Thread(target=self._write, args=(name, make), daemon=True)
                        for name, make in (("heartbeats", self._heartbeat),
                                           ("annotations", self._annotation))]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        for thread in self.threads:
            thread.join(api.TIMEOUT)

    def _write(self, name, make):
        client = self.plane.client("writer")
        number = 0
        while not self.is_over.wait(WRITER_PERIOD):
            number += 1
            try:
                answer = client.request("PATCH", *make(number))
            except (OSError, http.client.HTTPException) as error:
                self.refusals.append(f"{name}: {error}")
                continue
            if answer.code == 200:
                self.counts[name] += 1
            else:
                self.refusals.append(f"{name}: {answer}")

    def _heartbeat(self, _number):
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        return (f"/api/v1/nodes/{self.node}/status", {"status": {"conditions": [
            {"type": "Ready", "status": "True", "reason": "Test",
             "lastHeartbeatTime": now.replace("+00:00", "Z")}]}},
            "application/strategic-merge-patch+json")

    def _annotation(self, number):
        return (f"/api/v1/nodes/{self.node}",
                {"metadata": {"annotations": {"example.com/beat": str(number)}}},
                api.MERGE_PATCH)


class Burst:
    """One burst on a control plane that runs; hamid and the kubelet are started for it."""

    def __init__(self, plane, say, pods=PODS, allocate_ms=ALLOCATE_MS, patience="30s",
                 store="annotation", flags=(), free="node"):
        self.plane = plane
        self.say = say
        self.pods = pods
        self.allocate_ms = allocate_ms
        self.patience = patience
        self.store = store
        self.flags = flags
        self.free = free
        self.admin = plane.client()
        self.group = plane.group
        self.writers = None

    def run(self):
        """Answers the checker's report of what the server saw."""
        manifests.make_node(self.admin, NODE, RESOURCE, max(100, self.pods))
        self._start_node_side()
        self._start_scheduler()
        self.say("kube-scheduler, hamid and the simulated kubelet are ready")
        with Writers(self.plane, NODE) as self.writers:
            # The first take on a node without a lease tests its resourceVersion, which the
            # writers change all the time. What is measured is what comes after.
            self._create("first", 1)
            self._wait("first", 1)
            self._create(BURST, self.pods)
            self._wait(BURST, self.pods)
        return self.report()

    def report(self):
        with open(self.plane.audit_log, encoding="utf-8") as file:
            found = events.read(file)
        return figures.Report(found, figures.Options(
            allocate_ms=self.allocate_ms, pod_prefix=BURST))

    def _start_scheduler(self):
        url = self._start_binder()
        self.plane.start_scheduler([manifests.extender(url, RESOURCE, timeout=self.patience)])

    def _start_binder(self):
        """Starts hamid on free ports; answers the URL that kube-scheduler is to call."""
        addresses = self.plane.folder / "hamid.address"
        child = self.group.start("hamid-scheduler", [
            *suites.hamid(), "scheduler",
            f"--kubeconfig={self.plane.kubeconfig('hamid-scheduler')}",
            "--listen=127.0.0.1:0", f"--address-file={addresses}",
            f"--patience={self.patience}", "--scheduler-name=default-scheduler",
            f"--lock-store={self.store}",
            f"--managed-resource={RESOURCE}", *self.flags])
        self.group.wait_until("hamid-scheduler", child, addresses.exists, 60)
        address = addresses.read_text(encoding="ascii").split()[0]
        self.group.wait_until("hamid-scheduler", child,
                              lambda: probes.binder_is_ready(address), 30)
        return f"http://{address}"

    def _start_node_side(self):
        agent_socket = self.plane.folder / "agent.sock"
        agent = self.group.start("hamid-node", [
            *suites.hamid(), "node", f"--node={NODE}",
            f"--socket={agent_socket}", f"--free={self.free}",
            f"--kubeconfig={self.plane.kubeconfig('hamid-node')}"])
        self.group.wait_until("hamid-node", agent, lambda: probes.agent_is_ready(agent_socket), 60)
        self.group.start("kubelet", [
            suites.BUILD / "tests/standins/standin-kubelet",
            f"--kubeconfig={self.plane.kubeconfig('kubelet')}", f"--node={NODE}",
            f"--socket={agent_socket}", f"--allocate-ms={int(self.allocate_ms)}"])

    def _create(self, name, count):
        create(self.plane, name, count)
        self.say(f"created {count} pods" if count > 1 else "created a first pod")

    def _wait(self, name, count):
        """Until each pod is served and the lock is gone, or until patience ends."""
        deadline = time.monotonic() + PATIENCE
        last = -1
        while time.monotonic() < deadline:
            served, bound = self._count(name)
            if served != last:
                self.say(f"{bound} bound, {served} allocated")
                last = served
            if served == count and not self._lock():
                return
            self._fail_early()
            time.sleep(0.2)
        self.say(f"gave up after {PATIENCE:.0f} s; the lock is {self._lock() or 'free'}")

    def _count(self, name):
        items = self.admin.need("GET", "/api/v1/namespaces/default/pods").body["items"]
        burst = [pod for pod in items if pod["metadata"]["name"].startswith(name)]
        return (sum((pod["metadata"].get("annotations") or {}).get(PHASE) == "success"
                    for pod in burst),
                sum(bool(pod["spec"].get("nodeName")) for pod in burst))

    def _lock(self):
        node = self.admin.need("GET", f"/api/v1/nodes/{NODE}")
        return (node.metadata.get("annotations") or {}).get(LOCK)

    def _fail_early(self):
        for name, child in self.group.children:
            if child.poll() is not None:
                raise processes.Failed(f"{name} ended with code {child.returncode}:\n"
                                       + self.group.last_words(name))


def run(results, plane):
    """40 pods, and a caller that waits long enough: no bind fails, and it costs little."""
    return _run(results, "burst", Burst(plane, results.say), _when_patient)


def run_free_scheduler(results, plane):
    """The burst again, where the scheduler side frees the locks: three writes a pod."""
    burst = Burst(plane, results.say, free="scheduler")
    return _run(results, "free-scheduler", burst, _when_freed_by_scheduler)


def run_impatient(results, plane):
    """kube-scheduler gives up after 2 s and asks again: binds fail, and nothing else does."""
    burst = Burst(plane, results.say, pods=12, allocate_ms=300, patience="2s",
                  flags=["--event-after=400ms"])
    values = _run(results, "impatience", burst, _when_impatient)
    found = burst.admin.need("GET", "/api/v1/namespaces/default/events").body["items"]
    waits = [event for event in found if event["reason"] == "WaitingForNodeLock"]
    results.check(waits, "impatience: pods that wait have events that say so", len(found))
    results.check(all(event["message"].startswith(f"Waits for its turn on node {NODE}")
                      and event["involvedObject"]["kind"] == "Pod" for event in waits),
                  "impatience: they name the node", waits[:1])
    results.check(any(event["count"] > 1 for event in waits),
                  "impatience: they are brought up to date",
                  [event["count"] for event in waits])
    return values


def run_leases(results, plane, part="leases"):
    """The same with the locks in Leases, mirrored for the node side."""
    burst = Burst(plane, results.say, store="lease+mirror")
    values = _run(results, part, burst, _when_mirrored)
    lease = burst.admin.need("GET", "/apis/coordination.k8s.io/v1/namespaces/"
                             f"{manifests.LEASE_NAMESPACE}/leases/{NODE}")
    node = burst.admin.need("GET", f"/api/v1/nodes/{NODE}")
    owners = lease.metadata.get("ownerReferences") or [{}]
    results.check(owners[0].get("uid") == node.metadata["uid"],
                  f"{part}: the node owns its Lease", owners)
    return values


def _run(results, part, burst, expectations):
    report = burst.run()
    values = figures.figures(report)
    for line in timeline.draw(report, rows=8):
        print("# " + line)
    results.say("figures: " + json.dumps(values))
    for check in (_always, expectations):
        for name, is_good, found in check(values, burst):
            results.check(is_good, f"{part}: {name}", found)
    if burst.writers.refusals:
        results.say("first refused write of others: " + burst.writers.refusals[0])
    return values


def _always(values, burst):
    yield (f"all {burst.pods} pods are bound", values["bound"] == burst.pods,
           values["bound"])
    yield (f"all {burst.pods} pods are allocated", values["allocated"] == burst.pods,
           values["allocated"])
    for name, figure in (("never two owners at once", "double_holds"),
                         ("no lock was taken from an owner that needed it", "covered_locks"),
                         ("no pod is stuck", "stuck_pods"),
                         ("no lock is left", "locks_left"),
                         ("each grant has a higher fence", "fence_violations"),
                         ("nobody's write met a 409", "conflicts_409")):
        yield name, values[figure] == 0, values[figure]


def _when_impatient(values, _burst):
    yield "binds failed for want of time", values["failed_binds"] > 0, values["failed_binds"]


def _when_patient(values, burst):
    yield ("no write met a 422 once the node had a lease", values["refused_422"] == 0,
           values["refused_422"])
    yield from calls.judge(calls.read_limits()["cluster"], values)
    yield from _when_mirrored(values, burst)


def _when_freed_by_scheduler(values, burst):
    yield from calls.judge(calls.read_limits()["cluster_free_scheduler"], values)
    yield from _when_mirrored(values, burst)


def _when_mirrored(values, burst):
    writers = burst.writers
    yield "no bind failed", values["failed_binds"] == 0, values["failed_binds"]
    yield ("heartbeats and foreign annotations went on meanwhile, all of them taken",
           min(writers.counts.values()) > 0 and not writers.refusals,
           f"{writers.counts}, refused {writers.refusals[:3]}")


def create(plane, name, count, schedulers=("default-scheduler",), first=0):
    """All pods at once; kube-scheduler sees them as fast as the server takes them."""
    local = threading.local()

    def create_one(index):
        local.client = getattr(local, "client", None) or plane.client()
        devices = f"GPU-{index:04x},NVIDIA,1000,10:;"
        pod = manifests.pod(f"{name}-{index:04d}", RESOURCE, {
            "hami.io/vgpu-node": NODE,
            "hami.io/vgpu-time": str(int(time.time())),
            "hami.io/vgpu-devices-to-allocate": devices,
            "hami.io/vgpu-devices-allocated": devices})
        pod["metadata"]["labels"] = {"burst": name}
        pod["spec"]["schedulerName"] = schedulers[index % len(schedulers)]
        local.client.need("POST", "/api/v1/namespaces/default/pods", pod)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(create_one, range(first, first + count)))
