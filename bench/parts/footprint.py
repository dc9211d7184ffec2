# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What hamid takes at 5000 nodes and 10,000 waiting binds: memory, and processors when idle.

One pod of each node is bound first and keeps its lock, since no node side runs. Then 10,000 binds
wait, two for each node, each on a connection of its own. Last, a node side serves all of them.
"""

import time

from bench import figures, report, simulated
from parked import sockets

ABOUT = "memory and processor time of hamid at 5000 nodes and 10,000 waiting binds"
NODES = 5000
WAITERS = 10000
IDLE_SECONDS = 5


def idle_percent(pid):
    """Of one processor, over some seconds in which nothing is asked of it."""
    meter = simulated.Meter(hamid=pid)
    begin = time.monotonic()
    time.sleep(IDLE_SECONDS)
    return meter.spent()["hamid"] / 1e4 / (time.monotonic() - begin)


def bytes_each(before_mb, after_mb, count):
    return (after_mb - before_mb) * 2**20 / count


class Stages:
    """What was seen at each stage: (name, MiB now, % of a processor or None)."""

    def __init__(self, pid):
        self.pid = pid
        self.seen = []

    def look(self, name, has_idle=True):
        memory = sockets.memory_mb(self.pid, "VmRSS")
        self.seen.append((name, memory, idle_percent(self.pid) if has_idle else None))
        return memory


def hold_nodes(world, size):
    """A pod of each node is bound and keeps its lock."""
    pods = [(f"holder-{number}", f"node-{number}") for number in range(size.nodes)]
    callers = world.callers(world.create_pods(pods))
    world.go(callers)
    told = world.answers(callers)
    world.end("callers", callers)
    if told["failed"]:
        raise RuntimeError(f"a first pod was not bound: {told['first_error']}")


def park(world, size):
    """All wait when this returns; answers their callers."""
    callers = world.callers(world.create_pods(simulated.names(size)))
    world.go(callers)
    deadline = time.monotonic() + simulated.SECONDS
    while world.gauge("hamid_lock_waiters") != size.pods:
        if time.monotonic() > deadline:
            raise RuntimeError(f"only {world.gauge('hamid_lock_waiters')} binds wait")
        time.sleep(0.2)
    return callers


def measure(setting, size):
    """(Stages, MiB at most, bytes of a waiter, microseconds for each bind served)"""
    with simulated.World(setting, size) as world:
        world.start_server(simulated.AGENT)
        world.start_hamid()
        seen = Stages(world.hamid.pid)
        seen.look(f"{size.nodes} nodes")
        hold_nodes(world, size)
        before = seen.look("each node held", has_idle=False)
        callers = park(world, size)
        waiting = seen.look(f"{size.pods} binds wait")
        meter = simulated.Meter(hamid=world.hamid.pid)
        told = world.serve(callers, world.node_side(size.pods + size.nodes), meter)
        seen.look("all served", has_idle=False)
        if told["failed"]:
            raise RuntimeError(f"{told['failed']} binds failed: {told['first_error']}")
        return (seen, sockets.memory_mb(world.hamid.pid),
                bytes_each(before, waiting, size.pods), told["spent"]["hamid"] / size.pods)


def run(setting):
    setting.build_targets(*simulated.TARGETS)
    size = simulated.Size(WAITERS, NODES)
    findings = figures.Findings()
    seen, most, each, busy = measure(setting, size)
    now = {name: memory for name, memory, _ in seen.seen}
    goal = now[f"{size.pods} binds wait"]
    findings.figures |= {
        "rss_peak_mb": figures.figure([most], "MB"),
        "waiter_bytes": figures.figure([each], "bytes"),
        "idle_cpu_percent": figures.figure([seen.seen[0][2]], "%"),
        "idle_cpu_percent_waiting": figures.figure([seen.seen[2][2]], "%"),
        "busy_cpu_us_per_bind": figures.figure([busy], "us")}
    findings.goals.append(figures.Goal(
        "rss_mb", f"memory of hamid with {size.nodes} nodes and {size.pods} binds that wait",
        figures.figure([goal], "MB"), 50,
        stopped_by="; ".join(f"{name}: {memory:.1f} MB" for name, memory, _ in seen.seen)))
    findings.tables.append(report.Table(
        "hamid's memory, and its processor while nothing happens",
        ["when", "memory in MB", "% of a processor"],
        [[name, f"{memory:.1f}", "" if idle is None else f"{idle:.2f}"]
         for name, memory, idle in seen.seen] + [["most of all", f"{most:.1f}", ""]]))
    findings.notes.append(f"A bind that waits takes {each:.0f} bytes of hamid; serving one then "
                          f"took {busy:.0f} us of a processor.")
    return findings
