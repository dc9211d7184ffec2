/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See node.h. Invariants, all under the node's mutex:
 *  - at most one operation is in flight; the texts that its edits point to are not
 * changed meanwhile (news is kept aside in the slot);
 *  - a slot's grant is in node.grants and lists the slot; a grant that has ended is in
 * neither;
 *  - a wait is in node.queue until it has ended, and ends once;
 *  - a slot whose grant is held by a lease is granted to nobody else, whatever the store
 * says.
 */
#include "node.h"

#include <string.h>

#include "after.h"
#include "cancel.h"
#include "call.h"
#include "errors.h"
#include "grant.h"
#include "history.h"
#include "memory.h"
#include "record.h"

#define WAITS_ROOM 16 /* of one owner; where more wait, all are looked at */

struct hami_internal_slot *
hami_internal_node_slot_new(struct hami_internal_node *node,
                            const struct hami_internal_key *key, size_t permit)
{
    const struct hami_nodelock *lock = node->lock;
    const struct hami_allocator *allocator = hami_internal_allocator(lock);
    struct hami_internal_slot *slot = hami_internal_memory_zero(allocator, sizeof(*slot));

    if (!slot) {
        return NULL;
    }
    slot->key = key;
    slot->node = node;
    slot->permit = permit;
    slot->record.size = sizeof(slot->record);
    slot->pair.lock_text.capacity = HAMI_LOCK_VALUE_MAX;
    slot->pair.lock_text.data = hami_internal_memory_zero(allocator, HAMI_LOCK_VALUE_MAX);
    slot->pair.lease_text.capacity = hami_internal_record_lease_size(
        HAMI_LOCK_VALUE_MAX, HAMI_NODELOCK_UID_MAX, strlen(lock->holder),
        lock->config.side_by_side ? HAMI_NODELOCK_CALLS_MAX : 0);
    slot->pair.lease_text.data =
        hami_internal_memory_zero(allocator, slot->pair.lease_text.capacity);
    if (!slot->pair.lock_text.data || !slot->pair.lease_text.data) {
        hami_internal_node_slot_free(lock, slot);
        return NULL;
    }
    return slot;
}

static void free_pair(const struct hami_allocator *allocator,
                      struct hami_internal_pair *pair)
{
    hami_internal_memory_free(allocator, pair->lock_text.data);
    hami_internal_memory_free(allocator, pair->lease_text.data);
}

void hami_internal_node_slot_free(const struct hami_nodelock *lock,
                                  struct hami_internal_slot *slot)
{
    const struct hami_allocator *allocator = hami_internal_allocator(lock);

    if (slot) {
        free_pair(allocator, &slot->pair);
        free_pair(allocator, &slot->news);
        hami_internal_memory_free(allocator, slot->facts);
        hami_internal_memory_free(allocator, slot);
    }
}

static struct hami_wait *due_wait(const struct hami_internal_leaf *leaf)
{
    return LIST_ENTRY(leaf, struct hami_wait, due);
}

