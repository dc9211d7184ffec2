# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is made of the bursts on the simulated server, of memory and of growth."""

import os
import pathlib
import sys
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tests"))

from bench import simulated  # noqa: E402
from bench.parts import footprint, growth, kubesim  # noqa: E402


def _event(user, verb, received, finished):
    is_write = verb in ("create", "patch")
    return types.SimpleNamespace(user=user, received=received, finished=finished,
                                 is_write=is_write, is_read=verb in ("get", "list"))


def _burst(seconds, pods=100, failed=0, **cpu_us):
    return simulated.Burst(simulated.Size(pods, 10), seconds, 3 * pods, 0, failed, cpu_us)


class Spans(unittest.TestCase):
    def test_a_burst_lasts_from_its_first_call_to_the_answer_to_its_last_write(self):
        found = [_event("admin", "create", 0, 1), _event("hamid", "get", 2, 3),
                 _event("hamid", "patch", 4, 5), _event("nodes", "patch", 6, 8),
                 _event("nodes", "watch", 1, 20)]
        self.assertEqual(simulated.span(found, {"hamid", "nodes"}), (6, 2, 1))

    def test_a_log_without_writes_is_an_error_and_not_an_endless_speed(self):
        with self.assertRaises(RuntimeError):
            simulated.span([_event("hamid", "get", 2, 3)], {"hamid"})

    def test_pods_are_spread_over_the_nodes_in_turn(self):
        self.assertEqual(simulated.names(simulated.Size(3, 2)),
                         [("pod-0", "node-0"), ("pod-1", "node-1"), ("pod-2", "node-0")])

    def test_the_time_of_a_process_grows_by_what_it_computes(self):
        meter = simulated.Meter(me=os.getpid())
        sum(number * number for number in range(2000000))
        spent = meter.spent()["me"]
        self.assertGreater(spent, 1000)
        self.assertLess(spent, 60e6)
        self.assertLess(meter.spent(1000)["me"], meter.spent()["me"] / 100)


class Bursts(unittest.TestCase):
    def test_the_rate_is_pods_by_seconds_and_the_median_of_the_turns(self):
        self.assertEqual(kubesim.rate([_burst(1), _burst(0.5), _burst(2)]).median, 100)

    def test_processors_are_shared_by_the_programs_of_a_burst(self):
        burst = _burst(1, hamid=4000, kubesim=6000)
        self.assertAlmostEqual(kubesim.busy(burst, 2), 0.5)
        told = kubesim.limit([burst], [_burst(0.5)], 2)
        self.assertIn("hamid 4000, kubesim 6000", told)
        self.assertIn("50 % of 2 processors", told)
        self.assertIn("200 /s", told)

    def test_a_row_tells_both_rates_and_their_times_in_the_same_turn(self):
        ours = [_burst(1, hamid=200, kubesim=300)]
        row = kubesim.row(simulated.Size(100, 10), [_burst(0.5, kubesim=250)], ours)
        self.assertEqual(row, ["100 pods on 10 nodes", "100 /s", "200 /s", "2", "3", "0",
                               "200 us", "300 us"])

    def test_quick_bursts_reach_the_largest_size(self):
        self.assertEqual(kubesim.QUICK[-1], simulated.Size(4000, 1000))
        self.assertIn(kubesim.LARGEST, kubesim.ALL)


class Memory(unittest.TestCase):
    def test_bytes_of_a_waiter_are_what_memory_grew_by(self):
        self.assertEqual(footprint.bytes_each(20, 30, 10 * 2**20 / 1000), 1000)

    def test_the_goal_is_about_the_moment_in_which_all_wait(self):
        seen = types.SimpleNamespace(seen=[("a", 1, 0), ("b", 2, None), ("wait", 40, 0.5),
                                           ("c", 60, None)])
        self.assertEqual(footprint.waiting(seen), 40)
        self.assertEqual(footprint.table(seen, 61, 5).rows[2], ["wait", "40.0", "0.50"])


class Growth(unittest.TestCase):
    def test_it_is_the_worst_of_a_larger_size_over_any_smaller_one(self):
        self.assertAlmostEqual(growth.worst([100, 90, 108, 95]), 1.2)

    def test_what_gets_cheaper_has_not_grown(self):
        self.assertEqual(growth.worst([100, 90, 80]), 1.0)

    def test_nothing_measured_is_an_error(self):
        with self.assertRaises(ValueError):
            growth.worst([])

    def test_both_series_reach_from_one_to_the_largest_size_by_steps_of_ten_at_most(self):
        for points, most in ((growth.PODS, 4000), (growth.NODES, 5000)):
            places = [point.place for point in points]
            self.assertEqual((places[0], places[-1]), (1, most))
            for before, after in zip(places, places[1:]):
                self.assertLessEqual(after, 10 * before)

    def test_quick_keeps_both_ends_of_each_series(self):
        self.assertEqual([point.at_once for point in growth.chosen(True)], [1, 10, 100, 4000])
        self.assertEqual(growth.chosen(False), growth.PODS)

    def test_the_explanation_names_each_size_with_its_cost(self):
        found = [(growth.NODES[1], 12), (growth.NODES[0], 11), (growth.PODS[0], 10)]
        self.assertEqual(growth.explain(found, "us"),
                         "pods: 1 10; nodes: 1 11, 10 12 (us a bind)")


if __name__ == "__main__":
    unittest.main()
