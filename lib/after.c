/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See after.h. */
#include "after.h"

#include <stdarg.h>
#include <stdio.h>

#include "call.h"
#include "dispatch.h"
#include "grant.h"
#include "memory.h"
#include "park.h"
#include "pen.h"

void hami_internal_after_init(struct hami_internal_after *after,
                              struct hami_internal_node *node)
{
    after->lock = node->lock;
    after->node = node;
    node->now_ns = hami_internal_now(node->lock);
    list_init(&after->ready_waits);
    list_init(&after->ready_dones);
    list_init(&after->ended_grants);
    after->fact_count = 0;
    after->sleepers = NULL;
    after->sleepers_end = &after->sleepers;
    after->need_call = after->need_grant = after->need_lease = false;
    after->need_permits = false;
    after->lost = after->wake = false;
    after->need_room = 0;
    after->abort = after->free_call = NULL;
    after->free_lease = NULL;
    after->log_count = 0;
    after->end_count = 0;
    after->change_count = 0;
}

void hami_internal_after_free_facts(struct hami_internal_after *after,
                                    struct hami_internal_facts *facts)
{
    if (!facts) {
        return;
    }
    if (after->fact_count < sizeof(after->facts) / sizeof(after->facts[0])) {
        after->facts[after->fact_count++] = facts;
    } else {
        /* More than a node's operation ever sets free: better under the lock than lost.
         */
        hami_internal_memory_free(hami_internal_allocator(after->lock), facts);
    }
}

void hami_internal_after_log(struct hami_internal_after *after, enum hami_log_level level,
                             const char *format, ...)
{
    va_list arguments;

    if (!after->lock->config.log ||
        after->log_count == sizeof(after->logs) / sizeof(after->logs[0])) {
        return;
    }
    after->logs[after->log_count].level = level;
    va_start(arguments, format);
    (void)vsnprintf(after->logs[after->log_count].line, sizeof(after->logs[0].line),
                    format, arguments);
    va_end(arguments);
    after->log_count++;
}

/* Texts that are "" are not known. */
static void keep_owner(char texts[3][HAMI_NODELOCK_NODE_MAX + 1],
                       const struct hami_owner *owner, struct hami_owner *ret)
{
    const char *from[3] = {owner->namespace_name, owner->name, owner->uid};
    const char **to[3] = {&ret->namespace_name, &ret->name, &ret->uid};

    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(texts[i], sizeof(texts[i]), "%s", from[i]);
        *to[i] = texts[i][0] != '\0' ? texts[i] : NULL;
    }
}

void hami_internal_after_change(struct hami_internal_after *after,
                                struct hami_internal_slot *slot, enum hami_hand_over how,
                                enum hami_internal_reason reason)
{
    const struct hami_lock_record *record = &slot->record;
    static const struct hami_owner unknown = {"", "", ""};
    struct hami_owner before = {slot->before.namespace_name, slot->before.name,
                                slot->before.uid};
    struct hami_owner to = {record->namespace_name, record->name, record->uid};
    bool is_free = record->kind == HAMI_LOCK_FREE || how == HAMI_HAND_OVER_NONE;
    bool is_taken_over = how == HAMI_HAND_OVER_TAKEOVER;

    if (!after->lock->config.changed ||
        after->change_count == sizeof(after->changes) / sizeof(after->changes[0])) {
        return;
    }
    struct hami_lock_change *change = &after->changes[after->change_count].change;
    char(*texts)[3][HAMI_NODELOCK_NODE_MAX + 1] =
        after->changes[after->change_count].texts;
    char *node = after->changes[after->change_count].node;

    *change = (struct hami_lock_change){
        .size = sizeof(*change),
        .node = node,
        .key = slot->key->records[slot->permit].lock,
        .how = is_free ? HAMI_HAND_OVER_NONE : how,
        .reason = is_taken_over ? hami_internal_protocol_reason_text(reason) : "",
        .proof = is_taken_over ? hami_internal_protocol_reason_word(reason) : "",
        .held_ns = slot->before.told ? 0 : slot->before.held_ns,
        .fence = is_free ? slot->before.fence : record->fence,
    };
    (void)snprintf(node, HAMI_NODELOCK_NODE_MAX + 1, "%s", after->node->name);
    keep_owner(texts[0], slot->before.told ? &unknown : &before, &change->from);
    slot->before.told = true;
    keep_owner(texts[1], is_free ? &unknown : &to, &change->to);
    after->change_count++;
}

