# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The reference extender and device plugin as ways to serve a burst, and what they stand for.

bench/reference does what HAMi v2.10.0 does, call by call. That it is as slow, and not slower, is
told by what was measured of HAMi itself on a control plane of the same version: 40 pods on one
node, an Allocate of 20 ms.
"""

import dataclasses

from bench import bursts
from cluster import burst, manifests, probes, processes

CLOSE = 0.15


@dataclasses.dataclass(frozen=True)
class Kind:
    """One setting of the reference, and what was measured of HAMi with it."""

    name: str
    about: str
    measured: tuple  # lowest and highest makespan in seconds
    refused: str = ""  # binds that HAMi refused meanwhile; "" where nobody counted
    extender_calls: str = ""  # of HAMi's extender for each pod
    all_calls: str = ""  # of HAMi and kube-scheduler for each pod
    flags: tuple = ()  # of both roles
    extender_flags: tuple = ()
    is_slow: bool = True
    size: bursts.Size = bursts.Size(40, 1)

    @property
    def middle(self):
        return sum(self.measured) / 2

    def deviation(self, seconds):
        """By how much it is slower than what was measured of HAMi, as a share."""
        return seconds / self.middle - 1

    def is_close(self, seconds):
        """Within 15 % of what was measured?"""
        return (self.measured[0] * (1 - CLOSE) <= seconds
                <= self.measured[1] * (1 + CLOSE))


LIMITED = Kind("reference", "fails at once, client-go's default limiter", (230, 244), "112 to 120",
               "29 to 30", "47")
UNLIMITED = Kind("reference-unlimited", "fails at once, no limiter", (129, 140), "199 to 206",
                 all_calls="69", flags=("--qps=0",))
POLLING = Kind("reference-polling", "asks again each 100 ms as for a PodGroup, no limiter",
               (6.7, 6.7), "0", "58", flags=("--qps=0",), extender_flags=("--poll=28s",),
               is_slow=False)
FOUR_NODES = Kind("reference-four-nodes", "fails at once, client-go's default limiter, four nodes",
                  (98.7, 98.7), size=bursts.Size(40, 4))
KINDS = (POLLING, UNLIMITED, LIMITED)


class Reference(bursts.Way):
    """kube-scheduler with the reference extender; its plugin in the place of the agent."""

    scheduler = "default-scheduler"
    user = "reference"
    look_every = 0.5

    def __init__(self, program, kind):
        self.program = program
        self.kind = kind
        self.name = kind.name
        self.children = []

    def start(self, world):
        plane = world.plane
        before = len(plane.group.children)
        kubelet = [world.build / "tests/standins/standin-kubelet",
                   f"--kubeconfig={plane.kubeconfig('kubelet')}",
                   f"--allocate-ms={bursts.ALLOCATE_MS}", "--patience=60s"]
        for node in world.make_nodes("reference", self.kind.size.nodes):
            path = plane.folder / f"{self.name}-{node}.sock"
            path.unlink(missing_ok=True)
            name = f"{self.name}-{node}-plugin"
            child = plane.group.start(name, [
                self.program, "plugin", f"--node={node}", f"--socket={path}",
                f"--kubeconfig={plane.kubeconfig()}", *self.kind.flags])
            plane.group.wait_until(name, child, lambda path=path: probes.agent_is_ready(path), 60)
            kubelet += [f"--node={node}", f"--socket={path}"]
        plane.group.start(f"{self.name}-kubelet", kubelet)
        self._start_extender(plane)
        self.children = [child for _, child in plane.group.children[before:]]

    def _start_extender(self, plane):
        addresses = plane.folder / f"{self.name}.address"
        name = f"{self.name}-extender"
        child = plane.group.start(name, [
            self.program, "extender", f"--kubeconfig={plane.kubeconfig()}",
            f"--address-file={addresses}", *self.kind.flags, *self.kind.extender_flags])
        plane.group.wait_until(name, child, addresses.exists, 60)
        address = addresses.read_text(encoding="ascii").split()[0]
        plane.start_scheduler([manifests.extender(
            f"http://{address}", burst.RESOURCE, has_filter=True, timeout="30s")])

    def stop(self, world):
        for child in reversed(self.children):
            world.plane.group.stop(child)
        self.children = []

    def prepare(self, world, size):
        return [f"reference-{index}" for index in range(size.nodes)]

    def extra(self, found):
        return {"refused": count_refused(found), "calls": count_calls(found)}


def count_refused(found):
    """Binds that the reference refused, by its own events."""
    return sum(event.resource == "events" and event.verb == "create"
               and event.is_by(Reference.user) and isinstance(event.request, dict)
               and event.request.get("reason") == "BindingFailed" for event in found)


def count_calls(found):
    """By whom -> requests: the extender's, and those of it, its plugins and kube-scheduler."""
    calls = [event for event in found if event.is_write or event.is_read]
    return {"extender": sum(event.is_by("reference-extender") for event in calls),
            "all": sum(event.is_by(Reference.user) or event.is_by("system:kube-scheduler")
                       for event in calls)}


def run(world, program, kind, repeats, patience=900.0):
    """Outcomes of one kind, alone on the control plane."""
    way = Reference(program, kind)
    found = []
    for _ in range(repeats):
        try:
            way.start(world)
            found.append(world.run(way, kind.size, patience))
        finally:
            way.stop(world)
            (world.plane.folder / f"{way.name}.address").unlink(missing_ok=True)
    if not found:
        raise processes.Failed(f"{kind.name} did not run")
    return found
