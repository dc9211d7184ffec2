# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""hamid with pods side by side, and without, as ways to serve the same bursts.

There are two nodes, and only one of them has an agent that allows it; one kubelet plays for both, and
one kube-scheduler serves all. hamid is started anew, at the same address, whenever the next burst
wants another setting, and serves one pod before the clock starts.
"""

import statistics
import time

from bench import bursts
from bench.sizes import Size
from checker import figures
from cluster import handed, manifests, mixed, probes

SERIAL = 0  # the option is off
MOST = 8
NODES = {False: "serial", True: "beside"}
PATIENCE = "30s"
RECORD_SECONDS = 5.0

WAITING = "waits in hamid"
LOCK = "write of the lock"
TO_BINDING = "until the Binding is there"
BINDING = "Binding"
IN_KUBELET = "waits in the kubelet"
ALLOCATE = "its Allocates, as the kubelet sees them"
# Of an Allocate: the agent's reads one by one, and its write.
NODE_READ = "  the agent reads the node"
PODS_READ = "  the agent lists the pods"
SLOW_READ = "  the slowest of all its reads"
SUCCESS = "  its write of the success"
STAGES = (WAITING, LOCK, TO_BINDING, BINDING, IN_KUBELET, ALLOCATE)
ALL_STAGES = (*STAGES, NODE_READ, PODS_READ, SLOW_READ, SUCCESS)
AGENT = "hamid-node"  # its user


class Rig:
    """Everything that both ways share."""

    def __init__(self, world):
        self.world = world
        self.plane = world.plane
        self.record = self.plane.folder / "allocates.jsonl"
        self.address = "127.0.0.1:0"
        self.in_flight = None
        self.binder = None

    def start(self):
        self.record.touch()
        self._start_nodes()
        self.use(SERIAL)
        self.plane.start_scheduler([manifests.extender(
            f"http://{self.address}", mixed.RESOURCES, timeout=PATIENCE)])

    def use(self, in_flight):
        """hamid with that many beside each other; answers whether it had to be started for it."""
        if self.in_flight == in_flight:
            return False
        group = self.plane.group
        if self.binder is not None:
            group.stop(self.binder)
        file = self.plane.folder / "hamid.address"
        file.unlink(missing_ok=True)
        self.binder = group.start("hamid-scheduler", [
            self.world.build / "daemon/hamid", "scheduler",
            f"--kubeconfig={self.plane.kubeconfig('hamid-scheduler')}",
            f"--listen={self.address}", f"--address-file={file}", f"--patience={PATIENCE}",
            "--scheduler-name=default-scheduler", *mixed.BINDER_FLAGS,
            *([f"--side-by-side={in_flight}"] if in_flight else [])])
        group.wait_until("hamid-scheduler", self.binder, file.exists, 60)
        self.address = file.read_text(encoding="ascii").split()[0]
        group.wait_until("hamid-scheduler", self.binder,
                         lambda: probes.binder_is_ready(self.address), 60)
        self.in_flight = in_flight
        return True

    def _start_nodes(self):
        plane, group = self.plane, self.plane.group
        words = [self.world.build / "tests/standins/standin-kubelet",
                 f"--kubeconfig={plane.kubeconfig('kubelet')}",
                 f"--allocate-ms={bursts.ALLOCATE_MS}", f"--record={self.record}",
                 *mixed.KUBELET_FLAGS]
        for is_beside, prefix in NODES.items():
            for node in self.world.make_nodes(prefix, 1, mixed.RESOURCES):
                path = plane.folder / f"{node}.sock"
                child = group.start(f"hamid-{node}", [
                    self.world.build / "daemon/hamid", "node", f"--node={node}",
                    f"--socket={path}", "--free=scheduler", "--allocate-timeout=60s",
                    f"--kubeconfig={plane.kubeconfig('hamid-node')}", *mixed.AGENT_FLAGS,
                    *(["--side-by-side"] if is_beside else [])])
                group.wait_until(f"hamid-{node}", child,
                                 lambda path=path: probes.agent_is_ready(path), 60)
                words += [f"--node={node}", f"--socket={path}"]
        group.start("kubelet", words)


class Beside(bursts.OnNodes):
    """Pods of these kinds in turn, with at most so many between bind and Allocate at once."""

    def __init__(self, rig, name, kinds, in_flight):
        super().__init__(name, NODES[in_flight != SERIAL], "scheduler")
        self.rig = rig
        self.kinds = kinds
        self.in_flight = in_flight
        self.burst = ""
        self.offset = 0

    def prepare(self, world, size):
        if self.rig.use(self.in_flight):
            world.run(self, Size(1, 1))
        return super().prepare(world, size)

    def pod(self, name, index, node):
        return bursts.pod(name, index, node, self.scheduler, self.kinds)

    def begin(self, world, name, size):
        self.burst = name
        self.offset = self.rig.record.stat().st_size

    def extra(self, found):
        report = figures.Report(found, figures.Options(pod_prefix=self.burst, prefix=self.user))
        calls = self._calls(sum(len(handed.assigned(pod, found)) for pod in report.created))
        return {**handed.judge(calls, report.created, found), "stages": stages(report, calls), **kubelet_seconds(report, calls)}

    def _calls(self, expected):
        """The kubelet writes of an Allocate after the node side wrote its success."""
        deadline = time.monotonic() + RECORD_SECONDS
        while True:
            calls = handed.read(self.rig.record, self.offset)
            if len(calls) >= expected or time.monotonic() > deadline:
                return calls
            time.sleep(0.05)


def kubelet_seconds(report, calls):
    """What the makespan is made of for a kubelet, which makes one Allocate after the other."""
    if not calls:
        return {"start_seconds": 0.0, "idle_seconds": 0.0, "end_seconds": 0.0}
    ordered = sorted(calls, key=lambda call: call.begin)
    gaps = [max(0.0, later.begin - earlier.end) for earlier, later in zip(ordered, ordered[1:])]
    return {"start_seconds": ordered[0].begin - report.begin(),
            "idle_seconds": sum(gaps),
            "end_seconds": report.last_success() - ordered[-1].end}


def _grants(report):
    """uid -> the write that gave that pod its lock: the first that has its uid in a lease."""
    writes = sorted((event for event in report.events
                     if event.resource == "nodes" and event.verb == "patch" and event.succeeded
                     and not event.subresource and event.is_by(report.options.prefix)),
                    key=lambda event: event.received)
    grants = {}
    for event in writes:
        text = str(event.request)
        for pod in report.created:
            if pod.uid not in grants and pod.uid in text:
                grants[pod.uid] = event
    return grants


def stages(report, calls):
    """Stage -> milliseconds of each pod; each ends where the next begins."""
    grants = _grants(report)
    of_pod = {}
    for call in calls:
        of_pod.setdefault(call.uid, []).append(call)
    found = {name: [] for name in STAGES}
    for pod in report.created:
        lock, own = grants.get(pod.uid), of_pod.get(pod.uid)
        if lock is None or pod.bound is None or not own:
            continue
        moments = (pod.created.finished, lock.received, lock.finished, pod.bound.received,
                   pod.bound.finished, min(call.begin for call in own),
                   max(call.end for call in own))
        for name, begin, end in zip(STAGES, moments, moments[1:]):
            found[name].append(1000 * max(0.0, end - begin))
    return {**found, **_agent_calls(report, calls)}


def _agent_calls(report, calls):
    """Milliseconds of what the agent asked of the API server within the Allocates."""
    found = {name: [] for name in (NODE_READ, PODS_READ, SLOW_READ, SUCCESS)}
    ordered = sorted(calls, key=lambda call: call.begin)
    for event in report.events:
        took = 1000 * (event.finished - event.received)
        if not any(call.begin <= event.received <= call.end for call in ordered):
            continue
        if event.user == AGENT and event.is_read:
            found[NODE_READ if event.resource == "nodes" else PODS_READ].append(took)
        elif event.user == AGENT and event.resource == "pods" and event.verb == "patch":
            found[SUCCESS].append(took)
    found[SLOW_READ] = [max(found[NODE_READ] + found[PODS_READ], default=0.0)]
    return found


def median_stage(outcomes, name):
    """In milliseconds, over all pods of all turns."""
    found = [value for outcome in outcomes for value in outcome.extra["stages"][name]]
    return statistics.median(found) if found else 0.0
