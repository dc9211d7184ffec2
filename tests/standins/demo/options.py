# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The demo's command line."""

import argparse
import re

from cluster import control_plane

# What each broken binder is there to show: its figure, and why that figure rises.
BROKEN = {
    "unlock-at-bind": (
        "double_holds", "a pod was bound while another one still waited for its Allocate",
        "the lock was given up when bind returned, and Allocate needed it after that"),
    "blind-patch": (
        "covered_locks", "a lock was overwritten that its owner still needed",
        "the annotation was written without looking at it"),
    "leak-on-timeout": (
        "stuck_pods", "a pod was never served",
        "a caller that gave up while it waited left the node locked for good"),
}

HELP = """Runs a burst of pods, created all at once, through hamid, and shows how they were
bound and allocated one after another. Everything runs on this computer, on loopback, in a
temporary folder: a small simulated API server, `hamid scheduler`, one `hamid node` for
each node, a stand-in for kubelet and one for kube-scheduler. Nothing else is touched.

The first run installs missing packages (scripts/bootstrap, which asks before it uses
sudo) and builds into build/.

The figures come from the API server's log alone (tests/checker):
  failed_binds     binds that kube-scheduler counted as failed
  double_holds     pods bound while another pod of the node still waited for Allocate
  covered_locks    locks taken from an owner that still needed them
  stuck_pods       pods never served             locks_left  locks standing at the end
  fifo_violations  neighbours bound in the other order than they were created
"""

EXAMPLES = """examples:
  scripts/demo                               40 pods for one node
  scripts/demo --pods 400 --nodes 10         ten nodes at once
  scripts/demo --pods 20 --allocate-ms 500 --patience 2s
                                             a slow node and an impatient scheduler
  scripts/demo --side-by-side                pods of 1, 2 and 3 devices, several at once
  scripts/demo --broken blind-patch          what goes wrong with a simpler lock
  scripts/demo --kubernetes                  a real kube-apiserver and kube-scheduler
"""


def _count(most):
    def read(text):
        value = int(text)
        if not 1 <= value <= most:
            raise argparse.ArgumentTypeError(f"a number from 1 to {most}, please")
        return value
    read.__name__ = "number"
    return read


def duration(text):
    """Seconds of a duration text."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m)", text)
    if not found or float(found[1]) == 0:
        raise argparse.ArgumentTypeError(
            f"'{text}' is no duration; write it as 500ms, 30s or 2m")
    return float(found[1]) * {"ms": 0.001, "s": 1, "m": 60}[found[2]]


def duration_text(seconds):
    return f"{round(seconds * 1000)}ms"


def parse(arguments=None):
    parser = argparse.ArgumentParser(
        prog="scripts/demo", description=HELP, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=_count(5000), default=40, help="default 40")
    parser.add_argument("--nodes", type=_count(50), default=1, help="default 1")
    parser.add_argument("--patience", type=duration, metavar="TIME",
                        help="how long kube-scheduler waits for one bind (default 30s; "
                        "500ms with --broken leak-on-timeout, so that callers do give up)")
    parser.add_argument("--allocate-ms", type=_count(60000), default=20, metavar="MS",
                        help="how long one Allocate takes (default 20)")
    parser.add_argument("--side-by-side", action="store_true",
                        help="pods of 1, 2 and 3 devices in turn; those that can't be taken "
                        "for one another are between bind and Allocate at the same time")
    parser.add_argument("--json", action="store_true",
                        help="print the checker's figures as JSON on the last line")
    parser.add_argument("--broken", choices=list(BROKEN), metavar="FAULT",
                        help="run a binder with a known fault in hamid's place: "
                        + ", ".join(BROKEN) + "; ends with 0 only if the checker sees it")
    parser.add_argument("--kubernetes", action="store_true",
                        help="run it on a real control plane; the first time that is built "
                        "from source, once, about 12 minutes on two cores")
    parser.add_argument("--version", default=control_plane.DEFAULT_VERSION,
                        help="the Kubernetes of --kubernetes "
                        f"(default {control_plane.DEFAULT_VERSION})")
    parser.add_argument("--keep", action="store_true",
                        help="keep the folder with all logs and say where it is")
    asked = parser.parse_args(arguments)
    if asked.pods < asked.nodes:
        parser.error("there are more nodes than pods; ask for more --pods")
    if asked.kubernetes and (asked.nodes > 1 or asked.broken):
        parser.error("--kubernetes runs hamid on one node; leave out --nodes and --broken")
    if asked.side_by_side and (asked.kubernetes or asked.broken):
        parser.error("--side-by-side runs hamid on the simulated API server; leave out "
                     "--kubernetes and --broken")
    if asked.patience is None:
        asked.patience = 0.5 if asked.broken == "leak-on-timeout" else 30.0
    return asked
