/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See waiter.h: the public acquire functions. The only waiting of a blocking acquire is
 * in park(),until its absolute deadline.
 */
#include "waiter.h"

#include <string.h>

#include "admit.h"
#include "after.h"
#include "cancel.h"
#include "dispatch.h"
#include "errors.h"
#include "grant.h"
#include "hash.h"
#include "keys.h"
#include "manager.h"
#include "memory.h"
#include "names.h"
#include "node.h"
#include "park.h"
#include "pen.h"
#include "run.h"
#include "nodes.h"

/* ---- the request ---- */

static int check_keys(const struct hami_nodelock_request *request,
                      struct hami_error *error)
{
    if (!request->keys) {
        return request->key_count == 0
                   ? 0
                   : hami_internal_errors_set(error, HAMI_E_INVAL,
                                              "key_count without keys");
    }
    if (request->key_count == 0 || request->key_count > HAMI_NODELOCK_KEYS_MAX) {
        return hami_internal_errors_set(error, HAMI_E_INVAL, "key_count must be 1 to %d",
                                        HAMI_NODELOCK_KEYS_MAX);
    }
    for (size_t i = 0; i < request->key_count; i++) {
        if (!hami_internal_names_is_key(request->keys[i])) {
            return hami_internal_errors_set(error, HAMI_E_INVAL,
                                            "key %zu is no annotation key", i);
        }
        for (size_t j = 0; j < i; j++) {
            if (strcmp(request->keys[i], request->keys[j]) == 0) {
                return hami_internal_errors_set(
                    error, HAMI_E_INVAL, "key \"%s\" stands twice", request->keys[i]);
            }
        }
    }
    return 0;
}

static int check_request(const struct hami_nodelock_request *request,
                         struct hami_error *error)
{
    const struct hami_owner *owner = &request->owner;

    if (!hami_internal_names_is_subdomain(request->node)) {
        return hami_internal_errors_set(error, HAMI_E_INVAL,
                                        "the node's name is no RFC 1123 subdomain");
    }
    if (!hami_internal_names_is_label(owner->namespace_name)) {
        return hami_internal_errors_set(error, HAMI_E_INVAL,
                                        "the owner's namespace is no RFC 1123 label");
    }
    if (!hami_internal_names_is_subdomain(owner->name)) {
        return hami_internal_errors_set(error, HAMI_E_INVAL,
                                        "the owner's name is no RFC 1123 subdomain");
    }
    if (!hami_internal_names_is_uid(owner->uid)) {
        return hami_internal_errors_set(
            error, HAMI_E_INVAL, "the owner's uid must be 1 to %d of [A-Za-z0-9._:-]",
            HAMI_NODELOCK_UID_MAX);
    }
    if (request->group && !hami_internal_names_is_group(request->group)) {
        return hami_internal_errors_set(error, HAMI_E_INVAL,
                                        "the group must be 1 to %d of [A-Za-z0-9._:/-]",
                                        HAMI_NODELOCK_GROUP_MAX);
    }
    return check_keys(request, error);
}

/* ---- making a wait ---- */

/* A blocking acquire's wait, and its texts, are in its caller's frame. */
static void free_wait(struct hami_wait *wait)
{
    struct hami_nodelock *lock = wait->lock;
    const struct hami_allocator *allocator = hami_internal_allocator(lock);

    hami_internal_grant_free(lock, wait->grant);
    hami_internal_memory_free(allocator, wait->judged);
    hami_internal_memory_free(allocator, wait->lease);
    if (!wait->blocking) {
        hami_internal_memory_free(allocator, wait);
    }
}

static const char *keep(char **at, const char *text)
{
    const char *kept = *at;
    size_t bytes = strlen(text) + 1;

    memcpy(*at, text, bytes);
    *at += bytes;
    return kept;
}

static size_t count_keys(const struct hami_nodelock_request *request)
{
    return request->keys ? request->key_count : 1;
}

/* Of a zeroed wait: what the request says, its texts borrowed.
 * @keys  room for as many as it asks for */
