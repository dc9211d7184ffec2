# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Histories of pods side by side, each broken one beside one that differs by what is right."""

import unittest

from checker import calls
from checker.tests.handmade import (AGENT, DEVICES, GPU, LEASE, LOCK, REVOKED, HandmadeLog,
                                    good_burst, lease, lock_value)

ZERO = ("double_holds", "covered_locks", "cover_violations", "double_serves",
        "fence_violations", "fifo_violations", "stuck_pods", "locks_left")


def two_pods(first=1, second=2):
    """A node that allows it and two pods, which ask for so many devices."""
    log = HandmadeLog()
    log.mark(0)
    log.create(1, "pod-1", asks=[{GPU: str(first)}])
    log.create(2, "pod-2", asks=[{GPU: str(second)}])
    return log


def two_in_flight(first=1, second=2):
    log = two_pods(first, second)
    log.take_beside(10, "pod-1", 11, 1, f"{GPU}={first}")
    log.bind(13, "pod-1")
    log.take_beside(16, "pod-2", 12, 2, f"{GPU}={second}")
    log.bind(19, "pod-2")
    return log


def right(first=1, second=2):
    log = two_in_flight(first, second)
    log.success(30, "pod-2", 12)
    log.release_beside(33, 12, 2, cover=1)
    log.success(40, "pod-1", 11)
    log.release_beside(43, 11, 1, cover="gone")
    return log


