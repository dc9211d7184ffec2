# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The checker as a command."""

import argparse
import json
import sys

from checker import events, figures, locks, timeline

HELP = """Makes the figures of a burst of pods from an API server's audit log (audit.k8s.io/v1,
one JSON object a line, level RequestResponse for nodes, pods, pods/binding, pods/status).

double_holds   pods bound while another pod of that node was bound and not served yet, unless
               both were taken side by side and no call of theirs could be the other's
covered_locks  writes that took a lock away from an owner that still needed it
cover_violations  writes that left a key's own lock no copy of a held permit's, side by side
double_serves  pods served under another's fence, with other devices, or unbound
in_flight_max  most pods of a node that were bound and not served yet at one moment
stuck_pods     pods never served       locks_left  locks that stand at the end
bound_twice    pods with more than one Binding answered 201, by UID
lost           pods never bound, and not deleted
zombie_binds   Bindings that landed after kube-scheduler had given that bind up
failed_binds   PodScheduled=False with reason SchedulerError, as kube-scheduler writes it
"""


def parser():
    result = argparse.ArgumentParser(
        prog="checker", description=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("log", nargs="+", help="audit log files, the oldest first; - is stdin")
    result.add_argument("--json", action="store_true",
                        help="print the figures as one line of JSON, as the last line")
    result.add_argument("--timeline", action="store_true",
                        help="print who waited, was bound and was served when")
    result.add_argument("--rows", type=int, default=40, help="pods drawn (default 40)")
    result.add_argument("--allocate-ms", type=float,
                        help="how long one Allocate takes, for makespan_over_serial")
    result.add_argument("--fifo", action="store_true",
                        help="compare the order of creation with the order of Bindings")
    result.add_argument("--prefix", default="hamid",
                        help="whose calls are counted: users or agents that begin so")
    result.add_argument("--pods", default="", metavar="PREFIX",
                        help="the burst is the pods whose names begin so (default: all)")
    result.add_argument("--lock-key", action="append",
                        help="lock annotation (default: HAMi's and Cambricon's)")
    result.add_argument("--resource", action="append", default=[],
                        help="what the kubelet's Allocate is called for (default: extended "
                        "resources that are no memory, cores or priority)")
    return result


def read_lines(names):
    for name in names:
        if name == "-":
            yield from sys.stdin
            continue
        with open(name, encoding="utf-8") as file:
            yield from file


def print_figures(values):
    width = max(len(name) for name in values)
    for name, value in values.items():
        print(f"  {name:<{width}}  {'not asked' if value is None else value}")


def main(arguments=None):
    asked = parser().parse_args(arguments)
    options = figures.Options(
        prefix=asked.prefix, allocate_ms=asked.allocate_ms, ordered=asked.fifo,
        pod_prefix=asked.pods, lock_keys=tuple(asked.lock_key or locks.DEFAULT_KEYS),
        resources=tuple(asked.resource))
    try:
        report = figures.Report(events.read(read_lines(asked.log)), options)
    except (OSError, events.UnreadableLog) as error:
        print(f"checker: {error}", file=sys.stderr)
        return 2
    if asked.timeline:
        print("\n".join(timeline.draw(report, asked.rows)))
    values = figures.figures(report)
    if asked.json:
        print(json.dumps(values))
    elif not asked.timeline:
        print_figures(values)
    return 0
