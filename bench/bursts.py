# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Bursts of pods on a control plane that runs, each served in one of several ways.

Each way gets its pods from the same creator and is judged by the same checker, which reads the
API server's audit log and shares no code with any of them. All live on the same server. Of ways
with a kube-scheduler of their own one runs at a time.
"""

import concurrent.futures
import dataclasses
import json
import pathlib
import subprocess
import threading
import time

from bench import stages
from bench.sizes import Size
from checker import events, figures
from cluster import api, burst, manifests, mixed, probes, processes

ALLOCATE_MS = 20
NOBODY = "nobody"  # schedulerName of pods that no kube-scheduler takes
FLOOR_ANNOTATIONS = {"floor.example/mutex.lock": "none", "floor.example/mutex.lease": "none"}
PHASE = burst.PHASE
NODES_A_KUBELET = 250  # of one simulated kubelet


@dataclasses.dataclass
class Outcome:
    """What the server saw of one burst."""

    way: str
    size: Size
    seconds: float  # from the first pod's creation to the last success
    values: dict  # the checker's figures
    calls: dict  # user -> (writes, reads) within that time
    stages: dict = dataclasses.field(default_factory=dict)  # of stages.py
    extra: dict = dataclasses.field(default_factory=dict)


def split_calls(found, begin, end):
    """user -> (writes, reads) of requests that were received in that time."""
    calls = {}
    for event in found:
        if begin <= event.received <= end and (event.is_write or event.is_read):
            writes, reads = calls.get(event.user, (0, 0))
            calls[event.user] = (writes + event.is_write, reads + event.is_read)
    return calls


class World:
    """The control plane with what all ways share."""

    def __init__(self, plane, build, say):
        self.plane = plane
        self.build = pathlib.Path(build)
        self.say = say
        self.admin = plane.client()
        self.turns = 0
        self.nodes = set()

    def make_nodes(self, prefix, count, resources=burst.RESOURCE):
        """Nodes with room for all; answers their names. Made once."""
        names = [f"{prefix}-{index}" for index in range(count)]
        for name in names:
            if name not in self.nodes:
                manifests.make_node(self.admin, name, resources, 5000)
                self.admin.need("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"labels": {
                    "kubernetes.io/hostname": name}}}, api.MERGE_PATCH)
                self.nodes.add(name)
        return names

    def create(self, way, name, size, nodes):
        """All of that way's pods at once; it is told of each one that is there."""
        local = threading.local()
        lock = threading.Lock()

        def create_one(index):
            local.client = getattr(local, "client", None) or self.plane.client()
            node = nodes[index % len(nodes)]
            made = local.client.need("POST", "/api/v1/namespaces/default/pods",
                                     way.pod(name, index, node))
            with lock:
                way.note(made.metadata["name"], made.metadata["uid"], node)

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(create_one, range(size.pods)))

    def run(self, way, size, patience=180.0):
        """One burst; answers its Outcome, raises processes.Failed if it does not end."""
        self.turns += 1
        name = f"{way.name}-{self.turns}"
        nodes = way.prepare(self, size)
        begin = self.plane.audit_log.stat().st_size
        way.begin(self, name, size)
        self.create(way, name, size, nodes)
        way.end(self)
        self._wait(way, name, size, patience)
        outcome = self._judge(way, name, size, begin)
        self._remove(name)
        self.say(f"{way.name}, {size.text}: {outcome.seconds:.3f} s")
        return outcome

    def _pods(self, name):
        return self.admin.need("GET", "/api/v1/namespaces/default/pods?resourceVersion=0"
                               f"&labelSelector=burst%3D{name}").body["items"]

    def _wait(self, way, name, size, patience):
        deadline = time.monotonic() + patience
        said = time.monotonic()
        while True:
            over = sum(is_over(one) for one in self._pods(name))
            if over == size.pods:
                return
            if time.monotonic() > deadline:
                raise processes.Failed(f"{name}: only {over} of {size.pods} pods were served "
                                       f"within {patience:.0f} s")
            if time.monotonic() > said + 20:
                said = time.monotonic()
                self.say(f"{name}: {over} of {size.pods}")
            for child_name, child in self.plane.group.children:
                if child.poll() is not None:
                    raise processes.Failed(f"{child_name} ended with code {child.returncode}:\n"
                                           + self.plane.group.last_words(child_name))
            time.sleep(max(way.look_every, size.pods / 400))

    def _judge(self, way, name, size, begin):
        with open(self.plane.audit_log, encoding="utf-8") as file:
            file.seek(begin)
            found = events.read(file)
        report = figures.Report(found, figures.Options(allocate_ms=ALLOCATE_MS, pod_prefix=name,
                                                       prefix=way.user))
        seconds = report.last_success() - report.begin()
        return Outcome(way.name, size, seconds, figures.figures(report),
                       split_calls(found, report.begin(), report.last_success()),
                       stages.stages(found, name, way.user) if size.nodes == 1 else {},
                       way.extra(found))

    def _remove(self, name):
        """The pods go, so that each turn finds the server as the one before did."""
        deadline = time.monotonic() + 120
        while self._pods(name) and time.monotonic() < deadline:
            self.admin.request("DELETE", "/api/v1/namespaces/default/pods?gracePeriodSeconds=0"
                               f"&labelSelector=burst%3D{name}")