class Beside(unittest.TestCase):
    def expect(self, log, **expected):
        values = log.figures(ordered=True)
        self.assertEqual({name: values[name] for name in ZERO},
                         {**dict.fromkeys(ZERO, 0), **expected})
        return values

    def test_distinct_pods_may_be_in_flight_at_once(self):
        values = self.expect(right())
        self.assertEqual(values["in_flight_max"], 2)

    def test_without_the_option_one_is_in_flight(self):
        self.assertEqual(good_burst(9).figures()["in_flight_max"], 1)
        self.assertEqual(HandmadeLog().figures()["in_flight_max"], 0)

    # Double holds.
    def test_pods_with_a_common_call_are_a_double_hold_whatever_their_leases_say(self):
        log = two_pods(2, 2)
        log.take_beside(10, "pod-1", 11, 1, f"{GPU}=1")
        log.bind(13, "pod-1")
        log.take_beside(16, "pod-2", 12, 2, f"{GPU}=2")
        log.bind(19, "pod-2")
        log.success(30, "pod-2", 12)
        log.release_beside(33, 12, 2, cover=1)
        log.success(40, "pod-1", 11)
        log.release_beside(43, 11, 1, cover="gone")
        self.expect(log, double_holds=1)

    def test_a_call_of_any_container_counts(self):
        for asks, expected in (([{GPU: "1"}, {GPU: "3"}], 0), ([{GPU: "3"}, {GPU: "2"}], 1)):
            log = HandmadeLog()
            log.mark(0)
            log.create(1, "pod-1", asks=asks)
            log.create(2, "pod-2", asks=[{GPU: 2, "nvidia.com/gpumem": "1000"}])
            log.take_beside(10, "pod-1", 11, 1)
            log.bind(13, "pod-1")
            log.take_beside(16, "pod-2", 12, 2)
            log.bind(19, "pod-2")
            self.assertEqual(log.figures()["double_holds"], expected)

    def test_a_pod_whose_spec_is_not_known_is_beside_nobody(self):
        log = HandmadeLog()
        log.mark(0)
        log.create(1, "pod-1", asks=[{GPU: "1"}])
        log.create(2, "pod-2")
        log.take_beside(10, "pod-1", 11, 1)
        log.bind(13, "pod-1")
        log.take_beside(16, "pod-2", 12, 2, f"{GPU}=2")
        log.bind(19, "pod-2")
        self.assertEqual(log.figures()["double_holds"], 1)

    def test_a_pod_taken_in_the_cover_alone_is_beside_nobody(self):
        log = two_pods()
        log.take_beside(10, "pod-1", 11, 1)
        log.bind(13, "pod-1")
        log.take(16, "pod-2", 12)
        log.bind(19, "pod-2")
        log.success(30, "pod-2", 12)
        log.release(33, 12)
        log.success(40, "pod-1", 11)
        log.release_beside(43, 11, 1)
        self.expect(log, double_holds=1, covered_locks=1, cover_violations=1)

    def test_nobody_comes_beside_a_pod_that_was_taken_in_the_cover_alone(self):
        log = two_pods()
        log.take(10, "pod-1", 11)
        log.bind(13, "pod-1")
        log.take_beside(16, "pod-2", 12, 2, f"{GPU}=2")
        log.bind(19, "pod-2")
        values = log.figures()
        self.assertEqual((values["double_holds"], values["covered_locks"]), (1, 1))

    def test_a_permit_without_calls_in_its_lease_is_beside_nobody(self):
        log = two_in_flight()
        value = lock_value("pod-3")
        log.create(20, "pod-3", asks=[{GPU: "3"}])
        log.node(22, {LOCK + ".3": value, LEASE + ".3": lease(value, "uid-pod-3", 13)})
        log.bind(25, "pod-3")
        self.assertEqual(log.figures()["double_holds"], 1)

    def test_the_taking_alone_counts_where_the_other_waits(self):
        log = two_pods(1, 1)
        log.take_beside(10, "pod-1", 11, 1)
        log.bind(13, "pod-1")
        log.take_beside(16, "pod-2", 12, 2)
        self.assertEqual(log.figures()["double_holds"], 1)

    # Covered locks.
    def test_a_permit_taken_from_an_owner_that_waits_is_a_covered_lock(self):
        log = two_pods()
        log.take_beside(10, "pod-1", 11, 1)
        log.bind(13, "pod-1")
        log.take_beside(16, "pod-2", 12, 1, f"{GPU}=2")
        self.assertEqual(log.figures()["covered_locks"], 1)

    def test_a_permit_whose_owner_is_done_may_be_taken(self):
        log = two_pods(1, 1)
        log.take_beside(10, "pod-1", 11, 1)
        log.bind(13, "pod-1")
        log.success(20, "pod-1", 11)
        log.take_beside(23, "pod-2", 12, 1)
        log.bind(26, "pod-2")
        log.success(36, "pod-2", 12)
        log.release_beside(39, 12, 1, cover="gone")
        self.expect(log)

    # The cover.
    def test_a_take_that_leaves_the_cover_out_is_a_violation(self):
        log = two_pods()
        log.take_beside(10, "pod-1", 11, 1, cover=False)
        self.assertEqual(log.figures()["cover_violations"], 1)

    def test_a_take_beside_that_does_not_change_the_cover_is_one_too(self):
        log = two_pods()
        log.take_beside(10, "pod-1", 11, 1)
        log.take_beside(16, "pod-2", 12, 2, f"{GPU}=2", cover=False)
        self.assertEqual(log.figures()["cover_violations"], 1)

    def test_a_cover_that_is_removed_while_a_permit_is_needed_is_a_violation(self):
        log = two_in_flight()
        log.success(30, "pod-2", 12)
        log.release_beside(33, 12, 2, cover="gone")
        self.assertEqual(log.figures()["cover_violations"], 1)

    def test_a_cover_that_stays_a_copy_of_what_was_released_is_a_violation(self):
        log = two_in_flight()
        log.success(30, "pod-2", 12)
        log.release_beside(33, 12, 2)
        self.assertEqual(log.figures()["cover_violations"], 1)

    def test_the_copy_has_to_be_that_of_the_highest_fence(self):
        for copied, expected in ((1, 1), (2, 0)):
            log = two_in_flight()
            log.create(20, "pod-3", asks=[{GPU: "3"}])
            log.take_beside(22, "pod-3", 13, 3, f"{GPU}=3")
            log.bind(25, "pod-3")
            log.success(30, "pod-3", 13)
            log.release_beside(33, 13, 3, cover=copied)
            self.assertEqual(log.figures()["cover_violations"], expected, copied)

    def test_a_release_where_the_cover_is_anothers_leaves_it(self):
        log = two_in_flight()
        log.success(30, "pod-1", 11)
        log.release_beside(33, 11, 1)
        log.success(40, "pod-2", 12)
        log.release_beside(43, 12, 2, cover="gone")
        self.expect(log)

    def test_a_permit_that_nobody_needs_any_more_needs_no_cover(self):
        for revoked, expected in ((True, 0), (False, 1)):
            log = two_pods()
            log.take_beside(10, "pod-1", 11, 1)
            if revoked:
                log.pod_patch(12, "pod-1", {REVOKED: "gpu-0,11,host_2,1"})
            log.take(16, "pod-2", 12)
            self.assertEqual(log.figures()["cover_violations"], expected)

    def test_what_others_do_to_the_cover_is_no_fault_of_ours_until_we_take(self):
        log = two_in_flight()
        log.node(25, {LOCK: None, LEASE: None}, user="admin")
        self.assertEqual(log.figures()["cover_violations"], 0)
        log.success(30, "pod-1", 11)
        log.release_beside(33, 11, 1)
        self.assertEqual(log.figures()["cover_violations"], 0)
        log.create(34, "pod-3", asks=[{GPU: "3"}])
        log.take_beside(36, "pod-3", 13, 1, f"{GPU}=3", cover=False)
        self.assertEqual(log.figures()["cover_violations"], 1)

    def test_a_take_that_the_log_lacks_is_not_laid_to_the_next_writer(self):
        for has_cover, expected in ((True, 0), (False, 1)):
            log = two_pods()
            log.create(3, "pod-3", asks=[{GPU: "3"}])
            log.take_beside(10, "pod-1", 11, 1)
            log.take_beside(16, "pod-2", 12, 2, f"{GPU}=2")
            del log.lines[-1]  # its caller was killed before the answer
            log.take_beside(20, "pod-3", 13, 3, f"{GPU}=3", cover=has_cover)
            self.assertEqual(log.figures()["cover_violations"], expected)

    def test_a_take_beside_on_a_node_that_does_not_say_so_is_a_violation(self):
        for mark in ("1,free=scheduler", "1,free=node", "1,free=scheduler,side-by-sides"):
            log = two_pods()
            log.node(5, {AGENT: mark}, user="hamid-node")
            log.take_beside(10, "pod-1", 11, 1)
            self.assertEqual(log.figures()["cover_violations"], 1, mark)

    # Fences.
    def test_a_fence_has_to_be_above_those_of_all_permits(self):
        for fence, expected in ((11, 1), (12, 1), (13, 0)):
            log = two_in_flight()
            log.success(30, "pod-2", 12)
            log.release_beside(33, 12, 2, cover=1)
            log.create(34, "pod-3", asks=[{GPU: "3"}])
            log.take_beside(36, "pod-3", fence, 3, f"{GPU}=3")
            self.assertEqual(log.figures()["fence_violations"], expected, fence)

    def test_an_exclusive_take_has_to_be_above_those_of_all_permits(self):
        for fence, expected in ((12, 1), (13, 0)):
            log = right()
            log.create(50, "pod-3")
            log.take(56, "pod-3", fence)
            self.assertEqual(log.figures()["fence_violations"], expected, fence)

    def test_the_highest_fence_must_not_be_forgotten_everywhere(self):
        for fence, expected in ((3, 1), (12, 0)):
            log = two_in_flight()
            log.success(30, "pod-2", 12)
            log.release_beside(33, fence, 2, cover=1)
            self.assertEqual(log.figures()["fence_violations"], expected, fence)

    # Order.
    def test_distinct_pods_may_be_bound_in_any_order_and_others_not(self):
        for first, expected in ((1, 0), (2, 1)):
            log = two_pods(first, 2)
            log.take_beside(10, "pod-2", 11, 1, f"{GPU}=2")
            log.bind(13, "pod-2")
            log.success(20, "pod-2", 11)
            log.release_beside(23, 11, 1, cover="gone")
            log.take_beside(26, "pod-1", 12, 1, f"{GPU}={first}")
            log.bind(29, "pod-1")
            log.success(40, "pod-1", 12)
            log.release_beside(43, 12, 1, cover="gone")
            self.expect(log, fifo_violations=expected)

    def test_a_distinct_pod_between_two_equal_ones_hides_nothing(self):
        log = two_pods(1, 2)
        log.create(3, "pod-3", asks=[{GPU: "1"}])
        for place, (pod, count) in enumerate((("pod-3", 1), ("pod-2", 2), ("pod-1", 1))):
            at = 10 + 40 * place
            log.take_beside(at, pod, 11 + place, 1, f"{GPU}={count}")
            log.bind(at + 3, pod)
            log.success(at + 13, pod, 11 + place)
            log.release_beside(at + 16, 11 + place, 1, cover="gone")
        self.expect(log, fifo_violations=1)

    # Serves.
    def test_a_pod_that_is_served_under_anothers_fence_is_a_double_serve(self):
        log = two_in_flight()
        log.success(30, "pod-2", 11)
        self.assertEqual(log.figures()["double_serves"], 1)

    def test_a_pod_that_is_served_before_it_is_bound_is_a_double_serve(self):
        log = two_pods()
        log.take_beside(10, "pod-1", 11, 1)
        log.success(12, "pod-1", 11)
        log.bind(15, "pod-1")
        self.assertEqual(log.figures()["double_serves"], 1)

    def test_a_pod_that_is_given_other_devices_is_a_double_serve(self):
        for user, chosen, expected in (("hamid-node", "GPU-2", 1), ("hamid-node", "GPU-1", 0),
                                       ("other-plugin", "GPU-2", 0)):
            log = HandmadeLog()
            log.create(1, "pod-1", annotations={DEVICES: "GPU-1"})
            log.take(10, "pod-1", 11)
            log.bind(13, "pod-1")
            log.pod_patch(20, "pod-1", {DEVICES: chosen}, user=user)
            log.success(30, "pod-1", 11)
            self.assertEqual(log.figures()["double_serves"], expected, user)


class Calls(unittest.TestCase):
    def test_a_call_is_what_one_container_asks_of_one_device(self):
        spec = {"containers": [{"resources": {"limits": {GPU: "2", "cpu": "1"}}},
                               {"resources": {"requests": {GPU: 1, "nvidia.com/gpucores": 30}}},
                               {}],
                "initContainers": [{"resources": {"limits": {"hygon.com/dcunum": "4"}}}]}
        self.assertEqual(calls.of_spec(spec), {(GPU, 2), (GPU, 1), ("hygon.com/dcunum", 4)})
        self.assertEqual(calls.of_spec(spec, ("hygon.com/dcunum",)), {("hygon.com/dcunum", 4)})

    def test_what_can_not_be_counted_is_not_known(self):
        for spec in (None, {}, {"containers": [{"resources": {"limits": {GPU: "1k"}}}]}):
            self.assertIsNone(calls.of_spec(spec))
        self.assertFalse(calls.are_distinct(None, frozenset()))


if __name__ == "__main__":
    unittest.main()
