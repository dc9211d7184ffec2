# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Pods side by side on a real kubelet: who gets which devices, and how many are in flight.

Three witnesses judge, none of which is ours: the API server's audit log, by way of the checker
(who was between bind and success when, under which lock), the containers and the kubelet's own
books, by way of the judge.
"""

import collections
import random

from checker import events, figures
from cluster import kubelet_node
from cluster import kubelet_scene as scenes

GPU, DCU = scenes.RESOURCE, scenes.SECOND
PODS = 24
EQUAL_PODS = 6
# Counts of no two have a call in common.
DISTINCT = ({GPU: 1}, {GPU: 2}, {GPU: 3}, {GPU: 4}, {DCU: 1}, {DCU: 2})
# What must not be, by the log.
FORBIDDEN = ("double_serves", "double_holds", "covered_locks", "cover_violations",
             "fence_violations", "bound_twice", "stuck_pods")


def run(results, scene):
    """Answers the figures of the mixed burst."""
    scene.start_plugin(GPU)
    scene.start_plugin(DCU)
    found = _mixed(results, scene)
    _all_at_once(results, scene)
    _equal(results, scene)
    scene.stop_plugin(DCU)
    scene.stop_plugin(GPU)
    _judge_bites(results, scene)
    return found


def run_broken(results, scene):
    """A plugin that goes by the lock's name, as HAMi's does, behind a node side that says it may
    be side by side: what the page warns of. Fails."""
    _start_by_name(scene)
    with _Log(scene, "named-"):
        _create_stopped(results, scene, "named", DISTINCT[:4])
        scene.wait("named", 4)
    code, verdict = scene.judge("named")
    results.check(code == 0 and verdict["failed_pods"] == 0,
                  "a plugin that goes by the lock's name serves pods side by side", verdict)
    return verdict


class _Log:
    """What the API server wrote down within, as the checker reads it."""

    def __init__(self, scene, prefix):
        self.scene = scene
        self.prefix = prefix
        self.values = {}

    def __enter__(self):
        self.begin = self.scene.plane.audit_log.stat().st_size
        return self

    def __exit__(self, *_):
        with open(self.scene.plane.audit_log, encoding="utf-8") as file:
            file.seek(self.begin)
            found = events.read(file)
        report = figures.Report(found, figures.Options(
            pod_prefix=self.prefix, resources=(GPU, DCU)))
        self.values = {**figures.figures(report),
                       "in_flight_max": _in_flight(report.pods.all)}


def _in_flight(pods):
    """Most pods that were between the answer to their Binding and the write of their last
    Allocate at one moment, by the server's own clock. Bindings may be answered together."""
    bound = [one for one in pods if one.bound is not None]
    return max((sum(other.bound.finished <= one.bound.finished
                    and (other.closed is None or other.closed.received > one.bound.finished)
                    for other in bound) for one in bound), default=0)


def _shape(drawn, name):
    """One of the kinds of pods: a container, two of them, one before them, two vendors."""
    kind = drawn.randrange(8)
    if kind < 5:
        return scenes.pod(name, [drawn.choice(DISTINCT)], "mixed")
    if kind == 5:
        return scenes.pod(name, [{GPU: drawn.randint(1, 3)}, {}, {DCU: drawn.randint(1, 3)}],
                          "mixed")
    if kind == 6:
        return scenes.pod(name, [{GPU: drawn.randint(1, 3), DCU: 3}], "mixed")
    return scenes.pod(name, [{GPU: 1}], "mixed", initContainers=[
        scenes.container("i0", {GPU: drawn.randint(2, 4)}, "once")])


def _containers(pods):
    """How many have devices in the end: init containers that ended have none."""
    return sum(any(one["resources"]["limits"]) for pod in pods
               for key in ("containers", "initContainers") for one in pod["spec"].get(key, ()))


