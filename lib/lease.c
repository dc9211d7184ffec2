/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See lease.h: the public lease functions. A lease is one share of a grant. Consuming the
 * last share either starts the grant's release, or leaves the grant to the node side
 * (hand-off); the rest is the node's machine. The only waiting is in park(), until an
 * absolute deadline.
 */
#include "lease.h"

#include <string.h>

#include "after.h"
#include "call.h"
#include "dispatch.h"
#include "errors.h"
#include "manager.h"
#include "memory.h"
#include "node.h"
#include "park.h"
#include "run.h"
#include "nodes.h"

/* ---- looking at a lease ---- */

static int check_lease(const hami_lease *lease)
{
    if (!lease) {
        return HAMI_E_INVAL;
    }
    if (hami_internal_manager_is_forked(lease->lock)) {
        return HAMI_E_FORKED;
    }
    return atomic_load(&lease->lock->freed) ? HAMI_E_CLOSED : 0;
}

/* Between the two a free waits: what a lease's function starts is there by the time at
 * which it ends all that is under way, and nobody is woken after it. The lease, or a
 * reference to the manager, is to outlast leave(). */
static int enter(const hami_lease *lease)
{
    int code = check_lease(lease);

    if (code == 0) {
        atomic_fetch_add(&lease->lock->calls_out, 1);
        code = check_lease(lease);
        if (code < 0) {
            hami_internal_dispatch_call_returned(lease->lock);
        }
    }
    return code;
}

static void leave(struct hami_nodelock *lock)
{
    hami_internal_dispatch_call_returned(lock);
}

uint64_t hami_lease_fence(const hami_lease *lease)
{
    return check_lease(lease) == 0 ? lease->grant->fence : 0;
}

int hami_lease_facts(const hami_lease *lease, struct hami_lease_view *ret)
{
    struct hami_lease_view view = HAMI_LEASE_VIEW_INIT;

    if (!lease || !ret || ret->size < sizeof(ret->size)) {
        return HAMI_E_INVAL;
    }
    size_t size = ret->size;
    if (!hami_internal_errors_is_struct_known(ret, size, sizeof(view))) {
        return HAMI_E_ABI;
    }
    int code = check_lease(lease);
    if (code < 0) {
        return code;
    }
    /* A grant's texts do not change while it stands, so no lock is needed. */
    const struct hami_internal_grant *grant = lease->grant;
    view.node = lease->node->name;
    view.owner = grant->owner;
    view.key = grant->slots[0]->key->name;
    view.value = grant->value;
    view.holder = lease->lock->holder;
    view.fence = grant->fence;
    view.attempt = grant->attempt;
    view.owner_version = grant->judged ? grant->judged->facts.version : NULL;
    view.owner_revoked = grant->judged ? grant->judged->facts.revoked : NULL;
    memcpy(ret, &view, size < sizeof(view) ? size : sizeof(view));
    ret->size = size;
    return 0;
}

/* ---- consuming ---- */

/* With the node's mutex: the lease leaves its grant. */
static void detach(hami_lease *lease)
{
    list_remove(&lease->link);
    lease->grant->shares--;
    atomic_fetch_sub_explicit(&lease->lock->counters.leases, 1, memory_order_relaxed);
}

static void unref(hami_lease *lease, bool last)
{
    if (last) {
        struct hami_nodelock *lock = lease->lock;
        hami_internal_memory_free(hami_internal_allocator(lock), lease);
        hami_internal_manager_unref(lock);
    }
}

/* With the node's mutex: the holder's reference goes; its reference to the manager is the
 * caller's from here on. The memory of a lease that nobody needs any more is the node's
 * next lease's. Returns it where there is one already, to be freed; NULL */
