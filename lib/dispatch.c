/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See dispatch.h. ready_mutex guards the lists of ended waits and dones, the kicked
 * nodes, and who dispatches; timers_mutex the heap of nodes. Both are leaves. An armed
 * timer and a place in the kicked list hold a pin on the node.
 */
#include "dispatch.h"

#include "after.h"
#include "cancel.h"
#include "lease.h"
#include "memory.h"
#include "node.h"
#include "run.h"
#include "nodes.h"
#include "waiter.h"

void hami_internal_dispatch_wake(struct hami_nodelock *lock)
{
    if (lock->config.wakeup) {
        lock->config.wakeup(lock->config.wakeup_data);
        return;
    }
    (void)pthread_mutex_lock(&lock->ready_mutex);
    lock->woken = true;
    (void)pthread_cond_broadcast(&lock->ready_condition);
    (void)pthread_mutex_unlock(&lock->ready_mutex);
}

void hami_internal_dispatch_signal(struct hami_nodelock *lock)
{
    (void)pthread_mutex_lock(&lock->ready_mutex);
    lock->rests++;
    (void)pthread_cond_broadcast(&lock->idle_condition);
    (void)pthread_mutex_unlock(&lock->ready_mutex);
}

uint32_t hami_internal_dispatch_rests(struct hami_nodelock *lock)
{
    (void)pthread_mutex_lock(&lock->ready_mutex);
    uint32_t rests = lock->rests;
    (void)pthread_mutex_unlock(&lock->ready_mutex);
    return rests;
}

void hami_internal_dispatch_call_returned(struct hami_nodelock *lock)
{
    unsigned out = atomic_load(&lock->calls_out);

    while (!(out & HAMI_INTERNAL_CALLS_AWAITED)) {
        if (atomic_compare_exchange_weak(&lock->calls_out, &out, out - 1)) {
            return;
        }
    }
    (void)pthread_mutex_lock(&lock->ready_mutex);
    atomic_fetch_sub(&lock->calls_out, 1);
    (void)pthread_cond_broadcast(&lock->idle_condition);
    (void)pthread_mutex_unlock(&lock->ready_mutex);
}

void hami_internal_dispatch_queue(struct hami_internal_after *after)
{
    struct hami_nodelock *lock = after->lock;
    bool wake = after->wake;

    after->wake = false;
    if (after->lost) {
        after->lost = false;
        hami_internal_dispatch_kick(after->node);
        wake = true;
    }
    if (!list_is_empty(&after->ready_waits) || !list_is_empty(&after->ready_dones)) {
        (void)pthread_mutex_lock(&lock->ready_mutex);
        list_append_all(&lock->ready_waits, &after->ready_waits);
        list_append_all(&lock->ready_dones, &after->ready_dones);
        (void)pthread_mutex_unlock(&lock->ready_mutex);
        wake = true;
    }
    if (wake) {
        hami_internal_dispatch_wake(lock);
    }
}

bool hami_internal_dispatch_arm(struct hami_internal_node *node, uint64_t due_ns)
{
    struct hami_nodelock *lock = node->lock;

    due_ns = due_ns ? due_ns : 1; /* 0 has a meaning of its own */
    /* If dispatch takes the timer meanwhile, it comes to the node, and arms it anew. */
    if (node->armed_ns == due_ns) {
        return false;
    }
    node->armed_ns = due_ns;
    /* Pinned first: as soon as it is armed, dispatch may take the timer and give its pin
     * back. */
    hami_internal_nodes_pin(node);
    (void)pthread_mutex_lock(&lock->timers_mutex);
    bool was_armed = node->timer.armed;
    uint64_t before = hami_internal_timers_next(&lock->timers);
    hami_internal_timers_set(&lock->timers, &node->timer, due_ns);
    unsigned surplus = 1 + was_armed - node->timer.armed;
    uint64_t next = hami_internal_timers_next(&lock->timers);
    bool sooner = next < (lock->config.wakeup ? before : lock->thread_wakes_ns);
    lock->thread_wakes_ns = sooner ? next : lock->thread_wakes_ns;
    (void)pthread_mutex_unlock(&lock->timers_mutex);
    for (; surplus > 0; surplus--) {
        hami_internal_nodes_unpin(node);
    }
    return sooner;
}

void hami_internal_dispatch_kick(struct hami_internal_node *node)
{
    struct hami_nodelock *lock = node->lock;

    (void)pthread_mutex_lock(&lock->ready_mutex);
    if (!node->kicked) {
        node->kicked = true;
        hami_internal_nodes_pin(node);
        list_insert(&lock->kicked, &node->kick_link);
    }
    (void)pthread_mutex_unlock(&lock->ready_mutex);
}

