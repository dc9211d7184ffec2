/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See node.h. Invariants, all under the node's mutex:
 *  - at most one operation is in flight; the texts that its edits point to are not
 * changed meanwhile (news is kept aside in the slot);
 *  - a slot's grant is in node.grants and lists the slot; a grant that has ended is in
 * neither;
 *  - a wait is in node.waiters until it has ended, and ends once;
 *  - a slot whose grant is held by a lease is granted to nobody else, whatever the store
 * says.
 */
#include "node.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "after.h"
#include "cancel.h"
#include "call.h"
#include "errors.h"
#include "grant.h"
#include "memory.h"
#include "record.h"

struct hami_internal_slot *
hami_internal_node_slot_new(const struct hami_nodelock *lock,
                            const struct hami_internal_key *key, size_t permit)
{
    const struct hami_allocator *allocator = hami_internal_allocator(lock);
    struct hami_internal_slot *slot = hami_internal_memory_zero(allocator, sizeof(*slot));

    if (!slot) {
        return NULL;
    }
    slot->key = key;
    slot->permit = permit;
    slot->record.size = sizeof(slot->record);
    slot->pair.lock_text.capacity = HAMI_LOCK_VALUE_MAX;
    slot->pair.lock_text.data = hami_internal_memory_zero(allocator, HAMI_LOCK_VALUE_MAX);
    slot->pair.lease_text.capacity = hami_internal_record_lease_size(
        HAMI_LOCK_VALUE_MAX, HAMI_NODELOCK_UID_MAX, strlen(lock->holder));
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
    list_init(&node->waiters);
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
    hami_internal_call_free(node->spare_call);
    hami_internal_call_free(node->call);
    hami_internal_grant_free(lock, node->spare_grant);
    (void)pthread_mutex_destroy(&node->mutex);
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

static int add_slot(struct hami_internal_node *node, const struct hami_internal_key *key,
                    size_t permit)
{
    (void)pthread_mutex_lock(&node->mutex);
    bool known = hami_internal_node_slot(node, key, permit) != NULL;
    (void)pthread_mutex_unlock(&node->mutex);
    if (known) {
        return 0;
    }
    struct hami_internal_slot *slot =
        hami_internal_node_slot_new(node->lock, key, permit);
    int code = slot ? 0 : HAMI_E_NOMEM;
    (void)pthread_mutex_lock(&node->mutex);
    if (slot && !hami_internal_node_slot(node, key, permit)) {
        if (node->slot_count < HAMI_INTERNAL_KEYS_MAX) {
            node->slots[node->slot_count++] = slot;
            slot = NULL;
        } else {
            code = HAMI_E_LIMIT;
        }
    }
    (void)pthread_mutex_unlock(&node->mutex);
    hami_internal_node_slot_free(node->lock, slot);
    return code;
}

int hami_internal_node_add_keys(struct hami_internal_node *node,
                                const struct hami_internal_key *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t permit = 0; permit < keys[i]->permits; permit++) {
            int code = add_slot(node, keys[i], permit);
            if (code < 0) {
                return code;
            }
        }
    }
    return 0;
}

bool hami_internal_node_is_idle(const struct hami_internal_node *node)
{
    return list_is_empty(&node->waiters) && list_is_empty(&node->grants) &&
           list_is_empty(&node->leases) && list_is_empty(&node->checks) &&
           node->operation == OPERATION_NONE && !node->doubt;
}

/* ---- knowledge ---- */

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* A new pair: what was known of the old one's owner is void. */
static void pair_changed(struct hami_internal_node *node, struct hami_internal_slot *slot,
                         struct hami_internal_after *after)
{
    slot->first_seen_ns = hami_internal_now(node->lock);
    slot->record.size = sizeof(slot->record);
    (void)hami_lock_record_parse(slot->pair.lock, slot->pair.lease, &slot->record);
    if (slot->record.last_fence > node->max_fence) {
        node->max_fence = slot->record.last_fence;
    }
    hami_internal_after_free_facts(after, slot->facts);
    slot->facts = NULL;
    slot->asked = slot->revoked = slot->alarmed = false;
    slot->ask_next_ns = slot->first_seen_ns + HAMI_INTERNAL_ASK_FIRST_NS;
    slot->revoke_next_ns = 0;
    slot->reason = REASON_NONE;
}

