# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is read out of log and record of bursts with pods side by side."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
for folder in (ROOT, ROOT / "tests"):
    sys.path.insert(0, str(folder))

from bench import beside, bursts  # noqa: E402
from checker.tests import handmade  # noqa: E402
from cluster import handed, mixed  # noqa: E402


def call(pod, begin_ms, seconds=0.02):
    """An Allocate; the handmade log's moments are milliseconds of the same clock."""
    epoch = handmade.HandmadeLog()
    epoch.create(0, "x")
    begin = epoch.report().events[0].received + begin_ms / 1000
    return handed.Call("gpu-0", pod, f"uid-{pod}", 0, mixed.NVIDIA.resource, 1, begin, seconds,
                       f"uid-{pod}", ("d",), "")


class Figures(unittest.TestCase):
    def setUp(self):
        log = handmade.HandmadeLog()
        log.create(0, "a")
        log.create(1, "b")
        for at, pod in ((10, "a"), (20, "b")):
            log.node(at, {handmade.LOCK: f"t,default,{pod}",
                          handmade.LEASE: f'{{"uid":"uid-{pod}"}}'})
            log.bind(at + 3, pod)
        log.success(50, "a")
        log.success(80, "b")
        self.report = log.report()
        self.calls = [call("a", 30), call("b", 60)]

    def test_the_makespan_is_all_that_the_kubelet_did_and_waited_for(self):
        parts = beside.kubelet_seconds(self.report, self.calls)
        self.assertAlmostEqual(parts["start_seconds"], 0.030, places=4)
        self.assertAlmostEqual(parts["idle_seconds"], 0.010, places=4)
        self.assertAlmostEqual(parts["end_seconds"], 0.001, places=4)

    def test_each_stage_of_a_pod_ends_where_the_next_begins(self):
        found = beside.stages(self.report, self.calls)
        self.assertEqual([round(value) for value in found[beside.WAITING]], [9, 18])
        self.assertEqual([round(value) for value in found[beside.TO_BINDING]], [2, 2])
        self.assertEqual([round(value) for value in found[beside.IN_KUBELET]], [16, 36])
        self.assertEqual([round(value) for value in found[beside.ALLOCATE]], [20, 20])

    def test_pods_of_a_burst_are_of_its_kinds_in_turn(self):
        way = beside.Beside(None, "x", mixed.ONE_VENDOR, beside.MOST)
        counts = [way.pod("x-1", index, "beside-0")["spec"]["containers"][0]["resources"]["limits"]
                  for index in range(4)]
        self.assertEqual(counts, [{"nvidia.com/gpu": count} for count in ("1", "2", "3", "1")])

    def test_one_at_a_time_is_measured_on_a_node_that_never_allows_more(self):
        self.assertNotEqual(beside.Beside(None, "x", mixed.EQUAL, beside.SERIAL).prefix,
                            beside.Beside(None, "x", mixed.EQUAL, 1).prefix)
        self.assertIsInstance(beside.Beside(None, "x", mixed.EQUAL, 1), bursts.Way)


if __name__ == "__main__":
    unittest.main()
