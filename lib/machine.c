/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See machine.h. The order of duties: first what is in doubt is read; then what nobody
 * wants any more is made harmless; then waiters are served in their order; at last
 * records are removed that no waiter could take over. All under the node's mutex, no I/O.
 */
#include "machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "after.h"
#include "call.h"
#include "cover.h"
#include "grant.h"
#include "node.h"
#include "protocol.h"
#include "record.h"
#include "serve.h"

uint64_t hami_internal_machine_pause(struct hami_nodelock *lock, uint32_t retries)
{
    uint64_t pause = HAMI_INTERNAL_RETRY_FIRST_NS << (retries < 12 ? retries : 12);

    if (pause > HAMI_INTERNAL_RETRY_LAST_NS) {
        pause = HAMI_INTERNAL_RETRY_LAST_NS;
    }
    /* A quarter of jitter keeps managers that failed together from trying together. */
    uint64_t random = atomic_fetch_add(&lock->random, UINT64_C(0x9e3779b97f4a7c15));
    random ^= random >> 31;
    random *= UINT64_C(0xbf58476d1ce4e5b9);
    return pause + (random >> 33) % (pause / 4 + 1);
}

hami_call *hami_internal_machine_begin(struct hami_internal_node *node,
                                       enum hami_internal_operation operation,
                                       struct hami_internal_after *after)
{
    struct hami_nodelock *lock = node->lock;

    hami_internal_call_fetch(node);
    hami_call *call = node->spare_call;
    if (!call) {
        after->need_call = true;
        return NULL;
    }
    node->spare_call = NULL;
    node->call = call;
    node->operation = operation;
    node->operation_ns = node->now_ns;
    node->operation_slot = NULL;
    node->operation_grant = NULL;
    node->operation_wait = NULL;
    node->call_aborted = false;
    hami_internal_call_reset(call);
    call->node = node->name;
    call->lock = lock;
    call->now = lock->config.clock.monotonic_ns;
    call->now_data = lock->config.clock.data;
    call->deadline_ns = node->operation_ns + lock->config.call_timeout_ms * NS_PER_MS;
    return call;
}

void hami_internal_machine_revocation(struct hami_internal_node *node, hami_call *call,
                                      uint64_t fence)
{
    uint64_t attempt = atomic_fetch_add(&node->lock->attempts, 1) + 1;

    (void)snprintf(call->revocation, sizeof(call->revocation),
                   "%s,%" PRIu64 ",%s,%" PRIu64, node->name, fence, node->lock->holder,
                   attempt);
}

/* ---- reads ---- */

static bool wants_read(const struct hami_internal_node *node, uint64_t now)
{
    return node->slot_count > 0 && (node->doubt || !list_is_empty(&node->checks) ||
                                    node->want_read || now >= node->reread_ns);
}

static bool plan_read(struct hami_internal_node *node, uint64_t now,
                      struct hami_internal_after *after)
{
    if (!wants_read(node, now)) {
        hami_internal_serve_consider(node, node->reread_ns);
        return false;
    }
    if (now < node->read_retry_ns) {
        hami_internal_serve_consider(node, node->read_retry_ns);
        return false;
    }
    hami_call *call = hami_internal_machine_begin(node, OPERATION_READ, after);
    for (size_t i = 0; call && i < node->slot_count; i++) {
        const struct hami_internal_slot *slot = node->slots[i];
        const struct hami_internal_record_key *names = &slot->key->records[slot->permit];
        hami_internal_call_add(call, HAMI_EDIT_READ, names->lock, NULL, NULL);
        hami_internal_call_add(call, HAMI_EDIT_READ, names->lease, NULL, NULL);
    }
    if (call && node->lock->config.side_by_side > 0 &&
        node->slot_count < HAMI_INTERNAL_KEYS_MAX) {
        hami_internal_call_add(call, HAMI_EDIT_READ, HAMI_HANDSHAKE_AGENT_KEY, NULL,
                               NULL);
    }
    return true;
}

/* ---- releases ---- */

static bool is_due(struct hami_internal_node *node,
                   const struct hami_internal_grant *grant, uint64_t now)
{
    if (grant->state != GRANT_RELEASING) {
        return false;
    }
    if (now < grant->retry_ns) {
        hami_internal_serve_consider(node, grant->retry_ns);
        return false;
    }
    return true;
}

