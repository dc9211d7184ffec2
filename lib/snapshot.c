/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking in: a consistent picture of each node. The picture is copied under the node's
 * mutex into memory made before; if more came meanwhile, it is made as large as was
 * found to be needed and the copy begins anew. One picture serves all nodes of a look.
 */
#include <stdio.h>
#include <string.h>

#include "admit.h"
#include "errors.h"
#include "history.h"
#include "manager.h"
#include "memory.h"
#include "names.h"
#include "node.h"
#include "nodes.h"
#include "pace.h"

#define TEXTS_OF_ONE 128 /* a guess that spares most queues a second copy */

struct picture {
    struct hami_node_view view;
    struct hami_slot_view *slots;
    struct hami_waiter_view *waiters;
    struct hami_hand_over_view hand_overs[HAMI_NODELOCK_HAND_OVERS_MAX];
    char *texts;
    size_t slot_room, waiter_room, text_room, text_used; /* used: or would have been */
    uint64_t now_ns;
};

static const char *keep(struct picture *picture, const char *text)
{
    if (!text) {
        return NULL;
    }
    size_t bytes = strlen(text) + 1;
    size_t at = picture->text_used;
    picture->text_used += bytes;
    if (picture->text_used > picture->text_room) {
        return NULL;
    }
    memcpy(picture->texts + at, text, bytes);
    return picture->texts + at;
}

static const char *keep_unless_empty(struct picture *picture, const char *text)
{
    return *text ? keep(picture, text) : NULL;
}

static enum hami_slot_state slot_state(const struct hami_internal_node *node,
                                       const struct hami_internal_slot *slot)
{
    const struct hami_internal_grant *grant = slot->grant;

    LIST_EACH(link, &node->grants)
    {
        const struct hami_internal_grant *taking =
            LIST_ENTRY(link, struct hami_internal_grant, link);
        for (size_t i = 0; taking->state == GRANT_TAKING && i < taking->slot_count; i++) {
            if (taking->slots[i] == slot) {
                return HAMI_SLOT_ACQUIRING;
            }
        }
    }
    if (grant && grant->state == GRANT_RELEASING) {
        return HAMI_SLOT_RELEASING;
    }
    if (grant) {
        return grant->handed_off ? HAMI_SLOT_HANDED_OFF : HAMI_SLOT_HELD;
    }
    if (!slot->known) {
        return HAMI_SLOT_UNKNOWN;
    }
    return slot->record.kind == HAMI_LOCK_FREE ? HAMI_SLOT_FREE : HAMI_SLOT_FOREIGN;
}

/* The lock that the cover is a copy of; the cover itself, where that stands nowhere. */
static const struct hami_internal_slot *copied(const struct hami_internal_node *node,
                                               const struct hami_internal_slot *slot)
{
    for (size_t i = 0; slot_is_copy(slot) && i < HAMI_INTERNAL_BESIDE_MAX; i++) {
        const struct hami_internal_slot *permit = node->permits[i];
        if (permit && permit->known && permit->pair.lock && permit->pair.lease &&
            strcmp(permit->pair.lock, slot->pair.lock) == 0 &&
            strcmp(permit->pair.lease, slot->pair.lease) == 0) {
            return permit;
        }
    }
    return slot;
}

/* An empty record beside the cover is nothing to look at. */
static bool is_shown(const struct hami_internal_node *node,
                     const struct hami_internal_slot *slot)
{
    enum hami_slot_state state = slot_state(node, slot);

    return !slot_is_permit(slot) ||
           (state != HAMI_SLOT_FREE && state != HAMI_SLOT_UNKNOWN);
}

static const char *reason_text(enum hami_slot_state state,
                               enum hami_internal_reason reason)
{
    switch (state) {
    case HAMI_SLOT_FREE:
        return "free";
    case HAMI_SLOT_UNKNOWN:
        return "the store was not read yet";
    case HAMI_SLOT_ACQUIRING:
        return "it is being written";
    case HAMI_SLOT_HELD:
        return "its pod is being bound";
    case HAMI_SLOT_RELEASING:
        return "it is being given back";
    case HAMI_SLOT_HANDED_OFF:
        return reason == REASON_NONE ? "its pod waits for its devices (Allocate)"
                                     : hami_internal_protocol_reason_text(reason);
    default:
        return hami_internal_protocol_reason_text(reason);
    }
}

static uint64_t state_since(const struct hami_internal_node *node,
                            const struct hami_internal_slot *slot,
                            enum hami_slot_state state)
{
    if (state == HAMI_SLOT_ACQUIRING) {
        return node->operation_ns;
    }
    return slot->grant && slot->grant->state_ns ? slot->grant->state_ns
                                                : slot->first_seen_ns;
}

