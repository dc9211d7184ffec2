# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""400 pods on several nodes, and in the middle of them one of two replicas is killed.

A replica is what one pod of a control plane has: a kube-scheduler and a hamid beside it. The
kube-schedulers elect a leader. First both processes of the leading replica are killed and stay
dead, then the leader's hamid alone, which is started again at its address, as a kubelet would.
The first leader has one entry of extenders, hamid's, which passes filter on; the second one has
two, the filter's and hamid's. Last comes a binder with a known fault: the judge is judged as well.
No process is asked how it went: what the API server wrote down decides.
"""

import json
import random

from checker import figures
from cluster import interplay_world

PODS = 400
NODES = 8
ALLOCATE_MS = 60
WITHIN = 180.0
BEGIN_SECONDS = 60
BROKEN_PODS = 40


def run(results, plane, seed=1):
    world = interplay_world.World(plane, results.say, NODES, ALLOCATE_MS)
    source = random.Random(f"replicas {seed}")
    world.start_filter()
    world.start_nodes()
    # In both wirings: the filter by way of hamid, and as an entry of its own.
    for suffix, entries in (("a", 1), ("b", 2)):
        world.start_pair(suffix, elects=True, entries=entries)
        if suffix == "a":
            world.until("the first kube-scheduler leads", world.leader, 30)
    results.say(f"{NODES} nodes, their kubelet, the filter and two replicas are ready")
    found = [_pair_killed(results, world, source)]
    world.next_chapter()
    world.start_pair("a", elects=True)
    found.append(_binder_killed(results, world, source))
    world.next_chapter()
    _broken(results, world)
    return {"pods": PODS, "bound": min(one["bound"] for one in found),
            "bound_twice": sum(one["bound_twice"] for one in found),
            "lost": sum(one["lost"] for one in found), "seed": seed, "kills": found}


def _pair_killed(results, world, source):
    """The other kube-scheduler leads when the dead one's lease is over, with its own hamid."""
    name = "pair-killed"
    leader = world.leader()
    begun = _begin(world, name, source)
    for process in ("hamid-a", "kube-scheduler-a"):
        world.group.kill(process)
    values = _end(results, world, name, begun)
    results.check(world.leader() not in ("", leader),
                  f"replicas: {name}: the other kube-scheduler leads", world.leader())
    return values


def _binder_killed(results, world, source):
    """The leader goes on, and asks again when its hamid is back."""
    name = "binder-killed"
    leader = world.leader()
    begun = _begin(world, name, source)
    world.group.kill("hamid-b")
    world.start_binder("hamid-b")
    values = _end(results, world, name, begun)
    results.check(world.leader() == leader, f"replicas: {name}: the leader still leads")
    return values


def _broken(results, world):
    """A binder that unlocks when it binds: the judge of the scenes above has to see that."""
    name = "unlock-at-bind"
    for process in ("kube-scheduler-a", "kube-scheduler-b", "hamid-a", "hamid-b"):
        world.group.stop(world.group.find(process))
    world.use_one_node()
    world.start_broken_binder(name)
    world.start_scheduler("kube-scheduler-broken", name, entries=2)
    world.create(name, BROKEN_PODS)
    world.until("all are bound", lambda: (world.counts(name) or (0,))[0] == BROKEN_PODS, 60)
    values = figures.figures(world.report(name))
    results.check(values["double_holds"] > 0, "replicas: two owners at once are seen, where a "
                  "broken binder lets them in", values)


def _begin(world, name, source):
    """Creates the pods; answers how many are bound and parked when it is time to kill."""
    binder = "hamid-a" if name == "pair-killed" else "hamid-b"
    begin_at = source.randrange(PODS // 8, PODS // 2)
    world.create(name, PODS)

    def begun():
        bound = (world.counts(name) or (0,))[0]
        parked = len(world.waiting(binder)) if bound >= begin_at else 0
        return {"bound": bound, "parked": parked} if parked else None
    moment = world.until(f"{begin_at} pods of {name} are bound and others are parked", begun,
                         BEGIN_SECONDS, pause=0.02)
    world.say(f"{name}: {moment['bound']} of {PODS} bound, {moment['parked']} parked: "
              "now the kill")
    return moment


def _end(results, world, name, begun):
    is_done = world.served(name, PODS, WITHIN)
    report = world.report(name)
    values = {"kill": name, "bound_at_kill": begun["bound"], "parked_at_kill": begun["parked"],
              **figures.figures(report)}
    results.say("figures: " + json.dumps(values))
    results.check(begun["bound"] < PODS and begun["parked"] > 0,
                  f"replicas: {name}: it happened in the middle of the burst", begun)
    results.check(is_done, f"replicas: {name}: all is done within {WITHIN:.0f} s",
                  world.counts(name))
    for figure in ("pods", "bound", "allocated"):
        results.check(values[figure] == PODS, f"replicas: {name}: {figure} is {PODS}",
                      values[figure])
    for text, figure in interplay_world.ZERO:
        results.check(values[figure] == 0, f"replicas: {name}: {text}", values[figure])
    nodes = report.by_node()
    results.check(len(nodes) == NODES, f"replicas: {name}: each of {NODES} nodes had its share",
                  {node: len(pods) for node, pods in nodes.items()})
    return values
