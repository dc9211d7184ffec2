/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See outcome.h. No refusal and no missing answer of a write is believed on its own: the
 * grant becomes the node's doubt, one read is made, and the whole record is compared,
 * holder and attempt included.
 */
#include "outcome.h"

#include <string.h>

#include "after.h"
#include "call.h"
#include "machine.h"
#include "node.h"
#include "protocol.h"

/* ---- news ---- */

static void mark_own_waiters(struct hami_internal_node *node)
{
    LIST_EACH(link, &node->waiters)
    {
        hami_internal_node_mark_own(node, LIST_ENTRY(link, struct hami_wait, link));
    }
}

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
    hami_internal_node_set_version(node, version);
    if (is_same_pair(slot, pair)) {
        slot->version_number = number ? number : slot->version_number;
        return;
    }
    if (number == 0 || (grant && !is_newer_than_grant(slot, pair))) {
        /* It can't be told whether this is older than what is known. */
        node->want_read = slot->known || !list_is_empty(&node->waiters);
        return;
    }
    hami_internal_node_swap_pair(node, slot, pair, after);
    slot->version_number = number;
    if (grant) {
        hami_internal_node_review(node, grant, after);
    }
    mark_own_waiters(node);
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

/* ---- writes ---- */

static void learn_version(struct hami_internal_node *node,
                          const struct hami_internal_answer *answer)
{
    hami_internal_node_set_version(node, answer->version);
    if (answer->server_time_us > node->server_time_us) {
        node->server_time_us = answer->server_time_us;
    }
}

static void set_slot(struct hami_internal_node *node, struct hami_internal_slot *slot,
                     const char *lock, const char *lease,
                     const struct hami_internal_answer *answer,
                     struct hami_internal_after *after)
{
    hami_internal_node_set_pair(node, slot, lock, lease, after);
    slot->version_number = hami_internal_protocol_version_number(answer->version);
}

/* Another record stood in a slot that our take has replaced. */
static void end_replaced(struct hami_internal_node *node, struct hami_internal_slot *slot,
                         struct hami_internal_after *after)
{
    struct hami_internal_counters *counters = &node->lock->counters;
    struct hami_internal_grant *old = slot->grant;

    if (old && old->state == GRANT_RELEASING) {
        hami_internal_count(&counters->releases);
        hami_internal_count(&counters->hand_overs);
        hami_internal_node_end_grant(node, old, 0, after);
        return;
    }
    if (slot->known && slot->record.kind != HAMI_LOCK_FREE &&
        slot->reason != REASON_OWN) {
        hami_internal_count(&counters->takeovers);
        hami_internal_after_log(after, HAMI_LOG_WARNING,
                                "Lock \"%.200s\" on node %s was taken over: %s",
                                slot->pair.lock, node->name,
                                hami_internal_protocol_reason_text(slot->reason));
    }
    if (old) {
        hami_internal_node_end_grant(node, old, 0, after);
    }
}

/* The take is in the store. */
static void granted(struct hami_internal_node *node, struct hami_internal_grant *grant,
                    const struct hami_internal_answer *answer,
                    struct hami_internal_after *after)
{
    for (size_t i = 0; i < grant->slot_count; i++) {
        struct hami_internal_slot *slot = grant->slots[i];
        end_replaced(node, slot, after);
        set_slot(node, slot, grant->value, grant->lease, answer, after);
        slot->grant = grant;
    }
    grant->retries = 0;
    grant->retry_ns = 0;
    if (grant->taker) {
        struct hami_wait *taker = grant->taker;
        grant->state = GRANT_STANDING;
        grant->taker = NULL;
        hami_internal_node_end_wait(taker, 0, grant, after, "%s", "");
        mark_own_waiters(node);
    } else {
        grant->state = GRANT_RELEASING;
        hami_internal_count(&node->lock->counters.undone);
    }
}

/* The take is surely not in the store, and will not be by this write unless a watch tells
 * so later. */
