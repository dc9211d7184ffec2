/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binds: who is answered when, and with what, against libraries that the test plays.
 */
#include <stdio.h>
#include <string.h>

#include "played.h"
#include "suite.h"

START_TEST(test_a_bind_acquires_binds_and_hands_the_lock_off)
{
    struct caller a;
    set_up_default();
    ask(&a, "u1", "n1");
    ck_assert_str_eq(waits[0].node, "n1");
    ck_assert_str_eq(waits[0].uid, "u1");
    ck_assert_uint_eq(read_count, 0);
    end_wait(0, 0, "");
    ck_assert_uint_eq(binding_count, 1);
    ck_assert(!a.answered);
    end_binding(0, 0, "");
    ck_assert(a.answered);
    ck_assert_str_eq(a.error, "");
    ck_assert(leases[0].handed_off && !leases[0].released);
    ck_assert_uint_eq(metrics.binds[BIND_bound], 1);
    ck_assert_uint_eq(metrics.acquires[ACQUIRE_granted], 1);
    tear_down();
}
END_TEST

START_TEST(test_case_3_03_the_wait_ends_a_margin_before_the_callers_patience)
{
    static const struct {
        uint64_t patience_ms;
        uint64_t margin_ms;
    } rows[] = {{30000, 2000}, {600000, 2000}, {2000, 200}, {100, 10}};
    struct caller a;
    set_up((struct binder_config){.patience_ms = rows[_i].patience_ms});
    uint64_t before = hami_kubernetes_now();
    ask(&a, "u1", "n1");
    uint64_t after = hami_kubernetes_now();
    uint64_t wait_ns = (rows[_i].patience_ms - rows[_i].margin_ms) * 1000000;
    ck_assert_uint_ge(waits[0].deadline_ns, before + wait_ns);
    ck_assert_uint_le(waits[0].deadline_ns, after + wait_ns);
    end_wait(0, HAMI_E_TIMEDOUT, "position 3 of 40");
    ck_assert_str_eq(strstr(a.error, "node lock contention"), a.error);
    ck_assert_ptr_nonnull(strstr(a.error, "has been locked within 5m0s"));
    ck_assert_ptr_nonnull(strstr(a.error, "by pod ns/holder"));
    ck_assert_ptr_nonnull(strstr(a.error, "position 3 of 40"));
    ck_assert_uint_eq(metrics.binds[BIND_contention], 1);
    tear_down();
}
END_TEST

START_TEST(test_the_node_is_not_looked_at_for_each_of_many_that_end_at_once)
{
    struct caller callers[20];
    char uid[8];
    set_up_default();
    for (int i = 0; i < 20; i++) {
        (void)snprintf(uid, sizeof(uid), "u%d", i);
        ask(&callers[i], uid, "n1");
    }
    for (int i = 0; i < 20; i++) {
        end_wait((size_t)i, HAMI_E_LIMIT, "");
        ck_assert_ptr_nonnull(strstr(callers[i].error, "ns/holder"));
    }
    ck_assert_int_lt(snapshots, 5);
    tear_down();
}
END_TEST

static struct binder_config with_watch(void)
{
    static const char *const names[] = {"x"};
    static int transport; /* never looked into */
    return (struct binder_config){.transport = (struct hami_transport *)&transport,
                                  .scheduler_names = names,
                                  .scheduler_name_count = 1};
}

START_TEST(test_a_pod_that_the_watch_knows_queues_without_a_read)
{
    struct caller a;
    set_up(with_watch());
    ask(&a, "u1", "n1");
    ck_assert_uint_eq(find_count, 1);
    end_find(0, "u1", "x", "gpu");
    ck_assert_uint_eq(read_count, 0);
    ck_assert_uint_eq(wait_count, 1);
    end_wait(0, 0, "");
    end_binding(0, 0, "");
    ck_assert_str_eq(a.error, "");
    tear_down();
}
END_TEST

START_TEST(test_what_a_watch_saw_refuses_nobody)
{
    struct caller a, b;
    set_up(with_watch());
    ask(&a, "u1", "n1");
    end_find(0, "an-older-one", "x", "gpu");
    ck_assert_uint_eq(read_count, 1);
    ck_assert(!a.answered);
    end_read(0, "u1", NULL, "x", "gpu");
    ck_assert_uint_eq(wait_count, 1);
    end_wait(0, 0, "");
    end_binding(0, 0, "");
    ck_assert_str_eq(a.error, "");
    /* The read may. */
    ask(&b, "u2", "n1");
    end_find(1, "u2", "another", "gpu");
    end_read(1, "u2", NULL, "another", "gpu");
    ck_assert(b.answered);
    ck_assert_str_ne(b.error, "");
    tear_down();
}
END_TEST

