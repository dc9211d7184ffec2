#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Counts the API calls of a burst of 40 pods, on kubesim, and compares them with limits.tsv.

All of hamid is there, a stand-in for kube-scheduler and one for the kubelet; what is counted is
in the server's own log of deliveries. Counts do not depend on how fast the machine is. The last
bursts have options that cost more: it must be seen that they do. Prints TAP.

    run.py BUILD     the build folder that hamid and the stand-ins are in
"""

import pathlib
import sys
import types

sys.dont_write_bytecode = True
TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[0:1] = [str(TESTS / "standins"), str(TESTS), str(TESTS / "install")]

import calls  # noqa: E402
from checker import figures  # noqa: E402
from cluster import processes  # noqa: E402
from demo import building, simulated  # noqa: E402
from points import Points  # noqa: E402

PODS = 40


class Silent:
    """In the place of the demo's screen."""

    def burst(self, line, is_last=False):
        pass

    def say(self, text):
        print("# " + text)


def run(nodes, scheduler_flags=(), node_flags=(), burst_flags=()):
    """The checker's figures of one burst."""
    asked = types.SimpleNamespace(nodes=nodes, pods=PODS, allocate_ms=5, patience=60.0, broken=None,
                                  keep=False)
    with simulated.Burst(asked, Silent()) as burst:
        burst.scheduler_flags = scheduler_flags
        burst.node_flags = node_flags
        burst.burst_flags = burst_flags
        return figures.figures(burst.run())


# name in limits.tsv -> nodes, options of hamid scheduler, of hamid node, and of the burst
BURSTS = {
    "one_node": (1, (), (), ()),
    "four_nodes": (4, (), (), ()),
    "scheduler_frees": (1, (), ("--free=scheduler",), ()),
    "side_by_side": (1, ("--side-by-side=8",), ("--free=scheduler", "--side-by-side"),
                     ("--devices=1,2,3",)),
}
# name -> nodes, options, what must be found to be too much by the limits of one_node
WASTEFUL = {
    "locks that are kept in Leases as well": (
        1, ("--lock-store=lease+mirror", "--lease-namespace=default"), ["writes", "reads"]),
}


def main():
    building.BUILD = pathlib.Path(sys.argv[1])
    processes.exit_on_signals()
    limits = calls.read_limits()
    points = Points()
    for name, (nodes, *flags) in BURSTS.items():
        values = run(nodes, *flags)
        points.check(values["bound"] == PODS and values["failed_binds"] == 0,
                     f"{name}: all {PODS} pods are bound, and no bind failed", values)
        for sentence, is_good, found in calls.judge(limits[name], values):
            points.check(is_good, f"{name}: {sentence}: {limits[name].meaning}", found)
            print(f"# {found}")
    for name, (nodes, flags, expected) in WASTEFUL.items():
        found = calls.breaches(limits["one_node"], run(nodes, flags))
        points.check(found == expected, f"{name} are found to cost too many {' and '.join(expected)}", found)
    points.end()


if __name__ == "__main__":
    main()
