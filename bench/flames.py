#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Draws where hamid's time goes in the middle of a burst, as a flame graph (flame.py).

    bench/flames.py scheduler > docs/images/performance-scheduler.svg
    bench/flames.py node > docs/images/performance-node.svg

A burst runs on the simulated API server, which takes least from hamid; perf looks at hamid alone
from the first bind to the last success. Needs perf, and leave to use it. What the picture says in
words goes to standard error: the functions that most samples were in, by themselves and with all
that they call.
"""

import argparse
import collections
import contextlib
import pathlib
import re
import subprocess
import sys
import time
import types

HERE = pathlib.Path(__file__).resolve().parent
sys.path[0:1] = [str(HERE.parent), str(HERE.parent / "tests"), str(HERE.parent / "tests/standins")]

from bench import flame, run, simulated  # noqa: E402
from cluster import processes  # noqa: E402
from demo import building  # noqa: E402
from demo import simulated as demo  # noqa: E402

RATE = 1999
STACK = 16384  # bytes of it that each sample keeps


@contextlib.contextmanager
def recorded(group, pid, path):
    """Samples of a process while the block runs, to be found at that path."""
    child = group.start("perf", ["perf", "record", "-q", "-e", "cpu-clock", "-F", RATE,
                                 "--call-graph", f"dwarf,{STACK}", "-o", path, "-p", pid])
    group.wait_until("perf", child, path.exists, 30)
    yield
    group.stop(child, patience=60)


def stacks(path):
    """Of all samples, the outermost function first."""
    found = subprocess.run(["perf", "script", "-i", path, "--no-inline"], capture_output=True,
                           text=True, check=False)
    if found.returncode != 0:
        raise processes.Failed(f"perf script: {found.stderr.strip()}")
    # Above the loop of a thread there is nothing of interest.
    return [trimmed(stack) for stack in flame.stacks(found.stdout.splitlines())]


def trimmed(stack):
    """Without what starts a thread or a program."""
    while len(stack) > 1 and re.match(r"_start|__libc|__clone|clone|start_thread|libc$|\[", stack[0]):
        stack = stack[1:]
    return stack


def in_words(samples, count=14):
    """Functions by the share of samples that they were at the end of, or anywhere in."""
    alone = collections.Counter(stack[-1] for stack in samples)
    whole = collections.Counter(name for stack in samples for name in set(stack))
    for title, found in (("by itself", alone), ("with what it calls", whole)):
        yield title
        yield from (f"{number / len(samples):6.1%} {name}"
                    for name, number in found.most_common(count))


def scheduler(setting, pods, nodes):
    """Samples of `hamid scheduler`."""
    size = simulated.Size(pods, nodes)
    setting.build_targets(*simulated.TARGETS)
    with simulated.World(setting, size) as world:
        world.start_server(simulated.AGENT)
        world.start_hamid()
        lines = world.create_pods(simulated.names(size))
        served = world.node_side(pods)
        callers = world.callers(lines)
        path = world.folder / "perf.data"
        with recorded(world.group, world.hamid.pid, path):
            world.serve(callers, served)
        return stacks(path)


class Screen:
    """In the place of the demo's."""

    def burst(self, line, is_last=False):
        pass


class NodeBurst(demo.Burst):
    """The demo's burst, during which the first agent is looked at."""

    samples = ()

    def _follow(self, binder):
        agent = next(child for name, child in self.group.children
                     if name.startswith("hamid-node-"))
        path = self.folder / "perf.data"
        with recorded(self.group, agent.pid, path):
            super()._follow(binder)
        self.samples = stacks(path)


def node(setting, pods, _nodes):
    """Samples of `hamid node`, the pods of one node coming one after the other."""
    setting.build_targets("hamid", "./tests/kubesim/kubesim:executable", "standin-scheduler",
                          "standin-kubelet")
    building.BUILD = setting.build
    asked = types.SimpleNamespace(nodes=1, pods=pods, allocate_ms=0, patience=600.0, broken=None,
                                  keep=False)
    with NodeBurst(asked, Screen()) as burst:
        burst.run()
        return burst.samples


ROLES = {"scheduler": (scheduler, 4000, 100, "hamid scheduler, 4000 pods on 100 nodes"),
         "node": (node, 2000, 1, "hamid node, 2000 pods one after the other")}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("role", choices=ROLES)
    parser.add_argument("--pods", type=int, metavar="N", help="in the place of thousands")
    asked = parser.parse_args()
    sample, pods, nodes, title = ROLES[asked.role]
    processes.exit_on_signals()
    setting = run.Setting(is_quick=True, repeats=1, build=HERE.parent / "build-bench",
                          source=HERE.parent, kubernetes="", with_references=False,
                          begin=time.monotonic())
    try:
        samples = sample(setting, asked.pods or pods, nodes)
    except (processes.Failed, RuntimeError, OSError) as error:
        print(f"flames.py: {error}", file=sys.stderr)
        return 1
    if not samples:
        print("flames.py: perf saw nothing of it", file=sys.stderr)
        return 1
    print("\n".join(in_words(samples)), file=sys.stderr)
    root = flame.tree(samples, "")
    print(flame.draw(list(flame.boxes(root, root[0])), title, root[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
