/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP server and those who want more than there is: connections, bodies, rooms. */
#include "http/server.h"

#include <string.h>

#include <event2/event.h>

#include "http_client.h"
#include "http_world.h"
#include "suite.h"

static void turn_until_parked(size_t count)
{
    while (http_parked_count < count) {
        (void)event_base_loop(http_base, EVLOOP_ONCE);
    }
}

START_TEST(test_one_connection_too_many_waits_while_all_others_are_parked)
{
    struct http_client clients[3];
    struct hamid_http_stats stats;
    http_start((struct hamid_http_config){.connections_max = 2, .unrequested_max = 2});
    for (size_t i = 0; i < 2; i++) {
        http_client_open(&clients[i], http_base, http_address);
        http_client_send(&clients[i], POST("/park", "", "0"));
    }
    turn_until_parked(2);
    http_client_open(&clients[2], http_base, http_address);
    http_client_send(&clients[2], "GET /hello HTTP/1.1\r\n\r\n");
    for (int i = 0; i < 10; i++) {
        (void)event_base_loop(http_base, EVLOOP_NONBLOCK);
    }
    ck_assert_uint_eq(http_handled, 0);
    ck_assert_uint_eq(hamid_http_server_connections(http_server), 2);
    http_client_close(&clients[0]);
    ck_assert(http_client_until_text(&clients[2], "200 OK"));
    hamid_http_server_stats(http_server, &stats);
    ck_assert_uint_ge(stats.pauses, 1);
    ck_assert_uint_eq(stats.evicted, 0);
    http_client_close(&clients[1]);
    http_client_close(&clients[2]);
    http_stop();
}
END_TEST

START_TEST(test_the_connection_that_is_silent_longest_makes_room)
{
    struct http_client clients[3];
    struct hamid_http_stats stats;
    http_start((struct hamid_http_config){.connections_max = 3, .unrequested_max = 2});
    for (size_t i = 0; i < 2; i++) {
        http_client_open(&clients[i], http_base, http_address);
    }
    ck_assert(http_client_until_closed(&clients[0]));
    hamid_http_server_stats(http_server, &stats);
    ck_assert_uint_eq(stats.evicted, 1);
    http_client_send(&clients[1], POST("/park", "", "0"));
    turn_until_parked(1);
    http_client_open(&clients[2], http_base, http_address);
    http_client_send(&clients[2], "GET /hello HTTP/1.1\r\n\r\n");
    ck_assert(http_client_until_text(&clients[2], "200 OK"));
    ck_assert(!clients[1].closed);
    for (size_t i = 0; i < 3; i++) {
        http_client_close(&clients[i]);
    }
    http_stop();
}
END_TEST

START_TEST(test_all_bodies_together_are_bounded)
{
    static const char half[] = "POST /park HTTP/1.1\r\nContent-Length: 800\r\n\r\n";
    char bytes[600];
    struct http_client clients[2];
    struct http_client third;
    http_start((struct hamid_http_config){.held_bytes_max = 1000});
    memset(bytes, 'x', sizeof(bytes));
    for (size_t i = 0; i < 2; i++) {
        http_client_open(&clients[i], http_base, http_address);
        http_client_send(&clients[i], half);
        http_client_send_bytes(&clients[i], bytes, sizeof(bytes));
    }
    ck_assert(http_client_until_text(&clients[1], "HTTP/1.1 503 ") ||
              http_client_until_text(&clients[0], "HTTP/1.1 503 "));
    for (size_t i = 0; i < 2; i++) {
        http_client_close(&clients[i]);
    }
    http_client_open(&third, http_base, http_address);
    http_client_send(&third, POST("/echo", "hello", "5"));
    ck_assert(http_client_until_text(&third, "200 OK"));
    http_client_close(&third);
    http_stop();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("HTTP server's bounds");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_test(all, test_one_connection_too_many_waits_while_all_others_are_parked);
    tcase_add_test(all, test_the_connection_that_is_silent_longest_makes_room);
    tcase_add_test(all, test_all_bodies_together_are_bounded);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
