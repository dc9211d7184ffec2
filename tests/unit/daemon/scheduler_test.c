/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hamid scheduler as a whole: a real process, real connections, and an API server that
 * tells what was asked of it.
 */
#include "running.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "suite.h"

#define BURST 40

static struct running running;
static struct http_client clients[BURST];

static double now_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void close_clients(int count)
{
    for (int i = 0; i < count; i++) {
        http_client_close(&clients[i]);
    }
}

static bool is_answered(const struct http_client *client)
{
    return strstr(client->answer, "\"}") != NULL;
}

/* Turns the loop until one more of the clients has its answer; its index. */
static int next_answered(bool *done, int count)
{
    double started = now_seconds();
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
        ck_assert_msg(now_seconds() - started < 10, "nobody was answered");
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
    close_clients(BURST);
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
    close_clients(3);
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
    ck_assert(kubesim_wait_count(running.sim, &binding, 1, 5000));
    running_bind(&running, &clients[1], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    ck_assert_str_eq(running_error(&clients[1]), "");
    ck_assert_uint_eq(running_bindings(&running, NULL), 1);
    close_clients(2);
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
    close_clients(21);
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
        kubesim_wait_text(running.sim, "nodes", NULL, "n1", LOCK_POINTER, NULL, 5000));
    ck_assert_ptr_null(kubesim_text(running.sim, "pods", "ns", "p1", "/spec/nodeName"));
    close_clients(2);
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
    close_clients(3);
    running_stop(&running);
}
END_TEST

START_TEST(test_case_3_03_a_bind_is_answered_before_the_callers_patience_ends)
{
    static const char *const flags[] = {"--patience=600ms", NULL};
    running_start(&running, flags);
    running_pods(&running, "p", 2);
    running_bind(&running, &clients[0], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    double started = now_seconds();
    running_bind(&running, &clients[1], "p1", "n1");
    const char *error = running_error(&clients[1]);
    double waited = now_seconds() - started;
    ck_assert_msg(waited > 0.4 && waited < 0.6, "%f", waited);
    ck_assert_ptr_nonnull(strstr(error, "node lock contention"));
    ck_assert_ptr_nonnull(strstr(error, "has been locked within 5m0s"));
    ck_assert_ptr_nonnull(strstr(error, "ns/p0"));
    running_release(&running, "n1", "p0");
    http_client_close(&clients[1]);
    running_bind(&running, &clients[1], "p1", "n1");
    ck_assert_str_eq(running_error(&clients[1]), "");
    ck_assert_uint_eq(running_bindings(&running, "p1"), 1);
    close_clients(2);
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
    ck_assert(kubesim_wait_count(running.sim, &slow.match, 1, 5000));
    http_client_close(&clients[0]);
    running_bind(&running, &clients[1], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[1]), "");
    ck_assert_uint_eq(running_bindings(&running, NULL), 1);
    running_release(&running, "n1", "p0");
    close_clients(2);
    running_stop(&running);
}
END_TEST

START_TEST(
    test_case_3_23_a_node_or_pod_that_does_not_exist_is_told_and_nothing_is_written)
{
    running_start(&running, NULL);
    running_pods(&running, "p", 1);
    running_bind(&running, &clients[0], "p0", "n9");
    ck_assert_ptr_nonnull(strstr(running_error(&clients[0]), "n9"));
    running_bind_uid(&running, &clients[1], "nobody", "u1", "n1");
    ck_assert_ptr_nonnull(strstr(running_error(&clients[1]), "ns/nobody"));
    running_bind_uid(&running, &clients[2], "p0", "another-uid", "n1");
    ck_assert_ptr_nonnull(strstr(running_error(&clients[2]), "ns/p0"));
    ck_assert_uint_eq(running_node_writes(&running), 0);
    ck_assert_uint_eq(running_bindings(&running, NULL), 0);
    ck_assert_ptr_null(running_lock(&running, "n1"));
    running_bind(&running, &clients[3], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[3]), "");
    close_clients(4);
    running_stop(&running);
}
END_TEST

START_TEST(test_case_2_07_a_node_name_of_253_characters)
{
    char node[254];
    running_start(&running, NULL);
    running_pods(&running, "p", 1);
    memset(node, 'n', sizeof(node) - 1);
    node[253] = '\0';
    for (int i = 63; i < 253; i += 64) {
        node[i] = '.';
    }
    ck_assert_int_eq(kubesim_create_node(running.sim, node, NULL, 0), 201);
    running_bind(&running, &clients[0], "p0", node);
    ck_assert_str_eq(running_error(&clients[0]), "");
    running_release(&running, node, "p0");
    close_clients(1);
    running_stop(&running);
}
END_TEST

