/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of the Kubernetes client: answers, threads, callbacks, the end of a client,
 * arguments.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kubernetes_support.h"
#include "suite.h"

static struct fixture fixture;
static struct record record;

static void setup(void)
{
    fixture_open(&fixture, NULL);
    fixture_connect(&fixture);
    record_init(&record);
}

static void setup_http1(void)
{
    struct kubesim_options options = {.without_http2 = true};

    fixture_open(&fixture, &options);
    fixture_connect(&fixture);
    record_init(&record);
}

static void teardown(void)
{
    fixture_close(&fixture);
    record_done(&record);
}

static int start(struct hami_kubernetes_request request)
{
    return hami_kubernetes_request_start(fixture.client, &request, record_answer,
                                         &record);
}

static void hang(const char *verb)
{
    struct kubesim_fault fault = {.match = {.verb = verb}, .action = KUBESIM_HANG_BEFORE};

    (void)kubesim_arm(fixture.sim, &fault);
}

/* ---- answers -------------------------------------------------------------------- */

START_TEST(a_read_is_answered_with_body_status_and_the_servers_time)
{
    struct hami_kubernetes_request request = get_node();
    struct hami_kubernetes_answer *answer = NULL;
    struct hami_error error = HAMI_ERROR_INIT;
    int64_t seconds;

    ck_assert_msg(hami_kubernetes_request(fixture.client, &request, &answer, &error) == 0,
                  "%s", error.text);
    ck_assert_int_eq(answer->status, 200);
    ck_assert_int_eq(answer->code, 0);
    ck_assert_ptr_nonnull(strstr(answer->body, "\"name\":\"n1\""));
    ck_assert_uint_eq(answer->body_length, strlen(answer->body));
    ck_assert_str_eq(answer->text, "");
    seconds = (int64_t)time(NULL) - (int64_t)(answer->server_time_us / 1000000);
    ck_assert_int_lt(llabs(seconds), 30);
    ck_assert_ptr_null(hami_kubernetes_answer_free(answer));
}
END_TEST

START_TEST(the_servers_time_is_its_own)
{
    struct told told;

    kubesim_set_date_skew(fixture.sim, -3600);
    told = ask(fixture.client, get_node());
    ck_assert_int_lt(
        llabs((int64_t)time(NULL) - 3600 - (int64_t)(told.server_time_us / 1000000)), 30);
}
END_TEST

START_TEST(each_method_reaches_the_server_as_itself)
{
    static const char lease[] =
        "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\","
        "\"metadata\":{\"name\":\"l\"},\"spec\":{}}";
    static const char path[] = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    static const char one[] = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
    static const char *const verbs[] = {"create", "get", "update", "patch", "delete"};
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;

    request.method = HAMI_KUBERNETES_POST;
    request.path = path;
    request.body = lease;
    request.body_length = sizeof(lease) - 1;
    ck_assert_int_eq(ask(fixture.client, request).status, 201);
    request.path = one;
    request.method = HAMI_KUBERNETES_PUT; /* which asks for a resourceVersion */
    ck_assert_int_eq(ask(fixture.client, request).status, 422);
    request.method = HAMI_KUBERNETES_PATCH;
    request.content_type = "application/merge-patch+json";
    request.body = "{\"spec\":{\"holderIdentity\":\"me\"}}";
    request.body_length = strlen(request.body);
    ck_assert_int_eq(ask(fixture.client, request).status, 200);
    request.body = NULL;
    request.body_length = 0;
    request.method = HAMI_KUBERNETES_GET;
    ck_assert_ptr_nonnull(strstr(ask(fixture.client, request).body, "\"me\""));
    request.method = HAMI_KUBERNETES_DELETE;
    ck_assert_int_eq(ask(fixture.client, request).status, 200);
    for (size_t i = 0; i < 5; i++) {
        struct kubesim_match match = {.verb = verbs[i], .resource = "leases"};

        ck_assert_uint_eq(kubesim_count(fixture.sim, &match), 1);
    }
}
END_TEST

START_TEST(a_body_may_hold_any_bytes_and_the_copy_is_ours)
{
    char body[] = "{\"metadata\":{\"annotations\":{\"a\":\"first\"}}}";
    struct hami_kubernetes_request request = patch_node();
    char *value;

    request.body = body;
    request.body_length = strlen(body);
    ck_assert_int_eq(start(request), 0);
    memset(body, 'x', sizeof(body));
    ck_assert_int_eq(record_wait(&record, 1)->status, 200);
    value = kubesim_annotation(fixture.sim, "nodes", NULL, "n1", "a");
    ck_assert_str_eq(value, "first");
    free(value);
}
END_TEST