static void fill_wait(struct hami_wait *wait, struct hami_nodelock *lock,
                      const struct hami_nodelock_request *request,
                      const struct hami_internal_key **keys)
{
    wait->keys = keys;
    wait->key_count = (uint8_t)count_keys(request);
    wait->owner = request->owner;
    wait->group = request->group;
    wait->lock = lock;
    wait->timer.kind = TIMER_WAIT;
    wait->deadline_ns = request->deadline_ns;
    wait->queued.priority = request->priority;
    wait->queued.namespace_hash =
        hami_internal_hash_text(request->owner.namespace_name, 0);
    if (request->group) {
        wait->queued.group =
            hami_internal_hash_text(request->group, wait->queued.namespace_hash) | 1;
    }
}

/* Keys and texts stand behind the struct, each as long as it is. */
static struct hami_wait *make_wait(struct hami_nodelock *lock,
                                   const struct hami_nodelock_request *request)
{
    const struct hami_owner *owner = &request->owner;
    size_t keys_bytes = count_keys(request) * sizeof(const struct hami_internal_key *);
    size_t texts_bytes = strlen(owner->namespace_name) + strlen(owner->name) +
                         strlen(owner->uid) + 3 +
                         (request->group ? strlen(request->group) + 1 : 0);
    struct hami_wait *wait = hami_internal_memory_zero(
        hami_internal_allocator(lock), sizeof(*wait) + keys_bytes + texts_bytes);

    if (!wait) {
        return NULL;
    }
    char *texts = (char *)(wait + 1) + keys_bytes;
    fill_wait(wait, lock, request, (const struct hami_internal_key **)(void *)(wait + 1));
    wait->owner.namespace_name = keep(&texts, owner->namespace_name);
    wait->owner.name = keep(&texts, owner->name);
    wait->owner.uid = keep(&texts, owner->uid);
    wait->group = request->group ? keep(&texts, request->group) : NULL;
    return wait;
}

static int intern_keys(struct hami_wait *wait,
                       const struct hami_nodelock_request *request)
{
    const char *const configured[] = {wait->lock->config.key};
    const char *const *names = request->keys ? request->keys : configured;

    for (size_t i = 0; i < wait->key_count; i++) {
        int code = hami_internal_keys_get(wait->lock, names[i], &wait->keys[i]);
        if (code < 0) {
            return code;
        }
    }
    return 0;
}

/* Finds its node and keys. On failure the wait is gone. */
static int prepare(struct hami_wait *wait, const struct hami_nodelock_request *request,
                   struct hami_error *error)
{
    int code = hami_internal_nodes_get(wait->lock, request->node, true, &wait->node);

    if (code == 0) {
        code = intern_keys(wait, request);
        if (code < 0) {
            hami_internal_nodes_unpin(wait->node);
        }
    }
    if (code < 0) {
        free_wait(wait);
        return hami_internal_errors_set(error, code, "node %s: %s", request->node,
                                        hami_strerror(code));
    }
    return 0;
}

/* Takes the mutex of its node, which has all that it needs then; on failure not. */
static int lock_node(struct hami_wait *wait, struct hami_error *error)
{
    struct hami_internal_node *node = wait->node;

    (void)pthread_mutex_lock(&node->mutex);
    if (hami_internal_node_is_fit(node, wait->keys, wait->key_count)) {
        return 0;
    }
    (void)pthread_mutex_unlock(&node->mutex);
    int code = hami_internal_node_add_history(node);
    code =
        code < 0 ? code : hami_internal_node_add_keys(node, wait->keys, wait->key_count);
    if (code < 0) {
        return hami_internal_errors_set(error, code, "node %s: %s", node->name,
                                        hami_strerror(code));
    }
    (void)pthread_mutex_lock(&node->mutex);
    return 0;
}

/* How a wait has ended. */
static struct hami_error error_of(const struct hami_wait *wait)
{
    const struct hami_internal_end *end = &wait->end;
    struct hami_error error = {.size = sizeof(error),
                               .code = end->code,
                               .position = end->position,
                               .waiting = end->waiting,
                               .expected_ns = end->expected_ns};

