/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binds that are checked, in doubt, refused or cut short, against libraries that the test
 * plays.
 */
#include <stdio.h>
#include <string.h>

#include "played.h"
#include "suite.h"

START_TEST(test_a_binding_in_doubt_is_handed_off_and_the_pod_is_asked)
{
    struct caller a;
    set_up_default();
    ask(&a, "u1", "n1");
    end_wait(0, 0, "");
    end_binding(0, HAMI_E_IN_DOUBT, "connection lost");
    ck_assert(leases[0].handed_off && !leases[0].released);
    ck_assert(!a.answered);
    end_read(0, "u1", "n1", "x", NULL);
    ck_assert_str_eq(a.error, "");
    ask(&a, "u2", "n1");
    end_wait(1, 0, "");
    end_binding(1, HAMI_E_IN_DOUBT, "connection lost");
    fail_read(1, HAMI_E_TRANSPORT, "");
    ck_assert_ptr_nonnull(strstr(a.error, "connection lost"));
    ck_assert_uint_eq(metrics.binds[BIND_in_doubt], 1);
    tear_down();
}
END_TEST

START_TEST(test_case_3_12_a_lock_or_binding_that_the_pod_cant_use_any_more_is_an_error)
{
    struct caller a;
    set_up_default();
    ask(&a, "u1", "n1");
    end_wait(0, HAMI_E_LOST, "assigned to node n2");
    end_read(0, "u1", "", "x", NULL);
    ck_assert_ptr_nonnull(strstr(a.error, "assigned to node n2"));
    ck_assert_uint_eq(binding_count, 0);
    ask(&a, "u1", "n1");
    end_wait(1, 0, "");
    end_binding(0, HAMI_E_LOST, "revoked");
    ck_assert(leases[0].released);
    end_read(1, "u9", "n1", "x", NULL);
    ck_assert_ptr_nonnull(strstr(a.error, "revoked"));
    ck_assert_uint_eq(metrics.binds[BIND_refused], 2);
    tear_down();
}
END_TEST

START_TEST(test_lost_for_a_pod_that_is_bound_here_is_success)
{
    struct caller a;
    set_up_default();
    ask(&a, "u1", "n1");
    end_wait(0, HAMI_E_LOST, "bound");
    end_read(0, "u1", "n1", "x", NULL);
    ck_assert(a.answered);
    ck_assert_str_eq(a.error, "");
    tear_down();
}
END_TEST

static struct binder_config strict(void)
{
    static const char *const names[] = {"hami-scheduler"};
    static const char *const resources[] = {"nvidia.com/gpu", "nvidia.com/gpumem"};
    return (struct binder_config){.scheduler_names = names,
                                  .scheduler_name_count = 1,
                                  .managed_resources = resources,
                                  .managed_resource_count = 2};
}

START_TEST(test_only_pods_of_listed_schedulers_and_resources_are_served)
{
    struct caller a;
    set_up(strict());
    ask(&a, "u1", "n1");
    end_read(0, "u1", "", "hami-scheduler", "nvidia.com/gpumem");
    ck_assert_uint_eq(wait_count, 1);
    end_wait(0, HAMI_E_TIMEDOUT, "");
    ask(&a, "u2", "n1");
    end_read(1, "u2", "", "default-scheduler", "nvidia.com/gpu");
    ck_assert_ptr_nonnull(strstr(a.error, "is not served here"));
    ask(&a, "u3", "n1");
    end_read(2, "u3", "", "hami-scheduler", "cpu");
    ck_assert_ptr_nonnull(strstr(a.error, "is not served here"));
    ask(&a, "u4", "n1");
    end_read(3, "u4", "", "hami-scheduler", NULL);
    ck_assert_ptr_nonnull(strstr(a.error, "is not served here"));
    ck_assert_uint_eq(wait_count, 1);
    tear_down();
}
END_TEST

START_TEST(test_a_pod_that_is_not_there_is_told_before_the_queue)
{
    struct caller a;
    set_up(strict());
    ask(&a, "u1", "n1");
    end_read(0, NULL, NULL, NULL, NULL);
    ck_assert_ptr_nonnull(strstr(a.error, "there is no pod ns/a with uid u1"));
    ask(&a, "u1", "n1");
    end_read(1, "u2", "", "hami-scheduler", "nvidia.com/gpu");
    ck_assert_ptr_nonnull(strstr(a.error, "is another one"));
    ask(&a, "u1", "n1");
    fail_read(2, HAMI_E_TRANSPORT, "connection refused");
    ck_assert_ptr_nonnull(strstr(a.error, "could not read pod ns/a"));
    ck_assert_ptr_nonnull(strstr(a.error, "connection refused"));
    ck_assert_uint_eq(wait_count, 0);
    tear_down();
}
END_TEST

