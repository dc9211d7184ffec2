# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A real node and all that serves pods on it: filter, kube-scheduler, hamid, a device plugin."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import random
import subprocess
import threading
import time

from cluster import burst, kubelet_node, manifests, probes, processes, suites

RESOURCE = "nvidia.com/gpu"
SECOND = "hygon.com/dcunum"
TRIVIAL = "example.com/trivial"
DEVICES = 200
# resource: (word in the annotations' keys, type in device strings, beginning of devices' names)
VENDORS = {RESOURCE: ("vgpu", "NVIDIA", "GPU-"), SECOND: ("dcu", "DCU", "DCU-")}
PODS = "/api/v1/namespaces/default/pods"
PRIORITIES = 10
PATIENCE = 240.0
LOCK_EXPIRE = "5s"
free = "node"  # who frees the locks, as hamid node is told
side_by_side = 0  # how many pods hamid scheduler may have in flight; 0: one, as ever


def variable(resource):
    return "TEST_" + resource.upper().replace(".", "_").replace("/", "_")


def pod(name, asks, burst_name, **spec):
    """A pod with one container for each of asks: {resource: count}."""
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"burst": burst_name}},
        "spec": {"hostNetwork": True, "terminationGracePeriodSeconds": 0,
                 "enableServiceLinks": False, "restartPolicy": "Always",
                 "containers": [container(f"c{index}", ask) for index, ask in enumerate(asks)],
                 **spec}}


def container(name, ask, *words):
    return {"name": name, "image": kubelet_node.CONTAINER_IMAGE, "imagePullPolicy": "Never",
            "args": list(words),
            "resources": {"limits": {key: str(count) for key, count in ask.items() if count}}}