static const struct {
    const char *request;
    const char *answer;
    const char *text;
} odd[] = {
    {"POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
     "Content-Length: 10\r\n\r\n{\"Pod\":{}}",
     "HTTP/1.1 200 ", "--filter-url"},
    {"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 404 ", ""},
    {"GET /bind HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 405 ", ""},
    {"POST /bind HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}",
     "HTTP/1.1 415 ", ""},
    {"POST /bind HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/json\r\n"
     "Content-Length: 2\r\n\r\n{}",
     "HTTP/1.1 421 ", ""},
    {"POST /bind HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
     "Content-Length: 5\r\n\r\nhello",
     "HTTP/1.1 200 ", "not JSON"},
    {"POST /bind HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
     "Content-Length: 2\r\n\r\n{}",
     "HTTP/1.1 200 ", "PodNamespace is missing"},
    {"POST /bind HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
     "Content-Length: 70000\r\n\r\n{",
     "HTTP/1.1 200 ", "longer than 65536 bytes"},
    {"\x16\x03\x01\x02\r\n\r\n\r\n", "HTTP/1.1 400 ", ""},
};

START_TEST(test_case_3_05_odd_requests_are_answered_and_the_next_bind_works)
{
    running_start(&running, NULL);
    running_pods(&running, "p", 1);
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        http_client_open(&clients[0], running.base, running.address);
        http_client_send(&clients[0], odd[i].request);
        ck_assert_msg(http_client_until_text(&clients[0], odd[i].answer), "%zu: %s", i,
                      clients[0].answer);
        ck_assert_msg(http_client_until_text(&clients[0], odd[i].text), "%zu: %s", i,
                      clients[0].answer);
        http_client_close(&clients[0]);
    }
    ck_assert_uint_eq(running_node_writes(&running), 0);
    running_bind(&running, &clients[0], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    close_clients(1);
    running_stop(&running);
}
END_TEST

START_TEST(test_case_1_19_and_1_40_locks_of_others_stay_as_they_are)
{
    static const char *const flags[] = {"--patience=300ms", NULL};
    static const char legacy[] = "2026-01-01T00:00:00Z";
    running_start(&running, flags);
    running_pods(&running, "p", 1);
    kubesim_set_annotation(running.sim, "nodes", NULL, "n1", LOCK_KEY, legacy);
    kubesim_set_annotation(running.sim, "nodes", NULL, "n1", "cambricon.com/dsmlu.lock",
                           legacy);
    running_bind(&running, &clients[0], "p0", "n1");
    ck_assert_ptr_nonnull(strstr(running_error(&clients[0]), "node lock contention"));
    char *lock = running_lock(&running, "n1");
    char *other =
        kubesim_annotation(running.sim, "nodes", NULL, "n1", "cambricon.com/dsmlu.lock");
    ck_assert_str_eq(lock, legacy);
    ck_assert_str_eq(other, legacy);
    ck_assert_uint_eq(running_node_writes(&running), 0);
    free(lock);
    free(other);
    close_clients(1);
    running_stop(&running);
}
END_TEST

START_TEST(test_case_3_18_on_sigterm_all_that_wait_are_answered_inside_a_second)
{
    struct kubesim_fault slow = {.match = {.verb = "create",
                                           .resource = "pods",
                                           .subresource = "binding",
                                           .name = "q0"},
                                 .delay_answer_ms = 300};
    char name[16];
    running_start(&running, NULL);
    running_pods(&running, "p", 11);
    running_pods(&running, "q", 1);
    (void)kubesim_arm(running.sim, &slow);
    running_bind(&running, &clients[0], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    for (int i = 1; i < 11; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        running_bind(&running, &clients[i], name, "n1");
    }
    ck_assert(running_until(&running, "/metrics", "hamid_lock_waiters 10\n"));
    running_bind(&running, &clients[11], "q0", "n2");
    (void)event_base_loop(running.base, EVLOOP_ONCE);
    (void)event_base_loop(running.base, EVLOOP_ONCE);
    ck_assert(kubesim_wait_count(running.sim, &slow.match, 1, 5000));
    double started = now_seconds();
    (void)kill(running.pid, SIGTERM);
    for (int i = 1; i < 11; i++) {
        ck_assert_ptr_nonnull(strstr(running_error(&clients[i]), "shutting down"));
    }
    ck_assert(now_seconds() - started < 1);
    ck_assert_str_eq(running_error(&clients[11]), "");
    ck_assert_int_eq(running_end(&running, 0), 0);
    running_release(&running, "n1", "p0");
    running_release(&running, "n2", "q0");
    close_clients(12);
    running_stop(&running);
}
END_TEST

START_TEST(test_only_listed_schedulers_and_resources_are_served)
{
    static const char *const flags[] = {"--scheduler-name=hami-scheduler",
                                        "--managed-resource=nvidia.com/gpu", NULL};
    struct kubesim_pod other = {.namespace_name = "ns",
                                .name = "other",
                                .count = 1,
                                .resource = "nvidia.com/gpu"};
    struct kubesim_pod plain = {
        .namespace_name = "ns", .name = "plain", .scheduler = "hami-scheduler"};
    running_start(&running, flags);
    running_pods(&running, "p", 1);
    (void)kubesim_create_pod(running.sim, &other);
    (void)kubesim_create_pod(running.sim, &plain);
    running_bind(&running, &clients[0], "other", "n1");
    ck_assert_ptr_nonnull(strstr(running_error(&clients[0]), "not served here"));
    running_bind(&running, &clients[1], "plain", "n1");
    ck_assert_ptr_nonnull(strstr(running_error(&clients[1]), "not served here"));
    ck_assert_uint_eq(running_node_writes(&running), 0);
    running_bind(&running, &clients[2], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[2]), "");
    close_clients(3);
    running_stop(&running);
}
END_TEST

