/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hamid scheduler as a whole: a real process, real connections, and an API server that
 * tells what was asked of it. Here binds that wait, come again, or leave.
 */
#include "running.h"

#include <stdio.h>
#include <string.h>

#include "suite.h"

#define BURST 40

static struct running running;
static struct http_client clients[BURST];

static bool is_answered(const struct http_client *client)
{
    return strstr(client->answer, "\"}") != NULL;
}

/* Turns the loop until one more of the clients has its answer; its index. */
static int next_answered(bool *done, int count)
{
    double started = running_seconds();
    for (;;) {
        for (int i = 0; i < count; i++) {
            if (!done[i] && is_answered(&clients[i])) {
                done[i] = true;
                return i;
            }
        }
        struct timeval limit = {.tv_usec = 100000};
        (void)event_base_loopexit(running.base, &limit);
        (void)event_base_loop(running.base, EVLOOP_ONCE);
        ck_assert_msg(running_seconds() - started < 10, "nobody was answered");
    }
}

START_TEST(test_case_1_01_forty_binds_at_once_for_one_node_are_bound_one_after_another)
{
    bool done[BURST] = {false};
    char name[16];
    running_start(&running, NULL);
    running_pods(&running, "p", BURST);
    for (int i = 0; i < BURST; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        running_bind(&running, &clients[i], name, "n1");
    }
    for (int served = 0; served < BURST; served++) {
        int i = next_answered(done, BURST);
        ck_assert_str_eq(running_error(&clients[i]), "");
        ck_assert_uint_eq(running_bindings(&running, NULL), (unsigned)served + 1);
        (void)snprintf(name, sizeof(name), "p%d", i);
        running_release(&running, "n1", name);
    }
    ck_assert_uint_lt(kubesim_count(running.sim, NULL), 5 * BURST);
    ck_assert(
        running_until(&running, "/metrics", "hamid_binds_total{outcome=\"bound\"} 40\n"));
    ck_assert(running_until(&running, "/metrics", "hamid_lock_waiters 0\n"));
    running_close(clients, BURST);
    running_stop(&running);
}
END_TEST

START_TEST(test_case_1_20_a_second_bind_of_a_bound_pod_succeeds_and_leaves_the_lock)
{
    running_start(&running, NULL);
    running_pods(&running, "p", 1);
    running_bind(&running, &clients[0], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    char *before = running_lock(&running, "n1");
    running_bind(&running, &clients[1], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[1]), "");
    running_bind(&running, &clients[2], "p0", "n2");
    ck_assert_ptr_nonnull(strstr(running_error(&clients[2]), "bound to node n1"));
    char *after = running_lock(&running, "n1");
    ck_assert_str_eq(before, after);
    ck_assert_uint_eq(running_bindings(&running, NULL), 1);
    free(before);
    free(after);
    running_close(clients, 3);
    running_stop(&running);
}
END_TEST