/* Of those that are due at a time the first that came. */
static int compare_due(const struct hami_internal_leaf *a,
                       const struct hami_internal_leaf *b)
{
    const struct hami_wait *one = due_wait(a), *other = due_wait(b);

    if (one->deadline_ns != other->deadline_ns) {
        return one->deadline_ns < other->deadline_ns ? -1 : 1;
    }
    if (one->queued.place != other->queued.place) {
        return one->queued.place < other->queued.place ? -1 : 1;
    }
    return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

struct hami_wait *hami_internal_node_due(const struct hami_internal_node *node)
{
    struct hami_internal_leaf *first = hami_internal_sorted_first(&node->due);

    return first ? due_wait(first) : NULL;
}

static void free_crowds(const struct hami_allocator *allocator,
                        struct hami_internal_list *crowds)
{
    LIST_EACH_SAFE(link, next, crowds)
    {
        hami_internal_memory_free(allocator,
                                  LIST_ENTRY(link, struct hami_internal_crowd, link));
    }
}

struct hami_internal_node *hami_internal_node_new(struct hami_nodelock *lock,
                                                  const char *name, uint64_t hash)
{
    const struct hami_allocator *allocator = hami_internal_allocator(lock);
    struct hami_internal_node *node = hami_internal_memory_zero(allocator, sizeof(*node));

    if (!node) {
        return NULL;
    }
    node->name = hami_internal_memory_text(allocator, name);
    if (!node->name || pthread_mutex_init(&node->mutex, NULL) != 0) {
        hami_internal_memory_free(allocator, node->name);
        hami_internal_memory_free(allocator, node);
        return NULL;
    }
    node->lock = lock;
    node->hash = hash;
    node->timer.kind = TIMER_NODE;
    node->reread_ns = node->wake_ns = HAMI_DEADLINE_NEVER;
    list_init(&node->link);
    list_init(&node->kick_link);
    hami_internal_queue_init(&node->queue, lock->config.overtaken_max);
    node->due.compare = compare_due;
    list_init(&node->grants);
    list_init(&node->leases);
    list_init(&node->checks);
    return node;
}

struct hami_internal_node *hami_internal_node_free(struct hami_internal_node *node)
{
    if (!node) {
        return NULL;
    }
    const struct hami_nodelock *lock = node->lock;
    const struct hami_allocator *allocator = hami_internal_allocator(lock);
    LIST_EACH_SAFE(link, next, &node->grants)
    {
        hami_internal_grant_free(lock,
                                 LIST_ENTRY(link, struct hami_internal_grant, link));
    }
    for (size_t i = 0; i < node->slot_count; i++) {
        hami_internal_node_slot_free(lock, node->slots[i]);
    }
    free_crowds(allocator, &node->queue.crowds);
    free_crowds(allocator, &node->queue.deserted);
    hami_internal_call_free(node->spare_call);
    hami_internal_call_free(node->call);
    hami_internal_grant_free(lock, node->spare_grant);
    hami_internal_grant_free(lock, node->next_grant);
    hami_internal_memory_free(allocator, node->next_lease);
    (void)pthread_mutex_destroy(&node->mutex);
    hami_internal_memory_free(allocator, node->history);
    hami_internal_memory_free(allocator, node->name);
    hami_internal_memory_free(allocator, node);
    return NULL;
}

struct hami_internal_slot *hami_internal_node_slot(const struct hami_internal_node *node,
                                                   const struct hami_internal_key *key,
                                                   size_t permit)
{
    for (size_t i = 0; i < node->slot_count; i++) {
        if (node->slots[i]->key == key && node->slots[i]->permit == permit) {
            return node->slots[i];
        }
    }
    return NULL;
}

/* What was told of the record while there was no slot for it. */
static void learn_free(struct hami_internal_node *node, struct hami_internal_slot *slot)
{
    if (node->free_key == slot->key) {
        slot->known = true;
        slot->version_number = node->free_number;
        slot->first_seen_ns = node->free_ns;
        slot->sight++;
    }
}

/* The cover and the permits are found without a search. */
static void list_beside(struct hami_internal_node *node, struct hami_internal_slot *slot)
{
    if (slot_is_permit(slot)) {
        node->permits[slot->permit - 1] = slot;
    } else if (slot->key->beside) {
        node->cover = slot;
    }
}

static int add_slot(struct hami_internal_node *node, const struct hami_internal_key *key,
                    size_t permit)
{
    (void)pthread_mutex_lock(&node->mutex);
    bool known = hami_internal_node_slot(node, key, permit) != NULL;
    (void)pthread_mutex_unlock(&node->mutex);
    if (known) {
        return 0;
    }
    struct hami_internal_slot *slot = hami_internal_node_slot_new(node, key, permit);
    int code = slot ? 0 : HAMI_E_NOMEM;
    hami_call *too_small = NULL;
    (void)pthread_mutex_lock(&node->mutex);
    if (slot && !hami_internal_node_slot(node, key, permit)) {
        if (node->slot_count < HAMI_INTERNAL_KEYS_MAX) {
            learn_free(node, slot);
            list_beside(node, slot);
            node->slots[node->slot_count++] = slot;
            slot = NULL;
        } else {
            code = HAMI_E_LIMIT;
        }
    }
    if (node->spare_call &&
        node->spare_call->edit_capacity < hami_internal_call_edits(node)) {
        too_small = node->spare_call;
        node->spare_call = NULL;
    }
    (void)pthread_mutex_unlock(&node->mutex);
    (void)hami_internal_call_free(too_small);
    hami_internal_node_slot_free(node->lock, slot);
    return code;
}

static size_t history_size(const struct hami_internal_node *node)
{
    return hami_internal_history_fit(node->history, node->waiter_count);
}

bool hami_internal_node_is_fit(const struct hami_internal_node *node,
                               const struct hami_internal_key *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t permit = 0; permit < keys[i]->permits; permit++) {
            if (!hami_internal_node_slot(node, keys[i], permit)) {
                return false;
            }
        }
        if (keys[i]->beside && node->takes_beside && !node->has_permits) {
            return false;
        }
    }
    return node->history && node->history->size == history_size(node);
}