START_TEST(test_binds_queue_in_the_order_of_arrival_however_their_reads_come_back)
{
    struct caller callers[4];
    set_up(strict());
    ask(&callers[0], "u0", "n1");
    ask(&callers[1], "u1", "n1");
    ask(&callers[2], "u2", "n1");
    ask(&callers[3], "u3", "n1");
    end_read(3, "u3", "", "hami-scheduler", "nvidia.com/gpu");
    end_read(1, "u1", "", "hami-scheduler", "nvidia.com/gpu");
    ck_assert_uint_eq(wait_count, 0);
    end_read(0, "u0", "", "hami-scheduler", "nvidia.com/gpu");
    ck_assert_uint_eq(wait_count, 2);
    end_read(2, NULL, NULL, NULL, NULL);
    ck_assert_uint_eq(wait_count, 3);
    ck_assert_str_eq(waits[0].uid, "u0");
    ck_assert_str_eq(waits[1].uid, "u1");
    ck_assert_str_eq(waits[2].uid, "u3");
    for (size_t i = 0; i < 3; i++) {
        end_wait(i, HAMI_E_TIMEDOUT, "");
    }
    tear_down();
}
END_TEST

START_TEST(test_a_caller_that_leaves_while_its_pod_is_read_never_queues)
{
    struct caller a;
    set_up(strict());
    ask(&a, "u1", "n1");
    binder_leave(a.handle);
    end_read(0, "u1", "", "hami-scheduler", "nvidia.com/gpu");
    ck_assert_uint_eq(wait_count, 0);
    tear_down();
}
END_TEST

START_TEST(test_case_3_18_draining_answers_all_that_is_not_posted)
{
    struct caller queued;
    struct caller posted;
    struct caller behind;
    struct caller late;
    set_up_default();
    ask(&queued, "u1", "n1");
    ask(&posted, "u2", "n2");
    end_wait(1, 0, "");
    ask(&behind, "u2", "n3");
    binder_drain(binder);
    ck_assert(behind.answered);
    end_wait(0, HAMI_E_CLOSED, ""); /* what the manager's shutdown does */
    ck_assert_ptr_nonnull(strstr(queued.error, "shutting down"));
    ask(&late, "u3", "n1");
    ck_assert_ptr_nonnull(strstr(late.error, "shutting down"));
    end_binding(0, 0, "");
    ck_assert_str_eq(posted.error, "");
    tear_down();
}
END_TEST

START_TEST(test_an_acquire_that_cant_start_is_told_at_once)
{
    struct caller a;
    set_up_default();
    acquire_answer = HAMI_E_LIMIT;
    ask(&a, "u1", "n1");
    ck_assert_ptr_nonnull(strstr(a.error, "node lock contention"));
    acquire_answer = HAMI_E_NOMEM;
    ask(&a, "u1", "n1");
    ck_assert_ptr_nonnull(strstr(a.error, "could not lock node n1"));
    ck_assert_uint_eq(metrics.acquires[ACQUIRE_limit], 1);
    tear_down();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("binds that end otherwise");
    TCase *all = tcase_create("all");
    tcase_add_test(all, test_a_binding_in_doubt_is_handed_off_and_the_pod_is_asked);
    tcase_add_test(
        all, test_case_3_12_a_lock_or_binding_that_the_pod_cant_use_any_more_is_an_error);
    tcase_add_test(all, test_lost_for_a_pod_that_is_bound_here_is_success);
    tcase_add_test(all, test_only_pods_of_listed_schedulers_and_resources_are_served);
    tcase_add_test(all, test_a_pod_that_is_not_there_is_told_before_the_queue);
    tcase_add_test(
        all, test_binds_queue_in_the_order_of_arrival_however_their_reads_come_back);
    tcase_add_test(all, test_a_caller_that_leaves_while_its_pod_is_read_never_queues);
    tcase_add_test(all, test_case_3_18_draining_answers_all_that_is_not_posted);
    tcase_add_test(all, test_an_acquire_that_cant_start_is_told_at_once);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
