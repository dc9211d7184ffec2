# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Running daemons of both roles, for the tests of this folder."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from agent_api import world as agents  # noqa: E402
from scheduler_api import world as schedulers  # noqa: E402
from tests import peers  # noqa: E402

from observability import metrics  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Scheduler(schedulers.World):
    """hamid scheduler."""

    def metrics(self):
        status, _, text, _ = self.ask("/metrics")
        assert status == 200
        return metrics.Metrics(text.decode())

    def value(self, name, **labels):
        return self.metrics().value(name, **labels)

    def until(self, name, least, **labels):
        peers.wait_for(lambda: self.value(name, **labels) >= least)

    def fault(self, **members):
        status, answer = self.server.request("POST", "/kubesim/faults", members)
        assert status in (200, 201), answer

    def switch(self, name):
        status, answer = self.server.request("POST", f"/kubesim/watches/{name}")
        assert status == 200, answer

    def until_answered(self, name):
        peers.wait_for(lambda: name in self.answers)
        return self.answers[name]


class Node(agents.World):
    """hamid node."""

    def metrics(self):
        status, _, text = self.ask("GET", "/metrics")
        assert status == 200
        return metrics.Metrics(text.decode())
