# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of how the ways to send guarded patches are compared."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
for folder in (ROOT, ROOT / "tests"):
    sys.path.insert(0, str(folder))

from bench.parts import transport  # noqa: E402


def _printed(*medians):
    return [{"calls_per_second": 1e6 / one, "median_us": one, "p99_us": 2 * one, "cpu_us": 50}
            for one in medians]


class Transport(unittest.TestCase):
    def setUp(self):
        self.turns = transport.Turns("kubesim", 8, {
            transport.CURL: _printed(100, 200, 400), transport.TRANSPORT: _printed(105, 230, 480)})

    def test_each_turn_is_compared_with_libcurl_in_the_same_turn(self):
        over = self.turns.over_curl(transport.TRANSPORT, "median_us")
        self.assertAlmostEqual(over.median, 1.15)
        self.assertAlmostEqual(over.low, 1.05)

    def test_the_goal_names_server_and_calls_in_flight_and_says_what_a_call_costs(self):
        goal, = transport.goals("server", [self.turns])
        self.assertEqual(goal.name, "transport_over_curl_server_8")
        self.assertTrue(goal.is_met())
        self.assertIn("50 us", goal.stopped_by)

    def test_the_table_has_a_row_for_each_way(self):
        rows = transport.table("x", [self.turns]).rows
        self.assertEqual([row[:2] for row in rows], [["8", "libcurl"], ["8", "transport"]])

    def test_a_peer_that_can_not_be_built_is_left_out(self):
        build = pathlib.Path("/build")
        self.assertNotIn(transport.GO, transport.commands(build, None))
        self.assertIn(transport.GO, transport.commands(build, build / "client-go"))


if __name__ == "__main__":
    unittest.main()
