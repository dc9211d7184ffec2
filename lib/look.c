/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See look.h: asks lib/protocol.c about the pair, and starts what the verdict needs: a
 * read of the node, an inspection or a revocation of the owner. Under the node's mutex.
 */
#include "look.h"

#include <string.h>

#include "after.h"
#include "call.h"
#include "machine.h"
#include "node.h"
#include "protocol.h"
#include "serve.h"

static enum hami_internal_look start_inspect(struct hami_internal_round *round,
                                             struct hami_internal_slot *slot)
{
    hami_call *call =
        hami_internal_machine_begin(round->node, OPERATION_INSPECT_HOLDER, round->after);

    if (call) {
        round->node->operation_slot = slot;
        round->node->operation_sight = slot->sight;
        call->wants_read = true;
        hami_internal_call_set_owner(call, slot->record.namespace_name, slot->record.name,
                                     slot->record.uid);
    }
    return LOOK_WORKING;
}

static enum hami_internal_look start_revoke(struct hami_internal_round *round,
                                            struct hami_internal_slot *slot)
{
    hami_call *call =
        hami_internal_machine_begin(round->node, OPERATION_REVOKE_HOLDER, round->after);
    const char *uid = slot->record.has_lease ? slot->record.uid : slot->facts->facts.uid;

    if (call) {
        round->node->operation_slot = slot;
        round->node->operation_sight = slot->sight;
        hami_internal_call_set_owner(call, slot->record.namespace_name, slot->record.name,
                                     uid);
        hami_internal_machine_revocation(round->node, call, slot->record.fence);
    }
    return LOOK_WORKING;
}

/* While somebody waits, a blocked node is read again now and then: news may have been
 * lost. */
static void pace_reread(struct hami_internal_round *round,
                        const struct hami_internal_slot *slot)
{
    struct hami_internal_node *node = round->node;
    uint64_t due = node->read_ns;

    if (node->lock->transport->watch) {
        due = (slot->first_seen_ns > due ? slot->first_seen_ns : due) +
              HAMI_INTERNAL_REREAD_NS;
    } else {
        due += HAMI_INTERNAL_POLL_NS;
    }
    if (round->now_ns >= due) {
        node->want_read = true;
    } else {
        hami_internal_serve_consider(node, due);
    }
}

static void raise_alarm(struct hami_internal_round *round,
                        struct hami_internal_slot *slot)
{
    if (slot->reason == REASON_OVERDUE && !slot->alarmed) {
        slot->alarmed = true;
        hami_internal_count(&round->node->lock->counters.alarms);
        hami_internal_after_log(
            round->after, HAMI_LOG_ERROR, "Lock of pod %s/%s on node %s: %s",
            slot->record.namespace_name, slot->record.name, round->node->name,
            hami_internal_protocol_reason_text(slot->reason));
    }
}

static void judge(const struct hami_internal_round *round,
                  const struct hami_internal_slot *slot,
                  struct hami_internal_judgement *ret)
{
    static const struct hami_owner_facts unknown = {.size = sizeof(unknown)};
    const struct hami_nodelock *lock = round->node->lock;
    struct hami_internal_judge_input input = {
        .record = &slot->record,
        .node = round->node->name,
        .facts = slot->facts   ? &slot->facts->facts
                 : slot->asked ? &unknown
                               : NULL,
        .revoked = slot->revoked,
        .can_inspect = lock->transport->inspect != NULL,
        .can_revoke = lock->transport->revoke != NULL,
        .expire_bound = (lock->config.flags & HAMI_NODELOCK_EXPIRE_BOUND_OWNERS) != 0,
        .first_seen_ns = slot->first_seen_ns,
        .now_ns = round->now_ns,
        .expire_ns = lock->config.expire_ms * NS_PER_MS,
        .hold_limit_ns = lock->config.hold_limit_ms * NS_PER_MS,
    };

    hami_internal_protocol_judge(&input, ret);
}

static bool has_rival(const struct hami_internal_round *round,
                      const struct hami_internal_slot *slot)
{
    uint64_t rival_ns = slot->rival_ns;

    if (slot->hand_overs < HAMI_INTERNAL_HAND_OVERS_MAX) {
        return false;
    }
    /* Another's take beside shows in the cover, whichever permit it takes. */
    if (slot_is_permit(slot) && round->node->cover->rival_ns > rival_ns) {
        rival_ns = round->node->cover->rival_ns;
    }
    return rival_ns != 0 && round->now_ns < rival_ns + HAMI_INTERNAL_RIVAL_NS;
}

/*
 * Until when a lock whose pod is served is left to others: where its node side frees it,
 * that write is on its way, and another one beside it would only be refused, or have it
 * refused. Where this side frees it, another replica has the first try after many that
 * were passed on here in a row.
 */
static uint64_t left_to_others_until(const struct hami_internal_round *round,
                                     const struct hami_internal_slot *slot)
{
    if (!slot->record.free_by_scheduler) {
        return slot->facts_ns + HAMI_INTERNAL_NODE_FREES_NS;
    }
    return has_rival(round, slot) ? slot->facts_ns + HAMI_INTERNAL_YIELD_NS : 0;
}

