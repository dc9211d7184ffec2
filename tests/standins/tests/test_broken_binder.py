# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Each fault of standin-broken-binder shows in the checker's figure, and only there."""

import json
import pathlib
import subprocess
import sys
import threading
import unittest

from tests import peers

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))

from checker import events, figures  # noqa: E402

LOCK = "hami.io/mutex.lock"
LOCK_PATH = "/metadata/annotations/hami.io~1mutex.lock"
ALLOCATE_SECONDS = 0.03


class NodeSide:
    """Serves bound pods one after another, then removes the lock that names the pod."""

    def __init__(self, server):
        self.server = server
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join(peers.PATIENCE)

    def _run(self):
        served = set()
        while not self.is_over.wait(0.005):
            _, found = self.server.request("GET", "/api/v1/namespaces/default/pods")
            for pod in found["items"]:
                name = pod["metadata"]["name"]
                if pod["spec"].get("nodeName") and name not in served:
                    served.add(name)
                    self._serve(name, pod["spec"]["nodeName"])

    def _serve(self, name, node):
        if self.is_over.wait(ALLOCATE_SECONDS):
            return
        self.server.serve({"PodNamespace": "default", "PodName": name})
        path = f"/api/v1/nodes/{node}"
        _, found = self.server.request("GET", path)
        lock = (found["metadata"].get("annotations") or {}).get(LOCK, "")
        if lock.endswith(f",default,{name}"):
            self.server.request("PATCH", path, [
                {"op": "test", "path": LOCK_PATH, "value": lock},
                {"op": "remove", "path": LOCK_PATH}], "application/json-patch+json")


class BrokenBinder(unittest.TestCase):
    """A short burst through each fault, with a node side that has none."""

    def burst(self, fault, *words, wait="20s"):
        server = peers.Server()
        self.addCleanup(server.close)
        address = server.folder / "address"
        child = subprocess.Popen(
            [peers.BUILD / "tests/standins/standin-broken-binder", f"--fault={fault}",
             f"--kubeconfig={server.kubeconfig}", f"--address-file={address}",
             f"--wait={wait}"])
        try:
            peers.wait_for(address.exists)
            with NodeSide(server):
                done = subprocess.run(
                    [peers.BUILD / "tests/standins/standin-scheduler", "--nodes", "gpu-0",
                     f"--kubeconfig={server.kubeconfig}",
                     f"--binder=http://{address.read_text().strip()}", *words],
                    timeout=peers.PATIENCE, check=False)
        finally:
            child.terminate()
            child.wait(peers.PATIENCE)
        report = figures.Report(events.read(map(json.dumps, server.log())))
        return done.returncode, figures.figures(report)

    def test_a_lock_given_up_at_bind_lets_two_pods_in_at_once(self):
        code, values = self.burst("unlock-at-bind", "--pods", "8")
        self.assertEqual(code, 0)
        self.assertGreater(values["double_holds"], 0)
        self.assertEqual((values["covered_locks"], values["stuck_pods"]), (0, 0))

    def test_a_blind_patch_covers_a_lock_that_is_needed(self):
        code, values = self.burst("blind-patch", "--pods", "8")
        self.assertEqual(code, 0)
        self.assertGreater(values["covered_locks"], 0)
        self.assertEqual(values["stuck_pods"], 0)

    def test_a_caller_that_gives_up_takes_the_permit_with_it(self):
        code, values = self.burst("leak-on-timeout", "--pods", "12", "--patience", "250ms",
                                  "--stuck-after", "3s", wait="200ms")
        self.assertEqual(code, 3)
        self.assertGreater(values["stuck_pods"], 0)
        self.assertEqual((values["double_holds"], values["covered_locks"]), (0, 0))

    def test_without_a_caller_that_gives_up_the_leak_does_not_show(self):
        code, values = self.burst("leak-on-timeout", "--pods", "8")
        self.assertEqual(code, 0)
        self.assertEqual((values["stuck_pods"], values["failed_binds"]), (0, 0))
        self.assertEqual((values["double_holds"], values["covered_locks"]), (0, 0))

    def test_pods_let_in_beside_each_other_whatever_they_ask_are_two_owners_at_once(self):
        code, values = self.burst("ignore-calls", "--pods", "8")
        self.assertEqual(code, 0)
        self.assertGreater(values["double_holds"], 0)


if __name__ == "__main__":
    unittest.main()
