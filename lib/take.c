/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See take.h: the texts of lock and lease are made, and the edits that put them in the
 * place of what is known to stand there. Under the node's mutex; no I/O.
 */
#include "take.h"

#include <string.h>

#include "call.h"
#include "cover.h"
#include "grant.h"
#include "machine.h"
#include "node.h"
#include "protocol.h"
#include "record.h"

/* The lock that stands there is another owner's, and not being released by us. */
static bool takes_over(const struct hami_internal_slot *slot)
{
    return slot->record.kind != HAMI_LOCK_FREE && slot->reason != REASON_OWN &&
           !(slot->grant && slot->grant->state == GRANT_RELEASING);
}

static bool is_done(const struct hami_internal_node *node,
                    const struct hami_internal_slot *slot)
{
    return slot->reason == REASON_DONE && slot->facts &&
           hami_internal_protocol_is_done(&slot->record, &slot->facts->facts, node->name);
}

/* The grant that a take writes is made when it is about to; false if that has to come
 * first: it is asked for. */
static bool equip(struct hami_internal_round *round, struct hami_wait *wait)
{
    struct hami_internal_node *node = round->node;
    struct hami_internal_turn *turn = &wait->lease->turn;
    const struct hami_owner owner = wait_owner(wait);
    const struct hami_internal_extra *extra = wait_extra(wait);
    size_t room;

    if (turn->grant) {
        return true;
    }
    if (!hami_internal_grant_name(node->lock, node->next_grant, &owner,
                                  extra ? extra->calls : NULL, &room)) {
        round->after->need_room = room;
        return false;
    }
    turn->grant = node->next_grant;
    node->next_grant = NULL;
    return true;
}

/* Whose lock the grant takes by this record. */
static void note_owner(struct hami_internal_grant *grant,
                       const struct hami_internal_node *node,
                       const struct hami_internal_slot *slot)
{
    if (slot_is_copy(slot)) {
        return;
    }
    if (takes_over(slot) && is_done(node, slot)) {
        grant->takes_done = true;
    } else if (takes_over(slot)) {
        grant->takes_from = slot->reason;
    }
    grant->takes_own = grant->takes_own || (slot->record.kind != HAMI_LOCK_FREE &&
                                            slot->reason == REASON_OWN);
}

/* What the call is to write, and whose locks the grant takes by that. */
static void plan_take(hami_call *call, struct hami_internal_grant *grant,
                      const struct hami_wait *wait,
                      struct hami_internal_slot *const *slots)
{
    grant->takes_from = REASON_NONE;
    grant->takes_own = grant->takes_done = false;
    if (grant->is_beside) {
        note_owner(grant, wait->node, wait->node->cover);
        hami_internal_cover_plan_take(wait->node, call, grant);
    }
    for (size_t i = 0; i < wait->key_count && wait->node->has_permits; i++) {
        if (slots[i]->key->beside) {
            hami_internal_cover_plan_fence(wait->node, call, slots[i]);
        }
    }
    for (size_t i = 0; i < wait->key_count; i++) {
        const struct hami_internal_record_key *names =
            &slots[i]->key->records[slots[i]->permit];
        grant->slots[i] = slots[i];
        note_owner(grant, wait->node, slots[i]);
        hami_internal_call_add(call, HAMI_EDIT_PUT, names->lock, slots[i]->pair.lock,
                               grant->value);
        hami_internal_call_add(call, HAMI_EDIT_PUT, names->lease, slots[i]->pair.lease,
                               grant->lease);
    }
}

/* Mostly it is the second of the last take. */
static const char *date_of_now(struct hami_internal_node *node)
{
    const struct hami_clock *clock = &node->lock->config.clock;
    int64_t seconds = clock->realtime_s(clock->data);

    if (seconds != node->date_s || !node->date[0]) {
        node->date_s = seconds;
        hami_internal_record_date(node->date, seconds);
    }
    return node->date;
}

static uint64_t last_fence_of(const struct hami_internal_node *node,
                              const struct hami_internal_slot *slot, bool *ret_seeded)
{
    uint64_t fence = slot->record.last_fence;

    if (slot->key->beside && node->has_permits) {
        return hami_internal_cover_last_fence(node, ret_seeded);
    }
    /* A memory that shows less than was seen there may have been put twice. */
    *ret_seeded = fence == 0 || fence < slot->max_fence;
    return fence;
}

enum hami_internal_look hami_internal_take_start(struct hami_internal_round *round,
                                                 struct hami_wait *wait,
                                                 struct hami_internal_slot *const *slots)
{
    struct hami_internal_node *node = round->node;
    struct hami_nodelock *lock = node->lock;
    uint64_t last_fence = 0;
    bool seeded = false;

    for (size_t i = 0; i < wait->key_count; i++) {
        bool one;
        uint64_t fence = last_fence_of(node, slots[i], &one);
        last_fence = fence > last_fence ? fence : last_fence;
        seeded = seeded || one;
    }
    if (seeded && !node->version[0] && node->read_ns == 0) {
        node->want_read = true;
        return LOOK_WORKING;
    }
    if (!equip(round, wait)) {
        round->after->need_call = !node->spare_call;
        return LOOK_WORKING;
    }
    hami_call *call = hami_internal_machine_begin(node, OPERATION_TAKE, round->after);
    if (!call) {
        return LOOK_WORKING;
    }
    struct hami_internal_grant *grant = wait->lease->turn.grant;
    grant->fence = hami_internal_protocol_next_fence(
        last_fence, node->max_fence, node->version_number, node->server_time_us);
    grant->attempt = atomic_fetch_add(&lock->attempts, 1) + 1;
    grant->by_scheduler = node->leaves_freeing;
    grant->is_beside = slot_is_permit(slots[0]);
    grant->value_bytes =
        1 + hami_internal_record_value(grant->value, date_of_now(node),
                                       grant->owner.namespace_name, grant->owner.name);
    struct hami_internal_lease_text text = hami_internal_grant_lease_text(lock, grant);
    grant->lease_bytes =
        1 + hami_internal_record_lease(grant->lease, grant->lease_size, &text);
    plan_take(call, grant, wait, slots);
    if (seeded) {
        /* The fence comes from the node's version: another that had the same seed must
         * fail. */
        memcpy(call->version, node->version, sizeof(call->version));
    }
    grant->slot_count = wait->key_count;
    grant->state = GRANT_TAKING;
    grant->taker = wait;
    grant->write_deadline_ns = call->deadline_ns;
    list_insert(&node->grants, &grant->link);
    node->operation_grant = grant;
    node->operation_wait = wait;
    return LOOK_WORKING;
}
