/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP server against clients that behave, and against clients that do not.
 */
#include "http/server.h"

#include <stdio.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/event.h>

#include "http_client.h"
#include "http_world.h"
#include "suite.h"

START_TEST(test_requests_follow_one_another_on_one_connection)
{
    struct http_client client;
    http_start_default();
    http_client_open(&client, http_base, http_address);
    for (int i = 0; i < 3; i++) {
        http_client_send(&client, POST("/echo", "hello", "5"));
        ck_assert(http_client_until_text(&client, "\r\n\r\nhello"));
        ck_assert_ptr_nonnull(strstr(client.answer, "HTTP/1.1 200 OK\r\n"));
        ck_assert_ptr_nonnull(strstr(client.answer, "Content-Length: 5\r\n"));
        ck_assert_ptr_null(strstr(client.answer, "Connection: close"));
        http_client_clear(&client);
    }
    ck_assert_uint_eq(hamid_http_server_connections(http_server), 1);
    http_client_close(&client);
    http_stop();
}
END_TEST

START_TEST(test_a_request_may_arrive_byte_by_byte)
{
    static const char request[] = POST("/echo", "hello", "5");
    struct http_client client;
    http_start_default();
    http_client_open(&client, http_base, http_address);
    for (size_t i = 0; i < sizeof(request) - 1; i++) {
        http_client_send_bytes(&client, request + i, 1);
        (void)event_base_loop(http_base, EVLOOP_ONCE);
    }
    ck_assert(http_client_until_text(&client, "\r\n\r\nhello"));
    http_client_close(&client);
    http_stop();
}
END_TEST

START_TEST(test_a_chunked_request_with_continue)
{
    struct http_client client;
    http_start_default();
    http_client_open(&client, http_base, http_address);
    http_client_send(&client,
                     "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
                     "Expect: 100-continue\r\n\r\n");
    ck_assert(http_client_until_text(&client, "100 Continue\r\n\r\n"));
    http_client_send(&client, "3\r\nabc\r\n0\r\n\r\n");
    ck_assert(http_client_until_text(&client, "\r\n\r\nabc"));
    http_client_close(&client);
    http_stop();
}
END_TEST

static const struct {
    const char *request;
    const char *answer;
} refused[] = {
    {"GET /none HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 404 "},
    {"GET /echo HTTP/1.1\r\nHost: a\r\n\r\n", "Allow: POST\r\n"},
    {"DELETE /hello HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 405 "},
    {"POST /json HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 415 "},
    {"POST /json HTTP/1.1\r\nContent-Type: text/json\r\nContent-Length: 2\r\n\r\n{}",
     "HTTP/1.1 415 "},
    {"GET /hello HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 413 "},
    {"POST /echo HTTP/1.1\r\nContent-Length: 1001\r\n\r\n", "HTTP/1.1 413 "},
    {"POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n",
     "HTTP/1.1 413 "},
    {"\x16\x03\x01 hello over TLS\r\n\r\n", "HTTP/1.1 400 "},
    {"GET /hello HTTP/3\r\n\r\n", "HTTP/1.1 505 "},
};

START_TEST(test_what_is_refused_is_answered_and_the_connection_closed)
{
    struct http_client client;
    http_start_default();
    http_client_open(&client, http_base, http_address);
    http_client_send(&client, refused[_i].request);
    ck_assert(http_client_until_closed(&client));
    ck_assert_msg(strstr(client.answer, refused[_i].answer) != NULL, "%s", client.answer);
    ck_assert_ptr_nonnull(strstr(client.answer, "Connection: close\r\n"));
    ck_assert_uint_eq(http_handled, 0);
    http_client_close(&client);
    http_stop();
}
END_TEST

START_TEST(test_a_head_without_end_is_refused)
{
    char line[1024];
    struct http_client client;
    http_start_default();
    http_client_open(&client, http_base, http_address);
    http_client_send(&client, "GET /hello HTTP/1.1\r\n");
    memset(line, 'a', sizeof(line));
    for (int i = 0; i < 20; i++) {
        http_client_send_bytes(&client, line, sizeof(line));
    }
    ck_assert(http_client_until_closed(&client));
    ck_assert_ptr_nonnull(strstr(client.answer, "HTTP/1.1 431 "));
    http_client_close(&client);
    http_stop();
}
END_TEST

START_TEST(test_the_answer_to_a_body_that_is_too_large_is_not_lost)
{
    static char body[200000];
    struct http_client client;
    http_start_default();
    memset(body, 'x', sizeof(body));
    http_client_open(&client, http_base, http_address);
    http_client_send(&client, "POST /echo HTTP/1.1\r\nContent-Length: 200000\r\n\r\n");
    http_client_send_bytes(&client, body, sizeof(body));
    ck_assert(http_client_until_text(&client, "HTTP/1.1 413 "));
    http_client_close(&client);
    http_stop();
}
END_TEST

