/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one peer may use up: time in which it says nothing, connections, streams.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"
#include "suite.h"

#define END_STREAM 1u

static struct world world;

static const char *const usual[] = {
    ":method", "POST",         ":scheme",          "http", ":authority", "x", ":path",
    "/t/echo", "content-type", "application/grpc", NULL};

static void tear_down(void)
{
    world_close(&world);
}

static void open_with(const struct hamid_grpc_server_config *config)
{
    const struct hamid_grpc_client_config client = {0};

    world_open_with(&world, config, &client);
}

START_TEST(a_connection_that_says_nothing_is_hung_up)
{
    const struct hamid_grpc_server_config config = {.greeting_ms = 50};

    open_with(&config);
    int fd = world_play_client(&world);
    while (world_play_read(&world, fd, 7, NULL, NULL)) {
    }
    close(fd);
    fd = world_play_client(&world);
    play_bytes(fd, PREFACE, strlen(PREFACE)); /* nor is that enough */
    while (world_play_read(&world, fd, 7, NULL, NULL)) {
    }
    close(fd);
    world_expect_service(&world);
}
END_TEST

START_TEST(a_client_that_stands_still_in_a_call_is_hung_up_by_pings)
{
    const struct hamid_grpc_server_config config = {.keepalive_ms = 30,
                                                    .keepalive_timeout_ms = 60};
    const char *keep[] = {
        ":method", "POST",         ":scheme",          "http", ":authority", "x", ":path",
        "/t/keep", "content-type", "application/grpc", NULL};

    open_with(&config);
    int fd = world_play_greeting(&world);
    play_headers(fd, 0, 1, keep);
    play_frame(fd, 0, END_STREAM, 1, "\0\0\0\0\0", 5);
    world_until_count(&world, &world.kept_count, 1);
    ck_assert(
        world_play_read(&world, fd, 6, NULL, NULL)); /* it is asked, and says nothing */
    world_until_count(&world, &world.gone_count, 1);
    close(fd);
    world_expect_service(&world);
}
END_TEST

START_TEST(connections_beyond_the_limit_are_hung_up)
{
    const struct hamid_grpc_server_config config = {.connections_max = 2};

    open_with(&config);
    int first = world_play_greeting(&world);
    int second = world_play_greeting(&world);
    world_turn(&world, 20);
    int third = world_play_client(&world);
    ck_assert(!world_play_read(&world, third, 4, NULL, NULL));
    close(third);
    ck_assert(world_play_read(&world, second, 4, NULL, NULL));
    close(first);
    close(second);
    world_turn(&world, 20);
    world_expect_service(&world);
}
END_TEST

/* Newer versions of nghttp2 hang up on a peer that goes on so. */
START_TEST(streams_that_are_opened_and_reset_for_ever_leave_nothing_behind)
{
    const struct hamid_grpc_server_config config = {0};
    bool is_open = true;

    open_with(&config);
    int fd = world_play_greeting(&world);
    for (unsigned i = 0; i < 3000 && is_open; i++) {
        play_headers(fd, 0, 1 + 2 * i, usual);
        play_frame(fd, 3, 0, 1 + 2 * i, "\0\0\0\x08", 4);
        if (i % 10 == 0) {
            unsigned char came[4096] = {0};

            world_turn(&world, 1);
            ssize_t taken = recv(fd, came, sizeof(came), 0);
            bool is_goaway = taken >= 9 && came[3] == 7;
            is_open = !is_goaway && (taken > 0 || (taken < 0 && errno == EAGAIN));
        }
    }
    world_turn(&world, 20);
    ck_assert_uint_eq(hamid_grpc_server_calls(world.server), 0);
    close(fd);
    world_expect_service(&world);
}
END_TEST

START_TEST(streams_beyond_the_limit_are_refused_and_the_others_served)
{
    const struct hamid_grpc_server_config config = {0};

    open_with(&config);
    int fd = world_play_greeting(&world);
    const char *keep[] = {
        ":method", "POST",         ":scheme",          "http", ":authority", "x", ":path",
        "/t/echo", "content-type", "application/grpc", NULL};
    unsigned char payload[4096];
    size_t length;

    for (unsigned i = 0; i < 101; i++) { /* none of them ends */
        play_headers(fd, 0, 1 + 2 * i, keep);
    }
    ck_assert(world_play_read(&world, fd, 3, payload, &length));
    ck_assert_uint_eq(payload[3], 7); /* REFUSED_STREAM */
    world_expect_service(&world);
    close(fd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("grpc-limits");
    TCase *tests = tcase_create("limits");

    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, NULL, tear_down);
    tcase_add_test(tests, a_connection_that_says_nothing_is_hung_up);
    tcase_add_test(tests, a_client_that_stands_still_in_a_call_is_hung_up_by_pings);
    tcase_add_test(tests, connections_beyond_the_limit_are_hung_up);
    tcase_add_test(tests,
                   streams_that_are_opened_and_reset_for_ever_leave_nothing_behind);
    tcase_add_test(tests, streams_beyond_the_limit_are_refused_and_the_others_served);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
