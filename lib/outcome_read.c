/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See outcome_parts.h: what a read of the node means. It settles the doubt about a write
 * by comparing the whole record, holder and attempt included; then grants are compared
 * with what was read. Under the node's mutex; no I/O.
 */
#include "outcome_parts.h"

#include <string.h>

#include "after.h"
#include "call.h"
#include "cover.h"
#include "machine.h"
#include "node.h"
#include "protocol.h"

static enum hami_internal_standing standing(const struct hami_internal_grant *grant)
{
    for (size_t i = 0; i < grant->slot_count; i++) {
        const struct hami_internal_slot *slot = grant->slots[i];
        enum hami_internal_standing one = hami_internal_protocol_compare(
            slot->pair.lock, slot->pair.lease, grant->value, grant->lease);
        if (one != STANDING_OURS) {
            return one;
        }
    }
    return STANDING_OURS;
}

static void settle_take(struct hami_internal_node *node,
                        struct hami_internal_grant *grant,
                        const struct hami_internal_answer *answer,
                        struct hami_internal_after *after)
{
    struct hami_wait *taker = grant->taker;

    if (standing(grant) == STANDING_OURS) {
        hami_internal_outcome_granted(node, grant, answer, after);
        return;
    }
    /* It may land later, unless the pair changes before: one more read after its
     * deadline. */
    if (!node->doubt_refused && grant->write_deadline_ns < node->reread_ns) {
        node->reread_ns = grant->write_deadline_ns;
    }
    hami_internal_outcome_not_granted(node, grant, after);
    if (taker && taker->lease->turn.senseless >= HAMI_INTERNAL_PROTO_MAX) {
        hami_internal_outcome_refuse_wait(taker, HAMI_E_PROTO,
                                          "its answers to a write make no sense", after);
    } else if (taker && taker->lease->turn.retries++ >= 3) {
        /* Refused again and again, by heartbeats say: leave the server room. */
        taker->lease->turn.retry_ns =
            node->now_ns + hami_internal_machine_pause(node->lock, 0);
    }
}

static void settle_removal(struct hami_internal_node *node,
                           struct hami_internal_grant *grant,
                           struct hami_internal_after *after)
{
    enum hami_internal_standing now = standing(grant);

    if (now == STANDING_OURS) {
        hami_internal_outcome_retry_grant(node, grant);
        return;
    }
    bool success = now == STANDING_ABSENT || grant->unsure;
    if (success) {
        hami_internal_count(&node->lock->counters.releases);
    }
    hami_internal_node_end_grant(node, grant, success ? 0 : HAMI_E_LOST, after);
}

static void settle_checks(struct hami_internal_node *node,
                          struct hami_internal_after *after)
{
    LIST_EACH_SAFE(link, next, &node->checks)
    {
        struct hami_internal_done *done =
            LIST_ENTRY(link, struct hami_internal_done, link);
        if (done->started_ns > node->operation_ns) {
            continue;
        }
        int code = done->grant->gone ? done->grant->gone_code : 0;
        hami_internal_node_end_done(node, done, code, after, "%s",
                                    code == 0 ? ""
                                              : "the record is no longer in the store");
    }
}

static void learn_slots(struct hami_internal_node *node,
                        struct hami_internal_answer *answer,
                        struct hami_internal_after *after)
{
    uint64_t number = answer->version_number;

    for (size_t i = 0; i < node->slot_count && 2 * i + 1 < answer->value_count; i++) {
        struct hami_internal_slot *slot = node->slots[i];
        struct hami_internal_pair pair = {answer->texts[2 * i], answer->texts[2 * i + 1],
                                          answer->values[2 * i],
                                          answer->values[2 * i + 1]};
        if (slot->known && number != 0 && number < slot->version_number) {
            continue; /* a watch told something newer meanwhile */
        }
        hami_internal_node_swap_pair(node, slot, &pair, number, after);
        answer->texts[2 * i] = pair.lock_text;
        answer->texts[2 * i + 1] = pair.lease_text;
    }
}

/* The node's mark stands behind the records, where it was asked for. */
static void learn_mark(struct hami_internal_node *node,
                       const struct hami_internal_answer *answer)
{
    bool is_old = answer->version_number < node->version_number;

    if (answer->value_count % 2 == 1 && !is_old) {
        hami_internal_cover_learn_mark(node, answer->values[answer->value_count - 1]);
    }
}

static void read_failed(struct hami_internal_node *node,
                        const struct hami_internal_answer *answer,
                        struct hami_internal_after *after)
{
    node->failure = answer->code;
    node->read_retry_ns =
        node->now_ns + hami_internal_machine_pause(node->lock, node->read_retries++);
    bool senseless =
        answer->code == HAMI_E_PROTO && ++node->senseless >= HAMI_INTERNAL_PROTO_MAX;
    for (struct hami_internal_waiter *one = node->queue.first, *next; one; one = next) {
        struct hami_wait *wait = LIST_ENTRY(one, struct hami_wait, queued);
        next = queue_next(one);
        if (answer->code == HAMI_E_ACCESS || senseless) {
            hami_internal_outcome_refuse_wait(wait, answer->code, answer->text, after);
        } else if (wait->try_only) {
            bool known = answer->code == HAMI_E_NOMEM || answer->code == HAMI_E_PROTO;
            hami_internal_outcome_refuse_wait(
                wait, known ? answer->code : HAMI_E_TRANSPORT, answer->text, after);
        }
    }
    if (!node->queue.first && !node->doubt) {
        node->want_read = false; /* nobody needs it now */
    }
}

void hami_internal_outcome_was_read(struct hami_internal_node *node,
                                    struct hami_internal_answer *answer,
                                    struct hami_internal_after *after)
{
    struct hami_internal_grant *doubt = node->doubt;

    if (answer->code == HAMI_E_NODE) {
        hami_internal_outcome_node_gone(node, "there is no such node", after);
        return;
    }
    if (answer->code != 0 || !answer->has_values) {
        answer->code = answer->code == 0 ? HAMI_E_PROTO : answer->code;
        read_failed(node, answer, after);
        return;
    }
    node->want_read = false;
    node->read_ns = node->operation_ns;
    if (node->operation_ns >= node->reread_ns) {
        node->reread_ns = HAMI_DEADLINE_NEVER;
    }
    node->read_retries = node->senseless = 0;
    node->read_retry_ns = 0;
    node->failure = 0;
    hami_internal_outcome_learn_version(node, answer);
    learn_mark(node, answer);
    learn_slots(node, answer, after);
    node->doubt = NULL;
    if (doubt && node->doubt_removes) {
        settle_removal(node, doubt, after);
    } else if (doubt) {
        settle_take(node, doubt, answer, after);
    }
    LIST_EACH_SAFE(link, next, &node->grants)
    {
        hami_internal_node_review(
            node, LIST_ENTRY(link, struct hami_internal_grant, link), after);
    }
    settle_checks(node, after);
    hami_internal_node_mark_all_own(node);
}
