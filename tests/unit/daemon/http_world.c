/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See http_world.h. */
#include "http_world.h"

#include <signal.h>

#include <event2/event.h>

#include "suite.h"

struct event_base *http_base;
struct hamid_http_server *http_server;
char http_address[64];
struct hamid_http_exchange *http_parked[PARKED_MAX];
size_t http_parked_count;
size_t http_gone_count;
size_t http_handled;
bool http_is_gone;

static void echo(struct hamid_http_exchange *exchange, void *data)
{
    size_t length = 0;
    (void)data;
    http_handled++;
    const char *body = hamid_http_body_text(exchange, &length);
    hamid_http_answer(exchange, 200, "text/plain", body, length);
}

static void note_gone(void *data)
{
    (void)data;
    http_gone_count++;
    http_is_gone = true;
}

static void park(struct hamid_http_exchange *exchange, void *data)
{
    (void)data;
    ck_assert_uint_lt(http_parked_count, PARKED_MAX);
    http_parked[http_parked_count++] = exchange;
    hamid_http_on_gone(exchange, note_gone, NULL);
}

static const struct hamid_http_route routes[] = {
    {"POST", "/echo", echo, 1000, false}, {"POST", "/json", echo, 1000, true},
    {"GET", "/hello", echo, 0, false},    {"POST", "/park", park, 1000, false},
    {"GET", "/tree/*", echo, 0, false},
};

void http_start(struct hamid_http_config config)
{
    char error[256];
    config.routes = routes;
    config.route_count = sizeof(routes) / sizeof(routes[0]);
    (void)signal(SIGPIPE, SIG_IGN);
    http_parked_count = http_gone_count = http_handled = 0;
    http_is_gone = false;
    http_base = event_base_new();
    http_server = hamid_http_server_new(http_base, &config);
    ck_assert_int_eq(hamid_http_listen_tcp(http_server, "127.0.0.1:0", http_address,
                                           sizeof(http_address), error, sizeof(error)),
                     0);
}

void http_start_default(void)
{
    http_start((struct hamid_http_config){0});
}

void http_stop(void)
{
    http_server = hamid_http_server_free(http_server);
    event_base_free(http_base);
}