START_TEST(test_case_1_20_a_second_request_joins_the_one_in_flight)
{
    struct caller first;
    struct caller second;
    struct caller third;
    set_up_default();
    ask(&first, "u1", "n1");
    ask(&second, "u1", "n1");
    end_wait(0, 0, "");
    ask(&third, "u1", "n1");
    ck_assert_uint_eq(wait_count, 1);
    end_binding(0, 0, "");
    ck_assert_uint_eq(binding_count, 1);
    ck_assert(first.answered && second.answered && third.answered);
    ck_assert_str_eq(second.error, "");
    ck_assert_uint_eq(metrics.joined, 2);
    tear_down();
}
END_TEST

START_TEST(test_case_1_20_a_pod_bound_a_moment_ago_is_answered_by_one_read)
{
    struct caller a;
    set_up_default();
    ask(&a, "u1", "n1");
    end_wait(0, 0, "");
    end_binding(0, 0, "");
    ask(&a, "u1", "n1");
    ck_assert_uint_eq(read_count, 1);
    end_read(0, "u1", "n1", "x", NULL);
    ck_assert(a.answered);
    ck_assert_str_eq(a.error, "");
    ck_assert_uint_eq(wait_count, 1);
    /* Another node is told where the pod is. */
    ask(&a, "u1", "n2");
    end_read(1, "u1", "n1", "x", NULL);
    ck_assert_ptr_nonnull(strstr(a.error, "bound to node n1 already"));
    /* If the pod turns out unbound, it queues like any other. */
    ask(&a, "u1", "n1");
    end_read(2, "u1", "", "x", NULL);
    ck_assert_uint_eq(wait_count, 2);
    end_wait(1, HAMI_E_NODE, "");
    ck_assert_ptr_nonnull(strstr(a.error, "there is no node n1"));
    tear_down();
}
END_TEST

START_TEST(test_a_bind_to_another_node_ends_the_queued_one)
{
    struct caller first;
    struct caller second;
    set_up_default();
    ask(&first, "u1", "n1");
    ask(&second, "u1", "n2");
    ck_assert(first.answered);
    ck_assert_ptr_nonnull(strstr(first.error, "superseded"));
    ck_assert(waits[0].aborted);
    ck_assert_uint_eq(wait_count, 1);
    end_wait(0, HAMI_E_CANCELED, "");
    ck_assert_uint_eq(wait_count, 2);
    ck_assert_str_eq(waits[1].node, "n2");
    end_wait(1, 0, "");
    end_binding(0, 0, "");
    ck_assert(second.answered);
    ck_assert_str_eq(second.error, "");
    tear_down();
}
END_TEST

START_TEST(test_a_bind_to_another_node_waits_for_the_answer_of_a_posted_one)
{
    struct caller first;
    struct caller second;
    set_up_default();
    ask(&first, "u1", "n1");
    end_wait(0, 0, "");
    ask(&second, "u1", "n2");
    ck_assert(!first.answered && !second.answered);
    ck_assert_uint_eq(wait_count, 1);
    end_binding(0, 0, "");
    ck_assert_str_eq(first.error, "");
    ck_assert_ptr_nonnull(strstr(second.error, "bound to node n1 already"));
    /* Where the posted one failed, it sets out. */
    ask(&first, "u2", "n1");
    end_wait(1, 0, "");
    ask(&second, "u2", "n2");
    end_binding(1, HAMI_E_TRANSPORT, "no way");
    ck_assert_ptr_nonnull(strstr(first.error, "no way"));
    ck_assert(leases[1].released);
    ck_assert_str_eq(waits[2].node, "n2");
    end_wait(2, HAMI_E_TIMEDOUT, "");
    tear_down();
}
END_TEST