START_TEST(test_a_slow_client_gets_its_time_and_no_more)
{
    struct http_client client;
    http_start((struct hamid_http_config){.read_ms = 50});
    http_client_open(&client, http_base, http_address);
    http_client_send(&client, "POST /echo HTTP/1.1\r\nContent-Le");
    ck_assert(http_client_until_closed(&client));
    ck_assert_ptr_nonnull(strstr(client.answer, "HTTP/1.1 408 "));
    http_client_close(&client);
    http_client_open(&client, http_base, http_address);
    http_client_send(&client, "POST /echo HTTP/1.1\r\nContent-Length: 5\r\n\r\nhe");
    ck_assert(http_client_until_closed(&client));
    ck_assert_ptr_nonnull(strstr(client.answer, "HTTP/1.1 408 "));
    ck_assert_uint_eq(http_handled, 0);
    http_client_close(&client);
    http_stop();
}
END_TEST

START_TEST(test_a_silent_connection_is_closed)
{
    struct http_client client;
    http_start((struct hamid_http_config){.idle_ms = 50});
    http_client_open(&client, http_base, http_address);
    ck_assert(http_client_until_closed(&client));
    ck_assert_str_eq(client.answer, "");
    ck_assert_uint_eq(hamid_http_server_connections(http_server), 0);
    http_client_close(&client);
    http_stop();
}
END_TEST

START_TEST(test_a_parked_request_outlives_both_timers)
{
    struct http_client client;
    struct http_client other;
    http_start((struct hamid_http_config){.idle_ms = 50, .read_ms = 50});
    http_client_open(&client, http_base, http_address);
    http_client_send(&client, POST("/park", "", "0"));
    http_client_open(&other, http_base,
                     http_address); /* its closing tells that the time is over */
    ck_assert(http_client_until_closed(&other));
    ck_assert_uint_eq(http_parked_count, 1);
    ck_assert(!client.closed);
    hamid_http_answer(http_parked[0], 200, "text/plain", "late", 4);
    ck_assert(http_client_until_text(&client, "\r\n\r\nlate"));
    http_client_close(&client);
    http_client_close(&other);
    http_stop();
}
END_TEST

START_TEST(test_case_3_33_a_client_that_leaves_is_noticed_while_its_request_is_parked)
{
    struct http_client clients[3];
    http_start_default();
    for (size_t i = 0; i < 3; i++) {
        http_client_open(&clients[i], http_base, http_address);
        http_client_send(&clients[i], POST("/park", "x", "1"));
        while (http_parked_count <= i) {
            (void)event_base_loop(http_base, EVLOOP_ONCE);
        }
    }
    http_client_close(&clients[1]);
    ck_assert(http_client_until(http_base, &http_is_gone));
    ck_assert_uint_eq(http_gone_count, 1);
    hamid_http_answer(http_parked[0], 200, "text/plain", "zero", 4);
    hamid_http_answer(http_parked[2], 200, "text/plain", "two", 3);
    ck_assert(http_client_until_text(&clients[0], "zero"));
    ck_assert(http_client_until_text(&clients[2], "two"));
    ck_assert_uint_eq(http_gone_count, 1);
    http_client_close(&clients[0]);
    http_client_close(&clients[2]);
    http_stop();
}
END_TEST

START_TEST(test_pipelined_requests_are_not_carried_out)
{
    struct http_client client;
    http_start_default();
    http_client_open(&client, http_base, http_address);
    http_client_send(&client, POST("/park", "", "0") POST("/echo", "second", "6"));
    while (http_parked_count == 0) {
        (void)event_base_loop(http_base, EVLOOP_ONCE);
    }
    hamid_http_answer(http_parked[0], 200, "text/plain", "first", 5);
    ck_assert(http_client_until_closed(&client));
    ck_assert_ptr_nonnull(strstr(client.answer, "first"));
    ck_assert_ptr_nonnull(strstr(client.answer, "Connection: close"));
    ck_assert_ptr_null(strstr(client.answer, "second"));
    ck_assert_uint_eq(http_handled, 0);
    http_client_close(&client);
    http_stop();
}
END_TEST

START_TEST(test_a_client_that_half_closes_gets_the_answer_that_was_made_before)
{
    struct http_client client;
    http_start_default();
    http_client_open(&client, http_base, http_address);
    http_client_send(&client, "GET /hello HTTP/1.1\r\nConnection: close\r\n\r\n");
    while (http_handled == 0) {
        (void)event_base_loop(http_base, EVLOOP_ONCE);
    }
    http_client_end(&client);
    ck_assert(http_client_until_closed(&client));
    ck_assert_ptr_nonnull(strstr(client.answer, "HTTP/1.1 200 OK"));
    http_client_close(&client);
    http_stop();
}
END_TEST

