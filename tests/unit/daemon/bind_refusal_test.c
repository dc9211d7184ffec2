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

/* A lock, another lock and none. */
static struct lock_table *make_locks(void)
{
    static const struct hamid_flag_list choices = {{"example.com/none=exempt"}, 1};
    static const struct hamid_flag_list managed = {
        {"nvidia.com/gpu", "nvidia.com/gpumem", "cambricon.com/vmlu", "example.com/none"},
        4};
    const struct hamid_flag_list *wrong = NULL;
    char error[HAMID_FLAG_ERROR_MAX] = "";
    struct lock_table *table = lock_table_new(&choices, &managed, error, &wrong);
    ck_assert_msg(table != NULL, "%s", error);
    return table;
}

static struct binder_config strict(void)
{
    static const char *const names[] = {"hami-scheduler"};
    return (struct binder_config){
        .scheduler_names = names, .scheduler_name_count = 1, .locks = make_locks()};
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

/* What the manager is told of the calls of a pod that asks for this. */
static const char *calls_told(bool side_by_side, const char *resources)
{
    static char told[HAMI_NODELOCK_CALLS_MAX + 1];
    struct caller a;
    struct binder_config config = strict();
    config.side_by_side = side_by_side;
    set_up(config);
    ask(&a, "u1", "n1");
    end_read(0, "u1", "", "hami-scheduler", resources);
    ck_assert_uint_eq(wait_count, 1);
    memcpy(told, waits[0].calls, sizeof(told));
    end_wait(0, HAMI_E_TIMEDOUT, "");
    tear_down();
    return told;
}

START_TEST(test_the_calls_of_a_pod_are_told_sorted_and_of_served_devices_alone)
{
    static const struct {
        const char *resources;
        const char *calls;
    } rows[] = {
        {"nvidia.com/gpu=2", "nvidia.com/gpu=2"},
        {"nvidia.com/gpu=2 nvidia.com/gpu=10 nvidia.com/gpu=1",
         "nvidia.com/gpu=1,nvidia.com/gpu=10,nvidia.com/gpu=2"},
        {"example.com/nic=3 nvidia.com/gpumem=3000 nvidia.com/gpu=1 cpu",
         "nvidia.com/gpu=1"},
        {"example.com/none=1 nvidia.com/gpu=1 hygon.com/dcunum=?", "nvidia.com/gpu=1"},
        {"cambricon.com/vmlu=1", "cambricon.com/vmlu=1"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_assert_str_eq(calls_told(true, rows[i].resources), rows[i].calls);
    }
}
END_TEST

/* A node's device plugin may serve what no row names. */
START_TEST(test_all_resources_count_where_no_list_says_what_is_served)
{
    static const struct hamid_flag_list none = {{NULL}, 0};
    const struct hamid_flag_list *wrong = NULL;
    char error[HAMID_FLAG_ERROR_MAX] = "";
    struct caller a;
    set_up((struct binder_config){.side_by_side = true,
                                  .locks = lock_table_new(&none, &none, error, &wrong)});
    ask(&a, "u1", "n1");
    end_read(0, "u1", "", "x",
             "nvidia.com/gpu=2 example.com/x=1 nvidia.com/gpucores=30 enflame.com/gcu=?");
    ck_assert_str_eq(waits[0].calls, "example.com/x=1,nvidia.com/gpu=2");
    end_wait(0, HAMI_E_TIMEDOUT, "");
    ask(&a, "u2", "n1");
    end_read(1, "u2", "", "x", "nvidia.com/gpu=2 example.com/x=?");
    ck_assert_str_eq(waits[1].calls, "alone");
    end_wait(1, HAMI_E_TIMEDOUT, "");
    tear_down();
}
END_TEST

START_TEST(test_a_pod_whose_calls_are_not_all_clear_is_told_to_be_alone)
{
    static const char *const rows[] = {
        "nvidia.com/gpu=1 cambricon.com/vmlu=1", /* two locks */
        "nvidia.com/gpu=?",
        "nvidia.com/gpu=1 nvidia.com/gpu=?",
        "nvidia.com/gpu",     /* no call is told */
        "nvidia.com/gpu=1 ?", /* not all are told */
        "nvidia.com/gpumem=3000",
        "nvidia.com/gpu=1 nvidia.com/gpu=2 nvidia.com/gpu=3 nvidia.com/gpu=4 "
        "nvidia.com/gpu=5 nvidia.com/gpu=6 nvidia.com/gpu=7 nvidia.com/gpu=8 "
        "nvidia.com/gpu=9 nvidia.com/gpu=10 nvidia.com/gpu=11 nvidia.com/gpu=12 "
        "nvidia.com/gpu=13 nvidia.com/gpu=14 nvidia.com/gpu=15 nvidia.com/gpu=16 "
        "nvidia.com/gpu=17",
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_assert_msg(strcmp(calls_told(true, rows[i]), "alone") == 0, "%s", rows[i]);
    }
    ck_assert_str_eq(calls_told(false, "nvidia.com/gpu=2"), "alone");
}
END_TEST

START_TEST(test_case_1_36_a_pod_takes_the_locks_that_its_resources_map_to)
{
    static const struct {
        const char *resources;
        const char *keys;
    } rows[] = {
        {"nvidia.com/gpu nvidia.com/gpumem", "hami.io/mutex.lock"},
        {"cambricon.com/vmlu", "cambricon.com/dsmlu.lock"},
        {"cpu nvidia.com/gpu cambricon.com/vmlu",
         "hami.io/mutex.lock cambricon.com/dsmlu.lock"},
        {"example.com/none nvidia.com/gpu", "hami.io/mutex.lock"},
        {"hygon.com/dcunum nvidia.com/gpu", "hami.io/mutex.lock"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct caller a;
        set_up(strict());
        ask(&a, "u1", "n1");
        end_read(0, "u1", "", "hami-scheduler", rows[i].resources);
        ck_assert_uint_eq(wait_count, 1);
        ck_assert_str_eq(waits[0].keys, rows[i].keys);
        end_wait(0, HAMI_E_TIMEDOUT, "");
        tear_down();
    }
}
END_TEST

START_TEST(test_case_1_36_a_pod_that_is_exempt_on_purpose_is_bound_without_a_lock)
{
    struct caller a;
    set_up(strict());
    ask(&a, "u1", "n1");
    end_read(0, "u1", "", "hami-scheduler", "cpu example.com/none");
    ck_assert_uint_eq(wait_count, 0);
    ck_assert_uint_eq(request_count, 1);
    end_request(0, 0, 201);
    ck_assert(a.answered);
    ck_assert_str_eq(a.error, "");
    /* Refused, and the pod is not here: told; lost on the way, and it is: bound. */
    ask(&a, "u2", "n1");
    end_read(1, "u2", "", "hami-scheduler", "example.com/none");
    end_request(1, 0, 409);
    end_read(2, "u2", "", "hami-scheduler", "example.com/none");
    ck_assert_ptr_nonnull(strstr(a.error, "409"));
    ask(&a, "u3", "n1");
    end_read(3, "u3", "", "hami-scheduler", "example.com/none");
    end_request(2, HAMI_E_IN_DOUBT, 0);
    end_read(4, "u3", "n1", "hami-scheduler", "example.com/none");
    ck_assert_str_eq(a.error, "");
    ck_assert_uint_eq(metrics.binds[BIND_bound], 2);
    tear_down();
}
END_TEST

START_TEST(test_a_change_counts_for_the_binds_that_come_after_it)
{
    struct caller a;
    struct caller b;
    const struct hamid_flag_list *wrong = NULL;
    const struct hamid_flag_list choices = {{"nvidia.com/gpu=example.com/other.lock"}, 1};
    const struct hamid_flag_list managed = {{"nvidia.com/gpu"}, 1};
    char error[HAMID_FLAG_ERROR_MAX] = "";
    set_up(strict());
    ask(&a, "u1", "n1");
    struct lock_table *changed = lock_table_new(&choices, &managed, error, &wrong);
    ck_assert_msg(changed != NULL, "%s", error);
    binder_change(binder, 60000, changed);
    (void)lock_table_unref(changed);
    ask(&b, "u2", "n2");
    end_read(0, "u1", "", "hami-scheduler", "nvidia.com/gpu");
    end_read(1, "u2", "", "hami-scheduler", "nvidia.com/gpu");
    ck_assert_str_eq(waits[0].keys, "hami.io/mutex.lock");
    ck_assert_str_eq(waits[1].keys, "example.com/other.lock");
    ck_assert(waits[1].deadline_ns > waits[0].deadline_ns + 20 * 1000000000ull);
    end_wait(0, HAMI_E_TIMEDOUT, "");
    end_wait(1, HAMI_E_TIMEDOUT, "");
    tear_down();
}
END_TEST

START_TEST(test_a_read_that_ran_out_of_time_is_repeated_while_the_caller_has_some)
{
    struct caller a;
    set_up(strict());
    ask(&a, "u1", "n1");
    played_later_ns = 3 * 1000000000ull;
    fail_read(0, HAMI_E_TRANSPORT, "The deadline passed");
    ck_assert(!a.answered);
    ck_assert_uint_eq(read_count, 2);
    played_later_ns = 27 * 1000000000ull;
    fail_read(1, HAMI_E_TRANSPORT, "The deadline passed");
    ck_assert_ptr_nonnull(strstr(a.error, "could not read pod ns/a"));
    ck_assert_uint_eq(read_count, 2);
    played_later_ns = 0;
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
    tcase_add_test(all,
                   test_the_calls_of_a_pod_are_told_sorted_and_of_served_devices_alone);
    tcase_add_test(all, test_all_resources_count_where_no_list_says_what_is_served);
    tcase_add_test(all, test_a_pod_whose_calls_are_not_all_clear_is_told_to_be_alone);
    tcase_add_test(all, test_case_1_36_a_pod_takes_the_locks_that_its_resources_map_to);
    tcase_add_test(
        all, test_case_1_36_a_pod_that_is_exempt_on_purpose_is_bound_without_a_lock);
    tcase_add_test(all, test_a_change_counts_for_the_binds_that_come_after_it);
    tcase_add_test(
        all, test_a_read_that_ran_out_of_time_is_repeated_while_the_caller_has_some);
    tcase_add_test(all, test_a_pod_that_is_not_there_is_told_before_the_queue);
    tcase_add_test(
        all, test_binds_queue_in_the_order_of_arrival_however_their_reads_come_back);
    tcase_add_test(all, test_a_caller_that_leaves_while_its_pod_is_read_never_queues);
    tcase_add_test(all, test_case_3_18_draining_answers_all_that_is_not_posted);
    tcase_add_test(all, test_an_acquire_that_cant_start_is_told_at_once);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