int hami_internal_node_add_permits(struct hami_internal_node *node,
                                   const struct hami_internal_key *key)
{
    for (size_t permit = 0; permit <= HAMI_INTERNAL_BESIDE_MAX; permit++) {
        int code = add_slot(node, key, permit);
        if (code < 0) {
            return code;
        }
    }
    (void)pthread_mutex_lock(&node->mutex);
    node->has_permits = true;
    (void)pthread_mutex_unlock(&node->mutex);
    return 0;
}

static bool wants_permits(struct hami_internal_node *node,
                          const struct hami_internal_key *key)
{
    (void)pthread_mutex_lock(&node->mutex);
    bool wants = key->beside && node->takes_beside && !node->has_permits;
    (void)pthread_mutex_unlock(&node->mutex);
    return wants;
}

int hami_internal_node_add_keys(struct hami_internal_node *node,
                                const struct hami_internal_key *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int code = 0;
        for (size_t permit = 0; permit < keys[i]->permits && code == 0; permit++) {
            code = add_slot(node, keys[i], permit);
        }
        if (code == 0 && wants_permits(node, keys[i])) {
            code = hami_internal_node_add_permits(node, keys[i]);
        }
        if (code < 0) {
            return code;
        }
    }
    return 0;
}

int hami_internal_node_add_history(struct hami_internal_node *node)
{
    const struct hami_allocator *allocator = hami_internal_allocator(node->lock);

    (void)pthread_mutex_lock(&node->mutex);
    size_t present = node->history ? node->history->size : 0;
    size_t size = history_size(node);
    (void)pthread_mutex_unlock(&node->mutex);
    if (present == size) {
        return 0;
    }
    struct hami_internal_history *history =
        hami_internal_memory_zero(allocator, sizeof(*history) + size);
    if (!history) {
        return HAMI_E_NOMEM;
    }
    history->size = (uint32_t)size;
    (void)pthread_mutex_lock(&node->mutex);
    if (!node->history || node->history->size < size) {
        struct hami_internal_history *before = node->history;
        if (before) {
            hami_internal_history_move(history, before);
        }
        node->history = history;
        history = before;
    }
    (void)pthread_mutex_unlock(&node->mutex);
    hami_internal_memory_free(allocator, history);
    return 0;
}

bool hami_internal_node_is_idle(const struct hami_internal_node *node)
{
    return !node->queue.first && list_is_empty(&node->grants) &&
           list_is_empty(&node->leases) && list_is_empty(&node->checks) &&
           node->operation == OPERATION_NONE && !node->doubt;
}

