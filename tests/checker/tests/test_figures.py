# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
import unittest

from checker.tests.handmade import (DONE, LEASE, LOCK, PHASE, HandmadeLog, good_burst, lease,
                                    lock_value)


class GoodBurst(unittest.TestCase):
    def test_a_burst_without_faults_has_no_fault_figure(self):
        values = good_burst(40).figures(ordered=True, allocate_ms=20)
        for name in ("bound_twice", "lost", "failed_binds", "fifo_violations", "double_holds", "covered_locks",
                     "stuck_pods", "locks_left", "conflicts_409", "refused_422",
                     "fence_violations", "watches"):
            self.assertEqual(values[name], 0, name)
        self.assertEqual((values["pods"], values["bound"], values["allocated"]), (40, 40, 40))

    def test_a_burst_told_by_sequence_numbers_gives_the_same_figures(self):
        self.assertEqual(good_burst(5, sequence=True).figures(ordered=True),
                         good_burst(5).figures(ordered=True))

    def test_calls_are_split_into_writes_and_reads_per_pod(self):
        log = good_burst(2)
        log.request(105, "get", "nodes", "gpu-0")
        values = log.figures()
        self.assertEqual(values["api_writes_per_pod"], 4)
        self.assertEqual(values["api_reads_per_pod"], 0.5)
        self.assertEqual(values["api_calls_per_pod"], 4.5)

    def test_makespan_runs_from_the_first_creation_to_the_last_success(self):
        values = good_burst(3).figures(allocate_ms=20)
        self.assertEqual(values["makespan_seconds"], 0.156)
        self.assertEqual(values["makespan_over_serial"], 2.6)

    def test_serial_time_is_that_of_the_busiest_node(self):
        log = HandmadeLog()
        for index, node in enumerate(["a", "a", "a", "b"]):
            log.create(0, f"pod-{index}")
            log.serve(20 * index, f"pod-{index}", index + 1, node)
        values = log.figures(allocate_ms=10)
        self.assertEqual(values["makespan_over_serial"],
                         round(values["makespan_seconds"] / 0.03, 3))

    def test_a_burst_can_be_told_from_the_pods_before_it_by_its_names(self):
        log = HandmadeLog()
        log.create(0, "warm-0")
        log.serve(10, "warm-0", 1)
        log.create(1000, "pod-0")
        log.serve(1010, "pod-0", 2)
        values = log.figures(pod_prefix="pod-")
        self.assertEqual((values["pods"], values["api_writes_per_pod"]), (1, 4))
        self.assertEqual(values["makespan_seconds"], 0.026)

    def test_a_pod_outside_the_burst_can_still_be_held_twice(self):
        log = HandmadeLog()
        log.create(0, "warm-0")
        log.create(1, "pod-0")
        log.bind(10, "warm-0")
        log.bind(20, "pod-0")
        self.assertEqual(log.figures(pod_prefix="pod-")["double_holds"], 1)

    def test_what_was_not_asked_is_not_answered(self):
        values = good_burst(1).figures()
        self.assertIsNone(values["fifo_violations"])
        self.assertIsNone(values["makespan_over_serial"])

    def test_an_empty_log_has_no_pods_and_no_faults(self):
        values = HandmadeLog().figures(ordered=True, allocate_ms=20)
        self.assertEqual(values["pods"], 0)
        self.assertEqual(values["makespan_seconds"], 0)
        self.assertIsNone(values["makespan_over_serial"])


