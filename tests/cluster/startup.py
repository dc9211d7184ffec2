# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""hamid starts and assumes nothing: no API server there, locks of the dead, a wrong clock.

The nodes and their kubelet live on through all of it.
"""

import datetime
import http.client
import json
import time

from cluster import (api, burst, certificates, chaos_history, interplay_world,
                     manifests)

NODES = 4
PODS = 40
WITHIN = 60.0
# A server that has just started refuses everybody until it has read its roles.
READY_SECONDS = 25.0
# Of locks that nobody can judge; the dead owner's own limit is in its lease.
EXPIRE_SECONDS = 4
DEAD_HOLD_MS = 2000
SKEW_SECONDS = 420
SECOND = "second-scheduler"
LEASE = "hami.io/mutex.lease"


def lock_value(pod, age=0):
    moment = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=age)
    return f"{moment.strftime('%Y-%m-%dT%H:%M:%SZ')},default,{pod}"


def lease(lock, uid):
    """As a hamid that is dead by now wrote it."""
    return json.dumps({"version": 1, "lock": lock, "uid": uid, "fence": "7",
                       "holder": "dead_0123456789abcdef", "attempt": "1",
                       "hold_ms": DEAD_HOLD_MS, "free": "node"}, separators=(",", ":"))


class Scenes(interplay_world.Scenes):
    part = "startup"

    def end(self, pods=PODS):
        return self.judge(pods, WITHIN)

    def _stop(self, *names):
        for name in names:
            self.world.group.stop(self.world.group.find(name))

    # ---- scenes

    def before_the_server(self):
        """hamid is there first: not ready, and an answer to who asks; then it serves."""
        self.name = "before-the-server"
        world, plane = self.world, self.world.plane
        world.group.kill("kube-apiserver")
        chaos_history.trim(plane.audit_log)
        world.start_binder("hamid-a", patience="5s")
        seen = world.view("hamid-a", "/readyz")
        self.check(seen is not None and seen[0] == 503, "it is not ready without the server", seen)
        answer = self._bind("hamid-a", "nobody")
        self.check(bool(answer), "a bind is answered with an error in time", answer)
        plane.start_again("kube-apiserver")
        begun = time.monotonic()
        world.wait_for_binder("hamid-a")
        self.check(time.monotonic() - begun < READY_SECONDS, "it is ready within "
                   f"{READY_SECONDS:.0f} s of the server", time.monotonic() - begun)
        world.start_scheduler("kube-scheduler-a", "hamid-a")
        world.create(self.name, PODS)
        return self.end()[0]

    def _bind(self, binder, pod):
        """The Error of a bind that is asked without a kube-scheduler, empty for none."""
        connection = http.client.HTTPConnection(self.world.addresses[binder], timeout=10)
        try:
            connection.request("POST", "/bind", json.dumps({
                "PodName": pod, "PodNamespace": "default", "PodUID": "no-such-uid",
                "Node": self.world.nodes[0]}), {"Content-Type": "application/json"})
            return json.loads(connection.getresponse().read()).get("Error")
        except OSError as error:
            self.results.say(f"no answer: {error!r}")
            return ""
        finally:
            connection.close()

    def stale_locks(self):
        """Each node is locked by somebody who is dead, each in another way."""
        self.name = "stale-locks"
        world = self.world
        self._stop("kube-scheduler-a", "hamid-a")
        uid = self._create_unbound("left-behind")
        gone = lock_value("gone")
        unbound = lock_value("left-behind")
        locks = ({burst.LOCK: gone, LEASE: lease(gone, "a-uid-that-is-gone")},
                 {burst.LOCK: unbound, LEASE: lease(unbound, uid)},
                 {burst.LOCK: lock_value("left-behind", 3600)},
                 {burst.LOCK: "2020-01-01T00:00:00Z"})
        for node, annotations in zip(world.nodes, locks):
            world.admin.need("PATCH", f"/api/v1/nodes/{node}",
                             {"metadata": {"annotations": annotations}}, api.MERGE_PATCH)
        world.start_binder("hamid-a", flags=[f"--lock-expire={EXPIRE_SECONDS}s"])
        world.wait_for_binder("hamid-a")
        world.start_scheduler("kube-scheduler-a", "hamid-a")
        world.create(self.name, PODS)
        values, report = self.end()
        nodes = report.by_node()
        self.check(len(nodes) == NODES, "each node was used", list(nodes))
        return values

    def _create_unbound(self, name):
        pod = manifests.pod(name, burst.RESOURCE)
        pod["spec"]["schedulerName"] = "nobody"
        return self.world.admin.need("POST", "/api/v1/namespaces/default/pods",
                                     pod).metadata["uid"]

    def skewed_clocks(self):
        """One hamid's clock is 7 minutes ahead, another's 7 behind; locks expire after 5."""
        self.name = "skewed-clocks"
        world = self.world
        self._stop("kube-scheduler-a", "hamid-a")
        for suffix, scheduler, skew in (("a", interplay_world.DEFAULT, SKEW_SECONDS),
                                        ("second", SECOND, -SKEW_SECONDS)):
            world.start_pair(suffix, scheduler=scheduler, environment={
                "LD_PRELOAD": str(certificates.CLOCK),
                "SKEWED_CLOCK_SECONDS": str(skew)})
        world.create(self.name, PODS, (interplay_world.DEFAULT, SECOND))
        values, report = self.end()
        stamps = {datetime.datetime.fromisoformat(step.lock.split(",")[0].replace("Z", "+00:00"))
                  .timestamp() - step.event.received
                  for history in report.histories.values() for step in history.steps
                  if step.lock and self.name in step.lock}
        self.check(min(stamps) < -SKEW_SECONDS + 5 and max(stamps) > SKEW_SECONDS - 5,
                   "both clocks were wrong, as their locks show", (min(stamps), max(stamps)))
        for suffix, word in (("a", "ahead of"), ("second", "behind")):
            log = (world.plane.folder / f"hamid-{suffix}.log").read_text(encoding="utf-8")
            self.check(f"s {word} that of https://" in log,
                       f"the log says that the clock is {word} the server's")
        return values


def run(results, plane):
    world = interplay_world.World(plane, results.say, NODES)
    world.start_filter()
    world.start_nodes()
    scenes = Scenes(results, world)
    return {"scenes": [scenes.before_the_server(), scenes.stale_locks(),
                       scenes.skewed_clocks()]}