/* A lock may be taken. */
static enum hami_internal_look look_at_takeable(struct hami_internal_round *round,
                                                const struct hami_internal_slot *slot)
{
    if (slot->reason == REASON_DONE && slot->facts_ns != 0) {
        uint64_t until_ns = left_to_others_until(round, slot);

        if (round->now_ns < until_ns) {
            hami_internal_serve_consider(round->node, until_ns);
            return LOOK_BLOCKED;
        }
    }
    return LOOK_AVAILABLE;
}

/* A node is asked about at most once a second; but of pods beside each other each is
 * asked about for the first time as soon as if it were alone. */
static uint64_t ask_time(const struct hami_internal_node *node,
                         const struct hami_internal_slot *slot)
{
    bool paced = slot->asked || !slot_is_permit(slot);

    return paced && node->ask_next_ns > slot->ask_next_ns ? node->ask_next_ns
                                                          : slot->ask_next_ns;
}

/* A pair that is not free, and that no lease of this process holds. */
static enum hami_internal_look look_at_pair(struct hami_internal_round *round,
                                            const struct hami_wait *wait,
                                            struct hami_internal_slot *slot)
{
    struct hami_internal_judgement judgement;
    uint64_t ask_ns = ask_time(round->node, slot);
    bool can_ask =
        round->node->lock->transport->inspect && slot->record.kind == HAMI_LOCK_OWNED;

    judge(round, slot, &judgement);
    slot->reason = judgement.reason;
    raise_alarm(round, slot);
    if (judgement.verdict == VERDICT_TAKE) {
        return look_at_takeable(round, slot);
    }
    if (round->glances) {
        hami_internal_serve_consider(round->node, judgement.next_ns);
        return LOOK_BLOCKED;
    }
    if (judgement.verdict == VERDICT_REVOKE && round->now_ns >= slot->revoke_next_ns) {
        return start_revoke(round, slot);
    }
    if (can_ask && (round->now_ns >= ask_ns || (wait->try_only && !slot->asked))) {
        return start_inspect(round, slot);
    }
    hami_internal_serve_consider(round->node, judgement.next_ns);
    if (can_ask) {
        hami_internal_serve_consider(round->node, ask_ns);
    }
    pace_reread(round, slot);
    return LOOK_BLOCKED;
}

/*
 * A grant that is being given back is handed over in one write, without a gap. Where
 * another replica was seen on this node lately, that ends after a while: it would never
 * find the lock free.
 */
static enum hami_internal_look look_at_released(const struct hami_internal_round *round,
                                                const struct hami_wait *wait,
                                                const struct hami_internal_slot *slot)
{
    const struct hami_internal_grant *grant = slot->grant;
    bool harmless = grant->no_binding || !round->node->lock->transport->revoke;

    if (!harmless || round->now_ns < grant->retry_ns ||
        grant->slot_count != wait->key_count) {
        return LOOK_BLOCKED;
    }
    return has_rival(round, slot) ? LOOK_BLOCKED : LOOK_AVAILABLE;
}

uint64_t hami_internal_look_bit(const struct hami_internal_round *round,
                                const struct hami_internal_slot *slot)
{
    size_t index = 0;

    while (round->node->slots[index] != slot) {
        index++;
    }
    return UINT64_C(1) << index;
}

enum hami_internal_look hami_internal_look_at_slot(struct hami_internal_round *round,
                                                   const struct hami_wait *wait,
                                                   struct hami_internal_slot *slot)
{
    const struct hami_internal_grant *grant = slot->grant;
    const struct hami_owner owner = wait_owner(wait);

    if (!slot->known) {
        round->node->want_read = true;
        return LOOK_WORKING;
    }
    if (grant && grant->state == GRANT_RELEASING) {
        return look_at_released(round, wait, slot);
    }
    if (grant && (!grant->handed_off || grant->gone)) {
        return LOOK_BLOCKED; /* a lease of this process holds it */
    }
    if (slot->record.kind == HAMI_LOCK_FREE && round->now_ns < slot->yield_until_ns) {
        hami_internal_serve_consider(round->node, slot->yield_until_ns);
        return LOOK_BLOCKED;
    }
    if (slot->record.kind == HAMI_LOCK_FREE || hami_internal_node_is_own(slot, &owner)) {
        slot->reason = slot->record.kind == HAMI_LOCK_FREE ? REASON_FREE : REASON_OWN;
        return LOOK_AVAILABLE;
    }
    return look_at_pair(round, wait, slot);
}

enum hami_internal_look hami_internal_look_glance(struct hami_internal_round *round,
                                                  const struct hami_wait *wait,
                                                  struct hami_internal_slot *slot)
{
    round->glances = true;
    enum hami_internal_look look = hami_internal_look_at_slot(round, wait, slot);
    round->glances = false;
    return look;
}