static void not_granted(struct hami_internal_node *node,
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

static void retry_wait(struct hami_wait *wait, int code,
                       struct hami_internal_after *after)
{
    wait->failure = code;
    if (wait->try_only) {
        hami_internal_node_end_wait(wait, code, NULL, after, "node %s: %s",
                                    wait->node->name, hami_strerror(code));
        return;
    }
    wait->retry_ns = hami_internal_now(wait->lock) +
                     hami_internal_machine_pause(wait->lock, wait->retries++);
}

static void refuse_wait(struct hami_wait *wait, int code, const char *text,
                        struct hami_internal_after *after)
{
    hami_internal_node_end_wait(wait, code, NULL, after, "node %s: %s%s%s",
                                wait->node->name, hami_strerror(code), *text ? ": " : "",
                                text);
}

/* Senseless answers may be a passing fault of something in between; not for ever. */
static void senseless_wait(struct hami_wait *wait, const char *text,
                           struct hami_internal_after *after)
{
    if (++wait->senseless >= HAMI_INTERNAL_PROTO_MAX || wait->try_only) {
        refuse_wait(wait, HAMI_E_PROTO, text, after);
    } else {
        retry_wait(wait, HAMI_E_PROTO, after);
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
static void unsettle_replaced(const struct hami_internal_grant *grant)
{
    for (size_t i = 0; i < grant->slot_count; i++) {
        struct hami_internal_grant *old = grant->slots[i]->grant;
        if (old && old->state == GRANT_RELEASING) {
            old->unsure = true;
        }
    }
}

static void took(struct hami_internal_node *node, struct hami_internal_grant *grant,
                 const struct hami_internal_answer *answer,
                 struct hami_internal_after *after)
{
    struct hami_wait *taker = grant->taker;

    switch (answer->code) {
    case 0:
        learn_version(node, answer);
        granted(node, grant, answer, after);
        return;
    case HAMI_E_NODE:
        hami_internal_outcome_node_gone(node, "there is no such node", after);
        return;
    case HAMI_E_ACCESS:
    case HAMI_E_TRANSPORT:
    case HAMI_E_NOMEM:
        not_granted(node, grant, after);
        if (taker && answer->code == HAMI_E_ACCESS) {
            refuse_wait(taker, HAMI_E_ACCESS, answer->text, after);
        } else if (taker) {
            retry_wait(taker, answer->code, after);
        }
        return;
    default:
        raise_doubt(node, grant, false, answer->code);
        if (answer->code != HAMI_E_HELD) {
            unsettle_replaced(grant);
        }
        if (taker && answer->code == HAMI_E_PROTO) {
            taker->senseless++;
        }
        return;
    }
}

static void retry_grant(struct hami_internal_node *node,
                        struct hami_internal_grant *grant)
{
    grant->retry_ns = hami_internal_now(node->lock) +
                      hami_internal_machine_pause(node->lock, grant->retries++);
}

static void removed(struct hami_internal_node *node, struct hami_internal_grant *grant,
                    const struct hami_internal_answer *answer, const char *memory,
                    struct hami_internal_after *after)
{
    switch (answer->code) {
    case 0:
        learn_version(node, answer);
        for (size_t i = 0; i < grant->slot_count; i++) {
            set_slot(node, grant->slots[i], NULL, memory, answer, after);
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
        retry_grant(node, grant);
        return;
    default:
        grant->unsure = grant->unsure || answer->code != HAMI_E_HELD;
        raise_doubt(node, grant, true, answer->code);
        return;
    }
}

/* ---- reads ---- */

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
        granted(node, grant, answer, after);
        return;
    }
    /* It may land later, unless the pair changes before: one more read after its
     * deadline. */
    if (!node->doubt_refused && grant->write_deadline_ns < node->reread_ns) {
        node->reread_ns = grant->write_deadline_ns;
    }
    not_granted(node, grant, after);
    if (taker && taker->senseless >= HAMI_INTERNAL_PROTO_MAX) {
        refuse_wait(taker, HAMI_E_PROTO, "its answers to a write make no sense", after);
    } else if (taker && taker->retries++ >= 3) {
        /* Refused again and again, by heartbeats say: leave the server room. */
        taker->retry_ns =
            hami_internal_now(node->lock) + hami_internal_machine_pause(node->lock, 0);
    }
}

static void settle_removal(struct hami_internal_node *node,
                           struct hami_internal_grant *grant,
                           struct hami_internal_after *after)
{
    enum hami_internal_standing now = standing(grant);

    if (now == STANDING_OURS) {
        retry_grant(node, grant);
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
    uint64_t number = hami_internal_protocol_version_number(answer->version);

    for (size_t i = 0; i < node->slot_count && 2 * i + 1 < answer->value_count; i++) {
        struct hami_internal_slot *slot = node->slots[i];
        struct hami_internal_pair pair = {answer->texts[2 * i], answer->texts[2 * i + 1],
                                          answer->values[2 * i],
                                          answer->values[2 * i + 1]};
        if (slot->known && number != 0 && number < slot->version_number) {
            continue; /* a watch told something newer meanwhile */
        }
        hami_internal_node_swap_pair(node, slot, &pair, after);
        answer->texts[2 * i] = pair.lock_text;
        answer->texts[2 * i + 1] = pair.lease_text;
        slot->version_number = number;
    }
}

static void read_failed(struct hami_internal_node *node,
                        const struct hami_internal_answer *answer,
                        struct hami_internal_after *after)
{
    node->failure = answer->code;
    node->read_retry_ns = hami_internal_now(node->lock) +
                          hami_internal_machine_pause(node->lock, node->read_retries++);
    bool senseless =
        answer->code == HAMI_E_PROTO && ++node->senseless >= HAMI_INTERNAL_PROTO_MAX;
    LIST_EACH_SAFE(link, next, &node->waiters)
    {
        struct hami_wait *wait = LIST_ENTRY(link, struct hami_wait, link);
        if (answer->code == HAMI_E_ACCESS || senseless) {
            refuse_wait(wait, answer->code, answer->text, after);
        } else if (wait->try_only) {
            bool known = answer->code == HAMI_E_NOMEM || answer->code == HAMI_E_PROTO;
            refuse_wait(wait, known ? answer->code : HAMI_E_TRANSPORT, answer->text,
                        after);
        }
    }
    if (list_is_empty(&node->waiters) && !node->doubt) {
        node->want_read = false; /* nobody needs it now */
    }
}

static void was_read(struct hami_internal_node *node, struct hami_internal_answer *answer,
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
    learn_version(node, answer);
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
    mark_own_waiters(node);
}

/* ---- owners ---- */

static struct hami_internal_facts *take_facts(struct hami_internal_answer *answer)
{
    struct hami_internal_facts *facts = answer->facts;

    answer->facts = NULL;
    return facts;
}

static void asker_inspected(struct hami_wait *wait, struct hami_internal_answer *answer,
                            uint64_t began_ns, struct hami_internal_after *after)
{
    struct hami_internal_node *node = wait->node;

    if (answer->code == HAMI_E_ACCESS) {
        refuse_wait(wait, answer->code, answer->text, after);
    } else if (answer->code == HAMI_E_PROTO) {
        senseless_wait(wait, answer->text, after);
    } else if (answer->code != 0) {
        retry_wait(wait, answer->code == HAMI_E_NOMEM ? HAMI_E_NOMEM : HAMI_E_TRANSPORT,
                   after);
    } else {
        struct hami_internal_facts *facts = take_facts(answer);
        bool suspect = wait->asker == ASKER_SUSPECT;
        const char *unfit = facts->facts.known
                                ? hami_internal_protocol_unfit(
                                      &facts->facts, wait->grant->owner.uid, node->name)
                                : NULL;
        hami_internal_after_free_facts(after, wait->grant->judged);
        wait->grant->judged = facts;
        wait->asker_ns = began_ns;
        node->suspects -= suspect;
        wait->asker = ASKER_FIT;
        if (!facts->facts.known || (unfit && facts->facts.source != HAMI_FACTS_READ)) {
            /* A view that lacks or contradicts costs one read, never a refusal. */
            wait->asker = ASKER_SUSPECT;
            node->suspects++;
            if (suspect) {
                retry_wait(wait, HAMI_E_TRANSPORT, after);
            }
        } else if (unfit) {
            hami_internal_node_end_wait(wait, HAMI_E_LOST, NULL, after,
                                        "pod %s/%s, node %s: %s",
                                        wait->grant->owner.namespace_name,
                                        wait->grant->owner.name, node->name, unfit);
        }
    }
}

static void holder_answered(struct hami_internal_node *node,
                            struct hami_internal_slot *slot, bool revoke,
                            struct hami_internal_answer *answer,
                            struct hami_internal_after *after)
{
    uint64_t now = hami_internal_now(node->lock);

    if (slot->first_seen_ns > node->operation_ns) {
        return; /* it was about a pair that is no longer there */
    }
    slot->asked = true;
    slot->ask_next_ns = now + HAMI_INTERNAL_ASK_AGAIN_NS;
    if (revoke) {
        slot->revoke_next_ns = slot->ask_next_ns;
    }
    hami_internal_after_free_facts(after, slot->facts);
    slot->facts = take_facts(answer);
    if (revoke && answer->code == 0) {
        slot->revoked = true;
        hami_internal_count(&node->lock->counters.revocations);
    }
}

/* What was read of this owner before its revocation is void: its Binding would be
 * refused. */
static void renew_askers(struct hami_internal_node *node, const char *uid)
{
    LIST_EACH(link, &node->waiters)
    {
        struct hami_wait *wait = LIST_ENTRY(link, struct hami_wait, link);
        if (wait->asker == ASKER_FIT && strcmp(wait->grant->owner.uid, uid) == 0) {
            wait->asker = ASKER_UNKNOWN;
        }
    }
}

static void own_revoked(struct hami_internal_node *node,
                        struct hami_internal_grant *grant,
                        struct hami_internal_answer *answer,
                        struct hami_internal_after *after)
{
    if ((answer->code != 0 && answer->code != HAMI_E_HELD) ||
        !answer->facts->facts.known) {
        retry_grant(node, grant);
        return;
    }
    if (answer->code == 0) {
        hami_internal_count(&node->lock->counters.revocations);
        renew_askers(node, grant->owner.uid);
    }
    switch (hami_internal_protocol_release(&answer->facts->facts, grant->owner.uid,
                                           node->name, grant->fence, answer->code == 0)) {
    case RELEASE_REMOVE:
        grant->no_binding = true;
        grant->retry_ns = 0;
        break;
    case RELEASE_REVOKE:
        retry_grant(node, grant);
        break;
    case RELEASE_HAND_OFF:
        grant->state = GRANT_STANDING;
        grant->handed_off = true;
        hami_internal_count(&node->lock->counters.handoffs);
        if (grant->release) {
            struct hami_internal_done *done = grant->release;
            grant->release = NULL;
            hami_internal_node_end_done(node, done, 0, after, "%s", "");
        }
        break;
    }
}

/* ---- all ---- */

void hami_internal_outcome_apply(struct hami_internal_node *node,
                                 struct hami_internal_after *after)
{
    enum hami_internal_operation operation = node->operation;
    hami_call *call = node->call;
    struct hami_internal_answer *answer = &call->answer;

    node->operation = OPERATION_NONE;
    node->call = NULL;
    switch (operation) {
    case OPERATION_READ:
        was_read(node, answer, after);
        break;
    case OPERATION_TAKE:
        took(node, node->operation_grant, answer, after);
        break;
    case OPERATION_REMOVE:
        removed(node, node->operation_grant, answer, call->memory, after);
        break;
    case OPERATION_INSPECT_ASKER:
        if (node->operation_wait) {
            asker_inspected(node->operation_wait, answer, node->operation_ns, after);
        }
        break;
    case OPERATION_INSPECT_HOLDER:
    case OPERATION_REVOKE_HOLDER:
        holder_answered(node, node->operation_slot, operation == OPERATION_REVOKE_HOLDER,
                        answer, after);
        break;
    case OPERATION_REVOKE_OWN:
        own_revoked(node, node->operation_grant, answer, after);
        break;
    case OPERATION_NONE:
        break;
    }
    if (answer->facts) {
        hami_internal_after_free_facts(after, take_facts(answer));
    }
    /* One that is being aborted may not be used again before the transport has let go of
     * it. */
    if (node->spare_call || atomic_load(&call->references) > 1) {
        after->free_call = call;
    } else {
        node->spare_call = call;
    }
    apply_kept_news(node, after);
}
