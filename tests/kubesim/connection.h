/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One accepted TLS connection and the protocol on it. Whatever a protocol decides while
 * it handles input or an answer takes effect on the connection's next turn of the loop,
 * so nobody's frame is on the stack when it is freed. Server's thread only.
 */
#ifndef KUBESIM_CONNECTION_H
#define KUBESIM_CONNECTION_H

#include "server.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>

struct sim_connection;

struct sim_protocol {
    void *(*open)(struct sim_connection *connection);
    /* Take what it can from INPUT; -1: hopeless, close. */
    int (*input)(void *state, struct evbuffer *input);
    /* A turn of the loop: write what is due, pass on from answered requests. */
    void (*turn)(void *state);
    /* All output was sent. */
    void (*drained)(void *state);
    void (*close)(void *state);
};

enum sim_fate {
    SIM_ALIVE,
    SIM_DRAINING,  /* what is written goes out */
    SIM_LINGERING, /* our half is closed; what comes in is thrown away until the peer's is
                    */
    SIM_DEAD
};

struct sim_connection {
    struct kubesim *server;
    struct sim_connection *next, **link;
    struct bufferevent *stream;
    struct evbuffer *output;
    struct event *turn_event;
    const struct sim_protocol *protocol; /* NULL during the handshake */
    void *state;
    char *certificate_user;
    enum sim_fate fate;
    bool reset; /* close with RST */
};

extern const struct sim_protocol sim_http1, sim_http2;

/* Have `turn` called soon. */
void sim_connection_schedule(struct sim_connection *connection);
/* Close after what is written has been sent. */
void sim_connection_drain(struct sim_connection *connection);
/* Close now; RESET: in a way that the peer sees as an error. */
void sim_connection_kill(struct sim_connection *connection, bool reset);
/* An exchange on it, with what the connection knows of its user. */
struct sim_exchange *sim_connection_exchange(struct sim_connection *connection,
                                             const struct sim_transport *transport,
                                             void *stream);
/* An RFC 1123 date for the Date header; the buffer takes 40 bytes. */
const char *sim_date(const struct kubesim *sim, int skew, char *buffer);

#endif
