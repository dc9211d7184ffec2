# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What a bind costs hamid as pods and nodes grow: flat, or not.

Counted in instructions (valgrind's callgrind), which do not depend on what else the machine does;
what the kernel does for hamid is left out. Without valgrind it is processor time, which does. Two
series, one hamid for each size of the cluster:

    pods   1 to 4000 binds at a time, all for one node of 1000
    nodes  1 to 5000 nodes in the cluster, two binds at a time for each of up to 25
"""

import dataclasses
import re
import shutil
import subprocess
import time

from bench import figures, report, simulated

ABOUT = "what a bind costs hamid with 1 to 4000 pods and 1 to 5000 nodes, in instructions"
LIMIT = 1.1
LEFT_OUT = 1000  # binds at a time, with --quick: this step takes half a minute
QUIET_SECONDS = 0.3


@dataclasses.dataclass(frozen=True)
class Point:
    """Binds, so many at a time, over so many nodes of a cluster."""

    series: str
    at_once: int
    used: int
    cluster: int
    binds: int

    @property
    def place(self):
        """On the axis of its series."""
        return self.at_once if self.series == "pods" else self.cluster


PODS = [Point("pods", count, 1, 1000, max(count, 60)) for count in (1, 10, 100, 1000, 4000)]
NODES = [Point("nodes", 2 * min(count, 25), min(count, 25), count, max(60, 10 * min(count, 25)))
         for count in (1, 10, 100, 1000, 5000)]


def chosen(is_quick):
    """Of the first series."""
    return [point for point in PODS if not is_quick or point.at_once != LEFT_OUT]


class Instructions:
    """Of a hamid that runs in callgrind."""

    unit = "instructions"

    def __init__(self, world):
        self.world = world
        self.dumps = 0
        world.start_hamid(before=["valgrind", "--tool=callgrind", "--instr-atstart=no", "-q",
                                  f"--callgrind-out-file={world.folder / 'callgrind'}"])

    def _ask(self, *words):
        subprocess.run(["callgrind_control", *words, str(self.world.hamid.pid)], check=True,
                       capture_output=True, timeout=60)

    def begin(self):
        self._ask("-i", "on")
        self._ask("-z")

    def end(self):
        """How many since begin()."""
        self._ask("-d")
        self._ask("-i", "off")
        self.dumps += 1
        text = (self.world.folder / f"callgrind.{self.dumps}").read_text(encoding="utf-8")
        return int(re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)[1])


class Microseconds:
    """Of processors, user and system, where callgrind can't be had."""

    unit = "us"

    def __init__(self, world):
        world.start_hamid()
        self.world = world
        self.meter = None

    def begin(self):
        self.meter = simulated.Meter(hamid=self.world.hamid.pid)

    def end(self):
        return self.meter.spent()["hamid"]


def way():
    return Instructions if shutil.which("callgrind_control") else Microseconds


def settle(world):
    """Until hamid has nothing left to do: what it does behind its answers counts, too."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        meter = simulated.Meter(hamid=world.hamid.pid)
        time.sleep(QUIET_SECONDS)
        if meter.spent()["hamid"] < 0.01 * QUIET_SECONDS * 1e6:
            return


def cost(world, counter, point, number):
    """Of each bind at that point."""
    pods = [(f"pod-{number}-{index}", f"node-{index % point.used}")
            for index in range(point.binds)]
    lines = world.create_pods(pods)
    nodes = world.node_side(point.binds)
    settle(world)
    callers = world.callers(lines, point.at_once)
    counter.begin()
    told = world.serve(callers, nodes)
    settle(world)
    if told["failed"]:
        raise RuntimeError(f"{told['failed']} binds failed: {told['first_error']}")
    return counter.end() / point.binds


def measure(setting, make, points):
    """[(point, cost)]; one hamid serves all points of one cluster."""
    found = []
    for cluster in sorted({point.cluster for point in points}):
        mine = [point for point in points if point.cluster == cluster]
        most = max(point.at_once for point in mine)
        with simulated.World(setting, simulated.Size(2 * most, cluster)) as world:
            world.start_server(simulated.AGENT)
            counter = make(world)
            cost(world, counter, Point("warm", 10, 1, cluster, 10), "warm")
            for number, point in enumerate(mine):
                found.append((point, cost(world, counter, point, number)))
                setting.say(f"growth: {point.series} {point.place}: {found[-1][1]:,.0f} "
                            f"{counter.unit} a bind")
    return found


def worst(values):
    """How much more the dearest costs than any one before it; values in order of size."""
    if not values:
        raise ValueError("nothing was measured")
    least = values[0]
    most = 1.0 if len(values) > 1 else 0.0
    for value in values[1:]:
        most = max(most, value / least)
        least = min(least, value)
    return most


def series(found, name):
    """[(place, cost)] of one series, in order."""
    return sorted((point.place, value) for point, value in found if point.series == name)


def explain(found, unit):
    return "; ".join(f"{name}: " + ", ".join(f"{place} {value:,.0f}"
                                             for place, value in series(found, name))
                     for name in ("pods", "nodes")) + f" ({unit} a bind)"


def run(setting):
    setting.build_targets(*simulated.TARGETS)
    make = way()
    found = measure(setting, make, chosen(setting.is_quick) + NODES)
    findings = figures.Findings()
    growths = {name: worst([value for _, value in series(found, name)])
               for name in ("pods", "nodes")}
    for name, value in growths.items():
        findings.figures[f"growth_with_{name}"] = figures.figure([value])
    findings.figures["bind_cost"] = figures.figure([series(found, "pods")[-1][1]], make.unit)
    findings.goals.append(figures.Goal(
        "growth", "what a bind costs more at most, from 1 to 4000 pods or 1 to 5000 nodes",
        figures.figure([max(growths.values())]), LIMIT, stopped_by=explain(found, make.unit)))
    for name, unit in (("pods", "binds at a time, one node"), ("nodes", "nodes in the cluster")):
        findings.tables.append(report.Table(
            f"What a bind costs hamid, in {make.unit}", [unit, "each", "over the first"],
            [[f"{place:,}", f"{value:,.0f}", f"{value / series(found, name)[0][1]:.2f}"]
             for place, value in series(found, name)]))
    return findings