START_TEST(a_refusal_is_an_answer)
{
    struct hami_kubernetes_request request = get_node();
    struct told told;

    request.path = "/api/v1/nodes/none";
    told = ask(fixture.client, request);
    ck_assert_int_eq(told.code, 0);
    ck_assert_int_eq(told.status, 404);
    ck_assert_ptr_nonnull(strstr(told.body, "NotFound"));
}
END_TEST

/* ---- one connection, many threads ----------------------------------------------- */

#define THREADS 8
#define REQUESTS 100

static void *ask_often(void *data)
{
    intptr_t failed = 0;

    (void)data;
    for (int i = 0; i < REQUESTS; i++) {
        struct hami_kubernetes_request request = i % 4 == 0 ? patch_node() : get_node();
        struct hami_kubernetes_answer *answer = NULL;

        if (hami_kubernetes_request(fixture.client, &request, &answer, NULL) != 0 ||
            answer->status != 200) {
            failed++;
        }
        (void)hami_kubernetes_answer_free(answer);
    }
    return (void *)failed;
}

static void ask_from_threads(void)
{
    struct hami_kubernetes_stats stats = HAMI_KUBERNETES_STATS_INIT;
    pthread_t threads[THREADS];
    void *failed;

    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_often, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
        ck_assert_ptr_null(failed);
    }
    ck_assert_uint_eq(kubesim_count(fixture.sim, NULL), THREADS * REQUESTS);
    ck_assert_int_eq(hami_kubernetes_stats(fixture.client, &stats), 0);
    ck_assert_uint_eq(stats.requests, THREADS * REQUESTS);
    ck_assert_uint_eq(stats.answers[2], THREADS * REQUESTS);
    ck_assert_uint_eq(stats.in_flight, 0);
    ck_assert_uint_eq(stats.waiting, 0);
}

START_TEST(requests_of_many_threads_share_one_http2_connection)
{
    struct hami_kubernetes_stats stats = HAMI_KUBERNETES_STATS_INIT;
    unsigned accepted = 0;

    ask_from_threads();
    (void)kubesim_connections(fixture.sim, &accepted);
    ck_assert_uint_eq(accepted, 1);
    ck_assert_int_eq(hami_kubernetes_stats(fixture.client, &stats), 0);
    ck_assert_uint_eq(stats.connections, 1);
}
END_TEST

START_TEST(requests_of_many_threads_work_over_http1)
{
    unsigned accepted = 0;

    ask_from_threads();
    (void)kubesim_connections(fixture.sim, &accepted);
    ck_assert_uint_le(accepted, THREADS);
}
END_TEST

START_TEST(many_requests_started_at_once_are_each_answered_once)
{
    for (int i = 0; i < 2000; i++) {
        struct hami_kubernetes_request request = i % 2 == 0 ? get_node() : patch_node();

        request.deadline_ns = hami_kubernetes_in_ms(2 * WAIT_MS);
        ck_assert_int_eq(start(request), 0);
    }
    (void)record_wait(&record, 2000);
    for (size_t i = 0; i < 2000; i++) {
        ck_assert_int_eq(record.told[i].status, 200);
    }
    ck_assert_uint_eq(kubesim_count(fixture.sim, NULL), 2000);
    ck_assert_uint_eq(record_count(&record), 2000);
}
END_TEST

/* ---- callbacks ------------------------------------------------------------------ */

struct chain {
    int left;
    int code; /* of a blocking call from the callback */
};

static void ask_next(void *data, const struct hami_kubernetes_answer *answer)
{
    struct chain *chain = data;
    struct hami_kubernetes_request request = get_node();
    struct hami_kubernetes_answer *none = NULL;

    chain->code = hami_kubernetes_request(fixture.client, &request, &none, NULL);
    chain->left--;
    if (chain->left > 0 && answer->status == 200) {
        (void)hami_kubernetes_request_start(fixture.client, &request, ask_next, chain);
        return;
    }
    record_answer(&record, answer);
}

START_TEST(a_callback_may_start_requests_and_may_not_wait_for_one)
{
    struct chain chain = {.left = 20};
    struct hami_kubernetes_request request = get_node();

    ck_assert_int_eq(
        hami_kubernetes_request_start(fixture.client, &request, ask_next, &chain), 0);
    ck_assert_int_eq(record_wait(&record, 1)->status, 200);
    ck_assert_int_eq(chain.left, 0);
    ck_assert_int_eq(chain.code, HAMI_E_INVAL);
    ck_assert_uint_eq(kubesim_count(fixture.sim, NULL), 20);
}
END_TEST

/* ---- the end -------------------------------------------------------------------- */

