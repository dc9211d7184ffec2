/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What server.c (listeners, routes), connection.c (the life of one connection) and
 * arrival.c (reading, and the order of requests) share.
 */
#ifndef HAMID_HTTP_INTERNAL_H
#define HAMID_HTTP_INTERNAL_H

#include "message.h"
#include "server.h"

#include <sys/queue.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>

#define HAMID_HTTP_LISTENERS_MAX 4

enum hamid_http_state {
    HAMID_HTTP_HEAD = 0, /* waiting for, or reading, a request's head */
    HAMID_HTTP_BODY,
    HAMID_HTTP_ARRIVED, /* wholly read; the handler has it in a turn or two */
    HAMID_HTTP_PENDING, /* a handler has the exchange */
    HAMID_HTTP_WRITING, /* answered; the answer is on its way out */
    HAMID_HTTP_LINGER /* closing: input is thrown away so that the answer is not lost to a
                         reset */
};

/* A connection, and the one exchange that it can have at a time. */
struct hamid_http_exchange {
    LIST_ENTRY(hamid_http_exchange) siblings;
    struct hamid_http_server *server;
    TAILQ_ENTRY(hamid_http_exchange) arrived; /* while has_arrived */
    struct bufferevent *stream;               /* writes; and owns the socket */
    struct event *readable;
    struct evbuffer *input;
    uint64_t arrived_ns; /* of the last bytes that were read; CLOCK_REALTIME */
    bool has_arrived;
    struct event *timer;
    enum hamid_http_state state;
    bool timer_is_of_request; /* the read timer runs, not the idle one */
    bool close_after;
    bool has_peer;
    struct hamid_http_peer peer;
    char *head_text; /* owns the texts of head */
    struct hamid_http_head head;
    bool has_head;
    const struct hamid_http_route *route;
    struct hamid_http_chunks chunks;
    struct evbuffer *body;
    size_t body_counted; /* bytes of body that the server's bodies_bytes has */
    const char *header_lines; /* NULL = none */
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
    unsigned turns_waited;
    bool has_stirred; /* something was accepted or read since the last turn */
    size_t connections;
    size_t busy;
    size_t bodies_bytes; /* of all connections */
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

enum hamid_http_read {
    HAMID_HTTP_READ_BYTES,
    HAMID_HTTP_READ_NOTHING,
    HAMID_HTTP_READ_END /* of the stream, or it is broken */
};

/* Have the kernel stamp what comes in on the sockets that this one accepts. */
void hamid_http_arrival_want(int fd);

/* Appends what there is, up to some limit, to the exchange's input. */
enum hamid_http_read hamid_http_arrival_read(struct hamid_http_exchange *exchange,
                                             int fd);

/* A request was wholly read: its handler gets it in the order of arrival. */
void hamid_http_arrival_add(struct hamid_http_exchange *exchange);
void hamid_http_arrival_forget(struct hamid_http_exchange *exchange);

/* The server's hand_out event. */
void hamid_http_arrival_on_turn(evutil_socket_t fd, short what, void *data);

/* Finds the route of a head. Returns 0, or the status to refuse it with and a text. */
int hamid_http_route_find(struct hamid_http_server *server,
                          const struct hamid_http_head *head,
                          const struct hamid_http_route **ret, const char **ret_text);

#endif
