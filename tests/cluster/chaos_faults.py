# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What is done to the processes in the middle of a burst.

Each fault is a function of (world, name of the burst, random source). It returns when the
last of its faults is over: that is when the clock of the recovery starts. What it answers is
put beside the figures.
"""

import time

from cluster import chaos_world, processes

MOMENT_SECONDS = 30
LATE_ATTEMPTS = 8
MORE_PODS = 8
ARRIVAL_SECONDS = 0.5

ONE = ("default-scheduler",)
BOTH = ("default-scheduler", "second-scheduler")


def _killed(*names):
    """All of them at the same time, with a new process in the place of each."""
    def fault(world, _name, source):
        for name in names:
            world.kill(name)
        time.sleep(source.uniform(0.0, 1.5))
        for name in names:
            world.start_again(name)
        for name in names:
            if name in chaos_world.REPLICAS:
                world.wait_for_replica(name)
        return {}
    return fault


def _paused(name):
    """SIGSTOP for longer than an owner may stay unbound."""
    def fault(world, _name, source):
        seconds = chaos_world.HOLD_LIMIT + source.uniform(0.5, 2.0)
        world.pause(name)
        time.sleep(seconds)
        world.resume(name)
        return {"paused_seconds": round(seconds, 1)}
    return fault


def late_binding(world, name, source):
    """A holder stands still between its lock and its Binding until another has its place.

    Its requests are slowed down, so that there is time to see its lock and to stop it; what
    it has sent by then is kept and arrives late.
    """
    for _ in range(LATE_ATTEMPTS):
        world.tell("proxy-a", f"delay requests {source.randrange(300, 500)}")
        seen = world.wait(name, _is_lock_of_a, MOMENT_SECONDS, pause=0.005)
        if seen is None:
            break
        world.tell("proxy-a", "stall requests 0")
        world.pause("hamid-a")
        now = world.look(name)
        if now is not None and now.lock == seen.lock and _is_lock_of_a(now):
            return _late(world, name, now)
        world.resume("hamid-a")
        world.tell("proxy-a", "clear")
    raise processes.Failed("no holder could be stopped before its Binding")


def _is_lock_of_a(moment):
    """The lock names a pod of hamid-a, and that pod is not bound."""
    owner = moment.owner
    return (owner is not None and "nodeName" not in owner["spec"]
            and owner["spec"]["schedulerName"] == chaos_world.REPLICAS["hamid-a"])


def _late(world, name, stopped):
    # The other replica may have served all of its own while this one was slow.
    world.create(name, MORE_PODS, BOTH[1:], first=len(stopped.pods))
    taken = world.wait(name, lambda moment: moment.lock and moment.lock != stopped.lock,
                       MOMENT_SECONDS)
    # What was kept arrives before its sender can take it back: it gives an old Binding up.
    world.tell("proxy-a", "clear")
    time.sleep(ARRIVAL_SECONDS)
    world.resume("hamid-a")
    if taken is None:
        raise processes.Failed("nobody took the lock of a holder that stands still")
    return {"late_pod": stopped.owner["metadata"]["name"], "more_pods": MORE_PODS}


def _network(command, proxies, seconds):
    """Something that the proxies do for so long, or until the burst is over."""
    def fault(world, name, source):
        before = world.cuts()
        for proxy in proxies:
            world.tell(proxy, command(source))
        world.wait(name, lambda moment: moment.allocated == len(moment.pods), seconds)
        for proxy in proxies:
            world.tell(proxy, "clear")
        return {"connections_cut": world.cuts() - before}
    return fault


def _cut(where):
    return _network(lambda source: f"cut {where} bytes {source.randrange(4000, 16000)}",
                    list(chaos_world.PROXIES), 6.0)


def _stalled(way):
    return _network(lambda source: f"stall {way} 0", list(chaos_world.PROXIES), 4.0)


# Name -> (schedulers that the pods ask for, what is done).
FAULTS = {
    "scheduler-killed": (ONE, _killed("hamid-a")),
    "server-killed": (ONE, _killed("kube-apiserver")),
    "late-binding": (BOTH, late_binding),
    "node-killed": (ONE, _killed("hamid-node")),
    "store-killed": (ONE, _killed("etcd")),
    "answers-cut": (ONE, _cut("after")),
    "requests-cut": (ONE, _cut("before")),
    "network-stalled": (ONE, _stalled("both")),
    "answers-stalled": (BOTH, _stalled("answers")),
    "scheduler-paused": (ONE, _paused("hamid-a")),
    "node-paused": (ONE, _paused("hamid-node")),
    "replica-killed": (BOTH, _killed("hamid-a")),
    "replica-paused": (BOTH, _paused("hamid-a")),
    "both-replicas-killed": (BOTH, _killed("hamid-a", "hamid-b")),
    "both-sides-killed": (BOTH, _killed("hamid-a", "hamid-node")),
    "replicas-answers-cut": (BOTH, _cut("after")),
    "server-and-scheduler-killed": (BOTH, _killed("kube-apiserver", "hamid-a")),
    "server-and-node-killed": (ONE, _killed("kube-apiserver", "hamid-node")),
    "all-killed": (BOTH, _killed("etcd", "kube-apiserver", "hamid-a", "hamid-b",
                                 "hamid-node")),
}

# One of each kind: a process of ours, one of the others, and one that comes back late.
SHORT = ("scheduler-killed", "server-killed", "late-binding")