START_TEST(test_the_host_header_must_be_listed)
{
    static const char *const hosts[] = {"localhost", "::1"};
    struct http_client client;
    http_start((struct hamid_http_config){.hosts = hosts, .host_count = 2});
    http_client_open(&client, http_base, http_address);
    http_client_send(&client, "GET /hello HTTP/1.1\r\nHost: LOCALHOST:8080\r\n\r\n");
    ck_assert(http_client_until_text(&client, "200 OK"));
    http_client_clear(&client);
    http_client_send(&client, "GET /hello HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n");
    ck_assert(http_client_until_text(&client, "200 OK"));
    http_client_clear(&client);
    http_client_send(&client, "GET /hello HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    ck_assert(http_client_until_closed(&client));
    ck_assert_ptr_nonnull(strstr(client.answer, "HTTP/1.1 421 "));
    http_client_close(&client);
    http_client_open(&client, http_base, http_address);
    http_client_send(&client, "GET /hello HTTP/1.1\r\n\r\n");
    ck_assert(http_client_until_text(&client, "HTTP/1.1 421 "));
    http_client_close(&client);
    http_stop();
}
END_TEST

START_TEST(test_a_path_that_ends_with_a_star_is_a_beginning)
{
    struct http_client client;
    http_start_default();
    http_client_open(&client, http_base, http_address);
    http_client_send(&client, "GET /tree/a/b HTTP/1.1\r\n\r\n");
    ck_assert(http_client_until_text(&client, "200 OK"));
    http_client_clear(&client);
    http_client_send(&client, "GET /tr HTTP/1.1\r\n\r\n");
    ck_assert(http_client_until_text(&client, "404"));
    http_client_close(&client);
    http_stop();
}
END_TEST

START_TEST(test_draining_answers_what_is_parked_and_takes_nothing_new)
{
    struct http_client client;
    struct http_client late;
    http_start_default();
    http_client_open(&client, http_base, http_address);
    http_client_send(&client, POST("/park", "", "0"));
    while (http_parked_count == 0) {
        (void)event_base_loop(http_base, EVLOOP_ONCE);
    }
    hamid_http_server_drain(http_server);
    ck_assert_uint_eq(hamid_http_server_busy(http_server), 1);
    http_client_open(&late, http_base, http_address);
    ck_assert(http_client_until_closed(&late));
    hamid_http_answer(http_parked[0], 204, NULL, NULL, 0);
    ck_assert(http_client_until_closed(&client));
    ck_assert_ptr_nonnull(
        strstr(client.answer, "HTTP/1.1 204 No Content\r\nConnection: close"));
    ck_assert_uint_eq(hamid_http_server_busy(http_server), 0);
    http_client_close(&client);
    http_client_close(&late);
    http_stop();
}
END_TEST

START_TEST(test_a_large_answer_arrives_whole)
{
    struct http_client client;
    struct evbuffer *body = evbuffer_new();
    http_start_default();
    for (int i = 0; i < 5000; i++) {
        evbuffer_add(body, "0123456789", 10);
    }
    http_client_open(&client, http_base, http_address);
    http_client_send(&client, POST("/park", "", "0"));
    while (http_parked_count == 0) {
        (void)event_base_loop(http_base, EVLOOP_ONCE);
    }
    hamid_http_answer_buffer(http_parked[0], 200, "text/plain", body);
    ck_assert_uint_eq(evbuffer_get_length(body), 0);
    evbuffer_free(body);
    ck_assert(http_client_until_bytes(&client, 50000));
    ck_assert_ptr_nonnull(strstr(client.answer, "Content-Length: 50000"));
    http_client_close(&client);
    http_stop();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("HTTP server");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 30);
    tcase_add_test(all, test_requests_follow_one_another_on_one_connection);
    tcase_add_test(all, test_a_request_may_arrive_byte_by_byte);
    tcase_add_test(all, test_a_chunked_request_with_continue);
    tcase_add_loop_test(all, test_what_is_refused_is_answered_and_the_connection_closed,
                        0, (int)(sizeof(refused) / sizeof(refused[0])));
    tcase_add_test(all, test_a_head_without_end_is_refused);
    tcase_add_test(all, test_the_answer_to_a_body_that_is_too_large_is_not_lost);
    tcase_add_test(all, test_a_slow_client_gets_its_time_and_no_more);
    tcase_add_test(all, test_a_silent_connection_is_closed);
    tcase_add_test(all, test_a_parked_request_outlives_both_timers);
    tcase_add_test(
        all, test_case_3_33_a_client_that_leaves_is_noticed_while_its_request_is_parked);
    tcase_add_test(all, test_pipelined_requests_are_not_carried_out);
    tcase_add_test(all,
                   test_a_client_that_half_closes_gets_the_answer_that_was_made_before);
    tcase_add_test(all, test_the_host_header_must_be_listed);
    tcase_add_test(all, test_a_path_that_ends_with_a_star_is_a_beginning);
    tcase_add_test(all, test_draining_answers_what_is_parked_and_takes_nothing_new);
    tcase_add_test(all, test_a_large_answer_arrives_whole);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