class Bindings(unittest.TestCase):
    def test_a_pod_with_a_second_binding_answered_201_is_bound_twice(self):
        log = good_burst(3)
        log.bind(500, "pod-1", "gpu-1")
        self.assertEqual(log.figures()["bound_twice"], 1)

    def test_a_second_binding_that_was_refused_counts_for_nothing(self):
        log = good_burst(3)
        log.bind(500, "pod-1", code=409)
        self.assertEqual(log.figures()["bound_twice"], 0)

    def test_a_binding_whose_caller_died_counts_once_the_pod_is_seen_on_that_node(self):
        log = HandmadeLog()
        for index in range(3):
            log.create(index, f"pod-{index}")
            log.bind(10 + index, f"pod-{index}", code=504)
        log.status(50, "pod-0", {"phase": "Running"}, node="gpu-0")
        log.status(51, "pod-1", {"phase": "Running"}, node="gpu-0")
        log.bind(60, "pod-1")
        values = log.figures()
        self.assertEqual((values["bound"], values["bound_twice"], values["lost"]), (2, 1, 1))

    def test_another_pod_of_the_same_name_is_bound_once_of_its_own(self):
        log = HandmadeLog()
        log.create(0, "pod-0")
        log.bind(10, "pod-0")
        log.delete(20, "pod-0")
        log.create(30, "pod-0", uid="again")
        log.bind(40, "pod-0", uid="again")
        values = log.figures()
        self.assertEqual((values["pods"], values["bound"], values["bound_twice"]), (2, 2, 0))

    def test_a_pod_never_bound_is_lost_unless_it_was_deleted(self):
        log = good_burst(2)
        log.create(500, "forgotten")
        log.create(501, "deleted")
        log.delete(502, "deleted")
        self.assertEqual(log.figures()["lost"], 1)

    def test_a_bind_that_kube_scheduler_announced_there_is_no_zombie(self):
        log = good_burst(1)
        log.announce(130, "pod-0")
        self.assertEqual(log.figures()["zombie_binds"], 0)

    def test_a_bind_that_failed_before_and_was_announced_later_is_no_zombie(self):
        log = HandmadeLog()
        log.create(0, "pod-0")
        log.failed_bind(50, "pod-0")
        log.serve(100, "pod-0", 1)
        log.announce(130, "pod-0")
        self.assertEqual(log.figures()["zombie_binds"], 0)

    def test_a_bind_that_lands_after_kube_scheduler_gave_up_is_a_zombie(self):
        log = good_burst(4)
        log.announce(600, "pod-0")
        log.announce(600, "pod-2", node="gpu-1")  # its retry went elsewhere
        log.announce(600, "pod-3")
        log.failed_bind(601, "pod-3")  # told failed after it had landed; pod-1 never told
        self.assertEqual(log.figures()["zombie_binds"], 3)

    def test_zombies_are_not_asked_of_a_log_without_announcements(self):
        self.assertIsNone(good_burst(1).figures()["zombie_binds"])


class Calls(unittest.TestCase):
    def test_watches_are_counted_apart(self):
        log = good_burst(1)
        log.request(110, "watch", "nodes", "")
        values = log.figures()
        self.assertEqual(values["watches"], 1)
        self.assertEqual(values["api_calls_per_pod"], 4)

    def test_calls_of_other_users_do_not_count(self):
        log = good_burst(1)
        log.request(110, "get", "nodes", "gpu-0", user="kubelet")
        self.assertEqual(log.figures()["api_calls_per_pod"], 4)

    def test_the_agent_names_the_daemon_where_the_user_does_not(self):
        log = good_burst(1)
        log.request(110, "get", "nodes", "gpu-0", user="system:serviceaccount:x:y")
        log.lines[-1]["userAgent"] = "hamid/0.1.0"
        self.assertEqual(log.figures()["api_calls_per_pod"], 5)

    def test_calls_before_the_first_pod_and_after_the_last_release_do_not_count(self):
        log = HandmadeLog()
        log.request(0, "list", "nodes", "")
        log.create(10, "pod-0")
        log.serve(20, "pod-0", 1)
        log.request(500, "get", "nodes", "gpu-0")
        self.assertEqual(log.figures()["api_calls_per_pod"], 4)

    def test_a_write_delivered_twice_counts_twice(self):
        log = good_burst(1)
        log.node(110, {LOCK: lock_value("pod-0")}, code=422)
        self.assertEqual(log.figures()["api_writes_per_pod"], 5)


class FailedBinds(unittest.TestCase):
    def test_a_scheduler_error_is_a_failed_bind(self):
        log = good_burst(2)
        log.failed_bind(50, "pod-0")
        log.failed_bind(60, "pod-0")
        self.assertEqual(log.figures()["failed_binds"], 2)

    def test_an_unschedulable_pod_is_none(self):
        log = good_burst(2)
        log.failed_bind(50, "pod-0", reason="Unschedulable")
        self.assertEqual(log.figures()["failed_binds"], 0)

    def test_a_binding_that_was_refused_binds_nothing(self):
        log = HandmadeLog()
        log.create(0, "pod-0")
        log.bind(10, "pod-0", code=409)
        values = log.figures()
        self.assertEqual(values["bound"], 0)
        self.assertEqual(values["conflicts_409"], 1)


