# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A burst whose kube-scheduler or hamid is told to end, loses its leadership, or has a rival.

Each scene has its own pods and is judged by its part of the server's log. Two replicas stand
side by side from the second scene on: a kube-scheduler each, with a hamid of its own.
"""

import time

from cluster import interplay_world

NODES = 4
PODS = 64
BEGIN_AT = 12
WITHIN = 90.0
PARKED = 200
GRACE_SECONDS = 30.0
SOON_SECONDS = 20.0
SECOND = "second-scheduler"
# One take, and the hand-overs in a row after which a replica lets others go first.
MOST_IN_A_ROW = 17


class Scenes(interplay_world.Scenes):
    """The scenes in their order; each leaves the replicas as the next one needs them."""

    part = "restarts"

    def begin(self, name, binder):
        """The burst is created and under way; answers who is parked in that hamid."""
        self.name = name
        self.world.create(name, PODS)
        return self.world.until(
            f"{BEGIN_AT} pods of {name} are bound and others are parked",
            lambda: ((self.world.counts(name) or (0,))[0] >= BEGIN_AT
                     and self.world.waiting(binder)), 60, 0.02)

    def end(self, pods=PODS):
        return self.judge(pods, WITHIN)

    # ---- kube-scheduler

    def scheduler_restarted(self):
        """It ends with its binds parked; its successor asks anew, and hamid has room for that."""
        parked = self.begin("scheduler-restarted", "hamid-a")
        world = self.world
        world.group.stop(world.group.find("kube-scheduler-a"))
        self.results.say(f"it ended with {len(parked)} binds parked")
        world.until("hamid lets all of them go", lambda: not world.waiting("hamid-a"), 30, 0.02)
        world.start_scheduler("kube-scheduler-a", "hamid-a", elects=True)
        return self.end()[0]

    def leader_ends(self):
        """The leader is told to end: the other one leads, with the hamid beside it."""
        self.begin("leader-ends", "hamid-a")
        world = self.world
        leader = world.leader()
        world.group.stop(world.group.find("kube-scheduler-a"))
        values = self.end()[0]
        self.check(world.leader() not in ("", leader), "another one leads", world.leader())
        return values

    def leader_sleeps(self):
        """The leader stands still for longer than its lease, with its binds in its hamid.

        That one lives and goes on to bind them, while the new leader has the same pods bound
        by its own: two binders for one pod, each for another node perhaps.
        """
        world = self.world
        world.start_scheduler("kube-scheduler-a", "hamid-a", elects=True)
        self.begin("leader-sleeps", "hamid-b")
        leader = world.leader()
        world.pause("kube-scheduler-b")
        world.until("another one leads", lambda: world.leader() not in ("", leader), 30)
        world.resume("kube-scheduler-b")
        child = world.group.find("kube-scheduler-b")
        child.wait(30)
        self.check(child.returncode != 0, "the old leader ends when it wakes", child.returncode)
        world.group.stop(child)
        return self.end()[0]

    # ---- hamid

    def told_to_end(self):
        """hamid is told to end with 200 parked: all are answered, and its successor binds them."""
        self.name = "told-to-end"
        world = self.world
        # Without an election: what is asked here has no need of one, and a slow computer could
        # cost the leader its lease.
        world.group.stop(world.group.find("kube-scheduler-a"))
        world.start_scheduler("kube-scheduler-a", "hamid-a")
        # The holders wait for their Allocates, so that nobody leaves the queue by being served.
        world.pause("kubelet")
        world.create(self.name, PARKED + NODES)
        world.until("200 are parked", lambda: len(world.waiting("hamid-a")) >= PARKED, 60)
        child = world.group.find("hamid-a")
        begun = time.monotonic()
        world.group.stop(child, patience=GRACE_SECONDS + 10)
        ended = time.monotonic()
        self.check(child.returncode == 0 and ended - begun < GRACE_SECONDS,
                   f"it ends with code 0 within {GRACE_SECONDS:.0f} s",
                   (child.returncode, ended - begun))
        locks = world.locks()
        owners = {lock.split(",")[-1] for lock in locks.values()}
        self.check(owners == self._bound(), "only pods that are bound have a lock left", locks)
        world.start_binder("hamid-a", flags=["--stall-limit=0s"])
        world.wait_for_binder("hamid-a")
        world.resume("kubelet")
        went_on = time.monotonic()
        values, report = self.end(PARKED + NODES)
        first = min(pod.bound.finished for pod in report.created
                    if pod.bound.finished > time.time() - (time.monotonic() - went_on))
        waited = first - (time.time() - (time.monotonic() - went_on))
        self.check(waited < SOON_SECONDS, f"its successor binds within {SOON_SECONDS:.0f} s",
                   waited)
        self.check(values["failed_binds"] >= PARKED, "kube-scheduler was told of each parked one",
                   values["failed_binds"])
        return {**values, "shutdown_seconds": round(ended - begun, 2),
                "successor_seconds": round(waited, 2)}

    def _bound(self):
        return {pod["metadata"]["name"] for pod in self.world.pods(self.name) or []
                if "nodeName" in pod["spec"]}

    def two_at_once(self):
        """Two hamids serve the same node for a kube-scheduler each; neither starves."""
        self.name = "two-at-once"
        world = self.world
        world.use_one_node()
        world.start_pair("second", scheduler=SECOND)
        world.create(self.name, PODS, (interplay_world.DEFAULT, SECOND))
        values, report = self.end()
        rows = rows_of(report.by_node()[world.nodes[0]])
        self.results.say(f"rows of one replica's pods: {rows}")
        self.check(max(rows) <= MOST_IN_A_ROW,
                   f"at most {MOST_IN_A_ROW} in a row are one replica's while others wait", rows)
        return {**values, "most_in_a_row": max(rows)}


def rows_of(pods):
    """Lengths of the rows of one scheduler's pods of a node, while one of another's waited."""
    order = sorted(pods, key=lambda pod: pod.bound.finished)
    rows = [0]
    last = None
    for index, pod in enumerate(order):
        name = scheduler_of(pod)
        if not any(scheduler_of(other) != name and other.created.finished < pod.bound.received
                   for other in order[index + 1:]):
            last = None
        elif name == last:
            rows[-1] += 1
        else:
            rows.append(1)
            last = name
    return rows


def scheduler_of(pod):
    return pod.created.request["spec"]["schedulerName"]


def run(results, plane):
    world = interplay_world.World(plane, results.say, NODES, allocate_ms=50)
    world.start_filter()
    world.start_nodes()
    scenes = Scenes(results, world)
    flags = ["--stall-limit=0s"]
    world.start_pair("a", elects=True, flags=flags)
    found = [scenes.scheduler_restarted()]
    world.start_pair("b", elects=True, flags=flags)
    found.append(scenes.leader_ends())
    found.append(scenes.leader_sleeps())
    found.append(scenes.told_to_end())
    found.append(scenes.two_at_once())
    return {"scenes": found}
