/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What kubesim makes of bytes that are no TLS, no HTTP, or too many. */
#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scene.h"

static int dial(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)kubesim_port(sim)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct timeval limit = {10, 0};
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* Send TEXT over TLS with this ALPN and read until the server ends it. */
static size_t speak(const char *alpn, const char *text, size_t length, char *answer,
                    size_t size)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(context);
    int fd = dial(), got;
    size_t used = 0;
    SSL_set_fd(ssl, fd);
    SSL_set_alpn_protos(ssl, (const unsigned char *)alpn, (unsigned)strlen(alpn));
    ck_assert_int_eq(SSL_connect(ssl), 1);
    ck_assert_int_eq(SSL_write(ssl, text, (int)length), (int)length);
    while (used + 1 < size &&
           (got = SSL_read(ssl, answer + used, (int)(size - 1 - used))) > 0) {
        used += (size_t)got;
    }
    answer[used] = '\0';
    SSL_free(ssl);
    SSL_CTX_free(context);
    close(fd);
    return used;
}

static void expect_alive(void)
{
    struct reply reply = peer_send(&peer, "GET", NODE, NULL, NULL, NULL);
    ck_assert_int_eq(reply.code, 200);
    reply_clear(&reply);
}

START_TEST(bytes_that_are_no_tls_harm_nobody)
{
    static const char garbage[] = "GET / HTTP/1.1\r\n\r\n\x16\x03\x01\xff\xff";
    char buffer[64];
    for (int i = 0; i < 20; i++) {
        int fd = dial();
        ck_assert_int_gt(write(fd, garbage + i, sizeof(garbage) - (size_t)i), 0);
        if (i % 2 == 0) {
            (void)read(fd, buffer, sizeof(buffer));
        }
        close(fd);
    }
    expect_alive();
}
END_TEST

static const char *const bad_requests[] = {
    "GARBAGE\r\n\r\n",
    "GET /\r\n\r\n",
    "GET / HTTP/9.9\r\n\r\n",
    "GET relative HTTP/1.1\r\n\r\n",
    "GET / HTTP/1.1\r\nno colon\r\n\r\n",
    "GET / HTTP/1.1\r\n: empty\r\n\r\n",
    "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    "GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
    "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
    "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n",
    "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
    "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
};

START_TEST(a_malformed_http1_request_is_refused_and_closed)
{
    char answer[1024];
    const char *text = bad_requests[_i];
    speak("\x08http/1.1", text, strlen(text), answer, sizeof(answer));
    ck_assert_msg(strncmp(answer, "HTTP/1.1 4", 10) == 0, "%s got %s", text, answer);
    expect_alive();
}
END_TEST

START_TEST(endless_lines_and_headers_are_refused)
{
    size_t size = 300000;
    char *text = malloc(size), answer[1024];
    memset(text, 'a', size);
    memcpy(text, "GET /", 5);
    speak("\x08http/1.1", text, 20000, answer, sizeof(answer));
    ck_assert(strncmp(answer, "HTTP/1.1 431", 12) == 0);
    size_t used = (size_t)sprintf(text, "GET / HTTP/1.1\r\n");
    while (used < 80000) {
        used += (size_t)sprintf(text + used, "X-Filler: %0200d\r\n", 1);
    }
    speak("\x08http/1.1", text, used, answer, sizeof(answer));
    ck_assert(strncmp(answer, "HTTP/1.1 431", 12) == 0);
    free(text);
    expect_alive();
}
END_TEST