bool hami_internal_node_is_busy(const struct hami_internal_node *node)
{
    if (node->operation != OPERATION_NONE || node->doubt) {
        return true;
    }
    LIST_EACH(link, &node->grants)
    {
        enum hami_internal_grant_state state =
            LIST_ENTRY(link, struct hami_internal_grant, link)->state;
        if (state == GRANT_TAKING || state == GRANT_RELEASING) {
            return true;
        }
    }
    return false;
}

/* ---- whose locks they are ---- */

void hami_internal_node_review(struct hami_internal_node *node,
                               struct hami_internal_grant *grant,
                               struct hami_internal_after *after)
{
    if (grant->gone ||
        (grant->state != GRANT_STANDING && grant->state != GRANT_RELEASING)) {
        return;
    }
    /* News of our own removal or hand-over may come before the read that settles the
     * doubt about it; that read compares all grants. */
    if (grant->state == GRANT_RELEASING && node->doubt) {
        return;
    }
    for (size_t i = 0; i < grant->slot_count; i++) {
        const struct hami_internal_slot *slot = grant->slots[i];
        if (slot->known &&
            hami_internal_protocol_compare(slot->pair.lock, slot->pair.lease,
                                           grant->value, grant->lease) != STANDING_OURS) {
            hami_internal_node_lose_grant(node, grant, HAMI_E_LOST, after);
            return;
        }
    }
}

bool hami_internal_node_is_shared(const struct hami_internal_grant *grant,
                                  const struct hami_owner *owner)
{
    return grant->state == GRANT_STANDING && !grant->gone && !grant->no_binding &&
           strcmp(grant->owner.uid, owner->uid) == 0;
}

bool hami_internal_node_is_own(const struct hami_internal_slot *slot,
                               const struct hami_owner *owner)
{
    return slot->known && !slot->grant && !slot->revoked && !slot_is_copy(slot) &&
           hami_internal_protocol_is_own(&slot->record, owner->namespace_name,
                                         owner->name, owner->uid);
}

static bool is_own_slot(const struct hami_internal_slot *slot,
                        const struct hami_owner *owner)
{
    return slot->grant ? hami_internal_node_is_shared(slot->grant, owner)
                       : hami_internal_node_is_own(slot, owner);
}

void hami_internal_node_mark_own(struct hami_internal_node *node, struct hami_wait *wait)
{
    const struct hami_owner owner = wait_owner(wait);
    bool own = false;

    for (size_t i = 0; i < node->slot_count && !own; i++) {
        own = is_own_slot(node->slots[i], &owner);
    }
    node->owners += own;
    node->owners -= wait->own;
    wait->own = own;
}

static void mark_each_own(struct hami_internal_node *node)
{
    for (struct hami_internal_waiter *one = node->queue.first; one;
         one = queue_next(one)) {
        hami_internal_node_mark_own(node, LIST_ENTRY(one, struct hami_wait, queued));
    }
}

/* The hash by which the waits are found whose own the lock in a slot may be. */
static uint64_t owner_hash(const struct hami_internal_slot *slot)
{
    const struct hami_lock_record *record = &slot->record;

    if (slot->grant) {
        return hami_internal_owners_uid_hash(slot->grant->owner.uid);
    }
    return record->has_lease
               ? hami_internal_owners_uid_hash(record->uid)
               : hami_internal_owners_hash(record->namespace_name, record->name);
}

void hami_internal_node_mark_all_own(struct hami_internal_node *node)
{
    struct hami_wait *waits[WAITS_ROOM];

    if (!node->queue.first) {
        return;
    }
    /* One that waits alone may not be listed; those that were marked are rare, and soon
     * served. */
    bool each = node->owners > 0 || node->waiter_count == 1;
    for (size_t i = 0; i < node->slot_count && !each; i++) {
        size_t count = hami_internal_owners_waits(node, owner_hash(node->slots[i]), waits,
                                                  WAITS_ROOM);
        each = count > WAITS_ROOM;
        for (size_t j = 0; j < count && !each; j++) {
            hami_internal_node_mark_own(node, waits[j]);
        }
    }
    if (each) {
        mark_each_own(node);
    }
}
