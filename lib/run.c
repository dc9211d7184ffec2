/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See run.h. The transport is called with no lock held, and may complete the call before
 * submit has returned: then the thread that submits goes on with the answer, so that a
 * transport which answers at once never makes the stack grow. Which of the two it was is
 * settled by one exchange of the call's state, without a lock.
 *
 * A call that the transport does not complete by its deadline is aborted; one that it
 * still does not complete a second later is orphaned: the node takes it for unanswered,
 * and it is freed when the transport lets go of it.
 */
#include "run.h"

#include "after.h"
#include "call.h"
#include "dispatch.h"
#include "grant.h"
#include "machine.h"
#include "memory.h"
#include "node.h"
#include "outcome.h"
#include "nodes.h"

/* From the transport's thread, or from inside submit. */
static void completed(hami_call *call)
{
    struct hami_internal_node *node = call->completed_data;
    struct hami_nodelock *lock = node->lock;
    struct hami_internal_after after;
    int submitting = CALL_SUBMITTING;

    /* Done early, it is the submitter's again, and may be gone at once. */
    if (atomic_compare_exchange_strong(&call->state, &submitting, CALL_DONE_EARLY)) {
        return;
    }
    (void)pthread_mutex_lock(&node->mutex);
    if (call->state == CALL_ORPHANED) {
        (void)pthread_mutex_unlock(&node->mutex);
        hami_internal_call_free(call);
    } else {
        hami_internal_after_init(&after, node);
        hami_internal_outcome_apply(node, &after);
        hami_internal_run(node, &after);
    }
    hami_internal_nodes_unpin(node);
    hami_internal_dispatch_call_returned(lock);
}

static int hand_to_transport(struct hami_nodelock *lock,
                             enum hami_internal_operation operation, hami_call *call)
{
    struct hami_transport *transport = lock->transport;

    hami_internal_count(&lock->counters.calls);
    switch (operation) {
    case OPERATION_INSPECT_ASKER:
    case OPERATION_INSPECT_HOLDER:
        return transport->inspect(transport, call);
    case OPERATION_REVOKE_HOLDER:
    case OPERATION_REVOKE_OWN:
        return transport->revoke(transport, call);
    default:
        return transport->submit(transport, call);
    }
}

/*
 * Submits the call that was planned. With the node's mutex held on entry and on return.
 * Returns true if its answer is there already
 */
static bool submit(struct hami_internal_node *node, struct hami_internal_after *after)
{
    struct hami_nodelock *lock = node->lock;
    hami_call *call = node->call;
    enum hami_internal_operation operation = node->operation;

    call->completed = completed;
    call->completed_data = node;
    atomic_store_explicit(&call->state, CALL_SUBMITTING, memory_order_relaxed);
    (void)pthread_mutex_unlock(&node->mutex);
    hami_internal_after_run(after);
    int code = hand_to_transport(lock, operation, call);
    (void)pthread_mutex_lock(&node->mutex);
    node->now_ns = hami_internal_now(lock);
    int submitting = CALL_SUBMITTING;
    if (code < 0) {
        bool known = code == HAMI_E_ACCESS || code == HAMI_E_NOMEM;
        call->answer.code = known ? code : HAMI_E_TRANSPORT;
    } else if (atomic_load(&call->state) == CALL_SUBMITTING) {
        /* Before it can be completed behind our back. */
        hami_internal_nodes_pin(node);
        atomic_fetch_add(&lock->calls_out, 1);
        if (atomic_compare_exchange_strong(&call->state, &submitting, CALL_PENDING)) {
            return false;
        }
        hami_internal_nodes_unpin(node);
        hami_internal_dispatch_call_returned(lock);
    }
    atomic_store_explicit(&call->state, CALL_IDLE, memory_order_relaxed);
    return true;
}

/* A call past its deadline: see above. With the node's mutex held. */
static void watch_call(struct hami_internal_node *node, struct hami_internal_after *after)
{
    hami_call *call = node->call;
    uint64_t now = node->now_ns;

    if (node->operation == OPERATION_NONE || call->state != CALL_PENDING ||
        now < call->deadline_ns) {
        return;
    }
    if (!node->call_aborted) {
        node->call_aborted = true;
        if (node->lock->transport->abort) {
            atomic_fetch_add(&call->references, 1);
            after->abort = call;
        }
        return;
    }
    if (now < call->deadline_ns + HAMI_INTERNAL_CALL_GRACE_NS || !node->spare_call) {
        after->need_call = now >= call->deadline_ns + HAMI_INTERNAL_CALL_GRACE_NS;
        return;
    }
    /* Its answer is written by a fresh call in its stead: the transport may write into
     * the old one. */
    hami_call *stand_in = node->spare_call;
    node->spare_call = NULL;
    hami_internal_call_reset(stand_in);
    stand_in->answer.code =
        hami_call_is_write(call) || node->operation >= OPERATION_REVOKE_HOLDER
            ? HAMI_E_IN_DOUBT
            : HAMI_E_TRANSPORT;
    call->state = CALL_ORPHANED;
    node->call = stand_in;
    hami_internal_after_log(
        after, HAMI_LOG_ERROR,
        "Transport \"%s\" did not complete a call on node %s by its deadline; "
        "it is given up on",
        node->lock->transport->name, node->name);
    hami_internal_outcome_apply(node, after);
}

static bool needs_any(const struct hami_internal_after *after)
{
    return after->need_call || after->need_grant || after->need_lease ||
           after->need_permits || after->need_room > 0;
}

static hami_lease *make_lease(struct hami_internal_node *node)
{
    hami_lease *lease =
        hami_internal_memory_zero(hami_internal_allocator(node->lock), sizeof(*lease));

    if (lease) {
        list_init(&lease->link);
    }
    return lease;
}

