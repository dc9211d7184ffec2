# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Mixed pods on one node, of which several are between bind and Allocate at once.

First one at a time, which is what hamid does unless it is asked; then side by side, undisturbed and
with what happens in operation: hamid killed, the node's agent killed, two hamids, and a scheduler like
HAMi's, which knows the lock alone. In the end a binder that lets pods in whatever they ask for: the
judges must see that. Who got which devices is judged by the API server's log and the kubelet's record.
"""

import json
import time

from checker import figures
from cluster import api, burst, handed, interplay_world, mixed, processes

PODS = 24
ALLOCATE_MS = 25
WITHIN = 40.0
BEGIN_AT = 5
SECOND = "second-scheduler"
FLAGS = ("--side-by-side=8", "--stall-limit=0s")
BROKEN_PODS = 8
SPARE_CALLS = 0.5  # a pod; a slow computer costs a read now and then
LOCK_POINTER = "/metadata/annotations/hami.io~1mutex.lock"
JSON_PATCH = "application/json-patch+json"


class World(interplay_world.World):
    """One node with devices of two vendors, and a kubelet that keeps a record."""

    resources = mixed.RESOURCES
    agent_flags = (*mixed.AGENT_FLAGS, "--free=scheduler", "--side-by-side")
    binder_flags = mixed.BINDER_FLAGS

    def __init__(self, plane, say):
        super().__init__(plane, say, 1, ALLOCATE_MS)
        self.record = plane.folder / "allocates.jsonl"
        self.kubelet_flags = (*mixed.KUBELET_FLAGS, f"--record={self.record}")
        self.kinds = mixed.SEVERAL

    def kind(self, index):
        return self.kinds[index % len(self.kinds)]


class Scenes(interplay_world.Scenes):
    """The scenes in their order; each leaves the world as the next one needs it."""

    part = "side-by-side"
    alone = None  # figures of the pods that were served one at a time

    def begin(self, name, binder=None):
        """The burst is created; with a binder, under way, some of it parked there."""
        self.name = name
        self.world.create(name, PODS)
        if binder is not None:
            self.world.until(f"{BEGIN_AT} pods of {name} are bound and others are parked",
                             lambda: ((self.world.counts(name) or (0,))[0] >= BEGIN_AT
                                      and self.world.waiting(binder)), 30, 0.02)

    def end(self, pods=PODS, is_beside=True):
        self.world.until("nothing waits for the kubelet's record", lambda: self._is_recorded(pods),
                         WITHIN)
        given = self._given()
        values, report = self.judge(pods, WITHIN)
        self.check(given["right_devices"] == given["containers"],
                   "each container has the devices of its pod's annotation", given)
        for text, figure in (("nobody was served twice", "double_serves"),
                             ("no Allocate was refused", "refused_allocates")):
            self.check(given[figure] == 0, text, given)
        for text, figure in (("nobody was served under another's lock", "double_serves"),
                             ("the key's own lock is always that of a pod that is in flight",
                              "cover_violations")):
            self.check(values[figure] == 0, text, values[figure])
        most = values["in_flight_max"]
        if is_beside:
            self.check(most > 1, "several pods are in flight at once", most)
        else:
            self.check(most == 1, "one pod at a time is in flight", most)
        return {**values, "devices": given}

    def _report(self):
        return self.world.report(self.name)

    def _is_recorded(self, pods):
        """The kubelet writes of an Allocate after its node side wrote the success."""
        counts = self.world.counts(self.name)
        if counts != (pods, pods):
            return False
        report = self._report()
        wanted = sum(len(handed.assigned(pod, report.events)) for pod in report.created)
        uids = {pod.uid for pod in report.created}
        return sum(not call.problem and call.uid in uids
                   for call in handed.read(self.world.record)) >= wanted

    def _given(self):
        report = self._report()
        return handed.judge(handed.read(self.world.record), report.created, report.events)

    # ---- undisturbed

    def one_at_a_time(self):
        """Without the option, on a node that would allow it."""
        self.begin("one-at-a-time")
        self.alone = self.end(is_beside=False)
        return self.alone

    def mixed(self):
        """It hides calls behind Allocates of others, and costs none: but that in the end a lock of
        each kind is removed in the place of one."""
        self.begin("mixed")
        values = self.end()
        for figure in ("api_writes_per_pod", "api_reads_per_pod"):
            most = self.alone[figure] + len(self.world.kinds) / PODS + SPARE_CALLS
            self.check(values[figure] <= most, f"{figure} is at most {most:.2f}", values[figure])
        return values

    def all_alike(self):
        """Pods that could be taken for each other are served one at a time, also with the option."""
        self.world.kinds = mixed.EQUAL
        self.begin("all-alike")
        values = self.end(is_beside=False)
        self.world.kinds = mixed.SEVERAL
        return values

    # ---- disturbed

    def hamid_killed(self):
        """What is in flight stands on the node: hamid's successor goes on from there."""
        self.begin("hamid-killed", "hamid-b")
        self.world.group.kill("hamid-b")
        self.world.start_binder("hamid-b", flags=FLAGS)
        return self.end()

    def agent_killed(self):
        """The node's agent remembers nothing either: its successor reads it with the next call."""
        self.begin("agent-killed", "hamid-b")
        name = f"hamid-{self.world.nodes[0]}"
        self.world.group.kill(name)
        self.world.group.start_again(name)
        return self.end()

    def two_hamids(self):
        """Each with a kube-scheduler of its own; they know of each other by the node alone."""
        self.name = "two-hamids"
        world = self.world
        world.start_binder("hamid-c", SECOND, flags=FLAGS)
        world.wait_for_binder("hamid-c")
        world.start_scheduler("kube-scheduler-c", "hamid-c", SECOND)
        world.create(self.name, PODS, (interplay_world.DEFAULT, SECOND))
        values = self.end()
        for name in ("kube-scheduler-c", "hamid-c"):
            world.group.stop(world.group.find(name))
        return values

    def lock_of_hami(self):
        """While a lock without a lease stands on the key, nobody comes beside its owner."""
        self.name = "lock-of-hami"
        world = self.world
        owner = self._make_owner()
        world.create(self.name, PODS, first=1)
        world.until("the burst waits", lambda: len(world.waiting("hamid-b")) == PODS, 20, 0.05)
        bound = (world.counts(self.name) or (None,))[0]
        self.check(bound == 0, "nobody is bound while a scheduler like HAMi's has the lock", bound)
        world.admin.need("PATCH", f"/api/v1/namespaces/default/pods/{owner}", {
            "metadata": {"annotations": {burst.PHASE: "allocating",
                                         "hami.io/bind-time": str(int(time.time()))}}},
            api.MERGE_PATCH)
        world.admin.need("POST", f"/api/v1/namespaces/default/pods/{owner}/binding", {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": owner},
            "target": {"apiVersion": "v1", "kind": "Node", "name": world.nodes[0]}})
        values = self.end(PODS + 1)
        return values

    def _make_owner(self):
        """The burst's first pod, which no kube-scheduler takes; HAMi's lock is its own."""
        world = self.world
        owner = f"{self.name}-0000"
        made = mixed.pod(owner, world.kind(0), world.nodes[0])
        made["metadata"]["labels"] = {"burst": self.name}
        made["spec"]["schedulerName"] = "nobody"
        world.admin.need("POST", "/api/v1/namespaces/default/pods", made)
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        world.admin.need("PATCH", f"/api/v1/nodes/{world.nodes[0]}", [
            {"op": "test", "path": LOCK_POINTER, "value": None},
            {"op": "add", "path": LOCK_POINTER, "value": f"{moment},default,{owner}"}], JSON_PATCH)
        return owner

    # ---- the judges judged

    def broken(self):
        """Pods that are all alike beside each other: the agent refuses, and the checker sees it."""
        self.name = "ignore-calls"
        world = self.world
        world.kinds = mixed.EQUAL
        for name in ("kube-scheduler-b", "hamid-b"):
            world.group.stop(world.group.find(name))
        world.start_broken_binder(self.name)
        world.start_scheduler("kube-scheduler-broken", self.name)
        # All are there before the kubelet asks for the first one's devices.
        world.pause("kubelet")
        world.create(self.name, BROKEN_PODS)
        world.until("all are bound", lambda: (world.counts(self.name) or (0,))[0] == BROKEN_PODS, 30)
        world.resume("kubelet")
        world.until("the kubelet is done with all of them", self._are_settled, 40)
        values = figures.figures(self._report())
        given = self._given()
        self.results.say(f"{self.name}: {json.dumps({**values, 'devices': given})}")
        self.check(values["double_holds"] > 0, "the checker sees pods that came beside their like",
                   values["double_holds"])
        self.check(given["refused_allocates"] > 0, "the agent refuses calls that could be two pods'",
                   given)
        self.check(given["double_serves"] == 0, "and so nobody gets another's devices", given)
        wrong = [call for call in handed.read(world.record)
                 if call.served is not None and call.served != call.uid]
        self.check(not wrong, "no answer was about another pod", wrong[:1])
        return {"scene": self.name, **values, "devices": given}

    def _are_settled(self):
        return all((pod.get("status") or {}).get("phase") in ("Running", "Failed")
                   for pod in self.world.pods(self.name) or [{}])


def run(results, plane):
    world = World(plane, results.say)
    world.start_nodes()
    scenes = Scenes(results, world)
    world.start_binder("hamid-b", flags=("--stall-limit=0s",))
    world.wait_for_binder("hamid-b")
    world.start_scheduler("kube-scheduler-b", "hamid-b")
    found = [scenes.one_at_a_time()]
    world.group.stop(world.group.find("hamid-b"))
    world.start_binder("hamid-b", flags=FLAGS)
    world.wait_for_binder("hamid-b")
    for scene in (scenes.mixed, scenes.all_alike, scenes.hamid_killed, scenes.agent_killed,
                  scenes.two_hamids, scenes.lock_of_hami, scenes.broken):
        begun = time.monotonic()
        try:
            found.append(scene())
        except processes.Failed as error:
            scenes.check(False, "comes to its end", error)
            break
        results.say(f"{scenes.name} took {time.monotonic() - begun:.1f} s")
    return {"scenes": found}
