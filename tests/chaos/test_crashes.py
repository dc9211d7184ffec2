# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""kill -9 in the middle of a burst, and a new process in the place of the old one."""

import unittest

from chaos import world


class Crashes(unittest.TestCase):
    """All pods are served in the end, and never two at once."""

    def run_with(self, crash, *words, when=8, flags=()):
        """CRASH(burst) happens once, when so many pods are allocated."""
        done = []

        def look(line):
            if line["allocated"] >= when and not done:
                done.append(line)
                crash(burst)

        with world.World(*words, flags=flags, on_progress=look) as burst:
            values = burst.figures()
        self.assertTrue(done)
        self.assertEqual({name: values[name] for name in world.ZERO},
                         dict.fromkeys(world.ZERO, 0), values)
        self.assertEqual(values["bound"], values["allocated"], values)
        return values

    def restart_scheduler(self, burst):
        burst.replicas[0].kill()
        burst.replicas[0].start()

    def test_a_killed_scheduler_side_loses_the_queue_and_nothing_else(self):
        values = self.run_with(self.restart_scheduler, "--pods", "24", "--allocate-ms", "30")
        self.assertEqual(values["bound"], 24)
        self.assertGreater(values["failed_binds"], 0)

    def test_a_scheduler_side_killed_with_a_lock_and_no_binding_is_got_over(self):
        def crash(burst):
            fault = burst.arm(verb="create", resource="pods", subresource="binding",
                              action="hang_before", count=1)
            world.wait_for(lambda: burst.hits(fault) == 1)
            self.restart_scheduler(burst)

        values = self.run_with(crash, "--pods", "12", when=4, flags=["--hold-limit=1s"])
        self.assertEqual(values["bound"], 12)

    def test_a_killed_node_side_is_asked_again_and_serves_all(self):
        values = self.run_with(lambda burst: burst.restart_agent(), "--pods", "24",
                               "--allocate-ms", "30")
        self.assertEqual((values["bound"], values["failed_binds"]), (24, 0))

    def test_both_sides_killed_at_once_come_back_to_a_whole_burst(self):
        def crash(burst):
            self.restart_scheduler(burst)
            burst.restart_agent()

        values = self.run_with(crash, "--pods", "16", "--allocate-ms", "30", when=5)
        self.assertEqual(values["bound"], 16)


if __name__ == "__main__":
    unittest.main()
