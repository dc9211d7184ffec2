/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads and chunked bodies of HTTP requests, as text.
 */
#include "http/message.h"

#include <stdio.h>
#include <string.h>

#include <event2/buffer.h>

#include "suite.h"

static char text[32768];
static struct hamid_http_head head;

static int parse(const char *request)
{
    (void)snprintf(text, sizeof(text), "%s", request);
    return hamid_http_head_parse(text, strlen(request), &head);
}

START_TEST(test_a_head_is_taken_apart)
{
    ck_assert_int_eq(parse("POST /bind?x=1&y HTTP/1.1\r\nHost: localhost:80\r\n"
                           "content-length: 12\r\nX-Empty:\r\nAccept: \t a, b \r\n\r\n"),
                     0);
    ck_assert_str_eq(head.method, "POST");
    ck_assert_str_eq(head.path, "/bind");
    ck_assert_str_eq(head.query, "x=1&y");
    ck_assert(head.has_body_length && head.body_length == 12);
    ck_assert(head.keep_alive);
    ck_assert_str_eq(hamid_http_head_header(&head, "ACCEPT"), "a, b");
    ck_assert_str_eq(hamid_http_head_header(&head, "x-empty"), "");
    ck_assert_ptr_null(hamid_http_head_header(&head, "None"));
}
END_TEST

START_TEST(test_when_a_connection_is_kept)
{
    ck_assert_int_eq(parse("GET / HTTP/1.0\r\n\r\n"), 0);
    ck_assert(!head.keep_alive);
    ck_assert_int_eq(parse("GET / HTTP/1.1\r\nConnection: x, Close\r\n\r\n"), 0);
    ck_assert(!head.keep_alive);
}
END_TEST

static const struct {
    const char *request;
    int status;
} bad[] = {
    {"\r\n\r\n", 400},
    {"GET /\r\n\r\n", 400},
    {"GET / HTTP/1.1\n\n\r\n\r\n", 400},
    {"GET  / HTTP/1.1\r\n\r\n", 400},
    {"G\x01T / HTTP/1.1\r\n\r\n", 400},
    {"GET x HTTP/1.1\r\n\r\n", 400},
    {"GET http://x/ HTTP/1.1\r\n\r\n", 400},
    {"GET /\x01 HTTP/1.1\r\n\r\n", 400},
    {"GET / HTTP/2.0\r\n\r\n", 505},
    {"GET / FTP/1.1\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nA : b\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nA: b\x01\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nA: b\nB: c\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n: b\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nContent-Length: 1x\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", 400},
    {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
    {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
     "chunked\r\n\r\n",
     501},
    {"POST / HTTP/1.1\r\nExpect: more\r\n\r\n", 417},
};

START_TEST(test_what_could_be_read_in_two_ways_is_refused)
{
    ck_assert_msg(parse(bad[_i].request) == bad[_i].status, "%s", bad[_i].request);
}
END_TEST

START_TEST(test_headers_are_counted)
{
    char request[16384] = "GET / HTTP/1.1\r\n";
    for (int i = 0; i < HAMID_HTTP_HEADERS_MAX; i++) {
        strcat(request, "A: b\r\n");
    }
    size_t length = strlen(request);
    strcat(request, "\r\n");
    ck_assert_int_eq(parse(request), 0);
    strcpy(request + length, "A: b\r\n\r\n");
    ck_assert_int_eq(parse(request), 431);
}
END_TEST

/* Feeds a chunked body in pieces of the given size. */
static int feed(const char *body, size_t piece, size_t limit, struct evbuffer *out)
{
    struct hamid_http_chunks chunks;
    struct evbuffer *in = evbuffer_new();
    int status = 0;
    memset(&chunks, 0, sizeof(chunks));
    size_t length = strlen(body);
    for (size_t at = 0; at < length && status == 0; at += piece) {
        evbuffer_add(in, body + at, at + piece < length ? piece : length - at);
        status = hamid_http_chunks_feed(&chunks, in, out, limit);
    }
    evbuffer_free(in);
    return status;
}

START_TEST(test_a_chunked_body_is_put_together_however_it_arrives)
{
    static const char body[] = "4;x=y\r\nWiki\r\n6\r\npedia \r\nE\r\n"
                               "in \r\n\r\nchunks.\r\n0\r\nT: 1\r\n\r\n";
    for (size_t piece = 1; piece < sizeof(body); piece++) {
        struct evbuffer *out = evbuffer_new();
        ck_assert_int_eq(feed(body, piece, 1000, out), 1);
        evbuffer_add(out, "", 1);
        ck_assert_str_eq((char *)evbuffer_pullup(out, -1),
                         "Wikipedia in \r\n\r\nchunks.");
        evbuffer_free(out);
    }
}
END_TEST

static const struct {
    const char *body;
    size_t limit;
    int status;
} chunked[] = {
    {"4\r\nWiki\r\n", 100, 0},
    {"4\r\nWikiX\r\n0\r\n\r\n", 100, 400},
    {"x\r\n", 100, 400},
    {"\r\n", 100, 400},
    {"-4\r\nWiki\r\n", 100, 400},
    {"fffffffffffff\r\n", 100, 400},
    {"ffffffff\r\n", 100, 413},
    {"4\r\nWiki\r\n4\r\nWiki\r\n0\r\n\r\n", 7, 413},
    {"4\r\nWiki\r\n3\r\nped\r\n0\r\n\r\n", 7, 1},
};

START_TEST(test_chunked_bodies_that_are_refused)
{
    struct evbuffer *out = evbuffer_new();
    ck_assert_msg(feed(chunked[_i].body, 3, chunked[_i].limit, out) == chunked[_i].status,
                  "%s", chunked[_i].body);
    evbuffer_free(out);
}
END_TEST

START_TEST(test_content_types)
{
    ck_assert(hamid_http_is_json("application/json"));
    ck_assert(hamid_http_is_json("Application/JSON; charset=utf-8"));
    ck_assert(!hamid_http_is_json("application/jsonp"));
    ck_assert(!hamid_http_is_json("text/plain"));
    ck_assert(!hamid_http_is_json(NULL));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("HTTP messages");
    TCase *all = tcase_create("all");
    tcase_add_test(all, test_a_head_is_taken_apart);
    tcase_add_test(all, test_when_a_connection_is_kept);
    tcase_add_loop_test(all, test_what_could_be_read_in_two_ways_is_refused, 0,
                        (int)(sizeof(bad) / sizeof(bad[0])));
    tcase_add_test(all, test_headers_are_counted);
    tcase_add_test(all, test_a_chunked_body_is_put_together_however_it_arrives);
    tcase_add_loop_test(all, test_chunked_bodies_that_are_refused, 0,
                        (int)(sizeof(chunked) / sizeof(chunked[0])));
    tcase_add_test(all, test_content_types);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
