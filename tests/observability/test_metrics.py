# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What the daemons count, by what happens to them."""

import time
import unittest

from observability import worlds
from observability.worlds import peers

LABELS = {"version", "role", "outcome", "proof", "reason", "verb", "code", "le", "listener",
          "verdict", "resource", "cause", "kind"}
CALLS_MAX = 7 * 18  # verbs and codes


class Scheduler(unittest.TestCase):
    """hamid scheduler."""

    flags = ()

    def setUp(self):
        self.world = self.enterContext(worlds.Scheduler(*self.flags))

    def bind_and_hold(self, name):
        self.world.bind(name)
        self.assertEqual(self.world.until_answered(name), "")

    def test_that_the_queue_is_as_long_as_binds_wait(self):
        self.assertEqual(self.world.value("hamid_lock_waiters"), 0)
        for name in "abc":
            self.world.bind_and_wait(name)
        self.world.until_answered("a")
        self.assertEqual(self.world.value("hamid_lock_waiters"), 2)
        self.assertEqual(self.world.value("hamid_binds_in_flight"), 2)
        self.world.release()
        self.world.until_answered("b")
        self.assertEqual(self.world.value("hamid_lock_waiters"), 1)
        self.world.release()

    def test_that_waits_and_holds_are_as_long_as_they_were(self):
        self.bind_and_hold("a")
        self.world.bind_and_wait("b")
        begin = time.monotonic()
        peers.wait_for(lambda: time.monotonic() - begin > 0.3)
        self.world.release()
        self.world.until_answered("b")
        found = self.world.metrics()
        self.assertEqual(found.value("hamid_lock_hold_seconds_count"), 1)
        self.assertGreaterEqual(found.value("hamid_lock_hold_seconds_sum"), 0.3)
        self.assertEqual(found.value("hamid_lock_hold_seconds_bucket", le="0.25"), 0)
        self.assertEqual(found.value("hamid_lock_wait_seconds_count"), 2)
        self.assertGreaterEqual(found.value("hamid_lock_wait_seconds_sum"), 0.3)
        self.assertEqual(found.value("hamid_lock_wait_seconds_bucket", le="0.25"), 1)
        self.assertEqual(found.value("hamid_bind_duration_seconds_count"), 2)
        self.world.release()
        self.world.until("hamid_lock_hold_seconds_count", 2)

    def test_that_a_hand_over_in_one_write_is_counted(self):
        self.world.fault(verb="create", subresource="binding", name="a", count=1,
                         action="status", status=403, delay_before_ms=500)
        self.world.bind("a")
        self.world.until("hamid_lock_acquire_total", 1, outcome="granted")
        self.world.bind_and_wait("b")
        self.assertIn("could not bind", self.world.until_answered("a"))
        self.assertEqual(self.world.until_answered("b"), "")
        found = self.world.metrics()
        self.assertEqual(found.value("hamid_lock_hand_overs_total"), 1)
        self.assertEqual(found.value("hamid_lock_releases_total"), 1)
        self.assertEqual(found.value("hamid_lock_handoffs_total"), 1)
        self.assertEqual(found.value("hamid_binds_total", outcome="bound"), 1)
        self.assertEqual(found.value("hamid_binds_total", outcome="error"), 1)
        self.assertEqual(found.value("hamid_transport_requests_total", verb="create", code="403"),
                         1)

    def test_that_a_takeover_is_counted_by_its_proof(self):
        self.world.set_lock("2026-01-02T03:04:05Z,default,gone")
        self.bind_and_hold("a")
        found = self.world.metrics()
        self.assertEqual(found.value("hamid_lock_takeovers_total", proof="gone"), 1)
        self.assertEqual(sum(count for (name, _), count in found.samples.items()
                             if name == "hamid_lock_takeovers_total"), 1)

    def test_that_a_write_without_an_answer_is_counted_as_in_doubt(self):
        self.world.fault(verb="patch", resource="nodes", count=1, action="drop_after")
        self.bind_and_hold("a")
        found = self.world.metrics()
        self.assertEqual(found.value("hamid_lock_in_doubt_total"), 1)
        self.assertEqual(found.value("hamid_transport_requests_total", verb="patch", code="none"),
                         1)

    def test_that_calls_are_counted_by_verb_and_code_and_timed(self):
        self.world.fault(verb="create", subresource="binding", count=1, delay_before_ms=400)
        self.bind_and_hold("a")
        found = self.world.metrics()
        self.assertEqual(found.value("hamid_transport_requests_total", verb="create", code="201"),
                         1)
        self.assertEqual(found.value("hamid_transport_requests_total", verb="patch", code="200"), 1)
        duration = "hamid_transport_request_duration_seconds"
        self.assertEqual(found.value(duration + "_count", verb="create"), 1)
        self.assertGreaterEqual(found.value(duration + "_sum", verb="create"), 0.35)
        self.assertEqual(found.value(duration + "_bucket", verb="create", le="0.25"), 0)

    def test_that_the_lag_of_a_watch_that_is_held_back_is_seen(self):
        self.world.switch("pause")
        self.bind_and_hold("a")
        begin = time.monotonic()
        peers.wait_for(lambda: time.monotonic() - begin > 0.3)
        self.assertEqual(self.world.value("hamid_watch_lag_seconds_count"), 0)
        self.world.switch("resume")
        self.world.until("hamid_watch_lag_seconds_count", 1)
        found = self.world.metrics()
        self.assertGreaterEqual(found.value("hamid_watch_lag_seconds_sum"), 0.3)
        self.assertEqual(found.value("hamid_watch_lag_seconds_bucket", le="0.25"), 0)

    def test_that_no_label_grows_with_the_cluster(self):
        self.bind_and_hold("first")
        self.world.release()
        before = self.world.metrics()
        for index in range(12):
            self.world.bind(f"p{index}", f"gpu-{index % 2}")
            self.assertEqual(self.world.until_answered(f"p{index}"), "")
            self.world.release(f"gpu-{index % 2}")
        after = self.world.metrics()
        self.assertLessEqual(after.label_names(), LABELS)
        self.assertLessEqual(len(after.samples) - len(before.samples), 4)  # calls of new kinds
        calls = [name for name, _ in after.samples if name == "hamid_transport_requests_total"]
        self.assertLessEqual(len(calls), CALLS_MAX)


