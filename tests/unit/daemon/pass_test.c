/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verbs that are passed on: hamid's side and a stand-in extender, both on one loop.
 */
#include "pass.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <curl/curl.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "http_client.h"
#include "log.h"
#include "suite.h"

static struct event_base *base;
static struct hamid_http_server *front;
static struct hamid_http_server *extender;
static char front_address[64];
static char extender_address[64];
static struct upstream *upstream;
static struct metrics metrics;
static struct http_client client;

/* What the extender saw, and what it does. */
static char seen_body[256];
static size_t seen_length;
static char seen_type[64];
static size_t seen_count;
static struct hamid_http_exchange *held;
static bool holds;
static bool is_gone;
static int extender_status;
static struct evbuffer *extender_answer;

static void note_gone(void *data)
{
    (void)data;
    held = NULL;
    is_gone = true;
}

static void extend(struct hamid_http_exchange *exchange, void *data)
{
    const char *type = hamid_http_header(exchange, "Content-Type");
    const char *body = hamid_http_body_text(exchange, &seen_length);
    (void)data;
    seen_count++;
    (void)snprintf(seen_body, sizeof(seen_body), "%.200s", body);
    (void)snprintf(seen_type, sizeof(seen_type), "%s", type != NULL ? type : "");
    if (holds) {
        held = exchange;
        hamid_http_on_gone(exchange, note_gone, NULL);
        return;
    }
    hamid_http_answer_buffer(exchange, extender_status, "application/json; x=y",
                             extender_answer);
}

static void handle(struct hamid_http_exchange *exchange, void *data)
{
    (void)data;
    pass_on(upstream, &metrics, exchange);
}

static const struct hamid_http_route extender_routes[] = {
    {"POST", "/prefix/filter", extend, UPSTREAM_BODY_MAX, false},
    {"POST", "/prefix/preempt", extend, UPSTREAM_BODY_MAX, false},
};

static const struct hamid_http_route front_routes[] = {
    {"POST", "/filter", handle, UPSTREAM_BODY_MAX, true},
    {"POST", "/preempt", handle, UPSTREAM_BODY_MAX, true},
};

static struct hamid_http_server *serve(const struct hamid_http_route *routes,
                                       char *address)
{
    char error[256];
    struct hamid_http_config config = {.routes = routes, .route_count = 2};
    struct hamid_http_server *server = hamid_http_server_new(base, &config);
    ck_assert_int_eq(
        hamid_http_listen_tcp(server, "127.0.0.1:0", address, 64, error, sizeof(error)),
        0);
    return server;
}

static void start(uint64_t timeout_ms)
{
    char url[128];
    (void)signal(SIGPIPE, SIG_IGN);
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    hamid_log_setup(0, false);
    memset(&metrics, 0, sizeof(metrics));
    seen_count = 0;
    holds = is_gone = false;
    held = NULL;
    extender_status = 200;
    extender_answer = evbuffer_new();
    base = event_base_new();
    front = serve(front_routes, front_address);
    extender = serve(extender_routes, extender_address);
    (void)snprintf(url, sizeof(url), "http://%s/prefix/", extender_address);
    struct upstream_config config = {.url = url, .timeout_ms = timeout_ms};
    upstream = upstream_new(base, &config);
    ck_assert_ptr_nonnull(upstream);
}

static void stop(void)
{
    http_client_close(&client);
    front = hamid_http_server_free(front);
    upstream = upstream_free(upstream);
    extender = hamid_http_server_free(extender);
    evbuffer_free(extender_answer);
    event_base_free(base);
}

static void post(const char *path, const char *body)
{
    char request[512];
    (void)snprintf(request, sizeof(request),
                   "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                   "Content-Length: %zu\r\n\r\n%s",
                   path, strlen(body), body);
    http_client_open(&client, base, front_address);
    http_client_send(&client, request);
}

START_TEST(test_a_request_and_its_answer_pass_unread)
{
    start(5000);
    evbuffer_add_printf(extender_answer, "{\"NodeNames\":[\"n1\"] not JSON");
    post("/filter", "\x01 anything {");
    ck_assert(http_client_until_text(&client, "not JSON"));
    ck_assert_str_eq(seen_body, "\x01 anything {");
    ck_assert_str_eq(seen_type, "application/json");
    ck_assert_ptr_nonnull(strstr(client.answer, "HTTP/1.1 200 OK"));
    ck_assert_ptr_nonnull(
        strstr(client.answer, "Content-Type: application/json; x=y\r\n"));
    ck_assert_ptr_nonnull(strstr(client.answer, "{\"NodeNames\":[\"n1\"] not JSON"));
    ck_assert_uint_eq(metrics.passes[PASS_answered], 1);
    stop();
}
END_TEST

START_TEST(test_a_status_of_the_extender_passes_too)
{
    start(5000);
    extender_status = 503;
    evbuffer_add_printf(extender_answer, "later");
    post("/preempt", "{}");
    ck_assert(http_client_until_text(&client, "later"));
    ck_assert_ptr_nonnull(strstr(client.answer, "HTTP/1.1 503 "));
    stop();
}
END_TEST

