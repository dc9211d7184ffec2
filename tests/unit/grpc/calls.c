/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls between our client and our server: answers, streams, deadlines, cancelling, ends
 * of connections, limits.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "world.h"

START_TEST(a_unary_call_is_answered_by_one_message)
{
    struct world world;
    struct seen seen;

    world_open(&world);
    world_call(&world, &seen, "/t/echo", "hello", 5, 2000);
    ck_assert(!seen.ended);
    world_until(&world, &seen.ended);
    ck_assert_int_eq(seen.code, HAMID_GRPC_OK);
    ck_assert_uint_eq(seen.messages, 1);
    ck_assert_uint_eq(seen.bytes, 5);
    ck_assert_int_eq(seen.last, 'o');
    ck_assert_int_eq(world.peer_pid, getpid());
    ck_assert_uint_le(world.time_left_ms, 2000);
    ck_assert_uint_gt(world.time_left_ms, 0);
    world_close(&world);
}
END_TEST

START_TEST(an_empty_message_is_a_message)
{
    struct world world;
    struct seen seen;

    world_open(&world);
    world_call(&world, &seen, "/t/echo", "", 0, 0);
    world_until(&world, &seen.ended);
    ck_assert_int_eq(seen.code, HAMID_GRPC_OK);
    ck_assert_uint_eq(seen.messages, 1);
    ck_assert_uint_eq(seen.bytes, 0);
    ck_assert_uint_eq(world.time_left_ms, UINT64_MAX);
    world_close(&world);
}
END_TEST

START_TEST(a_status_and_its_text_come_through_whatever_the_bytes)
{
    struct world world;
    struct seen seen;
    const char text[] = "5no pod, 100 % of Gr\xc3\xbc\xc3\x9f"
                        "e\nand \x01 \xff";

    world_open(&world);
    world_call(&world, &seen, "/t/refuse", text, sizeof(text) - 1, 0);
    world_until(&world, &seen.ended);
    ck_assert_int_eq(seen.code, HAMID_GRPC_NOT_FOUND);
    ck_assert_str_eq(seen.text, text + 1);
    ck_assert_uint_eq(seen.messages, 0);
    ck_assert(!seen.never_ran);
    world_call(&world, &seen, "/t/refuse", "0", 1, 0);
    world_until(&world, &seen.ended);
    ck_assert_int_eq(seen.code,
                     HAMID_GRPC_INTERNAL); /* OK without a message is no answer */
    world_close(&world);
}
END_TEST

START_TEST(an_unknown_method_is_unimplemented)
{
    struct world world;
    struct seen seen;

    world_open(&world);
    world_call(&world, &seen, "/t/none", "x", 1, 0);
    world_until(&world, &seen.ended);
    ck_assert_int_eq(seen.code, HAMID_GRPC_UNIMPLEMENTED);
    world_close(&world);
}
END_TEST

START_TEST(a_message_of_megabytes_goes_both_ways)
{
    struct world world;
    struct seen seen;
    const size_t length = 12u << 20;
    unsigned char *message = malloc(length);

    ck_assert_ptr_nonnull(message);
    memset(message, 'm', length);
    message[0] = 'a';
    message[length - 1] = 'z';
    world_open(&world);
    world_call(&world, &seen, "/t/echo", message, length, 0);
    world_until(&world, &seen.ended);
    ck_assert_int_eq(seen.code, HAMID_GRPC_OK);
    ck_assert_uint_eq(seen.bytes, length);
    ck_assert_int_eq(seen.first, 'a');
    ck_assert_int_eq(seen.last, 'z');
    free(message);
    world_close(&world);
}
END_TEST

START_TEST(a_stream_brings_its_messages_and_then_its_end)
{
    struct world world;
    struct seen seen;
    static char message[100000] = {25};

    world_open(&world);
    world_stream(&world, &seen, "/t/repeat", message, sizeof(message));
    world_until(&world, &seen.ended);
    ck_assert_int_eq(seen.code, HAMID_GRPC_OK);
    ck_assert_uint_eq(seen.messages, 25);
    ck_assert_uint_eq(seen.bytes, 25 * sizeof(message));
    message[0] = 2;
    world_call(&world, &seen, "/t/repeat", message, sizeof(message), 0);
    world_until(&world, &seen.ended);
    ck_assert_int_eq(seen.code, HAMID_GRPC_INTERNAL); /* two where one was asked for */
    ck_assert_uint_eq(seen.messages, 0);
    world_close(&world);
}
END_TEST

