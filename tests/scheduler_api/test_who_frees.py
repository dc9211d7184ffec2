# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What a lease says about who frees, where the node side would leave it to the scheduler's."""

import json
import pathlib
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from scheduler_api import world  # noqa: E402
from tests import peers  # noqa: E402

LEASE = "hami.io/mutex.lease"


class LeavingWorld(world.World):
    """Its nodes' agents leave the locks of pods that are served to the scheduler side."""

    mark = "1,free=scheduler"

    def lease(self, node="gpu-0"):
        _, found = self.server.request("GET", f"/api/v1/nodes/{node}")
        return json.loads(found["metadata"]["annotations"].get(LEASE, "{}"))

    def lease_of_a_pod(self):
        self.bind("a")
        peers.wait_for(lambda: "a" in self.answers)
        assert self.answers["a"] == "", self.answers
        return self.lease()


class WhoFrees(unittest.TestCase):

    def test_that_a_scheduler_side_frees_the_locks_of_pods_that_it_watches(self):
        with LeavingWorld(f"--scheduler-name={world.SCHEDULER}") as running:
            self.assertEqual(running.lease_of_a_pod()["free"], "scheduler")

    def test_that_one_without_a_watch_of_pods_leaves_them_to_the_node_side(self):
        with LeavingWorld() as running:
            self.assertEqual(running.lease_of_a_pod()["free"], "node")

    def test_that_one_that_keeps_locks_in_leases_leaves_them_to_the_node_side(self):
        with LeavingWorld(f"--scheduler-name={world.SCHEDULER}", "--lock-store=lease+mirror",
                          "--lease-namespace=default") as running:
            self.assertEqual(running.lease_of_a_pod()["free"], "node")


if __name__ == "__main__":
    unittest.main()
