/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must not come, byte by byte: frames that are none, streams and messages that break
 * off, answers that are no answers. Whatever comes ends one call or one connection, never
 * the other side.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"
#include "suite.h"

#define END_STREAM 1u

static struct world world;

static void set_up(void)
{
    world_open(&world);
}

static void tear_down(void)
{
    world_close(&world);
}

/* ---- the server -------------------------------------------------------------------- */

static const char *const usual[] = {
    ":method", "POST",         ":scheme",          "http", ":authority", "x", ":path",
    "/t/echo", "content-type", "application/grpc", "te",   "trailers",   NULL};

/* Some bytes as a request's body; the code that it is answered with. */
static void expect_code(const char *const *fields, const void *body, size_t length,
                        const char *code)
{
    char value[64] = "";
    int fd = world_play_greeting(&world);

    play_headers(fd, 0, 1, fields);
    play_frame(fd, 0, END_STREAM, 1, body, length);
    ck_assert(world_play_field(&world, fd, "grpc-status", value, sizeof(value)));
    ck_assert_str_eq(value, code);
    close(fd);
    world_expect_service(&world);
}

START_TEST(what_is_not_http2_is_hung_up)
{
    static const char *const openings[] = {
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\rX",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a hello of TLS, long enough", NULL};

    for (size_t i = 0; openings[i] != NULL; i++) {
        int fd = world_play_client(&world);

        play_bytes(fd, openings[i], strlen(openings[i]) + 1);
        while (world_play_read(&world, fd, 7, NULL, NULL)) {
        }
        close(fd);
        world_expect_service(&world);
    }
}
END_TEST

START_TEST(frames_that_break_the_rules_end_the_connection)
{
    static const struct {
        unsigned type, flags, stream;
        size_t length;
        const char *payload;
    } frames[] = {
        {0, 0, 0, 1, "x"},                /* DATA of no stream */
        {1, 5, 2, 1, "\x82"},             /* HEADERS of a stream that is the server's */
        {1, 5, 0, 1, "\x82"},             /* HEADERS of no stream */
        {1, 5, 1, 4, "\xff\xff\xff\xff"}, /* HPACK that can't be */
        {9, 4, 1, 1, "\x82"},             /* CONTINUATION of nothing */
        {4, 0, 0, 5, "12345"},            /* SETTINGS of five bytes */
        {4, 0, 1, 0, ""},                 /* SETTINGS of a stream */
        {4, 0, 0, 6, "\0\x04\xff\xff\xff\xff"}, /* a window of 4 GB */
        {8, 0, 0, 4, "\0\0\0\0"},               /* a window that grows by nothing */
        {8, 0, 0, 4, "\x7f\xff\xff\xff"},       /* and one that grows too large */
        {6, 0, 0, 7, "1234567"},                /* PING of seven bytes */
        {3, 0, 1, 4, "\0\0\0\0"},               /* RST_STREAM of what never was */
        {5, 4, 1, 5, "\0\0\0\x02\x82"},         /* PUSH_PROMISE by a client */
    };

    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        int fd = world_play_greeting(&world);

        play_frame(fd, frames[i].type, frames[i].flags, frames[i].stream,
                   frames[i].payload, frames[i].length);
        ck_assert_msg(world_play_read(&world, fd, 7, NULL, NULL), "frame %zu: no GOAWAY",
                      i);
        while (world_play_read(&world, fd, 7, NULL, NULL)) {
        }
        close(fd);
    }
    world_expect_service(&world);
}
END_TEST

START_TEST(a_frame_longer_than_announced_limits_ends_the_connection)
{
    static const unsigned char head[9] = {0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1};
    int fd = world_play_greeting(&world);

    play_headers(fd, 0, 1, usual);
    play_bytes(fd, head, sizeof(head));
    ck_assert(world_play_read(&world, fd, 7, NULL, NULL));
    close(fd);
    world_expect_service(&world);
}
END_TEST

START_TEST(a_connection_that_breaks_off_anywhere_does_no_harm)
{
    unsigned char block[512];
    size_t length = play_fields(block, usual);

    for (size_t cut = 0; cut <= length; cut += 7) {
        int fd = world_play_greeting(&world);
        const unsigned char head[9] = {0, 0, (unsigned char)length, 1, 4, 0, 0, 0, 1};

        play_bytes(fd, head, sizeof(head));
        play_bytes(fd, block, cut);
        world_turn(&world, 1);
        close(fd);
    }
    world_expect_service(&world);
    ck_assert_uint_eq(hamid_grpc_server_calls(world.server), 0);
}
END_TEST

