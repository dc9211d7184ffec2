/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking in: a consistent picture of each node, and the totals. The picture is copied
 * under the node's mutex into memory made before; if more came meanwhile, it is made
 * larger and the copy begins anew.
 */
#include <stdio.h>
#include <string.h>

#include "errors.h"
#include "manager.h"
#include "memory.h"
#include "names.h"
#include "node.h"
#include "nodes.h"

struct picture {
    struct hami_node_view view;
    struct hami_slot_view *slots;
    struct hami_waiter_view *waiters;
    char *texts;
    size_t slot_room, waiter_room, text_room, text_used;
    bool short_of_text;
};

static const char *keep(struct picture *picture, const char *text)
{
    if (!text) {
        return NULL;
    }
    size_t bytes = strlen(text) + 1;
    if (picture->text_used + bytes > picture->text_room) {
        picture->short_of_text = true;
        return NULL;
    }
    char *copy = picture->texts + picture->text_used;
    memcpy(copy, text, bytes);
    picture->text_used += bytes;
    return copy;
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

static void copy_slot(struct picture *picture, const struct hami_internal_node *node,
                      const struct hami_internal_slot *slot, struct hami_slot_view *view)
{
    const struct hami_lock_record *record = &slot->record;

    memset(view, 0, sizeof(*view));
    view->key = slot->key->records[slot->permit].lock;
    view->state = slot_state(node, slot);
    view->since_ns = slot->first_seen_ns;
    view->alarm = slot->alarmed;
    view->reason = reason_text(view->state, slot->reason);
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

static void copy_waiters(struct picture *picture, const struct hami_internal_node *node)
{
    uint32_t position = 0;

    LIST_EACH(link, &node->waiters)
    {
        const struct hami_wait *wait = LIST_ENTRY(link, struct hami_wait, link);
        struct hami_waiter_view *view = &picture->waiters[position];
        const struct hami_owner *owner = &wait->grant->owner;
        view->owner.namespace_name = keep(picture, owner->namespace_name);
        view->owner.name = keep(picture, owner->name);
        view->owner.uid = keep(picture, owner->uid);
        view->position = position++;
        view->priority = wait->priority;
        view->since_ns = wait->since_ns;
        view->deadline_ns = wait->deadline_ns;
    }
}

/* With the node's mutex. Returns false if there is not room enough; the rooms say then
 * what is needed. */
static bool copy_node(struct picture *picture, const struct hami_internal_node *node)
{
    if (node->slot_count > picture->slot_room ||
        node->waiter_count > picture->waiter_room) {
        picture->slot_room = node->slot_count;
        picture->waiter_room = node->waiter_count + node->waiter_count / 4;
        return false;
    }
    picture->text_used = 0;
    picture->short_of_text = false;
    for (size_t i = 0; i < node->slot_count; i++) {
        copy_slot(picture, node, node->slots[i], &picture->slots[i]);
    }
    copy_waiters(picture, node);
    if (picture->short_of_text) {
        picture->text_room *= 2;
        return false;
    }
    picture->view = (struct hami_node_view){.size = sizeof(picture->view),
                                            .node = node->name,
                                            .slots = picture->slots,
                                            .slot_count = node->slot_count,
                                            .waiters = picture->waiters,
                                            .waiter_count = node->waiter_count};
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

int hami_nodelock_stats(const hami_nodelock *lock, struct hami_nodelock_stats *ret)
{
    struct hami_nodelock_stats stats = HAMI_NODELOCK_STATS_INIT;

    if (!lock || !ret || ret->size < sizeof(ret->size)) {
        return HAMI_E_INVAL;
    }
    size_t size = ret->size;
    if (!hami_internal_errors_is_struct_known(ret, size, sizeof(stats))) {
        return HAMI_E_ABI;
    }
    if (hami_internal_manager_is_forked(lock)) {
        return HAMI_E_FORKED;
    }
    const struct hami_internal_counters *counters = &lock->counters;
    stats.grants = atomic_load(&counters->grants);
    stats.timeouts = atomic_load(&counters->timeouts);
    stats.cancels = atomic_load(&counters->cancels);
    stats.refusals = atomic_load(&counters->refusals);
    stats.handoffs = atomic_load(&counters->handoffs);
    stats.releases = atomic_load(&counters->releases);
    stats.hand_overs = atomic_load(&counters->hand_overs);
    stats.takeovers = atomic_load(&counters->takeovers);
    stats.revocations = atomic_load(&counters->revocations);
    stats.lost = atomic_load(&counters->lost);
    stats.in_doubt = atomic_load(&counters->in_doubt);
    stats.undone = atomic_load(&counters->undone);
    stats.alarms = atomic_load(&counters->alarms);
    stats.calls = atomic_load(&counters->calls);
    stats.waiters = atomic_load(&counters->waiters);
    stats.leases = atomic_load(&counters->leases);
    (void)pthread_mutex_lock((pthread_mutex_t *)&lock->table.mutex);
    stats.nodes = (uint32_t)lock->table.node_count;
    (void)pthread_mutex_unlock((pthread_mutex_t *)&lock->table.mutex);
    memcpy(ret, &stats, size < sizeof(stats) ? size : sizeof(stats));
    ret->size = size;
    return 0;
}
