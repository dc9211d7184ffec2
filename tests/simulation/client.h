/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What client.c and client_stream.c share. */
#ifndef TESTS_SIMULATION_CLIENT_H
#define TESTS_SIMULATION_CLIENT_H

#include <hami/kubernetes.h>

#include "backend.h"
#include "http.h"

/* Stands for a hami_kubernetes, and is the transport that the manager knows. */
struct client {
    struct hami_transport transport; /* first */
    struct hami_transport *inner;    /* the Kubernetes library's */
    struct world *world;
    int replica;
    bool closed;
    struct hami_internal_http_request *requests;
    struct hami_internal_http_stream *streams;
    struct hami_internal_http_timer *timers;
};

struct client *client_of(const hami_kubernetes *handle);

/* Fills client.transport: each function goes on to the inner one; what it cancels ends
 * as soon as it has returned. */
void client_wrap(struct client *client);

/* Ends one stream or timer that was cancelled, or any if the client is closed; false if
 * there is none. */
bool client_end_stream(struct client *client);
bool client_end_timer(struct client *client);

#endif
