# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A burst before a real hamid: pods that ask, and device plugins that give their nodes on."""

import http.client
import json
import pathlib
import random
import sys
import threading

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from scheduler_api import world  # noqa: E402

LOCK = world.LOCK


class Burst(world.World):
    """A context manager, with a burst going on between start_burst() and its end."""

    def __init__(self, *flags, nodes, seed=7):
        super().__init__("--patience=120s", *flags, nodes=nodes)
        self.random = random.Random(seed)
        self.is_over = threading.Event()
        self.plugins = []

    def __exit__(self, *error):
        self.end_burst()
        super().__exit__(*error)

    def end_burst(self):
        self.is_over.set()
        for thread in self.plugins:
            thread.join()
        self.plugins = []

    def play_plugins(self, nodes, seconds):
        """Each of these nodes is given on again and again, after about so many seconds."""
        def play(node, pace):
            while not self.is_over.wait(pace.uniform(.5, 1.5) * seconds):
                self.release(node)
        for node in nodes:
            thread = threading.Thread(target=play, args=(node, random.Random(node)))
            thread.start()
            self.plugins.append(thread)

    def ask_for_pods(self, names, nodes, every=0.0):
        """Their binds, one every so many seconds; the first nodes are the most wanted."""
        for name in names:
            place = min(int(self.random.expovariate(.3)), len(nodes) - 1)
            self.bind(name, nodes[place])
            if self.is_over.wait(every):
                return

    def make_locked_nodes(self, values):
        """{name: its lock, as another scheduler would write it}"""
        connection = http.client.HTTPSConnection("127.0.0.1", self.server.port, timeout=60,
                                                 context=self.server.context)
        for name, value in values.items():
            node = {"apiVersion": "v1", "kind": "Node",
                    "metadata": {"name": name, "annotations": {LOCK: value}}}
            connection.request("POST", "/api/v1/nodes", json.dumps(node), {
                "Authorization": f"Bearer {self.server.token}", "User-Agent": "test",
                "Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status == 201, text
        connection.close()

    @property
    def url(self):
        return f"http://{self.status}/"
