/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pod object says: facts about an owner, and what a scheduler asks besides. The
 * upper half is pure; the lower half reads pods from the API server.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_POD_H
#define HAMI_INTERNAL_KUBERNETES_POD_H

#include <hami/kubernetes.h>

#include <jansson.h>

#include "http.h"

/* Resource names of one pod that are told; further ones are left out. */
#define HAMI_INTERNAL_POD_RESOURCES_MAX 256

/* Different calls of one pod that are told, and their bytes; of a pod with more, none is.
 */
#define HAMI_INTERNAL_POD_CALLS_MAX 64
#define HAMI_INTERNAL_POD_CALL_BYTES 2048

/* Facts of a pod that is not there. */
void hami_internal_pod_facts_absent(struct hami_owner_facts *ret);

/*
 * Facts of a pod. Metadata alone is enough for what a watch can tell; then node, finished
 * and started are empty.
 * @ret      texts borrowed from the pod
 */
void hami_internal_pod_facts(const json_t *pod, enum hami_facts_source source,
                             struct hami_owner_facts *ret);

/*
 * True if a text of an annotation `*-devices-to-allocate` still names a device. Anything
 * but separators counts: what can't be understood is not taken for "nothing left".
 */
bool hami_internal_pod_text_has_device(const char *text);

/* The decimal number of an annotation; 0 where it is absent or no number above 0. */
uint64_t hami_internal_pod_number(const char *text);

/* True if a resource quantity ("1", 2, "500m", "0") is above zero. */
bool hami_internal_pod_is_above_zero(const json_t *quantity);

/* Room for what a description points to, beside the pod's own texts. */
struct hami_internal_pod_texts {
    const char *resources[HAMI_INTERNAL_POD_RESOURCES_MAX];
    const char *calls[HAMI_INTERNAL_POD_CALLS_MAX];
    char call_texts[HAMI_INTERNAL_POD_CALL_BYTES];
    char group[HAMI_NODELOCK_GROUP_MAX + 1];
};

/*
 * All that hami_kubernetes_pod has room for.
 * @texts  ret points to it
 */
void hami_internal_pod_describe(const json_t *pod, struct hami_internal_pod_texts *texts,
                                struct hami_kubernetes_pod *ret);

/* ---- pod_calls.c ---- */

/* How many of a resource a container asks, limits before requests; SIZE_MAX where that is
 * no plain count. Extended resources have equal limits and requests. */
size_t hami_internal_pod_asked(const json_t *container, const char *resource);

/* Fills texts->calls, each different one once: "RESOURCE=COUNT", or "RESOURCE=?" where the
 * count is none. Where they don't fit, the only one is "?". Returns their number. */
size_t hami_internal_pod_calls(const json_t *pod, struct hami_internal_pod_texts *texts);

/* ---- reading ---- */

/* How a read of a pod ended. Borrowed for the callback. */
struct hami_internal_pod_answer {
    int code; /* 0 with pod, or with pod NULL where it does not exist; else TRANSPORT,
                 ACCESS, PROTO, NOMEM, LIMIT, CLOSED, TIMEDOUT */
    const json_t *pod;
    int status;       /* HTTP status; 0 without an answer */
    const char *text; /* for people; "" on 0 */
};

typedef void (*hami_internal_pod_fn)(void *data,
                                     const struct hami_internal_pod_answer *answer);

/*
 * Reads a pod consistently; the callback comes once, on the client's thread, never from
 * within.
 * @ret      NULL, or the request's handle: good for a cancel until the callback has been
 * entered Returns   0 - the callback will come; or INVAL (no pod can have such a name),
 * NOMEM, CLOSED, FORKED, LIMIT - it will not
 */
int hami_internal_pod_read(hami_kubernetes *client, const char *namespace_name,
                           const char *name, uint64_t deadline_ns,
                           hami_internal_pod_fn callback, void *data,
                           struct hami_internal_http_request **ret);

#endif
