/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See outcome_parts.h: what was learned about an owner, by an inspection or a revocation.
 * Under the node's mutex; no I/O.
 */
#include "outcome_parts.h"

#include <string.h>

#include "after.h"
#include "call.h"
#include "machine.h"
#include "node.h"
#include "protocol.h"

static struct hami_internal_facts *take_facts(struct hami_internal_answer *answer)
{
    struct hami_internal_facts *facts = answer->facts;

    answer->facts = NULL;
    return facts;
}

void hami_internal_outcome_asker_inspected(struct hami_wait *wait,
                                           struct hami_internal_answer *answer,
                                           uint64_t began_ns,
                                           struct hami_internal_after *after)
{
    struct hami_internal_node *node = wait->node;

    if (answer->code == HAMI_E_ACCESS) {
        hami_internal_outcome_refuse_wait(wait, answer->code, answer->text, after);
    } else if (answer->code == HAMI_E_PROTO) {
        hami_internal_outcome_senseless_wait(wait, answer->text, after);
    } else if (answer->code != 0) {
        hami_internal_outcome_retry_wait(
            wait, answer->code == HAMI_E_NOMEM ? HAMI_E_NOMEM : HAMI_E_TRANSPORT, after);
    } else {
        struct hami_internal_facts *facts = take_facts(answer);
        bool suspect = wait->asker == ASKER_SUSPECT;
        const char *unfit =
            facts->facts.known
                ? hami_internal_protocol_unfit(&facts->facts, wait->uid, node->name)
                : NULL;
        struct hami_internal_turn *turn = &wait->lease->turn;
        hami_internal_after_free_facts(after, turn->judged);
        turn->judged = facts;
        turn->asker_ns = began_ns;
        node->suspects -= suspect;
        wait->asker = ASKER_FIT;
        if (!facts->facts.known || (unfit && facts->facts.source != HAMI_FACTS_READ)) {
            /* A view that lacks or contradicts costs one read, never a refusal. */
            wait->asker = ASKER_SUSPECT;
            node->suspects++;
            if (suspect) {
                hami_internal_outcome_retry_wait(wait, HAMI_E_TRANSPORT, after);
            }
        } else if (unfit) {
            hami_internal_node_end_wait(
                wait, HAMI_E_LOST, NULL, after, "pod %s/%s, node %s: %s",
                wait->queued.crowd->name, wait->name, node->name, unfit);
        }
    }
}

/* What was read of this owner before its revocation is void: its Binding would be
 * refused. A call that was given up on does not say whose it was (NULL): then all is read
 * again. */
static void renew_askers(struct hami_internal_node *node, const char *uid)
{
    for (struct hami_internal_waiter *one = node->queue.first; one;
         one = queue_next(one)) {
        struct hami_wait *wait = LIST_ENTRY(one, struct hami_wait, queued);
        if (wait->asker == ASKER_FIT && (!uid || strcmp(wait->uid, uid) == 0)) {
            wait->asker = ASKER_UNKNOWN;
        }
    }
}

/*
 * How long an owner is left alone after it was asked about. It is as good as sure that
 * somebody who has held for a minute still does a second later, and with thousands of
 * nodes that pods hold while they start, asking is most of what there is to do. Where a
 * stall ends waits, that is judged by answers, and soon nobody waits.
 */
static uint64_t ask_pause(const struct hami_internal_node *node,
                          const struct hami_internal_slot *slot)
{
    uint64_t held_ns =
        node->now_ns > slot->first_seen_ns ? node->now_ns - slot->first_seen_ns : 0;
    uint64_t pause = held_ns / 4 < HAMI_INTERNAL_ASK_PAUSE_MAX_NS
                         ? held_ns / 4
                         : HAMI_INTERNAL_ASK_PAUSE_MAX_NS;
    bool is_short =
        pause < HAMI_INTERNAL_ASK_AGAIN_NS || node->lock->config.stall_limit_ms > 0;

    return is_short ? HAMI_INTERNAL_ASK_AGAIN_NS : pause;
}

void hami_internal_outcome_holder_answered(struct hami_internal_node *node,
                                           struct hami_internal_slot *slot, bool revoke,
                                           hami_call *call,
                                           struct hami_internal_after *after)
{
    struct hami_internal_answer *answer = &call->answer;
    uint64_t now = node->now_ns;

    node->ask_next_ns = now + HAMI_INTERNAL_ASK_AGAIN_NS;
    if (revoke && (answer->code == 0 || answer->code == HAMI_E_IN_DOUBT)) {
        renew_askers(node, hami_call_owner(call)->uid);
    }
    if (slot->sight != node->operation_sight) {
        return; /* it was about a pair that is no longer there */
    }
    slot->asked = true;
    slot->asked_ns = now;
    slot->ask_next_ns = now + ask_pause(node, slot);
    if (revoke) {
        slot->revoke_next_ns = node->ask_next_ns;
    }
    hami_internal_after_free_facts(after, slot->facts);
    slot->facts = take_facts(answer);
    slot->facts_ns = now;
    if (revoke && answer->code == 0) {
        slot->revoked = true;
        if (slot->grant) {
            slot->grant->no_binding = true;
        }
        hami_internal_count(&node->lock->counters.revocations);
        hami_internal_node_mark_all_own(node);
    }
}

void hami_internal_outcome_own_revoked(struct hami_internal_node *node,
                                       struct hami_internal_grant *grant,
                                       const hami_call *call,
                                       struct hami_internal_after *after)
{
    const struct hami_internal_answer *answer = &call->answer;

    if (answer->code == 0 || answer->code == HAMI_E_IN_DOUBT) {
        renew_askers(node, hami_call_owner(call)->uid);
    }
    if (answer->code == 0) {
        hami_internal_count(&node->lock->counters.revocations);
    }
    if (!grant) {
        return;
    }
    if ((answer->code != 0 && answer->code != HAMI_E_HELD) ||
        !answer->facts->facts.known) {
        hami_internal_outcome_retry_grant(node, grant);
        return;
    }
    switch (hami_internal_protocol_release(&answer->facts->facts, grant->owner.uid,
                                           node->name, grant->fence, answer->code == 0)) {
    case RELEASE_REMOVE:
        grant->no_binding = true;
        grant->retry_ns = 0;
        break;
    case RELEASE_REVOKE:
        hami_internal_outcome_retry_grant(node, grant);
        break;
    case RELEASE_HAND_OFF:
        grant->state = GRANT_STANDING;
        grant->handed_off = true;
        grant->state_ns = node->now_ns;
        hami_internal_count(&node->lock->counters.handoffs);
        if (grant->release) {
            struct hami_internal_done *done = grant->release;
            grant->release = NULL;
            hami_internal_node_end_done(node, done, 0, after, "%s", "");
        }
        break;
    }
}