class Scene:
    """Made once; each test starts the plugins that it wants."""

    def __init__(self, plane, node, programs, say):
        self.plane = plane
        self.node = node
        self.group = plane.group
        self.client = plane.client()
        self.programs = programs
        self.say = say
        self.agent_socket = plane.folder / "agent.sock"
        self.hold = plane.folder / "hold"
        self.specs = {}
        self.binder = None

    def start(self):
        for value in range(PRIORITIES):
            self.client.need("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {
                "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                "metadata": {"name": f"p{value}"}, "value": value,
                "preemptionPolicy": "Never"})
        self.start_agent()
        url = self._start_binder(self._start_filter())
        entry = manifests.extender(url, RESOURCE, has_filter=True, timeout="60s")
        entry["managedResources"].append({"name": SECOND, "ignoredByScheduler": False})
        self.plane.start_scheduler([entry])

    @contextlib.contextmanager
    def measured(self):
        """Meanwhile no container starts, and other work of this computer waits for ours."""
        ours = [child.pid for _, child in self.group.children]
        with self.node.no_starts():
            # Whom they start, containers above all, is not to inherit it.
            _schedule(ours, os.SCHED_RR | os.SCHED_RESET_ON_FORK, 1)
            _schedule([os.getpid()], os.SCHED_RR, 1)
            try:
                yield
            finally:
                _schedule([os.getpid(), *ours], os.SCHED_OTHER, 0)

    def start_agent(self, *flags, is_alone=False):
        """hamid node; waits until it is ready. is_alone: one pod at a time, whatever was asked
        for."""
        beside = ["--side-by-side"] if side_by_side and not is_alone else []
        agent = self.group.start("hamid-node", [
            *suites.hamid_of_a_node(), "node", f"--node={kubelet_node.NAME}",
            f"--socket={self.agent_socket}", f"--free={free}",
            f"--kubeconfig={self.plane.kubeconfig('hamid-node')}",
            *(f"--vendor={resource}=hami.io/{word}-devices-to-allocate"
              for resource, (word, _, _) in VENDORS.items()), *beside, *flags])
        self.group.wait_until("hamid-node", agent,
                              lambda: probes.agent_is_ready(self.agent_socket), 30)

    def stop_agent(self):
        self.group.stop(self.group.find("hamid-node"))

    def start_plugin(self, resource=RESOURCE, mode="agent", flags=()):
        """Waits until the kubelet reports its devices."""
        prefix = VENDORS[resource][2] if resource in VENDORS else "T-"
        self.group.start(self.plugin_name(resource), [
            self.programs / "plugin", f"--resource={resource}", f"--mode={mode}",
            f"--variable={variable(resource)}", f"--agent={self.agent_socket}",
            f"--prefix={prefix}", f"--count={DEVICES}", f"--hold={self.hold}", *flags])
        self.node.wait_allocatable(resource, DEVICES)

    def stop_plugin(self, resource=RESOURCE):
        self.group.stop(self.group.find(self.plugin_name(resource)))
        self.node.wait_allocatable(resource, 0)

    def plugin_name(self, resource):
        return "plugin-" + resource.replace("/", "-")

    def plugin_lines(self, resource=RESOURCE):
        """What the plugin said of its Allocates: a list of objects."""
        path = self.plane.folder / f"{self.plugin_name(resource)}.log"
        found = []
        for line in path.read_text(errors="replace").splitlines():
            if line.startswith("{"):
                found.append(json.loads(line))
        return found

    def pods(self, burst_name):
        return self.client.need("GET", f"{PODS}?labelSelector=burst%3D{burst_name}").body["items"]

    def create(self, pods):
        """All at once, from 8 threads; answers the moment of the first POST, and the pods'
        names in the order in which the server took them."""
        local = threading.local()
        self.specs.update({one["metadata"]["name"]: one for one in pods})

        def create_one(one):
            local.client = getattr(local, "client", None) or self.plane.client()
            made = local.client.need("POST", PODS, one).metadata
            return int(made["resourceVersion"]), made["name"]

        begin = time.time()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            made = list(pool.map(create_one, pods))
        return begin, [name for _, name in sorted(made)]

    def wait_allocated(self, resource, begin, count, seconds=PATIENCE):
        """Until the plugin has answered that many Allocates; looks at its log alone."""
        deadline = time.monotonic() + seconds
        while len(self.allocated(resource, begin)) < count and time.monotonic() < deadline:
            time.sleep(0.1)

    def allocated(self, resource, begin):
        """Moments of the Allocates answered since."""
        return [line["time_ns"] / 1e9 for line in self.plugin_lines(resource)
                if line["event"] == "allocated" and line["time_ns"] / 1e9 >= begin]

    def wait_served(self, burst_name, count, seconds=PATIENCE):
        """Until that many pods have all their devices, as their annotations say."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            served = [one for one in self.pods(burst_name) if (
                one["metadata"].get("annotations") or {}).get(burst.PHASE) == "success"]
            if len(served) >= count:
                return True
            time.sleep(0.05)
        return False

    def wait(self, burst_name, count, phases=("Running", "Failed", "Succeeded"),
             seconds=PATIENCE):
        """Until that many pods are in one of the phases; answers the pods."""
        deadline = time.monotonic() + seconds
        while True:
            pods = self.pods(burst_name)
            if sum(_is_settled(one, phases) for one in pods) >= count:
                return pods
            if time.monotonic() > deadline:
                self.say(f"gave up: {sum(_is_settled(one, phases) for one in pods)} of {count} "
                         f"pods of {burst_name} are {' or '.join(phases)}")
                return pods
            for name, child in self.group.children:
                if child.poll() is not None:
                    raise processes.Failed(f"{name} ended with code {child.returncode}:\n"
                                           + self.group.last_words(name))
            time.sleep(0.2)

    def keep(self, burst_name, count, seconds=PATIENCE):
        """What a ReplicaSet does: a failed pod is replaced, until that many run. Answers how
        many were replaced."""
        deadline = time.monotonic() + seconds
        replaced = 0
        while time.monotonic() < deadline:
            pods = self.pods(burst_name)
            if sum(is_ready(one) for one in pods) >= count:
                break
            for one in pods:
                if one["status"].get("phase") == "Failed":
                    replaced += 1
                    self.say(f"{one['metadata']['name']} failed, and is replaced: "
                             f"{one['status'].get('message', '')[:200]}")
                    self._replace(one)
            time.sleep(0.2)
        return replaced

    def _replace(self, old):
        name = old["metadata"]["name"]
        self.client.need("DELETE", f"{PODS}/{name}")
        wanted = self.specs[name]
        again = {**wanted, "metadata": {**wanted["metadata"], "name": name + "-again"}}
        self.specs[again["metadata"]["name"]] = again
        self.client.need("POST", PODS, again)

    def delete(self, burst_name, seconds=PATIENCE):
        """Until the kubelet has ended them all."""
        for one in self.pods(burst_name):
            self.client.need("DELETE", f"{PODS}/{one['metadata']['name']}")
        deadline = time.monotonic() + seconds
        while self.pods(burst_name):
            if time.monotonic() > deadline:
                raise processes.Failed(f"pods of {burst_name} were not deleted in {seconds} s:\n"
                                       + self.group.last_words("kubelet"))
            time.sleep(0.1)

    def judge(self, burst_name, resources=(RESOURCE,)):
        """(code, verdict) of the program that judges."""
        done = subprocess.run(
            [str(self.programs / "judge"), f"--kubeconfig={self.plane.kubeconfig()}",
             f"--selector=burst%3D{burst_name}", *(
                f"--vendor={resource},hami.io/{VENDORS[resource][0]}-devices-allocated,"
                f"{variable(resource)}" for resource in resources)],
            capture_output=True, text=True, check=False)
        if not done.stdout:
            raise processes.Failed(f"the judge could not judge: {done.stderr}")
        return done.returncode, json.loads(done.stdout)

    def pod(self, name):
        return self.client.need("GET", f"{PODS}/{name}").body

    def wait_lock(self, text, seconds=PATIENCE):
        """Until the lock names that pod, or (None) until there is none, permits included."""
        deadline = time.monotonic() + seconds
        while True:
            locks = self.locks_held()
            if locks.get(burst.LOCK, "").endswith(text) if text else not locks:
                return True
            if time.monotonic() > deadline:
                self.say(f"after {seconds} s the locks are {locks}")
                return False
            time.sleep(0.05)

    def locks_held(self):
        """The locks that stand on the node, by key: the cover, and permits."""
        return {key: value for key, value in self.node.annotations().items()
                if key.startswith(burst.LOCK) and value}

    def remove_locks(self):
        """By hand, as who knows that nobody needs them."""
        gone = {key: None for key in self.locks_held()}
        self.client.need("PATCH", f"/api/v1/nodes/{kubelet_node.NAME}",
                         {"metadata": {"annotations": gone}}, "application/merge-patch+json")

    def wait_permits(self, count, seconds=PATIENCE):
        """Until that many pods are bound beside each other."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            names = {value.rpartition(",")[2] for key, value in self.locks_held().items()
                     if key != burst.LOCK}
            if len(names) >= count and all(
                    self.pod(name)["spec"].get("nodeName") for name in names):
                return True
            time.sleep(0.05)
        self.say(f"after {seconds} s the locks are {self.locks_held()}")
        return False

    def locks(self):
        """What hamid scheduler says of each node's locks."""
        connection = http.client.HTTPConnection(self.binder, timeout=5)
        try:
            connection.request("GET", "/v1/locks")
            return json.loads(connection.getresponse().read())["nodes"]
        finally:
            connection.close()

    def lock(self):
        return self.node.annotations().get(burst.LOCK)

    def _start_filter(self):
        addresses = self.plane.folder / "filter.address"
        child = self.group.start("filter", [
            self.programs / "filter", f"--kubeconfig={self.plane.kubeconfig('filter')}",
            f"--address-file={addresses}", f"--count={DEVICES}",
            *(f"--vendor={resource},{','.join(words)}" for resource, words in VENDORS.items())])
        self.group.wait_until("filter", child, addresses.exists, 60)
        return f"http://{addresses.read_text(encoding='ascii').strip()}"

    def _start_binder(self, filter_url):
        addresses = self.plane.folder / "hamid.address"
        child = self.group.start("hamid-scheduler", [
            suites.BUILD / "daemon/hamid", "scheduler",
            f"--kubeconfig={self.plane.kubeconfig('hamid-scheduler')}",
            "--listen=127.0.0.1:0", f"--address-file={addresses}", "--patience=60s",
            f"--filter-url={filter_url}", f"--lock-expire={LOCK_EXPIRE}", "--scheduler-name=default-scheduler",
            f"--managed-resource={RESOURCE}", f"--managed-resource={SECOND}",
            *([f"--side-by-side={side_by_side}"] if side_by_side else [])])
        self.group.wait_until("hamid-scheduler", child, addresses.exists, 60)
        address = addresses.read_text(encoding="ascii").split()[0]
        self.group.wait_until("hamid-scheduler", child,
                              lambda: probes.binder_is_ready(address), 30)
        self.binder = address
        return f"http://{address}"


def burst_pods(burst_name, resource, count, seed=1):
    """Pods with two containers each that ask 1, 2 or 3 devices, and priorities that make
    kube-scheduler take them in another order than they are created in."""
    drawn = random.Random(seed)
    return [pod(f"{burst_name}-{index:04d}",
                [{resource: drawn.randint(1, 3)} for _ in range(2)], burst_name,
                priorityClassName=f"p{drawn.randrange(PRIORITIES)}") for index in range(count)]


def _schedule(pids, policy, priority):
    """All their threads. Without the right to, time is measured as it is."""
    for path in (path for one in pids for path in pathlib.Path(f"/proc/{one}/task").glob("*")):
        with contextlib.suppress(OSError):
            os.sched_setscheduler(int(path.name), policy, os.sched_param(priority))


def _is_settled(one, phases):
    if one["status"].get("phase") == "Running" and "Running" in phases:
        return is_ready(one)
    return one["status"].get("phase") in phases


def is_ready(one):
    """True once each of its containers runs."""
    states = one["status"].get("containerStatuses") or []
    return (len(states) == len(one["spec"]["containers"])
            and all(state["ready"] for state in states))
