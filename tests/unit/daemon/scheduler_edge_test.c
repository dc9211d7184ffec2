/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hamid scheduler as a whole, at its edges: what does not exist, is not served, is
 * malformed; the end; thousands at once; what operators look at.
 */
#include "running.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "suite.h"

static struct running running;
static struct http_client clients[12];

START_TEST(test_case_3_23_an_unknown_node_or_pod_is_told_and_nothing_written)
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
    running_close(clients, 4);
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
    running_close(clients, 1);
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
    running_close(clients, 1);
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
    running_close(clients, 1);
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
    ck_assert(kubesim_wait_count(running.sim, &slow.match, 1, 30000));
    double started = running_seconds();
    (void)kill(running.pid, SIGTERM);
    for (int i = 1; i < 11; i++) {
        ck_assert_ptr_nonnull(strstr(running_error(&clients[i]), "shutting down"));
    }
    ck_assert(running_seconds() - started < 1);
    ck_assert_str_eq(running_error(&clients[11]), "");
    ck_assert_int_eq(running_end(&running, 0), 0);
    running_release(&running, "n1", "p0");
    running_release(&running, "n2", "q0");
    running_close(clients, 12);
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
    running_close(clients, 3);
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
    running_close(clients, 2);
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
    running_close(clients, 1);
    running_stop(&running);
}
END_TEST

START_TEST(test_case_3_24_old_words_of_the_handshake_keep_no_node_out)
{
    static const char *const words[] = {"Deleted_2026.01.02 03:04:05", "Deleted",
                                        "rubbish", "Requesting_2026-01-02 03:04:05"};
    char name[16];

    running_start(&running, NULL);
    running_pods(&running, "p", 4);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(kubesim_set_annotation(running.sim, "nodes", NULL, "n1",
                                                "hami.io/node-handshake", words[i]),
                         200);
        (void)snprintf(name, sizeof(name), "p%d", i);
        running_bind(&running, &clients[i], name, "n1");
        ck_assert_str_eq(running_error(&clients[i]), "");
        running_release(&running, "n1", name);
    }
    running_close(clients, 4);
    running_stop(&running);
}
END_TEST

/* A pod that asks for a GPU in its init container alone; `sidecar`: one that runs on. */
static void make_init_pod(const char *name, bool sidecar)
{
    char body[640];

    (void)snprintf(
        body, sizeof(body),
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\"},"
        "\"spec\":{\"schedulerName\":\"hami-scheduler\",\"initContainers\":[{"
        "\"name\":\"i\",\"image\":\"x\"%s,"
        "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}],"
        "\"containers\":[{\"name\":\"c\",\"image\":\"x\"}]}}",
        name, sidecar ? ",\"restartPolicy\":\"Always\"" : "");
    ck_assert_int_eq(kubesim_request(running.sim, "POST", "/api/v1/namespaces/ns/pods",
                                     "application/json", body, NULL),
                     201);
}

START_TEST(test_case_4_02_a_pod_whose_init_container_asks_is_locked_for)
{
    static const char *const flags[] = {"--managed-resource=nvidia.com/gpu", NULL};
    static const char *const names[] = {"init", "sidecar"};

    running_start(&running, flags);
    for (int i = 0; i < 2; i++) {
        make_init_pod(names[i], i == 1);
        running_bind(&running, &clients[i], names[i], "n1");
        ck_assert_str_eq(running_error(&clients[i]), "");
        running_release(&running, "n1", names[i]); /* it named the pod */
    }
    running_close(clients, 2);
    running_stop(&running);
}
END_TEST

START_TEST(test_case_4_29_each_lock_that_is_written_names_its_owner)
{
    char name[16];

    running_start(&running, NULL);
    running_pods(&running, "p", 3);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        running_bind(&running, &clients[i], name, "n1");
        ck_assert_str_eq(running_error(&clients[i]), "");
        char *lock = running_lock(&running, "n1");
        ck_assert_ptr_nonnull(lock);
        ck_assert_ptr_nonnull(strstr(lock, "Z,ns,p"));
        ck_assert_uint_eq(strcspn(lock, ","), strlen("2026-01-01T00:00:00Z"));
        free(lock);
        running_release(&running, "n1", name);
    }
    running_close(clients, 3);
    running_stop(&running);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hamid scheduler at its edges");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_test(all,
                   test_case_3_23_an_unknown_node_or_pod_is_told_and_nothing_written);
    tcase_add_test(all, test_case_2_07_a_node_name_of_253_characters);
    tcase_add_test(all, test_case_3_05_odd_requests_are_answered_and_the_next_bind_works);
    tcase_add_test(all, test_case_1_19_and_1_40_locks_of_others_stay_as_they_are);
    tcase_add_test(all,
                   test_case_3_18_on_sigterm_all_that_wait_are_answered_inside_a_second);
    tcase_add_test(all, test_only_listed_schedulers_and_resources_are_served);
    tcase_add_test(all, test_case_3_24_old_words_of_the_handshake_keep_no_node_out);
    tcase_add_test(all, test_case_4_02_a_pod_whose_init_container_asks_is_locked_for);
    tcase_add_test(all, test_case_4_29_each_lock_that_is_written_names_its_owner);
    tcase_add_test(all, test_the_locks_view_shows_holder_and_queue);
    tcase_add_test(
        all, test_thousands_of_binds_wait_on_one_thread_and_all_are_answered_at_the_end);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
