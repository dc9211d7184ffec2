# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import types
import unittest

from cluster import burst, go_scheduler, results

GOOD = {"pods": burst.PODS, "bound": burst.PODS, "allocated": burst.PODS,
        **{name: 0 for name in go_scheduler.ZEROS}}
METRICS = ("scheduler_schedule_attempts_total 41\n"
           'hami_nodelock_binds_total{outcome="bound"} 41\n'
           "hami_nodelock_handoffs_total 41\nhami_nodelock_waiters 0\n")


def runs(*makespans, **changes):
    return [{**GOOD, "makespan_seconds": one, **changes} for one in makespans]


class Judging(unittest.TestCase):
    def judge(self, go, hamid, metrics=METRICS):
        self.tally = results.Results()
        last = go_scheduler.GoBurst.__new__(go_scheduler.GoBurst)
        last.metrics = metrics
        self.out = io.StringIO()
        with contextlib.redirect_stdout(self.out):
            return go_scheduler.judge(self.tally, {"go": go, "hamid": hamid}, last, len(go))

    def test_five_good_runs_of_each_are_compared_by_their_medians(self):
        found = self.judge(runs(9, 1.04, 1, 1.06, 9), runs(1, 1, 1, 1, 1))
        self.assertEqual(self.tally.failed, 1)
        self.assertEqual(found["makespan_seconds"], 1.06)
        self.judge(runs(9, 1, 1, 1.05, 9), runs(1, 1, 1, 1, 1))
        self.assertEqual(self.tally.failed, 0, self.out.getvalue())

    def test_a_single_run_is_not_compared(self):
        found = self.judge(runs(9), runs(1))
        self.assertEqual((self.tally.failed, found["makespan_hamid_seconds"]), (0, 1))

    def test_a_failed_bind_in_any_run_of_either_fails(self):
        self.judge(runs(1, failed_binds=1) + runs(1), runs(1, 1))
        self.assertEqual(self.tally.failed, 1)
        self.judge(runs(1, 1), runs(1) + runs(1, bound=burst.PODS - 1))
        self.assertEqual(self.tally.failed, 1)

    def test_pods_that_are_not_bound_or_metrics_that_lack_fail(self):
        found = self.judge(runs(1, 1) + runs(1, bound=3), runs(1, 1, 1))
        self.assertEqual((self.tally.failed, found["bound"]), (1, 3))
        for line in METRICS.splitlines():
            self.judge(runs(1), runs(1), METRICS.replace(line + "\n", ""))
            self.assertEqual(self.tally.failed, 1, line)

    def test_another_version_is_skipped_and_nothing_is_built(self):
        self.tally = results.Results()
        with contextlib.redirect_stdout(io.StringIO()):
            found = go_scheduler.run(self.tally, types.SimpleNamespace(version="1.24.17"), None)
        self.assertIsNone(found)
        self.assertEqual((self.tally.skipped, self.tally.failed), (1, 0))