START_TEST(freeing_a_client_ends_what_is_in_flight_and_what_waits_with_closed)
{
    hang("get");
    for (int i = 0; i < 200; i++) {
        ck_assert_int_eq(start(get_node()), 0);
    }
    ck_assert(kubesim_wait_count(fixture.sim, NULL, 64, WAIT_MS));
    fixture.client = hami_kubernetes_free(fixture.client);
    ck_assert_ptr_null(fixture.client);
    ck_assert_uint_eq(record_count(&record), 200);
    for (size_t i = 0; i < 200; i++) {
        ck_assert_int_eq(record.told[i].code, HAMI_E_CLOSED);
    }
}
END_TEST

static void start_when_closed(void *data, const struct hami_kubernetes_answer *answer)
{
    struct hami_kubernetes_request request = get_node();
    struct told told = {0};

    told.code =
        hami_kubernetes_request_start(fixture.client, &request, record_answer, &record);
    *(int *)data = answer->code == HAMI_E_CLOSED ? told.code : 0;
}

START_TEST(nothing_can_be_started_while_a_client_is_being_freed)
{
    struct hami_kubernetes_request request = get_node();
    int code = 0;

    hang("get");
    ck_assert_int_eq(
        hami_kubernetes_request_start(fixture.client, &request, start_when_closed, &code),
        0);
    ck_assert(kubesim_wait_count(fixture.sim, NULL, 1, WAIT_MS));
    (void)hami_kubernetes_free(fixture.client);
    fixture.client = NULL;
    ck_assert_int_eq(code, HAMI_E_CLOSED);
    ck_assert_uint_eq(record_count(&record), 0);
}
END_TEST

START_TEST(a_client_that_was_never_used_ends_at_once)
{
    hami_kubernetes *client = NULL;

    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(hami_kubernetes_new(&fixture.config, &client, NULL), 0);
        ck_assert_ptr_null(hami_kubernetes_free(client));
    }
    ck_assert_ptr_null(hami_kubernetes_free(NULL));
    ck_assert_uint_eq(kubesim_count(fixture.sim, NULL), 0);
}
END_TEST

/* The child's exit status tells which check failed. */
static int be_forked_child(void)
{
    struct hami_kubernetes_request request = get_node();
    struct hami_kubernetes_stats stats = HAMI_KUBERNETES_STATS_INIT;
    struct hami_kubernetes_answer *answer = NULL;

    if (hami_kubernetes_request(fixture.client, &request, &answer, NULL) !=
        HAMI_E_FORKED) {
        return 1;
    }
    if (start(request) != HAMI_E_FORKED) {
        return 2;
    }
    if (hami_kubernetes_stats(fixture.client, &stats) != HAMI_E_FORKED) {
        return 3;
    }
    if (hami_kubernetes_reload(fixture.client, NULL) != HAMI_E_FORKED) {
        return 4;
    }
    return hami_kubernetes_free(fixture.client) == NULL ? 0 : 5;
}

START_TEST(a_forked_child_gets_forked_and_leaves_the_parents_connection_alone)
{
    unsigned accepted = 0;
    int status = -1;
    pid_t child;

    ck_assert_int_eq(ask(fixture.client, get_node()).status, 200);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        _exit(be_forked_child());
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(ask(fixture.client, get_node()).status, 200);
    (void)kubesim_connections(fixture.sim, &accepted);
    ck_assert_uint_eq(accepted, 1);
}
END_TEST

/* ---- arguments ------------------------------------------------------------------ */

START_TEST(wrong_requests_are_refused_before_anything_is_sent)
{
    char long_path[9000];
    char long_accept[1100];
    struct hami_kubernetes_request wrong[14];
    size_t count = 0;

    memset(long_path, 'a', sizeof(long_path));
    long_path[0] = '/';
    long_path[sizeof(long_path) - 1] = '\0';
    memset(long_accept, 'a', sizeof(long_accept));
    long_accept[sizeof(long_accept) - 1] = '\0';
    for (size_t i = 0; i < 14; i++) {
        wrong[i] = get_node();
    }
    wrong[count++].path = NULL;
    wrong[count++].path = "";
    wrong[count++].path = "api";
    wrong[count++].path = "/api /x";
    wrong[count++].path = "/api\r\nX: y";
    wrong[count++].path = "/api#x";
    wrong[count++].path = long_path;
    wrong[count++].accept = "a\r\nX: y";
    wrong[count++].accept = long_accept;
    wrong[count++].content_type = "a\nb";
    wrong[count++].method = (enum hami_kubernetes_method)5;
    wrong[count++].body_length = 1;
    wrong[count++].body = "{}";
    wrong[count++].size = 1;
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(start(wrong[i]) == HAMI_E_INVAL, "request %zu was accepted", i);
    }
    ck_assert_int_eq(
        hami_kubernetes_request_start(NULL, &wrong[0], record_answer, &record),
        HAMI_E_INVAL);
    wrong[0] = get_node();
    ck_assert_int_eq(hami_kubernetes_request_start(fixture.client, &wrong[0], NULL, NULL),
                     HAMI_E_INVAL);
    ck_assert_int_eq(
        hami_kubernetes_request_start(fixture.client, NULL, record_answer, NULL),
        HAMI_E_INVAL);
    ck_assert_int_eq(hami_kubernetes_stats(NULL, NULL), HAMI_E_INVAL);
    ck_assert_uint_eq(record_count(&record), 0);
    ck_assert_uint_eq(kubesim_count(fixture.sim, NULL), 0);
}
END_TEST