START_TEST(test_the_locks_view_shows_holder_and_queue)
{
    static struct http_client view;
    running_start(&running, NULL);
    running_pods(&running, "p", 2);
    running_bind(&running, &clients[0], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    running_bind(&running, &clients[1], "p1", "n1");
    ck_assert(running_until(&running, "/v1/locks", "\"position\":0"));
    running_get(&running, &view, "/v1/locks");
    ck_assert_ptr_nonnull(strstr(view.answer, "\"node\":\"n1\""));
    ck_assert_ptr_nonnull(strstr(view.answer, "\"pod\":\"p0\""));
    ck_assert_ptr_nonnull(strstr(view.answer, "\"pod\":\"p1\""));
    ck_assert_ptr_null(strstr(view.answer, "\"node\":\"n2\""));
    running_get(&running, &view, "/readyz?verbose");
    ck_assert_ptr_nonnull(strstr(view.answer, "[+]sync with the API server"));
    running_get(&running, &view, "/livez");
    ck_assert_ptr_nonnull(strstr(view.answer, "200 OK"));
    close_clients(2);
    running_stop(&running);
}
END_TEST

/* Each parked bind costs a descriptor here too. */
static int parked_possible(void)
{
    struct rlimit limit;
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur > 2300 ? 2000 : (int)limit.rlim_cur / 2;
}

START_TEST(test_thousands_of_binds_wait_on_one_thread_and_all_are_answered_at_the_end)
{
    int count = parked_possible();
    char name[16];
    char expected[64];
    running_start(&running, (const char *const[]){"--stall-limit=0", NULL});
    running_pods(&running, "p", 1);
    running_pods(&running, "w", count);
    running_bind(&running, &clients[0], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    struct http_client *parked = calloc((size_t)count, sizeof(*parked));
    ck_assert_ptr_nonnull(parked);
    for (int i = 0; i < count; i++) {
        (void)snprintf(name, sizeof(name), "w%d", i);
        running_bind(&running, &parked[i], name, "n1");
        (void)event_base_loop(running.base, EVLOOP_NONBLOCK);
    }
    (void)snprintf(expected, sizeof(expected), "hamid_lock_waiters %d\n", count);
    ck_assert(running_until(&running, "/metrics", expected));
    (void)kill(running.pid, SIGTERM);
    for (int i = 0; i < count; i++) {
        ck_assert_ptr_nonnull(strstr(running_error(&parked[i]), "shutting down"));
        http_client_close(&parked[i]);
    }
    free(parked);
    ck_assert_int_eq(running_end(&running, 0), 0);
    close_clients(1);
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
    tcase_add_test(
        all,
        test_case_3_23_a_node_or_pod_that_does_not_exist_is_told_and_nothing_is_written);
    tcase_add_test(all, test_case_2_07_a_node_name_of_253_characters);
    tcase_add_test(all, test_case_3_05_odd_requests_are_answered_and_the_next_bind_works);
    tcase_add_test(all, test_case_1_19_and_1_40_locks_of_others_stay_as_they_are);
    tcase_add_test(all,
                   test_case_3_18_on_sigterm_all_that_wait_are_answered_inside_a_second);
    tcase_add_test(all, test_only_listed_schedulers_and_resources_are_served);
    tcase_add_test(all, test_the_locks_view_shows_holder_and_queue);
    tcase_add_test(
        all, test_thousands_of_binds_wait_on_one_thread_and_all_are_answered_at_the_end);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