START_TEST(messages_that_can_not_be_are_refused_with_a_status)
{
    expect_code(usual, "", 0, "13");         /* none */
    expect_code(usual, "\0\0\0\0", 4, "13"); /* not even a length */
    expect_code(usual,
                "\0\0\0\0\x09"
                "abc",
                8, "13"); /* breaks off */
    expect_code(usual,
                "\x02\0\0\0\x01"
                "a",
                6, "13"); /* a flag that there is not */
    expect_code(usual,
                "\x01\0\0\0\x01"
                "a",
                6, "12"); /* compressed */
    expect_code(usual,
                "\0\xff\xff\xff\xff"
                "a",
                6, "8"); /* 4 GB */
    expect_code(usual,
                "\0\0\0\0\x01"
                "a\0\0\0\0\x01"
                "b",
                12, "13");              /* two */
    ck_assert_uint_eq(world.served, 7); /* each time only the one behind it */
}
END_TEST

START_TEST(heads_that_are_not_grpc_are_refused_with_a_status)
{
    const char *get[] = {":method", "GET",   ":scheme", "http", ":authority",
                         "x",       ":path", "/t/echo", NULL};
    const char *html[] = {":method",      "POST",      ":scheme", "http",
                          ":authority",   "x",         ":path",   "/t/echo",
                          "content-type", "text/html", NULL};
    const char *timeout[] = {":method",
                             "POST",
                             ":scheme",
                             "http",
                             ":authority",
                             "x",
                             ":path",
                             "/t/echo",
                             "content-type",
                             "application/grpc",
                             "grpc-timeout",
                             "1x",
                             NULL};
    char value[64] = "";
    int fd = world_play_greeting(&world);

    play_headers(fd, END_STREAM, 1, get);
    ck_assert(world_play_field(&world, fd, ":status", value, sizeof(value)));
    ck_assert_str_eq(value, "405");
    close(fd);
    fd = world_play_greeting(&world);
    play_headers(fd, END_STREAM, 1, html);
    ck_assert(world_play_field(&world, fd, ":status", value, sizeof(value)));
    ck_assert_str_eq(value, "415");
    close(fd);
    expect_code(timeout,
                "\0\0\0\0\x01"
                "a",
                6, "13");
}
END_TEST

START_TEST(more_header_fields_than_are_taken_are_refused_with_a_status)
{
    const char *many[2 * 90 + 1];
    size_t count = 0;

    for (; usual[count] != NULL; count++) {
        many[count] = usual[count];
    }
    while (count < 2 * 90) {
        many[count++] = "a-field";
        many[count++] = "with a value";
    }
    many[count] = NULL;
    expect_code(many,
                "\0\0\0\0\x01"
                "a",
                6, "8");
}
END_TEST

/* ---- the client -------------------------------------------------------------------- */

struct played {
    int listener, fd;
    struct seen seen;
};

/* A call is under way on stream 1, and the server is this test. */
static void begin(struct played *played, bool many)
{
    played->listener = world_play_server(&world);
    if (many) {
        world_stream(&world, &played->seen, "/t/any", "x", 1);
    } else {
        world_call(&world, &played->seen, "/t/any", "x", 1, 0);
    }
    played->fd = world_play_accept(&world, played->listener);
    play_frame(played->fd, 4, 0, 0, NULL, 0);
    ck_assert(world_play_read(&world, played->fd, 0, NULL, NULL));
}

static void expect_end(struct played *played, int code, bool never_ran)
{
    world_until(&world, &played->seen.ended);
    ck_assert_msg(played->seen.code == code, "%d: %s", played->seen.code,
                  played->seen.text);
    ck_assert_int_eq(played->seen.never_ran, never_ran);
    close(played->fd);
    close(played->listener);
    world_close(&world);
    world_open(&world);
}

#define HEAD ":status", "200", "content-type", "application/grpc"

START_TEST(answers_without_a_status_are_judged_by_http)
{
    static const struct {
        const char *fields[5];
        int code;
    } answers[] = {
        {{":status", "503", NULL}, HAMID_GRPC_UNAVAILABLE},
        {{":status", "404", NULL}, HAMID_GRPC_UNIMPLEMENTED},
        {{":status", "403", NULL}, HAMID_GRPC_PERMISSION_DENIED},
        {{":status", "418", NULL}, HAMID_GRPC_UNKNOWN},
        {{":status", "200", "content-type", "text/html", NULL}, HAMID_GRPC_UNKNOWN},
        {{HEAD, NULL}, HAMID_GRPC_UNKNOWN},
    };

    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        struct played played;

        begin(&played, false);
        play_headers(played.fd, END_STREAM, 1, answers[i].fields);
        expect_end(&played, answers[i].code, false);
        begin(&played, false);
        play_headers(played.fd, 0, 1, answers[i].fields);
        play_frame(played.fd, 0, END_STREAM, 1, "", 0);
        expect_end(&played, answers[i].code, false);
    }
}
END_TEST