class Order(unittest.TestCase):
    def test_two_neighbours_bound_the_other_way_round_are_one_violation(self):
        log = HandmadeLog()
        for index in range(3):
            log.create(index, f"pod-{index}")
        for place, index in enumerate([1, 0, 2]):
            log.serve(100 + 20 * place, f"pod-{index}", place + 1)
        self.assertEqual(log.figures(ordered=True)["fifo_violations"], 1)

    def test_order_is_judged_within_one_node(self):
        log = HandmadeLog()
        log.create(0, "pod-0")
        log.create(1, "pod-1")
        log.serve(100, "pod-1", 1, "a")
        log.serve(120, "pod-0", 2, "b")
        self.assertEqual(log.figures(ordered=True)["fifo_violations"], 0)


class DoubleHolds(unittest.TestCase):
    def test_a_pod_bound_while_another_waits_for_its_allocate_is_one(self):
        log = HandmadeLog()
        log.create(0, "pod-0")
        log.create(1, "pod-1")
        log.bind(10, "pod-0")
        log.bind(12, "pod-1")
        log.success(40, "pod-0")
        log.success(60, "pod-1")
        self.assertEqual(log.figures()["double_holds"], 1)

    def test_a_lock_let_go_at_the_binding_shows_as_double_hold(self):
        log = HandmadeLog()
        for index in range(3):
            log.create(index, f"pod-{index}")
        for index in range(3):
            log.take(10 + 6 * index, f"pod-{index}", index + 1)
            log.bind(12 + 6 * index, f"pod-{index}")
            log.release(14 + 6 * index, index + 1, user="hamid-scheduler")
        for index in range(3):
            log.success(60 + 20 * index, f"pod-{index}")
        values = log.figures()
        self.assertEqual(values["double_holds"], 2)
        self.assertEqual(values["covered_locks"], 0)

    def test_pods_of_different_nodes_do_not_meet(self):
        log = HandmadeLog()
        for index in range(2):
            log.create(0, f"pod-{index}")
            log.bind(10, f"pod-{index}", f"node-{index}")
            log.success(40, f"pod-{index}")
        self.assertEqual(log.figures()["double_holds"], 0)

    def test_a_pod_that_was_never_served_stays_in_its_window(self):
        log = HandmadeLog()
        log.create(0, "pod-0")
        log.create(0, "pod-1")
        log.bind(10, "pod-0")
        log.bind(5000, "pod-1")
        log.success(5020, "pod-1")
        self.assertEqual(log.figures()["double_holds"], 1)

    def test_a_pod_whose_allocate_failed_or_that_was_ended_has_left_its_window(self):
        for end in (lambda log: log.pod_patch(20, "pod-0", {PHASE: "failed"}),
                    lambda log: log.status(20, "pod-0", {"phase": "Running"}, "kubelet"),
                    lambda log: log.status(20, "pod-0", {"phase": "Failed"}, "kubelet"),
                    lambda log: log.delete(20, "pod-0")):
            log = HandmadeLog()
            log.create(0, "pod-0")
            log.create(0, "pod-1")
            log.bind(10, "pod-0")
            end(log)
            log.bind(50, "pod-1")
            log.success(70, "pod-1")
            self.assertEqual(log.figures()["double_holds"], 0)

    def test_a_deletion_with_a_grace_period_ends_nothing_yet(self):
        log = HandmadeLog()
        log.create(0, "pod-0")
        log.create(0, "pod-1")
        log.bind(10, "pod-0")
        log.delete(20, "pod-0", grace=30)
        log.bind(50, "pod-1")
        self.assertEqual(log.figures()["double_holds"], 1)

    def test_the_last_success_counts_where_no_done_mark_is_written(self):
        log = HandmadeLog()
        log.create(0, "pod-0")
        log.create(0, "pod-1")
        log.bind(10, "pod-0")
        log.pod_patch(20, "pod-0", {PHASE: "success"})
        log.bind(30, "pod-1")
        log.pod_patch(50, "pod-0", {PHASE: "success"})
        log.success(70, "pod-1")
        self.assertEqual(log.figures()["double_holds"], 1)

    def test_the_first_done_mark_counts_when_it_is_written_again(self):
        log = HandmadeLog()
        log.create(0, "pod-0")
        log.create(0, "pod-1")
        log.bind(10, "pod-0")
        log.success(20, "pod-0")
        log.bind(30, "pod-1")
        log.success(50, "pod-0")
        log.success(70, "pod-1")
        self.assertEqual(log.figures()["double_holds"], 0)

    def test_requests_that_overlap_in_time_are_ordered_by_resource_version(self):
        log = HandmadeLog()
        log.create(0, "pod-0")
        log.create(0, "pod-1")
        log.take(5, "pod-0", 1)
        log.bind(10, "pod-0")
        log.success(20, "pod-0", took=10)
        log.take(21, "pod-1", 2)
        log.bind(24, "pod-1")
        log.success(50, "pod-1")
        log.release(60, 2)
        values = log.figures()
        self.assertEqual((values["double_holds"], values["covered_locks"]), (0, 0))


