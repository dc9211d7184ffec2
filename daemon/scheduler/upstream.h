/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another extender, asked over HTTP from the event loop: libcurl's multi interface on
 * libevent. Connections are kept; nothing blocks.
 */
#ifndef HAMID_SCHEDULER_UPSTREAM_H
#define HAMID_SCHEDULER_UPSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UPSTREAM_BODY_MAX (64u << 20) /* bytes of a request's or an answer's body */
#define UPSTREAM_CALLS_MAX 64

struct event_base;
struct evbuffer;
struct upstream;
struct upstream_call;

struct upstream_config {
    const char *url;     /* http:// or https://; paths are appended */
    bool insecure;       /* the certificate is not verified */
    const char *ca_file; /* NULL = the system's */
    uint64_t timeout_ms; /* of one call */
};

/*
 * How a call ended; once, from the loop, unless it was cancelled.
 * @status        HTTP status; 0 where none came: error says why
 * @content_type  borrowed; NULL where the answer has none
 * @body          the answer's; its bytes may be taken
 */
typedef void (*upstream_answer_fn)(void *data, int status, const char *content_type,
                                   struct evbuffer *body, const char *error);

/* NULL without memory. @config copied */
struct upstream *upstream_new(struct event_base *base,
                              const struct upstream_config *config);

/* Calls in flight end without an answer. Takes NULL, returns NULL. */
struct upstream *upstream_free(struct upstream *upstream);

/*
 * Posts a body to url + path.
 * @body     left empty
 * Returns   the call, until its answer; NULL without memory, or with UPSTREAM_CALLS_MAX
 * in flight
 */
struct upstream_call *upstream_post(struct upstream *upstream, const char *path,
                                    const char *content_type, struct evbuffer *body,
                                    upstream_answer_fn answer, void *data);

/* Ends a call without its answer. */
void upstream_cancel(struct upstream_call *call);

#endif
