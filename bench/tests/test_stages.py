# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of what is read out of the audit log for the bursts."""

import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
for folder in (ROOT, ROOT / "tests"):
    sys.path.insert(0, str(folder))

from bench import bursts, references, stages  # noqa: E402
from bench.parts import burst  # noqa: E402
from checker import events  # noqa: E402


def _stamp(milliseconds):
    return f"2026-01-01T00:00:00.{milliseconds:03d}000Z"


def _line(begin, end, user, verb, resource, name="", sub="", request=None, response=None):
    return json.dumps({
        "auditID": f"{begin}-{end}-{verb}-{resource}", "verb": verb, "stage": "ResponseComplete",
        "user": {"username": user}, "responseStatus": {"code": 200},
        "objectRef": {"resource": resource, "subresource": sub, "namespace": "default",
                      "name": name},
        "requestObject": request, "responseObject": response,
        "requestReceivedTimestamp": _stamp(begin), "stageTimestamp": _stamp(end)})


def _pod_lines(name, begin, user="hamid-scheduler", node_user="hamid-node"):
    """lock 3 ms, 1 ms pause, Binding 2 ms, 4 ms pause, reads 2 ms, Allocate 20 ms, success 3 ms"""
    meta = {"kind": "Pod", "metadata": {"uid": "uid-" + name, "name": name}}
    done = [{"op": "add", "path": "/metadata/annotations/hami.io~1mutex.done", "value": "1"}]
    yield _line(begin, begin + 3, user, "patch", "nodes", "gpu-0", request=[])
    yield _line(begin + 4, begin + 6, user, "create", "pods", name, "binding", request={
        "metadata": {"uid": "uid-" + name}, "target": {"name": "gpu-0"}})
    yield _line(begin + 10, begin + 11, node_user, "get", "nodes", "gpu-0")
    yield _line(begin + 10, begin + 12, node_user, "list", "pods")
    yield _line(begin + 32, begin + 35, node_user, "patch", "pods", name, request=done,
                response=meta)


class Stages(unittest.TestCase):
    def setUp(self):
        self.events = events.read([*_pod_lines("burst-1-0", 100), *_pod_lines("burst-1-1", 142),
                                   _line(300, 301, "kube-scheduler", "get", "nodes", "gpu-0")])

    def test_each_stage_ends_where_the_next_begins(self):
        found = stages.stages(self.events, "burst-1", "hamid")
        expected = {stages.LOCK: 3, stages.TO_BINDING: 1, stages.BINDING: 2, stages.TO_READS: 4,
                    stages.READS: 2, stages.ALLOCATE: 20, stages.SUCCESS: 3}
        for name, milliseconds in expected.items():
            self.assertEqual([round(value, 3) for value in found[name]], [milliseconds] * 2, name)
        self.assertEqual([round(value, 3) for value in found[stages.TO_NEXT]], [7])

    def test_all_stages_together_make_the_makespan(self):
        found = stages.stages(self.events, "burst-1", "hamid")
        self.assertAlmostEqual(sum(sum(values) for values in found.values()), 77, places=3)

    def test_without_reads_the_allocate_follows_the_binding(self):
        without = [event for event in self.events if not event.is_read]
        found = stages.stages(without, "burst-1", "hamid")
        self.assertEqual([round(value, 3) for value in found[stages.ALLOCATE]], [26, 26])
        self.assertEqual([round(value, 3) for value in found[stages.READS]], [0, 0])

    def test_pods_of_other_bursts_are_left_out(self):
        self.assertFalse(any(stages.stages(self.events, "burst-2", "hamid").values()))


class Bursts(unittest.TestCase):
    def test_calls_are_counted_by_user_within_the_burst(self):
        found = events.read(_pod_lines("burst-1-0", 100))
        begin = found[0].received
        calls = bursts.split_calls(found, begin, begin + 0.0105)
        self.assertEqual(calls, {"hamid-scheduler": (2, 0), "hamid-node": (0, 2)})

    def test_a_pod_is_over_when_served_or_refused(self):
        served = bursts.pod("a", 1, "gpu-0", "nobody")
        self.assertFalse(bursts.is_over(served))
        served["metadata"]["annotations"]["hami.io/bind-phase"] = "success"
        self.assertTrue(bursts.is_over(served))
        self.assertTrue(bursts.is_over({"metadata": {}, "status": {"phase": "Failed"}}))

    def test_a_pod_that_runs_is_over_though_a_second_bind_put_its_phase_back(self):
        again = bursts.pod("a", 1, "gpu-0", "nobody")
        again["metadata"]["annotations"]["hami.io/bind-phase"] = "allocating"
        again["status"] = {"phase": "Running"}
        self.assertTrue(bursts.is_over(again))

    def test_a_pod_asks_for_a_device_of_its_node(self):
        made = bursts.pod("a", 7, "gpu-3", "nobody")
        self.assertEqual(made["spec"]["nodeSelector"], {"kubernetes.io/hostname": "gpu-3"})
        self.assertEqual(made["metadata"]["annotations"]["hami.io/vgpu-node"], "gpu-3")
        self.assertEqual(made["spec"]["containers"][0]["resources"]["limits"],
                         {"nvidia.com/gpu": "1"})