static bool plan_revocations(struct hami_internal_node *node, uint64_t now,
                             struct hami_internal_after *after)
{
    LIST_EACH(link, &node->grants)
    {
        struct hami_internal_grant *grant =
            LIST_ENTRY(link, struct hami_internal_grant, link);
        if (!is_due(node, grant, now) || grant->no_binding ||
            !node->lock->transport->revoke) {
            continue;
        }
        hami_call *call = hami_internal_machine_begin(node, OPERATION_REVOKE_OWN, after);
        if (call) {
            node->operation_grant = grant;
            hami_internal_call_set_owner(call, grant->owner.namespace_name,
                                         grant->owner.name, grant->owner.uid);
            hami_internal_machine_revocation(node, call, grant->fence);
        }
        return true;
    }
    return false;
}

static void plan_removal(struct hami_internal_node *node, hami_call *call,
                         struct hami_internal_grant *grant)
{
    node->operation_grant = grant;
    grant->write_deadline_ns = call->deadline_ns;
    (void)hami_lease_memory_format(grant->fence, call->memory, sizeof(call->memory));
    if (slot_is_permit(grant->slots[0])) {
        hami_internal_cover_plan_removal(node, call, grant);
        return;
    }
    for (size_t i = 0; i < grant->slot_count; i++) {
        const struct hami_internal_slot *slot = grant->slots[i];
        const struct hami_internal_record_key *names = &slot->key->records[slot->permit];
        hami_internal_call_add(call, HAMI_EDIT_PUT, names->lock, grant->value, NULL);
        hami_internal_call_add(call, HAMI_EDIT_PUT, names->lease, grant->lease,
                               call->memory);
    }
}

static bool plan_removals(struct hami_internal_node *node, uint64_t now,
                          struct hami_internal_after *after)
{
    LIST_EACH(link, &node->grants)
    {
        struct hami_internal_grant *grant =
            LIST_ENTRY(link, struct hami_internal_grant, link);
        if (!is_due(node, grant, now)) {
            continue;
        }
        if (slot_is_permit(grant->slots[0]) && !hami_internal_cover_is_known(node)) {
            node->want_read = true;
            return plan_read(node, now, after);
        }
        hami_call *call = hami_internal_machine_begin(node, OPERATION_REMOVE, after);
        if (call) {
            plan_removal(node, call, grant);
        }
        return true;
    }
    return false;
}

/* A grant is made for a record that has none, to be given back at once. False without the
 * memory for it, which is then asked for. */
static bool adopt(struct hami_internal_node *node, struct hami_internal_slot *slot,
                  bool no_binding, struct hami_internal_after *after)
{
    if (!node->spare_grant) {
        after->need_grant = true;
        return false;
    }
    hami_internal_grant_adopt(node->spare_grant, slot);
    node->spare_grant->no_binding = no_binding;
    list_insert(&node->grants, &node->spare_grant->link);
    node->spare_grant = NULL;
    return true;
}

/*
 * A record that this very manager wrote and that no grant stands for: a take whose answer
 * was lost and that landed after nobody wanted it any more. It is undone.
 */
static bool adopt_strays(struct hami_internal_node *node,
                         struct hami_internal_after *after)
{
    for (size_t i = 0; i < node->slot_count; i++) {
        struct hami_internal_slot *slot = node->slots[i];
        if (!slot->known || slot->grant || !slot->record.has_lease ||
            slot_is_copy(slot) || strcmp(slot->record.holder, node->lock->holder) != 0) {
            continue;
        }
        if (!adopt(node, slot, false, after)) {
            return true;
        }
        hami_internal_count(&node->lock->counters.undone);
        hami_internal_after_log(
            after, HAMI_LOG_WARNING, "Late take of pod %s/%s on node %s is being undone",
            slot->record.namespace_name, slot->record.name, node->name);
    }
    return false;
}

static bool is_left_behind(const struct hami_internal_node *node,
                           const struct hami_internal_slot *slot)
{
    return slot->known && !slot->grant && slot->record.kind == HAMI_LOCK_OWNED &&
           slot->record.has_lease && !slot_is_copy(slot) && slot->facts &&
           hami_internal_protocol_is_final(&slot->facts->facts, slot->record.uid,
                                           node->name, slot->record.fence);
}

/*
 * A record of another manager whose owner was told to be past its Allocate, while nobody
 * waits who would take it over. Its writer died between the take and the Binding, and the
 * pod was bound elsewhere. Longer than an owner may stay unbound, whoever serves that pod
 * is left the time to do it; then it is removed, so that no lock stays for nobody.
 */
static bool adopt_left_behind(struct hami_internal_node *node, uint64_t now,
                              struct hami_internal_after *after)
{
    uint64_t limit_ns = node->lock->config.hold_limit_ms * NS_PER_MS;

