/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's HTTP interface on its unix socket. Loop's thread.
 *
 *   POST /v1/allocations            whose Allocate is this?
 *   POST /v1/allocations/ID/done    the devices are handed out
 *   POST /v1/allocations/ID/failed  they can't be
 *   POST /v1/starts                 may a container with these devices start?
 *   GET  /livez, /readyz, /healthz, /metrics
 *
 * Only processes of this daemon's user and of root are served.
 */
#ifndef HAMID_NODE_AGENT_H
#define HAMID_NODE_AGENT_H

#include <stdio.h>

#include "checks.h"
#include "denials.h"
#include "node_events.h"

struct agent;
struct event_base;
struct hamid_mailbox;

struct agent_config {
    struct event_base *base;
    struct hamid_mailbox *mailbox;
    hami_kubernetes *client;
    hami_handshake *handshake;
    const char *node;
    const char *socket;
    uint64_t timeout_ms;                         /* of one request */
    uint64_t lifetime_ms;                        /* of an allocation */
    const struct hami_handshake_vendor *vendors; /* borrowed */
    size_t vendor_count;
    struct node_events *events;
    struct books *books;   /* the kubelet's; NULL = none */
    struct checks *checks; /* NULL without books */
    bool needs_books;      /* refuse an Allocate while the books can't be read */
    struct hamid_denials *denials;
    void (*more_metrics)(FILE *out, void *data); /* NULL = none */
    void *more_data;
};

/* Starts to listen. Returns NULL with a line in error. */
struct agent *agent_new(const struct agent_config *config, char *error,
                        size_t error_size);

/* What /readyz says. */
void agent_set_ready(struct agent *agent, bool is_ready);

/* No new allocation is taken (503); done and failed are. */
void agent_stop(struct agent *agent);

/* Nothing waits for its end: no open allocation, no request, no answer on its way out. */
bool agent_is_idle(const struct agent *agent);

/* Closes the socket and the connections. Requests may still be with the library. */
void agent_close(struct agent *agent);

/* Requests that the library has not answered. */
size_t agent_pending(const struct agent *agent);

/* Drops open allocations: nothing is written. Takes NULL, returns NULL. agent_pending()
 * must be 0. */
struct agent *agent_free(struct agent *agent);

#endif
