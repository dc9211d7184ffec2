/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which order requests are handed to their handlers: that of the arrival of their last
 * bytes at this machine, by the kernel's own stamps.
 *
 * The order in which the loop gets to read is another one when it comes late to it: the
 * request on a connection that it knows is read in one turn, and an older one on a new
 * connection a turn later, because that is accepted first; and a socket that was readable
 * a moment ago keeps its old place among those that are. So a request that was read waits
 * until a turn has read nothing more of anybody (what came before it has been read then),
 * and all that wait are handed out as they arrived. That costs two empty turns, and there
 * is an end to it where clients never leave the loop a moment: TURNS_MAX.
 *
 * Requests without a stamp (unix sockets; a kernel that gives none) count as arrived when
 * they were read.
 */
#include "internal.h"

#define TURNS_MAX 16

/* ---- the order ------------------------------------------------------------------ */

/* Once a turn: the event is due at once, and the loop looks at sockets first. */
static void wait_a_turn(struct hamid_http_server *server)
{
    static const struct timeval at_once = {0};
    server->has_stirred = false;
    server->turns_waited++;
    (void)event_add(server->hand_out, &at_once);
}

/* Those that are there now; what comes while handlers run waits for turns of its own. */
static void hand_out(struct hamid_http_server *server)
{
    struct hamid_http_exchange *last =
        TAILQ_LAST(&server->arrived, hamid_http_exchange_queue);
    bool is_last = last == NULL;
    while (!is_last && !TAILQ_EMPTY(&server->arrived)) {
        struct hamid_http_exchange *first = TAILQ_FIRST(&server->arrived);
        is_last = first == last;
        hamid_http_arrival_forget(first);
        hamid_http_tidy_count(server);
        hamid_http_connection_handle(first);
    }
}

void hamid_http_arrival_on_turn(evutil_socket_t fd, short what, void *data)
{
    struct hamid_http_server *server = data;
    (void)fd;
    (void)what;
    if (server->has_stirred && server->turns_waited < TURNS_MAX) {
        wait_a_turn(server);
        return;
    }
    server->turns_waited = 0;
    hand_out(server);
}

void hamid_http_arrival_add(struct hamid_http_exchange *exchange)
{
    struct hamid_http_server *server = exchange->server;
    struct hamid_http_exchange *before =
        TAILQ_LAST(&server->arrived, hamid_http_exchange_queue);
    while (before != NULL && before->stream.arrived_ns > exchange->stream.arrived_ns) {
        before = TAILQ_PREV(before, hamid_http_exchange_queue, arrived);
    }
    if (before != NULL) {
        TAILQ_INSERT_AFTER(&server->arrived, before, exchange, arrived);
    } else {
        TAILQ_INSERT_HEAD(&server->arrived, exchange, arrived);
    }
    exchange->has_arrived = true;
    if (server->turns_waited == 0) {
        wait_a_turn(server);
    }
}

void hamid_http_arrival_forget(struct hamid_http_exchange *exchange)
{
    if (exchange->has_arrived) {
        TAILQ_REMOVE(&exchange->server->arrived, exchange, arrived);
        exchange->has_arrived = false;
    }
}
