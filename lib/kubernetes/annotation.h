/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the transports share that keep values as annotations of Kubernetes objects: the
 * transport itself and a call in flight.
 *
 *   annotation.c         life of the transport and of its calls
 *   annotation_answer.c  what an answer about such an object means, and the call's end
 *   annotation_owner.c   inspecting a pod, revoking its Bindings
 *   annotation_news.c    watches, and whom they tell
 *   pod_find.c           what the watches know of a pod, else a read
 *   node_annotation.c    values on Node objects
 *   lease_object.h       values on Lease objects
 *
 * `mutex` is the only lock here. It may be held over starting or cancelling a request (no
 * callback runs inside these) and over the locks of watch.c and pod_cache.c, which are
 * taken after it; never over hami_call_done(), hami_call_done_owner() or a call into a
 * manager.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_ANNOTATION_H
#define HAMI_INTERNAL_KUBERNETES_ANNOTATION_H

#include <hami/kubernetes.h>

#include <jansson.h>
#include <pthread.h>

#include "http.h"
#include "jsonpatch.h"
#include "paths.h"
#include "table.h"
#include "watch.h"

#define HAMI_INTERNAL_ANNOTATION_MANAGERS_MAX 64
#define HAMI_INTERNAL_ANNOTATION_SCHEDULERS_MAX 16
#define HAMI_INTERNAL_ANNOTATION_SOURCES_MAX 2

/* Why a value can't be an annotation's. */
#define HAMI_INTERNAL_ANNOTATION_UNWRITABLE                                              \
    "A value is not UTF-8, or a key too long: it can't be written as an annotation"

struct hami_internal_annotation;
struct hami_internal_annotation_operation;
struct hami_internal_pod_cache;
struct hami_internal_pod_find;
struct hami_internal_pod_known;

/* One watch. Lives until its `ended`; what is not marked belongs to the client's thread.
 */
struct hami_internal_annotation_news {
    struct hami_internal_annotation *owner;
    struct hami_internal_watch *watch; /* set once, before any callback */
    struct hami_internal_table names;  /* objects: what the managers were told of */
    struct hami_internal_pod_cache
        *pods; /* pods: what inspect is answered from; NULL for other objects */
};

/* A collection of objects that is watched for the managers. `sink.data` and `sink.ended`
 * are filled in: the sink's data is the hami_internal_annotation_news. */
struct hami_internal_annotation_source {
    char path[HAMI_INTERNAL_PATHS_MAX];
    bool whole; /* objects with spec, not their metadata alone */
    struct hami_internal_watch_sink sink;
};

struct hami_internal_annotation {
    struct hami_transport transport; /* first: what the manager knows */
    hami_kubernetes *client;
    bool without_watch;
    char *scheduler_names[HAMI_INTERNAL_ANNOTATION_SCHEDULERS_MAX];
    size_t scheduler_name_count;

    /* What the kind of object decides; set once, by its _new. */
    size_t operation_size; /* of a struct that begins with an operation */
    void (*operation_done)(struct hami_internal_annotation_operation *operation);
    void (*destroy)(struct hami_internal_annotation *owner); /* its own part */
    struct hami_internal_annotation_source sources[HAMI_INTERNAL_ANNOTATION_SOURCES_MAX];
    size_t source_count;

    pthread_mutex_t mutex;
    pthread_cond_t told; /* `telling` changed */
    unsigned references; /* mutex: the user's, one a call in flight, one a watch */
    bool closed;         /* mutex */
    struct hami_internal_annotation_operation *operations; /* mutex: calls in flight */
    hami_nodelock
        *managers[HAMI_INTERNAL_ANNOTATION_MANAGERS_MAX]; /* mutex; holes are NULL */
    size_t manager_count;                                 /* mutex */
    hami_nodelock *telling;                               /* mutex: is being told now */
    struct hami_internal_annotation_news
        *objects[HAMI_INTERNAL_ANNOTATION_SOURCES_MAX]; /* mutex; NULL = not watched */
    struct hami_internal_annotation_news
        *pods[HAMI_INTERNAL_ANNOTATION_SCHEDULERS_MAX]; /* mutex */
    struct hami_internal_pod_find *finds;               /* mutex: see pod_find.c */
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
    hami_call *call; /* NULL: the transport's own work, not a manager's */
    char path[HAMI_INTERNAL_PATHS_MAX];
    hami_internal_annotation_step_fn step;
    enum hami_internal_jsonpatch_form form;
    unsigned writes; /* sent so far */
    bool in_doubt;   /* one of them may have been applied, unanswered */
    struct hami_internal_annotation_operation *next, **link; /* owner's mutex */
    struct hami_internal_http_request *request; /* owner's mutex; NULL = none */
    bool aborted;                               /* owner's mutex */
};

