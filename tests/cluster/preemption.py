# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Pods that are preempted or deleted while they wait for the lock, or while they hold it.

The kubelet stands still while a scene is set: the first pod of the node is then bound and waits
for its Allocate, the others are parked in hamid. When it goes on, all that are left must be
served. Each scene is judged by its part of the server's log.
"""

import json

from checker import figures
from cluster import interplay_world, processes

PARKED = 4
AT_ONCE = 2.0
WITHIN = 60.0
SCHEDULER = "system:kube-scheduler"
PRIORITIES = {"low": 10, "middle": 100, "high": 1000}


class Scene:
    """One node with room for one holder and its waiters, and a name for its pods."""

    def __init__(self, results, world, name):
        self.results = results
        self.world = world
        self.name = name
        self.created = 0
        self.report = None

    def check(self, is_good, text, found=""):
        return self.results.check(is_good, f"preemption: {self.name}: {text}", found)

    def create(self, count, priority="middle", **spec):
        """Answers their names, in their order."""
        first = self.created
        self.world.create(self.name, count, first=first, priorityClassName=priority, **spec)
        self.created += count
        return [f"{self.name}-{index:04d}" for index in range(first, self.created)]

    def hold(self, priority="middle", **spec):
        """The kubelet stops, and one pod is bound and stays so."""
        self.world.pause("kubelet")
        holder = self.create(1, priority, **spec)[0]
        self.world.until("the first pod is bound", lambda: self._bound([holder]), 20, 0.02)
        return holder

    def park(self, count=PARKED, priority="low"):
        names = self.create(count, priority)
        self.world.until("the others are parked", lambda: set(names) <= self.waiting(), 20, 0.02)
        return names

    def waiting(self):
        return set(self.world.waiting("hamid-a"))

    def leaves(self, pod):
        """It waits no longer, although the holder has not moved."""
        try:
            self.world.until(f"{pod} leaves the queue", lambda: pod not in self.waiting(),
                             AT_ONCE, 0.02)
        except processes.Failed:
            return False
        return True

    def _bound(self, pods):
        return [one["metadata"]["name"] for one in self.world.pods(self.name) or []
                if one["metadata"]["name"] in pods and "nodeName" in one["spec"]]

    def one_is_bound(self, pods, seconds):
        """Waits for any of them: kube-scheduler may ask in an order of its own."""
        try:
            return self.world.until(f"one of {pods} is bound", lambda: self._bound(pods), seconds,
                                    0.02)
        except processes.Failed:
            return []

    def finish(self, left):
        """The kubelet goes on; whatever was not deleted is served, and nothing else is left."""
        self.world.resume("kubelet")
        is_done = self.world.served(self.name, left, WITHIN)
        self.check(is_done, f"the {left} pods that are left are all served", self.world.locks())
        self.check(not self.waiting(), "nobody waits in hamid any more", self.waiting())
        self.report = self.world.report(self.name)
        values = figures.figures(self.report)
        for text, figure in interplay_world.ZERO:
            self.check(values[figure] == 0, text, values[figure])
        self.results.say(f"{self.name}: " + json.dumps(values))
        self.world.next_chapter()
        return {"scene": self.name, **values}

    def of_name(self, pod):
        """The pods that had this name, as the log has them."""
        return self.report.pods.of_name("default", pod)

    def deletions(self, user):
        return {event.name for event in self.report.events
                if event.verb == "delete" and event.resource == "pods" and event.succeeded
                and event.user == user and event.name.startswith(self.name)}


def parked_preempted(scene):
    """A pod of higher priority takes the room of one that is parked."""
    holder = scene.hold()
    parked = scene.park()
    preemptor = scene.create(1, "high")[0]
    scene.world.until("kube-scheduler deletes one and parks the other in its place",
                      lambda: preemptor in scene.waiting(), 20, 0.02)
    scene.check(len(scene.waiting()) == PARKED, "its victim waits no longer", scene.waiting())
    values = scene.finish(1 + PARKED)
    victims = scene.deletions(SCHEDULER)
    scene.check(len(victims) == 1 and victims < set(parked),
                "kube-scheduler deleted one of the parked", victims)
    scene.check(not any(pod.bindings for victim in victims for pod in scene.of_name(victim)),
                "it was never bound")
    scene.check(scene.of_name(holder)[0].allocated, "the holder was served")
    scene.check(scene.of_name(preemptor)[0].bound, "the one of higher priority is bound")
    return values


def holder_preempted(scene):
    """A pod of higher priority takes the room of one between its Binding and its Allocate."""
    holder = scene.hold("low")
    parked = scene.park(priority="middle")
    preemptor = scene.create(1, "high")[0]
    next_one = scene.one_is_bound([*parked, preemptor], 20)
    scene.check(next_one, "the next one gets the lock of a holder that is gone, with the kubelet "
                "still at rest", scene.world.locks())
    values = scene.finish(PARKED + 1)
    scene.check(scene.deletions(SCHEDULER) == {holder}, "kube-scheduler deleted the holder",
                scene.deletions(SCHEDULER))
    scene.check(scene.of_name(preemptor)[0].allocated, "the one of higher priority is served")
    return values


def holder_ends_gracefully(scene):
    """A holder that is being deleted keeps its lock until its kubelet lets it go."""
    holder = scene.hold(terminationGracePeriodSeconds=30)
    parked = scene.park()
    scene.world.delete(holder)
    still = not scene.one_is_bound(parked, AT_ONCE)
    scene.check(still and scene.world.locks(), "nobody takes its place while it ends")
    return scene.finish(PARKED)


def parked_deleted(scene):
    """One in the middle of the queue is deleted: its waiter goes at once, the others stay."""
    scene.hold()
    parked = scene.park()
    gone = parked[1]
    scene.world.delete(gone)
    scene.check(scene.leaves(gone), f"its waiter is gone within {AT_ONCE:.0f} s")
    scene.check(scene.waiting() == set(parked) - {gone}, "the others wait on", scene.waiting())
    values = scene.finish(PARKED)
    scene.check(not scene.of_name(gone)[0].bindings, "the deleted one was never bound")
    return values


def parked_created_again(scene):
    """One is deleted and comes again under its name: the new one waits for itself."""
    scene.hold()
    parked = scene.park()
    again = parked[2]
    old = next(one["metadata"]["uid"] for one in scene.world.pods(scene.name)
               if one["metadata"]["name"] == again)
    scene.world.delete(again)
    scene.world.create(scene.name, 1, first=scene.created - PARKED + 2, priorityClassName="low")
    scene.world.until("the new one is parked", lambda: _is_parked_anew(scene, again, old), 20)
    values = scene.finish(1 + PARKED)
    pods = {pod.uid: pod for pod in scene.of_name(again)}
    scene.check(len(pods) == 2 and not pods[old].bindings, "the old one was never bound")
    scene.check(all(len(pod.bindings) == 1 and pod.allocated for uid, pod in pods.items()
                    if uid != old), "the new one was bound once and served")
    return values


def _is_parked_anew(scene, pod, old):
    waiters = [one for one in scene.world.waiters("hamid-a") if one["pod"] == pod]
    return [one["uid"] for one in waiters] not in ([], [old])


SCENES = {"parked-preempted": parked_preempted, "holder-preempted": holder_preempted,
          "holder-ends": holder_ends_gracefully, "parked-deleted": parked_deleted,
          "parked-again": parked_created_again}


def run(results, plane):
    world = interplay_world.World(plane, results.say, capacity=1 + PARKED)
    for name, value in PRIORITIES.items():
        world.admin.need("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": name}, "value": value})
    world.start_filter()
    world.start_nodes()
    # A kubelet that stands still for a scene is no dead one.
    world.start_pair("a", flags=["--stall-limit=0s"])
    found = []
    for name, scene in SCENES.items():
        results.say(f"preemption: {name}: {scene.__doc__}")
        found.append(scene(Scene(results, world, name)))
    return {"scenes": found}
