/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* A clock that is far from the server's is told in the log, and only once in a while. */
#include "kubernetes_support.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "suite.h"

#define TELLS "This computer's clock is "

/* Lines about the clock; written on the client's thread before the answer is given. */
static struct {
    unsigned count;
    char last[512];
} told;

static void add_line(void *data, enum hami_log_level level, const char *line)
{
    (void)data;
    (void)level;
    if (strncmp(line, TELLS, strlen(TELLS)) == 0) {
        told.count++;
        (void)snprintf(told.last, sizeof(told.last), "%s", line);
    }
}

static void listen_to_log(struct hami_kubernetes_config *config)
{
    config->log = add_line;
}

/* Two requests to a server whose clock differs from ours by so much. */
static void ask_twice(time_t ahead_s)
{
    char date[64];
    char answer[256];
    struct scripted_step steps[2];
    struct scripted server;
    struct tm parts;
    hami_kubernetes *client;
    time_t theirs = time(NULL) + ahead_s;

    (void)gmtime_r(&theirs, &parts);
    (void)strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    (void)snprintf(answer, sizeof(answer),
                   "HTTP/1.1 200 OK\r\nDate: %s\r\nContent-Length: 2\r\n\r\n{}", date);
    memset(steps, 0, sizeof(steps));
    steps[0].answer = answer;
    steps[1].answer = answer;
    memset(&told, 0, sizeof(told));
    scripted_start(&server, steps, 2);
    client = scripted_client(&server, listen_to_log);
    for (unsigned i = 0; i < 2; i++) {
        struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;

        request.method = HAMI_KUBERNETES_GET;
        request.path = "/api/v1/nodes/n1";
        ck_assert_int_eq(ask(client, request).status, 200);
    }
    hami_kubernetes_free(client);
    scripted_stop(&server);
}

START_TEST(a_clock_that_is_behind_is_told_once)
{
    ask_twice(420);
    ck_assert_uint_eq(told.count, 1);
    ck_assert_ptr_nonnull(strstr(told.last, " s behind that of http"));
    ck_assert_ptr_nonnull(strstr(told.last, " look older to HAMi"));
}
END_TEST

START_TEST(a_clock_that_is_ahead_is_told_once)
{
    ask_twice(-420);
    ck_assert_uint_eq(told.count, 1);
    ck_assert_ptr_nonnull(strstr(told.last, " s ahead of that of http"));
    ck_assert_ptr_nonnull(strstr(told.last, " look younger to HAMi"));
}
END_TEST

START_TEST(a_clock_that_is_nearly_right_is_no_matter)
{
    ask_twice(30);
    ask_twice(-30);
    ck_assert_uint_eq(told.count, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes_clock");
    TCase *cases = tcase_create("clock");

    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, a_clock_that_is_behind_is_told_once);
    tcase_add_test(cases, a_clock_that_is_ahead_is_told_once);
    tcase_add_test(cases, a_clock_that_is_nearly_right_is_no_matter);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