static hami_lease *let_go(hami_lease *lease)
{
    struct hami_internal_node *node = lease->node;

    if (--lease->references > 0) {
        hami_internal_manager_ref(
            node->lock); /* who tells its loss gives the other back */
        return NULL;
    }
    if (node->next_lease) {
        return lease;
    }
    memset(lease, 0, sizeof(*lease));
    list_init(&lease->link);
    node->next_lease = lease;
    return NULL;
}

/* The manager is freed, or just being freed: nobody can act on the store any more, but
 * its last dispatch may be looking at the node's leases. */
static int consume_closed(hami_lease *lease, int code)
{
    if (code == HAMI_E_CLOSED) {
        struct hami_internal_node *node = lease->node;
        (void)pthread_mutex_lock(&node->mutex);
        list_remove(&lease->link);
        bool last = --lease->references == 0;
        (void)pthread_mutex_unlock(&node->mutex);
        unref(lease, last);
    }
    return code;
}

int hami_lease_handoff(hami_lease *lease)
{
    struct hami_internal_after after;
    int code = enter(lease);

    if (code < 0) {
        return consume_closed(lease, code);
    }
    struct hami_nodelock *lock = lease->lock;
    struct hami_internal_node *node = lease->node;
    hami_internal_nodes_pin(node);
    (void)pthread_mutex_lock(&node->mutex);
    hami_internal_after_init(&after, node);
    struct hami_internal_grant *grant = lease->grant;
    detach(lease);
    grant->handed_off = true;
    grant->state_ns = node->now_ns;
    hami_internal_count(&lock->counters.handoffs);
    if (grant->gone && grant->shares == 0) {
        hami_internal_node_end_grant(node, grant, 0, &after);
    }
    hami_lease *surplus = let_go(lease);
    hami_internal_run(node, &after);
    hami_internal_nodes_unpin(node);
    hami_internal_memory_free(hami_internal_allocator(lock), surplus);
    leave(lock);
    hami_internal_manager_unref(lock);
    return 0;
}

/* With the node's mutex: consumes the lease. Returns true if the end is known: *code says
 * it. */
static bool give_back(hami_lease *lease, struct hami_internal_done *done, int *code,
                      struct hami_internal_after *after)
{
    struct hami_internal_node *node = lease->node;
    struct hami_internal_grant *grant = lease->grant;

    detach(lease);
    if (grant->gone) {
        *code = grant->gone_code;
        if (grant->shares == 0) {
            hami_internal_node_end_grant(node, grant, 0, after);
        }
        return true;
    }
    if (grant->shares > 0 || grant->handed_off) {
        *code = 0;
        return true;
    }
    grant->state = GRANT_RELEASING;
    grant->state_ns = node->now_ns;
    grant->retry_ns = 0;
    grant->release = done;
    if (done) {
        done->grant = grant;
        hami_internal_timers_set(&node->deadlines, &done->timer, done->timer.due_ns);
    }
    return false;
}

static void init_done(struct hami_internal_done *done, uint64_t deadline_ns)
{
    memset(done, 0, sizeof(*done));
    list_init(&done->link);
    done->timer.kind = TIMER_DONE;
    done->timer.due_ns = deadline_ns;
}

static struct hami_internal_done *make_done(struct hami_nodelock *lock,
                                            uint64_t deadline_ns)
{
    struct hami_internal_done *done =
        hami_internal_memory_zero(hami_internal_allocator(lock), sizeof(*done));

    if (done) {
        init_done(done, deadline_ns);
    }
    return done;
}

/* Ends what is past its deadline. Returns true if somebody else does that: it has ended,
 * or a free is about to end it all. */
static bool expire(struct hami_nodelock *lock, struct hami_internal_node *node,
                   const struct hami_internal_done *done)
{
    struct hami_internal_after after;

    atomic_fetch_add(&lock->calls_out, 1);
    (void)pthread_mutex_lock(&node->mutex);
    bool ended = done->ended || atomic_load(&lock->freed);
    if (ended) {
        (void)pthread_mutex_unlock(&node->mutex);
    } else {
        hami_internal_after_init(&after, node);
        hami_internal_run(node, &after);
    }
    leave(lock);
    return ended;
}