def _check(results, scene, name, log, pods, said):
    code, verdict = scene.judge(name, (GPU, DCU))
    count = _containers(pods)
    results.check(code == 0 and verdict["right_devices"] == count
                  and verdict["failed_pods"] == 0, said, verdict)
    wrong = {key: log.values[key] for key in FORBIDDEN if log.values[key]}
    results.check(not wrong and log.values["allocated"] == len(pods),
                  f"and by the API server's log none was served twice or as another ({name})",
                  wrong or log.values)
    results.check(scene.wait_lock(None, 40), f"no lock is left after that ({name})",
                  scene.locks_held())
    return {"pods": len(pods), "containers": count, "right_devices": verdict["right_devices"],
            "double_serves": log.values["double_serves"],
            "in_flight_max": log.values["in_flight_max"],
            "makespan_seconds": log.values["makespan_seconds"]}


def _mixed(results, scene):
    drawn = random.Random(10)
    pods = [_shape(drawn, f"mixed-{index:02d}") for index in range(PODS)]
    with _Log(scene, "mixed-") as log:
        with scene.measured():
            scene.create(pods)
            scene.wait_served("mixed", PODS, 40)
        scene.wait("mixed", PODS)
    found = _check(results, scene, "mixed", log, pods,
                   f"{PODS} mixed pods side by side: each container got exactly its devices")
    results.check(found["in_flight_max"] > 1,
                  "more than one of them was between bind and Allocate", found)
    scene.say(f"mixed: {found}")
    scene.delete("mixed")
    return found


def _create_stopped(results, scene, name, asks, meanwhile=lambda: None):
    """Bound beside each other, all of them, before the kubelet hears of the first."""
    pods = [scenes.pod(f"{name}-{index}", [ask], name) for index, ask in enumerate(asks)]
    with scene.node.kubelet_stopped():
        scene.create(pods)
        results.check(scene.wait_permits(len(pods), 30),
                      f"{len(pods)} pods of which no two ask alike are bound at once ({name})",
                      scene.locks_held())
        meanwhile()
    return pods


def _agent_again(scene):
    scene.group.kill("hamid-node")
    scene.start_agent()


def _all_at_once(results, scene):
    """The agent dies while all are in flight: what it has to know stands on the Node."""
    with _Log(scene, "once-") as log:
        pods = _create_stopped(results, scene, "once", DISTINCT, lambda: _agent_again(scene))
        scene.wait("once", len(pods))
    found = _check(results, scene, "once", log, pods,
                   "pods that were all in flight when the agent was killed: each container got "
                   "exactly its devices")
    results.check(found["in_flight_max"] == len(DISTINCT), "all were in flight, by the log", found)
    scene.delete("once")


def _equal(results, scene):
    pods = [scenes.pod(f"equal-{index}", [{GPU: 2}], "equal") for index in range(EQUAL_PODS)]
    with _Log(scene, "equal-") as log:
        scene.create(pods)
        scene.wait("equal", EQUAL_PODS)
    found = _check(results, scene, "equal", log, pods,
                   f"{EQUAL_PODS} equal pods: each container got exactly its devices")
    results.check(found["in_flight_max"] == 1, "one at a time, for they could be confused", found)
    scene.delete("equal")


def _start_by_name(scene):
    scene.start_plugin(mode="vendor", flags=(
        f"--node={kubelet_node.NAME}", f"--kubeconfig={scene.plane.kubeconfig()}"))


def _judge_bites(results, scene):
    """A plugin that goes by the lock's name: of those in flight the lock names one."""
    _start_by_name(scene)
    _create_stopped(results, scene, "named", DISTINCT[:3])
    pods = scene.wait("named", 3)
    code, verdict = scene.judge("named")
    reasons = collections.Counter(one["status"].get("reason") for one in pods)
    results.check(code == 1 and verdict["right_devices"] <= 1
                  and reasons["UnexpectedAdmissionError"] >= 2,
                  "the judge sees a plugin that goes by the lock's name, as HAMi's does: it refuses "
                  "all but the one named, or gives it to another", (code, verdict, reasons))
    scene.delete("named")
    scene.stop_plugin()
    scene.remove_locks()  # it never does, and nobody waits for them
