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
#include "beside.h"
#include "cancel.h"
#include "dispatch.h"
#include "errors.h"
#include "grant.h"
#include "hash.h"
#include "keys.h"
#include "manager.h"
#include "memory.h"
#include "node.h"
#include "park.h"
#include "pen.h"
#include "request.h"
#include "run.h"
#include "nodes.h"

/* ---- making a wait ---- */

static void free_turn(hami_lease *lease, struct hami_nodelock *lock)
{
    if (lease) {
        const struct hami_allocator *allocator = hami_internal_allocator(lock);
        hami_internal_grant_free(lock, lease->turn.grant);
        hami_internal_memory_free(allocator, lease->turn.judged);
        hami_internal_memory_free(allocator, lease);
    }
}

/* A blocking acquire's wait is in its caller's frame. */
static void free_wait(struct hami_wait *wait, struct hami_nodelock *lock)
{
    const struct hami_allocator *allocator = hami_internal_allocator(lock);

    free_turn(wait->lease, lock);
    if (!wait->blocking) {
        if (wait->ended) {
            hami_internal_memory_free(allocator, wait->end.text);
        }
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

static bool needs_extra(const struct hami_nodelock_request *request)
{
    return request->group || request->cancel || request->calls;
}

/*
 * Of a zeroed wait: what the request says, its texts borrowed.
 * @keys   room for them, if there are several
 * @extra  zeroed, if the request needs it
 * @set    room for its calls, if it has some
 */
static void fill_wait(struct hami_wait *wait, const struct hami_nodelock_request *request,
                      const struct hami_internal_key **keys,
                      struct hami_internal_extra *extra,
                      struct hami_internal_call_set *set)
{
    wait->key_count = (uint8_t)count_keys(request);
    if (wait->key_count > 1) {
        wait->keys = keys;
    }
    wait->name = request->owner.name;
    wait->uid = request->owner.uid;
    wait->deadline_ns = request->deadline_ns;
    wait->queued.priority = request->priority;
    if (needs_extra(request)) {
        extra->wait = wait;
        extra->group = request->group;
        list_init(&extra->cancel_link);
        wait->queued.member = &extra->member;
    }
    if (request->calls) {
        extra->calls = request->calls;
        extra->set = set;
        hami_internal_beside_read(request->calls, set);
    }
    if (request->group) {
        uint64_t hash = hami_internal_hash_text(request->owner.namespace_name, 0);
        extra->member.group = hami_internal_hash_text(request->group, hash) | 1;
    }
}

/* Extra, keys and texts stand behind the struct, each as long as it is. */
static struct hami_wait *make_wait(struct hami_nodelock *lock,
                                   const struct hami_nodelock_request *request)
{
    const struct hami_owner *owner = &request->owner;
    size_t extra_bytes = needs_extra(request) ? sizeof(struct hami_internal_extra) : 0;
    size_t keys_bytes =
        request->keys && request->key_count > 1
            ? request->key_count * sizeof(const struct hami_internal_key *)
            : 0;
    size_t set_bytes = request->calls ? sizeof(struct hami_internal_call_set) : 0;
    size_t texts_bytes = strlen(owner->name) + strlen(owner->uid) + 2 +
                         (request->group ? strlen(request->group) + 1 : 0) +
                         (request->calls ? strlen(request->calls) + 1 : 0);
    struct hami_wait *wait = hami_internal_memory_zero(
        hami_internal_allocator(lock),
        sizeof(*wait) + extra_bytes + set_bytes + keys_bytes + texts_bytes);

    if (!wait) {
        return NULL;
    }
    char *at = (char *)(wait + 1);
    struct hami_internal_extra *extra = (void *)at;
    char *keys = at + extra_bytes + set_bytes, *texts = keys + keys_bytes;
    fill_wait(wait, request, (void *)keys, extra, (void *)(at + extra_bytes));
    wait->name = keep(&texts, owner->name);
    wait->uid = keep(&texts, owner->uid);
    if (request->group) {
        extra->group = keep(&texts, request->group);
    }
    if (request->calls) {
        extra->calls = keep(&texts, request->calls);
    }
    return wait;
}

static int intern_keys(struct hami_nodelock *lock, struct hami_wait *wait,
                       const struct hami_nodelock_request *request)
{
    const char *const configured[] = {lock->config.key};
    const char *const *names = request->keys ? request->keys : configured;
    const struct hami_internal_key **keys =
        wait->key_count == 1 ? &wait->key : wait->keys;

    for (size_t i = 0; i < wait->key_count; i++) {
        int code = hami_internal_keys_get(lock, names[i], &keys[i]);
        if (code < 0) {
            return code;
        }
    }
    return 0;
}

/* Finds its node and keys. On failure the wait is gone. */
static int prepare(struct hami_nodelock *lock, struct hami_wait *wait,
                   const struct hami_nodelock_request *request, struct hami_error *error)
{
    int code = hami_internal_nodes_get(lock, request->node, true, &wait->node);

    if (code == 0) {
        code = intern_keys(lock, wait, request);
        if (code < 0) {
            hami_internal_nodes_unpin(wait->node);
        }
    }
    if (code < 0) {
        free_wait(wait, lock);
        return hami_internal_errors_set(error, code, "node %s: %s", request->node,
                                        hami_strerror(code));
    }
    return 0;
}

static struct hami_internal_crowd *make_crowd(const struct hami_allocator *allocator,
                                              uint64_t hash, const char *name)
{
    size_t bytes = strlen(name) + 1;
    struct hami_internal_crowd *crowd =
        hami_internal_memory_zero(allocator, sizeof(*crowd) + bytes);

    if (crowd) {
        crowd->hash = hash;
        memcpy(crowd->name, name, bytes);
    }
    return crowd;
}

/* Makes a namespace known to a node; one of which nobody waits any more makes room. Takes
 * the node's mutex itself. */
static int add_crowd(struct hami_internal_node *node, uint64_t hash, const char *name)
{
    const struct hami_allocator *allocator = hami_internal_allocator(node->lock);
    struct hami_internal_crowd *crowd = make_crowd(allocator, hash, name), *old[2];

    if (!crowd) {
        return HAMI_E_NOMEM;
    }
    (void)pthread_mutex_lock(&node->mutex);
    old[0] = hami_internal_queue_forget(&node->queue);
    old[1] = hami_internal_queue_forget(&node->queue);
    if (!hami_internal_queue_namespace(&node->queue, hash, name)) {
        hami_internal_queue_settle(&node->queue, crowd);
        crowd = NULL;
    }
    (void)pthread_mutex_unlock(&node->mutex);
    hami_internal_memory_free(allocator, crowd);
    hami_internal_memory_free(allocator, old[0]);
    hami_internal_memory_free(allocator, old[1]);
    return 0;
}

/* With the node's mutex: true if the node has all that the wait needs there. */
static bool fits(struct hami_wait *wait, uint64_t hash, const char *namespace_name)
{
    struct hami_internal_node *node = wait->node;

    wait->queued.crowd =
        hami_internal_queue_namespace(&node->queue, hash, namespace_name);
    return wait->queued.crowd &&
           hami_internal_node_is_fit(node, wait_keys(wait), wait->key_count);
}

/* Takes the mutex of its node, which has all that it needs then; on failure not. */
static int lock_node(struct hami_wait *wait, const char *namespace_name,
                     struct hami_error *error)
{
    struct hami_internal_node *node = wait->node;
    uint64_t hash = hami_internal_hash_text(namespace_name, 0);

    (void)pthread_mutex_lock(&node->mutex);
    while (!fits(wait, hash, namespace_name)) {
        (void)pthread_mutex_unlock(&node->mutex);
        int code = hami_internal_node_add_history(node);
        code = code < 0
                   ? code
                   : hami_internal_node_add_keys(node, wait_keys(wait), wait->key_count);
        code = code < 0 ? code : add_crowd(node, hash, namespace_name);
        if (code < 0) {
            return hami_internal_errors_set(error, code, "node %s: %s", node->name,
                                            hami_strerror(code));
        }
        (void)pthread_mutex_lock(&node->mutex);
    }
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

    pen_copy(error.text, sizeof(error.text), end->text ? end->text : end->brief);
    return error;
}

/* The wait has ended, or never began. Its pin on the node and its flag go. */
static void dispose(struct hami_wait *wait)
{
    struct hami_nodelock *lock = wait->node->lock;

    hami_internal_cancel_detach(wait);
    hami_internal_nodes_unpin(wait->node);
    free_wait(wait, lock);
}

/* Queues a wait and brings its node on. Returns 0 and holds no lock, or a code and the
 * wait is gone. */
static int begin(struct hami_wait *wait, const struct hami_nodelock_request *request,
                 struct hami_error *error)
{
    struct hami_internal_node *node = wait->node;
    struct hami_internal_after after;

    hami_internal_cancel_attach(wait, request->cancel);
    int code = lock_node(wait, request->owner.namespace_name, error);
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
    if (hami_internal_cancel_is_fired(wait)) {
        hami_internal_node_cancel(node, &after);
    }
    hami_internal_run(node, &after);
    return 0;
}

/* ---- the blocking forms ---- */

/* Waits for the end. */
static void park(struct hami_internal_blocked *blocked)
{
    struct hami_wait *wait = &blocked->wait;
    struct hami_internal_node *node = wait->node;
    /* By another clock than the system's dispatch ends it. */
    uint64_t until_ns =
        node->lock->system_clock ? wait->deadline_ns : HAMI_DEADLINE_NEVER;

    while (!park_is_done(&blocked->parking)) {
        if (!park_sleep(&blocked->parking, until_ns)) {
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

/* What has ended well is the caller's, with a reference to the manager. */
static hami_lease *take_lease(struct hami_wait *wait)
{
    hami_lease *lease = wait->lease;

    wait->lease = NULL;
    hami_internal_manager_ref(lease->lock);
    return lease;
}

/* The wait has ended, and belongs to this thread alone. */
static int finish(struct hami_wait *wait, hami_lease **ret, struct hami_error *reterr)
{
    int code = wait->end.code;

    if (code == 0) {
        *ret = take_lease(wait);
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
    struct hami_internal_blocked blocked;
    int cancel_state;

    if (!ret) {
        return hami_internal_errors_set(reterr, HAMI_E_INVAL, "ret is required");
    }
    int code = hami_internal_request_read(lock, request, &known, &reterr);
    if (code < 0) {
        return code;
    }
    if (hami_internal_dispatch_is_inside(lock)) {
        return hami_internal_errors_set(
            reterr, HAMI_E_INVAL,
            "a blocking call from a callback would wait for itself");
    }
    memset(&blocked.wait, 0, sizeof(blocked.wait));
    memset(&blocked.extra, 0, sizeof(blocked.extra));
    fill_wait(&blocked.wait, &known, blocked.keys, &blocked.extra, &blocked.set);
    blocked.wait.try_only = try_only;
    blocked.wait.blocking = true;
    code = prepare(lock, &blocked.wait, &known, reterr);
    if (code < 0) {
        return code;
    }
    park_init(&blocked.parking, lock);
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    code = begin(&blocked.wait, &known, reterr);
    if (code == 0) {
        park(&blocked);
        code = finish(&blocked.wait, ret, reterr);
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
    int code = hami_internal_request_read(lock, request, &known, &error);
    if (code < 0) {
        return code;
    }
    struct hami_wait *wait = make_wait(lock, &known);
    if (!wait) {
        return HAMI_E_NOMEM;
    }
    code = prepare(lock, wait, &known, error);
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
    if (hami_internal_manager_is_forked(node->lock)) {
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
        lease = take_lease(wait);
    }
    wait->callback(wait->data, error.code, lease, &error);
    dispose(wait);
}