static void copy_slot(struct picture *picture, const struct hami_internal_node *node,
                      const struct hami_internal_slot *slot, struct hami_slot_view *view)
{
    const struct hami_lock_record *record = &slot->record;

    memset(view, 0, sizeof(*view));
    view->key = slot->key->records[slot->permit].lock;
    view->state = slot_state(node, copied(node, slot));
    view->since_ns = slot->first_seen_ns;
    view->alarm = slot->alarmed;
    view->reason = slot_is_copy(slot)
                       ? "it shows the last that was taken of those beside each other"
                       : reason_text(view->state, slot->reason);
    view->state_since_ns = state_since(node, slot, view->state);
    if (slot->known) {
        view->value = keep(picture, slot->pair.lock);
        view->lease = keep(picture, slot->pair.lease);
        view->owner.namespace_name = keep_unless_empty(picture, record->namespace_name);
        view->owner.name = keep_unless_empty(picture, record->name);
        view->owner.uid = keep_unless_empty(picture, record->uid);
        view->holder = keep_unless_empty(picture, record->holder);
        view->fence = record->fence;
    }
}

/* The keys of a node: each at the index of its first slot. */
struct keys {
    uint64_t ahead[HAMI_INTERNAL_KEYS_MAX];
    struct hami_internal_standing_key standing[HAMI_INTERNAL_KEYS_MAX];
};

/* Counts the waiter among those who ask for its keys, and says when its turn comes. */
static uint64_t expect(const struct hami_internal_node *node,
                       const struct hami_wait *wait, struct keys *keys)
{
    uint64_t latest = 0;

    for (size_t i = 0; i < wait->key_count; i++) {
        size_t index = 0;
        const struct hami_internal_key *asked = wait_keys(wait)[i];
        while (node->slots[index]->key != asked) {
            index++;
        }
        const struct hami_internal_standing_key *key = &keys->standing[index];
        uint64_t one =
            hami_internal_pace_expect(key->hold_ns, keys->ahead[index]++, asked->permits,
                                      key->standing, key->oldest_ns);
        latest = one > latest ? one : latest;
    }
    return latest;
}

static void copy_waiters(struct picture *picture, const struct hami_internal_node *node)
{
    struct keys keys = {{0}, {{0}}};
    uint32_t position = 0;

    for (size_t i = 0; i < node->slot_count; i++) {
        keys.standing[i] =
            hami_internal_admit_look(node, node->slots[i]->key, picture->now_ns);
    }

    for (const struct hami_internal_waiter *one = node->queue.first; one;
         one = queue_next(one)) {
        const struct hami_wait *wait = LIST_ENTRY(one, struct hami_wait, queued);
        const struct hami_internal_extra *extra = wait_extra(wait);
        struct hami_waiter_view *view = &picture->waiters[position];
        const struct hami_owner owner = wait_owner(wait);
        view->owner.namespace_name = keep(picture, owner.namespace_name);
        view->owner.name = keep(picture, owner.name);
        view->owner.uid = keep(picture, owner.uid);
        view->position = position++;
        view->priority = wait->queued.priority;
        view->since_ns = wait->since_ns;
        view->deadline_ns = wait->deadline_ns;
        view->group = extra ? keep(picture, extra->group) : NULL;
        view->overtaken = hami_internal_queue_overtaken(&wait->queued);
        view->returned = wait->queued.returned;
        view->expected_ns = expect(node, wait, &keys);
    }
}

static void copy_owner(struct picture *picture, const struct hami_owner *owner,
                       struct hami_owner *ret)
{
    ret->namespace_name = keep_unless_empty(picture, owner->namespace_name);
    ret->name = keep_unless_empty(picture, owner->name);
    ret->uid = keep_unless_empty(picture, owner->uid);
}

/* The newest first: the history is told from its other end. */
static size_t copy_hand_overs(struct picture *picture,
                              const struct hami_internal_node *node)
{
    struct hami_internal_hand_over entry;
    size_t count = node->history ? node->history->count : 0, left = count, at = 0;

    while (left > 0 && hami_internal_history_read(node->history, &at, &entry)) {
        struct hami_hand_over_view *view = &picture->hand_overs[--left];
        memset(view, 0, sizeof(*view));
        view->key = entry.slot->key->records[entry.slot->permit].lock;
        view->at_ns = entry.at_ns;
        view->how = entry.how;
        view->reason = entry.how == HAMI_HAND_OVER_TAKEOVER
                           ? hami_internal_protocol_reason_text(entry.reason)
                           : "";
        copy_owner(picture, &entry.from, &view->from);
        copy_owner(picture, &entry.to, &view->to);
        view->held_ns = entry.held_ns;
        view->fence = entry.fence;
    }
    return count;
}

static uint64_t slowest_pace(const struct hami_internal_node *node, uint64_t now_ns)
{
    uint64_t slowest = 0;

    for (size_t i = 0; i < node->slot_count; i++) {
        uint64_t one = hami_internal_pace_hold(&node->slots[i]->pace, now_ns);
        slowest = one > slowest ? one : slowest;
    }
    return slowest;
}

/* A node without slots is shown as what it is known to be. */
static size_t slot_count(const struct hami_internal_node *node)
{
    return node->slot_count == 0 && node->free_key ? node->free_key->permits
                                                   : node->slot_count;
}

