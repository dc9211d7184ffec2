/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room for connections. Those without a whole request (shaking hands, silent, sending a
 * head byte by byte) stand in the order in which they began to be so. Where there are too
 * many, the oldest of them goes; one that is younger than YOUNG_MS may be about to ask
 * and stays, and so does everyone who has asked: then listening pauses, and callers wait
 * in the kernel's queue until somebody has left.
 */
#include "internal.h"

#include "log.h"

#define YOUNG_MS 1000
#define RESUME_MS 200
#define SHOUT_MS 60000

static uint64_t now_ms(const struct hamid_http_server *server)
{
    struct timeval now;
    (void)event_base_gettimeofday_cached(server->base, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_usec / 1000;
}

void hamid_http_limits_enter(struct hamid_http_exchange *exchange)
{
    struct hamid_http_server *server = exchange->server;
    if (!exchange->is_unrequested) {
        exchange->is_unrequested = true;
        exchange->unrequested_since_ms = now_ms(server);
        TAILQ_INSERT_TAIL(&server->unrequested, exchange, unrequested);
        server->unrequested_count++;
    }
}

void hamid_http_limits_leave(struct hamid_http_exchange *exchange)
{
    struct hamid_http_server *server = exchange->server;
    if (exchange->is_unrequested) {
        exchange->is_unrequested = false;
        TAILQ_REMOVE(&server->unrequested, exchange, unrequested);
        server->unrequested_count--;
    }
}

bool hamid_http_limits_may_shout(struct hamid_http_server *server,
                                 enum hamid_http_shout kind)
{
    uint64_t now = now_ms(server);
    uint64_t last = server->shouted_ms[kind];
    if (last != 0 && now >= last && now - last < SHOUT_MS) {
        return false;
    }
    server->shouted_ms[kind] = now;
    return true;
}

void hamid_http_limits_pause(struct hamid_http_server *server)
{
    struct timeval when = {.tv_usec = RESUME_MS * 1000};
    for (size_t i = 0; i < server->listener_count; i++) {
        (void)evconnlistener_disable(server->listeners[i]);
    }
    (void)event_add(server->resume, &when);
}

static bool is_full(const struct hamid_http_server *server)
{
    return server->connections >= server->config.connections_max ||
           server->unrequested_count >= server->config.unrequested_max;
}

/* A clock that was set back makes nobody young for ever. */
static bool is_young(const struct hamid_http_exchange *exchange)
{
    uint64_t now = now_ms(exchange->server);
    uint64_t since = exchange->unrequested_since_ms;
    return now >= since && now - since < YOUNG_MS;
}

void hamid_http_limits_make_room(struct hamid_http_server *server)
{
    char limit[24];
    while (is_full(server)) {
        struct hamid_http_exchange *oldest = TAILQ_FIRST(&server->unrequested);
        if (oldest == NULL || is_young(oldest)) {
            server->stats.pauses++;
            if (hamid_http_limits_may_shout(server, HAMID_HTTP_SHOUT_FULL)) {
                hamid_log_warning(
                    "All connections are in use, further callers wait to be accepted; "
                    "raise the limit of open files, or see who opens so many",
                    "connectionsMax",
                    hamid_log_number(limit, server->config.connections_max), NULL);
            }
            hamid_http_limits_pause(server);
            return;
        }
        server->stats.evicted++;
        if (hamid_http_limits_may_shout(server, HAMID_HTTP_SHOUT_EVICTED)) {
            hamid_log_warning("Closed the connection that was silent longest, to make "
                              "room for others; see who opens so many",
                              "connectionsMax",
                              hamid_log_number(limit, server->config.connections_max),
                              NULL);
        }
        hamid_http_connection_close(oldest);
    }
}
