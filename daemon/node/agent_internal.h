/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What agent.c (life, probes) and agent_calls.c (allocations) share. Loop's thread.
 */
#ifndef HAMID_NODE_AGENT_INTERNAL_H
#define HAMID_NODE_AGENT_INTERNAL_H

#include "agent.h"
#include "allocations.h"
#include "http/server.h"
#include "refusal_events.h"

struct agent {
    struct agent_config config;
    struct hamid_http_server *server;
    struct allocations table;
    struct refusal_events events;
    struct event *expire;
    size_t pending;
    bool is_ready;
    bool is_stopping;
    uint64_t served;
    uint64_t refused;
    uint64_t ended[2]; /* [0] done, [1] failed: written */
    uint64_t not_written;
};

/* {"code","message"}; consumes the exchange. */
void agent_answer_error(struct hamid_http_exchange *exchange, int status,
                        const char *code, const char *message);

/* POST /v1/allocations, and POST /v1/allocations/ID/done or /failed. `data` is the agent.
 */
void agent_handle_allocation(struct hamid_http_exchange *exchange, void *data);
void agent_handle_end(struct hamid_http_exchange *exchange, void *data);

#endif