START_TEST(test_megabytes_pass_in_both_directions)
{
    enum { SIZE = 8 << 20 };
    char *body = malloc(SIZE);
    char head[256];
    ck_assert_ptr_nonnull(body);
    memset(body, 'x', SIZE);
    start(10000);
    for (int i = 0; i < 5000; i++) {
        evbuffer_add(extender_answer, "0123456789", 10);
    }
    int length = snprintf(head, sizeof(head),
                          "POST /filter HTTP/1.1\r\nContent-Type: application/json\r\n"
                          "Content-Length: %d\r\n\r\n",
                          SIZE);
    http_client_open(&client, base, front_address);
    http_client_send_bytes(&client, head, (size_t)length);
    http_client_send_bytes(&client, body, SIZE);
    ck_assert(http_client_until_bytes(&client, 50000));
    ck_assert_uint_eq(seen_length, SIZE);
    free(body);
    stop();
}
END_TEST

START_TEST(test_an_extender_that_is_not_there_is_told_in_the_verbs_own_form)
{
    start(5000);
    extender = hamid_http_server_free(extender);
    post("/filter", "{}");
    ck_assert(http_client_until_text(&client, "\"}"));
    ck_assert_ptr_nonnull(strstr(client.answer, "HTTP/1.1 200 OK"));
    ck_assert_ptr_nonnull(strstr(
        client.answer, "{\"Error\":\"the extender behind --filter-url did not answer"));
    http_client_close(&client);
    post("/preempt", "{}");
    ck_assert(http_client_until_text(&client, "\"}"));
    ck_assert_ptr_nonnull(strstr(client.answer, "HTTP/1.1 502 "));
    ck_assert_uint_eq(metrics.passes[PASS_failed], 2);
    stop();
}
END_TEST

START_TEST(test_an_extender_that_never_answers_is_given_its_time)
{
    start(50);
    holds = true;
    post("/filter", "{}");
    ck_assert(http_client_until_text(&client, "did not answer"));
    ck_assert_uint_eq(metrics.passes[PASS_failed], 1);
    stop();
}
END_TEST

START_TEST(test_a_client_that_leaves_ends_the_request_behind)
{
    start(5000);
    holds = true;
    post("/filter", "{}");
    while (held == NULL) {
        (void)event_base_loop(base, EVLOOP_ONCE);
    }
    http_client_close(&client);
    ck_assert(http_client_until(base, &is_gone));
    ck_assert_uint_eq(metrics.passes[PASS_gone], 1);
    stop();
}
END_TEST

START_TEST(test_without_an_extender_filter_says_which_flag_names_one)
{
    start(5000);
    upstream = upstream_free(upstream);
    post("/filter", "{}");
    ck_assert(http_client_until_text(&client, "--filter-url"));
    ck_assert_ptr_nonnull(strstr(client.answer, "HTTP/1.1 200 OK"));
    ck_assert_uint_eq(metrics.passes[PASS_refused], 1);
    stop();
}
END_TEST

START_TEST(test_a_kept_connection_that_died_is_replaced_and_the_body_sent_again)
{
    start(5000);
    evbuffer_add_printf(extender_answer, "first");
    post("/filter", "{\"a\":1}");
    ck_assert(http_client_until_text(&client, "first"));
    http_client_close(&client);
    /* The extender starts anew on the same port: the kept connection is dead. */
    char error[256];
    extender = hamid_http_server_free(extender);
    struct hamid_http_config config = {.routes = extender_routes, .route_count = 2};
    extender = hamid_http_server_new(base, &config);
    ck_assert_int_eq(
        hamid_http_listen_tcp(extender, extender_address, NULL, 0, error, sizeof(error)),
        0);
    evbuffer_add_printf(extender_answer, "second");
    post("/filter", "{\"b\":2}");
    ck_assert(http_client_until_text(&client, "second"));
    ck_assert_str_eq(seen_body, "{\"b\":2}");
    stop();
}
END_TEST

START_TEST(test_requests_in_flight_are_bounded)
{
    struct http_client many[UPSTREAM_CALLS_MAX];
    start(5000);
    holds = true;
    for (int i = 0; i < UPSTREAM_CALLS_MAX; i++) {
        post("/filter", "{}");
        many[i] = client;
        bufferevent_setcb(many[i].stream, NULL, NULL, NULL, NULL);
    }
    while (seen_count < UPSTREAM_CALLS_MAX) {
        (void)event_base_loop(base, EVLOOP_ONCE);
    }
    post("/filter", "{}");
    ck_assert(http_client_until_text(&client, "too many requests"));
    for (int i = 0; i < UPSTREAM_CALLS_MAX; i++) {
        http_client_close(&many[i]);
    }
    stop();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("verbs passed on");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 30);
    tcase_add_test(all, test_a_request_and_its_answer_pass_unread);
    tcase_add_test(all, test_a_status_of_the_extender_passes_too);
    tcase_add_test(all, test_megabytes_pass_in_both_directions);
    tcase_add_test(all, test_an_extender_that_is_not_there_is_told_in_the_verbs_own_form);
    tcase_add_test(all, test_an_extender_that_never_answers_is_given_its_time);
    tcase_add_test(all, test_a_client_that_leaves_ends_the_request_behind);
    tcase_add_test(all, test_without_an_extender_filter_says_which_flag_names_one);
    tcase_add_test(all,
                   test_a_kept_connection_that_died_is_replaced_and_the_body_sent_again);
    tcase_add_test(all, test_requests_in_flight_are_bounded);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