    pen_copy(error.text, sizeof(error.text), end->text);
    return error;
}

/* The wait has ended, or never began. Its pin on the node and its flag go. */
static void dispose(struct hami_wait *wait)
{
    hami_internal_cancel_detach(wait);
    hami_internal_nodes_unpin(wait->node);
    free_wait(wait);
}

/* Queues a wait and brings its node on. Returns 0 and holds no lock, or a code and the
 * wait is gone. */
static int begin(struct hami_wait *wait, const struct hami_nodelock_request *request,
                 struct hami_error *error)
{
    struct hami_internal_node *node = wait->node;
    struct hami_internal_after after;

    hami_internal_cancel_attach(wait, request->cancel);
    int code = lock_node(wait, error);
    if (code < 0) {
        dispose(wait);
        return code;
    }
    hami_internal_after_init(&after, node);
    wait->since_ns = node->now_ns;
    code = hami_internal_admit_enqueue(wait, error);
    if (code < 0) {
        (void)pthread_mutex_unlock(&node->mutex);
        dispose(wait);
        return code;
    }
    if (hami_cancel_is_fired(wait->cancel)) {
        hami_internal_node_cancel(node, &after);
    }
    hami_internal_run(node, &after);
    return 0;
}

static int check_entry(hami_nodelock *lock, const struct hami_nodelock_request *request,
                       struct hami_nodelock_request *known, struct hami_error **reterr)
{
    struct hami_error *error = *reterr;

    if (!lock || !request) {
        return hami_internal_errors_set(error, HAMI_E_INVAL,
                                        "lock and request are required");
    }
    int code = hami_internal_errors_read_struct(
        known, sizeof(*known), request, offsetof(struct hami_nodelock_request, keys));
    if (code < 0) {
        return hami_internal_errors_set(error, code, "request: %s", hami_strerror(code));
    }
    *reterr = error = error ? error : known->reterr;
    code = check_request(known, error);
    if (code < 0) {
        return code;
    }
    if (hami_internal_manager_is_forked(lock)) {
        return hami_internal_errors_set(error, HAMI_E_FORKED, "called in a forked child");
    }
    if (atomic_load(&lock->closing)) {
        return hami_internal_errors_set(error, HAMI_E_CLOSED,
                                        "the manager is shutting down");
    }
    return 0;
}

/* ---- the blocking forms ---- */

/* Waits for the end. */
static void park(struct hami_wait *wait)
{
    struct hami_internal_node *node = wait->node;
    /* By another clock than the system's dispatch ends it. */
    uint64_t until_ns =
        wait->lock->system_clock ? wait->deadline_ns : HAMI_DEADLINE_NEVER;

    while (!park_is_done(&wait->parking)) {
        if (!park_sleep(&wait->parking, until_ns)) {
            continue;
        }
        struct hami_internal_after after;
        (void)pthread_mutex_lock(&node->mutex);
        if (wait->ended) { /* by another thread, which is about to say so */
            until_ns = HAMI_DEADLINE_NEVER;
            (void)pthread_mutex_unlock(&node->mutex);
        } else {
            hami_internal_after_init(&after, node);
            hami_internal_run(node, &after);
        }
    }
}

/* The wait has ended, and belongs to this thread alone. */
static int finish(struct hami_wait *wait, hami_lease **ret, struct hami_error *reterr)
{
    int code = wait->end.code;

    if (code == 0) {
        *ret = wait->lease;
        wait->lease = NULL;
        hami_internal_manager_ref(wait->lock);
    } else {
        struct hami_error error = error_of(wait);
        hami_internal_errors_copy(reterr, &error);
    }
    dispose(wait);
    return code;
}