START_TEST(a_stream_that_lasts_brings_each_message_when_it_is_sent)
{
    struct world world;
    struct seen seen;

    world_open(&world);
    world_stream(&world, &seen, "/t/keep", "x", 1);
    for (size_t i = 1; i <= 3; i++) {
        world_until_count(&world, &world.kept_count, 1);
        hamid_grpc_call_send(world.kept[0], (const uint8_t *)"abc", i);
        ck_assert_uint_ge(hamid_grpc_call_pending(world.kept[0]), i);
        world_until_count(&world, &seen.messages, i);
        ck_assert_uint_eq(world.drained_count, i);
        ck_assert_uint_eq(hamid_grpc_call_pending(world.kept[0]), 0);
    }
    ck_assert(!seen.ended);
    hamid_grpc_call_end(world.kept[0], HAMID_GRPC_ABORTED, "enough");
    world_until(&world, &seen.ended);
    ck_assert_int_eq(seen.code, HAMID_GRPC_ABORTED);
    ck_assert_str_eq(seen.text, "enough");
    ck_assert_uint_eq(world.gone_count, 0);
    world_close(&world);
}
END_TEST

START_TEST(a_deadline_ends_the_call_on_both_sides)
{
    struct world world;
    struct seen seen;

    world_open(&world);
    world_call(&world, &seen, "/t/keep", "x", 1, 50);
    world_until(&world, &seen.ended);
    ck_assert_int_eq(seen.code, HAMID_GRPC_DEADLINE_EXCEEDED);
    world_until_count(&world, &world.gone_count, 1);
    ck_assert_uint_eq(hamid_grpc_server_calls(world.server), 0);
    world_call(&world, &seen, "/t/echo", "x", 1, 0); /* the connection still serves */
    world_until(&world, &seen.ended);
    ck_assert_int_eq(seen.code, HAMID_GRPC_OK);
    world_close(&world);
}
END_TEST

START_TEST(a_cancelled_call_is_gone_on_the_server_and_silent_here)
{
    struct world world;
    struct seen seen;
    struct seen other;

    world_open(&world);
    world_stream(&world, &seen, "/t/keep", "x", 1);
    world_stream(&world, &other, "/t/keep", "x", 1);
    world_until_count(&world, &world.kept_count, 2);
    hamid_grpc_request_cancel(seen.request);
    world_until_count(&world, &world.gone_count, 1);
    ck_assert(!seen.ended);
    ck_assert(!other.ended);
    hamid_grpc_call_end(world.kept[1], HAMID_GRPC_OK, NULL);
    world_until(&world, &other.ended);
    world_close(&world);
}
END_TEST

START_TEST(a_stream_may_be_cancelled_from_its_own_message)
{
    struct world world;
    struct seen seen;
    static char message[5000] = {100};

    world_open(&world);
    world_stream(&world, &seen, "/t/repeat", message, sizeof(message));
    seen.cancel_after = 3;
    world_until_count(&world, &seen.messages, 3);
    world_turn(&world, 50);
    ck_assert_uint_eq(seen.messages, 3);
    ck_assert(!seen.ended);
    world_close(&world);
}
END_TEST

START_TEST(a_call_cancelled_before_it_was_sent_never_reaches_the_server)
{
    struct world world;
    struct seen seen;

    world_open(&world);
    world_call(&world, &seen, "/t/echo", "x", 1, 0);
    hamid_grpc_request_cancel(seen.request);
    world_turn(&world, 50);
    ck_assert_uint_eq(world.served, 0);
    ck_assert(!seen.ended);
    world_close(&world);
}
END_TEST

START_TEST(a_client_freed_within_a_callback_ends_all_its_calls)
{
    struct world world;
    struct seen seen;
    struct seen kept;

    world_open(&world);
    world_stream(&world, &kept, "/t/keep", "x", 1);
    world_until_count(&world, &world.kept_count, 1);
    world_call(&world, &seen, "/t/echo", "x", 1, 0);
    seen.free_client_then = true;
    world_until(&world, &kept.ended);
    ck_assert(seen.ended);
    ck_assert_int_eq(kept.code, HAMID_GRPC_CANCELLED);
    world_until_count(&world, &world.gone_count, 1);
    world_close(&world);
}
END_TEST

START_TEST(a_server_freed_within_a_callback_ends_all_its_calls)
{
    struct world world;
    struct seen seen;
    struct seen other;

    world_open(&world);
    world.free_in_gone = true;
    world_call(&world, &seen, "/t/keep", "x", 1, 50);
    world_call(&world, &other, "/t/keep", "x", 1, 0);
    world_until(&world, &other.ended);
    ck_assert(seen.ended);
    ck_assert_int_eq(other.code, HAMID_GRPC_UNAVAILABLE);
    ck_assert(!other.never_ran);
    ck_assert_uint_eq(world.gone_count, 2);
    world_close(&world);
}
END_TEST

