# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The same burst under kube-schedulers that wait 5 s, 30 s and 10 min for a bind.

Where that is shorter than the queue, binds fail and come again, and the filter then sends the
pod to another node: a bind that still lands on the first one, a zombie, would show. What the
short ones cost is told as a ratio to the time that the patient one takes.
"""

import json

from checker import figures
from cluster import interplay_world

PODS = 75
NODES = 3
# Of one Allocate; the queue of a node is then longer than 5 s, or than 30 s.
SHORT_MS = 250
LONG_MS = 1600
PATIENT = "600s"
WITHIN = 150.0
# What a run may cost more than the patient one: the pauses of kube-scheduler's own back-off,
# which doubles from 1 s to 10 s, are in it.
MOST = 3.0


class TimedBurst:
    """One burst under one httpTimeout."""

    def __init__(self, results, plane, patience, allocate_ms):
        self.results = results
        self.patience = patience
        self.name = f"t{patience}-{allocate_ms}"
        self.world = interplay_world.World(plane, results.say, NODES, allocate_ms)

    def run(self):
        world = self.world
        world.begin_chapter()
        world.start_filter()
        world.start_nodes()
        world.start_pair("a", patience=self.patience)
        try:
            world.create(self.name, PODS)
            is_done = world.served(self.name, PODS, WITHIN)
            world.wait_for_announcements(self.name, PODS)
            values = figures.figures(world.report(self.name))
        finally:
            world.stop_all()
        self.results.say(f"httpTimeout {self.patience}: " + json.dumps(values))
        self._check(values, is_done)
        return values

    def _check(self, values, is_done):
        def check(is_good, text, found=""):
            self.results.check(is_good, f"http-timeout: {self.patience}: {text}", found)
        check(is_done, f"all is done within {WITHIN:.0f} s", self.world.counts(self.name))
        for figure in ("pods", "bound", "allocated"):
            check(values[figure] == PODS, f"{figure} is {PODS}", values[figure])
        check(values["zombie_binds"] == 0, "no bind lands that kube-scheduler had given up",
              values["zombie_binds"])
        for text, figure in interplay_world.ZERO:
            check(values[figure] == 0, text, values[figure])


def run(results, plane, is_whole=True):
    """5 s beside 10 min; where asked for alone, 30 s too, with a queue that is longer."""
    plan = [("5s", SHORT_MS), (PATIENT, SHORT_MS)]
    if is_whole:
        plan += [("30s", LONG_MS), (PATIENT, LONG_MS)]
    found = []
    for patience, allocate_ms in plan:
        values = TimedBurst(results, plane, patience, allocate_ms).run()
        found.append({"http_timeout": patience, "allocate_ms": allocate_ms, **values})
    _compare(results, found)
    return {"pods": PODS, "zombie_binds": sum(one["zombie_binds"] or 0 for one in found),
            "runs": found}


def _compare(results, found):
    patient = {one["allocate_ms"]: one["makespan_seconds"] for one in found
               if one["http_timeout"] == PATIENT}
    for one in found:
        ratio = round(one["makespan_seconds"] / patient[one["allocate_ms"]], 2)
        one["makespan_ratio"] = ratio
        name = f"http-timeout: {one['http_timeout']}"
        if one["http_timeout"] == PATIENT:
            results.check(one["failed_binds"] == 0, f"{name}: no bind fails",
                          one["failed_binds"])
            continue
        results.check(one["failed_binds"] > 0, f"{name}: binds failed for want of time",
                      one["failed_binds"])
        results.check(ratio <= MOST, f"{name}: it takes at most {MOST} times as long as with "
                      f"{PATIENT}", ratio)