START_TEST(test_case_1_20_a_second_bind_meanwhile_shares_the_first_ones_answer)
{
    struct kubesim_fault slow = {
        .match = {.verb = "create", .resource = "pods", .subresource = "binding"},
        .delay_before_ms = 100};
    struct kubesim_match binding = slow.match;
    running_start(&running, NULL);
    running_pods(&running, "p", 1);
    (void)kubesim_arm(running.sim, &slow);
    running_bind(&running, &clients[0], "p0", "n1");
    (void)event_base_loop(running.base, EVLOOP_ONCE);
    (void)event_base_loop(running.base, EVLOOP_ONCE);
    ck_assert(kubesim_wait_count(running.sim, &binding, 1, 30000));
    running_bind(&running, &clients[1], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    ck_assert_str_eq(running_error(&clients[1]), "");
    ck_assert_uint_eq(running_bindings(&running, NULL), 1);
    running_close(clients, 2);
    running_stop(&running);
}
END_TEST

START_TEST(test_case_3_33_clients_that_leave_the_queue_never_reach_the_api_server)
{
    bool done[BURST] = {false};
    char name[16];
    running_start(&running, NULL);
    running_pods(&running, "p", 21);
    running_bind(&running, &clients[0], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    for (int i = 1; i < 21; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        running_bind(&running, &clients[i], name, "n1");
    }
    ck_assert(running_until(&running, "/metrics", "hamid_lock_waiters 20\n"));
    for (int i = 1; i < 21; i += 2) {
        http_client_close(&clients[i]);
        done[i] = true;
    }
    done[0] = true;
    ck_assert(running_until(&running, "/metrics", "hamid_lock_waiters 10\n"));
    running_release(&running, "n1", "p0");
    for (int served = 0; served < 10; served++) {
        int i = next_answered(done, 21);
        ck_assert_str_eq(running_error(&clients[i]), "");
        (void)snprintf(name, sizeof(name), "p%d", i);
        running_release(&running, "n1", name);
    }
    for (int i = 1; i < 21; i += 2) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        ck_assert_uint_eq(running_bindings(&running, name), 0);
    }
    running_close(clients, 21);
    running_stop(&running);
}
END_TEST

/* With a watch of the pods, and without. */
static const char *const watch_flags[] = {"--scheduler-name=hami-scheduler", NULL};

START_TEST(test_case_3_12_an_old_bind_for_a_node_that_the_pod_no_longer_wants_is_refused)
{
    running_start(&running, _i == 0 ? watch_flags : NULL);
    running_pods(&running, "p", 2);
    running_bind(&running, &clients[0], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    kubesim_set_annotation(running.sim, "pods", "ns", "p1", "hami.io/vgpu-node", "n1");
    running_bind(&running, &clients[1], "p1", "n1");
    ck_assert(running_until(&running, "/metrics", "hamid_lock_waiters 1\n"));
    kubesim_set_annotation(running.sim, "pods", "ns", "p1", "hami.io/vgpu-node", "n2");
    if (_i == 0) { /* the watch tells before its turn comes */
        ck_assert_ptr_nonnull(strstr(running_error(&clients[1]), "bound to node n1"));
        ck_assert_uint_eq(running_bindings(&running, "p1"), 0);
    }
    running_release(&running, "n1", "p0");
    ck_assert_str_ne(running_error(&clients[1]), "");
    ck_assert(
        kubesim_wait_text(running.sim, "nodes", NULL, "n1", LOCK_POINTER, NULL, 30000));
    ck_assert_ptr_null(kubesim_text(running.sim, "pods", "ns", "p1", "/spec/nodeName"));
    running_close(clients, 2);
    running_stop(&running);
}
END_TEST

START_TEST(test_case_3_22_a_pod_that_is_deleted_while_it_waits_lets_the_next_one_move_up)
{
    running_start(&running, _i == 0 ? watch_flags : NULL);
    running_pods(&running, "p", 3);
    running_bind(&running, &clients[0], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    running_bind(&running, &clients[1], "p1", "n1");
    ck_assert(running_until(&running, "/metrics", "hamid_lock_waiters 1\n"));
    running_bind(&running, &clients[2], "p2", "n1");
    ck_assert(running_until(&running, "/metrics", "hamid_lock_waiters 2\n"));
    (void)kubesim_delete(running.sim, "pods", "ns", "p1");
    if (_i == 0) { /* the watch tells before its turn comes */
        ck_assert_str_ne(running_error(&clients[1]), "");
        ck_assert_uint_eq(running_bindings(&running, "p1"), 0);
    }
    running_release(&running, "n1", "p0");
    ck_assert_str_eq(running_error(&clients[2]), "");
    ck_assert_str_ne(running_error(&clients[1]), "");
    running_close(clients, 3);
    running_stop(&running);
}
END_TEST

START_TEST(test_case_3_03_a_bind_is_answered_before_the_callers_patience_ends)
{
    static const char *const flags[] = {"--patience=3s", NULL};
    running_start(&running, flags);
    running_pods(&running, "p", 2);
    running_bind(&running, &clients[0], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    double started = running_seconds();
    running_bind(&running, &clients[1], "p1", "n1");
    const char *error = running_error(&clients[1]);
    double waited = running_seconds() - started;
    ck_assert_msg(waited > 2.0 && waited < 3.0, "%f", waited);
    ck_assert_ptr_nonnull(strstr(error, "node lock contention"));
    ck_assert_ptr_nonnull(strstr(error, "has been locked within 5m0s"));
    ck_assert_ptr_nonnull(strstr(error, "ns/p0"));
    running_release(&running, "n1", "p0");
    http_client_close(&clients[1]);
    running_bind(&running, &clients[1], "p1", "n1");
    ck_assert_str_eq(running_error(&clients[1]), "");
    ck_assert_uint_eq(running_bindings(&running, "p1"), 1);
    running_close(clients, 2);
    running_stop(&running);
}
END_TEST

START_TEST(test_case_3_01_a_bind_whose_client_left_is_finished_and_the_retry_succeeds)
{
    struct kubesim_fault slow = {
        .match = {.verb = "create", .resource = "pods", .subresource = "binding"},
        .delay_answer_ms = 200,
        .count = 1};
    running_start(&running, NULL);
    running_pods(&running, "p", 1);
    (void)kubesim_arm(running.sim, &slow);
    running_bind(&running, &clients[0], "p0", "n1");
    (void)event_base_loop(running.base, EVLOOP_ONCE);
    (void)event_base_loop(running.base, EVLOOP_ONCE);
    ck_assert(kubesim_wait_count(running.sim, &slow.match, 1, 30000));
    http_client_close(&clients[0]);
    running_bind(&running, &clients[1], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[1]), "");
    ck_assert_uint_eq(running_bindings(&running, NULL), 1);
    running_release(&running, "n1", "p0");
    running_close(clients, 2);
    running_stop(&running);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hamid scheduler");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_test(
        all, test_case_1_01_forty_binds_at_once_for_one_node_are_bound_one_after_another);
    tcase_add_test(
        all, test_case_1_20_a_second_bind_of_a_bound_pod_succeeds_and_leaves_the_lock);
    tcase_add_test(all,
                   test_case_1_20_a_second_bind_meanwhile_shares_the_first_ones_answer);
    tcase_add_test(
        all, test_case_3_33_clients_that_leave_the_queue_never_reach_the_api_server);
    tcase_add_loop_test(
        all,
        test_case_3_12_an_old_bind_for_a_node_that_the_pod_no_longer_wants_is_refused, 0,
        2);
    tcase_add_loop_test(
        all,
        test_case_3_22_a_pod_that_is_deleted_while_it_waits_lets_the_next_one_move_up, 0,
        2);
    tcase_add_test(all,
                   test_case_3_03_a_bind_is_answered_before_the_callers_patience_ends);
    tcase_add_test(
        all, test_case_3_01_a_bind_whose_client_left_is_finished_and_the_retry_succeeds);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
