/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See outcome_parts.h: what the answer to a take or a removal means. No refusal and no
 * missing answer is believed on its own: the grant becomes the node's doubt, and
 * outcome_read.c settles it. Under the node's mutex; no I/O.
 */
#include "outcome_parts.h"

#include <string.h>

#include "after.h"
#include "call.h"
#include "cover.h"
#include "grant.h"
#include "machine.h"
#include "node.h"
#include "protocol.h"
#include "record.h"

void hami_internal_outcome_learn_version(struct hami_internal_node *node,
                                         const struct hami_internal_answer *answer)
{
    hami_internal_node_set_version(node, answer->version, answer->version_number);
    if (answer->server_time_us > node->server_time_us) {
        node->server_time_us = answer->server_time_us;
    }
}

/* Another record stood in a slot that our take has replaced. @done it was the scheduler
 * side's to free, which this was. */
static void end_replaced(struct hami_internal_node *node, struct hami_internal_slot *slot,
                         bool done, struct hami_internal_after *after)
{
    struct hami_internal_counters *counters = &node->lock->counters;
    struct hami_internal_grant *old = slot->grant;

    if (old && old->state == GRANT_RELEASING) {
        hami_internal_count(&counters->releases);
        hami_internal_count(&counters->hand_overs);
        slot->hand_overs++;
        hami_internal_node_end_grant(node, old, 0, after);
        return;
    }
    slot->hand_overs = done ? slot->hand_overs + 1 : 0;
    if (old && old->shares > 0) {
        /* One share was handed off, and others are held: they have to be told. */
        hami_internal_node_lose_grant(node, old, HAMI_E_LOST, after);
    } else if (old) {
        hami_internal_node_end_grant(node, old, 0, after);
    }
}

/* By now a read may have put the new record in the old one's place. */
static void tell_takeover(struct hami_internal_node *node,
                          const struct hami_internal_grant *grant,
                          struct hami_internal_after *after)
{
    const struct hami_internal_slot *cover = node->cover, *slot = grant->slots[0];
    bool is_covers = grant->is_beside && !slot_is_copy(cover) && cover->pair.lock;

    slot = is_covers ? cover : slot;
    bool seen =
        slot->known && slot->pair.lock && strcmp(slot->pair.lock, grant->value) != 0;

    if (grant->takes_from != REASON_NONE) {
        hami_internal_count(&node->lock->counters.takeovers);
        hami_internal_after_log(
            after, HAMI_LOG_WARNING,
            "Lock \"%.200s\" on node %s was taken over for pod %s/%s: %s",
            seen ? slot->pair.lock : "(of another owner)", node->name,
            grant->owner.namespace_name, grant->owner.name,
            hami_internal_protocol_reason_text(grant->takes_from));
    }
}

static bool is_given_back(const struct hami_internal_slot *slot)
{
    return slot->grant && slot->grant->state == GRANT_RELEASING;
}

static enum hami_hand_over hand_over(const struct hami_internal_node *node,
                                     const struct hami_internal_grant *grant)
{
    if (grant->takes_from != REASON_NONE) {
        return HAMI_HAND_OVER_TAKEOVER;
    }
    if (grant->takes_done || is_given_back(grant->slots[0]) ||
        (grant->is_beside && is_given_back(node->cover))) {
        return HAMI_HAND_OVER_DIRECT;
    }
    return grant->takes_own ? HAMI_HAND_OVER_OWN : HAMI_HAND_OVER_TAKE;
}

/* A take beside others has put a copy of its pair into the cover, where an exclusive
 * owner's may have stood. */
static void cover_taken(struct hami_internal_node *node,
                        const struct hami_internal_grant *grant,
                        const struct hami_internal_answer *answer,
                        struct hami_internal_after *after)
{
    struct hami_internal_slot *cover = node->cover;

    node->beside_row++;
    if (cover->grant) {
        end_replaced(node, cover, grant->takes_done, after);
    }
    hami_internal_node_covered(node, grant->slots[0], after);
    cover->version_number = answer->version_number;
}

static void count_beside(const struct hami_internal_node *node,
                         const struct hami_internal_grant *grant)
{
    for (size_t i = 0; i < HAMI_INTERNAL_BESIDE_MAX; i++) {
        const struct hami_internal_slot *slot = node->permits[i];
        if (slot != grant->slots[0] && slot->record.kind != HAMI_LOCK_FREE) {
            hami_internal_count(&node->lock->counters.beside);
            return;
        }
    }
}

