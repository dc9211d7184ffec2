/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See serve.h. One queue a node. A waiter is served when all its keys are free and no
 * older waiter asks for one of them: each waiter that can't be served yet claims its
 * keys, and the look ends when all records are claimed. Hand-off is direct and nobody
 * barges: holds last milliseconds to seconds, so that barging would win no throughput,
 * and cost fairness. Where pods may be beside each other one that must wait claims its
 * calls alone: see cover.c.
 */
#include "serve.h"

#include <string.h>

#include "after.h"
#include "beside.h"
#include "call.h"
#include "cover.h"
#include "grant.h"
#include "look.h"
#include "machine.h"
#include "node.h"
#include "pace.h"
#include "protocol.h"
#include "take.h"

void hami_internal_serve_consider(struct hami_internal_node *node, uint64_t due_ns)
{
    if (due_ns < node->wake_ns) {
        node->wake_ns = due_ns;
    }
}

/* The permit that its own lock stands in: another one would be a second for the same
 * owner. */
static struct hami_internal_slot *own_permit(const struct hami_internal_round *round,
                                             const struct hami_wait *wait,
                                             const struct hami_internal_key *key)
{
    for (size_t permit = 0; wait->own && permit < key->permits; permit++) {
        const struct hami_owner owner = wait_owner(wait);
        struct hami_internal_slot *slot =
            hami_internal_node_slot(round->node, key, permit);
        if (hami_internal_node_is_own(slot, &owner)) {
            return slot;
        }
    }
    return NULL;
}

/* Finds a permit of a key; claims it, or all of the key's where none is free. */
static enum hami_internal_look choose_slot(struct hami_internal_round *round,
                                           const struct hami_wait *wait,
                                           const struct hami_internal_key *key,
                                           struct hami_internal_slot **ret)
{
    uint64_t all = 0;

    if (hami_internal_cover_is_used(round->node, key)) {
        return hami_internal_cover_choose(round, wait, ret);
    }
    *ret = own_permit(round, wait, key);
    if (*ret) {
        round->claimed |= hami_internal_look_bit(round, *ret);
        return hami_internal_look_at_slot(round, wait, *ret);
    }
    for (size_t permit = 0; permit < key->permits; permit++) {
        struct hami_internal_slot *slot =
            hami_internal_node_slot(round->node, key, permit);
        uint64_t bit = hami_internal_look_bit(round, slot);
        all |= bit;
        if (round->claimed & bit) {
            continue;
        }
        enum hami_internal_look look = hami_internal_look_at_slot(round, wait, slot);
        if (look == LOOK_BLOCKED) {
            continue;
        }
        round->claimed |= bit;
        *ret = slot;
        return look;
    }
    round->claimed |= all;
    return LOOK_BLOCKED;
}

