/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What client.c (connections) and client_call.c (calls) share.
 */
#ifndef HAMID_GRPC_CLIENT_INTERNAL_H
#define HAMID_GRPC_CLIENT_INTERNAL_H

#include "client.h"
#include "connection.h"

struct client_connection {
    LIST_ENTRY(client_connection) siblings;
    struct hamid_grpc_client *client;
    struct hamid_grpc_connection *connection;
};

TAILQ_HEAD(hamid_grpc_requests, hamid_grpc_request);

/*
 * `current` takes new calls; the others of `connections` were told to go away and only
 * end what they have. A call is in `waiting` until it has a connection, in `running`
 * then, in `failing` where it gets none.
 */
struct hamid_grpc_client {
    struct event_base *base;
    struct hamid_grpc_client_config config;
    char *path;
    LIST_HEAD(, client_connection) connections;
    struct client_connection *current;
    struct hamid_grpc_requests waiting, running, failing;
    struct event *dial; /* tries to connect */
    uint64_t dial_until_ms;
    bool is_dialling;
    size_t depth;  /* of our functions that go on after calling out */
    bool is_freed; /* no longer the caller's; its memory goes when depth is 0 */
};

/* Puts a waiting call on the current connection. 0, or -1: it runs nowhere. */
int hamid_grpc_internal_request_start(struct hamid_grpc_request *request);

/* Ends a call: it is freed, and its caller told last. */
void hamid_grpc_internal_request_end(struct hamid_grpc_request *request, int code,
                                     const char *text, bool never_ran);

/* Moves all waiting calls to `failing`. */
void hamid_grpc_internal_requests_fail(struct hamid_grpc_client *client);

/* Gets the waiting calls a connection, from the loop's next turn on. */
void hamid_grpc_internal_client_dial(struct hamid_grpc_client *client);

uint64_t hamid_grpc_internal_now_ms(void);

#endif