static int acquire(hami_nodelock *lock, const struct hami_nodelock_request *request,
                   bool try_only, hami_lease **ret, struct hami_error *reterr)
{
    struct hami_nodelock_request known;
    const struct hami_internal_key *keys[HAMI_NODELOCK_KEYS_MAX];
    struct hami_wait wait;
    int cancel_state;

    if (!ret) {
        return hami_internal_errors_set(reterr, HAMI_E_INVAL, "ret is required");
    }
    int code = check_entry(lock, request, &known, &reterr);
    if (code < 0) {
        return code;
    }
    if (hami_internal_dispatch_is_inside(lock)) {
        return hami_internal_errors_set(
            reterr, HAMI_E_INVAL,
            "a blocking call from a callback would wait for itself");
    }
    memset(&wait, 0, sizeof(wait));
    fill_wait(&wait, lock, &known, keys);
    wait.try_only = try_only;
    wait.blocking = true;
    code = prepare(&wait, &known, reterr);
    if (code < 0) {
        return code;
    }
    park_init(&wait.parking, lock);
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    code = begin(&wait, &known, reterr);
    if (code == 0) {
        park(&wait);
        code = finish(&wait, ret, reterr);
    }
    (void)pthread_setcancelstate(cancel_state, NULL);
    return code;
}

int hami_nodelock_acquire(hami_nodelock *lock,
                          const struct hami_nodelock_request *request, hami_lease **ret,
                          struct hami_error *reterr)
{
    return acquire(lock, request, false, ret, reterr);
}

int hami_nodelock_try_acquire(hami_nodelock *lock,
                              const struct hami_nodelock_request *request,
                              hami_lease **ret, struct hami_error *reterr)
{
    return acquire(lock, request, true, ret, reterr);
}

/* ---- the asynchronous form ---- */

static int start(hami_nodelock *lock, const struct hami_nodelock_request *request,
                 bool try_only, hami_acquired_fn callback, void *data, hami_wait **ret)
{
    struct hami_nodelock_request known;

    if (!callback) {
        return HAMI_E_INVAL;
    }
    struct hami_error *error = NULL;
    int code = check_entry(lock, request, &known, &error);
    if (code < 0) {
        return code;
    }
    struct hami_wait *wait = make_wait(lock, &known);
    if (!wait) {
        return HAMI_E_NOMEM;
    }
    code = prepare(wait, &known, error);
    if (code < 0) {
        return code;
    }
    wait->try_only = try_only;
    wait->callback = callback;
    wait->data = data;
    hami_wait *before = ret ? *ret : NULL;
    if (ret) {
        *ret = wait;
    }
    code = begin(wait, &known, error);
    if (code < 0 && ret) {
        *ret = before;
    }
    return code;
}

int hami_nodelock_acquire_start(hami_nodelock *lock,
                                const struct hami_nodelock_request *request,
                                hami_acquired_fn callback, void *data, hami_wait **ret)
{
    return start(lock, request, false, callback, data, ret);
}

int hami_nodelock_try_acquire_start(hami_nodelock *lock,
                                    const struct hami_nodelock_request *request,
                                    hami_acquired_fn callback, void *data,
                                    hami_wait **ret)
{
    return start(lock, request, true, callback, data, ret);
}

int hami_wait_abort(hami_wait *wait)
{
    struct hami_internal_after after;

    if (!wait) {
        return HAMI_E_INVAL;
    }
    struct hami_internal_node *node = wait->node;
    if (hami_internal_manager_is_forked(wait->lock)) {
        return HAMI_E_FORKED;
    }
    hami_internal_nodes_pin(node);
    (void)pthread_mutex_lock(&node->mutex);
    hami_internal_after_init(&after, node);
    if (!wait->ended) {
        hami_internal_node_end_wait(wait, HAMI_E_CANCELED, NULL, &after,
                                    "aborted while waiting for node %s", node->name);
    }
    hami_internal_run(node, &after);
    hami_internal_nodes_unpin(node);
    return 0;
}

void hami_internal_waiter_deliver(struct hami_wait *wait)
{
    struct hami_error error = error_of(wait);
    hami_lease *lease = NULL;

    if (error.code == 0) {
        lease = wait->lease;
        wait->lease = NULL;
        hami_internal_manager_ref(wait->lock);
    }
    wait->callback(wait->data, error.code, lease, &error);
    dispose(wait);
}