/* ---- annotation.c ---- */

/*
 * Makes the part that all have: config checked and copied, inspect and revoke set.
 * @size     of a struct that begins with this one; the rest is zero
 * @flags    all flags that the config may have
 * Returns   0, or INVAL, NOMEM
 */
int hami_internal_annotation_new(hami_kubernetes *client, size_t size,
                                 const struct hami_kubernetes_transport_config *config,
                                 uint32_t flags, struct hami_internal_annotation **ret,
                                 struct hami_error *reterr);

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

/* The same with any request; its deadline is filled in. */
int hami_internal_annotation_send_request(
    struct hami_internal_annotation_operation *operation,
    struct hami_kubernetes_request *request, bool reserve,
    hami_internal_annotation_step_fn step);

void hami_internal_annotation_unreference(struct hami_internal_annotation *owner);

/* One line about an answer, with the time it waited here where that is worth telling. */
const char *hami_internal_annotation_text(const struct hami_kubernetes_answer *answer,
                                          char *buffer, size_t size);

/* ---- annotation_answer.c ---- */

/* The code of a client's answer as one of a transport. A 404 is NODE only as the API
 * server's own word. */
int hami_internal_annotation_judge_write(const struct hami_kubernetes_answer *answer);
int hami_internal_annotation_judge_read(const struct hami_kubernetes_answer *answer);

/* The object in an answer; NULL unless it has the name of the call's node. New. */
json_t *hami_internal_annotation_object_of(
    const struct hami_internal_annotation_operation *operation,
    const struct hami_kubernetes_answer *answer);

/* True if all that the edits expect is so in the object (NULL = it has nothing). */
bool hami_internal_annotation_is_as_expected(const struct hami_transport_edit *edits,
                                             size_t count, const json_t *object);

/* Ends the call without values. */
void hami_internal_annotation_fail(struct hami_internal_annotation_operation *operation,
                                   int code, const struct hami_kubernetes_answer *answer);
void hami_internal_annotation_refuse(struct hami_internal_annotation_operation *operation,
                                     int code, const char *text);

/* Ends the call with what the object (NULL = it has nothing) says. */
void hami_internal_annotation_finish(struct hami_internal_annotation_operation *operation,
                                     int code, const json_t *object, const char *version,
                                     const struct hami_kubernetes_answer *answer);

/* ---- annotation_owner.c, annotation_news.c: the transport's functions ---- */

int hami_internal_annotation_inspect(struct hami_transport *transport, hami_call *call);
int hami_internal_annotation_revoke(struct hami_transport *transport, hami_call *call);
int hami_internal_annotation_watch(struct hami_transport *transport, hami_nodelock *lock);
void hami_internal_annotation_unwatch(struct hami_transport *transport,
                                      hami_nodelock *lock);

/* ---- annotation_news.c ---- */

/* Tell all managers of a node's record (annotations NULL = it has none), or that it is
 * gone. On the client's thread. */
void hami_internal_annotation_tell_record(struct hami_internal_annotation *owner,
                                          const char *node, const json_t *annotated,
                                          const char *version);
void hami_internal_annotation_tell_gone(struct hami_internal_annotation *owner,
                                        const char *node);

/* True if this source's list is complete and its watch stands. */
bool hami_internal_annotation_is_followed(struct hami_internal_annotation *owner,
                                          size_t source);

/* Facts of a pod as a standing watch last saw it. `texts` as in pod_cache.h. */
bool hami_internal_annotation_recall(struct hami_internal_annotation *owner,
                                     const struct hami_owner *pod,
                                     struct hami_owner_facts *ret, char *texts,
                                     size_t size);

/* The same with all that a scheduler asks; with the owner's mutex held. */
bool hami_internal_annotation_describe_locked(struct hami_internal_annotation *owner,
                                              const char *namespace_name,
                                              const char *name,
                                              struct hami_internal_pod_known *ret);

/* Drops what is known of a pod: it was changed by us. */
void hami_internal_annotation_unlearn(struct hami_internal_annotation *owner,
                                      const struct hami_owner *pod);

/* Ends all watches, as if each manager had gone. */
void hami_internal_annotation_stop_news(struct hami_internal_annotation *owner);

/* ---- pod_find.c ---- */

/* A watch has told of this pod: whoever waits for that gets it. */
void hami_internal_pod_find_told(struct hami_internal_annotation *owner,
                                 const struct hami_owner *pod);

#endif