class CoveredLocks(unittest.TestCase):
    def test_a_lock_written_over_while_its_owner_waits_is_covered_and_held_twice(self):
        log = HandmadeLog()
        log.create(0, "pod-0")
        log.create(0, "pod-1")
        log.take(5, "pod-0", 1)
        log.bind(10, "pod-0")
        log.take(15, "pod-1", 2)
        log.success(30, "pod-0")
        log.release(40, 2)
        values = log.figures()
        self.assertEqual(values["covered_locks"], 1)
        self.assertEqual(values["double_holds"], 1)

    def test_a_hand_over_after_the_success_covers_nothing(self):
        log = HandmadeLog()
        log.create(0, "pod-0")
        log.create(0, "pod-1")
        log.take(5, "pod-0", 1)
        log.bind(10, "pod-0")
        log.success(20, "pod-0")
        log.take(25, "pod-1", 2)
        self.assertEqual(log.figures()["covered_locks"], 0)

    def test_a_lock_of_an_owner_that_is_not_bound_may_be_taken_over(self):
        log = HandmadeLog()
        log.create(0, "pod-0")
        log.create(0, "pod-1")
        log.take(5, "pod-0", 1)
        log.take(25, "pod-1", 2)
        self.assertEqual(log.figures()["covered_locks"], 0)

    def test_a_lock_of_an_owner_that_is_bound_elsewhere_may_be_taken_over(self):
        log = HandmadeLog()
        log.create(0, "pod-0")
        log.create(0, "pod-1")
        log.take(5, "pod-0", 1, "a")
        log.bind(10, "pod-0", "b")
        log.take(25, "pod-1", 2, "a")
        self.assertEqual(log.figures()["covered_locks"], 0)

    def test_a_removal_by_a_stranger_covers_and_by_writer_or_server_does_not(self):
        for user, expected in (("admin", 1), ("hamid-scheduler", 0), ("hamid-node", 0)):
            log = HandmadeLog()
            log.create(0, "pod-0")
            log.take(5, "pod-0", 1)
            log.bind(10, "pod-0")
            log.release(15, 1, user=user)
            log.success(30, "pod-0")
            self.assertEqual(log.figures()["covered_locks"], expected, user)

    def test_a_heartbeat_that_shows_the_same_lock_changes_nothing(self):
        log = HandmadeLog()
        log.create(0, "pod-0")
        log.take(5, "pod-0", 1)
        log.bind(10, "pod-0")
        log.node(12, {"example.com/beat": "1"}, user="kubelet")
        log.success(20, "pod-0")
        log.release(30, 1)
        values = log.figures()
        self.assertEqual((values["covered_locks"], values["locks_left"]), (0, 0))

    def test_the_lease_tells_two_pods_of_one_name_apart(self):
        log = HandmadeLog()
        log.create(0, "pod-0", uid="old")
        log.bind(5, "pod-0", uid="old")
        log.create(10, "pod-0", uid="new")
        log.take(15, "pod-0", 1, uid="new")
        log.create(16, "pod-1")
        log.take(20, "pod-1", 2)
        self.assertEqual(log.figures()["covered_locks"], 0)

    def test_a_lock_without_a_lease_is_its_names_owner_s(self):
        log = HandmadeLog()
        log.create(0, "pod-0")
        log.node(5, {LOCK: lock_value("pod-0")})
        log.bind(10, "pod-0")
        log.node(15, {LOCK: lock_value("pod-1")})
        self.assertEqual(log.figures()["covered_locks"], 1)

    def test_permits_and_other_keys_have_histories_of_their_own(self):
        log = HandmadeLog()
        for index, key in enumerate((LOCK + ".1", "cambricon.com/dsmlu.lock")):
            log.create(0, f"pod-{index}")
            log.node(5, {key: lock_value(f"pod-{index}")})
            log.bind(10, f"pod-{index}")
            log.node(15, {key: lock_value("pod-9")})
        self.assertEqual(log.figures()["covered_locks"], 2)
        self.assertEqual(log.figures()["locks_left"], 2)


