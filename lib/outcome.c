/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See outcome.h: news from watches, and which part an answer belongs to. News never
 * counts against a grant of ours unless it is surely newer; while a call is in flight it
 * is kept aside, since the call's edits point to what is known.
 */
#include "outcome.h"

#include <stdio.h>
#include <string.h>

#include "after.h"
#include "call.h"
#include "machine.h"
#include "node.h"
#include "outcome_parts.h"
#include "protocol.h"

/*
 * A grant of ours stands, and a watch shows something else. That counts if its lease
 * shows our fence or a higher one, for then it was written after ours; else it may be
 * older, and only a read can tell.
 */
static bool is_newer_than_grant(const struct hami_internal_slot *slot,
                                const struct hami_internal_pair *pair)
{
    struct hami_lock_record record = HAMI_LOCK_RECORD_INIT;

    (void)hami_lock_record_parse(pair->lock, pair->lease, &record);
    return record.last_fence >= slot->grant->fence;
}

static bool is_same_pair(const struct hami_internal_slot *slot,
                         const struct hami_internal_pair *pair)
{
    const char *a[] = {slot->pair.lock, slot->pair.lease};
    const char *b[] = {pair->lock, pair->lease};

    for (size_t i = 0; i < 2; i++) {
        if ((a[i] == NULL) != (b[i] == NULL) || (a[i] && strcmp(a[i], b[i]) != 0)) {
            return false;
        }
    }
    return slot->known;
}

static void apply_news(struct hami_internal_node *node, struct hami_internal_slot *slot,
                       struct hami_internal_pair *pair, const char *version,
                       struct hami_internal_after *after)
{
    uint64_t number = hami_internal_protocol_version_number(version);
    struct hami_internal_grant *grant = slot->grant;

    if (number != 0 && number <= slot->version_number) {
        return;
    }
    hami_internal_node_set_version(node, version, number);
    if (is_same_pair(slot, pair)) {
        slot->version_number = number ? number : slot->version_number;
        return;
    }
    if (number == 0 || (grant && !is_newer_than_grant(slot, pair))) {
        /* It can't be told whether this is older than what is known. */
        node->want_read = slot->known || node->queue.first != NULL;
        return;
    }
    hami_internal_node_swap_pair(node, slot, pair, number, after);
    if (grant) {
        hami_internal_node_review(node, grant, after);
    }
    hami_internal_node_mark_all_own(node);
}

static bool is_submit(enum hami_internal_operation operation)
{
    return operation == OPERATION_READ || operation == OPERATION_TAKE ||
           operation == OPERATION_REMOVE;
}

void hami_internal_outcome_news(struct hami_internal_node *node,
                                struct hami_internal_slot *slot,
                                struct hami_internal_pair *pair, const char *version,
                                struct hami_internal_after *after)
{
    if (!is_submit(node->operation)) {
        apply_news(node, slot, pair, version, after);
        return;
    }
    uint64_t number = hami_internal_protocol_version_number(version);
    uint64_t kept =
        slot->has_news ? hami_internal_protocol_version_number(slot->news_version) : 0;
    if (strlen(version) >= sizeof(slot->news_version) || (number != 0 && number < kept)) {
        return;
    }
    struct hami_internal_pair swap = slot->news;
    slot->news = *pair;
    *pair = swap;
    memcpy(slot->news_version, version, strlen(version) + 1);
    slot->has_news = true;
}

static void apply_kept_news(struct hami_internal_node *node,
                            struct hami_internal_after *after)
{
    for (size_t i = 0; i < node->slot_count; i++) {
        struct hami_internal_slot *slot = node->slots[i];
        if (slot->has_news) {
            slot->has_news = false;
            apply_news(node, slot, &slot->news, slot->news_version, after);
        }
    }
}

void hami_internal_outcome_apply(struct hami_internal_node *node,
                                 struct hami_internal_after *after)
{
    enum hami_internal_operation operation = node->operation;
    hami_call *call = node->call;
    struct hami_internal_answer *answer = &call->answer;

    node->operation = OPERATION_NONE;
    node->call = NULL;
    if (answer->code != 0 && answer->code != HAMI_E_HELD) {
        (void)snprintf(node->failure_text, sizeof(node->failure_text), "%.*s",
                       (int)sizeof(node->failure_text) - 1, answer->text);
    }
    switch (operation) {
    case OPERATION_READ:
        hami_internal_outcome_was_read(node, answer, after);
        break;
    case OPERATION_TAKE:
        hami_internal_outcome_took(node, node->operation_grant, answer, after);
        break;
    case OPERATION_REMOVE:
        hami_internal_outcome_removed(node, node->operation_grant, call, after);
        break;
    case OPERATION_INSPECT_ASKER:
        if (node->operation_wait) {
            hami_internal_outcome_asker_inspected(node->operation_wait, answer,
                                                  node->operation_ns, after);
        }
        break;
    case OPERATION_INSPECT_HOLDER:
    case OPERATION_REVOKE_HOLDER:
        hami_internal_outcome_holder_answered(node, node->operation_slot,
                                              operation == OPERATION_REVOKE_HOLDER, call,
                                              after);
        break;
    case OPERATION_REVOKE_OWN:
        hami_internal_outcome_own_revoked(node, node->operation_grant, call, after);
        break;
    case OPERATION_NONE:
        break;
    }
    hami_internal_after_free_facts(after, answer->facts);
    answer->facts = NULL;
    /* One that is being aborted may not be used again before the transport has let go of
     * it; one that is too small by now never. */
    if (node->spare_call || atomic_load(&call->references) > 1 ||
        call->edit_capacity < hami_internal_call_edits(node)) {
        after->free_call = call;
    } else {
        node->spare_call = call;
    }
    apply_kept_news(node, after);
}
