# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Pods side by side, where hamid's processes share a node, or die in the middle."""

import unittest

from chaos import world

FLAGS = ["--side-by-side=8"]


class Beside(unittest.TestCase):
    """Distinct pods are in flight at a time; equal ones never, whatever happens."""

    def assert_right(self, values, pods):
        self.assertEqual((values["bound"], values["allocated"]), (pods, pods), values)
        self.assertEqual({name: values[name] for name in world.ZERO},
                         dict.fromkeys(world.ZERO, 0), values)
        self.assertGreater(values["in_flight_max"], 1, values)

    def run_with(self, crash, pods, when):
        """CRASH(burst) happens once, when so many pods are allocated."""
        done = []

        def look(line):
            if line["allocated"] >= when and not done:
                done.append(line)
                crash(burst)

        with world.World("--side-by-side", "--pods", str(pods), "--allocate-ms", "30",
                         flags=FLAGS, on_progress=look) as burst:
            self.assert_right(burst.figures(), pods)
        self.assertTrue(done)

    def test_two_replicas_that_share_a_node_keep_equal_pods_apart(self):
        def alternate(call, number):
            return burst.replicas[(int(call["PodName"][-4:]) + number) % 2].bind(call)

        with world.World("--side-by-side", "--pods", "30", "--allocate-ms", "20", replicas=2,
                         flags=FLAGS, route=alternate) as burst:
            self.assert_right(burst.figures(), 30)

    def test_one_replica_without_the_option_minds_the_permits_of_the_other(self):
        def alternate(call, number):
            return burst.replicas[(int(call["PodName"][-4:]) + number) % 2].bind(call)

        with world.World("--side-by-side", "--pods", "30", "--allocate-ms", "20", replicas=2,
                         flags=FLAGS, route=alternate) as burst:
            burst.replicas[1].flags = burst.replicas[1].flags[:-len(FLAGS)]
            self.assert_right(burst.figures(), 30)

    def test_a_killed_scheduler_side_leaves_permits_that_the_next_one_minds(self):
        def crash(burst):
            burst.replicas[0].kill()
            burst.replicas[0].start()

        self.run_with(crash, 24, 6)

    def test_a_killed_node_side_finds_each_pod_in_its_permit_again(self):
        self.run_with(lambda burst: burst.restart_agent(), 24, 6)


if __name__ == "__main__":
    unittest.main()
