/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases with a mirror: what device plugins find on the Node, what they do to it, and
 * what is left where the second write goes wrong.
 */
#include "kubernetes_lease_mirrored.h"

#include <stdlib.h>
#include <string.h>

#include "suite.h"

/* ---- plain ---- */

START_TEST(a_take_and_a_release_keep_both_objects_in_step)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    ck_assert_str_eq(call.values[0], LOCK_A);
    ck_assert_str_eq(call.values[1], LEASE_A);
    expect_both(LOCK_A, LEASE_A);
    expect_on_node(&world, "other", "1");
    ck_assert_int_eq(put_pair(&world, &call, LOCK_A, LEASE_A, LOCK_B, LEASE_B), 0);
    expect_both(LOCK_B, LEASE_B);
    ck_assert_int_eq(put_pair(&world, &call, LOCK_B, LEASE_B, NULL, MEMORY_OF("6")), 0);
    expect_both(NULL, MEMORY_OF("6"));
    expect_read("(absent)", MEMORY_OF("6"));
}
END_TEST

START_TEST(a_node_without_annotations_gets_its_map)
{
    world_drop_annotations(&world, "nodes", NULL, "n1");
    ck_assert_int_eq(take_a(&world, &call), 0);
    expect_both(LOCK_A, LEASE_A);
}
END_TEST

START_TEST(keys_that_are_not_mirrored_stay_on_the_lease)
{
    call_begin(&call, "n1", 5000);
    call_edit(&call, HAMI_EDIT_PUT, "example.com/x.lock", NULL, LOCK_A);
    ck_assert_int_eq(call_submit(&world, &call), 0);
    expect_on_lease(&world, "example.com/x.lock", LOCK_A);
    expect_on_node(&world, "example.com/x.lock", NULL);
    ck_assert_uint_eq(count_of(&world, "patch", "nodes"), 0);
}
END_TEST

/* ---- device plugins ---- */

START_TEST(a_lock_that_a_plugin_removes_from_the_node_is_free)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    set_on("nodes", LOCK, NULL);
    expect_read("(absent)", LEASE_A);
    ck_assert_int_eq(put_pair(&world, &call, NULL, LEASE_A, LOCK_B, LEASE_B), 0);
    expect_both(LOCK_B, LEASE_B);
}
END_TEST

START_TEST(such_a_removal_is_told_and_removed_from_the_lease)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    watch();
    size_t at = manager_wait(manager, 0, NEWS_OBSERVED, "n1", LOCK_A);
    ck_assert_uint_gt(at, 0);
    set_on("nodes", LOCK, NULL);
    ck_assert_uint_gt(manager_wait(manager, at, NEWS_OBSERVED, "n1", "(absent)"), 0);
    ck_assert(kubesim_wait_text(world.sim, "leases", NAMESPACE, "n1",
                                "/metadata/annotations/hami.io~1mutex.lock", NULL,
                                WAIT_MS));
    expect_on_lease(&world, LEASE, LEASE_A);
    expect_lease_text(&world, "/spec/holderIdentity", NULL);
}
END_TEST

START_TEST(the_removal_by_our_own_node_side_is_seen_the_same_way)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    set_on("nodes", LOCK, NULL);
    set_on("nodes", LEASE, MEMORY_OF("5"));
    expect_read("(absent)", LEASE_A);
    watch();
    ck_assert(kubesim_wait_text(world.sim, "leases", NAMESPACE, "n1",
                                "/metadata/annotations/hami.io~1mutex.lock", NULL,
                                WAIT_MS));
}
END_TEST

START_TEST(the_holder_that_releases_after_a_plugin_did_learns_it)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    set_on("nodes", LOCK, NULL);
    ck_assert_int_eq(free_a(&world, &call), HAMI_E_HELD);
    ck_assert_str_eq(call.values[0], "(absent)");
}
END_TEST

/* ---- half a take ---- */

START_TEST(a_lock_that_lacks_its_mirror_stands_and_a_read_completes_it)
{
    take_half();
    expect_read(LOCK_A, LEASE_A);
    expect_both(LOCK_A, LEASE_A);
}
END_TEST

START_TEST(a_heartbeat_before_the_mirror_is_no_release)
{
    take_half();
    watch();
    set_on("nodes", "other", "2");
    size_t at = manager_wait(manager, 0, NEWS_OBSERVED, "n1", LOCK_A);
    ck_assert_uint_gt(at, 0);
    set_on("leases", "example.com/marker", "1");
    ck_assert_uint_gt(manager_wait(manager, at, NEWS_OBSERVED, "n1", LOCK_A), 0);
    expect_on_lease(&world, LOCK, LOCK_A);
}
END_TEST