START_TEST(structs_of_other_versions_are_understood_or_refused)
{
    struct {
        struct hami_kubernetes_request request;
        char more[16];
    } newer = {.request = get_node()};
    struct {
        struct hami_kubernetes_config config;
        char more[16];
    } newer_config = {.config = fixture.config};
    struct hami_kubernetes_stats stats = {.size = 2 * sizeof(uint64_t), .retries = 99};
    struct hami_kubernetes_request older = get_node();
    hami_kubernetes *client = NULL;

    newer.request.size = sizeof(newer);
    ck_assert_int_eq(hami_kubernetes_request_start(fixture.client, &newer.request,
                                                   record_answer, &record),
                     0);
    ck_assert_int_eq(record_wait(&record, 1)->status, 200);
    newer.more[15] = 1;
    ck_assert_int_eq(hami_kubernetes_request_start(fixture.client, &newer.request,
                                                   record_answer, &record),
                     HAMI_E_ABI);
    newer_config.config.size = sizeof(newer_config);
    newer_config.more[15] = 1;
    ck_assert_int_eq(hami_kubernetes_new(&newer_config.config, &client, NULL),
                     HAMI_E_ABI);
    older.size = offsetof(struct hami_kubernetes_request, accept);
    older.accept = "broken\n";
    ck_assert_int_eq(ask(fixture.client, older).status, 200);
    ck_assert_int_eq(hami_kubernetes_stats(fixture.client, &stats), 0);
    ck_assert_uint_eq(stats.requests, 2);
    ck_assert_uint_eq(stats.retries, 99);
}
END_TEST

static TCase *add_case(Suite *suite, const char *name, void (*open)(void))
{
    TCase *tcase = tcase_create(name);

    tcase_add_checked_fixture(tcase, open, teardown);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("kubernetes client");
    TCase *tcase = add_case(suite, "HTTP/2", setup);

    tcase_add_test(tcase, a_read_is_answered_with_body_status_and_the_servers_time);
    tcase_add_test(tcase, the_servers_time_is_its_own);
    tcase_add_test(tcase, each_method_reaches_the_server_as_itself);
    tcase_add_test(tcase, a_body_may_hold_any_bytes_and_the_copy_is_ours);
    tcase_add_test(tcase, a_refusal_is_an_answer);
    tcase_add_test(tcase, requests_of_many_threads_share_one_http2_connection);
    tcase_add_test(tcase, many_requests_started_at_once_are_each_answered_once);
    tcase_add_test(tcase, a_callback_may_start_requests_and_may_not_wait_for_one);
    tcase_add_test(tcase,
                   freeing_a_client_ends_what_is_in_flight_and_what_waits_with_closed);
    tcase_add_test(tcase, nothing_can_be_started_while_a_client_is_being_freed);
    tcase_add_test(tcase, a_client_that_was_never_used_ends_at_once);
    tcase_add_test(tcase,
                   a_forked_child_gets_forked_and_leaves_the_parents_connection_alone);
    tcase_add_test(tcase, wrong_requests_are_refused_before_anything_is_sent);
    tcase_add_test(tcase, structs_of_other_versions_are_understood_or_refused);
    tcase = add_case(suite, "HTTP/1.1", setup_http1);
    tcase_add_test(tcase, a_read_is_answered_with_body_status_and_the_servers_time);
    tcase_add_test(tcase, each_method_reaches_the_server_as_itself);
    tcase_add_test(tcase, requests_of_many_threads_work_over_http1);
    tcase_add_test(tcase, many_requests_started_at_once_are_each_answered_once);
    tcase_add_test(tcase,
                   freeing_a_client_ends_what_is_in_flight_and_what_waits_with_closed);
    return run_suite(suite);
}
