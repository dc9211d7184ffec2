# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What standin-kubelet does when the API server does not take what it says."""

import subprocess
import unittest

from tests import peers


class Status(unittest.TestCase):
    """A pod that asks for no device: it is Running as soon as it is seen."""

    def setUp(self):
        self.server = peers.Server()
        self.addCleanup(self.server.close)

    def run_with(self, fault):
        code, armed = self.server.request("POST", "/kubesim/faults", {
            "verb": "patch", "resource": "pods", "subresource": "status", "count": 8, **fault})
        self.assertEqual(code, 201, armed)
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "plain"},
               "spec": {"containers": [{"name": "main", "image": "none"}]}}
        code, made = self.server.request("POST", "/api/v1/namespaces/default/pods", pod)
        self.assertEqual(code, 201, made)
        self.server.bind({"PodNamespace": "default", "PodName": "plain", "Node": "gpu-0",
                          "PodUID": made["metadata"]["uid"]})
        kubelet = subprocess.Popen(
            [peers.BUILD / "tests/standins/standin-kubelet", "--node=gpu-0",
             f"--kubeconfig={self.server.kubeconfig}", "--socket=/none"],
            stderr=subprocess.DEVNULL)
        try:
            peers.wait_for(self.is_running)
        finally:
            kubelet.terminate()
            self.assertEqual(kubelet.wait(peers.PATIENCE), 0)

    def is_running(self):
        _, pod = self.server.request("GET", "/api/v1/namespaces/default/pods/plain")
        return (pod.get("status") or {}).get("phase") == "Running"

    def test_status_is_written_again_to_a_server_that_does_not_know_its_users_yet(self):
        self.run_with({"action": "status", "status": 403})

    def test_status_is_written_again_when_the_connection_was_lost(self):
        self.run_with({"action": "drop_before"})


if __name__ == "__main__":
    unittest.main()