    for (size_t i = 0; i < node->slot_count && !node->queue.first; i++) {
        struct hami_internal_slot *slot = node->slots[i];
        if (!is_left_behind(node, slot)) {
            continue;
        }
        if (now < slot->first_seen_ns + limit_ns) {
            hami_internal_serve_consider(node, slot->first_seen_ns + limit_ns);
            continue;
        }
        if (!adopt(node, slot, true, after)) {
            return true;
        }
        hami_internal_after_log(
            after, HAMI_LOG_WARNING,
            "Lock of pod %s/%s on node %s was left behind and is being removed",
            slot->record.namespace_name, slot->record.name, node->name);
    }
    return false;
}

/*
 * A cover that is a copy of no lock any more, while nobody waits who would take it: an
 * operator, say, removed the lock by hand. Another manager's is left to it for as long as
 * an owner may stay unbound.
 */
static bool adopt_bare_cover(struct hami_internal_node *node, uint64_t now,
                             struct hami_internal_after *after)
{
    struct hami_internal_slot *cover = node->cover;

    if (!node->has_permits || node->queue.first || !hami_internal_cover_is_bare(node)) {
        return false;
    }
    bool is_ours = strcmp(cover->record.holder, node->lock->holder) == 0;
    uint64_t due_ns = cover->first_seen_ns + node->lock->config.hold_limit_ms * NS_PER_MS;
    if (!is_ours && now < due_ns) {
        hami_internal_serve_consider(node, due_ns);
        return false;
    }
    if (!adopt(node, cover, true, after)) {
        return true;
    }
    hami_internal_after_log(after, HAMI_LOG_WARNING,
                            "Cover of node %s, a copy of pod %s/%s's lock that is gone, "
                            "is being removed",
                            node->name, cover->record.namespace_name, cover->record.name);
    return false;
}

/* Ours, and left to the node side by all who had a share in it. */
static bool is_handed_off(const struct hami_internal_grant *grant)
{
    return grant && grant->state == GRANT_STANDING && grant->handed_off && !grant->gone &&
           grant->shares == 0;
}

/* Somebody waits who may take it. A permit that is done, though, is the first that is
 * taken: if it still stands after a while, those who wait have no use for it. */
static bool is_wanted(const struct hami_internal_node *node,
                      const struct hami_internal_slot *slot)
{
    return node->queue.first && !slot_is_permit(slot);
}

/*
 * A lock that this manager is to free, its pod served, while nobody waits: it is given
 * back. Not at once: whoever comes soon replaces it in one write. Another manager's is
 * left to it, and to its node side, which does the same 2 s after the success.
 */
static void give_back_done(struct hami_internal_node *node, uint64_t now)
{
    bool waits = node->queue.first && !node->has_permits;

    for (size_t i = 0; i < node->slot_count && !waits; i++) {
        struct hami_internal_slot *slot = node->slots[i];
        uint64_t due_ns = slot->facts_ns + HAMI_INTERNAL_DONE_STANDS_NS;
        if (!slot->known || is_wanted(node, slot) || !slot->facts ||
            !is_handed_off(slot->grant) ||
            !hami_internal_protocol_is_done(&slot->record, &slot->facts->facts,
                                            node->name)) {
            continue;
        }
        if (now < due_ns) {
            hami_internal_serve_consider(node, due_ns);
            continue;
        }
        slot->grant->state = GRANT_RELEASING;
        slot->grant->state_ns = now;
        slot->grant->retry_ns = 0;
        slot->grant->no_binding = true;
    }
}

/* A call past its deadline is aborted, then given up on: see run.c. */
static void watch_call(struct hami_internal_node *node)
{
    hami_internal_serve_consider(
        node, node->call_aborted ? node->call->deadline_ns + HAMI_INTERNAL_CALL_GRACE_NS
                                 : node->call->deadline_ns);
}

void hami_internal_machine_plan(struct hami_internal_node *node,
                                struct hami_internal_after *after)
{
    uint64_t now = node->now_ns;

    node->wake_ns = HAMI_DEADLINE_NEVER;
    if (node->operation != OPERATION_NONE) {
        watch_call(node);
        return;
    }
    if (atomic_load(&node->lock->freed) || plan_read(node, now, after) || node->doubt ||
        adopt_strays(node, after) || adopt_left_behind(node, now, after) ||
        adopt_bare_cover(node, now, after)) {
        return;
    }
    give_back_done(node, now);
    if (plan_revocations(node, now, after) ||
        hami_internal_serve_waiters(node, now, after)) {
        return;
    }
    /* A waiter may just have found out that the node has to be read. */
    if (wants_read(node, now) && plan_read(node, now, after)) {
        return;
    }
    (void)plan_removals(node, now, after);
}
