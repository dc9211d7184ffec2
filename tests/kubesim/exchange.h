/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One delivery: a request on its way through the server, and its answer. It outlives
 * its connection where a fault delays it: a request that has arrived is applied even
 * if its sender is gone. Server's thread only.
 *
 * Life: a transport makes it, fills in the request and calls sim_router_begin once. It
 * is freed as soon as it is both finished (answered, given up) and detached from its
 * transport, or at the server's stop.
 */
#ifndef KUBESIM_EXCHANGE_H
#define KUBESIM_EXCHANGE_H

#include "resource.h"
#include "selector.h"
#include "store.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_BODY_LIMIT (3u << 20)
#define SIM_HEADER_LIMIT (64u << 10)

struct kubesim;
struct sim_exchange;
struct sim_watch;
struct sim_delivery;

/* What is sent back. */
struct sim_answer {
    int code;
    const char *content_type; /* static */
    char *body;               /* owned */
    size_t length;
    const char *allow_patch; /* Accept-Patch header of a 415, static */
    int retry_after;         /* -1: none */
    bool truncate;
    bool close; /* HTTP/1.1: no further request on this connection */
    int date_skew;
    uint64_t version;          /* of the object that the request wrote, 0: none */
    struct sim_object *object; /* counted: as it is after the write, NULL: none */
};

enum sim_abort {
    SIM_ABORT_CONNECTION,
    SIM_ABORT_STREAM,
    SIM_ABORT_REFUSED,
    SIM_ABORT_GOAWAY, /* refuse this one by GOAWAY, earlier ones go on */
};

/* What HTTP/1.1 and HTTP/2 do differently. */
struct sim_transport {
    /* A whole answer; the exchange may be detached afterwards at any time. */
    void (*respond)(struct sim_exchange *exchange, const struct sim_answer *answer);
    /* A body that goes on: headers now, then pieces, then the end. */
    void (*start)(struct sim_exchange *exchange, const struct sim_answer *answer);
    void (*write)(struct sim_exchange *exchange, const char *data, size_t length);
    void (*end)(struct sim_exchange *exchange);
    /* Bytes written and not yet sent. */
    size_t (*pending)(struct sim_exchange *exchange);
    void (*abort)(struct sim_exchange *exchange, enum sim_abort how);
    /* No further request on this connection after this one. */
    void (*go_away)(struct sim_exchange *exchange);
};

struct sim_target {
    const char *verb; /* get list watch create update patch delete; NULL: none */
    const struct sim_resource *resource;
    char namespace_name[64];
    char name[254];
    char subresource[16];
};

enum sim_form { SIM_FORM_FULL, SIM_FORM_METADATA, SIM_FORM_METADATA_LIST, SIM_FORM_NONE };

struct sim_fault; /* fault.h */

struct sim_exchange {
    struct kubesim *server;
    struct sim_exchange *next, **link;     /* the server's list */
    const struct sim_transport *transport; /* NULL: detached, or a call in process */
    void *stream;

    char *method, *uri, *authorization, *accept, *content_type, *user_agent;
    char *body;
    size_t body_length, body_capacity, header_bytes;
    char *certificate_user; /* from the client certificate, NULL: none */
    char remote[64];

    bool internal;    /* a call of the C API: no authentication, no faults */
    const char *user; /* borrowed from the server */
    struct sim_target target;
    char *query; /* what follows the "?", or "" */
    enum sim_form form;
    json_t *request; /* the parsed body, NULL when there is none */

    bool applied, answered, finished;
    struct sim_delivery *delivery; /* owned by the audit log */
    struct sim_fault *fault;       /* counted, NULL: none */
    struct sim_watch *watch;
    struct event *timer;
    void (*on_timer)(struct sim_exchange *exchange);
    struct sim_answer answer;
};

struct sim_exchange *sim_exchange_new(struct kubesim *server,
                                      const struct sim_transport *transport,
                                      void *stream);
/* Takes a copy. False when the limit is passed. */
bool sim_exchange_add_header(struct sim_exchange *exchange, const char *name,
                             const char *value);
bool sim_exchange_add_body(struct sim_exchange *exchange, const void *data,
                           size_t length);
/* The transport is gone or done with it. */
void sim_exchange_detach(struct sim_exchange *exchange);
/* Nothing more will be answered. Frees it when detached. */
void sim_exchange_finish(struct sim_exchange *exchange);
void sim_exchange_free(struct sim_exchange *exchange);
/* Call FUNCTION with it after DELAY; one timer at a time. */
void sim_exchange_after(struct sim_exchange *exchange, unsigned delay_ms,
                        void (*function)(struct sim_exchange *exchange));

/* Fill in the answer; BODY is consumed (NULL: none). */
void sim_answer_text(struct sim_exchange *exchange, int code, const char *content_type,
                     char *body);
void sim_answer_json(struct sim_exchange *exchange, int code, json_t *value);
/* Copies TEXT and adds the newline that the server ends JSON with. */
void sim_answer_copy(struct sim_exchange *exchange, int code, const char *text);
void sim_answer_object(struct sim_exchange *exchange, int code,
                       struct sim_object *object);
void sim_answer_clear(struct sim_answer *answer);
const char *sim_reason_phrase(int code);

/* A parameter of the query, decoded, new; NULL when absent. */
char *sim_query_get(const struct sim_exchange *exchange, const char *name);
bool sim_query_flag(const struct sim_exchange *exchange, const char *name);
/* Put "?" for what can't stand in a JSON string: bytes beyond ASCII, when TEXT is not
 * UTF-8 as a whole. */
void sim_text_clean(char *text);
/* Percent-decode LENGTH bytes; new. Plus is a blank where IN_QUERY. */
char *sim_url_decode(const char *text, size_t length, bool in_query);

#endif