/* Returns how many there are to be seen. */
static size_t copy_slots(struct picture *picture, const struct hami_internal_node *node)
{
    struct hami_internal_slot bare = {
        .key = node->free_key, .known = true, .first_seen_ns = node->free_ns};
    size_t count = 0;

    for (size_t i = 0; i < node->slot_count; i++) {
        if (is_shown(node, node->slots[i])) {
            copy_slot(picture, node, node->slots[i], &picture->slots[count++]);
        }
    }
    for (size_t i = node->slot_count; i < slot_count(node); i++) {
        bare.permit = i;
        copy_slot(picture, node, &bare, &picture->slots[count++]);
    }
    return count;
}

/* With the node's mutex. Returns false if there is not room enough; the rooms say then
 * what is needed. */
static bool copy_node(struct picture *picture, const struct hami_internal_node *node)
{
    if (slot_count(node) > picture->slot_room ||
        node->waiter_count > picture->waiter_room) {
        picture->slot_room = slot_count(node);
        picture->waiter_room = node->waiter_count + node->waiter_count / 4;
        size_t texts = picture->waiter_room * TEXTS_OF_ONE;
        picture->text_room = texts > picture->text_room ? texts : picture->text_room;
        return false;
    }
    picture->text_used = 0;
    picture->now_ns = hami_internal_now(node->lock);
    size_t slots = copy_slots(picture, node);
    if (node->waiter_count > 0) {
        copy_waiters(picture, node);
    }
    size_t hand_overs = copy_hand_overs(picture, node);
    if (picture->text_used > picture->text_room) {
        picture->text_room = picture->text_used + picture->text_used / 4;
        return false;
    }
    picture->view =
        (struct hami_node_view){.size = sizeof(picture->view),
                                .node = node->name,
                                .slots = picture->slots,
                                .slot_count = slots,
                                .waiters = picture->waiters,
                                .waiter_count = node->waiter_count,
                                .hand_overs = picture->hand_overs,
                                .hand_over_count = hand_overs,
                                .now_ns = picture->now_ns,
                                .pace_ns = slowest_pace(node, picture->now_ns),
                                .refusals = node->refusals};
    return true;
}

static int make_room(const struct hami_allocator *allocator, struct picture *picture)
{
    void *slots = hami_internal_memory_grow(
        allocator, picture->slots, (picture->slot_room + 1) * sizeof(*picture->slots));
    picture->slots = slots ? slots : picture->slots;
    void *waiters =
        hami_internal_memory_grow(allocator, picture->waiters,
                                  (picture->waiter_room + 1) * sizeof(*picture->waiters));
    picture->waiters = waiters ? waiters : picture->waiters;
    void *texts =
        hami_internal_memory_grow(allocator, picture->texts, picture->text_room);
    picture->texts = texts ? texts : picture->texts;
    return slots && waiters && texts ? 0 : HAMI_E_NOMEM;
}

static int show_node(struct picture *picture, struct hami_internal_node *node,
                     hami_snapshot_fn visitor, void *data, bool *stop)
{
    bool copied = false;

    while (!copied) {
        if (make_room(hami_internal_allocator(node->lock), picture) < 0) {
            return HAMI_E_NOMEM;
        }
        (void)pthread_mutex_lock(&node->mutex);
        copied = copy_node(picture, node);
        (void)pthread_mutex_unlock(&node->mutex);
    }
    *stop = visitor(data, &picture->view) != 0;
    return 0;
}

static void free_picture(const struct hami_allocator *allocator, struct picture *picture)
{
    hami_internal_memory_free(allocator, picture->slots);
    hami_internal_memory_free(allocator, picture->waiters);
    hami_internal_memory_free(allocator, picture->texts);
}

static int show_all(hami_nodelock *lock, struct picture *picture,
                    hami_snapshot_fn visitor, void *data)
{
    struct hami_internal_node **nodes;
    size_t count;
    bool stop = false;
    int code = hami_internal_nodes_all(lock, &nodes, &count);

    if (code < 0) {
        return code;
    }
    for (size_t i = 0; i < count; i++) {
        if (!stop && code == 0) {
            code = show_node(picture, nodes[i], visitor, data, &stop);
        }
        hami_internal_nodes_unpin(nodes[i]);
    }
    hami_internal_memory_free(hami_internal_allocator(lock), nodes);
    return code;
}

int hami_nodelock_snapshot(hami_nodelock *lock, const char *node_name,
                           hami_snapshot_fn visitor, void *data)
{
    struct picture picture = {.slot_room = 1, .waiter_room = 8, .text_room = 2048};
    struct hami_internal_node *node;
    bool stop;

    if (!lock || !visitor ||
        (node_name && !hami_internal_names_is_subdomain(node_name))) {
        return HAMI_E_INVAL;
    }
    if (hami_internal_manager_is_forked(lock)) {
        return HAMI_E_FORKED;
    }
    if (atomic_load(&lock->freed)) {
        return HAMI_E_CLOSED;
    }
    int code;
    if (node_name) {
        code = hami_internal_nodes_get(lock, node_name, false, &node);
        if (code == 0) {
            code = show_node(&picture, node, visitor, data, &stop);
            hami_internal_nodes_unpin(node);
        }
    } else {
        code = show_all(lock, &picture, visitor, data);
    }
    free_picture(hami_internal_allocator(lock), &picture);
    return code;
}