def pod(name, index, node, scheduler, kinds=mixed.EQUAL):
    """One of the kinds, in turn, for that node, as HAMi's filter leaves it."""
    made = mixed.pod(f"{name}-{index:04d}", kinds[index % len(kinds)], node)
    made["metadata"]["labels"] = {"burst": name}
    made["spec"]["schedulerName"] = scheduler
    made["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
    return made


class Turns:
    """What each way did, turn by turn, for one size."""

    def __init__(self, world, ways):
        self.world = world
        self.ways = ways
        self.outcomes = {way.name: [] for way in ways}

    def run(self, size, repeats):
        """Another way comes first in each turn, so that none has the warmest machine always."""
        for turn in range(repeats):
            first = turn % len(self.ways)
            for way in self.ways[first:] + self.ways[:first]:
                self.outcomes[way.name].append(self.world.run(way, size))

    def seconds(self, name):
        return [outcome.seconds for outcome in self.outcomes[name]]

    def values(self, name, figure):
        return [outcome.values[figure] for outcome in self.outcomes[name]]

    def extra(self, name, key):
        return [outcome.extra[key] for outcome in self.outcomes[name]]


def is_over(one):
    """Served, or refused by its kubelet. A second bind may put the phase back afterwards."""
    annotations = one["metadata"].get("annotations") or {}
    return (annotations.get(PHASE) == "success"
            or (one.get("status") or {}).get("phase") in ("Running", "Failed"))


class Way:
    """One way to serve a burst. scheduler: the schedulerName of its pods."""

    name = ""
    scheduler = NOBODY
    user = ""  # whose calls count, by its beginning
    look_every = 0.25

    def prepare(self, world, size):
        """Before the clock starts; answers the nodes."""
        raise NotImplementedError

    def begin(self, world, name, size):
        """The pods come now."""

    def pod(self, name, index, node):
        """The pod of that number of the burst of that name."""
        return pod(name, index, node, self.scheduler)

    def note(self, name, uid, node):
        """A pod is there."""

    def end(self, world):
        """All pods are there."""

    def extra(self, found):
        """What else is to be known of a burst, of which these events were found."""
        return {}


class Floor(Way):
    """The same calls by a tight client without any lock; or the writes alone; or the calls, and
    what a watch has to tell before the next one of somebody else can follow."""

    user = "bench-floor"

    def __init__(self, has_reads, has_watch=False):
        self.name = ("floor" if has_reads else "floor-writes") + ("-watch" if has_watch else "")
        self.flags = ["--reads"] * has_reads + ["--watch"] * has_watch
        self.child = None
        self.nodes = []
        self.printed = {}

    def prepare(self, world, size):
        nodes = world.make_nodes("floor", size.nodes)
        for node in nodes:
            world.admin.need("PATCH", f"/api/v1/nodes/{node}",
                             {"metadata": {"annotations": FLOOR_ANNOTATIONS}}, api.MERGE_PATCH)
        self.nodes = nodes
        return nodes

    def begin(self, world, name, size):
        words = [world.build / "bench/bench-floor", "--kubeconfig", world.plane.kubeconfig(),
                 f"--allocate-ms={ALLOCATE_MS}",
                 *self.flags, *self.nodes]
        self.child = subprocess.Popen(
            [str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True)
        if self.child.stdout.readline() != "ready\n":
            raise processes.Failed(f"{self.name} ended before the burst began")

    def note(self, name, uid, node):
        self.child.stdin.write(f"{name} {uid} {node}\n")
        self.child.stdin.flush()

    def end(self, world):
        text, _ = self.child.communicate(timeout=600)
        if self.child.returncode != 0:
            raise processes.Failed(f"{self.name} ended with code {self.child.returncode}")
        self.printed = json.loads(text)

    def extra(self, found):
        return self.printed


class OnNodes(Way):
    """Pods of hamid's scheduler, on nodes whose names begin so; `free` is what their agents say."""

    scheduler = "default-scheduler"
    user = "hamid"

    def __init__(self, name, prefix, free):
        self.name = name
        self.prefix = prefix
        self.free = free

    def prepare(self, world, size):
        return [f"{self.prefix}-{index}" for index in range(size.nodes)]


class Hamid(OnNodes):
    """hamid behind kube-scheduler, an agent and a kubelet for each node. The scheduler side frees
    the locks; on the nodes of `free_node`, where it is asked for, their agents do."""

    def __init__(self, patience="30s", with_free_node=False):
        super().__init__("hamid", "gpu", "scheduler")
        self.free_node = OnNodes("hamid-free-node", "plain", "node") if with_free_node else None
        self.patience = patience
        self.children = []

    def start(self, world, size):
        """Everything that it needs for bursts of that many nodes; then one pod for each node."""
        before = len(world.plane.group.children)
        ways = [self] + ([self.free_node] if self.free_node else [])
        nodes = [(node, way.free) for way in ways
                 for node in world.make_nodes(way.prefix, size.nodes)]
        self._start_nodes(world, nodes)
        self._start_binder(world)
        self.children = [child for _, child in world.plane.group.children[before:]]
        for way in ways:
            world.run(way, Size(size.nodes, size.nodes))

    def stop(self, world):
        for child in reversed(self.children):
            world.plane.group.stop(child)
        self.children = []

    def _start_nodes(self, world, nodes):
        plane = world.plane
        agents = {}
        for node, free in nodes:
            path = plane.folder / f"{node}.sock"
            agents[node] = path, plane.group.start(f"hamid-{node}", [
                world.build / "daemon/hamid", "node", f"--node={node}", f"--socket={path}",
                f"--free={free}",
                f"--kubeconfig={plane.kubeconfig('hamid-node')}", "--allocate-timeout=60s"])
        for node, (path, child) in agents.items():
            plane.group.wait_until(f"hamid-{node}", child,
                                   lambda path=path: probes.agent_is_ready(path), 180)
        for first in range(0, len(nodes), NODES_A_KUBELET):
            words = [world.build / "tests/standins/standin-kubelet",
                     f"--kubeconfig={plane.kubeconfig('kubelet')}",
                     f"--allocate-ms={ALLOCATE_MS}"]
            for node, _ in nodes[first:first + NODES_A_KUBELET]:
                words += [f"--node={node}", f"--socket={agents[node][0]}"]
            plane.group.start(f"kubelet-{first}", words)

    def _start_binder(self, world):
        plane = world.plane
        addresses = plane.folder / "hamid.address"
        addresses.unlink(missing_ok=True)
        child = plane.group.start("hamid-scheduler", [
            world.build / "daemon/hamid", "scheduler",
            f"--kubeconfig={plane.kubeconfig('hamid-scheduler')}", "--listen=127.0.0.1:0",
            f"--address-file={addresses}", f"--patience={self.patience}",
            "--scheduler-name=default-scheduler", f"--managed-resource={burst.RESOURCE}"])
        plane.group.wait_until("hamid-scheduler", child, addresses.exists, 60)
        address = addresses.read_text(encoding="ascii").split()[0]
        plane.group.wait_until("hamid-scheduler", child,
                               lambda: probes.binder_is_ready(address), 60)
        plane.start_scheduler([manifests.extender(f"http://{address}", burst.RESOURCE,
                                                  timeout=self.patience)])