/* The take is in the store. */
void hami_internal_outcome_granted(struct hami_internal_node *node,
                                   struct hami_internal_grant *grant,
                                   const struct hami_internal_answer *answer,
                                   struct hami_internal_after *after)
{
    enum hami_hand_over how = hand_over(node, grant);
    tell_takeover(node, grant, after);
    if (grant->takes_done && grant->takes_from == REASON_NONE) {
        hami_internal_count(&node->lock->counters.hand_overs);
    }
    for (size_t i = 0; i < grant->slot_count; i++) {
        struct hami_internal_slot *slot = grant->slots[i];
        end_replaced(node, slot, grant->takes_done, after);
        hami_internal_node_taken(node, slot, grant, after);
        slot->version_number = answer->version_number;
        slot->grant = grant;
        hami_internal_node_note_hand_over(node, slot, how, grant->takes_from);
        hami_internal_after_change(after, slot, how, grant->takes_from);
    }
    if (grant->is_beside) {
        cover_taken(node, grant, answer, after);
    }
    grant->state_ns = node->now_ns;
    grant->retries = 0;
    grant->retry_ns = 0;
    if (grant->taker) {
        struct hami_wait *taker = grant->taker;
        grant->state = GRANT_STANDING;
        grant->taker = NULL;
        if (grant->is_beside) {
            count_beside(node, grant);
        }
        hami_internal_node_end_wait(taker, 0, grant, after, "%s", "");
        hami_internal_node_mark_all_own(node);
    } else {
        grant->state = GRANT_RELEASING;
        hami_internal_count(&node->lock->counters.undone);
    }
}

/* The take is surely not in the store, and will not be by this write unless a watch tells
 * so later. */
void hami_internal_outcome_not_granted(struct hami_internal_node *node,
                                       struct hami_internal_grant *grant,
                                       struct hami_internal_after *after)
{
    if (grant->taker) {
        list_remove(&grant->link);
        grant->state = GRANT_READY;
        grant->taker = NULL;
    } else {
        hami_internal_node_end_grant(node, grant, 0, after);
    }
}

void hami_internal_outcome_retry_wait(struct hami_wait *wait, int code,
                                      struct hami_internal_after *after)
{
    struct hami_internal_turn *turn = &wait->lease->turn;

    turn->failure = code;
    if (wait->try_only) {
        hami_internal_node_end_wait(wait, code, NULL, after, "node %s: %s",
                                    wait->node->name, hami_strerror(code));
        return;
    }
    turn->retry_ns = wait->node->now_ns +
                     hami_internal_machine_pause(wait->node->lock, turn->retries++);
}

void hami_internal_outcome_refuse_wait(struct hami_wait *wait, int code, const char *text,
                                       struct hami_internal_after *after)
{
    hami_internal_node_end_wait(wait, code, NULL, after, "node %s: %s%s%s",
                                wait->node->name, hami_strerror(code), *text ? ": " : "",
                                text);
}

/* Senseless answers may be a passing fault of something in between; not for ever. */
void hami_internal_outcome_senseless_wait(struct hami_wait *wait, const char *text,
                                          struct hami_internal_after *after)
{
    if (++wait->lease->turn.senseless >= HAMI_INTERNAL_PROTO_MAX || wait->try_only) {
        hami_internal_outcome_refuse_wait(wait, HAMI_E_PROTO, text, after);
    } else {
        hami_internal_outcome_retry_wait(wait, HAMI_E_PROTO, after);
    }
}

static void raise_doubt(struct hami_internal_node *node,
                        struct hami_internal_grant *grant, bool removes, int code)
{
    node->doubt = grant;
    node->doubt_removes = removes;
    node->doubt_refused = code == HAMI_E_HELD;
    node->read_retry_ns = 0;
    if (code != HAMI_E_HELD) {
        hami_internal_count(&node->lock->counters.in_doubt);
    }
}