static void put_text(struct hami_internal_text *buffer, const char *text,
                     const char **ret)
{
    size_t bytes = text ? strlen(text) + 1 : 0;

    if (text && bytes <= buffer->capacity) {
        memcpy(buffer->data, text, bytes);
    }
    *ret = text ? buffer->data : NULL;
}

void hami_internal_node_set_pair(struct hami_internal_node *node,
                                 struct hami_internal_slot *slot, const char *lock,
                                 const char *lease, struct hami_internal_after *after)
{
    put_text(&slot->pair.lock_text, lock, &slot->pair.lock);
    put_text(&slot->pair.lease_text, lease, &slot->pair.lease);
    slot->known = true;
    pair_changed(node, slot, after);
}

/* Our own writes must always fit: the larger buffer of each text stays with the slot. */
static void swap_text(struct hami_internal_text *a, struct hami_internal_text *b)
{
    struct hami_internal_text swap = *a;

    *a = *b;
    *b = swap;
}

static void move_text(struct hami_internal_text *slot, struct hami_internal_text *from,
                      const char *text, const char **ret)
{
    if (!text) {
        *ret = NULL;
    } else if (strlen(text) < slot->capacity) {
        put_text(slot, text, ret);
    } else {
        swap_text(slot, from);
        *ret = slot->data;
    }
}

void hami_internal_node_swap_pair(struct hami_internal_node *node,
                                  struct hami_internal_slot *slot,
                                  struct hami_internal_pair *pair,
                                  struct hami_internal_after *after)
{
    bool changed = !slot->known || !is_same_text(slot->pair.lock, pair->lock) ||
                   !is_same_text(slot->pair.lease, pair->lease);

    slot->known = true;
    if (changed) {
        move_text(&slot->pair.lock_text, &pair->lock_text, pair->lock, &slot->pair.lock);
        move_text(&slot->pair.lease_text, &pair->lease_text, pair->lease,
                  &slot->pair.lease);
        pair_changed(node, slot, after);
    }
}

void hami_internal_node_set_version(struct hami_internal_node *node, const char *version)
{
    uint64_t number = hami_internal_protocol_version_number(version);

    if (!version || !*version || strlen(version) >= sizeof(node->version) ||
        (number != 0 && number < node->version_number)) {
        return;
    }
    memcpy(node->version, version, strlen(version) + 1);
    node->version_number = number;
}