START_TEST(a_tool_that_looks_once_completes_nothing)
{
    take_half();
    kubesim_forget_log(world.sim);
    expect_read(LOCK_A, LEASE_A);
    ck_assert_uint_eq(count_of(&world, "patch", NULL), 0);
}
END_TEST

START_TEST(a_manager_that_may_not_write_nodes_is_told_so_by_its_reads)
{
    take_half();
    arm_next(&world, "patch", "nodes", KUBESIM_STATUS, 403);
    ck_assert_int_eq(read_pair(&world, &call), HAMI_E_ACCESS);
    expect_on_node(&world, LOCK, NULL);
}
END_TEST

START_TEST(a_read_whose_repair_fails_is_no_answer)
{
    static const char *const resources[] = {"nodes", "leases"};
    take_half();
    arm_next(&world, "patch", resources[_i], KUBESIM_DROP_BEFORE, 0);
    ck_assert_int_eq(read_pair(&world, &call), HAMI_E_TRANSPORT);
    expect_read(LOCK_A, LEASE_A);
    expect_both(LOCK_A, LEASE_A);
}
END_TEST

START_TEST(half_a_hand_over_is_completed_over_the_older_lock)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    set_on("leases", LOCK, LOCK_B);
    set_on("leases", LEASE, LEASE_B);
    expect_read(LOCK_B, LEASE_B);
    expect_both(LOCK_B, LEASE_B);
}
END_TEST

START_TEST(a_half_taken_lock_can_be_taken_over_and_given_back)
{
    take_half();
    ck_assert_int_eq(put_pair(&world, &call, LOCK_A, LEASE_A, LOCK_B, LEASE_B), 0);
    expect_both(LOCK_B, LEASE_B);
    set_on("nodes", LOCK, NULL);
    set_on("nodes", LEASE, NULL);
    ck_assert_int_eq(put_pair(&world, &call, LOCK_B, LEASE_B, NULL, MEMORY_OF("6")), 0);
    expect_both(NULL, MEMORY_OF("6"));
}
END_TEST

/* ---- the second write goes wrong ---- */

START_TEST(a_node_that_may_not_be_written_puts_the_take_back)
{
    arm_next(&world, "patch", "nodes", KUBESIM_STATUS, 403);
    ck_assert_int_eq(take_a(&world, &call), HAMI_E_ACCESS);
    expect_on_lease(&world, LOCK, NULL);
    expect_on_lease(&world, LEASE, MEMORY_OF("5"));
    expect_on_node(&world, LOCK, NULL);
}
END_TEST

START_TEST(a_mirror_whose_answer_is_lost_is_looked_at)
{
    static const enum kubesim_action faults[] = {KUBESIM_DROP_AFTER, KUBESIM_DROP_BEFORE,
                                                 KUBESIM_STATUS_AFTER,
                                                 KUBESIM_TWICE_SECOND};
    arm_next(&world, "patch", "nodes", faults[_i], 500);
    ck_assert_int_eq(take_a(&world, &call), 0);
    expect_both(LOCK_A, LEASE_A);
}
END_TEST

START_TEST(a_mirror_that_is_not_answered_in_time_is_in_doubt)
{
    arm_next(&world, "patch", "nodes", KUBESIM_HANG_AFTER, 0);
    call_begin(&call, "n1", 2500);
    call_edit(&call, HAMI_EDIT_PUT, LOCK, NULL, LOCK_A);
    call_edit(&call, HAMI_EDIT_PUT, LEASE, NULL, LEASE_A);
    ck_assert_int_eq(call_submit(&world, &call), HAMI_E_IN_DOUBT);
    expect_read(LOCK_A, LEASE_A);
}
END_TEST

START_TEST(a_node_that_goes_between_the_two_writes_is_told)
{
    arm_next(&world, "patch", "nodes", KUBESIM_STATUS, 404);
    ck_assert_int_eq(take_a(&world, &call), HAMI_E_NODE);
}
END_TEST

START_TEST(a_release_stands_once_the_node_is_written)
{
    static const enum kubesim_action faults[] = {KUBESIM_DROP_AFTER, KUBESIM_DROP_BEFORE,
                                                 KUBESIM_STATUS};
    ck_assert_int_eq(take_a(&world, &call), 0);
    arm_next(&world, "patch", "leases", faults[_i], 409);
    ck_assert_int_eq(free_a(&world, &call), HAMI_E_IN_DOUBT);
    expect_on_node(&world, LOCK, NULL);
    ck_assert_int_eq(read_pair(&world, &call), 0);
    ck_assert_str_eq(call.values[0], "(absent)");
}
END_TEST