/* Waits for the end of a release or check. */
static void park(struct hami_nodelock *lock, struct hami_internal_node *node,
                 struct hami_internal_done *done, uint64_t deadline_ns)
{
    uint64_t until_ns = lock->system_clock ? deadline_ns : HAMI_DEADLINE_NEVER;

    while (!park_is_done(&done->parking)) {
        if (park_sleep(&done->parking, until_ns) && expire(lock, node, done)) {
            until_ns = HAMI_DEADLINE_NEVER; /* who ends it says so */
        }
    }
}

static int inside(struct hami_error *reterr)
{
    return hami_internal_errors_set(
        reterr, HAMI_E_INVAL, "a blocking call from a callback would wait for itself");
}

/* Consumes a lease by a release and tells its end, if it is known at once. The lease's
 * reference to the manager is the caller's. */
static bool start_release(hami_lease *lease, struct hami_internal_done *done, int *code)
{
    struct hami_internal_node *node = lease->node;
    struct hami_internal_after after;

    (void)pthread_mutex_lock(&node->mutex);
    hami_internal_after_init(&after, node);
    bool known = give_back(lease, done, code, &after);
    hami_lease *surplus = let_go(lease);
    hami_internal_run(node, &after);
    hami_internal_memory_free(hami_internal_allocator(node->lock), surplus);
    return known;
}

int hami_lease_release(hami_lease *lease, uint64_t deadline_ns, struct hami_error *reterr)
{
    int cancel_state, code = enter(lease);

    if (code < 0) {
        return hami_internal_errors_set(reterr, consume_closed(lease, code), "%s",
                                        hami_strerror(code));
    }
    struct hami_nodelock *lock = lease->lock;
    struct hami_internal_node *node = lease->node;
    if (hami_internal_dispatch_is_inside(lock)) {
        leave(lock);
        return inside(reterr);
    }
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    hami_internal_nodes_pin(node);
    struct hami_internal_done done;
    init_done(&done, deadline_ns);
    done.blocking = true;
    park_init(&done.parking, lock);
    bool is_known = start_release(lease, &done, &code);
    leave(lock);
    if (!is_known) {
        park(lock, node, &done, deadline_ns);
        code = done.error.code;
    }
    if (code < 0) {
        (void)hami_internal_errors_set(reterr, code, "node %s: %s", node->name,
                                       hami_strerror(code));
    }
    hami_internal_nodes_unpin(node);
    hami_internal_manager_unref(lock);
    (void)pthread_setcancelstate(cancel_state, NULL);
    return code;
}

/* Queues the callback of something whose end was known at once. */
static void queue_done(struct hami_internal_node *node, struct hami_internal_done *done,
                       int code)
{
    struct hami_internal_after after;

    (void)pthread_mutex_lock(&node->mutex);
    hami_internal_after_init(&after, node);
    hami_internal_node_end_done(node, done, code, &after, "%s",
                                code == 0 ? "" : hami_strerror(code));
    hami_internal_run(node, &after);
}

int hami_lease_release_start(hami_lease *lease, uint64_t deadline_ns,
                             hami_done_fn callback, void *data)
{
    struct hami_internal_done *done = NULL;
    int end, code = enter(lease);

    if (code < 0) {
        return consume_closed(lease, code);
    }
    struct hami_nodelock *lock = lease->lock;
    struct hami_internal_node *node = lease->node;
    if (callback) {
        done = make_done(lock, deadline_ns);
        if (!done) {
            leave(lock);
            return HAMI_E_NOMEM;
        }
        done->callback = callback;
        done->data = data;
    }
    hami_internal_nodes_pin(node);
    if (start_release(lease, done, &end) && done) {
        queue_done(node, done, end);
    }
    hami_internal_nodes_unpin(node);
    leave(lock);
    hami_internal_manager_unref(lock);
    return 0;
}