START_TEST(test_of_three_nodes_asked_for_in_turn_the_last_one_is_tried)
{
    struct caller callers[4];
    set_up_default();
    ask(&callers[0], "u1", "n1");
    ask(&callers[1], "u1", "n2");
    ask(&callers[2], "u1", "n3");
    ask(&callers[3], "u1", "n3");
    ck_assert(callers[0].answered && callers[1].answered);
    ck_assert_ptr_nonnull(strstr(callers[1].error,
                                 "superseded by a bind of the same pod to "
                                 "node n3"));
    end_wait(0, HAMI_E_CANCELED, "");
    ck_assert_str_eq(waits[1].node, "n3");
    end_wait(1, 0, "");
    end_binding(0, 0, "");
    ck_assert_str_eq(callers[2].error, "");
    ck_assert_str_eq(callers[3].error, "");
    tear_down();
}
END_TEST

START_TEST(test_case_3_33_the_last_caller_that_leaves_takes_the_queued_bind_along)
{
    struct caller first;
    struct caller second;
    set_up_default();
    ask(&first, "u1", "n1");
    ask(&second, "u1", "n1");
    binder_leave(first.handle);
    ck_assert(!waits[0].aborted);
    binder_leave(second.handle);
    ck_assert(waits[0].aborted);
    end_wait(0, HAMI_E_CANCELED, "");
    ck_assert(!first.answered && !second.answered);
    ck_assert_uint_eq(metrics.binds[BIND_abandoned], 2);
    tear_down();
}
END_TEST

START_TEST(test_a_grant_that_comes_after_the_caller_left_is_given_back_unbound)
{
    struct caller a;
    set_up_default();
    ask(&a, "u1", "n1");
    binder_leave(a.handle);
    end_wait(0, 0, "");
    ck_assert_uint_eq(binding_count, 0);
    ck_assert(leases[0].released);
    tear_down();
}
END_TEST

START_TEST(test_a_retry_that_meets_its_own_dying_predecessor_starts_anew)
{
    struct caller first;
    struct caller second;
    struct caller third;
    set_up_default();
    ask(&first, "u1", "n1");
    binder_leave(first.handle);
    ask(&second, "u1", "n1");
    binder_leave(second.handle);
    ask(&third, "u1", "n1");
    end_wait(0, HAMI_E_CANCELED, "");
    ck_assert_uint_eq(wait_count, 2);
    ck_assert(!waits[1].aborted);
    end_wait(1, 0, "");
    end_binding(0, 0, "");
    ck_assert(third.answered);
    ck_assert_str_eq(third.error, "");
    tear_down();
}
END_TEST

START_TEST(test_case_3_01_a_posted_binding_is_finished_for_nobody)
{
    struct caller a;
    set_up_default();
    ask(&a, "u1", "n1");
    end_wait(0, 0, "");
    binder_leave(a.handle);
    ck_assert_uint_eq(binder_in_flight(binder), 1);
    end_binding(0, 0, "");
    ck_assert(leases[0].handed_off);
    ck_assert_uint_eq(binder_in_flight(binder), 0);
    ask(&a, "u1", "n1");
    end_read(0, "u1", "n1", "x", NULL);
    ck_assert_str_eq(a.error, "");
    tear_down();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("binds");
    TCase *all = tcase_create("all");
    tcase_add_test(all, test_a_bind_acquires_binds_and_hands_the_lock_off);
    tcase_add_loop_test(
        all, test_case_3_03_the_wait_ends_a_margin_before_the_callers_patience, 0, 4);
    tcase_add_test(all, test_the_node_is_not_looked_at_for_each_of_many_that_end_at_once);
    tcase_add_test(all, test_case_1_20_a_second_request_joins_the_one_in_flight);
    tcase_add_test(all, test_case_1_20_a_pod_bound_a_moment_ago_is_answered_by_one_read);
    tcase_add_test(all, test_a_bind_to_another_node_ends_the_queued_one);
    tcase_add_test(all, test_a_bind_to_another_node_waits_for_the_answer_of_a_posted_one);
    tcase_add_test(all, test_of_three_nodes_asked_for_in_turn_the_last_one_is_tried);
    tcase_add_test(
        all, test_case_3_33_the_last_caller_that_leaves_takes_the_queued_bind_along);
    tcase_add_test(all,
                   test_a_grant_that_comes_after_the_caller_left_is_given_back_unbound);
    tcase_add_test(all, test_a_pod_that_the_watch_knows_queues_without_a_read);
    tcase_add_test(all, test_what_a_watch_saw_refuses_nobody);
    tcase_add_test(all, test_a_retry_that_meets_its_own_dying_predecessor_starts_anew);
    tcase_add_test(all, test_case_3_01_a_posted_binding_is_finished_for_nobody);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
