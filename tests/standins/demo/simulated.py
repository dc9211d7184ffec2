# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The burst on the simulated API server: starts every part, follows the burst, reads the log."""

import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile

from checker import events, figures
from cluster import probes, processes
from demo import building, options

SCHEDULER = "hami-scheduler"
START_SECONDS = 60
BESIDE_MOST = 8
BESIDE_DEVICES = "1,2,3"
# A pod that waits longer than kube-scheduler's longest back-off and one bind call may count
# as stuck.
STUCK_MARGIN = 12.0


class Burst:
    """All processes of one burst, in a folder of its own. A context manager."""

    scheduler_flags = ()  # further ones of hamid's roles
    node_flags = ()

    def __init__(self, asked, screen):
        self.asked = asked
        self.screen = screen
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hami-demo-"))
        self.group = processes.Group(self.folder)
        self.nodes = [f"gpu-{number}" for number in range(asked.nodes)]
        self.server = None
        self.burst_flags = ()
        if getattr(asked, "side_by_side", False):
            self.scheduler_flags = (f"--side-by-side={BESIDE_MOST}",)
            self.node_flags = ("--free=scheduler", "--side-by-side")
            self.burst_flags = (f"--devices={BESIDE_DEVICES}",)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.group.close()
        if not self.asked.keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    def run(self):
        """Answers the checker's report of what the server saw."""
        self._start_server()
        for node in self.nodes:
            self._start_agent(node)
        binder = self._start_binder()
        self._wait_for_agents()
        self._start_kubelet()
        self._follow(binder)
        # The log is whole once the server has ended, and everybody else before it.
        self.group.close()
        with open(self.folder / "audit.log", encoding="utf-8") as log:
            found = events.read(log)
        return figures.Report(found, figures.Options(
            allocate_ms=self.asked.allocate_ms, ordered=True,
            resources=("nvidia.com/gpu",)))

    def kubeconfig(self, user):
        return self.folder / f"kubeconfig-{user}"

    def _start_server(self):
        words = [building.program("tests/kubesim/kubesim"), "--port", "0",
                 "--directory", self.folder]
        for user in ("hamid-scheduler", "hamid-node", "kubelet", "kube-scheduler",
                     "broken-binder"):
            words += ["--user", user]
        for node in self.nodes:
            words += ["--node", node]
        self.server = self.group.start("kubesim", words)
        self.group.wait_until("kubesim", self.server, (self.folder / "ready").exists,
                              START_SECONDS)

    def _agent(self, node):
        return self.folder / f"agent-{node}.sock"

    def _start_agent(self, node):
        self.group.start(f"hamid-node-{node}", [
            building.program("daemon/hamid"), "node", f"--node={node}",
            f"--socket={self._agent(node)}", f"--kubeconfig={self.kubeconfig('hamid-node')}",
            *self.node_flags])

    def _start_kubelet(self):
        """One process plays the kubelets of all nodes."""
        words = [building.program("tests/standins/standin-kubelet"),
                 f"--kubeconfig={self.kubeconfig('kubelet')}",
                 f"--allocate-ms={self.asked.allocate_ms}"]
        for node in self.nodes:
            words += [f"--node={node}", f"--socket={self._agent(node)}"]
        self.group.start("kubelet", words)

    def _wait_for_agents(self):
        for name, child in list(self.group.children):
            if name.startswith("hamid-node-"):
                agent = self._agent(name.removeprefix("hamid-node-"))
                self.group.wait_until(name, child, lambda: probes.agent_is_ready(agent),
                                      START_SECONDS)

    def _start_binder(self):
        """Answers the URL below which the bind verb is."""
        address = self.folder / "binder.address"
        if self.asked.broken:
            name = "broken-binder"
            # It gives up before its caller does, as HAMi's own retry limit (28 s) does.
            words = [building.program("tests/standins/standin-broken-binder"),
                     f"--fault={self.asked.broken}",
                     f"--wait={options.duration_text(self.asked.patience * 0.8)}",
                     f"--kubeconfig={self.kubeconfig('broken-binder')}"]
        else:
            name = "hamid-scheduler"
            words = [building.program("daemon/hamid"), "scheduler",
                     f"--patience={options.duration_text(self.asked.patience)}",
                     f"--scheduler-name={SCHEDULER}",
                     f"--kubeconfig={self.kubeconfig('hamid-scheduler')}",
                     *self.scheduler_flags]
        words += ["--listen=127.0.0.1:0", f"--address-file={address}"]
        child = self.group.start(name, words)
        self.group.wait_until(name, child, address.exists, START_SECONDS)
        listening = address.read_text(encoding="ascii").split()[0]
        if not self.asked.broken:
            self.group.wait_until(name, child, lambda: probes.binder_is_ready(listening),
                                  START_SECONDS)
        return f"http://{listening}"

    def _follow(self, binder):
        """Runs the burst and shows its progress; a stuck burst is a result, no error."""
        words = [building.program("tests/standins/standin-scheduler"), "--progress",
                 f"--kubeconfig={self.kubeconfig('kube-scheduler')}", f"--binder={binder}",
                 f"--pods={self.asked.pods}", f"--scheduler-name={SCHEDULER}", *self.burst_flags,
                 f"--patience={options.duration_text(self.asked.patience)}",
                 f"--stuck-after={options.duration_text(self._stuck_after())}",
                 "--nodes", *self.nodes]
        child = self._start_scheduler(words)
        line = None
        for line in self._lines(child):
            self.screen.burst(line)
        child.wait()
        if child.returncode not in (0, 3) or line is None:
            raise processes.Failed("the stand-in for kube-scheduler could not go on:\n"
                                   + self.group.last_words("kube-scheduler"))
        self.screen.burst(line, is_last=True)

    def _start_scheduler(self, words):
        """Its standard output is a pipe to us; all the rest is as for the other children."""
        with open(self.folder / "kube-scheduler.log", "ab") as errors:
            child = subprocess.Popen(
                [str(word) for word in words], stdin=subprocess.DEVNULL, stderr=errors,
                stdout=subprocess.PIPE, start_new_session=True,
                preexec_fn=processes.end_with_parent(os.getpid()))
        self.group.children.append(("kube-scheduler", child))
        return child

    def _lines(self, child):
        """Each line of progress as it comes; looks after the other children meanwhile."""
        rest = b""
        with open(self.folder / "progress.log", "wb") as copy:
            while True:
                self._fail_early()
                if not select.select([child.stdout], [], [], 0.5)[0]:
                    continue
                more = os.read(child.stdout.fileno(), 65536)
                if not more:
                    return
                copy.write(more)
                *whole, rest = (rest + more).split(b"\n")
                yield from map(json.loads, whole)

    def _stuck_after(self):
        if self.asked.broken:
            return STUCK_MARGIN + self.asked.patience
        return STUCK_MARGIN + max(30.0, self.asked.patience)

    def _fail_early(self):
        for name, child in self.group.children:
            if name != "kube-scheduler" and child.poll() is not None:
                raise processes.Failed(f"{name} ended in the middle of the burst, with code "
                                       f"{child.returncode}:\n{self.group.last_words(name)}")