class Peers(unittest.TestCase):
    def test_a_reference_is_close_within_fifteen_percent_of_what_was_measured(self):
        kind = references.Kind("x", "", (200, 240))
        self.assertTrue(kind.is_close(171) and kind.is_close(275))
        self.assertFalse(kind.is_close(169) or kind.is_close(277))

    def test_the_deviation_is_from_the_middle_of_what_was_measured(self):
        kind = references.Kind("x", "", (200, 240))
        self.assertAlmostEqual(kind.deviation(242), 0.1)
        self.assertAlmostEqual(kind.deviation(198), -0.1)

    def test_a_row_tells_the_reference_and_hami_side_by_side(self):
        outcome = bursts.Outcome("", burst.MAIN, 6.03, {"allocated": 40}, {}, {}, {
            "refused": 0, "calls": {"extender": 2400, "all": 2800}})
        row = burst.reference_row(references.POLLING, [outcome])
        self.assertEqual(row[2:], ["6.03 s", "6.7 s", "-10 %", "yes", "0 (HAMi 0)",
                                   "60 (HAMi 58)", "70", "40 of 40"])

    def test_calls_are_counted_for_the_extender_and_for_all(self):
        found = events.read([_line(1, 2, "reference-extender", "get", "nodes", "n"),
                             _line(3, 4, "reference-plugin", "get", "nodes", "n"),
                             _line(5, 6, "system:kube-scheduler", "patch", "pods", "p"),
                             _line(7, 8, "admin", "get", "nodes", "n")])
        self.assertEqual(references.count_calls(found), {"extender": 1, "all": 3})

    def test_refused_binds_are_counted_by_the_events_of_the_reference(self):
        def line(index, user, reason):
            return _line(index, index + 1, user, "create", "events", f"e{index}",
                         request={"reason": reason})

        found = events.read([line(1, "reference-extender", "BindingFailed"),
                             line(3, "reference-extender", "BindingSucceed"),
                             line(5, "kube-scheduler", "BindingFailed"),
                             line(7, "reference-extender", "BindingFailed")])
        self.assertEqual(references.count_refused(found), 2)

    def test_calls_a_pod_are_those_of_hamids_roles_within_the_makespan(self):
        outcome = bursts.Outcome("", bursts.Size(10, 1), 1.0, {}, {
            "hamid-scheduler": (20, 1), "hamid-node": (10, 20), "admin": (10, 3)})
        self.assertEqual(burst.calls_per_pod([outcome], 0), [3.0])
        self.assertEqual(burst.calls_per_pod([outcome], 1), [2.1])

    def test_a_speedup_is_theirs_over_each_of_our_turns(self):
        goal = burst.speedup(references.LIMITED, [240.0], [2.0, 3.0, 2.4])
        self.assertEqual((goal.name, goal.limit), ("speedup_over_reference", 100))
        self.assertAlmostEqual(goal.figure.median, 100)
        self.assertTrue(goal.is_met())
        self.assertFalse(burst.speedup(references.LIMITED, [90.0], [1.0, 2.0]).is_met())

    def test_calls_of_others_leave_out_our_own_and_the_creators(self):
        calls = {"admin": (40, 9), "hamid-node": (40, 80), "kubelet": (2, 0)}
        told = burst.others([bursts.Outcome("", bursts.Size(2, 1), 1.0, {}, calls)])
        self.assertEqual(told, "calls of others meanwhile, a pod: kubelet 1.00")

    def test_the_stages_say_where_time_beyond_the_floor_goes(self):
        def outcomes(more):
            return [bursts.Outcome("", burst.MAIN, 1.0, {}, {}, {
                name: [1.0 + (more if name == stages.TO_NEXT else 0)] for name in stages.NAMES})]

        table, told = burst.stage_table({"hamid": outcomes(2.5), "floor": outcomes(0)})
        self.assertIn([stages.TO_NEXT, "3.50", "1.00"], table.rows)
        self.assertEqual(told, f"ms a pod beyond the floor: {stages.TO_NEXT} +2.50")


if __name__ == "__main__":
    unittest.main()