START_TEST(a_release_that_cannot_write_the_node_has_done_nothing)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    arm_next(&world, "patch", "nodes", KUBESIM_STATUS, 403);
    ck_assert_int_eq(free_a(&world, &call), HAMI_E_ACCESS);
    expect_both(LOCK_A, LEASE_A);
    arm_next(&world, "patch", "nodes", KUBESIM_STATUS, 409);
    ck_assert_int_eq(free_a(&world, &call), 0);
    expect_both(NULL, MEMORY_OF("5"));
}
END_TEST

/* ---- a Lease that is lost ---- */

START_TEST(what_stands_on_the_node_survives_the_loss_of_the_lease)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    lease_world_delete_lease(&world);
    expect_read(LOCK_A, LEASE_A);
    ck_assert_int_eq(put_pair(&world, &call, NULL, NULL, LOCK_B, LEASE_B), HAMI_E_HELD);
    ck_assert_int_eq(put_pair(&world, &call, LOCK_A, LEASE_A, LOCK_B, LEASE_B), 0);
    expect_both(LOCK_B, LEASE_B);
}
END_TEST

START_TEST(the_older_lock_on_the_node_is_nothing_once_the_lease_is_freed)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    set_on("leases", LOCK, NULL);
    set_on("leases", LEASE, MEMORY_OF("5"));
    expect_read("(absent)", MEMORY_OF("5"));
    ck_assert_int_eq(put_pair(&world, &call, NULL, MEMORY_OF("5"), LOCK_B, LEASE_B), 0);
    expect_both(LOCK_B, LEASE_B);
}
END_TEST

static void add_plain(TCase *tests)
{
    tcase_add_test(tests, a_take_and_a_release_keep_both_objects_in_step);
    tcase_add_test(tests, a_node_without_annotations_gets_its_map);
    tcase_add_test(tests, keys_that_are_not_mirrored_stay_on_the_lease);
    tcase_add_test(tests, a_lock_that_a_plugin_removes_from_the_node_is_free);
    tcase_add_test(tests, such_a_removal_is_told_and_removed_from_the_lease);
    tcase_add_test(tests, the_removal_by_our_own_node_side_is_seen_the_same_way);
    tcase_add_test(tests, the_holder_that_releases_after_a_plugin_did_learns_it);
}

static void add_halves(TCase *tests)
{
    tcase_add_test(tests, a_lock_that_lacks_its_mirror_stands_and_a_read_completes_it);
    tcase_add_test(tests, a_heartbeat_before_the_mirror_is_no_release);
    tcase_add_test(tests, a_manager_that_may_not_write_nodes_is_told_so_by_its_reads);
    tcase_add_loop_test(tests, a_read_whose_repair_fails_is_no_answer, 0, 2);
    tcase_add_test(tests, half_a_hand_over_is_completed_over_the_older_lock);
    tcase_add_test(tests, a_half_taken_lock_can_be_taken_over_and_given_back);
    tcase_add_test(tests, what_stands_on_the_node_survives_the_loss_of_the_lease);
    tcase_add_test(tests, the_older_lock_on_the_node_is_nothing_once_the_lease_is_freed);
}

static void add_faults(TCase *tests)
{
    tcase_add_test(tests, a_node_that_may_not_be_written_puts_the_take_back);
    tcase_add_loop_test(tests, a_mirror_whose_answer_is_lost_is_looked_at, 0, 4);
    tcase_add_test(tests, a_mirror_that_is_not_answered_in_time_is_in_doubt);
    tcase_add_test(tests, a_node_that_goes_between_the_two_writes_is_told);
    tcase_add_loop_test(tests, a_release_stands_once_the_node_is_written, 0, 3);
    tcase_add_test(tests, a_release_that_cannot_write_the_node_has_done_nothing);
}

int main(void)
{
    Suite *suite = suite_create("kubernetes-lease-mirror");
    add_plain(add_case(suite, "plain"));
    add_halves(add_case(suite, "halves"));
    add_faults(add_case(suite, "faults"));
    TCase *tools = tcase_create("tools");
    tcase_add_checked_fixture(tools, setup_for_tools, teardown);
    suite_add_tcase(suite, tools);
    tcase_add_test(tools, a_tool_that_looks_once_completes_nothing);
    return run_suite(suite);
}