void hami_internal_outcome_node_gone(struct hami_internal_node *node, const char *text,
                                     struct hami_internal_after *after)
{
    hami_internal_node_end_all_waits(node, HAMI_E_NODE, after, text);
    for (size_t i = 0; i < node->slot_count; i++) {
        node->slots[i]->known = false;
    }
    LIST_EACH_SAFE(link, next, &node->grants)
    {
        struct hami_internal_grant *grant =
            LIST_ENTRY(link, struct hami_internal_grant, link);
        if (grant->state == GRANT_TAKING) {
            hami_internal_node_end_grant(node, grant, 0, after);
        } else if (!grant->gone) {
            hami_internal_node_lose_grant(node, grant, HAMI_E_NODE, after);
        }
    }
    LIST_EACH_SAFE(link, next, &node->checks)
    {
        hami_internal_node_end_done(node,
                                    LIST_ENTRY(link, struct hami_internal_done, link),
                                    HAMI_E_NODE, after, "%s", text);
    }
    node->want_read = false;
    node->doubt = NULL;
}

/* The hand-over may have replaced them unseen. */
static void unsettle_replaced(const struct hami_internal_node *node,
                              const struct hami_internal_grant *grant)
{
    for (size_t i = 0; i < grant->slot_count; i++) {
        if (is_given_back(grant->slots[i])) {
            grant->slots[i]->grant->unsure = true;
        }
    }
    if (grant->is_beside && is_given_back(node->cover)) {
        node->cover->grant->unsure = true;
    }
}

void hami_internal_outcome_took(struct hami_internal_node *node,
                                struct hami_internal_grant *grant,
                                const struct hami_internal_answer *answer,
                                struct hami_internal_after *after)
{
    struct hami_wait *taker = grant->taker;

    switch (answer->code) {
    case 0:
        hami_internal_outcome_learn_version(node, answer);
        hami_internal_outcome_granted(node, grant, answer, after);
        return;
    case HAMI_E_NODE:
        hami_internal_outcome_node_gone(node, "there is no such node", after);
        return;
    case HAMI_E_ACCESS:
    case HAMI_E_TRANSPORT:
    case HAMI_E_NOMEM:
        hami_internal_outcome_not_granted(node, grant, after);
        if (taker && answer->code == HAMI_E_ACCESS) {
            hami_internal_outcome_refuse_wait(taker, HAMI_E_ACCESS, answer->text, after);
        } else if (taker) {
            hami_internal_outcome_retry_wait(taker, answer->code, after);
        }
        return;
    default:
        raise_doubt(node, grant, false, answer->code);
        if (answer->code != HAMI_E_HELD) {
            unsettle_replaced(node, grant);
        }
        if (taker && answer->code == HAMI_E_PROTO) {
            taker->lease->turn.senseless++;
        }
        return;
    }
}

void hami_internal_outcome_retry_grant(struct hami_internal_node *node,
                                       struct hami_internal_grant *grant)
{
    grant->retry_ns =
        node->now_ns + hami_internal_machine_pause(node->lock, grant->retries++);
}

static void slot_freed(struct hami_internal_node *node, struct hami_internal_slot *slot,
                       uint64_t fence, const hami_call *call,
                       struct hami_internal_after *after)
{
    /* The next one with these calls might take another permit. */
    struct hami_internal_slot *left = slot_is_permit(slot) ? node->cover : slot;

    hami_internal_node_freed(node, slot, fence, call->memory, after);
    slot->version_number = call->answer.version_number;
    if (slot_is_permit(slot)) {
        hami_internal_cover_removed(node, call, after);
    }
    if (slot->hand_overs >= HAMI_INTERNAL_HAND_OVERS_MAX) {
        left->yield_until_ns = slot->first_seen_ns + HAMI_INTERNAL_YIELD_NS;
    }
    slot->hand_overs = 0;
}

void hami_internal_outcome_removed(struct hami_internal_node *node,
                                   struct hami_internal_grant *grant,
                                   const hami_call *call,
                                   struct hami_internal_after *after)
{
    const struct hami_internal_answer *answer = &call->answer;

    switch (answer->code) {
    case 0:
        hami_internal_outcome_learn_version(node, answer);
        for (size_t i = 0; i < grant->slot_count; i++) {
            slot_freed(node, grant->slots[i], grant->fence, call, after);
        }
        hami_internal_count(&node->lock->counters.releases);
        hami_internal_node_end_grant(node, grant, 0, after);
        return;
    case HAMI_E_NODE:
        hami_internal_outcome_node_gone(node, "there is no such node", after);
        return;
    case HAMI_E_ACCESS:
    case HAMI_E_TRANSPORT:
    case HAMI_E_NOMEM:
        hami_internal_outcome_retry_grant(node, grant);
        return;
    default:
        grant->unsure = grant->unsure || answer->code != HAMI_E_HELD;
        raise_doubt(node, grant, true, answer->code);
        return;
    }
}