bool hami_internal_dispatch_is_inside(struct hami_nodelock *lock)
{
    /* Only the thread itself makes this its own number, and takes it away again. */
    return atomic_load_explicit(&lock->dispatcher, memory_order_relaxed) ==
           (uintptr_t)pthread_self();
}

/* Brings on a node whose pin is ours, and gives the pin back. */
static void visit(struct hami_internal_node *node)
{
    struct hami_internal_after after;

    (void)pthread_mutex_lock(&node->mutex);
    node->armed_ns = 0;
    hami_internal_after_init(&after, node);
    hami_internal_node_cancel(node, &after);
    hami_internal_run(node, &after);
    hami_internal_lease_tell_lost(node);
    hami_internal_nodes_unpin(node);
}

static struct hami_internal_node *next_due(struct hami_nodelock *lock)
{
    (void)pthread_mutex_lock(&lock->timers_mutex);
    struct hami_internal_timer *timer =
        hami_internal_timers_pop(&lock->timers, hami_internal_now(lock));
    (void)pthread_mutex_unlock(&lock->timers_mutex);
    return timer ? LIST_ENTRY(timer, struct hami_internal_node, timer) : NULL;
}

static struct hami_internal_node *next_kicked(struct hami_nodelock *lock)
{
    struct hami_internal_node *node = NULL;

    (void)pthread_mutex_lock(&lock->ready_mutex);
    if (!list_is_empty(&lock->kicked)) {
        node = LIST_ENTRY(lock->kicked.next, struct hami_internal_node, kick_link);
        list_remove(&node->kick_link);
        node->kicked = false;
    }
    (void)pthread_mutex_unlock(&lock->ready_mutex);
    return node;
}

static size_t call_back(struct hami_nodelock *lock)
{
    size_t count = 0;

    for (;; count++) {
        struct hami_wait *wait = NULL;
        struct hami_internal_done *done = NULL;
        (void)pthread_mutex_lock(&lock->ready_mutex);
        if (!list_is_empty(&lock->ready_waits)) {
            wait = LIST_ENTRY(lock->ready_waits.next, struct hami_wait, end.ready_link);
            list_remove(&wait->end.ready_link);
        } else if (!list_is_empty(&lock->ready_dones)) {
            done = LIST_ENTRY(lock->ready_dones.next, struct hami_internal_done, link);
            list_remove(&done->link);
        }
        (void)pthread_mutex_unlock(&lock->ready_mutex);
        if (wait) {
            hami_internal_waiter_deliver(wait);
        } else if (done) {
            hami_internal_lease_deliver(lock, done);
        } else {
            return count;
        }
    }
}

static bool enter(struct hami_nodelock *lock)
{
    (void)pthread_mutex_lock(&lock->ready_mutex);
    bool free = !lock->dispatching;
    if (free) {
        lock->dispatching = true;
        atomic_store(&lock->dispatcher, (uintptr_t)pthread_self());
    }
    (void)pthread_mutex_unlock(&lock->ready_mutex);
    return free;
}

static void leave(struct hami_nodelock *lock)
{
    (void)pthread_mutex_lock(&lock->ready_mutex);
    lock->dispatching = false;
    atomic_store(&lock->dispatcher, 0);
    (void)pthread_mutex_unlock(&lock->ready_mutex);
}

size_t hami_internal_dispatch_turn(struct hami_nodelock *lock)
{
    struct hami_internal_node *node;
    size_t count;

    if (!enter(lock)) {
        return 0;
    }
    while ((node = next_due(lock)) || (node = next_kicked(lock))) {
        visit(node);
    }
    count = call_back(lock);
    leave(lock);
    return count;
}

static bool has_work(struct hami_nodelock *lock)
{
    (void)pthread_mutex_lock(&lock->ready_mutex);
    bool now = !list_is_empty(&lock->ready_waits) || !list_is_empty(&lock->ready_dones) ||
               !list_is_empty(&lock->kicked);
    (void)pthread_mutex_unlock(&lock->ready_mutex);
    return now;
}

uint64_t hami_internal_dispatch_next(struct hami_nodelock *lock)
{
    if (has_work(lock)) {
        return 0;
    }
    (void)pthread_mutex_lock(&lock->timers_mutex);
    uint64_t due = hami_internal_timers_next(&lock->timers);
    (void)pthread_mutex_unlock(&lock->timers_mutex);
    return due;
}

uint64_t hami_internal_dispatch_next_of_thread(struct hami_nodelock *lock)
{
    (void)pthread_mutex_lock(&lock->timers_mutex);
    uint64_t due = lock->thread_wakes_ns = hami_internal_timers_next(&lock->timers);
    (void)pthread_mutex_unlock(&lock->timers_mutex);
    return has_work(lock) ? 0 : due;
}
