/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that runs out: each allocation of ours fails once, in turn. The linker leads
 * them through the functions below (--wrap), which fail the one that is asked for,
 * whichever thread makes it.
 */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http.h"
#include "kubernetes_support.h"
#include "suite.h"

/* Allocations until the one that fails; 0 = none fails. */
static atomic_int countdown;

/* The test's own thread allocates for itself, too: there only the call that is looked at
 * counts. */
static _Thread_local bool is_exempt;

static bool must_fail(void)
{
    int left = is_exempt ? 0 : atomic_load(&countdown);

    while (left > 0 && !atomic_compare_exchange_weak(&countdown, &left, left - 1)) {
    }
    return left == 1;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_reallocarray(void *memory, size_t count, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t length);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_reallocarray(void *memory, size_t count, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t length);
int __wrap_asprintf(char **ret, const char *format, ...);

void *__wrap_malloc(size_t size)
{
    return must_fail() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return must_fail() ? NULL : __real_calloc(count, size);
}

void *__wrap_reallocarray(void *memory, size_t count, size_t size)
{
    return must_fail() ? NULL : __real_reallocarray(memory, count, size);
}

char *__wrap_strdup(const char *text)
{
    return must_fail() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t length)
{
    return must_fail() ? NULL : __real_strndup(text, length);
}

int __wrap_asprintf(char **ret, const char *format, ...)
{
    va_list arguments;
    int length;

    if (must_fail()) {
        return -1;
    }
    va_start(arguments, format);
    length = vasprintf(ret, format, arguments);
    va_end(arguments);
    return length;
}

/* Fails the n-th allocation of _new for n = 1, 2, ... until it succeeds; returns how many
 * failed. */
static int fail_each(const struct hami_kubernetes_config *config)
{
    for (int n = 1; n < 10000; n++) {
        struct hami_error error = HAMI_ERROR_INIT;
        hami_kubernetes *client = NULL;
        int code;

        atomic_store(&countdown, n);
        code = hami_kubernetes_new(config, &client, &error);
        atomic_store(&countdown, 0);
        if (code == 0) {
            (void)hami_kubernetes_free(client);
            return n - 1;
        }
        ck_assert_msg(code == HAMI_E_NOMEM, "%d: %d %s", n, code, error.text);
        ck_assert_int_eq(error.code, HAMI_E_NOMEM);
        ck_assert_ptr_null(client);
    }
    ck_abort_msg("it never succeeded");
    return 0;
}

/* Kubesim has ended by then: its thread's allocations must not be counted. */
static void stop_server(struct fixture *fixture)
{
    fixture->config.log = NULL;
    fixture->sim = kubesim_free(fixture->sim);
}

START_TEST(a_client_from_a_kubeconfig_is_made_whole_or_not_at_all)
{
    struct fixture fixture;

    fixture_open(&fixture, NULL);
    stop_server(&fixture);
    ck_assert_int_gt(fail_each(&fixture.config), 30);
    (void)snprintf(fixture.path, sizeof(fixture.path), "%s/kubeconfig-certificate",
                   fixture.directory);
    ck_assert_int_gt(fail_each(&fixture.config), 30);
    fixture_close(&fixture);
}
END_TEST

START_TEST(a_login_is_read_again_whole_or_not_at_all)
{
    struct fixture fixture;
    hami_kubernetes *client = NULL;
    int code = HAMI_E_NOMEM;
    int n = 0;

    fixture_open(&fixture, NULL);
    stop_server(&fixture);
    ck_assert_int_eq(hami_kubernetes_new(&fixture.config, &client, NULL), 0);
    while (code == HAMI_E_NOMEM && n < 10000) {
        atomic_store(&countdown, ++n);
        code = hami_kubernetes_reload(client, NULL);
        atomic_store(&countdown, 0);
    }
    ck_assert_int_eq(code, 0);
    ck_assert_int_gt(n, 30);
    (void)hami_kubernetes_free(client);
    fixture_close(&fixture);
}
END_TEST

START_TEST(a_client_of_each_other_kind_is_made_whole_or_not_at_all)
{
    struct hami_kubernetes_config address = HAMI_KUBERNETES_CONFIG_INIT;
    struct hami_kubernetes_config pod = HAMI_KUBERNETES_CONFIG_INIT;
    struct fixture fixture;
    char *ca;
    char *token;

    fixture_open(&fixture, NULL);
    ca = write_file(fixture.directory, "ca.crt", kubesim_ca_pem(fixture.sim));
    token = write_file(fixture.directory, "token", "abc");
    stop_server(&fixture);
    address.server = "https://a.test";
    address.ca_file = ca;
    address.token = "abc";
    address.token_file = token;
    ck_assert_int_gt(fail_each(&address), 5);
    pod.service_host = "::1";
    pod.service_port = "443";
    pod.home_directory = "/nonexistent";
    pod.service_account_directory = fixture.directory;
    ck_assert_int_gt(fail_each(&pod), 5);
    free(ca);
    free(token);
    fixture_close(&fixture);
}
END_TEST

/* Each of them is answered once, by a code that says whether it may have been sent. */
START_TEST(a_request_for_which_memory_runs_out_is_answered_all_the_same)
{
    static const struct scripted_step steps[100] = {
        [0 ... 99] = {.answer = OK_ANSWER, .end = SCRIPTED_CLOSE}};
    int failed = 0;

    is_exempt = true;
    for (int n = 1; n <= 20; n++) {
        struct hami_kubernetes_request request = get_node();
        struct scripted server;
        struct record record;
        hami_kubernetes *client;
        int code;

        record_init(&record);
        scripted_start(&server, steps, 100);
        client = scripted_client(&server, NULL);
        atomic_store(&countdown, n);
        is_exempt = false;
        code = hami_kubernetes_request_start(client, &request, record_answer, &record);
        is_exempt = true;
        if (code == 0) {
            code = record_wait(&record, 1)->code;
        }
        atomic_store(&countdown, 0);
        ck_assert_msg(code == 0 || code == HAMI_E_NOMEM || code == HAMI_E_IN_DOUBT, "%d",
                      code);
        failed += code != 0 ? 1 : 0;
        ck_assert_int_eq(ask(client, get_node()).status, 200);
        (void)hami_kubernetes_free(client);
        scripted_stop(&server);
        record_done(&record);
    }
    ck_assert_int_ge(failed, 3);
}
END_TEST

static void ignore_line(void *data, const char *line, size_t length)
{
    (void)data;
    (void)line;
    (void)length;
}

START_TEST(a_stream_or_timer_for_which_memory_runs_out_says_so)
{
    static const struct scripted_step steps[] = {
        {.answer = "HTTP/1.1 200 OK\r\n\r\nline\n", .end = SCRIPTED_CLOSE}};
    int failed = 0;

    is_exempt = true;
    for (int n = 1; n <= 8; n++) {
        struct scripted server;
        struct record record;
        struct hami_internal_http_stream *stream = NULL;
        struct hami_internal_http_timer *timer = NULL;
        hami_kubernetes *client;
        int code;

        record_init(&record);
        scripted_start(&server, steps, 1);
        client = scripted_client(&server, NULL);
        atomic_store(&countdown, n);
        is_exempt = false;
        code = hami_internal_http_stream_start(
            client,
            &(struct hami_internal_http_stream_options){.path = "/",
                                                        .on_line = ignore_line,
                                                        .on_end = record_answer,
                                                        .data = &record},
            &stream);
        is_exempt = true;
        if (code == 0) {
            code = record_wait(&record, 1)->code;
        }
        ck_assert_msg(code == 0 || code == HAMI_E_NOMEM, "%d", code);
        failed += code != 0 ? 1 : 0;
        atomic_store(&countdown, 1);
        is_exempt = false;
        code = hami_internal_http_timer_start(client, 0, record_timer, &record, &timer);
        is_exempt = true;
        ck_assert_int_eq(code, HAMI_E_NOMEM);
        ck_assert_ptr_null(timer);
        (void)hami_kubernetes_free(client);
        scripted_stop(&server);
        record_done(&record);
    }
    ck_assert_int_ge(failed, 3);
}
END_TEST

/* What is made from a client, and what it is asked for, with the n-th allocation failing.
 */
static int make_transport(hami_kubernetes *client)
{
    static const char *const names[] = {"one", "two"};
    struct hami_kubernetes_transport_config config =
        HAMI_KUBERNETES_TRANSPORT_CONFIG_INIT;
    struct hami_transport *transport = NULL;
    int code;

    config.scheduler_names = names;
    config.scheduler_name_count = 2;
    code = hami_kubernetes_transport_new(client, &config, &transport, NULL);
    (void)hami_kubernetes_transport_free(transport);
    return code;
}

static int make_handshake(hami_kubernetes *client)
{
    struct hami_handshake_config config = HAMI_HANDSHAKE_CONFIG_INIT;
    hami_handshake *handshake = NULL;
    int code;

    config.node = "n1";
    code = hami_handshake_new(client, &config, &handshake, NULL);
    if (handshake != NULL) {
        atomic_store(&countdown, 0);
        (void)hami_handshake_free(handshake);
    }
    return code;
}

static void ignore_pod(void *data, int code, const struct hami_kubernetes_pod *pod,
                       const char *text)
{
    (void)data;
    (void)code;
    (void)pod;
    (void)text;
}

static int read_pod(hami_kubernetes *client)
{
    return hami_kubernetes_read_pod_start(
        client, "default", "a", hami_kubernetes_in_ms(WAIT_MS), ignore_pod, NULL);
}

static int find_pod(hami_kubernetes *client)
{
    struct hami_kubernetes_transport_config config =
        HAMI_KUBERNETES_TRANSPORT_CONFIG_INIT;
    struct hami_transport *transport = NULL;
    int code;

    is_exempt = true;
    code = hami_kubernetes_transport_new(client, &config, &transport, NULL);
    ck_assert_int_eq(code, 0);
    is_exempt = false;
    code = hami_kubernetes_find_pod_start(
        transport, "default", "a", hami_kubernetes_in_ms(WAIT_MS), ignore_pod, NULL);
    (void)hami_kubernetes_transport_free(transport);
    return code;
}

static int (*const makes[])(hami_kubernetes *client) = {make_transport, make_handshake,
                                                        read_pod, find_pod};

START_TEST(what_is_made_from_a_client_is_made_whole_or_not_at_all)
{
    static const struct scripted_step steps[] = {{.answer = NULL, .end = SCRIPTED_HANG}};
    struct scripted server;
    hami_kubernetes *client;
    int code = HAMI_E_NOMEM;
    int n = 0;

    is_exempt = true;
    scripted_start(&server, steps, 1);
    client = scripted_client(&server, NULL);
    while (code != 0 && n < 100) {
        atomic_store(&countdown, ++n);
        is_exempt = false;
        code = makes[_i](client);
        is_exempt = true;
        atomic_store(&countdown, 0);
        ck_assert_msg(code == 0 || code == HAMI_E_NOMEM, "%d", code);
    }
    ck_assert_int_eq(code, 0);
    ck_assert_int_gt(n, 1);
    (void)hami_kubernetes_free(client);
    scripted_stop(&server);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes memory");
    TCase *tcase = tcase_create("memory");

    tcase_set_timeout(tcase, 100);
    tcase_add_test(tcase, a_client_from_a_kubeconfig_is_made_whole_or_not_at_all);
    tcase_add_test(tcase, a_login_is_read_again_whole_or_not_at_all);
    tcase_add_test(tcase, a_client_of_each_other_kind_is_made_whole_or_not_at_all);
    tcase_add_test(tcase, a_request_for_which_memory_runs_out_is_answered_all_the_same);
    tcase_add_test(tcase, a_stream_or_timer_for_which_memory_runs_out_says_so);
    tcase_add_loop_test(tcase, what_is_made_from_a_client_is_made_whole_or_not_at_all, 0,
                        sizeof(makes) / sizeof(makes[0]));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
