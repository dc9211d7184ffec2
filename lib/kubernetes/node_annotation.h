/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the node-annotation transport share: the transport itself and a call
 * in flight.
 *
 *   node_annotation.c         life of the transport and of its calls
 *   node_annotation_submit.c  reading and writing a node
 *   node_annotation_owner.c   inspecting a pod, revoking its Bindings
 *   node_annotation_news.c    watches, and whom they tell
 *
 * `mutex` is the only lock here. It may be held over starting or cancelling a request (no
 * callback runs inside these) and over the locks of watch.c and pod_cache.c, which are
 * taken after it; never over hami_call_done(), hami_call_done_owner() or a call into a
 * manager.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_NODE_ANNOTATION_H
#define HAMI_INTERNAL_KUBERNETES_NODE_ANNOTATION_H

#include <hami/kubernetes.h>

#include <jansson.h>
#include <pthread.h>

#include "http.h"
#include "jsonpatch.h"
#include "paths.h"

#define HAMI_INTERNAL_ANNOTATION_MANAGERS_MAX 64
#define HAMI_INTERNAL_ANNOTATION_SCHEDULERS_MAX 16

struct hami_internal_annotation_news;
struct hami_internal_annotation_operation;

struct hami_internal_annotation {
    struct hami_transport transport; /* first: what the manager knows */
    hami_kubernetes *client;
    uint32_t flags;
    char *scheduler_names[HAMI_INTERNAL_ANNOTATION_SCHEDULERS_MAX];
    size_t scheduler_name_count;

    pthread_mutex_t mutex;
    pthread_cond_t told; /* `telling` changed */
    unsigned references; /* mutex: the user's, one a call in flight, one a watch */
    bool closed;         /* mutex */
    struct hami_internal_annotation_operation *operations; /* mutex: calls in flight */
    hami_nodelock
        *managers[HAMI_INTERNAL_ANNOTATION_MANAGERS_MAX]; /* mutex; holes are NULL */
    size_t manager_count;                                 /* mutex */
    hami_nodelock *telling;                               /* mutex: is being told now */
    struct hami_internal_annotation_news *nodes;          /* mutex; NULL = not watched */
    struct hami_internal_annotation_news
        *pods[HAMI_INTERNAL_ANNOTATION_SCHEDULERS_MAX]; /* mutex */
};

typedef void (*hami_internal_annotation_step_fn)(
    struct hami_internal_annotation_operation *operation,
    const struct hami_kubernetes_answer *answer);

/*
 * One call in flight. It has one request at a time; each answer is handed to `step`,
 * which starts the next request or ends the call. Belongs to the client's thread once the
 * first request has started.
 */
struct hami_internal_annotation_operation {
    struct hami_internal_annotation *owner;
    hami_call *call;
    char path[HAMI_INTERNAL_PATHS_MAX];
    hami_internal_annotation_step_fn step;
    enum hami_internal_jsonpatch_form form;
    unsigned writes; /* sent so far */
    bool in_doubt;   /* one of them may have been applied, unanswered */
    struct hami_internal_annotation_operation *next, **link; /* owner's mutex */
    struct hami_internal_http_request *request; /* owner's mutex; NULL = none */
    bool aborted;                               /* owner's mutex */
};

/* ---- node_annotation.c ---- */

/* Makes the record of a call. Returns NULL without memory, or when the transport is
 * closed. */
struct hami_internal_annotation_operation *
hami_internal_annotation_begin(struct hami_internal_annotation *owner, hami_call *call);

/* Forgets the record before or in place of an answer; the call itself is the caller's to
 * end. */
void hami_internal_annotation_end(struct hami_internal_annotation_operation *operation);

/*
 * Sends the next request: GET (body NULL) or a JSON Patch of the operation's path.
 * @reserve  true: leave part of the remaining time for a read afterwards
 * Returns   0 - `step` will come; or TRANSPORT (also: no time left, aborted), NOMEM - it
 * will not
 */
int hami_internal_annotation_send(struct hami_internal_annotation_operation *operation,
                                  const char *body, const char *accept, bool reserve,
                                  hami_internal_annotation_step_fn step);

void hami_internal_annotation_reference(struct hami_internal_annotation *owner);
void hami_internal_annotation_unreference(struct hami_internal_annotation *owner);

/* One line about an answer, with the time it waited here where that is worth telling. */
const char *hami_internal_annotation_text(const struct hami_kubernetes_answer *answer,
                                          char *buffer, size_t size);

/* ---- the transport's functions ---- */

int hami_internal_annotation_submit(struct hami_transport *transport, hami_call *call);
int hami_internal_annotation_inspect(struct hami_transport *transport, hami_call *call);
int hami_internal_annotation_revoke(struct hami_transport *transport, hami_call *call);
int hami_internal_annotation_watch(struct hami_transport *transport, hami_nodelock *lock);
void hami_internal_annotation_unwatch(struct hami_transport *transport,
                                      hami_nodelock *lock);

/* ---- node_annotation_news.c ---- */

/* Facts of a pod as a standing watch last saw it. `texts` as in pod_cache.h. */
bool hami_internal_annotation_recall(struct hami_internal_annotation *owner,
                                     const struct hami_owner *pod,
                                     struct hami_owner_facts *ret, char *texts,
                                     size_t size);

/* Drops what is known of a pod: it was changed by us. */
void hami_internal_annotation_unlearn(struct hami_internal_annotation *owner,
                                      const struct hami_owner *pod);

/* Ends all watches, as if each manager had gone. */
void hami_internal_annotation_stop_news(struct hami_internal_annotation *owner);

#endif
