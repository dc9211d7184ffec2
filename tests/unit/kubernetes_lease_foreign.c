/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases with a mirror: what others write on the Node, before, between and after our own
 * two writes.
 */
#include "kubernetes_lease_mirrored.h"

#include <stdlib.h>
#include <string.h>

#include "suite.h"

START_TEST(a_lock_that_others_wrote_on_the_node_is_honoured)
{
    set_on("nodes", LOCK, FOREIGN);
    expect_read(FOREIGN, "(absent)");
    ck_assert_int_eq(take_a(&world, &call), HAMI_E_HELD);
    ck_assert_str_eq(call.values[0], FOREIGN);
    ck_assert_ptr_null(kubesim_get(world.sim, "leases", NAMESPACE, "n1"));
    ck_assert_int_eq(put_pair(&world, &call, FOREIGN, NULL, LOCK_A, LEASE_A), 0);
    expect_both(LOCK_A, LEASE_A);
}
END_TEST

START_TEST(a_foreign_lock_is_told_when_it_comes_and_when_it_goes)
{
    watch();
    set_on("nodes", LOCK, FOREIGN);
    size_t at = manager_wait(manager, 0, NEWS_OBSERVED, "n1", FOREIGN);
    ck_assert_uint_gt(at, 0);
    ck_assert_str_ne(manager->news[at - 1].version, "(absent)");
    set_on("nodes", LOCK, NULL);
    ck_assert_uint_gt(manager_wait(manager, at, NEWS_OBSERVED, "n1", "(absent)"), 0);
}
END_TEST

START_TEST(a_foreign_lock_can_be_removed_by_hand_where_there_is_no_lease)
{
    set_on("nodes", LOCK, FOREIGN);
    call_begin(&call, "n1", 5000);
    call_edit(&call, HAMI_EDIT_PUT, LOCK, FOREIGN, NULL);
    ck_assert_int_eq(call_submit(&world, &call), 0);
    ck_assert_str_eq(call.values[0], "(absent)");
    expect_on_node(&world, LOCK, NULL);
}
END_TEST

START_TEST(a_lock_that_was_written_over_on_the_node_is_lost)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    watch();
    set_on("nodes", LOCK, FOREIGN);
    ck_assert_uint_gt(manager_wait(manager, 0, NEWS_OBSERVED, "n1", FOREIGN), 0);
    expect_read(FOREIGN, LEASE_A);
    ck_assert_int_eq(free_a(&world, &call), HAMI_E_HELD);
    expect_on_node(&world, LOCK, FOREIGN);
    /* The one that wrote over it frees; then nothing of ours comes back. */
    set_on("nodes", LOCK, NULL);
    expect_read("(absent)", LEASE_A);
}
END_TEST

static void arm_foreign_write(const char *key, const char *value)
{
    struct kubesim_fault fault = {.match = {.verb = "patch", .resource = "nodes"},
                                  .count = 1,
                                  .write_resource = "nodes",
                                  .write_name = "n1",
                                  .write_key = key,
                                  .write_value = value};
    ck_assert_int_gt(kubesim_arm(world.sim, &fault), 0);
}

START_TEST(a_foreign_lock_that_comes_first_puts_the_take_back)
{
    arm_foreign_write(LOCK, FOREIGN);
    ck_assert_int_eq(take_a(&world, &call), HAMI_E_HELD);
    ck_assert_str_eq(call.values[0], FOREIGN);
    expect_on_node(&world, LOCK, FOREIGN);
    expect_on_lease(&world, LOCK, NULL);
    /* The fence that was tried is not given again. */
    expect_on_lease(&world, LEASE, MEMORY_OF("5"));
}
END_TEST

START_TEST(a_hand_over_that_a_foreign_lock_spoils_leaves_the_fence_alone)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    arm_foreign_write(LOCK, FOREIGN);
    ck_assert_int_eq(put_pair(&world, &call, LOCK_A, LEASE_A, LOCK_B, LEASE_B),
                     HAMI_E_HELD);
    ck_assert_str_eq(call.values[0], FOREIGN);
    expect_on_lease(&world, LOCK, NULL);
    expect_on_lease(&world, LEASE, MEMORY_OF("6"));
}
END_TEST

START_TEST(a_take_that_cannot_be_put_back_is_in_doubt)
{
    struct kubesim_fault fault = {.match = {.verb = "patch", .resource = "leases"},
                                  .skip = 1,
                                  .count = 1,
                                  .action = KUBESIM_DROP_BEFORE};
    arm_foreign_write(LOCK, FOREIGN);
    ck_assert_int_gt(kubesim_arm(world.sim, &fault), 0);
    ck_assert_int_eq(take_a(&world, &call), HAMI_E_IN_DOUBT);
    expect_read(FOREIGN, LEASE_A);
}
END_TEST

/* It was sent, and its answer lost; it comes long after the foreign lock has gone. */
START_TEST(a_take_that_is_put_back_late_stays_once_somebody_relied_on_it)
{
    struct kubesim_fault fault = {
        .match = {.verb = "patch",
                  .resource = "leases",
                  .body = "{\"op\":\"remove\",\"path\":\"/metadata/annotations/"
                          "hami.io~1mutex.lock\"}"},
        .count = 1,
        .delay_before_ms = 5000};
    arm_foreign_write(LOCK, FOREIGN);
    int id = kubesim_arm(world.sim, &fault);
    ck_assert_int_gt(id, 0);
    call_begin(&call, "n1", 2500);
    call_edit(&call, HAMI_EDIT_PUT, LOCK, NULL, LOCK_A);
    call_edit(&call, HAMI_EDIT_PUT, LEASE, NULL, LEASE_A);
    ck_assert_int_eq(call_submit(&world, &call), HAMI_E_IN_DOUBT);
    ck_assert_uint_eq(kubesim_hits(world.sim, id), 1);
    set_on("nodes", LOCK, NULL);
    expect_read(LOCK_A, LEASE_A);
    expect_both(LOCK_A, LEASE_A);
    struct kubesim_match refused = fault.match;
    refused.code = 422;
    ck_assert(kubesim_wait_count(world.sim, &refused, 1, WAIT_MS));
    expect_both(LOCK_A, LEASE_A);
}
END_TEST

START_TEST(a_foreign_write_of_something_else_costs_nothing)
{
    arm_foreign_write("other", "2");
    ck_assert_int_eq(take_a(&world, &call), 0);
    expect_both(LOCK_A, LEASE_A);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes-lease-foreign");
    TCase *tests = add_case(suite, "foreign");
    tcase_add_test(tests, a_lock_that_others_wrote_on_the_node_is_honoured);
    tcase_add_test(tests, a_foreign_lock_is_told_when_it_comes_and_when_it_goes);
    tcase_add_test(tests, a_foreign_lock_can_be_removed_by_hand_where_there_is_no_lease);
    tcase_add_test(tests, a_lock_that_was_written_over_on_the_node_is_lost);
    tcase_add_test(tests, a_foreign_lock_that_comes_first_puts_the_take_back);
    tcase_add_test(tests, a_hand_over_that_a_foreign_lock_spoils_leaves_the_fence_alone);
    tcase_add_test(tests, a_take_that_cannot_be_put_back_is_in_doubt);
    tcase_add_test(tests, a_take_that_is_put_back_late_stays_once_somebody_relied_on_it);
    tcase_add_test(tests, a_foreign_write_of_something_else_costs_nothing);
    return run_suite(suite);
}