/* ---- checking ---- */

static void queue_check(hami_lease *lease, struct hami_internal_done *done)
{
    struct hami_internal_node *node = lease->node;
    struct hami_internal_after after;

    (void)pthread_mutex_lock(&node->mutex);
    hami_internal_after_init(&after, node);
    done->check = true;
    done->grant = lease->grant;
    done->started_ns = node->now_ns;
    list_insert(&node->checks, &done->link);
    hami_internal_timers_set(&node->deadlines, &done->timer, done->timer.due_ns);
    hami_internal_run(node, &after);
}

int hami_lease_check(hami_lease *lease, uint64_t deadline_ns, struct hami_error *reterr)
{
    int cancel_state, code = enter(lease);

    if (code < 0) {
        return hami_internal_errors_set(reterr, code, "%s", hami_strerror(code));
    }
    struct hami_nodelock *lock = lease->lock;
    struct hami_internal_node *node = lease->node;
    if (hami_internal_dispatch_is_inside(lock)) {
        leave(lock);
        return inside(reterr);
    }
    struct hami_internal_done done;
    init_done(&done, deadline_ns);
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    hami_internal_nodes_pin(node);
    done.blocking = true;
    park_init(&done.parking, lock);
    queue_check(lease, &done);
    leave(lock);
    park(lock, node, &done, deadline_ns);
    code = done.error.code;
    if (code < 0) {
        hami_internal_errors_copy(reterr, &done.error);
    }
    hami_internal_nodes_unpin(node);
    (void)pthread_setcancelstate(cancel_state, NULL);
    return code;
}

int hami_lease_check_start(hami_lease *lease, uint64_t deadline_ns, hami_done_fn callback,
                           void *data)
{
    int code = callback ? enter(lease) : HAMI_E_INVAL;

    if (code < 0) {
        return code;
    }
    struct hami_nodelock *lock = lease->lock;
    struct hami_internal_done *done = make_done(lock, deadline_ns);
    if (!done) {
        leave(lock);
        return HAMI_E_NOMEM;
    }
    done->callback = callback;
    done->data = data;
    hami_internal_manager_ref(lock); /* the callback may consume the lease at once */
    queue_check(lease, done);
    leave(lock);
    hami_internal_manager_unref(lock);
    return 0;
}

void hami_internal_lease_deliver(struct hami_nodelock *lock,
                                 struct hami_internal_done *done)
{
    done->callback(done->data, done->error.code, &done->error);
    hami_internal_memory_free(hami_internal_allocator(lock), done);
}

/* ---- loss ---- */

static hami_lease *next_lost(struct hami_internal_node *node)
{
    LIST_EACH(link, &node->leases)
    {
        hami_lease *lease = LIST_ENTRY(link, hami_lease, link);
        if (lease->grant->gone && !lease->grant->handed_off && !lease->told_lost) {
            lease->told_lost = true;
            lease->references++;
            return lease;
        }
    }
    return NULL;
}

void hami_internal_lease_tell_lost(struct hami_internal_node *node)
{
    struct hami_nodelock *lock = node->lock;
    hami_lease *lease;

    if (!lock->config.owner_lost) {
        return;
    }
    for (;;) {
        struct hami_error error = HAMI_ERROR_INIT;
        (void)pthread_mutex_lock(&node->mutex);
        lease = next_lost(node);
        int code = lease ? lease->grant->gone_code : 0;
        (void)pthread_mutex_unlock(&node->mutex);
        if (!lease) {
            return;
        }
        (void)hami_internal_errors_set(
            &error, code, "node %s: the lock is no longer in the store", node->name);
        lock->config.owner_lost(lock->config.owner_lost_data, lease, &error);
        (void)pthread_mutex_lock(&node->mutex);
        bool last = --lease->references == 0;
        (void)pthread_mutex_unlock(&node->mutex);
        unref(lease, last);
    }
}