void hami_internal_node_review(struct hami_internal_node *node,
                               struct hami_internal_grant *grant,
                               struct hami_internal_after *after)
{
    if (grant->gone ||
        (grant->state != GRANT_STANDING && grant->state != GRANT_RELEASING)) {
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

/* ---- ends ---- */

void hami_internal_node_end_grant(struct hami_internal_node *node,
                                  struct hami_internal_grant *grant, int code,
                                  struct hami_internal_after *after)
{
    if (grant->release) {
        hami_internal_node_end_done(node, grant->release, code, after, "%s",
                                    code == 0 ? "" : hami_strerror(code));
        grant->release = NULL;
    }
    for (size_t i = 0; i < grant->slot_count; i++) {
        if (grant->slots[i]->grant == grant) {
            grant->slots[i]->grant = NULL;
        }
    }
    if (node->doubt == grant) {
        node->doubt = NULL;
    }
    grant->state = GRANT_ENDED;
    list_remove(&grant->link);
    list_insert(&after->ended_grants, &grant->link);
}

void hami_internal_node_lose_grant(struct hami_internal_node *node,
                                   struct hami_internal_grant *grant, int code,
                                   struct hami_internal_after *after)
{
    if (grant->state == GRANT_RELEASING) {
        /* Gone before we removed it. If our removal may have done it, it did. */
        bool removed = grant->unsure && code == HAMI_E_LOST;
        hami_internal_node_end_grant(node, grant, removed ? 0 : code, after);
        return;
    }
    grant->gone = true;
    grant->gone_code = code;
    if (grant->shares == 0) {
        hami_internal_node_end_grant(node, grant, 0, after);
        return;
    }
    /* The node side may be quicker than the holder's hand-off: its orderly release is no
     * loss. */
    const struct hami_internal_slot *slot = grant->slots[0];
    bool orderly = slot->known && slot->record.kind == HAMI_LOCK_FREE &&
                   slot->record.last_fence == grant->fence && !slot->record.has_lease &&
                   slot->pair.lease && strcmp(slot->pair.lease, grant->lease) != 0;
    if (!orderly && !grant->handed_off) {
        hami_internal_count(&node->lock->counters.lost);
        after->lost = true;
        hami_internal_after_log(
            after, HAMI_LOG_WARNING,
            "Lock of pod %s/%s on node %s was lost while it was held: %s",
            grant->owner.namespace_name, grant->owner.name, node->name,
            slot->pair.lock ? slot->pair.lock : "removed");
    }
}

static void count_end(struct hami_nodelock *lock, int code)
{
    struct hami_internal_counters *counters = &lock->counters;

    hami_internal_count(code == 0                 ? &counters->grants
                        : code == HAMI_E_TIMEDOUT ? &counters->timeouts
                        : code == HAMI_E_CANCELED ? &counters->cancels
                                                  : &counters->refusals);
    atomic_fetch_sub_explicit(&counters->waiters, 1, memory_order_relaxed);
}

static void give_share(struct hami_wait *wait, struct hami_internal_grant *grant)
{
    hami_lease *lease = wait->lease;

    lease->grant = grant;
    grant->shares++;
    list_insert(&wait->node->leases, &lease->link);
    atomic_fetch_add_explicit(&wait->lock->counters.leases, 1, memory_order_relaxed);
}

/* The grant made for a wait stays with the node while its write is in flight or in doubt.
 */
static void part_from_grant(struct hami_wait *wait,
                            const struct hami_internal_grant *given,
                            struct hami_internal_after *after)
{
    struct hami_internal_grant *grant = wait->grant;

    wait->grant = NULL;
    if (!grant || grant == given) {
        return;
    }
    if (grant->state == GRANT_TAKING) {
        grant->taker = NULL;
    } else {
        list_insert(&after->ended_grants, &grant->link);
    }
}

void hami_internal_node_end_wait(struct hami_wait *wait, int code,
                                 struct hami_internal_grant *grant,
                                 struct hami_internal_after *after, const char *format,
                                 ...)
{
    struct hami_internal_node *node = wait->node;
    va_list arguments;

    wait->ended = true;
    wait->error.size = sizeof(wait->error);
    wait->error.code = code;
    va_start(arguments, format);
    (void)vsnprintf(wait->error.text, sizeof(wait->error.text), format, arguments);
    va_end(arguments);
    list_remove(&wait->link);
    node->waiter_count--;
    node->suspects -= wait->asker == ASKER_SUSPECT;
    node->owners -= wait->own;
    hami_internal_timers_clear(&node->deadlines, &wait->timer);
    if (node->operation_wait == wait) {
        node->operation_wait = NULL;
    }
    if (code == 0) {
        give_share(wait, grant);
    } else if (wait->place != 0 && (code == HAMI_E_TIMEDOUT || code == HAMI_E_CANCELED ||
                                    code == HAMI_E_LIMIT)) {
        struct hami_nodelock *lock = node->lock;
        (void)pthread_mutex_lock(&lock->kept_mutex);
        hami_internal_places_keep(lock->kept, wait->grant->owner.uid, node->name,
                                  wait->place, hami_internal_now(lock));
        (void)pthread_mutex_unlock(&lock->kept_mutex);
    }
    part_from_grant(wait, grant, after);
    count_end(node->lock, code);
    if (wait->blocking) {
        (void)pthread_cond_signal(&wait->condition);
    } else {
        list_insert(&after->ready_waits, &wait->link);
    }
}

void hami_internal_node_end_all_waits(struct hami_internal_node *node, int code,
                                      struct hami_internal_after *after, const char *text)
{
    while (!list_is_empty(&node->waiters)) {
        hami_internal_node_end_wait(
            LIST_ENTRY(node->waiters.next, struct hami_wait, link), code, NULL, after,
            "%s", text);
    }
}

void hami_internal_node_end_done(struct hami_internal_node *node,
                                 struct hami_internal_done *done, int code,
                                 struct hami_internal_after *after, const char *format,
                                 ...)
{
    va_list arguments;

    done->ended = true;
    done->error.size = sizeof(done->error);
    done->error.code = code;
    va_start(arguments, format);
    (void)vsnprintf(done->error.text, sizeof(done->error.text), format, arguments);
    va_end(arguments);
    list_remove(&done->link);
    hami_internal_timers_clear(&node->deadlines, &done->timer);
    if (done->blocking) {
        (void)pthread_cond_signal(&done->condition);
    } else {
        list_insert(&after->ready_dones, &done->link);
    }
}

void hami_internal_node_cancel(struct hami_internal_node *node,
                               struct hami_internal_after *after)
{
    LIST_EACH_SAFE(link, next, &node->waiters)
    {
        struct hami_wait *wait = LIST_ENTRY(link, struct hami_wait, link);
        if (hami_cancel_is_fired(wait->cancel)) {
            hami_internal_node_end_wait(wait, HAMI_E_CANCELED, NULL, after,
                                        "cancelled while waiting for node %s",
                                        node->name);
        }
    }
}

/* Behind whom a wait stands, for people. */
static void end_late(struct hami_wait *wait, struct hami_internal_after *after)
{
    const struct hami_internal_node *node = wait->node;
    const struct hami_internal_slot *slot =
        hami_internal_node_slot(node, wait->keys[0], 0);

    int failure = wait->failure ? wait->failure : node->failure;

    if (failure) {
        hami_internal_node_end_wait(
            wait, HAMI_E_TIMEDOUT, NULL, after,
            "the store did not let node %s be locked before the deadline: "
            "%s",
            node->name, hami_strerror(failure));
    } else if (slot && slot->grant && slot->grant->owner.uid) {
        hami_internal_node_end_wait(
            wait, HAMI_E_TIMEDOUT, NULL, after,
            "node %s is still locked by pod %s/%s: %s", node->name,
            slot->grant->owner.namespace_name, slot->grant->owner.name,
            slot->grant->handed_off ? "it waits for its devices (Allocate)"
                                    : "it is being bound");
    } else if (slot && slot->known && slot->record.kind != HAMI_LOCK_FREE) {
        hami_internal_node_end_wait(wait, HAMI_E_TIMEDOUT, NULL, after,
                                    "node %s is still locked by \"%.200s\": %s",
                                    node->name, slot->pair.lock,
                                    hami_internal_protocol_reason_text(slot->reason));
    } else {
        hami_internal_node_end_wait(wait, HAMI_E_TIMEDOUT, NULL, after,
                                    "the deadline passed before node %s could be locked",
                                    node->name);
    }
}

void hami_internal_node_expire(struct hami_internal_node *node, uint64_t now_ns,
                               struct hami_internal_after *after)
{
    struct hami_internal_timer *timer;

    while ((timer = hami_internal_timers_pop(&node->deadlines, now_ns))) {
        if (timer->kind == TIMER_WAIT) {
            end_late(LIST_ENTRY(timer, struct hami_wait, timer), after);
            continue;
        }
        struct hami_internal_done *done =
            LIST_ENTRY(timer, struct hami_internal_done, timer);
        if (!done->check) {
            done->grant->release = NULL;
        }
        hami_internal_node_end_done(
            node, done, HAMI_E_IN_DOUBT, after,
            "node %s: no sure answer from the store before the deadline", node->name);
    }
}

void hami_internal_node_mark_own(struct hami_internal_node *node, struct hami_wait *wait)
{
    const struct hami_owner *owner = &wait->grant->owner;

    for (size_t i = 0; i < node->slot_count && !wait->own; i++) {
        const struct hami_internal_slot *slot = node->slots[i];
        bool own = slot->grant
                       ? slot->grant->state == GRANT_STANDING && !slot->grant->gone &&
                             strcmp(slot->grant->owner.uid, owner->uid) == 0
                       : slot->known && hami_internal_protocol_is_own(
                                            &slot->record, owner->namespace_name,
                                            owner->name, owner->uid);
        if (own) {
            wait->own = true;
            node->owners++;
        }
    }
}
