/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server may send, and what is made of it: bounds, odd forms, and what it was
 * sent.
 */
#include <string.h>

#include "kubernetes_support.h"
#include "suite.h"

#define MS UINT64_C(1000000)

static void take_1000_bytes(struct hami_kubernetes_config *config)
{
    config->answer_bytes_max = 1000;
}

static struct told ask_scripted(const struct scripted_step *step)
{
    struct scripted server;
    hami_kubernetes *client;
    struct told told;

    scripted_start(&server, step, 1);
    client = scripted_client(&server, take_1000_bytes);
    told = ask(client, get_node());
    (void)hami_kubernetes_free(client);
    scripted_stop(&server);
    return told;
}

#define TEN "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

START_TEST(an_answer_of_just_the_limit_is_taken)
{
    struct scripted_step step = {.answer =
                                     "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
                                 .answer_part = HUNDRED,
                                 .repeat = 10};
    struct told told = ask_scripted(&step);

    ck_assert_int_eq(told.code, 0);
    ck_assert_uint_eq(told.body_length, 1000);
}
END_TEST

START_TEST(an_answer_above_the_limit_is_refused_and_its_status_told)
{
    struct scripted_step step = {.answer =
                                     "HTTP/1.1 201 OK\r\nContent-Length: 1010\r\n\r\n",
                                 .answer_part = TEN,
                                 .repeat = 101};
    struct told told = ask_scripted(&step);

    ck_assert_int_eq(told.code, HAMI_E_LIMIT);
    ck_assert_int_eq(told.status, 201);
    ck_assert_uint_eq(told.body_length, 0);
}
END_TEST

START_TEST(an_answer_without_an_end_is_refused_at_the_limit)
{
    struct scripted_step step = {.answer = "HTTP/1.1 200 OK\r\n\r\n",
                                 .answer_part = HUNDRED,
                                 .repeat = 100000,
                                 .end = SCRIPTED_CLOSE};

    ck_assert_int_eq(ask_scripted(&step).code, HAMI_E_LIMIT);
}
END_TEST

START_TEST(headers_without_an_end_are_refused)
{
    struct scripted_step step = {.answer = "HTTP/1.1 200 OK\r\n",
                                 .answer_part = "X-Header: " HUNDRED "\r\n",
                                 .repeat = 100000,
                                 .end = SCRIPTED_CLOSE};

    ck_assert_int_eq(ask_scripted(&step).code, HAMI_E_LIMIT);
}
END_TEST

START_TEST(what_is_no_http_leaves_a_request_in_doubt)
{
    static const char *const answers[] = {"\x01\x02\x03garbage\r\n\r\n",
                                          "HTTP/1.1\r\n\r\n", ""};
    struct scripted_step step = {.answer = answers[_i], .end = SCRIPTED_CLOSE};

    ck_assert_int_eq(ask_scripted(&step).code, HAMI_E_IN_DOUBT);
}
END_TEST

START_TEST(a_redirect_is_an_answer_and_not_followed)
{
    struct scripted_step step = {
        .answer = "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\n"
                  "Content-Length: 0\r\n\r\n"};

    ck_assert_int_eq(ask_scripted(&step).status, 307);
}
END_TEST

START_TEST(an_interim_answer_is_not_the_answer)
{
    struct scripted_step step = {
        .answer = "HTTP/1.1 103 Early Hints\r\nRetry-After: 7\r\n\r\n" OK_ANSWER};
    struct told told = ask_scripted(&step);

    ck_assert_int_eq(told.status, 200);
    ck_assert_uint_eq(told.retry_after_ms, 0);
    ck_assert_str_eq(told.body, "{}");
}
END_TEST

START_TEST(the_request_asks_for_no_compression_and_names_us)
{
    static const struct scripted_step step = {.answer = OK_ANSWER};
    struct scripted server;
    hami_kubernetes *client;

    scripted_start(&server, &step, 1);
    client = scripted_client(&server, NULL);
    ck_assert_int_eq(ask(client, get_node()).status, 200);
    ck_assert_ptr_nonnull(
        strstr(server.requests[0], "GET /api/v1/nodes/n1 HTTP/1.1\r\n"));
    ck_assert_ptr_nonnull(strstr(
        server.requests[0], "User-Agent: libhaminodelock/" HAMI_VERSION_STRING "\r\n"));
    ck_assert_ptr_nonnull(strstr(server.requests[0], "Accept: application/json\r\n"));
    ck_assert_ptr_null(strcasestr(server.requests[0], "accept-encoding"));
    ck_assert_ptr_null(strcasestr(server.requests[0], "expect"));
    ck_assert_ptr_null(strcasestr(server.requests[0], "authorization"));
    (void)hami_kubernetes_free(client);
    scripted_stop(&server);
}
END_TEST

START_TEST(a_retry_after_may_be_a_date)
{
    static const struct scripted_step steps[] = {
        {.answer =
             "HTTP/1.1 429 Too Many Requests\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
             "Retry-After: Sun, 06 Nov 1994 08:49:38 GMT\r\nContent-Length: 0\r\n\r\n"},
        {.answer = OK_ANSWER}};
    struct scripted server;
    hami_kubernetes *client;
    struct told told;

    scripted_start(&server, steps, 2);
    client = scripted_client(&server, NULL);
    told = ask(client, get_node());
    ck_assert_int_eq(told.status, 200);
    ck_assert_uint_ge(told.local_wait_ns, 1000 * MS);
    ck_assert_uint_eq(scripted_requests(&server), 2);
    (void)hami_kubernetes_free(client);
    scripted_stop(&server);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes answers");
    TCase *tcase = tcase_create("scripted");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_retry_after_may_be_a_date);
    tcase_add_test(tcase, an_answer_of_just_the_limit_is_taken);
    tcase_add_test(tcase, an_answer_above_the_limit_is_refused_and_its_status_told);
    tcase_add_test(tcase, an_answer_without_an_end_is_refused_at_the_limit);
    tcase_add_test(tcase, headers_without_an_end_are_refused);
    tcase_add_loop_test(tcase, what_is_no_http_leaves_a_request_in_doubt, 0, 3);
    tcase_add_test(tcase, a_redirect_is_an_answer_and_not_followed);
    tcase_add_test(tcase, an_interim_answer_is_not_the_answer);
    tcase_add_test(tcase, the_request_asks_for_no_compression_and_names_us);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