class StuckAndLeft(unittest.TestCase):
    def test_a_pod_never_served_is_stuck(self):
        log = good_burst(3)
        log.create(4, "pod-9")
        values = log.figures()
        self.assertEqual((values["pods"], values["stuck_pods"]), (4, 1))

    def test_a_pod_that_was_deleted_is_not_stuck(self):
        log = good_burst(3)
        log.create(4, "pod-9")
        log.delete(90, "pod-9")
        self.assertEqual(log.figures()["stuck_pods"], 0)

    def test_a_pod_whose_admission_failed_is_stuck_and_one_that_runs_is_not(self):
        for phase, expected in (("Failed", 1), ("Running", 0)):
            log = HandmadeLog()
            log.create(0, "pod-0")
            log.bind(10, "pod-0")
            log.status(20, "pod-0", {"phase": phase}, "kubelet")
            self.assertEqual(log.figures()["stuck_pods"], expected, phase)

    def test_a_lock_that_stands_at_the_end_is_left(self):
        log = good_burst(3)
        log.take(500, "pod-9", 2000)
        self.assertEqual(log.figures()["locks_left"], 1)

    def test_an_empty_lock_value_is_no_lock(self):
        log = good_burst(1)
        log.node(500, {LOCK: ""})
        self.assertEqual(log.figures()["locks_left"], 0)

    def test_a_pod_created_with_a_node_counts_as_bound_there(self):
        log = HandmadeLog()
        log.create(0, "pod-0", node="gpu-0")
        self.assertEqual(log.figures()["bound"], 1)

    def test_a_phase_that_the_pod_was_created_with_is_no_success(self):
        log = HandmadeLog()
        log.create(0, "pod-0")
        log.lines[0]["requestObject"]["metadata"]["annotations"] = {PHASE: "success", DONE: "1"}
        self.assertEqual(log.figures()["stuck_pods"], 1)


class Fences(unittest.TestCase):
    def test_a_grant_with_the_fence_of_an_earlier_one_is_a_violation(self):
        log = HandmadeLog()
        log.take(5, "pod-0", 7)
        log.take(10, "pod-1", 7)
        self.assertEqual(log.figures()["fence_violations"], 1)

    def test_a_fence_that_falls_is_a_violation_even_at_a_release(self):
        log = HandmadeLog()
        log.take(5, "pod-0", 7)
        log.release(10, 6)
        self.assertEqual(log.figures()["fence_violations"], 1)

    def test_a_release_that_remembers_its_fence_is_none(self):
        log = HandmadeLog()
        log.take(5, "pod-0", 7)
        log.release(10, 7)
        log.take(15, "pod-0", 8)
        self.assertEqual(log.figures()["fence_violations"], 0)

    def test_a_lease_that_is_no_json_is_no_lease(self):
        log = HandmadeLog()
        log.node(5, {LOCK: lock_value("pod-0"), LEASE: "{"})
        self.assertEqual(log.figures()["fence_violations"], 0)


class Refusals(unittest.TestCase):
    def test_a_422_before_the_first_lease_is_told_apart_from_one_after(self):
        log = HandmadeLog()
        log.create(0, "pod-0")
        log.node(5, {LOCK: "x"}, code=422)
        log.take(10, "pod-0", 1)
        log.node(20, {LOCK: "x"}, code=422)
        values = log.figures()
        self.assertEqual(values["refused_422_before_lease"], 1)
        self.assertEqual(values["refused_422"], 1)

    def test_a_409_of_a_heartbeat_counts_and_one_of_an_event_does_not(self):
        log = good_burst(1)
        log.node(30, {"a": "b"}, code=409, user="kubelet")
        log.request(31, "create", "events", "x", 409, "kube-scheduler")
        self.assertEqual(log.figures()["conflicts_409"], 1)

    def test_a_lease_that_was_there_before_any_lock_counts_as_one(self):
        log = HandmadeLog()
        log.node(5, {LEASE: lease("", "", 3)}, user="admin")
        log.node(20, {LOCK: "x"}, code=422)
        self.assertEqual(log.figures()["refused_422"], 1)


if __name__ == "__main__":
    unittest.main()