static bool covers(const struct hami_internal_grant *grant, const struct hami_wait *wait)
{
    for (size_t i = 0; i < wait->key_count; i++) {
        bool found = false;
        for (size_t j = 0; j < grant->slot_count && !found; j++) {
            found = grant->slots[j]->key == wait_keys(wait)[i];
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

/* The grant that this owner has already, if it is good for all that is asked. */
static struct hami_internal_grant *own_grant(const struct hami_internal_round *round,
                                             const struct hami_wait *wait)
{
    const struct hami_owner owner = wait_owner(wait);

    LIST_EACH(link, &round->node->grants)
    {
        struct hami_internal_grant *grant =
            LIST_ENTRY(link, struct hami_internal_grant, link);
        if (hami_internal_node_is_shared(grant, &owner) && covers(grant, wait)) {
            return grant;
        }
    }
    return NULL;
}

/*
 * What only its turn needs is made when it has come, so that who waits is small. False if
 * it has to be made first: that is asked for.
 */
static bool begin_turn(struct hami_internal_round *round, struct hami_wait *wait)
{
    struct hami_internal_node *node = round->node;

    if (wait->lease) {
        return true;
    }
    hami_internal_call_fetch(node);
    if (!node->next_lease) {
        round->after->need_lease = true;
        return false;
    }
    wait->lease = node->next_lease;
    node->next_lease = NULL;
    wait->lease->lock = node->lock;
    wait->lease->node = node;
    wait->lease->references = 1;
    return true;
}

static enum hami_internal_look start_asker(struct hami_internal_round *round,
                                           struct hami_wait *wait)
{
    const struct hami_owner owner = wait_owner(wait);
    hami_call *call =
        hami_internal_machine_begin(round->node, OPERATION_INSPECT_ASKER, round->after);

    if (call) {
        round->node->operation_wait = wait;
        call->wants_read = wait->asker == ASKER_SUSPECT;
        hami_internal_call_set_owner(call, owner.namespace_name, owner.name, owner.uid);
    }
    return LOOK_WORKING;
}

/* Who is in the way of a try. */
static const struct hami_internal_slot *find_in_way(const struct hami_wait *wait)
{
    const struct hami_internal_slot *slot = NULL;

    for (size_t i = 0; i < wait->key_count; i++) {
        const struct hami_internal_slot *one =
            hami_internal_node_slot(wait->node, wait_keys(wait)[i], 0);
        if (hami_internal_cover_is_used(wait->node, one->key)) {
            one = hami_internal_cover_in_way(wait, NULL);
        }
        if (one && (one->grant || one->record.kind != HAMI_LOCK_FREE)) {
            slot = one;
        }
    }
    return slot;
}

static void end_try(struct hami_internal_round *round, struct hami_wait *wait)
{
    const struct hami_internal_slot *slot = find_in_way(wait);

    if (slot && slot->grant) {
        hami_internal_node_end_wait(wait, HAMI_E_BUSY, NULL, round->after,
                                    "node %s is locked by pod %s/%s of this process",
                                    round->node->name, slot->grant->owner.namespace_name,
                                    slot->grant->owner.name);
    } else {
        hami_internal_node_end_wait(
            wait, HAMI_E_HELD, NULL, round->after, "node %s: %s holds \"%.200s\": %s",
            round->node->name,
            slot ? slot->key->records[slot->permit].lock : "another owner",
            slot && slot->pair.lock ? slot->pair.lock : "",
            hami_internal_protocol_reason_text(slot ? slot->reason : REASON_NONE));
    }
}

/* When a lock counts as stalled for this waiter: not while holds last that long there
 * anyway, and not by what was learned of its owner before the waiter came: that may have
 * finished since. */
static uint64_t stalled_ns(const struct hami_internal_round *round,
                           const struct hami_internal_slot *slot,
                           const struct hami_wait *wait)
{
    struct hami_internal_slot *first = hami_internal_node_slot(round->node, slot->key, 0);
    uint64_t limit = round->node->lock->config.stall_limit_ms * NS_PER_MS;
    uint64_t usual = 2 * hami_internal_pace_hold(&first->pace, round->now_ns);
    bool judged = slot->reason != REASON_NONE && slot->reason != REASON_NOT_ASKED &&
                  slot->reason != REASON_FREE;
    bool held = slot->grant && !slot->grant->handed_off;

    if (!slot->known || !judged || held || slot->record.kind == HAMI_LOCK_FREE) {
        return HAMI_DEADLINE_NEVER;
    }
    uint64_t due_ns = slot->first_seen_ns + (usual > limit ? usual : limit);
    bool is_older = slot->asked && slot->asked_ns < wait->since_ns;
    return is_older && slot->ask_next_ns > due_ns ? slot->ask_next_ns : due_ns;
}

/* One that is in the way of a waiter beside others, or of one that waits for them, is
 * enough to keep it waiting; but for those that it may take once it may take all. */
static const struct hami_internal_slot *stalled_in_way(struct hami_internal_round *round,
                                                       const struct hami_wait *wait)
{
    struct hami_internal_slot *slot = hami_internal_cover_in_way(wait, NULL);

    for (; slot; slot = hami_internal_cover_in_way(wait, slot)) {
        uint64_t due_ns = stalled_ns(round, slot, wait);
        if (due_ns <= round->now_ns &&
            hami_internal_look_glance(round, wait, slot) == LOOK_AVAILABLE) {
            continue;
        }
        if (due_ns <= round->now_ns) {
            return slot;
        }
        hami_internal_serve_consider(round->node, due_ns);
    }
    return NULL;
}

/* The lock that its waiters wait for in vain: one of a key all of whose permits stall. */
static const struct hami_internal_slot *stalled_slot(struct hami_internal_round *round,
                                                     const struct hami_wait *wait)
{
    const struct hami_internal_slot *found = NULL;

    for (size_t i = 0; i < wait->key_count && !found; i++) {
        uint64_t last_ns = 0;
        const struct hami_internal_key *key = wait_keys(wait)[i];
        if (hami_internal_cover_is_used(round->node, key)) {
            found = stalled_in_way(round, wait);
            continue;
        }
        for (size_t permit = 0; permit < key->permits; permit++) {
            const struct hami_internal_slot *slot =
                hami_internal_node_slot(round->node, key, permit);
            uint64_t due_ns = stalled_ns(round, slot, wait);
            found = due_ns >= last_ns ? slot : found;
            last_ns = due_ns > last_ns ? due_ns : last_ns;
        }
        if (round->now_ns < last_ns) {
            found = NULL;
            hami_internal_serve_consider(round->node, last_ns);
        }
    }
    return found;
}

static void end_stalled(struct hami_internal_round *round, struct hami_wait *wait,
                        const struct hami_internal_slot *slot)
{
    uint64_t age = (round->now_ns - slot->first_seen_ns) / NS_PER_S;
    bool waits = slot->reason == REASON_ALLOCATING || slot->reason == REASON_OVERDUE;

    hami_internal_count(&round->node->lock->counters.refused_stalled);
    hami_internal_node_end_wait(
        wait, HAMI_E_LIMIT, NULL, round->after,
        "node %s: the lock \"%.200s\" stands for %llu s without progress: %s%s",
        round->node->name, slot->pair.lock, (unsigned long long)age,
        hami_internal_protocol_reason_text(slot->reason),
        waits ? "; is that node ready, and does its device plugin run?" : "");
}

/*
 * A lock without a lease is the asker's by its name alone. Its pod may have been replaced
 * since it was looked at, and the lock be its successor's: so the look has to be a read
 * that began after the lock was seen.
 */
static bool is_own_by_name(const struct hami_wait *wait,
                           const struct hami_internal_slot *slot)
{
    const struct hami_internal_turn *turn = &wait->lease->turn;
    bool read = wait->asker == ASKER_FIT && turn->judged->facts.source == HAMI_FACTS_READ;

    return slot->record.kind == HAMI_LOCK_OWNED && slot->reason == REASON_OWN &&
           !slot->record.has_lease && !(read && turn->asker_ns >= slot->first_seen_ns);
}

static bool is_adopted_unseen(const struct hami_wait *wait,
                              struct hami_internal_slot *const *slots)
{
    for (size_t i = 0; i < wait->key_count; i++) {
        if (is_own_by_name(wait, slots[i]) ||
            (slot_is_permit(slots[i]) && is_own_by_name(wait, wait->node->cover))) {
            return true;
        }
    }
    return false;
}

/* All its keys are free. */
static enum hami_internal_look take_turn(struct hami_internal_round *round,
                                         struct hami_wait *wait,
                                         struct hami_internal_slot *const *slots)
{
    bool fresh = wait->asker == ASKER_FIT &&
                 round->now_ns < wait->lease->turn.asker_ns + HAMI_INTERNAL_ASKER_AGE_NS;

    if (round->node->lock->transport->inspect && is_adopted_unseen(wait, slots)) {
        round->node->suspects += wait->asker != ASKER_SUSPECT;
        wait->asker = ASKER_SUSPECT;
        return start_asker(round, wait);
    }
    if (round->node->lock->transport->inspect && !fresh) {
        return start_asker(round, wait);
    }
    return hami_internal_take_start(round, wait, slots);
}

/* Serves one waiter as far as can be. The wait may have ended on return. */
static enum hami_internal_look serve_one(struct hami_internal_round *round,
                                         struct hami_wait *wait)
{
    struct hami_internal_slot *slots[HAMI_NODELOCK_KEYS_MAX];
    struct hami_internal_grant *grant = own_grant(round, wait);
    uint64_t claimed = round->claimed;
    bool blocked = false;

    if (!begin_turn(round, wait)) {
        return LOOK_WORKING;
    }
    if (grant) {
        hami_internal_node_end_wait(wait, 0, grant, round->after, "%s", "");
        return LOOK_BLOCKED;
    }
    for (size_t i = 0; i < wait->key_count; i++) {
        enum hami_internal_look look =
            choose_slot(round, wait, wait_keys(wait)[i], &slots[i]);
        if (look == LOOK_WORKING) {
            return LOOK_WORKING;
        }
        blocked = blocked || look == LOOK_BLOCKED;
    }
    if (round->now_ns < wait->lease->turn.retry_ns) {
        hami_internal_serve_consider(round->node, wait->lease->turn.retry_ns);
        return LOOK_BLOCKED;
    }
    if (!blocked) {
        return take_turn(round, wait, slots);
    }
    if (wait->try_only) {
        end_try(round, wait);
        return LOOK_BLOCKED;
    }
    const struct hami_internal_slot *stalled =
        round->node->lock->config.stall_limit_ms ? stalled_slot(round, wait) : NULL;
    if (stalled) {
        end_stalled(round, wait, stalled);
        round->claimed = claimed; /* the next one waits for it in vain as well */
        return LOOK_BLOCKED;
    }
    /* Whoever is next is looked at beforehand, so that its turn costs one write. */
    if (wait->asker == ASKER_UNKNOWN && round->node->lock->transport->inspect &&
        round->node->queue.first == &wait->queued) {
        return start_asker(round, wait);
    }
    return LOOK_BLOCKED;
}

/* Waiters that must not wait for their turn: a lock of their own stands, or a watch
 * contradicts. */
static bool serve_marked(struct hami_internal_round *round)
{
    struct hami_internal_node *node = round->node;

    for (struct hami_internal_waiter *one = node->queue.first, *next; one; one = next) {
        struct hami_wait *wait = LIST_ENTRY(one, struct hami_wait, queued);
        next = queue_next(one);
        if (node->suspects == 0 && node->owners == 0) {
            break;
        }
        if (wait->lease && round->now_ns < wait->lease->turn.retry_ns) {
            continue;
        }
        if (wait->asker == ASKER_SUSPECT && !begin_turn(round, wait)) {
            return true;
        }
        if (wait->asker == ASKER_SUSPECT) {
            return start_asker(round, wait) == LOOK_WORKING;
        }
        if (wait->own) {
            /* Its lock may have gone meanwhile: then it waits for its turn. */
            hami_internal_node_mark_own(node, wait);
        }
        if (wait->own) {
            uint64_t claimed = round->claimed;
            if (serve_one(round, wait) == LOOK_WORKING) {
                return true;
            }
            round->claimed = claimed;
        }
    }
    return false;
}

static bool has_begun(const struct hami_internal_round *round)
{
    const struct hami_internal_after *after = round->after;

    return round->node->operation != OPERATION_NONE || after->need_call ||
           after->need_lease || after->need_permits || after->need_room > 0;
}

/* Where pods may be beside each other not all records are claimed by one that must wait;
 * with thousands of equal pods the look ends all the same. */
#define BESIDE_LOOKS 256

bool hami_internal_serve_waiters(struct hami_internal_node *node, uint64_t now_ns,
                                 struct hami_internal_after *after)
{
    struct hami_internal_round round = {.node = node, .after = after, .now_ns = now_ns};
    struct hami_internal_claims claims;
    uint64_t all =
        node->slot_count == 64 ? UINT64_MAX : (UINT64_C(1) << node->slot_count) - 1;
    uint32_t looks = 0;

    if (!node->queue.first) {
        return false;
    }
    if (serve_marked(&round)) {
        return has_begun(&round);
    }
    if (node->has_permits) {
        hami_internal_beside_clear(&claims);
        round.claims = &claims;
    }
    for (struct hami_internal_waiter *one = node->queue.first, *next; one; one = next) {
        struct hami_wait *wait = LIST_ENTRY(one, struct hami_wait, queued);
        if (round.claimed == all || (round.claims && looks++ == BESIDE_LOOKS)) {
            break;
        }
        next = queue_next(one);
        if (round.claims && hami_internal_cover_must_wait(&round, wait)) {
            continue;
        }
        if (serve_one(&round, wait) == LOOK_WORKING) {
            return has_begun(&round);
        }
    }
    return false;
}