class Stalled(unittest.TestCase):
    """hamid scheduler that waits for no holder which stands still."""

    def test_that_refusals_are_counted_by_reason(self):
        world = self.enterContext(worlds.Scheduler("--stall-limit=300ms"))
        world.bind("a")
        self.assertEqual(world.until_answered("a"), "")
        world.bind("b")
        self.assertIn("without progress", world.until_answered("b"))
        found = world.metrics()
        self.assertEqual(found.value("hamid_lock_refusals_total", reason="stalled"), 1)
        self.assertEqual(found.value("hamid_lock_refusals_total", reason="queue_full"), 0)
        self.assertEqual(found.value("hamid_binds_total", outcome="contention"), 1)


class Node(unittest.TestCase):
    """hamid node."""

    def test_that_allocations_and_calls_are_counted(self):
        world = self.enterContext(worlds.Node())
        world.add_pod("a")
        status, _, answer = world.ask("POST", "/v1/allocations", worlds.agents.question())
        self.assertEqual(status, 200, answer)
        found = world.metrics()
        self.assertEqual(found.value("hamid_node_allocations_total", outcome="served"), 1)
        self.assertEqual(found.value("hamid_node_allocations_open"), 1)
        self.assertEqual(found.value("hamid_ready"), 1)
        self.assertGreaterEqual(
            found.value("hamid_transport_requests_total", verb="list", code="200"), 1)
        self.assertGreaterEqual(
            found.value("hamid_transport_requests_total", verb="get", code="200"), 1)
        self.assertLessEqual(found.label_names(), LABELS)
