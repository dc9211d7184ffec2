/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What server.c (listeners, routes), limits.c (room for connections), connection.c (the
 * life of one connection), handshake.c (TLS), answer.c (what is sent on it), arrival.c
 * (the order of requests) and tidy.c (memory after many of them) share.
 */
#ifndef HAMID_HTTP_INTERNAL_H
#define HAMID_HTTP_INTERNAL_H

#include "message.h"
#include "server.h"
#include "stream.h"

#include <sys/queue.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/listener.h>

#define HAMID_HTTP_LISTENERS_MAX 4

/* Lines that clients could fill a log with: at most one a minute of each. */
enum hamid_http_shout {
    HAMID_HTTP_SHOUT_EVICTED = 0,
    HAMID_HTTP_SHOUT_FULL,
    HAMID_HTTP_SHOUT_HANDSHAKE,
    HAMID_HTTP_SHOUTS
};

enum hamid_http_state {
    HAMID_HTTP_HEAD = 0, /* waiting for, or reading, a request's head */
    HAMID_HTTP_BODY,
    HAMID_HTTP_ARRIVED, /* wholly read; the handler has it in a turn or two */
    HAMID_HTTP_PENDING, /* a handler has the exchange */
    HAMID_HTTP_WRITING, /* answered; the answer is on its way out */
    HAMID_HTTP_LINGER /* closing: input is thrown away so that the answer is not lost to a
                         reset */
};

/* A request's head, and the text that it points into. Thousands may have arrived at a
 * time: the memory ends with the last header that there is. */
struct hamid_http_request {
    char *text;
    struct hamid_http_head head;
};

/* A connection, and the one exchange that it can have at a time. */
struct hamid_http_exchange {
    LIST_ENTRY(hamid_http_exchange) siblings;
    struct hamid_http_server *server;
    TAILQ_ENTRY(hamid_http_exchange) arrived;     /* while has_arrived */
    TAILQ_ENTRY(hamid_http_exchange) unrequested; /* while is_unrequested */
    struct hamid_http_stream stream;
    struct event readable;
    struct event writable;
    struct event timer;
    uint64_t unrequested_since_ms; /* of the loop's clock */
    enum hamid_http_state state;
    bool has_arrived;
    bool is_unrequested;
    bool timer_is_of_request; /* the read timer runs, not the idle one */
    bool close_after;
    bool is_stranger; /* its certificate's name is none of those that are served */
    bool has_peer;
    struct hamid_http_peer peer;
    struct hamid_http_request *request; /* NULL = none, or let go */
    const struct hamid_http_route *route;
    struct hamid_http_chunks chunks;
    struct evbuffer *body;    /* NULL until a head was accepted, and when let go */
    const char *header_lines; /* NULL = none */
    size_t counted;           /* bytes that the server's held_bytes has of this one */
    void (*gone)(void *data);
    void *gone_data;
};

LIST_HEAD(hamid_http_exchanges, hamid_http_exchange);
TAILQ_HEAD(hamid_http_exchange_queue, hamid_http_exchange);

struct hamid_http_server {
    struct event_base *base;
    struct hamid_http_config config;
    struct hamid_http_exchanges exchanges;
    struct hamid_http_exchange_queue arrived; /* the oldest first */
    struct event *hand_out;                   /* once a turn while somebody is in it */
    struct event *tidy;                       /* see tidy.c */
    size_t handed;                            /* requests since that was due last */
    unsigned turns_waited;
    bool has_stirred; /* something was accepted or read since the last turn */
    size_t connections;
    size_t busy;
    size_t held_bytes; /* in buffers of all connections */
    struct hamid_http_exchange_queue
        unrequested; /* who waits longest for a request first */
    size_t unrequested_count;
    struct hamid_http_stats stats;
    uint64_t shouted_ms[HAMID_HTTP_SHOUTS]; /* when a line of that kind was logged last */
    bool draining;
    struct evconnlistener *listeners[HAMID_HTTP_LISTENERS_MAX];
    size_t listener_count;
    struct event *resume; /* listeners pause after an accept that failed */
    char *unix_path;
};

/* Takes a connected socket. On failure it is closed. */
void hamid_http_connection_open(struct hamid_http_server *server, int fd, bool is_unix);

/* Ends a connection at once; a pending exchange gets its gone-function. */
void hamid_http_connection_close(struct hamid_http_exchange *exchange);

/* Gives a request that has arrived to its handler. */
void hamid_http_connection_handle(struct hamid_http_exchange *exchange);

/* Puts it into a state, and counts it there. */
void hamid_http_connection_set_state(struct hamid_http_exchange *exchange,
                                     enum hamid_http_state state);
void hamid_http_connection_set_timer(struct hamid_http_exchange *exchange,
                                     uint64_t milliseconds);

/* Keeps the server's sum of bytes held. */
void hamid_http_connection_count(struct hamid_http_exchange *exchange);

/* handshake.c */
void hamid_http_handshake_failed(struct hamid_http_server *server, const char *why);
void hamid_http_handshake_done(struct hamid_http_exchange *exchange);

/* limits.c. Who has no whole request yet stands in a list. */
void hamid_http_limits_enter(struct hamid_http_exchange *exchange);
void hamid_http_limits_leave(struct hamid_http_exchange *exchange);

/* After each accept: there is room for one more, or listening pauses. */
void hamid_http_limits_make_room(struct hamid_http_server *server);
void hamid_http_limits_pause(struct hamid_http_server *server);

/* Is a line of this kind due? */
bool hamid_http_limits_may_shout(struct hamid_http_server *server,
                                 enum hamid_http_shout kind);

/* A request was wholly read: its handler gets it in the order of arrival. */
void hamid_http_arrival_add(struct hamid_http_exchange *exchange);
void hamid_http_arrival_forget(struct hamid_http_exchange *exchange);

/* tidy.c. A request was handed out. */
void hamid_http_tidy_count(struct hamid_http_server *server);
/* The server's tidy event. */
void hamid_http_tidy_on_quiet(evutil_socket_t fd, short what, void *data);

/* The server's hand_out event. */
void hamid_http_arrival_on_turn(evutil_socket_t fd, short what, void *data);

/* Finds the route of a head. Returns 0, or the status to refuse it with and a text. */
int hamid_http_route_find(struct hamid_http_server *server,
                          const struct hamid_http_head *head,
                          const struct hamid_http_route **ret, const char **ret_text);

#endif