START_TEST(no_server_is_unavailable_and_the_next_call_tries_again)
{
    struct world world;
    struct seen seen;
    const struct hamid_grpc_server_config server = {0};
    const struct hamid_grpc_client_config client = {0};

    world_open_with(&world, &server, &client);
    hamid_grpc_server_stop(world.server);
    world_call(&world, &seen, "/t/echo", "x", 1, 0);
    world_until(&world, &seen.ended);
    ck_assert_int_eq(seen.code, HAMID_GRPC_UNAVAILABLE);
    ck_assert(seen.never_ran);
    ck_assert_ptr_nonnull(strstr(seen.text, world.path));
    seen.free_client_then = true;
    world_close(&world);
}
END_TEST

START_TEST(a_stop_lets_calls_end_and_takes_no_new_ones)
{
    struct world world;
    struct seen kept;
    struct seen late;
    struct stat status;

    world_open(&world);
    world_call(&world, &kept, "/t/keep", "x", 1, 0);
    world_until_count(&world, &world.kept_count, 1);
    ck_assert_int_eq(stat(world.path, &status), 0);
    ck_assert_uint_eq(status.st_mode & 0777, 0600);
    hamid_grpc_server_stop(world.server);
    ck_assert_int_eq(stat(world.path, &status), -1); /* its socket goes with it */
    world_turn(&world, 50);
    world_call(&world, &late, "/t/echo", "x", 1, 0);
    world_until(&world, &late.ended);
    ck_assert_int_eq(late.code, HAMID_GRPC_UNAVAILABLE);
    ck_assert(late.never_ran);
    ck_assert_uint_eq(hamid_grpc_server_calls(world.server), 1);
    hamid_grpc_call_reply(world.kept[0], (const uint8_t *)"y", 1);
    world_until(&world, &kept.ended);
    ck_assert_int_eq(kept.code, HAMID_GRPC_OK);
    ck_assert_uint_eq(hamid_grpc_server_calls(world.server), 0);
    world_close(&world);
}
END_TEST

START_TEST(a_socket_that_is_no_longer_ours_stays)
{
    struct world world;
    struct stat status;

    world_open(&world);
    ck_assert_int_eq(unlink(world.path), 0);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, world.path);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    hamid_grpc_server_stop(world.server);
    ck_assert_int_eq(stat(world.path, &status), 0);
    close(fd);
    world_close(&world);
}
END_TEST

static bool nobody(void *data, const struct hamid_grpc_peer *peer)
{
    (void)data;
    return peer->uid != geteuid();
}

START_TEST(a_peer_that_is_not_welcome_is_hung_up)
{
    struct world world;
    struct seen seen;
    const struct hamid_grpc_server_config server = {.accept = nobody};
    const struct hamid_grpc_client_config client = {0};

    world_open_with(&world, &server, &client);
    world_call(&world, &seen, "/t/echo", "x", 1, 0);
    world_until(&world, &seen.ended);
    ck_assert_int_eq(seen.code, HAMID_GRPC_UNAVAILABLE);
    ck_assert_uint_eq(world.served, 0);
    world_close(&world);
}
END_TEST

START_TEST(a_message_above_the_limit_is_refused_by_either_side)
{
    struct world world;
    struct seen seen;
    static char message[5000] = {1};
    const struct hamid_grpc_server_config small_server = {.message_max = 4000};
    const struct hamid_grpc_server_config server = {0};
    const struct hamid_grpc_client_config client = {0};
    const struct hamid_grpc_client_config small_client = {.message_max = 4000};

    world_open_with(&world, &small_server, &client);
    world_call(&world, &seen, "/t/echo", message, sizeof(message), 0);
    world_until(&world, &seen.ended);
    ck_assert_int_eq(seen.code, HAMID_GRPC_RESOURCE_EXHAUSTED);
    world_call(&world, &seen, "/t/echo", message, 4000, 0);
    world_until(&world, &seen.ended);
    ck_assert_int_eq(seen.code, HAMID_GRPC_OK);
    world_close(&world);

    world_open_with(&world, &server, &small_client);
    world_call(&world, &seen, "/t/keep", "x", 1, 0);
    world_until_count(&world, &world.kept_count, 1);
    hamid_grpc_call_reply(world.kept[0], (const uint8_t *)message, sizeof(message));
    world_until(&world, &seen.ended);
    ck_assert_int_eq(seen.code, HAMID_GRPC_RESOURCE_EXHAUSTED);
    const struct hamid_grpc_call_config too_long = {.method = "/t/echo",
                                                    .message = (const uint8_t *)message,
                                                    .length = sizeof(message)};
    ck_assert_ptr_null(hamid_grpc_client_call(world.client, &too_long));
    world_close(&world);
}
END_TEST

