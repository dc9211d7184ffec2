# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The burst through examples/go-scheduler, beside the same burst through kube-scheduler and hamid.

Runs of the two alternate on one control plane, each with a node and pods of its own making, and
each is judged by its part of the server's audit log.
"""

import json
import re
import ssl
import statistics
import subprocess
import sys
import urllib.request

from checker import events, figures
from cluster import burst, control_plane, processes, suites

sys.path.insert(0, str(suites.ROOT / "tests/docs"))

import blocks  # noqa: E402

REPEATS = 5  # of each, where the makespans are compared
MOST = 1.05  # makespan without an extender over that with hamid
ZEROS = ("failed_binds", "double_holds", "covered_locks", "stuck_pods", "locks_left",
         "fence_violations", "conflicts_409")
PLUGIN = "NodeLockBind"
NAME = "go-scheduler"
OWN_CHILDREN = ("kubelet", NAME, "kube-scheduler", "hamid-scheduler", "hamid-node")


def find_program():
    """Path of the scheduler; builds it if it is not there, with progress on stderr."""
    [shown] = blocks.shown_commands(suites.ROOT / "examples/go-scheduler/README.md", "scripts/")
    found = subprocess.run([*shown.split(), "--test", "--build", str(suites.BUILD)],
                           stdout=subprocess.PIPE, text=True, check=False, cwd=suites.ROOT)
    if found.returncode != 0:
        raise processes.Failed("scripts/build-go-scheduler could not test and provide it")
    return found.stdout.strip()


class HamidBurst(burst.Burst):
    """One of several bursts: it looks at its own part of the log, and leaves nothing."""

    def __init__(self, plane, say):
        super().__init__(plane, say)
        self.offset = 0

    def run(self):
        self.offset = self.plane.audit_log.stat().st_size
        (self.plane.folder / "hamid.address").unlink(missing_ok=True)
        try:
            return super().run()
        finally:
            self._clear()

    def report(self):
        with open(self.plane.audit_log, encoding="utf-8") as file:
            file.seek(self.offset)
            found = events.read(file)
        return figures.Report(found, figures.Options(
            allocate_ms=self.allocate_ms, pod_prefix=burst.BURST))

    def _clear(self):
        for name, child in list(self.group.children):
            if name in OWN_CHILDREN:
                self.group.stop(child)
        self.admin.need("DELETE", "/api/v1/namespaces/default/pods", {
            "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0})
        self.admin.need("DELETE", f"/api/v1/nodes/{burst.NODE}")


class GoBurst(HamidBurst):
    """Through the scheduler that binds by itself."""

    def __init__(self, plane, say, program):
        super().__init__(plane, say)
        self.program = program
        self.metrics = ""
        self.port = 0

    def _start_scheduler(self):
        args = {"kubeconfig": str(self.plane.kubeconfig("hamid-scheduler")),
                "managedResources": [burst.RESOURCE], "patience": self.patience}
        words = {"profiles": [{
            "schedulerName": "default-scheduler",
            "plugins": {"bind": {"disabled": [{"name": "*"}],
                                 "enabled": [{"name": PLUGIN}, {"name": "DefaultBinder"}]}},
            "pluginConfig": [{"name": PLUGIN, "args": args}]}]}
        libraries = f"{suites.BUILD}/lib:{suites.BUILD}/lib/kubernetes"

        def start(ports):
            self.port = ports[0]
            self.plane.try_scheduler(NAME, self.program, words, self.port,
                                     {"LD_LIBRARY_PATH": libraries})
        self.plane.with_ports(1, start)

    def report(self):
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        with urllib.request.urlopen(f"https://127.0.0.1:{self.port}/metrics", timeout=10,
                                    context=context) as answer:
            self.metrics = answer.read().decode()
        return super().report()

    def metric(self, name):
        """Value of one line; None if there is none."""
        found = re.search(rf"^{re.escape(name)} (\S+)$", self.metrics, re.MULTILINE)
        return float(found[1]) if found else None


def run(results, asked, folder):
    """Answers the figures; None where the version is another than the scheduler's."""
    if asked.version != control_plane.DEFAULT_VERSION:
        results.skip("go-scheduler: a burst",
                     f"it is made for Kubernetes {control_plane.DEFAULT_VERSION}")
        return None
    program = find_program()
    repeats = REPEATS if asked.only else 1
    found = {"go": [], "hamid": []}
    with control_plane.ControlPlane(asked.version, folder) as plane:
        for number in range(1, repeats + 1):
            results.say(f"go-scheduler: run {number} of {repeats}")
            last = GoBurst(plane, results.say, program)
            pair = [("hamid", HamidBurst(plane, results.say)), ("go", last)]
            # Each goes first in its turn: a server that has just started is slow.
            for way, one in pair if number % 2 else reversed(pair):
                found[way].append(figures.figures(one.run()))
    return judge(results, found, last, repeats)


def judge(results, found, last, repeats):
    go = found["go"]
    for way in found:
        results.say(f"{way}: makespans {[one['makespan_seconds'] for one in found[way]]}")
    results.say("figures of the last run: " + json.dumps(go[-1]))
    for name in ("bound", "allocated"):
        counts = [one[name] for one in go]
        results.check(min(counts) == burst.PODS, f"go-scheduler: all {burst.PODS} pods are {name}",
                      counts)
    for name in ZEROS:
        counts = [one[name] for one in go]
        results.check(sum(counts) == 0, f"go-scheduler: {name} is 0 in each run", counts)
    others = [one["failed_binds"] + one["double_holds"] + burst.PODS - one["bound"]
              for one in found["hamid"]]
    results.check(sum(others) == 0, "go-scheduler: hamid's runs beside it are good as well", others)
    bound = last.metric('hami_nodelock_binds_total{outcome="bound"}')
    results.check(bound == burst.PODS + 1 and last.metric("hami_nodelock_waiters") == 0
                  and last.metric("hami_nodelock_handoffs_total") == burst.PODS + 1
                  and "scheduler_schedule_attempts_total" in last.metrics,
                  "go-scheduler: its metrics stand beside kube-scheduler's own", bound)
    own, hamid = (statistics.median(one["makespan_seconds"] for one in found[way])
                  for way in ("go", "hamid"))
    if repeats == REPEATS:
        results.check(own <= MOST * hamid, f"go-scheduler: the makespan is at most {MOST} times "
                      "that with hamid, in the medians", (own, hamid))
    return {"pods": go[0]["pods"], "bound": min(one["bound"] for one in go),
            "failed_binds": sum(one["failed_binds"] for one in go),
            "double_holds": sum(one["double_holds"] for one in go),
            "makespan_seconds": own, "makespan_hamid_seconds": hamid}
