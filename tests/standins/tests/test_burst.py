# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Short bursts of the demo, hamid and all: what its figures must be."""

import io
import pathlib
import sys
import unittest

from tests import peers

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))

from checker import figures  # noqa: E402
from demo import building, command, options, screen, simulated  # noqa: E402


@unittest.skipUnless((peers.BUILD / "daemon/hamid").exists(), "hamid was not built")
class Burst(unittest.TestCase):
    """Each test is one run of the demo without its output."""

    def setUp(self):
        self.addCleanup(setattr, building, "BUILD", building.BUILD)
        building.BUILD = peers.BUILD.resolve()

    def run_demo(self, *words):
        asked = options.parse(words)
        with simulated.Burst(asked, screen.Screen(io.StringIO())) as burst:
            values = figures.figures(burst.run())
        self.assertFalse(burst.folder.exists())
        return values, command.is_good(asked, values)

    def test_a_burst_is_bound_in_order_with_no_failed_bind(self):
        values, is_good = self.run_demo("--pods", "15", "--allocate-ms", "10")
        self.assertTrue(is_good, values)
        self.assertEqual((values["pods"], values["bound"], values["allocated"]),
                         (15, 15, 15))
        self.assertEqual((values["failed_binds"], values["fifo_violations"]), (0, 0))
        self.assertLessEqual(values["api_writes_per_pod"], 4)

    def test_pods_that_differ_go_side_by_side_and_get_what_is_theirs(self):
        values, is_good = self.run_demo("--side-by-side", "--pods", "24", "--nodes", "2")
        self.assertTrue(is_good, values)
        self.assertEqual((values["bound"], values["allocated"], values["failed_binds"]),
                         (24, 24, 0))
        self.assertGreater(values["in_flight_max"], 1)
        self.assertEqual((values["double_serves"], values["cover_violations"]), (0, 0))

    def test_pods_that_differ_take_turns_where_nothing_else_is_asked_for(self):
        self.addCleanup(setattr, simulated, "BESIDE_MOST", simulated.BESIDE_MOST)
        simulated.BESIDE_MOST = 0
        values, is_good = self.run_demo("--side-by-side", "--pods", "12", "--allocate-ms", "10")
        self.assertTrue(is_good, values)
        self.assertEqual((values["bound"], values["in_flight_max"]), (12, 1))

    def test_nodes_do_not_wait_for_each_other(self):
        values, is_good = self.run_demo("--pods", "18", "--nodes", "3", "--allocate-ms", "10")
        self.assertTrue(is_good, values)
        self.assertEqual((values["bound"], values["failed_binds"]), (18, 0))

    def test_an_impatient_scheduler_gets_refusals_and_all_pods_in_the_end(self):
        values, is_good = self.run_demo("--pods", "8", "--allocate-ms", "250", "--patience",
                                        "700ms")
        self.assertTrue(is_good, values)
        self.assertGreater(values["failed_binds"], 0)
        self.assertEqual((values["bound"], values["locks_left"]), (8, 0))

    def test_a_lock_given_up_at_bind_shows_behind_our_own_node_side(self):
        values, is_good = self.run_demo("--broken", "unlock-at-bind", "--pods", "12")
        self.assertTrue(is_good, values)
        self.assertGreater(values["double_holds"], 0)

    def test_a_blind_patch_shows_behind_our_own_node_side(self):
        values, is_good = self.run_demo("--broken", "blind-patch", "--pods", "12")
        self.assertTrue(is_good, values)
        self.assertGreater(values["covered_locks"], 0)


if __name__ == "__main__":
    unittest.main()