START_TEST(bodies_of_all_calls_together_are_bounded)
{
    struct world world;
    struct seen seen[4];
    static char message[60000] = {1};
    const struct hamid_grpc_server_config server = {.bodies_max = 50000};
    const struct hamid_grpc_client_config client = {0};

    world_open_with(&world, &server, &client);
    world_call(&world, &seen[0], "/t/echo", message, sizeof(message), 0);
    world_until(&world, &seen[0].ended);
    ck_assert_int_eq(seen[0].code, HAMID_GRPC_RESOURCE_EXHAUSTED);
    for (int i = 1; i < 4; i++) { /* what was counted is given back */
        world_call(&world, &seen[i], "/t/echo", message, 40000, 0);
        world_until(&world, &seen[i].ended);
        ck_assert_int_eq(seen[i].code, HAMID_GRPC_OK);
    }
    world_close(&world);
}
END_TEST

START_TEST(more_calls_than_streams_wait_for_their_turn)
{
    struct world world;
    struct seen seen[40];
    const struct hamid_grpc_server_config server = {.streams_max = 3};
    const struct hamid_grpc_client_config client = {0};

    world_open_with(&world, &server, &client);
    for (size_t i = 0; i < 40; i++) {
        world_call(&world, &seen[i], "/t/echo", "x", 1, 0);
    }
    for (size_t i = 0; i < 40; i++) {
        world_until(&world, &seen[i].ended);
        ck_assert_int_eq(seen[i].code, HAMID_GRPC_OK);
    }
    world_close(&world);
}
END_TEST

START_TEST(pings_keep_a_stream_and_end_one_whose_server_stands_still)
{
    struct world world;
    struct seen seen;
    const struct hamid_grpc_server_config server = {0};
    const struct hamid_grpc_client_config client = {.keepalive_ms = 20,
                                                    .keepalive_timeout_ms = 100};

    world_open_with(&world, &server, &client);
    world_stream(&world, &seen, "/t/keep", "x", 1);
    world_until_count(&world, &world.kept_count, 1);
    world_turn(&world, 400);
    ck_assert(!seen.ended);
    world_close(&world);

    world_open_with(&world, &server, &client);
    int listener = world_play_server(&world);
    world_stream(&world, &seen, "/t/keep", "x", 1);
    int fd = world_play_accept(&world, listener);
    play_frame(fd, 4, 0, 0, NULL, 0); /* settings, and not a word more */
    world_until(&world, &seen.ended);
    ck_assert_int_eq(seen.code, HAMID_GRPC_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(seen.text, "ping"));
    close(fd);
    close(listener);
    world_close(&world);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("grpc-calls");
    TCase *tests = tcase_create("calls");

    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_unary_call_is_answered_by_one_message);
    tcase_add_test(tests, an_empty_message_is_a_message);
    tcase_add_test(tests, a_status_and_its_text_come_through_whatever_the_bytes);
    tcase_add_test(tests, an_unknown_method_is_unimplemented);
    tcase_add_test(tests, a_message_of_megabytes_goes_both_ways);
    tcase_add_test(tests, a_stream_brings_its_messages_and_then_its_end);
    tcase_add_test(tests, a_stream_that_lasts_brings_each_message_when_it_is_sent);
    tcase_add_test(tests, a_deadline_ends_the_call_on_both_sides);
    tcase_add_test(tests, a_cancelled_call_is_gone_on_the_server_and_silent_here);
    tcase_add_test(tests, a_stream_may_be_cancelled_from_its_own_message);
    tcase_add_test(tests, a_call_cancelled_before_it_was_sent_never_reaches_the_server);
    tcase_add_test(tests, a_client_freed_within_a_callback_ends_all_its_calls);
    tcase_add_test(tests, a_server_freed_within_a_callback_ends_all_its_calls);
    tcase_add_test(tests, no_server_is_unavailable_and_the_next_call_tries_again);
    tcase_add_test(tests, a_stop_lets_calls_end_and_takes_no_new_ones);
    tcase_add_test(tests, a_socket_that_is_no_longer_ours_stays);
    tcase_add_test(tests, a_peer_that_is_not_welcome_is_hung_up);
    tcase_add_test(tests, a_message_above_the_limit_is_refused_by_either_side);
    tcase_add_test(tests, bodies_of_all_calls_together_are_bounded);
    tcase_add_test(tests, more_calls_than_streams_wait_for_their_turn);
    tcase_add_test(tests, pings_keep_a_stream_and_end_one_whose_server_stands_still);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(suite());

    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