START_TEST(a_status_comes_in_trailers_alone_or_behind_a_message)
{
    const char *alone[] = {HEAD,           "grpc-status",       "5",
                           "grpc-message", "no%20%E2%82%AC%ZZ", NULL};
    const char *early[] = {":status", "103", NULL};
    const char *head[] = {HEAD, NULL};
    const char *good[] = {"grpc-status", "0", NULL};
    const char *odd[] = {"grpc-status", "zero", NULL};
    struct played played;

    begin(&played, false);
    play_headers(played.fd, END_STREAM, 1, alone);
    world_until(&world, &played.seen.ended);
    ck_assert_str_eq(played.seen.text, "no \xe2\x82\xac%ZZ");
    expect_end(&played, HAMID_GRPC_NOT_FOUND, false);

    begin(&played, false);
    play_headers(played.fd, 0, 1, early);
    play_headers(played.fd, 0, 1, head);
    play_frame(played.fd, 0, 0, 1,
               "\0\0\0\0\x01"
               "a",
               6);
    play_headers(played.fd, END_STREAM, 1, good);
    world_until(&world, &played.seen.ended);
    ck_assert_uint_eq(played.seen.messages, 1);
    expect_end(&played, HAMID_GRPC_OK, false);

    begin(&played, true);
    play_headers(played.fd, 0, 1, head);
    play_headers(played.fd, END_STREAM, 1, odd);
    expect_end(&played, HAMID_GRPC_UNKNOWN, false);

    begin(&played, true);
    play_headers(played.fd, 0, 1, head);
    play_frame(played.fd, 0, 0, 1,
               "\0\0\0\0\x09"
               "abc",
               8);
    play_headers(played.fd, END_STREAM, 1, good);
    expect_end(&played, HAMID_GRPC_INTERNAL, false);
}
END_TEST

START_TEST(resets_and_goaways_say_whether_the_call_was_looked_at)
{
    static const struct {
        const char *error; /* four bytes */
        int code;
        bool never_ran;
    } resets[] = {{"\0\0\0\x07", HAMID_GRPC_UNAVAILABLE, true},
                  {"\0\0\0\x08", HAMID_GRPC_CANCELLED, false},
                  {"\0\0\0\x0b", HAMID_GRPC_RESOURCE_EXHAUSTED, false},
                  {"\0\0\0\x0c", HAMID_GRPC_PERMISSION_DENIED, false},
                  {"\0\0\0\x02", HAMID_GRPC_INTERNAL, false},
                  {"\0\0\0\0", HAMID_GRPC_INTERNAL, false}};
    struct played played;

    for (size_t i = 0; i < sizeof(resets) / sizeof(resets[0]); i++) {
        begin(&played, false);
        play_frame(played.fd, 3, 0, 1, resets[i].error, 4);
        expect_end(&played, resets[i].code, resets[i].never_ran);
    }
    begin(&played, false);
    play_frame(played.fd, 7, 0, 0, "\0\0\0\0\0\0\0\0",
               8); /* stream 1 was not looked at */
    expect_end(&played, HAMID_GRPC_UNAVAILABLE, true);
    begin(&played, false);
    play_frame(played.fd, 7, 0, 0, "\0\0\0\x01\0\0\0\0", 8); /* it was, and goes on */
    world_turn(&world, 30);
    ck_assert(!played.seen.ended);
    const char *alone[] = {HEAD, "grpc-status", "10", NULL};
    play_headers(played.fd, END_STREAM, 1, alone);
    expect_end(&played, HAMID_GRPC_ABORTED, false);
}
END_TEST

START_TEST(a_server_that_talks_nonsense_or_breaks_off_is_unavailable)
{
    const char *head[] = {HEAD, NULL};
    struct played played;

    begin(&played, false);
    play_bytes(played.fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
    expect_end(&played, HAMID_GRPC_UNAVAILABLE, false);
    begin(&played, false);
    play_frame(played.fd, 0, 0, 0, "x", 1);
    expect_end(&played, HAMID_GRPC_UNAVAILABLE, false);
    begin(&played, true);
    play_headers(played.fd, 0, 1, head);
    play_frame(played.fd, 0, 0, 1,
               "\0\0\0\0\x01"
               "a\0\0",
               8);
    world_until_count(&world, &played.seen.messages, 1);
    ck_assert_int_eq(shutdown(played.fd, 2), 0);
    expect_end(&played, HAMID_GRPC_UNAVAILABLE, false);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("grpc-frames");
    TCase *tests = tcase_create("frames");

    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, what_is_not_http2_is_hung_up);
    tcase_add_test(tests, frames_that_break_the_rules_end_the_connection);
    tcase_add_test(tests, a_frame_longer_than_announced_limits_ends_the_connection);
    tcase_add_test(tests, a_connection_that_breaks_off_anywhere_does_no_harm);
    tcase_add_test(tests, messages_that_can_not_be_are_refused_with_a_status);
    tcase_add_test(tests, heads_that_are_not_grpc_are_refused_with_a_status);
    tcase_add_test(tests, more_header_fields_than_are_taken_are_refused_with_a_status);
    tcase_add_test(tests, answers_without_a_status_are_judged_by_http);
    tcase_add_test(tests, a_status_comes_in_trailers_alone_or_behind_a_message);
    tcase_add_test(tests, resets_and_goaways_say_whether_the_call_was_looked_at);
    tcase_add_test(tests, a_server_that_talks_nonsense_or_breaks_off_is_unavailable);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