START_TEST(text_that_is_no_utf8_is_answered_and_logged)
{
    static const char text[] =
        "GET /api/v1/nodes/%ff%fe HTTP/1.1\r\nAuthorization: Bearer admin\r\n\r\n"
        "GET /kubesim/\xff HTTP/1.1\r\nAuthorization: Bearer admin\r\n"
        "User-Agent: \xc3\r\n\r\n"
        "GET /api/v1/nodes?fieldSelector=%c3=1 HTTP/1.1\r\nAuthorization: Bearer "
        "admin\r\n"
        "Connection: close\r\n\r\n";
    char answer[8192], body[1024] = "{\"metadata\":{\"labels\":{\"a\":\"x";
    speak("\x08http/1.1", text, sizeof(text) - 1, answer, sizeof(answer));
    ck_assert_ptr_nonnull(strstr(answer, "HTTP/1.1 404"));
    ck_assert_ptr_nonnull(strstr(answer, "HTTP/1.1 400"));
    for (int i = 0; i < 120; i++) { /* a message must not cut one of them in two */
        strcat(body, "\xc3\xa9");
    }
    strcat(body, "\"}}}");
    struct reply reply = peer_send(&peer, "PATCH", NODE, MERGE_PATCH, body, NULL);
    ck_assert_int_eq(reply.code, 422);
    ck_assert_ptr_nonnull(reply.json);
    reply_clear(&reply);
    json_t *log = kubesim_log(sim, &(struct kubesim_match){.user = "admin"});
    ck_assert_uint_eq(json_array_size(log), 3);
    json_decref(log);
}
END_TEST

START_TEST(requests_may_be_pipelined_and_bodies_chunked)
{
    static const char text[] =
        "GET /version HTTP/1.1\r\n\r\n\r\nGET /livez HTTP/1.1\r\n\r\n"
        "PATCH /api/v1/nodes/n1 HTTP/1.1\r\nAuthorization: Bearer admin\r\nContent-Type: "
        "application/merge-patch+json\r\nTransfer-Encoding: chunked\r\n\r\n"
        "1;x=y\r\n{\r\n29\r\n\"metadata\":{\"annotations\":{\"a\":\"piped\"}}}\r\n0\r\n"
        "T: x\r\n\r\nGET /readyz HTTP/1.1\r\nConnection: close\r\n\r\n";
    char answer[8192];
    speak("\x08http/1.1", text, sizeof(text) - 1, answer, sizeof(answer));
    int count = 0;
    for (const char *at = answer; (at = strstr(at, "HTTP/1.1 200")) != NULL; at++) {
        count++;
    }
    ck_assert_msg(count == 4, "%s", answer);
    char *value = kubesim_annotation(sim, "nodes", NULL, "n1", "a");
    ck_assert_str_eq(value, "piped");
    free(value);
}
END_TEST

START_TEST(http2_that_is_none_is_closed_and_the_settings_are_the_servers)
{
    static const char garbage[] =
        "this is not the preface of HTTP/2, by far not.........";
    static const unsigned char expected[] = {0, 3, 0, 0, 0, 100, 0, 4, 0, 4, 0, 0};
    char answer[4096];
    size_t length = speak("\x02h2", garbage, sizeof(garbage), answer, sizeof(answer));
    ck_assert_uint_ge(length, 9 + sizeof(expected));
    ck_assert_int_eq(answer[3], 4); /* SETTINGS: 100 streams, windows of 256 KiB */
    ck_assert(memcmp(answer + 9, expected, sizeof(expected)) == 0);
    expect_alive();
}
END_TEST

START_TEST(a_body_beyond_the_limit_is_refused)
{
    size_t size = 4u << 20;
    char *text = malloc(size + 1);
    memset(text, 'a', size);
    text[size] = '\0';
    for (int i = 0; i < 2; i++) {
        peer.http_version = i == 0 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1;
        struct reply reply = peer_send(&peer, "PATCH", NODE, MERGE_PATCH, text, NULL);
        ck_assert(reply.result != CURLE_OK || reply.code == 413);
        reply_clear(&reply);
    }
    free(text);
    expect_alive();
}
END_TEST

int main(void)
{
    TCase *test_case = tcase_create("garbage");
    tcase_add_checked_fixture(test_case, scene_setup, scene_teardown);
    tcase_add_test(test_case, bytes_that_are_no_tls_harm_nobody);
    tcase_add_loop_test(test_case, a_malformed_http1_request_is_refused_and_closed, 0,
                        sizeof(bad_requests) / sizeof(bad_requests[0]));
    tcase_add_test(test_case, endless_lines_and_headers_are_refused);
    tcase_add_test(test_case, text_that_is_no_utf8_is_answered_and_logged);
    tcase_add_test(test_case, requests_may_be_pipelined_and_bodies_chunked);
    tcase_add_test(test_case,
                   http2_that_is_none_is_closed_and_the_settings_are_the_servers);
    tcase_add_test(test_case, a_body_beyond_the_limit_is_refused);
    return scene_run("kubesim-garbage", test_case);
}
