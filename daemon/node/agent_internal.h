/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the agent share: agent.c (life, probes), agent_call.c (every
 * request), agent_begin.c (whose Allocate), agent_end.c (done, failed), agent_start.c
 * (may a container start), agent_metrics.c. Loop's thread.
 */
#ifndef HAMID_NODE_AGENT_INTERNAL_H
#define HAMID_NODE_AGENT_INTERNAL_H

#include "agent.h"
#include "agent_json.h"
#include "allocations.h"
#include "http/server.h"
#include "mailbox.h"
#include "trace.h"

struct agent {
    struct agent_config config;
    struct hamid_http_server *server;
    struct allocations table;
    struct event *expire;
    size_t pending;
    bool is_ready;
    bool is_stopping;
    uint64_t served;
    uint64_t refused;
    uint64_t ended[2]; /* [0] done, [1] failed: written */
    uint64_t not_written;
    uint64_t without_books; /* asked although the books could not be read */
};

/* One request that is with the library or the kubelet, and who waits for it. */
struct agent_call {
    struct hamid_letter letter; /* first */
    struct agent *agent;
    struct hamid_http_exchange *exchange; /* NULL: the plugin has gone */
    hami_handshake_job *job;              /* begin: what came of it */
    uint64_t deadline_ns;                 /* begin */
    struct agent_ask ask;                 /* begin */
    struct agent_start start;             /* may a container start */
    char id[ALLOCATION_ID_LENGTH + 1];    /* done, failed */
    bool is_failure;
    char pod[330]; /* done, failed: for the log */
    char trace[HAMID_TRACE_BYTES];
    int code;
    struct hami_error error;
};

/* @open     of its letter; NULL where none comes. NULL without memory: answered */
struct agent_call *agent_call_new(struct agent *agent,
                                  struct hamid_http_exchange *exchange,
                                  void (*open)(struct hamid_letter *letter));
void agent_call_free(struct agent_call *call);

/* Fills the letter and posts it. On the client's thread. */
void agent_call_post(struct agent_call *call, int code, hami_handshake_job *job,
                     const struct hami_error *error);

/* Answers with the call's code, if the plugin is still there. */
void agent_call_answer_failure(struct agent_call *call);

/* False where the caller is none that is served; it was answered then. */
bool agent_is_allowed(struct hamid_http_exchange *exchange);

/* The HTTP status for a code of the library. */
int agent_status_of(int code);

/* Consumes exchange and value. */
void agent_answer_json(struct hamid_http_exchange *exchange, int status, json_t *value);

/* {"code","message"}; consumes the exchange. */
void agent_answer_error(struct hamid_http_exchange *exchange, int status,
                        const char *code, const char *message);

/* POST /v1/allocations; /v1/allocations/ID/done or /failed; /v1/starts. `data` is the
 * agent. */
void agent_handle_allocation(struct hamid_http_exchange *exchange, void *data);
void agent_handle_end(struct hamid_http_exchange *exchange, void *data);
void agent_handle_start(struct hamid_http_exchange *exchange, void *data);

/* GET /metrics. */
void agent_handle_metrics(struct hamid_http_exchange *exchange, void *data);

#endif