/* Puts a grant that was made where it belongs; one that is there already is replaced. */
static void put_grant(struct hami_internal_grant **place,
                      struct hami_internal_grant *grant,
                      struct hami_internal_after *after)
{
    if (grant && *place) {
        list_insert(&after->ended_grants, &(*place)->link);
    }
    *place = grant ? grant : *place;
}

/* What plan asked for is made without the lock. Returns false if memory is out: a timer
 * tries again. */
static bool make_ahead(struct hami_internal_node *node, struct hami_internal_after *after)
{
    struct hami_nodelock *lock = node->lock;
    hami_call *call = NULL;
    struct hami_internal_grant *spare = NULL, *grant = NULL;
    hami_lease *lease = NULL;
    bool need_call = after->need_call, need_spare = after->need_grant;
    bool need_lease = after->need_lease;
    const struct hami_internal_key *beside =
        after->need_permits ? node->cover->key : NULL;
    size_t room = after->need_room, edits = hami_internal_call_edits(node);

    after->need_call = after->need_grant = after->need_lease = false;
    after->need_permits = false;
    after->need_room = 0;
    (void)pthread_mutex_unlock(&node->mutex);
    hami_internal_after_run(after);
    call = need_call ? hami_internal_call_get(lock, edits) : NULL;
    spare = need_spare ? hami_internal_grant_new_spare(lock) : NULL;
    lease = need_lease ? make_lease(node) : NULL;
    grant = room > 0 ? hami_internal_grant_new(lock, room) : NULL;
    int code = beside ? hami_internal_node_add_permits(node, beside) : 0;
    (void)pthread_mutex_lock(&node->mutex);
    bool made = code == 0 && (!need_call || call) && (!need_spare || spare) &&
                (!need_lease || lease) && (room == 0 || grant);
    /* Slots may have come to the node meanwhile. */
    if (node->spare_call || edits < hami_internal_call_edits(node)) {
        after->free_call = call;
    } else {
        node->spare_call = call;
    }
    put_grant(&node->spare_grant, spare, after);
    put_grant(&node->next_grant, grant, after);
    if (lease && node->next_lease) {
        after->free_lease = lease;
    } else if (lease) {
        node->next_lease = lease;
    }
    return made;
}

static uint64_t first_deadline(const struct hami_internal_node *node)
{
    const struct hami_wait *wait = node->due.root ? hami_internal_node_due(node) : NULL;
    uint64_t due = hami_internal_timers_next(&node->deadlines);

    return wait && wait->deadline_ns < due ? wait->deadline_ns : due;
}

static bool is_due(const struct hami_internal_node *node)
{
    return first_deadline(node) <= node->now_ns;
}

static void rest(struct hami_internal_node *node, struct hami_internal_after *after)
{
    /* Without leases here it is idle, or waits for what others do, and that may be long:
     * with thousands of nodes held by pods that start, calls would be most of all memory. */
    if (node->spare_call && !after->free_call && node->operation == OPERATION_NONE &&
        list_is_empty(&node->leases)) {
        hami_internal_call_rest(node, after);
    }
    /* Shutdown says that it is closing before it looks who is busy. */
    if (atomic_load(&node->lock->closing) && !hami_internal_node_is_busy(node)) {
        hami_internal_dispatch_signal(node->lock);
    }
    uint64_t due = first_deadline(node);
    due = due < node->wake_ns ? due : node->wake_ns;
    after->wake = hami_internal_dispatch_arm(node, due) || after->wake;
}

/* Who was handed the lock goes on while this thread looks what else there is to do. */
static void wake_early(struct hami_internal_node *node, struct hami_internal_after *after)
{
    if (!after->sleepers) {
        return;
    }
    if (hami_internal_after_has_sleeper(after)) {
        (void)pthread_mutex_unlock(&node->mutex);
        hami_internal_after_wake_all(after);
        (void)pthread_mutex_lock(&node->mutex);
    } else {
        hami_internal_after_wake_all(after);
    }
}

void hami_internal_run(struct hami_internal_node *node, struct hami_internal_after *after)
{
    for (;;) {
        while (is_due(node) && !hami_internal_node_expire(node, node->now_ns, after)) {
            (void)pthread_mutex_unlock(&node->mutex);
            hami_internal_after_run(after);
            (void)pthread_mutex_lock(&node->mutex);
        }
        watch_call(node, after);
        hami_internal_machine_plan(node, after);
        if (needs_any(after)) {
            if (make_ahead(node, after)) {
                continue;
            }
            node->wake_ns = node->now_ns + HAMI_INTERNAL_RETRY_FIRST_NS;
            break;
        }
        if (node->operation == OPERATION_NONE || node->call->state != CALL_IDLE) {
            break;
        }
        if (!submit(node, after)) {
            /* In flight: what came in meanwhile is looked at with its answer; deadlines
             * are armed. */
            hami_internal_machine_plan(node, after);
            break;
        }
        hami_internal_outcome_apply(node, after);
        wake_early(node, after);
    }
    rest(node, after);
    (void)pthread_mutex_unlock(&node->mutex);
    hami_internal_after_run(after);
}

void hami_internal_run_abort(struct hami_internal_node *node)
{
    struct hami_transport *transport = node->lock->transport;
    hami_call *call = NULL;

    (void)pthread_mutex_lock(&node->mutex);
    if (node->operation != OPERATION_NONE && node->call->state == CALL_PENDING) {
        call = node->call;
        node->call_aborted = true;
        atomic_fetch_add(&call->references, 1);
    }
    (void)pthread_mutex_unlock(&node->mutex);
    if (call) {
        transport->abort(transport, call);
        hami_internal_call_free(call);
    }
}
