/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous POSTs of JSON with libcurl: what etcd_transport.c sends its calls by. */
#ifndef ETCD_HTTP_H
#define ETCD_HTTP_H

#include <jansson.h>
#include <stdint.h>

#include <hami/transport.h>

/* Starts with a struct hami_transport, so that the transport's functions find it. */
struct etcd_http;

/* What became of a request. */
enum etcd_fate {
    ETCD_NOT_SENT,  /* no byte of it left this process */
    ETCD_NO_ANSWER, /* some may have, and no whole answer came */
    ETCD_ANSWERED
};

/* @body  the answer, borrowed; NULL unless it came and is JSON */
typedef void (*etcd_answered_fn)(void *data, enum etcd_fate fate, int status,
                                 const json_t *body);

/* @functions  copied into its beginning */
struct etcd_http *etcd_http_new(const char *url, const struct hami_transport *functions);
/* Requests under way end now. Takes NULL. */
void etcd_http_free(struct etcd_http *http);

/*
 * Starts one POST. Returns 0: `answered` comes once, on a thread of its own; or
 * HAMI_E_NOMEM: it does not.
 * @json        consumed; NULL = out of memory
 * @timeout_ns  until it ends at the latest
 */
int etcd_post(struct etcd_http *http, const char *path, json_t *json, uint64_t timeout_ns,
              etcd_answered_fn answered, void *data);

/* Ends the request with that data, if it is still under way. */
void etcd_abort(struct etcd_http *http, void *data);

#endif
