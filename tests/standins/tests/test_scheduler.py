# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""standin-scheduler behaves towards a binder as kube-scheduler does."""

import threading
import unittest

from tests import peers


class Scheduler(unittest.TestCase):
    """Each test has an API server and a binder of its own."""

    def setUp(self):
        self.server = peers.Server()
        self.addCleanup(self.server.close)
        self.over = threading.Event()
        self.addCleanup(self.over.set)

    def run_with(self, decide, *words):
        binder = peers.Binder(decide)
        try:
            code, lines = peers.schedule(self.server, binder, *words)
        finally:
            self.over.set()
            binder.close()
        return code, lines, binder

    def bind_and_serve(self, call, _number=1):
        self.server.bind(call)
        self.server.serve(call)
        return ""

    def writes(self, **wanted):
        return [event for event in self.server.log()
                if all(event["objectRef"].get(key, "") == value
                       for key, value in wanted.items())
                and event["verb"] in ("create", "patch") and event["userAgent"] != "test"]

    def test_asks_once_for_each_pod_in_order_and_never_waits_for_an_answer(self):
        everybody = threading.Barrier(12)

        def decide(call, _number):
            everybody.wait(peers.PATIENCE)
            return self.bind_and_serve(call)

        code, lines, binder = self.run_with(decide, "--pods", "12", "--nodes", "gpu-0")
        self.assertEqual(code, 0)
        names = [f"burst-{number:04d}" for number in range(1, 13)]
        # As they were sent: the binder's threads may note them in another order.
        self.assertEqual([line["pod"] for line in lines if line["event"] == "sent"], names)
        self.assertEqual(sorted(call["PodName"] for call in binder.calls), names)
        self.assertEqual(lines[-1]["event"], "finished")
        self.assertEqual((lines[-1]["bound"], lines[-1]["allocated"]), (12, 12))
        # On a busy computer calls may bunch up after a pause; on the whole they are 5 ms apart.
        self.assertGreater(binder.moments[-1] - binder.moments[0], 0.05)

    def test_a_refused_bind_is_noted_as_kube_scheduler_does_and_asked_again(self):
        def decide(call, number):
            return "not now" if number == 1 else self.bind_and_serve(call)

        code, lines, binder = self.run_with(decide, "--pods", "1", "--nodes", "gpu-0")
        self.assertEqual(code, 0)
        self.assertEqual(len(binder.calls), 2)
        self.assertGreater(binder.moments[1] - binder.moments[0], 0.99)
        self.assertEqual(lines[-1]["failed_binds"], 1)
        self.assertIn("not now", [line.get("text") for line in lines])
        writes = self.writes(resource="pods")
        condition = writes[1]["requestObject"]["status"]["conditions"][0]
        self.assertEqual(writes[1]["objectRef"]["subresource"], "status")
        self.assertEqual((condition["type"], condition["status"], condition["reason"]),
                         ("PodScheduled", "False", "SchedulerError"))
        # The filter runs again and writes its annotations anew before the second call.
        self.assertIn("hami.io/vgpu-node",
                      writes[2]["requestObject"]["metadata"]["annotations"])

    def test_a_failed_bind_leaves_an_event(self):
        def decide(call, number):
            return "not now" if number == 1 else self.bind_and_serve(call)

        self.run_with(decide, "--pods", "1", "--nodes", "gpu-0")
        events = self.writes(resource="events")
        self.assertEqual(events[0]["responseStatus"]["code"], 201)
        self.assertEqual(events[0]["objectRef"]["name"][:10], "burst-0001")

    def test_a_bind_that_takes_too_long_has_failed_though_the_pod_is_bound(self):
        def decide(call, _number):
            self.server.bind(call)
            self.over.wait(peers.PATIENCE)
            return ""

        code, lines, binder = self.run_with(
            decide, "--pods", "1", "--nodes", "gpu-0", "--patience", "300ms",
            "--stuck-after", "1500ms")
        # Its own copy has a node by then: it is not put back, so there is no second call.
        self.assertEqual(len(binder.calls), 1)
        self.assertEqual(lines[-1]["failed_binds"], 1)
        self.assertEqual((code, lines[-1]["event"]), (3, "stuck"))

    def test_nodes_take_turns_and_each_keeps_its_order(self):
        code, lines, binder = self.run_with(self.bind_and_serve, "--pods", "8", "--nodes",
                                            "gpu-0", "gpu-1")
        self.assertEqual(code, 0)
        self.assertEqual(len(binder.calls), 8)
        for place, node in enumerate(peers.NODES):
            names = [line["pod"] for line in lines
                     if line["event"] == "sent" and line["node"] == node]
            self.assertEqual(names, [f"burst-{number:04d}"
                                     for number in range(place + 1, 9, 2)])

    def test_a_binder_that_is_not_there_is_a_failed_bind(self):
        def decide(call, _number):
            raise AssertionError(call)

        binder = peers.Binder(decide)
        binder.close()
        code, lines = peers.schedule(self.server, binder, "--pods", "1", "--nodes", "gpu-0",
                                     "--stuck-after", "500ms")
        self.assertEqual(code, 3)
        self.assertEqual(lines[-1]["failed_binds"], 1)

    def test_a_pod_that_failed_on_its_node_ends_the_wait_for_it(self):
        def decide(call, _number):
            self.server.bind(call)
            self.server.request(
                "PATCH", f"/api/v1/namespaces/default/pods/{call['PodName']}/status",
                {"status": {"phase": "Failed"}}, "application/merge-patch+json")
            return ""

        code, lines, _ = self.run_with(decide, "--pods", "1", "--nodes", "gpu-0")
        self.assertEqual((code, lines[-1]["event"]), (3, "finished"))
        self.assertEqual(lines[-1]["ended"], 1)


if __name__ == "__main__":
    unittest.main()
