# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What hamid takes at 5000 nodes and 10,000 waiting binds: memory, and processors when idle.

One pod of each node that is used is bound first and keeps its lock, since no node side runs. Then
10,000 binds wait for them, each on a connection of its own. Last, a node side serves all of them.
They wait for 100 of the nodes, 100 for each, as pods do that want one kind of device; then, without
--quick, two for each of all 5000, of which none is free.
"""

import time

from bench import figures, report, simulated
from parked import sockets

ABOUT = "memory and processor time of hamid at 5000 nodes and 10,000 waiting binds"
NODES = 5000
USED = 100
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
        idle = idle_percent(self.pid) if has_idle else None
        memory = sockets.memory_mb(self.pid, "VmRSS")
        self.seen.append((name, memory, idle))
        return memory


def hold_nodes(world, used):
    """A pod of each of these nodes is bound and keeps its lock."""
    pods = [(f"holder-{number}", f"node-{number}") for number in range(used)]
    callers = world.callers(world.create_pods(pods))
    world.go(callers)
    told = world.answers(callers)
    world.end("callers", callers)
    if told["failed"]:
        raise RuntimeError(f"a first pod was not bound: {told['first_error']}")


def park(world, used, count):
    """All wait when this returns; answers their callers."""
    pods = simulated.names(simulated.Size(count, used))
    callers = world.callers(world.create_pods(pods))
    world.go(callers)
    deadline = time.monotonic() + simulated.SECONDS
    while world.gauge("hamid_lock_waiters") != count:
        if time.monotonic() > deadline:
            raise RuntimeError(f"only {world.gauge('hamid_lock_waiters')} binds wait")
        time.sleep(0.2)
    return callers


def measure(setting, size, used):
    """(Stages, MiB at most, bytes of a waiter, microseconds for each bind served)"""
    with simulated.World(setting, size) as world:
        world.start_server(simulated.AGENT)
        world.start_hamid()
        seen = Stages(world.hamid.pid)
        seen.look(f"{size.nodes} nodes")
        hold_nodes(world, used)
        before = seen.look(f"{used} of them held", has_idle=False)
        callers = park(world, used, size.pods)
        waiting = seen.look(f"{size.pods} binds wait")
        meter = simulated.Meter(hamid=world.hamid.pid)
        told = world.serve(callers, world.node_side(size.pods + used), meter)
        seen.look("all served", has_idle=False)
        if told["failed"]:
            raise RuntimeError(f"{told['failed']} binds failed: {told['first_error']}")
        return (seen, sockets.memory_mb(world.hamid.pid),
                bytes_each(before, waiting, size.pods), told["spent"]["hamid"] / size.pods)


def waiting(seen):
    """Memory at the stage in which all wait."""
    return seen.seen[2][1]


def table(seen, most, used):
    return report.Table(
        f"hamid's memory, and its processor while nothing happens; binds for {used} nodes",
        ["when", "memory in MB", "% of a processor"],
        [[name, f"{memory:.1f}", "" if idle is None else f"{idle:.2f}"]
         for name, memory, idle in seen.seen] + [["most of all", f"{most:.1f}", ""]])


def spread(setting, size, findings):
    """The same with all nodes held and waited for."""
    seen, most, _, _ = measure(setting, size, size.nodes)
    findings.figures["rss_all_nodes_held_mb"] = figures.figure([waiting(seen)], "MB")
    findings.tables.append(table(seen, most, size.nodes))


def run(setting):
    setting.build_targets(*simulated.TARGETS)
    size = simulated.Size(WAITERS, NODES)
    findings = figures.Findings()
    seen, most, each, busy = measure(setting, size, USED)
    findings.figures |= {
        "rss_peak_mb": figures.figure([most], "MB"),
        "waiter_bytes": figures.figure([each], "bytes"),
        "idle_cpu_percent": figures.figure([seen.seen[0][2]], "%"),
        "idle_cpu_percent_waiting": figures.figure([seen.seen[2][2]], "%"),
        "busy_cpu_us_per_bind": figures.figure([busy], "us")}
    findings.goals.append(figures.Goal(
        "rss_mb", f"memory of hamid with {size.nodes} nodes and {size.pods} binds that wait",
        figures.figure([waiting(seen)], "MB"), 50,
        stopped_by="; ".join(f"{name}: {memory:.1f} MB" for name, memory, _ in seen.seen)
        + f"; a waiter takes {each:.0f} bytes"))
    findings.tables.append(table(seen, most, USED))
    findings.notes.append(f"A bind that waits takes {each:.0f} bytes of hamid; serving one then "
                          f"took {busy:.0f} us of a processor.")
    if not setting.is_quick:
        spread(setting, size, findings)
    return findings