void hami_internal_after_wake(struct hami_internal_after *after,
                              struct hami_internal_parking *parking)
{
    parking->next = NULL;
    *after->sleepers_end = parking;
    after->sleepers_end = &parking->next;
}

void hami_internal_after_wake_all(struct hami_internal_after *after)
{
    struct hami_internal_parking *parking = after->sleepers, *next;

    after->sleepers = NULL;
    after->sleepers_end = &after->sleepers;
    for (; parking; parking = next) {
        next = parking->next;
        atomic_uint *word = park_end(parking);
        if (word) {
            park_wake(word);
        }
    }
}

bool hami_internal_after_has_sleeper(const struct hami_internal_after *after)
{
    return after->sleepers && atomic_load_explicit(&after->sleepers->state,
                                                   memory_order_relaxed) == PARK_ASLEEP;
}

static void give_memory_back(struct hami_internal_after *after)
{
    struct hami_nodelock *lock = after->lock;
    const struct hami_allocator *allocator = hami_internal_allocator(lock);

    LIST_EACH_SAFE(link, next, &after->ended_grants)
    {
        hami_internal_grant_free(lock,
                                 LIST_ENTRY(link, struct hami_internal_grant, link));
    }
    list_init(&after->ended_grants);
    for (size_t i = 0; i < after->fact_count; i++) {
        hami_internal_memory_free(allocator, after->facts[i]);
    }
    after->fact_count = 0;
    if (after->free_lease) {
        hami_internal_memory_free(allocator, after->free_lease);
        after->free_lease = NULL;
    }
}

/* How a wait ended is kept with it; without memory as much of it as there is room for. */
static void keep_ends(struct hami_internal_after *after)
{
    const struct hami_allocator *allocator = hami_internal_allocator(after->lock);

    for (size_t i = 0; i < after->end_count; i++) {
        struct hami_internal_end *end = &after->ends[i].wait->end;
        end->text = hami_internal_memory_text(allocator, after->ends[i].text);
        if (!end->text) {
            pen_copy(end->brief, sizeof(end->brief), after->ends[i].text);
        }
    }
    after->end_count = 0;
}

static void tell(struct hami_internal_after *after)
{
    struct hami_nodelock *lock = after->lock;

    for (size_t i = 0; i < after->log_count; i++) {
        lock->config.log(lock->config.log_data, after->logs[i].level,
                         after->logs[i].line);
    }
    after->log_count = 0;
    for (size_t i = 0; i < after->change_count; i++) {
        lock->config.changed(lock->config.changed_data, &after->changes[i].change);
    }
    after->change_count = 0;
}

void hami_internal_after_run(struct hami_internal_after *after)
{
    struct hami_nodelock *lock = after->lock;

    if (after->sleepers) {
        hami_internal_after_wake_all(after);
    }
    if (after->free_call) {
        hami_internal_call_retire(lock, after->free_call);
        after->free_call = NULL;
    }
    if (after->abort) {
        if (lock->transport->abort) {
            lock->transport->abort(lock->transport, after->abort);
        }
        hami_internal_call_free(after->abort);
        after->abort = NULL;
    }
    if (!list_is_empty(&after->ended_grants) || after->fact_count > 0 ||
        after->free_lease) {
        give_memory_back(after);
    }
    if (after->end_count > 0) {
        keep_ends(after);
    }
    if (after->log_count + after->change_count > 0) {
        tell(after);
    }
    if (after->wake || after->lost || !list_is_empty(&after->ready_waits) ||
        !list_is_empty(&after->ready_dones)) {
        hami_internal_dispatch_queue(after);
    }
}
